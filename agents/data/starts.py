"""`dynenvs starts`: states of a dataset's episodes in which others can begin."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
from minari import EpisodeData, MinariDataset
from numpy.typing import NDArray

from dynenvs.agents.data.dataset import Start, episodes
from dynenvs.agents.evaluation.options import options_of
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.names import registered
from dynenvs.envs.core.starts import write_starts
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Bytes

WORLDS = 250


def make_starts(dataset: MinariDataset, path: Path, count: int = 2000, seed: int = 0) -> int:
    """Write states of a dataset's episodes, drawn evenly from all of their steps.

    The episodes are simulated again: a dataset holds the whole state of their beginnings alone.

    Args:
        dataset: made by `dynenvs collect`.
        path: file to write.
        count: how many states, at most as many as there are steps.
        seed: of the draw.

    Returns:
        How many were written.

    Raises:
        ValueError: no environment in the dataset, or one that there is not; it is broken.
        OSError: the file cannot be written.
    """
    spec = dataset.env_spec
    if spec is None:
        raise ValueError(f"the dataset {dataset.id!r} names no environment")
    env_id = registered(spec.id, f"the dataset {dataset.id!r}")
    options = options_of(spec)
    random, steps = np.random.default_rng(seed), dataset.total_steps
    chosen = np.sort(random.choice(steps, min(count, steps), replace=False))
    found: dict[str, list[Bytes]] = {"world": [], "task": []}
    recorded, before = episodes(dataset), 0
    envs = None
    while batch := list(islice(recorded, WORLDS)):
        envs = make_batch(env_id, len(batch), **options)
        _gather(envs, batch, chosen, before, found)
        before += sum(len(data.rewards) for _, data in batch)
    if envs is None:
        raise ValueError(f"the dataset {dataset.id!r} has no episodes")
    write_starts(path, envs.task, *(np.concatenate(found[name]) for name in ("world", "task")))
    return len(chosen)


def _gather(
    envs: DynVectorEnv,
    batch: list[tuple[Start, EpisodeData]],
    chosen: NDArray[np.int64],
    before: int,
    found: dict[str, list[Bytes]],
) -> None:
    """Simulate episodes again, and keep the states before the chosen steps.

    Args:
        envs: one world an episode.
        batch: the episodes.
        chosen: numbers of steps, counted through all episodes of the dataset.
        before: how many steps come before these episodes.
        found: what is kept, byte by byte.
    """
    envs.reset(seed=[start.seed for start, _ in batch])
    lengths = np.array([len(data.rewards) for _, data in batch])
    firsts = before + np.concatenate([[0], np.cumsum(lengths)[:-1]])
    actions = np.zeros((len(batch), envs.task.model.nu), np.float32)
    for step in range(int(lengths.max())):
        live = step < lengths
        wanted = live & np.isin(firsts + step, chosen)
        if wanted.any():
            for name, records in envs.get_state().items():
                rows = records.view(np.uint8).reshape(len(batch), -1)
                found[name].append(rows[wanted])
        for i in np.flatnonzero(live).tolist():
            actions[i] = batch[i][1].actions[step]
        envs.step(actions)
