"""What the experts of robots with a free base must reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.agents.evaluation.episode import run_episode
from dynenvs.agents.evaluation.legged_measure import Trot, measure_trot
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.shells import LeggedRobot


def missed_bars(
    trot: Trot, seed: int, clearance: float, *, slip: float = 2e-3, change: float = 0.1
) -> list[str]:
    """Which bars a whole episode misses.

    clearance: of a swinging foot at least [m]; slip: of a standing one at most [m]; change: of
    torques from step to step at most, over their limits.
    """
    found = {
        "alive": (trot.end == "time limit", trot.end),
        "speed within 0.05 m/s": (trot.speed_error < 0.05, trot.speed_error),
        "turning within 0.05 rad/s": (trot.turn_error < 0.05, trot.turn_error),
        f"slip < {slip} m": (trot.slip < slip, trot.slip),
        f"clearance >= {clearance} m": (trot.clearance >= clearance, trot.clearance),
        "penetration < 1e-6 m": (trot.penetration < 1e-6, trot.penetration),
        f"torque change < {change}": (trot.torque_change < change, trot.torque_change),
        "no degraded solve": (trot.degraded == 0, trot.degraded),
        "no failed solve": (trot.failed == 0, trot.failed),
    }
    return [f"seed {seed}: {bar}: {value}" for bar, (met, value) in found.items() if not met]


def check_follows(env: LeggedRobot) -> None:
    """An episode to its end near the command, every contact problem solved."""
    trot = measure_trot(env, run_episode(env, reference_controller(env), seed=1))
    assert trot.end == "time limit"
    assert trot.speed_error < 0.1
    assert (trot.degraded, trot.failed) == (0, 0)


def velocities_in_float32(env: LeggedRobot, steps: int) -> np.ndarray[Any, Any]:
    """Velocity at each step, as commanded, where the expert sees float32; shape (steps, 3)."""
    policy = reference_controller(env)
    observation, _ = env.reset(seed=7)
    speeds = []
    for _ in range(steps):
        action = policy.predict(observation.astype(np.float32))[0]
        observation, _, terminated, _, info = env.step(action)
        assert not terminated
        speeds.append(info["velocity"])
    return np.array(speeds)
