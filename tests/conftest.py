"""Fixtures of the physics tests; what they are made of stands in `trees.py`."""

from __future__ import annotations

import os
import random
import signal
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from trees import Tree, random_tree

from dynenvs.jit.compiled import Kernel

# `studies` stands beside `tests`; last, so that `dynenvs` is the installed one
sys.path.append(str(Path(__file__).parents[1]))

# A shell that starts the tests in the background has them ignore SIGINT, and all their children too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests call kernels that are nobody's entry: they are compiled beside the library
Kernel.always_compiled = True

# Examples: the same ones in every run, or random ones by `pytest --hypothesis-profile=random`
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile(
    "random", derandomize=False, database=None, deadline=None, print_blob=True
)
settings.load_profile("fixed")

TREES, SCREWED = 30, 6
USUAL = "not slow and not faults"  # as pyproject.toml says
CASES = 3  # of one test that the quick run takes
LIBRARIES = (
    "matplotlib",
    "minari",
    "mujoco",
    "onnx",
    "pinocchio",
    "ray",
    "stable_baselines3",
    "torch",
)
NOT_QUICK = {  # files of which the quick run takes nothing, and why
    "test_browser_live.py": "a browser, or a server that others reach",
    "test_browser_playing.py": "a browser",
    "test_checked_bounds.py": "machine code of its own",
    "test_core_in_scripts.py": "processes that are killed",
    "test_endurance_script.py": "long runs",
    "test_faults.py": "processes that are killed",
    "test_humanoid_walk.py": "walks of many steps",
    "test_ray.py": "a cluster",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest` alone is the quick run; a path, -k, -m or --all asks for all of it."""
    parser.addoption("--all", dest="whole", action="store_true", help="run all but slow tests")


def pytest_configure(config: pytest.Config) -> None:
    """Whether this is the quick run; worker processes are told."""
    if hasattr(config, "workerinput"):
        config.option.whole = config.workerinput["whole"]
        return
    chosen = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    chosen = chosen or config.option.keyword != "" or config.option.markexpr != USUAL
    config.option.whole = config.option.whole or chosen


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker process of xdist, which has options and arguments of its own."""
    node.workerinput["whole"] = node.config.option.whole


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is left out; which tests a library's absence skips is told at the end."""
    lines = []
    if not config.option.whole:
        lines.append(f"quick run: {CASES} cases of each test, none marked thorough; ")
        lines[0] += "`pytest --all` runs all"
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        lines.append(f"not installed, so that their tests are skipped: {', '.join(missing)}; ")
        lines[-1] += '`pip install -e ".[dev]"` has all'
    return lines


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the quick run: leave out long tests, and all but a few cases of the others."""
    if config.option.whole:
        return
    kept = _quick(items)
    files = {item.path.name for item in items}
    missing = files - {item.path.name for item in kept}
    if missing != files & set(NOT_QUICK):
        wrong = ", ".join(sorted(missing ^ files & set(NOT_QUICK)))
        raise pytest.UsageError(
            f"NOT_QUICK of {__file__} is to list what has no quick test: {wrong}"
        )
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _quick(items: list[pytest.Item]) -> list[pytest.Item]:
    """In their order: of each test its cases, or `CASES` of them from the first to the last."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "thorough", "faults")):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [
        cases[k]
        for cases in tests.values()
        for k in sorted({round(i * (len(cases) - 1) / (CASES - 1)) for i in range(CASES)})
    ]


@cache
def _cached_tree(seed: int) -> Tree:
    return random_tree(seed) if seed < TREES else random_tree(seed, 8, screws=True)


@pytest.fixture(params=range(TREES + SCREWED))
def tree(request: pytest.FixtureRequest) -> Tree:
    """One of thirty random trees, or of six with screws, its random numbers started afresh."""
    made = _cached_tree(request.param)
    return made._replace(rng=type(made.rng)(type(made.rng.bit_generator)(1000 + request.param)))


@pytest.fixture(autouse=True, scope="session")
def _headless() -> None:
    """No test opens a window on somebody's screen."""
    os.environ["SDL_VIDEODRIVER"] = "dummy"


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Short evaluations, one thread, an empty folder, generators as they were."""
    import torch

    from dynenvs.agents.evaluation.evaluate import evaluate, references
    from dynenvs.agents.learn import train as training
    from dynenvs.agents.learn import watch

    monkeypatch.setattr(watch, "EPISODES", 1)
    for function in (evaluate, references):
        short = partial(function, max_episode_steps=20)
        monkeypatch.setattr(watch, function.__name__, short)
    monkeypatch.setattr(watch, "EVALUATIONS", 4)
    monkeypatch.setattr(training, "FIRST_LOOK", 2)
    monkeypatch.setattr(training, "finish", lambda env_id, path, **options: {"score": 0.0})
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    threads, state = torch.get_num_threads(), random.getstate()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    random.setstate(state)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder of datasets; few episodes for the reference scores."""
    from dynenvs.agents.data import collect as collecting

    folder = tmp_path / "datasets"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(collecting, "REFERENCES", 2)
    monkeypatch.chdir(tmp_path)
    return folder
