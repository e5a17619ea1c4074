"""Behaviour cloning into a PPO policy, and a value function for what was cloned.

Who learns from a dataset learns here; who asks the expert while learning, in `dagger.py`.
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

from dynenvs.agents.evaluation.rollout import Run, make_batch, run_all
from dynenvs.agents.learn.equivariant import EquivariantPolicy, images
from dynenvs.agents.learn.network import Moments, policy_options, set_moments
from dynenvs.envs.core.mirror import mirror_of
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
    round_steps: int = 50  # control steps of each world in a round
    renewed: float = 0.2  # share of the worlds that begin anew with each round
    shown: float = 0.5  # share of DAgger's rounds in which the expert acts, the first ones
    lessons: int = 4  # of DAgger: after the rounds shown, and after each part of the others
    equivariant: bool = False  # of walkers: does in the mirror what it does in front of it
    last_steps: int = (
        12000  # gradient steps of the last lesson, and of behaviour cloning (`scaled`)
    )
    value_steps: int = 3000  # of the value function
    # As PPO will go on with (settings.yml); of the value function
    gamma: float = 0.99
    reward_scale: float = 0.05


class Examples(NamedTuple):
    """What is learned from."""

    observations: Floats  # shape (n, obs)
    actions: NDArray[np.float32]  # the teacher's, shape (n, nu)


EachStep = Callable[[PPO, Examples, float], None]  # a gradient step's model, lesson and loss


def ignore(*_: object) -> None:
    """A report that nobody reads."""


def scaled(settings: Settings, transitions: int) -> Settings:
    """Settings with as many last gradient steps as so many transitions are worth, at most."""
    steps = max(LEAST_STEPS, round(settings.last_steps * transitions / WHOLE))
    return settings._replace(last_steps=min(settings.last_steps, steps))


def descend(
    parameters: Iterable[torch.nn.Parameter],
    loss: Callable[[torch.Tensor], torch.Tensor],
    count: int,
    steps: int,
    settings: Settings,
    each_loss: EachLoss = ignore,
) -> float:
    """Gradient descent by Adam, its rate falling linearly to zero; returns the late mean loss.

    Random numbers are torch's own.

    Args:
        parameters: what is learned.
        loss: of the numbers of chosen examples.
        count: how many examples there are.
        steps: gradient steps.
        settings: rate and batch.
        each_loss: called with each gradient step's loss.
    """
    optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate, fused=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    late: list[float] = []
    for step in range(steps):
        value = loss(torch.randint(count, (settings.batch_size,)))
        optimizer.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        if step >= steps - 100:
            late.append(value.item())
        each_loss(value.item())
    return float(np.mean(late))


def new_model(env_id: str, settings: Settings, seed: int, **options: Any) -> PPO:
    """A PPO model whose policy scales its observations itself, with small random weights.

    Its value function is zero until it is learned: `lacks_value` tells.

    Raises:
        ValueError: `settings.equivariant`, and the robot has no left and right.
    """
    env: Any = gym.make(env_id, **options)
    own = images(mirror_of(env.unwrapped.task)) if settings.equivariant else {}
    model = PPO(
        EquivariantPolicy if own else "MlpPolicy",
        env,
        gamma=settings.gamma,
        policy_kwargs=policy_options(settings.net_arch, settings.activation, **own),
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
    scale_observations(policy, examples.observations)
    loss = lesson(model, examples, settings.last_steps, settings, each_step)
    set_spread(policy, examples)
    report(len(examples.observations), loss)
    return model


def lesson(
    model: PPO, examples: Examples, steps: int, settings: Settings, each_step: EachStep = ignore
) -> float:
    """Let a policy learn examples by so many gradient steps; returns the late mean error."""
    return descend(
        model.policy.parameters(),
        _distance(model.policy, examples),
        len(examples.observations),
        steps,
        settings,
        partial(each_step, model, examples),
    )


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
    return descend(parameters, loss, len(values), settings.value_steps, settings, each_loss)


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


def widen(policy: ActorCriticPolicy, spread: float) -> bool:
    """Let a policy spread each joint's actions by that much at least; returns whether it did not.

    A clone's spread is its error, too little to find anything better by.  gSDE's noise, which has
    one for each feature, stays.

    Args:
        policy: whose `log_std` is changed, in place.
        spread: standard deviation, share of the limits; 0 changes nothing.
    """
    if spread <= 0.0 or policy.use_sde or bool((policy.log_std >= np.log(spread)).all()):
        return False
    with torch.no_grad():
        policy.log_std.clamp_(min=float(np.log(spread)))
    return True


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


def scale_observations(policy: ActorCriticPolicy, observations: Floats) -> None:
    moments = Moments(observations.shape[1])
    moments.add(observations)
    set_moments(policy, moments.mean, moments.scale)
