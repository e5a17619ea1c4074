"""Impulses of contacts on bodies that spin: they act half-way through the free turn of a step.

The velocity without contacts has all of the free turn in it (`dynamics.spinning`), and impulses are
added to it: as if each acted at the end, in axes that have turned on.  So the free velocity is
worked out again with what they give.  What the last step's impulses of the same contacts would give
comes before the first solution: that is enough for what is pushed steadily, as a top on the floor
is.  The answer tells how far that was right, and is solved again where it was not.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.rows import normal_velocity
from dynenvs.dynamics.spinning import middle, push_halfway, pushed_by, turns_at
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.triples import (
    add,
    cross,
    entries,
    put_entries,
    scaled,
    size,
    subtract,
)
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import FIXED

SLOW = 5e-3  # turn in a step, below which impulses may come after it [rad]
# What an impulse is turned by may be wrong by so much: a share of the impulse, and of the velocity
PRECISE, LITTLE = 0.05, 1e-3


@unit("spins", seconds=3)
def expect_impulses(w: WorldView, count: int, dt: float) -> None:
    """Correct `w.v_free` by the impulses that the contacts had in the last step."""
    # Their moments about what stays of each body
    moments = w.v_next
    for j in range(w.header[0].nv):
        moments[j] = 0.0
    for k in range(count):
        contact = w.contacts[k]
        impulse = entries(w.memory[contact.candidate].impulse, 0)
        if size(impulse) == 0.0 or not _closes(w, contact, dt):
            continue
        for side in range(2):
            i = _carrier(w, contact.body_b if side else contact.body_a)
            if _turns(w, i, dt):
                at = turns_at(w.bodies[i])
                moment = cross(subtract(entries(contact.point, 0), middle(w, i)), impulse)
                moment = scaled(-1.0 if side else 1.0, moment)
                put_entries(moments, at, add(entries(moments, at), moment))
    # And what these give
    for i in range(1, w.header[0].nb):
        if _turns(w, i, dt):
            moment = entries(moments, turns_at(w.bodies[i]))
            if size(moment) > 0.0:
                push_halfway(w, i, pushed_by(w, i, moment), dt)


@unit("spins", seconds=3)
def turn_impulses(w: WorldView, dt: float) -> int:
    """Correct `w.v_free` by the impulses of the last answer, `w.v_new` - `w.v_free`.

    Returns of how many bodies the free velocity was wrong by more than a little.
    """
    changed = 0
    for i in range(1, w.header[0].nb):
        if not _turns(w, i, dt):
            continue
        at, first = turns_at(w.bodies[i]), w.bodies[i].v_at
        free, last, slide = entries(w.expected, at), entries(w.v_free, at), entries(w.v_free, first)
        push = subtract(entries(w.v_new, at), last)
        if size(push) == 0.0:
            put_entries(w.v_free, first, entries(w.expected, first))
            put_entries(w.v_free, at, free)
        elif not push_halfway(w, i, push, dt):
            continue
        wrong = size(subtract(entries(w.v_free, at), last))
        if wrong > (PRECISE * size(push) + LITTLE * size(free) if size(push) > 0.0 else 0.0):
            changed += 1
        else:  # the answer is that of the free velocity which it was solved with
            put_entries(w.v_free, first, slide)
            put_entries(w.v_free, at, last)
    return changed


@inlined
def _closes(w: WorldView, contact: Any, dt: float) -> bool:
    """Whether the free motion would close a contact: what parts has no impulse any more."""
    speed = normal_velocity(w.bodies, w.dofs, w.pose, w.S, contact, w.expected)
    return bool(contact.gap + dt * speed < 0.0)


@inlined
def _carrier(w: WorldView, body: int) -> int:
    """The body that moves what may be fixed to it."""
    while body > 0 and w.bodies[body].joint == FIXED:
        body = w.bodies[body].parent
    return int(body)


@inlined
def _turns(w: WorldView, index: int, dt: float) -> bool:
    """Whether a body spins, freely and not slowly."""
    if index == 0 or not w.bodies[index].spins:
        return False
    at = turns_at(w.bodies[index])
    return bool(w.dofs[at].limited == 0 and dt * size(entries(w.expected, at)) > SLOW)
