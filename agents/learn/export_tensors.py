"""`dynenvs export-policy --safetensors`: a policy as a file that opens without running code.

It holds the tensors that act and a card (`policy_card.py`); `dynenvs.agents.load_policy` makes
stable-baselines3's object of it again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

import dynenvs
from dynenvs.agents.evaluation.options import check_options
from dynenvs.agents.files import SUFFIX, shipped_file
from dynenvs.agents.names import registered
from dynenvs.agents.policy_card import load_card, write_policy
from dynenvs.agents.policy_file import load_model, read_note
from dynenvs.envs.core.task import Task
from dynenvs.files import written_whole

SEEN = 256  # observations over which the file's actions are compared


class Found(NamedTuple):
    """A policy that is to be exported."""

    path: Path
    note: dict[str, Any]  # what its zip says
    env_id: str  # where it acts
    options: dict[str, Any]
    task: Task
    model: Any  # stable-baselines3's


def export_tensors(
    what: str, target: Path | None = None, env_id: str | None = None, **options: Any
) -> Path:
    """Write a policy as a safetensors file, whose actions are the policy's own to the bit.

    Args:
        what: zip of a policy, or the name of one that ships for `env_id`, as "ppo".
        target: the file; in this folder, by the zip's name, if None.
        env_id: where it acts; what its zip says if None.
        options: of the environment; what its zip says if none are given.

    Returns:
        The file.

    Raises:
        FileNotFoundError: no such zip.
        ValueError: no policy, one of another environment, nothing that says of which, or a network
            that a card cannot name.
        RuntimeError: the file's actions are not the policy's.
        OSError: it cannot be written.
    """
    found = find_policy(what, env_id, options)
    made = {name: value for name, value in found.note.items() if name != "log"}
    words = {"steps": found.model.num_timesteps, "dynenvs": dynenvs.__version__, **made}
    words |= {"env_id": found.env_id, "options": found.options}
    target = target or Path(f"{found.path.stem}{SUFFIX}")
    with written_whole(target) as draft:
        write_policy(found.model, draft, words)
        _compare(found.model, load_card(draft))
    return target


def find_policy(what: str, env_id: str | None, options: dict[str, Any]) -> Found:
    """A policy and the environment in which it acts; arguments and errors of `export_tensors`."""
    path = Path(what) if env_id is None else shipped_file(env_id, what)
    path = path if path.is_file() else Path(what)
    note = read_note(path)
    place = env_id or note.get("env_id")
    if place is None:
        raise ValueError(f"{what!r} does not say for which environment it is: name it with --env")
    place = env_id or registered(str(place), repr(what))
    options = options or note.get("options", {})
    check_options(place, options)
    env: Any = gym.make(place, **options).unwrapped
    model = load_model(path, place, task=env.task)
    return Found(path, note, place, options, env.task, model)


def _compare(model: Any, other: Any) -> None:
    """Whether two policies act alike over random observations.

    Raises:
        RuntimeError: they do not.
    """
    space = model.observation_space
    low, high = np.maximum(space.low, -10.0), np.minimum(space.high, 10.0)
    seen = np.random.default_rng(0).uniform(low, high, (SEEN, *space.shape)).astype(space.dtype)
    wanted, found = (one.predict(seen, deterministic=True)[0] for one in (model, other))
    if wanted.tobytes() != found.tobytes():
        raise RuntimeError("the file's actions are not the policy's: it was not kept")
