"""The working set: of many contacts between two bodies those that carry; the others are certified.

A hull on the ground, or a sole of several shapes, has more contacts than hold it up.  What they
share redundantly costs every solver dearly, and only a few of them carry in the end.  So a problem
begins with few of each group: those that carried in the last step, or else four that lie far apart.
After it is solved those left out must not sink; the deepest that does, of each group, is added, and
the problem solved again.  In the end what was left out has no impulse and does not sink: the answer
is one of the whole problem.

Source: an active-set method by constraint generation (Nocedal, Wright, Numerical Optimization,
2006, chapter 16).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.contact.assembly.rows import closing_speed, normal_velocity
from dynenvs.contact.solvers.modes import OPEN
from dynenvs.jit.compiled import inlined, unit
from dynenvs.jit.views import vector
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Records, WorldView

FEW = 4  # contacts of a group that are all in the problem


@inlined
def has_many(w: WorldView, count: int) -> bool:
    """Whether a group has more contacts than are all in the problem; groups stand together."""
    found = False
    for i in range(FEW, count):
        found = found or w.contacts[i].group == w.contacts[i - FEW].group
    return found


@unit(seconds=4)
def choose_contacts(w: WorldView, count: int, dt: float) -> int:
    """Bring the contacts that the problem begins with to the front; returns how many.

    dt: length of the step [s]
    """
    front, first = integer(0), integer(0)
    # A group is a run of contacts
    while first < count:
        last = first + 1
        while last < count and w.contacts[last].group == w.contacts[first].group:
            last += 1
        # Few: all of them
        if last - first <= FEW:
            for i in range(first, last):
                swap_contacts(w.contacts, i, front)
                front += 1
        else:
            front = _choose(w, first, last, front, dt)
        first = last
    return front


@inlined
def _choose(w: WorldView, first: int, last: int, front: int, dt: float) -> int:
    """Bring some of the contacts first, ..., last - 1 to `front` and after; returns the place next.

    Those that pressed in the last step; four that lie far apart if none did; and the one that free
    motion would carry deepest.
    """
    # The one that free motion carries deepest is always among them
    begin, group = front, w.contacts[first].group
    deepest, least = first, _end(w, w.contacts[first], w.v_free, dt)
    for i in range(first + 1, last):
        end = _end(w, w.contacts[i], w.v_free, dt)
        if end < least:
            deepest, least = i, end
    swap_contacts(w.contacts, deepest, front)
    # What stood at `front` is now at `deepest`: all others stand between first and last, maybe with
    # some that were left out of groups before
    front += 1
    # Then those that pressed in the last step
    low = max(first, front)
    for i in range(low, last):
        pressed = w.memory[w.contacts[i].candidate].mode != OPEN
        if pressed and w.contacts[i].group == group:
            swap_contacts(w.contacts, i, front)
            front += 1
    # None did: a group that is new spans its patch by contacts far apart
    if front == begin + 1:
        while front < begin + FEW:
            swap_contacts(w.contacts, _farthest(w.contacts, begin, front, low, last), front)
            front += 1
            low = max(low, front)
    return front


@inlined
def _end(w: WorldView, contact: Any, v: Any, dt: float) -> float:
    """Velocity that the step's velocities v leave a contact with, its gap closed [m/s]."""
    speed = normal_velocity(w, contact, v)
    return float(speed + closing_speed(contact.target, dt))


@inlined
def _farthest(contacts: Records, begin: int, front: int, low: int, last: int) -> int:
    """The contact among low, ..., last - 1 that is farthest from all of begin, ..., front - 1.

    Of their group, which is that of `begin`.
    """
    best, most = low, -1.0
    for i in range(low, last):
        if contacts[i].group != contacts[begin].group:
            continue
        nearest = -1.0
        # Distance from the nearest one that is chosen already
        for k in range(begin, front):
            x = contacts[i].point[0] - contacts[k].point[0]
            y = contacts[i].point[1] - contacts[k].point[1]
            z = contacts[i].point[2] - contacts[k].point[2]
            square = x * x + y * y + z * z
            if nearest < 0.0 or square < nearest:
                nearest = square
        if nearest > most:
            best, most = i, nearest
    return best


@inlined
def swap_contacts(contacts: Records, first: int, second: int) -> None:
    """Exchange two contacts, word by word."""
    size = contacts.itemsize
    one = vector(contacts, first * size, size // 8, np.int64)
    other = vector(contacts, second * size, size // 8, np.int64)
    for k in range(size // 8):
        one[k], other[k] = other[k], one[k]


@unit(seconds=3)
def add_sinking(w: WorldView, chosen: int, count: int, floor: float, dt: float) -> int:
    """Bring those left out that sink by `w.v_new`, the deepest of each group, to the front.

    floor: least velocity scale of the certificate [m/s]
    Returns how many the problem has then.
    """
    # What sinks within the certificate's tolerance is let be
    allowed = -CERTIFIED_RESIDUAL * floor
    any_sinks = False
    for i in range(chosen, count):
        contact = w.contacts[i]
        contact.slip = _end(w, contact, w.v_new, dt)  # scratch, until it is solved
        any_sinks = any_sinks or contact.slip < allowed
    if not any_sinks:
        return chosen
    # Of each group the deepest, ties by their order: the same set on every machine
    begin = chosen
    for i in range(begin, count):
        worst = True
        for k in range(begin, count):
            other, own = w.contacts[k], w.contacts[i]
            deeper = other.slip < own.slip or (other.slip == own.slip and k < i)
            worst = worst and not (other.group == own.group and deeper)
        if worst and w.contacts[i].slip < allowed:
            swap_contacts(w.contacts, i, chosen)
            chosen += 1
    return chosen
