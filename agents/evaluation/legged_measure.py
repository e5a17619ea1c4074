"""Measures the gait of a robot with a free base from the positions of its feet."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from dynenvs.agents.evaluation.episode import Episode
from dynenvs.agents.evaluation.feet import Feet, crept, radius, trace
from dynenvs.agents.evaluation.footsteps import stances, worst_row
from dynenvs.envs.legged.shells import LeggedRobot, LeggedVectorEnv
from dynenvs.memory.layout import Floats

SETTLING = 2.0  # time from which on mean speeds are taken [s]
BEFORE, AFTER = 1, 3  # control steps about a touchdown in which torques may jump


class Trot(NamedTuple):
    """What one episode of a robot with a free base was like."""

    steps: int  # control steps alive
    end: str  # why it ended
    fell: bool
    distance: float  # of the base over ground, along its path [m]
    speed_error: float  # of the mean velocity in the heading, after SETTLING [m/s]
    turn_error: float  # of the mean turning speed [rad/s]
    slip: float  # largest of a standing foot from touchdown to lift-off [m]; NaN without a stance
    clearance: float  # least, over the swings, of a swing's greatest height [m]; NaN without one
    swings: int  # from lift-off to touchdown
    tilt: float  # greatest of the base [rad]
    penetration: float  # deepest of any contact feature, at the end of a control step [m]
    degraded: int
    failed: int
    residual: float
    torque_change: float  # 99th percentile over effort limit, all joints, away from touchdowns
    torque_change_all: float  # the same with touchdowns
    torque: float  # largest over effort limit
    returned: float  # sum of rewards
    simulating: float  # wall-clock time in `env.step` [s]


def trace_feet(env: LeggedRobot | LeggedVectorEnv, episode: Episode) -> Feet:
    """Where the contact features were; kinematics only."""
    robot = env.task.robot
    return trace(robot, np.ascontiguousarray(episode.q[:, : robot.nq]))


def measure_trot(env: LeggedRobot | LeggedVectorEnv, episode: Episode) -> Trot:
    """Measure a recorded episode of `env`.

    Each point of a foot is followed on its own; a foot swings when none of them carries load.  Its
    height is its distance from the ground, whatever its shape.
    """
    feet = trace_feet(env, episode)
    loaded = np.asarray(episode.impulses[:, :, 2] > 0.0)
    slips, heights, landings = [], [], []
    for leg in range(len(env.task.legs)):
        own = np.flatnonzero(env.task.foot_of_feature == leg)
        for f in map(int, own):
            path = crept(feet, f, radius(env.task.robot, f))
            for first, last in stances(loaded[:, f], feet.gap[:, f]):
                way = path[first : last + 1] - path[first]
                slips.append(float(np.hypot(way[:, 0], way[:, 1]).max()))
        lowest = feet.gap[:, own].min(axis=1)
        found = list(stances(np.any(loaded[:, own], axis=1), lowest))
        for (_, lift_off), (touchdown, _) in pairwise(found):
            heights.append(float(lowest[lift_off + 1 : touchdown].max()))
        landings += [first for first, _ in found]
    change = np.abs(np.diff(episode.actions, axis=0)) if episode.steps > 1 else np.zeros((1, 1))
    quiet = change[_away(landings, len(change))]
    speeds = _mean_velocity(episode, round(SETTLING / env.task.dt), env.task.dt)
    error = speeds - np.asarray(episode.command)
    steps = np.diff(np.vstack([episode.start[:2], episode.q[:, :2]]), axis=0)
    return Trot(
        steps=episode.steps,
        end=episode.end,
        fell=episode.fell,
        distance=float(np.hypot(*steps.T).sum()),
        speed_error=float(np.hypot(error[0], error[1])),
        turn_error=float(abs(error[2])),
        slip=max(slips, default=math.nan),
        clearance=min(heights, default=math.nan),
        swings=len(heights),
        tilt=float(np.arccos(1.0 - 2.0 * (episode.q[:, 4:6] ** 2).sum(axis=1).max())),
        penetration=max(0.0, -float(feet.gap.min(initial=0.0))),
        degraded=episode.degraded,
        failed=episode.failed,
        residual=episode.residual,
        torque_change=float(np.percentile(quiet, 99)) if len(quiet) else math.nan,
        torque_change_all=float(np.percentile(change, 99)),
        torque=float(np.abs(episode.actions).max()),
        returned=float(episode.rewards.sum()),
        simulating=episode.simulating,
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
    """The worst figures over many episodes, each with the seed it came from.

    Args:
        trots: one a seed, counted from 0.
        dt: control period [s].
    """
    table = Table("reading", "worst", "seed", "mean")
    row = partial(worst_row, table)
    alive = sum(trot.end == "time limit" for trot in trots)
    table.add_row("reached the time limit", f"{alive} of {len(trots)}", "", "")
    row("steps", [t.steps for t in trots], "{:.0f}", sign=-1)
    row("speed error, m/s", [t.speed_error for t in trots], "{:.4f}")
    row("turning error, rad/s", [t.turn_error for t in trots], "{:.4f}")
    row("stance slip, mm", [t.slip for t in trots], "{:.4f}", 1e3)
    row("swing clearance, mm", [t.clearance for t in trots], "{:.1f}", 1e3, -1)
    row("swings", [t.swings for t in trots], "{:.0f}", sign=-1)
    row("tilt, rad", [t.tilt for t in trots], "{:.3f}")
    row(
        "torque change p99 away from touchdowns, %", [t.torque_change for t in trots], "{:.2f}", 100
    )
    row("torque change p99, %", [t.torque_change_all for t in trots], "{:.2f}", 100)
    row("largest torque, % of limit", [t.torque for t in trots], "{:.0f}", 100)
    row("penetration, m", [t.penetration for t in trots], "{:.1e}")
    row("LCP residual", [t.residual for t in trots], "{:.1e}")
    row("degraded solves", [t.degraded for t in trots], "{:.0f}")
    row("failed solves", [t.failed for t in trots], "{:.0f}")
    row("return", [t.returned for t in trots], "{:.1f}", sign=-1)
    row("simulated s per s", [t.steps * dt / t.simulating for t in trots], "{:.0f}", sign=-1)
    return table
