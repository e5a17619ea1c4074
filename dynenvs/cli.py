"""The command `dynenvs`: `demo` shows an agent at work, `list` what there is, `bench` how fast;
data and learning have their own files.

What a command needs is imported when it runs: `--help`, `list` and a misspelt word answer at once.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

import dynenvs
from dynenvs.agents.console import open_console
from dynenvs.agents.data import commands as data
from dynenvs.agents.errors import UserError, told_plainly
from dynenvs.agents.evaluation.options import parse_options
from dynenvs.agents.interrupt import stopped_by_ctrl_c
from dynenvs.agents.learn import commands as learn
from dynenvs.agents.names import (
    POLICY_FILES,
    default_agent,
    environment_id,
    is_dataset,
    is_from_file,
    short_name,
    speeds_of,
)
from dynenvs.agents.streams import print_anything
from dynenvs.registration import MUJOCO

# Default commands in `demo`, of the robots that can be commanded to stand; others draw theirs.
PACES = {
    "dynenvs/Quadruped-v0": (0.5, 0.0, 0.0),
    "dynenvs/Humanoid-v0": (0.7, 0.0, 0.15),
}
ON_STAIRS = {"dynenvs/Humanoid-v0": (0.4, 0.0, 0.0)}


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (data.collect, data.replay, data.export, data.starts):
    app.command()(_command)
for _command in (learn.clone, learn.train, learn.evaluate, learn.export_policy):
    app.command()(_command)


@app.callback(invoke_without_command=True)
def _describe(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Robots with hard, frictional contact, each with an expert that moves it."""
    if version:
        print(f"dynenvs {dynenvs.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@told_plainly
def demo(
    env: Annotated[
        str,
        typer.Argument(
            help="The environment: humanoid, quadruped, planar-humanoid, planar-quadruped, "
            "double-pendulum, chain-pendulum, mujoco-ant, ..., an id, or a robot's file: go2.xml."
        ),
    ] = ("humanoid"),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the start, and of the command if drawn.")
    ] = 0,
    command: Annotated[
        str | None,
        typer.Option(
            help="Commanded speed in m/s; or forward,sideways,turning in m/s and rad/s; or "
            '"drawn". A moderate speed if not given.'
        ),
    ] = None,
    terrain: Annotated[
        str | None,
        typer.Option(help="Ground of legged robots in space: flat, slope, rough or stairs."),
    ] = None,
    free_pitch: Annotated[
        bool, typer.Option("--free-pitch", help="Let the trunk of a planar robot pitch.")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of control steps; one episode if not given.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="GIF to write instead of opening a window.")
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Write a GIF even if there is a display.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent: expert, random, standing, a shipped policy such as ppo, or a file. If "
            "not given, the expert, or random if there is none."
        ),
    ] = None,
    options: data.Options = None,
) -> None:
    """Show an agent at work.

    It opens a window where there is a display, and writes a GIF where there is none.
    """
    env_id = environment_id(env)
    from dynenvs.agents.evaluation.demo import play, writable

    chosen = parse_options(env_id, options)
    if terrain is not None:
        chosen["terrain"] = terrain
    chosen.setdefault("command", _command_of(env_id, command, chosen.get("terrain")))
    if free_pitch:
        chosen["free_pitch"] = True
    window = output is None and not headless and has_display()
    file = None if window else writable(output or Path(f"dynenvs-{short_name(env_id)}.gif"))
    play(
        env_id,
        agent=agent or default_agent(env_id),
        seed=seed,
        steps=steps,
        file=file,
        console=open_console(),
        **chosen,
    )


@app.command()
@told_plainly
def view(
    what: Annotated[
        str,
        typer.Argument(
            help="An environment as for demo, a robot's file such as go2.xml, or a dataset such as "
            "humanoid/expert-v0."
        ),
    ] = "humanoid",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the start, and of the command if drawn.")
    ] = 0,
    command: Annotated[
        str | None,
        typer.Option(help="Commanded speed or speeds, as for demo."),
    ] = None,
    terrain: Annotated[
        str | None,
        typer.Option(help="Ground of legged robots in space: flat, slope, rough or stairs."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Number of control steps; one episode if not given.")
    ] = None,
    episode: Annotated[int, typer.Option(min=0, help="Number of the episode, of a dataset.")] = 0,
    output: Annotated[Path | None, typer.Option(help="HTML file to write.")] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", "--policy", help="The agent, as for demo."),
    ] = None,
    plots: Annotated[
        str | None, typer.Option(help="Plots to open at first, separated by commas: speed,torques.")
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Watch it while it runs; keys change the command and push."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the live page; any free one if 0.")
    ] = 0,
    options: data.Options = None,
) -> None:
    """Show an episode in the browser.

    It is one HTML file that needs no network; --live shows it while it runs.
    """
    dataset = is_dataset(what)
    env_id = "" if dataset else environment_id(what)
    from dynenvs.viewer.command import show, show_live

    wanted = None if plots is None else [name.strip() for name in plots.split(",")]
    if dataset:
        if live or command or terrain or options:
            raise UserError(
                f"{what!r} is a dataset: its episodes have their commands and options already"
            )
        show(what, output, open_console(), has_display(), episode=episode, plots=wanted)
        return
    chosen = parse_options(env_id, options)
    if terrain is not None:
        chosen["terrain"] = terrain
    chosen.setdefault("command", _command_of(env_id, command, chosen.get("terrain")))
    if chosen["command"] is None:
        del chosen["command"]
    agent = agent or default_agent(env_id)
    common = {"agent": agent, "seed": seed, "steps": steps, "plots": wanted, **chosen}
    if live and env_id in MUJOCO:
        raise UserError(f"view: {short_name(env_id)} cannot be shown live: leave out --live")
    if live:
        show_live(env_id, open_console(), has_display(), port=port, **common)
    else:
        show(env_id, output, open_console(), has_display(), **common)


