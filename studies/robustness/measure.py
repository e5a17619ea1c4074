"""Episodes of an agent under a disturbance: how many last, and what they return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.evaluation.evaluate import FIRST_SEED
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.envs.core.codes import RUNNING, TIME_LIMIT


class Measured(NamedTuple):
    """What became of the episodes."""

    alive: float  # share that reached the time limit
    returned: float  # mean sum of rewards until the end


def measure(
    env_id: str, agent: str, options: Mapping[str, Any], seeds: int, threads: int | None = None
) -> Measured | None:
    """Run one episode a seed; None for an agent that does not know the task with these options.

    Args:
        env_id: which environment.
        agent: as `actor` takes it.
        options: the environment's.
        seeds: how many, from FIRST_SEED on.
        threads: of the simulator.
    """
    envs = make_batch(env_id, seeds, threads, **options)
    try:
        policy = actor(agent, envs, env_id)
    except ValueError:
        return None
    assert policy is not None
    acting = Acting(policy, seeds)
    observations, _ = envs.reset(seed=FIRST_SEED)
    running, alive = np.ones(seeds, np.bool_), np.zeros(seeds, np.bool_)
    total = np.zeros(seeds)
    while running.any():
        observations, rewards, *_ = envs.step(acting.act(observations))
        ends = envs.worlds.ends
        acting.note(ends != RUNNING)
        total[running] += rewards[running]
        alive |= running & (ends == TIME_LIMIT)
        running &= ends == RUNNING
    envs.close()
    return Measured(float(alive.mean()), float(total.mean()))
