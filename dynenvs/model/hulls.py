"""Convex hulls of points, such with few corners, and those by which smooth solids are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.parts import Geom, ModelError, check_size

Floats = NDArray[np.float64]

LOOKS = 4096  # directions in which two hulls are compared
BLOCK = 32  # ... so many at once
DRAWN = 32  # sides of what is drawn round


def hull_corners(points: Floats, what: str) -> Floats:
    """Those of the points that are corners of their convex hull, in their order, shape (n, 3).

    Computed by Qhull (Barber, Dobkin, Huhdanpaa, ACM Trans. Math. Softw. 22 (1996)).

    Args:
        points: shape (m, 3) [m].
        what: they are, for messages.

    Raises:
        ModelError: they are fewer than four, not finite, or lie in a plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    if points.ndim != 2 or points.shape[1:] != (3,) or not np.all(np.isfinite(points)):
        raise ModelError(f"{what}: points must be finite, of shape (n, 3), got {points.shape}")
    check_size(points, f"{what}: points")
    try:
        corners: Floats = points[np.sort(ConvexHull(points).vertices)]
    except (QhullError, ValueError):
        raise ModelError(
            f"{what}: points must be four or more that do not lie in a plane"
        ) from None
    return corners


def fewer_corners(corners: Floats, most: int) -> tuple[Floats, float]:
    """At most so many of a hull's corners, and how far the hull reaches out of theirs [m].

    One by one that corner is taken which reaches farthest out of the hull of those before it.
    """
    if len(corners) <= most:
        return corners, 0.0
    # How far the whole hull reaches, and how far what has been kept
    looks = directions(LOOKS)
    reach = farthest(corners, looks)
    kept = [int(np.argmax(corners @ looks[0]))]
    within = corners[kept[0]] @ looks.T
    while len(kept) < most:
        look = int(np.argmax(reach - within))
        kept.append(int(np.argmax(corners @ looks[look])))
        within = np.maximum(within, corners[kept[-1]] @ looks.T)
    # Measured with fresh directions: those of the choice would flatter it
    found = corners[np.sort(kept)]
    fresh = directions(3 * LOOKS)  # others than those by which the corners were chosen
    missing = farthest(corners, fresh) - farthest(found, fresh)
    return found, float(missing.max())


def farthest(points: Floats, looks: Floats) -> Floats:
    """How far points reach along each of some directions, shapes (n, 3) and (m, 3); shape (m,)."""
    columns, found = np.ascontiguousarray(points.T), np.empty(len(looks))
    for k in range(0, len(looks), BLOCK):  # what is in the cache is compared at once
        found[k : k + BLOCK] = (looks[k : k + BLOCK] @ columns).max(axis=1)
    return found


def directions(count: int) -> Floats:
    """Unit vectors spread evenly, on a spiral of golden angles, shape (count, 3)."""
    k = np.arange(count)
    # Even steps in z are even areas on the sphere
    z = 1.0 - (2.0 * k + 1.0) / count
    angle = k * np.pi * (3.0 - np.sqrt(5.0))
    r = np.sqrt(1.0 - z * z)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), z])


def prism(radius: float, half_length: float, sides: int) -> Floats:
    """Corners of a prism in a cylinder along z, shape (2 sides, 3)."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(sides)])
    up = np.array([0.0, 0.0, half_length])
    return np.concatenate([ring - up, ring + up])


def ellipsoid(half_axes: Floats, count: int) -> tuple[Floats, float]:
    """Points spread over an ellipsoid, and how far it reaches out of their hull [m]."""
    half = np.asarray(half_axes, dtype=np.float64)
    points = half * directions(count)
    looks = directions(LOOKS)
    reach = np.linalg.norm(half * looks, axis=1)
    return points, float((reach - farthest(points, looks)).max())


def outline(geom: Geom) -> Floats | None:
    """Corners of a convex solid, or points on a smooth one by which it is drawn, shape (n, 3).

    In the geom's axes [m]; None of all others.
    """
    if geom.type == "ellipsoid":
        return ellipsoid(geom.size, DRAWN * DRAWN // 2)[0]
    if geom.type in ("cylinder", "cone"):
        rims = prism(float(geom.size[0]), float(geom.size[1]), DRAWN)
        apex = np.array([[0.0, 0.0, geom.size[1]]])
        return rims if geom.type == "cylinder" else np.concatenate([rims[:DRAWN], apex])
    return geom.corners


def outermost(geom: Geom, direction: Floats) -> Floats:
    """The outermost point of a cylinder, cone or ellipsoid along a direction, its own axes [m]."""
    size = geom.size
    if geom.type == "ellipsoid":
        return np.asarray(size * size * direction / np.linalg.norm(size * direction))
    # The rim on that side, and the end that lies further out
    across = float(np.hypot(direction[0], direction[1]))
    rim = np.array([direction[0], direction[1], 0.0]) * (size[0] / across if across > 0.0 else 0.0)
    end = np.array([0.0, 0.0, size[1] if direction[2] > 0.0 else -size[1]])
    # A cone: its apex, or its rim at the base
    if geom.type == "cone":
        if 2.0 * size[1] * direction[2] > size[0] * across:
            return np.array([0.0, 0.0, size[1]])
        end[2] = -size[1]
    reached: Floats = rim + end
    return reached


def outward_triangles(points: Floats) -> NDArray[np.int64]:
    """Triangles of the convex hull of points, counter-clockwise as seen from outside.

    Numbers of their corners, shape (t, 3); points: shape (n, 3).
    """
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    triangles = np.array(hull.simplices, dtype=np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return triangles