def _command_of(env_id: str, command: str | None, terrain: Any) -> float | tuple[float, ...] | None:
    """The command, a speed or speeds; None leaves it to the environment to draw."""
    paces = PACES | ON_STAIRS if terrain == "stairs" else PACES
    pace = paces.get("dynenvs/Quadruped-v0" if is_from_file(env_id) else env_id)
    if command is None:
        return pace
    if command == "drawn":
        return None
    speeds = speeds_of(command)
    # One number for a robot that takes three: forward
    return (speeds, 0.0, 0.0) if isinstance(pace, tuple) and isinstance(speeds, float) else speeds


@app.command("list")
def list_environments() -> None:
    """List the environments, with their short names."""
    from dynenvs.agents.listing import show

    show(open_console())


@app.command("compile")
@told_plainly
def compile_command(
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of processes that compile; one for each core if not given."
        ),
    ] = None,
) -> None:
    """Compile the core of a checkout, once for all starts.

    Wheels hold it already.  It belongs to the sources as they are: after an edit, kernels are
    compiled when they are needed, until this command runs again.
    """
    from dynenvs.jit import build, library

    build.build(library.place(), jobs or os.cpu_count() or 1)


@app.command()
@told_plainly
def doctor() -> None:
    """Say where the compiled core comes from.

    It lists the installed versions of libraries, too.
    """
    from dynenvs.agents.machine import diagnosis

    console = open_console()
    for name, value in diagnosis().items():
        console.print(f"{name:<16}{value}", highlight=False, soft_wrap=True, markup=False)


@app.command("bench")
@told_plainly
def bench_command(
    seconds: Annotated[
        float, typer.Option(min=0.001, help="How long to measure each environment, in seconds.")
    ] = 2.0,
) -> None:
    """Measure how fast the environments step here.

    One world and a batch of them, under random actions.
    """
    from dynenvs.agents.bench import bench

    if not math.isfinite(seconds):
        raise ValueError(f"--seconds must be a finite time [s], got {seconds}")
    bench(seconds, open_console())


def has_display() -> bool:
    """Whether a window could be seen."""
    if os.environ.get("SDL_VIDEODRIVER") in ("dummy", "offscreen"):
        return False
    if sys.platform.startswith(("win", "darwin")):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def main() -> None:
    """Entry point of the console command."""
    run_app(app, "dynenvs")


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line and exit; an error is a line that begins with `name`, and exit code 2."""
    print_anything()
    try:
        with stopped_by_ctrl_c(), _short_warnings(name):
            code = app(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        _complain(f"{name}: stopped")
        sys.exit(130)
    except OSError as error:  # what was to be shown has no room, say
        _complain(f"{name}: {shown(str(error))}")
        sys.exit(2)
    except Exception as error:
        # What typer raises for wrong usage; where its classes live depends on its version.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        words = shown(str(say()) + _usage(error))
        _complain(f"{name}: {' '.join(words.split())}")
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _usage(error: Exception) -> str:
    """What to say besides where words are missing, or there are too many: how the command goes."""
    context = getattr(error, "ctx", None)
    if context is None or type(error).__name__ not in ("UsageError", "MissingParameter"):
        return ""
    takes_agents = any("--agent" in parameter.opts for parameter in context.command.params)
    words = re.split(r"[\s()]+", str(error))
    policies = [word for word in words if Path(word).suffix in POLICY_FILES]
    if takes_agents and policies:
        return f"; a policy's file follows --agent: --agent {policies[0]}"
    return f" {context.get_usage()}"


@contextmanager
def _short_warnings(name: str) -> Iterator[None]:
    """Warnings of this package are lines that begin with `name`, without a line of code."""
    usual, package = warnings.formatwarning, Path(dynenvs.__file__).parent

    def told(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if Path(filename).is_relative_to(package):
            return f"{name}: {message}\n"
        return usual(message, category, filename, lineno, line)

    warnings.formatwarning = told
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _complain(line: str) -> None:
    """A line on standard error, if there is one."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def shown(text: str) -> str:
    """Text as a terminal may show it: what would steer the terminal stands there as an escape."""
    return "".join(
        c if c.isprintable() or c.isspace() else repr(c)[1:-1]  # names may be a stranger's
        for c in text
    )


if __name__ == "__main__":
    main()
