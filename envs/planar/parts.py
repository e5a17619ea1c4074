"""What is seen of a planar walker: the parts of its observation, in their order.

Each part is declared (its blocks) beside the kernel that writes it.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.envs.core.blocks import (
    ANGLE_NOISE,
    HEIGHT_NOISE,
    RATE_NOISE,
    SPEED_NOISE,
    TURN_NOISE,
    UPWARD_NOISE,
    Block,
    block,
    symmetric,
)
from dynenvs.envs.core.feet import foot_contacts, gait_phase, write_loads, write_phase
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.records import Part
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats

HEIGHT_BOUND = 3.0  # [m]
ROOT_VELOCITY_BOUND = 15.0  # [m/s]


def _height(task: Any) -> list[Block]:
    above = "of the hip above the ground"
    return [block("height", 0, HEIGHT_BOUND, "m", above, noise=HEIGHT_NOISE)]


@inlined
def _write_height(w: TaskWorld, out: Floats, at: int) -> int:
    out[at] = min(max(w.world.q[1], 0.0), w.options[0].height_bound)
    return at + 1


def _angles(task: Any) -> list[Block]:
    lower, upper = task.model.lower[task.root :], task.model.upper[task.root :]
    return [block("joint angles", lower, upper, "rad", "leg by leg", noise=ANGLE_NOISE)]


@inlined
def _write_angles(w: TaskWorld, out: Floats, at: int) -> int:
    """Within their stops: a joint may stand a rounding error behind one."""
    root, nu = w.options[0].root, w.action.shape[0]
    for i in range(nu):
        dof = w.world.dofs[root + i]
        out[at + i] = min(max(w.world.q[root + i], dof.lower), dof.upper)
    return at + nu


def _velocity(task: Any) -> list[Block]:
    what = "of the hip along x and z"
    return [symmetric("velocity", ROOT_VELOCITY_BOUND, "m/s", what, ROOT, noise=SPEED_NOISE)]


@inlined
def _write_velocity(w: TaskWorld, out: Floats, at: int) -> int:
    bound = w.options[0].root_velocity_bound
    for i in range(ROOT):
        out[at + i] = min(max(w.world.v[i], -bound), bound)
    return at + ROOT


def _rates(task: Any) -> list[Block]:
    turn, nu = task.velocity_bound, task.model.nu
    return [symmetric("joint velocities", turn, "rad/s", "leg by leg", nu, noise=RATE_NOISE)]


@inlined
def _write_rates(w: TaskWorld, out: Floats, at: int) -> int:
    root, bound, nu = w.options[0].root, w.options[0].velocity_bound, w.action.shape[0]
    for i in range(nu):
        out[at + i] = min(max(w.world.v[root + i], -bound), bound)
    return at + nu


def _command(task: Any) -> list[Block]:
    low, high = task.command_range
    return [block("command", low, high, "m/s", "speed forward")]


@inlined
def _write_command(w: TaskWorld, out: Floats, at: int) -> int:
    out[at] = w.task[0].command
    return at + 1


def _pitch(task: Any) -> list[Block]:
    """Where the trunk is free to pitch."""
    if not task.free_pitch:
        return []
    what, turn = "of the trunk, forward", task.velocity_bound
    return [
        symmetric("pitch", math.pi, "rad", what, noise=UPWARD_NOISE),
        symmetric("pitch rate", turn, "rad/s", what, noise=TURN_NOISE),
    ]


@inlined
def _write_pitch(w: TaskWorld, out: Floats, at: int) -> int:
    """Of a trunk that is free to pitch, and its rate."""
    world, o = w.world, w.options[0]
    if o.root == ROOT:
        return at
    turns = math.floor(world.q[ROOT] / (2.0 * math.pi) + 0.5)
    out[at] = min(max(world.q[ROOT] - 2.0 * math.pi * turns, -math.pi), math.pi)
    out[at + 1] = min(max(world.v[ROOT], -o.velocity_bound), o.velocity_bound)
    return at + 2


PARTS = (
    Part(_height, _write_height),
    Part(_angles, _write_angles),
    Part(_velocity, _write_velocity),
    Part(_rates, _write_rates),
    Part(gait_phase, write_phase),
    Part(_command, _write_command),
    Part(_pitch, _write_pitch),
    Part(foot_contacts, write_loads),
)
