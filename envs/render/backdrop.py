"""What lies behind the robot: sky, hills, the floor with its distance marks, and shadows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.camera import SideCamera
from dynenvs.envs.render.paint import Painter
from dynenvs.envs.render.scene import HalfSpace, Scene, Solid

Array = NDArray[Any]
Pixels = NDArray[np.uint8]

# In heights of the view
HORIZON = 0.46  # the floor ends so far behind the robot's plane
TRACK = 0.17  # half width of the track that the robot walks on
SHADOW_HEIGHT = 0.07  # how high a solid's shadow fades
SHADOW_BLUR = 0.012

SHADOW_SPREAD = 0.22  # how much wider a shadow is the higher its solid [m/m]
SHADOW = 0.6  # darkness under what touches the floor
PARALLAX = 0.06  # how fast the hills pass, as a share of the robot's speed
MINOR = 5  # short marks to a long one


def gradient(top: palette.Color, low: palette.Color, rows: Array) -> Array:
    """Colours from `top` to `low` for rows from 0 to 1, shape (len(rows), 3)."""
    share = np.clip(rows, 0.0, 1.0)[:, None]
    colors: Array = np.array(top) + (np.array(low, float) - np.array(top)) * share
    return colors


class Backdrop:
    """Paints everything behind the robot as a side camera sees it.

    Args:
        scene: what there is.
        camera: its `center` may move between pictures, nothing else.
    """

    def __init__(self, scene: Scene, camera: SideCamera) -> None:
        self.scene, self.camera = scene, camera
        self.width, self.height = camera.size
        view = self.height / camera.scale  # [m]
        self.view, self.track, self.step = view, TRACK * view, round_step(0.3 * view)
        self.far = -camera.sin * HORIZON * self.height  # horizon above the robot's line [px]
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
        colors = gradient(palette.SKY_TOP, palette.SKY_LOW, rows)
        if self.scene.floor is None:
            colors = gradient(palette.WALL_TOP, palette.WALL_LOW, rows)
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
        y = HORIZON * self.view - rows / (scale * self.camera.sin)  # world y of each row [m]
        colors = gradient(palette.GROUND_FAR, palette.GROUND_NEAR, rows / (0.32 * h))
        haze = np.exp(-rows / (0.018 * h))[:, None] * 0.75
        colors += haze * (np.array(palette.SKY_LOW) - colors)
        pixel = scale * self.camera.sin
        on_track = np.clip((self.track - np.abs(y)) * pixel + 0.5, 0, 1)[:, None]
        colors += 0.62 * on_track * (np.array(palette.TRACK) - colors)
        edge = np.clip(1.1 - np.abs(np.abs(y) - self.track) * pixel, 0, 1)[:, None]
        colors += 0.75 * edge * (255 - colors)
        return (colors[:, None] + _dither(h, self.width)).astype(np.uint8)

    # What moves

    def _fill(self, canvas: Pixels, horizon: int) -> None:
        """Sky above the row `horizon`, floor below."""
        edge = min(max(horizon, 0), self.height)
        shift = round(PARALLAX * self.camera.scale * float(self.camera.center[0]))
        start = shift % (2 * self.width)
        first = min(self.width, 2 * self.width - start)
        above = self._sky[self.height - edge :]
        if horizon > self.height:  # high above: the sky's top fills what it does not reach
            above = self._sky[np.maximum(np.arange(self.height) + self.height - horizon, 0)]
        canvas[:edge, :first] = above[:, start : start + first]
        canvas[:edge, first:] = above[:, : self.width - first]
        below = np.arange(edge, self.height) - horizon  # no floor is painted nearer than the last
        canvas[edge:] = self._floor[np.minimum(below, self.height - 1)]

    def _marks(self, canvas: Pixels, floor: HalfSpace) -> None:
        """Long lines across the track, each with its distance, and short ones between."""
        camera, z = self.camera, float(floor.position[2])
        near, far = round(camera.row(-self.track, z)), round(camera.row(self.track, z))
        short = round(camera.row(-0.76 * self.track, z))
        for i in self._lines(self.width, float(camera.center[0])):
            x = camera.column(i * self.step / MINOR)
            if i % MINOR == 0:
                self._post(canvas, x, far, near, 2.0, 0.55)
            else:
                self._post(canvas, x, short, near, 1.2, 0.5)

    def _lines(self, size: int, center: float) -> range:
        """Numbers of the marks in view along a side of the picture `size` pixels long."""
        half, spacing = 0.5 * size / self.camera.scale, self.step / MINOR
        first, last = math.floor((center - half) / spacing), math.ceil((center + half) / spacing)
        return range(first, last + 1)

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
        """The distances at the long marks, as text and where its middle is [px]."""
        camera, floor = self.camera, self.scene.floor
        row = 0.965 * self.height
        if floor is not None:
            row = camera.row(-self.track, float(floor.position[2])) + 0.034 * self.height
        numbers = self._lines(self.width, float(camera.center[0]))
        places = [i // MINOR * self.step for i in numbers if i % MINOR == 0]
        return [(f"{round(x, 6) + 0.0:g} m", camera.column(x), row) for x in places]

    def _grid(self, canvas: Pixels) -> None:
        """Where there is no floor: a faint square grid that shows the scale."""
        camera, turned = self.camera, canvas.swapaxes(0, 1)
        spacing = self.step / MINOR
        for i in self._lines(self.width, float(camera.center[0])):
            share = 0.08 if i % MINOR else 0.26
            self._post(canvas, camera.column(i * spacing), 0, self.height, 1.0, share)
        for i in self._lines(self.height, float(camera.center[2])):
            share = 0.08 if i % MINOR else 0.26
            self._post(turned, camera.row(0.0, i * spacing), 0, self.width, 1.0, share)

    def shadows(self, painter: Painter, solids: list[Solid]) -> None:
        """Soft shadows on the floor, the higher the solid the wider and fainter."""
        floor = self.scene.floor
        if floor is None:
            return
        z, camera = float(floor.position[2]), self.camera
        spots = [(*point, solid.radius) for solid in solids if solid.body for point in solid.core]
        x, y, height, radius = np.array(spots).reshape(-1, 4).T
        height = np.maximum(height - z - radius, 0.0)
        low = height < 4.0 * SHADOW_HEIGHT * self.view
        x, y, height, radius = x[low], y[low], height[low], radius[low]
        wide = (radius + SHADOW_BLUR * self.view + SHADOW_SPREAD * height) * camera.scale
        flat = np.maximum(0.3 * wide, 2.0)
        columns = camera.size[0] / 2 + camera.scale * (x - camera.center[0])
        rows = camera.row(0.0, z) - camera.scale * camera.sin * y
        if len(x) == 0:
            return
        top, bottom = _clipped(rows, 2.6 * flat, self.height)
        left, right = _clipped(columns, 2.6 * wide, self.width)
        if top >= bottom or left >= right:
            return
        strength = SHADOW * np.exp(-height / (SHADOW_HEIGHT * self.view))
        strength *= np.minimum(1.0, 0.1 + radius / (0.03 * self.view))
        across = (self._x[left:right] - columns[:, None]) / wide[:, None]
        down = (self._y[top:bottom] - rows[:, None]) / flat[:, None]
        down = strength[:, None] * np.exp(-down * down)
        painter.shadow(top, left, down, np.exp(-across * across), SHADOW)


def round_step(length: float) -> float:
    """The smallest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that is not below `length` [m]."""
    power = 10.0 ** math.floor(math.log10(length))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= length * (1 - 1e-9)))


def _clipped(center: Array, reach: Array, size: int) -> tuple[int, int]:
    """First pixel and the one after the last that the intervals cover, within the picture."""
    first, last = int((center - reach).min()), int((center + reach).max()) + 1
    return min(max(first, 0), size), min(max(last, 0), size)


_WAVES = (
    ((3, 0.040, 0.4), (7, 0.022, 2.0), (13, 0.010, 1.0)),
    ((5, 0.022, 1.7), (11, 0.012, 0.3), (23, 0.005, 2.2)),
)


def _dither(height: int, width: int) -> Array:
    """Rounding offsets that keep gradients from showing bands; always the same."""
    return np.random.default_rng(0).random((height, width, 1))
