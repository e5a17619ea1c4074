"""The slots of pairs in which one is a box; a unit, compiled when a model has such."""

from __future__ import annotations

from dynenvs.contact.detection.geometry.box_box import box_box
from dynenvs.contact.detection.geometry.capsule_box import capsule_box, sphere_box
from dynenvs.jit.compiled import unit
from dynenvs.memory.layout import WorkView
from dynenvs.memory.records import BOX, CAPSULE

FOUND = 0


@unit("boxes", seconds=4)
def find_box_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at], whose second solid is a box.  Returns FOUND."""
    pair = w.pairs[w.near[at].pair]
    a, b = w.shapes[pair.solid_a], w.shapes[pair.solid_b]
    if pair.kind_a == BOX:
        box_box(a, b, w.spots, first)
    elif pair.kind_a == CAPSULE:
        capsule_box(pair, a, b, w.spots, first)
    else:
        sphere_box(pair, a, b, w.spots, first)
    return FOUND
