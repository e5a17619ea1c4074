"""What the pendulums' experts make of an observation: angles and velocities, with a memory.

What the last call predicted, by the equations of motion, is put right by what is seen, with the
gains to which a Kalman filter of each hinge alone settles (Kalman, A new approach to linear
filtering and prediction problems, J. Basic Engineering 82, 1960).  How noisy the sensors are is
felt: without noise an angle changes by its velocity times the time between, whatever pushes.  So
what clean sensors say is taken as it is.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dynenvs.agents.experts.common.memory import Common
from dynenvs.dynamics.crba import crba
from dynenvs.envs.core.blocks import ANGLE_NOISE, RATE_NOISE
from dynenvs.envs.core.task import Task
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, WorldView
from dynenvs.simd.elementary import LOG2_E, log
from dynenvs.simulation.free_motion import free_motion

MOTOR = 0.025  # of what a motor does, over its limit, to which the gains are made
LEVELS = 25  # of noise that there are gains for, one a factor of sqrt(2)
LOUDEST = 4.0  # the last one, in scales of `observation_noise`
FORGET = 0.05  # of what is felt of the noise, a control step
SUDDEN = 9.0  # times what was felt, that counts at most: a blow looks like noise for a step
LEAST = 1e-3  # scale of the noise below which nothing is felt
RUNAWAY = 1e4  # no hinge turns so far or so fast: foreseen by too long steps [rad], [rad/s]


class Filter(Common):
    """What the record of an expert that filters has."""

    trust: Annotated[Floats, LEVELS, 2, 2]  # of angle and velocity, for errors of both
    unit: float  # of velocities that do not fit to angles, for noise of scale 1 [rad/s]
    late: float  # weight of the last velocity in the mean over a control period
    timestep: float  # of the physics [s]
    substeps: int  # in a control period
    seen: int  # where an observation ends


# What is carried on: how many calls there were, the square of the noise's scale, then angles and
# velocities as they were predicted and as they were seen
HEAD = 2


def carried_by(task: Task) -> int:
    """How many numbers the filter carries."""
    return HEAD + 4 * task.model.nv


def set_filter(constants: NDArray[Any], task: Task) -> None:
    """Fill in the filter's part of an expert's constants, with the hinge that motors shake most."""
    model, h = task.model, task.dt
    M = crba(model, np.zeros(model.nq)) + np.diag(model.dofs["armature"])
    efforts = np.where(model.dofs["actuated"], MOTOR * model.dofs["effort"], 0.0)
    shaken = float(np.linalg.norm(np.linalg.inv(M) * efforts, axis=1).max())  # [rad/s^2]
    A = np.array([[1.0, h], [0.0, 1.0]])
    way = shaken * h * np.array([0.5 * h, 1.0])
    Q = np.outer(way, way) + 1e-12 * np.eye(2)
    for level in range(LEVELS):
        R = _scale(level) ** 2 * np.diag([ANGLE_NOISE**2, RATE_NOISE**2])
        P = scipy.linalg.solve_discrete_are(A.T, np.eye(2), Q, R)
        constants["trust"][0, level] = np.linalg.solve(P + R, P).T
    late = 0.5 + 0.5 / task.frame_skip
    spread = late**2 + (1.0 - late) ** 2
    constants["unit"] = math.sqrt(2.0 * (ANGLE_NOISE / h) ** 2 + spread * RATE_NOISE**2)
    constants["late"] = late
    constants["timestep"], constants["substeps"] = task.timestep, task.frame_skip
    constants["seen"] = len(task.observation_space.low)


def _scale(level: int) -> float:
    """Of the noise that a level is for."""
    return float(LOUDEST * 0.5 ** (0.5 * (LEVELS - 1 - level)))


@inlined
def blend(p: Filter, row: Floats, tail: Floats, q: Floats, v: Floats) -> None:
    """Put what was predicted, if anything was, in what is seen.

    Args:
        p: record with the fields of Filter.
        row: an observation, behind it what the last call carried on.
        tail: what this call carries on; what is seen is noted.
        q, v: angles and velocities as they are seen, then as they are estimated, shape (nv,);
            angles by whole turns from what was predicted are the same.
    """
    n = q.shape[0]
    for j in range(n):
        tail[HEAD + 2 * n + j], tail[HEAD + 3 * n + j] = q[j], v[j]
    old = row[p.seen :]
    tail[0], tail[1] = old[0] + 1.0, old[1]
    if old[0] < 0.5:
        return
    tail[1] = _felt(p, old, q, v)
    level = LOG2_E * log(max(tail[1], LEAST * LEAST) / (LOUDEST * LOUDEST)) + (LEVELS - 1)
    gain = p.trust[int(min(max(round(level), 0), LEVELS - 1))]
    for j in range(n):
        angle, rate = old[HEAD + j], old[HEAD + n + j]
        off, faster = _turned(q[j] - angle), v[j] - rate
        q[j] = angle + gain[0, 0] * off + gain[0, 1] * faster
        v[j] = rate + gain[1, 0] * off + gain[1, 1] * faster


@inlined
def _felt(p: Filter, old: Floats, q: Floats, v: Floats) -> float:
    """Square of the noise's scale, after what is seen now."""
    n = q.shape[0]
    total = 0.0
    for j in range(n):
        before, turned = old[HEAD + 3 * n + j], _turned(q[j] - old[HEAD + 2 * n + j])
        misfit = turned / p.period - before - p.late * (v[j] - before)
        total += (misfit / p.unit) ** 2 / n
    if old[0] > 1.5:
        total = min(total, SUDDEN * max(old[1], LEAST * LEAST))
    return old[1] + max(1.0 / old[0], FORGET) * (total - old[1])


@inlined
def _turned(angle: float) -> float:
    """An angle without whole turns, in [-pi, pi]."""
    return angle - 2.0 * math.pi * math.floor(angle / (2.0 * math.pi) + 0.5)


@inlined
def foretell(w: WorldView, p: Filter, q: Floats, v: Floats) -> None:
    """Move on by a control period under `w.tau`, where nothing is touched.

    Args:
        w: the expert's; the state is lost.
        p: record with the fields of Filter.
        q, v: from where, then to where, shape (nv,).
    """
    n = q.shape[0]
    for j in range(n):
        w.q[j], w.v[j] = q[j], v[j]
    for _ in range(p.substeps):
        update_poses(w, w.q, w.pose)
        free_motion(w, w.tau, p.timestep)
        for j in range(n):
            w.v[j] = w.v_free[j]
            w.q[j] += p.timestep * w.v[j]
    for j in range(n):
        q[j], v[j] = w.q[j], w.v[j]


@inlined
def carry(tail: Floats, q: Floats, v: Floats) -> None:
    """Hand on what is predicted; where that has run away, the next call begins anew."""
    n, sound = q.shape[0], True
    for j in range(n):
        tail[HEAD + j], tail[HEAD + n + j] = q[j], v[j]
        sound = sound and abs(q[j]) <= RUNAWAY and abs(v[j]) <= RUNAWAY
    if not sound:
        for k in range(tail.shape[0]):
            tail[k] = 0.0
