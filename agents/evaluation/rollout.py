"""Whole episodes from the batched simulator, one world a seed, each given out when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.options import check_options
from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.envs.core.codes import END_WORDS, RUNNING, TERMINATIONS
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats
from dynenvs.registration import MUJOCO

BLOCK = 256  # steps for which random numbers are drawn at once
ANSWER = "expert_action"  # among a run's infos: what the policy itself would have done


class Run(NamedTuple):
    """One finished episode of T steps."""

    number: int  # its seed's place in `seeds`
    seed: int
    observations: Floats  # shape (T + 1, observations)
    actions: NDArray[np.float32]  # as the environment was given them, in [-1, 1], shape (T, nu)
    rewards: Floats  # shape (T,)
    terminated: bool
    end: str  # why it ended
    state: dict[str, NDArray[np.uint8]]  # the simulator's whole state at the start, as bytes
    speed_error: float  # mean |velocity - command| [m/s]; NaN where nothing is commanded
    infos: dict[str, NDArray[Any]]  # by name, shape (T + 1, ...); empty if not asked for
    # With noise ANSWER is among them: what the policy answers to each observation, (T + 1, nu)

    @property
    def steps(self) -> int:
        """Control steps."""
        return len(self.rewards)

    @property
    def returned(self) -> float:
        """Sum of rewards."""
        return float(self.rewards.sum())


def make_batch(env_id: str, count: int, threads: int | None = None, **options: Any) -> DynVectorEnv:
    """The vector environment in which episodes are run.

    Raises:
        ValueError: an option that the environment does not have, or a value out of its range; one
            of Gymnasium's MuJoCo tasks.
    """
    if env_id in MUJOCO:
        raise ValueError(f"{env_id} is one of Gymnasium's MuJoCo tasks: make it with gymnasium")
    check_options(env_id, options)
    envs = gym.make_vec(env_id, num_envs=count, num_threads=threads, **options).unwrapped
    assert isinstance(envs, DynVectorEnv)
    return envs


def rollout(
    envs: DynVectorEnv,
    policy: Policy | None,
    seeds: Sequence[int],
    *,
    noise: float | Floats = 0.0,
    deterministic: bool = True,
    after_step: Callable[[int], None] = lambda step: None,
    with_infos: bool = False,
) -> Iterator[list[Run]]:
    """Run one episode a seed, all side by side; gives out those that ended, step by step.

    A world whose episode is over runs on unheeded until the last one is.  What an episode is like
    depends on its seed and the policy alone, not on the batch.

    Args:
        envs: one world a seed, in mode "NextStep".
        policy: what acts; None draws uniform actions.
        seeds: of the resets, and of the random numbers.
        noise: standard deviation of what is added to the actions before they are clipped, one
            for all or one a world.  Beside what acted, the policy's own answers are kept then.
        deterministic: False lets the policy draw its actions, by its own random numbers.
        after_step: called with the number of each control step when it is done, before the
            episodes that end there are yielded.
        with_infos: keep what `info` says at the reset and after each step, too.

    Raises:
        ValueError: the policy gives actions that are not finite or of another shape; episodes have
            no time limit.
    """
    count, nu = envs.num_envs, envs.task.model.nu
    shares = np.broadcast_to(np.asarray(noise, np.float64), count)[:, np.newaxis]
    shaken = policy is not None and bool(shares.any())
    observation, infos = envs.reset(seed=list(seeds))
    states = {name: _rows(records) for name, records in envs.get_state().items()}
    tape = _Tape(envs, observation, infos if with_infos else {}, answers=shaken)
    generators = [np.random.default_rng(seed) for seed in seeds]
    random = np.zeros((BLOCK, count, nu))
    running = np.ones(count, np.bool_)
    acting = None if policy is None else Acting(policy, count)
    step = 0
    while running.any():
        if (policy is None or shaken) and step % BLOCK == 0:
            _draw(generators, random, uniform=policy is None)
        drawn = random[step % BLOCK]
        answers = None if acting is None else _answers(acting, observation, deterministic, nu)
        acts = _acts(drawn if answers is None else answers, shares * drawn if shaken else None)
        if shaken and answers is not None:
            tape.note(step, answers)
        observation, rewards, *_, infos = envs.step(acts)
        tape.add(step, acts, observation, rewards, infos)
        after_step(step)
        ends = envs.worlds.ends
        if acting is not None:
            acting.note(ends != RUNNING)
        step += 1
        over = np.flatnonzero(running & (ends != RUNNING)).tolist()
        if over:
            running[over] = False
            if shaken and acting is not None:
                tape.note(step, acting.foretell(observation))
            yield [
                Run(
                    number=i,
                    seed=int(seeds[i]),
                    terminated=int(ends[i]) in TERMINATIONS,
                    end=END_WORDS[ends[i]],
                    state={name: rows[i] for name, rows in states.items()},
                    **tape.episode(i, step),
                )
                for i in over
            ]


class _Tape:
    """What all worlds did so far.

    Args:
        envs: the worlds.
        observation: the first of each.
        infos: the first, if they are to be kept; empty if not.
        answers: keep what the policy answers, too.
    """

    def __init__(
        self, envs: DynVectorEnv, observation: Floats, infos: dict[str, Any], *, answers: bool
    ) -> None:
        count, limit = envs.num_envs, step_limit(envs)
        # By worlds: an episode is one stretch of memory
        self.observations = np.empty((count, limit + 1, observation.shape[1]))
        self.actions = np.empty((count, limit, envs.task.model.nu), np.float32)
        self.rewards, self.errors = np.empty((count, limit)), np.empty((count, limit))
        self.infos = {
            name: np.empty((count, limit + 1, *first.shape[1:]), first.dtype)
            for name, first in infos.items()
            if not name.startswith("_")  # Gymnasium's masks
        }
        self._answers = np.zeros(
            (count, limit + 1 if answers else 0, envs.task.model.nu), np.float32
        )
        self._keep(0, observation, infos)

    def add(
        self, step: int, acts: Action, observation: Floats, rewards: Floats, infos: dict[str, Any]
    ) -> None:
        """Keep a step of every world."""
        self.actions[:, step], self.rewards[:, step] = acts, rewards
        self.errors[:, step] = speed_errors(infos)
        self._keep(step + 1, observation, infos)

    def _keep(self, place: int, observation: Floats, infos: dict[str, Any]) -> None:
        self.observations[:, place] = observation
        for name, kept in self.infos.items():  # why an episode ended stands in `Run.end`
            kept[:, place] = infos[name]

    def note(self, place: int, answers: Action) -> None:
        """Keep what the policy answers to every world's observation."""
        self._answers[:, place] = answers

    def episode(self, i: int, steps: int) -> dict[str, Any]:
        """World `i`'s part of a `Run`, for itself."""
        told = {**self.infos, **({ANSWER: self._answers} if self._answers.size else {})}
        return {
            "observations": self.observations[i, : steps + 1].copy(),
            "actions": self.actions[i, :steps].copy(),
            "rewards": self.rewards[i, :steps].copy(),
            "speed_error": float(self.errors[i, :steps].mean()),
            "infos": {name: kept[i, : steps + 1].copy() for name, kept in told.items()},
        }


