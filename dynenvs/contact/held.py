"""Contacts that corrections of positions leave out: those that nothing parts.

Parts that overlap however their joints turn (limbs of a file whose shapes are too large) stay as
they are, and the others are corrected: a contact is left out for the rest of the step if only far
turns would part it, as its normal all but meets the joint's axis, or if a correction has gained
next to nothing of its `correction`.  Joints beyond their stops come first: what their way back
buries is left out, and parted once they are there.  Each is left alone for JAMMED steps before the
next try, unless it sinks in deeper, or the step is made again in shorter parts, in which it may be
parted.
"""

from __future__ import annotations

from dynenvs.contact.gaps import gap_at_end, gap_before
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Records, WorkView, WorldView
from dynenvs.memory.records import HELD, JAMMED

LARGE = 1e-4  # error from which a correction could carry other features into the ground [m]
SHALLOW = 1e-5  # depth up to which nothing is left alone in the next steps [m]
SINKING = 1.005  # times its depth at the start, from which one is tried again all the same
LEAST = 1e-9  # error below which nothing is left out [m]
PUSH_OUT = 0.01  # most that one step lifts out of deep penetration [m]
HOLDS = 2  # corrections that were in vain, after which only what is nearly corrected goes on
# Shares of what a correction was to gain: less does not part anything, more has nearly done so
GAIN, MOST = 0.1, 0.9


@inlined
def begin_corrections(w: WorldView, count: int) -> None:
    """Leave alone, in this step too, overlaps that nothing parted a while ago."""
    for i in range(count):
        contact = w.contacts[i]
        memory = w.memory[contact.candidate]
        contact.correction = 0.0
        if memory.jammed > 0:
            before = gap_before(w.spots, contact)
            _, after = gap_at_end(w, contact)
            if before < -SHALLOW and after >= SINKING * before:
                contact.correction = HELD
            else:
                memory.jammed = 0


@inlined
def end_corrections(w: WorldView, count: int, placed: bool) -> None:
    """Have what has been HELD left alone for JAMMED steps from now on.

    placed: whether the step is to end there
    """
    for i in range(count if placed else 0):
        if w.contacts[i].correction == HELD:
            memory = w.memory[w.contacts[i].candidate]
            memory.jammed = memory.jammed - 1 if memory.jammed > 0 else JAMMED


@inlined
def overlap_held(w: WorldView, count: int) -> bool:
    """Whether an overlap that the step began with is left alone."""
    held = False
    for i in range(count):
        contact = w.contacts[i]
        if contact.correction == HELD and gap_before(w.spots, contact) < -SHALLOW:
            held = True
    return held


@inlined
def let_go(w: WorldView, count: int) -> None:
    """Have those that this step's corrections left out take part again."""
    for i in range(count):
        contact = w.contacts[i]
        if contact.correction == HELD and w.memory[contact.candidate].jammed == 0:
            contact.correction = 0.0


@inlined
def hold_unmoved(w: WorkView, count: int, share: float, attempt: int) -> bool:
    """Leave out contacts that a correction has not parted; returns whether there are any.

    share: of their errors, that was to be corrected
    From attempt HOLDS on all go with them that are not nearly corrected: there must be time for the
    others.
    """
    found = _hold_below(w, count, share, GAIN)
    if found and attempt >= HOLDS:
        _hold_below(w, count, share, MOST)
    return found


@inlined
def hold_worse(w: WorkView, count: int, share: float, attempt: int) -> bool:
    """Leave out what may have carried others deeper; returns whether there is anything.

    What a correction has not nearly corrected; the deepest, if that is nothing.  Later corrections
    go on from the first one: where a small one fails, the caller takes all of them back.
    """
    least = LARGE if attempt > 0 else LEAST
    return _hold_below(w, count, share, MOST) or _hold_deepest(w.contacts, count, least)


@inlined
def hold_for_stops(contacts: Records, count: int) -> bool:
    """Leave out contacts in favour of joints beyond their stops; returns whether there are any.

    The deep ones first, then all.
    """
    return _hold_above(contacts, count, LARGE) or _hold_above(contacts, count, HELD)


@inlined
def _hold_above(contacts: Records, count: int, least: float) -> bool:
    """Leave out contacts whose correction is larger than that; returns whether there are any."""
    found = False
    for i in range(count):
        if contacts[i].correction > least:
            contacts[i].correction = HELD
            found = True
    return found


@inlined
def _hold_below(w: WorkView, count: int, share: float, gain: float) -> bool:
    """Leave out deep contacts that gained less of `share` of their errors than that."""
    found = False
    for i in range(count):
        contact = w.contacts[i]
        if contact.correction > LARGE:
            _, gap = gap_at_end(w, contact)
            if gap - contact.before < gain * share * contact.correction:
                contact.correction = HELD
                found = True
    return found


@inlined
def _hold_deepest(contacts: Records, count: int, least: float) -> bool:
    """Leave out those that take the farthest corrections; returns whether there are any.

    least: correction from which one counts [m]
    """
    most = least
    for i in range(count):
        most = max(most, contacts[i].correction)
    return _hold_above(contacts, count, max(least, 0.5 * most))
