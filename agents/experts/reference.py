"""`reference_controller`: the expert that ships with each environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import BatchController, Policy
from dynenvs.agents.experts.humanoid.parameters import humanoid_biped
from dynenvs.agents.experts.humanoid.walk import SCRATCH as BIPED_SCRATCH
from dynenvs.agents.experts.humanoid.walk import act as stride
from dynenvs.agents.experts.pendulum.chain_pendulum import ChainController
from dynenvs.agents.experts.pendulum.double_pendulum import PendulumController
from dynenvs.agents.experts.planar.biped import SCRATCH as BALANCING_SCRATCH
from dynenvs.agents.experts.planar.biped import act as balance
from dynenvs.agents.experts.planar.gait_parameters import (
    humanoid_balance,
    humanoid_gait,
    quadruped_gait,
)
from dynenvs.agents.experts.planar.gait_table import SHAPES
from dynenvs.agents.experts.planar.gaits import ENTRIES
from dynenvs.agents.experts.planar.walking import act as walk
from dynenvs.agents.experts.quadruped.parameters import quadruped_trot
from dynenvs.agents.experts.quadruped.trot import SCRATCH
from dynenvs.agents.experts.quadruped.trot import act as trot
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.legged.legged import SCAN_SPACING, LeggedTask
from dynenvs.envs.legged.quadruped import QuadrupedTask
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumTask
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumTask
from dynenvs.envs.planar.planar_humanoid import PlanarHumanoidTask
from dynenvs.envs.planar.planar_quadruped import PlanarQuadrupedTask
from dynenvs.envs.planar.walker import WalkerTask
from dynenvs.registration import ENVIRONMENTS


class WalkingController(BatchController):
    """Walks at the commanded speed by inverse dynamics; acts on the observation alone.

    Args:
        env: the environment, or vector environment, whose observations it will see.
        gait: parameters of its gait, one record of `gaits.GAIT`.
        shapes: its gait's shape at each of some commands [m/s].
    """

    def __init__(
        self,
        env: DynEnv | DynVectorEnv,
        gait: NDArray[Any],
        shapes: Sequence[tuple[float, Sequence[float]]],
    ) -> None:
        task = env.task
        assert isinstance(task, WalkerTask)
        self.period = task.dt
        # Where the environment's physics steps take inertia and bias, on average
        self.lookahead = 0.5 * (task.dt - task.timestep)
        self.gait = gait
        gait["root"] = task.root
        for name in ("slow_frequency", "frequency_slope"):
            gait[name] = task.options[name]
        gait["weight"] = 9.81 * task.model.bodies["mass"].sum()
        gait["commands"][0] = [command for command, _ in shapes]
        gait["shapes"][0] = [shape for _, shape in shapes]
        constants = (gait, task.foot_of_feature, self.period, self.lookahead)
        size = max(task.model.nv, len(task.model.features), ENTRIES)
        super().__init__(env, walk, constants, scratch=(3, size))


class BalancingController(BatchController):
    """Walks on two legs in the plane, its torso free to pitch; acts on the observation alone.

    Args:
        env: the environment, or vector environment, whose observations it will see.
        body: body, gait and gains, one record of `biped_records.BIPED`.
    """

    def __init__(self, env: DynEnv | DynVectorEnv, body: NDArray[Any]) -> None:
        task = env.task
        assert isinstance(task, WalkerTask)
        self.body = body
        for name in ("slow_frequency", "frequency_slope"):
            body[name] = task.options[name]
        body["mass"] = task.model.bodies["mass"].sum()
        constants = (body, task.foot_of_feature, task.dt, task.timestep)
        size = max(task.model.nv, len(task.model.features), BALANCING_SCRATCH)
        super().__init__(env, balance, constants, scratch=(3, size))


class TrottingController(BatchController):
    """Trots as commanded by inverse dynamics; acts on the observation alone.

    Of loose objects it knows nothing: what it sees of them comes last, and it does not look.

    Args:
        env: the environment, or vector environment, whose observations it will see.
        gait: legs, gait and gains, one record of `trot_records.TROT`.
    """

    def __init__(self, env: DynEnv | DynVectorEnv, gait: NDArray[Any]) -> None:
        task = env.task
        assert isinstance(task, LeggedTask)
        self.gait = gait
        level = task.level
        gait["mass"] = level.bodies["mass"].sum()
        if task.terrain != "flat":
            gait["scan_x"], gait["scan_y"] = task.scan
            gait["scan_spacing"] = SCAN_SPACING
            gait["scan_at"] = 2 * level.nu + 15 + len(task.legs)
        feet = task.feet_of(level)
        size = max(level.nv, len(level.features), SCRATCH)
        super().__init__(env, trot, (), scratch=(3, size), model=level)
        models = np.tile(level.packed, (self.num_threads, 1))
        self._constants = (models, gait, feet, task.dt, task.timestep)


class StridingController(BatchController):
    """Walks on two legs as commanded by inverse dynamics; acts on the observation alone.

    Of loose objects it knows nothing: what it sees of them comes last, and it does not look.

    Args:
        env: the environment, or vector environment, whose observations it will see.
        body: body, gait and gains, one record of `biped_records.BIPED`.
    """

    def __init__(self, env: DynEnv | DynVectorEnv, body: NDArray[Any]) -> None:
        task = env.task
        assert isinstance(task, LeggedTask)
        self.body = body
        level = task.level
        body["mass"] = level.bodies["mass"].sum()
        features = level.candidates
        corners = features["center"][:, 2] < 0.999 * body["sole"][0, 2]
        soles = np.where(corners, task.feet_of(level), -1)
        constants = (body, soles, task.dt, task.timestep)
        size = max(level.nv, len(features), BIPED_SCRATCH)
        super().__init__(env, stride, constants, scratch=(4, size), model=level)


def reference_controller(env: str | gym.Env[Any, Any] | gym.vector.VectorEnv) -> Policy:
    """The expert of an environment.

    Args:
        env: its id, as "dynenvs/PlanarHumanoid-v0", or an environment or vector environment (for
            other options than the default ones).  Predictions for a batch of observations run on
            as many threads as the vector environment has, or as this process may run.

    Raises:
        ValueError: no expert for it.
    """
    inner = (gym.make(env) if isinstance(env, str) else env).unwrapped
    expert = _expert(inner) if isinstance(inner, DynEnv | DynVectorEnv) else None
    if expert is None:
        raise ValueError(
            f"no reference controller for {inner}; there is one for each of: "
            f"{', '.join(ENVIRONMENTS)}"
        )
    expert.expect()
    return expert


def _expert(env: DynEnv | DynVectorEnv) -> BatchController | None:
    """The expert for an environment's task, or None.

    Raises:
        ValueError: it does not know this task with these options.
    """
    if isinstance(env.task, DoublePendulumTask):
        return PendulumController(env)
    if isinstance(env.task, ChainPendulumTask):
        return ChainController(env)
    if isinstance(env.task, PlanarHumanoidTask):
        if env.task.free_pitch:
            return BalancingController(env, humanoid_balance())
        return WalkingController(env, humanoid_gait(), SHAPES["humanoid"])
    if isinstance(env.task, PlanarQuadrupedTask):
        return WalkingController(env, quadruped_gait(), SHAPES["quadruped"])
    if isinstance(env.task, QuadrupedTask):
        return TrottingController(env, quadruped_trot(env.task.terrain))
    if isinstance(env.task, HumanoidTask):
        if env.task.terrain != "flat":
            raise ValueError(
                f"the humanoid's expert walks on flat ground, not on {env.task.terrain!r}"
            )
        return StridingController(env, humanoid_biped())
    return None
