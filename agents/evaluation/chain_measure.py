"""Measures episodes of the chain pendulum from positions and impulses, whatever `info` says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from rich.table import Table

from dynenvs.agents.evaluation.episode import Episode
from dynenvs.agents.evaluation.feet import trace
from dynenvs.agents.evaluation.outcome import Outcome, Row, outcome_of, worst_of
from dynenvs.envs.pendulum.chain_kernel import PRESSED
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumEnv
from dynenvs.envs.robots import chain as robot

AT_TARGET = 0.01  # distance of the tip from its target at which it is there [m]
ROWS = (
    Row("there and pressing from then on, s", "after", "{:.2f}"),
    Row("distance while held, mm", "distance", "{:.2f}", 1e3),
    Row("pressure while held, N", "pressure", "{:.2f}", sign=-1),
)


@dataclass(frozen=True, kw_only=True)
class Press(Outcome):
    """What one episode of a chain pendulum was like."""

    after: float  # from then on to the end the tip is there and presses enough [s]; NaN if never
    held: float  # how long it did [s]
    distance: float  # of the tip from its target, greatest while held [m]; at the end if never
    pressure: float  # on the target's surface, least while held [N]; at the end if never
    penetration: float  # deepest of any contact feature, at the end of a control step [m]


def measure_press(env: ChainPendulumEnv, episode: Episode) -> Press:
    """Measure a recorded episode of `env`.

    The tip is there where its centre is within AT_TARGET of the target; it presses enough where the
    last physics step's impulse on the target's surface is that of a tenth of the weight.
    """
    target = np.asarray(episode.command, np.float64)
    tips = np.array([robot.tip(q) for q in episode.q])
    distance = np.hypot(*(tips - target).T)
    on_wall = target[1] > robot.radius(env.task.links) + 1e-9
    feature = int(env.task.options["wall_feature" if on_wall else "floor_feature"][0])
    impulses = episode.impulses[:, feature]
    pressure = (-impulses[:, 0] if on_wall else impulses[:, 2]) / env.task.timestep
    enough = PRESSED * robot.MASS * robot.GRAVITY
    away = np.flatnonzero((distance > AT_TARGET) | (pressure < enough))
    after = int(away[-1]) + 1 if len(away) else 0
    held = (episode.steps - after) * env.dt
    while_held = slice(after if held > 0 else episode.steps - 1, episode.steps)
    return Press(
        **outcome_of(episode),
        after=after * env.dt if held > 0 else math.nan,
        held=held,
        distance=float(distance[while_held].max()),
        pressure=float(pressure[while_held].min()),
        penetration=max(0.0, -float(trace(env.model, episode.q).gap.min())),
    )


def press_summary(presses: list[Press], dt: float) -> Table:
    """The worst figures over many episodes, one a seed; dt: control period [s]."""
    there = sum(press.held > 0 for press in presses)
    return worst_of(presses, dt, ROWS, "at the target, pressing, at the end", there)
