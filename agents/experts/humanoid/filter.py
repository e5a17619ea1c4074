"""How far the humanoid's expert trusts an observation against what it expected: Kalman's gains.

Noise of a motor moves all that it holds: the pelvis one way, leg and torso the other.  So the
filter knows the robot's whole inertia, with one foot on the ground or the other, in a standing
pose; its gains are those that it settles to.  What is estimated, and what is seen of it: height,
roll and pitch of the base and angles of the joints, then velocities of the base, linear and
angular, and of the joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.humanoid.records import ACTUATED, LEGS
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.jacobians import point_jacobian
from dynenvs.envs.legged.records import ROOT
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

HEIGHT, TILT, ANGLE = 0.01, 0.03, 0.006  # of what is seen [m], [rad], [rad],
SPEED, TURNING, RATE = 0.06, 0.12, 0.9  # [m/s], [rad/s], [rad/s]
ORDER = (  # of the blocks
    "height",
    "upward direction",
    "joint angles",
    "velocity",
    "angular velocity",
    "joint velocities",
)
MOTOR = 0.06  # of what a motor does, over its limit
WRENCH = (60.0, 60.0, 120.0, 9.0, 9.0, 9.0)  # of what pulls the base [N, N m]
TRACK = 1e-4  # how far a foot gives way against what a force on it would move [1/kg]
ROUNDS = 9  # doublings, after which the filter's covariance stands still
POINTS = ((-0.05, 0.0, -0.06), (0.15, 0.05, -0.06), (0.15, -0.05, -0.06))  # of a foot [m]


def check_order(task: Any) -> None:
    """Make sure that a task observes what is estimated in the order in which it is estimated.

    Raises:
        ValueError: it does not.
    """
    found = [block.name for block in task.observation_blocks][: len(ORDER)]
    if found != list(ORDER):
        raise ValueError(f"the filter is for observations that begin with {ORDER}, not {found}")


def set_filter(body: NDArray[Any], model: Model, standing: Floats, h: float) -> None:
    """Fill in the gains of BIPED for control periods of h seconds.

    Args:
        body: one record of BIPED.
        model: of the robot.
        standing: positions in which it stands, the base upright, shape (nq,).
        h: control period [s].
    """
    noise = np.repeat([HEIGHT, TILT, ANGLE, SPEED, TURNING, RATE], [1, 2, ACTUATED, 3, 3, ACTUATED])
    R = np.diag(noise**2)
    places = [2, 3, 4, *range(ROOT, model.nv)]  # coordinates of what is seen as a position
    n = len(places)
    A = np.eye(n + model.nv)
    A[np.arange(n), n + np.array(places)] = h
    efforts = np.concatenate([WRENCH, MOTOR * model.dofs["effort"][ROOT:]])
    for leg, foot in zip(range(LEGS), ("left_foot", "right_foot"), strict=True):
        moves = _mobility(model, standing, foot, h) * (h * efforts)
        way = np.vstack([0.5 * h * moves[places], moves])
        Q = way @ way.T
        P = _settled(A, Q, R)
        body["gain"][0, leg] = np.linalg.solve(P + R, P).T
        body["spread"][0, leg] = np.sqrt(np.diag(P + R))


def _settled(A: Floats, Q: Floats, R: Floats) -> Floats:
    """P = A P (1 + R^-1 P)^-1 A^T + Q, by doubling (Anderson, Int. J. Control 28, 1978)."""
    B, G, P = A.T, np.linalg.inv(R), Q
    for _ in range(ROUNDS):
        W = np.linalg.solve(np.eye(len(P)) + G @ P, np.hstack([B, G]))
        from_B, from_G = W[:, : len(P)], W[:, len(P) :]
        B, G, P = B @ from_B, G + B @ from_G @ B.T, P + B.T @ P @ from_B
    return 0.5 * (P + P.T)


def _mobility(model: Model, q: Floats, foot: str, h: float) -> Floats:
    """Accelerations for forces on each coordinate while a foot stands, shape (nv, nv)."""
    M = crba(model, q) + h * np.diag(model.dofs["damping"])
    free = np.linalg.inv(M)
    J = np.vstack([point_jacobian(model, q, foot, point) for point in POINTS])
    lifts = J @ free
    return np.asarray(free - lifts.T @ np.linalg.solve(lifts @ J.T + TRACK * np.eye(len(J)), lifts))
