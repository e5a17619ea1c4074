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
from typing import Annotated

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
    CLOCK,
    CLOCK_AT,
    GROUND,
    GROUND_AT,
    JOINTS,
    KNOWN,
    KNOWN_AT,
    LEG,
    LEGS,
    LEGS_AT,
    LOAD,
    LOAD_AT,
    MEMO,
    PELVIS,
    PELVIS_AT,
    STRIDE,
    STRIDE_AT,
    TORSO,
    UPPER,
    WANTED,
    WANTED_AT,
    Biped,
    Clock,
    Ground,
    Known,
    Load,
    Memo,
    Pelvis,
    Stride,
    Wanted,
)
from dynenvs.agents.experts.humanoid.swing import set_goals
from dynenvs.agents.experts.humanoid.terrain import choose_foothold, feel_ground, look_at_ground
from dynenvs.agents.experts.humanoid.torso import hold_torso
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT, TURN
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import raw, vector
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, Records, StateView, WorldView
from dynenvs.simd.elementary import cos, sin
from dynenvs.simulation.progress import claim, leave

ROOM = LEGS_AT + LEGS * LEG.itemsize  # bytes that the plan's parts and legs take


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
    g: Biped = constants[0]
    clock: Clock = vector(room, CLOCK_AT, 1, CLOCK)[0]
    ground: Ground = vector(room, GROUND_AT, 1, GROUND)[0]
    pelvis: Pelvis = vector(room, PELVIS_AT, 1, PELVIS)[0]
    stride: Stride = vector(room, STRIDE_AT, 1, STRIDE)[0]
    wanted: Wanted = vector(room, WANTED_AT, 1, WANTED)[0]
    known: Known = vector(room, KNOWN_AT, 1, KNOWN)[0]
    load: Load = vector(room, LOAD_AT, 1, LOAD)[0]
    legs = vector(room, LEGS_AT, LEGS, LEG)
    find_legs(w, leg_of_corner, legs, ROOT, JOINTS)
    nu, size = w.header[0].nv - ROOT, observations.shape[1] - CARRIED
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        old = vector(raw(o[size:], 8 * CARRIED), 0, 1, MEMO)[0]
        new = vector(raw(actions[i, nu:], 8 * CARRIED), 0, 1, MEMO)[0]
        _estimate(w, g, clock, ground, pelvis, known, load, legs, o, old, new)
        act_later(w, g, known, old)
        _update_state(w, g, ground, pelvis, legs)
        plan_step(g, clock, pelvis, stride, legs)
        choose_pace(g, clock, stride, old, new)
        if g.scan_x > 0:
            choose_foothold(g, o, clock, ground, stride, legs, old, new)
        place_pressure(g, clock, stride, load, legs)
        desired_accelerations(
            g, o, clock, ground, pelvis, stride, wanted, w.pose[BASE].R, legs, -g.sole[2]
        )
        set_goals(g, o, clock, ground, stride, legs)
        _accelerate(w, g, clock, wanted, load, legs, acc)
        limit_forces(w, g, load, legs, acc)
        find_torques(w, load, legs, acc)
        put_actions(w, ROOT, actions[i, :nu])
        foretell(w, g, ground, known, acc, old, new)
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _estimate(
    w: WorldView,
    g: Biped,
    clock: Clock,
    ground: Ground,
    pelvis: Pelvis,
    known: Known,
    load: Load,
    legs: Records,
    o: Floats,
    old: Memo,
    new: Memo,
) -> None:
    """The state into `w`, from an observation and what the last call carried on."""
    for leg in range(LEGS):
        legs[leg].touches = 1 if o[g.at_foot_contacts + leg] > 0.5 else 0
    read_state(w, g, o, clock)
    ground.rise[0] = ground.rise[1] = 0.0
    if g.scan_x > 0:
        look_at_ground(g, o, ground)
    clock.faster = old.faster
    _read_clock(g, clock, old)
    keep_time(g, clock, legs)
    blend(g, clock, known, legs, o, old, new)
    read_state(w, g, o, clock)
    _read_clock(g, clock, old)
    update_poses(w, w.q, w.pose)
    if g.scan_x > 0:
        feel_ground(g, ground, w, legs, o)
    else:
        rest_on_feet(g, clock, w, legs, o)
    read_state(w, g, o, clock)
    _read_clock(g, clock, old)
    update_poses(w, w.q, w.pose)
    _read_base(w, ground, pelvis)
    find_soles(w, g, pelvis, legs)
    feel_slips(g, clock, known, load, legs, old, new)
    hold_feet(w, clock, legs)
    clock.phase += known.delay * g.period * clock.frequency
    clock.phase -= math.floor(clock.phase)
    keep_time(g, clock, legs)


