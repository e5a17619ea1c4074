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

from dynenvs.agents.experts.common.motion import (
    any_slams,
    from_base,
    mean_velocity,
    moment_about,
    price,
    put_actions,
    stop_feet,
)
from dynenvs.agents.experts.common.state import BASE, angular_momentum, read_state
from dynenvs.agents.experts.quadruped.legs import reach
from dynenvs.agents.experts.quadruped.plan import plan_step, share_load, steer
from dynenvs.agents.experts.quadruped.records import JOINTS, LEG, LEGS, PAIRS, PLAN
from dynenvs.agents.experts.quadruped.swing import set_goals, set_places
from dynenvs.agents.experts.quadruped.terrain import MOVES, choose_footholds, feel, look
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
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.memory.views import raw, vector
from dynenvs.simulation.inverse import TRACKED, inverse_world
from dynenvs.simulation.progress import claim, leave

FASTEST = 40.0  # joint velocity that is asked for [rad/s]
STRONGEST = 12.0  # acceleration across the line [m/s^2]
PLAN_BYTES = PLAN.itemsize
COSTS = 2 * MOVES * MOVES
COSTS_AT = 8 * -(-(PLAN_BYTES + LEGS * LEG.itemsize) // 8)
SCRATCH = COSTS + COSTS_AT // 8  # doubles that plan and legs take


@kernel(seconds=14)
def act(
    packed: Bytes,
    models: Bytes,
    gaits: Records,
    feet: Ints,
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

    models: the robot on level ground, a copy for each thread, which puts the ground where its feet
    stand, shape (threads, bytes); observations: shape (n, obs); actions: shape (n, nu).  Each
    thread has a row, a workspace and scratch memory of its own, shapes (threads, bytes) and
    (threads, 3, n), n at least nv, nf and SCRATCH.  Returns how many were not tracked exactly.
    """
    m = open_model(models[thread])
    s, w = open_state(m, rows[thread]), open_workspace(m, buffers[thread])
    v_des, cost = scratch[thread, 0], scratch[thread, 1]
    memory = raw(scratch[thread, 2], 8 * SCRATCH)
    plan, legs = vector(memory, 0, 1, PLAN), vector(memory, PLAN_BYTES, LEGS, LEG)
    costs = vector(memory, COSTS_AT, COSTS, np.float64)
    g, p = gaits[0], plan[0]
    for f in range(m.header[0].npoints):
        if feet[f] >= 0:
            legs[feet[f]].feature, legs[feet[f]].body = f, m.features[f].body_a
    lookahead = 0.5 * (period - timestep)  # where the physics steps take inertia, on average
    missed = 0
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        _observe(m, s, g, o, p)
        _survey(m, s, w, g, o, p, legs, period)
        share_load(g, p, legs)
        if _settle(m, s, w, legs):
            _survey(m, s, w, g, o, p, legs, period)
        steer(g, p, w.pose[BASE].R)
        plan_step(g, p, legs)
        set_places(g, p, legs)
        if g.scan_x > 0:
            choose_footholds(g, o, p, legs, costs)
        set_goals(g, o, p, legs, period, 0.5 * timestep, s.q[2])
        _desire(m, s, w, g, p, legs, period, lookahead, v_des, w.v_next)
        _price(m, g, legs, period, cost)
        status, _ = inverse_world(m, s, w, v_des, period, lookahead, cost)
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
        look(g, s, o, p)


@inlined
def _price(m: ModelView, g: Any, legs: Records, h: float, cost: Floats) -> None:
    """Costs of the feet's impulses: with these two feet carry loads in proportion to their shares.

    What does not stand is left out: it would be given a load that it cannot carry yet.
    """
    for f in range(m.header[0].nf):
        cost[f] = math.inf
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            cost[one.feature] = price(one.share, g.mass, h)


@inlined
def _survey(
    m: ModelView, s: StateView, w: WorkspaceView, g: Any, o: Floats, p: Any, legs: Records, h: float
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
        one = legs[leg]
        feature = m.features[one.feature]
        pose = w.pose[one.body]
        x, y, z = rotate(pose.R, feature.center)
        one.point[0], one.point[1] = x + pose.p[0], y + pose.p[1]
        one.point[2] = z + pose.p[2]
        if g.scan_x > 0:
            feel(m, g, o, p, one, leg, s.q[2])
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
def _settle(m: ModelView, s: StateView, w: WorkspaceView, legs: Records) -> bool:
    """Stop the feet that have just come down; returns whether any joint velocity was changed."""
    changed = any_slams(legs, LEGS, JOINTS)
    if changed:
        reach(m, s, w, legs, 0.0, s.v, True)
        reach(m, s, w, legs, 0.0, s.v, False)
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
) -> None:
    """Desired joint velocities after the period h; `mean` is scratch, shape (nv,).

    A standing foot's Jacobian is that of the contact problem, when the last physics step begins; a
    swinging one's is that of the time which the new velocity belongs to.
    """
    for j in range(m.header[0].nv):
        mean[j] = s.v[j]
    reach(m, s, w, legs, 2.0 * lookahead, mean, True)
    for k in range(3):
        p.chosen[k] = p.a[k]
    for _ in range(3):
        reach(m, s, w, legs, 0.5 * h + lookahead, mean, False)
        _joint_velocities(p, legs, h, v_des)
        mean_velocity(m, s, w, p, h, lookahead, v_des, mean)
    _balance(m, s, w, g, p, legs, h, v_des)
    _joint_velocities(p, legs, h, v_des)
    for j in range(ROOT, m.header[0].nv):
        v_des[j] = min(max(v_des[j], -FASTEST), FASTEST)


@inlined
def _joint_velocities(p: Any, legs: Records, h: float, out: Floats) -> None:
    """Joint velocities that give the feet their goals while the base moves as chosen."""
    for leg in range(LEGS):
        one = legs[leg]
        x, y, z = from_base(p, one, h, 0)
        for k in range(JOINTS):
            row = one.inverse[k]
            out[ROOT + JOINTS * leg + k] = row[0] * x + row[1] * y + row[2] * z


@inlined
def _balance(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    h: float,
    v_des: Floats,
) -> None:
    """The base's acceleration with the part across the line that keeps roll and pitch.

    For either pair, then weighted as the pairs share the load: the ground forces pass smoothly from
    one line to the other.  `v_des` are the joint velocities for p.a.
    """
    base = w.pose[BASE].p
    p.chosen[0] = p.chosen[1] = 0.0
    p.chosen[2] = p.a[2]
    for pair in range(PAIRS):
        if p.weight[pair] > 0.0:
            ux, uy, uz = p.line[pair, 0], p.line[pair, 1], p.ascent[pair]
            foot = legs[g.first[pair]].point
            arm = (base[0] - foot[0], base[1] - foot[1], base[2] - foot[2])
            given, x_slope, y_slope = moment_about(
                m, s, w, p, legs, LEGS, JOINTS, h, v_des, (ux, uy, uz), arm
            )
            ax, ay = p.along[pair, 0], p.along[pair, 1]
            given += x_slope * (ax - p.a[0]) + y_slope * (ay - p.a[1])
            slope = ux * y_slope - uy * x_slope
            amount = 0.0
            if abs(slope) > 1e-9:
                amount = min(max(-given / slope, -STRONGEST), STRONGEST)
            p.chosen[0] += p.weight[pair] * (ax - amount * uy)
            p.chosen[1] += p.weight[pair] * (ay + amount * ux)
