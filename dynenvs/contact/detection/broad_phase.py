"""Which pairs of solids are near each other, and where the slots of each are.

A sweep over boxes around the solids finds those that may be near: sorted along the axis on which
they are spread most widely, each is compared with those to its right until one begins where it ends
(Baraff, Dynamic Simulation of Non-Penetrating Rigid Bodies, 1992, section 5.1).  What is far apart
costs nothing.  Pairs that keep slots of their own are few, or over a field: they are tested one by
one.  Both list what could be near if each solid moved by SKIN, and the list serves until one has
(Verlet, Physical Review 159, 1967): so which pairs are near does not depend on it.  Then boxes and
bounding spheres decide (`is_near`).  Pairs come in the order of their numbers, whatever their
slots, so that contacts do too.

Blocks of slots out of the pool: the first free one goes to the first pair, in that order, that has
none.  A block is free again when, at the start of a step, its pair is not near any more and none of
its slots is listed in the world's memory.  So which pair has which depends on the state alone.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.segment import clamp
from dynenvs.contact.detection.geometry.spot import Point, back, column, dot, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.poses import copy_poses, turn_between
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import BroadView, Floats, Ints, ModelView, Records, StateView, WorkView
from dynenvs.memory.records import (
    BLOCK_FIELD,
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    HALF_SPACE,
    HEIGHT_FIELD,
    SPHERE,
)

ROOM = 0.5 * (1.0 + 1e-9)  # of what is near: by which a box around a solid is larger on each side
SKIN = 0.02  # way of a solid's points that the list of watched pairs has room for [m]
FEW = 100  # pairs with slots of their own, up to which none are listed
ROUNDING = 1e-7  # by which a turn may be more than its trace tells [rad]


@inlined
def keep_blocks(w: StateView, kept: Ints) -> None:
    """Mark the blocks of which the world remembers something."""
    h = w.header[0]
    for k in range(h.nblocks):
        kept[k] = 0
    pool = h.nk - h.nblocks * h.block_slots
    for i in range(w.status[0].touched):
        if w.touched[i] >= pool:
            kept[(w.touched[i] - pool) // h.block_slots] = 1


@inlined
def list_near(w: WorkView, poses: Records, near: Records) -> tuple[int, int]:
    """Pairs that are near, in order, as `near[:n].pair`; returns n, and how many found no room.

    poses: those at which the solids stand (`w.shapes`, `w.broad.centers`)
    """
    broad, blocks = w.broad, w.header[0].nblocks
    if blocks > 0:
        _enclose(broad, ROOM * w.header[0].near, w.solids, w.shapes)
    # Few pairs cost less than to see which solids have moved
    listed, count = broad.own, broad.own.shape[0]
    if blocks > 0 or count > FEW:
        if _has_moved(w, poses):
            _watch(w, poses)
        listed, count = w.watch.pairs, w.watch.count[0]
    n, pooled, missing = integer(0), 0, 0
    for i in range(count):
        one = listed[i]
        a, b = point(broad.centers[one.solid_a]), point(broad.centers[one.solid_b])
        d = (a[0] - b[0], a[1] - b[1], a[2] - b[2])
        if dot(d, d) > one.far_squared:  # most pairs end here
            continue
        pair = w.pairs[one.pair]
        if pair.first < 0 and not _overlap(broad.boxes, one.solid_a, one.solid_b, 0.0):
            continue
        if not is_near(pair, w.shapes[one.solid_a], w.shapes[one.solid_b]):
            continue
        if pair.first < 0:
            if pooled == blocks:
                missing += 1
                continue
            pooled += 1
        near[n].pair = one.pair
        n += 1
    return n, missing


@inlined
def _has_moved(w: WorkView, poses: Records) -> bool:
    """Whether a point of a solid may have moved by more than SKIN since pairs were listed, if ever.

    Workspaces come with anything in them: without a list the world's own pose is not there either.
    """
    broad = w.broad
    for i in range(1, w.header[0].nb):
        w.watch.turns[i] = turn_between(w.watch.pose[i], poses[i])
    moved = w.watch.pose[0].R[0, 0] != 1.0  # as NaN is, too
    for k in range(w.solids.shape[0]):
        solid, now, then = w.solids[k], broad.centers[k], w.watch.centers[k]
        if solid.radius < math.inf and solid.body > 0:  # those with fields are always watched
            x, y, z = now[0] - then[0], now[1] - then[1], now[2] - then[2]
            left = SKIN - (w.watch.turns[solid.body] + ROUNDING) * solid.radius
            moved = moved or not (left > 0.0 and x * x + y * y + z * z < left * left)
    return moved


@kernel
def _watch(w: WorkView, poses: Records) -> int:
    """List the pairs that can be near before a solid has moved by SKIN; returns how many."""
    broad = w.broad
    n = integer(0)
    for i in range(broad.own.shape[0]):
        one = broad.own[i]
        a, b = point(broad.centers[one.solid_a]), point(broad.centers[one.solid_b])
        d = (a[0] - b[0], a[1] - b[1], a[2] - b[2])
        # (far + 2 SKIN)^2 is no more, without a root: (x + y)^2 <= 5/4 x^2 + 5 y^2
        if dot(d, d) <= 1.25 * one.far_squared + 20.0 * SKIN * SKIN:
            broad.found[n] = one.pair
            n += 1
    if w.header[0].nblocks > 0:
        n = _sweep(w, n)
        _sort(broad.found, n)
    for i in range(n):
        p = broad.found[i]
        one, pair = w.watch.pairs[i], w.pairs[p]
        one.pair, one.solid_a, one.solid_b = p, pair.solid_a, pair.solid_b
        one.far_squared = pair.far_squared
    w.watch.count[0] = n
    copy_poses(w, poses, w.watch.pose)
    for k in range(w.solids.shape[0]):
        for i in range(3):
            w.watch.centers[k, i] = broad.centers[k, i]
    return int(n)


@inlined
def assign_blocks(
    w: ModelView,
    broad: BroadView,
    pairs: Records,
    owners: Ints,
    near: Records,
    count: int,
    free: bool,
) -> tuple[int, int]:
    """Fill in where the slots of `count` near pairs are; first take blocks from others, if `free`.

    Returns the number of pairs that have slots now, and of those that found no block.
    """
    h = w.header[0]
    pool = h.ns - h.nblocks * h.block_slots  # number of its first slot
    # Which pair has which block
    for k in range(h.nblocks):
        if owners[k] >= 0 and owners[k] < h.np:
            broad.block[owners[k]] = k
    # Pairs that are no longer near give their blocks back, unless these must stay
    if free:
        for i in range(count):
            if pairs[near[i].pair].first < 0:
                k = _block(broad, owners, near[i].pair)
                if k >= 0:
                    broad.kept[k] = 1
        for k in range(h.nblocks):
            if broad.kept[k] == 0:
                owners[k] = -1
    # Pairs without a block take a vacant one, or are counted as missing one
    served, missing, vacant = 0, 0, integer(0)
    for i in range(count):
        p = near[i].pair
        first = pairs[p].first
        if first < 0:
            k = _block(broad, owners, p)
            if k < 0:
                while vacant < h.nblocks and owners[vacant] >= 0:
                    vacant += 1
                if vacant == h.nblocks:
                    missing += 1
                    continue
                k = vacant
                owners[k] = p
                broad.block[p] = k
            first = pool + k * h.block_slots
        entry = near[served]
        entry.pair, entry.first, entry.slots = p, first, pairs[p].slots
        served += 1
    return served, missing


@inlined
def _block(broad: BroadView, owners: Ints, p: int) -> int:
    """The block of a pair, or -1.  What `block` says of pairs that have none is rubbish."""
    k = broad.block[p]
    return k if k >= 0 and k < owners.shape[0] and owners[k] == p else -1


@inlined
def entry_of(near: Records, first: int, count: int, entries: Ints, p: int) -> int:
    """The number of pair p in the list `near[first : first + count]`, or -1."""
    k = entries[p]
    return k if k >= 0 and k < count and near[first + k].pair == p else -1


@inlined
def _sweep(w: WorkView, n: int) -> int:
    """Pairs of the pool that can be near before a solid has moved by SKIN, into `broad.found` from
    n on; returns where they end."""
    broad, pairs, solids = w.broad, w.pairs, w.solids
    boxes, order = broad.boxes, broad.order
    count = 0
    for k in range(solids.shape[0]):
        if solids[k].kind not in (HEIGHT_FIELD, BLOCK_FIELD, HALF_SPACE):
            order[count] = k
            count += 1
    axis = _widest(boxes, order, count)
    _sort_left(boxes, axis, order, count)
    for i in range(count):
        one = order[i]
        right = boxes[one, 2 * axis + 1] + 2.0 * SKIN
        k = i + 1
        while k < count and boxes[order[k], 2 * axis] <= right:
            other = order[k]
            k += 1
            if _overlap(boxes, one, other, 2.0 * SKIN):
                p = _pair_of(pairs, solids, min(one, other), max(one, other))
                if p >= 0 and pairs[p].first < 0:
                    broad.found[n] = p
                    n += 1
    return n


@inlined
def _enclose(broad: BroadView, room: float, solids: Records, shapes: Records) -> None:
    """Boxes around all solids but fields, larger by `room` [m] on each side."""
    for k in range(solids.shape[0]):
        solid, shape = solids[k], shapes[k]
        if solid.kind in (HEIGHT_FIELD, BLOCK_FIELD, HALF_SPACE):
            continue
        size, R, c = solid.extent, shape.R, shape.center
        for a in range(3):
            half = size[0]
            if solid.kind == CAPSULE:
                half += size[1] * abs(R[a, 2])
            elif solid.kind >= CYLINDER:
                half = solid.radius
            elif solid.kind == BOX:
                half = size[0] * abs(R[a, 0]) + size[1] * abs(R[a, 1]) + size[2] * abs(R[a, 2])
            broad.boxes[k, 2 * a] = c[a] - half - room
            broad.boxes[k, 2 * a + 1] = c[a] + half + room


@inlined
def _widest(boxes: Floats, order: Ints, count: int) -> int:
    """The axis along which the boxes' left sides vary most."""
    best, widest = 0, -1.0
    for a in range(3):
        mean, square = 0.0, 0.0
        for i in range(count):
            mean += boxes[order[i], 2 * a]
        mean /= max(count, 1)
        for i in range(count):
            square += (boxes[order[i], 2 * a] - mean) ** 2
        if square > widest:
            best, widest = a, square
    return best


