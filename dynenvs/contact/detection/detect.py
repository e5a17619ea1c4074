"""Contact detection: the gap, normal and point of every candidate, and which can be reached.

A candidate is a point feature (a point with a radius on geom A, where geom B is a half space or a
sphere), or a slot of a pair of other solids that are near each other (`manifold.py`).  By its
number impulses and active sets are remembered from step to step.  Slots come after all points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from dynenvs.contact.detection.broad_phase import keep_blocks
from dynenvs.contact.detection.manifold import FOUND, find_spots, place_spot
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.kinds import Record
from dynenvs.kinematics.rotation import rotate
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, ModelView, Records, StateView, WorkView, WorldView
from dynenvs.memory.records import CONTACT, FAR, FEATURE, HALF_SPACE, MARGIN, POSE, SEEN, SPOT

CLEAR = 2.0 * MARGIN  # what stays farther away is none of them, whatever rounding says
ROUNDED = 1.0001  # times as deep as it was: the same depth, with what is not linear about a step


@inlined
def feature_gap(feature: Any, poses: Records) -> float:
    """Signed distance [m] of a feature that is no slot from geom B, negative inside."""
    A, B = poses[feature.body_a], poses[feature.body_b]
    cx, cy, cz = rotate(A.R, feature.center)
    x, y, z = cx + A.p[0], cy + A.p[1], cz + A.p[2]
    t, n = feature.target, feature.target_normal
    if feature.kind == HALF_SPACE and feature.body_b == 0:
        d = n[0] * (x - t[0]) + n[1] * (y - t[1]) + n[2] * (z - t[2])
        return float(d - feature.radius)
    tx, ty, tz = rotate(B.R, t)
    dx, dy, dz = x - tx - B.p[0], y - ty - B.p[1], z - tz - B.p[2]
    if feature.kind == HALF_SPACE:
        nx, ny, nz = rotate(B.R, n)
        return float(nx * dx + ny * dy + nz * dz - feature.radius)
    return math.sqrt(dx * dx + dy * dy + dz * dz) - feature.radius - feature.target_radius


@inlined
def feature_near(feature: Any, poses: Records) -> float:
    """`feature_gap`, or FAR where the bodies are so far apart that it is more than SEEN.

    The broad phase for round geoms: most pairs of a large scene end here, without a rotation.
    """
    if feature.kind != HALF_SPACE:
        a, b = poses[feature.body_a].p, poses[feature.body_b].p
        x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
        if x * x + y * y + z * z > feature.far_squared:
            return FAR
    return feature_gap(feature, poses)


@inlined
def locate(feature: Any, poses: Records, contact: Any) -> None:
    """Fill centre, normal (from B to A) and point of a contact, world axes.

    For features that are no slots.  The point is on A's surface, but those of corners are on the
    plane below: as on a lamina, so that the rows of a sole that touches down, tilted by a little,
    ask for a motion that it can have (docs/theory.md, Consistent biases).
    """
    A, B = poses[feature.body_a], poses[feature.body_b]
    c, n = contact.center, contact.normal
    contact.radius, contact.edges = feature.radius, 0
    for k in range(3):
        contact.local[k] = feature.center[k]
    cx, cy, cz = rotate(A.R, feature.center)
    c[0], c[1], c[2] = cx + A.p[0], cy + A.p[1], cz + A.p[2]
    tx, ty, tz = rotate(B.R, feature.target)
    dx, dy, dz = c[0] - tx - B.p[0], c[1] - ty - B.p[1], c[2] - tz - B.p[2]
    height = feature.radius
    if feature.kind == HALF_SPACE:
        n[0], n[1], n[2] = rotate(B.R, feature.target_normal)
        if feature.corner:
            height = dx * n[0] + dy * n[1] + dz * n[2]
    else:
        distance = math.sqrt(dx * dx + dy * dy + dz * dz)
        if distance > 1e-12:
            n[0], n[1], n[2] = dx / distance, dy / distance, dz / distance
        else:  # concentric spheres: any direction parts them
            n[0], n[1], n[2] = 0.0, 0.0, 1.0
    for k in range(3):
        contact.point[k] = c[k] - height * n[k]


@inlined
def _clearance(feature: Any, poses: Records) -> tuple[float, tuple[float, float, float]]:
    """Distance [m] of the ball around a feature's group from its plane; the ball's centre."""
    A = poses[feature.body_a]
    x, y, z = rotate(A.R, feature.middle)
    x, y, z = x + A.p[0], y + A.p[1], z + A.p[2]
    t, n = feature.target, feature.target_normal
    d = n[0] * (x - t[0]) + n[1] * (y - t[1]) + n[2] * (z - t[2])
    return d - feature.around, (x, y, z)


@inlined
def detect_spots(w: WorldView, after: int, dt: float) -> int:
    """Near pairs of solids and their slots, now or (after) at the end of the step; FOUND if so.

    dt: pairs that nothing brings together within it, at the velocities `w.body.v`, need no slots
    """
    if w.header[0].ns == 0:
        w.answer[0].near = w.answer[0].near_after = 0
        return FOUND
    if not after:
        keep_blocks(w, w.broad.kept)
    return int(find_spots(w, w.owners, after, dt))


@inlined
def read_low(w: WorldView, depth: float) -> tuple[int, float]:
    """All candidates deeper below ground than `depth` at the end of the step, in order.

    Where the poses are `pose_new`, for which spots are known.  Their numbers go to `w.low`, those
    of their features to its second half; excluded ones are none.  Returns how many there are, and
    the gap of the deepest of all that are near, or FAR [m].
    """
    h = w.header[0]
    n, lowest = 0, FAR
    f = integer(0)
    while f < h.npoints:
        feature = w.features[f]
        if feature.members > 0:
            clearance, _ = _clearance(feature, w.pose_new)
            if clearance > 0.0:
                f += feature.members
                continue
        if w.coefficients[f].excluded == 0:
            gap = feature_near(feature, w.pose_new)
            lowest = min(lowest, gap)
            if gap < -depth:
                w.low[n], w.low[h.nk + n] = f, f
                n += 1
        f += 1
    for i in range(w.answer[0].near_after):
        entry = w.near[h.nnear + i]
        f = h.npoints + entry.pair
        if w.coefficients[f].excluded == 0:
            for k in range(entry.first, entry.first + entry.slots):
                gap = w.spots[h.ns + k].gap
                lowest = min(lowest, gap)
                if gap < -depth:
                    w.low[n], w.low[h.nk + n] = h.npoints + k, f
                    n += 1
    return n, lowest


@inlined
def number_contacts(w: WorkView, count: int) -> None:
    """Write down which contact each candidate is, for `is_contact`."""
    for i in range(count):
        w.numbers[w.contacts[i].candidate] = i


@inlined
def is_contact(w: WorkView, count: int, candidate: int) -> bool:
    """Whether a candidate is among the contacts.  `w.numbers` holds rubbish for all others."""
    i = w.numbers[candidate]
    return bool(i >= 0 and i < count and w.contacts[i].candidate == candidate)


@inlined
def has_sunk(w: WorkView, contact: Any, depth: float) -> bool:
    """Whether a contact ends the step deeper below ground, by more than `depth` [m], than it began.

    What began deep is let be as deep, but for rounding: the correction of positions lifts it.
    """
    if contact.slot < 0:
        gap = feature_gap(w.features[contact.source], w.pose_new)
    else:
        gap = w.spots[w.header[0].ns + contact.slot].gap
    return bool(gap < ROUNDED * min(0.0, contact.gap) - depth)


@inlined
def measure_group(features: Records, poses: Records, gaps: Floats, f: int) -> None:
    """Gaps at the start of the step of point feature f and all of its group."""
    while f > 0 and features[f - 1].group == features[f].group:
        f -= 1
    k = f
    while k < features.shape[0] and features[k].group == features[f].group:
        gaps[k] = feature_near(features[k], poses)
        k += 1


@entry
@inlined
def place(
    features: Annotated[Records, FEATURE],
    spots: Annotated[Records, SPOT],
    poses: Annotated[Records, POSE],
    f: int,
    slot: int,
    contact: Annotated[Any, Record(CONTACT)],
) -> None:
    """`locate` for any candidate, at the start of the step (`pose`, for which spots are known).

    f: its feature; slot: its number among the slots, or -1 of a point
    """
    if slot < 0:
        locate(features[f], poses, contact)
    else:
        place_spot(spots[slot], poses[features[f].body_a], contact)


@entry
def measure_gaps(w: WorkView) -> None:
    """`w.gaps` of every candidate [m] at `w.pose`, shape (nk,), and `w.near`, `w.spots`.

    Without a state: in large scenes, pairs that are near get blocks of slots in their own order.
    """
    h = w.header[0]
    w.answer[0].near = w.answer[0].blocks = 0
    if h.ns > 0:
        broad = w.broad
        for k in range(h.nblocks):
            broad.owners[k], broad.kept[k] = -1, 0
        find_spots(w, broad.owners, 0, math.inf)
    _measure_all(w)


@entry
def measure_own_gaps(w: WorldView) -> None:
    """`measure_gaps`, where pairs have the slots that they have in a world's state."""
    w.answer[0].near = w.answer[0].blocks = 0
    if w.header[0].ns > 0:
        broad = w.broad
        keep_blocks(w, broad.kept)
        for k in range(w.header[0].nblocks):
            broad.owners[k] = w.owners[k]  # a copy: to look changes nothing
        find_spots(w, broad.owners, 0, math.inf)
    _measure_all(w)


