"""What may act in an environment, by name: its expert, nothing but chance, a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.experts.standing import StandingController
from dynenvs.agents.files import SUFFIX, shipped, shipped_file
from dynenvs.agents.names import did_you_mean
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats

NAMES = ("expert", "random", "standing")


def actor(what: str, env: DynEnv | DynVectorEnv, env_id: str) -> Policy | None:
    """The policy that a word or a file means; None for uniform random actions.

    Args:
        what: "expert", "random", "standing", the name of a policy that ships with the package
            (`shipped`), a .safetensors file, or a stable-baselines3 zip: that unpickles parts of
            it, and so runs whatever code stands there.
        env: where it will act.
        env_id: the environment's id.

    Raises:
        ValueError: no such agent, or one of another environment.
        FileNotFoundError: no such file.
    """
    if what == "random":
        return None
    if what == "expert":
        return reference_controller(env)
    if what == "standing":
        return StandingController(env)
    path = policy_file(env_id, what)
    if path is None:
        if what.endswith((".zip", SUFFIX)):
            raise FileNotFoundError(f"there is no file {what!r}")
        known = (*NAMES, *shipped(env_id))
        raise ValueError(
            f"unknown agent {what!r}; choose from: {', '.join(known)}, or a file (zip, "
            f"safetensors){did_you_mean(what, known)}"
        )
    from dynenvs.agents.policy_file import load_model

    model: Any = load_model(path, env_id, task=env.task)
    policy: Policy = model
    return policy


class Chance:
    """Uniform random actions, for one environment or a batch.

    Args:
        env: where it acts.
        seed: of its random numbers.
    """

    def __init__(self, env: DynEnv | DynVectorEnv, seed: int) -> None:
        self.size = env.task.model.nu
        self.generator = np.random.default_rng(seed)

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions, shape (nu,) or (n, nu)."""
        shape = (*np.shape(observation)[:-1], self.size)
        return self.generator.uniform(-1.0, 1.0, shape).astype(np.float32), state


def policy_file(env_id: str, what: str) -> Path | None:
    """The file of an agent: one that ships, or a path; None if it has none."""
    if what in NAMES:
        return None
    return next(filter(Path.is_file, (shipped_file(env_id, what), Path(what))), None)


def digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal: what a figure is kept with, to tell whose it is."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
