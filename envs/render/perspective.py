"""The view in perspective: for robots that move in space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.backdrop import round_step
from dynenvs.envs.render.cast import cast
from dynenvs.envs.render.develop import (
    COARSE,
    HAZE,
    Ground,
    Samples,
    paint_background,
    paint_pieces,
)
from dynenvs.envs.render.orbit import FIELD, OrbitCamera
from dynenvs.envs.render.pieces import Pieces, pieces_of
from dynenvs.envs.render.scene import LEVEL, Frame, Scene, is_slope
from dynenvs.envs.render.shadow import SKY, SKY_BLUR, SUN, SUN_BLUR, light
from dynenvs.envs.render.terrain import Surface, draw_surface
from dynenvs.jit.compiled import expect
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom

Array = NDArray[Any]

RISE = 0.24  # the camera looks so far above the ground, in heights of the view
TILE = 0.42  # least size of a tile, in heights of the view
# A tilted plane is seen so many times as far through the haze: its edge against the sky says that
# it is tilted, and in the haze of a level floor it would be lost
CLEAR_AIR = 4.0


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
        shapes: what bodies are drawn as, "visual" or "collision" (`pieces_of`).
    """

    def __init__(
        self, model: Model, scene: Scene, canvas: Array, view_height: float, shapes: str
    ) -> None:
        height, width = canvas.shape[:2]
        self.camera = OrbitCamera((width, height), view_height)
        self.scene, self.view_height, self._canvas = scene, view_height, canvas
        self._unit = scene.unit
        self._pieces = pieces_of(model, self._unit, shapes)
        self._surfaces = [
            (model.body_id(geom.body), Surface(geom, self._unit))
            for geom in model.geoms
            if _is_terrain(geom, model)
        ]
        self._haze = HAZE * (CLEAR_AIR if any(map(is_slope, scene.half_spaces)) else 1.0)
        if scene.floor is not None or self._surfaces:
            self.camera.rise = RISE * view_height
        self._floor = math.nan if scene.floor is None else float(scene.floor.position[2])
        self._ground = np.empty((height, width), np.float32)
        self._normal = np.zeros((height, width, 3), np.float32)
        self._depth = np.empty((2 * height, 2 * width), np.float32)
        self._code = np.empty((2 * height, 2 * width), np.int32)
        self._coarse = np.empty((height // COARSE + 2, width // COARSE + 2))
        self._spans = np.empty((len(self._pieces.records), 4), np.int64)
        kernels = [cast, paint_background, paint_pieces]
        expect([*kernels, draw_surface] if self._surfaces else kernels, ())

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
        haze = self._haze * view * math.tan(0.5 * FIELD) / math.tan(0.5 * self.camera.field)
        rows = cast(camera, pieces, self._depth, self._code, self._spans)
        samples = Samples(self._depth, self._code, *rows)
        floor, terrain = self._floor / self._unit, bool(self._surfaces)
        ground = Ground(self._ground, self._normal, terrain, floor, round_step(TILE * view))
        paint_background(camera, self._canvas, ground, samples, haze, sun, sky, self._coarse)
        paint_pieces(camera, self._canvas, ground, pieces, samples, haze, sun)

    def _placed(self, frame: Frame) -> Pieces:
        """The pieces in the world, in units."""
        pieces = self._pieces.records.copy()
        R, p = frame.rotations[pieces["body"]], frame.positions[pieces["body"]]
        pieces["center"] = np.einsum("nij,nj->ni", R, pieces["center"]) + p
        pieces["R"] = R @ pieces["R"]
        for lengths in ("center", "half", "bevel"):
            pieces[lengths] /= self._unit
        return self._pieces._replace(records=pieces)


def _is_terrain(geom: Geom, model: Model) -> bool:
    """Whether a geom is ground other than a level floor that stays where it is."""
    if geom.type == "half_space":
        return model.body_id(geom.body) > 0 or bool(geom.rotation[2, 2] < LEVEL)
    return geom.type in ("height_field", "block_field")
