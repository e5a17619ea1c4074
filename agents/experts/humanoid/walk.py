"""The humanoid's reference controller: it walks by inverse dynamics through the contact LCP.

The plan (`plan.py`) says where the next foot goes and where under the soles the ground should
push.  Feet, base height and attitude, torso and arms have accelerations that follow from their own
goals; the base's two horizontal ones are then what the equations of motion leave: about the desired
centre of pressure the ground's forces have no horizontal moment, e^T (M_u a + h_u) = 0 for the
twists e about two axes through it (`_balance`).  So the swinging limbs' momentum is taken into
account as it is.  Joint velocities one control period ahead follow from the base's and the feet's
by the legs' Jacobians, torques from the inverse contact LCP (`dynenvs.simulation.inverse`).
Nothing is remembered between calls.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.motion import (
    any_slams,
    from_base,
    mean_velocity,
    moment_about,
    put_actions,
    stop_feet,
)
from dynenvs.agents.experts.common.state import BASE, angular_momentum, read_state
from dynenvs.agents.experts.humanoid.legs import (
    find_legs,
    find_sole,
    leg_rates,
    price_corners,
    reach,
)
from dynenvs.agents.experts.humanoid.plan import keep_time, place_pressure, plan_step, steer
from dynenvs.agents.experts.humanoid.records import JOINTS, LEG, LEGS, PLAN, UPPER
from dynenvs.agents.experts.humanoid.swing import set_goals
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT, TURN
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
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.memory.views import raw, vector
from dynenvs.simulation.inverse import TRACKED, inverse_world
from dynenvs.simulation.progress import claim, leave

FASTEST = 20.0  # joint velocity that is asked for [rad/s]
STRONGEST = 8.0  # horizontal acceleration of the base [m/s^2]
PLAN_BYTES = PLAN.itemsize
SCRATCH = -(-(PLAN_BYTES + LEGS * LEG.itemsize) // 8)  # doubles that plan and legs take


@kernel(seconds=18)
def act(
    packed: Bytes,
    bodies: Records,
    soles: Ints,
    period: float,
    timestep: float,
    rows: Bytes,
    buffers: Bytes,
    scratch: Floats,
    observations: Floats,
    actions: Floats,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    soles: leg of each feature that is a corner of its sole, else -1; observations: shape (n, obs);
    actions: shape (n, nu).  Each thread has a row, a workspace and scratch memory of its own,
    shapes (threads, bytes) and (threads, 4, n), n at least nv, nf and SCRATCH.  Returns how many
    were not tracked exactly.
    """
    m = open_model(packed)
    s, w = open_state(m, rows[thread]), open_workspace(m, buffers[thread])
    v_des, cost, twist = scratch[thread, 0], scratch[thread, 1], scratch[thread, 3]
    memory = raw(scratch[thread, 2], 8 * SCRATCH)
    plan, legs = vector(memory, 0, 1, PLAN), vector(memory, PLAN_BYTES, LEGS, LEG)
    g, p = bodies[0], plan[0]
    find_legs(m, soles, legs, ROOT, JOINTS)
    lookahead = 0.5 * (period - timestep)  # where the physics steps take inertia, on average
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        read_state(m, s, observations[i], p)
        _survey(m, s, w, g, p, legs, soles, period)
        keep_time(g, p, legs)
        if _settle(m, s, w, g, legs, twist):
            _survey(m, s, w, g, p, legs, soles, period)
        plan_step(g, p, legs)
        place_pressure(g, p, legs)
        steer(g, p, w.pose[BASE].R, legs, -g.sole[2])
        set_goals(g, p, legs, period, 0.5 * timestep)
        _desire(m, s, w, g, p, legs, period, lookahead, v_des, w.v_next, twist)
        price_corners(m, w, g, legs, soles, period, cost)
        status, _ = inverse_world(m, s, w, v_des, period, lookahead, cost)
        if status != TRACKED:
            missed += 1
        put_actions(m, w, ROOT, actions[i])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return missed


