"""The table of attacks (`python -m studies.trust`): each ends as it should, and is on its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from studies.trust.__main__ import CASES, SECTIONS, now, row

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/lab/trust.md").read_text(encoding="utf-8")
EXTRAS = {"policy_on_a_node": "ray", "shipped_policy": "stable_baselines3"}
COMPILING = {case.attempt.__name__ for case in SECTIONS["Cache"]}  # a minute and more each


def attempt(name: str) -> None:
    seen = now(name)
    assert re.search(CASES[name].wanted, seen), row(CASES[name], seen)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in CASES if name not in COMPILING])
def test_it_ends_as_it_should(name: str) -> None:
    """In a process of its own; those of foreign code need extras."""
    for library in {"policy_on_a_node": ["ray"], "shipped_policy": ["stable_baselines3"]}.get(
        name, []
    ):
        pytest.importorskip(library)
    attempt(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COMPILING))
def test_so_do_those_that_compile(name: str) -> None:
    attempt(name)


def test_the_page_has_every_row_and_tests_are_there() -> None:
    for case in CASES.values():
        held = ", ".join(f"`{name}`" for name in case.tests)
        assert f"| {case.tried} | {case.before} |" in PAGE
        assert f"| {held} |" in PAGE
        for name in case.tests:
            assert (ROOT / "tests" / f"{name}.py").is_file()


def test_what_does_not_end_as_it_should_is_marked() -> None:
    case = CASES["deep_json"]
    assert "not as it should" in row(case, "RecursionError: deep")
    assert "not as it should" not in row(case, "ModelError: deep.json: ...")
