"""Terrain in the picture: its triangles, drawn with depth and normals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.compiled import inlined, kernel
from dynenvs.envs.render.lens import open_lens, seen_at, vector
from dynenvs.parts import Geom

Array = NDArray[Any]

REACH = 12.0  # distance from the robot up to which terrain is drawn [m]
NEAR = 0.05  # corners nearer than this hide their triangles [m]


class Surface:
    """Ground fixed in the world that is no level floor, as a net of triangles about a place.

    Args:
        geom: a height field, block field or sloping half space.
    """

    def __init__(self, geom: Geom) -> None:
        self.geom = geom
        self._drawn: tuple[int, int] | None = None

    def near(self, target: Array) -> tuple[Array, Array]:
        """Corners [m] and unit normals of the ground about `target`, each of shape (nx, ny, 3)."""
        local = self.geom.rotation.T @ (target - self.geom.position)
        heights, size = self.geom.heights, self.geom.size
        if heights is None:
            spacing, first = np.ones(2), np.zeros(2)
        elif self.geom.type == "block_field":
            spacing, first = 2 * size[:2] / heights.shape, -size[:2]
        else:
            spacing, first = 2 * size[:2] / (np.array(heights.shape) - 1), -size[:2]
        middle = np.rint((local[:2] - first) / spacing).astype(int)
        if self._drawn != (middle[0], middle[1]):
            self._drawn = (int(middle[0]), int(middle[1]))
            reach = np.ceil(REACH / spacing).astype(int)
            i = np.arange(middle[0] - reach[0], middle[0] + reach[0] + 1)
            j = np.arange(middle[1] - reach[1], middle[1] + reach[1] + 1)
            net = _blocks if self.geom.type == "block_field" else _net
            points, normals = net(heights, i, j, spacing)
            points[..., :2] += first
            self._points = np.ascontiguousarray(points @ self.geom.rotation.T + self.geom.position)
            self._normals = np.ascontiguousarray(normals @ self.geom.rotation.T)
        return self._points, self._normals


def _sample(heights: Array | None, i: Array, j: Array) -> Array:
    """Heights at rows i and columns j, the border's beyond it; zero of a plane."""
    if heights is None:
        return np.zeros((len(i), len(j)))
    clipped = np.clip(i, 0, heights.shape[0] - 1), np.clip(j, 0, heights.shape[1] - 1)
    return np.asarray(heights[np.ix_(*clipped)])


def _net(heights: Array | None, i: Array, j: Array, spacing: Array) -> tuple[Array, Array]:
    """Of a height field or plane: smooth normals."""
    z, x, y = _sample(heights, i, j), i * spacing[0], j * spacing[1]
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1)
    along_x, along_y = np.gradient(z, x, y)
    normals = np.stack([-along_x, -along_y, np.ones_like(z)], axis=-1)
    return points, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def _blocks(heights: Array | None, i: Array, j: Array, spacing: Array) -> tuple[Array, Array]:
    """Of a block field: each block's four corners twice, for its top and for the walls about it."""
    z = np.repeat(np.repeat(_sample(heights, i, j), 4, axis=0), 4, axis=1)
    corners = np.array([0, 0, 1, 1])
    x = spacing[0] * (i[:, None] + corners).ravel()
    y = spacing[1] * (j[:, None] + corners).ravel()
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1)
    normals = np.zeros_like(points)
    normals[..., 2] = 1.0
    wall = np.array([-1.0, 0.0, 0.0, 1.0])  # which way out of the block, where there is a wall
    wall_x, wall_y = np.tile(wall, len(i))[:, None], np.tile(wall, len(j))[None, :]
    _face(normals, 0, z, wall_x, 0)
    _face(normals, 1, z, np.broadcast_to(wall_y, z.shape), 1)
    return points, normals


def _face(normals: Array, axis: int, z: Array, wall: Array, k: int) -> None:
    """Turn the normals at walls across `axis` to where the ground falls."""
    back, ahead = np.roll(z, 1, axis), np.roll(z, -1, axis)
    step = np.where(wall > 0, z - ahead, np.where(wall < 0, back - z, 0.0))
    there = step != 0.0
    normals[there] = 0.0
    normals[there, k] = np.sign(step[there])


@kernel
def draw_surface(
    camera: Any, points: Array, normals: Array, seen: Array, depth: Array, normal: Array
) -> None:
    """Draw all triangles into depth (h, w) and normal (h, w, 3); nearer ones win.

    seen: scratch, shape (nx, ny, 3): columns, rows [px] and depths of the corners.
    """
    lens = open_lens(camera)
    nx, ny = points.shape[0], points.shape[1]
    for i in range(nx):
        for j in range(ny):
            column, row, far = seen_at(lens, vector(points[i, j]), NEAR)
            seen[i, j, 0], seen[i, j, 1], seen[i, j, 2] = column, row, far
    for i in range(nx - 1):
        for j in range(ny - 1):
            _triangle(seen, normals, i, j, i + 1, j, i + 1, j + 1, depth, normal)
            _triangle(seen, normals, i, j, i + 1, j + 1, i, j + 1, depth, normal)


@inlined
def _triangle(
    seen: Array,
    normals: Array,
    ia: int,
    ja: int,
    ib: int,
    jb: int,
    ic: int,
    jc: int,
    depth: Array,
    normal: Array,
) -> None:
    a, b, c = seen[ia, ja], seen[ib, jb], seen[ic, jc]
    if min(a[2], min(b[2], c[2])) <= NEAR:
        return
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if area >= 0.0:  # seen from below
        return
    height, width = depth.shape[0], depth.shape[1]
    left = max(math.ceil(min(a[0], min(b[0], c[0])) - 0.5), 0)
    right = min(math.floor(max(a[0], max(b[0], c[0])) - 0.5), width - 1)
    top = max(math.ceil(min(a[1], min(b[1], c[1])) - 0.5), 0)
    bottom = min(math.floor(max(a[1], max(b[1], c[1])) - 0.5), height - 1)
    if left > right or top > bottom:
        return
    na, nb, nc = normals[ia, ja], normals[ib, jb], normals[ic, jc]
    # Shares of the corners and inverse depths vary linearly in a picture
    turn_u, turn_v = (b[1] - c[1]) / area, (c[1] - a[1]) / area
    near_a, near_b, near_c = 1.0 / a[2], 1.0 / b[2], 1.0 / c[2]
    x = left + 0.5
    for row in range(top, bottom + 1):
        y = row + 0.5
        first_u = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / area
        first_v = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / area
        for column in range(left, right + 1):
            u, v = first_u + (column - left) * turn_u, first_v + (column - left) * turn_v
            w = 1.0 - u - v
            if u < 0.0 or v < 0.0 or w < 0.0:
                continue
            u, v, w = u * near_a, v * near_b, w * near_c
            t = 1.0 / (u + v + w)
            if t < depth[row, column]:
                depth[row, column] = t
                for k in range(3):
                    normal[row, column, k] = t * (u * na[k] + v * nb[k] + w * nc[k])
