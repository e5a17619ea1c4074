"""The walkers' reference controller: gait, inverse kinematics, inverse dynamics through the LCP.

From one observation: the gait gives where hip and feet should be; their desired accelerations,
with feedback of stated bandwidths, give velocities one control period ahead; each leg's Jacobian
turns them into joint velocities; the inverse contact LCP (`dynenvs.inverse`) turns those into
torques.  Feet on the ground are given exactly the velocity that keeps them there, so that the
prescription is consistent with sticking contact.  Nothing is remembered between calls.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.gaits import (
    frequency,
    heel_rise,
    hip_height,
    lift,
    load_share,
    smooth_step,
    stance_length,
    stride,
)
from dynenvs.compiled import inlined, kernel
from dynenvs.inverse import TRACKED, inverse_world
from dynenvs.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    Records,
    StateView,
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.threads import claim, leave

ROOT = 2  # root coordinates: x and z
UNLOADED = 1e-3  # a foot's share of the load below which its cost grows no further
MARGIN = 0.2  # above its speed for which the hip's sway is planned, up to the command [m/s]
SHARING = 1.0  # weight of the shares against least torque
EVEN = 0.1  # keeps some of it in single support, so that the load stays spread over the sole
LANDING_SPEED = 0.06  # at which a foot comes down from its hover [m/s]
HOVER = 3.5e-3  # height at which a swing ends: to touch down too early would jam the legs [m]
LANDING_TURN = 1.0  # at which a sole turns flat [rad/s]
PRESSING_SPEED = 2e-3  # at which a foot that need not carry yet is held down [m/s]
NEAR = 4e-3  # a foot that has come forward is set down from here [m]


@kernel
def act(
    packed: Bytes,
    gaits: Records,
    feet: Ints,
    period: float,
    lookahead: float,
    rows: Bytes,
    buffers: Bytes,
    scratch: Floats,
    observations: Floats,
    actions: Floats,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    observations: shape (n, obs), as the walker environments give them; actions: shape (n, nu).
    Each thread has a row, a workspace and scratch memory of its own, shapes (threads, bytes) and
    (threads, 2, nv + nf).  Returns how many were not tracked exactly.
    """
    m = open_model(packed)
    s, w = open_state(m, rows[thread]), open_workspace(m, buffers[thread])
    v_des, cost = scratch[thread, 0], scratch[thread, 1]
    missed = 0
    i = claim(progress, 1)
    while i < observations.shape[0]:
        phase, command = _read(m, s, observations[i])
        _desire(m, s, gaits[0], feet, period, lookahead, phase, command, v_des, cost)
        status, _ = inverse_world(m, s, w, v_des, period, lookahead, cost)
        if status != TRACKED:
            missed += 1
        for j in range(m.header[0].nv - ROOT):
            a = w.tau[ROOT + j] / m.dofs[ROOT + j].effort
            actions[i, j] = min(max(a, -1.0), 1.0)
        i = claim(progress, 1)
    leave(progress, thread)
    return missed


@inlined
def _read(m: ModelView, s: StateView, observation: Floats) -> tuple[float, float]:
    """State (with x = 0: the ground is flat) and gait phase, command from an observation."""
    nq, nv = m.header[0].nq, m.header[0].nv
    s.q[0] = 0.0
    for i in range(1, nq):
        s.q[i] = observation[i - 1]
    for i in range(nv):
        s.v[i] = observation[nq - 1 + i]
    for f in range(m.header[0].nf):
        s.memory[f].active = 0  # a cold start: the answer depends on the observation alone
    s.status[0].limits_active = 0
    turn = math.atan2(observation[nq + nv - 1], observation[nq + nv]) / (2.0 * math.pi)
    return turn - math.floor(turn), observation[nq + nv + 1]


