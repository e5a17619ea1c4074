"""The commands about policies: `evaluate`, `clone`, `train`, `export-policy`."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynenvs.agents.console import open_console, working
from dynenvs.agents.data.commands import Env, Options, Ray, Threads
from dynenvs.agents.errors import install_hint, told_plainly
from dynenvs.agents.evaluation.options import parse_options
from dynenvs.agents.names import environment_id, own_environment, short_name

if TYPE_CHECKING:
    from rich.console import Console

    from dynenvs.agents.learn.sweep import Training

LITTLE = 0.1  # a score as of standing still

Seed = Annotated[int, typer.Option(min=0, help="Seed of weights, worlds and noise.")]


@told_plainly
def evaluate(
    env: Env,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent: expert, random, standing, a shipped policy, or a file; may be repeated."
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=1, help="Number of episodes; their seeds are fixed.")
    ] = 100,
    json: Annotated[Path | None, typer.Option(help="JSON file to write with all figures.")] = None,
    video: Annotated[
        Path | None, typer.Option(help="GIF to write of the last agent's first episode.")
    ] = None,
    options: Options = None,
    threads: Threads = None,
    ray: Ray = None,
) -> None:
    """Measure how good agents are.

    By their return, their score (0 for standing, 1 for the expert), falls, effort, and how far
    their feet slip.
    """
    env_id = environment_id(env)
    from dynenvs.agents.evaluation import evaluate as measure
    from dynenvs.agents.evaluation.actors import NAMES, checked_agent
    from dynenvs.agents.evaluation.demo import play, writable
    from dynenvs.agents.files import check_writable, write_json

    chosen = parse_options(env_id, options)
    file = None if video is None else writable(video)
    if json is not None:
        check_writable(json)
    for name in agent or ():
        checked_agent(name, env_id)
    console = open_console()
    ends = measure.reference_agents(env_id, **chosen)
    acting = [name for name in NAMES if name == "random" or name in ends]
    agents = agent or [*acting, *_shipped(env_id, console)]
    known = {}
    for name in dict.fromkeys((*ends, *agents)):
        with working(console, f"evaluating {name}"):
            known[name] = measure.evaluate(env_id, name, episodes, threads, cluster=ray, **chosen)
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


def _shipped(env_id: str, console: Console) -> list[str]:
    """Shipped policies, or none and what to install for them: without it the others still act."""
    from dynenvs.agents.files import shipped

    names = shipped(env_id)
    if not names or importlib.util.find_spec("stable_baselines3") is not None:
        return names
    hint = f"left out {', '.join(names)}: `{install_hint('train')}` brings stable-baselines3"
    console.print(hint, highlight=False, soft_wrap=True, markup=False)
    return []


Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, such as learning_rate=1e-3; may be repeated."),
]


@told_plainly
def clone(
    env: Env,
    dataset: Annotated[
        str | None,
        typer.Option(help="Minari dataset to clone; if not given, the expert is cloned by DAgger."),
    ] = None,
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel", help="Let the expert label the dataset's states with its own actions."
        ),
    ] = False,
    episodes: Annotated[
        int, typer.Option(min=1, help="Number of episodes to learn from, of 1,000 steps each.")
    ] = 100,
    gradient_steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Gradient steps of the last round; if not given, 120 an episode, from 2,000 to "
            "12,000.",
        ),
    ] = None,
    set_: Set = None,
    out: Annotated[Path | None, typer.Option(help="Zip file to write.")] = None,
    seed: Seed = 0,
    options: Options = None,
    threads: Threads = None,
) -> None:
    """Clone the expert, or a dataset, into a policy.

    Writes a zip that `PPO.load` opens.  While it works, a draft is written every minute, and when
    Ctrl-C stops it.
    """
    env_id = own_environment(env, "clone", "has no expert to clone, and no datasets of collect's")
    from dynenvs.agents.bars import cloning
    from dynenvs.agents.files import check_writable
    from dynenvs.agents.learn.cloning import Source, clone_to_file, told_settings

    chosen = parse_options(env_id, options)
    path = out or Path(f"{short_name(env_id)}_{'clone' if dataset else 'dagger'}.zip")
    check_writable(path)
    console = open_console()
    try:
        with cloning(console) as report:
            log = clone_to_file(
                env_id,
                path,
                Source(episodes, dataset, relabel),
                gradient_steps=gradient_steps,
                settings=told_settings(env_id, set_ or []),
                seed=seed,
                threads=threads,
                report=report,
                **chosen,
            )
    except KeyboardInterrupt as stopped:
        print(f"dynenvs: {stopped if str(stopped) else 'nothing was written'}", file=sys.stderr)
        raise
    final = log["final"]
    console.print(
        f"{path}: score {final['score']:.3f}, return {final['mean_return']:.1f}, "
        f"{final['falls']} falls in 100 episodes, {log['minutes']:.1f} minutes",
        highlight=False,
        soft_wrap=True,
    )


# What `train` takes

Config = Annotated[
    Path | None, typer.Option(help="YAML file of settings to use instead of the package's.")
]
RunFolder = Annotated[
    Path | None, typer.Option(help="Folder of the run; runs/ENV/ALGORITHM-SEED if not given.")
]
From = Annotated[Path | None, typer.Option("--from", help="Zip file of a policy to start from.")]
CurriculumFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--curriculum",
        help="First value of an option, such as push_impulse=0; it moves to the run's own value "
        "as the score rises. May be repeated.",
    ),
]
Starts = Annotated[
    str | None,
    typer.Option(
        "--starts",
        metavar="DATASET[:SHARE]",
        help="Let this share of the episodes (0.5 if not given) begin in states of a dataset, "
        "or of a file (.npz).",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue the run in the folder; --steps and --set may change it."
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Steps of the whole run; as the settings say if not given. A larger number extends a "
        "finished run.",
    ),
]
Minutes = Annotated[
    float | None, typer.Option(min=0.0, help="Stop when the whole run has taken so many minutes.")
]
RunSeed = Annotated[
    str | None,
    typer.Option(
        "--seed",
        "--seeds",
        help="Seed of weights, worlds and noise, 0 if not given; 1..8 trains once for each.",
    ),
]
RunThreads = Annotated[
    int | None, typer.Option(min=1, help="Threads of the simulator; all processors if not given.")
]


@told_plainly
def train(
    algorithm: Annotated[str, typer.Argument(help="The algorithm: ppo or sac.")],
    env: Env,
    set_: Set = None,
    config: Config = None,
    out: RunFolder = None,
    from_: From = None,
    starts: Starts = None,
    curriculum: CurriculumFrom = None,
    resume: Resume = False,
    steps: Steps = None,
    minutes: Minutes = None,
    seed: RunSeed = None,
    options: Options = None,
    threads: RunThreads = None,
    ray: Ray = None,
) -> None:
    """Train a policy with stable-baselines3.

    Ctrl-C leaves a run that can be resumed.
    """
    env_id = own_environment(
        env,
        "train",
        "has no expert by which a run is scored; stable-baselines3 trains it by itself: "
        "PPO('MlpPolicy', 'dynenvs/...').learn(...)",
    )
    from dynenvs.agents.files import check_writable
    from dynenvs.agents.learn.settings import chosen_settings
    from dynenvs.agents.learn.starts import parse_starts
    from dynenvs.agents.learn.sweep import Training, parse_seeds

    more: dict[str, Any] = {"begin_from": from_, "minutes": minutes, "threads": threads}
    more["starts"] = None if starts is None else parse_starts(starts)
    more["curriculum"] = parse_options(env_id, curriculum)
    chosen = parse_options(env_id, options)
    if "starts" in chosen or "starts_share" in chosen:  # scores would be those of such episodes
        raise ValueError("train takes --starts DATASET[:SHARE] instead of --option starts")
    more |= chosen
    settings = chosen_settings(
        algorithm, env_id, set_ or [], config, steps=steps, refine=from_ is not None, resume=resume
    )
    numbers = [None] if seed is None else parse_seeds(seed)
    several = len(numbers) > 1 or ray is not None
    trainings = []
    for number in numbers:
        name = f"{algorithm}-{number or 0}"
        own = (out / name if several else out) if out else Path("runs") / short_name(env_id) / name
        check_writable(own / "last.zip")
        trainings.append(Training(algorithm, env_id, settings, own, number, resume, more))
    if several:
        _train_all(trainings, ray)
    else:
        _train_one(trainings[0], env)


def _train_all(trainings: list[Training], ray: str | None) -> None:
    """Train one for each seed, and say of each how it ended."""
    from dynenvs.agents.learn.sweep import sweep

    console = open_console()
    ended = sweep(trainings, ray)
    for done in range(len(trainings)):
        with working(console, f"training, {done} of {len(trainings)} are done"):
            one, log = next(ended)
        _say_how_it_ended(console, one.folder, log)


def _train_one(one: Training, env: str) -> None:
    """Train with a bar that shows how far it has come."""
    from dynenvs.agents.bars import training
    from dynenvs.agents.learn.train import train

    console = open_console()
    try:
        with training(one.algorithm, console) as report:
            log = train(
                one.algorithm,
                one.env_id,
                one.settings,
                one.folder,
                seed=one.seed,
                resume=one.resume,
                report=report,
                **one.more,
            )
    except KeyboardInterrupt:
        threads = one.more["threads"]
        print(_how_to_go_on(one.algorithm, env, one.folder, threads), file=sys.stderr)
        raise
    _say_how_it_ended(console, one.folder, log)


def _say_how_it_ended(console: Console, folder: Path, log: dict[str, Any]) -> None:
    share = log["simulating"] / max(log["minutes"], 1e-9)
    score = log["final"]["score"]
    words = (
        f"{folder}/best.zip: score {score:.3f} after {log['minutes']:.1f} minutes, "
        f"{100 * share:.0f} % of them in the simulator"
    )
    if score < LITTLE:
        words += (
            "\n0 is standing still, 1 is the expert: docs/learning.md, Training, says how many "
            "steps a robot takes"
        )
    console.print(words, highlight=False, soft_wrap=True)


def _how_to_go_on(algorithm: str, env: str, folder: Path, threads: int | None) -> str:
    """What a run that was stopped has left, and the command that resumes it."""
    from dynenvs.agents.policy_file import read_note

    last = folder / "last.zip"
    if not last.is_file():
        return f"dynenvs: nothing was written to {str(folder)!r}"
    command = ["dynenvs", "train", algorithm, env, "--resume", "--out", str(folder)]
    command += [] if threads is None else ["--threads", str(threads)]
    steps = read_note(last)["steps"]
    return f"dynenvs: {last} holds {steps:,} steps; to go on:\n{shlex.join(command)}"


@told_plainly
def export_policy(
    policy: Annotated[
        str,
        typer.Argument(
            help="A zip file; or, with --env, the name of a shipped policy, such as ppo."
        ),
    ],
    env: Annotated[
        str | None,
        typer.Option(help="Environment in which it acts; the one that its zip names if not given."),
    ] = None,
    onnx: Annotated[
        bool,
        typer.Option(
            "--onnx/--safetensors", help="ONNX runs anywhere; safetensors load without pickle."
        ),
    ] = True,
    hub: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write for the Hugging Face Hub: safetensors and a model card."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; in this folder, with the zip's name, if not given."),
    ] = None,
    options: Options = None,
) -> None:
    """Write a policy as an ONNX or a safetensors file.

    ONNX runs without torch and dynenvs; a card beside it says what each number is. Safetensors are
    loaded by dynenvs.agents.load_policy, which runs no code of the file; all commands take them as
    they take zips.
    """
    from dynenvs.agents.files import check_writable

    if options and env is None:
        raise ValueError("--option needs --env, whose options they are")
    if hub is not None and out is not None:
        raise ValueError("--hub names the folder and --out a file: give one of them")
    env_id = None if env is None else environment_id(env)
    if env_id is not None and onnx and hub is None:
        own_environment(
            env_id, "export-policy", "does not say what each number is, which the file's card needs"
        )
    chosen = {} if env_id is None else parse_options(env_id, options)
    if out is not None:
        check_writable(out)
    if hub is not None:
        from dynenvs.agents.learn.hub import FILE, export_to_hub

        check_writable(hub / FILE)
        export_to_hub(policy, hub, env_id, **chosen)
        print(f"{hub}: policy and model card; to share them: hf upload your-name/policy {hub}")
    elif onnx:
        from dynenvs.agents.learn.export_policy import export_policy

        path, difference = export_policy(policy, out, env_id, **chosen)
        words = f"the policy's actions to {difference:.0e}; {path.with_suffix('.md')} tells more"
        print(f"{path}: {words}")
    else:
        from dynenvs.agents.learn.export_tensors import export_tensors

        path = export_tensors(policy, out, env_id, **chosen)
        print(f"{path}: the policy's actions to the bit; dynenvs.agents.load_policy loads it")
