"""How soles roll: they meet the ground with the heel, lie down, and leave it over the toe.

A sole's pitch is a smooth function of the gait clock, in the air and on the ground: no moment of
touchdown or lift-off is remembered.  On the ground the sole turns about its edge, which stays.

Legs that stand are straighter then, so there is less to spare: soles roll where the robot walks
ahead and nothing has disturbed it for a while.  Otherwise they stay flat, and knees more bent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import hop, smooth_step
from dynenvs.agents.experts.humanoid.records import LEGS, Clock, Known, Leg, Memo, Roll, Stride
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import sin

RAMP = 0.25  # of the pitch's acceleration, as a part of its rise
LATEST = 0.3  # of the cycle: a sole at an earlier phase has just come down
LONGEST = 60.0  # that it counts how long nothing has disturbed it [s]
SLID = (0.1, 0.25)  # of how much soles have slid, from which on and to which that disturbs,
SLIPPERY = (0.25, 0.5)  # and that tells of slippery ground
NOISY = (0.2, 0.7)  # the same of the sensors' noise,
PUSHED = (0.06, 0.12)  # of how far a foothold is from the steady gait's [m],
SHAKEN = (0.1, 0.2)  # and of the surprise of the arms' velocities [rad/s]


@inlined
def choose_roll(g: Roll, clock: Clock, known: Known, stride: Stride, old: Memo, new: Memo) -> None:
    """How far soles are to roll at the next call; after `feel_slips` and `plan_step`."""
    if g.scan_x > 0:  # soles lie on the ground as it is
        new.firm = new.rolls = 0.0
        return
    slips = smooth_step((new.slips - SLID[0]) / (SLID[1] - SLID[0]))
    noisy = smooth_step((known.noise - NOISY[0]) / (NOISY[1] - NOISY[0]))
    shaken = smooth_step((known.surprise - SHAKEN[0]) / (SHAKEN[1] - SHAKEN[0]))
    pushed = smooth_step((stride.moved - PUSHED[0]) / (PUSHED[1] - PUSHED[0]))
    calm = (1.0 - pushed) * (1.0 - noisy) * (1.0 - shaken) * (1.0 - known.delay) * (1.0 - slips)
    firm = old.firm + g.period
    if firm > 0.0:
        firm *= calm
    slippery = smooth_step((new.slips - SLIPPERY[0]) / (SLIPPERY[1] - SLIPPERY[0]))
    new.firm = min(firm, LONGEST) - slippery * (g.patience + firm)
    wanted = smooth_step((new.firm - g.wait[0]) / (g.wait[1] - g.wait[0]))
    wanted *= smooth_step((clock.command[0] - g.ahead[0]) / (g.ahead[1] - g.ahead[0]))
    wanted *= 1.0 - smooth_step(abs(clock.command[1]) / g.aside)
    wanted *= 1.0 - smooth_step(abs(clock.command[2]) / g.around)
    change = wanted - old.rolls
    new.rolls = old.rolls + min(max(change, -g.period / g.change[1]), g.period / g.change[0])


@inlined
def plan_rolls(g: Roll, clock: Clock, legs: Sequence[Leg]) -> None:
    """Pitch of each sole, its rates, and how high they lift the sole's middle over its edge."""
    h = g.period
    step = h * clock.frequency
    for leg in range(LEGS):
        one = legs[leg]
        before, low = _pitch(g, clock, one, one.phase - step)
        now, lift = _pitch(g, clock, one, one.phase)
        after, high = _pitch(g, clock, one, one.phase + step)
        one.roll[0], one.roll[1] = now, 0.5 * (after - before) / h
        one.roll[2] = (after - 2.0 * now + before) / (h * h)
        one.lift[0], one.lift[1] = lift, 0.5 * (high - low) / h
        one.lift[2] = (high - 2.0 * lift + low) / (h * h)
        one.edge = 0.0
        if now != 0.0:
            one.edge = math.copysign(g.sole_size[0], now)


@inlined
def _pitch(g: Roll, clock: Clock, one: Leg, phase: float) -> tuple[float, float]:
    """Pitch of a sole at a phase, toe down [rad], and how high its edges lift its middle [m]."""
    speed = clock.command[0]
    at = phase + 1.0 if phase < LATEST else phase
    swing = (at - clock.duty) / (1.0 - clock.duty)  # part of it that is over
    toe = clock.rolls * speed * g.toe[1] * _hang(g.hang[1], swing)
    heel = smooth_step((swing - g.rise) / (1.0 - g.rise)) - smooth_step((at - 1.0) / g.lie)
    heel *= clock.rolls * speed * g.strike
    lift = g.sole_size[0] * (abs(sin(toe)) + abs(sin(heel)))
    if one.stands == 0:  # in a flat walk the toe hangs in the air alone
        toe += (1.0 - clock.rolls) * speed * g.toe[0] * _hang(g.hang[0], swing)
    return toe - heel, lift


@inlined
def _hang(span: Floats, swing: float) -> float:
    """How far a toe hangs down, from 0 to 1, between two parts of the swing."""
    return hop((swing - span[0]) / (span[1] - span[0]), RAMP)
