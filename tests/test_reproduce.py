"""`python -m studies reproduce`: what it writes and says; the bars of its experiments."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from trees import close

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import revolute
from studies import __main__ as studies
from studies.reproduce import cloutier_dynamics
from studies.reproduce import run as runner
from studies.reproduce.cloutier_chains import PAPER, run_chain
from studies.reproduce.experiment import Experiment, Outcome
from studies.reproduce.output import save
from studies.reproduce.planar_kernels import (
    ABM,
    BAD_ABM,
    CRBM,
    CRBM_BY_HINGES,
    CRBM_BY_HINGES_FROM_BASE,
    CRBM_FROM_BASE,
)
from studies.reproduce.planar_robot import PlanarRobot

pytest.importorskip("matplotlib")
pytest.importorskip("mpmath")

QUICK = (  # experiments of a second or so
    "cloutier-5.2", "cloutier-5.3", "cloutier-5.4", "cloutier-5.5", "cloutier-5.7", "cloutier-5.8",
    "operations", "pai-2", "jain-2",
)  # fmt: skip
NAMES = tuple(runner.all_experiments())
NEVER = runner.all_experiments()["cloutier-5.4"]


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["studies", "reproduce", *arguments])
    with pytest.raises(SystemExit) as exit_:
        studies.main()
    return int(exit_.value.code or 0)


def outcome_of(name: str) -> tuple[Experiment, Outcome]:
    """An experiment, run; its progress goes up from 0 to at most 1."""
    experiment = runner.all_experiments()[name]
    told: list[float] = []
    outcome = experiment.run(told.append)
    assert told == sorted(told)
    assert all(0.0 <= x <= 1.0 + 1e-9 for x in told)
    return experiment, outcome


def bars_hold(name: str) -> None:
    """Every bar of an experiment is met."""
    _, outcome = outcome_of(name)
    missed = [check for check in outcome.checks if check.held is False]
    assert not missed
    assert any(check.held for check in outcome.checks)


@pytest.mark.parametrize("name", QUICK)
def test_bars_hold(name: str) -> None:
    bars_hold(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in QUICK])
def test_bars_of_long_experiments_hold(name: str) -> None:
    bars_hold(name)


def test_planar_kernels_are_the_core_s_dynamics() -> None:
    """All kernels against `aba` and `crba` of the same chain; the energies' difference too."""
    rng = np.random.default_rng(0)
    robot = PlanarRobot(*(rng.uniform(0.4, 2.0, 5) for _ in range(3)))
    builder = ModelBuilder(gravity=(0, -9.8, 0))
    for k, (l, m, w) in enumerate(zip(robot.lengths, robot.masses, robot.widths, strict=True)):
        moment = m * (l * l + w * w) / 12
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint=revolute(position=(robot.lengths[k - 1] if k else 0.0, 0, 0)),
            mass=m,
            com=(l / 2, 0, 0),
            inertia=(moment / 2, moment / 2, moment),
        )
    model = builder.build()
    q, v, tau = rng.normal(size=(3, 5))
    arrangements = (CRBM, CRBM_FROM_BASE, CRBM_BY_HINGES, CRBM_BY_HINGES_FROM_BASE)
    for method in (ABM, BAD_ABM, *arrangements):
        close(robot.acceleration(q, v, tau, method), aba(model, q, v, tau), 1e-12)
    close(robot.inertia(q), crba(model, q), 1e-13)
    lowest = -9.8 * robot.masses.sum() * robot.lengths.sum()
    close(robot.energy(q, v) + lowest, totals(model, q, v).energy, 1e-12)


@pytest.mark.parametrize("links", [2, 6])
def test_chains_of_figure_5_9(links: int) -> None:
    """E = 980 n^2, and the paper's evaluations within 15 %."""
    for method, (evaluations, _, _) in zip((ABM, CRBM), PAPER[links], strict=True):
        row = run_chain(links, method)
        assert row.energy == 980.0 * links**2
        assert row.evaluations == pytest.approx(evaluations, rel=0.15)
        assert row.deviation < 0.05