class Candidate(NamedTuple):
    """A contact candidate that `measure_gaps` has found."""

    number: int
    feature: int
    place: int  # its number among the slots of all pairs, or -1 of a point
    slot: int  # its number among those of its pair, or 0


def candidates_of(m: ModelView, w: WorkView) -> Iterator[Candidate]:
    """All candidates that `measure_gaps` has found: points, and slots of pairs that are near."""
    points = int(m.header["npoints"][0])
    for f in range(points):
        yield Candidate(f, f, -1, 0)
    for pair, first, slots, *_ in w.near[: w.answer["near"][0]].tolist():
        for slot in range(slots):
            yield Candidate(points + first + slot, points + pair, first + slot, slot)


@inlined
def _measure_all(w: WorkView) -> None:
    for f in range(w.header[0].npoints):
        w.gaps[f] = feature_gap(w.features[f], w.pose)
    for k in range(w.header[0].npoints, w.header[0].nk):
        w.gaps[k] = FAR
    _take_gaps(w)


@inlined
def _speed(bodies: Records, works: Records, poses: Records, body: int, p: Any, n: Floats) -> float:
    """Velocity [m/s] along n of the material point of a body that is at p."""
    origin, v = poses[bodies[body].root].p, works[body].v
    x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
    speed = n[0] * (v[3] + v[1] * z - v[2] * y)
    speed += n[1] * (v[4] + v[2] * x - v[0] * z)
    return float(speed + n[2] * (v[5] + v[0] * y - v[1] * x))


