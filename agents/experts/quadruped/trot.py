"""The quadruped's reference controller: a trot by inverse dynamics through the contact LCP.

Two diagonal pairs of feet stand in turn.  A pair that stands holds the base in five of its six
directions; about the line between its feet the robot is a pendulum.  What is left of the equations
of motion there, e^T (M_u a + h_u) = 0 with the twist e about that line, knows no contact force: it
gives the base's acceleration across the line for which roll and pitch follow their reference
(`_balance`).  The speed across the line then grows as an inverted pendulum's, and the place of the
next pair of feet brings it back (`plan.py`).  Joint velocities one control period ahead follow
from the base's and the feet's by the legs' Jacobians, torques from the inverse contact LCP
(`dynenvs.simulation.inverse`).  Nothing is remembered between calls.

Everything is worked out in a frame below the base that has its heading and stands still; arrays of
the observation are in the order of `envs/legged/quadruped.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import (
    any_slams,
    contact_cost,
    from_base,
    mean_velocity,
    moment_about,
    put_actions,
    stop_feet,
)
from dynenvs.agents.experts.common.state import BASE, angular_momentum, read_state
from dynenvs.agents.experts.quadruped.legs import reach
from dynenvs.agents.experts.quadruped.plan import desired_accelerations, plan_step, share_load
from dynenvs.agents.experts.quadruped.records import JOINTS, LEG, LEGS, PAIRS, PLAN
from dynenvs.agents.experts.quadruped.swing import set_goals, set_places
from dynenvs.agents.experts.quadruped.terrain import (
    MOVES,
    choose_footholds,
    estimate_terrain,
    read_scan,
)
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.poses import point_velocity, update_poses
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

FASTEST = 40.0  # joint velocity that is asked for [rad/s]
STRONGEST = 12.0  # acceleration across the line [m/s^2]
LEGS_AT = PLAN.itemsize
COSTS_AT = LEGS_AT + LEGS * LEG.itemsize
COSTS = 2 * MOVES * MOVES  # numbers that `choose_footholds` computes with
ROOM = COSTS_AT + 8 * COSTS  # bytes that plan, legs and these take


@kernel(seconds=14)
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

    leg_of_feature: leg of each contact feature that is a foot, else a negative number; the other
    arguments, and what it returns, are those of every expert (`BatchController`).  In its copy of
    the model, the robot on level ground, each thread puts the ground where the feet stand.
    """
    m, s, w, v_des, cost, room = open_memory(memory[thread])
    plan, legs = vector(room, 0, 1, PLAN), vector(room, LEGS_AT, LEGS, LEG)
    costs = vector(room, COSTS_AT, COSTS, np.float64)
    g, p = constants[0], plan[0]
    for f in range(m.header[0].npoints):
        if leg_of_feature[f] >= 0:
            one = legs[leg_of_feature[f]]
            one.feature, one.body = f, m.features[f].body_a
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        _observe(m, s, g, o, p)
        _update_state(m, s, w, g, o, p, legs)
        share_load(g, p, legs)
        if _stop_touchdown(m, s, w, g, legs):
            _update_state(m, s, w, g, o, p, legs)
        desired_accelerations(g, p, w.pose[BASE].R)
        plan_step(g, p, legs)
        set_places(g, p, legs)
        if g.scan_x > 0:
            choose_footholds(g, o, p, legs, costs)
        set_goals(g, o, p, legs, s.q[2])
        _desired_velocities(m, s, w, g, p, legs, v_des)
        _set_contact_costs(m, g, legs, cost)
        status, _ = inverse_world(m, s, w, v_des, g.period, g.lookahead, cost)
        if status != TRACKED:
            missed += 1
        put_actions(m, w, ROOT, actions[i])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return missed


@inlined
def _observe(m: ModelView, s: StateView, g: Any, o: Floats, p: Any) -> None:
    """The state, in a frame on the ground below the base."""
    read_state(m, s, o, p)
    p.rise[0] = p.rise[1] = 0.0
    if g.scan_x > 0:
        read_scan(g, s, o, p)


@inlined
def _set_contact_costs(m: ModelView, g: Any, legs: Records, cost: Floats) -> None:
    """Costs of the feet's impulses, by which feet carry loads in proportion to their shares.

    Feet that do not stand are left out by an infinite cost: they would be given a load that they
    cannot carry yet.
    """
    for f in range(m.header[0].nf):
        cost[f] = math.inf
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            cost[one.feature] = contact_cost(one.share, g.mass, g.period)


