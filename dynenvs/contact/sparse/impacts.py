"""Impacts island by island: the problems of a step of length zero, by the step's own solvers.

The laws are those of `dynenvs.contact.impact`, which says what they mean.  An island in which
nothing that bounces approaches is left to the step, and the guard against energy gained looks at
each island alone: what one loses pays for no other's gain.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.memory import touch
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.law.restitution import share_without_gain
from dynenvs.contact.sparse.island_problem import (
    copy_impulses,
    copy_velocities,
    open_island,
    respond,
    update_velocities,
)
from dynenvs.contact.sparse.ladder import solve_island, velocity_scale
from dynenvs.contact.sparse.problem import (
    predicted_velocity,
    row_velocity,
    set_speed,
)
from dynenvs.contact.sparse.solve import pose_islands
from dynenvs.contact.sparse.sweeps import add_response
from dynenvs.contact.sparse.weights import align_with_slip
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Floats, ModelView, WorldView, polygon_of
from dynenvs.memory.records import POISSON, SEQUENTIAL
from dynenvs.memory.sparse_view import SparseView

SEQUENCE = 2000  # impacts of an island one by one before all end at once, without restitution


@unit(
    "island impacts",
    seconds=10,
)
def collide_islands(w: WorldView, count: int, dt: float, slowest: float) -> int:
    """Impacts of the first `count` contacts, from the velocities `w.v` to those after them.

    dt: length of the step, for the certificate's scale
    slowest: approach [m/s] up to which parts do not bounce
    An island whose problem has no answer keeps its velocities.  Returns the worst status.
    """
    scene = w.scene
    # The problem of a step of no length, from the velocities before the impact
    for j in range(w.header[0].nv):
        w.v_free[j] = w.v[j]
    n = pose_islands(w, count, 0.0)
    if n < 0:  # it could not be compiled
        return FAILED
    _pose_restitution(w, scene, count, n)
    # Island by island: where nothing that bounces approaches, nothing happens
    worst, k = CERTIFIED, 0
    while k < scene.trees.shape[0] and scene.islands[k].count > 0:
        if _fastest(w, scene, scene.islands[k], slowest) >= 0:
            if w.header[0].impacts == SEQUENTIAL:
                status = _one_by_one(w, scene, k, dt, slowest)
            else:
                status = collide_island(w, k, dt, slowest, 1.0)
            worst = max(worst, status) if status >= 0 else FAILED
        k += 1
    # Back into the model's order of coordinates
    for j in range(w.header[0].nv):
        w.v[scene.coordinates[j]] = scene.free[j]
    return int(worst)


@inlined
def _pose_restitution(w: WorldView, scene: SparseView, count: int, total: int) -> None:
    """Coefficients of all `total` constraints: joint limits have none."""
    for i in range(total):
        scene.constraints[i].restitution, scene.constraints[i].offset = 0.0, scene.bias[i, 0]
    for i in range(count):
        scene.constraints[i].restitution = w.coefficients[w.contacts[i].source].restitution


@inlined
def _fastest(w: ModelView, scene: SparseView, island: Any, slowest: float) -> int:
    """The place in `members` of the contact that approaches fastest; -1 if there is no impact.

    There is one where a contact with restitution approaches by more than slowest, or, one by one,
    any contact: inelastic ones pass impacts on.
    """
    worst, found = -slowest, -1
    elastic = w.header[0].impacts == SEQUENTIAL
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        if scene.constraints[i].contact < 0 or not scene.G[i, 0] > 0.0:
            continue
        speed = predicted_velocity(scene, i, 0)
        elastic = elastic or (speed < -slowest and scene.constraints[i].restitution > 0.0)
        if speed < worst:
            worst, found = speed, k
    return found if elastic else -1


@inlined
def _one_by_one(w: WorldView, scene: SparseView, index: int, dt: float, slowest: float) -> int:
    """The fastest contact of island `index`, alone, then what is the fastest then, and so on.

    A contact moves its one or two trees and no others.  They stand, as an island of their own,
    behind all others.
    """
    nt = scene.trees.shape[0]
    pair: Any = scene.islands[nt]
    worst = CERTIFIED
    for _ in range(SEQUENCE):
        # The fastest contact, as an island of one
        at = _fastest(w, scene, scene.islands[index], slowest)
        if at < 0:
            return worst
        i = scene.members[at]
        c = scene.constraints[i]
        # Its slip has turned since it was posed
        align_with_slip(w.dofs, w.L, w.contacts, scene, i)
        pair.first, pair.count = at, 1
        pair.first_tree, pair.trees = nt, 2 if c.b >= 0 else 1
        scene.trees_of[nt], scene.trees_of[nt + 1] = c.a, c.b
        status = collide_island(w, nt, dt, slowest, 1.0)
        if status < 0 or status == FAILED:
            return FAILED
        worst = max(worst, status)
    # Something bounces between others for ever: all at once, and without restitution
    w.status[0].degraded += 1  # without end, as far as can be seen
    status = collide_island(w, index, dt, slowest, 0.0)
    return max(worst, status) if status >= 0 else FAILED


@unit(
    "island impacts",
    seconds=15,
)
def collide_island(w: WorldView, index: int, dt: float, slowest: float, share: float) -> int:
    """One impact of all contacts of an island, with `share` of restitution; moves `scene.free`.

    Adds the impulses to the contacts' totals.  Returns the status; FAILED leaves all as it was.
    """
    scene = w.scene
    island = scene.islands[index]
    # The law's impulses from the velocities before
    copy_velocities(scene, island, scene.free, scene.before)
    if w.header[0].restitution == POISSON:
        status = _by_impulses(w, scene, index, dt, share)
    else:
        status = _by_velocities(w, scene, index, dt, slowest, share)
    # They have given energy: less of them, between the inelastic impact and this one
    gain = _work(scene, island, scene.p, scene.v) if status != FAILED else 0.0
    if gain > 0.0:
        if w.header[0].restitution != POISSON:  # the inelastic impact, which always loses some
            copy_impulses(scene, island, scene.p, scene.inelastic)
            status = max(status, _answer(w, scene, index, dt))
            _swap(scene, island)
        if status != FAILED:
            _restrain(scene, island, gain)
    # All as it was, or the new velocities and the impulses' totals
    if status == FAILED:
        copy_velocities(scene, island, scene.before, scene.free)
        return FAILED
    copy_velocities(scene, island, scene.v, scene.free)
    _add_totals(w, scene, island)
    w.status[0].solves += 1
    if status == DEGRADED:
        w.status[0].degraded += 1
    return int(status)


@inlined
def _by_velocities(
    w: WorldView, scene: SparseView, index: int, dt: float, slowest: float, share: float
) -> int:
    """Newton's law: what approaches parts with at least e times its speed."""
    # The share of its approach is demanded through the bias, for as long as it takes
    island = scene.islands[index]
    for j in range(island.first, island.first + island.count):
        i = scene.members[j]
        speed = predicted_velocity(scene, i, 0)
        if speed < -slowest:
            scene.bias[i, 0] += share * scene.constraints[i].restitution * speed
    status = _answer(w, scene, index, dt)
    for j in range(island.first, island.first + island.count):
        scene.bias[scene.members[j], 0] = scene.constraints[scene.members[j]].offset
    return status


