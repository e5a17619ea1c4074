"""Where feet touch the ground, how fast they slide there, and the reward terms for a good gait."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.rewards import closeness, smoothness
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.poses import point_velocity, update_poses, update_velocities
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Records, StateView, WorldView
from dynenvs.memory.records import record_type
from dynenvs.model.model import Model
from dynenvs.simd.elementary import hypot, sin

SLIP_SCALE = 0.1  # speed of a standing foot over the ground that leaves exp(-1) [m/s]

# Of a contact candidate of a foot: the point of the foot that touches level ground.  What stands on
# solids has no point of its own: there it is the middle of the underside.
SOLE = record_type(
    [
        ("leg", "i8"),  # negative: of no foot
        ("pair", "i8"),  # 0: due to carry from phase 0 of the gait to 0.5; 1: from there on
        ("body", "i8"),
        ("center", "f8", (3,)),  # in the body's frame [m]
        ("radius", "f8"),  # by which the point is below its centre [m]
    ]
)


def soles(model: Model, foot_of_feature: NDArray[np.int64]) -> NDArray[Any]:
    """SOLE of each contact candidate, shape (nk,); the leg of each is given, shape (nk,)."""
    found: NDArray[Any] = np.zeros(len(foot_of_feature), SOLE)
    found["leg"] = foot_of_feature
    found["pair"] = (foot_of_feature + foot_of_feature // 2) % 2  # left, right; or diagonals
    for f in np.flatnonzero(foot_of_feature >= 0):
        candidate = model.candidates[f]
        geom = model.geoms[candidate["geom_a"]]
        if f < int(model.header.npoints):
            found[f]["center"], found[f]["radius"] = candidate["center"], candidate["radius"]
        else:
            thin = geom.size.min() if geom.type in ("box", "ellipsoid") else geom.size[0]
            found[f]["center"], found[f]["radius"] = geom.position, thin
        found[f]["body"] = candidate["body_a"]
    return found


@inlined
def reward_gait(w: TaskWorld, feet: Records, follows: float) -> float:
    """The terms RHYTHM, SLIP and SMOOTHNESS into the task, worked out where they count; their sum.

    feet: SOLE of each contact candidate; follows: how well the command is followed, up to 1
    """
    t, o = w.task[0], w.options[0]
    t.reward_rhythm = t.reward_slip = t.reward_smoothness = 0.0
    if o.weight_rhythm != 0.0:
        t.reward_rhythm = o.weight_rhythm * follows * rhythm(w.world, feet, t.phase)
    if o.weight_slip != 0.0:
        speed = slip_speed(w.world, feet)
        t.reward_slip = o.weight_slip * follows * closeness(speed, SLIP_SCALE)
    if o.weight_smoothness != 0.0:
        smooth = smoothness(w.action, w.last_action)
        t.reward_smoothness = o.weight_smoothness * follows * smooth
    return float(t.reward_rhythm + t.reward_slip + t.reward_smoothness)


@inlined
def rhythm(w: StateView, feet: Records, phase: float) -> float:
    """1 where the feet that are due to carry do so alone, 0 where others do or none does.

    It asks most in the middle of a swing and nothing where the pairs take over from each other
    (after Siekmann et al., Sim-to-real learning of all common bipedal gaits via periodic reward
    composition, ICRA 2021).

    feet: SOLE of each contact candidate, shape (nk,); phase: of the gait's clock
    """
    load, wrong = 0.0, 0.0
    due = 0 if phase < 0.5 else 1
    for k in range(w.status[0].touched):
        f = w.touched[k]
        if feet[f].leg >= 0:
            load += w.memory[f].impulse[2]
            if feet[f].pair != due:
                wrong += w.memory[f].impulse[2]
    if load <= 0.0:
        return 0.0
    return 1.0 - abs(sin(2.0 * math.pi * phase)) * wrong / load


@inlined
def slip_speed(w: WorldView, feet: Records) -> float:
    """Greatest horizontal speed of the feet's points that carry load [m/s].

    feet: SOLE of each contact candidate, shape (nk,)
    """
    at, velocity = w.rhs, w.v_next  # scratch
    update_poses(w, w.q, w.pose)
    update_velocities(w, w.v)
    fastest = 0.0
    for k in range(w.status[0].touched):
        f = w.touched[k]
        sole = feet[f]
        if sole.leg >= 0 and w.memory[f].impulse[2] > 0.0:
            pose = w.pose[sole.body]
            x, y, z = rotate(pose.R, sole.center)
            at[0], at[1], at[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2] - sole.radius
            point_velocity(w, sole.body, at, velocity)
            fastest = max(fastest, hypot(velocity[0], velocity[1]))
    return fastest
