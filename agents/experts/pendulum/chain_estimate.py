"""How the chain pendulum's expert foresees: the chain's motion, its tip stopped by floor and wall.

Of all contacts the tip's alone is foreseen, without friction; what else the chain touches the
filter learns of by what it sees.
"""

from __future__ import annotations

from dynenvs.agents.experts.pendulum.estimate import Filter
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, StateView, WorldView
from dynenvs.simd.elementary import cos, sin
from dynenvs.simulation.free_motion import free_motion


class Chain(Filter):
    """What the record of its expert has of the chain."""

    spacing: float  # length of a link [m]
    radius: float  # of a ball [m]
    pivot: float  # height [m]
    wall: float  # its x [m]


@inlined
def tip(w: StateView, p: Chain) -> tuple[float, float]:
    """Place of the tip (x, z) [m]."""
    angle, x, z = 0.0, 0.0, p.pivot
    for j in range(w.header[0].nv):
        angle += w.q[j]
        x += p.spacing * sin(angle)
        z -= p.spacing * cos(angle)
    return x, z


@inlined
def push(
    w: StateView, tau: Floats, p: Chain, at: tuple[float, float], fx: float, fz: float
) -> None:
    """tau += J^T f for a force f of the tip, which is at `at` (x, z), on its surroundings [N]."""
    x, z = at[0], at[1] - p.pivot  # of the tip from the pivot ...
    angle = 0.0
    for j in range(w.header[0].nv):  # ... and from each hinge
        tau[j] += x * fz - z * fx
        angle += w.q[j]
        x -= p.spacing * sin(angle)
        z += p.spacing * cos(angle)


@inlined
def foretell_chain(w: WorldView, p: Chain, q: Floats, v: Floats, change: Floats) -> None:
    """Move on by a control period under `w.tau`.

    Args:
        w: the expert's; state and torques are lost.
        p: what the expert knows of the chain.
        q, v: from where, then to where, shape (nv,).
        change: scratch, shape (nv,).
    """
    n = w.header[0].nv
    for j in range(n):
        w.q[j], w.v[j] = q[j], v[j]
    for _ in range(p.substeps):
        update_poses(w, w.q, w.pose)
        free_motion(w, w.tau, p.timestep)
        for j in range(n):
            v[j] = w.v_free[j]
        at = tip(w, p)
        if not _stop(w, p, v, change, at, 0.0, 1.0, at[1] - p.radius):
            _stop(w, p, v, change, at, -1.0, 0.0, p.wall - p.radius - at[0])
        for j in range(n):
            w.v[j] = v[j]
            w.q[j] += p.timestep * v[j]
    for j in range(n):
        q[j] = w.q[j]


@inlined
def _stop(
    w: WorldView,
    p: Chain,
    v: Floats,
    change: Floats,
    at: tuple[float, float],
    nx: float,
    nz: float,
    gap: float,
) -> bool:
    """Stop the tip, at `at`, at a surface with the normal (nx, nz), `gap` away, if v would pass it.

    Velocities are affine in the torques: what a force of 1 N changes, the equations of motion say
    when they are solved once more with it.
    """
    n = w.header[0].nv
    for j in range(n):
        change[j] = 0.0
    push(w, change, p, at, nx, nz)  # the row of the Jacobian
    speed = 0.0
    for j in range(n):
        speed += change[j] * v[j]
    least = -max(gap, 0.0) / p.timestep
    if speed >= least:
        return False
    for j in range(n):
        w.tau[j] += change[j]
    free_motion(w, w.tau, p.timestep)
    eases = 0.0
    for j in range(n):
        w.tau[j] -= change[j]
        eases += change[j] * (w.v_free[j] - v[j])
    if not eases > 0.0:  # nothing but rounding: all hinges lie right behind the tip
        return False
    for j in range(n):
        v[j] += (least - speed) / eases * (w.v_free[j] - v[j])
    return True
