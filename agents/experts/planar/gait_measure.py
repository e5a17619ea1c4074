"""Inverse dynamics of one periodic gait: what its torques, friction and reach would be.

Positions by inverse kinematics at STEPS phases, velocities and accelerations by differences, forces
of the bodies by rnea, ground forces in proportion to the legs' load shares, and centres of pressure
and the force between the feet for the least sum of (tau / effort)^2.  Used by `gait_plan.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.planar.gaits import (
    ANKLE_X,
    ENTRIES,
    HEIGHT,
    HIP_X,
    HIP_Z,
    X_HARMONICS,
    Z_HARMONICS,
    frequency,
    heel_rise,
    heel_share,
    hip,
    lift,
    load_share,
    stride,
)
from dynenvs.dynamics.rnea import rnea_passes
from dynenvs.envs.planar.records import ROOT
from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.memory.layout import Bytes, Floats, Records, open_model, open_state, open_workspace
from dynenvs.model.model import Model

STEPS = 100  # phases at which a gait is measured
PERIOD = 0.01  # control period [s]


def _plain(function: Any) -> Callable[..., float]:
    """A compiled function's Python original."""
    return function.py_func


class Robot(NamedTuple):
    """What a plan needs to know of a walker."""

    env_id: str
    model: Model
    gait: NDArray[Any]  # one record of GAIT without shapes
    knee: int  # sign of a bent knee's angle
    sole: float  # length of the sole behind the point that it rolls off from [m]
    friction: float
    commands: Floats  # [m/s], shape (KNOTS,)
    first: dict[int, float]  # entries of the first guess that are not 0
    bounds: dict[int, tuple[float, float]]  # of entries; equal bounds fix one
    scales: dict[int, float]

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Bounds of all entries, infinite where there are none."""
        low = [self.bounds.get(i, (-np.inf, np.inf))[0] for i in range(ENTRIES)]
        high = [self.bounds.get(i, (-np.inf, np.inf))[1] for i in range(ENTRIES)]
        return np.array(low), np.array(high)

    @property
    def scale(self) -> Floats:
        """By which each entry may change from one command to the next."""
        return np.array([self.scales.get(i, 1.0) for i in range(ENTRIES)])


@kernel
def positions(
    gaits: Records, shape: Floats, command: float, knee: int, q: Floats, reach: Floats, tilt: Floats
) -> None:
    """Positions over a cycle, x without its mean; q: (n, nq), reach and tilt: (n, legs).

    reach is the hip-to-ankle distance over the leg's length, tilt the foot's pitch.
    """
    g = gaits[0]
    n = q.shape[0]
    length = command / frequency(g, command)
    longest = g.thigh + g.shank
    for i in range(n):
        phase = i / n
        q[i, 0], _, _ = hip(g, shape, HIP_X, X_HARMONICS, phase, length, command)
        z, _, _ = hip(g, shape, HIP_Z, Z_HARMONICS, phase, length, command)
        q[i, 1] = shape[HEIGHT] + z
        for leg in range(g.legs):
            own = phase + g.offsets[leg]
            own -= math.floor(own)
            since = max(own - g.duty, 0.0)
            m, _, _ = stride(shape, since / (1.0 - g.duty - g.landing))
            up, _, _ = lift(shape, since / (1.0 - g.duty))
            turn, _, _ = heel_rise(g, shape, own, command)
            c, s = math.cos(turn), math.sin(turn)
            offset = g.sole_z + g.radius
            x = shape[ANKLE_X] + length * (m + 0.5 * g.duty - own) + g.sole_x
            x -= q[i, 0] + c * g.sole_x + s * offset
            z = up - q[i, 1] - (c * offset - s * g.sole_x - g.radius)
            d = math.sqrt(x * x + z * z)
            reach[i, leg] = d / longest
            shorter = min(1.0, 0.9999 * longest / d)
            d *= shorter
            cosine = (d * d - g.thigh**2 - g.shank**2) / (2.0 * g.thigh * g.shank)
            bend = knee * math.acos(min(max(cosine, -1.0), 1.0))
            above = math.atan2(g.shank * math.sin(bend), g.thigh + g.shank * math.cos(bend))
            at = ROOT + 3 * leg
            q[i, at] = math.atan2(-x, -z) - above
            q[i, at + 1] = bend
            q[i, at + 2] = turn + g.pitch - q[i, at] - bend
            tilt[i, leg] = turn


@kernel
def body_forces(
    packed: Bytes, row: Bytes, buffer: Bytes, q: Floats, v: Floats, a: Floats, tau: Floats
) -> None:
    """rnea for a series of motions, shapes (n, nq) and (n, nv)."""
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    for i in range(q.shape[0]):
        for j in range(m.header[0].nq):
            s.q[j] = q[i, j]
        for j in range(m.header[0].nv):
            s.v[j] = v[i, j]
        update_kinematics(m, s, w)
        rnea_passes(m, s, w, a[i], True, tau[i])


class Measured(NamedTuple):
    """One cycle of a gait; all legs move alike, so torques are the first leg's."""

    q: Floats  # shape (STEPS, nq)
    speed: Floats  # of the hip [m/s], shape (STEPS,)
    reach: Floats  # shape (STEPS,)
    torque: Floats  # over the limit, shape (STEPS, 3)
    change: Floats  # of it in a control step, shape (STEPS, 3)
    friction: Floats  # used by the first leg, shape (STEPS,)
    force: Floats  # of the ground [N], shape (STEPS, 2)