@inlined
def _overlap(boxes: Floats, i: int, j: int, room: float) -> bool:
    """Whether two boxes overlap along all axes, or are no more than `room` [m] apart."""
    disjoint = False
    for a in range(3):
        disjoint = disjoint or boxes[i, 2 * a] > boxes[j, 2 * a + 1] + room
        disjoint = disjoint or boxes[j, 2 * a] > boxes[i, 2 * a + 1] + room
    return not disjoint


@inlined
def _pair_of(pairs: Records, solids: Records, low: int, high: int) -> int:
    """The pair of two solids, by bisection, or -1."""
    first = solids[low].pairs_at
    last = first + solids[low].pairs
    end = last
    while first < last:
        middle = (first + last) // 2
        if max(pairs[middle].solid_a, pairs[middle].solid_b) < high:
            first = middle + 1
        else:
            last = middle
    if first == end or max(pairs[first].solid_a, pairs[first].solid_b) != high:
        return -1
    return int(first)


@inlined
def _sort_left(boxes: Floats, axis: int, order: Ints, count: int) -> None:
    """Sort numbers of boxes by their left sides (Shell 1959)."""
    gap = integer(1)
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            own = order[i]
            key = boxes[own, 2 * axis]
            k = i
            while k >= gap and boxes[order[k - gap], 2 * axis] > key:
                order[k] = order[k - gap]
                k -= gap
            order[k] = own
        gap //= 3


