"""The walkers' reference controller: gait, inverse kinematics, inverse dynamics through the LCP.

From one observation: the gait gives where hip and feet should be; their desired accelerations,
with feedback of stated bandwidths, give velocities one control period ahead; each leg's Jacobian
turns them into joint velocities; the inverse contact LCP (`dynenvs.simulation.inverse`) turns those
into torques.  Feet on the ground are given exactly the velocity that keeps them there, so that the
prescription is consistent with sticking contact.  Nothing is remembered between calls.

A trunk that is free to pitch is held level by how feet before and behind share the load.  They can
share it so only while the ground would have to push between them: where the gait's forward
acceleration asks for more, it is changed by as much (`balance.py`).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.planar.balance import balance, support
from dynenvs.agents.experts.planar.gaits import (
    ANKLE_X,
    HEEL_START,
    HEIGHT,
    HIP_X,
    HIP_Z,
    X_HARMONICS,
    Z_HARMONICS,
    frequency,
    heel_rise,
    heel_share,
    hip,
    interpolate,
    lift,
    load_share,
    smooth_step,
    stride,
)
from dynenvs.agents.experts.planar.leg import (
    gap,
    gaps,
    hip_velocity,
    sole,
    sole_velocity,
    solve_leg,
    trunk,
)
from dynenvs.agents.experts.planar.records import LEG, LEGS, PLAN
from dynenvs.agents.experts.planar.state import read_state
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    WorkspaceView,
)
from dynenvs.memory.views import vector
from dynenvs.simulation.inverse import TRACKED, inverse_world
from dynenvs.simulation.progress import claim, leave

UNLOADED = 0.005  # a foot's share of the load below which its cost grows no further
MARGIN = 0.2  # above its speed for which the hip's deviations are planned, to the command [m/s]
SHARING = 200.0  # of the shares against least torque, for a foot that carries the whole weight
EVEN = 0.001  # keeps some of it in single support, so that the load stays spread over the sole
LANDING_SPEED = 0.03  # at which a foot comes down from its hover [m/s]
HOVER = 3e-4  # height at which a swing ends: to touch down too early would jam the legs [m]
LANDING_RATE = 60.0  # of its approach [1/s]
DOWN = 2e-5  # height below which a foot carries: one that is still in the air would slam [m]
FLAT = 2e-4  # height below which the rest of a standing foot carries, too [m]
BEHIND = 0.01  # distance from where a foot rolls off that makes a point its heel [m]
TOE_UP = 1e-4  # tilt from which a foot stands on its heel [rad]
LANDING_TURN = 1.0  # at which a sole turns flat [rad/s]
PRESSING_SPEED = 4e-3  # at which a foot that need not carry yet is held down [m/s]
NEAR = 6e-4  # a foot that has come forward is set down from here [m]
ROUNDS = 3  # in which balance and the legs' motion are fitted to each other
SLACK = 0.2  # of the hip's speed beyond 0 or the command, before steps follow it [m/s]
TIPPING = 20.0  # bound on the trunk's angular acceleration [rad/s^2]
LEGS_AT = PLAN.itemsize
ROOM = LEGS_AT + LEGS * LEG.itemsize  # bytes that plan and legs take


@kernel(seconds=8)
def act(
    memory: Bytes,
    constants: Records,
    leg_of_feature: Ints,
    observations: Floats,
    actions: Floats,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    leg_of_feature: leg of each contact feature that is a foot's, else a negative number; the other
    arguments, and what it returns, are those of every expert (`BatchController`).
    """
    m, s, w, v_des, cost, room = open_memory(memory[thread])
    plan, legs = vector(room, 0, 1, PLAN), vector(room, LEGS_AT, LEGS, LEG)
    g, p = constants[0], plan[0]
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        p.phase, p.command = read_state(m, s, g.root, observations[i])
        _plan_trunk(s, g, p)
        _desired_velocities(m, s, w, g, p, legs, leg_of_feature, v_des, cost)
        status, _ = inverse_world(m, s, w, v_des, g.period, g.lookahead, cost)
        if status != TRACKED:
            missed += 1
        for j in range(m.header[0].nv - g.root):
            a = w.tau[g.root + j] / m.dofs[g.root + j].effort
            actions[i, j] = min(max(a, -1.0), 1.0)
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return missed


