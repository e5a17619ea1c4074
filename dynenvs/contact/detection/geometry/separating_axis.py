"""The axis that parts two convex polyhedra best: a face's normal, or the product of two edges.

Of edges those count whose arcs cross on the sphere of directions (Gregorius, The Separating Axis
Test, Game Developers Conference 2013); those that cannot part the two better than a face does are
not tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dynenvs.contact.detection.geometry.box_box import BETTER, TIE, WITHIN
from dynenvs.contact.detection.geometry.polyhedron import Polyhedron, cross, minus, three
from dynenvs.contact.detection.geometry.spot import Point, dot
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.extremes import farthest

PARALLEL = 1e-6  # squared sine between edges
SURE = 1e-3  # of what edges reach: by so much more an edge is too deep, whatever is rounded


@inlined
def best_axis(
    a: Polyhedron, b: Polyhedron, gap: float, way: Point, fine: float, work: Floats
) -> Point:
    """Unit normal from B to A of the axis that parts them best.

    gap: how far apart they are [m], which no axis parts them by more; 0 or less if they overlap
    way: a guess at it
    work: three numbers for each face of either, and eleven for each edge of B
    """
    tie = fine * TIE
    count, others = b.levels.shape[0], a.levels.shape[0]
    faces_b, rest = _list_faces(work, count), work[3 * count :]
    faces_a, rest = _list_faces(rest, others), rest[3 * others :]
    back = (-way[0], -way[1], -way[2])
    best, f = _best_face(b, a, way, -math.inf, tie, faces_b)
    normal = three(b.normals, max(f, 0))  # any, where poses are not numbers
    most, f = _best_face(a, b, back, best + fine * BETTER, tie, faces_a)
    if f >= 0:
        x, y, z = three(a.normals, f)
        best, normal = most, (-x, -y, -z)
    if max(gap, 0.0) <= best + tie:  # no edges part them better
        return normal
    reach = max(gap, -best) + fine * WITHIN
    return _edge_axis(a, b, best + tie, normal, reach, (faces_a, faces_b), rest)


class _Faces(NamedTuple):
    """What is known of each face of a solid; arrays, so that loops over them are of vectors."""

    above: Floats  # how far the other solid is above it at most [m]
    corners: Floats  # where that corner of the other solid begins which is the lowest so far
    first: Floats  # how far the first corner is above it that was tried [m]


@inlined
def _list_faces(work: Floats, count: int) -> _Faces:
    """Room for so many faces."""
    return _Faces(work[:count], work[count : 2 * count], work[2 * count : 3 * count])


@inlined
def _best_face(
    own: Polyhedron, other: Polyhedron, out: Point, least: float, tie: float, faces: _Faces
) -> tuple[float, int]:
    """How far the best face of `own` parts the two, and its number; -1 if by no more than `least`.

    Of faces that part them as well the first.  Any corner of the other solid tells how much can be
    hoped of each face.  The face of which most can be hoped is looked at next: the lowest corner
    above it leaves less to hope of those beside it, and few are looked at.

    out: from `own` to the other solid, roughly
    """
    above, c = faces.above, other.corners
    _begin(own, c, farthest(c, -out[0], -out[1], -out[2]), faces)
    best, found = least, -1
    while True:
        f = _highest(above)
        if not above[f] > max(least, best - tie):
            return best, found
        n = three(own.normals, f)
        i = farthest(c, -n[0], -n[1], -n[2])
        parted = dot(n, three(c, i // 3)) - own.levels[f]
        if parted > best + tie or (f < found and parted >= best - tie):
            best, found = parted, f
        _try_corner(own, c, i, faces)
        above[f] = -math.inf


@inlined
def _begin(own: Polyhedron, c: Floats, i: int, faces: _Faces) -> None:
    """Note what a first corner of the other solid, which begins at i, tells."""
    p, normals, levels = (c[i], c[i + 1], c[i + 2]), own.normals, own.levels
    above, corners, first = faces.above, faces.corners, faces.first
    for f in range(levels.shape[0]):
        n = three(normals, f)
        corners[f] = i
        above[f] = first[f] = dot(n, p) - levels[f]


@inlined
def _try_corner(own: Polyhedron, c: Floats, i: int, faces: _Faces) -> None:
    """Note what another corner tells."""
    above, corners, normals, levels = faces.above, faces.corners, own.normals, own.levels
    x, y, z = c[i], c[i + 1], c[i + 2]
    for f in range(above.shape[0]):
        reach = normals[3 * f] * x + normals[3 * f + 1] * y + normals[3 * f + 2] * z - levels[f]
        lower = reach < above[f]
        corners[f] = i if lower else corners[f]
        above[f] = reach if lower else above[f]


@inlined
def _highest(above: Floats) -> int:
    """Of which face most can be hoped."""
    best = 0
    for f in range(1, above.shape[0]):
        if above[f] > above[best]:
            best = f
    return best


class _Edges(NamedTuple):
    """Edges of B that may be it, an entry each: arrays, as `_Faces`."""

    number: Floats  # where it stands in the list of edges
    crosses: Floats  # negative where its arc may cross that of A's edge
    vx: Floats  # where it leads [m]
    vy: Floats
    vz: Floats
    lx: Floats  # the normal of the face on its left
    ly: Floats
    lz: Floats
    rx: Floats  # and on its right
    ry: Floats
    rz: Floats


@inlined
def _room(work: Floats, most: int) -> _Edges:
    """Room for so many edges."""
    return _Edges(
        work[:most],
        work[most : 2 * most],
        work[2 * most : 3 * most],
        work[3 * most : 4 * most],
        work[4 * most : 5 * most],
        work[5 * most : 6 * most],
        work[6 * most : 7 * most],
        work[7 * most : 8 * most],
        work[8 * most : 9 * most],
        work[9 * most : 10 * most],
        work[10 * most : 11 * most],
    )


@inlined
def _edge_axis(
    a: Polyhedron, b: Polyhedron, others: float, normal: Point, reach: float,
    faces: tuple[_Faces, _Faces], work: Floats,
) -> Point:  # fmt: skip
    """The best axis, where two edges may part the polyhedra better than any face.

    Those of which the best axis is made come as near to each other as the polyhedra are apart, or
    deep in each other: so each lies no further behind the other one's outermost point, along the
    best face's normal.  And no point of one solid lies deeper behind both faces of the other's edge
    than the axis leaves them overlapping: its normal is a sum of theirs (`_is_hidden`).

    others: by how much any other axis must part them to be better [m]
    reach: how near to each other those edges come, at most [m]
    faces: of A, and of B
    work: eleven numbers for each edge of B
    """
    face, found = normal, _room(work, b.edges.shape[0] // 4)
    above = -lowest(b, (-face[0], -face[1], -face[2])) + reach
    below = lowest(a, face) - reach
    deep = max(-others, 0.0) + reach * SURE
    faces_a, faces_b = faces
    count = _list_edges(b, face, below, a, faces_b, deep, found)
    vx, vy, vz = found.vx, found.vy, found.vz
    lx, ly, lz = found.lx, found.ly, found.lz
    rx, ry, rz = found.rx, found.ry, found.rz
    crosses = found.crosses
    for i in range(0, a.edges.shape[0], 4):
        if _is_hidden(a, i, b, faces_a, deep):
            continue
        p, q = three(a.corners, int(a.edges[i])), three(a.corners, int(a.edges[i + 1]))
        if min(dot(face, p), dot(face, q)) > above:
            continue
        u = minus(q, p)
        one, other = three(a.normals, int(a.edges[i + 2])), three(a.normals, int(a.edges[i + 3]))
        # The arc of A's normals against those of B's, turned round: most end here, by a loop that
        # the compiler makes of vectors
        for k in range(count):
            on_one = one[0] * vx[k] + one[1] * vy[k] + one[2] * vz[k]
            on_other = other[0] * vx[k] + other[1] * vy[k] + other[2] * vz[k]
            on_left = u[0] * lx[k] + u[1] * ly[k] + u[2] * lz[k]
            on_right = u[0] * rx[k] + u[1] * ry[k] + u[2] * rz[k]
            crosses[k] = max(on_one * on_other, on_left * on_right)
        for k in range(count):
            if not crosses[k] < 0.0:
                continue
            left, right = (lx[k], ly[k], lz[k]), (rx[k], ry[k], rz[k])
            if not _same_side(one, other, left, right):
                continue
            v, r = (vx[k], vy[k], vz[k]), three(b.corners, int(b.edges[int(found.number[k])]))
            n = cross(u, v)
            square = dot(n, n)
            if square < PARALLEL * dot(u, u) * dot(v, v):
                continue
            length = math.sqrt(square)
            if dot(n, one) + dot(n, other) > 0.0:
                length = -length
            n = (n[0] / length, n[1] / length, n[2] / length)
            if dot(n, minus(p, r)) > others:
                # Where faces are parallel the arcs cross by rounding alone, and other corners lie
                # further out: only what parts all of them counts
                parted = lowest(a, n) + lowest(b, (-n[0], -n[1], -n[2]))
                if parted > others:
                    others, normal = parted, n
    return normal


@inlined
def _list_edges(
    b: Polyhedron, face: Point, below: float, a: Polyhedron, faces: _Faces, deep: float,
    found: _Edges,
) -> int:  # fmt: skip
    """Write B's edges that reach up to `below` along `face` and are not hidden; how many."""
    count = 0
    for j in range(0, b.edges.shape[0], 4):
        if _is_hidden(b, j, a, faces, deep):
            continue
        r, s = three(b.corners, int(b.edges[j])), three(b.corners, int(b.edges[j + 1]))
        if max(dot(face, r), dot(face, s)) >= below:
            found.number[count] = j
            found.vx[count], found.vy[count], found.vz[count] = minus(s, r)
            found.lx[count], found.ly[count], found.lz[count] = three(
                b.normals, int(b.edges[j + 2])
            )
            found.rx[count], found.ry[count], found.rz[count] = three(
                b.normals, int(b.edges[j + 3])
            )
            count += 1
    return count


