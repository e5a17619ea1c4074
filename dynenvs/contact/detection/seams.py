"""Seams between solids that stand flush: which of their faces is met, decided where the step ends.

A gap and normal of the pose now, linearised, forbid what is beyond a plane through the nearest part
of a solid. Short of a seam that part is an edge or a side that the neighbour hides: a box would run
into the side of the next tile, a ball up its edge. So where a solid is near two that are fixed to
each other, or lie loose side by side, and its velocity would carry it through such a plane, the
pair is looked at again in the pose to which this velocity leads. The slots there take the place of
those of now if they part the two better at the end and do not overlap now: with their gaps of now,
along the normals of the end, so that what is of second order is foreseen. (For polyhedra: the
farthest of all faces at the end, as in polyhedral exact geometry, Nguyen and Trinkle 2010, chosen
before the step is solved.)
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.broad_phase import entry_of
from dynenvs.contact.detection.detect import detect_spots, place, separating_speed
from dynenvs.contact.detection.manifold import FOUND, pull_back
from dynenvs.contact.detection.travel import closing_way
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Records, WorkView, WorldView
from dynenvs.memory.records import ALONE, BLOCK_FIELD, FAR, HEIGHT_FIELD, MIDPOINT, SEEN

STEP = 1e-5  # of a seam that is none: so far solids may overlap there [m] ...
SMALL = 0.01  # ... if they are larger than this; less, if they are smaller [m]
ALIKE = 1e-6  # difference of velocities up to which loose solids move as one [m/s, rad/s]
THROUGH = 1e-9  # depth to which a velocity may lead without another look [m]


@inlined
def foresee(w: WorldView, dt: float) -> int:
    """Put slots of the end of the step in the place of those that trip over seams; FOUND if so."""
    h = w.header[0]
    if h.integrator == MIDPOINT:  # its poses are those of the middle
        return FOUND
    if h.nbeside == 0 or w.answer[0].near < 2:
        return FOUND
    return int(find_seams(w, dt))


@unit("seldom", seconds=5)
def find_seams(w: WorldView, dt: float) -> int:
    """`foresee`, where at least two pairs are near."""
    pairs = w.pairs
    solids = w.solids
    if not _trips(w, pairs, solids, dt):
        return FOUND
    integrate(w, w.q, w.v, dt, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    if detect_spots(w, 1, dt) != FOUND:
        return FOUND + 1
    after = w.broad.entry_after
    h, answer = w.header[0], w.answer[0]
    for i in range(answer.near):
        entry = w.near[i]
        pair = pairs[entry.pair]
        if pair.beside != 0 and _is_beside_another(w, pairs, solids, answer.near, i, dt):
            small = min(solids[pair.solid_a].radius, solids[pair.solid_b].radius)
            at = entry_of(w.near, h.nnear, answer.near_after, after, entry.pair)
            _choose(w, entry, at >= 0, dt, STEP * min(1.0, small / SMALL))
    return FOUND


@inlined
def _trips(w: WorkView, pairs: Records, solids: Records, dt: float) -> bool:
    """Whether a velocity of now leads through the plane of a slot that may be a seam's."""
    count = w.answer[0].near
    for i in range(count):
        entry = w.near[i]
        if pairs[entry.pair].beside == 0:
            continue
        end, most = FAR, closing_way(w, pairs[entry.pair], dt)
        for k in range(entry.first, entry.first + entry.slots):
            if w.spots[k].gap < most:
                end = min(end, _linear_end(w, entry.pair, k, dt))
        if end < _deepest(w, entry) - THROUGH and _is_beside_another(
            w, pairs, solids, count, i, dt
        ):
            return True
    return False


@inlined
def _deepest(w: WorkView, entry: Any) -> float:
    """The least gap of a pair's slots, or 0 [m]."""
    deepest = 0.0
    for k in range(entry.first, entry.first + entry.slots):
        deepest = min(deepest, w.spots[k].gap)
    return deepest


@inlined
def _linear_end(w: WorkView, pair: int, k: int, dt: float) -> float:
    """The gap to which the velocities of now lead slot k, along its normal of now [m]."""
    gap = w.spots[k].gap
    if not gap < SEEN:
        return FAR
    f, contact = w.header[0].npoints + pair, w.contacts[0]
    place(w.features, w.spots, w.pose, f, k, contact)
    return float(gap + dt * separating_speed(w, w.features[f], contact))


