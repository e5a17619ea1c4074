"""The quadruped's reference controller: a trot by whole-body inverse dynamics that gives way.

Two diagonal pairs of feet stand in turn.  Which feet stand, the gait clock and the contact flags
say (`contacts.py`); feet that stand are on the ground and do not move, which puts the observed
state right (`estimate.py`).  The base's desired accelerations are those of well damped springs
(`plan.py`), the feet's follow smooth ways (`swing.py`).  Forces on the ground and torques come from
inverse dynamics with slack (`forces.py`): two feet hold the base in five of its six directions;
about the line between them the robot is a pendulum, whose speed across the line the slack leaves
free and the place of the next pair of feet brings back.  What is remembered between calls, the
caller hands on (`memory.py`).

Everything is worked out in a frame below the base that has its heading and stands still; arrays of
the observation are in the order of `envs/legged/quadruped.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from dynenvs.agents.experts.common.memory import open_memory
from dynenvs.agents.experts.common.motion import keep_pace, put_actions
from dynenvs.agents.experts.common.scan import fit_plane
from dynenvs.agents.experts.common.state import (
    BASE,
    angular_momentum,
    read_clock,
    read_state,
)
from dynenvs.agents.experts.quadruped.contacts import keep_time, read_contacts, share_load
from dynenvs.agents.experts.quadruped.estimate import rest_feet, stand_on_feet
from dynenvs.agents.experts.quadruped.forces import bend_legs, track
from dynenvs.agents.experts.quadruped.legs import reach
from dynenvs.agents.experts.quadruped.memory import level, recall, remember, remember_request
from dynenvs.agents.experts.quadruped.plan import (
    carry_base,
    choose_friction,
    plan_step,
)
from dynenvs.agents.experts.quadruped.records import (
    CARRIED,
    JOINTS,
    LEGS,
    MEMO,
    PAIRS,
    TROT,
    Base,
    Clock,
    Ground,
    Leg,
    Load,
    Memo,
    Pairs,
    Seen,
    Trot,
    Wanted,
    open_trot,
)
from dynenvs.agents.experts.quadruped.swing import set_goals, set_places
from dynenvs.agents.experts.quadruped.terrain import choose_footholds, estimate_terrain
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import raw, vector
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Bytes, Floats, Ints, Matrix, Records, WorldView
from dynenvs.simulation.progress import claim, leave


@entry(seconds=14)
def act(
    memory: Annotated[Bytes, 2],
    constants: Annotated[Records, TROT],
    leg_of_feature: Ints,
    observations: Matrix,
    actions: Matrix,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    leg_of_feature: leg of each contact feature that is a foot, else a negative number; the other
    arguments, and what it returns, are those of every expert (`BatchController`).
    """
    w, room = open_memory(memory[thread])
    own = open_trot(w, room)
    g: Trot = constants[0]
    clock, ground, base, stride = own.clock[0], own.ground[0], own.base[0], own.stride[0]
    wanted, load, dual, legs = own.wanted[0], own.load[0], own.dual[0], own.legs
    for f in range(w.header[0].npoints):
        if leg_of_feature[f] >= 0:
            one = legs[leg_of_feature[f]]
            one.feature, one.body = f, w.features[f].body_a
    missed, nu = 0, w.header[0].nv - ROOT
    size = observations.shape[1] - CARRIED
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        o = observations[i]
        old = vector(raw(o[size:], 8 * CARRIED), 0, 1, MEMO)[0]
        new = vector(raw(actions[i, nu:], 8 * CARRIED), 0, 1, MEMO)[0]
        # The state, and which feet stand
        _observe(w, g, o, clock, ground, load, legs, old, new)
        _find_base(w, g, legs, base)
        # How the base is to move, and where feet go
        carry_base(g, clock, ground, base, load, w.pose[BASE].R, stride, wanted)
        wrong = choose_friction(g, clock, base, legs, load)
        passed = g.period * clock.frequency
        new.ahead, new.faster = keep_pace(g.quicker, wrong, passed, clock.ahead, clock.faster)
        plan_step(g, clock, base, legs, stride)
        set_places(g, clock, stride, legs)
        if g.scan_x > 0:
            choose_footholds(g, o, legs, own.costs)
        set_goals(g, o, clock, base, legs)
        # What ground and motors have to do for it
        _look_ahead(w, g, wanted, legs)
        if not track(w, g, wanted, load, legs, dual):
            missed += 1
        remember_request(g, dual, legs, old, new)
        put_actions(w, ROOT, actions[i, :nu])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return missed


