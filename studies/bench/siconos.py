"""The test problems of Siconos: friction by `solve_friction`, complementarity by `solve_lcp`.

Its files do not come with dynenvs.  Name the folder that has them, a clone of its repository:

    git clone https://github.com/siconos/siconos
    DYNENVS_SICONOS=siconos python -m studies bench --cases siconos

Each problem is solved twice, and the second time counts.  Those of more rows than
DYNENVS_SICONOS_ROWS (4,100 if it is not set) are named as left out.  W must be symmetric: where the
file's is not, its symmetric part is taken, and the table says by how much it was not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from dynenvs.contact.friction import solve_friction
from dynenvs.lcp import solve_lcp
from studies.bench.peers import MissingPeer
from studies.bench.race import Case, Result, Row, Settings, Tick
from studies.bench.siconos_files import Friction, read_friction, read_lcp

FOLDER, ROWS = "DYNENVS_SICONOS", "DYNENVS_SICONOS_ROWS"
MOST_ROWS = 4100
DATA = "numerics/src/{}/test/data"


def cases(settings: Settings) -> list[Case]:
    """Friction on the exact cone, and complementarity; no races, each row is one problem."""
    return [
        Problems("Siconos' friction problems", "FrictionContact", _friction),
        Problems("Siconos' linear complementarity problems", "LCP", _lcp),
    ]


class Problems:
    """All files of a folder, one after the other; `read` returns a solver call and its facts."""

    family = "siconos"

    def __init__(self, title: str, folder: str, read: Callable[[Path], tuple[Any, Any]]) -> None:
        self.title, self.folder, self.read = title, folder, read

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Solve each and say whether it is certified."""
        rows, skipped = [], []
        try:
            files = problem_files(self.folder)
        except MissingPeer as error:
            return Result(self.family, self.title, "solve", [], [f"all: {error}"], [])
        for file in files[:3] if settings.quick else files:
            tick(f"{self.title}: {file.name}")
            try:
                rows.append(_solved(file.name, *self.read(file)))
            except (ValueError, MissingPeer) as error:
                skipped.append(f"{file.name}: {error}")
        count = sum(row.facts["status"] == "certified" for row in rows)
        notes = [f"Certified: {count} of {len(rows)}."]
        return Result(self.family, self.title, "solve", rows, skipped, notes, "ms")


def problem_files(folder: str) -> list[Path]:
    """Files of the folder that the environment names; raises MissingPeer without any."""
    root = os.environ.get(FOLDER)
    if not root:
        raise MissingPeer(f"set {FOLDER} to a clone of github.com/siconos/siconos")
    home = Path(root) / DATA.format(folder)
    files = sorted([*home.glob("*.dat"), *home.glob("*.hdf5")])
    if not files:
        raise MissingPeer(f"no files in {home}; {FOLDER} must name a clone of Siconos")
    return files


def _solved(name: str, call: Callable[[], Any], facts: dict[str, Any]) -> Row:
    call()  # compiles
    begin, used = time.perf_counter(), time.process_time()
    answer = call()
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    found = {
        **facts,
        "status": answer.status.name.lower(),
        "residual": f"{answer.residual:.1e}",
        "stage": answer.stage.name.lower().replace("_", " "),
    }
    return Row(name, [1.0 / seconds], [1.0], None, found, [used / seconds])


def _friction(path: Path) -> tuple[Callable[[], Any], dict[str, Any]]:
    problem, gap = symmetric(read_friction(path))
    rows, most = problem.W.shape[0], int(os.environ.get(ROWS, MOST_ROWS))
    if rows > most:
        raise ValueError(f"{rows} rows; {ROWS} allows {most}")
    facts = {
        "contacts": len(problem.mu),
        "rows": rows,
        "mu": ", ".join(f"{x:g}" for x in np.unique(problem.mu)),
        "unsymmetric by": f"{gap:.0e}" if gap > 0.0 else "",
    }
    return lambda: solve_friction(*problem), facts


def symmetric(problem: Friction) -> tuple[Friction, float]:
    """The problem with the symmetric part of W, and the difference beside the largest entry."""
    other = problem.W.T.tocsr()
    gap, size = abs(problem.W - other), abs(problem.W)
    share = gap.max() / size.max() if size.nnz and gap.nnz else 0.0
    return problem._replace(W=csr_array(0.5 * (problem.W + other))), float(share)


def _lcp(path: Path) -> tuple[Callable[[], Any], dict[str, Any]]:
    A, b = read_lcp(path)
    return lambda: solve_lcp(A, b), {"variables": len(b)}
