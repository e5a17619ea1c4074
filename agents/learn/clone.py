"""`dynenvs clone`: behaviour cloning, and DAgger with the expert as teacher, into a PPO policy.

Ross, Gordon & Bagnell, A reduction of imitation learning and structured prediction to no-regret
online learning, AISTATS 2011.  A cloned policy leaves the states that its teacher showed; DAgger
lets it, asks the teacher what it would have done there, and learns from all of that.  The expert
labels whole batches of observations at once, so the questions cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.policies import ActorCriticPolicy

from dynenvs.agents.data.teaching import shares, standard_noise
from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.rollout import Run, make_batch, run_all
from dynenvs.agents.experts.common.controller import Action, Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.learn.network import Moments, policy_options, set_moments
from dynenvs.envs.core.codes import RUNNING
from dynenvs.memory.layout import Floats

Report = Callable[[int, float], None]  # transitions that were learned from so far, loss
EachLoss = Callable[[float], None]  # a gradient step's loss

SPREAD = 1.4826  # standard deviation over median absolute deviation, of a Gaussian
LEAST_SPREAD = 1e-3  # of a policy's actions: a pendulum that stands tells nothing
WEIGHED = 20000  # examples by which the spread is found
VALUE_EPISODES = 100  # of the policy's own, for its value function
TAIL = 300  # last steps of an episode cut off by time whose returns are not known
# Gradient steps of the last lesson, where nobody says how many: those of the settings for so many
# transitions, in proportion for fewer, and never fewer than a network needs to settle
WHOLE, LEAST_STEPS = 100_000, 2000


class Settings(NamedTuple):
    """How a policy is cloned; settings.yml changes some of it for single environments."""

    net_arch: tuple[int, ...] = (256, 256)
    activation: str = "ELU"
    learning_rate: float = 1e-3  # at first; falls linearly to zero
    batch_size: int = 512
    worlds: int = 50  # side by side in DAgger
    round_steps: int = 50  # control steps of each world between two lessons
    shown: float = 0.5  # share of DAgger's rounds in which the expert acts, the first ones
    gradient_steps: int = 200  # of a lesson
    last_steps: int = 12000  # of the last lesson, and of behaviour cloning (`scaled`)
    value_steps: int = 3000  # of the value function
    # As PPO will go on with (settings.yml); of the value function
    gamma: float = 0.99
    reward_scale: float = 0.05


class Examples(NamedTuple):
    """What is learned from."""

    observations: Floats  # shape (n, obs)
    actions: NDArray[np.float32]  # the teacher's, shape (n, nu)


Answer = Callable[[Floats], tuple[Action, NDArray[Any]]]  # the expert's answers, and what acts
EachStep = Callable[[PPO, Examples, float], None]  # a gradient step's model, lesson and loss


def ignore(*_: object) -> None:
    """A report that nobody reads."""


def scaled(settings: Settings, transitions: int) -> Settings:
    """Settings with as many last gradient steps as so many transitions are worth, at most."""
    steps = max(LEAST_STEPS, round(settings.last_steps * transitions / WHOLE))
    return settings._replace(last_steps=min(settings.last_steps, steps))


def shape_of_dagger(settings: Settings, transitions: int) -> tuple[int, int]:
    """Rounds of DAgger, and worlds side by side, for so many questions to the expert.

    At least two rounds: in the first ones the expert acts.  Few questions leave worlds out.
    """
    worlds = max(1, min(settings.worlds, transitions // (2 * settings.round_steps)))
    return max(2, round(transitions / (worlds * settings.round_steps))), worlds


def lesson_steps(settings: Settings) -> int:
    """Gradient steps of each of DAgger's lessons but the last."""
    return min(settings.gradient_steps, settings.last_steps)


