"""The gym.Env shell: a batch of one world, with Gymnasium's manners.

Physics, options, states and `info` are the task's (`task.py`) and its worlds' (`worlds.py`); the
vector environment of `vector.py` stands on the same two.
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import MOST_SEED, whole
from dynenvs.envs.core.blocks import Block
from dynenvs.envs.core.changing import change_options
from dynenvs.envs.core.codes import STEP, TERMINATIONS, TRUNCATIONS
from dynenvs.envs.core.shell import Observation, Shell, checked_options
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.worlds import TaskWorlds
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.mujoco_words import of_one_state


class DynEnv(Shell):
    """Shared shell of the environments of compiled tasks; a subclass names its `task_type`.

    The arguments are `Shell`'s.
    """

    task: Task
    task_type: ClassVar[type[Task]]

    def _take(self, worlds: TaskWorlds | None, index: int) -> None:
        self.worlds = TaskWorlds(self.task, 1) if worlds is None else worlds.one(index)

    def _arrays(self) -> Arrays:
        return self.worlds.arrays()

    @property
    def model(self) -> Model:
        """The robot and its ground."""
        return self.task.model

    @property
    def observation_blocks(self) -> tuple[Block, ...]:
        """The parts of an observation in their order: names, bounds, units, meanings."""
        return self.task.observation_blocks

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where they are: `observation[env.unwrapped.observation_slices["joint angles"]]`."""
        return dict(self.task.observation_slices)

    # Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; a seed decides everything that follows.

        After `close` it opens the environment again: stable-baselines3's `check_env` asks for it.

        Raises:
            ValueError: an option that does not exist, a value out of its range, or a seed that is
                no natural number; nothing is changed then, the generator included.
        """
        wanted = checked_options(options, self.task.reset_options)
        self.task.refuse_with_starts(wanted)
        fields = self.task.reset_fields(wanted, None)
        seed = None if seed is None else whole(seed, "seed", 0, MOST_SEED)
        super().reset(seed=seed)
        self._closed = False
        self.worlds.begin([seed], fields, self.np_random)
        if self.render_mode == "human":
            self.render()
        return self.worlds.take_observations()[0], self.worlds.info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One control step: the action is held for `dt`.

        A step that reaches the environment's own limit `max_episode_steps` is truncated, also if
        it ends the episode for another reason, as Gymnasium's TimeLimit wrapper would have it.

        Args:
            action: torque of each actuated joint over its effort limit, clipped to [-1, 1],
                shape (nu,); the array itself is left alone.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; the state is untouched.
            gymnasium.error.ResetNeeded: no episode has begun.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        worlds = self.worlds
        if not worlds.started[0]:
            raise gym.error.ResetNeeded("call reset() before the first step()")
        worlds.step(action, STEP, self.action_space.low.shape, "action")
        end = int(worlds.ends[0])
        if self.render_mode == "human":
            self.render()
        return (
            worlds.take_observations()[0],
            worlds.rewards.item(),
            end in TERMINATIONS,
            end in TRUNCATIONS or (end in TERMINATIONS and worlds.is_at_limit()),
            worlds.info(),
        )

    def change_options(self, **options: Any) -> None:
        """Give options other values from now on; what an episode has drawn already it keeps.

        So a curriculum makes a task harder: `change_options(push_impulse=10.0)`.  Make it with
        the hardest values that it shall have: they decide what there is room for.  Worlds of a
        batch share their options: one changes them for all.

        Raises:
            TypeError: an option that does not exist.
            ValueError: a value out of its range, or an option that shapes the worlds (robot,
                ground, observation, clock); nothing is changed then.
        """
        change_options(self.task, options)

    # State

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future, bit for bit: world, warm start, task, generator.

        The count of control steps is a part of it; that of Gymnasium's TimeLimit wrapper, which
        `gym.make` puts around the environment, is not: it counts from the wrapper's last reset.
        """
        return self.worlds.get_state()

    @of_one_state
    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave, here or of one world of a batch.

        Raises:
            ValueError: not a state of this environment.
        """
        self.worlds.set_state(state)

    # Drawing

    def _draw(self) -> NDArray[np.uint8] | None:
        from dynenvs.envs.core.view import draw

        return draw(self)

    def readings(self) -> dict[str, str]:
        """What the line at the top of the picture says: labels and texts, in order."""
        return {"time": f"{float(self.worlds.states['status']['time'][0]):.2f} s"}

    @property
    def pace(self) -> tuple[float, float] | None:
        """Speed forward and the command for it [m/s], of a robot that walks."""
        return None

    @property
    def focus(self) -> Floats:
        """The point that the camera follows [m], shape (3,)."""
        return np.zeros(3)

    @property
    def targets(self) -> Floats:
        """Places that the robot is to reach [m], shape (k, 3)."""
        return np.zeros((0, 3))
