"""Impacts island by island: the problems of a step of length zero, on the step's own ladder.

The laws are those of `dynenvs.contact.impact`, which says what they mean.  An island in which
nothing that bounces approaches is left to the step, and the guard against energy gained looks at
each island alone: what one loses pays for no other's gain.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.memory import touch
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.sparse.ladder import climb, velocity_scale
from dynenvs.contact.sparse.problem import (
    predicted_velocity,
    row_velocity,
    set_speed,
)
from dynenvs.contact.sparse.proximal import copy_impulses, respond, update_velocities
from dynenvs.contact.sparse.solve import pose_islands
from dynenvs.contact.sparse.sweeps import add_response
from dynenvs.contact.sparse.weights import align_with_slip
from dynenvs.jit.compiled import apart, inlined, kernel
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Floats, ModelView, WorldView, polygon_of
from dynenvs.memory.records import POISSON, SEQUENTIAL
from dynenvs.memory.sparse_view import SparseView

SEQUENCE = 2000  # impacts of an island one by one before all end at once, without restitution
BELOW = 1.0 - 1e-12  # of the way to where no energy is gained: not even by rounding


@apart(
    "island impacts",
    seconds=10,
)
def collide_islands(w: WorldView, count: int, dt: float, slowest: float) -> int:
    """Impacts of the first `count` contacts, from the velocities `w.v` to those after them.

    dt: length of the step, for the certificate's scale
    slowest: approach [m/s] up to which parts do not bounce
    An island whose problem has no answer keeps its velocities.  Returns the worst status.
    """
    x = w.islands
    for j in range(w.header[0].nv):
        w.v_free[j] = w.v[j]
    n = pose_islands(w, count, 0.0)
    if n < 0:  # it could not be compiled
        return FAILED
    _pose_restitution(w, x, count, n)
    worst, k = CERTIFIED, 0
    while k < x.trees.shape[0] and x.islands[k].count > 0:
        if _fastest(w, x, x.islands[k], slowest) >= 0:
            if w.header[0].impacts == SEQUENTIAL:
                status = _one_by_one(w, x, k, dt, slowest)
            else:
                status = collide_island(w, k, dt, slowest, 1.0)
            worst = max(worst, status) if status >= 0 else FAILED
        k += 1
    for j in range(w.header[0].nv):
        w.v[x.coordinates[j]] = x.free[j]
    return int(worst)


@inlined
def _pose_restitution(w: WorldView, x: SparseView, count: int, n: int) -> None:
    """Coefficients of all n constraints: joint limits have none."""
    for i in range(n):
        x.constraints[i].restitution, x.constraints[i].offset = 0.0, x.bias[i, 0]
    for i in range(count):
        x.constraints[i].restitution = w.coefficients[w.contacts[i].source].restitution


@inlined
def _fastest(w: ModelView, x: SparseView, island: Any, slowest: float) -> int:
    """The place in `members` of the contact that approaches fastest; -1 if there is no impact.

    There is one where a contact with restitution approaches by more than slowest, or, one by one,
    any contact: inelastic ones pass impacts on.
    """
    worst, found = -slowest, -1
    elastic = w.header[0].impacts == SEQUENTIAL
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        if x.constraints[i].contact < 0 or not x.G[i, 0] > 0.0:
            continue
        speed = predicted_velocity(x, i, 0)
        elastic = elastic or (speed < -slowest and x.constraints[i].restitution > 0.0)
        if speed < worst:
            worst, found = speed, k
    return found if elastic else -1


@inlined
def _one_by_one(w: WorldView, x: SparseView, k: int, dt: float, slowest: float) -> int:
    """The fastest contact of island k, alone, then what is the fastest then, and so on.

    A contact moves its one or two trees and no others.  They stand, as an island of their own,
    behind all others.
    """
    nt = x.trees.shape[0]
    pair: Any = x.islands[nt]
    worst = CERTIFIED
    for _ in range(SEQUENCE):
        at = _fastest(w, x, x.islands[k], slowest)
        if at < 0:
            return worst
        i = x.members[at]
        c = x.constraints[i]
        align_with_slip(w.dofs, w.L, w.contacts, x, i)
        pair.first, pair.count = at, 1
        pair.first_tree, pair.trees = nt, 2 if c.b >= 0 else 1
        x.trees_of[nt], x.trees_of[nt + 1] = c.a, c.b
        status = collide_island(w, nt, dt, slowest, 1.0)
        if status < 0 or status == FAILED:
            return FAILED
        worst = max(worst, status)
    w.status[0].degraded += 1  # without end, as far as can be seen
    status = collide_island(w, k, dt, slowest, 0.0)
    return max(worst, status) if status >= 0 else FAILED


@apart(
    "island impacts",
    seconds=15,
)
def collide_island(w: WorldView, k: int, dt: float, slowest: float, share: float) -> int:
    """One impact of all contacts of island k, with `share` of their restitution; moves `x.free`.

    Adds the impulses to the contacts' totals.  Returns the status; FAILED leaves all as it was.
    """
    x = w.islands
    island = x.islands[k]
    _copy_velocities(x, island, x.free, x.before)
    if w.header[0].restitution == POISSON:
        status = _by_impulses(w, x, k, dt, share)
    else:
        status = _by_velocities(w, x, k, dt, slowest, share)
    if status != FAILED and _work(x, island, x.p, x.v) > 0.0:
        if w.header[0].restitution != POISSON:  # the inelastic impact, which always loses some
            copy_impulses(x, island, x.p, x.inelastic)
            status = max(status, _answer(w, x, k, dt))
            _swap(x, island)
        if status != FAILED:
            _restrain(x, island)
    if status == FAILED:
        _copy_velocities(x, island, x.before, x.free)
        return FAILED
    _copy_velocities(x, island, x.v, x.free)
    _add_totals(w, x, island)
    w.status[0].solves += 1
    if status == DEGRADED:
        w.status[0].degraded += 1
    return int(status)


@inlined
def _by_velocities(
    w: WorldView, x: SparseView, k: int, dt: float, slowest: float, share: float
) -> int:
    """Newton's law: what approaches parts with at least e times its speed."""
    island = x.islands[k]
    for j in range(island.first, island.first + island.count):
        i = x.members[j]
        speed = predicted_velocity(x, i, 0)
        if speed < -slowest:
            x.bias[i, 0] += share * x.constraints[i].restitution * speed
    status = _answer(w, x, k, dt)
    for j in range(island.first, island.first + island.count):
        x.bias[x.members[j], 0] = x.constraints[x.members[j]].offset
    return status


