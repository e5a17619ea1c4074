"""The whole state of a training run in one zip: what `--resume` goes on from.

Beside stable-baselines3's members (weights, optimizers, counters) the zip holds the worlds, the
monitor's sums, a curriculum's level, the observations' moments, all random generators and, of
algorithms off policy, the replay buffer.  It is written whole or not at all.
"""

from __future__ import annotations

import pickle
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor

from dynenvs.agents.learn.curriculum import curriculum_of
from dynenvs.agents.policy_file import extract, save_model
from dynenvs.agents.sb3 import WorldsVecEnv
from dynenvs.memory.origin import marked, unmarked

STATE, BUFFER = "run.pkl", "replay_buffer.pkl"


def save_checkpoint(
    model: BaseAlgorithm, path: Path, env_id: str, note: dict[str, Any], run: dict[str, Any]
) -> None:
    """Write the run as it stands between two rollouts.

    Args:
        model: with the environment that it trains on.
        path: the zip.
        env_id: where it acts.
        note: for people.
        run: what else is to be had back.

    Raises:
        OSError: it cannot be written.
    """
    assert model.env is not None
    monitor, worlds = _inside(model.env)
    curriculum = curriculum_of(model.env)
    state = {
        "run": run,
        "worlds": worlds.envs.get_state(),
        "monitor": (monitor.episode_returns, monitor.episode_lengths, monitor.episode_count),
        "reset_infos": worlds.reset_infos,
        "curriculum": curriculum.get_state() if curriculum else None,
        "generators": {
            "python": random.getstate(),
            "numpy": np.random.get_state(),  # noqa: NPY002 (stable-baselines3 draws from it)
            "torch": torch.get_rng_state(),
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".checkpoint-", dir=path.parent) as folder:
        members = {STATE: Path(folder) / STATE}
        try:
            members[STATE].write_bytes(pickle.dumps(marked(state)))
            if isinstance(model, OffPolicyAlgorithm):
                members[BUFFER] = Path(folder) / BUFFER
                model.save_replay_buffer(members[BUFFER])
        except OSError as error:
            raise OSError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
        save_model(model, path, env_id, note, members)


def restore_checkpoint(model: BaseAlgorithm, path: Path) -> dict[str, Any]:
    """Put a run's state back around a model that was loaded from the same zip.

    All but the random generators: others may draw from them before the run goes on.

    Args:
        model: loaded with its environment and `force_reset=False`.
        path: the zip.

    Returns:
        What was given to `save_checkpoint` as `run`, and "generators" for `set_generators`.

    Raises:
        ValueError: the zip holds a policy alone, or worlds of another simulator.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "member"
        if not extract(path, STATE, file):
            raise ValueError(f"{str(path)!r} holds a policy, not a run: start with --from instead")
        state = unmarked(pickle.loads(file.read_bytes()), f"the run in {str(path)!r}")
        if isinstance(model, OffPolicyAlgorithm) and extract(path, BUFFER, file):
            model.load_replay_buffer(file)
    assert model.env is not None
    monitor, worlds = _inside(model.env)
    worlds.envs.set_state(state["worlds"])
    monitor.episode_returns, monitor.episode_lengths, monitor.episode_count = state["monitor"]
    worlds.reset_infos = state["reset_infos"]
    if curriculum := curriculum_of(model.env):
        curriculum.set_state(state["curriculum"])
    return {**state["run"], "generators": state["generators"]}


def set_generators(generators: dict[str, Any]) -> None:
    """Put all random generators back to where a checkpoint found them."""
    random.setstate(generators["python"])
    np.random.set_state(generators["numpy"])  # noqa: NPY002
    torch.set_rng_state(generators["torch"])


def _inside(env: VecEnv) -> tuple[VecMonitor, WorldsVecEnv]:
    """The monitor and the worlds under the wrappers."""
    monitor = None
    while isinstance(env, VecEnvWrapper):
        monitor = env if isinstance(env, VecMonitor) else monitor
        env = env.venv
    assert monitor is not None
    assert isinstance(env, WorldsVecEnv)
    return monitor, env
