"""The commands about policies: `evaluate`, `clone`, `train`, `results`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from dynenvs.agents.data.commands import Env, Options, Threads
from dynenvs.agents.episode import environment_id, short_name
from dynenvs.agents.errors import told_plainly
from dynenvs.agents.options import parse_options

Seed = Annotated[int, typer.Option(min=0, help="Of weights, worlds and noise.")]


@told_plainly
def evaluate(
    env: Env,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="expert, random, standing, a shipped policy, a zip file; may be several."
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Of fixed seeds.")] = 100,
    json: Annotated[Path | None, typer.Option(help="File for all figures.")] = None,
    video: Annotated[
        Path | None, typer.Option(help="GIF of the last agent's first episode.")
    ] = None,
    options: Options = None,
    threads: Threads = None,
) -> None:
    """How good agents are: return, score, length, falls, speed error, effort."""
    from dynenvs.agents import evaluate as measure
    from dynenvs.agents.actors import NAMES, shipped
    from dynenvs.agents.demo import play, writable
    from dynenvs.agents.files import check_writable, write_json

    env_id = environment_id(env)
    chosen = parse_options(env_id, options)
    file = None if video is None else writable(video)
    if json is not None:
        check_writable(json)
    missing = () if measure.has_expert(env_id, **chosen) else ("expert",)
    agents = agent or [name for name in (*NAMES, *shipped(env_id)) if name not in missing]
    ends = [name for name in ("standing", "expert") if name not in missing]
    console = Console()
    known = {}
    for name in dict.fromkeys((*ends, *agents)):
        with console.status(name):
            known[name] = measure.evaluate(env_id, name, episodes, threads, **chosen)
    between = measure.References(**{name: known[name].mean_return for name in ends})
    results = {name: known[name] for name in agents}
    console.print(measure.table(env_id, results, between, **chosen))
    if json is not None:
        write_json(json, measure.as_json(env_id, results, between, **chosen))
    if file is not None:
        play(
            env_id,
            agent=agents[-1],
            seed=measure.FIRST_SEED,
            file=file,
            console=console,
            **{"command": None, "steps": None, **chosen},
        )


@told_plainly
def clone(
    env: Env,
    dataset: Annotated[
        str | None, typer.Option(help="Minari dataset to clone; DAgger if absent.")
    ] = None,
    relabel: Annotated[
        bool, typer.Option("--relabel", help="Ask the expert what to do in the dataset's states.")
    ] = False,
    episodes: Annotated[int, typer.Option(min=1, help="To learn from, of 1,000 steps.")] = 100,
    out: Annotated[Path | None, typer.Option(help="Zip to write.")] = None,
    seed: Seed = 0,
    options: Options = None,
    threads: Threads = None,
) -> None:
    """Clone a dataset, or the expert by DAgger, into a policy that `PPO.load` loads."""
    from dynenvs.agents.files import check_writable
    from dynenvs.agents.learn.cloning import clone_to_file

    env_id = environment_id(env)
    chosen = parse_options(env_id, options)
    path = out or Path(f"{short_name(env_id)}_{'clone' if dataset else 'dagger'}.zip")
    check_writable(path)
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("cloning", total=episodes)

        def report(share: float, loss: float) -> None:
            progress.update(
                task, completed=share * episodes, description=f"cloning, loss {loss:.4f}"
            )

        log = clone_to_file(
            env_id,
            path,
            dataset=dataset,
            relabel=relabel,
            episodes=episodes,
            seed=seed,
            threads=threads,
            report=report,
            **chosen,
        )
    final = log["final"]
    console.print(
        f"{path}: score {final['score']:.3f}, return {final['mean_return']:.1f}, "
        f"{final['falls']} falls in 100 episodes, {log['minutes']:.1f} minutes",
        highlight=False,
        soft_wrap=True,
    )


@told_plainly
def train(
    algorithm: Annotated[str, typer.Argument(help="ppo, sac or td3.")],
    env: Env,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting, as learning_rate=1e-3; may be several."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of settings instead of the package's.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; runs/ENV/ALGORITHM-SEED if absent.")
    ] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Zip of a policy to go on from.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder.")
    ] = False,
    minutes: Annotated[float | None, typer.Option(min=0.0, help="Stop then.")] = None,
    seed: Seed = 0,
    options: Options = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Of torch and the simulator; 1 resumes bitwise.")
    ] = None,
) -> None:
    """Train a policy with stable-baselines3."""
    from dynenvs.agents.files import check_writable
    from dynenvs.agents.learn.settings import load_settings, parse_change
    from dynenvs.agents.learn.train import train

    env_id = environment_id(env)
    chosen = parse_options(env_id, options)
    changes = dict(parse_change(text) for text in set_ or [])
    refine = from_ is not None
    settings = load_settings(algorithm, env_id, changes, config, refine=refine)
    folder = out or Path("runs") / short_name(env_id) / f"{algorithm}-{seed}"
    check_writable(folder / "last.zip")
    console = Console()
    with _training(algorithm, console) as report:
        log = train(
            algorithm,
            env_id,
            settings,
            folder,
            seed=seed,
            begin_from=from_,
            resume=resume,
            minutes=minutes,
            threads=threads,
            report=report,
            **chosen,
        )
    share = log["simulating"] / max(log["minutes"], 1e-9)
    console.print(
        f"{folder}/best.zip: score {log['final']['score']:.3f} after {log['minutes']:.1f} minutes, "
        f"{100 * share:.0f} % of them in the simulator",
        highlight=False,
        soft_wrap=True,
    )


@contextmanager
def _training(name: str, console: Console) -> Iterator[Callable[[int, dict[str, Any]], None]]:
    """A bar of how far a run has come: what is to be told its steps and its log."""
    bar = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*bar, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(name, total=None)

        def report(steps: int, log: dict[str, Any]) -> None:
            score = f", score {log['curve'][-1]['score']:.3f}" if log["curve"] else ""
            total = log["settings"]["n_timesteps"]
            progress.update(
                task,
                completed=min(steps, total),
                total=total,
                description=f"{name}, {steps:,} steps{score}",
            )

        yield report


@told_plainly
def results(
    logs: Annotated[Path, typer.Argument(help="Folder of run logs, *.json.")] = Path("results"),
    page: Annotated[Path, typer.Option(help="Page to write, with plots beside it.")] = Path(
        "docs/results.md"
    ),
) -> None:
    """Remake the page of results from saved run logs."""
    from dynenvs.agents.learn.results import write_page

    print(f"{page}: {write_page(logs, page)} runs")
