"""`reference_controller`: the expert that ships with each environment."""

from __future__ import annotations

from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.gaits import GAIT
from dynenvs.agents.pendulum import PendulumController
from dynenvs.agents.walking import act
from dynenvs.envs.double_pendulum import DoublePendulumEnv
from dynenvs.envs.planar_humanoid import PlanarHumanoidEnv
from dynenvs.envs.planar_quadruped import PlanarQuadrupedEnv
from dynenvs.envs.robots import planar_humanoid, planar_quadruped
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


class WalkingController:
    """Walks at the commanded speed by inverse dynamics; acts on the observation alone.

    Args:
        env: the (unwrapped) environment whose observations it will see.
        gait: parameters of its gait, one record of `gaits.GAIT`.
    """

    def __init__(self, env: PlanarWalker, gait: NDArray[Any]) -> None:
        self.model = env.model
        self.period = env.dt
        # Where the environment's physics steps take inertia and bias, on average
        self.lookahead = 0.5 * (env.dt - env.timestep)
        self.gait = gait
        gait["slow_frequency"], gait["frequency_slope"] = env.gait
        self._feet = env.foot_of_feature
        self._size = len(env.observation_space.low)
        self._row = self.model.states(1).view(np.uint8)
        self._buffer = self.model.workspace()
        self._scratch = np.zeros((2, self.model.nv + len(self.model.features)))
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
        return WalkingController(inner, humanoid_gait())
    if isinstance(inner, PlanarQuadrupedEnv):
        return WalkingController(inner, quadruped_gait())
    raise ValueError(
        f"no reference controller for {inner}; there is one for each of: {', '.join(ENVIRONMENTS)}"
    )
