"""How well the trot walks on robots of files: `python -m studies.trots ROBOT.xml ...`.

Each robot walks on level ground under commands drawn from the whole range of its task; a table says
how many keep on their feet, what they earn, and how far the mean speed of an episode, after its
start, is from the commanded one at most.  It is a table of docs/lab/robots.md.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import NamedTuple

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.make_legged import make_legged
from dynenvs.model.importing.losses import NotCarriedOver

SEEDS, STEPS = 100, 1000
START = 150  # control steps before the speed is measured: it sets off from a stand
USUAL = ("robot", "anymal", "scene")  # files that are called like their folder's folder


class Walk(NamedTuple):
    """What the episodes of one robot were like."""

    alive: float  # share that neither fell nor failed
    mean_return: float  # of all episodes; what falls earns nothing more
    speed_error: float  # largest of those that walk to the end [m/s]


def walk(path: Path, *, seeds: int = SEEDS, steps: int = STEPS) -> Walk:
    """Let the trot walk a robot for one episode of each seed.

    Args:
        path: of an MJCF, URDF or saved file of a robot with four legs.
        seeds: episodes, with seeds 0, 1, ...
        steps: control steps of each.

    Raises:
        ModelError: the file is missing or broken.
        ValueError: the trot does not know such a robot; the words say why.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCarriedOver)
        name = make_legged(path, f"dynenvs/Trot{path.stem}-v0")
        envs = gym.make_vec(name, num_envs=seeds, max_episode_steps=steps + 1)
    acting = Acting(reference_controller(envs), seeds)
    observations, info = envs.reset(seed=0)
    command = info["command"][:, :2].copy()
    alive, earned = np.ones(seeds, dtype=bool), np.zeros(seeds)
    way = np.zeros((seeds, 2))
    for step in range(steps):
        observations, rewards, fell, late, info = envs.step(acting.act(observations))
        acting.note(fell | late)
        earned += np.where(alive, rewards, 0.0)
        alive &= ~(fell | late)
        way += info["velocity"][:, :2] if step >= START else 0.0
    envs.close()
    errors = np.linalg.norm(way / (steps - START) - command, axis=1)
    return Walk(float(alive.mean()), float(earned.mean()), float(errors[alive].max(initial=0.0)))


def called(path: Path) -> str:
    """A robot by its file, or by the folder of one that many share a name with."""
    own = path.stem if path.stem not in USUAL else path.parent.parent.name
    own = own.removesuffix("_simple_description")
    return own + " (URDF)" if path.suffix == ".urdf" else own


def main(arguments: list[str] | None = None) -> None:
    """Print the table, a robot a line."""
    name = "python -m studies.trots"
    parser = argparse.ArgumentParser(prog=name, description=main.__doc__)
    parser.add_argument("robots", nargs="+", type=Path, help="MJCF, URDF or saved files")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="episodes of each robot")
    parser.add_argument("--steps", type=int, default=STEPS, help="control steps of each")
    options = parser.parse_args(arguments)
    print("| robot | alive | mean return | largest error of an episode's mean speed [m/s] |")
    print("| --- | ---: | ---: | ---: |", flush=True)
    for path in options.robots:
        try:
            seen = walk(path, seeds=options.seeds, steps=options.steps)
        except ValueError as error:
            parser.error(str(error))
        alive, earned, off = 100.0 * seen.alive, seen.mean_return, seen.speed_error
        print(f"| {called(path)} | {alive:.0f} % | {earned:.1f} | {off:.3f} |", flush=True)


if __name__ == "__main__":
    main()
