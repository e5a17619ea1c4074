"""The biped's plan: who carries, where the next foot goes, where the ground should push.

Between two steps the robot is a linear inverted pendulum of its angular momentum L about the centre
of pressure p: L' = m g (c - p), c' = L / (m z).  Its divergent component, the capture point
xi = c + L / (m z omega), leaves p: xi' = omega (xi - p) (Englsberger, Ott & Albu-Schaeffer, Three-
dimensional bipedal walking control based on divergent component of motion, IEEE T-RO 31, 2015).
A steady gait of step (lx, ly) and width w begins each step at

    xi - p = (lx, ly) / (E - 1) +- w / (E + 1) to the side,   E = exp(omega T)

(Khadiv et al., Walking control based on step timing adaptation, IEEE T-RO 36, 2020).  The centre of
pressure takes errors out as far as the sole is long and wide; what is left at the step's end moves
the next foothold by as much, so that the next step begins as the steady gait's would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import between, smooth_step
from dynenvs.agents.experts.humanoid.records import (
    LEGS,
    Balance,
    Carriage,
    Clock,
    Footsteps,
    Gait,
    Ground,
    Leg,
    Pelvis,
    Pressure,
    Stance,
    Stride,
    Wanted,
)
from dynenvs.agents.experts.humanoid.terrain import height_at
from dynenvs.envs.legged.kernel import gait_frequency
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, exp, sin

LEAST_DUTY = 0.52  # the feet hand over the load while both are down
EARLY = 0.25  # last part of a swing in which a foot that touches has come down
SURE = 0.12  # of the cycle after which a foot that is due to carry is taken to
LATE = 0.15  # of the cycle that a foot may stand on while the other one is not yet down
FREE = 0.4  # of the double support in which a foot may be loaded as balance likes, from no load
CORNER = 1.05  # of a sole's half length and width together, from its middle
EDGE = 0.9  # of a sole's half length that is no room for the pressure where it stands on an edge
CLIMB = 4.0  # bound on the base's vertical acceleration [m/s^2]


@inlined
def keep_time(g: Gait, clock: Clock, legs: Sequence[Stance]) -> None:
    """Where in the step it is, and which feet stand."""
    clock.frequency = (1.0 + clock.faster) * gait_frequency(g, clock.command[0], clock.command[1])
    clock.step = 0.5 / clock.frequency
    speed = math.sqrt(clock.command[0] ** 2 + clock.command[1] ** 2)
    clock.duty = max(g.duty - g.duty_slope * speed, LEAST_DUTY)
    clock.overlap = 0.5 * (clock.duty - 0.5) / clock.frequency
    at = clock.phase - 0.5 * (clock.duty - 0.5)  # since the first leg took over
    at -= math.floor(at)
    clock.main = 0 if at < 0.5 else 1
    clock.side = 1.0 if clock.main == 0 else -1.0
    clock.since = (at - 0.5 * clock.main) / clock.frequency
    clock.left = clock.step - clock.since
    for leg in range(LEGS):
        one = legs[leg]
        own = clock.phase + 0.5 * leg
        own -= math.floor(own)
        one.phase = own
        due = own < clock.duty
        early = own > 1.0 - EARLY * (1.0 - clock.duty) and one.touches != 0
        one.stands = 1 if early or (due and (one.touches != 0 or own > SURE)) else 0
    for leg in range(LEGS):
        one, other = legs[leg], legs[1 - leg]
        if other.stands == 0 and one.touches != 0 and one.phase < clock.duty + LATE:
            one.stands = 1
    if legs[clock.main].stands == 0 and legs[1 - clock.main].stands != 0:
        # The next foot is late: the old one carries on, as at its step's very end
        clock.main = 1 - clock.main
        clock.side = -clock.side
        clock.since, clock.left = clock.step, 0.0


@inlined
def plan_step(
    g: Footsteps, clock: Clock, pelvis: Pelvis, legs: Sequence[Leg], stride: Stride
) -> None:
    """The steady gait of the command about the present foothold, and the next foothold."""
    stance = legs[clock.main].point
    stride.omega = math.sqrt(g.gravity / max(pelvis.center[2], 0.05))
    stride.capture[0] = pelvis.center[0] + pelvis.momentum[0] / stride.omega
    stride.capture[1] = pelvis.center[1] + pelvis.momentum[1] / stride.omega
    growth = exp(stride.omega * clock.step)
    way = g.pace * clock.step
    x, y = way * clock.command[0], way * clock.command[1]
    width = g.width + g.width_slope * abs(y)
    turn = clock.command[2]
    _turned(x, y + clock.side * width, -turn * clock.since, stride.behind)
    _turned(x, y - clock.side * width, turn * clock.left, stride.ahead)
    side = clock.side * width / (growth + 1.0)
    _turned(
        x / (growth - 1.0),
        y / (growth - 1.0) + side,
        turn * (clock.left + 0.5 * clock.step),
        stride.offset,
    )
    # The error of the capture point, in the stance foot's axes, and what will be left of it
    shrink = exp(-stride.omega * clock.left)
    seat = legs[clock.main].seat
    ex = stride.capture[0] - stance[0] - seat[0] - shrink * (stride.ahead[0] + stride.offset[0])
    ey = stride.capture[1] - stance[1] - seat[1] - shrink * (stride.ahead[1] + stride.offset[1])
    c, s = cos(legs[clock.main].yaw), sin(legs[clock.main].yaw)
    room = legs[clock.main].room
    fx = _remains(g, clock, stride, c * ex + s * ey, room[0])
    fy = _remains(g, clock, stride, c * ey - s * ex, room[1])
    x, y = stride.ahead[0] + c * fx - s * fy, stride.ahead[1] + s * fx + c * fy
    x = min(max(x, -g.reach), g.reach)
    y = -clock.side * min(max(-clock.side * y, g.least_width), g.most_width)
    stride.place[0], stride.place[1] = stance[0] + x, stance[1] + y
    # Who is just slower than commanded, at the start say, has time
    along = x - min(max(x, min(stride.ahead[0], 0.0)), max(stride.ahead[0], 0.0))
    stride.moved = math.sqrt(along * along + (y - stride.ahead[1]) ** 2)


@inlined
def _turned(x: float, y: float, angle: float, out: Floats) -> None:
    c, s = cos(angle), sin(angle)
    out[0], out[1] = c * x - s * y, s * x + c * y


@inlined
def _remains(g: Balance, clock: Clock, stride: Stride, error: float, room: float) -> float:
    """What an error of the capture point is at the step's end, p within `room` of the middle.

    It shrinks at the rate of the balance, or grows by what the sole is too short for.
    """
    size = abs(error)
    shrinks = size * exp(-g.balance_rate * clock.left)
    grows = room + (size - room) * exp(stride.omega * clock.left)
    return math.copysign(max(shrinks, grows), error)


@inlined
def place_pressure(
    g: Balance, clock: Clock, stride: Stride, legs: Sequence[Leg], press: Pressure
) -> None:
    """The desired centre of pressure, within the soles that stand, and the feet's shares."""
    main, other = legs[clock.main], legs[1 - clock.main]
    both = main.stands != 0 and other.stands != 0
    x = y = 0.0  # from the main foot to the reference centre of pressure,
    u = v = 0.0  # and what it does to the capture point's reference
    if both and min(clock.since, clock.left) < clock.overlap:
        ox, oy = other.point[0] - main.point[0], other.point[1] - main.point[1]
        ox, oy = ox + other.seat[0] - main.seat[0], oy + other.seat[1] - main.seat[1]
        part, lag = _passage(g, clock, stride)
        x, y = part * ox, part * oy
        u, v = lag * ox, lag * oy
    shrink = exp(-stride.omega * clock.left)
    gain = 1.0 + g.balance_rate / stride.omega
    fx, fy = main.point[0] + main.seat[0], main.point[1] + main.seat[1]
    ex = stride.capture[0] - fx - u - shrink * (stride.ahead[0] + stride.offset[0])
    ey = stride.capture[1] - fy - v - shrink * (stride.ahead[1] + stride.offset[1])
    x, y = x + gain * ex, y + gain * ey  # desired, from the main foot
    main.share, other.share = 1.0, 0.0
    yaw = main.yaw
    if both:
        ox, oy = other.point[0] + other.seat[0] - fx, other.point[1] + other.seat[1] - fy
        part = (x * ox + y * oy) / max(ox * ox + oy * oy, 1e-6)
        newer, older = (main, other) if main.phase < other.phase else (other, main)
        passed = newer.phase / max(clock.duty - 0.5, 1e-3)
        if clock.rolls > 0.0 and newer.phase < clock.duty:  # the load passes from toe to heel
            x, y = x + fx, y + fy
            _sit(clock, newer, min(passed, 1.0) - 1.0)
            _sit(clock, older, min(passed, 1.0))
            fx, fy = main.point[0] + main.seat[0], main.point[1] + main.seat[1]
            x, y = x - fx, y - fy
            ox, oy = other.point[0] + other.seat[0] - fx, other.point[1] + other.seat[1] - fy
            part = (x * ox + y * oy) / max(ox * ox + oy * oy, 1e-6)
        low = smooth_step((passed - 1.0 + FREE) / FREE)  # of the newer one's share
        high = smooth_step(passed / FREE)
        if newer.phase > clock.duty:  # early: it rests, and helps where balance needs it
            low, high = 0.0, smooth_step((newer.phase - 1.0) / (EARLY * (1.0 - clock.duty)) + 1.0)
        if clock.since < clock.left:
            part = 1.0 - part
        part = min(max(part, low), high)
        newer.share, older.share = part, 1.0 - part
        fx, fy = fx + other.share * ox, fy + other.share * oy
        x, y = x - other.share * ox, y - other.share * oy
        yaw += other.share * (other.yaw - main.yaw)
    elif main.stands == 0 and other.stands != 0:
        main.share, other.share = 0.0, 1.0
    c, s = cos(yaw), sin(yaw)
    length, width = main.room[0], main.room[1]
    if other.share > 0.0:
        length, width = min(length, other.room[0]), min(width, other.room[1])
    forward = min(max((c * x + s * y) / length, -1.0), 1.0)
    left = min(max((c * y - s * x) / width, -1.0), 1.0)
    # Not into a corner of the sole, about which the foot would turn
    shrink = CORNER / max(math.sqrt(forward * forward + left * left), CORNER)
    forward, left = shrink * forward * length, shrink * left * width
    press.room[0], press.room[1] = length, width
    press.inside[0], press.inside[1] = c * forward - s * left, s * forward + c * left
    press.center[0], press.center[1] = fx + c * forward - s * left, fy + s * forward + c * left
    # As high as the soles are there
    press.inside[2] = press.center[2] = 0.0
    if g.scan_x > 0:
        a, b = main.normal, other.normal
        u = main.share * a[0] / a[2] + other.share * b[0] / b[2]
        v = main.share * a[1] / a[2] + other.share * b[1] / b[2]
        press.inside[2] = -u * press.inside[0] - v * press.inside[1]
        press.center[2] = main.share * (main.point[2] + main.seat[2]) + press.inside[2]
        press.center[2] += other.share * (other.point[2] + other.seat[2])


