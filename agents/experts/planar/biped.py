"""The planar humanoid's reference controller where its torso pitches: it must keep its balance.

The plan is that of the humanoid in space (`biped_plan.py`, `biped_swing.py`), in the plane: the
divergent component of motion says where the next foot goes and where under the soles the ground
should push.  Feet, height and attitude of the torso have accelerations that follow from their own
goals; the hip's forward one is what the equations of motion then leave (`balance.py`).
Joint velocities one control period ahead follow by the legs' Jacobians, torques from the inverse
contact LCP (`dynenvs.simulation.inverse`).  Nothing is remembered between calls.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import any_slams, put_actions, slams
from dynenvs.agents.experts.common.state import mass_entry
from dynenvs.agents.experts.planar.balance import balance
from dynenvs.agents.experts.planar.biped_legs import find_legs, find_sole, set_contact_costs
from dynenvs.agents.experts.planar.biped_plan import (
    desired_accelerations,
    keep_time,
    place_pressure,
    plan_step,
)
from dynenvs.agents.experts.planar.biped_records import LEG, LEGS, PLAN, TWIST
from dynenvs.agents.experts.planar.biped_swing import set_goals
from dynenvs.agents.experts.planar.state import read_state
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.planar.records import ROOT as PITCH  # the coordinate that follows the slides
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
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

ROOT, JOINTS = PITCH + 1, 3  # coordinates of the root and of a leg
ROUNDS = 4  # in which balance and the legs' motion are fitted to each other
FASTEST = 20.0  # joint velocity that is asked for [rad/s]
MARGIN = 0.25  # above its speed for which steps are planned, to the command [m/s]
STRAIGHT = 0.01  # least area between the two levers of a leg: its rates stay finite [m^2]
LEGS_AT = PLAN.itemsize
ROOM = LEGS_AT + LEGS * LEG.itemsize  # bytes that plan and legs take


@kernel
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

    leg_of_corner: leg of each contact feature that belongs to its sole, else a negative number; the
    other arguments, and what it returns, are those of every expert (`BatchController`).
    """
    m, s, w, v_des, cost, room = open_memory(memory[thread])
    plan, legs = vector(room, 0, 1, PLAN), vector(room, LEGS_AT, LEGS, LEG)
    g, p = constants[0], plan[0]
    find_legs(m, leg_of_corner, legs, ROOT, JOINTS)
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        p.phase, p.command[0] = read_state(m, s, ROOT, observations[i])
        p.command[1] = p.command[2] = 0.0
        _update_state(m, s, w, g, p, legs, leg_of_corner)
        keep_time(g, p, legs)
        if _stop_touchdown(m, s, w, g, legs):
            _update_state(m, s, w, g, p, legs, leg_of_corner)
        _gather_way(p)
        plan_step(g, p, legs)
        place_pressure(g, p, legs)
        desired_accelerations(g, p, w.pose[m.dofs[PITCH].body].R, legs, -g.sole[2])
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
    """Equations of motion, centre of mass, angular momentum, hip and feet of the present state.

    The angular momentum is that about the ground below the centre of mass, as a velocity of the
    latter: contact forces do not change it but by where they act.
    """
    update_poses(m, s.q, w.pose)
    equations_of_motion(m, s, w, s.v, g.period, w.M)
    whole = w.body[1]
    p.height = s.q[1]
    p.center[0], p.center[1], p.center[2] = whole.hc[0] / whole.mc, 0.0, whole.hc[2] / whole.mc
    p.speed[0], p.speed[1], p.speed[2] = s.v[0], 0.0, s.v[1]
    p.turning[0], p.turning[1], p.turning[2] = 0.0, s.v[PITCH], 0.0
    x = z = turn = 0.0
    for j in range(m.header[0].nv):
        x += mass_entry(w, j, 0) * s.v[j]
        z += mass_entry(w, j, 1) * s.v[j]
        turn += mass_entry(w, j, PITCH) * s.v[j]
    moment = turn + s.q[1] * x + p.center[0] * z
    p.momentum[0], p.momentum[1] = moment / (whole.mc * max(p.center[2], 0.05)), 0.0
    for leg in range(LEGS):
        one = legs[leg]
        find_sole(m, w, g, leg_of_corner, leg, one)
        one.point[1] = one.yaw = 0.0  # legs side by side are one behind the other here


@inlined
def _gather_way(p: Any) -> None:
    """Plan for a speed that a step or two can reach: the first ones from standing are shorter.

    The mean speed is that of the pendulum which moves as fast now: v / mean = c cosh(w (t - T / 2))
    at the time t of a step T.
    """
    w = math.sqrt(9.81 / max(p.center[2], 0.05))
    half = 0.5 * w * p.step
    growth = half / math.sinh(half) * math.cosh(w * p.since - half)
    p.command[0] = min(p.command[0], max(p.momentum[0] / growth, 0.0) + MARGIN)


