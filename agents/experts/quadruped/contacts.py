"""Which feet stand, and how they share the weight: by the gait clock and their contact flags.

A foot stands when its flag says that it carries and the clock lets it: from EARLY before it is due
on, and until its time is over, or LATE after that while the other pair is not yet down.  Shares
rise and fall as straight lines of the clock where the pairs take over from each other, so that
forces pass smoothly.  A foot that is due and close to the ground, without having touched it, is
given a part of its share: it comes down at once, wherever in the last centimetre it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.quadruped.records import (
    LEGS,
    PAIRS,
    Clock,
    Gait,
    Leg,
    Load,
    Pairs,
    Stance,
)
from dynenvs.envs.legged.kernel import gait_frequency
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats

EARLY = 0.2  # of the cycle by which a foot may come down before it is due
NEAR = 0.01  # height at which a foot that is due and does not touch has no share yet [m]
LATE = 0.15  # of the cycle that a foot may stand on while the other pair is not yet down


@inlined
def keep_time(g: Gait, clock: Clock) -> None:
    """Where in the step it is: the pair that carries, since when, and until when."""
    clock.frequency = (1.0 + clock.faster) * gait_frequency(g, clock.command[0], clock.command[1])
    clock.phase += clock.ahead + clock.delay * g.period * clock.frequency  # when torques will act
    clock.phase -= math.floor(clock.phase)
    speed = math.sqrt(clock.command[0] ** 2 + clock.command[1] ** 2)
    clock.duty = max(g.duty - g.duty_slope * speed, g.least_duty)
    at = clock.phase - 0.5 * (clock.duty - 0.5)  # since pair 0 took over
    at -= math.floor(at)
    clock.main = 0 if at < 0.5 else 1
    clock.since = (at - 0.5 * clock.main) / clock.frequency
    clock.left = 0.5 / clock.frequency - clock.since


@inlined
def read_contacts(g: Pairs, clock: Clock, flags: Floats, legs: Sequence[Stance]) -> None:
    """Each leg's own phase and flag; flags: shape (LEGS,)."""
    for leg in range(LEGS):
        one = legs[leg]
        own = clock.phase + 0.5 * g.pair[leg]
        one.phase = own - math.floor(own)
        one.touches = 1 if flags[leg] > 0.5 else 0


@inlined
def share_load(g: Pairs, clock: Clock, legs: Sequence[Leg], load: Load) -> None:
    """Which feet stand, and how feet and pairs share the weight."""
    overlap = clock.duty - 0.5
    load.weight[0] = load.weight[1] = 0.0  # for a while, how much of the pair is down
    for leg in range(LEGS):
        one = legs[leg]
        one.share = 0.0
        if one.touches:
            one.share = 1.0
        elif one.phase < clock.duty:
            one.share = min(max(1.0 - one.gap / NEAR, 0.0), 1.0)
        if one.phase < clock.duty:
            load.weight[g.pair[leg]] += 0.5 * one.share
    down = (load.weight[0], load.weight[1])
    total = load.weight[0] = load.weight[1] = 0.0
    for leg in range(LEGS):
        one = legs[leg]
        lack = 1.0 - (down[1] if g.pair[leg] == 0 else down[0])  # of the other pair
        rest = clock.duty - one.phase
        falling = max(rest / overlap, lack * min(1.0, 2.0 * (rest / LATE + 1.0)))
        if one.phase > 1.0 - EARLY:
            one.stands = one.touches
            one.share = 0.0
        else:
            one.share *= min(max(min(one.phase / overlap, falling), 0.0), 1.0)
            one.stands = 1 if one.share > 0.0 else 0
        one.rests = one.touches * one.stands
        load.weight[g.pair[leg]] += one.share
        total += one.share
    for pair in range(PAIRS):
        if total > 0.0:
            load.weight[pair] /= total
        else:  # all feet have lost the ground: go on as planned
            load.weight[pair] = 1.0 if pair == clock.main else 0.0
