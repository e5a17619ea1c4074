"""Gaps of contacts at the start and at the end of a step."""

from __future__ import annotations

from typing import Any

from dynenvs.contact.detection.broad_phase import entry_of
from dynenvs.contact.detection.detect import feature_gap
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, Records, WorkView
from dynenvs.memory.records import BESIDE, FAR, NEAREST

TURNED = 0.7  # cosine: a slot whose normal has turned more than this is another contact


@inlined
def deepest_contact(spots: Records, contacts: Records, count: int) -> float:
    """Gap [m] of the deepest contact at the start of the step, or 0."""
    deepest = 0.0
    for i in range(count):
        deepest = min(deepest, gap_before(spots, contacts[i]))
    return deepest


@inlined
def gap_before(spots: Records, contact: Any) -> float:
    """Gap of a contact at the start of the step [m].

    One that was pulled back from the end of the step has its gap along the normal there: far below
    zero where limbs have passed through each other.  So the slots' own gaps are taken.
    """
    k = contact.slot
    return float(contact.gap if k < 0 else spots[k].gap)


@inlined
def gap_at_end(w: WorkView, contact: Any) -> tuple[bool, float]:
    """Whether a contact's parts still touch that way at the end of the step, and their gap [m]."""
    if contact.slot < 0:
        return True, feature_gap(w.features[contact.source], w.pose_new)
    spot = w.spots[w.header[0].ns + slot_at_end(w, contact)]
    turned = _cosine(spot.normal, contact.normal) < TURNED
    # By the slot's geometry at the end: an edge must not have become another one, but what is
    # in the ground there is lifted, whichever edges meet
    alike = spot.edges == contact.edges or (spot.edges <= 0 and contact.edges <= 0)
    alike = alike or spot.gap < 0.0
    # Where another point of the pair touches now, a pull would bury that one
    elsewhere = BESIDE in (contact.edges, spot.edges) and spot.gap >= 0.0
    holds = spot.gap < FAR and not turned and alike and not elsewhere
    return bool(holds), float(spot.gap)


@inlined
def slot_at_end(w: WorkView, contact: Any) -> int:
    """The slot in which a contact stands at the end of the step.

    The nearest point of what rolls may stand in another one there: a line may have come to touch
    at its end.
    """
    h, k = w.header[0], contact.slot
    if contact.edges == NEAREST and w.spots[h.ns + k].edges != NEAREST:
        after = w.broad.entry_after
        at = entry_of(w.near, h.nnear, w.answer[0].near_after, after, contact.source - h.npoints)
        if at < 0:
            return int(k)
        entry = w.near[h.nnear + at]
        for other in range(entry.first, entry.first + entry.slots):
            spot = w.spots[h.ns + other]
            if spot.edges == NEAREST and spot.gap < w.spots[h.ns + k].gap:
                k = other
    return int(k)


@inlined
def _cosine(first: Floats, second: Floats) -> float:
    return first[0] * second[0] + first[1] * second[1] + first[2] * second[2]
