"""Contacts on rims that roll on within a step: how their ways bend, and what slips on the way.

A disk that leans goes round on its rim faster than it turns; where it touches at the end of a step
is another of its points.  So the end's gap is not the one to which the velocity at the start's
point leads, and what slips on the way is not that point alone.  Impulses act at the start's point
all the same, and the problem is solved again with what the last answer has shown,

    gap + dt J_n v+ + bend >= 0,    bend = (gap at the end) - (gap + dt J_n v+),
    slip = J_t v+ + drift,          drift = (mean slip on the way) - J_t v+,

until neither changes.  The first line is SHAKE (Ryckaert, Ciccotti, Berendsen 1977): the force of
a constraint acts along its gradient at the start, and the constraint is met at the end.  The second
asks for rolling in the middle of the step.  So what rolls keeps its energy; a contact that moves on
to the end's point loses some with each turn of its direction, a coin that goes round on a table a
third in half a second of steps of 1 ms.  A disk that lies nearly flat goes round by radians in a
step: where bends do not settle, contacts move on to the end's point.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.rows import contact_velocity
from dynenvs.contact.detection.detect import has_sunk, set_drift
from dynenvs.contact.detection.manifold import pull_back
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import Three, add, dot, entries, into_body, plus, scaled, subtract
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import FAR, NEAREST

BULGE = 1e-9  # depth at the end from which a contact rolls on, and change that counts [m]
BENDS = 5  # rounds after which those that dig in move on
DEEP = 1e-4  # depth at the start from which it is an overlap, which no round of solving parts [m]


@inlined
def roll_on(w: WorldView, count: int, dt: float, attempt: int) -> int:
    """Have contacts follow rims to the end of the step; returns how many are new by that."""
    if w.header[0].nsmooth == 0:
        return 0
    return int(follow_rims(w, count, dt, attempt))


@unit("smooth", seconds=2)
def follow_rims(w: WorldView, count: int, dt: float, attempt: int) -> int:
    """`roll_on` in models with smooth solids."""
    changed = 0
    for i in range(count):
        if not _follows(w, i):
            continue
        contact = w.contacts[i]
        # What lay flat when the step began touched at other places of the rim: none bends
        bends = attempt < BENDS and contact.edges <= NEAREST
        # All of a pair's contacts, or what slips at one of them is not what slips at the others
        if bends and _any_rolls(w, count, contact.source):
            changed += 1 if _bend(w, i, dt) > BULGE else 0
        elif not bends and has_sunk(w, contact, BULGE):
            _move_on(w, i)
            changed += 1
    return changed


@inlined
def _follows(w: WorldView, index: int) -> bool:
    """Whether a contact is one of a rim, still there at the end, and was no overlap before."""
    contact = w.contacts[index]
    # Features of spheres and corners need not follow: their lowest point is known
    if contact.slot < 0 or contact.gap < -DEEP:
        return False
    spot = w.spots[w.header[0].ns + contact.slot]
    return bool(spot.edges <= NEAREST and spot.gap < FAR)


@inlined
def _any_rolls(w: WorldView, count: int, pair: int) -> bool:
    """Whether a contact of a pair rolls on: digs in at the end, or did so before it was bent."""
    for i in range(count):
        contact = w.contacts[i]
        rolls = contact.bend != 0.0 or has_sunk(w, contact, BULGE)
        if contact.source == pair and rolls and _follows(w, i):
            return True
    return False


@inlined
def _bend(w: WorldView, index: int, dt: float) -> float:
    """Write down the bend and the drift that the answer shows; returns by how much they change."""
    contact = w.contacts[index]
    spot = w.spots[w.header[0].ns + contact.slot]
    velocity, before = contact_velocity(w, contact, w.v_new), (0.0, 0.0, 0.0)
    if contact.drifts:
        before = entries(contact.drift, 0)
    # The gap at the end
    bend = spot.gap - contact.gap - dt * dot(entries(contact.normal, 0), velocity)
    change = abs(bend - contact.bend)
    contact.target += bend - contact.bend
    contact.bend = bend
    # The slip on the way
    set_drift(w, w.pose, contact)
    if contact.tangents == 0:
        return change
    _add_drift(contact, subtract(scaled(1.0 / dt, _way(w, index)), velocity))
    turned = subtract(entries(contact.drift, 0), before)
    return max(change, dt * math.sqrt(dot(turned, turned)))


@inlined
def _move_on(w: WorldView, index: int) -> None:
    """Take a contact to the point that touches at the end, with the gap that it had before."""
    contact = w.contacts[index]
    spot = w.spots[w.header[0].ns + contact.slot]
    deepest = contact.gap - contact.target + contact.bend
    gap = pull_back(w, spot, contact.body_a, contact.body_b, contact)
    contact.gap, contact.target, contact.bend = gap, gap - min(deepest, gap), 0.0
    w.gaps[w.header[0].npoints + contact.slot] = gap
    set_drift(w, w.pose, contact)


@inlined
def _add_drift(contact: Any, velocity: Three) -> None:
    """Add a velocity, without its part along the normal, to the drift of a contact."""
    n, drift = entries(contact.normal, 0), contact.drift
    velocity = plus(velocity, -dot(n, velocity), n)
    for k in range(3):
        drift[k] = velocity[k] + (drift[k] if contact.drifts else 0.0)
    contact.drifts = 1


@inlined
def _way(w: WorldView, index: int) -> Three:
    """How far A's material slips over B's on the way [m]: the mean of what touches at its ends."""
    contact = w.contacts[index]
    spot = w.spots[w.header[0].ns + contact.slot]
    end = plus(entries(spot.center, 0), -spot.radius, entries(spot.normal, 0))
    way = (0.0, 0.0, 0.0)
    for side in range(2):
        body = contact.body_b if side else contact.body_a
        if body == 0:
            continue
        old, new, sign = w.pose[body], w.pose_new[body], -0.5 if side else 0.5
        # Points of the body that touch at the start and at the end, where they are and will be
        first = into_body(old.R, subtract(entries(contact.point, 0), entries(old.p, 0)))
        last = into_body(new.R, subtract(end, entries(new.p, 0)))
        both = add(first, last)
        moved = subtract(rotate(new.R, both), rotate(old.R, both))
        moved = plus(moved, 2.0, subtract(entries(new.p, 0), entries(old.p, 0)))
        way = plus(way, sign, moved)
    return way
