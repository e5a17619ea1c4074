"""The double pendulum's expert: energy shaping or a planned swing-up, then a regulator that holds.

It remembers what it foresees (`estimate.py`), no more.  From an estimate, the first that applies:

1. Where the regulator's cost-to-go is below CAPTURE it holds the pendulum upright; the level is
   certified by simulation (`tests/test_double_pendulum.py`).
2. Both motors: energy shaping, turned into torques by inverse dynamics.
3. One motor: where the least cost-to-go of the planned swing-up's tube, or of its mirror image, is
   below OUTSIDE, the planned torque and the feedback of that point of the tube.
4. One motor, far from the plan: take energy out; hanging at rest, where the plan begins, is where
   that leads.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import (
    ROOM,
    expert_opener,
    numbers,
    open_memory,
    set_common,
)
from dynenvs.agents.experts.pendulum.estimate import (
    HEAD,
    Filter,
    blend,
    carried_by,
    carry,
    foretell,
    set_filter,
)
from dynenvs.agents.experts.pendulum.swing_up import POINT, UPRIGHT, Plant, hold, tube
from dynenvs.dynamics.energy import energies, totals
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumTask
from dynenvs.jit.compiled import entry, inlined
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    Matrix,
    ModelView,
    Records,
    WorkView,
    WorldView,
)
from dynenvs.simd.elementary import atan2, tanh
from dynenvs.simulation.progress import claim, leave

CAPTURE = {"both": 200.0, "shoulder": 50.0, "elbow": 50.0}  # cost-to-go where the regulator begins
OUTSIDE = 1000.0  # cost-to-go beyond which no point of the plan's tube is followed
BRAKE = 0.1  # damping far from the plan [N m s/rad]

# Energy shaping with both motors, found by random search over starting states
PUMP = 19.0  # shoulder torque for missing energy [N m/J]
PUMP_SPEED = 0.3  # shoulder velocity at which it is nearly in full [rad/s]
BEND = -2.2  # the elbow's swing against the shoulder's velocity [rad]
BEND_SPEED = 0.6  # shoulder velocity at which it is nearly in full [rad/s]
BEND_ENERGY = 5.8  # missing energy below which the elbow straightens [J]
ELBOW_STIFFNESS, ELBOW_DAMPING = 82.0, 15.0  # [1/s^2, 1/s]: 9 rad/s, damping ratio 0.83


class Settings(Filter):
    """What the expert knows of its robot."""

    at_shoulder_direction: int
    at_elbow_direction: int
    at_joint_velocities: int
    gain: Annotated[Floats, 2, 4]  # the regulator's, one row a motor
    cost: Annotated[Floats, 4, 4]
    capture: float
    upright_energy: float  # [J]


SETTINGS = dtype_of(Settings)


class PendulumView(ModelView, buffers=ROOM):
    """What a thread of the double pendulum's expert works out."""

    x = numbers("4", "the state: angles, then velocities [rad, rad/s]")


open_pendulum = expert_opener(PendulumView)


@entry(seconds=3)
def act(
    memory: Annotated[Bytes, 2],
    constants: Annotated[Records, SETTINGS],
    points: Annotated[Records, POINT],
    observations: Matrix,
    actions: Matrix,
    progress: Ints,
    thread: int,
) -> int:
    """Actions for those of a batch of observations that no other thread has taken.

    points: the tube, or none with both motors; the other arguments are those of every expert
    (`BatchController`).  Returns 0: nothing is tracked that could be missed.
    """
    w, room = open_memory(memory[thread])
    p, x = constants[0], open_pendulum(w, room).x
    i = claim(progress, thread, observations.shape[0])
    while i < observations.shape[0]:
        _read(p, observations[i], x)
        tail = actions[i, actions.shape[1] - (HEAD + 8) :]
        blend(p, observations[i], tail, x[:2], x[2:])
        if not _hold(w, p, x):
            if points.shape[0] > 0:
                _follow(w, points, x)
            else:
                _pump(w, p, x)
        motor = 0
        for j in range(2):
            dof = w.dofs[j]
            w.tau[j] = min(max(w.tau[j], -dof.effort), dof.effort) if dof.actuated else 0.0
            if dof.actuated:
                actions[i, motor] = w.tau[j] / dof.effort
                motor += 1
        foretell(w, p, x[:2], x[2:])
        carry(tail, x[:2], x[2:])
        i = claim(progress, thread, observations.shape[0])
    leave(progress, thread)
    return 0


@inlined
def _read(p: Settings, o: Floats, x: Floats) -> None:
    """State from an observation, angles in [-pi, pi]."""
    upper, lower, rates = p.at_shoulder_direction, p.at_elbow_direction, p.at_joint_velocities
    x[0], x[1] = atan2(o[upper + 1], o[upper]), atan2(o[lower + 1], o[lower])
    x[2], x[3] = o[rates], o[rates + 1]


@inlined
def _wrapped(angle: float) -> float:
    """The same direction, for an angle within one turn of [-pi, pi]."""
    if angle > math.pi:
        return angle - 2.0 * math.pi
    if angle < -math.pi:
        return angle + 2.0 * math.pi
    return angle


@inlined
def _quadratic(S: Floats, a: float, b: float, c: float, d: float) -> float:
    """e^T S e of e = (a, b, c, d)."""
    return (
        a * (S[0, 0] * a + 2.0 * (S[0, 1] * b + S[0, 2] * c + S[0, 3] * d))
        + b * (S[1, 1] * b + 2.0 * (S[1, 2] * c + S[1, 3] * d))
        + c * (S[2, 2] * c + 2.0 * S[2, 3] * d)
        + S[3, 3] * d * d
    )