@inlined
def add_contact(
    w: StateView, poses: Records, gap: float, deepest: float, f: int, candidate: int, contact: Any
) -> None:
    """Make a candidate a contact, which `place` has placed at the start of the step.

    poses: those for which it was placed; f: its feature
    deepest: gap of the deepest candidate of its group, or 0 [m]
    """
    feature = w.features[f]
    contact.candidate, contact.source = candidate, f
    contact.slot = candidate - w.header[0].npoints if candidate >= w.header[0].npoints else -1
    contact.body_a, contact.body_b = feature.body_a, feature.body_b
    contact.group, contact.kind, contact.corner = feature.group, feature.kind, feature.corner
    contact.gap = gap
    contact.friction = w.coefficients[f].friction
    contact.spin, contact.roll = feature.spin, feature.roll
    contact.stick = contact.skewed = 0
    # The distance that the contact may close within the step.  Candidates of one body against one
    # geom share a rigid target motion: their gaps, affine over the body, all shifted by the depth
    # of the deepest.  A clamp of each alone would ask a rigid sole for a velocity field that it
    # cannot have, and redundant contacts would squeeze (docs/theory.md, Consistent biases).
    contact.target, contact.bend = gap - deepest, 0.0
    set_drift(w, poses, contact)
    other = w.bodies[feature.body_b]
    contact.grounded = 1 if feature.body_b == 0 or (other.tree < 0 and other.last >= 0) else 0


@inlined
def set_drift(w: StateView, poses: Records, contact: Any) -> None:
    """Write down how fast A's surface runs along B's where the bodies themselves do not move.

    A belt only drags: of its velocity the part along the contact's plane counts.
    """
    contact.drifts = 0
    if w.header[0].nsurfaces == 0:
        return
    surfaces, feature = w.surface, w.features[contact.source]
    drift, n = contact.drift, contact.normal
    ax, ay, az = rotate(poses[feature.body_a].R, surfaces[feature.geom_a])
    bx, by, bz = rotate(poses[feature.body_b].R, surfaces[feature.geom_b])
    x, y, z = ax - bx, ay - by, az - bz
    along = n[0] * x + n[1] * y + n[2] * z
    drift[0], drift[1], drift[2] = x - along * n[0], y - along * n[1], z - along * n[2]
    contact.drifts = 1 if x != 0.0 or y != 0.0 or z != 0.0 else 0


