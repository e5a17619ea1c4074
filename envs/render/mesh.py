"""Surfaces of triangles: convex hulls and visual meshes, lit as if they were smooth.

A corner of a triangle has the mean normal of those triangles about it that lean against its own by
less than a crease; between the corners normals are interpolated (Phong, Comm. ACM 18 (1975)).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.lens import Lens, Vector, cut, linear, seen_at, vector
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import add, cross, dot, into_body, subtract
from dynenvs.model.hulls import outward_triangles

Array = NDArray[Any]

CREASE = math.cos(math.radians(35.0))  # triangles that lean by more meet at a visible edge
LEVEL = 0.9  # cosine between normals of which one sample shows what the others do


class Mesh(NamedTuple):
    """Triangles, their outsides counter-clockwise."""

    corners: Array  # [m], shape (t, 3, 3)
    normals: Array  # at the corners, unit, shape (t, 3, 3)
    hull: Array  # points whose convex hull holds it, by which it casts its shadow, shape (k, 3)
    closed: bool  # nobody sees its triangles from behind


def hull_mesh(points: Array) -> Mesh:
    """The convex hull of points, shape (n, 3)."""
    triangles = outward_triangles(points)
    return Mesh(*lit_smoothly(points, triangles), points[np.unique(triangles)], closed=True)


def surface_mesh(points: Array, triangles: Array) -> Mesh:
    """Any surface, open or closed, in which no corner stands for another."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # flat
        hull = points
    return Mesh(*lit_smoothly(points, triangles), hull, closed=False)


def lit_smoothly(points: Array, triangles: Array) -> tuple[Array, Array]:
    """Corners and normals of triangles, both of shape (t, 3, 3).

    Args:
        points: shape (n, 3) [m].
        triangles: numbers of their corners, shape (t, 3).
    """
    corners = points[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(areas, axis=1)
    solid = sizes > 0.0
    corners, areas, triangles = corners[solid], areas[solid], triangles[solid]
    facets = areas / sizes[solid, None]
    at = triangles.ravel()
    order = np.argsort(at, kind="stable")
    owners = order // 3
    normals = np.empty((len(at), 3))
    for group in np.split(np.arange(len(at)), np.flatnonzero(np.diff(at[order])) + 1):
        own = owners[group]
        near = facets[own] @ facets[own].T > CREASE
        normals[order[group]] = near @ areas[own]
    normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
    return corners, normals.reshape(-1, 3, 3)


@kernel
def draw_triangles(
    lens: Lens, piece: Any, corners: Array, near: float, same: float, depth: Array, code: Array
) -> None:
    """Draw a piece's triangles, those that look away from the camera of open surfaces alone.

    near: what is nearer than this is not drawn [m]
    same: of surfaces no further apart than this along the view the first one's is seen [m]
    """
    R = piece.R
    own = Lens(
        into_body(R, subtract(lens.eye, vector(piece.center))),
        into_body(R, lens.right),
        into_body(R, lens.up),
        into_body(R, lens.ahead),
        lens.focal,
        lens.pixel,
        lens.column,
        lens.row,
    )
    for k in range(piece.count):
        triangle = corners[piece.first + k]
        a, b = subtract(triangle[0], own.eye), subtract(triangle[1], own.eye)
        c = subtract(triangle[2], own.eye)
        n = cross(a, b)
        volume = dot(n, c)  # six times that of the pyramid to the eye
        if volume < -1e-15 or (volume > 1e-15 and piece.closed == 0):
            _fill(own, triangle, (a, b, c), volume, piece.code + k, near, same, depth, code)


@inlined
def _rows(lens: Lens, triangle: Array, near: float, height: int) -> tuple[int, int]:
    """Rows of samples (first, one after the last) that can see a triangle."""
    top, bottom, nearest = math.inf, -math.inf, math.inf
    for k in range(3):
        _, row, depth = seen_at(lens, vector(triangle[k]), near)
        top, bottom, nearest = min(top, row), max(bottom, row), min(nearest, depth)
    if nearest <= near:  # partly behind the camera: it can be anywhere
        return 0, height
    first, last = min(max(2.0 * top - 0.5, 0.0), height), min(max(2.0 * bottom + 0.5, 0.0), height)
    return math.floor(first), math.ceil(last)


@inlined
def _fill(
    lens: Lens,
    triangle: Array,
    ways: tuple[Vector, Vector, Vector],
    volume: float,
    own: int,
    near: float,
    same: float,
    depth: Array,
    code: Array,
) -> None:
    """Sample by sample between a triangle's edges.

    A ray d meets its plane at depth t with 1 / t = (n . d) / (n . a), and lies within the edge from
    a to b if (a x b) . d has the sign of (a x b) . c, all seen from the eye.
    """
    a, b, c = ways
    u, v = cross(a, b), cross(b, c)
    w = cross(c, a)
    a1, b1, c1 = linear(lens, u, volume)
    a2, b2, c2 = linear(lens, v, volume)
    a3, b3, c3 = linear(lens, w, volume)
    # The three edges' functions add up to the inverse of the depth
    a0, b0, c0 = a1 + a2 + a3, b1 + b2 + b3, c1 + c2 + c3
    first, last = _rows(lens, triangle, near, depth.shape[0])
    for row in range(first, last):
        low, high = 0.0, depth.shape[1] - 1.0
        low, high = cut(low, high, a1 + c1 * row, b1)
        low, high = cut(low, high, a2 + c2 * row, b2)
        low, high = cut(low, high, a3 + c3 * row, b3)
        low, high = cut(low, high, a0 + c0 * row - 1e-4, b0)
        if low > high:
            continue
        for column in range(math.ceil(low), math.floor(high) + 1):
            t = 1.0 / (a0 + b0 * column + c0 * row)
            if near < t < depth[row, column] - same:
                depth[row, column] = t
                code[row, column] = own


@inlined
def triangle_normal(corners: Array, normals: Array, p: Vector) -> Vector:
    """The normal at a point of one triangle, between those at its corners; not of unit length."""
    a, b, c = subtract(corners[0], p), subtract(corners[1], p), subtract(corners[2], p)
    u, v, w = cross(b, c), cross(c, a), cross(a, b)
    n = add(add(u, v), w)
    x, y, z = max(dot(u, n), 0.0), max(dot(v, n), 0.0), max(dot(w, n), 0.0)
    return (
        x * normals[0, 0] + y * normals[1, 0] + z * normals[2, 0],
        x * normals[0, 1] + y * normals[1, 1] + z * normals[2, 1],
        x * normals[0, 2] + y * normals[1, 2] + z * normals[2, 2],
    )


@inlined
def alike(normals: Array, i: int, j: int) -> bool:
    """Whether two triangles of a mesh are lit nearly alike."""
    one, other = normals[i, 0], normals[j, 0]
    return bool(one[0] * other[0] + one[1] * other[1] + one[2] * other[2] > LEVEL)
