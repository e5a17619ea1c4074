"""Measures episodes of the chain pendulum from positions and impulses, whatever `info` says."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from rich.table import Table

from dynenvs.agents.evaluation.episode import Episode
from dynenvs.agents.evaluation.footsteps import worst_row
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.envs.pendulum.chain_kernel import PRESSED
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumEnv
from dynenvs.envs.robots import chain as robot
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model, open_work
from dynenvs.model.model import Model

AT_TARGET = 0.01  # distance of the tip from its target at which it is there [m]


class Press(NamedTuple):
    """What one episode of a chain pendulum was like."""

    steps: int
    end: str
    after: float  # from then on to the end the tip is there and presses enough [s]; NaN if never
    held: float  # how long it did [s]
    distance: float  # of the tip from its target, greatest while held [m]; at the end if never
    pressure: float  # on the target's surface, least while held [N]; at the end if never
    penetration: float  # deepest of any contact feature, at the end of a control step [m]
    degraded: int
    failed: int
    residual: float
    returned: float  # sum of rewards
    simulating: float  # wall-clock time in `env.step` [s]


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
        steps=episode.steps,
        end=episode.end,
        after=after * env.dt if held > 0 else math.nan,
        held=held,
        distance=float(distance[while_held].max()),
        pressure=float(pressure[while_held].min()),
        penetration=_penetration(env.model, episode.q),
        degraded=episode.degraded,
        failed=episode.failed,
        residual=episode.residual,
        returned=float(episode.rewards.sum()),
        simulating=episode.simulating,
    )


def _penetration(model: Model, positions: Floats) -> float:
    """Depth of the deepest feature over all positions, shape (steps, nq) [m]."""
    buffer = model.workspace()
    m = open_model(model.packed)
    w = open_work(m, buffer)
    deepest = 0.0
    for q in positions:
        update_poses(m, q, w.pose)
        measure_gaps(w)
        deepest = max(deepest, -float(w.gaps.min()))
    return deepest


def press_summary(presses: list[Press], dt: float) -> Table:
    """The worst figures over many episodes, each with the seed it came from.

    Args:
        presses: one a seed, counted from 0.
        dt: control period [s].
    """
    table = Table("reading", "worst", "seed", "mean")
    row = partial(worst_row, table)
    there = sum(press.held > 0 for press in presses)
    table.add_row("at the target, pressing, at the end", f"{there} of {len(presses)}", "", "")
    row("steps", [p.steps for p in presses], "{:.0f}", sign=-1)
    row("there and pressing from then on, s", [p.after for p in presses], "{:.2f}")
    row("distance while held, mm", [p.distance for p in presses], "{:.2f}", 1e3)
    row("pressure while held, N", [p.pressure for p in presses], "{:.2f}", sign=-1)
    row("penetration, m", [p.penetration for p in presses], "{:.1e}")
    row("LCP residual", [p.residual for p in presses], "{:.1e}")
    row("degraded solves", [p.degraded for p in presses], "{:.0f}")
    row("failed solves", [p.failed for p in presses], "{:.0f}")
    row("return", [p.returned for p in presses], "{:.1f}", sign=-1)
    row("simulated s per s", [p.steps * dt / p.simulating for p in presses], "{:.0f}", sign=-1)
    return table
