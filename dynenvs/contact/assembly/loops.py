"""Closed loops: bilateral constraints J_b v = 0, eliminated before the contact problem.

The multipliers of the loops are free variables of a mixed problem (Jain et al. 2012, eq. 34).  They
are taken out of it by a Cholesky factor of K = J_b M^-1 J_b^T, which leaves the contacts the LCP
that they always have (docs/theory.md, Elimination of loops), with

    W = M^-1 - M^-1 J_b^T K^+ J_b M^-1

in the place of M^-1: whatever solves an LCP, and its certificate, stays as it is, and contact
impulses cannot open a loop.  With M = L^T D L, Y_b = L^-T J_b^T and Y = L^-T J^T of the contact
rows, this is Y <- Y - Y_b K^+ Y_b^T D^-1 Y and nothing else.  (In the LCP itself, shifted or split
into two signs, they would enlarge it, and each pivot would repeat what is done here once.)

Redundant rows (a planar pin has five of rank two) show as vanishing pivots and are left out:
K's range is what the remaining ones span.  Entries that no coordinate can make non-zero are left
out too (K's envelope), so that a chain of hinges costs no more than its length.

The loops are closed in positions after each step, by Newton's method in the kinetic metric.  What
they miss by the curvature of their surface also turns the velocity, as in the RATTLE method
(Andersen 1983): without it each step would lose the share (dt omega)^2 of a turning loop's energy.
"""

from __future__ import annotations

import math

import numpy as np

from dynenvs.contact.assembly.loop_rows import fill_rows, loop_errors
from dynenvs.jit.compiled import apart, kernel
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses
from dynenvs.lcp.solve import CERTIFIED, DEGRADED
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    LoopView,
    ModelView,
    WorkspaceView,
    open_loops,
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.model.model import Model

HELD = 0  # what the first two kernels return, unless they could not be compiled
REDUNDANT = 1e-12  # a pivot of K below this share of its diagonal entry is one of a redundant row
MOVED = 1e-10  # ... or of this share of the largest entry: a row that roundoff alone moves
CLOSED = 1e-14  # error that is left alone [m, rad]
OPEN = 1e-9  # error from which a loop counts as open after them [m, rad]
ROUNDS = 20  # of Newton's method; two or three are the rule
REACH = 0.05  # largest error that one of them corrects at once [m, rad]
# The curvature's part of the kinetic energy is (dt omega)^2; where it seems more than this, the
# mechanism stands at a dead centre, and its rows do not tell which way it goes on
BEND = 0.1


@kernel
def _couple_rows(m: ModelView, L: Floats, free_dof_mask: Floats, c: LoopView) -> None:
    """Y = L^-T J^T, and the upper triangle of K = Y^T D^-1 Y within its envelope."""
    nv, Y, K = m.header[0].nv, c.Y, c.K
    for j in range(nv):
        for r in range(c.spans[j, 0], c.spans[j, 1]):
            Y[j, r] = c.J[j, r] * free_dof_mask[j]
    for i in range(nv - 1, -1, -1):
        j = m.dofs[i].parent
        while j >= 0:
            factor = L[i, j]
            for r in range(c.spans[i, 0], c.spans[i, 1]):
                Y[j, r] -= factor * Y[i, r]
            j = m.dofs[j].parent
    for q in range(K.shape[0]):
        for r in range(q, c.lasts[q] + 1):
            K[q, r] = 0.0
    for j in range(nv):
        end = c.spans[j, 1]
        for q in range(c.spans[j, 0], end):
            factor = Y[j, q] * L[j, j]
            for r in range(q, end):
                K[q, r] += factor * Y[j, r]


@kernel
def _factor_rows(c: LoopView) -> None:
    """Cholesky's factor in K's place, row by row; redundant rows are left out."""
    K, largest = c.K, 0.0
    for q in range(K.shape[0]):
        largest = max(largest, K[q, q])
    for q in range(K.shape[0]):
        c.x[q] = max(K[q, q], MOVED * largest)
    for q in range(K.shape[0]):
        end = c.lasts[q] + 1
        redundant = not K[q, q] > REDUNDANT * c.x[q]
        inverse = 0.0 if redundant else 1.0 / math.sqrt(K[q, q])
        c.inverse[q] = inverse
        for r in range(q + 1, end):
            K[q, r] *= inverse
        for p in range(q + 1, end):
            factor = K[q, p]
            if factor != 0.0:
                for r in range(p, end):
                    K[p, r] -= factor * K[q, r]


