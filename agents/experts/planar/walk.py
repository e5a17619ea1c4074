"""The planar walkers' reference controller: it gives way, and acts on what an observation can tell.

The clock and the contacts say which feet stand; the state is made consistent with them
(`estimate.py`).  Trunk and swinging feet have desired accelerations of low bandwidths; the root's
own rows of the equations of motion say what the ground is to give for them; the standing feet share
it as the clock says, within their friction cones; torques follow by inverse dynamics,
tau = M a + h - J^T f.  All of it changes continuously with the state.

Two legs whose trunk pitches must keep their balance: where they step and push, `capture.py` says;
the hip then accelerates forward as the ground's push there makes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from dynenvs.agents.experts.common.curves import smooth_step
from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import put_actions
from dynenvs.agents.experts.common.state import mass_entry, mass_row
from dynenvs.agents.experts.planar.capture import find_capture, plan_step, press_soles
from dynenvs.agents.experts.planar.estimate import read_observation, stand_on_feet
from dynenvs.agents.experts.planar.gait import decide_stance, hip_height
from dynenvs.agents.experts.planar.limb import (
    joint_accelerations,
    joint_torques,
    move_leg,
    pitch_trunk,
    place_leg,
)
from dynenvs.agents.experts.planar.records import (
    JOINTS,
    WALKER,
    Body,
    Carriage,
    Clock,
    Gait,
    Leg,
    Load,
    Step,
    Trunk,
    Walker,
    Wanted,
    open_walker,
)
from dynenvs.agents.experts.planar.sharing import level_force, share_force
from dynenvs.agents.experts.planar.swing import move_foot
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    Matrix,
    ModelView,
    Records,
    StateView,
    WorkView,
    WorldView,
)
from dynenvs.simulation.progress import claim, leave

PRESSED = 0.08  # phase from which the load goes forward to a foot's toe
BRAKING = 3.0  # acceleration against what disturbs, forward or back, at most [m/s^2]
STRONGEST = 6.0  # acceleration of the trunk up or down that is asked for [m/s^2]
STOP_RATE = 70.0  # at which it is kept [1/s]
MARGIN = 0.02  # from a joint's stops that a swinging leg keeps [rad]
TIPPING = 20.0  # and of its pitch [rad/s^2]
FOLLOWING = 0.5  # of the pace beyond 0 or the command, that steps follow [m/s]
BALANCING = 25.0  # acceleration of the hip that balance asks for, at most [m/s^2]
UNLOADED = 0.1  # by which a leg that carries nothing may be out of reach [m]
SOON = 0.02  # time in which a foot that is too far behind the hip may be lifted [s]


@entry(seconds=8)
def act(
    memory: Annotated[Bytes, 2],
    constants: Annotated[Records, WALKER],
    table: Ints,
    observations: Matrix,
    actions: Matrix,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    table: of no use; the other arguments, and what it returns, are those of every expert
    (`BatchController`).
    """
    w, room = open_memory(memory[thread])
    own = open_walker(w, room)
    g: Walker = constants[0]
    clock, trunk, wanted = own.clock[0], own.trunk[0], own.wanted[0]
    step, load, legs, a = own.step[0], own.load[0], own.legs, own.a
    nu = w.header[0].nv - g.root
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        # The state, and which feet stand
        read_observation(w, g, observations[i], clock, trunk, legs)
        clock.pace = min(max(w.v[0], -FOLLOWING), clock.command + FOLLOWING)
        decide_stance(g, clock, legs, load)
        for leg in range(g.legs):
            _set_point(g, legs[leg])
        stand_on_feet(w, g, trunk, legs)
        clock.pace = min(max(w.v[0], -FOLLOWING), clock.command + FOLLOWING)
        # Where feet go, and how trunk and feet are to move
        if g.balances:
            _plan(w, g, trunk, clock, step, load, legs)
        _move_trunk(w, g, clock, trunk, step, legs, wanted)
        for leg in range(g.legs):
            move_foot(w, g, clock, step, legs[leg])
        if g.balances:
            _balance(w, g, trunk, step, legs, wanted, load, a)
        _set_accelerations(w, g, trunk, wanted, legs, a)
        _remember(w, g, actions[i])
        # The same in the middle of the period, where the trunk gives way
        _look_ahead(w, g, a, trunk, step, legs)
        _set_accelerations(w, g, trunk, wanted, legs, a)
        _ask_ground(w, g, a, load)
        _yield_trunk(g, load, wanted)
        if g.balances:
            _balance(w, g, trunk, step, legs, wanted, load, a)
        _set_accelerations(w, g, trunk, wanted, legs, a)
        # What ground and motors have to do for it
        _ask_ground(w, g, a, load)
        if g.root > ROOT:
            level_force(g, mass_entry(w, ROOT, ROOT), load, legs)
        else:
            share_force(g, load, legs)
        _set_torques(w, g, legs, a)
        put_actions(w, g.root, actions[i, :nu])
        _foresee(w, g, clock, legs, a, actions[i])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _plan(
    w: WorldView,
    g: Walker,
    trunk: Trunk,
    clock: Clock,
    step: Step,
    load: Load,
    legs: Sequence[Leg],
) -> None:
    """Where to step, and where soles push, for balance."""
    update_poses(w, w.q, w.pose)
    equations_of_motion(w, w.v, g.period, w.M)
    find_capture(w, g, step)
    plan_step(g, legs, clock, step)
    press_soles(g, legs, step, load)
    for leg in range(g.legs):
        place_leg(w, g, trunk, leg, legs[leg])
        move_leg(w, g, trunk, leg, legs[leg])


