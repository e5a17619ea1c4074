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
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats
from dynenvs.simd.extremes import farthest

PARALLEL = 1e-6  # squared sine between edges
SURE = 1e-3  # of what edges reach: by so much more an edge is too deep, whatever is rounded


class Separation(NamedTuple):
    """What is known of two polyhedra before they are looked at: their distance."""

    gap: float  # [m]; negative or 0 if they overlap
    way: Point  # if not, unit normal of a plane that parts them so, from B to A


@inlined
def best_axis(
    a: Polyhedron, b: Polyhedron, separation: Separation, fine: float, work: Floats
) -> Point:
    """Unit normal from B to A of the axis that parts them best.

    Along n two that are `gap` apart along `way` are parted by no more than gap n . way.
    work: a number for each face of either, and eleven for each edge of B
    """
    tie, better = fine * TIE, fine * BETTER
    # For each face the corner of the other solid where the search for a deep one ended
    count = b.levels.shape[0]
    deep_b, deep_a = work[:count], work[count : count + a.levels.shape[0]]
    gap = separation.gap if separation.gap > tie else math.inf
    best, normal, hint = -math.inf, (0.0, 0.0, 1.0), integer(0)
    for f in range(count):
        n = three(b.normals, f)
        deep_b[f] = hint
        if gap < math.inf and gap * dot(n, separation.way) < best:
            continue
        s, hint = _parts(a, n, b.levels[f], best + tie, hint)
        deep_b[f] = hint
        if s > best + tie:
            best, normal = s, n
    others, hint = best + better, integer(0)
    for f in range(a.levels.shape[0]):
        x, y, z = three(a.normals, f)
        n = (-x, -y, -z)
        deep_a[f] = hint
        if gap < math.inf and gap * dot(n, separation.way) < best:
            continue
        s, hint = _parts(b, (x, y, z), a.levels[f], others, hint)
        deep_a[f] = hint
        if s > others:
            best, others, normal = s, s + tie, n
    if gap <= best + tie:  # no edges part them better
        return normal
    reach = gap if gap < math.inf else max(-best, 0.0)
    rest = work[count + a.levels.shape[0] :]
    return _edge_axis(a, b, best + tie, normal, reach + fine * WITHIN, (deep_a, deep_b), rest)


@inlined
def _parts(shape: Polyhedron, n: Point, level: float, most: float, hint: int) -> tuple[float, int]:
    """How far the plane n . x = level parts all corners from what is below it.

    The search ends at a corner that it does not part by more than `most`; that is returned, too.
    It begins at `hint`, where the last one ended: faces side by side mostly fail at one corner.
    """
    c = shape.corners
    least, at = n[0] * c[hint] + n[1] * c[hint + 1] + n[2] * c[hint + 2] - level, hint
    i = integer(0)
    while i < c.shape[0] and least > most:
        reach = n[0] * c[i] + n[1] * c[i + 1] + n[2] * c[i + 2] - level
        if reach < least:
            least, at = reach, i
        i += 3
    return least, at


class _Edges(NamedTuple):
    """Edges of B that may be it, an entry each: arrays, so that a loop over them is of vectors."""

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
    deep_corners: tuple[Floats, Floats], work: Floats,
) -> Point:  # fmt: skip
    """The best axis, where two edges may part the polyhedra better than any face.

    Those of which the best axis is made come as near to each other as the polyhedra are apart, or
    deep in each other: so each lies no further behind the other one's outermost point, along the
    best face's normal.  And no point of one solid lies deeper behind both faces of the other's edge
    than the axis leaves them overlapping: its normal is a sum of theirs (`_is_hidden`).

    others: by how much any other axis must part them to be better [m]
    reach: how near to each other those edges come, at most [m]
    deep_corners: for each face of A, and of B, where a corner of the other solid begins
    work: eleven numbers for each edge of B
    """
    face, found = normal, _room(work, b.edges.shape[0] // 4)
    above = -lowest(b, (-face[0], -face[1], -face[2])) + reach
    below = lowest(a, face) - reach
    deep = max(-others, 0.0) + reach * SURE
    deep_a, deep_b = deep_corners
    count = _list_edges(b, face, below, a, deep_b, deep, found)
    vx, vy, vz = found.vx, found.vy, found.vz
    lx, ly, lz = found.lx, found.ly, found.lz
    rx, ry, rz = found.rx, found.ry, found.rz
    crosses = found.crosses
    for i in range(0, a.edges.shape[0], 4):
        p, q = three(a.corners, int(a.edges[i])), three(a.corners, int(a.edges[i + 1]))
        if min(dot(face, p), dot(face, q)) > above or _is_hidden(a, i, b, deep_a, deep):
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
    b: Polyhedron, face: Point, below: float, a: Polyhedron, deep_corners: Floats, deep: float,
    found: _Edges,
) -> int:  # fmt: skip
    """Write B's edges that reach up to `below` along `face` and are not hidden; how many."""
    count = 0
    for j in range(0, b.edges.shape[0], 4):
        r, s = three(b.corners, int(b.edges[j])), three(b.corners, int(b.edges[j + 1]))
        if max(dot(face, r), dot(face, s)) >= below and not _is_hidden(b, j, a, deep_corners, deep):
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
def _is_hidden(
    shape: Polyhedron, edge: int, other: Polyhedron, deep_corners: Floats, deep: float
) -> bool:
    """Whether a corner of the other solid lies so deep behind both faces of an edge.

    The axis n of an edge, of length 1, is a sum of the normals of its faces with weights that are
    not negative, and of sum 1 at least: so it leaves an overlap of that depth.
    deep_corners: a corner for each face, where those begin that may lie so deep
    """
    f, g = int(shape.edges[edge + 2]), int(shape.edges[edge + 3])
    m, n = three(shape.normals, f), three(shape.normals, g)
    level_f, level_g = shape.levels[f] - deep, shape.levels[g] - deep
    i, j = int(deep_corners[f]), int(deep_corners[g])
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
