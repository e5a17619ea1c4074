"""How hard a push an expert survives: `python -m studies.survival humanoid`.

Impulses on the base in drawn directions every three seconds, for whole episodes with drawn
commands; the share of them that reach the time limit, over the size of the impulse.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
import numpy as np
from rich.table import Table

from dynenvs.agents.console import open_console
from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.names import environment_id
from dynenvs.envs.legged.shells import LeggedVectorEnv
from dynenvs.files import written_whole
from studies.bench.peers import MissingPeer, peer

IMPULSES = (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0)  # [N s]


def survivors(
    env_id: str, impulses: Sequence[float], *, seeds: int, steps: int = 1000
) -> list[float]:
    """Share of the seeds 0, 1, ... that reach the time limit, for each size of impulse [N s].

    Args:
        env_id: of a robot with a free base.
        impulses: sizes [N s].
        seeds: episodes for each size.
        steps: control steps of an episode.

    Raises:
        ValueError: another environment, or an option out of its range.
    """
    shares = []
    for impulse in impulses:
        envs = gym.make_vec(
            env_id,
            num_envs=seeds,
            max_episode_steps=steps + 1,
            push_impulse=float(impulse),
        ).unwrapped
        if not isinstance(envs, LeggedVectorEnv):
            raise ValueError(f"{env_id} takes no pushes; choose a robot with a free base")
        policy = reference_controller(envs)
        observations, _ = envs.reset(seed=0)
        alive = np.ones(seeds, np.bool_)
        acting = Acting(policy, seeds)
        for _ in range(steps):
            observations, _, fell, failed, _ = envs.step(acting.act(observations))
            acting.note(fell | failed)
            alive &= ~(fell | failed)
            if not alive.any():
                break
        shares.append(float(alive.mean()))
        envs.close()
    return shares


def plot(path: Path, title: str, impulses: Sequence[float], shares: Sequence[float]) -> None:
    """Write the curve as a picture (PNG).

    Raises:
        MissingPeer: no matplotlib.
    """
    figure = peer("matplotlib.figure").Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(impulses, 100.0 * np.array(shares), color="#c8553d", marker="o", markersize=4)
    axes.set(xlabel="impulse on the base every three seconds, N s", title=title)
    axes.set(ylabel="alive for 1,000 steps, %", ylim=(0, 103), xlim=(0, None))
    axes.grid(alpha=0.3)
    with written_whole(path) as file:
        figure.savefig(file, dpi=110)


def main(arguments: list[str] | None = None) -> None:
    """Count the expert's survivors of pushes of several sizes, and draw the curve."""
    name = "python -m studies.survival"
    parser = argparse.ArgumentParser(prog=name, description=main.__doc__)
    parser.add_argument("env", help="humanoid, quadruped, or an id")
    parser.add_argument("--seeds", type=int, default=200, help="episodes for each impulse")
    parser.add_argument(
        "--impulses",
        type=lambda text: [float(part) for part in text.split(",")],
        default=list(IMPULSES),
        help="sizes [N s], with commas between",
    )
    parser.add_argument("--output", type=Path, help="picture to write (PNG); needs matplotlib")
    options = parser.parse_args(arguments)
    try:
        env_id = environment_id(options.env)
        shares = survivors(env_id, options.impulses, seeds=options.seeds)
        if options.output is not None:
            title = f"{env_id.removeprefix('dynenvs/')}: {options.seeds} episodes for each impulse"
            plot(options.output, title, options.impulses, shares)
    except (ValueError, TypeError, MissingPeer) as error:
        parser.error(str(error))
    table = Table("impulse, N s", f"alive of {options.seeds}")
    for impulse, share in zip(options.impulses, shares, strict=True):
        table.add_row(f"{impulse:g}", f"{round(share * options.seeds)}")
    open_console().print(table)


if __name__ == "__main__":
    main()
