"""DAgger: a policy acts, and learns what the expert would have done where it came to.

Ross, Gordon & Bagnell, A reduction of imitation learning and structured prediction to no-regret
online learning, AISTATS 2011.  A cloned policy leaves the states that its teacher showed; DAgger
lets it, asks the teacher what it would have done there, and learns from all of that.  The expert
labels whole batches of observations at once, so the questions cost little.

The examples come in rounds, of some steps of many worlds.  The expert acts in the first ones, with
the noise of the standard dataset (`data/teaching.py`).  Then lessons and rounds in which the policy
acts take turns; each lesson is learned to its end, its rate falling to zero, for a policy in the
midst of learning errs several times as far, and fills the rounds with falls.  Some worlds begin
anew with each round: beginnings are where most is to be learned, and whole episodes show few.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from stable_baselines3 import PPO

from dynenvs.agents.data.teaching import shares, standard_noise
from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.experts.common.controller import Action
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.learn.clone import (
    EachStep,
    Examples,
    Report,
    Settings,
    ignore,
    lesson,
    new_model,
    scale_observations,
    set_spread,
)
from dynenvs.envs.core.codes import RUNNING
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats

Answer = Callable[[Floats], tuple[Action, NDArray[Any]]]  # the expert's answers, and what acts


class Plan(NamedTuple):
    """What so many questions to the expert are spent on."""

    rounds: int
    worlds: int  # side by side; few questions leave worlds out
    lessons: tuple[int, ...]  # after how many rounds; the first: after those that are shown

    def steps(self, settings: Settings) -> list[int]:
        """Gradient steps of each lesson."""
        return [settings.last_steps // 2] * (len(self.lessons) - 1) + [settings.last_steps]


def plan_for(settings: Settings, transitions: int) -> Plan:
    """At least two rounds: in the first ones the expert acts."""
    worlds = max(1, min(settings.worlds, transitions // (2 * settings.round_steps)))
    rounds = max(2, round(transitions / (worlds * settings.round_steps)))
    shown = min(max(1, round(settings.shown * rounds)), rounds - 1)
    ends = np.linspace(shown, rounds, max(2, settings.lessons)).round()
    return Plan(rounds, worlds, tuple(dict.fromkeys(ends.astype(int).tolist())))


def dagger(
    env_id: str,
    episodes: int,
    *,
    settings: Settings,
    seed: int = 0,
    threads: int | None = None,
    report: Report,
    each_step: EachStep = ignore,
    **options: Any,
) -> PPO:
    """Clone the expert by asking it.

    While the expert acts, it answers with what it remembers.  While the policy acts, the expert is
    asked without its memory: that holds what its own answers would have done, and takes the
    difference, which lasts, for motors that act late, say.

    Args:
        env_id: which environment.
        episodes: of full length, as many transitions as which the expert labels.
        settings: how.
        seed: of weights, worlds and order.
        threads: of the simulator.
        report: called with how each lesson went.
        each_step: called after each gradient step.
        options: the environment's.
    """
    model = new_model(env_id, settings, seed, **options)
    policy = model.policy
    budget = episodes * step_limit(make_batch(env_id, 1, threads, **options))
    plan = plan_for(settings, budget)
    envs = make_batch(env_id, plan.worlds, threads, **options)
    rounds = _Rounds(envs, plan, settings, seed)
    noise = shares(standard_noise(env_id, "expert"), range(plan.worlds))
    answer: Answer = partial(rounds.show, noise[:, np.newaxis], np.random.default_rng(seed))
    for until, steps in zip(plan.lessons, plan.steps(settings), strict=True):
        rounds.record(until, answer)
        seen = rounds.seen()
        if until == plan.lessons[0]:
            scale_observations(policy, seen.observations)
        loss = lesson(model, seen, steps, settings, each_step)
        report(len(seen.observations), loss)
        answer = partial(rounds.watch, model)
    set_spread(policy, seen)
    return model


class _Rounds:
    """Rounds of worlds that go on from each to the next, some of them anew, and what they showed.

    Args:
        envs: the worlds.
        plan: how many rounds.
        settings: how long they are.
        seed: of the worlds, and of which begin anew.
    """

    def __init__(self, envs: DynVectorEnv, plan: Plan, settings: Settings, seed: int) -> None:
        self._envs, self._renewed, self._done = envs, settings.renewed, 0
        self._observation, _ = envs.reset(seed=seed)
        self._generator = np.random.default_rng([seed, 1])
        shape = (plan.rounds, settings.round_steps, plan.worlds)
        self._observations = np.empty((*shape, self._observation.shape[1]))
        self._answers = np.empty((*shape, envs.task.model.nu), np.float32)
        self._teacher = reference_controller(envs)
        self._asking = Acting(self._teacher, plan.worlds)

    def show(
        self, noise: Floats, generator: np.random.Generator, observation: Floats
    ) -> tuple[Action, Floats]:
        """The expert's answers, with its memory, and what acts: they with noise."""
        answers = self._asking.act(observation)
        return answers, answers + noise * generator.standard_normal(answers.shape)

    def watch(self, model: PPO, observation: Floats) -> tuple[Action, Action]:
        """The expert's answers, without its memory, and what acts: the policy's."""
        answers, _ = self._teacher.predict(observation)
        return answers, model.predict(observation, deterministic=True)[0]

    def record(self, until: int, answer: Answer) -> None:
        """Rounds up to that number."""
        for number in range(self._done, until):
            self._renew(number)
            for step in range(self._answers.shape[1]):
                self._observations[number, step] = self._observation
                self._answers[number, step], acts = answer(self._observation)
                acts = np.clip(acts, -1.0, 1.0).astype(np.float32)
                self._observation, *_ = self._envs.step(acts)
                self._asking.note(self._envs.worlds.ends != RUNNING)
        self._done = until

    def _renew(self, number: int) -> None:
        """Let some worlds begin anew; in the first round all have just begun."""
        chosen = self._generator.random(self._envs.num_envs) < self._renewed
        if number and chosen.any():
            self._observation, _ = self._envs.reset(options={"reset_mask": chosen})
            self._asking.begin(chosen)

    def seen(self) -> Examples:
        """All examples so far."""
        seen, answers = self._observations[: self._done], self._answers[: self._done]
        return Examples(seen.reshape(-1, seen.shape[-1]), answers.reshape(-1, answers.shape[-1]))
