"""Fixtures of the physics tests; what they are made of stands in `trees.py`."""

from __future__ import annotations

import os
from functools import cache

import pytest
from trees import Tree, random_tree

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