@inlined
def _survey(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    soles: Ints,
    h: float,
) -> None:
    """Equations of motion, centre of mass, angular momentum, base and feet of the present state."""
    update_poses(m, s.q, w.pose)
    equations_of_motion(m, s, w, s.v, h, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    p.height = s.q[2]
    for k in range(3):
        p.center[k] = origin[k] + root.hc[k] / root.mc
        p.speed[k] = s.v[k]
        p.turning[k] = root.v[k]
    angular_momentum(m, s, w, p)
    for leg in range(LEGS):
        find_sole(m, w, g, soles, leg, legs[leg])


@inlined
def _settle(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, legs: Records, twist: Floats
) -> bool:
    """Stop the feet that have just come down; returns whether any joint velocity was changed."""
    changed = any_slams(legs, LEGS, JOINTS)
    if changed:
        reach(m, s, w, g, legs, 0.0, s.v, True)
        reach(m, s, w, g, legs, 0.0, s.v, False)
        stop_feet(s, legs, LEGS, JOINTS)
    return changed


@inlined
def _desire(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    h: float,
    lookahead: float,
    v_des: Floats,
    mean: Floats,
    twist: Floats,
) -> None:
    """Desired joint velocities after the period h; `mean` is scratch, shape (nv,).

    A standing foot's Jacobian is that of the contact problem, when the last physics step begins; a
    swinging one's is that of the time which the new velocity belongs to.
    """
    _pose(m, s, g, p, h, v_des)
    for j in range(m.header[0].nv):
        mean[j] = s.v[j]
    reach(m, s, w, g, legs, 2.0 * lookahead, mean, True)
    for k in range(3):
        p.chosen[k] = p.a[k]
    for _ in range(2):
        reach(m, s, w, g, legs, 0.5 * h + lookahead, mean, False)
        _joint_velocities(p, legs, h, twist, v_des)
        mean_velocity(m, s, w, p, h, lookahead, v_des, mean)
    _balance(m, s, w, p, legs, h, v_des)
    _joint_velocities(p, legs, h, twist, v_des)
    for j in range(ROOT, m.header[0].nv):
        v_des[j] = min(max(v_des[j], -FASTEST), FASTEST)


@inlined
def _pose(m: ModelView, s: StateView, g: Any, p: Any, h: float, v_des: Floats) -> None:
    """Torso and arms hold their pose; arms swing against the legs."""
    angle = 2.0 * math.pi * p.phase
    rate = 2.0 * math.pi * p.frequency
    k = g.posture_rate
    c, d = math.cos(angle), math.sin(angle)
    for i in range(UPPER):
        j = ROOT + JOINTS * LEGS + i
        size = g.swing[i] * p.command[0]
        angle_error = g.pose[i] + size * c - s.q[TURN - ROOT + j]
        rate_error = -rate * size * d - s.v[j]
        pull = -rate * rate * size * c + k * k * angle_error + 2.0 * k * rate_error
        v_des[j] = s.v[j] + h * pull


@inlined
def _joint_velocities(p: Any, legs: Records, h: float, twist: Floats, out: Floats) -> None:
    """Joint velocities of the legs that give the soles their goals while the base moves so."""
    for leg in range(LEGS):
        one = legs[leg]
        for k in range(3):
            twist[k] = one.goal[k] - (p.turning[k] + h * p.alpha[k])
        twist[3], twist[4], twist[5] = from_base(p, one, h, 3)
        leg_rates(one, twist, out)


@inlined
def _balance(
    m: ModelView, s: StateView, w: WorkspaceView, p: Any, legs: Records, h: float, v_des: Floats
) -> None:
    """The base's horizontal acceleration for which the ground pushes at p.pressure.

    `v_des` are the joint velocities for p.a.
    """
    base = w.pose[BASE].p
    arm = (base[0] - p.pressure[0], base[1] - p.pressure[1], base[2])
    gx, xx, xy = moment_about(m, s, w, p, legs, LEGS, JOINTS, h, v_des, (1.0, 0.0, 0.0), arm)
    gy, yx, yy = moment_about(m, s, w, p, legs, LEGS, JOINTS, h, v_des, (0.0, 1.0, 0.0), arm)
    determinant = xx * yy - xy * yx
    ax = ay = 0.0
    if abs(determinant) > 1e-9:
        ax, ay = (gy * xy - gx * yy) / determinant, (gx * yx - gy * xx) / determinant
    size = math.sqrt(ax * ax + ay * ay)
    shrink = STRONGEST / max(size, STRONGEST)
    p.chosen[0], p.chosen[1] = p.a[0] + shrink * ax, p.a[1] + shrink * ay
    p.chosen[2] = p.a[2]
