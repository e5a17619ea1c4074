"""Contact detection: the gap, normal and point of every feature, and which ones can be reached.

A feature is a point with a radius on geom A where geom B is a half space or a sphere, or a slot of
a pair of other solids (`spots.py`).  Its index is its stable id, by which impulses and active sets
are remembered from step to step.  Slots come after all others.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.geometry.spot import discard
from dynenvs.contact.spots import find_spots, place_spot
from dynenvs.layout import Bytes, Floats, Records, open_model, open_workspace
from dynenvs.lcp.workspace import integer
from dynenvs.records import FAR, HALF_SPACE, SEEN
from dynenvs.rotation import rotate

# Features this close are always part of the problem, so that a neighbour's push needs no second
# solve [m].
MARGIN = 1e-3
CLEAR = 2.0 * MARGIN  # what stays farther away is none of them, whatever rounding says


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
        if x * x + y * y + z * z > feature.apart:
            return FAR
    return feature_gap(feature, poses)


@inlined
def locate(feature: Any, poses: Records, contact: Any) -> None:
    """Fill centre, normal (from B to A) and point of a contact, world axes.

    For features that are no slots.  The point is on A's surface, but those of corners are on the
    plane below: as on a lamina, so that the rows of a sole that touches down, tilted by a little,
    ask for a motion that it can have (physics.md, section 4, consistent biases).
    """
    A, B = poses[feature.body_a], poses[feature.body_b]
    c, n = contact.center, contact.normal
    contact.radius = feature.radius
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
def slot_of(features: Records, spots: Records, f: int) -> int:
    """Number of feature f among the slots, negative if it is none."""
    return f - (features.shape[0] - spots.shape[0] // 2)


@inlined
def gap_after(features: Records, spots: Records, poses: Records, f: int) -> float:
    """Gap [m] of any feature at the end of the step (`pose_new`, for which spots are known)."""
    k = slot_of(features, spots, f)
    if k < 0:
        return feature_near(features[f], poses)
    return float(spots[spots.shape[0] // 2 + k].gap)


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
def next_after(features: Records, spots: Records, poses: Records, f: int) -> int:
    """The feature after f, without those of groups and pairs that are clear of each other.

    At the end of the step: `pose_new`, for which spots are known.
    """
    f += 1
    while f < features.shape[0] and features[f].members > 0:
        clearance, _ = _clearance(features[f], poses)
        if not clearance > 0.0:
            break
        f += features[f].members
    k = slot_of(features, spots, f)
    first = spots.shape[0] // 2
    while k >= 0 and k < first and spots[first + k].skip > 0:
        f += spots[first + k].skip
        k += spots[first + k].skip
    return f


@inlined
def open_pair(features: Records, spots: Records, gaps: Floats, f: int) -> None:
    """Have slot f's pair, if far apart at the start of the step, stand among those to be read."""
    k = slot_of(features, spots, f)
    while k > 0 and features[f - 1].group == features[f].group:
        f -= 1
        k -= 1
    slots = spots[k].skip
    if slots > 0:
        discard(spots, k, slots)
        for i in range(slots):
            gaps[f + i] = FAR


@inlined
def measure_group(features: Records, poses: Records, gaps: Floats, f: int) -> None:
    """Gaps at the start of the step of feature f and all of its group, which are no slots."""
    while f > 0 and features[f - 1].group == features[f].group:
        f -= 1
    k = f
    while k < features.shape[0] and features[k].group == features[f].group:
        gaps[k] = feature_near(features[k], poses)
        k += 1


@inlined
def place(features: Records, spots: Records, poses: Records, f: int, contact: Any) -> None:
    """`locate` for any feature, at the start of the step (`pose`, for which spots are known)."""
    k = slot_of(features, spots, f)
    if k < 0:
        locate(features[f], poses, contact)
    else:
        place_spot(spots[k], poses[features[f].body_a], contact)