@inlined
def _sort(numbers: Ints, count: int) -> None:
    """Sort `count` numbers (Shell 1959)."""
    gap = integer(1)
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            own = numbers[i]
            k = i
            while k >= gap and numbers[k - gap] > own:
                numbers[k] = numbers[k - gap]
                k -= gap
            numbers[k] = own
        gap //= 3


@inlined
def is_near(pair: Any, a: Any, b: Any) -> bool:
    """Whether A's bounding sphere is near B: near a box, near the highest level of a field, near
    the bounding sphere of others, and capsules not side by side."""
    p, q = a.center, b.center
    d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    square = dot(d, d)
    if square > pair.far_squared:  # most pairs end here
        return False
    if pair.kind_b == CAPSULE:
        return not (pair.kind_a == CAPSULE and _side_by_side(pair, d, square, a.R, b.R))
    if pair.kind_b == SPHERE or pair.kind_b == CONVEX or pair.kind_b >= CYLINDER:
        return True
    x, y, z = back(b.R, d)
    if pair.kind_b != BOX:
        return bool(z - pair.top < pair.reach)
    half = pair.size_b
    x -= clamp(x, half[0])
    y -= clamp(y, half[1])
    z -= clamp(z, half[2])
    return bool(x * x + y * y + z * z < pair.reach * pair.reach)


@inlined
def _side_by_side(pair: Any, d: Point, square: float, A: Floats, B: Floats) -> bool:
    """Whether a plane across the line d between their centres parts two capsules widely."""
    half_a, half_b = pair.size_a[1], pair.size_b[1]
    parted = square - half_a * abs(dot(d, column(A, 2))) - half_b * abs(dot(d, column(B, 2)))
    return bool(parted > (pair.reach - half_a - half_b) * math.sqrt(square))