@kernel
def _substitute(c: LoopView, x: Floats) -> None:
    """x <- K^+ x."""
    K = c.K
    for q in range(K.shape[0]):
        x[q] *= c.inverse[q]
        for r in range(q + 1, c.lasts[q] + 1):
            x[r] -= K[q, r] * x[q]
    for q in range(K.shape[0] - 1, -1, -1):
        total = x[q]
        for r in range(q + 1, c.lasts[q] + 1):
            total -= K[q, r] * x[r]
        x[q] = total * c.inverse[q]


@kernel
def _push(m: ModelView, L: Floats, c: LoopView, v: Floats) -> None:
    """v += M^-1 J^T x = L^-1 D^-1 Y x."""
    for j in range(m.header[0].nv):
        total = 0.0
        for r in range(c.spans[j, 0], c.spans[j, 1]):
            total += c.Y[j, r] * c.x[r]
        total *= L[j, j]
        k = m.dofs[j].parent
        while k >= 0:
            total -= L[j, k] * c.change[k]
            k = m.dofs[k].parent
        c.change[j] = total
        v[j] += total


@apart("int64(uint8[::1], uint8[::1], float64[::1])", "loops", seconds=2.5)
def hold_loops(packed: Bytes, buffer: Bytes, q: Floats) -> int:
    """Take from `w.v_free` what would open a loop at q.  Needs poses, axes and factors `w.L`.

    Twice, for what rounding left of the first time.  Leaves the loops' rows and their factors.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    fill_rows(m, q, w.pose, w.S, c)
    _couple_rows(m, w.L, w.free_dof_mask, c)
    _factor_rows(c)
    for _ in range(2):
        for r in range(m.header[0].ne):
            c.x[r] = 0.0
        for j in range(m.header[0].nv):
            for r in range(c.spans[j, 0], c.spans[j, 1]):
                c.x[r] -= c.J[j, r] * w.v_free[j]
        _substitute(c, c.x)
        _push(m, w.L, c, w.v_free)
    return HELD


@apart("int64(uint8[::1], uint8[::1], int64)", "loops", seconds=1.5)
def respect_loops(packed: Bytes, buffer: Bytes, rows: int) -> int:
    """Contact rows whose impulses open no loop: `w.Y` and `w.G` anew, after `hold_loops`.

    A row that the loops hold still would be left with roundoff: it becomes exactly zero, and is
    dropped as any row that no coordinate moves.  The inner loops run along the contact rows.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    T, Y = c.T, w.Y
    _gather(w, c, rows)
    _substitute_all(c, rows)
    for j in range(m.header[0].nv):
        for r in range(c.spans[j, 0], c.spans[j, 1]):
            factor = c.Y[j, r]
            if factor != 0.0:
                for k in range(rows):
                    Y[j, k] -= factor * T[r, k]
    for r in range(rows):
        total = 0.0
        for j in range(m.header[0].nv):
            total += Y[j, r] * Y[j, r] * w.L[j, j]
        if not total > REDUNDANT * w.G[r, r]:
            for j in range(m.header[0].nv):
                Y[j, r] = 0.0
    for r in range(rows):
        for k in range(rows):
            w.G[r, k] = 0.0
        for j in range(m.header[0].nv):
            factor = Y[j, r] * w.L[j, j]
            if factor != 0.0:
                for k in range(rows):
                    w.G[r, k] += factor * Y[j, k]
    return HELD


@kernel
def _gather(w: WorkspaceView, c: LoopView, rows: int) -> None:
    """T = Y_b^T D^-1 Y: how the contact rows are coupled with the loops."""
    for r in range(c.K.shape[0]):
        for k in range(rows):
            c.T[r, k] = 0.0
    for j in range(c.J.shape[0]):
        for r in range(c.spans[j, 0], c.spans[j, 1]):
            factor = c.Y[j, r] * w.L[j, j]
            if factor != 0.0:
                for k in range(rows):
                    c.T[r, k] += factor * w.Y[j, k]


@kernel
def _substitute_all(c: LoopView, rows: int) -> None:
    """T <- K^+ T, all contact rows at once."""
    K, T = c.K, c.T
    for q in range(K.shape[0]):
        for k in range(rows):
            T[q, k] *= c.inverse[q]
        for r in range(q + 1, c.lasts[q] + 1):
            for k in range(rows):
                T[r, k] -= K[q, r] * T[q, k]
    for q in range(K.shape[0] - 1, -1, -1):
        for r in range(q + 1, c.lasts[q] + 1):
            for k in range(rows):
                T[q, k] -= K[q, r] * T[r, k]
        for k in range(rows):
            T[q, k] *= c.inverse[q]


