"""`reference_controller`: the expert that ships with each environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from dynenvs.agents.experts.common.controller import BatchController, Policy
from dynenvs.agents.experts.humanoid.expert import StridingController
from dynenvs.agents.experts.pendulum.chain_pendulum import ChainController
from dynenvs.agents.experts.pendulum.double_pendulum import PendulumController
from dynenvs.agents.experts.planar.expert import WalkingController
from dynenvs.agents.experts.quadruped.any_quadruped import AnyTrottingController
from dynenvs.agents.experts.quadruped.expert import TrottingController
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.legged.any_legged import AnyLeggedTask
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.legged.quadruped import QuadrupedTask
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumTask
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumTask
from dynenvs.envs.planar.planar_humanoid import PlanarHumanoidTask
from dynenvs.envs.planar.planar_quadruped import PlanarQuadrupedTask
from dynenvs.registration import ENVIRONMENTS, spec_of

EXPERTS: dict[type[Task], Callable[[DynEnv | DynVectorEnv], BatchController]] = {
    DoublePendulumTask: PendulumController,
    ChainPendulumTask: ChainController,
    PlanarHumanoidTask: WalkingController,
    PlanarQuadrupedTask: WalkingController,
    AnyLeggedTask: AnyTrottingController,  # before QuadrupedTask, which it is a kind of
    QuadrupedTask: TrottingController,
    HumanoidTask: StridingController,
}


def reference_controller(env: str | gym.Env[Any, Any] | gym.vector.VectorEnv) -> Policy:
    """The expert of an environment.

    Args:
        env: its id, as "dynenvs/PlanarHumanoid-v0", or an environment or vector environment (for
            other options than the default ones).  Predictions for a batch of observations run on
            as many threads as the vector environment has, or as this process may run.

    Raises:
        ValueError: no expert for it, or none that knows its options.
    """
    inner = (gym.make(spec_of(env, "env")) if isinstance(env, str) else env).unwrapped
    if isinstance(inner, DynEnv | DynVectorEnv):
        if inner.task.motors is not None:
            raise ValueError('experts give torques: make the environment with control="torque"')
        for task_type, make in EXPERTS.items():
            if isinstance(inner.task, task_type):
                expert = make(inner)
                expert.expect()
                return expert
    raise ValueError(
        f"no reference controller for {inner}; there is one for each of: {', '.join(ENVIRONMENTS)}"
    )