@inlined
def _sit(clock: Clock, one: Leg, to: float) -> None:
    """Let a sole stand on a part of it nearer to its toe (to = 1) or its heel (-1)."""
    to *= clock.rolls
    one.seat[0] += to * one.room[0] * cos(one.yaw)
    one.seat[1] += to * one.room[0] * sin(one.yaw)
    one.room[0] *= 1.0 - EDGE * abs(to)


@inlined
def _passage(g: Balance, clock: Clock, stride: Stride) -> tuple[float, float]:
    """Parts of the way to the other foot by which the references are moved: pressure's, capture's.

    The centre of pressure passes evenly at rest.  At speed equal shares change the legs' torques
    ever faster: there it begins faster and ends slower.  The capture point's reference is that of
    an instant change, corrected for the time that an even passage takes.
    """
    d, w, near = clock.overlap, stride.omega, min(clock.since, clock.left)
    part = 0.5 * (1.0 - near / d)
    early = between(g.early, clock.rolls) * abs(clock.command[0])
    lead = early * part * (1.0 - part)  # of the newer foot
    if clock.since < clock.left:
        lag = 0.5 / d * (exp(-w * (d - near)) / w - 1.0 / w + (d - near))
        return part - lead, lag
    lag = 0.5 / d * ((d - near) + 1.0 / w - exp(w * (d - near)) / w)
    return part + lead, lag


