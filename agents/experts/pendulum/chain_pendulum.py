"""The chain pendulum's expert: an arc that leads the tip to its target, by inverse dynamics.

It remembers what it foresees (`chain_estimate.py`), no more.  From an estimate:

1. Where the tip shall go next.  Far from the target: some way round the pivot, nearer to it than
   floor and wall would allow.  In the target's direction: to a point off the surface, the higher
   the further the tip is aside of its target, so that it comes down on the spot.
2. The hinges' angles there.  All but the first are equal, so that the links lie on an arc, bent so
   that the last one points at the surface; that leaves one pose for each place of the tip.
3. Torques by inverse dynamics for joint accelerations a of a critically damped approach, contacts
   left out: as no coordinate is unactuated, M a + bias.  What runs into the surface is stopped
   there; balls that lie on the ground are dragged off it.  So the torques change smoothly with the
   observation: whoever asks what a contact allows gives other torques for gaps of micrometres,
   which no learner can follow.
4. Close to the spot, J^T f of the press is added: hybrid control of position and force (Raibert &
   Craig, Hybrid position/force control of manipulators, J. Dynamic Systems, Measurement, and
   Control 103, 1981), with all of the force along the surface's normal.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import (
    ROOM,
    expert_opener,
    numbers,
    open_memory,
    set_common,
)
from dynenvs.agents.experts.pendulum.chain_estimate import Chain, foretell_chain, push, tip
from dynenvs.agents.experts.pendulum.estimate import (
    blend,
    carried_by,
    carry,
    set_filter,
)
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumTask
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    Matrix,
    ModelView,
    Records,
    StateView,
    WorldView,
)
from dynenvs.simd.elementary import asin, atan2, cos, hypot, sin
from dynenvs.simulation.progress import claim, leave

BANDWIDTH = 12.0  # of the approach to the reference [rad/s]
LEAD = 0.4  # of the reference before the tip, round the pivot: at 2.4 rad/s [rad]
MOST_ERROR = 0.5  # of a hinge's angle that the approach takes notice of [rad]
CLEARANCE = 0.06  # of the tip from floor and wall on its way [m]
STRETCH = 0.95  # of the chain's length that is used on the way
BLOCKED = 0.15  # too far out by this, the tip goes no further round [m]
ASIDE = 0.004  # distance aside of the target at which the tip comes down all the same [m]
RISE = 2.0  # height over the surface for a distance further aside
PRESS = 0.2  # force on the surface, in weights of the chain
PRESS_HEIGHT = 0.003  # over the surface, from which it grows [m]
PRESS_ASIDE = 0.02  # distance aside of the target that it needs [m]
BENT = 1e-8  # of 1 - cos of an arc's half bend: a step of Newton's method that is its last
MOST_STEPS = 50  # of Newton's method; 6 are the most with 2 to 15 links


class Settings(Chain):
    """What the expert knows of its robot."""

    at_hinge_angles: int
    at_hinge_velocities: int
    at_target: int
    press: float  # [N]


SETTINGS = dtype_of(Settings)


class ChainView(ModelView, buffers=ROOM):
    """What a thread of the chain's expert works out."""

    q = numbers("nv", "angles as they are estimated [rad]")
    v = numbers("nv", "velocities as they are estimated [rad/s]")
    q_ref = numbers("nv", "angles to approach [rad]")
    a = numbers("nv", "desired accelerations [rad/s^2]")
    change = numbers("nv", "scratch")


open_chain = expert_opener(ChainView)


