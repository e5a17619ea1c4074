"""The agent that merely stays: it holds its joints still and takes no notice of its command.

Its return is the zero of the score, so that staying alive counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.agents.experts.common.controller import Action
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.legged.legged import LeggedTask
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumTask
from dynenvs.envs.planar.walker import WalkerTask
from dynenvs.memory.layout import Floats
from dynenvs.simulation.inverse import inverse_dynamics

NOTHING = np.zeros(0)
HOLDS = (WalkerTask, LeggedTask, ChainPendulumTask)  # what has a pose to hold


class StandingController:
    """Torques that keep a walker's or a chain's joints at rest, by inverse dynamics.

    Speed zero suits any set of standing feet; to go back to a pose, several feet on the ground
    would have to slide.  A double pendulum, which has nothing to stand on, is left hanging: zero
    torque.
    Acts on the observation alone.

    Args:
        env: the environment, or vector environment, whose observations it will see.
    """

    def __init__(self, env: DynEnv | DynVectorEnv) -> None:
        self.task = env.task

    def __repr__(self) -> str:
        return f"<{type(self).__name__} in {type(self.task).__name__}>"

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions for one observation, shape (obs,), or a batch, shape (n, obs)."""
        array = np.asarray(observation, np.float64)
        batch = np.atleast_2d(array)
        actions = np.zeros((len(batch), self.task.model.nu), np.float32)
        if isinstance(self.task, HOLDS):
            actions[:] = [self._hold(one) for one in batch]
        return (actions if array.ndim == 2 else actions[0]), state

    def _hold(self, observation: Floats) -> Floats:
        """Torques over effort limits, shape (nu,)."""
        task, model = self.task, self.task.robot
        seen = {name: observation[place] for name, place in task.observation_slices.items()}
        if isinstance(task, ChainPendulumTask):
            q, v = seen["hinge angles"], seen["hinge velocities"]
        else:
            q, v = free_state(seen) if isinstance(task, LeggedTask) else planar_state(seen)
        lookahead = 0.5 * (task.dt - task.timestep)  # where the physics steps take inertia
        tau = inverse_dynamics(model, q, v, np.zeros(model.nu), task.dt, lookahead=lookahead).tau
        torques: Floats = np.clip(tau / model.effort_limit[model.actuated], -1.0, 1.0)
        return torques


def planar_state(seen: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Positions, with x = 0, and velocities from the blocks of a planar walker's observation."""
    pitch, rate = seen.get("pitch", NOTHING), seen.get("pitch rate", NOTHING)  # where it is free
    q = np.concatenate([[0.0], seen["height"], pitch, seen["joint angles"]])
    return q, np.concatenate([seen["velocity"], rate, seen["joint velocities"]])


def free_state(seen: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Positions, with x = y = 0 and the heading along x, and velocities of a robot in space.

    The observation has the base's velocities in its own axes; the model's linear ones are the
    world's.
    """
    up = seen["upward direction"]
    pitch, roll = np.arctan2(-up[0], np.hypot(up[1], up[2])), np.arctan2(up[1], up[2])
    c, d = np.cos(0.5 * pitch), np.sin(0.5 * pitch)
    e, f = np.cos(0.5 * roll), np.sin(0.5 * roll)
    turn = [c * e, c * f, d * e, -d * f]
    about_y = np.array(
        [[np.cos(pitch), 0, np.sin(pitch)], [0, 1, 0], [-np.sin(pitch), 0, np.cos(pitch)]]
    )
    about_x = np.array(
        [[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]]
    )
    velocity = about_y @ about_x @ seen["velocity"]
    q = np.concatenate([[0.0, 0.0], seen["height"], turn, seen["joint angles"]])
    return q, np.concatenate([velocity, seen["angular velocity"], seen["joint velocities"]])
