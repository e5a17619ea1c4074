"""The slots of all pairs of solids: found anew at each pose, taken over into contacts."""

from __future__ import annotations

from typing import Any

from dynenvs.contact.detection.boxes import find_box_spots
from dynenvs.contact.detection.broad_phase import assign_blocks, entry_of, list_near
from dynenvs.contact.detection.fields import find_field_spots
from dynenvs.contact.detection.geometry.capsule_capsule import capsule_capsule, sphere_capsule
from dynenvs.contact.detection.geometry.sphere_sphere import sphere_sphere
from dynenvs.contact.detection.geometry.spot import back, discard
from dynenvs.contact.detection.hulls import find_hull_spots
from dynenvs.contact.detection.known import keep_end, note_standing, take_over
from dynenvs.contact.detection.smooth import find_smooth_spots
from dynenvs.contact.detection.travel import closing_way, note_speeds
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Ints, WorkView
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    FAR,
    HEIGHT_FIELD,
    LOOK,
    MARGIN,
    SPHERE,
)

FOUND = 0


@unit("solids", seconds=5)
def find_spots(w: WorkView, owners: Ints, after: int, dt: float) -> int:
    """Fill `w.near` and `w.spots` for the poses `w.pose`, or their second halves for `w.pose_new`.

    owners: of the blocks of slots (the state's): pairs that come near are given one.  Who asks
    without `after` has marked the blocks that must stay (`keep_blocks`).
    Slots of pairs that were near at the start of the step alone are FAR at its end.
    Of boxes, hulls and smooth solids, those show slots at the start that can come together within
    dt, and at the end those that did so at the start, or overlap.
    `w.answer.blocks` tells how many blocks there would have to be if some pairs found none.
    Returns FOUND.
    """
    h, answer = w.header[0], w.answer[0]
    pairs, broad = w.pairs, w.broad
    solids, shapes = w.solids, w.shapes
    if after:
        keep_end(w)
    else:
        note_standing(w)
        note_speeds(w)
    # Every solid where it is now
    start = h.ns if after else 0
    list_at = h.nnear if after else 0
    poses = w.pose_new if after else w.pose
    for k in range(solids.shape[0]):
        _place(solids[k], poses[solids[k].body], shapes[k])
        for i in range(3):
            broad.centers[k, i] = shapes[k].center[i]
    # The pairs that are near, and slots for those that have none of their own
    near = w.near[list_at : list_at + h.nnear]
    count, missing = list_near(w, poses, near)
    count, homeless = assign_blocks(w, broad, pairs, owners, near, count, after == 0)
    if missing + homeless > 0:
        answer.blocks = max(answer.blocks, h.nblocks + missing + homeless)
    # Where the two of each pair touch
    for i in range(count):
        entry = near[i]
        pair = pairs[entry.pair]
        a, b = shapes[pair.solid_a], shapes[pair.solid_b]
        if after:
            broad.entry_after[entry.pair] = i
        else:
            broad.entry[entry.pair] = i
        for k in range(3):
            a.half[k], b.half[k] = pair.size_a[k], pair.size_b[k]
        if _looks(pair):
            entry.look = entry.asked = _look_at(w, pair, entry.pair, dt, after != 0)
        if after or not take_over(w, pair, entry, _looks(pair)):
            _find_slots(w, pair, list_at + i, start + entry.first, after != 0)
    # Pairs that are no longer near have no contacts at the end of the step
    if after:
        answer.near_after = count
        for i in range(answer.near):
            entry = w.near[i]
            if entry_of(w.near, list_at, count, broad.entry_after, entry.pair) < 0:
                discard(w.spots, start + entry.first, entry.slots)
    else:
        answer.near = count
    return FOUND


@inlined
def _looks(pair: Any) -> bool:
    """Whether a pair's slots take long to find: of hulls, smooth solids, or a box and no ball."""
    if pair.kind_b == BOX:
        return bool(pair.kind_a != SPHERE)
    smooth = pair.kind_a >= CYLINDER or pair.kind_b >= CYLINDER
    return bool(smooth or pair.kind_a == CONVEX or pair.kind_b == CONVEX)


@inlined
def _look_at(w: WorkView, pair: Any, number: int, dt: float, after: bool) -> float:
    """Up to which distance a pair shows slots [m].

    At the start: that can come within MARGIN in dt.  At the end, what could not meet matters where
    it overlaps all the same.
    """
    near = w.header[0].near
    if after:
        return near if _could_meet(w, number) else 0.0
    return min(near, MARGIN + closing_way(w, pair, dt))


@inlined
def _find_slots(w: WorkView, pair: Any, at: int, first: int, after: bool) -> None:
    """Fill the slots of the near pair w.near[at], from `first` on."""
    entry = w.near[at]
    if pair.kind_a >= CYLINDER or pair.kind_b >= CYLINDER:
        find_smooth_spots(w, at, first)
    elif pair.kind_a == CONVEX or pair.kind_b == CONVEX:
        find_hull_spots(w, at, first)
    elif pair.kind_b == BOX:
        find_box_spots(w, at, first)
    else:
        discard(w.spots, first, entry.slots)
        _find(w, pair, at, first)
    if after and entry.slots == 0 and entry.asked > 0.0:  # contacts ask what has become of them
        discard(w.spots, first, pair.slots)


