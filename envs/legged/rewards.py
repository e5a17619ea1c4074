"""What robots with a free base earn: the terms of their reward, each a function and a line."""

from __future__ import annotations

import math
from typing import NamedTuple

from dynenvs.envs.core.declared import whole
from dynenvs.envs.core.feet import RHYTHM, SLIP, SMOOTHNESS
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.records import RewardTerm
from dynenvs.envs.core.rewards import closeness, effortless
from dynenvs.envs.legged.outputs import upright
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import StateView

# Errors of speeds that leave exp(-1) of the reward: this share of the command, but no less than the
# robot's own `least_errors`
SPEED_SCALE = 0.4
HEIGHT_SCALE = 0.15  # relative error of the base's height that leaves exp(-1)
TILT_SCALE = 0.2  # sine of its tilt that does


class Measured(NamedTuple):
    """What the terms are made of."""

    gate: float  # how well the command is followed, up to 1


@inlined
def measure(w: TaskWorld) -> Measured:
    """How well the mean speeds of the control step are those that are commanded."""
    t, least = w.task[0], w.options[0].least_errors
    speed = SPEED_SCALE * math.sqrt(t.forward * t.forward + t.sideways * t.sideways)
    follows = closeness(t.forward_speed - t.forward, max(least[0], speed))
    follows *= closeness(t.sideways_speed - t.sideways, max(least[1], speed))
    turning = max(least[2], SPEED_SCALE * abs(t.turning))
    follows *= closeness(t.turning_speed - t.turning, turning)
    return Measured(follows)


@inlined
def posture(w: TaskWorld, measured: Measured) -> float:
    """1 upright and at the standing height."""
    near = closeness(sine_of_tilt(w.world), TILT_SCALE)
    near *= closeness(relative_height(w) - 1.0, HEIGHT_SCALE)
    return near


@inlined
def relative_height(w: TaskWorld) -> float:
    """Height of the base above the ground, over its height when it stands."""
    return (w.world.q[2] - w.task[0].ground) / w.options[0].standing_height


@inlined
def sine_of_tilt(w: StateView) -> float:
    """Sine of the angle between the base's z axis and the vertical."""
    return math.sqrt(max(1.0 - upright(w) * upright(w), 0.0))


TERMS = (
    RewardTerm("velocity", 0.8, "the base moves and turns as commanded", whole),
    RewardTerm("ease", 0.1, "as commanded, and without effort", effortless),
    RewardTerm("posture", 0.1, "as commanded, upright and at the standing height", posture),
    RHYTHM,
    SLIP,
    SMOOTHNESS,
)
