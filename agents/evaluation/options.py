"""Options of an environment as people type them: `--option terrain=rough --option frame_skip=4`."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator

from dynenvs.spelling import did_you_mean

WORDS = {"true": True, "false": False, "none": None}


def parse_options(env_id: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Options by name; a value is a number, true, false, several with commas between, or a word.

    Raises:
        ValueError: no "=", an option twice, or one that the environment does not have; a value
            that is nested too deeply.
    """
    options: dict[str, Any] = {}
    for text in texts or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not (name and sign and value):
            raise ValueError(f"an option is name=value, got {text!r}")
        if name in options:
            raise ValueError(f"option {name!r} is given twice")
        options[name] = _value(value)
    check_options(env_id, options)
    return options


def check_options(env_id: str, options: Mapping[str, Any]) -> None:
    """Refuse options that an environment does not have; their values are its own matter.

    Raises:
        ValueError: an unknown name; says which there are.
    """
    env_type: Any = load_env_creator(str(gym.spec(env_id).entry_point))
    own = inspect.signature(env_type.task_type).parameters
    known = dict.fromkeys((*own, "max_episode_steps"))  # which `gym.make` takes for all
    for name in options:
        if name not in known:
            raise no_option(env_id, name, known)


def no_option(env_id: str, name: str, known: Iterable[str]) -> ValueError:
    """What to say of an option that an environment does not have."""
    choices = f"choose from: {', '.join(known)}{did_you_mean(name, known)}"
    return ValueError(f"{env_id} has no option {name!r}; {choices}")


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a dataset's file gives them back: lists for tuples.

    Raises:
        ValueError: a value that JSON does not know.
    """
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(options)))
    except TypeError as error:
        raise ValueError(f"options must be numbers, words or lists of them: {error}") from None
    return plain


def spec_with(env_id: str, options: Mapping[str, Any]) -> EnvSpec:
    """The registered spec of an environment with options, as a dataset keeps it.

    The limit of episodes stands where Gymnasium looks for it, not among the other options.
    """
    spec = gym.spec(env_id)
    kwargs = dict(options)
    limit = kwargs.pop("max_episode_steps", None)
    return replace(spec, kwargs=kwargs, max_episode_steps=limit or spec.max_episode_steps)


def options_of(spec: EnvSpec) -> dict[str, Any]:
    """The options that lead to a spec: what `spec_with` was given."""
    from dynenvs.envs.core.limit import NO_LIMIT  # brings the core: here, where it is there anyway

    limit = spec.max_episode_steps
    if limit == gym.spec(spec.id).max_episode_steps:
        return dict(spec.kwargs)
    return {**spec.kwargs, "max_episode_steps": NO_LIMIT if limit is None else limit}


def spoken(options: Mapping[str, Any]) -> str:
    """Options in words: "terrain=rough, frame_skip=4"."""
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (MemoryError, RecursionError):  # of Python's parser: signs or brackets without end
        raise ValueError(
            f"an option's value {text:.40}... is nested too deeply to be read"
        ) from None
    return tuple(value) if isinstance(value, list) else value