class Pupil:
    """A policy's network under gradient descent by Adam, its rate falling to zero.

    Args:
        parameters: what is learned.
        settings: how.
        steps: gradient steps, all lessons together.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], settings: Settings, steps: int
    ) -> None:
        self.batch_size = settings.batch_size
        self.optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.0, steps)

    def learn(
        self,
        loss: Callable[[torch.Tensor], torch.Tensor],
        count: int,
        steps: int,
        each_loss: EachLoss = ignore,
    ) -> float:
        """Descend `loss`, of the numbers of chosen examples out of `count`; returns its late mean.

        Random numbers are torch's own.
        """
        late: list[float] = []
        for step in range(steps):
            value = loss(torch.randint(count, (self.batch_size,)))
            self.optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.schedule.step()
            if step >= steps - 100:
                late.append(value.item())
            each_loss(value.item())
        return float(np.mean(late))


def new_model(env_id: str, settings: Settings, seed: int, **options: Any) -> PPO:
    """A PPO model whose policy scales its observations itself, with small random weights.

    Its value function is zero until it is learned: `lacks_value` tells.
    """
    model = PPO(
        "MlpPolicy",
        gym.make(env_id, **options),
        gamma=settings.gamma,
        policy_kwargs=policy_options(settings.net_arch, settings.activation),
        seed=seed,
        device="cpu",
    )
    with torch.no_grad():
        for weights in model.policy.value_net.parameters():
            weights.zero_()
    return model


def clone(
    env_id: str,
    examples: Examples,
    *,
    settings: Settings,
    seed: int = 0,
    report: Report,
    each_step: EachStep = ignore,
    **options: Any,
) -> PPO:
    """Behaviour cloning: the policy's mean actions come as near as they can to a dataset's.

    Args:
        env_id: where the policy will act.
        examples: what it learns from.
        settings: how.
        seed: of weights and order.
        report: called with how it went.
        each_step: called after each gradient step.
        options: the environment's.
    """
    model = new_model(env_id, settings, seed, **options)
    policy = model.policy
    _scale(policy, examples.observations)
    pupil = Pupil(policy.parameters(), settings, settings.last_steps)
    distance = _distance(policy, examples)
    each_loss = partial(each_step, model, examples)
    loss = pupil.learn(distance, len(examples.observations), settings.last_steps, each_loss)
    set_spread(policy, examples)
    report(len(examples.observations), loss)
    return model


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
    """DAgger: the expert acts in the first rounds, the policy in all others.

    While the expert acts, it is with the noise of the standard dataset (`data/teaching.py`), and
    with what it remembers.  A policy that begins to act with that much behind it falls seldom; one
    that begins with less fills the examples with falls.  While the policy acts, the expert is asked
    without its memory: that holds what its own answers would have done, and takes the difference,
    which lasts, for motors that act late, say.

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
    rounds, worlds = shape_of_dagger(settings, budget)
    envs = make_batch(env_id, worlds, threads, **options)
    teacher = reference_controller(envs)
    steps = (rounds - 1) * lesson_steps(settings) + settings.last_steps
    pupil = Pupil(policy.parameters(), settings, steps)
    observation, _ = envs.reset(seed=seed)
    shape = (rounds, settings.round_steps, worlds)
    observations = np.empty((*shape, observation.shape[1]))
    actions = np.empty((*shape, envs.task.model.nu), np.float32)
    asking = Acting(teacher, worlds)
    shows, watches = _shows(asking, env_id, worlds, seed), partial(_watches, teacher, model)
    shown = min(max(1, round(settings.shown * rounds)), rounds - 1)
    for number in range(rounds):
        answer = shows if number < shown else watches
        for step in range(settings.round_steps):
            actions[number, step], acts = answer(observation)
            observations[number, step] = observation
            observation, *_ = envs.step(np.clip(acts, -1.0, 1.0).astype(np.float32))
            asking.note(envs.worlds.ends != RUNNING)
        seen = Examples(
            observations[: number + 1].reshape(-1, observations.shape[-1]),
            actions[: number + 1].reshape(-1, actions.shape[-1]),
        )
        if number < shown - 1:  # few examples would be learned by heart
            continue
        lesson = lesson_steps(settings)
        if number == shown - 1:
            _scale(policy, seen.observations)
            lesson *= shown
        elif number == rounds - 1:
            lesson = settings.last_steps
        notes = partial(each_step, model, seen)
        loss = pupil.learn(_distance(policy, seen), len(seen.observations), lesson, notes)
        report(len(seen.observations), loss)
    set_spread(policy, seen)
    return model


def _shows(asking: Acting, env_id: str, worlds: int, seed: int) -> Answer:
    """The expert's answers, and what acts: they with noise."""
    generator = np.random.default_rng(seed)
    noise = shares(standard_noise(env_id, "expert"), range(worlds))[:, np.newaxis]

    def answer(observation: Floats) -> tuple[Action, Floats]:
        asked = asking.act(observation)
        return asked, asked + noise * generator.standard_normal(asked.shape)

    return answer


def _watches(teacher: Policy, model: PPO, observation: Floats) -> tuple[Action, Action]:
    """The expert's answers, without its memory, and what acts: the pupil's."""
    asked, _ = teacher.predict(observation)
    return asked, model.predict(observation, deterministic=True)[0]


