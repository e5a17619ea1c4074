"""What the planar walkers' expert makes of an observation: the state, consistent with contact.

Feet that stand are on the ground and do not move.  How high the hip is follows from the standing
legs better than from what is observed, and so do the rates of their joints from the trunk's
velocity.  What a call before has foreseen is blended in, by fixed gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.planar.limb import move_leg, pitch_trunk, place_leg
from dynenvs.agents.experts.planar.records import Body, Clock, Estimate, Leg, Trunk
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, StateView
from dynenvs.simd.elementary import atan2

# Standard deviations of observations
JOINT, HEIGHT = 0.006, 0.01  # [rad], [m]
JOINT_SPEED, SPEED, TURN = 0.9, 0.06, 0.12  # [rad/s], [m/s], [rad/s]
FAR = 3.0  # such deviations, by which an estimate may differ from what is observed
REST, TURNS = 0.03, 0.1  # of a standing foot's velocity [m/s] and of its turning [rad/s]


@inlined
def read_observation(
    w: StateView, g: Estimate, row: Floats, clock: Clock, trunk: Trunk, legs: Sequence[Leg]
) -> None:
    """State, with x = 0, clock, command, contacts; blended with what was foreseen."""
    nq, nv, root = w.header[0].nq, w.header[0].nv, g.root
    w.q[0], w.q[1] = 0.0, row[g.at_height]
    at = g.at_velocity
    for i in range(ROOT):
        w.v[i] = row[at + i]
    angles, rates = g.at_joint_angles - root, g.at_joint_velocities - root
    for i in range(root, nq):
        w.q[i] = row[angles + i]
    for i in range(root, nv):
        w.v[i] = row[rates + i]
    at = g.at_gait_phase
    turn = atan2(row[at], row[at + 1]) / (2.0 * math.pi)
    clock.phase, clock.command = turn - math.floor(turn), row[g.at_command]
    if root > ROOT:
        w.q[ROOT], w.v[ROOT] = row[g.at_pitch], row[g.at_pitch_rate]
    at_memory = g.seen + 1 + nq + nv
    clock.ahead = clock.faster = 0.0
    if g.balances:  # a clock of its own
        clock.ahead, clock.faster = row[at_memory], row[at_memory + 1]
        clock.phase += clock.ahead
        clock.phase -= math.floor(clock.phase)
    clock.rate = (1.0 + clock.faster) * (g.slow_frequency + g.frequency_slope * clock.command)
    feet = g.at_foot_contacts
    for leg in range(g.legs):
        one = legs[leg]
        one.touches = 1 if row[feet + leg] > 0.5 else 0
        own = clock.phase + g.offsets[leg]
        one.phase = own - math.floor(own)
    at = g.seen
    clock.known = 1 if row[at] > 0.5 else 0
    for leg in range(g.legs):
        legs[leg].stood = 1 if g.balances and row[at_memory + 2 + leg] > 0.5 else 0
    if clock.known:
        at += 1
        for i in range(1, nq):
            near = HEIGHT if i < ROOT else JOINT
            w.q[i] = _blend(row[at + i], w.q[i], g.trust_q, near)
        at += nq
        for i in range(nv):
            near, trust = (SPEED, g.trust_root) if i < ROOT else (JOINT_SPEED, g.trust_v)
            if i == ROOT and root > ROOT:
                near, trust = TURN, g.trust_root
            w.v[i] = _blend(row[at + i], w.v[i], trust, near)
    if root > ROOT:
        pitch_trunk(trunk, w.q[ROOT], w.v[ROOT])
    else:
        pitch_trunk(trunk, 0.0, 0.0)


@inlined
def _blend(foreseen: float, seen: float, trust: float, deviation: float) -> float:
    """Between both, but as far from what is seen as its noise may reach, at most."""
    mean = foreseen + trust * (seen - foreseen)
    return min(max(mean, seen - FAR * deviation), seen + FAR * deviation)


@inlined
def stand_on_feet(w: StateView, g: Estimate, trunk: Trunk, legs: Sequence[Leg]) -> None:
    """Height and velocity of the hip from the standing legs, the rates of whose joints follow."""
    weight = 1.0 / (HEIGHT * HEIGHT)
    total = weight * w.q[1]
    for leg in range(g.legs):
        one = legs[leg]
        place_leg(w, g, trunk, leg, one)
        if one.stands:
            part = one.share / (g.leg_height * g.leg_height)
            total -= part * one.lowest
            weight += part
    w.q[1] = total / weight
    weight = 1.0 / (SPEED * SPEED)
    x, z = weight * w.v[0], weight * w.v[1]
    whole = weight
    for leg in range(g.legs):
        one = legs[leg]
        move_leg(w, g, trunk, leg, one)
        if one.stands:
            part = one.share / (g.leg_speed * g.leg_speed)
            x += part * (w.v[0] - one.speed[0])
            z += part * (w.v[1] - one.speed[1])
            whole += part
    w.v[0], w.v[1] = x / whole, z / whole
    for leg in range(g.legs):
        if legs[leg].stands:
            _rest(w, g, trunk, leg, legs[leg])
        move_leg(w, g, trunk, leg, legs[leg])


@inlined
def _rest(w: StateView, g: Body, trunk: Trunk, leg: int, one: Leg) -> None:
    """Joint rates of a leg whose foot does not move, near those that are observed.

    Least squares, one constraint after the other, each with its own standard deviation; the
    covariance of the rates shrinks along.
    """
    at = g.root + 3 * leg
    # Columns of the point's Jacobian
    c0, c1 = one.foot[1], -one.foot[0]
    b0, b1 = c0 + one.shank[1], c1 - one.shank[0]
    a0, a1 = b0 + one.thigh[1], b1 - one.thigh[0]
    variance = JOINT_SPEED * JOINT_SPEED
    # Covariance: xx, xy, xz, yy, yz, zz
    P = (variance, 0.0, 0.0, variance, 0.0, variance)
    v = (w.v[at], w.v[at + 1], w.v[at + 2])
    turn = trunk.turn
    base_x, base_z = w.v[0] + turn * (one.hip[1] + a0), w.v[1] - turn * one.hip[0] + turn * a1
    P, v = _constrain(P, v, (a0, b0, c0), -base_x, REST)
    P, v = _constrain(P, v, (a1, b1, c1), -base_z, REST)
    if g.radius == 0.0 and not one.rolls:  # a sole lies flat; a sphere may roll
        P, v = _constrain(P, v, (1.0, 1.0, 1.0), -turn, TURNS)
    w.v[at], w.v[at + 1], w.v[at + 2] = v


@inlined
def _constrain(
    P: tuple[float, float, float, float, float, float],
    v: tuple[float, float, float],
    row: tuple[float, float, float],
    wanted: float,
    deviation: float,
) -> tuple[tuple[float, float, float, float, float, float], tuple[float, float, float]]:
    """A step of least squares: row . v = wanted, but for a standard deviation."""
    x = P[0] * row[0] + P[1] * row[1] + P[2] * row[2]
    y = P[1] * row[0] + P[3] * row[1] + P[4] * row[2]
    z = P[2] * row[0] + P[4] * row[1] + P[5] * row[2]
    scale = row[0] * x + row[1] * y + row[2] * z + deviation * deviation
    error = (wanted - row[0] * v[0] - row[1] * v[1] - row[2] * v[2]) / scale
    left = (
        P[0] - x * x / scale,
        P[1] - x * y / scale,
        P[2] - x * z / scale,
        P[3] - y * y / scale,
        P[4] - y * z / scale,
        P[5] - z * z / scale,
    )
    return left, (v[0] + x * error, v[1] + y * error, v[2] + z * error)
