"""Many episodes side by side in a vector environment, recorded as `run_episode` records one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.episode import Episode, step_limit
from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats


class _Record:
    """Arrays of a batch of episodes, one entry a world and a control step."""

    def __init__(self, env: DynVectorEnv, limit: int) -> None:
        n, model = env.num_envs, env.task.model
        self.worlds = env.worlds
        self.start = self.worlds.states["q"].copy()
        self.q = np.empty((n, limit, model.nq))
        self.impulses = np.empty((n, limit, int(model.header.nk), 3))
        self.actions = np.empty((n, limit, model.nu))
        self.rewards = np.empty((n, limit))
        self.steps = np.full(n, limit)
        self.ends: list[str] = ["stopped"] * n
        self.fell = np.zeros(n, np.bool_)
        self.last: list[dict[str, Any]] = [{} for _ in range(n)]

    def add(self, step: int, actions: Action, rewards: Floats) -> None:
        """What every world did in a control step."""
        rows = self.worlds.states
        self.q[:, step], self.impulses[:, step] = rows["q"], rows["memory"]["impulse"]
        self.actions[:, step], self.rewards[:, step] = actions, rewards

    def close(self, world: int, steps: int, end: str, fell: bool, info: dict[str, Any]) -> None:
        """A world's episode is over."""
        self.steps[world], self.ends[world], self.fell[world] = steps, end, fell
        names = ("command", "target", "residual", "degraded", "failed")
        self.last[world] = {name: np.copy(info[name][world]) for name in names if name in info}

    def episode(self, world: int, simulating: float) -> Episode:
        """One world's episode."""
        steps, last = int(self.steps[world]), self.last[world]
        return Episode(
            start=self.start[world],
            q=self.q[world, :steps],
            impulses=self.impulses[world, :steps],
            actions=np.clip(self.actions[world, :steps], -1.0, 1.0),
            rewards=self.rewards[world, :steps],
            command=last.get("command", last.get("target", np.nan)),
            end=self.ends[world],
            fell=bool(self.fell[world]),
            residual=float(last["residual"]),
            degraded=int(last["degraded"]),
            failed=int(last["failed"]),
            simulating=simulating * steps / max(int(self.steps.sum()), 1),
        )


def make_batch(env_id: str, count: int, **options: Any) -> DynVectorEnv:
    """So many worlds of an environment, without wrappers."""
    env = gym.make_vec(env_id, num_envs=count, **options).unwrapped
    assert isinstance(env, DynVectorEnv)
    return env


def run_episodes(
    env: DynVectorEnv,
    policy: Policy,
    *,
    seed: int,
    command: float | tuple[float, ...] | None = None,
    max_steps: int | None = None,
) -> Iterator[Episode]:
    """Run one episode in each world and record it.

    Args:
        env: its worlds; an episode that ends early leaves its world idle for the others' sake.
        policy: what acts, on a batch of observations.
        seed: of the first world's reset; the others' follow.
        command: commanded speed [m/s], or speeds; drawn by the environment if None.
        max_steps: stop after so many control steps; the environment's own limit if None.

    Yields:
        Episodes in the order of the seeds; `simulating` is each one's share of the time.
    """
    limit = step_limit(env, max_steps)
    observations, info = env.reset(
        seed=seed, options=None if command is None else {"command": command}
    )
    record = _Record(env, limit)
    going = np.ones(env.num_envs, np.bool_)
    simulating, state = 0.0, None
    for step in range(limit):
        actions, state = policy.predict(observations, state=state)
        begin = time.perf_counter()
        observations, rewards, terminated, truncated, info = env.step(actions)
        simulating += time.perf_counter() - begin
        record.add(step, actions, rewards)
        ended = going & (terminated | truncated)
        for world in np.flatnonzero(ended).tolist():
            end = END_WORDS[env.worlds.ends[world]]
            record.close(world, step + 1, end, bool(terminated[world]), info)
        going &= ~ended
        if not going.any():
            break
    for world in np.flatnonzero(going).tolist():
        record.close(world, limit, "stopped", False, info)
    for world in range(env.num_envs):
        yield record.episode(world, simulating)
