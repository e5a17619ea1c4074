"""How experts pace their steps, and give the torques that they have found."""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, WorkView

WAIT, WAIT_FROM = 0.1, 0.05  # share by which a clock that is ahead runs slower; cycles of that


@inlined
def keep_pace(
    quicker: Floats, need: float, passed: float, ahead: float, faster: float
) -> tuple[float, float]:
    """Who is in need steps quicker; later the clock waits.  Its lead, and the share of its speed.

    quicker: needs from and to which steps are quicker, by what share
    passed: cycles since the last call, by this clock
    ahead, faster: of the last call: the clock's lead on the observed one [cycles], and its share
    """
    lead = ahead + passed * faster / (1.0 + faster)
    lead -= math.floor(lead + 0.5)
    rate = quicker[2] * smooth_step((need - quicker[0]) / (quicker[1] - quicker[0]))
    slower = WAIT * min(max(lead / WAIT_FROM, -1.0), 1.0)
    return lead, rate - slower if rate < WAIT else rate


@inlined
def put_actions(w: WorkView, root: int, out: Floats) -> None:
    """The torques in `w.tau` behind the root's over their limits, within [-1, 1]; shape (nu,)."""
    for j in range(out.shape[0]):
        a = w.tau[root + j] / w.dofs[root + j].effort
        out[j] = min(max(a, -1.0), 1.0)
