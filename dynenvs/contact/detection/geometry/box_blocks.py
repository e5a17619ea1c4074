"""Boxes against a block field: upright blocks side by side with flat tops.

Blocks that are level with each other, or stand behind a lower one, form larger boxes: each block in
reach is widened to the sides as far as its neighbours are at least as high, so that no joint within
a tread shows and a tread goes on below the next riser.  Every such box is solid, together they are
all of the heap, and each meets the box as in `box_box.py`.  Where two of them overlap (in the inner
corner of a pit), a side of one may lie within the other: what touches there is no surface, and its
slots are discarded.

Slots: those of `box_box.py` for each of the K x K blocks in reach, by their numbers modulo K.  The
first of the blocks that share a box holds its slots: on level ground always the same.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.block_field import block_at, block_height
from dynenvs.contact.detection.geometry.box_box import SLOTS, box_box, part_by_face
from dynenvs.contact.detection.geometry.segment import clamp
from dynenvs.contact.detection.geometry.spot import Point, along, back, into, point
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import FAR, SEEN

STEEP = 0.1  # cosine with a side's normal from which a contact claims that side
BESIDE = 1e-6  # [m]: which block lies beyond a side is looked up so far from it

Blocks = tuple[int, int, int, int]  # first and last number along x, then along y


@inlined
def number_of(key: int, first: int, count: int) -> int:
    """The number among first, ..., first + count - 1 that is `key` modulo count."""
    return first + (key - first) % count


@kernel
def widened(pair: Any, heights: Floats, i: int, j: int, window: Blocks) -> Blocks:
    """The largest box around block (i, j), along x first, that is solid up to its height."""
    h = block_height(pair, heights, i, j)
    left, right, front, back_ = i, i, j, j
    while left > window[0] and block_height(pair, heights, left - 1, j) >= h:
        left -= 1
    while right < window[1] and block_height(pair, heights, right + 1, j) >= h:
        right += 1
    while front > window[2] and _solid(pair, heights, left, right, front - 1, h):
        front -= 1
    while back_ < window[3] and _solid(pair, heights, left, right, back_ + 1, h):
        back_ += 1
    return left, right, front, back_


@inlined
def _solid(pair: Any, heights: Floats, left: int, right: int, j: int, h: float) -> bool:
    """Whether the row j of blocks is at least h high from `left` to `right`."""
    solid = True
    for i in range(left, right + 1):
        solid = solid and block_height(pair, heights, i, j) >= h
    return solid


@kernel
def is_covered(
    pair: Any, heights: Floats, met: int, i: int, j: int, window: Blocks, count: int
) -> bool:
    """Whether a block of the same height has (i, j) in its box, out of those that are met.

    met: a bit for each key.  A block that is covered itself has no box of its own, so that it
    covers none.
    """
    h = block_height(pair, heights, i, j)
    for other in range(count * count):
        if not (met >> other) & 1:
            continue
        k = number_of(other // count, window[0], count)
        l = number_of(other % count, window[2], count)
        if block_height(pair, heights, k, l) == h:
            left, right, front, back_ = widened(pair, heights, k, l, window)
            if left <= i and i <= right and front <= j and j <= back_:
                return True
    return False


@kernel
def box_blocks(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    """All slots, see above; they come discarded."""
    count = pair.parts[0]
    x, y, z = into(b, point(a.center))
    i = math.floor(x / pair.dx + 0.5 * (pair.nx - count) + 0.5)
    j = math.floor(y / pair.dy + 0.5 * (pair.ny - count) + 0.5)
    window = (i, i + count - 1, j, j + count - 1)
    half = a.half
    size = math.sqrt(half[0] * half[0] + half[1] * half[1] + half[2] * half[2])
    c0, c1, c2 = b.center[0], b.center[1], b.center[2]
    met = 0
    for key in range(count * count):
        k, l = number_of(key // count, i, count), number_of(key % count, j, count)
        if not is_covered(pair, heights, met, k, l, window, count):
            met |= 1 << key
            slots = first + SLOTS * key
            blocks = widened(pair, heights, k, l, window)
            h = block_height(pair, heights, k, l)
            foot = min(h, z - size) - 8.0 * size
            middle = stand(pair, b, blocks, window, h, foot, 8.0 * size)
            gap, n = part_by_face(a, b)
            if gap <= SEEN:
                box_box(a, b, gap, n, spots, slots)
            drop_hidden(pair, b, heights, h, middle, spots, slots, SLOTS)
            b.center[0], b.center[1], b.center[2] = c0, c1, c2


@inlined
def stand(
    pair: Any, b: Any, blocks: Blocks, window: Blocks, top: float, foot: float, beyond: float
) -> Point:
    """Make b the box of these blocks from `foot` to `top`; out of sight it goes on by `beyond`.

    Returns its centre in the field's frame [m].
    """
    left, right, front, back_ = blocks
    x0 = pair.dx * (left - 0.5 * pair.nx) - (beyond if left == window[0] else 0.0)
    x1 = pair.dx * (right + 1 - 0.5 * pair.nx) + (beyond if right == window[1] else 0.0)
    y0 = pair.dy * (front - 0.5 * pair.ny) - (beyond if front == window[2] else 0.0)
    y1 = pair.dy * (back_ + 1 - 0.5 * pair.ny) + (beyond if back_ == window[3] else 0.0)
    b.half[0], b.half[1], b.half[2] = 0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.5 * (top - foot)
    x, y, z = 0.5 * (x0 + x1), 0.5 * (y0 + y1), 0.5 * (top + foot)
    for k in range(3):
        b.center[k] += b.R[k, 0] * x + b.R[k, 1] * y + b.R[k, 2] * z
    return x, y, z


@inlined
def drop_hidden(
    pair: Any, b: Any, heights: Floats, top: float, middle: Point, spots: Records, first: int,
    count: int,
) -> None:  # fmt: skip
    """Discard those of the slots by which a side would be met behind which a block is as high.

    b is the box of blocks, `middle` its centre in the field's frame.
    """
    for k in range(first, first + count):
        spot = spots[k]
        if spot.gap < FAR and _hidden(pair, b, heights, top, middle, spot):
            spot.gap = FAR
            spot.edges = 0


@inlined
def _hidden(pair: Any, b: Any, heights: Floats, top: float, middle: Point, spot: Any) -> bool:
    """Whether a side of b is met where a block stands behind it that is as high.

    What is deep in the inner corner of a pit is behind both sides there: it still meets the one
    that it is no further beyond than it is deep.
    """
    n = back(b.R, point(spot.normal))
    if abs(n[0]) < STEEP and abs(n[1]) < STEEP:
        return False
    x, y, _ = into(b, along(point(spot.center), -spot.gap, point(spot.normal)))
    reach = BESIDE + max(0.0, -spot.gap)
    wide, long = b.half[0] - BESIDE, b.half[1] - BESIDE
    by_x, by_y = abs(n[0]) >= STEEP, abs(n[1]) >= STEEP
    for k in range(3):
        aside = (k - 1) * reach
        if by_x:
            side = b.half[0] + BESIDE if n[0] > 0.0 else -b.half[0] - BESIDE
            i, j = block_at(pair, middle[0] + side, middle[1] + clamp(y + aside, long))
            by_x = block_height(pair, heights, i, j) >= top
        if by_y:
            side = b.half[1] + BESIDE if n[1] > 0.0 else -b.half[1] - BESIDE
            i, j = block_at(pair, middle[0] + clamp(x + aside, wide), middle[1] + side)
            by_y = block_height(pair, heights, i, j) >= top
    return by_x or by_y
