"""`reference_controller`: the expert that ships with each environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.controller import BatchController, Policy
from dynenvs.agents.gaits import GAIT
from dynenvs.agents.pendulum import PendulumController
from dynenvs.agents.walking import act
from dynenvs.envs.base import DynEnv
from dynenvs.envs.double_pendulum import DoublePendulumTask
from dynenvs.envs.planar_humanoid import PlanarHumanoidTask
from dynenvs.envs.planar_quadruped import PlanarQuadrupedTask
from dynenvs.envs.robots import planar_humanoid, planar_quadruped
from dynenvs.envs.vector import DynVectorEnv
from dynenvs.envs.walker_env import WalkerTask
from dynenvs.registration import ENVIRONMENTS


def humanoid_gait() -> NDArray[Any]:
    """Parameters of the planar humanoid's walk."""
    gait = np.zeros(1, GAIT)
    g = gait[0]
    g["legs"] = 2
    g["duty"], g["landing"] = 0.575, 0.045
    g["clearance"] = 0.06
    g["hip_height"] = 0.80
    g["reach"] = 0.80
    g["bounce"] = 0.02
    g["ankle_x"] = 0.02
    g["heel_rise"], g["rise_start"], g["rise_end"] = 0.5, 0.575, 0.955
    g["sole_x"], g["sole_z"] = planar_humanoid.TOE, -planar_humanoid.ANKLE
    g["thigh"], g["shank"] = planar_humanoid.THIGH, planar_humanoid.SHANK
    g["offsets"][:2] = 0.0, 0.5
    g["sway"] = 0.06  # four fifths of what would keep the centre of mass at a constant speed
    g["hip_rate"], g["hip_acceleration"] = 15.0, 0.6
    g["height_rate"] = 8.0
    g["swing_rate"] = 20.0
    return gait


def quadruped_gait() -> NDArray[Any]:
    """Parameters of the planar quadruped's trot."""
    gait = np.zeros(1, GAIT)
    g = gait[0]
    length = planar_quadruped.LINKS["metatarsal"][0]
    pitch = float(np.sum(planar_quadruped.STANDING))
    g["legs"] = 4
    g["duty"], g["landing"] = 0.58, 0.06
    g["clearance"] = 0.04
    g["hip_height"] = 0.25
    g["reach"] = 0.29
    g["bounce"] = 0.0
    g["pitch"] = pitch
    g["rise_start"], g["rise_end"] = 1.0, 2.0  # its point feet need not roll off
    g["sole_x"] = -length * np.sin(pitch)
    g["radius"] = planar_quadruped.FOOT_RADIUS
    g["sole_z"] = -length * np.cos(pitch) - planar_quadruped.FOOT_RADIUS
    g["thigh"] = planar_quadruped.LINKS["thigh"][0]
    g["shank"] = planar_quadruped.LINKS["shank"][0]
    g["offsets"][:] = 0.0, 0.5, 0.5, 0.0
    g["hips"][:] = [x for x, _ in planar_quadruped.LEGS.values()]
    g["sway"] = 0.02
    g["hip_rate"], g["hip_acceleration"] = 15.0, 1.5
    g["height_rate"] = 10.0
    g["swing_rate"] = 18.0
    return gait


class WalkingController(BatchController):
    """Walks at the commanded speed by inverse dynamics; acts on the observation alone.

    Args:
        env: the environment, or vector environment, whose observations it will see.
        gait: parameters of its gait, one record of `gaits.GAIT`.
    """

    def __init__(self, env: DynEnv | DynVectorEnv, gait: NDArray[Any]) -> None:
        task = env.task
        assert isinstance(task, WalkerTask)
        self.period = task.dt
        # Where the environment's physics steps take inertia and bias, on average
        self.lookahead = 0.5 * (task.dt - task.timestep)
        self.gait = gait
        gait["slow_frequency"], gait["frequency_slope"] = task.gait
        constants = (gait, task.foot_of_feature, self.period, self.lookahead)
        super().__init__(env, act, constants, scratch=(2, task.model.nv + len(task.model.features)))


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
    if isinstance(inner, DynEnv | DynVectorEnv):
        if isinstance(inner.task, DoublePendulumTask):
            return PendulumController(inner)
        if isinstance(inner.task, PlanarHumanoidTask):
            return WalkingController(inner, humanoid_gait())
        if isinstance(inner.task, PlanarQuadrupedTask):
            return WalkingController(inner, quadruped_gait())
    raise ValueError(
        f"no reference controller for {inner}; there is one for each of: {', '.join(ENVIRONMENTS)}"
    )
