"""What there is to draw: rounded convex solids, joints, half spaces and forces, in metres.

A solid is the set of points nearer than `radius` to the convex hull of its core points: one point
makes a sphere, two a capsule, the four corners of a face a face with rounded edges.  Nothing here
knows a camera or a pixel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.memory.records import REVOLUTE
from dynenvs.model.hulls import outline
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom
from dynenvs.model.polyhedra import polyhedron_of

Array = NDArray[np.float64]

LEVEL = 1.0 - 1e-9  # least cosine to the vertical of a level floor's normal
STEEPEST = 0.5  # ... of a slope that is drawn as ground, not as a wall
EARTH = 9.81  # [m/s^2]
BEVEL = 0.35  # rounding of a box's edges, as a share of its smallest half edge
FAR_SIDE = 0.01  # solids with a y beyond this are on the far side of the robot [m]
USUAL = 1.7  # height of the view of a robot [m]
POINT_RADIUS = 0.012  # of a contact point where it is drawn [m]
JOINT_RADIUS = 0.55  # of a joint, as a share of the limb's radius


class Frame(NamedTuple):
    """One picture's worth of state.

    Attributes:
        rotations: body to world, shape (nb, 3, 3); body 0 is the world.
        positions: body origins, world axes [m], shape (nb, 3).
        contact_points: world axes [m], shape (k, 3).
        contact_forces: on the robot, world axes [N], shape (k, 3).
        focus: point that the camera follows [m], shape (3,).
        readings: what the line at the top says, in order: label to text.
        speed: actual and commanded speed [m/s], shown as a bar under the reading "speed".
        targets: places to be reached, seen from the side [m], shape (k, 3).
    """

    rotations: Array
    positions: Array
    contact_points: Array
    contact_forces: Array
    focus: Array
    readings: Mapping[str, str]
    speed: tuple[float, float] | None = None
    targets: Array = np.zeros((0, 3))


class Solid(NamedTuple):
    """A rounded convex piece; in the scene in body axes, in a picture in world axes."""

    body: int
    core: Array  # [m], shape (k, 3)
    radius: float  # [m]
    color: palette.Color
    normal: Array | None = None  # of a face, shape (3,); None if round
    shaded: bool = True  # False: a flat disc such as a joint's
    far: bool = False


class HalfSpace(NamedTuple):
    """All that lies below a plane, fixed in the world."""

    position: Array  # [m], shape (3,)
    normal: Array  # out of it, unit, shape (3,)
    color: palette.Color | None


class Scene:
    """The parts of a model that are drawn, in the body frames.

    Attributes:
        half_spaces: those fixed in the world.
        floor: the highest level one among them, or None.
        weight: of the heaviest robot or free body [N]; where nothing falls, what it would be on
            the earth.
        unit: length of what would be a metre if the scene were of a robot's size [m].
    """

    def __init__(self, model: Model, unit: float = 1.0) -> None:
        self.unit = unit
        gravity = float(np.linalg.norm(model.header.gravity)) or EARTH
        masses = np.bincount(model.bodies["root"], model.bodies["mass"])
        self.weight = float(masses.max()) * gravity
        self.half_spaces = [
            HalfSpace(geom.position, geom.rotation[:, 2], geom.color)
            for geom in model.geoms
            if geom.type == "half_space" and model.body_id(geom.body) == 0
        ]
        level = [h for h in self.half_spaces if h.normal[2] >= LEVEL]
        self.floor = max(level, key=lambda h: float(h.position[2]), default=None)
        self._solids = list(_solids(model, POINT_RADIUS * unit))
        self._joints = list(_joints(model, self._solids, POINT_RADIUS * unit))
        self._solids += _mounts(model, self._joints)

    def solids(self, frame: Frame) -> list[Solid]:
        """The solids where `frame` puts them, world axes."""
        placed = []
        for solid in self._solids:
            R, p = frame.rotations[solid.body], frame.positions[solid.body]
            normal = None if solid.normal is None else R @ solid.normal
            core = solid.core @ R.T + p
            far = solid.body > 0 and float(core[:, 1].mean()) > FAR_SIDE * self.unit
            placed.append(solid._replace(core=core, normal=normal, far=far))
        return placed

    def joints(self, frame: Frame) -> list[Solid]:
        """Discs at the hinges where `frame` puts them, world axes."""
        placed = []
        for disc in self._joints:
            R, p = frame.rotations[disc.body], frame.positions[disc.body]
            core = disc.core @ R.T + p
            placed.append(disc._replace(core=core, far=float(core[0, 1]) > FAR_SIDE * self.unit))
        return placed


def is_slope(half_space: HalfSpace) -> bool:
    """Whether it is ground that rises: no level floor, and no wall."""
    return STEEPEST < float(half_space.normal[2]) < LEVEL


def unit_of(view_height: float) -> float:
    """The power of ten by which a view is larger than that of a robot [m]."""
    return float(10.0 ** round(math.log10(view_height / USUAL)))


def _solids(model: Model, point_radius: float) -> Iterator[Solid]:
    """Every geom as one solid or, a box or hull, as its faces."""
    for geom in model.geoms:
        body = model.body_id(geom.body)
        color = geom.color or color_of(model, geom, body)
        z = geom.rotation[:, 2]
        if geom.type == "box":
            yield from _faces(geom, body, color)
        elif (corners := outline(geom)) is not None:
            yield from _facets(geom, corners, body, color)
        elif geom.type == "capsule":
            core = np.array([geom.position - z * geom.size[1], geom.position + z * geom.size[1]])
            yield Solid(body, core, float(geom.size[0]), color)
        elif geom.type == "sphere":
            yield Solid(body, geom.position[None], float(geom.size[0]), color)
        elif geom.type == "point":
            yield Solid(body, geom.position[None], point_radius, geom.color or palette.JOINT)


def _facets(geom: Geom, corners: Array, body: int, color: palette.Color) -> Iterator[Solid]:
    """The faces of a convex or smooth solid."""
    shape = polyhedron_of(corners.tobytes(), f"geom {geom.name!r}")
    places = shape.corners @ geom.rotation.T + geom.position
    for loop, normal in zip(shape.loops, shape.normals, strict=True):
        yield Solid(body, places[loop], 0.0, color, geom.rotation @ normal)


def boxed(geom: Geom) -> Geom:
    """The box around a convex or smooth solid; any other geom as it is."""
    corners = outline(geom)
    if corners is None:
        return geom
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle = geom.position + geom.rotation @ ((low + high) / 2)
    return replace(geom, type="box", size=(high - low) / 2, position=middle)


def _faces(geom: Geom, body: int, color: palette.Color) -> Iterator[Solid]:
    radius = BEVEL * float(geom.size.min())
    inner = geom.size - radius
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for axis in range(3):
        for sign in (-1.0, 1.0):
            corners = np.insert(square, axis, sign, axis=1) * inner
            core = corners @ geom.rotation.T + geom.position
            yield Solid(body, core, radius, color, sign * geom.rotation[:, axis])


def drawn_bodies(model: Model) -> list[int]:
    """Bodies, without the world, that have something to draw, in order."""
    return sorted({model.body_id(geom.body) for geom in model.geoms} - {0})


def color_of(model: Model, geom: Geom, body: int) -> palette.Color:
    """By role: the trunk (first drawn body, unless hinged to the world), rubber, limb, leaf.

    Where there are several robots or things, those of one body take colours by turns.
    """
    if body == 0:
        return palette.WALL
    roots, record = model.bodies["root"], model.bodies[body]
    drawn = [other for other in drawn_bodies(model) if roots[other] == record.root]
    first = sorted({int(root) for root in roots[1:]})
    if len(drawn) == 1 and len(first) > 1:
        return palette.THINGS[first.index(int(record.root)) % len(palette.THINGS)]
    parents = model.bodies["parent"]
    hinged = _hinged_to_world(model, drawn[0])
    trunk = body == drawn[0] and not hinged and bool(np.any(parents == body))
    if geom.type == "sphere" and geom.collide:
        return palette.LEAF  # rubber where it touches
    if geom.type == "sphere" and hinged:
        return palette.TRUNK  # a weight
    if trunk:
        return palette.LIMB if geom.type == "sphere" else palette.TRUNK
    leaf = not np.any(parents == body) and int(record.parent) not in (0, drawn[0])
    return palette.LEAF if leaf and geom.type == "box" else palette.LIMB


def _hinged_to_world(model: Model, body: int) -> bool:
    record = model.bodies[body]
    return bool(record.joint == REVOLUTE and record.parent == 0)


def _joints(model: Model, solids: list[Solid], point_radius: float) -> Iterator[Solid]:
    """A disc at each hinge between two drawn bodies, or between the world and a drawn body."""
    drawn = drawn_bodies(model)
    for body in drawn:
        record = model.bodies[body]
        parent = int(record.parent)
        if record.joint != REVOLUTE or parent not in (0, *drawn):
            continue
        own = [solid for solid in solids if solid.body == body]
        y = float(np.mean([solid.core[:, 1].mean() for solid in own]))  # in the limb's plane
        limb = _limb_radius(own)
        if limb == 0.0 and parent:  # a foot: as wide as the leg that it ends
            limb = 0.8 * _limb_radius([solid for solid in solids if solid.body == parent])
        radius = JOINT_RADIUS * (limb or point_radius)
        yield Solid(body, np.array([[0.0, y, 0.0]]), radius, palette.JOINT, shaded=False)


def _limb_radius(solids: list[Solid]) -> float:
    """Radius of the first capsule [m], 0 if there is none."""
    return next((solid.radius for solid in solids if len(solid.core) == 2), 0.0)


def _mounts(model: Model, joints: list[Solid]) -> Iterator[Solid]:
    """What a hinge on the world is mounted on, behind it."""
    for joint in joints:
        if _hinged_to_world(model, joint.body):
            pivot = model.bodies[joint.body].position + joint.core[0]
            radius = joint.radius / JOINT_RADIUS
            behind = np.array([0.0, 0.005, 0.0])  # just enough to be painted first
            yield Solid(0, (pivot + behind)[None], 2.4 * radius, palette.LEAF)
