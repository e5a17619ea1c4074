"""What the humanoid's expert makes of an observation: noise taken out, feet on the ground.

Three things are known beside the observation.  The last call predicted it: both are blended by a
Kalman filter's gains (`filter.py`).  Soles that carry are flat on the ground, or roll over an edge
as planned: by the legs' angles that says better than the observation how high and how upright the
pelvis is.  And they do not slide: a standing leg's joint velocities follow from the pelvis'.

Confidence in a standing sole passes smoothly with the gait clock, and no gap is ever compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.memory import Common
from dynenvs.agents.experts.common.state import BASE
from dynenvs.agents.experts.humanoid.filter import ANGLE
from dynenvs.agents.experts.humanoid.records import (
    ACTUATED,
    JOINTS,
    LEGS,
    NV,
    STATES,
    TWIST,
    Clock,
    Estimate,
    Ground,
    Hold,
    Known,
    Leg,
    Memo,
    Sole,
    Soles,
    Stance,
    Standing,
)
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import into_body
from dynenvs.memory.layout import Floats, StateView, WorkView, WorldView
from dynenvs.simd.elementary import cos, sin

SURPRISE = 5.0  # standard deviations from which on an observation is believed more and more
ALIKE = 0.75  # of a period: an angle's change over its rate's, of a torque in two physics steps
UNKNOWN = 0.5  # noise at an episode's start
FORGET = 0.2  # of the noise felt before, at each call
FADE = 0.99  # what a call leaves of the sums that tell a delay
DOUBT = 2.0  # squares of changes of velocity that are needed to believe in one [rad^2/s^2]
CLEAR = 0.3  # shares of a delay below this, or as near to one, are none, or one
MOST_CHANGE = 2.0  # of a velocity from which on it counts less and less [rad/s]
FASTEST = 100.0  # change of a velocity in a call that is carried on, at most [m/s], [rad/s]
LEG_TRUST = 8.0  # of what legs say of the tilt and the height, against the observation
ARMS = JOINTS * LEGS + 3  # first joint of the arms
SLIP = (0.01, 0.04)  # speed of a sole that carries, from which on and to which it slides [m/s]
CALM = (0.1, 0.2)  # surprise of the arms' velocities, up to which that counts [rad/s]
STEADY, NEWS = 0.99, 0.15  # what a call leaves of how much soles have slid, and adds to it
DRY = (0.3, 0.8)  # of it, from which on and to which the ground is slippery
SETTLING = 0.05  # of the cycle in which a sole that has come down lies down,
LEAVING = 0.06  # and in which one that is about to leave is trusted less


@inlined
def blend(
    g: Estimate,
    clock: Clock,
    legs: Sequence[Stance],
    o: Floats,
    known: Known,
    old: Memo,
    new: Memo,
) -> None:
    """Blend an observation's entries with those expected, of `old`; what is known of noise, delay.

    What surprises, a push say, is believed as it is; so is all where sensors are clean.
    """
    known.noise, known.delay = UNKNOWN, 0.0
    new.late = new.sure = 0.0
    for j in range(NV):
        new.asked[1, j] = old.asked[0, j]
    if old.valid == 0.0:
        return
    e, gain, spread = known.error, g.gain[clock.main], g.spread[clock.main]
    up, rest = g.at_upward_direction, g.at_joint_angles - 3  # from there on as the filter has it
    e[0] = o[g.at_height] - old.seen[0]
    e[1] = o[up + 1] - old.seen[2]  # roll and pitch, by the upward direction
    e[2] = old.seen[1] - o[up]
    for i in range(3, STATES):
        e[i] = o[rest + i] - old.seen[1 + i]
    _feel_noise(g, known, old.noise)
    _feel_delay(g, legs, known, old, new)
    believed = smooth_step((known.noise - g.clean[0]) / (g.clean[1] - g.clean[0]))
    worst = 0.0
    for i in range(STATES):
        worst = max(worst, abs(e[i]) / spread[i])
    surprising = smooth_step(worst / SURPRISE - 1.0)
    for i in range(STATES):
        total = 0.0
        for k in range(STATES):
            total += gain[i, k] * e[k]
        change = believed * (1.0 - surprising) * (total - e[i])  # from what is seen
        if i == 0:
            o[g.at_height] += change
        elif i == 1:
            o[up + 1] += change
        elif i == 2:
            o[up] -= change
        else:
            o[rest + i] += change


@inlined
def _feel_noise(g: Common, known: Known, before: float) -> None:
    """How noisy sensors are: whether what surprises of angles agrees with that of their rates.

    A torque that nobody expected moves both alike, by physics; noise does not.
    """
    total = 0.0
    for i in range(ACTUATED):
        apart = known.error[3 + i] - ALIKE * g.period * known.error[9 + ACTUATED + i]
        total += min(apart * apart, 4.0 * ANGLE * ANGLE)
    total /= ACTUATED * ANGLE * ANGLE
    known.noise = before + FORGET * (total - before)


@inlined
def _feel_delay(g: Common, legs: Sequence[Stance], known: Known, old: Memo, new: Memo) -> None:
    """Whether torques act at once or one control step late, by regression.

    A change of velocity is that of the last call or of the one before: the share of the latter is
    a regression on their difference, of joints that no foot on the ground holds.
    """
    new.late, new.sure = FADE * old.late, FADE * old.sure
    for i in range(ACTUATED):
        leg = i // JOINTS
        if leg >= LEGS or (legs[leg].stands == 0 and legs[leg].touches == 0):
            x = g.period * (old.asked[1, ROOT + i] - old.asked[0, ROOT + i])
            size = max(1.0, abs(x) / MOST_CHANGE)
            missed = known.error[9 + ACTUATED + i] + old.delay * x
            new.late += x * missed / (size * size)
            new.sure += x * x / (size * size)
    known.delay = smooth_step((new.late / (new.sure + DOUBT) - CLEAR) / (1.0 - 2.0 * CLEAR))


@inlined
def confidence(clock: Clock, one: Stance) -> float:
    """How far it can be relied on that a leg's sole lies flat on the ground and stays there."""
    if one.touches == 0 or one.phase > clock.duty:
        return 0.0
    return smooth_step((clock.duty - one.phase) / LEAVING)


