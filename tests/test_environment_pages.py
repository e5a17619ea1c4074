"""Figures of the documents are those of results/, and of what stands beside them."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynenvs.registration import ENVIRONMENTS
from studies import results as results_page

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
POLICIES = ROOT / "agents/policies"


@pytest.fixture(autouse=True)
def _extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents' own code can be imported."""
    monkeypatch.syspath_prepend(str(ROOT / "docs/_ext"))


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def stem(env_id: str) -> str:
    """As files of an environment begin."""
    return env_id.removeprefix("dynenvs/").removesuffix("-v0")


def evaluation(env_id: str) -> Any:
    return read(RESULTS / f"{stem(env_id)}_evaluation.json")


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each table, without its heading."""
    found = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    rows = [[line.strip("| ").split(" | ") for line in table.splitlines()[2:]] for table in found]
    return [[[cell.strip("` ") for cell in row] for row in table] for table in rows]


def section(env_id: str) -> str:
    """The scores on an environment's page, as the site's build writes them."""
    import environment_pages

    page = str(environment_pages.page(env_id, ROOT / "docs", RESULTS))
    return page[page.index("## Agents") : page.index("## Dataset")]


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_long_tables_are_closed_at_first_and_nothing_is_lost(env_id: str) -> None:
    """All of the docstring is there; options are in a fold, and no fold holds a heading."""
    import environment_pages

    page = str(environment_pages.page(env_id, ROOT / "docs", RESULTS))
    told = inspect.getdoc(environment_pages.make(env_id).__class__) or ""
    rows = [line for line in told.splitlines() if line.startswith(("|", "- ", "## "))]
    assert [line for line in rows if line not in page] == []
    folds = re.findall(r"<details.*?</details>", page, re.DOTALL)
    assert len(folds) == page.count("<details") == page.count("</details>")
    assert not any(re.search("^#", fold, re.MULTILINE) for fold in folds)
    assert any("- `max_episode_steps`" in fold for fold in folds)
    assert any("env.unwrapped.observation_slices" in fold for fold in folds)
    terrain = "On terrain a height scan follows, "
    if terrain in told:
        assert any(f"<summary>{terrain}<code>Box(" in fold for fold in folds)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_what_ships_has_the_figures_of_its_own_file(env_id: str) -> None:
    """Each policy in the package has a row, of an evaluation that knows its bytes."""
    ships, _ = tables(section(env_id))
    files = sorted(POLICIES.glob(f"{env_id.removeprefix('dynenvs/')}_*.safetensors"))
    assert [row[0] for row in ships] == ["expert", *(file.stem.partition("_")[2] for file in files)]
    measured = evaluation(env_id)
    between = measured["references"]
    assert measured["episodes"] == 100
    for name, score, falls, _ in ships:
        agent = measured["agents"][name]
        share = (np.mean(agent["returns"]) - between["standing"]) / (
            between["expert"] - between["standing"]
        )
        assert score == f"{share:.2f}"
        assert int(falls) == agent["falls"]
    for file in files:
        agent = measured["agents"][file.stem.partition("_")[2]]
        assert agent["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest(), file.name


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_rows_of_runs_are_of_the_logs(env_id: str) -> None:
    """Mean, least and greatest of each row's seeds; no run of the standard environment lacks."""
    _, rows = tables(section(env_id))
    logs = [read(path) for path in RESULTS.glob(f"{stem(env_id)}*_*.json")]
    left = [log for log in logs if "final" in log and not log["options"]]
    for _, seeds, score, falls, command in rows:
        words = command.split()
        kind = words[2] if words[1] == "train" else "clone" if "--dataset" in words else "dagger"
        own = [
            log
            for log in left
            if log["kind"] == kind
            and bool(log.get("from")) == ("--from" in words)
            and bool(log.get("starts")) == ("--starts" in words)
        ]
        left = [log for log in left if log not in own]
        assert seeds == ", ".join(map(str, sorted(log["seed"] for log in own)))
        values = [log["final"]["score"] for log in own]
        told = [f"{np.mean(values):.2f}"]
        told += [f"{min(values):.2f}", f"{max(values):.2f}"] if len(own) > 1 else []
        assert re.findall(r"-?\d+\.\d+", score) == told
        assert falls == f"{np.mean([log['final']['falls'] for log in own]):.0f}"
    assert left == []


def test_a_page_is_not_made_for_a_policy_that_was_not_evaluated(tmp_path: Path) -> None:
    """The line says which file, and what to run."""
    import scores

    measured = evaluation("dynenvs/Humanoid-v0")
    measured["agents"]["ppo"]["sha256"] = "0" * 64
    file = tmp_path / "Humanoid_evaluation.json"
    file.write_text(json.dumps(measured))
    wanted = r"not about Humanoid-v0_ppo\.safetensors: run `dynenvs evaluate humanoid --json res"
    with pytest.raises(ValueError, match=wanted):
        scores.ships("dynenvs/Humanoid-v0", file)


def test_the_page_of_results_is_of_the_logs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Written anew it is the same, to the letter."""
    monkeypatch.setattr(results_page, "_plot", lambda *_: None)
    page = tmp_path / "results.md"
    results_page.write_page(RESULTS, page)
    wanted = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == wanted, "run `python -m studies.results`"


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_undisturbed_returns_of_the_robustness_page(env_id: str) -> None:
    """Those of the evaluation where the seeds are the same, else within four standard errors."""
    text = (ROOT / "docs/lab/robustness.md").read_text(encoding="utf-8")
    own = text[text.index(f"## {stem(env_id)}\n") :]
    heading = next(line for line in own.splitlines() if line.startswith("| disturbance"))
    names = re.findall(r"(\w+): alive", heading)[1:]  # the first one is the aim
    row = next(line for line in own.splitlines() if line.startswith("| none"))
    returns = dict(zip(names, re.findall(r" (\d+\.\d) \|", row), strict=True))
    agents = evaluation(env_id)["agents"]
    for name, told in returns.items():
        spread = agents[name]["return_deviation"]
        margin = 4.0 * spread / np.sqrt(200) if stem(env_id) == "Humanoid" else 0.051
        assert float(told) == pytest.approx(agents[name]["mean_return"], abs=margin), name


def test_how_far_the_quadrupeds_feet_slide() -> None:
    """In docs/lab/learning.md."""
    text = " ".join((ROOT / "docs/lab/learning.md").read_text(encoding="utf-8").split())
    agents = evaluation("dynenvs/Quadruped-v0")["agents"]
    feet = f"feet go {agents['ppo']['slip']:.1f} m in an episode, the expert's "
    assert feet + f"{1e3 * agents['expert']['slip']:.0f} mm" in text
