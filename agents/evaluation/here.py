"""Episodes of an evaluation in this process, hundreds of them side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.evaluation.evaluation import Evaluation, torque_change
from dynenvs.agents.evaluation.rollout import Run, make_batch, run_all
from dynenvs.agents.evaluation.slip import FeetRecord
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.registration import MUJOCO

WORLDS = 250  # side by side


def evaluate_here(
    env_id: str,
    policy: Policy | str | None,
    seeds: range,
    threads: int | None,
    options: dict[str, Any],
) -> Evaluation:
    """An agent's episodes of these seeds; as `evaluate`, whose arguments these are."""
    if env_id in MUJOCO:
        from dynenvs.agents.evaluation.mujoco import evaluate_worlds

        return evaluate_worlds(env_id, policy, seeds, threads, **options)
    runs: list[Run] = []
    slips = []
    for first in range(seeds.start, seeds.stop, WORLDS):
        batch = range(first, min(first + WORLDS, seeds.stop))
        envs = make_batch(env_id, len(batch), threads, **options)
        acts = actor(policy, envs, env_id) if isinstance(policy, str) else policy
        feet = FeetRecord(envs)
        ended = run_all(envs, acts, batch, after_step=feet.note)
        slips += [feet.slip(run.number, run.steps) for run in ended]
        runs += ended
    return Evaluation(
        returns=[run.returned for run in runs],
        lengths=[run.steps for run in runs],
        falls=[run.terminated for run in runs],
        speed_errors=[run.speed_error for run in runs],
        efforts=[float(np.mean(run.actions.astype(np.float64) ** 2)) for run in runs],
        slips=slips,
        torque_changes=[torque_change(run.actions.astype(np.float64)) for run in runs],
    )