def run_all(
    envs: DynVectorEnv, policy: Policy | None, seeds: Sequence[int], **how: Any
) -> list[Run]:
    """All episodes of `rollout`, which says what `how` may be, in the order of their seeds."""
    runs = [run for ended in rollout(envs, policy, seeds, **how) for run in ended]
    return sorted(runs, key=lambda run: run.number)


def speed_errors(infos: dict[str, Any]) -> Floats | float:
    """Distance of each world's velocity from its command [m/s]; NaN where nothing is commanded."""
    if "command" not in infos:
        return np.nan
    command: Floats = infos["command"]
    if command.ndim == 2:  # forward, sideways, turning: the last is no speed
        return np.asarray(np.hypot(*(infos["velocity"] - command)[:, :2].T))
    velocity: Floats = infos["x_velocity"]
    return np.abs(velocity - command)


def _answers(acting: Acting, observation: Floats, deterministic: bool, nu: int) -> Action:
    """What the policy answers, shape (worlds, nu)."""
    answers, shape = acting.act(observation, deterministic), (len(observation), nu)
    if answers.shape != shape or not np.isfinite(answers).all():
        raise ValueError(
            f"the policy must give finite actions of shape {shape}, got {answers.shape} "
            f"with {int(np.count_nonzero(~np.isfinite(answers)))} entries that are not finite"
        )
    return answers


def _acts(answers: Action | Floats, noise: Floats | None) -> Action:
    """What acts: clipped, with noise if any, shape (worlds, nu)."""
    if noise is not None:
        answers = answers + noise
    return np.clip(answers.astype(np.float32), -1.0, 1.0)


def _draw(generators: list[np.random.Generator], random: Floats, *, uniform: bool) -> None:
    """Fill `random`, shape (BLOCK, worlds, nu): each world's column from its own generator."""
    shape = (BLOCK, random.shape[2])
    for i, generator in enumerate(generators):
        random[:, i] = (
            generator.uniform(-1.0, 1.0, shape) if uniform else generator.standard_normal(shape)
        )


def _rows(records: NDArray[Any]) -> NDArray[np.uint8]:
    """Records byte by byte, shape (worlds, bytes)."""
    return records.view(np.uint8).reshape(len(records), -1)
