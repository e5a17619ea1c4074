"""How a standing robot fills space: its base's height, where its feet are, how far it reaches."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from dynenvs.envs.render.snapshot import poses_at
from dynenvs.memory.layout import Floats
from dynenvs.model.hulls import outermost
from dynenvs.model.model import Model


def standing_on(model: Model, standing: Floats, feet: Collection[str]) -> tuple[float, Floats]:
    """The base's height above the lowest foot [m], and the farthest |x| and |y| of feet [m], (2,).

    Args:
        model: the robot, on whatever ground.
        standing: its positions with the base at the origin [m, rad], shape (nq,).
        feet: names of the feet's geoms.
    """
    poses = poses_at(model, standing)
    lowest, far = math.inf, np.zeros(2)
    for geom in model.geoms:
        if geom.name in feet:
            pose = poses[model.body_id(geom.body)]
            R = pose["R"] @ geom.rotation
            center = pose["R"] @ geom.position + pose["p"]
            far = np.maximum(far, np.abs(center[:2]))
            if geom.corners is not None:
                down = -(geom.corners @ R[2]).min()
            elif geom.type in ("cylinder", "ellipsoid", "cone"):
                down = -outermost(geom, -R[2]) @ R[2]
            else:
                down = np.abs(R[2]) @ geom.size if geom.type == "box" else geom.size[0]
            lowest = min(lowest, center[2] - down)
    return -float(lowest), far


def reach_of(model: Model, standing: Floats) -> tuple[float, float]:
    """How far the standing robot reaches over ground, and upward, from its base [m]."""
    poses = poses_at(model, standing)
    far = top = 0.0
    for geom in model.geoms:
        body = model.body_id(geom.body)
        if body > 0:
            center = poses[body]["R"] @ geom.position + poses[body]["p"]
            far = max(far, math.hypot(center[0], center[1]) + geom.bounding_radius)
            top = max(top, center[2] + geom.bounding_radius)
    return far, top
