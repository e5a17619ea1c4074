"""A certificate of the world: what of its positions is wrong, whatever its equations say.

A step certifies its contact problem.  Whether that was the right problem, with every contact, stop
and loop in it, only the positions tell in which it ends.  They are measured here by other means
than the step's own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.assembly.closing import closure
from dynenvs.contact.detection.overlaps import measure_overlaps
from dynenvs.jit.compiled import prepare
from dynenvs.memory.layout import Floats, WorldView, open_work
from dynenvs.memory.records import SWING
from dynenvs.model.labels import geom_label
from dynenvs.model.model import Model


class Certificate(NamedTuple):
    """The worst of each kind, and where it is; zero and "" where there is nothing wrong."""

    deepest: float  # of all pairs, how deep one thing is in another [m]
    pair: str  # the geoms that are so deep in each other; without a name of their own: with bodies
    overrun: float  # of all limited joints, how far one is beyond its stop [rad, m]
    joint: str
    opened: float  # of all loops, by how much one is open [m; of angles rad]
    loop: str


def certify(model: Model, w: WorldView, hidden: NDArray[np.bool_] | None = None) -> Certificate:
    """The certificate of a world at its positions.

    Args:
        model: of the world.
        w: its state, and a workspace, which is written to.
        hidden: whether overlaps of each feature are left out, shape (npoints + np,).
    """
    depths = depths_of(w)
    if hidden is not None:
        depths[hidden] = 0.0
    return Certificate(*_deepest(model, depths), *_overrun(model, w.q), *_opened(model, w))


def depths_of(w: WorldView) -> Floats:
    """How deep the parts of all features are in each other [m], shape (npoints + np,).

    By distances of solids, which know nothing of the contacts' slots.
    """
    depths = np.zeros(int(w.header[0].npoints) + len(w.pairs))
    prepare("the certificate of worlds", [measure_overlaps], ())
    measure_overlaps(w, depths)
    return depths


def names_of(model: Model, feature: int) -> str:
    """The geoms of a feature."""
    record: Any = model.features[feature]
    geoms = [model.geoms[g] for g in (record.geom_a, record.geom_b)]
    return " and ".join(geom_label(geom.name, geom.body) for geom in geoms)


def _deepest(model: Model, depths: Floats) -> tuple[float, str]:
    """The deepest pair."""
    worst = int(np.argmax(depths)) if len(depths) else 0
    if not len(depths) or not depths[worst] > 0.0:
        return 0.0, ""
    return float(depths[worst]), names_of(model, worst)


def _overrun(model: Model, q: Floats) -> tuple[float, str]:
    """The joint that is furthest beyond its limits."""
    worst, joint = 0.0, ""
    for dof in model.dofs:
        if dof.limited == 0:
            continue
        at = int(dof.q_at)
        # A ball by the angle of its quaternion, whichever sign that has
        if dof.limited == SWING:
            beyond = 2.0 * math.atan2(float(np.linalg.norm(q[at + 1 : at + 4])), abs(q[at]))
            beyond -= float(dof.upper)
        else:
            beyond = float(max(dof.lower - q[at], q[at] - dof.upper))
        if beyond > worst:
            body = model.description.bodies[int(dof.body) - 1]
            worst, joint = beyond, body.joint.name or body.name
    return worst, joint


def _opened(model: Model, w: WorldView) -> tuple[float, str]:
    """The loop that is open furthest."""
    errors = np.abs(closure(open_work(w, w), w.q))
    if not errors.any():
        return 0.0, ""
    # Whose rows the worst of them is among
    worst, end = int(np.argmax(errors)), 0
    for loop in model.closures.loops:
        end += loop.rows
        if worst < end:
            return float(errors[worst]), loop.name
    return float(errors[worst]), ""