@inlined
def _desire(
    m: ModelView,
    s: StateView,
    g: Any,
    feet: Ints,
    h: float,
    ahead: float,
    phase: float,
    command: float,
    v_des: Floats,
    cost: Floats,
) -> None:
    """Desired joint velocities after the period h, and the cost of each foot's impulses.

    Semi-implicit velocities belong to the middle of the physics step before: references of
    velocity are taken h/2 - ahead earlier than those of position, accelerations `ahead` later.
    """
    f = frequency(g, command)
    before, after = phase - (0.5 * h - ahead) * f, phase + ahead * f
    # Hip: forward speed with a bound on its acceleration, height along its curve
    away, sway, push = _sway(g, phase, before, after, min(s.v[0] + MARGIN, command), command)
    speed = min(command, _reachable_speed(s, g, phase, command, away))
    ax = g.hip_rate * (speed + sway - s.v[0])
    ax = min(max(ax, -g.hip_acceleration), g.hip_acceleration) + push
    z, _, _ = hip_height(g, phase, command)
    _, vz, _ = hip_height(g, before, command)
    _, _, az = hip_height(g, after, command)
    k = g.height_rate
    az += k * k * (z - s.q[1]) + 2.0 * k * (vz - s.v[1])
    hip_x, hip_z = s.v[0] + h * ax, s.v[1] + h * az
    for leg in range(g.legs):
        own = phase + g.offsets[leg]
        own -= math.floor(own)
        stands = _leg(s, g, leg, own, h, ahead, command, away, hip_x, hip_z, v_des)
        share = load_share(g, own) if own < g.duty else 0.0
        for f in range(m.header[0].nf):
            if feet[f] == leg:
                # Two feet with these costs carry loads in proportion to their shares.  A swinging
                # foot is left out: prescribed rigidly, one that brushed the ground would jam.
                cost[f] = SHARING * math.sqrt((1.0 - share + EVEN) / (share + UNLOADED))
                if not stands:
                    cost[f] = math.inf


@inlined
def _reachable_speed(s: StateView, g: Any, phase: float, command: float, away: float) -> float:
    """Speed at which no standing leg is overstretched before its lift-off [m/s].

    It binds in the first steps from standing, when the feet are not yet a stance length apart.
    """
    half = 0.5 * stance_length(g, command)
    fastest = math.inf
    for leg in range(g.legs):
        own = phase + g.offsets[leg]
        own -= math.floor(own)
        if own < g.duty:
            at = ROOT + 3 * leg
            q1, q12 = s.q[at], s.q[at] + s.q[at + 1]
            x = -g.thigh * math.sin(q1) - g.shank * math.sin(q12)
            left = (g.duty - own) / frequency(g, command)
            fastest = min(fastest, (x + away - g.ankle_x + 1.35 * half) / (left + 0.02))
    return max(fastest, 0.0)


@inlined
def _sway(
    g: Any, phase: float, before: float, after: float, speed: float, command: float
) -> tuple[float, float, float]:
    """Displacement, velocity and acceleration with which the hip gives way to swinging feet.

    The ground would otherwise have to stop the legs' momentum, through the stance leg's hip.  All
    three are zero in the mean over a cycle.
    """
    f = frequency(g, command)
    span = 1.0 - g.duty - g.landing
    length = max(speed, 0.0) / f
    rate = f / span
    place = -g.legs * length * (0.5 - 0.5 * span - g.landing)
    velocity, acceleration = g.legs * length * f, 0.0
    for leg in range(g.legs):
        now, early, late = phase + g.offsets[leg], before + g.offsets[leg], after + g.offsets[leg]
        now -= math.floor(now)
        early -= math.floor(early)
        late -= math.floor(late)
        place += length * (now - stride(min(max((now - g.duty) / span, 0.0), 1.0))[0])
        velocity -= length * rate * stride(min(max((early - g.duty) / span, 0.0), 1.0))[1]
        acceleration -= length * rate * rate * stride(min(max((late - g.duty) / span, 0.0), 1.0))[2]
    return g.sway * place, g.sway * velocity, g.sway * acceleration