@inlined
def stand_level(g: Soles, one: Sole) -> None:
    """All of a sole on level ground."""
    one.ground = one.normal[0] = one.normal[1] = 0.0
    one.normal[2] = 1.0
    one.seat[0] = one.seat[1] = one.seat[2] = 0.0
    one.room[0], one.room[1] = g.half_length, g.half_width


@inlined
def rest_on_feet(w: WorkView, g: Standing, clock: Clock, legs: Sequence[Leg], o: Floats) -> None:
    """The upward direction and the height as the standing legs tell; needs the poses."""
    up = g.at_upward_direction
    x, y, z = o[up], o[up + 1], o[up + 2]
    R, base = w.pose[BASE].R, w.pose[BASE].p
    sx, sy, sz = x, y, z
    for leg in range(LEGS):
        one = legs[leg]
        F = w.pose[one.body].R
        # What is upward of a foot with that pitch, in the pelvis' axes
        s, c = sin(one.roll[0]), cos(one.roll[0])
        a, b, d = c * F[0, 2] - s * F[0, 0], c * F[1, 2] - s * F[1, 0], c * F[2, 2] - s * F[2, 0]
        ux, uy, uz = into_body(R, (a, b, d))
        skew = ((ux - x) ** 2 + (uy - y) ** 2 + (uz - z) ** 2) / (g.skew * g.skew)
        sure = confidence(clock, one) * smooth_step(one.phase / SETTLING)
        one.flatness = 1.0 / (1.0 + skew)
        stand_level(g, one)
        one.trust = LEG_TRUST * sure * one.flatness
        sx, sy, sz = sx + one.trust * ux, sy + one.trust * uy, sz + one.trust * uz
    size = max(math.sqrt(sx * sx + sy * sy + sz * sz), 1e-9)  # zeros say nothing, and stay
    x, y, z = sx / size, sy / size, sz / size
    total, height = 1.0, o[g.at_height]
    for leg in range(LEGS):
        one = legs[leg]
        pose = w.pose[one.body]
        E = pose.R  # to the edge on which it stands
        ax, ay, az = rotate(E, g.sole)
        ax, ay, az = ax + one.edge * E[0, 0], ay + one.edge * E[1, 0], az + one.edge * E[2, 0]
        ax, ay, az = ax + pose.p[0] - base[0], ay + pose.p[1] - base[1], az + pose.p[2] - base[2]
        bx, by, bz = into_body(R, (ax, ay, az))
        total += one.trust
        height -= one.trust * (x * bx + y * by + z * bz)
    o[g.at_height], o[up], o[up + 1], o[up + 2] = height / total, x, y, z


@inlined
def _errs(one: Sole) -> tuple[float, float, float, float, float, float]:
    """Twist of a standing sole, less that with which it turns about its edge as it is to."""
    u, rate, along = one.velocity, one.roll[1], one.edge * cos(one.roll[0])
    x, y, back = -sin(one.yaw), cos(one.yaw), rate * one.edge * sin(one.roll[0])
    return (
        u[0] - rate * x,
        u[1] - rate * y,
        u[2],
        u[3] - back * y,
        u[4] + back * x,
        u[5] - rate * along,
    )


@inlined
def hold_feet(w: StateView, clock: Clock, legs: Sequence[Leg]) -> None:
    """The joint velocities of standing legs that leave their soles where they are, or roll them.

    Needs the soles' twists and the legs' inverse Jacobians.
    """
    for leg in range(LEGS):
        one = legs[leg]
        share = confidence(clock, one) * one.flatness
        if share > 0.0:
            twist = _errs(one)
            for k in range(JOINTS):
                total = 0.0
                for r in range(TWIST):
                    total += one.inverse[k, r] * twist[r]
                w.v[one.first + k] -= share * total