def measure(robot: Robot, shape: Floats, command: float) -> Measured:
    """Inverse dynamics of a gait."""
    model, g = robot.model, robot.gait[0]
    legs = int(g["legs"])
    q = np.zeros((STEPS, model.nq))
    reach, tilt = np.zeros((STEPS, legs)), np.zeros((STEPS, legs))
    positions(robot.gait, shape, command, robot.knee, q, reach, tilt)
    step = 1.0 / _plain(frequency)(g, command) / STEPS
    v, a = _derivatives(q, step)
    moving = v.copy()
    moving[:, 0] += command
    tau = np.zeros_like(q)
    rows = model.states(1).view(np.uint8)
    body_forces(model.packed, rows, model.workspace(), q, moving, a, tau)
    dofs = model.dofs
    tau += dofs["armature"] * a + dofs["damping"] * v
    phases = np.arange(STEPS) / STEPS
    back = robot.sole * np.array([_plain(heel_share)(shape, p) for p in phases])
    torque, friction = _ground_forces(robot, q, tilt, tau, back)
    change = (np.roll(torque, -1, axis=0) - torque) * PERIOD / step
    return Measured(q, moving[:, 0], reach[:, 0], torque, change, friction, tau[:, :ROOT])


def _derivatives(q: Floats, step: float) -> tuple[Floats, Floats]:
    later, earlier = np.roll(q, -1, axis=0), np.roll(q, 1, axis=0)
    return (later - earlier) / (2 * step), (later - 2 * q + earlier) / step**2


def _shares(g: Any) -> Floats:
    """Share of the load on each leg, shape (STEPS, legs)."""
    phases = np.arange(STEPS)[:, None] / STEPS + g["offsets"][: g["legs"]]
    shares = np.array([[_plain(load_share)(g, p, math.inf) for p in row] for row in phases % 1.0])
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(shares)


def _levers(robot: Robot, q: Floats, tilt: Floats) -> Floats:
    """From the first leg's joints to the point that it rolls off from [m], shape (STEPS, 3, 2)."""
    g = robot.gait[0]
    q1, q12 = q[:, ROOT], q[:, ROOT] + q[:, ROOT + 1]
    shank = np.stack([-np.sin(q12), -np.cos(q12)], axis=1) * g["shank"]
    thigh = np.stack([-np.sin(q1), -np.cos(q1)], axis=1) * g["thigh"]
    c, s, down = np.cos(tilt[:, 0]), np.sin(tilt[:, 0]), g["sole_z"] + g["radius"]
    foot = np.stack([c * g["sole_x"] + s * down, c * down - s * g["sole_x"] - g["radius"]], axis=1)
    return np.stack([thigh + shank + foot, shank + foot, foot], axis=1)


def _ground_forces(
    robot: Robot, q: Floats, tilt: Floats, tau: Floats, back: Floats
) -> tuple[Floats, Floats]:
    """Torques of the first leg over their limits and the friction that it uses.

    Unknown: the force that this leg and the one half a cycle later press apart with [100 N], and
    the ways of their centres of pressure back from the rolling point [0.1 m], at most `back` [m].
    """
    half = STEPS // 2
    share = _shares(robot.gait[0])[:, 0]
    lever, limit = _levers(robot, q, tilt), robot.model.effort_limit[ROOT : ROOT + 3]
    fx, fz = tau[:, 0] * share, tau[:, 1] * share
    base = tau[:, ROOT : ROOT + 3] - (lever[:, :, 1] * fx[:, None] - lever[:, :, 0] * fz[:, None])
    both = (share > 1e-6) & (np.roll(share, -half) > 1e-6)
    flat = (share > 1e-6) & (back > 0.0)
    slopes = np.zeros((STEPS, 2, 3, 3))  # of (this leg, the other one), torques, unknowns
    slopes[:, 0, :, 0] = -lever[:, :, 1] * 100.0 * both[:, None]
    slopes[:, 0, :, 1] = -(fz * flat)[:, None] * 0.1
    slopes[:, 1] = np.roll(slopes[:, 0], -half, axis=0)[:, :, [0, 2, 1]]
    slopes[:, 1, :, 0] *= -1.0
    A = (slopes / limit[:, None]).reshape(STEPS, 6, 3)
    y = np.concatenate([base / limit, np.roll(base, -half, axis=0) / limit], axis=1)
    H = np.einsum("nij,nik->njk", A, A) + 1e-3 * np.eye(3)
    unknown = np.linalg.solve(H, -np.einsum("nij,ni->nj", A, y)[:, :, None])[:, :, 0]
    most = np.stack([back, np.roll(back, -half)], axis=1) / 0.1
    unknown[:, 1:] = np.clip(unknown[:, 1:], 0.0, most)
    bound = 0.5 * robot.friction * np.minimum(fz, np.roll(fz, -half)) / 100.0
    unknown[:, 0] = np.clip(unknown[:, 0], -bound, bound)
    torque = (y + np.einsum("nij,nj->ni", A, unknown))[:, :3]
    pressed = fx + 100.0 * unknown[:, 0] * both
    return torque, np.where(share > 1e-6, pressed / np.maximum(fz, 0.02 * tau[:, 1].mean()), 0.0)
