"""`dynenvs replay`: recorded actions in the simulator again, compared bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from minari import EpisodeData, MinariDataset
from numpy.typing import NDArray

from dynenvs.agents.data.dataset import Start, episodes, plain_infos
from dynenvs.agents.evaluation.options import options_of
from dynenvs.agents.evaluation.rollout import ANSWER, make_batch
from dynenvs.agents.names import registered
from dynenvs.envs.core.codes import RUNNING, TERMINATIONS
from dynenvs.envs.core.vector import DynVectorEnv

WORLDS = 250


class Difference(NamedTuple):
    """The first thing that was not the same in an episode."""

    episode: int
    step: int  # 0: the first observation
    what: str


def replay(dataset: MinariDataset, threads: int | None = None) -> list[Difference]:
    """Replay every episode from its seed and compare all that the simulator gives.

    The state that the seed leads to must be the recorded one, then observations, rewards, ends and
    (where they were recorded) infos those of the dataset, in every bit.

    Args:
        dataset: made by `dynenvs collect`.
        threads: of the simulator.

    Returns:
        One entry for each episode that differs: none means bit for bit the same.

    Raises:
        ValueError: no environment in the dataset, or one that there is not; it is broken.
    """
    spec = dataset.env_spec
    if spec is None:
        raise ValueError(f"the dataset {dataset.id!r} names no environment")
    env_id = registered(spec.id, f"the dataset {dataset.id!r}")
    recorded = episodes(dataset)
    found: list[Difference] = []
    first = 0
    while batch := list(islice(recorded, WORLDS)):
        envs = make_batch(env_id, len(batch), threads, **options_of(spec))
        found += [
            Difference(first + place, step, what) for place, step, what in _replay(envs, batch)
        ]
        first += len(batch)
    return found


def _replay(
    envs: DynVectorEnv, batch: list[tuple[Start, EpisodeData]]
) -> Iterator[tuple[int, int, str]]:
    """Place in the batch, step and kind of the first difference of each episode that has one."""
    observations, infos = envs.reset(seed=[start.seed for start, _ in batch])
    recorded = [plain_infos(data) for _, data in batch]
    steps = [len(data.rewards) for _, data in batch]
    differs: dict[int, tuple[int, str]] = {}
    _compare_states(envs, batch, differs)
    _compare(observations, [d.observations[0] for _, d in batch], 0, "observation", differs)
    for i, kept in enumerate(recorded):
        if not _same_infos(infos, i, kept, 0):
            differs.setdefault(i, (0, "info"))
    actions = np.zeros((len(batch), envs.task.model.nu), np.float32)
    for step in range(max(steps)):
        live = [i for i, count in enumerate(steps) if step < count]
        for i in live:
            actions[i] = batch[i][1].actions[step]
        observations, rewards, *_, infos = envs.step(actions)
        ends = envs.worlds.ends
        for i in live:
            data, last = batch[i][1], step + 1 == steps[i]
            same = {
                "observation": _same(observations[i], data.observations[step + 1]),
                "reward": _same(rewards[i], data.rewards[step]),
                "end": (ends[i] != RUNNING) == last
                and (int(ends[i]) in TERMINATIONS) == bool(data.terminations[step]),
                "info": _same_infos(infos, i, recorded[i], step + 1),
            }
            for what, equal in same.items():
                if not equal:
                    differs.setdefault(i, (step + 1, what))
    yield from ((i, step, what) for i, (step, what) in sorted(differs.items()))


def _compare_states(
    envs: DynVectorEnv,
    batch: list[tuple[Start, EpisodeData]],
    differs: dict[int, tuple[int, str]],
) -> None:
    """The simulator's whole states at the start."""
    for name, records in envs.get_state().items():
        rows = records.view(np.uint8).reshape(len(batch), -1)
        _compare(rows, [start.state.get(name) for start, _ in batch], 0, "state", differs)


def _compare(
    found: NDArray[Any],
    expected: list[NDArray[Any] | None],
    step: int,
    what: str,
    differs: dict[int, tuple[int, str]],
) -> None:
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not _same(one, other):
            differs.setdefault(i, (step, what))


def _same_infos(
    infos: dict[str, Any], i: int, recorded: dict[str, NDArray[Any]], place: int
) -> bool:
    """World `i`'s info and the recorded one, in every bit of every entry that was recorded.

    What the agent answered is no word of the environment's.
    """
    return all(
        name == ANSWER or (name in infos and _same(infos[name][i], values[place]))
        for name, values in recorded.items()
    )


def _same(one: Any, other: Any) -> bool:
    """Every bit, whatever it means as a number."""
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()