@inlined
def feel_slips(
    g: Estimate,
    clock: Clock,
    known: Known,
    legs: Sequence[Leg],
    hold: Hold,
    old: Memo,
    new: Memo,
) -> None:
    """How slippery the ground is: soles that carry slide or turn on it; before `hold_feet`.

    Noise moves them, too, but the arms as well: then what is seen of soles tells nothing.
    """
    slide = surprise = 0.0
    for leg in range(LEGS):
        one = legs[leg]
        u, smooth = one.velocity, smooth_step(one.phase / SETTLING)
        sure = confidence(clock, one) * one.flatness * smooth
        if one.edge != 0.0:  # it rolls
            sure = 0.0
        speed = math.sqrt(u[3] * u[3] + u[4] * u[4]) + g.sole[0] * abs(u[2])
        slide = max(slide, sure * speed)
    for i in range(ARMS, ACTUATED):
        surprise += known.error[9 + ACTUATED + i] ** 2
    surprise = math.sqrt(surprise / (ACTUATED - ARMS))
    known.surprise = surprise
    if old.valid == 0.0 or old.faster > 0.0 or g.scan_x > 0:  # pushed, it slides on any ground
        slide = 0.0
    slips = smooth_step((slide - SLIP[0]) / (SLIP[1] - SLIP[0]))
    slips *= 1.0 - smooth_step((surprise - CALM[0]) / (CALM[1] - CALM[0]))
    new.slips = min(STEADY * old.slips + NEWS * slips, 1.0)
    low = smooth_step((new.slips - DRY[0]) / (DRY[1] - DRY[0]))
    hold.friction = g.friction[0] + low * (g.friction[1] - g.friction[0])
    hold.grip = g.grip[0] + low * (g.grip[1] - g.grip[0])


@inlined
def act_later(w: WorldView, g: Common, old: Memo, known: Known) -> None:
    """The state at which torques will act: until then those of the last call do."""
    for i in range(w.header[0].nq):
        known.q[i] = w.q[i]
    span, mean = known.delay * g.period, w.v_next
    for j in range(w.header[0].nv):
        known.v[j] = w.v[j]
        change = span * old.asked[0, j]
        mean[j] = w.v[j] + ALIKE * change
        w.v[j] += change
    if span > 0.0:
        integrate(w, w.q, mean, span, w.q_new)
        for i in range(w.header[0].nq):
            w.q[i] = w.q_new[i]


@inlined
def foretell(
    w: WorldView, g: Common, ground: Ground, known: Known, a: Floats, old: Memo, new: Memo
) -> None:
    """What the next observation should be, and what else is carried; changes the state."""
    h = g.period
    nu, out = w.header[0].nv - ROOT, new.seen
    new.valid, new.noise, new.delay = 1.0, known.noise, known.delay
    for j in range(w.header[0].nv):
        # It answers to what was asked before, where that acts late: without bound it may grow
        asked = min(max(a[j], -FASTEST / h), FASTEST / h)
        new.asked[0, j] = asked
        change = h * (asked + known.delay * (old.asked[0, j] - asked))
        w.v_next[j] = known.v[j] + ALIKE * change
        w.v[j] = known.v[j] + change
    for i in range(w.header[0].nq):
        w.q[i] = known.q[i]
    integrate(w, w.q, w.v_next, h, w.q_new)
    e, b, c, d = w.q_new[3], w.q_new[4], w.q_new[5], w.q_new[6]
    out[0] = w.q_new[2] - ground.rise[0] * w.q_new[0] - ground.rise[1] * w.q_new[1]
    xx, xy, xz = 1.0 - 2.0 * (c * c + d * d), 2.0 * (b * c - e * d), 2.0 * (b * d + e * c)
    yx, yy, yz = 2.0 * (b * c + e * d), 1.0 - 2.0 * (b * b + d * d), 2.0 * (c * d - e * b)
    zx, zy, zz = 2.0 * (b * d - e * c), 2.0 * (c * d + e * b), 1.0 - 2.0 * (b * b + c * c)
    out[1], out[2], out[3] = zx, zy, zz
    vx, vy, vz = w.v[0], w.v[1], w.v[2]
    at = 4 + nu
    out[at] = xx * vx + yx * vy + zx * vz
    out[at + 1] = xy * vx + yy * vy + zy * vz
    out[at + 2] = xz * vx + yz * vy + zz * vz
    for k in range(3):
        out[at + 3 + k] = w.v[3 + k]
    for i in range(nu):
        low, high = w.dofs[ROOT + i].lower, w.dofs[ROOT + i].upper
        out[4 + i] = min(max(w.q_new[TURN + i], low), high)
        out[at + 6 + i] = w.v[ROOT + i]
