"""Visual meshes: what is seen of bodies and touches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.model.parts import WORLD, Geom, ModelError, check_name, check_size, real_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Color = tuple[int, int, int]


@dataclass(frozen=True)
class Visual:
    """A surface of triangles fixed in a body, which is seen and touches nothing."""

    name: str
    body: str
    points: Floats  # in the body's frame [m], shape (n, 3)
    triangles: Ints  # numbers of their corners, counter-clockwise from outside, shape (t, 3)
    color: Color  # red, green and blue, from 0 to 255
    instead_of: tuple[str, ...] = ()  # geoms that are not drawn where this is


def undrawn(geoms: Sequence[Geom], visuals: Sequence[Visual]) -> set[str]:
    """Names of the shapes that are not drawn among visual ones.

    Those for which visual meshes stand, and those that are hidden, unless nothing else of what
    moves would be seen.
    """
    covered = {name for visual in visuals for name in visual.instead_of}
    seen = any(visual.body != WORLD for visual in visuals)
    seen = seen or any(geom.body != WORLD and not geom.hidden for geom in geoms)
    return covered | {geom.name for geom in geoms if geom.hidden and seen}


class VisualBuilder:
    """Collects visual meshes; the part of `ModelBuilder` for them."""

    def __init__(self) -> None:
        self._visuals: dict[str, Visual] = {}

    def visual(
        self,
        name: str,
        body: str,
        *,
        points: ArrayLike,
        triangles: ArrayLike,
        color: Sequence[int] = (200, 200, 200),
        instead_of: Sequence[str] = (),
    ) -> Self:
        """Add a surface that is seen and touches nothing.

        Args:
            name: unique among visual meshes.
            body: that it is fixed in, or "world".
            points: in the body's frame [m], shape (n, 3).
            triangles: numbers of their corners, counter-clockwise from outside, shape (t, 3).
            color: red, green and blue, from 0 to 255.
            instead_of: geoms that are not drawn where this is.
        """
        check_name(name, "visual")
        if name in self._visuals:
            raise ModelError(f"visual {name!r} exists already; names of visuals must be unique")
        what = f"visual {name!r}"
        corners = _matrix(points, f"{what}: points")
        numbers = _matrix(triangles, f"{what}: triangles")
        known = (numbers >= 0) & (numbers < len(corners)) & (numbers == np.floor(numbers))
        if not known.all():
            raise ModelError(
                f"{what}: triangles must be whole numbers from 0 to {len(corners) - 1}, "
                f"got {numbers[~known][0]:g}"
            )
        self._visuals[name] = Visual(
            name, body, corners, numbers.astype(np.int64), _color(color, what), tuple(instead_of)
        )
        return self


def _matrix(value: ArrayLike, what: str) -> Floats:
    """A copy of `value` as rows of three finite numbers."""
    array = real_numbers(value)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be finite numbers of shape (n, 3), n above zero")
    check_size(array, what)
    return array


def _color(value: Any, what: str) -> Color:
    try:
        r, g, b = (int(channel) for channel in value)
    except (TypeError, ValueError, OverflowError):
        r = g = b = -1
    if not all(0 <= channel <= 255 for channel in (r, g, b)):
        raise ModelError(f"{what}: color must be three numbers from 0 to 255, got {value!r}")
    return r, g, b
