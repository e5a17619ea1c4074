"""The state of a model, by numbers: where its bodies are and which forces act at its contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.detection.detect import candidates_of, measure_gaps, place
from dynenvs.envs.render.scene import Frame
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model, open_work
from dynenvs.memory.records import CONTACT, FAR, POSE
from dynenvs.model.model import Model


def poses_at(model: Model, q: Floats) -> NDArray[np.void]:
    """Records POSE of every body at `q`, shape (nb,)."""
    records = np.zeros(int(model.header.nb), POSE)
    update_poses(open_model(model.packed), q, records)
    return records


def snapshot(model: Model, q: Floats, forces: Floats | None = None) -> Frame:
    """A frame without readings that looks at the world's origin.

    The poses are taken in memory of their own, so that drawing changes nothing of the simulation.

    Args:
        model: whose state it is.
        q: positions, shape (nq,).
        forces: at each contact candidate, world axes [N], shape (nk, 3); none if None.
    """
    m = open_model(model.packed)
    w = open_work(m, model.workspace())
    update_poses(m, q, w.pose)
    points = loads = np.zeros((0, 3))
    if forces is not None:
        measure_gaps(w)
        loaded = np.any(forces != 0.0, axis=1) & (w.gaps < FAR)
        found = [one for one in candidates_of(m, w) if loaded[one.number]]
        points, loads = np.zeros((len(found), 3)), np.zeros((len(found), 3))
        contact = np.zeros(1, CONTACT)[0]
        for i, one in enumerate(found):
            place(model.features, w.spots, w.pose, one.feature, one.place, contact)
            points[i], loads[i] = contact.point, forces[one.number]
    return Frame(
        rotations=w.pose["R"].copy(),
        positions=w.pose["p"].copy(),
        contact_points=points,
        contact_forces=loads,
        focus=np.zeros(3),
        readings={},
    )