@inlined
def _stop_touchdown(m: ModelView, s: StateView, w: WorkspaceView, g: Any, legs: Records) -> bool:
    """Stop the feet that have just come down, as the ground will within a physics step.

    A foot closes its last gap with a speed that is left when it touches; torques that stopped it
    over the whole period would lift it again.  Returns whether any joint velocity was changed.
    """
    changed = any_slams(legs, LEGS, TWIST)
    if changed:
        _reach(m, s, w, g, legs, 0.0, s.v, True)
        _reach(m, s, w, g, legs, 0.0, s.v, False)
        for leg in range(LEGS):
            one = legs[leg]
            if slams(one, TWIST):
                for k in range(JOINTS):
                    row = one.inverse[k]
                    rate = row[0] * one.velocity[1] + row[1] * one.velocity[3]
                    s.v[one.first + k] -= rate + row[2] * one.velocity[5]
    return changed


@kernel
def _reach(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    legs: Records,
    span: float,
    mean: Floats,
    standing: bool,
) -> None:
    """Arms and inverse Jacobians of the standing, or else the swinging legs, a time `span` on.

    Rates of hip, knee and ankle for the sole's turn, way forward and up against the torso.
    """
    integrate(m, s.q, mean, span, w.q_new)
    update_poses(m, w.q_new, w.pose_new)
    hip_x, hip_z = w.q_new[0], w.q_new[1]
    for leg in range(LEGS):
        one = legs[leg]
        if (one.stands != 0) == standing:
            ankle = w.pose_new[one.body]
            knee = w.pose_new[m.dofs[one.first + 1].body].p
            sole_x, _, sole_z = rotate(ankle.R, g.sole)
            long_x, long_z = ankle.p[0] - hip_x, ankle.p[2] - hip_z  # levers of the hip
            x, z = ankle.p[0] - knee[0], ankle.p[2] - knee[2]  # and of the knee
            one.arm[0], one.arm[1], one.arm[2] = long_x + sole_x, 0.0, long_z + sole_z
            area = long_x * z - long_z * x
            area = math.copysign(max(abs(area), STRAIGHT), area)
            a, b, c = one.inverse[0], one.inverse[1], one.inverse[2]
            a[1], a[2] = -x / area, -z / area
            b[1], b[2] = long_x / area, long_z / area
            a[0] = a[2] * sole_x - a[1] * sole_z
            b[0] = b[2] * sole_x - b[1] * sole_z
            c[0], c[1], c[2] = 1.0 - a[0] - b[0], -a[1] - b[1], -a[2] - b[2]


@inlined
def _desired_velocities(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, p: Any, legs: Records, v_des: Floats
) -> None:
    """Desired joint velocities after the control period; `w.v_next` is scratch.

    A standing foot's Jacobian is that of the contact problem, when the last physics step begins; a
    swinging one's is that of the time which the new velocity belongs to.
    """
    h, lookahead, mean = g.period, g.lookahead, w.v_next
    for j in range(m.header[0].nv):
        mean[j] = s.v[j]
    _reach(m, s, w, g, legs, 2.0 * lookahead, mean, True)
    span = 0.5 * h + lookahead
    share = 0.5 * (h + 0.5 * h - lookahead) / h  # of the change of velocity, in the mean over it
    v_des[0], v_des[1] = s.v[0] + h * p.a[0], s.v[1] + h * p.a[2]
    v_des[PITCH] = s.v[PITCH] + h * p.alpha[1]
    for i in range(ROUNDS):
        _reach(m, s, w, g, legs, span, mean, False)
        _joint_velocities(legs, v_des)
        if i + 1 < ROUNDS:
            push = balance(m, s, w, p.pressure[0], p.pressure[0], h, v_des)
            v_des[0] += h * push
            for j in range(m.header[0].nv):
                mean[j] = s.v[j] + share * (v_des[j] - s.v[j])
    for j in range(ROOT, m.header[0].nv):
        v_des[j] = min(max(v_des[j], -FASTEST), FASTEST)


@inlined
def _joint_velocities(legs: Records, v_des: Floats) -> None:
    """Joint velocities that give the soles their goals while the root moves as desired."""
    for leg in range(LEGS):
        one = legs[leg]
        turn = one.goal[1] - v_des[PITCH]
        x = one.goal[3] - v_des[0] - v_des[PITCH] * one.arm[2]
        z = one.goal[5] - v_des[1] + v_des[PITCH] * one.arm[0]
        for k in range(JOINTS):
            row = one.inverse[k]
            v_des[one.first + k] = row[0] * turn + row[1] * x + row[2] * z
