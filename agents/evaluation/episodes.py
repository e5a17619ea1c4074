"""Many episodes side by side in a vector environment, recorded as `run_episode` records one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import LAST, Episode, Record, step_limit
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.core.vector import DynVectorEnv


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
    record = Record(env.worlds, limit)
    going = np.ones(env.num_envs, np.bool_)
    times: list[float] = []
    acting = Acting(policy, env.num_envs)
    for step in range(limit):
        actions = acting.act(observations)
        begin = time.perf_counter()
        observations, rewards, terminated, truncated, info = env.step(actions)
        times.append(time.perf_counter() - begin)
        record.add(step, actions, rewards)
        acting.note(terminated | truncated)
        ended = going & (terminated | truncated)
        for world in np.flatnonzero(ended).tolist():
            end = END_WORDS[env.worlds.ends[world]]
            record.close(world, step + 1, end, bool(terminated[world]), _of(info, world))
        going &= ~ended
        if not going.any():
            break
    for world in np.flatnonzero(going).tolist():
        record.close(world, limit, "stopped", False, _of(info, world))
    for world in range(env.num_envs):
        yield record.episode(world, times)


def _of(infos: dict[str, Any], world: int) -> dict[str, Any]:
    """What `info` says of one world, as far as an episode keeps it."""
    return {name: infos[name][world] for name in LAST if name in infos}
