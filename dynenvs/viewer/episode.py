"""Environments run for the page: an agent's episode, or one of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from dynenvs.agents.evaluation.actors import Chance, actor
from dynenvs.agents.evaluation.episode import make, step_limit
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.envs.core.base import DynEnv
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.viewer.moment import Moment, Watcher
from dynenvs.viewer.readings import Readings
from dynenvs.viewer.recording import FIELD_REACH, Recording, shot_for

AROUND_ROBOT = 1.3  # what the picture shows, in views of the robot alone
LEAST_VIEW = 1.2  # height of the picture of a small robot and the ground around it [m]


class Watched:
    """An environment that is looked at, step by step.

    Args:
        env: without wrappers; an episode has begun.
    """

    def __init__(self, env: DynEnv) -> None:
        self.env, self.readings = env, Readings(env)
        self._watcher = Watcher(env.worlds.model)

    def moment(self) -> Moment:
        """The present one; contact forces are means over the last control step."""
        worlds = self.env.worlds
        if self._watcher.model is not worlds.model:  # it has made room for more contacts
            self._watcher = Watcher(worlds.model)
        row = worlds.states[:1]
        return self._watcher.moment(row, row["memory"]["total"][0], self.env.dt)

    def recording(
        self, title: str, plots: Sequence[str] | None, reach: float = FIELD_REACH
    ) -> Recording:
        """An empty recording whose camera sees the robot as it stands now.

        Args:
            title: of the page.
            plots: names of those that are open at first; the usual ones if None.
            reach: how far around the robot's way terrain is kept [units].

        Raises:
            ValueError: there is no plot of such a name.
        """
        # The camera as it would look at the robot alone, in its pose now
        env, robot = self.env, self.env.task.robot
        q = np.array(env.worlds.states["q"][0, : robot.nq])
        shot = shot_for(robot, [_pose(robot, q)])
        follows = bool(np.any(env.focus)) or env.pace is not None
        if follows:
            height = max(AROUND_ROBOT * shot.view_height, LEAST_VIEW)
            shot = shot._replace(view_height=height)
        listed = self.readings.plots
        return Recording(
            env.model,
            listed,
            title=title,
            shot=shot,
            follows=follows,
            chosen=plots,
            reach=reach,
        )

    def keep(self, recording: Recording) -> None:
        """Add the present moment to a recording."""
        moment = self.moment()
        recording.add(moment, self.readings.now(moment), self.env.focus, self.env.targets)


def _pose(model: Model, q: Floats) -> Moment:
    """Where a model's bodies are at `q`; it stands still and touches nothing."""
    row = model.states(1)
    row["q"][0] = q
    return Watcher(model).moment(row, np.zeros((int(model.header.nk), 3)), 1.0)


def open_env(
    env_id: str, agent: str, seed: int, steps: int | None, options: dict[str, Any]
) -> tuple[DynEnv, Policy]:
    """An environment and what acts in it.

    Raises:
        ValueError: an option that it does not have, or one out of its range; no such agent.
    """
    if steps is not None:
        options = {**options, "max_episode_steps": steps}
    env = make(env_id, **options)
    chance = Chance(env.action_space, range(seed, seed + 1))
    return env, actor(agent, env, env_id) or chance


def record_episode(
    env: DynEnv,
    policy: Policy,
    *,
    seed: int,
    steps: int | None = None,
    plots: Sequence[str] | None = None,
) -> Recording:
    """One episode of a policy, from its reset on.

    Args:
        env: without wrappers.
        policy: what acts, on the observation alone.
        seed: of the reset.
        steps: control steps at most; the environment's own limit if None.
        plots: names of the plots that are open at first; the usual ones if None.

    Raises:
        ValueError: neither the environment nor `steps` sets a limit; there is no such plot.
    """
    limit = step_limit(env, steps)
    # The first moment, then one after each control step
    observation, _ = env.reset(seed=seed)
    watched = Watched(env)
    recording = watched.recording(env.title, plots)
    watched.keep(recording)
    over = False
    while not over and len(recording) <= limit:
        action, _ = policy.predict(observation)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        watched.keep(recording)
    return recording


class _Recorded:
    """A policy that gives an episode's actions one after the other.

    Args:
        actions: shape (steps, nu).
    """

    def __init__(self, actions: Any) -> None:
        self._actions = iter(actions)

    def predict(
        self,
        observation: Floats,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """The next action."""
        return next(self._actions), state


def record_dataset(name: str, episode: int, plots: Sequence[str] | None = None) -> Recording:
    """An episode of a Minari dataset that `dynenvs collect` made: its seed and actions again.

    Raises:
        FileNotFoundError: there is no such dataset.
        ValueError: it has no such episode, or cannot be read; there is no such plot.
    """
    from dynenvs.agents.data.dataset import episodes, open_dataset
    from dynenvs.agents.evaluation.options import options_of
    from dynenvs.agents.names import registered

    # The same seed and actions give the same episode
    dataset = open_dataset(name)
    spec, count = dataset.env_spec, int(dataset.total_episodes)
    if spec is None:
        raise ValueError(f"the dataset {dataset.id!r} names no environment")
    env_id = registered(spec.id, f"the dataset {dataset.id!r}")
    if not 0 <= episode < count:
        raise ValueError(f"{dataset.id!r} has episodes 0 to {count - 1}, got {episode}")
    start, data = next(islice(episodes(dataset), episode, None))
    env = make(env_id, **options_of(spec))
    recorded = _Recorded(data.actions)
    found = record_episode(env, recorded, seed=start.seed, steps=len(data.actions), plots=plots)
    found.title = f"{env.title}, episode {episode} of {dataset.id}"
    env.close()
    return found
