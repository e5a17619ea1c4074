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
def price(share: float, mass: float, h: float) -> float:
    """Cost of the impulse of a foot with this share of the load, for a robot of this mass [kg].

    Feet then carry loads in proportion to their shares.  h: control period [s].
    """
    sharing = SHARING / (9.81 * mass * h) ** 2
    unloaded = (1.0 - share + EVEN) / (share + UNLOADED)
    return sharing * math.sqrt(unloaded)


@inlined
def slams(one: Any, joints: int) -> bool:
    """Whether a foot has just come down, faster than one that stands."""
    return bool(one.gap < DOWN and one.velocity[joints - 1] < -SETTLED)


@inlined
def any_slams(legs: Records, count: int, joints: int) -> bool:
    """Whether one of the feet does."""
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
    p: Any,
    h: float,
    lookahead: float,
    v_des: Floats,
    mean: Floats,
) -> None:
    """The velocity that leads, over the time h / 2 + lookahead, to where v_des belongs.

    The base accelerates by p.a and p.alpha.
    """
    share = 0.5 * (h + 0.5 * h - lookahead) / h  # of the change of velocity
    R = w.pose[BASE].R
    for k in range(3):
        mean[k] = s.v[k] + share * h * p.a[k]
        turn = R[0, k] * p.alpha[0] + R[1, k] * p.alpha[1] + R[2, k] * p.alpha[2]
        mean[3 + k] = s.v[3 + k] + share * h * turn
    for j in range(ROOT, m.header[0].nv):
        mean[j] = s.v[j] + share * (v_des[j] - s.v[j])


@inlined
def from_base(p: Any, one: Any, h: float, at: int) -> tuple[float, float, float]:
    """Velocity of a foot's goal relative to the base that moves as chosen; `at`: of its x."""
    ox, oy, oz = (
        p.turning[0] + h * p.alpha[0],
        p.turning[1] + h * p.alpha[1],
        p.turning[2] + h * p.alpha[2],
    )
    r, goal = one.arm, one.goal
    x = goal[at] - (p.speed[0] + h * p.chosen[0]) - (oy * r[2] - oz * r[1])
    y = goal[at + 1] - (p.speed[1] + h * p.chosen[1]) - (oz * r[0] - ox * r[2])
    z = goal[at + 2] - (p.speed[2] + h * p.chosen[2]) - (ox * r[1] - oy * r[0])
    return x, y, z


@inlined
def moment_about(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    p: Any,
    legs: Records,
    count: int,
    joints: int,
    h: float,
    v_des: Floats,
    axis: tuple[float, float, float],
    arm: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Moment about an axis that the motion for p.a, p.alpha and v_des asks of the ground.

    And what it gains with the base's accelerations forward and sideways, the feet's goals kept.
    It is e^T (M a + bias), with the twist e about the axis; arm: from the axis to the base [m].
    """
    R = w.pose[BASE].R
    ux, uy, uz = axis
    rx, ry, rz = arm
    # The twist, as velocities of the base's six coordinates
    e0, e1, e2 = uy * rz - uz * ry, uz * rx - ux * rz, ux * ry - uy * rx
    e3 = R[0, 0] * ux + R[1, 0] * uy + R[2, 0] * uz
    e4 = R[0, 1] * ux + R[1, 1] * uy + R[2, 1] * uz
    e5 = R[0, 2] * ux + R[1, 2] * uy + R[2, 2] * uz
    given = e0 * w.bias[0] + e1 * w.bias[1] + e2 * w.bias[2]
    given += e3 * w.bias[3] + e4 * w.bias[4] + e5 * w.bias[5]
    x_slope = y_slope = 0.0
    for j in range(m.header[0].nv):
        y = mass_entry(w, j, 0) * e0 + mass_entry(w, j, 1) * e1 + mass_entry(w, j, 2) * e2
        y += mass_entry(w, j, 3) * e3 + mass_entry(w, j, 4) * e4 + mass_entry(w, j, 5) * e5
        if j < 3:
            given += y * p.a[j]
            x_slope += y if j == 0 else 0.0
            y_slope += y if j == 1 else 0.0
        elif j < ROOT:
            k = j - 3
            given += y * (R[0, k] * p.alpha[0] + R[1, k] * p.alpha[1] + R[2, k] * p.alpha[2])
        else:
            given += y * (v_des[j] - s.v[j]) / h
            if j < ROOT + joints * count:
                row = legs[(j - ROOT) // joints].inverse[(j - ROOT) % joints]
                x_slope -= y * row[joints - 3]
                y_slope -= y * row[joints - 2]
    return given, x_slope, y_slope


@inlined
def put_actions(m: ModelView, w: WorkspaceView, root: int, out: Floats) -> None:
    """The torques in `w.tau` behind the root's over their limits, within [-1, 1]; shape (nu,)."""
    for j in range(out.shape[0]):
        a = w.tau[root + j] / m.dofs[root + j].effort
        out[j] = min(max(a, -1.0), 1.0)
