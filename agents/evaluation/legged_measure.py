"""Measures the gait of a robot with a free base from the positions of its feet."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from dynenvs.agents.evaluation.episode import Episode
from dynenvs.agents.evaluation.feet import footwork
from dynenvs.agents.evaluation.outcome import Outcome, Row, outcome_of, worst_of
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv
from dynenvs.memory.layout import Floats

SETTLING = 2.0  # time from which on mean speeds are taken [s]
BEFORE, AFTER = 1, 3  # control steps about a touchdown in which torques may jump
ROWS = (
    Row("speed error, m/s", "speed_error", "{:.4f}"),
    Row("turning error, rad/s", "turn_error", "{:.4f}"),
    Row("stance slip, mm", "slip", "{:.4f}", 1e3),
    Row("swing clearance, mm", "clearance", "{:.1f}", 1e3, -1),
    Row("swings", "swings", "{:.0f}", sign=-1),
    Row("tilt, rad", "tilt", "{:.3f}"),
    Row("torque change p99 away from touchdowns, %", "torque_change", "{:.2f}", 100),
    Row("torque change p99, %", "torque_change_all", "{:.2f}", 100),
    Row("largest torque, % of limit", "torque", "{:.0f}", 100),
)


@dataclass(frozen=True, kw_only=True)
class Trot(Outcome):
    """What one episode of a robot with a free base was like; its feet as `Footwork` says."""

    distance: float  # of the base over ground, along its path [m]
    speed_error: float  # of the mean velocity in the heading, after SETTLING [m/s]
    turn_error: float  # of the mean turning speed [rad/s]
    slip: float  # [m]
    clearance: float  # [m]
    swings: int
    tilt: float  # greatest of the base [rad]
    penetration: float  # [m]
    torque_change: float  # 99th percentile over effort limit, all joints, away from touchdowns
    torque_change_all: float  # the same with touchdowns
    torque: float  # largest over effort limit


def measure_trot(env: LeggedRobot | LeggedVectorEnv, episode: Episode) -> Trot:
    """Measure a recorded episode of `env`."""
    feet = footwork(env.task, episode)
    change = np.abs(np.diff(episode.actions, axis=0)) if episode.steps > 1 else np.zeros((1, 1))
    quiet = change[_away(feet.landings, len(change))]
    speeds = _mean_velocity(episode, round(SETTLING / env.task.dt), env.task.dt)
    error = speeds - np.asarray(episode.command)
    steps = np.diff(np.vstack([episode.start[:2], episode.q[:, :2]]), axis=0)
    return Trot(
        **outcome_of(episode),
        distance=float(np.hypot(*steps.T).sum()),
        speed_error=float(np.hypot(error[0], error[1])),
        turn_error=float(abs(error[2])),
        slip=feet.slip,
        clearance=feet.clearance,
        swings=feet.swings,
        tilt=float(np.arccos(1.0 - 2.0 * (episode.q[:, 4:6] ** 2).sum(axis=1).max())),
        penetration=feet.penetration,
        torque_change=float(np.percentile(quiet, 99)) if len(quiet) else math.nan,
        torque_change_all=float(np.percentile(change, 99)),
        torque=float(np.abs(episode.actions).max()),
    )


def _away(landings: list[int], steps: int) -> NDArray[np.bool_]:
    """Which changes of torque lie away from all touchdowns; change k is that from step k on."""
    quiet = np.ones(steps, np.bool_)
    for landing in landings:
        quiet[max(landing - BEFORE, 0) : landing + AFTER] = False
    return quiet


def _mean_velocity(episode: Episode, settled: int, dt: float) -> Floats:
    """Mean forward, sideways and turning speeds after `settled` steps, in the heading, (3,)."""
    q = episode.q[settled:]
    if len(q) < 2:
        return np.full(3, math.nan)
    w, x, y, z = q[:, 3:7].T
    heading = np.unwrap(np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z)))
    mean = 0.5 * (heading[1:] + heading[:-1])
    vx, vy = np.diff(q[:, :2], axis=0).T / dt
    forward = np.cos(mean) * vx + np.sin(mean) * vy
    sideways = np.cos(mean) * vy - np.sin(mean) * vx
    turning = (heading[-1] - heading[0]) / (dt * (len(q) - 1))
    return np.array([forward.mean(), sideways.mean(), turning])


def trot_summary(trots: list[Trot], dt: float) -> Table:
    """The worst figures over many episodes, one a seed; dt: control period [s]."""
    alive = sum(trot.end == "time limit" for trot in trots)
    return worst_of(trots, dt, ROWS, "reached the time limit", alive)
