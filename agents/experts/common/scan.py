"""The ground as the height scan shows it: its height anywhere, and the plane that fits it best.

A robot's record has the fields of `Scan`; x and y are from the base in its heading.
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from dynenvs.envs.legged.legged import SCAN_SPACING, LeggedTask
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats


class Scan:
    """What the record of a robot which reads a scan has."""

    scan_x: int  # points of the height scan forward, 0 if there is none,
    scan_y: int  # and sideways,
    scan_spacing: float  # their distance [m]
    at_height_scan: int


class Slope(Protocol):
    """What has the slopes of the ground's plane forward and sideways, shape (2,)."""

    rise: Floats


def see_ground(constants: NDArray[Any], task: LeggedTask) -> None:
    """Fill in Scan's fields: where the height scan is, if there is one."""
    if task.terrain != "flat":
        constants["scan_x"], constants["scan_y"] = task.scan
        constants["scan_spacing"] = SCAN_SPACING


@inlined
def ground_height(g: Scan, o: Floats, x: float, y: float) -> float:
    """Height of the ground at (x, y) against the base's [m], between four points of the scan."""
    u = min(max(x / g.scan_spacing + 0.5 * (g.scan_x - 1.0), 0.0), g.scan_x - 1.001)
    v = min(max(y / g.scan_spacing + 0.5 * (g.scan_y - 1.0), 0.0), g.scan_y - 1.001)
    i, j = int(u), int(v)
    s, t = u - i, v - j
    at = g.at_height_scan + i * g.scan_y + j
    near = (1.0 - t) * o[at] + t * o[at + 1]
    at += g.scan_y
    return float((1.0 - s) * near + s * ((1.0 - t) * o[at] + t * o[at + 1]))


@inlined
def fit_plane(g: Scan, o: Floats, ground: Slope) -> float:
    """The plane of the scanned ground: its slopes into `ground`; the base's height above it."""
    mean = x_slope = y_slope = xx = yy = 0.0
    for i in range(g.scan_x):
        x = (i - 0.5 * (g.scan_x - 1.0)) * g.scan_spacing
        for j in range(g.scan_y):
            y = (j - 0.5 * (g.scan_y - 1.0)) * g.scan_spacing
            z = o[g.at_height_scan + i * g.scan_y + j]
            mean += z
            x_slope += x * z
            y_slope += y * z
            xx += x * x
            yy += y * y
    ground.rise[0], ground.rise[1] = x_slope / xx, y_slope / yy
    return float(-mean / (g.scan_x * g.scan_y))
