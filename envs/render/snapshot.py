"""The state of a model, by numbers: where its bodies are and which forces act at its contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.detect import measure_gaps, place
from dynenvs.envs.render.scene import Frame
from dynenvs.kinematics import update_poses
from dynenvs.layout import Floats, open_model, open_workspace
from dynenvs.model import Model
from dynenvs.records import CONTACT, FAR, POSE


def poses(model: Model, q: Floats) -> NDArray[np.void]:
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
        forces: at each contact feature, world axes [N], shape (nf, 3); none if None.
    """
    w = open_workspace(open_model(model.packed), memory := model.workspace())
    update_poses(open_model(model.packed), q, w.pose)
    points = loads = np.zeros((0, 3))
    if forces is not None:
        measure_gaps(model.packed, memory)
        loaded = np.flatnonzero(np.any(forces != 0.0, axis=1) & (w.gaps < FAR))
        points, loads = np.zeros((len(loaded), 3)), forces[loaded]
        contact = np.zeros(1, CONTACT)[0]
        for i, feature in enumerate(loaded):
            place(model.features, w.spots, w.pose, int(feature), contact)
            points[i] = contact.point
    return Frame(
        rotations=w.pose["R"].copy(),
        positions=w.pose["p"].copy(),
        contact_points=points,
        contact_forces=loads,
        focus=np.zeros(3),
        readings={},
    )
