"""Ground forces and torques for desired accelerations: inverse dynamics with slack.

The feet's accelerations are given.  With them, joint accelerations follow from the base's, u, and
the base's six equations of motion become E u + c = sum_i A_i f_i, f_i the force on foot i in its
friction cone K_i, A_i its effect on the base.  Two feet cannot give every u, so u may differ from
the desired one at a cost:

    min  1/2 (u - u*)' W (u - u*) + sum_i r_i |f_i|^2 / 2,   f_i in K_i,

strictly convex, so that forces are continuous in the state and in the prices r_i.  Its dual has six
unknowns and no bounds:

    min  1/2 y' E W^-1 E' y - b'y + sum_i r_i |P_i(A_i'y / r_i)|^2 / 2,   b = E u* + c,

P_i the projection on the cone, which is known in closed form; then f_i = P_i(A_i'y / r_i) and
u = u* - W^-1 E'y.  Its gradient is piecewise smooth: Newton's method with a line search ends after
a few steps (Qi and Sun, A nonsmooth version of Newton's method, 1993).  The weights W are of
whole-body control with slack (Kim et al., Highly dynamic quadruped locomotion via whole-body
impulse control and model predictive control, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.memory import Common
from dynenvs.agents.experts.common.state import BASE, mass_entry
from dynenvs.agents.experts.quadruped.records import JOINTS, LEGS, Dual, Forces, Leg, Load, Wanted
from dynenvs.envs.legged.records import ROOT
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import cross, entries, put_entries
from dynenvs.lcp.dense import factorise_symmetric, substitute_symmetric
from dynenvs.memory.layout import Floats, StateView, WorldView

STEPS = 30  # of Newton's method
HALVINGS = 12  # of a step
EXACT = 1e-7  # gradient at which it ends, relative to b
DECREASE = 1e-4  # of the slope, at least, in a step,
ROUNDOFF = 1e-12  # ... but for this part of the value
PRICE = 2e-2  # of a foot's force that carries alone, against accelerations
IDLE = 1e-3  # share that makes the price of a foot without load
SLOW = 0.3  # joint velocity below which dry friction is opposed in part [rad/s]


@kernel
def track(
    w: WorldView, g: Forces, wanted: Wanted, load: Load, legs: Sequence[Leg], d: Dual
) -> bool:
    """Torques into `w.tau` for the base's wanted accelerations and the feet's goals.

    d: a record of DUAL, scratch.  Needs the legs' Jacobians, the mass matrix and the bias.  Returns
    whether Newton's method came to its end.
    """
    _set_up(w, g, wanted, legs, d)
    solved = _distribute(legs, load.friction, d)
    for i in range(ROOT):
        total = 0.0
        for k in range(ROOT):
            total += d.E[k, i] * d.y[k]
        d.u[i] -= total / d.weight[i]
    for leg in range(LEGS):
        one = legs[leg]
        at = ROOT + JOINTS * leg
        for k in range(JOINTS):
            for i in range(ROOT):
                one.rates[k] += one.gives[k, i] * d.u[i]
        for k in range(JOINTS):
            total = w.bias[at + k]
            for i in range(ROOT):
                total += w.M[at + k, i] * d.u[i]
            for j in range(JOINTS):
                total += mass_entry(w, at + k, at + j) * one.rates[j]
                total -= one.jacobian[j, k] * one.force[j]
            v = w.v[at + k] + g.period * one.rates[k]
            w.tau[at + k] = total + w.dofs[at + k].friction * v / math.sqrt(v * v + SLOW * SLOW)
    return solved


@inlined
def _set_up(w: WorldView, g: Forces, wanted: Wanted, legs: Sequence[Leg], d: Dual) -> None:
    """E, c in d.b, u* in d.u, W; of each foot A, its joints' accelerations, and its price."""
    R, turn = w.pose[BASE].R, wanted.alpha
    for i in range(ROOT):
        d.b[i] = w.bias[i]
        for k in range(ROOT):
            d.E[i, k] = mass_entry(w, i, k)
    for k in range(3):
        d.u[k] = wanted.a[k]
        d.u[3 + k] = R[0, k] * turn[0] + R[1, k] * turn[1] + R[2, k] * turn[2]
        d.weight[k] = g.slack if k < 2 else 1.0
        d.weight[3 + k] = g.height * g.height
    for leg in range(LEGS):
        one = legs[leg]
        at = ROOT + JOINTS * leg
        _bend_leg(w, g, R, one, leg)
        for i in range(ROOT):
            for k in range(JOINTS):
                d.b[i] += w.M[at + k, i] * one.rates[k]
                for j in range(ROOT):
                    d.E[i, j] += w.M[at + k, i] * one.gives[k, j]
        share = max(one.share, IDLE)
        one.price = PRICE / (g.mass * share) ** 2
    for i in range(ROOT):
        for k in range(ROOT):
            d.b[i] += d.E[i, k] * d.u[k]
    for i in range(ROOT):
        for k in range(ROOT):
            total = 0.0
            for j in range(ROOT):
                total += d.E[i, j] * d.E[k, j] / d.weight[j]
            d.soft[i, k] = total