@inlined
def _could_meet(w: WorkView, pair: int) -> bool:
    """At the end of a step, whether a pair could meet when it began, and so may have contacts."""
    k = entry_of(w.near, 0, w.answer[0].near, w.broad.entry, pair)
    return bool(k >= 0 and w.near[k].look > 0.0)


@inlined
def open_pair(w: WorkView, i: int) -> None:
    """Have a pair of the end's list stand in the start's, too, as far apart if it had no slots."""
    h, answer = w.header[0], w.answer[0]
    broad = w.broad
    entry = w.near[h.nnear + i]
    at = entry_of(w.near, 0, answer.near, broad.entry, entry.pair)
    if at < 0:
        at = broad.entry[entry.pair] = answer.near
        answer.near += 1
    elif w.near[at].slots > 0:
        return
    w.near[at] = entry
    w.near[at].look = LOOK
    discard(w.spots, entry.first, entry.slots)
    for k in range(entry.first, entry.first + entry.slots):
        w.gaps[h.npoints + k] = FAR


@inlined
def _place(solid: Any, pose: Any, shape: Any) -> None:
    """Centre and axes of a solid in the world."""
    x, y, z = rotate(pose.R, solid.position)
    c, own, R = shape.center, solid.rotation, shape.R
    c[0], c[1], c[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    if solid.kind == CAPSULE:
        R[0, 2], R[1, 2], R[2, 2] = rotate(pose.R, own[:, 2])
    elif solid.kind != SPHERE:
        for i in range(3):
            x, y, z = pose.R[i, 0], pose.R[i, 1], pose.R[i, 2]
            for j in range(3):
                R[i, j] = x * own[0, j] + y * own[1, j] + z * own[2, j]


@inlined
def _find(w: WorkView, pair: Any, at: int, first: int) -> None:
    """The same for spheres and capsules, and over fields; the slots come discarded."""
    a, b, spots = w.shapes[pair.solid_a], w.shapes[pair.solid_b], w.spots
    if pair.kind_b == HEIGHT_FIELD or pair.kind_b == BLOCK_FIELD:
        find_field_spots(w, at, first)
    elif pair.kind_b == SPHERE:
        sphere_sphere(pair, a, b, spots, first)
    elif pair.kind_a == CAPSULE:
        capsule_capsule(pair, a, b, spots, first)
    else:
        sphere_capsule(pair, a, b, spots, first)


@inlined
def place_spot(spot: Any, pose: Any, contact: Any) -> None:
    """Centre, normal and point of a contact from its slot; `pose` is that of body A."""
    c, n = contact.center, contact.normal
    contact.radius = spot.radius
    contact.edges = spot.edges
    for k in range(3):
        c[k] = spot.center[k]
        n[k] = spot.normal[k]
        contact.point[k] = c[k] - spot.radius * n[k]
    _into_body(pose, c, contact.local)


@inlined
def _into_body(pose: Any, p: Floats, out: Floats) -> None:
    """out = R^T (p - origin)"""
    o = pose.p
    out[0], out[1], out[2] = back(pose.R, (p[0] - o[0], p[1] - o[1], p[2] - o[2]))


@inlined
def _out_of_body(pose: Any, local: Floats, out: Floats) -> None:
    """out = R local + origin"""
    x, y, z = rotate(pose.R, local)
    out[0], out[1], out[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]


@inlined
def pull_back(w: WorkView, spot: Any, a: int, b: int, contact: Any) -> float:
    """A contact that shows only at the end of the step, at its start: returns the gap [m].

    The material points of bodies a and b that meet at the end, taken to where they were, and their
    distance along the normal that they will meet at.  The place is A's point; where impulses do
    not move A, B's, at whose arm they act.
    """
    place_spot(spot, w.pose_new[a], contact)
    reach = spot.gap + spot.radius
    c, other, n = contact.center, contact.point, contact.normal
    for k in range(3):
        other[k] = c[k] - reach * n[k]
    _into_body(w.pose_new[b], other, contact.t1)  # tangents are not known yet: room for a point
    _out_of_body(w.pose[b], contact.t1, other)
    _out_of_body(w.pose[a], contact.local, c)
    away = 0.0
    for k in range(3):
        away += n[k] * (c[k] - other[k])
    for k in range(3):
        if w.bodies[a].tree < 0:
            c[k] = other[k] + away * n[k]
        other[k] = c[k] - spot.radius * n[k]
    return float(away - spot.radius)


@inlined
def hold(pose_b: Any, contact: Any) -> None:
    """Keep a contact's normal in B's axes, before the bodies are turned (`carry`)."""
    n, held = contact.normal, contact.t1
    held[0], held[1], held[2] = back(pose_b.R, (n[0], n[1], n[2]))


@inlined
def carry(pose_a: Any, pose_b: Any, contact: Any) -> None:
    """Take a contact along with its bodies: the core point with A, the normal with B."""
    n = contact.normal
    n[0], n[1], n[2] = rotate(pose_b.R, contact.t1)
    _out_of_body(pose_a, contact.local, contact.center)
    for k in range(3):
        contact.point[k] = contact.center[k] - contact.radius * n[k]
