"""Steps per second of the single environments beside Gymnasium's Walker2d-v5, in one run.

All go through `gym.make` with its default wrappers and take random actions, drawn beforehand.
They take turns, several times over, so that what else the machine does falls on all alike; the
table shows medians.  Gymnasium's Walker2d integrates with RK4, MuJoCo's Euler is cheaper a step:
a row with it stands beside.

    python benchmarks/single_env.py [--repetitions 5] [--steps 2000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dynenvs.registration import ENVIRONMENTS

REFERENCE = "Walker2d-v5"
EULER = "Walker2d-v5, Euler"


def make(name: str) -> gym.Env[Any, Any]:
    """The environment of a row."""
    if name != EULER:
        return gym.make(name)
    import gymnasium.envs.mujoco as mujoco_envs

    source = Path(mujoco_envs.__file__).parent / "assets" / "walker2d_v5.xml"
    text = source.read_text()
    if 'integrator="RK4"' not in text:
        raise RuntimeError(f"{source} no longer asks for RK4: look at this row again")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "walker2d_euler.xml"
        copy.write_text(text.replace('integrator="RK4"', 'integrator="Euler"'))
        return gym.make(REFERENCE, xml_file=str(copy))


def facts(name: str, env: gym.Env[Any, Any]) -> tuple[float, float, str]:
    """Control period [s], physics step [s] and integrator."""
    inner: Any = env.unwrapped
    if name.startswith("dynenvs/"):
        return inner.dt, inner.task.timestep, "semi-implicit, LCP"
    return inner.dt, inner.model.opt.timestep, "Euler" if name == EULER else "RK4"


def rate(env: gym.Env[Any, Any], actions: list[Any], seed: int) -> float:
    """Environment steps a second, resets included."""
    env.reset(seed=seed)
    begin = time.perf_counter()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return len(actions) / (time.perf_counter() - begin)


def measure(repetitions: int, steps: int) -> dict[str, dict[str, Any]]:
    """Rates of all rows, taken in turns."""
    names = [REFERENCE, EULER, *ENVIRONMENTS]
    envs = {name: make(name) for name in names}
    actions = {}
    for name, env in envs.items():
        env.action_space.seed(0)
        actions[name] = [env.action_space.sample() for _ in range(steps)]
        rate(env, actions[name][:200], seed=0)  # compile, load
    rates: dict[str, list[float]] = {name: [] for name in names}
    for seed in track(range(repetitions), "measuring", transient=True):
        for name, env in envs.items():
            rates[name].append(rate(env, actions[name], seed))
    result = {}
    for name, env in envs.items():
        period, timestep, integrator = facts(name, env)
        result[name] = {
            "rates": rates[name],
            "median": statistics.median(rates[name]),
            # Of the same turn: the machine was in the same mood
            "ratio": statistics.median(
                a / b for a, b in zip(rates[name], rates[REFERENCE], strict=True)
            ),
            "period": period,
            "timestep": timestep,
            "integrator": integrator,
        }
        env.close()
    return result


def show(result: dict[str, dict[str, Any]]) -> None:
    """Print the table."""
    table = Table("environment", "steps/s", "ratio", "period", "physics step", "integrator")
    for name, row in result.items():
        table.add_row(
            name,
            f"{row['median']:,.0f}",
            f"{row['ratio']:.2f}",
            f"{1e3 * row['period']:g} ms",
            f"{1e3 * row['timestep']:g} ms",
            row["integrator"],
        )
    Console().print(table)


def main() -> None:
    """Measure, print, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2000, help="control steps a turn")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    result = measure(options.repetitions, options.steps)
    show(result)
    if options.json:
        machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
        options.json.write_text(json.dumps({"machine": machine, "rows": result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
