"""Height fields in the picture: their triangles, drawn with depth and smooth normals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.compiled import inlined, kernel
from dynenvs.envs.render.lens import open_lens, seen_at, vector
from dynenvs.parts import Geom

Array = NDArray[Any]

NEAR = 0.05  # corners nearer than this hide their triangles [m]


class Surface:
    """The corners of a height field's triangles, world axes.

    Args:
        geom: a height field fixed in the world.

    Attributes:
        points: [m], shape (nx, ny, 3).
        normals: unit, shape (nx, ny, 3).
    """

    def __init__(self, geom: Geom) -> None:
        heights = geom.heights
        assert heights is not None
        nx, ny = heights.shape
        x, y = np.linspace(-1, 1, nx) * geom.size[0], np.linspace(-1, 1, ny) * geom.size[1]
        grid = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1)
        along_x, along_y = np.gradient(heights, x, y)
        normals = np.stack([-along_x, -along_y, np.ones_like(heights)], axis=-1)
        normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
        self.points = np.ascontiguousarray(grid @ geom.rotation.T + geom.position)
        self.normals = np.ascontiguousarray(normals @ geom.rotation.T)


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
    for row in range(top, bottom + 1):
        for column in range(left, right + 1):
            x, y = column + 0.5, row + 0.5
            u = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / area
            v = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / area
            w = 1.0 - u - v
            if u < 0.0 or v < 0.0 or w < 0.0:
                continue
            u, v, w = u / a[2], v / b[2], w / c[2]  # inverse depths vary linearly in a picture
            t = 1.0 / (u + v + w)
            if t < depth[row, column]:
                depth[row, column] = t
                for k in range(3):
                    normal[row, column, k] = t * (u * na[k] + v * nb[k] + w * nc[k])