@inlined
def _look_ahead(
    w: WorldView, g: Body, a: Floats, trunk: Trunk, step: Step, legs: Sequence[Leg]
) -> None:
    """The state in the middle of the period, and its equations of motion.

    Torques act for the whole of it: inertia and bias at its start alone would lag behind.
    """
    step.pressure -= g.lookahead * w.v[0]
    for j in range(w.header[0].nv):
        w.q[j] += g.lookahead * w.v[j]
        w.v[j] += g.lookahead * a[j]
    if g.root > ROOT:
        pitch_trunk(trunk, w.q[ROOT], w.v[ROOT])
    for leg in range(g.legs):
        place_leg(w, g, trunk, leg, legs[leg])
        move_leg(w, g, trunk, leg, legs[leg])
    update_poses(w, w.q, w.pose)
    equations_of_motion(w, w.v, g.period - g.lookahead, w.M)


@inlined
def _set_point(g: Gait, one: Leg) -> None:
    """The point of its sole by which a foot stands or is moved."""
    one.rolls = 1 if one.phase > g.roll_start and one.phase < g.roll_end else 0
    if one.phase < g.duty:
        x = (one.phase - PRESSED) / max(g.roll_start - PRESSED, 1e-6)
        one.point = g.press + (g.toe - g.press) * smooth_step(x)
    else:
        one.point = g.press if one.stands and not one.rolls else g.toe


@inlined
def _move_trunk(
    w: StateView,
    g: Carriage,
    clock: Clock,
    trunk: Trunk,
    step: Step,
    legs: Sequence[Leg],
    wanted: Wanted,
) -> None:
    """Its desired accelerations."""
    speed = min(clock.command, _reachable_speed(g, clock, legs))
    ax = g.speed_rate * (speed - w.v[0])
    most = g.acceleration + g.speed_rate * max(-w.v[0], 0.0)
    wanted.ax = min(max(ax, -BRAKING), min(most, BRAKING))
    k = g.height_rate
    length = 2.0 * step.way if g.balances else clock.pace / clock.rate
    height = min(hip_height(g, length), _reachable_height(w, g, legs))
    az = k * k * (height - w.q[1]) - 2.0 * k * w.v[1]
    wanted.az = min(max(az, -STRONGEST), STRONGEST)
    k = g.tilt_rate
    wanted.alpha = min(max(-k * k * trunk.pitch - 2.0 * k * trunk.turn, -TIPPING), TIPPING)


@inlined
def _reachable_speed(g: Carriage, clock: Clock, legs: Sequence[Leg]) -> float:
    """Speed at which no standing leg is overstretched before its lift-off [m/s].

    It binds in the first steps from standing, when the feet are not yet a stance length apart.
    """
    fastest = math.inf
    for leg in range(g.legs):
        one = legs[leg]
        if one.stands and one.phase < g.duty:
            x = one.place[0] - one.hip[0] - one.point
            left = (g.duty - one.phase) / clock.rate
            fastest = min(fastest, (x + g.trail) / (left + SOON))
    return max(fastest, 0.0)


@inlined
def _reachable_height(w: StateView, g: Carriage, legs: Sequence[Leg]) -> float:
    """Height of the hip at which no standing leg is straight, given where its ankle is [m]."""
    highest = math.inf
    for leg in range(g.legs):
        one = legs[leg]
        if one.stands:
            x, z = one.thigh[0] + one.shank[0], one.thigh[1] + one.shank[1]
            room = math.sqrt(max(g.longest * g.longest - x * x, 0.0)) + z
            highest = min(highest, w.q[1] + room + UNLOADED * (1.0 - one.share))
    return highest


