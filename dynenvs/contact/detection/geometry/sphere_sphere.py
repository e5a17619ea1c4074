"""Sphere against sphere, where there are too many of them for a point feature each pair."""

from __future__ import annotations

from typing import Any

from dynenvs.contact.detection.geometry.spot import part, point
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Records


@kernel
def sphere_sphere(pair: Any, a: Any, b: Any, spots: Records, first: int) -> None:
    """One slot: the distance of the centres less both radii."""
    up = (0.0, 0.0, 1.0)  # concentric spheres: any direction parts them
    part(spots[first], point(a.center), point(b.center), pair.size_a[0], pair.size_b[0], up)
