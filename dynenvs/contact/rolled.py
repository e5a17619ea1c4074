"""Contacts on rims that roll on within a step: taken where the rim touches at its end.

A disk that leans goes round on its rim faster than it turns; where it touches at the end of a step
is another of its points, as deep in the ground as the rim between them bulges.  The contact moves
on to that point, with the gap that it had at the start, and the problem is solved again.
"""

from __future__ import annotations

from dynenvs.contact.detection.detect import has_sunk, set_drift
from dynenvs.contact.detection.manifold import pull_back
from dynenvs.jit.compiled import inlined, unit
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import NEAREST

BULGE = 1e-9  # depth from which a contact moves on [m]
DEEP = 1e-4  # depth at the start from which it is an overlap, which no round of solving parts [m]


@inlined
def roll_on(w: WorldView, count: int) -> int:
    """Move contacts on to where they touch at the end of the step; returns how many moved."""
    if w.header[0].nsmooth == 0:
        return 0
    return int(move_rims(w, count))


@unit("smooth", seconds=2)
def move_rims(w: WorldView, count: int) -> int:
    """`roll_on` in models with smooth solids."""
    h = w.header[0]
    moved = 0
    for i in range(count):
        contact = w.contacts[i]
        # Features of spheres and corners need not move on: their lowest point is known
        if contact.slot < 0:
            continue
        spot = w.spots[h.ns + contact.slot]
        if contact.gap < -DEEP:
            continue
        # Only the nearest points of smooth surfaces, and only those that dig in
        if spot.edges > NEAREST or not has_sunk(w, contact, BULGE):
            continue
        # The gap that it had at the start of the step, now at the place of the end
        a, b, deepest = contact.body_a, contact.body_b, contact.gap - contact.target
        gap = pull_back(w, spot, a, b, contact)
        contact.gap, contact.target = gap, gap - min(deepest, gap)
        w.gaps[h.npoints + contact.slot] = gap
        set_drift(w, w.pose, contact)
        moved += 1
    return moved