@kernel
def _set_accelerations(
    w: StateView, g: Body, trunk: Trunk, wanted: Wanted, legs: Sequence[Leg], a: Floats
) -> None:
    """Of the root and of all joints, for the goals of trunk and feet."""
    a[0], a[1] = wanted.ax, wanted.az
    if g.root > ROOT:
        a[ROOT] = wanted.alpha
    for leg in range(g.legs):
        one, at = legs[leg], g.root + JOINTS * leg
        x, y, z = joint_accelerations(g, trunk, wanted, one, one.goal)
        a[at], a[at + 1], a[at + 2] = x, y, z
        if one.stands == 0:
            _mind_stops(w, at, a)


@inlined
def _mind_stops(w: StateView, at: int, a: Floats) -> None:
    """Bounds on a leg's accelerations with which no joint runs into its stop."""
    k = STOP_RATE
    for j in range(at, at + JOINTS):
        least = k * k * (w.dofs[j].lower + MARGIN - w.q[j]) - 2.0 * k * w.v[j]
        most = k * k * (w.dofs[j].upper - MARGIN - w.q[j]) - 2.0 * k * w.v[j]
        a[j] = max(min(a[j], most), least)


@kernel
def _ask_ground(w: WorkView, g: Body, a: Floats, load: Load) -> None:
    """What the ground is to give: the root's rows of M a + h."""
    for r in range(g.root):
        load.force[r] = mass_row(w, r, a, w.bias[r])


@inlined
def _balance(
    w: WorldView,
    g: Body,
    trunk: Trunk,
    step: Step,
    legs: Sequence[Leg],
    wanted: Wanted,
    load: Load,
    a: Floats,
) -> None:
    """The hip's forward acceleration for which the ground need only push where it should."""
    force = load.force
    wanted.ax = 0.0
    _set_accelerations(w, g, trunk, wanted, legs, a)
    _ask_ground(w, g, a, load)
    rest = force[ROOT] + w.q[1] * force[0] + step.pressure * force[1]
    wanted.ax = 1.0
    _set_accelerations(w, g, trunk, wanted, legs, a)
    _ask_ground(w, g, a, load)
    gained = force[ROOT] + w.q[1] * force[0] + step.pressure * force[1] - rest
    wanted.ax = min(max(-rest / max(gained, 1.0), -BALANCING), BALANCING)


@inlined
def _yield_trunk(g: Carriage, load: Load, wanted: Wanted) -> None:
    """Let the trunk give way to what the swinging legs do, as if nobody held it, in part.

    A hip that went on evenly would take the legs' recoil to the ground.
    """
    mass = g.weight / g.gravity
    wanted.ax -= g.recoil * (load.force[0] / mass - wanted.ax)
    wanted.az -= g.recoil * (load.force[1] / mass - g.gravity - wanted.az)


@inlined
def _set_torques(w: WorkView, g: Body, legs: Sequence[Leg], a: Floats) -> None:
    """tau = M a + h - J^T f, into `w.tau`."""
    for i in range(g.root, w.header[0].nv):
        w.tau[i] = mass_row(w, i, a, w.bias[i])
    for leg in range(g.legs):
        one, at = legs[leg], g.root + JOINTS * leg
        hip, knee, ankle = joint_torques(one, one.force[0], one.force[1])
        w.tau[at] -= hip
        w.tau[at + 1] -= knee
        w.tau[at + 2] -= ankle


@inlined
def _remember(w: StateView, g: Body, row: Floats) -> None:
    """The state and where it goes by itself, behind the actions."""
    nq, nv, h = w.header[0].nq, w.header[0].nv, g.period
    at = nv - g.root
    row[at] = 1.0
    at += 1
    for i in range(nv):
        row[at + i] = w.q[i] + h * w.v[i]
        row[at + nq + i] = w.v[i]


@inlined
def _foresee(
    w: ModelView, g: Gait, clock: Clock, legs: Sequence[Leg], a: Floats, row: Floats
) -> None:
    """What accelerations change of it by the next call; for balance the clock, and who stands."""
    nq, nv, h = w.header[0].nq, w.header[0].nv, g.period
    at = nv - g.root + 1
    for i in range(nv):
        row[at + i] += h * (0.5 * h + g.lag) * a[i]
        row[at + nq + i] += h * a[i]
    if g.balances:
        at += nq + nv
        row[at], row[at + 1] = clock.ahead, clock.faster
        for leg in range(g.legs):
            row[at + 2 + leg] = legs[leg].stands
