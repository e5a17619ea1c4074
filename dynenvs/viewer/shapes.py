"""A model's shapes as the page draws them: solids on bodies, hinges, ground, colours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.scene import LEVEL, STEEPEST, Scene, color_of
from dynenvs.envs.render.terrain import smoothed
from dynenvs.memory.records import REVOLUTE
from dynenvs.model.hulls import outline, outward_triangles
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom
from dynenvs.model.visuals import Visual, undrawn
from dynenvs.viewer.encoding import encode, quaternions

Array = NDArray[np.float64]

AXLE = 0.62, 1.12  # radius and half length of a hinge, in radii of its limb
POINT_RADIUS = 0.012  # of a contact point where it is drawn [units]
FINEST = 0.1  # widest spacing of a smooth surface's net [m]
MOST = 240  # meshes of a field along each side


def parts_of(model: Model, unit: float, reach: tuple[Array, Array]) -> list[dict[str, Any]]:
    """Every solid of a model, in the axes of its body.

    Those that are "covered" are there to touch: visual meshes, of type "mesh", stand for them.

    Args:
        model: what is drawn.
        unit: length of what would be a metre if the scene were of a robot's size [m].
        reach: lower and upper corner of what is seen of fields of terrain, x and y [m].
    """
    parts = []
    covered = undrawn(model.geoms, model.visuals)
    for geom in model.geoms:
        body = model.body_id(geom.body)
        part = {
            "type": geom.type,
            "body": body,
            "color": _hex(geom.color or color_of(model, geom, body)),
            "position": geom.position.tolist(),
            "quaternion": quaternions(geom.rotation).tolist(),
            "size": geom.size.tolist(),
            "covered": geom.name in covered,
        }
        if geom.type == "point":
            part.update(type="sphere", size=[POINT_RADIUS * unit, 0.0, 0.0])
        elif (corners := outline(geom)) is not None:
            part.update(_hull(corners), type="convex")
        elif geom.type in ("height_field", "block_field"):
            part.update(_field(geom, reach if body == 0 else None), color=_hex(palette.STONE))
        elif geom.type == "half_space":
            level = body == 0 and geom.rotation[2, 2] >= LEVEL
            slope = body == 0 and not level and geom.rotation[2, 2] > STEEPEST
            color = _hex(geom.color or palette.WALL)
            part.update(level=bool(level), slope=bool(slope), color=color)
        parts.append(part)
    return [*parts, *(_surface(model, visual) for visual in model.visuals), *_axles(model)]


def _hex(color: palette.Color) -> str:
    return "#" + "".join(f"{channel:02x}" for channel in color)


def _surface(model: Model, visual: Visual) -> dict[str, Any]:
    """A visual mesh."""
    return {
        "type": "mesh",
        "body": model.body_id(visual.body),
        "color": _hex(visual.color),
        "position": [0.0, 0.0, 0.0],
        "quaternion": [0.0, 0.0, 0.0, 1.0],
        "size": [0.0, 0.0, 0.0],
        "corners": encode(visual.points),
        "faces": encode(visual.triangles, "i4"),
    }


def _hull(corners: Array) -> dict[str, Any]:
    """Corners of a convex solid, and its triangles as seen from outside."""
    return {"corners": encode(corners), "faces": encode(outward_triangles(corners), "i4")}


def _field(geom: Geom, reach: tuple[Array, Array] | None) -> dict[str, Any]:
    """Heights of what is seen of a field, where the first one is, and how far they are apart.

    Of a smooth surface finer than the model has them.
    """
    assert geom.heights is not None
    heights, half = geom.heights, geom.size[:2]
    counts = np.array(heights.shape) - (geom.type == "height_field")
    spacing = 2.0 * half / counts
    low, high = np.zeros(2, int), counts
    if reach is not None and geom.rotation[2, 2] >= LEVEL:
        low = np.clip(np.floor((reach[0] - geom.position[:2] + half) / spacing), 0, counts - 1)
        high = np.clip(np.ceil((reach[1] - geom.position[:2] + half) / spacing), low + 1, counts)
    low, high = low.astype(int), high.astype(int)
    origin = low * spacing - half
    if geom.type == "block_field":
        seen = heights[low[0] : high[0], low[1] : high[1]]
    else:
        fine = np.ceil(spacing / FINEST)
        parts = np.clip(np.floor(MOST / (high - low)), 1, fine).astype(int)
        i, j = (np.arange(low[k] * parts[k], high[k] * parts[k] + 1) / parts[k] for k in (0, 1))
        seen, spacing = smoothed(smoothed(heights, i).T, j).T, spacing / parts
    return {"heights": encode(seen), "origin": origin.tolist(), "spacing": spacing.tolist()}


def _axles(model: Model) -> list[dict[str, Any]]:
    """A short cylinder at each hinge between drawn limbs, or between the world and one."""
    drawn = {model.body_id(geom.body) for geom in model.geoms} - {0}
    drawn -= {model.body_id(visual.body) for visual in model.visuals}
    covered = undrawn(model.geoms, model.visuals)
    drawn &= {model.body_id(geom.body) for geom in model.geoms if geom.name not in covered}
    axles = []
    for body in sorted(drawn):
        record = model.bodies[body]
        parent = int(record.parent)
        limb = _limb(model, body) or 0.8 * _limb(model, parent)
        if record.joint != REVOLUTE or parent not in (0, *drawn) or limb == 0.0:
            continue
        own = [geom.position for geom in model.geoms if model.body_id(geom.body) == body]
        axis = np.array(record.axis)
        middle = float(np.mean([axis @ position for position in own])) * axis
        axle = {
            "type": "cylinder",
            "body": body,
            "color": _hex(palette.JOINT),
            "position": middle.tolist(),
            "quaternion": _turned_to(axis),
            "size": [AXLE[0] * limb, AXLE[1] * limb, 0.0],
        }
        axles.append(axle)
        if parent == 0:  # what it is mounted on
            place = record.position + record.rotation @ middle
            mount = {"body": 0, "color": _hex(palette.LEAF), "position": place.tolist()}
            turned = _turned_to(record.rotation @ axis)
            size = [1.3 * limb, AXLE[1] * limb, 0.0]
            axles.append({**axle, **mount, "quaternion": turned, "size": size})
    return axles


def _limb(model: Model, body: int) -> float:
    """Radius of a body's first capsule [m], 0 if there is none."""
    own = (g for g in model.geoms if model.body_id(g.body) == body and g.type == "capsule")
    return next((float(geom.size[0]) for geom in own), 0.0)


def _turned_to(axis: Array) -> list[float]:
    """A quaternion (x, y, z, w) that turns the z axis to `axis`."""
    x, y, z = (float(entry) for entry in axis)
    if z < -0.9999:
        return [1.0, 0.0, 0.0, 0.0]
    length = math.sqrt(x * x + y * y + (1.0 + z) ** 2)
    return [-y / length, x / length, 0.0, (1.0 + z) / length]


def floor_height(model: Model) -> float | None:
    """Height of the highest level floor [m], or None."""
    floor = Scene(model).floor
    return None if floor is None else float(floor.position[2])
