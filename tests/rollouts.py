"""Environments by id, ways to act in them, and comparison bit for bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from numpy.typing import NDArray

import dynenvs
from dynenvs.agents.evaluation.episode import run_episode
from dynenvs.agents.evaluation.measure import Gait, measure_gait
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.planar.walker import PlanarWalker
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_state, open_work
from dynenvs.registration import ENVIRONMENTS

gym.register_envs(dynenvs)
IDS = tuple(sorted(ENVIRONMENTS))
WALKERS = tuple(name for name in IDS if "Pendulum" not in name)
PLANAR = tuple(name for name in WALKERS if "Planar" in name)  # their command is one speed
FREE = tuple(name for name in WALKERS if name not in PLANAR)  # their base is free

every_env = pytest.mark.parametrize("name", IDS)
every_walker = pytest.mark.parametrize("name", WALKERS)
every_planar = pytest.mark.parametrize("name", PLANAR)

Policy = Callable[[DynEnv, int], NDArray[Any]]


def make(name: str, **options: Any) -> DynEnv:
    """The bare environment, without Gymnasium's wrappers; it counts its 1,000 steps itself."""
    creator = load_env_creator(str(gym.spec(name).entry_point))
    env = creator(**{"max_episode_steps": None, **options})
    assert isinstance(env, DynEnv)
    return env


def is_walker(env: DynEnv) -> bool:
    """Whether it stands and walks."""
    return "Pendulum" not in type(env).__name__


# Policies: (env, step number) -> action


def uniform(seed: int = 0) -> Policy:
    """Uniform random actions."""
    rng = np.random.default_rng(seed)
    return lambda env, step: rng.uniform(-1, 1, env.model.nu).astype(np.float32)


def gentle(seed: int = 0) -> Policy:
    """Uniform random actions of a fifth of the range: long episodes, much of them on the ground."""
    act = uniform(seed)
    return lambda env, step: 0.2 * act(env, step)


def bang_bang(seed: int = 0) -> Policy:
    """Full torque one way or the other, each joint switching at random times."""
    rng = np.random.default_rng(seed)
    held: dict[str, NDArray[np.float32]] = {}

    def act(env: DynEnv, step: int) -> NDArray[np.float32]:
        sign = held.setdefault("a", np.ones(env.model.nu, np.float32))
        flip = rng.random(env.model.nu) < 0.3
        sign[flip] *= -1
        return sign.copy()

    return act


def idle(env: DynEnv, step: int) -> NDArray[np.float32]:
    """No torque."""
    return np.zeros(env.model.nu, np.float32)


def hold(env: DynEnv, step: int) -> NDArray[np.float32]:
    """A stiff spring and damper to the starting pose of a walker; a limp pendulum hangs.

    No spring keeps a humanoid upright: its expert walks on the spot.
    """
    if not is_walker(env):
        return idle(env, step)
    if isinstance(env.task, HumanoidTask):
        seen = env.worlds.observations[0].copy()
        seen[54:57] = 0.0  # the command
        return _expert(type(env)).predict(seen)[0]
    model, row = env.model, env.worlds.states[0]
    effort = model.effort_limit[model.actuated]
    mass = np.array([model.bodies["mass"].sum()])
    gentle = min(1.0, (0.01 / env.dt) ** 2)  # what a longer period leaves stable
    stiffness, damping = gentle * 9.0 * mass, gentle * 0.18 * mass
    at = model.dofs["q_at"][model.actuated]
    error = env.task.standing[at] - row["q"][at]  # type: ignore[attr-defined]
    torque = stiffness * error - damping * row["v"][model.actuated]
    return np.clip(torque / effort, -1, 1).astype(np.float32)


@cache
def _expert(kind: type[DynEnv]) -> Any:
    return reference_controller(kind())


# Bits


def bits(value: Any) -> bytes:
    """A digest of nested dicts, tuples, arrays and scalars; floats and arrays bit by bit."""
    if isinstance(value, dict):
        parts = [repr(key).encode() + bits(value[key]) for key in sorted(value)]
    elif isinstance(value, tuple | list):
        parts = [bits(item) for item in value]
    elif isinstance(value, np.ndarray | np.generic) and value.dtype.names is not None:
        # Field by field: the bytes between aligned fields mean nothing
        parts = [name.encode() + bits(value[name]) for name in value.dtype.names]
    elif isinstance(value, np.ndarray | np.generic):
        parts = [str(value.dtype).encode(), str(value.shape).encode(), value.tobytes()]
    elif isinstance(value, float):
        parts = [float.hex(value).encode()]
    else:
        parts = [repr(value).encode()]
    return hashlib.sha256(b"\0".join([type(value).__name__.encode(), *parts])).digest()


def state_bits(env: DynEnv) -> bytes:
    """All that decides an environment's future."""
    return bits(env.get_state())


def trace(env: gym.Env[Any, Any], policy: Policy, steps: int) -> list[bytes]:
    """What `steps` steps return, bit by bit; an episode that ends is followed by the next one."""
    found = []
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    for i in range(steps):
        result = env.step(policy(inner, i))
        found.append(bits(result))
        if result[2] or result[3]:
            found.append(bits(env.reset()))
    return found


def action_list(env: DynEnv, steps: int, seed: int = 0) -> Policy:
    """The same gentle random torques for every environment that asks."""
    actions = np.random.default_rng(seed).uniform(-0.3, 0.3, (steps, env.model.nu))
    actions = actions.astype(np.float32)
    return lambda env, step: actions[step]


class Depth:
    """Reads how deep the deepest feature of an environment is below ground."""

    def __init__(self, env: DynEnv) -> None:
        self.m = open_model(env.model.packed)
        self.s = open_state(self.m, env.worlds.states.view(np.uint8))
        self.w = open_work(self.m, env.model.workspace())

    def __call__(self) -> float:
        """Depth [m]; negative if nothing touches."""
        update_poses(self.m, self.s.q, self.w.pose)
        measure_gaps(self.w)
        return -float(self.w.gaps.min(initial=np.inf))


def walk(env: PlanarWalker, policy: Any, *, seed: int, command: float | None = None) -> Gait:
    """An episode, measured."""
    return measure_gait(env, run_episode(env, policy, seed=seed, command=command))
