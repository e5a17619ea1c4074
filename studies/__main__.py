"""The command `python -m studies`: `bench` says how fast, `verify` how right, `reproduce` what the
sources report.

From a checkout's root.  The other studies are modules of their own: `python -m studies.robustness`,
`survival`, `scaling`, `transfer`, `trots`, `robots`, `other_robots`, `endurance`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dynenvs.agents.console import open_console
from dynenvs.agents.errors import UserError, told_plainly
from dynenvs.cli import run_app

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command("bench")
@told_plainly
def bench_command(
    cases: Annotated[
        str | None, typer.Option(help="Families of cases, with commas between; all if absent.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Few sizes, two environments, short turns, to see that all works: within a minute "
            "on two cores, once a first run has compiled what it needs.",
        ),
    ] = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Turns of each system; 7, or 3 if quick.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Length of a turn; 0.2, or 0.02 if quick.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for bench.json and bench.png.")] = Path(
        "studies-bench"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with the plot beside it.")
    ] = None,
) -> None:
    """Measure speeds, beside those of other installed systems.

    They take turns.
    """
    from studies.bench.families import bench, chosen
    from studies.bench.race import Settings

    settings = Settings(repeats or (3 if quick else 7), seconds or (0.02 if quick else 0.2), quick)
    bench(chosen(cases), settings, open_console(), out=out, page=markdown)


@app.command("verify")
@told_plainly
def verify_command(
    scenes: Annotated[
        str | None, typer.Option(help="Families of scenes, with commas between; all if absent.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verify.json and pictures.")] = Path(
        "studies-verify"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with the plot beside it.")
    ] = None,
) -> None:
    """Run scenes with known answers, here and elsewhere.

    Elsewhere: in the other simulators that are installed.  The family "solvers" sets the LCP
    solvers side by side on a corpus of problems.
    """
    from studies.verify import solvers
    from studies.verify.families import missed, verify

    rows, scores = verify(scenes, open_console(), out=out, page=markdown)
    if count := missed(rows):
        raise UserError(f"{count} of {len(rows)} readings miss their bar")
    if count := solvers.missed(scores):
        raise UserError(f"{count} of {len(scores)} cells of the solvers' table are not as must be")


@app.command("reproduce")
@told_plainly
def reproduce_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments; all if absent.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for data files and figures.")] = Path(
        "studies-reproduce"
    ),
    markdown: Annotated[
        Path | None, typer.Option(help="Page to write, with a folder of figures beside it.")
    ] = None,
    names_only: Annotated[
        bool, typer.Option("--list", help="Say what experiments there are.")
    ] = False,
) -> None:
    """Remake the sources' tables and figures.

    They are set beside what the sources say.
    """
    from rich.table import Table

    from studies.bench.peers import MissingPeer
    from studies.reproduce.run import chosen, reproduce

    console = open_console()
    experiments = chosen(names or [])
    if names_only:
        table = Table("experiment", "what it remakes")
        for experiment in experiments:
            table.add_row(experiment.name, experiment.title)
        console.print(table)
        return
    try:
        reproduce(experiments, console, out=out, page=markdown)
    except MissingPeer as error:
        raise UserError(str(error)) from error


def main() -> None:
    """Entry point: errors are one line, with exit code 2."""
    run_app(app, "studies")


if __name__ == "__main__":
    main()
