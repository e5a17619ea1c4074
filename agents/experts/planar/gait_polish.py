"""Gaits made smoother in simulation, where contacts and controller do what no plan foresees.

A planned gait's torques change more when it is walked than on paper: most in double support, where
feet come down a moment early or late.  Nonlinear least squares goes on where `gait_plan.py` ends,
with torques and speeds measured over some cycles of the walk itself; from one command to the next
in small steps, so that neighbours are alike and can be interpolated.
"""

from __future__ import annotations

from typing import NamedTuple

import gymnasium as gym
import numpy as np
from rich.progress import track
from scipy.optimize import least_squares

from dynenvs.agents.experts.planar.expert import WalkingController
from dynenvs.agents.experts.planar.gait_measure import Robot
from dynenvs.agents.experts.planar.gaits import ENTRIES, KNOTS
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.memory.layout import Floats

WORLDS = 2  # with noise of their own
STEPS, SETTLING = 460, 200  # control steps walked, and those not looked at
LEADING = 1.0  # command whose gait is improved first [m/s]
SUBSTEPS = 4  # from one command to the next
ROUNDS = 3  # of least squares at each
EASY_CHANGE, MUCH_CHANGE = 0.06, 0.08  # of a torque over its limit in a control step
EASY_TORQUE = 0.85  # of its limit
EASY_FRICTION = 0.75  # of the coefficient
LIGHT = 0.02  # share of the weight below which a foot's load does not count
SPEED_WEIGHT = 0.7  # against deviations from the command
LIKENESS = 0.15  # weight of the shape before
FALL = 10.0  # weight of the share of the time not walked
DIFFERENCE = 2e-3  # of an entry, over its scale, for slopes


class Walked(NamedTuple):
    """What a shape was like in simulation."""

    torque: Floats  # over its limit, shape (STEPS, WORLDS, nu)
    speed: Floats  # of the hip [m/s], shape (STEPS, WORLDS)
    friction: Floats  # used by each foot, shape (STEPS, WORLDS, legs)
    alive: Floats  # control steps, shape (WORLDS,)


class Simulation:
    """A few worlds in which a robot walks with the same shape at any command."""

    def __init__(self, robot: Robot) -> None:
        worlds = gym.make_vec(robot.env_id, num_envs=WORLDS, num_threads=1).unwrapped
        assert isinstance(worlds, DynVectorEnv)
        self.worlds = worlds
        self.controller = WalkingController(worlds)
        self.controller.constants["commands"][0] = np.arange(KNOTS)  # any: the shape is the same

    def walk(self, shape: Floats, command: float) -> Walked:
        """Walk from standing; worlds that fell go on as they are begun anew."""
        self.controller.constants["shapes"][0] = shape
        options = {"command": np.full(WORLDS, command)}
        seen, _ = self.worlds.reset(seed=list(range(WORLDS)), options=options)
        nu = self.worlds.task.model.nu
        torque, speed = np.zeros((STEPS, WORLDS, nu)), np.zeros((STEPS, WORLDS))
        friction = np.zeros((STEPS, WORLDS, int(self.controller.constants["legs"][0])))
        least = LIGHT * self.controller.constants["weight"][0]
        alive = np.full(WORLDS, float(STEPS))
        for k in range(STEPS):
            action, _ = self.controller.predict(seen)
            seen, _, fell, _, info = self.worlds.step(action)
            torque[k] = np.clip(action, -1.0, 1.0)
            speed[k] = seen[:, self.worlds.task.model.nq - 1]
            force = np.abs(info["contact_forces"])
            friction[k] = force[:, :, 0] / np.maximum(force[:, :, 2], least)
            alive[fell] = np.minimum(alive[fell], k)
        return Walked(torque, speed, friction, alive)


