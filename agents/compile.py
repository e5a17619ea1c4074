"""`dynenvs compile`: all that environments and experts call, compiled before anybody needs it.

For images and clusters: a start that finds the machine code in the cache loads it in a second.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import llvmlite.binding as llvm
import numba
from rich.console import Console

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.jit.cache import cache_root, is_writable
from dynenvs.jit.compiled import prepare
from dynenvs.registration import MUJOCO
from dynenvs.simulation.world import World

WORLDS = 32  # enough for two threads


def compile_all(env_ids: Sequence[str], console: Console) -> None:
    """Let environments, batches of them, their experts and their pictures run for a step each.

    Args:
        env_ids: which environments.
        console: is told what was kept where.

    Raises:
        OSError: nothing can be kept in the cache folder.
    """
    if not is_writable():
        raise OSError(f"cannot write {str(cache_root())!r}: set DYNENVS_CACHE_DIR to a folder")
    for env_id in env_ids:
        _exercise(env_id)
        console.print(f"{env_id} is compiled", highlight=False)
    prepare("what few robots need", [], None)
    size = sum(file.stat().st_size for file in cache_root().rglob("*") if file.is_file())
    console.print(
        f"{size / 1e6:.0f} MB in {cache_root()}, for numba {numba.__version__}, Python "
        f"{platform.python_version()} and processors of the kind {llvm.get_host_cpu_name()!r}",
        highlight=False,
        soft_wrap=True,
    )


def _exercise(env_id: str) -> None:
    """One step of everything."""
    env = gym.make(env_id, render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    acts = env_id not in MUJOCO
    action = (
        reference_controller(env).predict(observation)[0] if acts else env.action_space.sample()
    )
    env.step(action)
    env.render()
    inner: Any = env.unwrapped
    world = World(inner.task.model)
    world.step()
    env.close()
    envs = gym.make_vec(env_id, num_envs=WORLDS, num_threads=2)
    observations, _ = envs.reset(seed=0)
    if acts:
        actions, _ = reference_controller(envs).predict(observations)
    else:
        actions = envs.action_space.sample()
    envs.step(actions)
    envs.close()
