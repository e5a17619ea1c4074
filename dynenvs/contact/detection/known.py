"""Slots that are known already: a step mostly begins in the poses in which the last one ended.

Where two solids touch follows from their poses alone.  So what the end of a step has found is kept
with its poses, and taken over at the start of the next one, bit for bit, if both bodies stand
there.  A step that nothing corrects then looks at its hulls once, not twice.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.detection.broad_phase import entry_of
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.poses import copy_poses
from dynenvs.memory.layout import WorkView
from dynenvs.memory.records import BLOCK_FIELD, HALF_SPACE, HEIGHT_FIELD


@inlined
def keep_end(w: WorkView) -> None:
    """Remember the poses for which the end's slots are about to be found."""
    copy_poses(w, w.pose_new, w.pose_seen)


@inlined
def take_over(w: WorkView, pair: Any, entry: Any, looks: bool) -> bool:
    """Fill a near pair's slots at the start with those of the last end, if it stands as then.

    Returns whether it did.

    entry: of the start's list
    looks: whether it has a `look` beyond which it has no slots, as hulls and smooth solids have
    """
    h = w.header[0]
    if pair.kind_b == HALF_SPACE or pair.kind_b == HEIGHT_FIELD or pair.kind_b == BLOCK_FIELD:
        return False  # fields are the world's own, and planes are quick
    k = entry_of(w.near, h.nnear, w.answer[0].near_after, w.broad.entry_after, entry.pair)
    stands = w.watch.stands
    if k < 0 or stands[w.solids[pair.solid_a].body] + stands[w.solids[pair.solid_b].body] < 2:
        return False
    last = w.near[h.nnear + k]
    if looks:
        if last.slots == 0 and last.asked < entry.look and not last.gap > entry.look:
            return False  # nobody has looked so far
        if last.slots == 0 or last.gap > entry.look:
            entry.look, entry.slots = 0.0, 0
    else:
        entry.slots = last.slots
    for j in range(entry.slots):
        w.spots[entry.first + j] = w.spots[h.ns + last.first + j]
    return True


@inlined
def note_standing(w: WorkView) -> None:
    """Write down which bodies stand at the start as they stood then."""
    for i in range(w.header[0].nb):
        now, then = w.pose[i], w.pose_seen[i]
        same = True
        for k in range(3):
            same = same and now.p[k] == then.p[k]
            for l in range(3):
                same = same and now.R[k, l] == then.R[k, l]
        w.watch.stands[i] = 1 if same else 0