@inlined
def _by_impulses(w: WorldView, scene: SparseView, index: int, dt: float, share: float) -> int:
    """Poisson's law: compression, then decompression by at least e times its normal impulses.

    Leaves the impulses of both in `p`, and those of compression in `inelastic`.
    """
    # Compression
    island = scene.islands[index]
    status = _answer(w, scene, index, dt)
    if status == FAILED:
        return FAILED
    copy_impulses(scene, island, scene.p, scene.inelastic)
    copy_velocities(scene, island, scene.v, scene.free)
    # From there on, with the compression impulses given already
    for j in range(island.first, island.first + island.count):
        i = scene.members[j]
        compression = share * scene.constraints[i].restitution * scene.p[i, 0]
        scene.constraints[i].compression = compression
        add_response(scene, i, 0, compression, scene.free)
    # Decompression: what comes on top of these
    status = max(status, _answer(w, scene, index, dt))
    for j in range(island.first, island.first + island.count):
        i = scene.members[j]
        scene.p[i, 0] += scene.constraints[i].compression
        scene.constraints[i].compression = 0.0
        m = scene.constraints[i].moments
        for r in range(3):
            scene.p[i, r] += scene.inelastic[i, r]
            if m >= 0:
                scene.p[m, r] += scene.inelastic[m, r]
    # The velocities before the impact: the guard compares with these
    copy_velocities(scene, island, scene.before, scene.free)
    return status


