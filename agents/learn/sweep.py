"""One training for each of several seeds: one after another here, or side by side on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dynenvs.agents.learn.starts import located
from dynenvs.agents.learn.train import train

MOST_SEEDS = 1000


class Training(NamedTuple):
    """One run, as `train` takes it; its folder is one that all nodes of a cluster see."""

    algorithm: str
    env_id: str
    settings: dict[str, Any]
    folder: Path
    seed: int | None
    resume: bool
    more: dict[str, Any]  # further arguments and the environment's options


def parse_seeds(text: str) -> list[int]:
    """Seeds as people type them: "3", or from "1..8" the eight from 1 to 8.

    Raises:
        ValueError: neither.
    """
    first, dots, last = text.partition("..")
    try:
        seeds = [*range(int(first), int(last) + 1)] if dots else [int(first)]
    except ValueError:
        seeds = []
    if not 1 <= len(seeds) <= MOST_SEEDS or seeds[0] < 0:
        raise ValueError(f"--seed takes a whole number or a range as 1..8, got {text!r}")
    return seeds


def sweep(trainings: list[Training], cluster: str | None) -> Iterator[tuple[Training, Any]]:
    """Train them all; gives out each training with its log when it has ended.

    On a cluster each takes one processor.  What a node that dies had in training goes on elsewhere
    from its last checkpoint.

    Args:
        trainings: all of them.
        cluster: address of a Ray cluster (`agents.cluster.cluster`); None trains here.

    Raises:
        FileExistsError: a folder holds a run already, and is not to be resumed.
        Exception: what `train` raises.
    """
    for one in trainings:
        if not one.resume and (one.folder / "last.zip").exists():
            raise FileExistsError(
                f"{str(one.folder)!r} holds a run: --resume it, or choose another --out"
            )
    if cluster is None:
        for one in trainings:
            yield one, train_one(one)
        return
    from dynenvs.agents.cluster import cluster as connected
    from dynenvs.agents.cluster import spread

    with connected(cluster):
        yield from spread(train_one, [for_a_worker(one) for one in trainings])


def for_a_worker(one: Training) -> Training:
    """The same on one processor, with whole paths: workers run in folders of their own."""
    more = {**one.more, "threads": 1}
    if more.get("begin_from"):
        more["begin_from"] = more["begin_from"].resolve()
    if more.get("starts"):
        more["starts"] = located(*more["starts"])
    return one._replace(folder=one.folder.resolve(), more=more)


def train_one(one: Training) -> Any:
    """Train, or go on where an earlier try of this training was broken off; returns the log."""
    begun = (one.folder / "last.zip").exists()
    more = {**one.more}
    if begun:  # it goes on from its own folder
        for name in ("begin_from", "starts", "curriculum"):
            more.pop(name, None)
    return train(
        one.algorithm,
        one.env_id,
        {} if begun and not one.resume else one.settings,
        one.folder,
        seed=one.seed,
        resume=begun or one.resume,
        **more,
    )
