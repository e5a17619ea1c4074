"""`dynenvs collect`: episodes of an agent, from the batched simulator into a Minari dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from minari.storage import get_dataset_path

from dynenvs.agents.data.card import Facts, Group, card
from dynenvs.agents.data.dataset import dataset_id, refuse_existing, write_dataset
from dynenvs.agents.data.journal import Journal
from dynenvs.agents.data.plan import Plan, episodes_here
from dynenvs.agents.data.teaching import is_plain, standard_noise
from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.evaluate import evaluate, reference_agents
from dynenvs.agents.evaluation.options import plain_options, spec_with
from dynenvs.agents.evaluation.rollout import Run, make_batch
from dynenvs.files import folders_above

AUTHOR = "The dynenvs developers"
REFERENCES = 100  # episodes of each reference score
OVERHEAD = 32_000  # bytes that HDF5 takes for an episode beside its arrays, at most
INFO_OVERHEAD = 4_000  # and for each array of its infos


class Collected(NamedTuple):
    """What a collection came to."""

    name: str  # the dataset's id
    path: Path
    episodes: int
    steps: int
    mean_return: float
    size: int  # bytes on disk


def collect(
    env_id: str,
    count: int,
    *,
    agent: str = "expert",
    noise: float | None = None,
    infos: bool = False,
    seed: int = 0,
    name: str | None = None,
    threads: int | None = None,
    author: str = AUTHOR,
    email: str | None = None,
    cluster: str | None = None,
    report: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Collected:
    """Collect episodes; one that is interrupted goes on where it stopped.

    Episode i begins with the seed `seed + i`, whatever the batch.

    Args:
        env_id: which environment.
        count: episodes.
        agent: as `actors.actor` takes it.
        noise: standard deviation of the noise on what acts, in nine of ten episodes; the agent's
            own answers are recorded beside it.  None: as much as teaches (`teaching.STANDARD`) if
            it is the expert, none if it is another.
        infos: record what `info` says at the reset and after each step, too, as Minari's
            `DataCollector(record_infos=True)` does.
        seed: of the first episode.
        name: of the dataset, as "expert-v0"; after agent and options if None.
        threads: of the simulator; as many as this process may run if None.
        author, email: of the dataset, for its metadata.
        cluster: address of a Ray cluster that runs the episodes (`agents.cluster.cluster`); None
            runs them here.  The dataset is the same, bit for bit.
        report: told how many episodes are done, and how many steps they have.
        options: the environment's.

    Raises:
        ValueError: no such agent; a number or an option out of its range; an unfinished collection
            of the same name with other settings.
        FileExistsError: there is such a dataset already.
        OSError: it cannot be written, or another process is collecting it.
    """
    if count < 1:
        raise ValueError(f"episodes must be at least 1, got {count}")
    if noise is None:
        noise = standard_noise(env_id, agent)
    if not 0.0 <= noise < np.inf:
        raise ValueError(f"noise must be a number from 0 on, got {noise}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    plan = Plan(env_id, plain_options(options), agent, noise, seed, infos)
    world = make_batch(env_id, 1, 1, **plan.options)
    actor(agent, world, env_id)  # errors come before the work
    step_limit(world)
    full = dataset_id(env_id, name or plan.name())
    path = get_dataset_path(full)
    refuse_existing(full)
    people = {"author": {author}, **({"author_email": {email}} if email else {})}
    unfinished = path.with_name(f".{path.name}.unfinished")
    with folders_above(unfinished), Journal(unfinished, plan.identity()) as journal:
        refuse_existing(full)  # another process may just have made it
        _gather(journal, plan, count, _source(plan, threads, cluster), report)
        steps, mean = _finish(journal, plan, full, count, threads, people)
        journal.remove()
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return Collected(full, path, count, steps, mean, size)


Source = Callable[[list[int]], Iterator[list[Run]]]  # episodes of these numbers, as they end


def _gather(
    journal: Journal,
    plan: Plan,
    count: int,
    source: Source,
    report: Callable[[int, int], None] | None,
) -> None:
    """Run the episodes that are not there yet."""
    missing = sorted(set(range(count)) - journal.finished())
    done, steps = count - len(missing), 0
    for ended in source(missing):
        journal.add(ended)
        done, steps = done + len(ended), steps + sum(run.steps for run in ended)
        if report:
            report(done, steps)


def _source(plan: Plan, threads: int | None, cluster: str | None) -> Source:
    """Where episodes come from: this process, or a Ray cluster."""
    if cluster is not None:
        from dynenvs.agents.data.collect_on_ray import episodes_on

        return partial(episodes_on, cluster, plan)
    return partial(episodes_here, plan, threads)


def _finish(
    journal: Journal,
    plan: Plan,
    name: str,
    count: int,
    threads: int | None,
    people: dict[str, Any],
) -> tuple[int, float]:
    """Write the dataset; returns its steps and mean return."""
    overhead = 0
    shaken, plain = Group([], [], []), Group([], [], [])
    for run in journal.episodes(count):
        group = plain if is_plain(run.seed) or not plan.noise else shaken
        group.returns.append(run.returned)
        group.lengths.append(run.steps)
        group.falls.append(run.terminated)
        overhead += OVERHEAD + INFO_OVERHEAD * len(run.infos)
    steps, mean = sum(shaken.lengths + plain.lengths), sum(shaken.returns + plain.returns) / count
    spec = spec_with(plan.env_id, plan.options)
    scores = _references(plan, threads, mean, count)
    size = round(1.25 * journal.size) + overhead
    facts = Facts(
        name=name,
        env_id=plan.env_id,
        options=plan.options,
        agent=Path(plan.agent).name,
        noise=plan.noise,
        infos=plan.infos,
        seeds=(plan.seed, plan.seed + count - 1),
        scores=scores,
        author=", ".join(people["author"]),
    )
    page = card(make_batch(plan.env_id, 1, 1, **plan.options).task, facts, shaken, plain)
    metadata = {**plan.metadata(count), **people, **scores}
    write_dataset(name, journal.episodes(count), spec, metadata, size, page=page)
    return steps, mean


def _references(plan: Plan, threads: int | None, mean: float, count: int) -> dict[str, float]:
    """Mean returns of random actions and, where there is one, of the expert, with these options.

    The dataset's own serve where they can.
    """
    scores: dict[str, float] = {}
    for key, who in (("ref_min_score", "random"), ("ref_max_score", "expert")):
        if who == plan.agent and plan.noise == 0.0 and count >= REFERENCES:
            scores[key] = mean
        elif who == "random" or who in reference_agents(plan.env_id, **plan.options):
            result = evaluate(plan.env_id, who, REFERENCES, threads, first_seed=0, **plan.options)
            scores[key] = result.mean_return
    return {**scores, "num_episodes_average_score": REFERENCES}
