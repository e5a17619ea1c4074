"""Contacts of bodies that spin: impulses half-way through a step's free turn, and ways that bend.

The velocity without contacts has all of the free turn in it (`dynamics.spinning`), and impulses are
added to it: as if each acted at the end, in axes that have turned on.  So the free velocity is
worked out again with what the answer gives, and the problem is solved again, until that settles: by
half of the turn in a step it comes nearer each time.

So it is for a body alone, or two that touch, if it rolls, or turns fast on one point.  Elsewhere
impulses act at the end: a few thousandths of a radian would not be seen there, and a heap would be
solved twice.

A foot of a body that spins fast goes round its origin on the way, by R (exp(dt w) - 1) x in place
of dt w x R x.  The gap at the end has the difference, and so has the slip.
"""

from __future__ import annotations

import math

from dynenvs.dynamics.spinning import push_halfway, turns_at
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import (
    cross,
    dot,
    entries,
    plus,
    put_entries,
    scaled,
    size,
    subtract,
    turned_back,
)
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import BENT, FIXED, NEAREST

# Turn in a step from which impulses act half-way, on what rolls and on one point; from the second
# on, the way of a foot bends, too [rad]
SLOW, FAST = 1e-3, 0.02
PRECISE = 1e-4  # share of an impulse by which what it is turned by may be wrong
FEW = 2  # trees of an island in which impulses act half-way


@unit("spins", seconds=3)
def turn_impulses(w: WorldView, count: int, dt: float) -> int:
    """Correct `w.v_free` by the impulses of the last answer, `w.v_new` - `w.v_free`.

    Returns the number of bodies whose free velocity was wrong by more than PRECISE of what they
    were given; that of the others stays the one with which the answer was found.
    """
    changed = 0
    for i in range(1, w.header[0].nb):
        if not _turns(w, i, dt, SLOW) or not _turns(w, i, dt, _least_turn(w, i, count)):
            continue
        at, first = turns_at(w.bodies[i]), w.bodies[i].v_at
        last, slide = entries(w.v_free, at), entries(w.v_free, first)
        push = subtract(entries(w.v_new, at), last)
        if size(push) == 0.0 or not push_halfway(w, i, push, dt):
            continue
        if size(subtract(entries(w.v_free, at), last)) > PRECISE * size(push):
            changed += 1
        else:
            put_entries(w.v_free, first, slide)
            put_entries(w.v_free, at, last)
    return changed


@unit("spins", seconds=2)
def bend_ways(w: WorldView, count: int, dt: float) -> int:
    """Have a foot that alone of its body meets the ground know how it goes round within the step.

    Of several points the ways bend as no rigid motion does: their contacts would squeeze.  Returns
    how many ways bend; the contact problem is another one then.
    """
    bent = 0
    for k in range(count):
        contact = w.contacts[k]
        before = k > 0 and w.contacts[k - 1].body_a == contact.body_a
        if before or (k + 1 < count and w.contacts[k + 1].body_a == contact.body_a):
            continue
        i = contact.body_a
        while i > 0 and w.bodies[i].joint == FIXED:
            i = w.bodies[i].parent
        if i == 0 or contact.slot >= 0 or contact.body_b != 0 or not _turns(w, i, dt, FAST):
            continue
        pose, n = w.pose[i], entries(contact.normal, 0)
        turn = scaled(dt, rotate(pose.R, entries(w.expected, turns_at(w.bodies[i]))))
        arm = subtract(entries(contact.center, 0), entries(pose.p, 0))
        way = subtract(subtract(turned_back(arm, scaled(-1.0, turn)), arm), cross(turn, arm))
        # Along the normal to the end's gap, the rest to the mean slip
        bend = dot(n, way)
        contact.bend += bend
        contact.target += bend
        put_entries(contact.drift, 0, scaled(1.0 / dt, plus(way, -bend, n)))
        contact.drifts = BENT
        bent += 1
    return bent


@inlined
def _least_turn(w: WorldView, index: int, count: int) -> float:
    """From which turn on impulses on a body act half-way [rad]: by what bears it.

    On what rolls SLOW; on one point FAST; on more of them they never do.
    """
    points = 0
    for k in range(count):
        contact = w.contacts[k]
        ours = contact.body_a == index or contact.body_b == index
        if ours and contact.impulse[0] > 0.0 and contact.edges > NEAREST:
            points += 1
    return SLOW if points == 0 else (FAST if points == 1 else math.inf)


@inlined
def _turns(w: WorldView, index: int, dt: float, least: float) -> bool:
    """Whether a body turns by more than `least` in the step [rad], and touches few others."""
    body = w.bodies[index]
    at = turns_at(body)
    if not body.spins or w.dofs[at].limited or not dt * size(entries(w.expected, at)) > least:
        return False
    if w.answer[0].sparse == 0 or body.tree < 0:
        return True
    island = w.scene.trees[body.tree].island
    return bool(island >= 0 and w.scene.islands[island].trees <= FEW)