@entry(seconds=2)
def act(
    memory: Annotated[Bytes, 2],
    constants: Annotated[Records, SETTINGS],
    table: Floats,
    observations: Matrix,
    actions: Matrix,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    table: empty; the arguments are those of every expert (`BatchController`).  Returns 0: nothing
    is tracked that could be missed.
    """
    w, room = open_memory(memory[thread])
    own, p, n = open_chain(w, room), constants[0], w.header[0].nv
    q, v, q_ref, a = own.q, own.v, own.q_ref, own.a
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        for j in range(n):
            q[j] = observations[i, p.at_hinge_angles + j]
            v[j] = observations[i, p.at_hinge_velocities + j]
        tail = actions[i, n:]
        blend(p, observations[i], tail, q, v)
        for j in range(n):
            w.q[j], w.v[j] = q[j], v[j]
        force_x, force_z = _plan(w, p, observations[i], q_ref)
        for j in range(n):
            error = min(max(q_ref[j] - w.q[j], -MOST_ERROR), MOST_ERROR)
            a[j] = BANDWIDTH * (BANDWIDTH * error - 2.0 * w.v[j])
        _track(w, p, a)
        push(w, w.tau, p, tip(w, p), force_x, force_z)
        for j in range(n):
            limit = w.dofs[j].effort
            w.tau[j] = min(max(w.tau[j], -limit), limit)
            actions[i, j] = w.tau[j] / limit
        foretell_chain(w, p, q, v, own.change)
        carry(tail, q, v)
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _track(w: WorldView, p: Settings, acceleration: Floats) -> None:
    """Torques into `w.tau` [N m] that give the hinges an acceleration, touched by nothing.

    They act for a whole period, so inertia and bias are those in its middle, where damping is the
    mean of the physics steps' ends (Featherstone 2008, equation 3.1).  acceleration: [rad/s^2],
    shape (nv,)
    """
    n = w.header[0].nv
    for j in range(n):
        w.v_next[j] = w.v[j] + p.lookahead * acceleration[j]
    integrate(w, w.q, w.v, p.lookahead, w.q_new)
    update_poses(w, w.q_new, w.pose)
    equations_of_motion(w, w.v_next, 0.0, w.M)
    for j in range(n):
        damping = w.dofs[j].damping * (p.period - 2.0 * p.lookahead)
        w.tau[j] = w.bias[j] + damping * acceleration[j]
        for k in range(j):
            w.tau[j] += w.M[j, k] * acceleration[k]
            w.tau[k] += w.M[j, k] * acceleration[j]
        w.tau[j] += w.M[j, j] * acceleration[j]


@inlined
def _plan(w: StateView, p: Settings, o: Floats, q_ref: Floats) -> tuple[float, float]:
    """Writes the next pose into `q_ref`, from the state and the target of the observation `o`.

    Returns the force to press with (x, z) [N].
    """
    n = w.header[0].nv
    x, z = tip(w, p)
    target_x, target_z = o[p.at_target], o[p.at_target + 1]
    on_wall = target_z > p.radius + 1e-6
    height = p.wall - p.radius - x if on_wall else z - p.radius
    aside = abs(z - target_z) if on_wall else abs(x - target_x)
    off = min(max(RISE * (aside - ASIDE), 0.0), CLEARANCE)
    goal_x = target_x - off if on_wall else target_x
    goal_z = target_z if on_wall else target_z + off
    turn = atan2(goal_x, p.pivot - goal_z)
    # The last link points at the surface: down, or to the right
    if on_wall:
        side = 1.0 if atan2(target_x, p.pivot - target_z) < 0.5 * math.pi else -1.0
    else:
        side = -1.0
    now, out = atan2(x, p.pivot - z), hypot(x, p.pivot - z)
    reach = hypot(goal_x, p.pivot - goal_z)
    if abs(turn - now) > LEAD:
        lead = LEAD if turn > now else -LEAD
        reach = _room(p, n, now + lead)
        turn = now + lead * min(max(1.0 - (out - reach) / BLOCKED, 0.0), 1.0)
    bend_arc(p, n, turn, reach, side, q_ref)
    force = p.press * min(max(1.0 - height / PRESS_HEIGHT, 0.0), 1.0)
    if aside > PRESS_ASIDE:
        force = 0.0
    if on_wall:
        return force, 0.0
    return 0.0, -force


@inlined
def _room(p: Settings, n: int, turn: float) -> float:
    """How far from the pivot the tip may be in a direction, clear of floor and wall [m]."""
    room = STRETCH * n * p.spacing
    down, right = cos(turn), sin(turn)
    if down > 0.0:
        room = min(room, (p.pivot - p.radius - CLEARANCE) / down)
    if right > 0.0:
        room = min(room, (p.wall - p.radius - CLEARANCE) / right)
    return room


@inlined
def bend_arc(p: Settings, n: int, turn: float, reach: float, side: float, q: Floats) -> None:
    """Hinge angles with the tip at a place given by direction [rad] and distance [m] of the pivot.

    n links, each bent by 2 x against the one before, span a chord of spacing sin(n x) / sin(x).
    That is spacing U(cos x), U Chebyshev's polynomial of the second kind of degree n - 1.  Newton's
    method for t = 1 - cos x, from a straight chain: what the chord lacks of n links, n - U(1 - t),
    is steepest there and rises up to a full circle, so t grows to its root and no further.  Where
    the place is out of reach, the chain is straight.
    """
    lacking, t = max(n - reach / p.spacing, 0.0), 0.0
    for _ in range(MOST_STEPS):
        lacks, slope = _shortened(n, t)
        step = (lacking - lacks) / slope
        t += step
        if step <= BENT * t:
            break
    bend = side * 4.0 * asin(math.sqrt(0.5 * t))
    q[0] = turn - 0.5 * (n - 1) * bend
    for j in range(1, n):
        q[j] = bend


@inlined
def _shortened(n: int, t: float) -> tuple[float, float]:
    """By how many links an arc's chord is shorter than n of them, and its slope over t = 1 - cos x.

    U(k) = 2 (1 - t) U(k - 1) - U(k - 2), written for what each lacks, so that little is exact too.
    """
    before, lacks, slope_before, slope = 0.0, 0.0, 0.0, 0.0
    for k in range(1, n):
        chord = k - lacks
        further = 2.0 * lacks - before + 2.0 * t * chord
        steeper = 2.0 * (1.0 - t) * slope - slope_before + 2.0 * chord
        before, lacks, slope_before, slope = lacks, further, slope, steeper
    return lacks, slope


class ChainController(BatchController):
    """Brings the chain pendulum's tip to its target and presses; remembers what it foresees."""

    task_type = ChainPendulumTask
    act = staticmethod(act)
    view = ChainView
    inverse = False

    def know(self, task: ChainPendulumTask) -> Knowledge:
        """The chain's sizes, and how hard it presses."""
        self.carried = carried_by(task)
        settings = np.zeros(1, SETTINGS)
        set_filter(settings, task)
        set_common(settings, task)
        for name in ("spacing", "radius", "pivot", "wall"):
            settings[name] = task.options[name]
        settings["press"] = PRESS * task.options["weight"]
        return Knowledge(task.model, settings, np.zeros(0))