@inlined
def _by_impulses(w: WorldView, x: SparseView, k: int, dt: float, share: float) -> int:
    """Poisson's law: compression, then decompression by at least e times its normal impulses.

    Leaves the impulses of both in `p`, and those of compression in `inelastic`.
    """
    island = x.islands[k]
    status = _answer(w, x, k, dt)
    if status == FAILED:
        return FAILED
    copy_impulses(x, island, x.p, x.inelastic)
    _copy_velocities(x, island, x.v, x.free)
    for j in range(island.first, island.first + island.count):
        i = x.members[j]
        reserve = share * x.constraints[i].restitution * x.p[i, 0]
        x.constraints[i].reserve = reserve
        add_response(x, i, 0, reserve, x.free)
    status = max(status, _answer(w, x, k, dt))
    for j in range(island.first, island.first + island.count):
        i = x.members[j]
        x.p[i, 0] += x.constraints[i].reserve
        x.constraints[i].reserve = 0.0
        for r in range(3):
            x.p[i, r] += x.inelastic[i, r]
    _copy_velocities(x, island, x.before, x.free)
    return status


@inlined
def _answer(w: WorldView, x: SparseView, k: int, dt: float) -> int:
    """The impulses `p` and velocities `v` that island k's law gives, from none; their status."""
    island, cone, polygon = x.islands[k], w.status[0].cone, polygon_of(w)
    for j in range(island.first, island.first + island.count):
        i = x.members[j]
        u = (
            predicted_velocity(x, i, 0),
            predicted_velocity(x, i, 1) if x.constraints[i].rows > 1 else 0.0,
            predicted_velocity(x, i, 2) if x.constraints[i].rows > 2 else 0.0,
        )
        set_speed(x.constraints[i], polygon, u)
        x.p[i, 0] = x.p[i, 1] = x.p[i, 2] = 0.0
    island.scale, island.newtons = velocity_scale(x, island, least_speed(w.header, dt)), 0
    island.residual = update_velocities(x, island, cone, polygon, w.blocks)
    status = climb(w, k)
    if status != FAILED:
        w.status[0].residual = max(w.status[0].residual, island.residual)
    return int(status) if status >= 0 else FAILED


