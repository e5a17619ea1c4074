"""Impulses of contacts on bodies that spin: they act half-way through the free turn of a step.

The velocity without contacts has all of the free turn in it (`dynamics.spinning`), and impulses are
added to it: as if each acted at the end, in axes that have turned on.  So the free velocity is
worked out again with what the answer gives, and the problem is solved again, until that settles: by
half of the turn in a step it comes nearer each time.

So it is for a body alone, or two that touch.  In larger islands impulses act at the end: what a few
thousandths of a radian are lost in there would not be seen, and a heap would be solved twice.
"""

from __future__ import annotations

from dynenvs.dynamics.spinning import push_halfway, turns_at
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.triples import entries, put_entries, size, subtract
from dynenvs.memory.layout import WorldView

SLOW = 1e-3  # turn in a step, below which impulses may come after it [rad]
PRECISE = 1e-4  # share of an impulse by which what it is turned by may be wrong
FEW = 2  # trees of an island in which impulses act half-way


@unit("spins", seconds=3)
def turn_impulses(w: WorldView, dt: float) -> int:
    """Correct `w.v_free` by the impulses of the last answer, `w.v_new` - `w.v_free`.

    Returns of how many bodies the free velocity was wrong by more than PRECISE of their impulses;
    that of the others stays the one that the answer has been found with.
    """
    changed = 0
    for i in range(1, w.header[0].nb):
        if not _turns(w, i, dt):
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


@inlined
def _turns(w: WorldView, index: int, dt: float) -> bool:
    """Whether a body spins, not slowly, and touches few others."""
    body = w.bodies[index]
    at = turns_at(body)
    if not body.spins or w.dofs[at].limited or not dt * size(entries(w.expected, at)) > SLOW:
        return False
    if w.answer[0].sparse == 0 or body.tree < 0:
        return True
    island = w.scene.trees[body.tree].island
    return bool(island >= 0 and w.scene.islands[island].trees <= FEW)
