"""Convex polyhedra as kernels see them: opened from the model, and placed in the world."""

from __future__ import annotations

from typing import Any, NamedTuple

from dynenvs.contact.detection.geometry.spot import Point, back, dot
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.extremes import farthest


class Polyhedron(NamedTuple):
    """Corners, faces and edges; `dynenvs.model.polyhedra` says what their numbers mean."""

    corners: Floats  # flat, 3 V [m]
    normals: Floats  # of the faces, outward, flat, 3 F
    levels: Floats  # n . p of the faces [m], F
    firsts: Floats  # where the faces' loops begin, F + 1
    loops: Floats  # corners' numbers
    edges: Floats  # corner, corner, face, other face; flat, 4 E


@inlined
def open_polyhedron(hulls: Floats, at: int) -> Polyhedron:
    """The polyhedron whose numbers begin at `at`, in its own axes."""
    v, f, e, l = int(hulls[at]), int(hulls[at + 1]), int(hulls[at + 2]), int(hulls[at + 3])
    corners = at + 4
    normals = corners + 3 * v
    levels = normals + 3 * f
    firsts = levels + f
    loops = firsts + f + 1
    edges = loops + l
    return Polyhedron(
        hulls[corners:normals],
        hulls[normals:levels],
        hulls[levels:firsts],
        hulls[firsts:loops],
        hulls[loops:edges],
        hulls[edges : edges + 4 * e],
    )


@inlined
def placed(own: Polyhedron, shape: Any, scale: Point, origin: Point, work: Floats) -> Polyhedron:
    """A polyhedron in the world: corners from `origin` on, in the world's axes.

    scale: of its own axes (half edges of a box, whose polyhedron is a cube)
    work: for its corners, normals and levels
    """
    v, f = own.corners.shape[0], own.normals.shape[0]
    corners, normals, levels = work[:v], work[v : v + f], work[v + f : v + f + f // 3]
    R, c = shape.R, shape.center
    x0, y0, z0 = c[0] - origin[0], c[1] - origin[1], c[2] - origin[2]
    for i in range(0, v, 3):
        x, y, z = (
            scale[0] * own.corners[i],
            scale[1] * own.corners[i + 1],
            scale[2] * own.corners[i + 2],
        )
        corners[i] = x0 + (R[0, 0] * x + R[0, 1] * y + R[0, 2] * z)
        corners[i + 1] = y0 + (R[1, 0] * x + R[1, 1] * y + R[1, 2] * z)
        corners[i + 2] = z0 + (R[2, 0] * x + R[2, 1] * y + R[2, 2] * z)
    for i in range(0, f, 3):
        x, y, z = own.normals[i], own.normals[i + 1], own.normals[i + 2]
        normals[i] = R[0, 0] * x + R[0, 1] * y + R[0, 2] * z
        normals[i + 1] = R[1, 0] * x + R[1, 1] * y + R[1, 2] * z
        normals[i + 2] = R[2, 0] * x + R[2, 1] * y + R[2, 2] * z
        outermost = int(own.loops[int(own.firsts[i // 3])])
        levels[i // 3] = dot(three(normals, i // 3), three(corners, outermost))
    return Polyhedron(corners, normals, levels, own.firsts, own.loops, own.edges)


@inlined
def outermost(own: Polyhedron, shape: Any, scale: Point, n: Point) -> Point:
    """The corner of a polyhedron, placed in the world, that is outermost along n."""
    x, y, z = back(shape.R, n)
    x, y, z = scale[0] * x, scale[1] * y, scale[2] * z
    best = farthest(own.corners, x, y, z)
    c, R, o = own.corners, shape.R, shape.center
    x, y, z = scale[0] * c[best], scale[1] * c[best + 1], scale[2] * c[best + 2]
    return (
        o[0] + R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        o[1] + R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        o[2] + R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inlined
def three(flat: Floats, k: int) -> Point:
    """Point or vector number k of a flat array."""
    return flat[3 * k], flat[3 * k + 1], flat[3 * k + 2]


@inlined
def cross(a: Point, b: Point) -> Point:
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def minus(a: Point, b: Point) -> Point:
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def sides(shape: Polyhedron, f: int) -> int:
    """How many corners a face has."""
    return int(shape.firsts[f + 1]) - int(shape.firsts[f])


@inlined
def corner_of(shape: Polyhedron, f: int, k: int) -> int:
    """Number of the corner of face f that comes k-th on the way round."""
    first, count = int(shape.firsts[f]), sides(shape, f)
    return int(shape.loops[first + (k if k < count else k - count)])


@inlined
def within_face(shape: Polyhedron, f: int, p: Point, up: Point, slack: float) -> bool:
    """Whether p, seen along `up`, lies in face f or outside of it by `slack` at most [m].

    `up` points out of the face's front, along its normal more or less.
    """
    a = three(shape.corners, corner_of(shape, f, 0))
    for k in range(sides(shape, f)):
        b = three(shape.corners, corner_of(shape, f, k + 1))
        way = cross(up, minus(b, a))
        away = dot(minus(p, a), way)
        if not (away >= 0.0 or away * away <= slack * slack * dot(way, way)):
            return False
        a = b
    return True
