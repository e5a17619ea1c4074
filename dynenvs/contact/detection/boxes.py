"""The slots of pairs in which one is a box; a unit, compiled when a model has such."""

from __future__ import annotations

from dynenvs.contact.detection.geometry.box_box import box_box, part_by_face
from dynenvs.contact.detection.geometry.capsule_box import (
    capsule_beside_box,
    capsule_box,
    sphere_box,
)
from dynenvs.contact.detection.geometry.spot import discard
from dynenvs.contact.detection.hulls import keep_parted
from dynenvs.jit.compiled import unit
from dynenvs.memory.layout import WorkView
from dynenvs.memory.records import BOX, SPHERE

FOUND = 0


@unit("boxes", seconds=4)
def find_box_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at], whose second solid is a box.  Returns FOUND.

    A box or capsule that a face parts from it by more than its `look` has no slots.
    """
    entry = w.near[at]
    pair = w.pairs[entry.pair]
    a, b = w.shapes[pair.solid_a], w.shapes[pair.solid_b]
    if pair.kind_a == SPHERE:
        discard(w.spots, first, entry.slots)
        sphere_box(pair, a, b, w.spots, first)
        return FOUND
    gap, n = part_by_face(a, b) if pair.kind_a == BOX else capsule_beside_box(pair, a, b)
    keep_parted(w, entry, gap, n)
    if entry.slots == 0:
        return FOUND
    discard(w.spots, first, entry.slots)
    if pair.kind_a == BOX:
        box_box(a, b, gap, n, w.spots, first)
    else:
        capsule_box(pair, a, b, w.spots, first)
    return FOUND