@inlined
def _leg(
    s: StateView,
    g: Any,
    leg: int,
    phase: float,
    h: float,
    ahead: float,
    command: float,
    away: float,
    hip_x: float,
    hip_z: float,
    v_des: Floats,
) -> bool:
    """Desired velocities of a leg's three joints after the period h; whether it should stand."""
    at = ROOT + 3 * leg
    x, z, tilt, vx, vz, turning = _sole(s, g, at)
    stands = phase < g.duty and z < LANDING_SPEED * h  # it is down at the end of the period
    if phase < g.duty or (phase > 1.0 - g.landing and z < NEAR):
        # At rest and flat after the period, by the Jacobian of the contact problem itself; a foot
        # that is still in the air is set down.
        goal_x, goal_z = 0.0, -min(max(z, 0.0) / h, LANDING_SPEED)
        if not stands:  # press lightly, so that a foot that touches stays down
            goal_z -= PRESSING_SPEED
        goal_turn = min(max(-tilt / h, -LANDING_TURN), LANDING_TURN)
        a1, a2 = _solve_leg(s, g, at, 0.0, goal_x - hip_x, goal_z - hip_z, goal_turn)
        v_des[at], v_des[at + 1], v_des[at + 2] = a1, a2, goal_turn - a1 - a2
    else:
        stands = False
        # Accelerations a little ahead, since the Jacobian turns with the leg.
        ax, az = _swing(s, g, phase - g.duty, h, ahead, command, x + away, z, vx, vz)
        turn = _turn(g, phase, h, ahead, command, tilt, turning)
        bx, bz = _centripetal(s, g, at, ahead)
        ux, uz = ax - bx - (hip_x - s.v[0]) / h, az - bz - (hip_z - s.v[1]) / h
        a1, a2 = _solve_leg(s, g, at, ahead, ux, uz, turn)
        v_des[at] = s.v[at] + h * a1
        v_des[at + 1] = s.v[at + 1] + h * a2
        v_des[at + 2] = s.v[at + 2] + h * (turn - a1 - a2)
    return stands


@inlined
def _angles(s: StateView, at: int, ahead: float) -> tuple[float, float, float]:
    """Sums of a leg's angles, hip, to knee, to ankle, a time `ahead` along the velocity."""
    w1, w2, w3 = s.v[at], s.v[at + 1], s.v[at + 2]
    q1 = s.q[at] + ahead * w1
    q12 = q1 + s.q[at + 1] + ahead * w2
    return q1, q12, q12 + s.q[at + 2] + ahead * w3


@inlined
def _sole(s: StateView, g: Any, at: int) -> tuple[float, float, float, float, float, float]:
    """(x from the hip, z above the ground, tilt) of a sole, and their velocities.

    Angles turn backward: knee = hip - thigh (sin q1, cos q1), ankle = knee - shank (sin q12,
    cos q12).  x is where the ankle of a flat foot with this sole would be; velocities are over
    the ground.
    """
    q1, q12, q123 = _angles(s, at, 0.0)
    s1, c1, s12, c12 = math.sin(q1), math.cos(q1), math.sin(q12), math.cos(q12)
    w1 = s.v[at]
    w12 = w1 + s.v[at + 1]
    turning = w12 + s.v[at + 2]
    tilt = q123 - g.pitch
    sole_x, sole_z = _offset(g, tilt)
    x = -g.thigh * s1 - g.shank * s12 + sole_x - g.sole_x
    z = s.q[1] - g.thigh * c1 - g.shank * c12 + sole_z
    vx = s.v[0] - g.thigh * c1 * w1 - g.shank * c12 * w12 + turning * sole_z
    vz = s.v[1] + g.thigh * s1 * w1 + g.shank * s12 * w12 - turning * sole_x
    return x, z, tilt, vx, vz, turning


@inlined
def _offset(g: Any, tilt: float) -> tuple[float, float]:
    """Lowest point of a tilted foot from its ankle: a sphere's lies below its centre."""
    c, s = math.cos(tilt), math.sin(tilt)
    z = g.sole_z + g.radius
    return c * g.sole_x + s * z, c * z - s * g.sole_x - g.radius


