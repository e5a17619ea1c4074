"""The view in perspective: for robots that move in space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.backdrop import round_step
from dynenvs.envs.render.cast import BALL, BLOCK, PIECE, ROD, cast
from dynenvs.envs.render.develop import (
    COARSE,
    HAZE,
    Ground,
    Samples,
    paint_background,
    paint_pieces,
)
from dynenvs.envs.render.orbit import FIELD, OrbitCamera
from dynenvs.envs.render.scene import (
    LEVEL,
    POINT_RADIUS,
    Frame,
    Scene,
    boxed,
    color_of,
    drawn_bodies,
)
from dynenvs.envs.render.shadow import SKY, SKY_BLUR, SUN, SUN_BLUR, light
from dynenvs.envs.render.terrain import Surface, draw_surface
from dynenvs.memory.records import REVOLUTE
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom, rotation_to

Array = NDArray[Any]

RISE = 0.24  # the camera looks so far above the ground, in heights of the view
TILE = 0.42  # least size of a tile, in heights of the view
BEVEL = 0.30  # rounding of a box's edges, as a share of its smallest half edge
NOSE = 0.006  # of what is fixed in the world [m]
KINDS = {"sphere": BALL, "point": BALL, "capsule": ROD, "box": BLOCK, "convex": BLOCK}


class PerspectiveView:
    """Paints a scene as a camera that goes round the robot sees it.

    Light and ground know lengths that suit a robot (how a shadow's edge blurs, how fine a net of
    terrain is).  A scene that is many times larger or smaller is painted as its model of a robot's
    size: kernels see all lengths divided by `_unit`.

    Args:
        model: what to draw.
        scene: the same, for what both views share.
        canvas: painted in place, shape (h, w, 3).
        view_height: height of what the picture shows at the robot [m].
    """

    def __init__(self, model: Model, scene: Scene, canvas: Array, view_height: float) -> None:
        height, width = canvas.shape[:2]
        self.camera = OrbitCamera((width, height), view_height)
        self.scene, self.view_height, self._canvas = scene, view_height, canvas
        self._unit = scene.unit
        self._pieces = np.array([p.copy() for p in _pieces(model, self._unit)], PIECE)
        self._surfaces = [
            (model.body_id(geom.body), Surface(geom, self._unit))
            for geom in model.geoms
            if _is_terrain(geom, model)
        ]
        if scene.floor is not None or self._surfaces:
            self.camera.rise = RISE * view_height
        self._floor = math.nan if scene.floor is None else float(scene.floor.position[2])
        self._ground = np.empty((height, width), np.float32)
        self._normal = np.zeros((height, width, 3), np.float32)
        self._depth = np.empty((2 * height, 2 * width), np.float32)
        self._code = np.empty((2 * height, 2 * width), np.int32)
        self._coarse = np.empty((height // COARSE + 2, width // COARSE + 2))
        self._spans = np.empty((len(self._pieces), 4), np.int64)

    def paint(self, frame: Frame, target: Array) -> None:
        """Fill the canvas: what lies behind, then the pieces."""
        self.camera.aim(target)
        camera, pieces = self.camera.record.copy()[0], self._placed(frame)
        camera.eye[:] /= self._unit
        sun, sky = light(SUN, SUN_BLUR, pieces), light(SKY, SKY_BLUR, pieces)
        self._ground.fill(np.inf)
        for body, surface in self._surfaces:
            place = frame.rotations[body], frame.positions[body]
            points, normals = surface.near(self.camera.target, *place)
            draw_surface(camera, points, normals, np.empty_like(points), self._ground, self._normal)
        view = self.view_height / self._unit
        # A narrow field of view looks from far away through no more air
        haze = HAZE * view * math.tan(0.5 * FIELD) / math.tan(0.5 * self.camera.field)
        rows = cast(camera, pieces, self._depth, self._code, self._spans)
        samples = Samples(self._depth, self._code, *rows)
        floor, terrain = self._floor / self._unit, bool(self._surfaces)
        ground = Ground(self._ground, self._normal, terrain, floor, round_step(TILE * view))
        paint_background(camera, self._canvas, ground, samples, haze, sun, sky, self._coarse)
        paint_pieces(camera, self._canvas, ground, pieces, samples, haze, sun)

    def _placed(self, frame: Frame) -> Array:
        """The pieces in the world, in units."""
        pieces = self._pieces.copy()
        R, p = frame.rotations[pieces["body"]], frame.positions[pieces["body"]]
        pieces["center"] = np.einsum("nij,nj->ni", R, pieces["center"]) + p
        pieces["R"] = R @ pieces["R"]
        for lengths in ("center", "half", "bevel"):
            pieces[lengths] /= self._unit
        return pieces


def _is_terrain(geom: Geom, model: Model) -> bool:
    """Whether a geom is ground other than a level floor that stays where it is."""
    if geom.type == "half_space":
        return model.body_id(geom.body) > 0 or bool(geom.rotation[2, 2] < LEVEL)
    return geom.type in ("height_field", "block_field")


def _pieces(model: Model, unit: float) -> Iterator[Any]:
    """Every geom that has a shape, and every hinge between two drawn bodies, in body axes [m]."""
    for geom in model.geoms:
        if geom.type in KINDS:
            yield _piece(model, geom, unit)
    yield from _hinges(model)


def _piece(model: Model, geom: Geom, unit: float) -> Any:
    geom = boxed(geom)
    piece = np.zeros(1, PIECE)[0]
    piece.kind, piece.body = KINDS[geom.type], model.body_id(geom.body)
    piece.center[:], piece.R[:], piece.half[:] = geom.position, geom.rotation, geom.size
    if geom.type == "point":
        piece.half[0] = POINT_RADIUS * unit
    piece.color[:] = geom.color or color_of(model, geom, int(piece.body))
    piece.bevel = BEVEL * float(geom.size.min()) if piece.body else NOSE * unit
    if piece.body == 0 and geom.color is None:
        piece.color[:] = palette.STONE
    return piece


def _hinges(model: Model) -> Iterator[Any]:
    """A short dark rod along the axis of each hinge that carries a limb."""
    drawn = drawn_bodies(model)
    for body in drawn:
        record = model.bodies[body]
        limbs = [g for g in model.geoms if g.type == "capsule" and model.body_id(g.body) == body]
        if record.joint != REVOLUTE or not limbs or not _carried(model, body, drawn):
            continue
        piece = np.zeros(1, PIECE)[0]
        radius = float(limbs[0].size[0])
        piece.kind, piece.body = ROD, body
        piece.R[:] = rotation_to(np.array(record.axis))
        piece.half[:] = 0.62 * radius, 0.62 * radius, 0.0
        piece.color[:] = palette.JOINT
        yield piece


def _carried(model: Model, body: int, drawn: list[int]) -> bool:
    """Whether a drawn body stands above this one, massless joints between them or not."""
    above = int(model.bodies[body].parent)
    while above > 0 and above not in drawn:
        above = int(model.bodies[above].parent)
    return above > 0
