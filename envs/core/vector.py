"""The gym.vector.VectorEnv shell: many worlds of one task, stepped by one compiled call.

`gym.make_vec` makes it.  The single environment of `base.py` stands on the same `worlds.py`; each
world of a batch can be had as one (`envs`), and states go to and fro.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.blocks import Block
from dynenvs.envs.core.changing import change_options
from dynenvs.envs.core.codes import (
    RUNNING,
    STEP,
    STEP_AND_BEGIN,
    STEP_OR_BEGIN,
    TERMINATIONS,
    TRUNCATIONS,
)
from dynenvs.envs.core.shell import Observation, checked_options
from dynenvs.envs.core.starts import write_starts
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector_shell import Flags, Floats, VectorShell
from dynenvs.envs.core.worlds import TaskWorlds
from dynenvs.model.mujoco_words import of_one_state

ORDERS = {
    AutoresetMode.NEXT_STEP: STEP_OR_BEGIN,
    AutoresetMode.SAME_STEP: STEP_AND_BEGIN,
    AutoresetMode.DISABLED: STEP,
}
_TERMINATED = np.isin(range(5), TERMINATIONS)
_TRUNCATED = np.isin(range(5), TRUNCATIONS)


class DynVectorEnv(VectorShell):
    """Shared shell of the vector environments of compiled tasks; a subclass names its `env_type`.

    The arguments are `VectorShell`'s.
    """

    env_type: ClassVar[type[DynEnv]]
    task: Task

    def _make_worlds(self) -> TaskWorlds:
        self.worlds = TaskWorlds(self.task, self.num_envs, self.num_threads)
        self._order = ORDERS[self.autoreset_mode]
        return self.worlds

    def _arrays(self) -> Arrays:
        return self.worlds.arrays()

    def _over(self) -> NDArray[Any]:
        flags: NDArray[Any] = self.worlds._rows.task_states["end"]
        return flags

    @property
    def observation_blocks(self) -> tuple[Block, ...]:
        """The parts of one world's observation in their order: names, bounds, units, meanings."""
        return self.task.observation_blocks

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where they are: `observations[:, envs.unwrapped.observation_slices["command"]]`."""
        return dict(self.task.observation_slices)

    # Gymnasium

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: of world i, `seed + i`, or a list with one a world; None continues its stream.
            options: those of the single environment's reset, each one value for all worlds or
                an array with one a world, shape (num_envs,), and
                `"reset_mask"`: which worlds begin, bool, shape (num_envs,), at least one.

        Returns:
            Observations of all worlds, shape (num_envs, observations), and the info of those
            that began.

        Raises:
            ValueError: an option or seed that does not fit; nothing is changed then.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("reset")
        wanted = checked_options(options, (*self.task.reset_options, "reset_mask"))
        mask = self._mask(wanted.pop("reset_mask")) if "reset_mask" in wanted else None
        self.task.refuse_with_starts(wanted)
        fields = self.task.reset_fields(wanted, self.num_envs)
        seeds = self._seeds(seed)
        self.worlds.begin(seeds, fields, self.np_random, mask)
        return self.worlds.take_observations(), self.worlds.infos(mask)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, Floats, Flags, Flags, dict[str, Any]]:
        """One control step of every world; what follows an end is `autoreset_mode`'s matter.

        Args:
            actions: torque of each actuated joint over its effort limit, clipped to [-1, 1],
                shape (num_envs, nu); the array itself is left alone.

        Returns:
            Observations (num_envs, observations), rewards, terminated, truncated (num_envs,) and
            info.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; no world is touched.
            gymnasium.error.ResetNeeded: a world has not begun, or has ended in mode "Disabled".
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        worlds = self.worlds
        if not worlds.started.all():
            raise gym.error.ResetNeeded("call reset() before the first step()")
        if self._order == STEP and worlds.task_states["end"].any():
            over = np.flatnonzero(worlds.task_states["end"])[:8].tolist()
            raise gym.error.ResetNeeded(
                f"the episodes of worlds {over} have ended and autoreset is disabled: "
                'reset(options={"reset_mask": ...}) first'
            )
        due = worlds.at_limit(ahead=1)  # afterwards another episode may have begun
        worlds.step(actions, self._order, self.action_space.shape or (), "actions")
        info = worlds.infos()
        ended = worlds.ends != RUNNING
        if ended.any():
            if self._order == STEP_AND_BEGIN:
                self._add_finals(info, ended)
            else:
                worlds.add_ends(info)
        return (
            worlds.take_observations(),
            worlds.rewards.copy(),
            _TERMINATED[worlds.ends],
            _TRUNCATED[worlds.ends] | (due & ended),
            info,
        )

    def _add_finals(self, info: dict[str, Any], ended: Flags) -> None:
        """Last observations and infos of the episodes after which others have begun."""
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended).tolist():
            last[i] = self.worlds.last_observation(i)
        info["final_obs"], info["_final_obs"] = last, ended
        info["final_info"], info["_final_info"] = self.worlds.last_infos(ended), ended.copy()

    def change_options(self, **options: Any) -> None:
        """As the single environment's `change_options`, in all worlds."""
        change_options(self.task, options)

    # State

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future of all worlds, bit for bit.

        Arrays with one entry a world; `envs[i].get_state()` gives one world's.
        """
        return self.worlds.get_state()

    @of_one_state
    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave; `envs[i].set_state` restores one world.

        Raises:
            ValueError: not a state of as many worlds of this environment.
        """
        self.worlds.set_state(state)

    def save_starts(self, path: str | Path) -> None:
        """Write the worlds' states as starts, in which others' episodes can begin.

        So states of your own making (`set_state`) serve as a demonstration's do, by
        `gym.make_vec(..., starts=path)`.

        Raises:
            gymnasium.error.ResetNeeded: a world has not begun.
            OSError: the file cannot be written.
        """
        if not self.worlds.started.all():
            raise gym.error.ResetNeeded("call reset() or set_state() before save_starts()")
        rows = {
            name: records.view(np.uint8).reshape(self.num_envs, -1)
            for name, records in self.get_state().items()
        }
        write_starts(Path(path), self.task, rows["world"], rows["task"])
