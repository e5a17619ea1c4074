"""How long a part of the step may be so that fast bodies do not pass through others unseen.

Contacts are looked for where bodies are at the start and at the end of a part.  A body that moves
by more than the thickness of what stands in its way would be seen before it and behind it, never in
it.  Pairs that are near at the start (NEAR or LOOK; above fields: SEEN) are seen in time.  So a
body is dangerous that comes from further away and still goes half of its thickness into another.  A
plane that parts the two (`geometry/distance.py`) tells how long they may move: as long as they do
not close in, along its normal, by more than their distance and half of what they are thick together
(conservative advancement; Mirtich, Impulse-based dynamic simulation of rigid body systems, 1996,
section 2.3).  There they are seen, at the latest, where they overlap by as much: then the direction
that parts them is still the right one.  What may bounce is to be seen before it touches, so that
its impact has a time.

At a seam the pose at a part's end decides which faces are met (`seams.py`), so there pairs that are
near may not go through each other unseen either.

Slow bodies, and fast ones with nothing ahead, cost no more than a look at their velocities.  Half
spaces have no other side: what is below them is brought back (`resolve.add_missed`).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.distance import distance, separation
from dynenvs.contact.detection.geometry.polyhedron import minus, open_polyhedron, three
from dynenvs.contact.detection.geometry.segment import clamp
from dynenvs.contact.detection.geometry.spot import Point, back, column, dot, point
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.poses import likeness, turn_between
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, WorkView
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CONVEX,
    FAR,
    HALF_SPACE,
    HEIGHT_FIELD,
    INELASTIC,
    MIDPOINT,
    SEEN,
)

THIN = 1e-4  # way that two solids may always close in, however thin they are [m]
# A solid that turns by more within a part is not where its linearised gaps say [rad]; the trace of
# that rotation
TURN = 0.5
TURNED = 1.0 + 2.0 * math.cos(TURN)
MOST_PARTS = 10_000  # into which a step is cut, however fast things are
LOOKED = 0


@inlined
def is_fast(w: WorkView, dt: float) -> bool:
    """Whether a body may move far in dt, with the velocities `w.body.v`: it may be dangerous."""
    h = w.header[0]
    if h.np + h.nround == 0 and not (h.restitution != INELASTIC and h.npoints > 0):
        return False
    fastest, turns = 0.0, False
    for i in range(1, h.nb):
        if not w.bodies[i].meets:
            continue
        v = w.body[i].v
        spin = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        fastest = max(fastest, fastest_point(w, i))
        turns = turns or (spin * dt > TURN and w.bodies[i].uneven > 0.0)
    far = h.near
    if h.integrator == MIDPOINT or h.nbeside > 0:
        far = min(far, h.thinnest)
    return bool(turns or 2.0 * dt * fastest > far)


@inlined
def safe_part(w: WorkView, dt: float) -> float:
    """The longest part of dt, from `w.pose` with the velocities `w.body.v`, that may be taken."""
    w.answer[0].until = dt
    find_safe_part(w, dt)
    return float(w.answer[0].until)


@inlined
def has_moved_far(w: WorkView) -> bool:
    """Whether a point of a body moves so far from `w.pose` to `w.pose_new` that it may be seen too
    late: what hits a thing may throw it faster than anything was before."""
    h = w.header[0]
    far = h.near
    found = False
    for i in range(1, h.nb if h.np + h.nround > 0 else 0):
        if not w.bodies[i].meets:
            continue
        a, b = w.pose[i], w.pose_new[i]
        x, y, z = b.p[0] - a.p[0], b.p[1] - a.p[1], b.p[2] - a.p[2]
        alike = likeness(a, b)
        turn = turn_between(a, b) * w.bodies[i].around
        found = found or 2.0 * (math.sqrt(x * x + y * y + z * z) + turn) > far
        found = found or (alike < TURNED and w.bodies[i].uneven > 0.0)
    return found


@inlined
def fastest_point(w: WorkView, i: int) -> float:
    """Bound on the speed of all points of a body's geoms [m/s], with the velocities `w.body.v`."""
    v, p, o = w.body[i].v, w.pose[i].p, w.pose[w.bodies[i].root].p
    x, y, z = _point_velocity(v, p[0] - o[0], p[1] - o[1], p[2] - o[2])
    spin = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return math.sqrt(x * x + y * y + z * z) + spin * w.bodies[i].around


