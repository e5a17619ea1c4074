"""The benchmarks' first screen: the ratios and quartiles of the rows that it names, by hand."""

from __future__ import annotations

from studies.bench import families, report
from studies.bench.batch import BUSY
from studies.bench.headlines import screen, threads
from studies.bench.race import Result, Row, Settings


def result(family: str, title: str, rows: dict[str, list[float]], notes: list[str]) -> Result:
    made = [Row(name, [1.0] * len(r), r, None, {}, [1.0]) for name, r in rows.items()]
    return Result(family, title, "step", made, [], notes)


ANT = result(
    "identical",
    "Identical model: Ant-v5",
    {"EnvPool, 1 thread": [1.0] * 5, "dynenvs, 1 thread": [4.0, 5.0, 6.0, 7.0, 8.0]},
    [],
)
GAIN = result(
    "threads",
    "A second thread: dynenvs/Quadruped-v0, expert acts",
    {"pure loop, 1 thread": [1.0], "pure loop, 2 threads": [1.9], "256 worlds, 2 threads": [0.5]},
    [BUSY],
)


def test_a_headline_has_the_median_and_the_quartiles() -> None:
    """Of 4, 5, 6, 7, 8: median 6, quartiles 5 and 7; the name is the title's."""
    (line,) = [line for line in screen([ANT, GAIN]).splitlines() if "EnvPool" in line]
    assert line.endswith("four evaluations a step | Ant 6.0 (5.0 to 7.0) |")


def test_robots_of_others_are_one_median_before_all_else() -> None:
    """Of 0.1, 0.2 and 0.4 in two wheels: 0.2; what is slower here says so first."""
    wheels = {"a": {"Go1": [0.1], "G1": [0.4]}, "b": {"Spot": [0.2]}}
    found = [result("robots", f"Robots of others: {w}", rows, []) for w, rows in wheels.items()]
    line = screen([ANT, *found]).splitlines()[4]
    assert line.endswith("| MuJoCo's `mj_step` | 0.20 (0.15 to 0.30) |")


def test_nothing_that_did_not_run_has_a_line() -> None:
    assert screen([GAIN]) == ""
    assert threads([ANT]) == ""


def test_gains_of_threads_are_one_table_and_a_busy_machine_is_named() -> None:
    table = threads([ANT, GAIN]).splitlines()
    assert "| times as fast as one thread | pure loop | 256 worlds |" in table
    row = "| dynenvs/Quadruped-v0, expert acts (busy) | 1.9 (1.9 to 1.9) | 0.50 (0.50 to 0.50) |"
    assert row in table


def test_the_page_begins_with_the_screen() -> None:
    page = report.markdown([ANT, GAIN], families.describe(), Settings(), None)
    headings = "# Lab notes: speed", "## On one screen", "## How it is"
    places = [page.index(word) for word in headings]
    assert places == sorted(places)
    assert page.count("A second thread") == 1
