"""The command `dynenvs`: `demo` shows an expert at work, `list` what there is, `bench` how fast,
`verify` how right, `reproduce` what the sources report."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from typing import Annotated

import gymnasium as gym
import typer
from rich.console import Console
from rich.table import Table

import dynenvs
from dynenvs.agents.demo import play
from dynenvs.agents.episode import environment_id, make, short_name, speeds_of
from dynenvs.registration import ENVIRONMENTS

# What acts in each environment; every environment has its expert.
EXPERTS = {
    "dynenvs/DoublePendulum-v0": "energy shaping, LQR",
    "dynenvs/PlanarHumanoid-v0": "gait, inverse dynamics",
    "dynenvs/PlanarQuadruped-v0": "gait, inverse dynamics",
    "dynenvs/Quadruped-v0": "trot, inverse dynamics",
    "dynenvs/Humanoid-v0": "footsteps, inverse dynamics",
}


class UserError(Exception):
    """Something that the user can put right."""

    def format_message(self) -> str:
        """What to say, as typer's own errors do."""
        return str(self)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


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
def demo(
    env: Annotated[
        str,
        typer.Argument(
            help="humanoid, quadruped, planar-humanoid, planar-quadruped, pendulum, or an id."
        ),
    ] = ("humanoid"),
    seed: Annotated[int, typer.Option(min=0, help="Of the start and the drawn command.")] = 0,
    command: Annotated[
        str | None,
        typer.Option(
            help="Commanded speed in m/s, or forward,sideways,turning in m/s and rad/s; else drawn."
        ),
    ] = None,
    terrain: Annotated[
        str | None,
        typer.Option(help="flat, slope, rough or stairs, for legged robots in space."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Control steps; one episode if absent.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="GIF to write instead of opening a window.")
    ] = None,
    headless: Annotated[
        bool, typer.Option("--headless", help="Write a GIF even if there is a display.")
    ] = False,
) -> None:
    """Show the expert at work: in a window where there is a display, else as a GIF."""
    console = Console()
    try:
        env_id = environment_id(env)
        window = output is None and not headless and has_display()
        file = None if window else _writable(output or Path(f"dynenvs-{short_name(env_id)}.gif"))
        speeds = None if command is None else speeds_of(command)
        options = {} if terrain is None else {"terrain": terrain}
        play(env_id, seed=seed, command=speeds, steps=steps, file=file, console=console, **options)
    except (ValueError, OSError, RuntimeError) as error:
        raise UserError(str(error)) from error


@app.command("list")
def list_environments() -> None:
    """Show what environments there are."""
    table = Table("environment", "obs", "act", "period", "expert", show_lines=True)
    table.columns[0].min_width = 30
    for env_id in ENVIRONMENTS:
        env = make(env_id)
        what = (inspect.getdoc(type(env)) or "").partition("\n")[0]
        sizes = (str(gym.spaces.flatdim(s)) for s in (env.observation_space, env.action_space))
        period = f"{1e3 * env.dt:.0f} ms"
        table.add_row(f"[bold]{env_id}[/bold]\n{what}", *sizes, period, EXPERTS.get(env_id, ""))
        env.close()
    Console().print(table)


@app.command("bench")
def bench_command(
    cases: Annotated[
        str | None, typer.Option(help="Families of cases, with commas between; all if absent.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few sizes, short turns: to see that all works.")
    ] = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Turns of each system; 7, or 3 if quick.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Length of a turn; 0.2, or 0.02 if quick.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for bench.json and bench.png.")] = Path(
        "dynenvs-bench"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with the plot beside it.")
    ] = None,
) -> None:
    """Measure speeds beside those of other systems that are installed, in alternation."""
    from dynenvs.agents.bench.families import bench, chosen
    from dynenvs.agents.bench.race import Settings

    settings = Settings(repeats or (3 if quick else 7), seconds or (0.02 if quick else 0.2), quick)
    try:
        bench(chosen(cases), settings, Console(), out=out, page=markdown)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error


@app.command("verify")
def verify_command(
    scenes: Annotated[
        str | None, typer.Option(help="Families of scenes, with commas between; all if absent.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verify.json and verify.png.")] = Path(
        "dynenvs-verify"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with the plot beside it.")
    ] = None,
) -> None:
    """Run scenes with known answers here and in other simulators that are installed."""
    from dynenvs.agents.verify.families import missed, verify

    try:
        rows = verify(scenes, Console(), out=out, page=markdown)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    if count := missed(rows):
        raise UserError(f"{count} of {len(rows)} readings miss their bar")


@app.command("reproduce")
def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments; all if absent.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for data files and figures.")] = Path(
        "dynenvs-reproduce"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with a folder of figures beside it.")
    ] = None,
    names_only: Annotated[
        bool, typer.Option("--list", help="Say what experiments there are.")
    ] = False,
) -> None:
    """Remake the sources' tables and figures, and set them beside what the sources say."""
    from dynenvs.agents.bench.peers import MissingPeer
    from dynenvs.agents.reproduce.run import chosen, reproduce

    console = Console()
    try:
        experiments = chosen(names or [])
        if names_only:
            table = Table("experiment", "what it remakes")
            for experiment in experiments:
                table.add_row(experiment.name, experiment.title)
            console.print(table)
        else:
            reproduce(experiments, console, out=out, page=markdown)
    except (ValueError, OSError, MissingPeer) as error:
        raise UserError(str(error)) from error


def has_display() -> bool:
    """Whether a window could be seen."""
    if os.environ.get("SDL_VIDEODRIVER") in ("dummy", "offscreen"):
        return False
    if sys.platform.startswith(("win", "darwin")):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _writable(file: Path) -> Path:
    """`file` if a GIF can be written there: better to know before the show than after it."""
    if file.suffix.lower() != ".gif":
        raise ValueError(f"the film is a GIF: {str(file)!r} must end in .gif")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {str(folder)!r}")
    if file.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"cannot write {str(file)!r}; choose another place with --output")
    return file


def main() -> None:
    """Entry point of the console command: errors are one line, with exit code 2."""
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        print("dynenvs: stopped", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        # What typer raises for wrong usage; where its classes live depends on its version.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        print(f"dynenvs: {' '.join(str(say()).split())}", file=sys.stderr)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