@inlined
def deepest_point(features: Records, gaps: Floats, points: int, f: int) -> float:
    """Gap [m] of the deepest point of f's group at the start of the step, or 0."""
    group = features[f].group
    deepest = 0.0
    k = f
    while k >= 0 and features[k].group == group:
        deepest = min(deepest, gaps[k])
        k -= 1
    k = f + 1
    while k < points and features[k].group == group:
        deepest = min(deepest, gaps[k])
        k += 1
    return deepest


@inlined
def deepest_slot(w: WorkView, entry: Any) -> float:
    """Gap [m] of the deepest slot of a near pair at the start of the step, or 0."""
    deepest = 0.0
    first = w.header[0].npoints + entry.first
    for k in range(first, first + entry.slots):
        deepest = min(deepest, w.gaps[k])
    return deepest


@inlined
def _take_gaps(w: WorkView) -> None:
    """Gaps of the slots of all pairs that are near, at the start of the step; others stay."""
    for i in range(w.answer[0].near):
        entry = w.near[i]
        for k in range(entry.first, entry.first + entry.slots):
            w.gaps[w.header[0].npoints + k] = w.spots[k].gap


@inlined
def _out_of_reach(feature: Any, bodies: Records, works: Records, poses: Records, dt: float) -> bool:
    """Whether no feature of a group can come to its plane within the step."""
    clearance, middle = _clearance(feature, poses)
    if clearance < CLEAR:
        return False
    v = works[feature.body_a].v
    speed = _speed(bodies, works, poses, feature.body_a, middle, feature.target_normal)
    turn = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return bool(clearance + dt * (speed - turn * feature.around) > CLEAR)


@inlined
def select_contacts(w: WorldView, dt: float) -> int:
    """Collect the candidates that can be reached within the step; returns their number.

    Needs `detect_spots`.  Those that the answer reaches all the same are found after the solve
    and added then.  The number may exceed the capacity: then the last ones are left out and the
    caller reports it.
    """
    h = w.header[0]
    # Gaps of all points, a foot's at once where it is far
    f = integer(0)
    while f < h.npoints:
        members = w.features[f].members
        if members > 0 and _out_of_reach(w.features[f], w.bodies, w.body, w.pose, dt):
            for k in range(f, f + members):
                w.gaps[k] = FAR
            f += members
        else:
            w.gaps[f] = feature_near(w.features[f], w.pose)
            f += 1
    _take_gaps(w)
    # Points in reach
    count = integer(0)
    for k in range(h.npoints):
        if w.gaps[k] < SEEN and w.coefficients[k].excluded == 0:
            contact = w.contacts[min(count, h.nc)]
            if _reaches(w, dt, k, k, contact):
                deepest = deepest_point(w.features, w.gaps, h.npoints, k)
                add_contact(w, w.pose, w.gaps[k], deepest, k, k, contact)
                count += 1
    # Slots of near pairs in reach
    for i in range(w.answer[0].near):
        entry = w.near[i]
        f = h.npoints + entry.pair
        if w.coefficients[f].excluded != 0:
            continue
        deepest = deepest_slot(w, entry)
        first = h.npoints + entry.first
        for k in range(first, first + entry.slots):
            if w.gaps[k] < SEEN:  # far candidates cannot be near: skip the velocity
                contact = w.contacts[min(count, h.nc)]
                if _reaches(w, dt, f, k, contact):
                    add_contact(w, w.pose, w.gaps[k], deepest, f, k, contact)
                    count += 1
    return count


@inlined
def _reaches(w: WorkView, dt: float, f: int, k: int, contact: Any) -> bool:
    """Place candidate k, of feature f; returns whether it can be reached within the step."""
    feature = w.features[f]
    place(
        w.features,
        w.spots,
        w.pose,
        f,
        k - w.header[0].npoints if k >= w.header[0].npoints else -1,
        contact,
    )
    gap = w.gaps[k]
    if gap < MARGIN:
        return True
    speed = separating_speed(w, feature, contact)
    return bool(gap + dt * min(speed, 0.0) < MARGIN)


@inlined
def separating_speed(w: WorkView, feature: Any, contact: Any) -> float:
    """How fast A moves away from B where a candidate has been placed [m/s]."""
    speed = _speed(w.bodies, w.body, w.pose, feature.body_a, contact.point, contact.normal)
    if feature.body_b > 0:
        speed -= _speed(w.bodies, w.body, w.pose, feature.body_b, contact.point, contact.normal)
    return speed
