"""Control steps per second of many worlds at once, by their number, by threads and by who acts.

All go through `gym.make_vec`, resets included.  Random actions are drawn beforehand; the expert's
prediction for the whole batch is part of its time.  Thread counts take turns, several times over,
so that what else the machine does falls on all alike; the table shows medians.  A loop that only
computes says how much more threads are worth on this machine at the same time.

    python benchmarks/batch.py [--env humanoid] [--sizes 1 16 256] [--threads 1 2] [--seconds 0.2]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numba
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dynenvs.agents import reference_controller
from dynenvs.agents.episode import environment_id
from dynenvs.progress import leave
from dynenvs.registration import ENVIRONMENTS
from dynenvs.threads import available_threads, share

SIZES = [4**k for k in range(7)]
REPETITIONS = 5

Step = Callable[[], None]


@numba.njit(nogil=True)
def _compute(count: int, out: Any, thread: int, progress: Any) -> None:
    """Arithmetic on registers: nothing that threads could wait for."""
    x = 0.5
    for _ in range(count):
        x = 1.0000001 * x + 1e-9 / (1.0 + x * x)
    out[8 * thread] = x
    leave(progress, thread)


def pure_loop(threads: int) -> Callable[[float], float]:
    """A measure of the computing loop: turns a second of all threads together, for a time [s]."""
    out = np.zeros(8 * threads)

    def seconds_for(count: int) -> float:
        begin = time.perf_counter()
        share(lambda thread, progress: _compute(count, out, thread, progress), threads)
        return time.perf_counter() - begin

    seconds_for(1)  # compiles
    speed = 1_000_000 / seconds_for(1_000_000)

    def rate(seconds: float) -> float:
        count = int(speed * seconds)
        return threads * count / seconds_for(count)

    return rate


def random_steps(name: str, size: int, threads: int) -> Step:
    """One step of the batch under random actions."""
    envs = gym.make_vec(name, num_envs=size, num_threads=threads)
    rng = np.random.default_rng(0)
    shape = (16, *(envs.action_space.shape or ()))
    actions = rng.uniform(-1, 1, shape).astype(np.float32)
    envs.reset(seed=0)
    at = 0

    def step() -> None:
        nonlocal at
        envs.step(actions[at % 16])
        at += 1

    return step


def expert_steps(name: str, size: int, threads: int) -> Step:
    """One step of the batch under its expert."""
    envs = gym.make_vec(name, num_envs=size, num_threads=threads)
    expert = reference_controller(envs)
    observations, _ = envs.reset(seed=0)

    def step() -> None:
        nonlocal observations
        observations, *_ = envs.step(expert.predict(observations)[0])

    return step


def rate(step: Step, size: int, seconds: float) -> float:
    """World steps a second."""
    done, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        step()
        done += size
    return done / (time.perf_counter() - begin)


def measure(
    names: list[str], sizes: list[int], threads: list[int], seconds: float
) -> list[dict[str, Any]]:
    """Rates of every environment, actor and size, each with its thread counts taken in turns."""
    loops = {count: pure_loop(count) for count in threads}
    cases = [(n, a, s) for n in names for a in (random_steps, expert_steps) for s in sizes]
    rows = []
    for name, actor, size in track(cases, "measuring", transient=True):
        steps = {count: actor(name, size, count) for count in threads}
        for step in steps.values():
            rate(step, size, 0.1 * seconds)  # compile, load, let some episodes end
        found: dict[int, list[float]] = {count: [] for count in threads}
        pure: dict[int, list[float]] = {count: [] for count in threads}
        for _ in range(REPETITIONS):
            for count in threads:
                found[count].append(rate(steps[count], size, seconds / REPETITIONS))
                pure[count].append(loops[count](seconds / REPETITIONS))
        rows.append(
            {
                "environment": name,
                "actions": actor.__name__.removesuffix("_steps"),
                "worlds": size,
                "rates": {count: statistics.median(found[count]) for count in threads},
                "pure": {count: statistics.median(pure[count]) for count in threads},
            }
        )
    return rows


def show(rows: list[dict[str, Any]], threads: list[int]) -> None:
    """Print the tables."""
    first, *others = threads
    console = Console()
    for name in dict.fromkeys(row["environment"] for row in rows):
        columns = [f"{count} thread{'s' if count > 1 else ''}" for count in threads]
        gains = [f"x{count} (a pure loop)" for count in others]
        table = Table("actions", "worlds", *columns, *gains, title=f"{name}, steps a second")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            if row["environment"] == name:
                rates, pure = row["rates"], row["pure"]
                worth = [
                    f"{rates[count] / rates[first]:.2f} ({pure[count] / pure[first]:.2f})"
                    for count in others
                ]
                numbers = [f"{rates[count]:,.0f}" for count in threads]
                table.add_row(row["actions"], str(row["worlds"]), *numbers, *worth)
        console.print(table)


def main() -> None:
    """Measure, print, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--env", nargs="+", default=list(ENVIRONMENTS), help="short names or ids")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument(
        "--threads", nargs="+", type=int, default=sorted({1, min(2, available_threads())})
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    names = [environment_id(name) for name in options.env]
    rows = measure(names, options.sizes, options.threads, options.seconds)
    show(rows, options.threads)
    if options.json:
        machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
