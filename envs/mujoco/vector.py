"""The gym.vector.VectorEnv shell of Gymnasium's MuJoCo tasks: many worlds in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from dynenvs.envs.core.info import batched
from dynenvs.envs.core.shell import Observation, checked_options
from dynenvs.envs.core.state import Arrays
from dynenvs.envs.core.vector_shell import Flags, Floats, VectorShell
from dynenvs.envs.mujoco.batch import Batch, checked_actions
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import MujocoTask
from dynenvs.model.mujoco_words import of_one_state


class MujocoVectorEnv(VectorShell):
    """Shared shell of the vector environments; a subclass names its `env_type`.

    World i of `reset(seed=s)` is the single environment with seed s + i, bit for bit.  The
    arguments are `VectorShell`'s.
    """

    env_type: ClassVar[type[MujocoEnv]]
    task: MujocoTask

    def _make_worlds(self) -> Batch:
        self.batch = Batch(self.task, self.num_envs, self.num_threads)
        self._rewards: Floats = np.zeros(self.num_envs)  # of the last step: where some worlds have
        # begun since, the batch has those of none
        self._nobody = np.zeros(self.num_envs, np.bool_)
        return self.batch

    def _arrays(self) -> Arrays:
        return self.batch.arrays()._replace(rewards=self._rewards)

    def _over(self) -> Flags:
        return self.batch.ended

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin episodes.

        Args:
            seed: of world i, `seed + i`, or a list with one a world; None goes on.
            options: `{"reset_mask": ...}`: which worlds begin, bool, shape (num_envs,).

        Raises:
            ValueError: an option or seed that does not fit.
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("reset")
        wanted = checked_options(options, ("reset_mask",))
        mask = self._mask(wanted.get("reset_mask", np.ones(self.num_envs, np.bool_)))
        seeds = self._seeds(seed)
        self.batch.seed([s if m else None for s, m in zip(seeds, mask, strict=True)])
        self.batch.begin(mask)
        return self.batch.observe(), self._told(mask, self._nobody)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, Floats, Flags, Flags, dict[str, Any]]:
        """One control step of every world; what follows an end is `autoreset_mode`'s matter.

        Raises:
            ValueError: not real numbers, wrong shape, or not finite; no world is touched.
            gymnasium.error.ResetNeeded: a world has not begun, or has ended in mode "Disabled".
            gymnasium.error.ClosedEnvironmentError: after `close`.
        """
        self._refuse_closed("step")
        batch, mode = self.batch, self.autoreset_mode
        if not batch.started.all():
            raise gym.error.ResetNeeded("call reset() before the first step()")
        if mode == AutoresetMode.DISABLED and batch.ended.any():
            over = np.flatnonzero(batch.ended)[:8].tolist()
            raise gym.error.ResetNeeded(
                f"the episodes of worlds {over} have ended and autoreset is disabled: "
                'reset(options={"reset_mask": ...}) first'
            )
        given = checked_actions(actions, self.action_space.shape or (), "actions")
        fresh = batch.ended.copy()  # in mode "NextStep" these begin, and do not step
        stepped, begins = ~fresh, fresh.any()
        batch.step(given, None, stepped if begins else None)
        outcome = batch.rewards.copy(), batch.over.copy(), batch.cut.copy()
        self._rewards = outcome[0].copy()
        if begins:
            batch.begin(fresh)
        if mode == AutoresetMode.SAME_STEP and batch.ended.any():
            info = self._begin_at_once()
        else:
            info = self._told(fresh, stepped)
        return batch.observe(), *outcome, info

    def _begin_at_once(self) -> dict[str, Any]:
        """Begin the next episodes; `info`, with the last observations and infos within."""
        batch = self.batch
        over, seen = batch.ended.copy(), batch.observe()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(over):
            last[i] = seen[i]
        final = self._told(self._nobody, over)
        batch.begin(over)
        info = self._told(over, ~over)
        info["final_obs"], info["_final_obs"] = last, over
        info["final_info"], info["_final_info"] = final, over.copy()
        return info

    def _told(self, begun: Flags, stepped: Flags) -> dict[str, Any]:
        """`info` of worlds that have begun an episode, and of those that have taken a step.

        As Gymnasium's vector environments have it: a mask `_key` beside each array.
        """
        batch = self.batch
        first = len(batch.told_at_first)
        groups = (batch.told_at_first, begun | stepped), (batch.info.names[first:], stepped)
        return batched(batch.rows.copy(), *groups)

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future of all worlds, bit for bit; one entry a world."""
        return self.batch.get_state()

    @of_one_state
    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of as many worlds of this task.
        """
        self.batch.set_state(state)