@kernel
def _bend_leg(w: StateView, g: Common, R: Floats, one: Leg, leg: int) -> None:
    """Of a foot A, and its joints' accelerations: with the base's zero, and what those give."""
    r, A, at = entries(one.arm, 0), one.effect, ROOT + JOINTS * leg
    for k in range(3):
        for j in range(3):
            A[k, j] = 1.0 if j == k else 0.0
        put_entries(A[3 + k], 0, cross((R[0, k], R[1, k], R[2, k]), r))
    for k in range(JOINTS):
        one.rates[k] = -w.v[at + k] / g.period
        for j in range(3):
            one.rates[k] += one.inverse[k, j] * one.goal[j] / g.period
        for i in range(ROOT):
            total = 0.0
            for j in range(3):
                total -= one.inverse[k, j] * A[i, j]
            one.gives[k, i] = total
            one.rates[k] += total * w.v[i] / g.period


@inlined
def bend_legs(w: WorldView, g: Common, wanted: Wanted, legs: Sequence[Leg]) -> None:
    """The joints' accelerations for the base's desired ones, by the Jacobians of now."""
    R, alpha = w.pose[BASE].R, wanted.alpha
    for leg in range(LEGS):
        one = legs[leg]
        _bend_leg(w, g, R, one, leg)
        for k in range(JOINTS):
            for i in range(3):
                turn = R[0, i] * alpha[0] + R[1, i] * alpha[1] + R[2, i] * alpha[2]
                one.rates[k] += one.gives[k, i] * wanted.a[i] + one.gives[k, 3 + i] * turn


@inlined
def _distribute(legs: Sequence[Leg], friction: float, d: Dual) -> bool:
    """The dual's y and the feet's forces; whether it came to its end."""
    size = 0.0
    for i in range(ROOT):
        d.y[i] = 0.0
        size = max(size, abs(d.b[i]))
    value, solved = 0.0, False
    for step in range(STEPS):
        if step == 0:  # as if no cone had a bound
            for i in range(ROOT):
                d.slope[i] = -d.b[i]
                for k in range(ROOT):
                    d.H[i, k] = d.soft[i, k]
            for leg in range(LEGS):
                one = legs[leg]
                if one.stands:
                    for i in range(ROOT):
                        for k in range(ROOT):
                            for j in range(3):
                                d.H[i, k] += one.effect[i, j] * one.effect[k, j] / one.price
        else:
            value = _value(legs, friction, d, d.y)
            steep = _expand(legs, friction, d)
            if steep <= EXACT * size:
                solved = True
                break
        factorise_symmetric(d.H, ROOT)
        substitute_symmetric(d.H, ROOT, d.slope, d.change)
        length, slope = 1.0, 0.0
        for i in range(ROOT):
            slope -= d.slope[i] * d.change[i]
        for _ in range(HALVINGS):
            for i in range(ROOT):
                d.trial[i] = d.y[i] - length * d.change[i]
            if step == 0:
                break
            enough = value + DECREASE * length * slope + ROUNDOFF * abs(value)
            if _value(legs, friction, d, d.trial) <= enough:
                break
            length *= 0.5
        for i in range(ROOT):
            d.y[i] = d.trial[i]
    return solved