@inlined
def _hold(w: WorkView, p: Settings, x: Floats) -> bool:
    """The regulator's torques into `w.tau`, if it can capture the pendulum from here."""
    tilt = _wrapped(x[0] - math.pi)
    if _quadratic(p.cost, tilt, x[1], x[2], x[3]) > p.capture:
        return False
    motor = 0
    for j in range(2):
        g = p.gain[motor]
        if w.dofs[j].actuated:
            w.tau[j] = -(g[0] * tilt + g[1] * x[1] + g[2] * x[2] + g[3] * x[3])
            motor += 1
    return True


@inlined
def _pump(w: WorldView, p: Settings, x: Floats) -> None:
    """Energy shaping with both motors, by inverse dynamics.

    The shoulder pushes along its velocity while energy is missing (Astrom & Furuta, Swinging up a
    pendulum by energy control, Automatica 36, 2000); the elbow swings against the shoulder and
    straightens as the energy comes near that of standing upright (Spong, The swing up control
    problem for the Acrobot, IEEE Control Systems 15, 1995).

    No coordinate is unactuated, so inverse dynamics is M (v_des - v) / h + bias: with desired
    accelerations a = (v_des - v) / h, tau = M a + bias.  The elbow's acceleration is prescribed;
    the shoulder's is the one that its torque, within its limit, allows.
    """
    for j in range(2):
        w.q[j], w.v[j] = x[j], x[2 + j]
    update_kinematics(w)
    equations_of_motion(w, w.v, 0.0, w.M)
    kinetic, potential = energies(w)
    missing = p.upright_energy - kinetic - potential
    for j in range(2):
        missing -= 0.5 * w.dofs[j].armature * w.v[j] * w.v[j]
    limit = w.dofs[0].effort
    push = PUMP * missing * tanh(w.v[0] / PUMP_SPEED)
    w.tau[0] = min(max(push, -limit), limit)
    bend = BEND * tanh(w.v[0] / BEND_SPEED) * min(max(missing / BEND_ENERGY, -1.0), 1.0)
    elbow = ELBOW_STIFFNESS * (bend - x[1]) - ELBOW_DAMPING * w.v[1]
    shoulder = (w.tau[0] - w.bias[0] - w.M[1, 0] * elbow) / w.M[0, 0]
    w.tau[1] = w.M[1, 0] * shoulder + w.M[1, 1] * elbow + w.bias[1]


@inlined
def _follow(w: WorkView, points: Records, x: Floats) -> None:
    """The torque of the tube's point, or its mirror image, with the least cost-to-go."""
    least, nearest, side = math.inf, 0, 1.0
    for i in range(points.shape[0]):
        r = points[i].x
        S = points[i].cost
        for sign in (1.0, -1.0):
            a, b = _wrapped(sign * x[0] - r[0]), _wrapped(sign * x[1] - r[1])
            cost = _quadratic(S, a, b, sign * x[2] - r[2], sign * x[3] - r[3])
            if cost < least:
                least, nearest, side = cost, i, sign
    point = points[nearest]
    r, g = point.x, point.gain
    torque = point.torque
    torque -= g[0] * _wrapped(side * x[0] - r[0]) + g[1] * _wrapped(side * x[1] - r[1])
    torque -= g[2] * (side * x[2] - r[2]) + g[3] * (side * x[3] - r[3])
    for j in range(2):
        w.tau[j] = side * torque if least < OUTSIDE else -BRAKE * x[2 + j]


def _known_plan(joint: str) -> Floats:
    """Torques of the swing-up with the motor at that joint alone [N m]."""
    plans = json.loads(Path(__file__).with_name("swing_up.json").read_text(encoding="utf-8"))
    return np.array(plans[joint], np.float64)


class PendulumController(BatchController):
    """Swings up the double pendulum and holds it; remembers what it foresees.

    Args:
        env: the environment, or vector environment, whose observations it will see.  Gains and
            plans are made for its default control period of 20 ms.
        plan: torques of a swing-up with one motor [N m], one a control period; those of
            `swing_up.json` if None (`python -m studies.swing_up` makes them).
    """

    task_type = DoublePendulumTask
    act = staticmethod(act)
    view = PendulumView
    inverse = False

    def __init__(self, env: DynEnv | DynVectorEnv, plan: Floats | None = None) -> None:
        self._plan = plan
        super().__init__(env)

    def know(self, task: DoublePendulumTask) -> Knowledge:
        """The regulator's gains, and the tube of a swing-up with one motor."""
        model = task.model
        plant = Plant(model)
        regulator = hold(plant)
        self.carried = carried_by(task)
        settings = np.zeros(1, SETTINGS)
        set_common(settings, task)
        set_filter(settings, task)
        settings["gain"][0, : model.nu] = regulator.gain
        settings["cost"] = regulator.cost
        settings["capture"] = CAPTURE[task.actuated]
        settings["upright_energy"] = totals(model, UPRIGHT[:2]).energy
        points: NDArray[Any] = np.zeros(0, POINT)
        if model.nu == 1:
            torques = _known_plan(task.actuated) if self._plan is None else self._plan
            points = tube(plant, torques, regulator)
        return Knowledge(model, settings, points)