@inlined
def carry_base(
    g: Carriage,
    o: Floats,
    clock: Clock,
    ground: Ground,
    pelvis: Pelvis,
    stride: Stride,
    legs: Sequence[Leg],
    R: Floats,
    wanted: Wanted,
) -> None:
    """The base's desired accelerations, the horizontal ones left to balance.

    It is no higher than the standing legs reach, now and as far as their feet stay behind in a
    steady gait, or in the next step.
    """
    x, y = stride.place[0] - legs[clock.main].point[0], stride.place[1] - legs[clock.main].point[1]
    way = max(stride.ahead[0] * stride.ahead[0] + stride.ahead[1] * stride.ahead[1], x * x + y * y)
    trail, ankle = 0.5 * math.sqrt(way) + between(g.trail, clock.rolls), -g.sole[2]
    knee = between(g.knee, clock.rolls)
    low = min(
        g.height,
        math.sqrt(max(knee * knee - trail * trail, 0.01))
        + ankle
        + _lower(g, o, clock, ground, stride, legs),
    )
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            side = g.hip if leg == 0 else -g.hip
            x, y = one.point[0] - g.sole[0], one.point[1] - side
            most = g.leg * g.leg - x * x - y * y
            reach = math.sqrt(max(most, 0.25 * g.leg * g.leg)) + ankle
            low = min(low, reach + (one.point[2] if g.scan_x > 0 else 0.0))
    k = g.height_rate
    climb = ground.rise[0] * pelvis.speed[0] + ground.rise[1] * pelvis.speed[1]
    # Highest in the middle of a step, where the leg is longest
    rate, half = 2.0 * math.pi / clock.step, 0.5 * g.vault * clock.rolls * clock.command[0]
    c, s = cos(rate * clock.since), sin(rate * clock.since)
    low += half * (1.0 - c)
    climb += half * rate * s
    up = k * k * (low - pelvis.height) - 2.0 * k * (pelvis.speed[2] - climb)
    up += half * rate * rate * c
    wanted.a[0] = wanted.a[1] = 0.0
    wanted.a[2] = min(max(up, -CLIMB), CLIMB)
    wanted.lean = sin(min(g.lean[0] + g.lean[1] * clock.command[0], g.lean[2]))
    k = g.tilt_rate
    wanted.alpha[0] = k * k * R[1, 2] - 2.0 * k * pelvis.turning[0]
    wanted.alpha[1] = k * k * (wanted.lean - R[0, 2]) - 2.0 * k * pelvis.turning[1]
    # Of the main foot against the pelvis
    turned = clock.command[2] * (0.5 * clock.step - clock.since)
    wanted.alpha[2] = g.turn_rate * (clock.command[2] - pelvis.turning[2])
    wanted.alpha[2] += g.yaw_rate * g.yaw_rate * (legs[clock.main].yaw - turned)
    for i in range(3):
        wanted.alpha[i] = min(max(wanted.alpha[i], -g.most_turning), g.most_turning)


@inlined
def _lower(
    g: Carriage, o: Floats, clock: Clock, ground: Ground, stride: Stride, legs: Sequence[Leg]
) -> float:
    """How much lower than the plane in their middle the foothold or the next one is [m], or 0."""
    if g.scan_x == 0:
        return 0.0
    main = legs[clock.main]
    middle = 0.5 * ground.rise[0] * (main.point[0] + stride.place[0])
    middle += 0.5 * ground.rise[1] * (main.point[1] + stride.place[1])
    following = height_at(g, o, ground, stride.place[0], stride.place[1])
    return min(min(main.point[2], following) - middle, 0.0)
