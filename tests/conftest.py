"""Fixtures of the physics tests; what they are made of stands in `trees.py`."""

from __future__ import annotations

import os
import random
import signal
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from trees import Tree, random_tree

# A shell that starts the tests in the background has them ignore SIGINT, and all their children too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TREES = 30


@cache
def _cached_tree(seed: int) -> Tree:
    return random_tree(seed)


@pytest.fixture(params=range(TREES))
def tree(request: pytest.FixtureRequest) -> Tree:
    """One of thirty random trees, its random numbers started afresh."""
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
    monkeypatch.setattr(training, "finish", lambda env_id, path: {"score": 0.0})
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