@inlined
def _plan_trunk(s: StateView, g: Any, p: Any) -> None:
    """Velocity of the hip and of the trunk's pitch after the period, and the shape of the gait.

    Semi-implicit velocities belong to the middle of the physics step before: references of
    velocity are taken h/2 - ahead earlier than those of position, accelerations `ahead` later.
    """
    h, ahead, phase, command, shape = g.period, g.lookahead, p.phase, p.command, p.shape
    interpolate(g, command, shape)
    f = frequency(g, command)
    before, after = phase - (0.5 * h - ahead) * f, phase + ahead * f
    # Hip: forward speed with a bound on its acceleration, height along its curve.  While it
    # gathers way its gait is that of a slower walk, in shorter strides.
    _, sway, _ = hip(g, shape, HIP_X, X_HARMONICS, before, command / f, command)
    going = s.v[0] - sway
    pace = min(max(going, 0.0), command)
    if g.root > ROOT:  # after a blow feet go with the trunk, or it would leave them behind
        pace = min(max(pace, going - SLACK), going + SLACK)
    gathered = min(pace + MARGIN, command)
    interpolate(g, gathered, shape)
    length = gathered / f
    away, _, _ = hip(g, shape, HIP_X, X_HARMONICS, phase, length, command)
    _, sway, _ = hip(g, shape, HIP_X, X_HARMONICS, before, length, command)
    _, _, push = hip(g, shape, HIP_X, X_HARMONICS, after, length, command)
    p.pace, p.away = pace, away
    speed = min(command, _reachable_speed(s, g, p))
    ax = g.hip_rate * (speed + sway - s.v[0])
    ax = min(max(ax, -g.hip_acceleration), g.hip_acceleration) + push
    z, _, _ = hip(g, shape, HIP_Z, Z_HARMONICS, phase, length, command)
    _, vz, _ = hip(g, shape, HIP_Z, Z_HARMONICS, before, length, command)
    _, _, az = hip(g, shape, HIP_Z, Z_HARMONICS, after, length, command)
    k = g.height_rate
    az += k * k * (shape[HEIGHT] + z - s.q[1]) + 2.0 * k * (vz - s.v[1])
    p.hip_x, p.hip_z = s.v[0] + h * ax, s.v[1] + h * az
    pitch, turn = trunk(s, g)
    k = g.tilt_rate
    p.turn = turn + h * min(max(-k * k * pitch - 2.0 * k * turn, -TIPPING), TIPPING)


@inlined
def _desired_velocities(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    leg_of_feature: Ints,
    v_des: Floats,
    cost: Floats,
) -> None:
    """Desired joint velocities after the period, and the cost of each foot's impulses."""
    rounds = 1
    if g.root > ROOT:
        rounds = ROUNDS
        update_poses(m, s.q, w.pose)
        equations_of_motion(m, s, w, s.v, g.period, w.M)
    for i in range(rounds):
        for leg in range(g.legs):
            one = legs[leg]
            own = p.phase + g.offsets[leg]
            own -= math.floor(own)
            one.number, one.phase = leg, own
            one.low, one.high = gaps(m, s, g, leg_of_feature, leg)
            one.stands = 1 if own < g.duty and one.low < DOWN else 0
            _leg(s, g, p, one, v_des)
            _set_contact_costs(m, s, g, p, leg_of_feature, one, cost)
        if i + 1 < rounds:
            rear, front = support(m, s, g, leg_of_feature, p.phase, p.pace, DOWN)
            if rear < front:
                v_des[0], v_des[1], v_des[ROOT] = p.hip_x, p.hip_z, p.turn
                p.hip_x += g.period * balance(m, s, w, rear, front, g.period, v_des)


@inlined
def _set_contact_costs(
    m: ModelView, s: StateView, g: Any, p: Any, leg_of_feature: Ints, one: Any, cost: Floats
) -> None:
    """Costs of a leg's impulses: two feet then carry loads in proportion to their shares."""
    sharing = SHARING / (g.weight * g.period) ** 2
    share = load_share(g, one.phase, p.pace)
    for f in range(m.header[0].nf):
        if leg_of_feature[f] == one.number:
            cost[f] = sharing * math.sqrt((1.0 - share + EVEN) / (share + UNLOADED))
            if m.features[f].center[0] < g.sole_x - BEHIND:
                cost[f] /= heel_share(p.shape, one.phase) + UNLOADED
            # What is in the air is left out: it would be given a load that it cannot carry yet.
            if not one.stands or gap(m, s, g, one.number, f) > FLAT:
                cost[f] = math.inf


@inlined
def _reachable_speed(s: StateView, g: Any, p: Any) -> float:
    """Speed at which no standing leg is overstretched before its lift-off [m/s].

    It binds in the first steps from standing, when the feet are not yet a stance length apart.
    """
    command, away = p.command, p.away
    half = 0.5 * g.duty * command / frequency(g, command)
    fastest = math.inf
    for leg in range(g.legs):
        own = p.phase + g.offsets[leg]
        own -= math.floor(own)
        if own < g.duty:
            at = g.root + 3 * leg
            pitch, _ = trunk(s, g)
            q1, q12 = pitch + s.q[at], pitch + s.q[at] + s.q[at + 1]
            x = -g.thigh * math.sin(q1) - g.shank * math.sin(q12)
            left = (g.duty - own) / frequency(g, command)
            fastest = min(fastest, (x + away - p.shape[ANKLE_X] + 1.15 * half) / (left + 0.02))
    return max(fastest, 0.0)


