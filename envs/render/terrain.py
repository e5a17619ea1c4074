"""Terrain in the picture: its triangles, drawn with depth and normals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.lens import Depths, Directions, open_lens, seen_at, vector
from dynenvs.envs.render.orbit import Camera
from dynenvs.jit.compiled import entry, inlined
from dynenvs.memory.layout import Matrices
from dynenvs.model.parts import Geom

Array = NDArray[Any]
Place = tuple[int, int]  # of a corner in the net

REACH = 12.0  # distance from the robot up to which terrain is drawn as fine as it is [m]
FAR = 5.0  # and up to which it is drawn at all, in REACH
GROWTH = 1.5  # of the net's spacing beyond REACH
FINE = 0.12  # widest spacing of a smooth surface's net [m]
MOST = 500  # meshes of a net along each side, but for those beyond REACH
NEAR = 0.05  # corners nearer than this hide their triangles [m]


class Surface:
    """Ground that is no level floor, as a net of triangles about a place.

    Args:
        geom: a height field, block field or half space.
        unit: length of what FINE, REACH and the like count as a metre [m].
    """

    def __init__(self, geom: Geom, unit: float = 1.0) -> None:
        self._geom, self._unit = geom, unit
        heights, half = geom.heights, geom.size[:2]
        self._blocks = geom.type == "block_field"
        if heights is None:
            self._spacing, self._first = np.full(2, unit), np.zeros(2)
        else:
            sides = np.array(heights.shape) - (not self._blocks)
            self._spacing, self._first = 2 * half / sides, -half
        # Meshes to a cell of the array: more where a smooth surface has wide cells
        parts = np.ceil(self._spacing / (FINE * unit)).astype(int)
        self._parts = np.ones(2, int) if self._blocks or heights is None else parts
        self._drawn: Any = None  # where the net was spread last

    def near(self, target: Array, rotation: Array, position: Array) -> tuple[Array, Array]:
        """The net about a place.

        Args:
            target: the place, world axes [m], shape (3,).
            rotation, position: of the body that carries the ground, in the world.

        Returns corners [unit] and normals of length one, world axes, each of shape (nx, ny, 3).
        """
        R = rotation @ self._geom.rotation
        p = rotation @ self._geom.position + position
        local = R.T @ (target - p)
        mesh = self._spacing / self._parts
        middle = np.rint((local[:2] - self._first) / mesh).astype(int)
        drawn = (tuple(middle), R.tobytes(), p.tobytes())
        if self._drawn != drawn:
            self._drawn = drawn
            points, normals = self._spread(middle, mesh)
            self._net = (
                np.ascontiguousarray((points @ R.T + p) / self._unit),
                np.ascontiguousarray(normals @ R.T),
            )
        return self._net

    def _spread(self, middle: NDArray[np.int_], mesh: Array) -> tuple[Array, Array]:
        """Corners and normals of the net about mesh `middle`, in the geom's axes."""
        i, j = (_numbers(int(m), REACH * self._unit / w) for m, w in zip(middle, mesh, strict=True))
        heights = self._geom.heights
        if self._blocks and heights is not None:
            points, normals = _blocks(heights, i, j, mesh)
        else:
            x, y = i * mesh[0], j * mesh[1]
            z = np.zeros((len(i), len(j)))
            if heights is not None:
                z = smoothed(smoothed(heights, i / self._parts[0]).T, j / self._parts[1]).T
            points, normals = _net(z, x, y)
        points[..., :2] += self._first
        return points, normals


def _numbers(middle: int, reach: float) -> NDArray[np.int_]:
    """Numbers of the meshes' corners along a side: every one near the middle, fewer far away.

    reach: up to where every one counts [meshes]; if they are too many, every second, third, ...
    """
    stride = math.ceil(2 * reach / MOST)
    offsets = list(range(0, math.ceil(reach) + 1, stride))
    step = float(stride)
    while offsets[-1] < FAR * reach:
        step *= GROWTH
        offsets.append(offsets[-1] + math.ceil(step))
    return middle + np.array([*(-k for k in offsets[:0:-1]), *offsets])