@inlined
def _is_beside_another(
    w: WorkView, pairs: Records, solids: Records, count: int, i: int, dt: float
) -> bool:
    """Whether one solid of a near pair is near another one, too, that is flush with the other."""
    own = pairs[w.near[i].pair]
    a, b = own.solid_a, own.solid_b
    over_field = own.kind_b == HEIGHT_FIELD or own.kind_b == BLOCK_FIELD
    found = False
    for j in range(count):
        if j == i:
            continue
        pair = pairs[w.near[j].pair]
        for one, other in ((pair.solid_a, pair.solid_b), (pair.solid_b, pair.solid_a)):
            if one == a:
                found = found or _are_flush(w, pairs, solids, count, (a, b, other), dt)
            elif one == b and not over_field:
                found = found or _are_flush(w, pairs, solids, count, (b, a, other), dt)
    return found


@inlined
def _are_flush(
    w: WorkView, pairs: Records, solids: Records, count: int, trio: tuple[int, int, int], dt: float
) -> bool:
    """Whether two solids are of one body, or loose ones that touch and move as one.

    trio: a third solid that is near both, and these; past loose ones it must not get in a step
    """
    third, one, other = trio
    a, b = solids[one].body, solids[other].body
    if a == b:
        return True
    if not (_move_as_one(w, a, b) and _goes_slowly(w, solids, third, one, dt)):
        return False
    for j in range(count):
        entry = w.near[j]
        pair = pairs[entry.pair]
        low, high = min(pair.solid_a, pair.solid_b), max(pair.solid_a, pair.solid_b)
        if low == min(one, other) and high == max(one, other):
            for k in range(entry.first, entry.first + entry.slots):
                if w.spots[k].gap < STEP:
                    return True
    return False


@inlined
def _goes_slowly(w: WorkView, solids: Records, third: int, one: int, dt: float) -> bool:
    """Whether a solid moves by less in a step than the smaller one of two reaches inside."""
    a, b = solids[third].body, solids[one].body
    square = 0.0
    for k in range(3, 6):
        speed = (w.body[a].v[k] if a > 0 else 0.0) - (w.body[b].v[k] if b > 0 else 0.0)
        square += speed * speed
    return bool(dt * math.sqrt(square) < min(solids[third].inside, solids[one].inside))


@inlined
def _move_as_one(w: WorkView, a: int, b: int) -> bool:
    """Whether two bodies, loose ones or the world, have the same velocity, and no spin."""
    for body in (a, b):
        if body > 0 and w.bodies[body].floats != ALONE:
            return False
    for k in range(6):
        one, other = w.body[a].v[k] if a > 0 else 0.0, w.body[b].v[k] if b > 0 else 0.0
        apart_ = abs(one - other) if k >= 3 else max(abs(one), abs(other))
        if not apart_ <= ALIKE:
            return False
    return True


@inlined
def _choose(w: WorkView, entry: Any, near: bool, dt: float, step: float) -> None:
    """Take over the end's slots of a pair, if they part it better there than those of now do.

    Slots that do not part it now, but for a `step` in a seam [m], though it is apart at the end
    (past a corner, off an edge), are left out: what the answer reaches all the same is added later.
    If it overlaps then, too, those of now stay.
    """
    deepest = _deepest(w, entry)
    least = deepest - step
    first, last, after = entry.first, entry.first + entry.slots, w.header[0].ns
    ends, foreseen, better = FAR, FAR, False
    for k in range(first, last):
        linear = _linear_end(w, entry.pair, k, dt)
        ends = min(ends, linear)
        gap = w.spots[after + k].gap if near else FAR
        if gap < SEEN:
            foreseen = min(foreseen, gap)
            better = better or (linear < FAR and gap > linear + THROUGH)
            if gap < least and _pull_back(w, entry.pair, w.spots[after + k]) < least:
                return
    if not better and not foreseen > ends + THROUGH:
        return
    for k in range(first, last):
        spot, then = w.spots[k], w.spots[after + k]
        spot.gap, spot.edges = FAR, 0
        if near and then.gap < SEEN:
            gap = _pull_back(w, entry.pair, then)
            if gap >= least and gap >= min(then.gap, deepest) - THROUGH:
                spot.gap, spot.radius, spot.edges = gap, then.radius, then.edges
                for j in range(3):
                    spot.center[j] = w.contacts[0].center[j]
                    spot.normal[j] = w.contacts[0].normal[j]


@inlined
def _pull_back(w: WorkView, pair: int, spot: Any) -> float:
    """The gap now of a slot of the end [m]; its place and normal into `w.contacts[0]`."""
    feature = w.features[w.header[0].npoints + pair]
    return pull_back(w, spot, feature.body_a, feature.body_b, w.contacts[0])
