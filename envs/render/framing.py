"""Where a camera stands so that all of a scene is in the picture."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.orbit import FIELD
from dynenvs.envs.render.scene import Frame, Scene, Solid
from dynenvs.memory.records import FREE, REVOLUTE, SPHERICAL
from dynenvs.model.model import Model

Array = NDArray[np.float64]

ROOM = 1.18  # what the picture shows, in sizes of the scene
SMALLEST = 1e-4  # size of a scene [m]
CENTERING = 6  # times that a scene is moved to the middle of the picture
SIDE = -0.5 * math.pi, 0.2  # azimuth and elevation of a view from the side [rad]
AROUND = math.radians(-58.0), math.radians(20.0)  # and of one in perspective
LONG = math.radians(2.0)  # field of view of a lens that sees nearly parallel rays
PARALLEL = 1e-4  # a field of view so narrow that rays are parallel


class Shot(NamedTuple):
    """Where a camera stands and what it sees."""

    target: Array  # what it looks at, world axes [m], shape (3,)
    view_height: float  # of what the picture shows there [m]
    azimuth: float  # of the camera from the target, from the x axis to the left [rad]
    elevation: float  # of the camera above the target's level [rad]
    field: float  # height of the field of view [rad]


def view_of(model: Model) -> str:
    """The view that suits a model: "side" if it moves in the x-z plane, else "perspective"."""
    return "side" if model.nv and is_flat(model) else "perspective"


def is_flat(model: Model) -> bool:
    """Whether the painter of side views can draw it: bodies in parallel planes, simple ground."""
    if model.visuals or any(geom.hidden for geom in model.geoms):
        return False
    for geom in model.geoms:
        if geom.type in ("height_field", "block_field"):
            return False
        carried = model.body_id(geom.body) > 0
        if geom.type == "half_space" and (carried or abs(geom.rotation[1, 2]) > 1e-9):
            return False
    return bool(model.header.planar) and not (model.bodies["joint"] == FREE).any()


class Sights(NamedTuple):
    """What a picture should show: balls that together make up the scene's outline."""

    points: Array  # world axes [m], shape (k, 3)
    radii: Array  # [m], shape (k,)


def sights(model: Model, scene: Scene, frame: Frame) -> Sights:
    """What there is to see.

    That is all that moves, and for what hangs on a hinge in the world, all that it can sweep; of
    what is fixed in the world as much as is not further away than the size of what moves; if
    nothing moves, all that is fixed; if there is no piece at all, the fields of terrain.
    """
    solids = scene.solids(frame)
    moving = [solid for solid in solids if solid.body]
    if not solids:
        return _terrain(model, frame)
    seen = _outline(moving or solids)
    if not moving:
        return seen
    for pivot in np.flatnonzero(model.bodies["parent"] == 0):
        swung = [solid for solid in moving if model.bodies["root"][solid.body] == pivot]
        if swung and model.bodies["joint"][pivot] in (REVOLUTE, SPHERICAL):
            points, radii = _outline(swung)
            reach = (np.linalg.norm(points - frame.positions[pivot], axis=1) + radii).max()
            seen = _joined(seen, Sights(frame.positions[pivot][None], np.array([reach])))
    low, high = seen.points.min(axis=0), seen.points.max(axis=0)
    reach = float(np.linalg.norm(high - low) + 2.0 * seen.radii.max())
    low, high = low - reach, high + reach
    for solid in solids:
        inside = (solid.core.max(axis=0) >= low).all() and (solid.core.min(axis=0) <= high).all()
        if solid.body == 0 and inside:
            near = _outline([solid._replace(core=np.clip(solid.core, low, high))])
            seen = _joined(seen, near)
    return seen


def _joined(one: Sights, other: Sights) -> Sights:
    return Sights(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))


def _outline(solids: list[Solid]) -> Sights:
    """The balls whose hulls are the solids."""
    points = np.concatenate([solid.core for solid in solids])
    return Sights(points, np.repeat([s.radius for s in solids], [len(s.core) for s in solids]))


def _terrain(model: Model, frame: Frame) -> Sights:
    """The corners of all height fields and block fields; without any, a metre about the origin."""
    found = [np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.5]])]
    for geom in model.geoms:
        if geom.heights is not None:
            body, (x, y, _) = model.body_id(geom.body), geom.size
            z = geom.heights.min(), geom.heights.max()
            corners = np.array([[i, j, k] for i in (-x, x) for j in (-y, y) for k in z])
            corners = corners @ geom.rotation.T + geom.position
            found.append(corners @ frame.rotations[body].T + frame.positions[body])
    points = np.concatenate(found[1:] or found)
    return Sights(points, np.zeros(len(points)))


def shot_of(
    seen: Sights,
    aspect: float,
    way: tuple[float, float],
    field: float,
    *,
    target: Array | None = None,
    distance: float | None = None,
) -> Shot:
    """A shot that has all that is to be seen in the picture.

    Args:
        seen: what that is.
        aspect: width of the picture over its height.
        way: azimuth and elevation of the camera [rad].
        field: height of the field of view [rad].
        target: what to look at [m], shape (3,); in the middle of it all if None.
        distance: instead, of the camera from there [m], through a lens of field FIELD.
    """
    (ca, sa), (ce, se) = ((math.cos(angle), math.sin(angle)) for angle in way)
    back, right = np.array([ce * ca, ce * sa, se]), np.array([-sa, ca, 0.0])
    axes = np.array([right, np.cross(back, right), back])
    low, high = seen.points.min(axis=0), seen.points.max(axis=0)
    middle = 0.5 * (low + high) if target is None else target
    lens = math.tan(0.5 * field)
    for _ in range(CENTERING):
        view = (seen.points - middle) @ axes.T
        if distance is None:
            # A ball is in the picture if its place across is within what the lens sees at its depth
            spread = np.maximum(
                (np.abs(view[:, 0]) + seen.radii) / aspect, np.abs(view[:, 1]) + seen.radii
            )
            away = float((view[:, 2] + ROOM * spread / lens).max())
        else:
            away = distance * math.tan(0.5 * FIELD) / lens
        away = max(away, 0.5 * SMALLEST / lens)
        if target is not None:
            break
        depth = np.maximum(away - view[:, 2], 1e-3 * away)[:, None]
        seen_low = ((view[:, :2] - seen.radii[:, None]) / depth).min(axis=0)
        seen_high = ((view[:, :2] + seen.radii[:, None]) / depth).max(axis=0)
        middle = middle + away * 0.5 * (seen_low + seen_high) @ axes[:2]
    return Shot(middle, 2.0 * away * lens, *way, field)
