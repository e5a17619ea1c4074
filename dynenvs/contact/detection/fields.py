"""The slots of pairs over a field of heights or blocks; a unit, compiled when a model has such."""

from __future__ import annotations

from dynenvs.contact.detection.geometry.block_field import sphere_blocks
from dynenvs.contact.detection.geometry.box_blocks import box_blocks
from dynenvs.contact.detection.geometry.capsule_blocks import capsule_blocks
from dynenvs.contact.detection.geometry.height_field import solid_field
from dynenvs.jit.compiled import unit
from dynenvs.memory.layout import WorkView
from dynenvs.memory.records import BOX, CAPSULE, HEIGHT_FIELD

FOUND = 0


@unit("fields", seconds=5)
def find_field_spots(w: WorkView, at: int, first: int) -> int:
    """Fill the slots of the near pair w.near[at], whose second solid is a field.  Returns FOUND."""
    pair = w.pairs[w.near[at].pair]
    a, b = w.shapes[pair.solid_a], w.shapes[pair.solid_b]
    if pair.kind_b == HEIGHT_FIELD:
        solid_field(pair, a, b, w.heights, w.spots, first)
    elif pair.kind_a == BOX:
        box_blocks(pair, a, b, w.heights, w.spots, first)
    elif pair.kind_a == CAPSULE:
        capsule_blocks(pair, a, b, w.heights, w.spots, first)
    else:
        sphere_blocks(pair, a, b, w.heights, w.spots, first)
    return FOUND
