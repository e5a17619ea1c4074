"""The humanoid's reference controller: it walks by inverse dynamics, and gives way.

An estimate of the state (`estimate.py`) that agrees with which feet stand, by the gait clock and
the observation's flags; a plan (`plan.py`) of where the next foot goes and where under the soles
the ground should push.  Feet, base height and attitude, torso and arms have accelerations that
follow from their own goals, by proportional and derivative terms; the base's two horizontal ones
are then what the equations of motion leave: about the desired centre of pressure the ground's
forces have no horizontal moment (`forces.py`, where torques follow in closed form).  So the
swinging limbs' momentum is taken into account as it is, and all of it changes continuously with
what is observed.

What the next observation should be is carried to the next call, and how much soles have slid;
without that, the controller takes what it sees as it is, and the ground for dry.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import put_actions
from dynenvs.agents.experts.common.state import BASE, angular_momentum, read_state
from dynenvs.agents.experts.humanoid.estimate import (
    act_later,
    blend,
    feel_slips,
    foretell,
    hold_feet,
    rest_on_feet,
)
from dynenvs.agents.experts.humanoid.forces import (
    balance,
    find_torques,
    leg_accelerations,
    limit_forces,
)
from dynenvs.agents.experts.humanoid.legs import find_drifts, find_legs, find_soles
from dynenvs.agents.experts.humanoid.plan import (
    choose_pace,
    desired_accelerations,
    keep_time,
    place_pressure,
    plan_step,
)
from dynenvs.agents.experts.humanoid.records import (
    BIPED,
    CARRIED,
    JOINTS,
    LEG,
    LEGS,
    MEMO,
    PLAN,
    TORSO,
    UPPER,
)
from dynenvs.agents.experts.humanoid.swing import set_goals
from dynenvs.agents.experts.humanoid.terrain import choose_foothold, feel_ground, look_at_ground
from dynenvs.agents.experts.humanoid.torso import hold_torso
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, Records, StateView, WorldView
from dynenvs.memory.views import raw, vector
from dynenvs.simd.elementary import cos, sin
from dynenvs.simulation.progress import claim, leave

LEGS_AT = PLAN.itemsize
ROOM = LEGS_AT + LEGS * LEG.itemsize  # bytes that plan and legs take


@entry(seconds=22)
def act(
    memory: Annotated[Bytes, 2],
    constants: Annotated[Records, BIPED],
    leg_of_corner: Ints,
    observations: Matrix,
    actions: Matrix,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    leg_of_corner: leg of each contact feature that is a corner of its sole, else -1; the other
    arguments, and what it returns, are those of every expert (`BatchController`).
    """
    w, acc, room = open_memory(memory[thread])
    plan, legs = vector(room, 0, 1, PLAN), vector(room, LEGS_AT, LEGS, LEG)
    g, p = constants[0], plan[0]
    find_legs(w, leg_of_corner, legs, ROOT, JOINTS)
    nu, size = w.header[0].nv - ROOT, observations.shape[1] - CARRIED
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        old = vector(raw(o[size:], 8 * CARRIED), 0, 1, MEMO)[0]
        new = vector(raw(actions[i, nu:], 8 * CARRIED), 0, 1, MEMO)[0]
        _estimate(w, g, p, legs, o, old, new)
        act_later(w, g, p, old)
        _update_state(w, g, p, legs)
        plan_step(g, p, legs)
        choose_pace(g, p, old, new)
        if g.scan_x > 0:
            choose_foothold(g, o, p, legs, old, new)
        place_pressure(g, p, legs)
        desired_accelerations(g, o, p, w.pose[BASE].R, legs, -g.sole[2])
        set_goals(g, o, p, legs)
        _accelerate(w, g, p, legs, acc)
        limit_forces(w, g, p, legs, acc)
        find_torques(w, p, legs, acc)
        put_actions(w, ROOT, actions[i, :nu])
        foretell(w, g, p, acc, old, new)
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _estimate(w: WorldView, g: Any, p: Any, legs: Records, o: Floats, old: Any, new: Any) -> None:
    """The state into `w`, from an observation and what the last call carried on."""
    nu = w.header[0].nv - ROOT
    for leg in range(LEGS):
        legs[leg].touches = 1 if o[15 + 2 * nu + leg] > 0.5 else 0
    read_state(w, o, p)
    p.rise[0] = p.rise[1] = 0.0
    if g.scan_x > 0:
        look_at_ground(g, o, p)
    p.faster = old.faster
    _read_clock(g, p, old)
    keep_time(g, p, legs)
    blend(g, p, legs, o, old, new)
    read_state(w, o, p)
    _read_clock(g, p, old)
    update_poses(w, w.q, w.pose)
    if g.scan_x > 0:
        feel_ground(g, p, w, legs, o)
    else:
        rest_on_feet(g, p, w, legs, o)
    read_state(w, o, p)
    _read_clock(g, p, old)
    update_poses(w, w.q, w.pose)
    _read_base(w, p)
    find_soles(w, g, p, legs)
    feel_slips(g, p, legs, old, new)
    hold_feet(w, p, legs)
    p.phase += p.delay * g.period * p.frequency
    p.phase -= math.floor(p.phase)
    keep_time(g, p, legs)