def residuals(
    simulation: Simulation, robot: Robot, shape: Floats, command: float, like: Floats
) -> Floats:
    """What a better gait makes small."""
    walked = simulation.walk(shape, command)
    torque = walked.torque[SETTLING:].ravel()
    change = np.diff(walked.torque, axis=0)[SETTLING:].ravel()
    uneven = walked.speed[SETTLING:].ravel() / command - 1.0
    grip = walked.friction[SETTLING:].ravel()

    def mean(value: Floats, scale: float) -> Floats:
        """Residuals whose squares sum to 600 times their mean."""
        return np.asarray(value * np.sqrt(600.0 / value.size) / scale)

    return np.concatenate(
        [
            mean(np.maximum(np.abs(change) - EASY_CHANGE, 0.0), 0.06),
            mean(np.maximum(np.abs(change) - MUCH_CHANGE, 0.0), 0.01),
            mean(change, 0.5),
            mean(np.maximum(np.abs(torque) - EASY_TORQUE, 0.0), 0.05),
            mean(np.maximum(grip - EASY_FRICTION * robot.friction, 0.0), 0.1),
            mean(uneven, 1.0 / SPEED_WEIGHT),
            LIKENESS * (shape - like) / robot.scale,
            FALL * (1.0 - walked.alive / STEPS),
        ]
    )


def improve(simulation: Simulation, robot: Robot, start: Floats, command: float) -> Floats:
    """The best shape near `start` for a command [m/s]."""
    low, high = robot.limits
    free = low < high
    low, high, scale = low[free], high[free], robot.scale[free]

    def shape_of(x: Floats) -> Floats:
        shape = start.copy()
        shape[free] = x
        return shape

    def cost(x: Floats) -> Floats:
        return residuals(simulation, robot, shape_of(x), command, start)

    def slopes(x: Floats) -> Floats:
        here = cost(x)
        columns = []
        for i in range(len(x)):
            step = DIFFERENCE * scale[i]
            moved = x.copy()
            moved[i] += step if x[i] + step < high[i] else -step
            columns.append((cost(moved) - here) / (moved[i] - x[i]))
        return np.stack(columns, axis=1)

    inside = np.clip(start[free], low + 1e-6, high - 1e-6)
    answer = least_squares(cost, inside, slopes, bounds=(low, high), x_scale=scale, max_nfev=12)
    return shape_of(answer.x)


def polish(robot: Robot, planned: Floats) -> Floats:
    """Shapes for all commands, shape (KNOTS, ENTRIES), from the one planned for LEADING."""
    simulation = Simulation(robot)
    first = int(np.argmin(np.abs(robot.commands - LEADING)))
    shapes = np.zeros((KNOTS, ENTRIES))
    shapes[first] = planned
    for _ in range(ROUNDS):
        shapes[first] = improve(simulation, robot, shapes[first], float(robot.commands[first]))
    upwards, downwards = range(first + 1, KNOTS), range(first)[::-1]
    for k in track([*upwards, *downwards], "in simulation"):
        before = k - 1 if k > first else k + 1
        shape = shapes[before]
        for c in np.linspace(robot.commands[before], robot.commands[k], SUBSTEPS + 1)[1:]:
            shape = improve(simulation, robot, shape, float(c))
        for _ in range(ROUNDS - 1):
            shape = improve(simulation, robot, shape, float(robot.commands[k]))
        shapes[k] = shape
        report(simulation.walk(shape, float(robot.commands[k])), float(robot.commands[k]))
    return shapes


def report(walked: Walked, command: float) -> None:
    """A line on how a shape walks."""
    change = np.abs(np.diff(walked.torque, axis=0))[SETTLING:]
    speed = walked.speed[SETTLING:]
    print(
        f"{command:.2f} m/s: change {np.percentile(change, 99):.3f}, at most {change.max():.3f}, "
        f"torque {np.abs(walked.torque[SETTLING:]).max():.2f}, "
        f"speed {speed.min():.2f} to {speed.max():.2f}, alive {walked.alive.min():.0f} steps"
    )
