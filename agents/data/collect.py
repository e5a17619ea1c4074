"""`dynenvs collect`: episodes of an agent, from the batched simulator into a Minari dataset."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from minari.storage import get_dataset_path

import dynenvs
from dynenvs.agents.data.card import Facts, Group, card
from dynenvs.agents.data.dataset import dataset_id, refuse_existing, write_dataset
from dynenvs.agents.data.journal import Journal
from dynenvs.agents.data.origin import code_permalink
from dynenvs.agents.data.teaching import EVERY, is_plain, shares, standard_noise
from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.evaluate import evaluate, reference_agents
from dynenvs.agents.evaluation.options import plain_options, spec_with, spoken
from dynenvs.agents.evaluation.rollout import Run, make_batch, rollout
from dynenvs.agents.files import shipped_file
from dynenvs.files import folders_above
from dynenvs.memory.origin import this

WORLDS = 250  # side by side: a round thousand takes whole batches
LONGEST_WORD = 40  # letters of an option's value in a dataset's name
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


class Plan(NamedTuple):
    """What decides the episodes of a collection."""

    env_id: str
    options: dict[str, Any]  # as JSON gives them back
    agent: str
    noise: float
    seed: int
    infos: bool

    def identity(self) -> dict[str, Any]:
        """What must be the same for a collection to go on."""
        agent = self.agent
        for path in (shipped_file(self.env_id, agent), Path(agent)):
            if path.is_file():
                agent = f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
                break
        made = this()
        return {**self._asdict(), "agent": agent, "version": made.version, "layout": made.layout}

    def name(self) -> str:
        """A dataset's name: "expert-v0", "expert-clean-terrain-rough-v0"."""
        words = [Path(self.agent).stem]
        if self.noise != standard_noise(self.env_id, self.agent):
            words.append(f"noise {self.noise}" if self.noise else "clean")
        words += [f"{name} {_short(value)}" for name, value in self.options.items()]
        return "-".join(re.findall(r"[^\W_]+", " ".join(words))) + "-v0"

    def metadata(self, count: int) -> dict[str, Any]:
        """What Minari wants to know."""
        agent, first = Path(self.agent).name, self.seed
        shaken = ""
        if self.noise:
            shaken = (
                f" with Gaussian noise of {self.noise} on its actions in all episodes but those "
                f"whose seed is {EVERY - 1} modulo {EVERY}"
            )
        where = f" ({spoken(self.options)})" if self.options else ""
        permalink = code_permalink()
        return {
            "algorithm_name": f"dynenvs {agent}{shaken}",
            **({"code_permalink": permalink} if permalink else {}),
            "description": (
                f"{count} episodes of the agent {agent!r}{shaken} in {self.env_id}{where}, seeds "
                f"{first} to {first + count - 1}.  Each episode's attributes hold the simulator's "
                "whole state at its start; `dynenvs replay` gives the same observations bit for "
                "bit."
            ),
            "requirements": [f"dynenvs=={dynenvs.__version__}"],
            "noise": self.noise,
        }


def _short(value: Any) -> str:
    """An option's value in a dataset's name, which is also a folder's: a long one by its digest."""
    text = str(value)
    return text if len(text) <= LONGEST_WORD else hashlib.sha256(text.encode()).hexdigest()[:8]


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


def episodes_here(plan: Plan, threads: int | None, numbers: list[int]) -> Iterator[list[Run]]:
    """Run episodes, some hundreds side by side; `Run.number` is the episode's own."""
    for batch in batched(numbers, WORLDS):
        envs = make_batch(plan.env_id, len(batch), threads, **plan.options)
        policy = actor(plan.agent, envs, plan.env_id)
        seeds = [plan.seed + i for i in batch]
        noise = shares(plan.noise, seeds)
        for ended in rollout(envs, policy, seeds, noise=noise, with_infos=plan.infos):
            yield [run._replace(number=batch[run.number]) for run in ended]


def batched(numbers: list[int], size: int) -> Iterator[list[int]]:
    """The numbers in lists of this size, the last one shorter."""
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


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