@inlined
def _read_clock(g: Any, p: Any, old: Any) -> None:
    """The gait's phase by its own clock."""
    p.phase += old.ahead
    p.phase -= math.floor(p.phase)


@inlined
def _read_base(w: WorldView, p: Any) -> None:
    """Height, velocity and turning of the base, world axes."""
    R = w.pose[BASE].R
    p.height = w.q[2] - p.rise[0] * w.q[0] - p.rise[1] * w.q[1]
    for k in range(3):
        p.speed[k] = w.v[k]
        p.turning[k] = R[k, 0] * w.v[3] + R[k, 1] * w.v[4] + R[k, 2] * w.v[5]


@inlined
def _update_state(w: WorldView, g: Any, p: Any, legs: Records) -> None:
    """Equations of motion, centre of mass, angular momentum and soles a little ahead.

    Torques act for the whole period: inertia and bias at its start alone would lag behind.
    """
    integrate(w, w.q, w.v, g.lookahead, w.q_new)
    for i in range(w.header[0].nq):
        w.q[i] = w.q_new[i]
    update_poses(w, w.q, w.pose)
    equations_of_motion(w, w.v, g.period - g.lookahead, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    _read_base(w, p)
    for k in range(3):
        p.center[k] = origin[k] + root.hc[k] / root.mc
    p.center[2] -= p.rise[0] * p.center[0] + p.rise[1] * p.center[1]
    angular_momentum(w, p)
    find_soles(w, g, p, legs)
    find_drifts(w, legs)


@inlined
def _accelerate(w: WorldView, g: Any, p: Any, legs: Records, acc: Floats) -> None:
    """The desired accelerations of all coordinates, and with them p.force and p.moment."""
    R = w.pose[BASE].R
    for k in range(3):
        acc[k] = p.a[k]
        acc[3 + k] = R[0, k] * p.alpha[0] + R[1, k] * p.alpha[1] + R[2, k] * p.alpha[2]
    _swing_arms(w, g, p, acc)
    hold_torso(w, g, p, acc)
    leg_accelerations(w, g, p, legs, acc)
    balance(w, g, p, legs, acc)


@inlined
def _swing_arms(w: StateView, g: Any, p: Any, acc: Floats) -> None:
    """Arms hold their pose and swing against the legs."""
    angle = 2.0 * math.pi * p.phase
    rate = 2.0 * math.pi * p.frequency
    k = g.posture_rate
    c, d = cos(angle), sin(angle)
    for i in range(TORSO, UPPER):
        j = ROOT + JOINTS * LEGS + i
        size = g.swing[i] * p.command[0]
        angle_error = g.pose[i] + size * c - w.q[TURN - ROOT + j]
        rate_error = -rate * size * d - w.v[j]
        acc[j] = -rate * rate * size * c + k * k * angle_error + 2.0 * k * rate_error
