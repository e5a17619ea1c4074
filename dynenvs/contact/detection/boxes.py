"""The slots of pairs in which one is a box; a unit, compiled when a model has such."""

from __future__ import annotations

from dynenvs.contact.detection.geometry.box_box import box_box
from dynenvs.contact.detection.geometry.capsule_box import capsule_box, sphere_box
from dynenvs.contact.detection.geometry.spot import discard
from dynenvs.jit.compiled import unit
from dynenvs.memory.layout import WorkView
from dynenvs.memory.records import BOX, CAPSULE

FOUND = 0


@unit("boxes", seconds=4)
def find_box_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at], whose second solid is a box.  Returns FOUND.

    Bounding balls and boxes may be near where the two are not: such a pair has no slots.
    """
    entry, near = w.near[at], w.header[0].near
    pair = w.pairs[entry.pair]
    a, b = w.shapes[pair.solid_a], w.shapes[pair.solid_b]
    shows = True
    if pair.kind_a == BOX:
        shows = box_box(a, b, near, w.spots, first)
    elif pair.kind_a == CAPSULE:
        shows = capsule_box(pair, a, b, near, w.spots, first)
    else:
        discard(w.spots, first, entry.slots)
        sphere_box(pair, a, b, w.spots, first)
    if not shows:
        entry.slots = 0
    return FOUND