@inlined
def note_speeds(w: WorkView) -> None:
    """Write down how fast bodies are, for `closing_way`."""
    speeds, spins = w.watch.speeds, w.watch.spins
    speeds[0] = spins[0] = 0.0
    for i in range(1, w.header[0].nb):
        v = w.body[i].v
        speeds[i] = fastest_point(w, i)
        spins[i] = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@inlined
def closing_way(w: WorkView, pair: Any, dt: float) -> float:
    """A gap that the velocities of now do not close in dt, wherever it is [m]."""
    a, b = w.solids[pair.solid_a].body, w.solids[pair.solid_b].body
    if not dt < math.inf:
        return FAR
    speed, spin = w.watch.speeds[a] + w.watch.speeds[b], w.watch.spins[a] + w.watch.spins[b]
    # A contact stands off the surface of one of them by no more than the gap
    return dt * speed / (1.0 - dt * spin) if dt * spin < 0.5 else FAR


@inlined
def _point_velocity(v: Any, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Velocity of the point at (x, y, z) from the tree's origin."""
    return (
        v[3] + v[1] * z - v[2] * y,
        v[4] + v[2] * x - v[0] * z,
        v[5] + v[0] * y - v[1] * x,
    )


@unit(seconds=5)
def find_safe_part(w: WorkView, dt: float) -> int:
    """`safe_part` into `w.answer.until`, by a look at all pairs.  Returns LOOKED."""
    h = w.header[0]
    pairs, solids, shapes = w.pairs, w.solids, w.shapes
    bounces, middle = h.restitution != INELASTIC, h.integrator == MIDPOINT
    for k in range(solids.shape[0]):
        _move(w, solids[k], shapes[k], dt)
    # Most pairs are so slow that a look at what each of the two may move suffices
    until, least = dt, _blind(min(SEEN, h.near), 0.0, bounces, middle)
    if h.nbeside > 0:
        least = min(least, max(0.5 * h.thinnest, THIN))
    for k in range(h.np):
        pair = pairs[k]
        way = shapes[pair.solid_a].gaps[0] + shapes[pair.solid_b].gaps[0]
        if way > least:
            until = min(until, _time_of_pair(w, pair, bounces, middle, dt))
    for f in range(h.npoints if h.nround > 0 or bounces else 0):
        if w.features[f].kind != HALF_SPACE:
            until = min(until, _time_of_points(w, w.features[f], bounces, middle, dt))
        elif bounces:
            until = min(until, _time_above_ground(w, w.features[f], dt))
    w.answer[0].until = until
    return LOOKED


@inlined
def _move(w: WorkView, solid: Any, shape: Any, dt: float) -> None:
    """A solid's centre and its velocity (`normal`), how much faster than that a point of it may
    come to move within dt, along any axis (`hu`), its turn (`hv`), and how far all this may take a
    point (`gaps[0]`), infinitely far where it turns by much."""
    pose, v = w.pose[solid.body], w.body[solid.body].v
    o = w.pose[w.bodies[solid.body].root].p
    x, y, z = rotate(pose.R, solid.position)
    c, n = shape.center, shape.normal
    c[0], c[1], c[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    n[0] = n[1] = n[2] = shape.hu = shape.hv = shape.gaps[0] = 0.0
    if solid.body > 0:
        x, y, z = c[0] - o[0], c[1] - o[1], c[2] - o[2]
        n[0], n[1], n[2] = _point_velocity(v, x, y, z)
        spin = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        # A centre that goes round changes its direction
        shape.hu = min(spin * dt, 2.0) * spin * math.sqrt(x * x + y * y + z * z)
        if solid.radius > solid.inside:  # a sphere turns in its own place
            shape.hu += spin * (solid.radius - solid.inside)
            shape.hv = spin * dt
        speed = math.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
        shape.gaps[0] = math.inf if shape.hv > TURN else dt * (speed + shape.hu)


@inlined
def _turn(w: WorkView, solid: Any, shape: Any) -> None:
    """A solid's axes."""
    pose, own = w.pose[solid.body], solid.rotation
    for i in range(3):
        x, y, z = pose.R[i, 0], pose.R[i, 1], pose.R[i, 2]
        for j in range(3):
            shape.R[i, j] = x * own[0, j] + y * own[1, j] + z * own[2, j]


@inlined
def _time_of_pair(w: WorkView, pair: Any, bounces: bool, middle: bool, dt: float) -> float:
    """How long a pair of solids may move, dt at most."""
    # How fast they approach, and from what gap on the step looks at the pair by itself
    a, b = w.shapes[pair.solid_a], w.shapes[pair.solid_b]
    one, other = w.solids[pair.solid_a], w.solids[pair.solid_b]
    u = minus(point(a.normal), point(b.normal))
    speed, turning = math.sqrt(dot(u, u)), a.hu + b.hu
    over_field = pair.kind_b in (HEIGHT_FIELD, BLOCK_FIELD, HALF_SPACE)
    thick = one.inside + other.inside
    seen = SEEN if over_field else w.header[0].near
    # Most pairs are slow: what they move in dt cannot take one past the other
    way = dt * (speed + turning)
    turns = max(a.hv, b.hv) > TURN
    deep = max(0.5 * thick, THIN)
    far = _blind(seen, thick, bounces, middle)
    if pair.beside != 0:  # at a seam the end of a part decides on the faces: not behind both solids
        far = min(far, deep)
    if not (turns or way > far):
        return dt
    # Nor can they meet where even the balls around them stay apart
    p = minus(point(a.center), point(b.center))
    reach = one.radius + way
    if not over_field and dot(p, p) > (reach + other.radius) * (reach + other.radius):
        return dt
    _turn(w, one, a)
    _turn(w, other, b)
    if over_field:
        _, _, z = back(b.R, p)
        gap, normal = z - pair.top - one.radius, column(b.R, 2)
        if gap > way:
            return dt
        if not gap > 0.0:
            normal = (0.0, 0.0, 0.0)
    else:
        if pair.kind_b == BOX:
            x, y, z = back(b.R, p)
            half = pair.size_b
            d = x - clamp(x, half[0]), y - clamp(y, half[1]), z - clamp(z, half[2])
            if dot(d, d) > reach * reach:
                return dt
        for k in range(3):
            a.half[k], b.half[k] = pair.size_a[k], pair.size_b[k]
        gap, normal = distance(pair, a, b, w.hulls)
    # The time until they touch, from their gap, and at least what faces that part them allow
    least = 0.0
    if gap < seen and not over_field and not bounces:
        least = _time_along_faces(pair, a, b, w.hulls, u, turning, deep, dt)
    if dot(normal, normal) == 0.0:  # nothing parts them: they are in each other, or in a field
        return max(least, min(dt, deep / (speed + turning)))
    return max(least, _time_to_close(gap, turning - dot(normal, u), deep, seen, bounces, dt))


@inlined
def _time_along_faces(
    pair: Any, a: Any, b: Any, hulls: Floats, u: Any, turning: float, deep: float, dt: float
) -> float:
    """The longest time [s] that the plane of a face allows which parts two solids, or 0.

    What slides over a plate overlaps it by rounding, and what slides over a seam comes near the
    next tile's side, but both stay above an upper face.

    u: velocity of A seen from B [m/s]; turning: what their turns add to that at most [m/s]
    deep: how far they may come to overlap [m]
    """
    longest = 0.0
    for sign in (1.0, -1.0):
        kind, at, R = pair.kind_b, pair.hull_b, b.R
        if sign < 0.0:
            kind, at, R = pair.kind_a, pair.hull_a, a.R
        for k in range(_count_faces(kind, hulls, at)):
            x, y, z = _face(kind, R, hulls, at, k)
            n = (sign * x, sign * y, sign * z)
            gap = separation(pair, a, b, hulls, n)
            if gap > -THIN:
                time = _time_to_close(gap, turning - dot(n, u), deep, 0.0, False, dt)
                longest = max(longest, time)
    return longest


@inlined
def _count_faces(kind: int, hulls: Floats, at: int) -> int:
    """How many faces a solid has; none if it is round."""
    if kind == BOX:
        return 6
    return int(hulls[at + 1]) if kind == CONVEX else 0


@inlined
def _face(kind: int, R: Floats, hulls: Floats, at: int, k: int) -> Point:
    """Outward normal of face k of a box or a polyhedron, in the world's axes."""
    x, y, z = 0.0, 0.0, 0.0
    if kind == CONVEX:
        x, y, z = three(open_polyhedron(hulls, at).normals, k)
    else:
        way = 1.0 if k < 3 else -1.0
        x, y, z = way * (k % 3 == 0), way * (k % 3 == 1), way * (k % 3 == 2)
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@inlined
def _blind(seen: float, thick: float, bounces: bool, middle: bool) -> float:
    """The way that two things may move whatever is ahead [m].

    The midpoint rule does not look where its first half leads, a third of the way.
    """
    far = 0.5 * seen if bounces else seen + 0.5 * thick
    return min(far, 1.5 * thick) if middle else far


@inlined
def _time_to_close(
    gap: float, speed: float, deep: float, seen: float, bounces: bool, dt: float
) -> float:
    """Until two things that close in at that speed may meet; once that is near, be `deep` inside.

    So what flies past is looked at again where it is nearest, with a plane that is right there.
    Those that bounce: until they are seen, if they are not yet.
    """
    room = gap if gap > deep else max(gap, 0.0) + deep
    if bounces and gap > 0.75 * seen:
        room = gap - 0.5 * seen
    return room / speed if speed * dt > room else dt


@inlined
def _time_of_points(w: WorkView, feature: Any, bounces: bool, middle: bool, dt: float) -> float:
    """The same for a point feature of two round geoms."""
    x, y, z, ux, uy, uz = _center(w, feature.body_a, feature.center)
    tx, ty, tz, vx, vy, vz = _center(w, feature.body_b, feature.target)
    d, u = (x - tx, y - ty, z - tz), (ux - vx, uy - vy, uz - vz)
    way, length = dt * math.sqrt(dot(u, u)), math.sqrt(dot(d, d))
    thick, near = feature.radius + feature.target_radius, w.header[0].near
    if not way > _blind(near, thick, bounces, middle) or length > thick + way:
        return dt
    deep = max(0.5 * thick, THIN)
    if not length > thick:
        return min(dt, deep * dt / way)
    return _time_to_close(length - thick, -dot(d, u) / length, deep, near, bounces, dt)


@inlined
def _time_above_ground(w: WorkView, feature: Any, dt: float) -> float:
    """The same for one that may bounce off a half space."""
    x, y, z, ux, uy, uz = _center(w, feature.body_a, feature.center)
    tx, ty, tz, vx, vy, vz = _center(w, feature.body_b, feature.target)
    n = rotate(w.pose[feature.body_b].R, feature.target_normal)
    gap = dot((x - tx, y - ty, z - tz), n) - feature.radius
    speed = -dot((ux - vx, uy - vy, uz - vz), n)
    if not gap > 0.75 * SEEN:
        return dt
    return _time_to_close(gap, speed, THIN, SEEN, True, dt)


@inlined
def _center(w: WorkView, body: int, local: Any) -> tuple[float, float, float, float, float, float]:
    """Place and velocity of a point of a body."""
    pose, o = w.pose[body], w.pose[w.bodies[body].root].p
    x, y, z = rotate(pose.R, local)
    x, y, z = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    if body == 0:
        return x, y, z, 0.0, 0.0, 0.0
    u, v, t = _point_velocity(w.body[body].v, x - o[0], y - o[1], z - o[2])
    return x, y, z, u, v, t
