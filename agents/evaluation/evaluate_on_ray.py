"""Episodes of an evaluation as Ray tasks; what they come to is that of one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dynenvs.agents.cluster import File, arrived, carried, cluster, spread
from dynenvs.agents.evaluation.evaluation import Evaluation
from dynenvs.agents.evaluation.here import evaluate_here
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.agents.files import shipped_file

EPISODES = 10  # of a task


class Share(NamedTuple):
    """What a task is told."""

    env_id: str
    agent: str | File | None
    first_seed: int
    episodes: int
    options: dict[str, Any]


def evaluate_on(
    address: str, env_id: str, agent: Policy | str | None, seeds: range, options: dict[str, Any]
) -> Evaluation:
    """An agent's episodes of these seeds, run on a Ray cluster.

    Args:
        address: of the cluster (`agents.cluster.cluster`).
        env_id: which environment.
        agent: its name, or a zip; None acts at random.
        seeds: of the episodes.
        options: the environment's.

    Raises:
        ValueError: an agent that is no name; what `evaluate` raises.
        ConnectionError: there is no cluster at that address.
    """
    if not (agent is None or isinstance(agent, str)):
        raise ValueError(f"on a cluster an agent must be given by its name or file, got {agent!r}")
    ships = agent is None or shipped_file(env_id, agent).is_file()
    sent = agent if agent is None or ships else carried(agent)

    def shares() -> Iterator[Share]:
        for first in range(seeds.start, seeds.stop, EPISODES):
            yield Share(env_id, sent, first, min(EPISODES, seeds.stop - first), options)

    with cluster(address):
        parts = {share.first_seed: found for share, found in spread(evaluate_share, shares())}
    columns = zip(*(parts[first] for first in sorted(parts)), strict=True)
    return Evaluation(*([value for part in column for value in part] for column in columns))


def evaluate_share(share: Share) -> Evaluation:
    """The episodes of a task."""
    agent = None if share.agent is None else arrived(share.agent)
    seeds = range(share.first_seed, share.first_seed + share.episodes)
    return evaluate_here(share.env_id, agent, seeds, 1, share.options)
