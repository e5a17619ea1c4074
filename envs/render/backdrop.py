"""What lies behind the robot: sky, hills, the floor with its distance marks, and shadows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.camera import SideCamera
from dynenvs.envs.render.scene import HalfSpace, Scene, Solid

Array = NDArray[Any]
Pixels = NDArray[np.uint8]

HORIZON = 1.1  # the floor ends so far behind the robot's plane [m]
TRACK = 0.42  # half width of the track that the robot walks on [m]
PARALLAX = 0.06  # how fast the hills pass, as a share of the robot's speed
SHADOW = 0.62  # darkness under what touches the floor


def gradient(top: palette.Color, low: palette.Color, rows: Array) -> Array:
    """Colours from `top` to `low` for rows from 0 to 1, shape (len(rows), 3)."""
    share = np.clip(rows, 0.0, 1.0)[:, None]
    return np.array(top) + (np.array(low, float) - np.array(top)) * share


class Backdrop:
    """Paints everything behind the robot as a side camera sees it.

    Args:
        scene: what there is.
        camera: its `center` may move between pictures, nothing else.
    """

    def __init__(self, scene: Scene, camera: SideCamera) -> None:
        self.scene, self.camera = scene, camera
        self.width, self.height = camera.size
        self.far = -camera.sin * HORIZON * camera.scale  # horizon above the robot's line [px]
        self._sky = self._paint_sky()
        self._floor = self._paint_floor()
        self._x = np.arange(self.width, dtype=np.float32) + 0.5
        self._y = np.arange(self.height, dtype=np.float32) + 0.5

    def paint(self, canvas: Pixels) -> None:
        """Fill the canvas, shape (height, width, 3)."""
        floor = self.scene.floor
        if floor is None:
            canvas[...] = self._sky[: self.height, : self.width]
            self._grid(canvas)
        else:
            horizon = round(self.camera.row(0.0, float(floor.position[2])) + self.far)
            self._fill(canvas, horizon)
            self._marks(canvas, floor)

    # What stays the same

    def _paint_sky(self) -> Pixels:
        """Sky, its low edge on the horizon, with hills that repeat; twice as wide, (h, 2 w, 3)."""
        h, w = self.height, 2 * self.width
        rows = (np.arange(h) + 0.5) / h
        colors = gradient(palette.SKY_TOP, palette.SKY_LOW, rows if self.scene.floor else rows**0.8)
        sky = np.repeat(colors[:, None], w, axis=1)
        if self.scene.floor is not None:
            turn = 2 * math.pi * np.arange(w) / w
            for color, waves in zip(palette.HILLS, _WAVES, strict=True):
                top = sum(a * np.sin(k * turn + phase) for k, a, phase in waves)
                level = h * (1.0 - waves[0][1] * 2.4 - 0.6 * np.asarray(top))
                cover = np.clip(np.arange(h)[:, None] - level[None] + 0.5, 0, 1)[..., None]
                fade = (np.clip((rows - 0.8) / 0.2, 0, 1) * 0.55)[:, None, None]
                hazy = np.array(color) + (np.array(palette.SKY_LOW, float) - color) * fade
                sky += cover * (hazy - sky)
        return (sky + _dither(h, w)).astype(np.uint8)

    def _paint_floor(self) -> Pixels:
        """Floor from the horizon down, with the track, shape (height, width, 3)."""
        h, scale = self.height, self.camera.scale
        rows = np.arange(h) + 0.5
        y = HORIZON - rows / (scale * self.camera.sin)  # world y of each row [m]
        colors = gradient(palette.GROUND_FAR, palette.GROUND_NEAR, rows / (0.32 * h))
        haze = np.exp(-rows / (0.018 * h))[:, None] * 0.75
        colors += haze * (np.array(palette.SKY_LOW) - colors)
        pixel = scale * self.camera.sin
        on_track = np.clip((TRACK - np.abs(y)) * pixel + 0.5, 0, 1)[:, None]
        colors += 0.62 * on_track * (np.array(palette.TRACK) - colors)
        edge = np.clip(1.1 - np.abs(np.abs(y) - TRACK) * pixel, 0, 1)[:, None]
        colors += 0.75 * edge * (255 - colors)
        return (colors[:, None] + _dither(h, self.width)).astype(np.uint8)

    # What moves

    def _fill(self, canvas: Pixels, horizon: int) -> None:
        """Sky above the row `horizon`, floor below."""
        edge = min(max(horizon, 0), self.height)
        shift = round(PARALLAX * self.camera.scale * float(self.camera.center[0]))
        start = shift % (2 * self.width)
        first = min(self.width, 2 * self.width - start)
        above = self._sky[self.height - edge :] if edge else self._sky[:0]
        canvas[:edge, :first] = above[:, start : start + first]
        canvas[:edge, first:] = above[:, : self.width - first]
        canvas[edge:] = self._floor[edge - horizon :][: self.height - edge]

    def _marks(self, canvas: Pixels, floor: HalfSpace) -> None:
        """Lines across the track at every metre, short ones between."""
        camera, z = self.camera, float(floor.position[2])
        half = self.width / 2 / camera.scale
        first = math.ceil((camera.center[0] - half) * 5) - 1
        last = math.floor((camera.center[0] + half) * 5) + 1
        for fifth in range(first, last + 1):
            whole = fifth % 5 == 0
            near = -TRACK if whole else -TRACK + 0.10
            low = camera.row(near, z)
            high = camera.row(TRACK, z) if whole else camera.row(-TRACK, z)
            top, bottom = sorted((round(high), round(low)))
            share = 0.55 if whole else 0.5
            width = 2.0 if whole else 1.2
            self._post(canvas, camera.column(fifth / 5), top, bottom, width, share)

    def _post(
        self, canvas: Pixels, x: float, top: int, bottom: int, width: float, share: float
    ) -> None:
        """An upright line, smooth to a fraction of a pixel."""
        width *= max(1.0, self.height / 540)
        left, right = math.floor(x - width / 2), math.ceil(x + width / 2)
        area = canvas[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
        if area.size == 0:
            return
        columns = max(left, 0) + np.arange(area.shape[1]) + 0.5
        cover = np.clip(width / 2 + 0.5 - np.abs(columns - x), 0, 1)[None, :, None] * share
        area[...] = area + cover * (np.array(palette.MARK) - area.astype(float)) + 0.5

    def labels(self) -> list[tuple[str, float, float]]:
        """Distance marks as text, with the middle of each [px]."""
        if self.scene.floor is None:
            return []
        camera, z = self.camera, float(self.scene.floor.position[2])
        half = self.width / 2 / camera.scale + 0.3
        first, last = math.ceil(camera.center[0] - half), math.floor(camera.center[0] + half)
        step = 1 if last - first < 16 else 5
        row = camera.row(-TRACK, z) + 0.032 * self.height
        return [(f"{x} m", camera.column(x), row) for x in range(first, last + 1) if x % step == 0]

    def _grid(self, canvas: Pixels) -> None:
        """Where there is no floor: a faint square grid, half a metre wide, that shows the scale."""
        camera = self.camera
        span_x, span_z = (size / camera.scale for size in camera.size)
        cx, cz = float(camera.center[0]), float(camera.center[2])
        for i in range(math.ceil((cx - span_x) * 2), math.floor((cx + span_x) * 2) + 1):
            self._post(canvas, camera.column(i / 2), 0, self.height, 1.0, 0.16 if i % 2 else 0.3)
        for i in range(math.ceil((cz - span_z) * 2), math.floor((cz + span_z) * 2) + 1):
            row = camera.row(0.0, i / 2)
            turned = canvas.swapaxes(0, 1)
            self._post(turned, row, 0, self.width, 1.0, 0.16 if i % 2 else 0.3)

    def shadows(self, canvas: Pixels, solids: list[Solid]) -> None:
        """Soft shadows on the floor, the higher the solid the wider and fainter."""
        floor = self.scene.floor
        if floor is None:
            return
        z = float(floor.position[2])
        spots = [
            (*point, solid.radius) for solid in solids if solid.body > 0 for point in solid.core
        ]
        if not spots:
            return
        x, y, height, radius = np.array(spots).T
        height = np.maximum(height - z - radius, 0.0)
        camera = self.camera
        reach = (radius + 0.03 + 0.22 * height) * camera.scale
        strength = SHADOW * np.exp(-height / 0.16) * np.minimum(1.0, 0.02 + radius / 0.05)
        columns = camera.size[0] / 2 + camera.scale * (x - camera.center[0])
        rows = camera.row(0.0, z) - camera.scale * camera.sin * y
        flat = np.maximum(reach * 0.32, 2.0)
        top, bottom = max(0, int((rows - 3 * flat).min())), int((rows + 3 * flat).max()) + 1
        left, right = max(0, int((columns - 3 * reach).min())), int((columns + 3 * reach).max()) + 1
        area = canvas[top : max(bottom, 0), left : max(right, 0)]
        if area.size == 0:
            return
        across = (self._x[left:right][None] - columns[:, None]) / reach[:, None]
        down = (self._y[top:bottom][None] - rows[:, None]) / flat[:, None]
        # Light that is let through is multiplied, so that many spots do not add up to black.
        blocked = (strength[:, None] * np.exp(-down * down)).T @ np.exp(-across * across)
        dark = (SHADOW * (1.0 - np.exp(-blocked / SHADOW)))[..., None].astype(np.float32)
        area[...] = area + dark * (np.array(palette.SHADOW, np.float32) - area) + 0.5


_WAVES = (
    ((3, 0.040, 0.4), (7, 0.022, 2.0), (13, 0.010, 1.0)),
    ((5, 0.022, 1.7), (11, 0.012, 0.3), (23, 0.005, 2.2)),
)


def _dither(height: int, width: int) -> Array:
    """Rounding offsets that keep gradients from showing bands; always the same."""
    return np.random.default_rng(0).random((height, width, 1))
