"""`python -m studies reproduce`: run experiments with a progress bar, print and save it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from dynenvs.files import written_whole
from dynenvs.spelling import did_you_mean
from studies.reproduce.experiment import Experiment, Outcome
from studies.reproduce.output import ready, save, section, write_picture

HOMES = (  # modules with a tuple EXPERIMENTS, in the page's order
    "operations",
    "accuracy",
    "accuracy_trees",
    "cloutier_dynamics",
    "cloutier_motion",
    "cloutier_stiffness",
    "cloutier_chains",
    "integration",
    "pai_film",
    "leaving",
    "contact_scenes",
    "jain",
    "jain_forms",
    "rotation_walk",
)

HEAD = """# The sources' experiments, remade

Written by `python -m studies reproduce all --markdown`; run it to see what your machine says.
Five works stand behind dynenvs: Pai, Ascher and Kry, *Forward Dynamics Algorithms for Multibody
Chains and Contact* (2000); Jain et al. on complementarity in minimal coordinates (2012); Bhargava's
rotation project; Cloutier, *Properties of robot forward dynamics algorithms* (UBC, 1995);
Featherstone, *Dynamics* (Summer Screws, 2024), which reports no experiment: its identities are
tests. Each section sets what the paper reports beside what comes out here, says which of the
paper's parameters had to be reconstructed, and what cannot be remade. "must" is what a remake has
to show; "holds" says whether it does on this run.
"""


class Finished(NamedTuple):
    """An experiment and what came out."""

    experiment: Experiment
    outcome: Outcome


def all_experiments() -> dict[str, Experiment]:
    """Every experiment by name, in the page's order."""
    found: dict[str, Experiment] = {}
    for home in HOMES:
        module = import_module(f"studies.reproduce.{home}")
        found.update((experiment.name, experiment) for experiment in module.EXPERIMENTS)
    return found


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Experiments by name; "all" or no name means all.

    Raises:
        ValueError: no such experiment; lists those that there are.
    """
    known = all_experiments()
    for name in names:
        if name != "all" and name not in known:
            choices = f"choose from: all, {', '.join(known)}{did_you_mean(name, known)}"
            raise ValueError(f"unknown experiment {name!r}; {choices}")
    if not names or "all" in names:
        return list(known.values())
    return [known[name] for name in dict.fromkeys(names)]


def reproduce(
    experiments: Sequence[Experiment],
    console: Console,
    *,
    out: Path,
    page: Path | None = None,
) -> list[Finished]:
    """Run experiments one after the other; files of each are written when it ends.

    Args:
        experiments: which.
        console: where progress and tables go.
        out: folder for data files and figures.
        page: Markdown page to write; its figures go into a folder of its name beside it.

    Raises:
        MissingPeer: matplotlib or mpmath is not installed.
        OSError: a file cannot be written; told before the first experiment runs.
    """
    ready(out, page)
    finished = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        for experiment in experiments:
            task = progress.add_task(experiment.name, total=1.0)

            def tick(done: float, task: object = task) -> None:
                progress.update(task, completed=done)  # type: ignore[arg-type]

            outcome = experiment.run(tick)
            tick(1.0)
            save(out, experiment, outcome)
            finished.append(Finished(experiment, outcome))
    for one in finished:
        _show(console, one)
    console.print(f"wrote {out}/", highlight=False)
    if page:
        write_page(page, finished)
        console.print(f"wrote {page}", highlight=False)
    return finished


def write_page(page: Path, finished: Sequence[Finished]) -> None:
    """Write the Markdown page and its figures."""
    parts = [HEAD]
    for experiment, outcome in finished:
        picture = Path(page.stem) / f"{experiment.name}.png"
        drawn = write_picture(page.parent / picture, outcome)
        parts.append(section(experiment, outcome, picture.as_posix() if drawn else None))
    with written_whole(page) as draft:
        draft.write_text("\n".join(parts), encoding="utf-8")


def _show(console: Console, finished: Finished) -> None:
    experiment, outcome = finished
    if not outcome.checks:
        return
    table = RichTable(
        "what", "paper", "ours", "must", "holds", title=experiment.title, title_justify="left"
    )
    for check in outcome.checks:
        table.add_row(check.what, check.paper, check.ours, check.bar, check.verdict)
    console.print(table)
