"""The planar walkers' experts: what they know of their robots.

With its trunk held level a walker follows a planned gait; the humanoid whose torso is free to pitch
keeps its balance as the humanoid in space does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.memory import set_times
from dynenvs.agents.experts.planar import biped, walking
from dynenvs.agents.experts.planar.gait_parameters import (
    humanoid_balance,
    humanoid_gait,
    quadruped_gait,
)
from dynenvs.agents.experts.planar.gait_table import SHAPES
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.planar.planar_humanoid import PlanarHumanoidTask
from dynenvs.envs.planar.planar_quadruped import PlanarQuadrupedTask
from dynenvs.envs.planar.walker import WalkerTask

# Legs and gains of each robot, and the name of its gait's shapes in the table
GAITS: dict[type[WalkerTask], tuple[Callable[[], NDArray[Any]], str]] = {
    PlanarHumanoidTask: (humanoid_gait, "humanoid"),
    PlanarQuadrupedTask: (quadruped_gait, "quadruped"),
}


def planar_humanoid_expert(env: DynEnv | DynVectorEnv) -> BatchController:
    """The planar humanoid's expert: which one, the option `free_pitch` decides."""
    assert isinstance(env.task, PlanarHumanoidTask)
    return BalancingController(env) if env.task.free_pitch else WalkingController(env)


class WalkingController(BatchController):
    """Walks at the commanded speed by inverse dynamics; acts on the observation alone."""

    task_type = tuple(GAITS)
    act = staticmethod(walking.act)

    def know(self, task: PlanarHumanoidTask | PlanarQuadrupedTask) -> Knowledge:
        """Legs, gait and gains, and the leg of each contact feature."""
        make, name = next(known for kind, known in GAITS.items() if isinstance(task, kind))
        gait = make()
        set_times(gait, task)
        gait["root"] = task.root
        for option in ("slow_frequency", "frequency_slope"):
            gait[option] = task.options[option]
        gait["weight"] = 9.81 * task.model.bodies["mass"].sum()
        gait["commands"][0] = [command for command, _ in SHAPES[name]]
        gait["shapes"][0] = [shape for _, shape in SHAPES[name]]
        return Knowledge(task.model, gait, task.foot_of_feature, walking.ROOM)


class BalancingController(BatchController):
    """Walks on two legs in the plane, its torso free to pitch; acts on the observation alone."""

    task_type = PlanarHumanoidTask
    act = staticmethod(biped.act)

    def know(self, task: PlanarHumanoidTask) -> Knowledge:
        """Body, gait and gains, and the leg of each contact feature."""
        body = humanoid_balance()
        set_times(body, task)
        for option in ("slow_frequency", "frequency_slope"):
            body[option] = task.options[option]
        body["mass"] = task.model.bodies["mass"].sum()
        return Knowledge(task.model, body, task.foot_of_feature, biped.ROOM)
