"""`dynenvs bench`: how fast each environment steps on this machine, under random actions."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import gymnasium as gym
from rich.console import Console
from rich.table import Table

from dynenvs.agents.console import working
from dynenvs.agents.machine import processor
from dynenvs.agents.names import short_name
from dynenvs.registration import ENVIRONMENTS
from dynenvs.simulation.threads import available_threads

WORLDS = 256  # of a batch
DRAWN = 64  # actions, used again and again


class Speed(NamedTuple):
    """Control steps a second of an environment, and how long a control step is [s]."""

    name: str
    single: float
    batch: float
    period: float


def bench(seconds: float, console: Console) -> list[Speed]:
    """Measure every environment, each figure for so many seconds; print a table."""
    found = []
    for env_id in ENVIRONMENTS:
        with working(console, f"{short_name(env_id)}: measuring"):
            found.append(measure(env_id, seconds))
    table = Table("environment", "one world", f"{WORLDS} worlds", "times real time")
    for speed in found:
        times = f"{speed.batch * speed.period:,.0f}"
        table.add_row(speed.name, f"{speed.single:,.0f}", f"{speed.batch:,.0f}", times)
    console.print(table)
    console.print(
        "Control steps a second under random actions, episodes begun anew included; many worlds "
        f"on {available_threads()} threads.\n{processor()}",
        highlight=False,
    )
    return found


def measure(env_id: str, seconds: float) -> Speed:
    """The speeds of one environment."""
    single, batch = gym.make(env_id), gym.make_vec(env_id, num_envs=WORLDS)
    try:
        period = float(single.unwrapped.dt)  # type: ignore[attr-defined]
        alone, together = _steps(single, seconds), _steps(batch, seconds)
        return Speed(short_name(env_id), alone, WORLDS * together, period)
    finally:
        single.close()
        batch.close()


def _steps(env: Any, seconds: float) -> float:
    """Calls of `step` a second; measured twice, since the first time may compile."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(DRAWN)]
    env.reset(seed=0)
    _run(env, actions, seconds)
    return _run(env, actions, seconds)


def _run(env: Any, actions: list[Any], seconds: float) -> float:
    """Calls of `step` a second."""
    count, begin = 0, time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds:
        _, _, terminated, truncated, _ = env.step(actions[count % DRAWN])
        if isinstance(env, gym.Env) and (terminated or truncated):
            env.reset()
        count += 1
    return count / spent
