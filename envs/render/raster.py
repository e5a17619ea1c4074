"""Pixels, compiled: rounded convex hulls and soft spots on an array of pixels.

The distance of each pixel from a hull gives its coverage (so edges are smooth and move by fractions
of a pixel), its surface normal (so capsules and balls are lit exactly) and its outline; nothing is
oversampled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.lens import Canvas, Depths
from dynenvs.jit.compiled import entry, inlined
from dynenvs.memory.layout import Floats, Matrix
from dynenvs.simd.elementary import exp

Array = NDArray[Any]
Pixels = NDArray[np.uint8]

LIGHT = np.array([-0.48, 0.68, 0.55]) / np.linalg.norm([-0.48, 0.68, 0.55])  # right, up, to viewer
LEVELS = 256  # of light in a table
FAINT = 0.002  # a shadow that no one sees
HALO_WIDTH = 4.0  # of the soft rim around a solid, in widths of a line


class Style(NamedTuple):
    """How a hull is drawn besides the colours of its surface."""

    rim_color: Floats  # of the outline, shape (3,)
    outline: float  # share of that colour at the rim
    halo: float  # how much what lies around is darkened
    opacity: float
    line: float  # width of a line [px]


@inlined
def _from_edge(
    ax: float, ay: float, bx: float, by: float, x: float, y: float
) -> tuple[float, float]:
    """From the nearest point of the segment a b to the point (x, y)."""
    ex, ey = bx - ax, by - ay
    along = ((x - ax) * ex + (y - ay) * ey) / max(ex * ex + ey * ey, 1e-9)
    along = min(max(along, 0.0), 1.0)
    return x - ax - along * ex, y - ay - along * ey


@inlined
def _from_hull(core: Array, turning: float, x: float, y: float) -> tuple[float, float]:
    """From the nearest point of a convex hull, corners in order, to (x, y); zero inside."""
    count = len(core)
    if count == 1:
        return x - core[0, 0], y - core[0, 1]
    if count == 2:
        return _from_edge(core[0, 0], core[0, 1], core[1, 0], core[1, 1], x, y)
    inside = True
    best_x, best_y, nearest = 0.0, 0.0, math.inf
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        ax, ay, bx, by = core[i, 0], core[i, 1], core[j, 0], core[j, 1]
        if ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) * turning < 0.0:
            inside = False
        dx, dy = _from_edge(ax, ay, bx, by, x, y)
        square = dx * dx + dy * dy
        if square < nearest:
            best_x, best_y, nearest = dx, dy, square
    if inside:
        return 0.0, 0.0
    return best_x, best_y


@entry
def paint_hull(
    canvas: Canvas,
    core: Matrix,
    radius: float,
    table: Depths,
    facing: float,
    style: Style,
) -> None:
    """Paint the rounded hull of `core` [px], shape (k, 2); see `Painter.shape`.

    `table` holds colours by light, shape (LEVELS, 3); `facing` is the cosine to the light of the
    flat part's normal.  The surface leans outwards to the rim: its normal is
    (d, sqrt(r^2 - |d|^2)) / r with d from the hull to the pixel, so balls and cylinders are exact.
    """
    height, width, line = canvas.shape[0], canvas.shape[1], style.line
    reach = radius + 1.0 + (HALO_WIDTH * line if style.halo > 0.0 else 0.0)
    left, right, top, bottom = core[0, 0], core[0, 0], core[0, 1], core[0, 1]
    for i in range(1, len(core)):
        left, right = min(left, core[i, 0]), max(right, core[i, 0])
        top, bottom = min(top, core[i, 1]), max(bottom, core[i, 1])
    turning = 1.0
    if len(core) > 2:
        ax, ay, bx, by = core[0, 0], core[0, 1], core[1, 0], core[1, 1]
        turning = (bx - ax) * (core[2, 1] - ay) - (by - ay) * (core[2, 0] - ax)
    for row in range(int(max(0.0, top - reach)), int(min(height - 1.0, bottom + reach)) + 1):
        for column in range(int(max(0.0, left - reach)), int(min(width - 1.0, right + reach)) + 1):
            dx, dy = _from_hull(core, turning, column + 0.5, row + 0.5)
            distance = math.sqrt(dx * dx + dy * dy)
            if distance >= reach:
                continue
            within = radius - distance  # [px] from the rim, inwards
            dark = min(max(1.0 + within / (HALO_WIDTH * line), 0.0), 1.0)
            keep = 1.0 - style.halo * dark * dark
            cover = min(max(within + 0.5, 0.0), 1.0) * style.opacity
            r = max(radius, distance, 1e-3)
            ahead = math.sqrt(max(1.0 - (distance / r) ** 2, 0.0))
            light = (dx * LIGHT[0] - dy * LIGHT[1]) / r + ahead * facing
            level = int(min(max((light + 1.0) * (0.5 * LEVELS), 0.0), LEVELS - 1.0))
            rim = style.outline * min(max(1.0 - within / line, 0.0), 1.0)
            for k in range(3):
                color = table[level, k] + rim * (style.rim_color[k] - table[level, k])
                under = canvas[row, column, k] * keep
                canvas[row, column, k] = np.uint8(under + cover * (color - under) + 0.5)


@entry
def darken(
    canvas: Canvas, top: int, left: int, down: Matrix, across: Matrix, shade: Floats, most: float
) -> None:
    """Soft spots that fade towards the colour `shade`; see `Painter.shadow`."""
    blocked = np.zeros(across.shape[1])
    for row in range(down.shape[1]):
        blocked[:] = 0.0
        for i in range(len(down)):
            if down[i, row] > FAINT:
                for column in range(len(blocked)):
                    blocked[column] += down[i, row] * across[i, column]
        for column in range(len(blocked)):
            if blocked[column] < FAINT:
                continue
            # Light that is let through multiplies, so that many spots do not add up to black.
            dark = most * (1.0 - exp(-blocked[column] / most))
            for k in range(3):
                under = canvas[top + row, left + column, k] * 1.0
                darker = under + dark * (shade[k] - under) + 0.5
                canvas[top + row, left + column, k] = np.uint8(darker)
