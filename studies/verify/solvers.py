"""All LCP solvers on the corpus: how many problems each solves, how well and how fast."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from dynenvs.agents.console import working
from dynenvs.files import written_whole
from dynenvs.jit.compiled import entry
from dynenvs.lcp.interface import CASCADE, METHODS
from dynenvs.lcp.solve import CERTIFIED, CERTIFIED_RESIDUAL, solve, solve_by
from dynenvs.lcp.workspace import Workspace, workspace
from dynenvs.memory.layout import Floats, Ints, Matrix
from studies.bench.peers import MissingPeer, peer
from studies.listed import fits, print_listed
from studies.verify.lcp_problems import Problem, families, games, unsolvable
from studies.verify.recorded import recorded

UNSOLVABLE = "without a solution"
QUANTECON = "QuantEcon's Lemke"
SLACK = 1e-15  # of the largest sum of |A z|: what rounding may add where w is summed anew
LEAST = 2e-4  # each problem is timed for so long [s]

NOTES = """\
All solvers get the same scaled problem; an answer is solved once more with its own active set and
then judged on the problem as given (QuantEcon's is taken as it comes; about 2 us of its time are
the call's). A cell: problems solved, the largest natural residual among them, the median time of a
problem. Solved: the natural residual in natural scales (impulses by the diagonal of A, velocities
by the largest |b| or g dt), summed anew in extended precision, is 1e-9 at most. The cascade tries
Lemke's method first, then the others in turn until an answer is certified. Of problems without a
solution none may be certified.

Lemke's method needs 2^n pivots for Murty's family; it is given 100 + 10 n. Kostreva's cycle is
among the textbook problems. Contact with friction is copositive: Lemke's method is proved to solve
it, and none of the others is. Games are outside of Lemke's class (it ends on a ray at once), and no
method here is proved to solve them; the cascade's reserves solve the smaller ones. The recorded
problems are those of `recorded.npz`: twelve for each environment and actor, those that Newton's
method did not settle among them.
"""


class Score(NamedTuple):
    """A solver on a family."""

    family: str
    solver: str
    problems: int
    solved: int  # certified, and found right here
    wrong: int  # certified, and not found right here: must be 0
    residual: float  # the largest of the solved ones
    seconds: float  # median time of a problem
    slowest: float  # [s]
    iterations: float  # median
    required: bool  # whether every problem must be solved, or, without a solution, none


class Answer(NamedTuple):
    """What a solver says of a problem."""

    z: Floats
    certified: bool
    seconds: float
    iterations: int


def corpus() -> dict[str, list[Problem]]:
    """All families by name; the last but one may be left unsolved, the last must be."""
    found = families() | {f"recorded: {name}": some for name, some in recorded().items()}
    return found | {"bimatrix games, n = 21 to 40": games(21, 40), UNSOLVABLE: unsolvable()}


def scores(console: Console) -> tuple[list[Score], list[str]]:
    """Every solver on every family; and what could not run."""
    solvers: dict[str, Callable[[Problem], Answer]] = {CASCADE: _by(-1, 0, 0)}
    solvers |= {name.replace("_", " "): _by(*options) for name, options in METHODS.items()}
    skipped = []
    try:
        solvers[QUANTECON] = _by_quantecon(peer("quantecon.optimize").lcp_lemke)
    except MissingPeer as error:
        skipped.append(f"{QUANTECON}: {error}")
    found = []
    for family, problems in corpus().items():
        for name, solver in solvers.items():
            with working(console, f"solvers: {family}, {name}"):
                found.append(_score(family, name, problems, solver))
    return found, skipped


def residual(problem: Problem, z: Floats) -> float:
    """Natural residual, written anew from its definition (docs/theory.md, Certificate)."""
    A, b, x = (np.asarray(value, np.longdouble) for value in (problem.A, problem.b, z))
    if not np.isfinite(x).all():
        return math.inf
    w, yields = A @ x + b, np.diag(A) > 0
    speed = max(float(np.abs(b).max(initial=0.0)), problem.floor) or 1.0
    z_unit, w_unit = np.full(len(b), speed), np.full(len(b), speed)
    z_unit[yields] = speed / np.diag(problem.A)[yields]
    flow = (np.abs(problem.A) * z_unit)[~yields][:, yields].max(axis=1, initial=0.0)
    w_unit[~yields] = np.where(flow > 0, flow, speed)
    most = np.abs(problem.A)[yields][:, ~yields].max(axis=0, initial=0.0)
    z_unit[~yields] = speed / np.where(most > 0, most, 1.0)
    return float(np.abs(np.minimum(x / z_unit, w / w_unit)).max(initial=0.0))


def allowed(problem: Problem, z: Floats) -> float:
    """Residual up to which z counts: that of the certificate, and what rounding of z moves w by."""
    speed = max(float(np.abs(problem.b).max(initial=0.0)), problem.floor) or 1.0
    sums = np.abs(problem.A) @ np.abs(z)
    return CERTIFIED_RESIDUAL + SLACK * float(sums.max(initial=0.0)) / speed


def missed(found: Sequence[Score]) -> int:
    """How many rows are not as they must be: the cascade's, and wrong certificates of any."""
    return sum(_missed(score) for score in found)


def _missed(score: Score) -> bool:
    wanted = 0 if score.family == UNSOLVABLE else score.problems
    short = score.solver == CASCADE and score.required and score.solved != wanted
    return short or score.wrong > 0


def _score(
    family: str, name: str, problems: Sequence[Problem], solver: Callable[[Problem], Answer]
) -> Score:
    answers = [solver(problem) for problem in problems]
    right = [
        residual(problem, answer.z) <= allowed(problem, answer.z)
        for problem, answer in zip(problems, answers, strict=True)
    ]
    solved = [answer.certified and good for answer, good in zip(answers, right, strict=True)]
    if name == QUANTECON:  # it knows no certificate
        solved = right
    times = [answer.seconds for answer in answers]
    return Score(
        family,
        name,
        len(problems),
        sum(solved),
        sum(answer.certified for answer in answers) - sum(solved) if name != QUANTECON else 0,
        max((residual(p, a.z) for p, a, s in zip(problems, answers, solved, strict=True) if s),
            default=math.nan),
        statistics.median(times),
        max(times),
        statistics.median(answer.iterations for answer in answers),
        not family.startswith("bimatrix games, n = 21"),
    )  # fmt: skip


Room = tuple[Ints, Ints, Floats, Workspace]  # active, block, z, work


@entry
def _repeat(
    A: Matrix, b: Floats, floor: float, method: int, limit: int, room: Room, count: int
) -> tuple[int, int]:
    """Solve a problem many times; method -1: the cascade.  Returns status and iterations."""
    status, used = 0, 0
    n = b.shape[0]
    active, block, z, work = room
    for _ in range(count):
        if method < 0:
            status, _, used, _ = solve(A, b, n, floor, active, False, block, z, work)
        else:
            status, _, used = solve_by(A, b, floor, method, limit, active, block, z, work)
    return status, used


def _by(method: int, limit: int, each: int) -> Callable[[Problem], Answer]:
    """A solver of ours; limit, each: of iterations, and of iterations a variable."""

    def run(problem: Problem) -> Answer:
        n = len(problem.b)
        z, active, work = np.zeros(n), np.zeros(n, np.int64), workspace(n)
        block = np.unique(problem.blocks, return_inverse=True)[1].astype(np.int64)
        start = (problem.A, problem.b, problem.floor, method, limit + each * n)
        given = (*start, (active, block, z, work))
        _repeat(*given, 1)  # loads or compiles what it needs
        seconds = min(_timed(lambda count: _repeat(*given, count)))
        status, used = _repeat(*given, 1)
        return Answer(z, status == CERTIFIED, seconds, used)

    return run


def _by_quantecon(lemke: Any) -> Callable[[Problem], Answer]:
    def run(problem: Problem) -> Answer:
        def repeat(count: int) -> None:
            for _ in range(count):
                lemke(problem.A, problem.b, max_iter=100 + 10 * len(problem.b))

        answer = lemke(problem.A, problem.b, max_iter=100 + 10 * len(problem.b))
        return Answer(answer.z, bool(answer.success), min(_timed(repeat)), int(answer.num_iter))

    return run


def _timed(repeat: Callable[[int], object]) -> Iterator[float]:
    """Seconds of a solve, several times; of the processor, which others may share."""
    count = 1
    for _ in range(3):
        start = time.process_time()
        repeat(count)
        spent = (time.process_time() - start) / count
        yield spent
        count = max(1, min(1000, int(LEAST / max(spent, 1e-9))))


# What was found


def _cell(score: Score, joint: str) -> str:
    words = [f"{score.solved}/{score.problems}"]
    if score.solved:
        words.append(f"{score.residual:.0e}" if score.residual > 0 else "0")
    words.append(_digits(score.seconds))
    return joint.join(words)


def _digits(seconds: float) -> str:
    value = 1e6 * seconds
    return f"{value:.3g} us" if value < 1000 else f"{value / 1000:.3g} ms"


def _lines(found: Sequence[Score], joint: str, mark: Callable[[str], str]) -> Iterator[list[str]]:
    for family in dict.fromkeys(score.family for score in found):
        row = [score for score in found if score.family == family]
        yield [family] + [
            mark(_cell(score, joint)) if _missed(score) else _cell(score, joint) for score in row
        ]


def show(found: Sequence[Score], skipped: Sequence[str], console: Console) -> None:
    """Print the table, or a list where the console is too narrow for it."""
    heads = dict.fromkeys(score.solver for score in found)
    table = Table("problems", *heads, show_lines=True)
    for column in table.columns[1:]:
        column.justify = "right"
    for line in _lines(found, "\n", lambda cell: f"[red]{cell}[/red]"):
        table.add_row(*line)
    if fits(table, console):
        console.print(table)
    else:
        for family, *cells in _lines(found, ", ", lambda cell: f"{cell} (misses)"):
            parts = [f"{name} {cell}" for name, cell in zip(heads, cells, strict=True)]
            print_listed(console, f"{family}: solved, greatest residual, time:", parts)
    for word in skipped:
        console.print(f"skipped {word}", style="yellow", highlight=False)


def markdown(found: Sequence[Score], skipped: Sequence[str], picture: str | None) -> str:
    """The page's section."""
    heads = ["problems", *dict.fromkeys(score.solver for score in found)]
    lines = ["## Solvers", "", NOTES]
    if picture:
        lines += [f"![Solved problems and times]({picture})", ""]
    lines += [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    lines += [_line(line) for line in _lines(found, ", ", lambda cell: f"**{cell}**")]
    lines.append("")
    if count := missed(found):
        lines.append(f"Bold: not as it must be ({count} cells).\n")
    lines += [f"Skipped: {word}\n" for word in skipped]
    return "\n".join(lines)


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"


def document(found: Sequence[Score]) -> list[dict[str, Any]]:
    """Everything, for JSON (which knows no NaN: nothing solved has no residual)."""
    return [
        score._asdict() | {"residual": None if math.isnan(score.residual) else score.residual}
        for score in found
    ]


def plot(path: Path, found: Sequence[Score]) -> None:
    """Draw the share that each solver solves, family by family, and its median times.

    Raises:
        MissingPeer: no matplotlib.
    """
    figure_of = peer("matplotlib.figure").Figure
    names = list(dict.fromkeys(score.family for score in found))
    solvers = list(dict.fromkeys(score.solver for score in found))
    by = {(score.family, score.solver): score for score in found}
    share = np.array([[by[f, s].solved / by[f, s].problems for s in solvers] for f in names])
    share[[name == UNSOLVABLE for name in names]] = 1.0  # none is right there
    times = np.log10([[by[f, s].seconds for s in solvers] for f in names])
    figure = figure_of(figsize=(12.0, 1.6 + 0.3 * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for panel, values, title in (
        (left, share, "part of the problems solved"),
        (right, times, "median time of a problem"),
    ):
        colors = "RdYlGn" if panel is left else "viridis_r"
        low, high = (0.0, 1.0) if panel is left else (float(times.min()), float(times.max()))
        panel.imshow(values, aspect="auto", cmap=colors, vmin=low, vmax=high, alpha=0.6)
        panel.set_xticks(range(len(solvers)), solvers, rotation=30, ha="right", fontsize=8)
        panel.set_yticks(range(len(names)), names, fontsize=8)
        panel.set_title(title, fontsize=10)
        for i, family in enumerate(names):
            for j, solver in enumerate(solvers):
                score = by[family, solver]
                word = f"{score.solved}/{score.problems}"
                word = word if panel is left else _digits(score.seconds)
                panel.text(j, i, word, ha="center", va="center", fontsize=7)
    with written_whole(path) as file:
        figure.savefig(file, dpi=80)
