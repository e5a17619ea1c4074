"""Which piece each sample of the picture sees, and how far away it is.

Four samples a pixel.  A sample keeps its depth (along the view: the eye plus depth times the ray is
the point) and the number of the face that it sees (`pieces.py`).  Balls and rods are met by rays
(the quadratics of Ericson, Real-Time Collision Detection, 5.3); a block's faces are drawn as
polygons, on which the inverse of the depth is linear in the picture; so are the triangles of meshes
(`mesh.py`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render.lens import (
    Codes,
    Depths,
    Lens,
    Vector,
    cut,
    linear,
    open_lens,
    ray,
    seen_at,
    vector,
)
from dynenvs.envs.render.mesh import draw_triangles, triangle_normal
from dynenvs.envs.render.orbit import Camera
from dynenvs.envs.render.pieces import BLOCK, MESH, ROD, Pieces
from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.kinematics.triples import dot, into_body, plus
from dynenvs.memory.layout import Ints

Array = NDArray[Any]

NOTHING = -1
NEAR = 0.02  # [m]
SAME = 2e-4  # of two surfaces no further apart than this, the first piece's is seen [m]


@entry
def cast(
    camera: Camera, pieces: Pieces, depth: Depths, code: Codes, spans: Annotated[Ints, 2]
) -> tuple[int, int]:
    """Fill depth and code, shape (2 h, 2 w), with what each sample sees of the pieces.

    spans: scratch, shape (n, 4).  Returns the first row [px] in which anything can be seen, and the
    one after the last; other rows are not filled.
    """
    lens, records = open_lens(camera), pieces.records
    height, width = depth.shape[0] // 2, depth.shape[1] // 2
    first, last = height, 0
    for i in range(len(records)):
        left, right, top, bottom = _bounds(lens, records[i], width, height)
        spans[i, 0], spans[i, 1], spans[i, 2], spans[i, 3] = left, right, top, bottom
        if left < right and top < bottom:
            first, last = min(first, top), max(last, bottom)
    for row in range(2 * first, 2 * last):
        for column in range(2 * width):
            depth[row, column] = np.float32(np.inf)
            code[row, column] = NOTHING
    for i in range(len(records)):
        left, right, top, bottom = spans[i, 0], spans[i, 1], spans[i, 2], spans[i, 3]
        piece = records[i]
        if left < right and top < bottom:
            if piece.kind == BLOCK:
                for face in range(6):
                    _draw_face(lens, piece, face, depth, code)
            elif piece.kind == MESH:
                draw_triangles(lens, piece, pieces.corners, NEAR, SAME, depth, code)
            else:
                _cast_round(lens, piece, left, right, top, bottom, depth, code)
    return first, last


@inlined
def _axis(R: Array, k: int) -> Vector:
    return 1.0 * R[0, k], 1.0 * R[1, k], 1.0 * R[2, k]


@kernel
def _bounds(lens: Lens, piece: Any, width: int, height: int) -> tuple[int, int, int, int]:
    """Columns and rows (first, one after the last) of the pixels that can see a piece."""
    left, right, top, bottom = math.inf, -math.inf, math.inf, -math.inf
    block = piece.kind == BLOCK or piece.kind == MESH
    radius = 0.0 if block else piece.half[0]
    hidden = True
    for k in range(8):
        p = vector(piece.center)
        if block:
            p = plus(p, piece.half[0] if k & 1 else -piece.half[0], _axis(piece.R, 0))
            p = plus(p, piece.half[1] if k & 2 else -piece.half[1], _axis(piece.R, 1))
            p = plus(p, piece.half[2] if k & 4 else -piece.half[2], _axis(piece.R, 2))
        elif piece.kind == ROD:
            p = plus(p, piece.half[1] if k & 1 else -piece.half[1], _axis(piece.R, 2))
        column, row, depth = seen_at(lens, p, NEAR)
        if not block and depth - radius < NEAR:
            return 0, 0, 0, 0  # round things at the eye are left out
        if depth < NEAR:  # a block partly behind the camera can be anywhere
            left, right, top, bottom = 0.0, 1.0 * width, 0.0, 1.0 * height
            continue
        hidden = False
        # A ball's outline reaches further than its radius, the more so the nearer it is
        reach = 1.15 * lens.focal * radius / max(depth - radius, NEAR) + 1.0
        left, right = min(left, column - reach), max(right, column + reach)
        top, bottom = min(top, row - reach), max(bottom, row + reach)
    if hidden:
        return 0, 0, 0, 0
    return (
        int(min(max(left, 0.0), width)),
        int(min(max(right + 1.0, 0.0), width)),
        int(min(max(top, 0.0), height)),
        int(min(max(bottom + 1.0, 0.0), height)),
    )


# Round pieces


@inlined
def _ball(o: Vector, d: Vector, radius: float) -> float:
    """Depth at which o + t d meets a ball about the origin, -1 if it does not."""
    a, b, c = dot(d, d), dot(o, d), dot(o, o) - radius * radius
    h = b * b - a * c
    return (-b - math.sqrt(h)) / a if h > 0.0 else -1.0


@inlined
def _rod(o: Vector, d: Vector, radius: float, half: float) -> float:
    """The same for a capsule along z."""
    a = d[0] * d[0] + d[1] * d[1]
    b = o[0] * d[0] + o[1] * d[1]
    c = o[0] * o[0] + o[1] * o[1] - radius * radius
    h = b * b - a * c
    if h < 0.0:
        return -1.0
    z = o[2]
    if a > 1e-12:
        t = (-b - math.sqrt(h)) / a
        z = o[2] + t * d[2]
        if abs(z) <= half:
            return t
    return _ball((o[0], o[1], o[2] - (half if z > 0.0 else -half)), d, radius)


@kernel
def _cast_round(
    lens: Lens,
    piece: Any,
    left: int,
    right: int,
    top: int,
    bottom: int,
    depth: Array,
    code: Array,
) -> None:
    x, y, z = _axis(piece.R, 0), _axis(piece.R, 1), _axis(piece.R, 2)
    away = plus(lens.eye, -1.0, vector(piece.center))
    origin = dot(x, away), dot(y, away), dot(z, away)
    radius, half = piece.half[0], piece.half[1] if piece.kind == ROD else 0.0
    for row in range(2 * top, 2 * bottom):
        for column in range(2 * left, 2 * right):
            way = ray(lens, 0.5 * column + 0.25, 0.5 * row + 0.25)
            t = _rod(origin, (dot(x, way), dot(y, way), dot(z, way)), radius, half)
            if NEAR < t < depth[row, column] - SAME:
                depth[row, column] = t
                code[row, column] = piece.code


# Blocks


@kernel
def _draw_face(lens: Lens, piece: Any, face: int, depth: Array, code: Array) -> None:
    """One face, if it looks at the camera: sample by sample between its edges."""
    k, side = face // 2, 1.0 if face % 2 else -1.0
    axis = _axis(piece.R, k)
    n = (side * axis[0], side * axis[1], side * axis[2])
    center = plus(vector(piece.center), piece.half[k], n)
    distance = dot(n, plus(center, -1.0, lens.eye))
    if distance > -1e-6:
        return
    # Inside of all four edges: the rays' linear functions a + b column + c row are positive
    i, j = (k + 1) % 3, (k + 2) % 3
    a0, b0, c0 = linear(lens, n, distance)
    a1, b1, c1, a2, b2, c2 = _between(lens, center, _axis(piece.R, i), piece.half[i], a0, b0, c0)
    a3, b3, c3, a4, b4, c4 = _between(lens, center, _axis(piece.R, j), piece.half[j], a0, b0, c0)
    width = depth.shape[1]
    for row in range(depth.shape[0]):
        low, high = 0.0, width - 1.0
        low, high = cut(low, high, a0 + c0 * row - 1e-4, b0)
        low, high = cut(low, high, a1 + c1 * row, b1)
        low, high = cut(low, high, a2 + c2 * row, b2)
        low, high = cut(low, high, a3 + c3 * row, b3)
        low, high = cut(low, high, a4 + c4 * row, b4)
        if low > high:
            continue
        for column in range(math.ceil(low), math.floor(high) + 1):
            t = 1.0 / (a0 + b0 * column + c0 * row)
            if NEAR < t < depth[row, column] - SAME:
                depth[row, column] = t
                code[row, column] = piece.code + face


@inlined
def _between(
    lens: Lens, center: Vector, axis: Vector, half: float, a0: float, b0: float, c0: float
) -> tuple[float, float, float, float, float, float]:
    """Two linear functions, positive where a ray meets a plane within `half` of its centre.

    At depth t = 1 / f0 the point's coordinate along the axis is s + t (axis . ray), s = axis .
    (eye - centre): within means (half - s) f0 - axis . ray > 0 and (half + s) f0 + axis . ray > 0.
    """
    s = dot(axis, plus(lens.eye, -1.0, center))
    a, b, c = linear(lens, axis, 1.0)
    p, q = half - s, half + s
    return (p * a0 - a, p * b0 - b, p * c0 - c, q * a0 + a, q * b0 + b, q * c0 + c)


# Surfaces


@inlined
def normal_at(pieces: Pieces, face: int, p: Vector, d: Vector) -> Vector:
    """Unit normal at a world point of a face, met by a ray d; a block's edges look rounded."""
    piece = pieces.records[pieces.owners[face]]
    x, y, z = _axis(piece.R, 0), _axis(piece.R, 1), _axis(piece.R, 2)
    a, b, c = into_body(piece.R, plus(p, -1.0, vector(piece.center)))
    if piece.kind == MESH:
        k = piece.first + face - piece.code
        a, b, c = triangle_normal(pieces.corners[k], pieces.normals[k], (a, b, c))
        if piece.closed == 0 and dot(into_body(piece.R, d), (a, b, c)) > 0.0:
            a, b, c = -a, -b, -c
    elif piece.kind == ROD:
        c = _beyond(c, piece.half[1])
    elif piece.kind == BLOCK:
        a = _beyond(a, piece.half[0] - piece.bevel)
        b = _beyond(b, piece.half[1] - piece.bevel)
        c = _beyond(c, piece.half[2] - piece.bevel)
    size = max(math.sqrt(a * a + b * b + c * c), 1e-12)
    n = plus((0.0, 0.0, 0.0), a / size, x)
    return plus(plus(n, b / size, y), c / size, z)


@inlined
def _beyond(x: float, half: float) -> float:
    return x - min(max(x, -half), half)