def learn_value(
    model: PPO,
    env_id: str,
    settings: Settings,
    seed: int,
    threads: int | None,
    each_loss: EachLoss = ignore,
    **options: Any,
) -> float:
    """Let a new value function learn what the policy's own episodes return; returns the loss.

    Without one, PPO's first updates would undo the policy that it begins from.

    Args:
        model: whose policy acts.
        env_id: where.
        settings: how; `gamma` and `reward_scale` as PPO will go on with.
        seed: of the first episode.
        threads: of the simulator.
        each_loss: called with each gradient step's loss.
        options: the environment's.
    """
    envs = make_batch(env_id, VALUE_EPISODES, threads, **options)
    seeds = range(seed, seed + VALUE_EPISODES)
    runs = run_all(envs, model, seeds, deterministic=False)  # as PPO will act
    for net, gain in ((model.policy.mlp_extractor.value_net, 2**0.5), (model.policy.value_net, 1)):
        for layer in net.modules():
            model.policy.init_weights(layer, gain)
    return fit_value(model, settings, runs, each_loss)


def fit_value(
    model: PPO, settings: Settings, runs: list[Run], each_loss: EachLoss = ignore
) -> float:
    """Descend the value function's squared error over episodes; returns its late mean.

    Args:
        model: whose value function.
        settings: how.
        runs: the policy's episodes.
        each_loss: called with each gradient step's loss.
    """
    policy = model.policy
    kept = [_returns(run, settings) for run in runs]
    values = torch.as_tensor(np.concatenate(kept), dtype=torch.float32)
    seen = [run.observations[: len(own)] for run, own in zip(runs, kept, strict=True)]
    observations = torch.as_tensor(np.concatenate(seen), dtype=torch.float32)

    def loss(chosen: torch.Tensor) -> torch.Tensor:
        found = policy.predict_values(observations[chosen]).flatten()
        return ((found - values[chosen]) ** 2).mean()

    parameters = [*policy.mlp_extractor.value_net.parameters(), *policy.value_net.parameters()]
    pupil = Pupil(parameters, settings, settings.value_steps)
    return pupil.learn(loss, len(values), settings.value_steps, each_loss)


def lacks_value(model: PPO) -> bool:
    """Whether a zip came without its value function (`policy_file.slim`): zeros stay zeros."""
    return not any(weights.any() for weights in model.policy.value_net.parameters())


def set_spread(policy: ActorCriticPolicy, examples: Examples) -> None:
    """The spread of each joint's actions: as far as they usually are from the teacher's.

    Where the teacher is precise PPO must begin precisely: noise of 2 % of the limits costs the
    humanoid's expert two fifths of its return at the hips' yaw, and nothing at the ankles' roll.

    Args:
        policy: whose `log_std` is set, in place.
        examples: what it learned from.
    """
    chosen = torch.randint(len(examples.observations), (WEIGHED,)).numpy()
    observations = torch.as_tensor(examples.observations[chosen], dtype=torch.float32)
    with torch.no_grad():
        apart = policy.get_distribution(observations).mode() - torch.as_tensor(
            examples.actions[chosen]
        )
        spread = SPREAD * apart.abs().median(dim=0).values
        policy.log_std.copy_(spread.clamp(min=LEAST_SPREAD).log())


def _distance(
    policy: ActorCriticPolicy, examples: Examples
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Mean absolute error of the policy's mean actions.

    Least squares would spend the network on the few states of a falling robot, where the expert
    goes from limit to limit.
    """
    observations = torch.as_tensor(examples.observations, dtype=torch.float32)
    actions = torch.as_tensor(examples.actions)

    def loss(chosen: torch.Tensor) -> torch.Tensor:
        mean = policy.get_distribution(observations[chosen]).mode()
        return torch.nn.functional.l1_loss(mean, actions[chosen])

    return loss


def _returns(run: Run, settings: Settings) -> Floats:
    """Discounted sums of scaled rewards from each step on, as far as they are known."""
    returns = np.empty(run.steps)
    ahead = 0.0
    for step in reversed(range(run.steps)):
        ahead = returns[step] = settings.reward_scale * run.rewards[step] + settings.gamma * ahead
    return returns if run.terminated else returns[: max(run.steps - TAIL, 0)]


def _scale(policy: ActorCriticPolicy, observations: Floats) -> None:
    moments = Moments(observations.shape[1])
    moments.add(observations)
    set_moments(policy, moments.mean, moments.scale)
