"""One episode of an environment under a policy, recorded step by step for later measurement."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.options import no_option
from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.core.limit import NO_LIMIT
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.core.worlds import TaskWorlds
from dynenvs.memory.layout import Floats
from dynenvs.registration import MUJOCO

LAST = ("command", "target", "residual", "degraded", "failed")  # of `info`, at an episode's end


class Episode(NamedTuple):
    """What happened, one entry a control step; the state is that at the step's end."""

    start: Floats  # positions at reset, shape (nq,)
    q: Floats  # shape (steps, nq)
    impulses: Floats  # of the last physics step on each feature's body A [N s], (steps, nf, 3)
    actions: Floats  # as the policy gave them, clipped to [-1, 1], shape (steps, nu)
    rewards: Floats  # shape (steps,)
    # [m/s]; or forward, sideways [m/s], turning [rad/s]; or a target's place [m]; NaN if none
    command: Any
    end: str  # why the episode ended; "stopped" where the caller stopped it
    fell: bool  # it ended by termination
    residual: float  # worst certificate residual of the contact problems
    degraded: int
    failed: int
    simulating: float  # wall-clock time in `env.step` [s], all steps as long as the median one

    @property
    def steps(self) -> int:
        """Control steps."""
        return len(self.q)


class Record:
    """Arrays of a batch of episodes, one entry a world and a control step."""

    def __init__(self, worlds: TaskWorlds, limit: int) -> None:
        n, model = len(worlds.states), worlds.task.model
        self.worlds = worlds
        self.start = self.worlds.states["q"].copy()
        self.q = np.empty((n, limit, model.nq))
        self.impulses = np.empty((n, limit, int(model.header.nk), 3))
        self.actions = np.empty((n, limit, model.nu))
        self.rewards = np.empty((n, limit))
        self.steps = np.full(n, limit)
        self.ends: list[str] = ["stopped"] * n
        self.fell = np.zeros(n, np.bool_)
        self.last: list[dict[str, Any]] = [{} for _ in range(n)]

    def add(self, step: int, actions: Action, rewards: Floats | float) -> None:
        """What every world did in a control step."""
        rows = self.worlds.states
        self.q[:, step], self.impulses[:, step] = rows["q"], rows["memory"]["impulse"]
        self.actions[:, step], self.rewards[:, step] = actions, rewards

    def close(self, world: int, steps: int, end: str, fell: bool, info: dict[str, Any]) -> None:
        """A world's episode is over; info: what it said last of this world."""
        self.steps[world], self.ends[world], self.fell[world] = steps, end, fell
        self.last[world] = {name: np.copy(info[name]) for name in LAST if name in info}

    def episode(self, world: int, times: list[float]) -> Episode:
        """One world's episode.

        Args:
            world: which one.
            times: what each call of `env.step` took [s].  Their median counts: a kernel that is
                compiled on the way, for minutes, says nothing of how fast steps are.
        """
        simulating = float(np.median(times)) * len(times) if times else 0.0
        steps, last = int(self.steps[world]), self.last[world]
        return Episode(
            start=self.start[world],
            q=self.q[world, :steps],
            impulses=self.impulses[world, :steps],
            actions=np.clip(self.actions[world, :steps], -1.0, 1.0),
            rewards=self.rewards[world, :steps],
            command=last.get("command", last.get("target", np.nan)),
            end=self.ends[world],
            fell=bool(self.fell[world]),
            residual=float(last["residual"]),
            degraded=int(last["degraded"]),
            failed=int(last["failed"]),
            simulating=simulating * steps / max(int(self.steps.sum()), 1),
        )


def make(env_id: str, **options: Any) -> DynEnv:
    """The environment without `gym.make`'s wrappers; it counts its control steps itself.

    Without `max_episode_steps` among the options it has the limit that it is registered with.

    Raises:
        ValueError: an option that this environment does not have, or a value out of its range; one
            of Gymnasium's MuJoCo tasks.
    """
    if env_id in MUJOCO:
        raise ValueError(f"{env_id} is one of Gymnasium's MuJoCo tasks: make it with gymnasium")
    spec = gym.spec(env_id)
    creator = load_env_creator(str(spec.entry_point))
    known = inspect.signature(creator).parameters
    for option in options:
        if option not in known:
            raise no_option(env_id, option, known)
    env = creator(**{"max_episode_steps": None, **spec.kwargs, **options})
    assert isinstance(env, DynEnv)
    return env


def step_limit(env: DynEnv | DynVectorEnv, max_steps: int | None = None) -> int:
    """Control steps after which an episode is over at the latest: the smaller of two limits.

    Args:
        env: without wrappers; its own limit is one of them.
        max_steps: the other limit, if there is one.

    Raises:
        ValueError: there is neither, so that an episode might never end.
    """
    own = env.task.max_episode_steps
    limits = [limit for limit in (own, max_steps) if limit is not None and limit != NO_LIMIT]
    if not limits:
        raise ValueError(
            "max_episode_steps must be a whole number here: an episode without a limit, "
            f"got {own}, might never end"
        )
    return min(limits)


def run_episode(
    env: DynEnv,
    policy: Policy,
    *,
    seed: int,
    command: float | tuple[float, ...] | None = None,
    max_steps: int | None = None,
    after_step: Callable[[int], bool] | None = None,
) -> Episode:
    """Run one episode and record it.

    Args:
        env: without wrappers, as `make` gives it.
        policy: what acts, on the observation alone.
        seed: of the reset.
        command: commanded speed [m/s], or speeds; drawn by the environment if None.
        max_steps: stop after so many control steps; the environment's own limit if None.
        after_step: called with the number of steps done, 0 after the reset; False stops the
            episode.

    Raises:
        ValueError: neither the environment nor `max_steps` sets a limit.
    """
    limit = step_limit(env, max_steps)
    options = None if command is None else {"command": command}
    observation, info = env.reset(seed=seed, options=options)
    record = Record(env.worlds, limit)
    step, fell, over = 0, False, False
    times: list[float] = []
    going = after_step is None or after_step(step)
    acting = Acting(policy)
    while step < limit and going and not over:
        action = acting.act(observation)
        begin = time.perf_counter()
        observation, reward, fell, truncated, info = env.step(action)
        times.append(time.perf_counter() - begin)
        record.add(step, action, reward)
        step += 1
        over = fell or truncated
        acting.note(over)
        going = after_step is None or after_step(step)
    end = END_WORDS[env.worlds.ends[0]] if over else "stopped"
    record.close(0, step, end, fell, info)
    return record.episode(0, times)
