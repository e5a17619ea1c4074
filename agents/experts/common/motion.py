"""What the experts of legged robots share of the way from goals to joint velocities and torques.

A leg's record has the fields gap [m], velocity and goal of its foot, arm (from the base to it) and
inverse (of its Jacobian), with as many rows as the leg has joints; the last three entries of
velocity and goal are linear, those before them angular.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.agents.experts.common.state import BASE, mass_entry
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView, Records, StateView, WorkspaceView

DOWN = 2e-5  # height below which a foot carries: one that is still in the air would slam [m]
SETTLED = 0.003  # speed below which a foot that stands is at rest [m/s]
SHARING = 200.0  # of the shares against least torque, for a foot that carries the whole weight
EVEN, UNLOADED = 0.001, 0.005  # keep the cost of a foot's impulse finite


@inlined
def contact_cost(share: float, mass: float, h: float) -> float:
    """Cost of the contact impulse of a foot that is to carry this share of the robot's weight.

    With these costs feet carry loads in proportion to their shares.  mass: of the robot [kg];
    h: control period [s].
    """
    sharing = SHARING / (9.81 * mass * h) ** 2
    unloaded = (1.0 - share + EVEN) / (share + UNLOADED)
    return sharing * math.sqrt(unloaded)


@inlined
def slams(one: Any, joints: int) -> bool:
    """Whether a foot is on the ground and still moves down: it has just come down."""
    return bool(one.gap < DOWN and one.velocity[joints - 1] < -SETTLED)


@inlined
def any_slams(legs: Records, count: int, joints: int) -> bool:
    """Whether one of the feet has just come down."""
    found = False
    for leg in range(count):
        found = found or slams(legs[leg], joints)
    return found


@inlined
def stop_feet(s: StateView, legs: Records, count: int, joints: int) -> None:
    """Stop the feet that have just come down, as the ground will within a physics step.

    A foot closes its last gap with a speed that is left when it touches.  Torques that stopped it
    over the whole period would lift it again.
    """
    for leg in range(count):
        one = legs[leg]
        if slams(one, joints):
            for k in range(joints):
                total = 0.0
                for r in range(joints):
                    total += one.inverse[k, r] * one.velocity[r]
                s.v[ROOT + joints * leg + k] -= total


@inlined
def mean_velocity(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    v_des: Floats,
    mean: Floats,
) -> None:
    """Mean velocity over the time g.period / 2 + g.lookahead, at whose end v_des is reached.

    The base accelerates by p.a and p.alpha meanwhile.
    """
    h = g.period
    share = 0.5 * (h + 0.5 * h - g.lookahead) / h  # of the change of velocity
    R = w.pose[BASE].R
    for k in range(3):
        mean[k] = s.v[k] + share * h * p.a[k]
        turn = R[0, k] * p.alpha[0] + R[1, k] * p.alpha[1] + R[2, k] * p.alpha[2]
        mean[3 + k] = s.v[3 + k] + share * h * turn
    for j in range(ROOT, m.header[0].nv):
        mean[j] = s.v[j] + share * (v_des[j] - s.v[j])


@inlined
def from_base(p: Any, one: Any, h: float, at: int) -> tuple[float, float, float]:
    """Velocity of a foot's goal relative to the base, which accelerates by p.balanced and p.alpha.

    at: index of the goal's x.
    """
    ox, oy, oz = (
        p.turning[0] + h * p.alpha[0],
        p.turning[1] + h * p.alpha[1],
        p.turning[2] + h * p.alpha[2],
    )
    r, goal = one.arm, one.goal
    x = goal[at] - (p.speed[0] + h * p.balanced[0]) - (oy * r[2] - oz * r[1])
    y = goal[at + 1] - (p.speed[1] + h * p.balanced[1]) - (oz * r[0] - ox * r[2])
    z = goal[at + 2] - (p.speed[2] + h * p.balanced[2]) - (ox * r[1] - oy * r[0])
    return x, y, z


@inlined
def moment_about(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    g: Any,
    p: Any,
    legs: Records,
    v_des: Floats,
    axis: tuple[float, float, float],
    arm: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Moment about an axis that the motion for p.a, p.alpha and v_des asks of the ground.

    It is e^T (M a + bias), with the twist e about the axis; arm: from the axis to the base [m].
    Also returns what it gains with the base's acceleration forward, and sideways, while the feet
    keep their goals.
    """
    joints = legs[0].inverse.shape[0]
    R = w.pose[BASE].R
    ux, uy, uz = axis
    rx, ry, rz = arm
    # The twist, as velocities of the base's six coordinates
    e0, e1, e2 = uy * rz - uz * ry, uz * rx - ux * rz, ux * ry - uy * rx
    e3 = R[0, 0] * ux + R[1, 0] * uy + R[2, 0] * uz
    e4 = R[0, 1] * ux + R[1, 1] * uy + R[2, 1] * uz
    e5 = R[0, 2] * ux + R[1, 2] * uy + R[2, 2] * uz
    moment = e0 * w.bias[0] + e1 * w.bias[1] + e2 * w.bias[2]
    moment += e3 * w.bias[3] + e4 * w.bias[4] + e5 * w.bias[5]
    x_slope = y_slope = 0.0
    for j in range(m.header[0].nv):
        y = mass_entry(w, j, 0) * e0 + mass_entry(w, j, 1) * e1 + mass_entry(w, j, 2) * e2
        y += mass_entry(w, j, 3) * e3 + mass_entry(w, j, 4) * e4 + mass_entry(w, j, 5) * e5
        if j < 3:
            moment += y * p.a[j]
            x_slope += y if j == 0 else 0.0
            y_slope += y if j == 1 else 0.0
        elif j < ROOT:
            k = j - 3
            moment += y * (R[0, k] * p.alpha[0] + R[1, k] * p.alpha[1] + R[2, k] * p.alpha[2])
        else:
            moment += y * (v_des[j] - s.v[j]) / g.period
            if j < ROOT + joints * legs.shape[0]:
                row = legs[(j - ROOT) // joints].inverse[(j - ROOT) % joints]
                x_slope -= y * row[joints - 3]
                y_slope -= y * row[joints - 2]
    return moment, x_slope, y_slope


@inlined
def put_actions(m: ModelView, w: WorkspaceView, root: int, out: Floats) -> None:
    """The torques in `w.tau` behind the root's over their limits, within [-1, 1]; shape (nu,)."""
    for j in range(out.shape[0]):
        a = w.tau[root + j] / m.dofs[root + j].effort
        out[j] = min(max(a, -1.0), 1.0)