@inlined
def _is_hidden(shape: Polyhedron, edge: int, other: Polyhedron, faces: _Faces, deep: float) -> bool:
    """Whether a corner of the other solid lies so deep behind both faces of an edge.

    The axis n of an edge, of length 1, is a sum of the normals of its faces with weights that are
    not negative, and of sum 1 at least: so it leaves an overlap of that depth.
    """
    f, g = int(shape.edges[edge + 2]), int(shape.edges[edge + 3])
    if faces.first[f] <= -deep and faces.first[g] <= -deep:
        return True
    m, n = three(shape.normals, f), three(shape.normals, g)
    level_f, level_g = shape.levels[f] - deep, shape.levels[g] - deep
    i, j = int(faces.corners[f]), int(faces.corners[g])
    c = other.corners
    p, q = (c[i], c[i + 1], c[i + 2]), (c[j], c[j + 1], c[j + 2])
    return (dot(n, p) <= level_g and dot(m, p) <= level_f) or (
        dot(m, q) <= level_f and dot(n, q) <= level_g
    )


@inlined
def _same_side(a: Point, b: Point, left: Point, right: Point) -> bool:
    """Whether the arcs from a to b and from -left to -right lie on the same half of the sphere."""
    c, d = (-left[0], -left[1], -left[2]), (-right[0], -right[1], -right[2])
    return dot(c, cross(b, a)) * dot(b, cross(d, c)) > 0.0


@inlined
def lowest(shape: Polyhedron, n: Point) -> float:
    """The least n . p of all corners."""
    c = shape.corners
    i = farthest(c, -n[0], -n[1], -n[2])
    return float(n[0] * c[i] + n[1] * c[i + 1] + n[2] * c[i + 2])
