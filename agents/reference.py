"""`reference_controller`: the expert that ships with each environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.gait_table import SHAPES
from dynenvs.agents.gaits import ENTRIES
from dynenvs.agents.pendulum import PendulumController
from dynenvs.agents.walkers import humanoid_gait, quadruped_gait
from dynenvs.agents.walking import act
from dynenvs.envs.double_pendulum import DoublePendulumEnv
from dynenvs.envs.planar_humanoid import PlanarHumanoidEnv
from dynenvs.envs.planar_quadruped import PlanarQuadrupedEnv
from dynenvs.envs.walker_env import PlanarWalker
from dynenvs.layout import Floats
from dynenvs.registration import ENVIRONMENTS

Action = NDArray[np.float32]


class Policy(Protocol):
    """stable-baselines3's policy protocol."""

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Action for one observation, or actions for a batch of them, and the unchanged state."""
        ...


class WalkingController:
    """Walks at the commanded speed by inverse dynamics; acts on the observation alone.

    Args:
        env: the (unwrapped) environment whose observations it will see.
        gait: parameters of its gait, one record of `gaits.GAIT`.
        shapes: its gait's shape at each of some commands [m/s].
    """

    def __init__(
        self, env: PlanarWalker, gait: NDArray[Any], shapes: Sequence[tuple[float, Sequence[float]]]
    ) -> None:
        self.model = env.model
        self.period = env.dt
        # Where the environment's physics steps take inertia and bias, on average
        self.lookahead = 0.5 * (env.dt - env.timestep)
        self.gait = gait
        gait["slow_frequency"], gait["frequency_slope"] = env.gait
        gait["weight"] = 9.81 * env.model.bodies["mass"].sum()
        gait["commands"][0] = [command for command, _ in shapes]
        gait["shapes"][0] = [shape for _, shape in shapes]
        self._feet = env.foot_of_feature
        self._size = len(env.observation_space.low)
        self._row = self.model.states(1).view(np.uint8)
        self._buffer = self.model.workspace()
        self._scratch = np.zeros((3, max(self.model.nv, len(self.model.features), ENTRIES)))
        self.missed = 0  # predictions whose desired motion the ground could not give

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions in [-1, 1] for one observation, shape (obs,), or a batch, shape (n, obs)."""
        array = np.array(observation, dtype=np.float64)
        batch = np.atleast_2d(array)
        if array.ndim > 2 or batch.shape[1] != self._size:
            raise ValueError(
                f"observation must have shape ({self._size},) or (n, {self._size}), "
                f"got {array.shape}"
            )
        if not np.isfinite(batch).all():
            raise ValueError("observation must be finite")
        actions = np.zeros((len(batch), self.model.nu))
        self.missed += act(
            self.model.packed,
            self._row,
            self._buffer,
            self.gait,
            self._feet,
            self._scratch,
            self.period,
            self.lookahead,
            batch,
            actions,
        )
        result = actions.astype(np.float32)
        return (result if array.ndim == 2 else result[0]), state


def reference_controller(env: str | gym.Env[Any, Any]) -> Policy:
    """The expert of an environment.

    Args:
        env: its id, as "dynenvs/PlanarHumanoid-v0", or an environment (for other options than
            the default ones).

    Raises:
        ValueError: no expert for it.
    """
    inner = (gym.make(env) if isinstance(env, str) else env).unwrapped
    if isinstance(inner, DoublePendulumEnv):
        return PendulumController(inner)
    if isinstance(inner, PlanarHumanoidEnv):
        return WalkingController(inner, humanoid_gait(), SHAPES["humanoid"])
    if isinstance(inner, PlanarQuadrupedEnv):
        return WalkingController(inner, quadruped_gait(), SHAPES["quadruped"])
    raise ValueError(
        f"no reference controller for {inner}; there is one for each of: {', '.join(ENVIRONMENTS)}"
    )
