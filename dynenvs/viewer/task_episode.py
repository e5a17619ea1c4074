"""An episode of one of Gymnasium's MuJoCo tasks, run for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.actors import Chance, actor
from dynenvs.agents.evaluation.mujoco import make_task
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.viewer.moment import Moment, Watcher, normal_force
from dynenvs.viewer.readings import Plot
from dynenvs.viewer.recording import Recording, shot_for

PLOTS = (Plot("reward", "", ("reward",)), Plot("contact force", "N", ("normal",)))


def record_task(
    env_id: str,
    agent: str,
    seed: int,
    steps: int | None,
    plots: Sequence[str] | None,
    options: dict[str, Any],
) -> Recording:
    """One episode from its reset on; arguments as of `dynenvs.view`.

    Raises:
        ValueError: no such agent, plot or option; a value out of its range.
        FileNotFoundError: no such file.
    """
    limited, env = make_task(env_id, **options)
    chance = Chance(env.action_space, range(seed, seed + 1))
    acting = Acting(actor(agent, env, env_id) or chance)
    observation, _ = limited.reset(seed=seed)
    moment = _moment(env)
    shot = shot_for(env.task.model, [moment])
    title = type(env).__name__.removesuffix("Env")
    recording = Recording(env.task.model, PLOTS, title=title, shot=shot, follows=True, chosen=plots)
    reward, over = 0.0, False
    while True:
        readings = [[reward], [normal_force(moment)]]
        recording.add(moment, readings, np.array([*moment.center[:2], 0.0]))
        if over or len(recording) - 1 == steps:
            break
        action = acting.act(observation)
        observation, earned, terminated, truncated, _ = limited.step(action)
        reward, over, moment = float(earned), terminated or truncated, _moment(env)
    limited.close()
    return recording


def _moment(env: MujocoEnv) -> Moment:
    """Where it is now; contact forces are means over the last control step."""
    row = env.batch.worlds.get_state()[:1]
    return Watcher(env.batch.worlds.model).moment(row, row["memory"]["total"][0], env.dt)
