"""How things look: antialiased, lit shapes painted straight into an array of pixels.

Every shape is a rounded convex hull in the picture plane.  The distance of each pixel from the
hull gives its coverage (so edges are smooth and move by fractions of a pixel), its surface normal
(so capsules and balls are lit exactly) and its outline; nothing is oversampled.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.camera import Camera
from dynenvs.envs.render.scene import Solid

Array = NDArray[Any]
Pixels = NDArray[np.uint8]

LIGHT = np.array([-0.48, 0.68, 0.55]) / np.linalg.norm([-0.48, 0.68, 0.55])  # right, up, to viewer
OUTLINE_SHARE = 0.5  # how much of a solid's rim is the outline's colour
HALO_SHARE = 0.16  # how dark the soft rim on what lies behind a solid is
LEVELS = 256


@lru_cache(maxsize=256)
def light_table(color: palette.Color, far: bool) -> Array:
    """Colours of a surface from turned away from the light to facing it, shape (LEVELS, 3)."""
    base = np.array(palette.mix(color, palette.FAR, 0.42) if far else color, float)
    if far:
        base *= 0.9
    facing = np.linspace(-1.0, 1.0, LEVELS)[:, None]
    lit = np.clip(0.5 + 0.62 * facing, 0.0, 1.08)
    shade = base * np.array([0.50, 0.54, 0.64])  # the sky lights what the sun does not
    colors = shade + (base - shade) * lit
    colors += (60.0 if not far else 22.0) * np.clip(facing, 0.0, 1.0) ** 14
    return np.clip(colors, 0, 255).astype(np.float32)


@lru_cache(maxsize=64)
def flat_table(color: palette.Color) -> Array:
    """A table that looks the same in any light."""
    return np.tile(np.array(color, np.float32), (LEVELS, 1))


def offsets(core: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """From the nearest point of the hull of `core` (k, 2) to each pixel: right and down [px].

    `x` has shape (1, w), `y` (h, 1); the results (h, w).
    """
    if len(core) == 1:
        return np.broadcast_arrays(x - core[0, 0], y - core[0, 1])
    best: tuple[Array, Array] | None = None
    nearest: Array = np.empty(0)
    inside: Array | None = None
    turning = 1.0
    if len(core) > 2:
        (ax, ay), (bx, by), (cx, cy) = core[:3]
        turning = 1.0 if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0 else -1.0
    for i in range(len(core) if len(core) > 2 else 1):
        a, b = core[i], core[(i + 1) % len(core)]
        ex, ey = np.float32(b[0] - a[0]), np.float32(b[1] - a[1])
        px, py = x - a[0], y - a[1]
        along = (px * ex + py * ey) / max(ex * ex + ey * ey, np.float32(1e-6))
        np.clip(along, 0.0, 1.0, out=along)
        dx, dy = px - along * ex, py - along * ey
        if len(core) == 2:
            return dx, dy
        side = (py * ex - px * ey) * turning >= 0
        inside = side if inside is None else inside & side
        square = dx * dx + dy * dy
        if best is None:
            best, nearest = (dx, dy), square
        else:
            closer = square < nearest
            best = np.where(closer, dx, best[0]), np.where(closer, dy, best[1])
            nearest = np.minimum(square, nearest)
    assert best is not None
    return np.where(inside, 0, best[0]), np.where(inside, 0, best[1])


class Painter:
    """Paints rounded convex shapes on a canvas, shape (height, width, 3).

    Args:
        canvas: painted in place.
        line: width of outlines [px].
    """

    def __init__(self, canvas: Pixels, line: float) -> None:
        self.canvas = canvas
        self.line = line
        self._x = np.arange(canvas.shape[1], dtype=np.float32)[None] + 0.5
        self._y = np.arange(canvas.shape[0], dtype=np.float32)[:, None] + 0.5

    def solid(self, solid: Solid, camera: Camera) -> None:
        """A lit solid; a face that looks away from the camera is left out."""
        normal = np.array([0.0, 0.0, 1.0])
        if solid.normal is not None:
            normal = camera.turn(solid.normal)
            if normal[2] < 0.02:
                return
        seen = camera.project(solid.core)
        radius = solid.radius * float(seen.scale.mean())
        table = light_table(solid.color, solid.far)
        self.shape(seen.pixels, radius, table, normal=normal, outline=OUTLINE_SHARE, halo=True)

    def shape(
        self,
        core: Array,
        radius: float,
        table: Array,
        *,
        normal: Array | None = None,
        outline: float = 0.0,
        halo: bool = False,
        opacity: float = 1.0,
    ) -> None:
        """The rounded hull of `core` [px], shape (k, 2).

        Args:
            radius: of the rounding [px].
            table: colours by light, shape (LEVELS, 3).
            normal: of the flat part in view axes; lit as a round body if given, else flat.
            outline: share of the outline's colour at the rim.
            halo: darken softly what lies around.
            opacity: of the whole.
        """
        reach = radius + (4.0 * self.line if halo else 1.0) + 1.0
        height, width = self.canvas.shape[:2]
        x0, y0 = (max(0, int(v - reach)) for v in core.min(axis=0))
        x1, y1 = core.max(axis=0) + reach + 1
        x1, y1 = min(width, int(x1)), min(height, int(y1))
        if x0 >= x1 or y0 >= y1:
            return
        dx, dy = offsets(core.astype(np.float32), self._x[:, x0:x1], self._y[y0:y1])
        distance = np.sqrt(dx * dx + dy * dy)
        within = np.float32(radius) - distance  # [px] from the rim, inwards
        cover = np.clip(within + np.float32(0.5), 0, 1)
        area = self.canvas[y0:y1, x0:x1]
        color = table[LEVELS - 1] if normal is None else table[_lit(dx, dy, within, radius, normal)]
        if outline:
            rim = np.clip(1 - within / np.float32(self.line), 0, 1) * np.float32(outline)
            color = color + rim[..., None] * (np.array(palette.OUTLINE, np.float32) - color)
        under = area.astype(np.float32)
        if halo:
            dark = np.clip(1 + within / np.float32(4.0 * self.line), 0, 1)
            under *= 1 - (dark * dark * np.float32(HALO_SHARE))[..., None]
        under += (cover * np.float32(opacity))[..., None] * (color - under)
        under += np.float32(0.5)
        area[...] = under


def _lit(dx: Array, dy: Array, within: Array, radius: float, normal: Array) -> NDArray[np.intp]:
    """Row of a light table for each pixel: the normal leans outwards towards the rim."""
    r = np.float32(max(radius, 1e-3))
    up_left = dx * np.float32(LIGHT[0] / r) - dy * np.float32(LIGHT[1] / r)
    lean = np.clip(1 - within / r, 0, 1)
    ahead = np.sqrt(1 - lean * lean)
    facing = up_left + ahead * np.float32(normal @ LIGHT)
    return np.clip((facing + 1) * (0.5 * LEVELS), 0, LEVELS - 1).astype(np.intp)
