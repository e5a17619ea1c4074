"""Linear-quadratic tools for the double pendulum: its sampled motion, the hold, the tube of a plan.

A plan is a list of torques that swings up the pendulum with one motor.  Around the trajectory that
it gives, the Riccati recursion yields at each instant a feedback gain and a quadratic cost-to-go;
together they make a tube of states from which the plan succeeds (Tedrake et al., LQR-trees, Int.
J. Robotics Research 29, 2010).  States are x = (shoulder, elbow [rad], their velocities [rad/s]).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dynenvs.jit.compiled import entry, kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.memory.layout import Floats, Matrix, WorldView, open_world
from dynenvs.memory.records import record_type
from dynenvs.model.model import Model
from dynenvs.simulation.free_motion import free_motion

PERIOD = 0.02  # control period for which gains and plans are made [s]
STEP = 0.001  # physics step of the predictions [s]
STEPS = 20  # of them in a control period
PHASES = 4  # points of a tube in a control period
SETTLING = 25  # control periods of the regulator at the end of a tube
UPRIGHT = np.array([np.pi, 0.0, 0.0, 0.0])
DIFFERENCE = 1e-6  # of states and torques for derivatives

# Costs of a control period: on the state's error [1/rad^2, s^2/rad^2] and the torques [1/(N m)^2]
STATE_COST = np.diag([10.0, 10.0, 1.0, 1.0])
TORQUE_COST = 30.0

POINT = record_type(
    [
        ("x", "f8", (4,)),
        ("torque", "f8"),  # planned mean over the next control period [N m]
        ("gain", "f8", (4,)),  # torque for the state's error [N m/rad, N m s/rad]
        ("cost", "f8", (4, 4)),  # cost-to-go of the state's error
    ]
)


@kernel
def _coast(w: WorldView, x: Floats, tau: Floats, change: float, at: int, steps: int) -> None:
    """Move on from x under tau, held, where entry `at` of (x, tau) is increased by `change`."""
    for j in range(2):
        w.q[j], w.v[j], w.tau[j] = x[j], x[2 + j], tau[j]
        if at == j:
            w.q[j] += change
        elif at == 2 + j:
            w.v[j] += change
        elif at == 4 + j:
            w.tau[j] += change
    for _ in range(steps):
        update_kinematics(w)
        free_motion(w, w.tau, STEP)
        for j in range(2):
            w.v[j] = w.v_free[j]
            w.q[j] += STEP * w.v[j]


@entry
def advance(w: WorldView, x: Floats, tau: Floats, steps: int, out: Floats) -> None:
    """State after `steps` physics steps into `out`."""
    _coast(w, x, tau, 0.0, -1, steps)
    for j in range(2):
        out[j], out[2 + j] = w.q[j], w.v[j]


@entry
def differentiate(w: WorldView, x: Floats, tau: Floats, steps: int, out: Matrix) -> None:
    """Derivatives of `advance` by (x, tau) into `out`, shape (4, 6): central differences."""
    for at in range(6):
        _coast(w, x, tau, DIFFERENCE, at, steps)
        for j in range(2):
            out[j, at], out[2 + j, at] = w.q[j], w.v[j]
        _coast(w, x, tau, -DIFFERENCE, at, steps)
        for j in range(2):
            out[j, at] = (out[j, at] - w.q[j]) / (2.0 * DIFFERENCE)
            out[2 + j, at] = (out[2 + j, at] - w.v[j]) / (2.0 * DIFFERENCE)


class Plant:
    """The pendulum's motion with torques held, as a map from state to state.

    Args:
        model: a double pendulum; only its actuated joints are given torques.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._world = open_world(model.packed, model.at_rest.copy(), model.workspace())
        self._tau = np.zeros(2)

    def advance(self, x: Floats, torques: Any, steps: int = STEPS) -> Floats:
        """State after `steps` physics steps.

        Args:
            x: state, shape (4,).
            torques: of the actuated joints [N m], shape (nu,).
            steps: physics steps; a control period if not given.
        """
        self._tau[self.model.actuated] = torques
        out = np.empty(4)
        advance(self._world, x, self._tau, steps, out)
        return out

    def linearise(self, x: Floats, torques: Any) -> tuple[Floats, Floats]:
        """Derivatives of a control period's motion by state, (4, 4), and torques, (4, nu)."""
        self._tau[self.model.actuated] = torques
        out = np.empty((4, 6))
        differentiate(self._world, x, self._tau, STEPS, out)
        return out[:, :4].copy(), out[:, 4 + self.model.actuated]


class Regulator(NamedTuple):
    """Linear-quadratic regulator: torques = -gain @ error."""

    gain: Floats  # shape (nu, 4)
    cost: Floats  # cost-to-go, shape (4, 4)


def hold(plant: Plant) -> Regulator:
    """The regulator that holds the pendulum upright: the discrete Riccati equation's solution."""
    A, B = plant.linearise(UPRIGHT, np.zeros(plant.model.nu))
    R = TORQUE_COST * np.eye(plant.model.nu)
    S = np.asarray(scipy.linalg.solve_discrete_are(A, B, STATE_COST, R), np.float64)
    gain = np.asarray(np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A), np.float64)
    return Regulator(gain, S)


def error(x: Floats) -> Floats:
    """Difference of a state, shape (4,), from standing upright, angles in [-pi, pi)."""
    e = x - UPRIGHT
    e[:2] = np.remainder(e[:2] + np.pi, 2 * np.pi) - np.pi
    return e


def tube(plant: Plant, plan: Floats, regulator: Regulator) -> NDArray[Any]:
    """The trajectory of a plan from hanging at rest, with gains and costs-to-go, as POINTs.

    The regulator's first SETTLING periods follow the plan, so that the tube leads well into its
    region.  Points lie PERIOD / PHASES apart, but each looks a whole control period ahead, since
    that is how long its torque will be held: PHASES Riccati recursions, interleaved.

    Args:
        plant: a pendulum with one motor.
        plan: torques of successive control periods [N m], shape (n,).
        regulator: what holds the pendulum upright after the plan.
    """
    size = PHASES * (len(plan) + SETTLING)
    limit = plant.model.effort_limit[plant.model.actuated][0]
    points = np.zeros(size, POINT)
    held = np.zeros(size + PHASES)
    x = np.zeros(4)
    for i in range(size):
        if i % PHASES == 0:
            k = i // PHASES
            free = plan[k] if k < len(plan) else -(regulator.gain[0] @ error(x))
            held[i : i + PHASES] = np.clip(free, -limit, limit)
        points["x"][i] = x
        x = plant.advance(x, held[i], STEPS // PHASES)
    ahead = [regulator.cost] * PHASES
    for i in reversed(range(size)):
        torque = held[i : i + PHASES].mean()
        A, B = plant.linearise(points["x"][i], torque)
        S = ahead[i % PHASES]
        K = B.T @ S @ A / (TORQUE_COST + B.T @ S @ B)
        S = STATE_COST + A.T @ S @ (A - B @ K)
        ahead[i % PHASES] = 0.5 * (S + S.T)
        points["torque"][i], points["gain"][i], points["cost"][i] = torque, K[0], ahead[i % PHASES]
    points["x"][:, :2] = np.remainder(points["x"][:, :2] + np.pi, 2 * np.pi) - np.pi
    return points
