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
from collections.abc import Sequence
from typing import Annotated

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import keep_pace, put_actions
from dynenvs.agents.experts.common.state import (
    BASE,
    angular_momentum,
    place_base,
    read_clock,
    read_state,
)
from dynenvs.agents.experts.humanoid.estimate import (
    act_later,
    blend,
    feel_slips,
    foretell,
    hold_feet,
    rest_on_feet,
)
from dynenvs.agents.experts.humanoid.forces import balance, find_torques, limit_forces
from dynenvs.agents.experts.humanoid.legs import bend_legs, find_drifts, find_legs, find_soles
from dynenvs.agents.experts.humanoid.plan import (
    carry_base,
    keep_time,
    place_pressure,
    plan_step,
)
from dynenvs.agents.experts.humanoid.records import (
    BIPED,
    CARRIED,
    LEGS,
    MEMO,
    Biped,
    Clock,
    Ground,
    Hold,
    Known,
    Leg,
    Memo,
    Pelvis,
    Soles,
    open_biped,
)
from dynenvs.agents.experts.humanoid.roll import choose_roll, plan_rolls
from dynenvs.agents.experts.humanoid.swing import set_goals
from dynenvs.agents.experts.humanoid.terrain import choose_foothold, feel_ground, look_at_ground
from dynenvs.agents.experts.humanoid.torso import follow_base, hold_torso, swing_arms
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import raw, vector
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import entries, put_entries
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, Records, WorldView
from dynenvs.simulation.progress import claim, leave


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
    w, room = open_memory(memory[thread])
    own = open_biped(w, room)
    g: Biped = constants[0]
    clock, ground, pelvis, stride = own.clock[0], own.ground[0], own.pelvis[0], own.stride[0]
    wanted, known, hold = own.wanted[0], own.known[0], own.hold[0]
    press, push, legs, a = own.press[0], own.push[0], own.legs, own.a
    find_legs(w, leg_of_corner, legs)
    nu, size = w.header[0].nv - ROOT, observations.shape[1] - CARRIED
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        old = vector(raw(o[size:], 8 * CARRIED), 0, 1, MEMO)[0]
        new = vector(raw(actions[i, nu:], 8 * CARRIED), 0, 1, MEMO)[0]
        # The state, and which feet stand
        _see(w, g, o, clock, ground, known, legs, old, new)
        _stand(w, g, clock, ground, pelvis, known, hold, legs, old, new)
        act_later(w, g, old, known)
        _look_ahead(w, g, ground, pelvis, legs)
        # Where feet go, and where under the soles the ground is to push
        plan_step(g, clock, pelvis, legs, stride)
        passed = g.period * clock.frequency
        new.ahead, new.faster = keep_pace(g.quicker, stride.moved, passed, old.ahead, clock.faster)
        choose_roll(g, clock, known, stride, old, new)
        if g.scan_x > 0:
            choose_foothold(g, o, clock, ground, legs, stride, old, new)
        place_pressure(g, clock, stride, legs, press)
        # How base, feet, arms and torso are to move
        carry_base(g, o, clock, ground, pelvis, stride, legs, w.pose[BASE].R, wanted)
        set_goals(g, o, clock, ground, stride, legs)
        follow_base(w, wanted, a)
        swing_arms(w, g, clock, a)
        hold_torso(w, g, clock, wanted, a)
        bend_legs(w, g, wanted, legs, a)
        # What the ground and the motors have to do for it
        balance(w, g, press, legs, a, push)
        limit_forces(w, hold, legs, press, push, a)
        find_torques(w, press, push, legs, a)
        put_actions(w, ROOT, actions[i, :nu])
        foretell(w, g, ground, known, a, old, new)
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _see(
    w: WorldView,
    g: Biped,
    o: Floats,
    clock: Clock,
    ground: Ground,
    known: Known,
    legs: Sequence[Leg],
    old: Memo,
    new: Memo,
) -> None:
    """The state, from an observation and what the last call carried on."""
    for leg in range(LEGS):
        legs[leg].touches = 1 if o[g.at_foot_contacts + leg] > 0.5 else 0
    read_clock(g, o, clock)
    clock.phase += old.ahead  # by its own clock
    clock.phase -= math.floor(clock.phase)
    clock.faster = old.faster
    clock.rolls = old.rolls
    ground.rise[0] = ground.rise[1] = 0.0
    if g.scan_x > 0:
        look_at_ground(g, o, ground)
    keep_time(g, clock, legs)
    plan_rolls(g, clock, legs)
    blend(g, clock, legs, o, known, old, new)
    read_state(w, g, o)
    update_poses(w, w.q, w.pose)
    if g.scan_x > 0:
        feel_ground(w, g, o, ground, legs)
    else:
        rest_on_feet(w, g, clock, legs, o)
        place_base(w, g, o)
        update_poses(w, w.q, w.pose)


@inlined
def _stand(
    w: WorldView,
    g: Biped,
    clock: Clock,
    ground: Ground,
    pelvis: Pelvis,
    known: Known,
    hold: Hold,
    legs: Sequence[Leg],
    old: Memo,
    new: Memo,
) -> None:
    """Soles that carry do not move; which ones will when torques act, the clock says."""
    _find_base(w, ground, pelvis)
    find_soles(w, g, pelvis, legs)
    feel_slips(g, clock, known, legs, hold, old, new)
    hold_feet(w, clock, legs)
    clock.phase += known.delay * g.period * clock.frequency
    clock.phase -= math.floor(clock.phase)
    keep_time(g, clock, legs)
    plan_rolls(g, clock, legs)


@inlined
def _find_base(w: WorldView, ground: Ground, pelvis: Pelvis) -> None:
    """Height, velocity and turning of the base, world axes."""
    R = w.pose[BASE].R
    pelvis.height = w.q[2] - ground.rise[0] * w.q[0] - ground.rise[1] * w.q[1]
    put_entries(pelvis.speed, 0, entries(w.v, 0))
    put_entries(pelvis.turning, 0, rotate(R, entries(w.v, 3)))


@inlined
def _look_ahead(
    w: WorldView, g: Soles, ground: Ground, pelvis: Pelvis, legs: Sequence[Leg]
) -> None:
    """Equations of motion, centre of mass, angular momentum and soles a little ahead.

    Torques act for the whole period: inertia and bias at its start alone would lag behind.
    """
    integrate(w, w.q, w.v, g.lookahead, w.q_new)
    for i in range(w.header[0].nq):
        w.q[i] = w.q_new[i]
    update_poses(w, w.q, w.pose)
    equations_of_motion(w, w.v, g.period - g.lookahead, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    _find_base(w, ground, pelvis)
    for k in range(3):
        pelvis.center[k] = origin[k] + root.hc[k] / root.mc
    pelvis.center[2] -= ground.rise[0] * pelvis.center[0] + ground.rise[1] * pelvis.center[1]
    angular_momentum(w, pelvis)
    find_soles(w, g, pelvis, legs)
    find_drifts(w, legs)