@inlined
def _observe(
    w: WorldView,
    g: Trot,
    o: Floats,
    clock: Clock,
    ground: Ground,
    load: Load,
    legs: Sequence[Leg],
    old: Memo,
    new: Memo,
) -> None:
    """The state in a frame on the ground below the base, the standing feet at rest on it."""
    flags = o[g.at_foot_contacts :]
    level(g, old, o)
    read_state(w, g, o)
    read_clock(g, o, clock)
    recall(w, g, o, flags, clock, old, new)
    clock.ahead, clock.faster = old.ahead, old.faster
    keep_time(g, clock)
    read_contacts(g, clock, flags, legs)
    ground.rise[0] = ground.rise[1] = 0.0
    if g.scan_x > 0:
        w.q[2] = fit_plane(g, o, ground)
    update_poses(w, w.q, w.pose)
    if g.scan_x == 0 and stand_on_feet(w, legs):
        update_poses(w, w.q, w.pose)
    for again in range(2):
        for leg in range(LEGS):
            _see_foot(w, g, o, legs[leg])
            reach(w, w.pose, legs[leg], leg, g.singular)
        if again == 0:
            share_load(g, clock, legs, load)
        rest_feet(w, legs)
        if again == 0:
            remember(w, new)
            if clock.delay == 0.0:
                break
            _foretell(w, g, clock.delay, old)


@inlined
def _find_base(w: WorldView, g: Pairs, legs: Sequence[Leg], base: Base) -> None:
    """The equations of motion; base, centre of mass, and the lines between the feet."""
    equations_of_motion(w, w.v, g.period, w.M)
    root, origin = w.body[BASE], w.pose[BASE].p
    base.height = w.q[2]
    for k in range(3):
        base.center[k] = origin[k] + root.hc[k] / root.mc
        base.speed[k] = w.v[k]
        base.turning[k] = root.v[k]
    angular_momentum(w, base)
    for pair in range(PAIRS):
        a, b = legs[g.first[pair]].point, legs[g.second[pair]].point
        x, y = a[0] - b[0], a[1] - b[1]
        length = max(math.sqrt(x * x + y * y), 1e-6)
        base.line[pair, 0], base.line[pair, 1] = x / length, y / length


@inlined
def _foretell(w: WorldView, g: Seen, delay: float, old: Memo) -> None:
    """The state at which torques will act: until then those of the last call do."""
    span, mean = delay * g.period, w.v_next
    for j in range(w.header[0].nv):
        change = span * old.asked[0, j]
        mean[j] = w.v[j] + (1.0 - g.lookahead / g.period) * change
        w.v[j] += change
    integrate(w, w.q, mean, span, w.q_new)
    for i in range(w.header[0].nq):
        w.q[i] = w.q_new[i]
    update_poses(w, w.q, w.pose)


@inlined
def _see_foot(w: WorldView, g: Seen, o: Floats, one: Leg) -> None:
    """The point of a foot that touches, or would touch, and the ground below it."""
    feature = w.features[one.feature]
    pose = w.pose[one.body]
    x, y, z = rotate(pose.R, feature.center)
    one.point[0], one.point[1] = x + pose.p[0], y + pose.p[1]
    one.point[2] = z + pose.p[2]
    if g.scan_x > 0:
        estimate_terrain(w, g, o, w.q[2], one)
    else:
        one.normal[0], one.normal[1], one.normal[2] = 0.0, 0.0, 1.0
        one.point[2] -= feature.radius
        one.gap = one.point[2]


@inlined
def _look_ahead(w: WorldView, g: Seen, wanted: Wanted, legs: Sequence[Leg]) -> None:
    """Jacobians some time ahead, for the velocities after the control period.

    A standing foot's is that of the contact problem, when the last physics step begins; a swinging
    one's is that of the time which the new velocity belongs to.  `w.v_next` is scratch.
    """
    h, mean = g.period, w.v_next
    bend_legs(w, g, wanted, legs)
    for standing in range(2):
        span = 2.0 * g.lookahead if standing == 1 else 0.5 * h + g.lookahead
        share = 0.5 * (h + 0.5 * h - g.lookahead)  # of the accelerations' time, on average
        share = 0.5 * span if standing == 1 else share
        for k in range(3):
            mean[k] = w.v[k] + share * wanted.a[k]
            mean[3 + k] = w.v[3 + k]
        for leg in range(LEGS):
            for k in range(JOINTS):
                j = ROOT + JOINTS * leg + k
                mean[j] = w.v[j] + share * legs[leg].rates[k]
        integrate(w, w.q, mean, span, w.q_new)
        update_poses(w, w.q_new, w.pose_new)
        for leg in range(LEGS):
            if legs[leg].rests == standing:
                reach(w, w.pose_new, legs[leg], leg, g.singular)