@inlined
def _project(one: Leg, friction: float, y: Floats) -> tuple[float, float]:
    """one.force = P(A'y / r); returns the normal part and the length of the tangential one before.

    one.aside: that part's direction.
    """
    n = one.normal
    normal = slip = 0.0
    for j in range(3):
        total = 0.0
        for i in range(ROOT):
            total += one.effect[i, j] * y[i]
        one.force[j] = total / one.price
        normal += n[j] * one.force[j]
    for j in range(3):
        one.aside[j] = one.force[j] - normal * n[j]
        slip += one.aside[j] * one.aside[j]
    slip = math.sqrt(slip)
    if slip > friction * normal:
        if friction * slip <= -normal:
            one.force[0] = one.force[1] = one.force[2] = 0.0
        else:
            part = (normal + friction * slip) / (1.0 + friction * friction)
            for j in range(3):
                one.aside[j] /= slip
                one.force[j] = part * (n[j] + friction * one.aside[j])
    return normal, slip


@kernel
def _value(legs: Sequence[Leg], friction: float, d: Dual, y: Floats) -> float:
    """The dual at y; its forces."""
    value = 0.0
    for i in range(ROOT):
        total = 0.0
        for k in range(ROOT):
            total += d.soft[i, k] * y[k]
        value += y[i] * (0.5 * total - d.b[i])
    for leg in range(LEGS):
        one = legs[leg]
        if one.stands:
            _project(one, friction, y)
            f = one.force
            value += 0.5 * one.price * (f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
        else:
            one.force[0] = one.force[1] = one.force[2] = 0.0
    return value


@kernel
def _expand(legs: Sequence[Leg], friction: float, d: Dual) -> float:
    """The dual's gradient d.slope, whose largest entry comes back, and curvature d.H at y."""
    for i in range(ROOT):
        d.slope[i] = -d.b[i]
        for k in range(ROOT):
            d.slope[i] += d.soft[i, k] * d.y[k]
            d.H[i, k] = d.soft[i, k]
    for leg in range(LEGS):
        one = legs[leg]
        if not one.stands:
            continue
        normal, slip = _project(one, friction, d.y)
        A, n, t = one.effect, one.normal, one.aside
        for i in range(ROOT):
            for j in range(3):
                d.slope[i] += A[i, j] * one.force[j]
        if slip <= friction * normal:
            ray, side, tangent = 0.0, 1.0, 1.0
        elif friction * slip <= -normal:
            continue
        else:
            ray = 1.0 / (1.0 + friction * friction) / one.price
            side = friction * (normal + friction * slip) / (1.0 + friction * friction) / slip
            tangent = 0.0
        # DP = ray d d' + side (1 - n n' - t t'), d = n + mu t; or the identity
        for i in range(ROOT):
            an = A[i, 0] * n[0] + A[i, 1] * n[1] + A[i, 2] * n[2]
            at = (A[i, 0] * t[0] + A[i, 1] * t[1] + A[i, 2] * t[2]) * (1.0 - tangent)
            for k in range(ROOT):
                bn = A[k, 0] * n[0] + A[k, 1] * n[1] + A[k, 2] * n[2]
                bt = (A[k, 0] * t[0] + A[k, 1] * t[1] + A[k, 2] * t[2]) * (1.0 - tangent)
                both = A[i, 0] * A[k, 0] + A[i, 1] * A[k, 1] + A[i, 2] * A[k, 2]
                both -= (1.0 - tangent) * an * bn + at * bt
                d.H[i, k] += side * both / one.price
                d.H[i, k] += ray * (an + friction * at) * (bn + friction * bt)
    worst = 0.0
    for i in range(ROOT):
        worst = max(worst, abs(d.slope[i]))
    return worst
