"""Plans the walkers' gaits: `python -m dynenvs.agents.experts.planar.gait_plan` (15 minutes).

The shape of a periodic gait (`gaits.py`) is chosen by nonlinear least squares, so that torques
change little from one control step to the next and stay within their limits, and feet within their
friction cones (`gait_measure.py` tells them).  The humanoid's, whose soles land and roll, is then
made smoother in simulation (`gait_polish.py`).  The shapes go to `gait_table.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.progress import track
from scipy.optimize import least_squares

from dynenvs.agents.experts.planar import gaits as G
from dynenvs.agents.experts.planar.gait_measure import Robot, measure
from dynenvs.agents.experts.planar.gait_parameters import humanoid_gait, quadruped_gait
from dynenvs.agents.experts.planar.gait_polish import LEADING, polish
from dynenvs.agents.experts.planar.gaits import (
    ANKLE_X,
    HEIGHT,
    HIP_X,
)
from dynenvs.envs.planar import planar_humanoid as humanoid_env
from dynenvs.envs.planar import planar_quadruped as quadruped_env
from dynenvs.envs.planar.records import ROOT
from dynenvs.envs.robots import planar_humanoid, planar_quadruped
from dynenvs.memory.layout import Floats

CLIMB = 37  # commands from the slowest to the fastest
TRIALS = 6  # other starts for the fastest
LIKENESS = 0.4  # weight of a neighbour's likeness
SUBSTEPS = 4  # from one command to the next
DESCENT = 9  # commands from the fastest to a leading one
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


def humanoid() -> Robot:
    """The planar humanoid: it may roll over its toes."""
    robot = planar_humanoid
    low, high = humanoid_env.COMMAND_RANGE
    return Robot(
        env_id="dynenvs/PlanarHumanoid-v0",
        model=robot.build(),
        gait=humanoid_gait(),
        knee=1,
        sole=robot.TOE - robot.HEEL,
        friction=robot.FRICTION,
        commands=np.linspace(low, high, G.KNOTS),
        first={HEIGHT: 0.82, G.HEEL: 0.25, G.HEEL_START: 0.56, G.HEEL_END: 0.93, G.CLEARANCE: 0.05},
        bounds={
            ANKLE_X: (-0.06, 0.06),
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
        env_id="dynenvs/PlanarQuadruped-v0",
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
    return np.concatenate([*parts, LIKENESS * (shape - like) / robot.scale])


def improve(robot: Robot, start: Floats, command: float, like: Floats) -> tuple[float, Floats]:
    """(cost, shape) of the best shape near `start` for a command [m/s], tied to `like`."""
    low, high = robot.limits
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
        x_scale=robot.scale[free],
        max_nfev=60,
    )
    better[free] = answer.x
    return float(answer.cost), better


def fastest(robot: Robot) -> Floats:
    """The shape for the fastest command, which leaves least room, in steps from the slowest."""
    shape = np.zeros(G.ENTRIES)
    for i, value in robot.first.items():
        shape[i] = value
    top = float(robot.commands[-1])
    lowest = np.inf
    for c in track(np.linspace(robot.commands[0], top, CLIMB), "to the fastest gait"):
        lowest, shape = improve(robot, shape, float(c), shape)
    generator = np.random.default_rng(0)
    for _ in track(range(TRIALS), "others near it"):
        trial = shape + robot.scale * generator.standard_normal(G.ENTRIES)
        for i, (low, high) in robot.bounds.items():
            trial[i] = shape[i] if low == high else trial[i]
        found, trial = improve(robot, trial, top, trial)
        if found < lowest:
            lowest, shape = found, trial
    return shape


def lead(robot: Robot, command: float) -> Floats:
    """The shape for one command [m/s], from the fastest in small steps."""
    shape = fastest(robot)
    for c in track(np.linspace(robot.commands[-1], command, DESCENT), f"down to {command} m/s"):
        _, shape = improve(robot, shape, float(c), shape)
    return shape


def plan(robot: Robot) -> Floats:
    """Shapes for all commands, shape (KNOTS, ENTRIES).

    They follow from the fastest, downwards, so that neighbours are alike and can be interpolated.
    """
    shape = fastest(robot)
    shapes = np.zeros((G.KNOTS, G.ENTRIES))
    previous = float(robot.commands[-1])
    for k in track(range(G.KNOTS)[::-1], "all commands"):
        like = shape
        for c in np.linspace(previous, robot.commands[k], SUBSTEPS + 1)[1:]:
            _, shape = improve(robot, shape, float(c), like)
        previous = float(robot.commands[k])
        shapes[k] = shape
    return shapes


def write(tables: dict[str, tuple[Floats, Floats]], path: Path) -> None:
    """Write (commands, shapes) of each walker."""
    lines = [
        '"""Shapes of the planned gaits: commands [m/s] and a row of entries of `gaits.py` each.',
        "",
        "Made by `python -m dynenvs.agents.experts.planar.gait_plan`; do not edit.",
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
    """Plan both walkers' gaits anew; the quadruped's are smooth enough as they are planned."""
    man, beast = humanoid(), quadruped()
    tables = {
        "humanoid": (man.commands, polish(man, lead(man, LEADING))),
        "quadruped": (beast.commands, plan(beast)),
    }
    write(tables, Path(__file__).with_name("gait_table.py"))


if __name__ == "__main__":
    main()
