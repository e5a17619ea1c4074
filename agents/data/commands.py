"""The commands about datasets: `collect`, `replay`, `export`, `starts`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from dynenvs.agents.console import open_console
from dynenvs.agents.errors import told_plainly
from dynenvs.agents.evaluation.options import parse_options
from dynenvs.agents.names import own_environment

Env = Annotated[
    str,
    typer.Argument(help="The environment: humanoid, quadruped, double-pendulum, ..., or an id."),
]
Dataset = Annotated[
    str, typer.Argument(help='The dataset: its id, or short "humanoid" or "humanoid/expert-v0".')
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads of the simulator; all processors if not given.")
]

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on a Ray cluster: its address, auto for the one that runs here, or local for "
        "this machine's processors.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="Option of the environment, as terrain=rough or push_impulse=20; may be repeated.",
    ),
]


@told_plainly
def collect(
    env: Env,
    episodes: Annotated[int, typer.Option(min=1, help="Number of episodes.")] = 100,
    agent: Annotated[
        str, typer.Option(help="The agent: expert, random, standing, a shipped policy, or a file.")
    ] = "expert",
    noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Standard deviation of the noise that is added to actions, divided by the torque "
            "limits, in nine of ten episodes: a clone learns from it how to correct errors. The "
            "agent's own actions are recorded, too. If not given, a value that suits the expert "
            "(docs/lab/learning.md), and 0 for other agents.",
        ),
    ] = None,
    infos: Annotated[bool, typer.Option("--infos", help="Record each step's info, too.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the first episode; each further episode adds 1.")
    ] = 0,
    name: Annotated[
        str | None,
        typer.Option(
            help='Name of the dataset, such as "expert-v0"; named after the agent if not given.'
        ),
    ] = None,
    author: Annotated[str | None, typer.Option(help="Author, for the metadata.")] = None,
    email: Annotated[str | None, typer.Option(help="Address, for the metadata.")] = None,
    options: Options = None,
    threads: Threads = None,
    ray: Ray = None,
) -> None:
    """Write episodes as a Minari dataset.

    If interrupted, the same command continues.
    """
    env_id = own_environment(
        env, "collect", "has no expert, and keeps no states; minari.DataCollector records it"
    )
    from dynenvs.agents.bars import collecting
    from dynenvs.agents.data.collect import AUTHOR, collect

    chosen = parse_options(env_id, options)
    console = open_console()
    kept = 0
    try:
        with collecting(episodes, console) as report:

            def count(done: int, steps: int) -> None:
                nonlocal kept
                kept = done
                report(done, steps)

            made = collect(
                env_id,
                episodes,
                agent=agent,
                noise=noise,
                infos=infos,
                seed=seed,
                name=name,
                threads=threads,
                author=author or AUTHOR,
                email=email,
                cluster=ray,
                report=count,
                **chosen,
            )
    except KeyboardInterrupt:
        again = shlex.join(["dynenvs", *sys.argv[1:]])
        there = f"{kept} of {episodes} episodes are kept" if kept else "no episode was added"
        print(f"dynenvs: {there}; `{again}` goes on", file=sys.stderr)
        raise
    console.print(
        f"{made.name}: {made.episodes} episodes, {made.steps:,} steps, "
        f"mean return {made.mean_return:.1f}, {made.size / 1e6:.1f} MB in {made.path}",
        highlight=False,
        soft_wrap=True,
    )


@told_plainly
def replay(dataset: Dataset, threads: Threads = None) -> None:
    """Replay a dataset's actions and compare every bit."""
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.replay import replay

    opened = open_dataset(dataset)
    different = replay(opened, threads)
    for episode, step, what in different[:10]:
        print(f"episode {episode}: {what} differs at step {step}")
    if different:
        raise ValueError(f"{len(different)} of {len(opened)} episodes differ")
    print(f"{opened.id}: {len(opened)} episodes, {opened.total_steps:,} steps, every bit the same")


@told_plainly
def export(
    dataset: Dataset,
    file: Annotated[Path, typer.Argument(help="File to write, a NumPy archive (.npz).")],
) -> None:
    """Write a dataset's transitions as plain NumPy arrays."""
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.export import export

    print(f"{file}: {export(open_dataset(dataset), file):,} transitions")


@told_plainly
def starts(
    dataset: Dataset,
    file: Annotated[Path, typer.Argument(help="File to write, .npz.")],
    count: Annotated[int, typer.Option(min=1, help="Number of states, at most.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random choice of states.")] = 0,
) -> None:
    """Write states of a dataset in which episodes can begin.

    They are for the environments' option `starts`.
    """
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.starts import make_starts
    from dynenvs.agents.files import check_writable

    check_writable(file)
    print(f"{file}: {make_starts(open_dataset(dataset), file, count, seed):,} states")
