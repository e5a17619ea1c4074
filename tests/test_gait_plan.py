"""Planning of gaits: what the planner foresees is what is walked; simulation improves a gait."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dynenvs.agents.experts.planar import gait_plan, gait_polish
from dynenvs.agents.experts.planar.gait_measure import Robot, measure
from dynenvs.agents.experts.planar.gait_table import SHAPES
from dynenvs.agents.experts.planar.gaits import CLEARANCE, ENTRIES

ROBOTS = {"humanoid": gait_plan.humanoid, "quadruped": gait_plan.quadruped}
every_robot = pytest.mark.parametrize("name", ROBOTS)
Array = np.ndarray


def row(name: str, k: int) -> tuple[float, Array]:
    """A command and its shape as shipped."""
    command, shape = SHAPES[name][k]
    return command, np.array(shape)


@every_robot
def test_the_table_keeps_the_planners_bounds(name: str) -> None:
    """Every shape that ships, at the commands that the planner gives shapes for."""
    robot = ROBOTS[name]()
    low, high = robot.limits
    for k, command in enumerate(robot.commands):
        found, shape = row(name, k)
        assert found == pytest.approx(command, abs=1e-3)
        assert np.all(shape >= low - 1e-5)
        assert np.all(shape <= high + 1e-5)


@every_robot
def test_what_is_planned_is_walked(name: str) -> None:
    """Torques from inverse dynamics of the gait on paper, and those of the walk, in size."""
    robot = ROBOTS[name]()
    command, shape = row(name, 3)
    planned = measure(robot, shape, command)
    walked = gait_polish.Simulation(robot).walk(shape, command)
    assert walked.alive.min() == gait_polish.STEPS
    torque = walked.torque[gait_polish.SETTLING :].reshape(-1, int(robot.gait[0]["legs"]), 3)
    for joint in range(3):
        expected = np.sqrt(np.mean(planned.torque[:, joint] ** 2))
        assert np.sqrt(np.mean(torque[:, :, joint] ** 2)) == pytest.approx(expected, rel=0.25)
    speed = walked.speed[gait_polish.SETTLING :]
    assert speed.mean() == pytest.approx(command, rel=0.03)
    assert np.ptp(speed) == pytest.approx(np.ptp(planned.speed), abs=0.15 * command)


@every_robot
@pytest.mark.slow
@pytest.mark.parametrize("improve", ["plan", "polish"])
def test_improvement_lowers_the_cost(name: str, improve: str) -> None:
    """From a shape that is off, on paper and in simulation; fixed entries stay."""
    robot = ROBOTS[name]()
    command, shape = row(name, 5)
    rng = np.random.default_rng(0)
    off = shape + 0.2 * robot.scale * rng.standard_normal(ENTRIES) * np.less(*robot.limits)
    off = np.clip(off, *robot.limits)
    cost, better = _improved(robot, off, command, improve)
    assert cost(better) < 0.7 * cost(off)
    low, high = robot.limits
    assert np.all((better >= low) & (better <= high))
    if low[CLEARANCE] == high[CLEARANCE]:
        assert better[CLEARANCE] == off[CLEARANCE]


def _improved(
    robot: Robot, off: Array, command: float, how: str
) -> tuple[Callable[[Array], float], Array]:
    if how == "plan":
        return (
            lambda x: float(np.sum(gait_plan.residuals(robot, x, command, x) ** 2)),
            gait_plan.improve(robot, off, command, off)[1],
        )
    simulation = gait_polish.Simulation(robot)
    return (
        lambda x: float(np.sum(gait_polish.residuals(simulation, robot, x, command, x) ** 2)),
        gait_polish.improve(simulation, robot, off, command),
    )