@kernel
def _work(x: SparseView, island: Any, p: Floats, after: Floats) -> float:
    """Kinetic energy that the impulses p give, which lead from `before` to `after` [J].

    Where surfaces run or bodies are moved from outside, as seen from these.
    """
    total = 0.0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        for r in range(x.constraints[i].rows):
            mean = row_velocity(x, i, r, x.before) + row_velocity(x, i, r, after)
            total += p[i, r] * (0.5 * mean + x.bias[i, r])
    return total


@inlined
def _swap(x: SparseView, island: Any) -> None:
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        for r in range(3):
            kept = x.inelastic[i, r]
            x.inelastic[i, r] = x.p[i, r]
            x.p[i, r] = kept


@kernel
def _restrain(x: SparseView, island: Any) -> None:
    """Only so far from the impulses `inelastic` towards `p` that no energy is gained.

    With d their difference, the energy gained on the way is the quadratic
    f(y) = work(inelastic) + y d.u + y^2 d.du / 2, and f(0) <= 0 < f(1).
    """
    v, change = x.off, x.step  # scratch: velocities after `inelastic`, and what d changes
    respond(x, island, x.inelastic, v)
    respond(x, island, x.p, change)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = x.trees[x.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            change[j] -= v[j]
    start = _work(x, island, x.inelastic, v)
    slope, bend = 0.0, 0.0
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        for r in range(x.constraints[i].rows):
            d = x.p[i, r] - x.inelastic[i, r]
            slope += d * (row_velocity(x, i, r, v) + x.bias[i, r])
            bend += 0.5 * d * row_velocity(x, i, r, change)
    y = 0.0
    if start < 0.0 and bend > 0.0:
        y = (-slope + math.sqrt(slope * slope - 4.0 * bend * start)) / (2.0 * bend)
    y = min(max(y * BELOW, 0.0), 1.0)
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        for r in range(3):
            x.p[i, r] = x.inelastic[i, r] + y * (x.p[i, r] - x.inelastic[i, r])
    respond(x, island, x.p, x.v)


@inlined
def _copy_velocities(x: SparseView, island: Any, source: Floats, target: Floats) -> None:
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = x.trees[x.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            target[j] = source[j]


@inlined
def _add_totals(w: WorldView, x: SparseView, island: Any) -> None:
    """Add the impulses to the contacts' sums over the step.

    What the step remembers of them to start from stays: an impact's impulses are no guess of it.
    """
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        if x.constraints[i].contact < 0:
            continue
        contact, p = w.contacts[x.constraints[i].contact], x.p[i]
        touch(w, contact.candidate)
        total, n, t1, t2 = w.memory[contact.candidate].total, contact.normal, contact.t1, contact.t2
        for r in range(3):
            total[r] += p[0] * n[r] + p[1] * t1[r] + p[2] * t2[r]
