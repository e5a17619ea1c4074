"""What all walkers share: their feet and gait clock as observed, reward terms for a good gait."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.detection.detect import feature_gap
from dynenvs.envs.core.blocks import Block, block, symmetric
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.records import RewardTerm
from dynenvs.envs.core.rewards import closeness, smoothness
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.poses import point_velocity, update_poses, update_velocities
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Matrix, Records, StateView, WorldView
from dynenvs.memory.records import record_type
from dynenvs.model.model import Model
from dynenvs.simd.elementary import cos, hypot, sin

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


def gait_phase(task: Any) -> list[Block]:
    """The gait clock, as a walker's observation has it."""
    return [symmetric("gait phase", 1, "-", "sine and cosine of 2 pi times the phase", 2)]


@inlined
def write_phase(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the gait clock."""
    angle = 2.0 * math.pi * w.task[0].phase
    out[at] = sin(angle)
    out[at + 1] = cos(angle)
    return at + 2


def foot_contacts(task: Any) -> list[Block]:
    """Which feet carry, as a walker's observation has it."""
    return [block("foot contacts", 0, 1, "-", "whether each foot carries load", len(task.legs))]


@inlined
def write_loads(w: TaskWorld, out: Floats, at: int) -> int:
    """Whether each foot carries load, into an observation (`records.Part`); returns where it ends.

    `constants[1]` of the task: number of the leg whose foot a contact candidate is, or negative.
    """
    feet, legs = w.constants[1], w.options[0].legs
    for leg in range(legs):
        out[at + leg] = 0.0
    for k in range(w.world.status[0].touched):
        f = w.world.touched[k]
        if feet[f] >= 0 and w.world.memory[f].impulse[2] > 0.0:
            out[at + feet[f]] = 1.0
    return int(at + legs)


@inlined
def lowest_foot(w: TaskWorld) -> float:
    """Height of the lowest foot over its ground [m], poses taken from the positions."""
    world, feet = w.world, w.constants[1]
    poses = world.pose
    update_poses(world, world.q, poses)
    lowest = math.inf
    for f in range(world.header[0].npoints):
        if feet[f] >= 0:
            lowest = min(lowest, feature_gap(world.features[f], poses))
    return lowest


@inlined
def write_forces(w: TaskWorld, forces: Matrix) -> None:
    """Mean contact force of each leg's foot over the control step [N], shape (legs, 3)."""
    world, o, feet = w.world, w.options[0], w.constants[1]
    period = o.timestep * o.frame_skip
    for leg in range(o.legs):
        forces[leg, 0] = forces[leg, 1] = forces[leg, 2] = 0.0
    for f in range(world.header[0].nk):
        if feet[f] >= 0 and world.memory[f].listed:
            for k in range(3):
                forces[feet[f], k] += world.memory[f].total[k] / period


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


# Terms of all walkers, and only where `reward_weights` asks for them; `constants[2]` of their tasks
# is the SOLE of each contact candidate.


@inlined
def _rhythm(w: TaskWorld, measured: Any) -> float:
    return rhythm(w.world, w.constants[2], w.task[0].phase)


@inlined
def _slip(w: TaskWorld, measured: Any) -> float:
    return closeness(slip_speed(w.world, w.constants[2]), SLIP_SCALE)


@inlined
def _smoothness(w: TaskWorld, measured: Any) -> float:
    return smoothness(w.action, w.last_action)


RHYTHM = RewardTerm(
    "rhythm", 0.0, "as commanded, and each foot unloaded while it is due to swing", _rhythm
)
SLIP = RewardTerm("slip", 0.0, "as commanded, on feet that do not slide", _slip)
SMOOTHNESS = RewardTerm(
    "smoothness", 0.0, "as commanded, with torques that change little", _smoothness
)
