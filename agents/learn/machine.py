"""What a training run stood on."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dynenvs.agents.machine import describe, load

PACKAGES = ("dynenvs", "numpy", "numba", "torch", "stable-baselines3")


@contextmanager
def learner_threads(count: int) -> Iterator[None]:
    """Let torch compute on so many threads; afterwards on as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def machine() -> dict[str, Any]:
    """Processor, cores, load at the beginning, versions."""
    described = describe()
    described["versions"] = {
        "python": described["versions"]["python"],
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }
    return {**described, "load": load()}
