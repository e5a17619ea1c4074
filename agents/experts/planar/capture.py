"""Where a walker on two legs steps, and where its soles push, so that it does not fall over.

A trunk that pitches freely is held level by the hips; then the walker moves as a linear inverted
pendulum of its angular momentum L about the centre of pressure p: L' = m g (c - p), c' = L / (m z).
Its capture point xi = c + L / (m z w) leaves p: xi' = w (xi - p), w^2 = g / z (Englsberger, Ott &
Albu-Schaeffer, IEEE T-RO 31, 2015).  In a steady gait with steps of length l and time T, p moves by
the way d along the sole within each step, and with E = exp(w T)

    xi - p = d / (w T) + (l - d) / (E - 1) exp(w t),   t since the step began.

The centre of pressure takes errors out as far as the soles are long; what is left of them when the
step ends, moves the next foothold by as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.memory import Common
from dynenvs.agents.experts.common.motion import keep_pace
from dynenvs.agents.experts.common.state import mass_row
from dynenvs.agents.experts.planar.records import (
    Balance,
    Clock,
    Leg,
    Load,
    Stance,
    Step,
)
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import WorldView
from dynenvs.simd.elementary import cosh, exp, sinh

LEAST_HEIGHT = 0.2  # of the centre of mass [m]
LEAST_FREE = 0.05  # share of the load that is moved along soles, at least
GATHERING = 0.25  # speed above the present one that steps are planned for, to the command [m/s]


@inlined
def find_capture(w: WorldView, g: Common, step: Step) -> None:
    """The capture point, ahead of the hip, and the pendulum's speed; needs the mass matrix."""
    whole = w.body[1]
    center, height = whole.hc[0] / whole.mc - w.q[0], max(whole.hc[2] / whole.mc, LEAST_HEIGHT)
    x, z, turn = mass_row(w, 0, w.v, 0.0), mass_row(w, 1, w.v, 0.0), mass_row(w, ROOT, w.v, 0.0)
    step.omega = math.sqrt(g.gravity / height)
    step.drift = (turn + w.q[1] * x + center * z) / (whole.mc * height)
    step.capture = center + step.drift / step.omega


@inlined
def plan_step(g: Balance, legs: Sequence[Leg], clock: Clock, step: Step) -> None:
    """The next foothold, and where the ground is to push: the ankle's, ahead of the hip."""
    handover, span = 0.5 * (g.duty - 0.5 - g.early), 0.5 * (g.duty - 0.5 + g.early) / clock.rate
    at = legs[0].phase - handover
    at -= math.floor(at)
    main = 0 if at < 0.5 else 1
    since, time = (at - 0.5 * main) / clock.rate, 0.5 / clock.rate
    if legs[main].stands == 0 and legs[1 - main].stands != 0:  # late: the old one carries on
        main, since = 1 - main, time
    w, one, other = step.omega, legs[main], legs[1 - main]
    growth = exp(w * time)
    # The first steps from standing are shorter: mean speed of the pendulum that moves as fast now
    half = 0.5 * w * time
    mean = step.drift * sinh(half) / (half * cosh(w * since - half))
    length = min(clock.command, max(mean, 0.0) + GATHERING) * time
    sweep = g.sweep
    here = g.middle + sweep * (since / time - 0.5)  # reference centre of pressure
    steady = here + sweep / (w * time) + (length - sweep) / (growth - 1.0) * exp(w * since)
    # Both carry for a while, the one more and more: so does the pressure pass, and what it does
    near = min(since, time - since)
    if one.stands and other.stands and near < span:
        way = other.ankle - one.ankle
        way -= sweep if since >= time - since else -sweep
        here += 0.5 * (1.0 - near / span) * way
        rest = span - near
        lag = rest - (1.0 - exp(-w * rest)) / w
        if since >= time - since:
            lag = rest + (1.0 - exp(w * rest)) / w
        steady += 0.5 / span * lag * way
    error = step.capture - one.ankle - steady
    step.pressure = one.ankle + here + (1.0 + g.balance_rate / w) * error
    left = time - since
    size = abs(error)
    shrinks = size * exp(-g.balance_rate * left)
    grows = g.room + (size - g.room) * exp(w * left)
    move = length + math.copysign(max(shrinks, grows), error)
    step.foothold = one.ankle + min(max(move, -g.longest_step), g.longest_step)
    step.way = max(abs(length), abs(step.foothold - one.ankle))
    moved = abs(move - min(max(move, 0.0), length))
    # Who is just slower than commanded has time
    passed = g.period * clock.rate
    clock.ahead, clock.faster = keep_pace(g.quicker, moved, passed, clock.ahead, clock.faster)


@inlined
def press_soles(g: Balance, legs: Sequence[Leg], step: Step, load: Load) -> None:
    """Where each standing sole pushes, and what it carries, so that they push where they should.

    The clock passes the load from foot to foot; both push at the same place of their soles, but for
    one that is about to roll over its toe.
    """
    newer = 0 if _age(legs[0]) < _age(legs[1]) else 1
    one, other = legs[newer], legs[1 - newer]
    one.share, other.share = 1.0 * one.stands, 1.0 * other.stands
    if one.stands and other.stands:
        since = _age(one) + g.early
        rests = g.light * smooth_step(1.0 + since / g.resting)
        one.share = rests + (1.0 - rests) * smooth_step(since / (g.duty - 0.5 + g.early))
        other.share = 1.0 - one.share
    a, b = _toed(g, one), _toed(g, other)
    free = one.share * (1.0 - a) + other.share * (1.0 - b)
    place = one.share * (one.ankle + a * g.toe) + other.share * (other.ankle + b * g.toe)
    inside = (step.pressure - place) / max(free, LEAST_FREE)
    inside = min(max(inside, g.heel + g.edge), g.toe - g.edge)
    if one.stands:
        one.point = inside + a * (g.toe - inside)
    if other.stands:
        other.point = inside + b * (g.toe - inside)
    step.pressure = place + free * inside
    load.carried = one.share + other.share


@inlined
def _age(one: Stance) -> float:
    """Of a stance, in cycles since it was due: negative for a foot that is about to come down."""
    return one.phase if one.phase < 0.75 else one.phase - 1.0


@inlined
def _toed(g: Balance, one: Stance) -> float:
    """How far a foot that is about to leave pushes with its toe alone, 0 to 1."""
    return smooth_step(1.0 - (g.roll_start - _age(one)) / g.toeing)
