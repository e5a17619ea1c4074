"""Episodes of a collection as Ray tasks: each has some numbers and gives back their episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dynenvs.agents.cluster import File, arrived, carried, cluster, spread
from dynenvs.agents.data.plan import Plan, batched, episodes_here
from dynenvs.agents.evaluation.rollout import Run
from dynenvs.agents.files import shipped_file

EPISODES = 25  # of a task: what a node that dies has to do again, and what travels at once


class Share(NamedTuple):
    """What a task is told."""

    plan: dict[str, Any]
    agent: str | File
    numbers: list[int]


def episodes_on(address: str, plan: Plan, numbers: list[int]) -> Iterator[list[Run]]:
    """Run episodes on a Ray cluster; a task's episodes come together when all have ended.

    Raises:
        ConnectionError: there is no cluster at that address.
    """
    ships = shipped_file(plan.env_id, plan.agent).is_file()
    agent = plan.agent if ships else carried(plan.agent)
    words = plan._asdict()
    with cluster(address):
        shares = (Share(words, agent, batch) for batch in batched(numbers, EPISODES))
        for _, runs in spread(run_share, shares):
            yield runs


def run_share(share: Share) -> list[Run]:
    """The episodes of a task, in the order of their numbers."""
    plan = Plan(**{**share.plan, "agent": arrived(share.agent)})
    ended = [run for runs in episodes_here(plan, 1, share.numbers) for run in runs]
    return sorted(ended, key=lambda run: run.number)
