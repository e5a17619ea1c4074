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

Env = Annotated[str, typer.Argument(help="humanoid, quadruped, double-pendulum, ..., or an id.")]
Dataset = Annotated[str, typer.Argument(help='Its id, or short: "humanoid", "humanoid/expert-v0".')]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Of the simulator; as many as there are if absent.")
]

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Spread the work over a Ray cluster: its address, auto for the one that runs here, "
        "local for this machine's processors.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="Of the environment, as terrain=rough or push_impulse=20; may be several.",
    ),
]


@told_plainly
def collect(
    env: Env,
    episodes: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    agent: Annotated[
        str, typer.Option(help="expert, random, standing, a shipped policy, or a file.")
    ] = "expert",
    noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Standard deviation of noise on what acts, share of the limits, in nine of ten "
            "episodes; it shows a clone the way back from its errors, and the agent's own answers "
            "are recorded beside it. If absent, as much as teaches (docs/lab/learning.md) for the "
            "expert, 0 for others.",
        ),
    ] = None,
    infos: Annotated[
        bool, typer.Option("--infos", help="Record what each step's info says, too.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the first episode.")] = 0,
    name: Annotated[
        str | None, typer.Option(help='Of the dataset, as "expert-v0"; after the agent if absent.')
    ] = None,
    author: Annotated[str | None, typer.Option(help="For the metadata.")] = None,
    email: Annotated[str | None, typer.Option(help="For the metadata.")] = None,
    options: Options = None,
    threads: Threads = None,
    ray: Ray = None,
) -> None:
    """Write episodes as a Minari dataset.

    Interrupted, it goes on where it stopped.
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
    file: Annotated[Path, typer.Argument(help="NumPy's archive to write, .npz.")],
) -> None:
    """Write a dataset's transitions as plain NumPy arrays."""
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.export import export

    print(f"{file}: {export(open_dataset(dataset), file):,} transitions")


@told_plainly
def starts(
    dataset: Dataset,
    file: Annotated[Path, typer.Argument(help="File to write, .npz.")],
    count: Annotated[int, typer.Option(min=1, help="How many states, at most.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
) -> None:
    """Write states of a dataset in which episodes can begin.

    They are for the environments' option `starts`.
    """
    from dynenvs.agents.data.dataset import open_dataset
    from dynenvs.agents.data.starts import make_starts
    from dynenvs.agents.files import check_writable

    check_writable(file)
    print(f"{file}: {make_starts(open_dataset(dataset), file, count, seed):,} states")