@inlined
def _update_state(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, o: Floats, p: Any, legs: Records
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
        one = legs[leg]
        feature = m.features[one.feature]
        pose = w.pose[one.body]
        x, y, z = rotate(pose.R, feature.center)
        one.point[0], one.point[1] = x + pose.p[0], y + pose.p[1]
        one.point[2] = z + pose.p[2]
        if g.scan_x > 0:
            estimate_terrain(m, g, o, p, one, leg, s.q[2])
        else:
            one.normal[0], one.normal[1], one.normal[2] = 0.0, 0.0, 1.0
            one.point[2] -= feature.radius
            one.gap = one.point[2]
        point_velocity(m, w, one.body, one.point, one.velocity)
    for pair in range(PAIRS):
        a, b = legs[g.first[pair]].point, legs[g.second[pair]].point
        x, y = a[0] - b[0], a[1] - b[1]
        length = max(math.sqrt(x * x + y * y), 1e-6)
        p.line[pair, 0], p.line[pair, 1] = x / length, y / length
        p.ascent[pair] = (a[2] - b[2]) / length if g.scan_x > 0 else 0.0


@inlined
def _stop_touchdown(m: ModelView, s: StateView, w: WorkspaceView, g: Any, legs: Records) -> bool:
    """Stop the feet that have just come down; returns whether any joint velocity was changed."""
    changed = any_slams(legs, LEGS, JOINTS)
    if changed:
        reach(m, s, w, legs, 0.0, s.v, True, g.singular)
        reach(m, s, w, legs, 0.0, s.v, False, g.singular)
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
    mean = w.v_next
    for j in range(m.header[0].nv):
        mean[j] = s.v[j]
    reach(m, s, w, legs, 2.0 * g.lookahead, mean, True, g.singular)
    for k in range(3):
        p.balanced[k] = p.a[k]
    for _ in range(3):
        reach(m, s, w, legs, 0.5 * g.period + g.lookahead, mean, False, g.singular)
        _joint_velocities(g, p, legs, v_des)
        mean_velocity(m, s, w, g, p, v_des, mean)
    _balance(m, s, w, g, p, legs, v_des)
    _joint_velocities(g, p, legs, v_des)
    for j in range(ROOT, m.header[0].nv):
        v_des[j] = min(max(v_des[j], -FASTEST), FASTEST)


@inlined
def _joint_velocities(g: Any, p: Any, legs: Records, out: Floats) -> None:
    """Joint velocities that give the feet their goals while the base accelerates by p.balanced."""
    for leg in range(LEGS):
        one = legs[leg]
        x, y, z = from_base(p, one, g.period, 0)
        for k in range(JOINTS):
            row = one.inverse[k]
            out[ROOT + JOINTS * leg + k] = row[0] * x + row[1] * y + row[2] * z


@inlined
def _balance(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, p: Any, legs: Records, v_des: Floats
) -> None:
    """The base's acceleration with the part across the line that keeps roll and pitch.

    For either pair, then weighted as the pairs share the load: the ground forces pass smoothly from
    one line to the other.  `v_des` are the joint velocities for p.a.
    """
    base = w.pose[BASE].p
    p.balanced[0] = p.balanced[1] = 0.0
    p.balanced[2] = p.a[2]
    for pair in range(PAIRS):
        if p.weight[pair] > 0.0:
            ux, uy, uz = p.line[pair, 0], p.line[pair, 1], p.ascent[pair]
            foot = legs[g.first[pair]].point
            arm = (base[0] - foot[0], base[1] - foot[1], base[2] - foot[2])
            moment, x_slope, y_slope = moment_about(m, s, w, g, p, legs, v_des, (ux, uy, uz), arm)
            ax, ay = p.along[pair, 0], p.along[pair, 1]
            moment += x_slope * (ax - p.a[0]) + y_slope * (ay - p.a[1])
            slope = ux * y_slope - uy * x_slope
            amount = 0.0
            if abs(slope) > 1e-9:
                amount = min(max(-moment / slope, -STRONGEST), STRONGEST)
            p.balanced[0] += p.weight[pair] * (ax - amount * uy)
            p.balanced[1] += p.weight[pair] * (ay + amount * ux)
