"""How a walker whose trunk is free to pitch keeps it level on feet before and behind.

Where the ground would have to push for a desired motion, the root's own rows of the equations of
motion say, F = (M a + h)_root: its centre of pressure lies between the feet, or else the forward
acceleration must change; about a given point it decides over the moment, as of an inverted
pendulum.
"""

from __future__ import annotations

from dynenvs.agents.experts.common.state import mass_entry
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView, StateView, WorkspaceView

INSET = 0.08  # of the distance between the feet that the centre of pressure keeps from either
STRONGEST = 6.0  # acceleration that balance asks for [m/s^2]


@inlined
def balance(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    rear: float,
    front: float,
    h: float,
    v_des: Floats,
) -> float:
    """Change of the forward acceleration with which the ground need only push between the feet.

    The desired velocities, the root's included, are those after the period h; the root's own rows
    of the equations of motion say where and how the ground would have to push for them.
    """
    fx, fz, moment = w.bias[0], w.bias[1], w.bias[ROOT]
    for j in range(m.header[0].nv):
        a = (v_des[j] - s.v[j]) / h
        fx += mass_entry(w, j, 0) * a
        fz += mass_entry(w, j, 1) * a
        moment += mass_entry(w, j, ROOT) * a
    inset = INSET * (front - rear)
    weighed = w.body[1].hc[2]  # mass times height: what the moment gains with the acceleration
    x = -(moment + s.q[1] * fx) / max(fz, 1.0)
    bound = min(max(x, rear + inset), front - inset)
    a = -(moment + s.q[1] * fx + bound * fz) / weighed
    return min(max(a, -STRONGEST), STRONGEST)