def smoothed(heights: Array, places: Array) -> Array:
    """Catmull-Rom splines along the first axis, as the contact geometry `height_field.py` has
    them: at `places` [cells], the border's value beyond it."""
    count = len(heights)
    inside = np.clip(places, 0, count - 1)
    i = np.minimum(inside.astype(int), count - 2)
    t = (inside - i)[:, None]
    before, here, there, after = (heights[np.clip(i + k, 0, count - 1)] for k in (-1, 0, 1, 2))
    curve = 2 * before - 5 * here + 4 * there - after
    spline = here + 0.5 * t * (
        there - before + t * (curve + t * (3 * (here - there) + after - before))
    )
    return np.asarray(spline)


def _net(z: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Of a smooth surface: smooth normals."""
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1)
    along_x, along_y = np.gradient(z, x, y)
    normals = np.stack([-along_x, -along_y, np.ones_like(z)], axis=-1)
    return points, normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def _blocks(heights: Array, i: Array, j: Array, spacing: Array) -> tuple[Array, Array]:
    """Of a block field: each block's four corners twice, for its top and for the walls about it.

    i, j: numbers of blocks; where one is left out, the one before it takes its place.
    """
    rows, columns = (np.clip(k[:-1], 0, n - 1) for k, n in zip((i, j), heights.shape, strict=True))
    z = np.repeat(np.repeat(heights[np.ix_(rows, columns)], 4, axis=0), 4, axis=1)
    x, y = spacing[0] * _corners(i), spacing[1] * _corners(j)
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), z], axis=-1)
    normals = np.zeros_like(points)
    normals[..., 2] = 1.0
    wall = np.array([-1.0, 0.0, 0.0, 1.0])  # which way out of the block, where there is a wall
    wall_x, wall_y = np.tile(wall, len(i) - 1)[:, None], np.tile(wall, len(j) - 1)[None, :]
    _face(normals, 0, z, wall_x, 0)
    _face(normals, 1, z, np.broadcast_to(wall_y, z.shape), 1)
    return points, normals


def _corners(numbers: Array) -> Array:
    """Each block's lower border twice and its upper one twice, in blocks."""
    low, high = numbers[:-1], numbers[1:]
    return np.stack([low, low, high, high], axis=1).ravel()


def _face(normals: Array, axis: int, z: Array, wall: Array, k: int) -> None:
    """Turn the normals at walls across `axis` to where the ground falls."""
    back, ahead = np.roll(z, 1, axis), np.roll(z, -1, axis)
    step = np.where(wall > 0, z - ahead, np.where(wall < 0, back - z, 0.0))
    there = step != 0.0
    normals[there] = 0.0
    normals[there, k] = np.sign(step[there])


@entry
def draw_surface(
    camera: Camera,
    points: Matrices,
    normals: Matrices,
    corners: Matrices,
    depth: Depths,
    normal: Directions,
) -> None:
    """Draw all triangles into depth (h, w) and normal (h, w, 3); nearer ones win.

    corners: scratch, shape (nx, ny, 3): columns, rows [px] and depths.
    """
    lens = open_lens(camera)
    nx, ny = points.shape[0], points.shape[1]
    for i in range(nx):
        for j in range(ny):
            column, row, away = seen_at(lens, vector(points[i, j]), NEAR)
            corners[i, j, 0], corners[i, j, 1], corners[i, j, 2] = column, row, away
    for i in range(nx - 1):
        for j in range(ny - 1):
            near, far = (i, j), (i + 1, j + 1)
            _triangle(corners, normals, near, (i + 1, j), far, depth, normal)
            _triangle(corners, normals, near, far, (i, j + 1), depth, normal)


@inlined
def _triangle(
    corners: Array,
    normals: Array,
    first: Place,
    second: Place,
    third: Place,
    depth: Array,
    normal: Array,
) -> None:
    """Draw the triangle of three corners, named by their places in the net."""
    a, b, c = corners[first], corners[second], corners[third]
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
    na, nb, nc = normals[first], normals[second], normals[third]
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