@kernel
def measure_gaps(packed: Bytes, buffer: Bytes) -> None:
    """`w.gaps` of every feature [m] at `w.pose`, shape (nf,), and `w.spots`."""
    m = open_model(packed)
    w = open_workspace(m, buffer)
    points = m.header[0].nf - m.header[0].ns
    if m.header[0].ns > 0:
        find_spots(packed, buffer, 0)
    for f in range(points):
        w.gaps[f] = feature_gap(m.features[f], w.pose)
    for f in range(points, m.header[0].nf):
        w.gaps[f] = FAR
    _take_gaps(w.spots, points, w.gaps)


@inlined
def _speed(bodies: Records, works: Records, poses: Records, body: int, p: Any, n: Floats) -> float:
    """Velocity [m/s] along n of the material point of a body that is at p."""
    origin, v = poses[bodies[body].root].p, works[body].v
    x, y, z = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
    speed = n[0] * (v[3] + v[1] * z - v[2] * y)
    speed += n[1] * (v[4] + v[2] * x - v[0] * z)
    return float(speed + n[2] * (v[5] + v[0] * y - v[1] * x))


@inlined
def add_contact(features: Records, memory: Records, gaps: Floats, f: int, contact: Any) -> None:
    """Make feature f a contact, which `locate` has placed at the start of the step."""
    contact.feature = f
    contact.gap = gaps[f]
    contact.friction = memory[f].friction
    contact.stick = 0
    _set_target(features, gaps, contact)


@inlined
def _set_target(features: Records, gaps: Floats, contact: Any) -> None:
    """The distance that the contact may close within the step.

    Features of one body against one geom share a rigid target motion: their gaps, affine over the
    body, all shifted by the depth of the deepest.  A clamp of each alone would ask a rigid sole
    for a velocity field that it cannot have, and redundant contacts would squeeze
    (physics.md, section 4, consistent biases).
    """
    f = contact.feature
    group = features[f].group
    deepest = 0.0
    k = f
    while k >= 0 and features[k].group == group:
        deepest = min(deepest, gaps[k])
        k -= 1
    k = f + 1
    while k < features.shape[0] and features[k].group == group:
        deepest = min(deepest, gaps[k])
        k += 1
    contact.target = contact.gap - deepest


@inlined
def _take_gaps(spots: Records, points: int, gaps: Floats) -> None:
    """Gaps of the slots of all pairs that are near, at the start of the step; others stay."""
    k = integer(0)
    while k < spots.shape[0] // 2:
        if spots[k].skip > 0:
            k += spots[k].skip
        else:
            gaps[points + k] = spots[k].gap
            k += 1


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


@kernel
def select_contacts(
    bodies: Records,
    features: Records,
    memory: Records,
    poses: Records,
    works: Records,
    spots: Records,
    gaps: Floats,
    contacts: Records,
    dt: float,
) -> int:
    """Collect the features that can be reached within the step; returns their number.

    Those that the answer reaches all the same are found after the solve and added then.  The
    number may exceed the capacity: then the last ones are left out and the caller reports it.
    """
    points = features.shape[0] - spots.shape[0] // 2
    f = integer(0)
    while f < points:
        members = features[f].members
        if members > 0 and _out_of_reach(features[f], bodies, works, poses, dt):
            for k in range(f, f + members):
                gaps[k] = FAR
            f += members
        else:
            gaps[f] = feature_near(features[f], poses)
            f += 1
    _take_gaps(spots, points, gaps)
    count = 0
    f = integer(-1)
    while f + 1 < features.shape[0]:
        f += 1
        if f >= points and spots[f - points].skip > 0:  # a pair that does not touch
            f += spots[f - points].skip - 1
            continue
        gap = gaps[f]
        if gap >= SEEN or memory[f].ignored != 0:  # far features cannot be near: skip the velocity
            continue
        if count < contacts.shape[0]:
            feature = features[f]
            contact = contacts[count]
            place(features, spots, poses, f, contact)
            if gap >= MARGIN:
                speed = _speed(bodies, works, poses, feature.body_a, contact.point, contact.normal)
                if feature.body_b > 0:
                    speed -= _speed(
                        bodies, works, poses, feature.body_b, contact.point, contact.normal
                    )
                if not gap + dt * min(speed, 0.0) < MARGIN:
                    continue
            add_contact(features, memory, gaps, f, contact)
        elif gap >= MARGIN:
            continue  # full: only what certainly touches counts as left out
        count += 1
    return count
