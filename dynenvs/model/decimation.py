"""Surfaces of few triangles: points that share a cell of a grid become one.

That one lies where the planes of its triangles meet as nearly as can be, so that edges and corners
stay (Lindstrom, Out-of-core simplification of large polygonal models, SIGGRAPH (2000)).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Surface = tuple[Floats, Ints]  # points [m], shape (n, 3), and triangles, shape (t, 3)

FLAT = 0.03  # curvature below which, relative to the largest, a cell's point is not moved
GROWTH = 1.12  # of cells that still leave too many triangles


def together(surfaces: list[Surface]) -> Surface:
    """Several surfaces as one."""
    starts = np.cumsum([0, *(len(points) for points, _ in surfaces)])
    return (
        np.concatenate([points for points, _ in surfaces]),
        np.concatenate([own + start for (_, own), start in zip(surfaces, starts, strict=False)]),
    )


def decimated(surfaces: list[Surface], most: int) -> list[Surface]:
    """The same surfaces with at most so many triangles in all, by one size of cells.

    Surfaces of which nothing is left (they are smaller than a cell) come back without triangles.
    """
    count = sum(len(triangles) for _, triangles in surfaces)
    if count <= most:
        return surfaces
    # As many cells as triangles are wanted, to begin with
    area = sum(float(np.linalg.norm(_areas(*surface), axis=1).sum()) for surface in surfaces)
    cell = math.sqrt(area / most)
    while True:
        found = [clustered(*surface, cell) for surface in surfaces]
        count = sum(len(triangles) for _, triangles in found)
        if count <= most:
            return found
        cell *= max(GROWTH, math.sqrt(count / most))


def clustered(points: Floats, triangles: Ints, cell: float) -> Surface:
    """One point for all that lie in a cube of a grid; triangles that keep three corners.

    Args:
        points: shape (n, 3) [m].
        triangles: shape (t, 3).
        cell: side of a cube [m].
    """
    # Numbers of cubes, and of their points
    cubes = np.floor((points - points.min(axis=0)) / cell + 0.5).astype(np.int64)
    sides = cubes.max(axis=0) + 1
    key = (cubes[:, 0] * sides[1] + cubes[:, 1]) * sides[2] + cubes[:, 2]
    _, owner = np.unique(key, return_inverse=True)
    owner = owner.ravel()
    # Triangles keep their corners' cells; those with two corners in one vanish
    corners = owner[triangles]
    a, b, c = corners.T
    whole = (a != b) & (b != c) & (c != a)
    places = _places(points, triangles, owner, cell)
    # Two sides of a thin wall may become one triangle: it is kept once
    kept = corners[whole]
    _, first = np.unique(np.sort(kept, axis=1), axis=0, return_index=True)
    kept = kept[np.sort(first)]
    used, numbers = np.unique(kept, return_inverse=True)
    return places[used], numbers.reshape(-1, 3).astype(np.int64)


def _areas(points: Floats, triangles: Ints) -> Floats:
    """Normals of the triangles, as long as twice their areas, shape (t, 3)."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def _places(points: Floats, triangles: Ints, owner: Ints, cell: float) -> Floats:
    """Of each cell the point from which the planes of its triangles are least far, shape (k, 3).

    With x = mean + d the sum of squares is d A d - 2 b d + ..., A = sum n n', b = sum n (n (p -
    mean)), over the triangles that have a corner in the cell; n is as long as its area.
    """
    # The mean of the points, from which all is measured
    count = int(owner.max()) + 1
    sizes = np.bincount(owner, minlength=count)
    sums = [np.bincount(owner, points[:, k], minlength=count) for k in range(3)]
    mean = np.stack(sums, axis=1) / sizes[:, None]
    # Planes of the triangles, summed in the cells of their corners
    normals = _areas(points, triangles)
    A, b = np.zeros((count, 3, 3)), np.zeros((count, 3))
    for k in range(3):
        own = owner[triangles[:, k]]
        off = np.einsum("ij,ij->i", normals, points[triangles[:, k]] - mean[own])
        for i in range(3):
            b[:, i] += np.bincount(own, normals[:, i] * off, minlength=count)
            for j in range(3):
                A[:, i, j] += np.bincount(own, normals[:, i] * normals[:, j], minlength=count)
    # Along flat directions the mean is as good as any point
    curvature, axes = np.linalg.eigh(A)
    bent = curvature > FLAT * np.maximum(curvature[:, 2:], 1e-300)
    along = np.einsum("kji,kj->ki", axes, b)
    step = np.where(bent, along / np.where(bent, curvature, 1.0), 0.0)
    moved = np.einsum("kij,kj->ki", axes, step)
    return np.asarray(mean + np.clip(moved, -0.5 * cell, 0.5 * cell))