@apart("int64(uint8[::1], uint8[::1], float64[::1], float64)", "loops", seconds=3)
def close_loops(packed: Bytes, buffer: Bytes, q: Floats, dt: float) -> int:
    """Close the loops at `w.q_new` and `w.pose_new`, after `hold_loops` of the same step.

    q: at the step's start, shape (nq,)
    dt: length of the step, where the curvature of the loops' surface is to be noted for the
    velocity (into `curve`); zero where only positions are corrected.  Returns CERTIFIED, or
    DEGRADED where a loop stays open, out of its links' reach.
    """
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    nv, ne = m.header[0].nv, m.header[0].ne
    if dt > 0.0:
        loop_errors(c.loops, q, w.pose, c.start)
        loop_errors(c.loops, w.q_new, w.pose_new, c.errors)
        for r in range(ne):
            c.x[r] = (c.start[r] - c.errors[r]) / dt
        _substitute(c, c.x)
        _limit_bend(m, w, c, dt)
        for j in range(nv):
            c.curve[j] = 0.0
        _push(m, w.L, c, c.curve)
    worst, last, share = math.inf, math.inf, 1.0
    for attempt in range(ROUNDS + 1):
        worst = loop_errors(c.loops, w.q_new, w.pose_new, c.errors)
        if worst >= OPEN and not worst < last:  # it led astray: back, and less far
            for j in range(nv):
                w.v_next[j] = -w.v_next[j]
            integrate(m, w.q_new, w.v_next, 1.0, w.q_new)
            update_poses(m, w.q_new, w.pose_new)
            worst = loop_errors(c.loops, w.q_new, w.pose_new, c.errors)
            share *= 0.25
        elif worst < CLOSED or not worst < last:
            break
        if attempt == ROUNDS:
            break
        last = worst
        part = min(share, REACH / worst)
        for r in range(ne):
            c.x[r] = -part * c.errors[r]
        _substitute(c, c.x)
        for j in range(nv):
            w.v_next[j] = 0.0
        _push(m, w.L, c, w.v_next)
        integrate(m, w.q_new, w.v_next, 1.0, w.q_new)
        update_poses(m, w.q_new, w.pose_new)
    if worst < OPEN:
        return CERTIFIED
    for j in range(nv):  # nothing is known of the surface there
        c.curve[j] = 0.0
    return DEGRADED


@kernel
def _limit_bend(m: ModelView, w: WorkspaceView, c: LoopView, dt: float) -> None:
    """Scale the curvature's multipliers `x` so that they add no more than BEND of the energy.

    Twice the energy that they add is x K x, and `w.v_new` has |L v|^2 in the metric of D.
    """
    added, energy = 0.0, 0.0
    for r in range(m.header[0].ne):
        added += c.x[r] * (c.start[r] - c.errors[r]) / dt
    for j in range(m.header[0].nv):
        total = w.v_new[j]
        k = m.dofs[j].parent
        while k >= 0:
            total += w.L[j, k] * w.v_new[k]
            k = m.dofs[k].parent
        energy += total * total / w.L[j, j]
    if added > BEND * energy:
        scale = math.sqrt(BEND * energy / added)
        for r in range(m.header[0].ne):
            c.x[r] *= scale


@kernel
def bend_velocity(packed: Bytes, buffer: Bytes) -> None:
    """`w.v_new` along the loops' surface at the end of the step, after all else is done."""
    m = open_model(packed)
    w, c = open_workspace(m, buffer), open_loops(m, packed, buffer)
    for j in range(m.header[0].nv):
        w.v_new[j] += c.curve[j]


@kernel
def _open_by(packed: Bytes, row: Bytes, buffer: Bytes, errors: Floats) -> None:
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    update_poses(m, s.q, w.pose)
    loop_errors(open_loops(m, packed, buffer).loops, s.q, w.pose, errors)


def closure(model: Model, row: Bytes, buffer: Bytes) -> Floats:
    """By how much each row of the loops is open at a world's positions [m, rad], shape (ne,)."""
    errors = np.zeros(int(model.header.ne))
    if len(errors):
        _open_by(model.packed, row, buffer, errors)
    return errors