@inlined
def _read_clock(g: Biped, clock: Clock, old: Memo) -> None:
    """The gait's phase by its own clock."""
    clock.phase += old.ahead
    clock.phase -= math.floor(clock.phase)


@inlined
def _read_base(w: WorldView, ground: Ground, pelvis: Pelvis) -> None:
    """Height, velocity and turning of the base, world axes."""
    R = w.pose[BASE].R
    pelvis.height = w.q[2] - ground.rise[0] * w.q[0] - ground.rise[1] * w.q[1]
    for k in range(3):
        pelvis.speed[k] = w.v[k]
        pelvis.turning[k] = R[k, 0] * w.v[3] + R[k, 1] * w.v[4] + R[k, 2] * w.v[5]


@inlined
def _update_state(w: WorldView, g: Biped, ground: Ground, pelvis: Pelvis, legs: Records) -> None:
    """Equations of motion, centre of mass, angular momentum and soles a little ahead.

    Torques act for the whole period: inertia and bias at its start alone would lag behind.
    """
    integrate(w, w.q, w.v, g.lookahead, w.q_new)
    for i in range(w.header[0].nq):
        w.q[i] = w.q_new[i]
    update_poses(w, w.q, w.pose)
    equations_of_motion(w, w.v, g.period - g.lookahead, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    _read_base(w, ground, pelvis)
    for k in range(3):
        pelvis.center[k] = origin[k] + root.hc[k] / root.mc
    pelvis.center[2] -= ground.rise[0] * pelvis.center[0] + ground.rise[1] * pelvis.center[1]
    angular_momentum(w, pelvis)
    find_soles(w, g, pelvis, legs)
    find_drifts(w, legs)


@inlined
def _accelerate(
    w: WorldView, g: Biped, clock: Clock, wanted: Wanted, load: Load, legs: Records, acc: Floats
) -> None:
    """The desired accelerations of all coordinates, and with them load.force and load.moment."""
    R = w.pose[BASE].R
    for k in range(3):
        acc[k] = wanted.a[k]
        acc[3 + k] = (
            R[0, k] * wanted.alpha[0] + R[1, k] * wanted.alpha[1] + R[2, k] * wanted.alpha[2]
        )
    _swing_arms(w, g, clock, acc)
    hold_torso(w, g, clock, wanted, acc)
    leg_accelerations(w, g, wanted, legs, acc)
    balance(w, g, load, legs, acc)


@inlined
def _swing_arms(w: StateView, g: Biped, clock: Clock, acc: Floats) -> None:
    """Arms hold their pose and swing against the legs."""
    angle = 2.0 * math.pi * clock.phase
    rate = 2.0 * math.pi * clock.frequency
    k = g.posture_rate
    c, d = cos(angle), sin(angle)
    for i in range(TORSO, UPPER):
        j = ROOT + JOINTS * LEGS + i
        size = g.swing[i] * clock.command[0]
        angle_error = g.pose[i] + size * c - w.q[TURN - ROOT + j]
        rate_error = -rate * size * d - w.v[j]
        acc[j] = -rate * rate * size * c + k * k * angle_error + 2.0 * k * rate_error
