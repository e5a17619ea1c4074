"""What the tests of data and learning share."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dynenvs import cli

PENDULUM, HUMANOID = "dynenvs/DoublePendulum-v0", "dynenvs/PlanarHumanoid-v0"

SMALL = {
    "n_envs": 4,
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 2,
    "n_timesteps": 512,
    "reward_power": 0.5,
    "policy_kwargs": {"net_arch": [8]},
}


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of the command `dynenvs`."""
    monkeypatch.setattr(sys, "argv", ["dynenvs", *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return int(exit_.value.code or 0)


def content(name: str) -> list[tuple[Any, ...]]:
    """All of a dataset but Minari's own words."""
    from dynenvs.agents.data.dataset import episodes, open_dataset, plain_infos

    return [
        (
            start.seed,
            {key: rows.tobytes() for key, rows in start.state.items()},
            data.observations.tobytes(),
            data.actions.tobytes(),
            data.rewards.tobytes(),
            data.terminations.tobytes(),
            data.truncations.tobytes(),
            {name: told.tobytes() for name, told in plain_infos(data).items()},
        )
        for start, data in episodes(open_dataset(name))
    ]
