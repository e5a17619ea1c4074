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

from dynenvs.agents.experts.common.memory import open_memory
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
    reach,
    set_contact_costs,
)
from dynenvs.agents.experts.humanoid.plan import (
    desired_accelerations,
    keep_time,
    place_pressure,
    plan_step,
)
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
)
from dynenvs.memory.views import vector
from dynenvs.simulation.inverse import TRACKED, inverse_world
from dynenvs.simulation.progress import claim, leave

FASTEST = 20.0  # joint velocity that is asked for [rad/s]
STRONGEST = 8.0  # horizontal acceleration of the base [m/s^2]
LEGS_AT = PLAN.itemsize
ROOM = LEGS_AT + LEGS * LEG.itemsize  # bytes that plan and legs take


@kernel(seconds=18)
def act(
    memory: Bytes,
    constants: Records,
    leg_of_corner: Ints,
    observations: Floats,
    actions: Floats,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    leg_of_corner: leg of each contact feature that is a corner of its sole, else -1; the other
    arguments, and what it returns, are those of every expert (`BatchController`).
    """
    m, s, w, v_des, cost, room = open_memory(memory[thread])
    plan, legs = vector(room, 0, 1, PLAN), vector(room, LEGS_AT, LEGS, LEG)
    g, p = constants[0], plan[0]
    find_legs(m, leg_of_corner, legs, ROOT, JOINTS)
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        read_state(m, s, observations[i], p)
        _update_state(m, s, w, g, p, legs, leg_of_corner)
        keep_time(g, p, legs)
        if _stop_touchdown(m, s, w, g, legs):
            _update_state(m, s, w, g, p, legs, leg_of_corner)
        plan_step(g, p, legs)
        place_pressure(g, p, legs)
        desired_accelerations(g, p, w.pose[BASE].R, legs, -g.sole[2])
        set_goals(g, p, legs)
        _desired_velocities(m, s, w, g, p, legs, v_des)
        set_contact_costs(m, w, g, legs, leg_of_corner, cost)
        status, _ = inverse_world(m, s, w, v_des, g.period, g.lookahead, cost)
        if status != TRACKED:
            missed += 1
        put_actions(m, w, ROOT, actions[i])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return missed


@inlined
def _update_state(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    leg_of_corner: Ints,
) -> None:
    """Equations of motion, centre of mass, angular momentum, base and feet of the present state."""
    update_poses(m, s.q, w.pose)
    equations_of_motion(m, s, w, s.v, g.period, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    p.height = s.q[2]
    for k in range(3):
        p.center[k] = origin[k] + root.hc[k] / root.mc
        p.speed[k] = s.v[k]
        p.turning[k] = root.v[k]
    angular_momentum(m, s, w, p)
    for leg in range(LEGS):
        find_sole(m, w, g, leg_of_corner, leg, legs[leg])


@inlined
def _stop_touchdown(m: ModelView, s: StateView, w: WorkspaceView, g: Any, legs: Records) -> bool:
    """Stop the feet that have just come down; returns whether any joint velocity was changed."""
    changed = any_slams(legs, LEGS, JOINTS)
    if changed:
        reach(m, s, w, g, legs, 0.0, s.v, True)
        reach(m, s, w, g, legs, 0.0, s.v, False)
        stop_feet(s, legs, LEGS, JOINTS)
    return changed


@inlined
def _desired_velocities(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, p: Any, legs: Records, v_des: Floats
) -> None:
    """Desired joint velocities after the control period; `w.v_next` is scratch.

    A standing foot's Jacobian is that of the contact problem, when the last physics step begins; a
    swinging one's is that of the time which the new velocity belongs to.
    """
    _pose(m, s, g, p, v_des)
    mean = w.v_next
    for j in range(m.header[0].nv):
        mean[j] = s.v[j]
    reach(m, s, w, g, legs, 2.0 * g.lookahead, mean, True)
    for k in range(3):
        p.balanced[k] = p.a[k]
    for _ in range(2):
        reach(m, s, w, g, legs, 0.5 * g.period + g.lookahead, mean, False)
        _joint_velocities(g, p, legs, v_des)
        mean_velocity(m, s, w, g, p, v_des, mean)
    _balance(m, s, w, g, p, legs, v_des)
    _joint_velocities(g, p, legs, v_des)
    for j in range(ROOT, m.header[0].nv):
        v_des[j] = min(max(v_des[j], -FASTEST), FASTEST)


@inlined
def _pose(m: ModelView, s: StateView, g: Any, p: Any, v_des: Floats) -> None:
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
        v_des[j] = s.v[j] + g.period * pull


@inlined
def _joint_velocities(g: Any, p: Any, legs: Records, out: Floats) -> None:
    """Joint velocities of the legs that give the soles their goals while the base moves so."""
    h = g.period
    for leg in range(LEGS):
        one = legs[leg]
        for k in range(3):
            one.twist[k] = one.goal[k] - (p.turning[k] + h * p.alpha[k])
        one.twist[3], one.twist[4], one.twist[5] = from_base(p, one, h, 3)
        leg_rates(one, out)


@inlined
def _balance(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, p: Any, legs: Records, v_des: Floats
) -> None:
    """The base's horizontal acceleration for which the ground pushes at p.pressure.

    `v_des` are the joint velocities for p.a.
    """
    base = w.pose[BASE].p
    arm = (base[0] - p.pressure[0], base[1] - p.pressure[1], base[2])
    gx, xx, xy = moment_about(m, s, w, g, p, legs, v_des, (1.0, 0.0, 0.0), arm)
    gy, yx, yy = moment_about(m, s, w, g, p, legs, v_des, (0.0, 1.0, 0.0), arm)
    determinant = xx * yy - xy * yx
    ax = ay = 0.0
    if abs(determinant) > 1e-9:
        ax, ay = (gy * xy - gx * yy) / determinant, (gx * yx - gy * xx) / determinant
    size = math.sqrt(ax * ax + ay * ay)
    shrink = STRONGEST / max(size, STRONGEST)
    p.balanced[0], p.balanced[1] = p.a[0] + shrink * ax, p.a[1] + shrink * ay
    p.balanced[2] = p.a[2]