@inlined
def _solve_leg(
    s: StateView, g: Any, at: int, ahead: float, ux: float, uz: float, turn: float
) -> tuple[float, float]:
    """Rates of hip and knee that move the sole, hip-relative, at (ux, uz) while it turns."""
    q1, q12, q123 = _angles(s, at, ahead)
    tilt = q123 - g.pitch
    sole_x, sole_z = _offset(g, tilt)
    px, pz = ux - turn * sole_z, uz + turn * sole_x  # of the ankle
    jx2, jz2 = -g.shank * math.cos(q12), g.shank * math.sin(q12)
    jx1, jz1 = -g.thigh * math.cos(q1) + jx2, g.thigh * math.sin(q1) + jz2
    det = jx1 * jz2 - jx2 * jz1
    least = 0.05 * g.thigh * g.shank  # a nearly straight knee
    if abs(det) < least:
        det = least if det > 0.0 else -least
    return (px * jz2 - jx2 * pz) / det, (jx1 * pz - jz1 * px) / det


@inlined
def _centripetal(s: StateView, g: Any, at: int, ahead: float) -> tuple[float, float]:
    """Jdot qd of the sole relative to the hip [m/s^2]."""
    q1, q12, q123 = _angles(s, at, ahead)
    tilt = q123 - g.pitch
    sole_x, sole_z = _offset(g, tilt)
    w1 = s.v[at]
    w12 = w1 + s.v[at + 1]
    w123 = w12 + s.v[at + 2]
    a, b, c = g.thigh * w1 * w1, g.shank * w12 * w12, w123 * w123
    return (
        a * math.sin(q1) + b * math.sin(q12) - c * sole_x,
        a * math.cos(q1) + b * math.cos(q12) - c * sole_z,
    )


@inlined
def _turn(
    g: Any, phase: float, h: float, ahead: float, command: float, tilt: float, turning: float
) -> float:
    """Desired angular acceleration of a foot: it follows the heel's rise and comes back flat."""
    f = frequency(g, command)
    r0, _, _ = heel_rise(g, phase, command)
    _, r1, _ = heel_rise(g, phase - (0.5 * h - ahead) * f, command)
    _, _, r2 = heel_rise(g, phase + ahead * f, command)
    k = g.swing_rate
    return r2 + 2.0 * k * (r1 - turning) + k * k * (r0 - tilt)


@inlined
def _swing(
    state: StateView,
    g: Any,
    since: float,
    h: float,
    ahead: float,
    command: float,
    x: float,
    z: float,
    vx: float,
    vz: float,
) -> tuple[float, float]:
    """Desired acceleration of a swinging sole over the ground, `since` lift-off in cycles.

    x is measured from where the hip would be without its sway, z and both velocities from the
    ground.  The step is planned for the speed that the hip has, which is the command except while
    it gathers way.  The foot has come forward a little before it comes down: skimming the ground,
    it would stub its toe.
    """
    f = frequency(g, command)
    before, after = since - (0.5 * h - ahead) * f, since + ahead * f
    speed = min(max(state.v[0], 0.0), command)
    length = speed / f
    k = g.swing_rate
    span = 1.0 - g.duty - g.landing
    s = min(since / span, 1.0)
    rate = f / span  # ds/dt
    m0, _, _ = stride(s)
    _, m1, _ = stride(min(max(before / span, 0.0), 1.0))
    _, _, m2 = stride(min(after / span, 1.0))
    place = g.ankle_x + length * (m0 - 0.5 * g.duty - since)
    # Errors at lift-off are taken out smoothly, and a foot that lands is only brought to rest.
    gain = k * k * smooth_step(4.0 * s) * smooth_step(4.0 * (1.0 - s))
    ax = length * rate * rate * m2 + gain * (place - x) + 2.0 * k * (length * rate * m1 - vx)
    span = 1.0 - g.duty
    rate = f / span
    b0, _, _ = lift(since / span)
    _, b1, _ = lift(max(before / span, 0.0))
    _, _, b2 = lift(min(after / span, 1.0))
    up = g.clearance
    height = up * b0 + HOVER * smooth_step(4.0 * s)
    az = up * rate * rate * b2 + k * k * (height - z) + 2.0 * k * (up * rate * b1 - vz)
    return ax, az
