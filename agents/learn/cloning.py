"""Cloning from the command line: dataset or DAgger, value function, evaluation, zip and log."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.utils import set_random_seed

from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.options import options_of, plain_options, spec_with, spoken
from dynenvs.agents.evaluation.rollout import ANSWER, make_batch
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.files import write_json
from dynenvs.agents.learn.clone import (
    Examples,
    Settings,
    clone,
    ignore,
    learn_value,
    scaled,
)
from dynenvs.agents.learn.dagger import dagger, plan_for
from dynenvs.agents.learn.draft import Draft
from dynenvs.agents.learn.machine import machine
from dynenvs.agents.learn.settings import clone_settings, load_settings, parse_change
from dynenvs.agents.learn.stop import stop_when_whole
from dynenvs.agents.learn.train import finish
from dynenvs.agents.policy_file import save_model


class Source(NamedTuple):
    """What a policy is cloned from."""

    episodes: int = 100
    dataset: str | None = None  # DAgger if None: episodes of its own, labelled by the expert
    relabel: bool = False  # let the expert say what to do in the dataset's states


def clone_to_file(
    env_id: str,
    path: Path,
    source: Source,
    *,
    gradient_steps: int | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    threads: int | None = None,
    report: Callable[[int, int, float], None] = ignore,
    **options: Any,
) -> dict[str, Any]:
    """Clone, and write the policy to `path` and the log beside it, as .json.

    Until it is finished, a draft lies beside `path`, written every minute (`draft.py`).

    Args:
        env_id: which environment.
        path: the zip.
        source: what to learn from.
        gradient_steps: of the last lesson, or of the only one; by the amount of data if None.
        settings: of the learner; those of settings.yml if None.
        seed: of weights, worlds and order.
        threads: of torch and of the simulator.
        report: called with the gradient steps so far, how many there will be, and the loss.
        options: the environment's; a dataset must have been recorded with the same ones.

    Returns:
        The log.

    Raises:
        FileNotFoundError: no such dataset.
        ValueError: a dataset of another environment, or with fewer episodes.
        OSError: it cannot be written.
        KeyboardInterrupt: Ctrl-C; its words say what there is.
    """
    begin, stand = time.perf_counter(), machine()
    examples, episodes = None, source.episodes
    if source.dataset is not None:
        examples = read_examples(env_id, source.dataset, episodes, source.relabel, **options)
    settings, total = _work(
        env_id, examples, episodes, gradient_steps, settings or told_settings(env_id), options
    )
    kind = "dagger" if examples is None else "clone"
    words = {"kind": kind, "episodes": episodes, "seed": seed, "options": options}
    draft = Draft(path, env_id, words, total, report)
    model, curve = _learn(env_id, examples, episodes, settings, seed, threads, draft, options)
    log = {
        **words,
        "env": env_id,
        "dataset": source.dataset,
        "relabelled": source.relabel,
        "settings": settings._asdict(),
        "machine": stand,
        "minutes": (time.perf_counter() - begin) / 60.0,
        "losses": curve,
    }
    save_model(model, path, env_id, words)
    draft.remove()
    log["final"] = _evaluated(env_id, path, **options)
    write_json(path.with_suffix(".json"), log)
    return log


def _evaluated(env_id: str, path: Path, **options: Any) -> dict[str, Any]:
    """The figures of the finished policy.

    Raises:
        KeyboardInterrupt: Ctrl-C; its words say what there is.
    """
    try:
        return finish(env_id, path, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{path} is finished, but not evaluated") from None


def _work(
    env_id: str,
    examples: Examples | None,
    episodes: int,
    gradient_steps: int | None,
    settings: Settings,
    options: dict[str, Any],
) -> tuple[Settings, int]:
    """Settings whose work fits the data, or is what was asked for; and gradient steps in all."""
    questions = episodes * step_limit(make_batch(env_id, 1, 1, **options))
    transitions = questions if examples is None else len(examples.observations)
    if gradient_steps is None:
        settings = scaled(settings, transitions)
    else:
        settings = settings._replace(last_steps=gradient_steps)
    # Who wants little work wants it of the value function, too
    settings = settings._replace(value_steps=min(settings.value_steps, settings.last_steps))
    total = settings.last_steps
    if examples is None:
        total = sum(plan_for(settings, questions).steps(settings))
    return settings, total + settings.value_steps


def told_settings(env_id: str, texts: Sequence[str] = ()) -> Settings:
    """Those of settings.yml, and of the PPO that will go on from the clone, with changes.

    Args:
        env_id: which environment.
        texts: changes, as "net_arch=[64, 64]".

    Raises:
        ValueError: no such setting, or not of its kind.
    """
    ahead = load_settings("ppo", env_id)
    valued = {name: ahead[name] for name in ("gamma", "reward_scale")}
    settings = Settings(**valued, **clone_settings(env_id))
    for name, value in map(parse_change, texts):
        if name not in Settings._fields:
            known = ", ".join(sorted(Settings._fields))
            raise ValueError(f"cloning has no setting {name!r}; choose from: {known}")
        kind = type(getattr(Settings(), name))
        try:
            if kind(value) != (tuple(value) if kind is tuple else value):
                raise ValueError(value)
        except (TypeError, ValueError):
            example = Settings._field_defaults[name]
            raise ValueError(f"{name} must be like {example!r}, got {value!r}") from None
        settings = settings._replace(**{name: kind(value)})
    return settings


def _learn(
    env_id: str,
    examples: Examples | None,
    episodes: int,
    settings: Settings,
    seed: int,
    threads: int | None,
    draft: Draft,
    options: dict[str, Any],
) -> tuple[PPO, list[dict[str, float]]]:
    """The model with its value function, and the loss of each lesson over the transitions seen.

    Raises:
        KeyboardInterrupt: Ctrl-C; its words say what there is.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    set_random_seed(seed)
    curve: list[dict[str, float]] = []

    def note(steps: int, loss: float) -> None:
        curve.append({"steps": steps, "loss": loss})

    learner: Any = {"settings": settings, "seed": seed, "report": note, **options}
    learner["each_step"] = draft.each_step
    try:
        with stop_when_whole() as draft.stop:
            if examples is None:
                model = dagger(env_id, episodes, threads=threads, **learner)
            else:
                model = clone(env_id, examples, **learner)
            draft.write(model)  # the policy is done: only its value function is not
            learn_value(model, env_id, settings, seed, threads, draft.value_step, **options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(draft.spoken()) from None
    return model, curve


def read_examples(
    env_id: str, dataset: str, episodes: int, relabel: bool, **options: Any
) -> Examples:
    """The first episodes of a dataset: what acted, or its agent's own answers where noise acted.

    Raises:
        FileNotFoundError: no such dataset.
        ValueError: a dataset of another environment, with other options, or with fewer episodes.
    """
    from dynenvs.agents.data.dataset import open_dataset, plain_infos, recorded

    opened = open_dataset(dataset)
    if opened.env_spec is None or opened.env_spec.id != env_id:
        other = "no environment" if opened.env_spec is None else opened.env_spec.id
        raise ValueError(f"the dataset {opened.id!r} is of {other}, not of {env_id}")
    recorded_with = options_of(opened.env_spec)
    if recorded_with != options_of(spec_with(env_id, plain_options(options))):
        words = spoken(recorded_with) or "no options"
        raise ValueError(f"the dataset {opened.id!r} was recorded with {words}: give the same")
    if len(opened) < episodes:
        raise ValueError(
            f"the dataset {opened.id!r} has {len(opened)} episodes, not {episodes}: "
            f"ask for {len(opened)} at most (--episodes)"
        )
    chosen = list(recorded(opened, episodes))
    observations = np.concatenate([episode.observations[:-1] for episode in chosen])
    if relabel:
        expert = reference_controller(make_batch(env_id, 1, **options))
        return Examples(observations, expert.predict(observations)[0])
    told = [(plain_infos(episode), episode.actions) for episode in chosen]
    wanted = [infos[ANSWER][:-1] if ANSWER in infos else actions for infos, actions in told]
    return Examples(observations, np.concatenate(wanted))
