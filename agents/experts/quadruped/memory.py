"""What the trot remembers from call to call: an estimate of velocities, and of the motors' delay.

The accelerations that were asked for foretell the velocities of the next observation.  How far
these differ tells three things, from running sums alone:

- whether torques act at once or one control step late.  A period's change of velocity is h a of the
  last call or of the one before: the share d of the latter is a regression on their difference.
- how noisy velocities are seen.  With D the change that was not predicted, noise n of what is seen
  and w of what happens, var D = w^2 + 2 n^2, and from one period to the next cov D = -n^2.
- with these the gain of the Kalman filter for them.

Where torques are late, what is planned is planned for the state at which they will act.  An
upward direction is known better from the one before it, turned by the angular velocity, than from
what is seen.  All is zero at an episode's start, and stays so where nothing is handed on: then
velocities are as they are seen, and torques act at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.memory import Common
from dynenvs.agents.experts.quadruped.records import (
    GROUPS,
    JOINTS,
    LEGS,
    Clock,
    Dual,
    Leg,
    Memo,
    Seen,
)
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, StateView
from dynenvs.simd.elementary import cos, sin

FADE = 0.998  # what a call leaves of the sums
DOUBT = 6.0  # changes of velocity that are needed to believe in a delay [rad^2/s^2]
SURE = 0.3  # shares of a delay below this, or as near to one, are none, or one
FEW = 30.0  # changes of velocity that are needed to believe in noise
LEAST = 0.25  # gain for velocities
FASTEST = 40.0  # change of a velocity in a call that is remembered, at most [m/s, rad/s]
LEVEL = 0.15  # gain of the filter of the upward direction


@kernel
def level(g: Seen, old: Memo, o: Floats) -> None:
    """Filter the upward direction of the observation."""
    if old.valid == 0.0:
        return
    # The mean angular velocity of a period is nearer to that at its end: physics steps are implicit
    late = 1.0 - g.lookahead / g.period
    turning, up = g.at_angular_velocity, g.at_upward_direction
    x = g.period * (late * o[turning] + (1.0 - late) * old.velocity[3])
    y = g.period * (late * o[turning + 1] + (1.0 - late) * old.velocity[4])
    z = g.period * (late * o[turning + 2] + (1.0 - late) * old.velocity[5])
    a, b, c = old.up[0], old.up[1], old.up[2]
    # Turned by minus (x, y, z), to second order
    da, db, dc = b * z - c * y, c * x - a * z, a * y - b * x
    a, b, c = (
        a + da + 0.5 * (db * z - dc * y),
        b + db + 0.5 * (dc * x - da * z),
        c + dc + 0.5 * (da * y - db * x),
    )
    a, b, c = a + LEVEL * (o[up] - a), b + LEVEL * (o[up + 1] - b), c + LEVEL * (o[up + 2] - c)
    length = max(math.sqrt(a * a + b * b + c * c), 1e-9)  # zeros say nothing, and stay
    o[up], o[up + 1], o[up + 2] = a / length, b / length, c / length


@kernel
def recall(
    w: StateView, g: Seen, o: Floats, flags: Floats, clock: Clock, old: Memo, new: Memo
) -> None:
    """Blend the velocities in `w.v` with the predicted ones; `clock.delay`; new sums.

    flags: of the feet, shape (LEGS,).
    """
    h, up = g.period, g.at_upward_direction
    new.valid = 1.0
    for k in range(3):
        new.up[k] = o[up + k]
    for j in range(new.seen.shape[0]):
        new.seen[j] = w.v[j]
    clock.delay = 0.0
    if old.valid == 0.0:
        return
    clock.delay = smooth_step((old.late / (old.sure + DOUBT) - SURE) / (1.0 - 2.0 * SURE))
    new.late, new.sure = FADE * old.late, FADE * old.sure
    for i in range(GROUPS):
        new.square[i], new.product[i] = FADE * old.square[i], FADE * old.product[i]
        new.count[i] = FADE * old.count[i]
    turn = h * (o[up] * w.v[3] + o[up + 1] * w.v[4] + o[up + 2] * w.v[5])
    c, d = cos(turn), sin(turn)
    for j in range(new.seen.shape[0]):
        first, second = h * old.asked[0, j], h * old.asked[1, j]
        change = first + clock.delay * (second - first)
        seen, known = old.seen[j] + change, old.velocity[j] + change
        group = 0 if j < 3 else 1
        if j < 2:  # the heading has turned
            k = 1 - j
            other = h * (old.asked[0, k] + clock.delay * (old.asked[1, k] - old.asked[0, k]))
            side = d if j == 0 else -d
            seen = c * seen + side * (old.seen[k] + other)
            known = c * known + side * (old.velocity[k] + other)
        elif j >= ROOT:
            group = 2
            leg = (j - ROOT) // JOINTS
            if flags[leg] > 0.5 or old.swung[0, leg] * old.swung[1, leg] == 0.0:
                continue
            x = second - first
            new.late += x * (w.v[j] - old.seen[j] - first)
            new.sure += x * x
        error = min(max(w.v[j] - seen, -FASTEST), FASTEST)
        new.missed[j] = error
        new.square[group] += error * error
        new.product[group] += error * old.missed[j]
        new.count[group] += 1.0
        w.v[j] = known + _gain(old, group) * (w.v[j] - known)


@inlined
def _gain(old: Memo, group: int) -> float:
    """Gain of the Kalman filter in its steady state."""
    n = old.count[group]
    seen = max(-old.product[group], 0.0) / (n + FEW)
    happens = max(old.square[group] / max(n, 1.0) - 2.0 * seen, 0.0) + 1e-12
    known = 0.5 * (happens + math.sqrt(happens * (happens + 4.0 * seen)))
    return max(known / (known + seen), LEAST)


@inlined
def remember(w: StateView, new: Memo) -> None:
    """The estimate of the velocities."""
    for j in range(new.seen.shape[0]):
        new.velocity[j] = w.v[j]


@inlined
def remember_request(g: Common, d: Dual, legs: Sequence[Leg], old: Memo, new: Memo) -> None:
    """The accelerations that are asked for now; d: a record of DUAL."""
    most = FASTEST / g.period
    for j in range(new.seen.shape[0]):
        new.asked[1, j] = old.asked[0, j]
    for j in range(ROOT):
        new.asked[0, j] = min(max(d.u[j], -most), most)
    for leg in range(LEGS):
        new.swung[1, leg] = old.swung[0, leg]
        new.swung[0, leg] = 0.0 if legs[leg].stands else 1.0
        for k in range(JOINTS):
            asked = min(max(legs[leg].rates[k], -most), most)
            new.asked[0, ROOT + JOINTS * leg + k] = asked
