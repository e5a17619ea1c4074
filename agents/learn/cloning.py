"""Cloning from the command line: dataset or DAgger, value function, evaluation, zip and log."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.utils import set_random_seed

from dynenvs.agents.files import write_json
from dynenvs.agents.learn.clone import Examples, Settings, clone, dagger, learn_value
from dynenvs.agents.learn.machine import machine
from dynenvs.agents.learn.policy_file import save_model
from dynenvs.agents.learn.settings import clone_settings, load_settings
from dynenvs.agents.learn.train import finish
from dynenvs.agents.options import options_of, plain_options, spec_with, spoken
from dynenvs.agents.reference import reference_controller
from dynenvs.agents.rollout import make_batch


def clone_to_file(
    env_id: str,
    path: Path,
    *,
    dataset: str | None = None,
    relabel: bool = False,
    episodes: int = 100,
    settings: Settings | None = None,
    seed: int = 0,
    threads: int | None = None,
    report: Callable[[float, float], None] = lambda share, loss: None,
    **options: Any,
) -> dict[str, Any]:
    """Clone, and write the policy to `path` and the log beside it, as .json.

    Args:
        env_id: which environment.
        path: the zip.
        dataset: to clone; DAgger if None.
        relabel: let the expert say what to do in the dataset's states.
        episodes: to learn from.
        settings: of the learner; those of settings.yml if None.
        seed: of weights, worlds and order.
        threads: of torch and of the simulator.
        report: told the share that is done, and the loss.
        options: the environment's; a dataset must have been recorded with the same ones.

    Returns:
        The log.

    Raises:
        FileNotFoundError: no such dataset.
        ValueError: a dataset of another environment, or with fewer episodes.
        OSError: it cannot be written.
    """
    if settings is None:
        ahead = load_settings("ppo", env_id)
        valued = {name: ahead[name] for name in ("gamma", "reward_scale")}
        settings = Settings(**valued, **clone_settings(env_id))
    if threads is not None:
        torch.set_num_threads(threads)
    set_random_seed(seed)
    begin, stand = time.perf_counter(), machine()
    curve: list[dict[str, float]] = []

    def note(steps: int, loss: float) -> None:
        curve.append({"steps": steps, "loss": loss})
        report(steps / (1000 * episodes), loss)

    learner: Any = {"settings": settings, "seed": seed, "report": note, **options}
    if dataset is None:
        model = dagger(env_id, episodes, threads=threads, **learner)
    else:
        model = clone(
            env_id, read_examples(env_id, dataset, episodes, relabel, **options), **learner
        )
    learn_value(model, env_id, settings, seed, threads, **options)
    minutes = (time.perf_counter() - begin) / 60.0
    kind = "dagger" if dataset is None else "clone"
    words = {"kind": kind, "episodes": episodes, "seed": seed, "options": options}
    save_model(model, path, env_id, words)
    log = {
        **words,
        "env": env_id,
        "dataset": dataset,
        "relabelled": relabel,
        "settings": settings._asdict(),
        "machine": stand,
        "minutes": minutes,
        "losses": curve,
        "final": finish(env_id, path, **options),
    }
    write_json(path.with_suffix(".json"), log)
    return log


def read_examples(
    env_id: str, dataset: str, episodes: int, relabel: bool, **options: Any
) -> Examples:
    """The first episodes of a dataset.

    Raises:
        FileNotFoundError: no such dataset.
        ValueError: a dataset of another environment, with other options, or with fewer episodes.
    """
    from dynenvs.agents.data.dataset import open_dataset, recorded

    opened = open_dataset(dataset)
    if opened.env_spec is None or opened.env_spec.id != env_id:
        other = "no environment" if opened.env_spec is None else opened.env_spec.id
        raise ValueError(f"the dataset {opened.id!r} is of {other}, not of {env_id}")
    recorded_with = options_of(opened.env_spec)
    if recorded_with != options_of(spec_with(env_id, plain_options(options))):
        words = spoken(recorded_with) or "no options"
        raise ValueError(f"the dataset {opened.id!r} was recorded with {words}: give the same")
    if len(opened) < episodes:
        raise ValueError(f"the dataset {opened.id!r} has {len(opened)} episodes, not {episodes}")
    chosen = list(recorded(opened, episodes))
    observations = np.concatenate([episode.observations[:-1] for episode in chosen])
    if relabel:
        expert = reference_controller(make_batch(env_id, 1, **options))
        return Examples(observations, expert.predict(observations)[0])
    return Examples(observations, np.concatenate([episode.actions for episode in chosen]))
