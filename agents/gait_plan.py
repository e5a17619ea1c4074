"""Plans the walkers' gaits: `python -m dynenvs.agents.gait_plan` (about a minute).

For each commanded speed the shape of a periodic gait (`gaits.py`) is chosen by nonlinear least
squares, so that torques change little from one control step to the next and stay within their
limits, and feet within their friction cones.  One candidate is measured by inverse dynamics:

    positions by inverse kinematics at STEPS phases, velocities and accelerations by differences,
    forces of the bodies by rnea, ground forces in proportion to the legs' load shares,
    centres of pressure and the force between the feet for the least sum of (tau / effort)^2.

The shapes go to `gait_table.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy.optimize import least_squares

from dynenvs.agents import gaits as G
from dynenvs.agents.gaits import (
    ANKLE_X,
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
from dynenvs.agents.walkers import humanoid_gait, quadruped_gait
from dynenvs.compiled import kernel
from dynenvs.dynamics.rnea import rnea_passes
from dynenvs.envs import planar_humanoid as humanoid_env
from dynenvs.envs import planar_quadruped as quadruped_env
from dynenvs.envs.robots import planar_humanoid, planar_quadruped
from dynenvs.kinematics import update_kinematics
from dynenvs.layout import Bytes, Floats, Records, open_model, open_state, open_workspace
from dynenvs.model import Model

CLIMB = 37  # commands from the slowest to the fastest
TRIALS = 6  # other starts for the fastest
LIKENESS = 0.4  # weight of a neighbour's likeness
SUBSTEPS = 4  # from one command to the next
STEPS = 100  # phases at which a gait is measured
ROOT = 2  # root coordinates: x and z
PERIOD = 0.01  # control period [s]
EASY_CHANGE, MUCH_CHANGE = 0.05, 0.07  # of a torque over its limit in a control step
SPEED_WEIGHT = 0.4  # against deviations from the command
EASY_TORQUE = 0.85  # of its limit
EASY_FRICTION = 0.75  # of the coefficient
REACH = 0.98  # share of a leg's length that is used
STOP_MARGIN = 0.1  # from a joint's stops [rad]
LIGHT = 0.3  # share of the weight below which the ground's force should not sink
DIGITS = 5
SCALES = {  # by which an entry may change from one command to the next
    **dict.fromkeys(range(HIP_X, G.FORWARD), 0.01),
    **{G.FORWARD + i: 0.05 for i in range(3)},
    ANKLE_X: 0.02,
    HEIGHT: 0.02,
    G.CLEARANCE: 0.01,
    G.LIFT: 0.2,
    G.LIFT + 1: 0.2,
    G.HEEL: 0.1,
    G.HEEL_START: 0.02,
    G.HEEL_END: 0.05,
    G.HEEL_SKEW: 0.2,
}


def _plain(function: Any) -> Callable[..., float]:
    """A compiled function's Python original."""
    return function.py_func  # type: ignore[no-any-return]


class Robot(NamedTuple):
    """What a plan needs to know of a walker."""

    model: Model
    gait: NDArray[Any]  # one record of GAIT without shapes
    knee: int  # sign of a bent knee's angle
    sole: float  # length of the sole behind the point that it rolls off from [m]
    friction: float
    commands: Floats  # [m/s], shape (KNOTS,)
    first: dict[int, float]  # entries of the first guess that are not 0
    bounds: dict[int, tuple[float, float]]  # of entries; equal bounds fix one
    scales: dict[int, float]