@inlined
def _leg(s: StateView, g: Any, p: Any, one: Any, v_des: Floats) -> None:
    """Desired velocities of a leg's three joints after the period; the root's are in the plan."""
    h, ahead, leg, phase, stands = g.period, g.lookahead, one.number, one.phase, one.stands != 0
    at = g.root + 3 * leg
    lag = 0.5 * h - ahead  # by which velocities are older than positions
    pitch, rate_now = trunk(s, g)
    tilt = pitch + s.q[at] + s.q[at + 1] + s.q[at + 2] - g.pitch
    # The point of the sole that is followed: its toe, but where it stands on its heel
    end = g.heel_x if stands and tilt < -TOE_UP else g.sole_x
    x, z = sole(s, g, leg, end)
    vx, vz, turning = sole_velocity(s, g, leg, end, -lag)
    if phase < g.duty or (phase > 1.0 - g.landing and z < NEAR):
        # It comes to rest flat on the ground, ever more slowly, and presses lightly there: a foot
        # that touches stays down.
        rate = min(LANDING_RATE, LANDING_SPEED / max(one.high, 1e-9))
        if stands and one.high < FLAT:
            rate = 1.0 / h
        goal_x, goal_z = 0.0, -z / h if stands else -rate * z - PRESSING_SPEED
        goal_turn = min(max(-rate * tilt, -LANDING_TURN), LANDING_TURN)
        if p.shape[HEEL_START] < phase < g.duty:  # it rolls over its toe
            goal_turn = turning + h * _turn(g, p, phase, tilt, turning)
    else:
        ax, az = _swing(g, p, phase - g.duty, x + p.away, z, vx, vz)
        goal_x, goal_z = vx + h * ax, vz + h * az
        goal_turn = turning + h * _turn(g, p, phase, tilt, turning)
    # The Jacobian of the time that the new velocity belongs to; a standing foot's is that of the
    # contact problem: when the last physics step begins.
    span = 2.0 * ahead if stands else h - lag
    w1, w2, w3 = s.v[at], s.v[at + 1], s.v[at + 2]
    for _ in range(2):
        # of the change of velocity, in the mean over the span
        share = 0.0 if stands else 0.5 * (h + lag) / h
        then = pitch + span * (rate_now + share * (p.turn - rate_now))
        ux, uz = hip_velocity(g, leg, then, p.turn)
        m1 = s.v[at] + share * (w1 - s.v[at])
        m2 = s.v[at + 1] + share * (w2 - s.v[at + 1])
        m3 = s.v[at + 2] + share * (w3 - s.v[at + 2])
        q1 = then + s.q[at] + span * m1
        q12 = q1 + s.q[at + 1] + span * m2
        q123 = q12 + s.q[at + 2] + span * m3
        ux, uz = goal_x - (p.hip_x + ux), goal_z - (p.hip_z + uz)
        w1, w2 = solve_leg(g, end, q1, q12, q123, ux, uz, goal_turn)
        w3 = goal_turn - w1 - w2
        w1 -= p.turn
    v_des[at], v_des[at + 1], v_des[at + 2] = w1, w2, w3


@inlined
def _turn(g: Any, p: Any, phase: float, tilt: float, turning: float) -> float:
    """Desired angular acceleration of a foot: it follows the heel's rise and comes back flat."""
    h, ahead, command, shape = g.period, g.lookahead, p.command, p.shape
    f = frequency(g, command)
    r0, _, _ = heel_rise(g, shape, phase, command)
    _, r1, _ = heel_rise(g, shape, phase - (0.5 * h - ahead) * f, command)
    _, _, r2 = heel_rise(g, shape, phase + ahead * f, command)
    k = g.swing_rate
    return r2 + 2.0 * k * (r1 - turning) + k * k * (r0 - tilt)


@inlined
def _swing(
    g: Any, p: Any, since: float, x: float, z: float, vx: float, vz: float
) -> tuple[float, float]:
    """Desired acceleration of a swinging sole over the ground, `since` lift-off in cycles.

    x is measured from where the hip would be without its sway, z and both velocities from the
    ground.  The step is planned for the hip's mean speed, its pace, which is the command except
    while it gathers way.  The foot has come forward a little before it comes down: skimming the
    ground, it would stub its toe.
    """
    h, ahead, shape = g.period, g.lookahead, p.shape
    f = frequency(g, p.command)
    before, after = since - (0.5 * h - ahead) * f, since + ahead * f
    length = p.pace / f
    k = g.swing_rate
    span = 1.0 - g.duty - g.landing
    s = min(since / span, 1.0)
    rate = f / span  # ds/dt
    m0, _, _ = stride(shape, s)
    _, m1, _ = stride(shape, before / span)
    _, _, m2 = stride(shape, after / span)
    place = shape[ANKLE_X] + length * (m0 - 0.5 * g.duty - since)
    # Errors at lift-off are taken out smoothly, and a foot that lands is only brought to rest.
    gain = k * k * smooth_step(4.0 * s) * smooth_step(4.0 * (1.0 - s))
    ax = length * rate * rate * m2 + gain * (place - x) + 2.0 * k * (length * rate * m1 - vx)
    span = 1.0 - g.duty
    rate = f / span
    b0, _, _ = lift(shape, since / span)
    _, b1, _ = lift(shape, before / span)
    _, _, b2 = lift(shape, after / span)
    height = b0 + HOVER * smooth_step(4.0 * s)
    az = rate * rate * b2 + k * k * (height - z) + 2.0 * k * (rate * b1 - vz)
    return ax, az
