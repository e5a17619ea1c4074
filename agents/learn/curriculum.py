"""`dynenvs train --curriculum`: options that begin easy and become harder as the score rises.

Scores are those of the run's own options, the hard end: a curriculum is a way to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from dynenvs.agents.evaluation.evaluate import WATCHED_SEED, references
from dynenvs.agents.sb3 import WorldsVecEnv

LEVELS = 10  # from easy to hard
HARDER, EASIER = 0.7, 0.35  # scores from which on, and below which, the level changes
EPISODES = 50  # that tell what scores are
RUNNING = 2  # episodes to end in a world: the one that began before the change, and one after it


class Curriculum(VecEnvWrapper):
    """Makes the worlds harder by a level where the mean score of an episode in each is good enough.

    Each world counts with the first episode that began after the last change, so that short
    episodes, which end soonest, count no more than long ones.

    Args:
        venv: around the worlds, with a monitor that tells of ended episodes.
        env_id: which environment.
        easy: values of options at level 0, numbers or several of them.
        hard: the run's options, level 1.

    Attributes:
        level: 0 is easy, 1 is hard.

    Raises:
        ValueError: an option that does not change by numbers or cannot change under way.
    """

    def __init__(
        self, venv: VecEnv, env_id: str, easy: Mapping[str, Any], hard: Mapping[str, Any]
    ) -> None:
        super().__init__(venv)
        assert isinstance(venv.unwrapped, WorldsVecEnv)
        self.envs = venv.unwrapped.envs
        task = self.envs.task
        self.span = {name: _span(name, easy[name], getattr(task, name)) for name in easy}
        self.between = references(env_id, EPISODES, first_seed=WATCHED_SEED, **hard)
        self.waiting = np.full(self.num_envs, RUNNING)
        self.returns = np.zeros(self.num_envs)
        self.level = 0.0
        self._set()

    def reset(self) -> Any:
        """First observations."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """A step; what it ends is counted."""
        step = self.venv.step_wait()
        _, _, dones, infos = step
        for i in np.flatnonzero(dones & (self.waiting > 0)):
            self.waiting[i] -= 1
            self.returns[i] = infos[i]["episode"]["r"]
        if not self.waiting.any():
            self._follow(self.between.score(float(self.returns.mean())))
        return step

    def _follow(self, score: float) -> None:
        """Another level, if the score asks for one; then wait for each world's next episodes."""
        step = int(score >= HARDER) - int(score < EASIER)
        self.level = min(1.0, max(0.0, round(self.level * LEVELS + step) / LEVELS))
        self.waiting[:] = RUNNING
        self._set()

    def _set(self) -> None:
        self.envs.change_options(**{k: _at(self.level, *ends) for k, ends in self.span.items()})

    def get_state(self) -> dict[str, Any]:
        """What a run goes on with."""
        return {"level": self.level, "waiting": self.waiting, "returns": self.returns}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on with what `get_state` gave."""
        self.level, self.waiting, self.returns = (
            state[name] for name in ("level", "waiting", "returns")
        )
        self._set()


def curriculum_of(env: VecEnv | None) -> Curriculum | None:
    """The curriculum among wrappers, if there is one."""
    while isinstance(env, VecEnvWrapper):
        if isinstance(env, Curriculum):
            return env
        env = env.venv
    return None


def _span(name: str, easy: Any, hard: Any) -> tuple[Any, Any]:
    """Both ends of an option, made comparable.

    Raises:
        ValueError: no numbers, or not as many on both sides.
    """
    if np.ndim(easy) == 0 and np.ndim(hard) == 1:  # the delay, which a task keeps as a range
        easy = [easy] * len(hard)
    ends = np.shape(easy), np.shape(hard)
    numbers = all(
        isinstance(part, int | float | np.number) and not isinstance(part, bool)
        for end in (easy, hard)
        for part in np.atleast_1d(np.asarray(end, dtype=object)).tolist()
    )
    if ends[0] != ends[1] or not numbers:
        raise ValueError(
            f"--curriculum goes from a number to a number, or from several to as many: {name} "
            f"would go from {easy!r} to {hard!r}"
        )
    return easy, hard


def _at(level: float, easy: Any, hard: Any) -> Any:
    """A value between; whole numbers stay whole."""
    if np.ndim(hard):
        return tuple(_at(level, *ends) for ends in zip(easy, hard, strict=True))
    value = easy + level * (hard - easy)
    return round(value) if isinstance(hard, int | np.integer) else float(value)