@inlined
def _answer(w: WorldView, scene: SparseView, index: int, dt: float) -> int:
    """The impulses `p` and velocities `v` that the island's law gives, from none; their status."""
    island, polygon = scene.islands[index], polygon_of(w)
    # The scale of the certificate by the velocities now; impulses from none
    for j in range(island.first, island.first + island.count):
        i = scene.members[j]
        u = (
            predicted_velocity(scene, i, 0),
            predicted_velocity(scene, i, 1) if scene.constraints[i].rows > 1 else 0.0,
            predicted_velocity(scene, i, 2) if scene.constraints[i].rows > 2 else 0.0,
        )
        set_speed(scene.constraints[i], polygon, u)
        scene.p[i, 0] = scene.p[i, 1] = scene.p[i, 2] = 0.0
        j = scene.constraints[i].moments
        for r in range(scene.constraints[j].rows if j >= 0 else 0):
            scene.p[j, r] = 0.0
            speed = abs(predicted_velocity(scene, j, r))
            scene.constraints[i].speed = max(scene.constraints[i].speed, speed)
    # By the same solver stages as in a step
    island.scale, island.newtons = velocity_scale(scene, island, least_speed(w.header, dt)), 0
    island.residual = update_velocities(open_island(w, index))
    status = solve_island(w, index)
    if status != FAILED:
        w.status[0].residual = max(w.status[0].residual, island.residual)
    return int(status) if status >= 0 else FAILED


@kernel
def _work(scene: SparseView, island: Any, impulses: Floats, after: Floats) -> float:
    """Kinetic energy that the `impulses` give, which lead from `before` to `after` [J].

    Where surfaces run or bodies are moved from outside, as seen from these.
    """
    total = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            total += impulses[i, r] * _mean_velocity(scene, i, r, after)
        j = scene.constraints[i].moments
        for r in range(scene.constraints[j].rows if j >= 0 else 0):
            total += impulses[j, r] * _mean_velocity(scene, j, r, after)
    return total


@inlined
def _mean_velocity(scene: SparseView, index: int, row: int, after: Floats) -> float:
    """Of a row's velocities in `before` and `after`, with its bias [m/s]."""
    mean = row_velocity(scene, index, row, scene.before) + row_velocity(scene, index, row, after)
    return float(0.5 * mean + scene.bias[index, row])


@inlined
def _swap(scene: SparseView, island: Any) -> None:
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        _swap_rows(scene, i)
        if scene.constraints[i].moments >= 0:
            _swap_rows(scene, scene.constraints[i].moments)


@inlined
def _swap_rows(scene: SparseView, index: int) -> None:
    for r in range(3):
        inelastic, elastic = scene.p[index, r], scene.inelastic[index, r]
        scene.inelastic[index, r], scene.p[index, r] = inelastic, elastic


@kernel
def _restrain(scene: SparseView, island: Any, gain: float) -> None:
    """Only so far from the impulses `inelastic` towards `p` that no energy is gained.

    gain: of the latter [J]
    """
    v = scene.off  # after `inelastic`
    respond(scene, island, scene.inelastic, v)
    slope = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        slope += _slope(scene, i, v)
        if scene.constraints[i].moments >= 0:
            slope += _slope(scene, scene.constraints[i].moments, v)
    share = share_without_gain(_work(scene, island, scene.inelastic, v), slope, gain)
    # Impulses at that part of the way, and the velocities that they give
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        _go_part(scene, i, share)
        if scene.constraints[i].moments >= 0:
            _go_part(scene, scene.constraints[i].moments, share)
    respond(scene, island, scene.p, scene.v)


@inlined
def _slope(scene: SparseView, index: int, v: Floats) -> float:
    """What a constraint's rows add to the slope of the energy."""
    total = 0.0
    for r in range(scene.constraints[index].rows):
        u = row_velocity(scene, index, r, v) + scene.bias[index, r]
        total += (scene.p[index, r] - scene.inelastic[index, r]) * u
    return total


@inlined
def _go_part(scene: SparseView, index: int, part: float) -> None:
    for r in range(3):
        scene.p[index, r] = scene.inelastic[index, r] + part * (
            scene.p[index, r] - scene.inelastic[index, r]
        )


@inlined
def _add_totals(w: WorldView, scene: SparseView, island: Any) -> None:
    """Add the impulses to the contacts' sums over the step.

    What the step remembers of them to start from stays: an impact's impulses are no guess of it.
    """
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        # Joint stops have no total
        if scene.constraints[i].contact < 0:
            continue
        contact, p = w.contacts[scene.constraints[i].contact], scene.p[i]
        touch(w, contact.candidate)
        total, n, t1, t2 = w.memory[contact.candidate].total, contact.normal, contact.t1, contact.t2
        for r in range(3):
            total[r] += p[0] * n[r] + p[1] * t1[r] + p[2] * t2[r]
