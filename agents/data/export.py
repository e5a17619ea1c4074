"""`dynenvs export`: a dataset as plain NumPy arrays, as offline learners take them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from minari import EpisodeData, MinariDataset
from numpy.typing import NDArray

from dynenvs.agents.data.dataset import plain_infos, recorded
from dynenvs.agents.evaluation.rollout import ANSWER
from dynenvs.files import written_whole


def transitions(dataset: MinariDataset) -> dict[str, NDArray[Any]]:
    """All transitions, one after the other, in the names of D4RL.

    Returns:
        `observations`, `next_observations` (n, obs), `actions` (n, nu), `rewards`, `terminals`,
        `timeouts`, `episodes` (n,): the number of each one's episode; and, where infos were
        recorded, `infos/NAME` (n, ...): what `step` returned together with `next_observations`.
        `expert_actions` (n, nu), where noise acted: the agent's own answers to `observations`.
    """
    columns: dict[str, list[NDArray[Any]]] = {}
    for number, episode in enumerate(recorded(dataset)):
        for name, values in (
            ("observations", episode.observations[:-1]),
            ("next_observations", episode.observations[1:]),
            ("actions", episode.actions),
            ("rewards", episode.rewards),
            ("terminals", episode.terminations),
            ("timeouts", episode.truncations),
            ("episodes", np.full(len(episode.rewards), number)),
            *_told(episode),
        ):
            columns.setdefault(name, []).append(np.asarray(values))
    return {name: np.concatenate(values) for name, values in columns.items()}


def _told(episode: EpisodeData) -> Iterator[tuple[str, NDArray[Any]]]:
    """Infos as they came together with the next observations; answers beside what acted."""
    for name, values in plain_infos(episode).items():
        if name == ANSWER:
            yield f"{ANSWER}s", values[:-1]
        else:
            yield f"infos/{name}", values[1:]


def export(dataset: MinariDataset, path: Path) -> int:
    """Write `transitions` to an .npz file, whole or not at all; returns how many there are.

    Raises:
        ValueError: another ending.
        OSError: it cannot be written.
    """
    if path.suffix != ".npz":
        raise ValueError(f"the file is NumPy's archive: {str(path)!r} must end in .npz")
    columns = transitions(dataset)
    with written_whole(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **columns)
    return len(columns["rewards"])
