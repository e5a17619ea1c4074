"""Inverse dynamics with contact: torques that make the actuated joints move as desired.

Bhargava's equation (7) as corrected (docs/theory.md, Prescribed velocities).  Over one control
period h the actuated velocities are prescribed, P v+ = v_des; the unactuated ones follow from their
own rows of

    M^ (v+ - v) = h (P^T tau - h_bias - D v) + J^T p,

and the contact impulses p from the LCP with W = Z (Z^T M^ Z)^-1 Z^T, Z the unactuated columns.
Without unactuated coordinates (a fully actuated pendulum) W = 0 and what remains is
tau = M^ (v_des - v) / h + bias.

Where that LCP has no solution (the desired motion asks the ground for what it cannot give), the
prescription is softened: M_eps = M^ + P^T P / eps is solvable for every eps > 0, and the violation
of the tracking is reported.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.contact.resolve import resolve_contacts
from dynenvs.dynamics.factor import factor_in_place, solve
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.dynamics.springs import add_stretch
from dynenvs.dynamics.tendons import add_drag, add_tautness
from dynenvs.jit.compiled import entry, inlined, unit
from dynenvs.jit.compiled import prepare as compile_for
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses, update_velocities
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector, prepare
from dynenvs.simulation.room import most_contacts, with_room
from dynenvs.simulation.torque_distribution import redistribute

TRACKED, SOFT, UNSOLVED = 0, 1, 2
BLOCKED = 1e-9  # speed into a contact or stop from which it counts [m/s, rad/s]
RESTS = 1e-6  # a joint that is to be slower needs no torque against dry friction [rad/s, m/s]
SOFTNESS = 1e-6  # eps relative to the mean of the unconstrained actuated inertia


class InverseStatus(IntEnum):
    """How the desired velocities were met."""

    TRACKED = TRACKED  # exactly, with certified contact impulses
    SOFT = SOFT  # as nearly as the ground allows
    UNSOLVED = UNSOLVED


@inlined
def inverse_world(
    w: WorldView, v_des: Floats, dt: float, lookahead: float, load_cost: Floats
) -> tuple[int, float]:
    """Torques into `w.tau` (zero where not actuated) and the resulting velocity into `w.v_new`.

    v_des: desired velocities, actuated entries of shape (nv,); lookahead: time ahead at which
    inertia and bias are taken [s]; load_cost: cost on each feature's impulse, shape (nf,): a high
    one unloads a foot, an infinite one leaves it out.  Returns (status, worst |P v+ - v_des|).
    """
    status = solve_inverse(w, v_des, dt, lookahead, load_cost)
    return status, w.answer[0].violation


@unit(
    "inverse",
    seconds=21,
)
def solve_inverse(
    w: WorldView, v_des: Floats, dt: float, lookahead: float, load_cost: Floats
) -> int:
    """`inverse_world` for packed buffers; the violation goes to `w.answer`."""
    # Feet of infinite cost carry nothing
    w.answer[0].wanted = w.answer[0].blocks = 0
    for f in range(w.header[0].nf):
        w.coefficients[f].excluded = 1 if math.isinf(load_cost[f]) else 0
    # Torques act for the whole period: inertia and bias at its start alone would lag behind.
    ahead = w.v_next
    for j in range(w.header[0].nv):
        ahead[j] = w.v[j]
        if w.dofs[j].actuated:
            ahead[j] += lookahead / dt * (v_des[j] - w.v[j])
    # Where the motion is by then: inertia and bias as they are there
    integrate(w, w.q, w.v, lookahead, w.q_new)
    update_poses(w, w.q_new, w.pose)
    equations_of_motion(w, ahead, dt - lookahead, w.M)
    if w.header[0].sprung:  # springs act as they are in the mean of the steps' ends
        add_stretch(w, w.v, w.bias, dt - lookahead)
    if w.header[0].ntendons > 0:
        add_tautness(w, w.v, w.bias, dt - lookahead)
        add_drag(w, ahead, w.bias, -1.0)
        add_drag(w, w.v, w.bias, 1.0)
    for j in range(w.header[0].nv):  # damping acts on the mean velocity, as implicitly
        if w.dofs[j].actuated:
            w.bias[j] -= w.dofs[j].damping * lookahead / dt * (v_des[j] - w.v[j])
            if abs(v_des[j]) > RESTS:  # dry friction opposes what is wanted
                w.bias[j] += math.copysign(w.dofs[j].friction, v_des[j])
    # Contacts are looked for at the start again
    update_poses(w, w.q, w.pose)
    update_velocities(w, w.v)
    # The exact problem first, then the soft one: a single call site keeps compile time down.
    status = UNSOLVED
    solved, rows, count = FAILED, 0, 0
    w.answer[0].recursive = 0  # the factors are this problem's own
    for soft in range(2):
        possible = _soften(w, v_des, dt) if soft else _prescribe(w, v_des, dt)
        if not possible:
            continue
        solved = resolve_contacts(w, dt, 1 - soft, 2.0 * lookahead)
        count, rows = w.answer[0].contacts, w.answer[0].rows
        if soft == 0 and _blocked(w, count, rows):
            continue
        if solved == CERTIFIED or (soft == 1 and solved == DEGRADED):
            status = SOFT if soft else TRACKED
            break
    # No answer: no torque
    if status == UNSOLVED:
        for j in range(w.header[0].nv):
            w.tau[j] = 0.0
            w.v_new[j] = w.v[j]
        w.answer[0].violation = math.inf
        return status
    # Torques from the impulses, shared out between feet as they cost
    redistribute(w, count, rows, dt, load_cost)
    violation = 0.0
    for j in range(w.header[0].nv):
        if w.dofs[j].actuated:
            violation = max(violation, abs(w.v_new[j] - v_des[j]))
    w.answer[0].violation = violation
    return status


@inlined
def _blocked(w: WorkView, count: int, rows: int) -> bool:
    """Whether v_des breaks a contact or a stop that no unactuated coordinate gives way to."""
    r = 0
    for i in range(count):
        r = w.contacts[i].row
        if w.G[r, r] <= 0.0 and w.bias_row[r] < -BLOCKED:
            return True
        r += 1 + w.contacts[i].tangents
    blocked = False
    for k in range(r, rows):
        blocked = blocked or (w.G[k, k] <= 0.0 and w.bias_row[k] < -BLOCKED)
    return blocked


@inlined
def _prescribe(w: WorldView, v_des: Floats, dt: float) -> bool:
    """Factors of the unactuated block and the velocity without contacts (r of equation 7).

    M_uu (r_u - v_u) = -h bias_u - M_ua (v_des - v_a), and r_a = v_des.  Actuated rows and columns
    are replaced by those of the identity, which keeps the tree's sparsity.
    """
    nv = w.header[0].nv
    for i in range(nv):
        # Right-hand sides; of actuated rows the wanted change itself
        actuated = w.dofs[i].actuated
        w.v_free[i] = v_des[i] - w.v[i] if actuated else -dt * w.bias[i]
        for j in range(i + 1):
            keep = actuated == 0 and w.dofs[j].actuated == 0
            w.L[i, j] = w.M[i, j] if keep else (1.0 if i == j else 0.0)
    # What the actuated change does to the others' rows, both triangles of M
    for i in range(nv):
        for j in range(i):
            if w.dofs[i].actuated and not w.dofs[j].actuated:
                w.v_free[j] -= w.M[i, j] * w.v_free[i]
            elif w.dofs[j].actuated and not w.dofs[i].actuated:
                w.v_free[i] -= w.M[i, j] * w.v_free[j]
    return _finish(w)


@inlined
def _soften(w: WorldView, v_des: Floats, dt: float) -> bool:
    """Factors of M^ + P^T P / eps and the velocity without contacts."""
    nv = w.header[0].nv
    # As stiff as the mean actuated inertia over eps: in units of the model
    trace, actuators = 0.0, 0
    for i in range(nv):
        if w.dofs[i].actuated:
            trace += w.M[i, i]
            actuators += 1
    stiffness = trace / max(actuators, 1) / SOFTNESS
    for i in range(nv):
        for j in range(i + 1):
            w.L[i, j] = w.M[i, j]
        w.v_free[i] = -dt * w.bias[i]
        if w.dofs[i].actuated:
            w.L[i, i] += stiffness
            w.v_free[i] += stiffness * (v_des[i] - w.v[i])
    return _finish(w)


@inlined
def _finish(w: WorldView) -> bool:
    if not factor_in_place(w.dofs, w.L):
        return False
    solve(w, w.L, w.v_free)
    for i in range(w.header[0].nv):
        w.v_free[i] += w.v[i]
    return True


@entry
def inverse(
    w: WorldView,
    v_des: Floats,
    dt: float,
    lookahead: float,
    load_cost: Floats,
    tau: Floats,
    v_new: Floats,
) -> tuple[int, float]:
    """`inverse_world` for packed buffers, with copies of torques and velocity, shape (nv,)."""
    status, violation = inverse_world(w, v_des, dt, lookahead, load_cost)
    for j in range(w.header[0].nv):
        tau[j] = w.tau[j]
        v_new[j] = w.v_new[j]
    return status, violation


class InverseResult(NamedTuple):
    """Answer of `inverse_dynamics`."""

    tau: Floats  # of the actuated coordinates [N m, N], shape (nu,)
    v: Floats  # velocity at the end of the period, shape (nv,)
    impulses: Floats  # on each contact candidate's body A, world axes [N s], shape (nk, 3)
    status: InverseStatus
    violation: float  # largest |v - v_des| of an actuated coordinate


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    v_des: ArrayLike,
    period: float,
    *,
    lookahead: float = 0.0,
    load_cost: ArrayLike | None = None,
) -> InverseResult:
    """Torques that bring the actuated velocities to `v_des` within `period`, contact included.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,).
        v_des: desired velocities of the actuated coordinates, shape (nu,).
        period: time over which the torques are held [s].
        lookahead: time ahead, along v, at which inertia and bias are taken [s]: half the period
            where the motion is integrated finely within it; 0 solves equation 7 to the letter.
        load_cost: cost on each feature's impulse when impulses are indeterminate, shape (nf,);
            equal if None; infinite for a feature that is not meant to carry anything.

    Raises:
        ValueError: wrong shape, not finite, more contacts in reach than the model's limit, or a
            model with closed loops, or with torsional, rolling or viscous friction.
    """
    if not (np.isfinite(period) and period > 0):
        raise ValueError(f"period must be positive and finite [s], got {period}")
    if not 0.0 <= lookahead <= period:
        raise ValueError(f"lookahead must lie in [0, period] = [0, {period}] s, got {lookahead}")
    if model.closures.loops:
        raise ValueError("inverse dynamics of models with closed loops is not available")
    if model.header.moments:
        raise ValueError(
            "inverse dynamics with torsional or rolling friction is not available: build a model "
            "without them for the controller"
        )
    if model.header.nviscous:
        raise ValueError(
            "inverse dynamics with viscous friction of contacts is not available: build a model "
            "without it for the controller"
        )
    if (model.dofs["friction"][model.dofs["actuated"] == 0] > 0.0).any():
        raise ValueError("inverse dynamics of unactuated joints with dry friction is not available")
    w = prepare(model, q, v)
    # The arguments, in the shapes that kernels take
    desired = np.zeros(model.nv)
    desired[model.actuated] = finite_vector(v_des, model.nu, "v_des")
    nf = len(model.features)
    cost = np.zeros(nf) if load_cost is None else np.array(load_cost, dtype=np.float64)
    if cost.shape != (nf,) or np.isnan(cost).any() or (cost < 0).any():
        raise ValueError(f"load_cost must have shape ({nf},) and no negative or NaN entry")
    tau, v_new = np.zeros(model.nv), np.zeros(model.nv)
    # Once more with more room, as long as contacts find too little
    while True:
        call = (
            w, desired, float(period), float(lookahead), cost, tau, v_new
        )  # fmt: skip
        compile_for("inverse dynamics", [inverse], ("inverse", *model.kernel_groups))
        status, violation = inverse(*call)
        answer = w.answer[0]
        wanted, blocks = int(answer["wanted"]), int(answer["blocks"])
        if wanted + blocks == 0:
            break
        if wanted > most_contacts(model):
            raise ValueError(f"{wanted} contacts are in reach, more than max_contacts of the model")
        model = with_room(model, wanted, blocks)
        w = prepare(model, q, v)
    impulses = w.memory["impulse"].copy()
    return InverseResult(
        tau[model.actuated], v_new, impulses, InverseStatus(status), float(violation)
    )
