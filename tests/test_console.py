"""Tables that go into a file or a pipe are as wide as they need to be."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from dynenvs.agents import bars
from dynenvs.agents import console as consoles_of
from dynenvs.agents.console import open_console, working
from studies import __main__ as studies
from studies.bench import families

CELLS = [f"column number {k} is long" for k in range(8)]  # 200 letters with what is between them


def wide_table() -> Table:
    """A table that does not fit into 80 columns."""
    table = Table(*CELLS)
    table.add_row(*CELLS)
    return table


def test_a_table_is_not_cut_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row is one line with all of its words."""
    monkeypatch.delenv("COLUMNS", raising=False)
    open_console().print(wide_table())
    lines = capsys.readouterr().out.splitlines()
    assert sum(all(cell in line for cell in CELLS) for line in lines) == 2


def test_columns_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in all programs that know the variable."""
    monkeypatch.setenv("COLUMNS", "60")
    assert open_console().width == 60


def test_the_benchmark_has_such_a_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m studies bench | cat`: what it prints on."""
    monkeypatch.delenv("COLUMNS", raising=False)
    consoles: list[Console] = []

    def bench(names: Any, settings: Any, console: Console, **options: Any) -> None:
        consoles.append(console)

    monkeypatch.setattr(families, "bench", bench)
    assert CliRunner().invoke(studies.app, ["bench", "--cases", "steps", "--quick"]).exit_code == 0
    assert consoles[0].width >= 200


@pytest.mark.parametrize(
    ("words", "meant"),
    [("bench --cases singel", "'single'"), ("reproduce operation", "'operations'")],
)
def test_a_misspelt_study_is_told_which_was_meant(
    words: str, meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["studies", *words.split()])
    with pytest.raises(SystemExit) as exit_:
        studies.main()
    assert exit_.value.code == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert meant in told.rpartition("id you mean")[2]


def test_what_is_done_is_told_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line on standard error now and then: `python -m studies verify > file` says where it is."""
    now = clock(monkeypatch)
    for k in range(4):
        with working(open_console(), f"scene {k}"):
            now[0] += 6.0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == ["dynenvs: scene 0", "dynenvs: scene 2"]
    assert printed.out == ""


def test_cloning_says_where_it_is_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`dynenvs clone ... | cat`: at once, every ten seconds, and when the evaluation begins."""
    now = clock(monkeypatch)
    with bars.cloning(open_console()) as report:
        for done in (1, 400, 800, 1000):
            now[0] += 6.0
            report(done, 1000, 0.25)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "dynenvs: cloning: first come the examples to learn from",
        "dynenvs: cloning, loss 0.2500, 400 of 1,000 gradient steps",
        "dynenvs: cloned; evaluating the policy in 100 episodes",
    ]
    assert printed.out == ""


def test_collecting_says_where_it_is_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = clock(monkeypatch)
    with bars.collecting(9, open_console()) as report:
        for done in (2, 4, 6):
            now[0] += 6.0
            report(done, 1000 * done)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "dynenvs: collecting 9 episodes",
        "dynenvs: collected 4 of 9 episodes, 4,000 steps",
    ]
    assert printed.out == ""


def test_training_says_where_it_is_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = clock(monkeypatch)
    log = {"curve": [{"score": 0.5}], "settings": {"n_timesteps": 9000}}
    with bars.training("ppo", open_console()) as report:
        for done in (1000, 2000, 3000):
            now[0] += 6.0
            report(done, log)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "dynenvs: ppo, 1,000 of 9,000 steps, score 0.500",
        "dynenvs: ppo, 3,000 of 9,000 steps, score 0.500",
    ]
    assert printed.out == ""


def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets; nothing has been said yet."""
    now = [100.0]
    monkeypatch.setattr(consoles_of.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(consoles_of, "_said", [0.0])
    return now
