"""What may act in an environment, by name: its expert, nothing but chance, a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.experts.standing import StandingController
from dynenvs.agents.files import SUFFIX, shipped, shipped_file
from dynenvs.agents.names import short_name
from dynenvs.memory.layout import Floats
from dynenvs.registration import MUJOCO
from dynenvs.spelling import did_you_mean

NAMES = ("expert", "random", "standing")


def actor(what: str, env: Any, env_id: str) -> Policy | None:
    """The policy that a word or a file means; None for uniform random actions.

    Args:
        what: "expert", "random", "standing", the name of a policy that ships with the package
            (`shipped`), a .safetensors file, or a stable-baselines3 zip: that unpickles parts of
            it, and so runs whatever code stands there.
        env: where it will act, of one world or of many, without wrappers.
        env_id: the environment's id.

    Raises:
        ValueError: no such agent, or one of another environment.
        FileNotFoundError: no such file.
    """
    if what == "random":
        return None
    without = env_id in MUJOCO  # an expert, and a pose to stand in
    if what == "expert" and not without:
        return reference_controller(env)
    if what == "standing" and not without:
        return StandingController(env)
    path = checked_agent(what, env_id)
    assert path is not None
    from dynenvs.agents.policy_file import load_model

    model: Any = load_model(path, env_id, task=env.task)
    policy: Policy = model
    return policy


class Chance:
    """Uniform random actions within the motors' ranges.

    Args:
        space: of one world's actions.
        seeds: of the random numbers, one a world.
    """

    def __init__(self, space: gym.spaces.Box, seeds: range) -> None:
        self._space = space
        self._generators = [np.random.default_rng(seed) for seed in seeds]

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions, shape (nu,) for a single observation, else (n, nu)."""
        low, high = self._space.low, self._space.high
        drawn = np.array([one.uniform(low, high) for one in self._generators], np.float32)
        return (drawn if np.ndim(observation) > 1 else drawn[0]), state


def policy_file(env_id: str, what: str) -> Path | None:
    """The file of an agent: one that ships, or a path; None if it has none."""
    if what in NAMES:
        return None
    return next(filter(Path.is_file, (shipped_file(env_id, what), Path(what))), None)


def checked_agent(what: str, env_id: str) -> Path | None:
    """Whose name that is, before anything is made or run: its file, or None if it needs none.

    Raises:
        ValueError: no such agent.
        FileNotFoundError: no such file.
    """
    known = ("random",) if env_id in MUJOCO else (*NAMES, *shipped(env_id))
    path = policy_file(env_id, what)
    if path is not None or what in known:
        return path
    if what.endswith((".zip", SUFFIX)):
        raise FileNotFoundError(f"there is no file {what!r}")
    lacks = f"{short_name(env_id)} has no agent" if env_id in MUJOCO else "unknown agent"
    raise ValueError(
        f"{lacks} {what!r}; choose from: {', '.join(known)}, or a file (zip, "
        f"safetensors){did_you_mean(what, known)}"
    )


def digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal: what a figure is kept with, to tell whose it is."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