@pytest.mark.thorough
def test_files_and_page_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """JSON, CSV, PNG, and a page whose pictures exist; no drafts are left."""
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "page.md"
    out = tmp_path / "out"
    names = ("cloutier-5.4", "cloutier-5.2")
    assert command(monkeypatch, *names, "--out", str(out), "--markdown", str(page)) == 0
    assert {file.name for file in out.iterdir()} == {
        "cloutier-5.4.json",
        "cloutier-5.4.png",
        "cloutier-5.4-sizes.csv",
        "cloutier-5.2.json",
        "cloutier-5.2-statistics.csv",
    }
    found = json.loads((out / "cloutier-5.4.json").read_text())
    with (out / "cloutier-5.4-sizes.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == found["data"]["sizes"]["columns"]
    assert len(rows) == 1 + len(found["data"]["sizes"]["rows"])
    text = page.read_text()
    assert "](page/cloutier-5.4.png)" in text
    # Columns of numbers alone, which the site does not break at their hyphens
    assert (
        "| size | condition | largest difference | median difference |\n|" + 4 * " ---: |" in text
    )
    with Image.open(tmp_path / "page" / "cloutier-5.4.png") as picture:
        assert picture.size == (560, 336)
    assert "holds" in capsys.readouterr().out


def test_list_and_unknown_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "--list") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in NAMES)
    assert command(monkeypatch, "cloutier-9.9") == 2
    message = capsys.readouterr().err
    assert "unknown experiment 'cloutier-9.9'; choose from: all, operations" in message


@pytest.mark.parametrize("option", ["--out", "--markdown"])
def test_what_cannot_be_written_is_told_before_work_begins(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    option: str,
) -> None:
    """A folder that is a file, and a page that is a folder: one line, and nothing runs."""

    def never(*arguments: object) -> None:
        raise AssertionError("an experiment ran")

    monkeypatch.setattr(cloutier_dynamics, "EXPERIMENTS", (NEVER._replace(run=never),))
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    rest = [] if option == "--out" else ["--out", str(tmp_path / "out")]
    where = in_the_way / "inside" if option == "--out" else in_the_way / "page.md"
    assert command(monkeypatch, NEVER.name, option, str(where), *rest) == 2
    assert "studies: cannot write into" in capsys.readouterr().err
    if option == "--markdown":
        assert command(monkeypatch, NEVER.name, option, str(tmp_path), *rest) == 2
        assert "it is a folder; give a file's name" in capsys.readouterr().err


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path) -> None:
    """Interrupted in the middle of a figure: the old one stays whole, no draft is left."""
    experiment = Experiment("one", "One", "About it.", lambda tick: Outcome([], {}))

    def half(file: Path, **options: object) -> None:
        file.write_bytes(b"half of it")
        raise KeyboardInterrupt

    def interrupted(figure: Any) -> None:
        figure.savefig = half

    save(tmp_path, experiment, Outcome([], {}, lambda figure: None))
    before = (tmp_path / "one.png").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, experiment, Outcome([], {}, interrupted))
    assert (tmp_path / "one.png").read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"one.json", "one.png"}


def test_a_missed_bar_is_told(tmp_path: Path) -> None:
    """Nothing hides a bar that is not met: table and page say NO."""
    from rich.console import Console

    from studies.reproduce.experiment import Check

    missed = Outcome([Check("something", "1", "2", "1", held=False)], {})
    experiment = Experiment("bad", "A bad one", "About it.", lambda tick: missed)
    console = Console(record=True, width=100)
    page = tmp_path / "page.md"
    runner.reproduce([experiment], console, out=tmp_path, page=page)
    assert "NO" in console.export_text()
    assert "| something | 1 | 2 | 1 | NO |" in page.read_text()


def test_the_committed_page_has_every_experiment() -> None:
    """docs/reproduction.md: a section and a figure of each, and no missed bar."""
    page = Path(__file__).parent.parent / "docs" / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    for name, experiment in runner.all_experiments().items():
        assert f"## {experiment.title}\n" in text, name
    for line in text.splitlines():
        if line.startswith("!["):
            assert (page.parent / line.rpartition("(")[2].rstrip(")")).is_file(), line
    assert "| NO |" not in text
