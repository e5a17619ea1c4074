"""`dynenvs collect`: episodes of an agent, from the batched simulator into a Minari dataset."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from minari.storage import get_dataset_path

import dynenvs
from dynenvs.agents.actors import actor, shipped_file
from dynenvs.agents.data.dataset import dataset_id, write_dataset
from dynenvs.agents.data.parts import Parts
from dynenvs.agents.rollout import make_batch, rollout, run_all

WORLDS = 250  # side by side: a round thousand takes whole batches
AUTHOR = "The dynenvs developers"
REFERENCES = 100  # episodes of each reference score


class Collected(NamedTuple):
    """What a collection came to."""

    name: str  # the dataset's id
    path: Path
    episodes: int
    steps: int
    mean_return: float


def collect(
    env_id: str,
    count: int,
    *,
    agent: str = "expert",
    noise: float = 0.0,
    seed: int = 0,
    name: str | None = None,
    threads: int | None = None,
    author: str = AUTHOR,
    email: str | None = None,
    report: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Collected:
    """Collect episodes; one that is interrupted goes on where it stopped.

    Episode i begins with the seed `seed + i`, whatever the batch.

    Args:
        env_id: which environment.
        count: episodes.
        agent: as `actors.actor` takes it.
        noise: standard deviation of the noise on its actions.
        seed: of the first episode.
        name: of the dataset, as "expert-v0"; after the agent if None.
        threads: of the simulator; as many as this process may run if None.
        author, email: of the dataset, for its metadata.
        report: told how many episodes are done, and how many steps they have.
        options: the environment's.

    Raises:
        ValueError: no such agent; a number out of its range; an unfinished collection of the same
            name with other settings.
        FileExistsError: there is such a dataset already.
        OSError: it cannot be written.
    """
    if count < 1:
        raise ValueError(f"episodes must be at least 1, got {count}")
    if not 0.0 <= noise < np.inf:
        raise ValueError(f"noise must be a number from 0 on, got {noise}")
    full = dataset_id(env_id, name or _name(agent, noise))
    path = get_dataset_path(full)
    if path.exists():
        raise FileExistsError(f"there is a dataset {full!r} already; choose another --name")
    plan = {
        "env": env_id,
        "options": options,
        "agent": _identity(agent, env_id),
        "noise": noise,
        "seed": seed,
        "version": dynenvs.__version__,
    }
    parts = Parts(path.with_name(f".{path.name}.parts"), plan)
    _gather(parts, env_id, count, agent, noise, seed, threads, report, options)
    total, returns = 0, 0.0
    for run in parts.episodes(count):
        total, returns = total + run.steps, returns + run.returned
    mean = returns / count
    spec = copy.deepcopy(gym.spec(env_id))  # the registry's own must stay as it is
    spec.kwargs = dict(options)
    scores = _references(env_id, agent, noise, threads, mean, count, options)
    metadata = _metadata(env_id, agent, noise, seed, count, scores, author, email)
    write_dataset(full, parts.episodes(count), spec, metadata)
    parts.remove()
    return Collected(full, path, count, total, mean)


def _gather(
    parts: Parts,
    env_id: str,
    count: int,
    agent: str,
    noise: float,
    seed: int,
    threads: int | None,
    report: Callable[[int, int], None] | None,
    options: dict[str, Any],
) -> None:
    """Run the episodes that are not there yet."""
    places = parts.places()
    missing = [i for i in range(count) if i not in places]
    done, steps = count - len(missing), 0
    while missing:
        batch, missing = missing[:WORLDS], missing[WORLDS:]
        envs = make_batch(env_id, len(batch), threads, **options)
        policy = actor(agent, envs, env_id)
        for ended in rollout(envs, policy, [seed + i for i in batch], noise=noise):
            parts.add([run._replace(number=batch[run.number]) for run in ended])
            done, steps = done + len(ended), steps + sum(run.steps for run in ended)
            if report:
                report(done, steps)


def _references(
    env_id: str,
    agent: str,
    noise: float,
    threads: int | None,
    mean: float,
    count: int,
    options: dict[str, Any],
) -> dict[str, float]:
    """Mean returns of random actions and of the expert; the dataset's own serve where they can."""
    scores = {}
    for key, who in (("ref_min_score", "random"), ("ref_max_score", "expert")):
        if who == agent and noise == 0.0 and count >= REFERENCES:
            scores[key] = mean
        else:
            envs = make_batch(env_id, REFERENCES, threads, **options)
            runs = run_all(envs, actor(who, envs, env_id), range(REFERENCES))
            scores[key] = float(np.mean([run.returned for run in runs]))
    return scores


def _metadata(
    env_id: str,
    agent: str,
    noise: float,
    seed: int,
    count: int,
    scores: dict[str, float],
    author: str,
    email: str | None,
) -> dict[str, Any]:
    """What Minari wants to know."""
    shaken = f" with Gaussian noise of {noise} on its actions" if noise else ""
    return {
        "algorithm_name": f"dynenvs {Path(agent).name}{shaken}",
        "author": {author},
        **({"author_email": {email}} if email else {}),
        "code_permalink": f"dynenvs {dynenvs.__version__}, dynenvs/agents/data/collect.py",
        "description": (
            f"{count} episodes of the agent {Path(agent).name!r}{shaken} in {env_id}, seeds "
            f"{seed} to {seed + count - 1}.  Each episode's attributes hold the simulator's whole "
            "state at its start; `dynenvs replay` gives the same observations bit for bit."
        ),
        "requirements": [f"dynenvs=={dynenvs.__version__}"],
        "num_episodes_average_score": REFERENCES,
        **scores,
    }


def _name(agent: str, noise: float) -> str:
    stem = "".join(c if c.isalnum() else "-" for c in Path(agent).stem).strip("-")
    return f"{stem}{'-noisy' if noise else ''}-v0"


def _identity(agent: str, env_id: str) -> str:
    """The agent's name, and what its file is like."""
    for path in (shipped_file(env_id, agent), Path(agent)):
        if path.is_file():
            return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return agent
