"""Gymnasium's MuJoCo tasks under random actions or a policy from a file: watched, or measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from rich.console import Console
from rich.table import Table

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.actors import Chance, actor
from dynenvs.agents.evaluation.evaluation import Evaluation, torque_change
from dynenvs.agents.evaluation.film import FILM_SIZE, FRAME_TIME, Film
from dynenvs.agents.evaluation.options import check_options
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.envs.checks import whole
from dynenvs.envs.core.limit import MOST_STEPS
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.memory.layout import Floats


def make_task(
    env_id: str, shown: dict[str, Any] | None = None, **options: Any
) -> tuple[gym.Env[Any, Any], MujocoEnv]:
    """A task with the limit of its episodes, and without.

    Args:
        env_id: which.
        shown: how it is drawn.
        options: of the task, and `max_episode_steps`; Gymnasium's own limit if absent.

    Raises:
        ValueError: an option that the task does not have, or a value out of its range.
    """
    check_options(env_id, options)
    if "max_episode_steps" in options:
        whole(options["max_episode_steps"], "max_episode_steps", 1, MOST_STEPS)
    limited = gym.make(env_id, **(shown or {}), **options)
    env = limited.unwrapped
    assert isinstance(env, MujocoEnv)
    return limited, env


def play_task(
    env_id: str, agent: str, seed: int, file: Path | None, console: Console, **options: Any
) -> None:
    """Run an agent for one episode before somebody's eyes: `demo.play`, whose arguments these are.

    Raises:
        ValueError: an option that the task does not have; no such agent.
        RuntimeError: no window could be opened.
    """
    shown = {"render_mode": "rgb_array", **FILM_SIZE} if file else {"render_mode": "human"}
    limited, env = make_task(env_id, shown, **options)
    try:
        policy = actor(agent, env, env_id) or Chance(env.action_space, range(seed, seed + 1))
        every = max(1, round(FRAME_TIME / env.dt))  # control steps a picture
        returned, count, end, film = _run(limited, policy, seed, every if file else 0)
    finally:
        limited.close()
    if file:
        film.write(file, count * env.dt)
        console.print(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)", highlight=False)
    table = Table("reading", "value", title=env_id)
    table.add_row("simulated", f"{count * env.dt:.2f} s, {end}")
    table.add_row("return", f"{returned:.1f} in {count} steps")
    console.print(table)


def _run(
    limited: gym.Env[Any, Any], policy: Policy, seed: int, every: int
) -> tuple[float, int, str, Film]:
    """Return, control steps, end and film of an episode; `every` 0 takes no pictures."""
    env = limited.unwrapped
    assert isinstance(env, MujocoEnv)
    film = Film()
    observation, _ = limited.reset(seed=seed)
    returned, count, end, acting = 0.0, 0, "stopped", Acting(policy)
    while end == "stopped" and not env.window_closed:
        if every and count % every == 0:
            picture = env.render()
            assert picture is not None
            film.add(picture, count * env.dt)
        action = acting.act(observation)
        observation, reward, terminated, truncated, _ = limited.step(action)
        returned, count = returned + float(reward), count + 1
        acting.note(terminated or truncated)
        end = "terminated" if terminated else "time limit" if truncated else end
    return returned, count, end, film


def evaluate_worlds(
    env_id: str, agent: str | Policy | None, seeds: range, threads: int | None, **options: Any
) -> Evaluation:
    """One episode a seed, side by side; as `evaluate`, whose arguments these are."""
    check_options(env_id, options)
    envs = gym.make_vec(env_id, num_envs=len(seeds), num_threads=threads, **options).unwrapped
    assert isinstance(envs, MujocoVectorEnv)
    space = envs.single_action_space
    acts = actor(agent, envs, env_id) if isinstance(agent, str) else agent
    policy = acts or Chance(space, seeds)
    reach = np.maximum(np.abs(space.low), np.abs(space.high))
    returns, lengths = np.zeros(len(seeds)), np.zeros(len(seeds), np.int64)
    falls, going = np.zeros(len(seeds), np.bool_), np.ones(len(seeds), np.bool_)
    shares: list[Floats] = []  # actions as shares of their limits, of each step
    observations, _ = envs.reset(seed=list(seeds))
    acting = Acting(policy, len(seeds))
    while going.any():
        actions = acting.act(observations)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        shares.append(np.clip(actions / reach, -1.0, 1.0))
        returns[going] += rewards[going]
        lengths += going
        falls |= going & terminated
        acting.note(terminated | truncated)
        going &= ~(terminated | truncated)
    envs.close()
    told = np.array(shares)
    own = [told[:length, i] for i, length in enumerate(lengths.tolist())]
    unknown = [np.nan] * len(seeds)  # no task commands a speed, or says what its feet are
    return Evaluation(
        returns=returns.tolist(),
        lengths=lengths.tolist(),
        falls=falls.tolist(),
        speed_errors=unknown,
        efforts=[float(np.mean(one**2)) for one in own],
        slips=unknown,
        torque_changes=[torque_change(one) for one in own],
    )
