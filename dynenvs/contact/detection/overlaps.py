"""How deep things are in each other, measured without what the step has seen.

Every pair is measured, near or not, by the distance of its solids (`geometry/overlap.py`): a
contact that was not found does not hide here.  Above a block field, each block is a box.  Above a
height field, whose surface is no convex solid, the slots' own gaps have to do.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.detection.detect import feature_near, measure_own_gaps
from dynenvs.contact.detection.geometry.block_field import block_at, block_height
from dynenvs.contact.detection.geometry.box_blocks import stand
from dynenvs.contact.detection.geometry.overlap import overlap
from dynenvs.contact.detection.geometry.smooth_solids import above
from dynenvs.contact.detection.geometry.spot import into, point
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.memory.records import BLOCK_FIELD, FAR, HALF_SPACE, HEIGHT_FIELD


@entry(seconds=10)
def measure_overlaps(w: WorldView, depths: Floats) -> None:
    """Depths at the state of a world [m], of what is apart less than zero, -FAR if far apart.

    Args:
        packed, row, buffer: the model, the world's state, and its workspace.
        depths: of point features and then of pairs, shape (npoints + np,).
    """
    h = w.header[0]
    update_poses(w, w.q, w.pose)
    measure_own_gaps(w)  # places the shapes, too
    for f in range(h.npoints):
        alone = w.coefficients[f].excluded == 0
        depths[f] = -feature_near(w.features[f], w.pose) if alone else -FAR
    pairs, heights = w.pairs, w.heights
    shapes = w.shapes
    hulls = w.hulls
    for k in range(h.np):
        pair = pairs[k]
        a, b = shapes[pair.solid_a], shapes[pair.solid_b]
        depth = -FAR
        if w.coefficients[h.npoints + k].excluded == 0:
            for i in range(3):
                a.half[i], b.half[i] = pair.size_a[i], pair.size_b[i]
            if pair.kind_b == HEIGHT_FIELD:
                depth = -_least_gap(w, k)
            elif pair.kind_b == HALF_SPACE:
                depth = -above(pair, a, b)
            elif pair.kind_b == BLOCK_FIELD:
                depth = _in_blocks(pair, a, b, heights, hulls)
            elif _are_close(pair, a, b):
                depth, _ = overlap(pair, a, b, hulls)
        depths[h.npoints + k] = depth


@inlined
def _are_close(pair: Any, a: Any, b: Any) -> bool:
    """Whether the centres are so close that the solids may be near each other."""
    p, q = a.center, b.center
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return bool(x * x + y * y + z * z <= pair.far_squared)


@inlined
def _least_gap(w: WorkView, k: int) -> float:
    """The least gap of a pair's slots [m], or FAR."""
    least = FAR
    for i in range(w.answer[0].near):
        entry = w.near[i]
        if entry.pair == k:
            for slot in range(entry.first, entry.first + entry.slots):
                least = min(least, w.spots[slot].gap)
    return least


@inlined
def _in_blocks(pair: Any, a: Any, b: Any, heights: Floats, hulls: Floats) -> float:
    """How deep A is in the block of a field that it is deepest in [m]."""
    x, y, z = into(b, point(a.center))
    reach = _radius(pair)
    left, front = block_at(pair, x - reach, y - reach)
    right, rear = block_at(pair, x + reach, y + reach)
    c0, c1, c2 = b.center[0], b.center[1], b.center[2]
    deepest = -FAR
    for i in range(left, right + 1):
        for j in range(front, rear + 1):
            top = block_height(pair, heights, i, j)
            foot = min(top, z - reach) - 8.0 * reach
            stand(pair, b, (i, i, j, j), (i - 1, i + 1, j - 1, j + 1), top, foot, 0.0)
            depth, _ = overlap(pair, a, b, hulls)
            deepest = max(deepest, depth)
            b.center[0], b.center[1], b.center[2] = c0, c1, c2
    return deepest


@inlined
def _radius(pair: Any) -> float:
    """Of a ball around A's centre that holds it [m]."""
    return float(pair.size_a[0] + pair.size_a[1] + pair.size_a[2])
