"""What the other contact models see of a touching pair: gap, frame and Jacobian."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.contact.detection.detect import candidates_of, measure_gaps, place
from dynenvs.dynamics.jacobians import point_jacobian
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model, open_work
from dynenvs.memory.records import CONTACT
from dynenvs.model.model import Model
from dynenvs.model.parts import rotation_to
from dynenvs.model.validation import prepare


class Touch(NamedTuple):
    """A feature of one body near another body."""

    feature: int  # index into `model.features`
    gap: float  # [m], negative inside
    friction: float
    restitution: float
    axes: Floats  # world: rows t1, t2 and the normal from the second to the first body, (3, 3)
    jacobian: Floats  # relative velocity along these axes is J v, shape (3, nv)


def touching(model: Model, q: ArrayLike, reach: float = 0.0) -> list[Touch]:
    """All features whose gap is below `reach` [m].

    Args:
        model: the model.
        q: positions, shape (nq,).
        reach: largest gap [m].

    Raises:
        ValueError: wrong shape, or not finite.
    """
    world = prepare(model, q)
    m, w = open_model(world), open_work(world, world)
    update_poses(m, world.q, w.pose)
    measure_gaps(w)
    record = np.zeros(1, CONTACT)[0]
    found = []
    for k, i, at, _ in candidates_of(m, w):
        if not w.gaps[k] < reach:
            continue
        place(model.features, w.spots, w.pose, i, at, record)
        # Velocity of A's point from B's along normal and tangents, by each coordinate
        feature = model.features[i]
        axes = rotation_to(np.array(record.normal)).T
        J = np.zeros((3, model.nv))
        for body, sign in ((int(feature.body_a), 1.0), (int(feature.body_b), -1.0)):
            pose = w.pose[body]
            local = pose["R"].T @ (record.point - pose["p"])
            J += sign * point_jacobian(model, q, model.body_names[body], local)
        found.append(
            Touch(
                i,
                float(w.gaps[k]),
                float(feature.friction),
                float(feature.restitution),
                axes,
                axes @ J,
            )
        )
    return found