def humanoid() -> Robot:
    """The planar humanoid: it may roll over its toes."""
    robot = planar_humanoid
    low, high = humanoid_env.COMMAND_RANGE
    return Robot(
        model=robot.build(),
        gait=humanoid_gait(),
        knee=1,
        sole=robot.TOE - robot.HEEL,
        friction=robot.FRICTION,
        commands=np.linspace(low, high, G.KNOTS),
        first={HEIGHT: 0.82, G.HEEL: 0.25, G.HEEL_START: 0.56, G.HEEL_END: 0.93, G.CLEARANCE: 0.05},
        bounds={
            ANKLE_X: (-0.1, 0.1),
            HEIGHT: (0.7, 0.9),
            G.CLEARANCE: (0.05, 0.05),
            G.LIFT: (-0.4, 0.4),
            G.LIFT + 1: (-0.4, 0.4),
            G.HEEL: (0.0, 0.8),
            G.HEEL_START: (0.45, 0.6),
            G.HEEL_END: (0.8, 0.955),
            G.HEEL_SKEW: (-0.7, 0.7),
        },
        scales=SCALES,
    )


def quadruped() -> Robot:
    """The planar quadruped: its spheres for feet keep their pitch."""
    robot = planar_quadruped
    low, high = quadruped_env.COMMAND_RANGE
    return Robot(
        model=robot.build(),
        gait=quadruped_gait(),
        knee=-1,
        sole=0.0,
        friction=robot.FRICTION,
        commands=np.linspace(low, high, G.KNOTS),
        first={HEIGHT: 0.32, G.HEEL_START: 1.0, G.HEEL_END: 2.0, G.CLEARANCE: 0.04},
        bounds={
            ANKLE_X: (-0.05, 0.05),
            HEIGHT: (0.24, 0.38),
            G.CLEARANCE: (0.036, 0.05),
            G.LIFT: (-0.4, 0.4),
            G.LIFT + 1: (-0.4, 0.4),
            G.HEEL: (0.0, 0.0),
            G.HEEL_START: (1.0, 1.0),
            G.HEEL_END: (2.0, 2.0),
            G.HEEL_SKEW: (0.0, 0.0),
        },
        scales=SCALES,
    )


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
    shares = np.array([[_plain(load_share)(g, p) for p in row] for row in phases % 1.0])
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


def residuals(robot: Robot, shape: Floats, command: float, like: Floats) -> Floats:
    """What a plan makes small; `like`: a shape that it should resemble."""
    o = measure(robot, shape, command)
    lower, upper = (limit[ROOT : ROOT + 3] for limit in (robot.model.lower, robot.model.upper))
    angles = o.q[:, ROOT : ROOT + 3]
    weight = np.max(o.force[:, 1].mean())

    def excess(value: Floats, bound: float | Floats, scale: float) -> Floats:
        return np.asarray(np.maximum(0.0, value - bound) / scale).ravel()

    parts = [
        excess(np.abs(o.change), EASY_CHANGE, 0.06),
        excess(np.abs(o.change), MUCH_CHANGE, 0.01),
        3.0 * o.change.ravel(),
        excess(np.abs(o.torque), EASY_TORQUE, 0.05),
        0.02 * o.torque.ravel(),
        excess(o.reach, REACH, 0.005),
        excess(np.abs(o.friction), EASY_FRICTION * robot.friction, 0.1),
        excess(angles, upper - STOP_MARGIN, 0.02),
        excess(-angles, -lower - STOP_MARGIN, 0.02),
        excess(-o.force[:, 1] / weight, -LIGHT, 0.1),
        SPEED_WEIGHT * (o.speed / command - 1.0) / 0.4,
        0.3 * (o.q[:, 1] / robot.first[HEIGHT] - 1.0) / 0.15,
    ]
    return np.concatenate([*parts, LIKENESS * (shape - like) / _scales(robot)])


def _scales(robot: Robot) -> Floats:
    return np.array([robot.scales.get(i, 1.0) for i in range(G.ENTRIES)])


