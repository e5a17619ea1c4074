"""Accelerations of the planar walkers' feet: those that stand keep still, the others swing or land.

Velocities are older than positions, and what is asked for acts a little later: references are those
of the same time.
"""

from __future__ import annotations

import math

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.planar.gait import even_stride, lift, rolling, stride
from dynenvs.agents.experts.planar.records import Clock, Leg, Step, Swing
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import StateView

STOPPING = 40.0  # rate at which a standing foot's point is brought to rest [1/s]


@inlined
def move_foot(w: StateView, g: Swing, clock: Clock, step: Step, one: Leg) -> None:
    """Desired acceleration of a foot's point, and of its turning."""
    k, before, after = g.swing_rate, g.lag * clock.rate, g.lookahead * clock.rate
    length = clock.pace / clock.rate
    r0, _, _ = rolling(g, one.phase, length, clock.rate)
    _, r1, _ = rolling(g, one.phase - before, length, clock.rate)
    _, _, r2 = rolling(g, one.phase + after, length, clock.rate)
    one.goal[2] = r2 + 2.0 * k * (r1 - one.rates[2]) + k * k * (r0 - one.tilt)
    swing = 1.0 - g.duty
    since = one.phase - g.duty
    height = w.q[1] + one.place[1]
    if one.stands:
        one.goal[0], one.goal[1] = -STOPPING * one.speed[0], -STOPPING * one.speed[1]
    elif since < 0.0:  # late: it looks for the ground
        deep = -g.below - g.landing_speed * one.phase / clock.rate
        one.goal[0] = -2.0 * k * one.speed[0]
        one.goal[1] = k * k * (deep - height) + 2.0 * k * (-g.landing_speed - one.speed[1])
    else:
        span = swing - g.landing
        if g.balances:
            one.goal[0] = _to_foothold(
                g, clock, step, one, since / span, before / span, after / span
            )
        else:
            one.goal[0] = _past_hip(g, clock, one, since / span, before / span, after / span)
        r = clock.rate / swing
        u = since / swing
        z0, _, _ = lift(g, u)
        _, z1, _ = lift(g, u - before / swing)
        _, _, z2 = lift(g, u + after / swing)
        one.goal[1] = r * r * z2 + 2.0 * k * (r * z1 - one.speed[1]) + k * k * (z0 - height)


@inlined
def _past_hip(g: Swing, clock: Clock, one: Leg, u: float, before: float, after: float) -> float:
    """Forward acceleration of a stride under the hip, of which a part u is over.

    before, after: by which velocities are older, and what is asked for acts later.
    """
    k, span = g.swing_rate, 1.0 - g.duty - g.landing
    length, r = clock.pace / clock.rate, clock.rate / span  # r: du/dt
    m0, _, _ = stride(u)
    _, m1, _ = stride(u - before)
    _, _, m2 = stride(u + after)
    goal = g.ahead + length * (m0 - 0.5 * g.duty - (one.phase - g.duty))
    x = one.place[0] - one.hip[0] - one.point
    gain = k * k * smooth_step(4.0 * u) * smooth_step(5.0 * (1.0 - u))
    ax = length * r * r * m2 + 2.0 * k * (length * r * m1 - one.speed[0])
    return float(ax + gain * (goal - x))


@inlined
def _to_foothold(
    g: Swing, clock: Clock, step: Step, one: Leg, u: float, before: float, after: float
) -> float:
    """The same on a stride to the foothold, which would have begun where its remaining way says."""
    k, r = g.swing_rate, clock.rate / (1.0 - g.duty - g.landing)
    m0, _, _ = even_stride(u, g.smooth)
    _, m1, _ = even_stride(u - before, g.smooth)
    _, _, m2 = even_stride(u + after, g.smooth)
    way = step.foothold + one.point - one.place[0]
    rest = math.sqrt((1.0 - m0) ** 2 + g.last * g.last)
    pull = k * k * smooth_step(4.0 * u - 2.5)  # in the end the place alone counts
    return float(((r * r * m2 + 2.0 * k * r * m1) / rest + pull) * way - 2.0 * k * one.speed[0])
