"""How things look: antialiased, lit shapes painted straight into an array of pixels.

Colours and light are decided here; `raster` fills the pixels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.camera import Camera
from dynenvs.envs.render.raster import LEVELS, LIGHT, Style, darken, paint_hull
from dynenvs.envs.render.scene import Solid

Array = NDArray[Any]
Pixels = NDArray[np.uint8]

OUTLINE = 0.5  # how much of a solid's rim is the outline's colour
HALO = 0.16  # how dark the soft rim on what lies behind a solid is
VIEWER = np.array([0.0, 0.0, 1.0])
RIM = np.array(palette.OUTLINE, float)
SHADE = np.array(palette.SHADOW, float)


@lru_cache(maxsize=256)
def light_table(color: palette.Color, far: bool) -> NDArray[np.float32]:
    """Colours of a surface from turned away from the light to facing it, shape (LEVELS, 3)."""
    base = np.array(palette.mix(color, palette.FAR, 0.42) if far else color, float)
    if far:
        base *= 0.9
    facing = np.linspace(-1.0, 1.0, LEVELS)[:, None]
    lit = np.clip(0.5 + 0.62 * facing, 0.0, 1.08)
    shade = base * np.array([0.50, 0.54, 0.64])  # the sky lights what the sun does not
    colors = shade + (base - shade) * lit
    colors += (60.0 if not far else 22.0) * np.clip(facing, 0.0, 1.0) ** 14
    table: NDArray[np.float32] = np.clip(colors, 0, 255).astype(np.float32)
    return table


@lru_cache(maxsize=64)
def flat_table(color: palette.Color) -> NDArray[np.float32]:
    """A table that looks the same in any light, shape (LEVELS, 3)."""
    return np.tile(np.array(color, np.float32), (LEVELS, 1))


class Painter:
    """Paints rounded convex shapes on a canvas.

    Args:
        canvas: painted in place, shape (height, width, 3).
        line: width of outlines [px].
    """

    def __init__(self, canvas: Pixels, line: float) -> None:
        self.canvas = canvas
        self.line = line

    def solid(self, solid: Solid, camera: Camera) -> None:
        """A lit solid; a face that looks away from the camera is left out."""
        normal = VIEWER
        if solid.normal is not None:
            normal = camera.turn(solid.normal)
            if normal[2] < 0.02:
                return
        seen = camera.project(solid.core)
        radius = solid.radius * float(seen.scale.mean())
        table = light_table(solid.color, solid.far)
        self.shape(seen.pixels, radius, table, normal=normal, outline=OUTLINE, halo=HALO)

    def shape(
        self,
        core: Array,
        radius: float,
        table: NDArray[np.float32],
        *,
        normal: Array = VIEWER,
        outline: float = 0.0,
        halo: float = 0.0,
        opacity: float = 1.0,
    ) -> None:
        """The rounded hull of `core` [px], shape (k, 2), corners in order.

        Args:
            radius: of the rounding [px].
            table: colours by light, shape (LEVELS, 3).
            normal: of the flat part in view axes, shape (3,).
            outline: share of the outline's colour at the rim.
            halo: how much to darken what lies around, fading within some lines' width.
            opacity: of the whole.
        """
        facing = float(normal @ LIGHT)
        paint_hull(
            self.canvas,
            np.ascontiguousarray(core, np.float64),
            float(radius),
            table,
            facing,
            Style(RIM, float(outline), float(halo), float(opacity), float(self.line)),
        )

    def shadow(self, top: int, left: int, down: Array, across: Array, most: float) -> None:
        """Darken by sum_i down[i, row] across[i, column], but never by more than `most`.

        `down` has shape (n, rows), `across` (n, columns); they start at row `top`, column `left`.
        """
        darken(self.canvas, top, left, down, across, SHADE, most)