def improve(robot: Robot, start: Floats, command: float, like: Floats) -> tuple[float, Floats]:
    """(cost, shape) of the best shape near `start` for a command [m/s], tied to `like`."""
    indices = range(G.ENTRIES)
    low = np.array([robot.bounds.get(i, (-np.inf, np.inf))[0] for i in indices])
    high = np.array([robot.bounds.get(i, (-np.inf, np.inf))[1] for i in indices])
    free = low < high
    better = start.copy()

    def cost(x: Floats) -> Floats:
        candidate = start.copy()
        candidate[free] = x
        return residuals(robot, candidate, command, like)

    answer = least_squares(
        cost,
        np.clip(start[free], low[free], high[free]),
        bounds=(low[free], high[free]),
        x_scale=_scales(robot)[free],
        max_nfev=60,
    )
    better[free] = answer.x
    return float(answer.cost), better


def plan(robot: Robot) -> Floats:
    """Shapes for all commands, shape (KNOTS, ENTRIES).

    The fastest gait leaves least room and is sought first, in small steps from the slowest; the
    others follow from it, downwards, so that neighbours are alike and can be interpolated.
    """
    shape = np.zeros(G.ENTRIES)
    for i, value in robot.first.items():
        shape[i] = value
    fastest = float(robot.commands[-1])
    lowest = np.inf
    for c in track(np.linspace(robot.commands[0], fastest, CLIMB), "to the fastest gait"):
        lowest, shape = improve(robot, shape, float(c), shape)
    generator = np.random.default_rng(0)
    for _ in track(range(TRIALS), "others near it"):
        trial = shape + _scales(robot) * generator.standard_normal(G.ENTRIES)
        for i, (low, high) in robot.bounds.items():
            trial[i] = shape[i] if low == high else trial[i]
        found, trial = improve(robot, trial, fastest, shape)
        if found < lowest:
            lowest, shape = found, trial
    shapes = np.zeros((G.KNOTS, G.ENTRIES))
    previous = fastest
    for k in track(range(G.KNOTS)[::-1], "all commands"):
        like = shape
        for c in np.linspace(previous, robot.commands[k], SUBSTEPS + 1)[1:]:
            lowest, shape = improve(robot, shape, float(c), like)
        previous = float(robot.commands[k])
        shapes[k] = shape
        _report(measure(robot, shape, previous), previous, lowest)
    return shapes


def _report(o: Measured, command: float, cost: float) -> None:
    print(
        f"{command:.2f} m/s: cost {cost:.2f}, torque {np.abs(o.torque).max():.2f}, "
        f"change {np.abs(o.change).max():.3f}, friction {np.abs(o.friction).max():.2f}, "
        f"reach {o.reach.max():.3f}, speed {o.speed.min():.2f} to {o.speed.max():.2f}, "
        f"height {o.q[:, 1].min():.3f} to {o.q[:, 1].max():.3f}"
    )


def write(tables: dict[str, tuple[Floats, Floats]], path: Path) -> None:
    """Write (commands, shapes) of each walker."""
    lines = [
        '"""Shapes of the planned gaits: a command [m/s] and the entries of `gaits.py`.',
        "",
        "Made by `python -m dynenvs.agents.gait_plan`; do not edit.",
        '"""',
        "",
        "# fmt: off",
        "SHAPES: dict[str, tuple[tuple[float, tuple[float, ...]], ...]] = {",
    ]
    for name, (commands, shapes) in tables.items():
        lines.append(f'    "{name}": (')
        for command, shape in zip(commands, shapes, strict=True):
            numbers = [f"{round(float(x), DIGITS)}" for x in shape]
            rows = [", ".join(numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
            lines.append(f"        ({round(float(command), 3)}, (")
            lines += [f"            {row}," for row in rows]
            lines.append("        )),")
        lines.append("    ),")
    path.write_text("\n".join([*lines, "}", ""]))


def main() -> None:
    """Plan both walkers' gaits anew."""
    tables = {}
    for name, robot in (("humanoid", humanoid()), ("quadruped", quadruped())):
        tables[name] = (robot.commands, plan(robot))
    write(tables, Path(__file__).with_name("gait_table.py"))


if __name__ == "__main__":
    main()
