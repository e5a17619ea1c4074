"""The gym.vector.VectorEnv shell of Gymnasium's MuJoCo tasks: many worlds in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from dynenvs.envs.core.shell import Observation, checked_options
from dynenvs.envs.core.vector_shell import Flags, Floats, VectorShell
from dynenvs.envs.mujoco.batch import Batch, Outcome, checked_actions
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import MujocoTask


class MujocoVectorEnv(VectorShell):
    """Shared shell of the vector environments; a subclass names its `env_type`.

    World i of `reset(seed=s)` is the single environment with seed s + i, bit for bit.  The
    arguments are `VectorShell`'s.
    """

    env_type: ClassVar[type[MujocoEnv]]
    task: MujocoTask

    def _make_worlds(self) -> Batch:
        self.batch = Batch(self.task, self.num_envs, self.num_threads)
        return self.batch

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
        info = self.batch.begin(mask)
        return self.batch.observe(), _told(info, mask)

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
        outcome = batch.step(given, ~fresh)
        info = _told(outcome.info, ~fresh)
        if fresh.any():
            _merge(info, batch.begin(fresh), fresh)
        seen = batch.observe()
        if mode == AutoresetMode.SAME_STEP and batch.ended.any():
            seen, info = self._begin_at_once(seen, info, outcome)
        return seen, outcome.rewards, outcome.terminated, outcome.truncated, info

    def _begin_at_once(
        self, seen: Observation, info: dict[str, Any], outcome: Outcome
    ) -> tuple[Observation, dict[str, Any]]:
        """The next episodes' first observations; the last ones go into `info`."""
        over = self.batch.ended.copy()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(over):
            last[i] = seen[i]
        begun = self.batch.begin(over)
        final = _told(outcome.info, over)
        info = _told(outcome.info, ~over)
        _merge(info, begun, over)
        info["final_obs"], info["_final_obs"] = last, over
        info["final_info"], info["_final_info"] = final, over.copy()
        return self.batch.observe(), info

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that decides the future of all worlds, bit for bit; one entry a world."""
        return self.batch.get_state()

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: not a state of as many worlds of this task.
        """
        self.batch.set_state(state)


def _told(info: dict[str, Floats], mask: Flags) -> dict[str, Any]:
    """As Gymnasium's vector environments have it: a mask `_key` beside each array."""
    out: dict[str, Any] = {}
    _merge(out, info, mask)
    return out


def _merge(info: dict[str, Any], more: dict[str, Floats], mask: Flags) -> None:
    """Add entries of the worlds in the mask."""
    if not mask.any():
        return
    for key, value in more.items():
        known = f"_{key}" in info
        values = info[key] if known else np.zeros_like(value)
        shape = (-1,) + (1,) * (np.ndim(value) - 1)
        info[key] = np.where(mask.reshape(shape), value, values)
        info[f"_{key}"] = info[f"_{key}"] | mask if known else mask.copy()
