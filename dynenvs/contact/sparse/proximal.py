"""Proximal multipliers with Newton's method in velocity space: the solver of large islands.

Outer rounds: impulses p move to P(p - rho (J v + bias + mu s e_n)), where v solves

    M (v - v_free) = J^T P(p - rho (J v + bias + mu s e_n)):

the method of multipliers (Rockafellar 1976) for the law of `projection.py`.  Its equation for v is
smooth
but for kinks: Newton's method needs the sparse matrix M + J^T W J (`factor.py`), whose size is that
of the bodies, not of the contacts, and which is regular however redundant these are.  The penalty
rho grows as long as that helps.  Every round ends with the certificate of `dynenvs.contact`: of
the velocities that the impulses really give.  While far from an answer, the slip mu s in the law is
held for a round: the equation is then that of a convex minimum.

The work is bounded: `budget` factorisations.  Where they do not suffice the best answer is taken,
and its residual says how good it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.contact.law.dry import certify_dry, project_dry
from dynenvs.contact.law.moments import Six, certify_moments, project_moments, turning
from dynenvs.contact.solvers.cone_law import certify_cones
from dynenvs.contact.solvers.penalty import (
    BACK,
    CAP,
    ENOUGH,
    FAR,
    FAR_BACK,
    FINE,
    INNER,
    LOOSEN,
    LOST,
    SLOW,
    first_penalty,
    softer,
    stiffer,
)
from dynenvs.contact.solvers.projection import project_contact
from dynenvs.contact.solvers.pyramid_law import certify_block
from dynenvs.contact.sparse.factor import factorise, substitute
from dynenvs.contact.sparse.problem import row_velocities, row_velocity
from dynenvs.contact.sparse.rounding import is_good
from dynenvs.contact.sparse.sweeps import add_response, sweep
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import matrix, raw
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import CONE, DRY
from dynenvs.memory.sparse_view import SparseView

POOR = 1e-3  # residual above which a start is worth so little that sweeps come first
PATIENCE = 4  # Newton's steps of a round in a row that may gain less than half
LINE = 8  # trials along one of them
STIFF, STIFFEST = 1e6, 1e7  # penalties to begin with and at all


@kernel
def multiply(
    scene: SparseView, island: Any, cone: int, polygon: Records, blocks: Records, residual: float,
    sweeps: int, budget: int,
) -> float:  # fmt: skip
    """Rounds of multipliers from `p`, whose residual is given, until they gain nothing more.

    `p` ends as the best that was met; returns its residual.
    """
    # From far away: sweeps first
    if residual > POOR:
        sweep(scene, island, cone, polygon, sweeps)
        residual = update_velocities(scene, island, cone, polygon, blocks)
    best = held = residual
    copy_impulses(scene, island, scene.p, scene.best)
    copy_impulses(scene, island, scene.p, scene.held)
    penalty, cap = first_penalty(residual, STIFF), STIFFEST
    rounds = island.newtons
    while best > ENOUGH and max(rounds, island.newtons) < budget:
        # A round: Newton's method with this penalty, then the residual
        rounds += 1  # one that begins with its equation solved costs no factorisation
        last = residual
        done = _round(scene, island, cone, polygon, penalty, residual, budget)
        residual = update_velocities(scene, island, cone, polygon, blocks)
        slow = not residual < SLOW * best
        if residual < best:
            best = residual
            copy_impulses(scene, island, scene.p, scene.best)
        if slow and is_good(scene, island, best):
            break
        if not done and not residual < SLOW * held:  # back to the last round that was solved
            copy_impulses(scene, island, scene.held, scene.p)
            residual = update_velocities(scene, island, cone, polygon, blocks)
            cap, penalty = softer(penalty, CAP), softer(penalty, BACK)
            continue
        # It has gained: stiffer; or it is lost: back to the best
        penalty = stiffer(penalty, cap, residual, last)
        cap = min(LOOSEN * cap, STIFFEST)
        if not residual < LOST * best:
            copy_impulses(scene, island, scene.best, scene.p)
            residual = update_velocities(scene, island, cone, polygon, blocks)
            penalty = softer(penalty, FAR_BACK)
        held = residual
        copy_impulses(scene, island, scene.p, scene.held)
    copy_impulses(scene, island, scene.best, scene.p)
    return update_velocities(scene, island, cone, polygon, blocks)


@inlined
def copy_impulses(scene: SparseView, island: Any, source: Floats, target: Floats) -> None:
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        for r in range(3):
            target[i, r] = source[i, r]
            if j >= 0:
                target[j, r] = source[j, r]


@inlined
def copy_velocities(scene: SparseView, island: Any, source: Floats, target: Floats) -> None:
    """Of the island's trees."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            target[j] = source[j]


@inlined
def respond(scene: SparseView, island: Any, impulses: Floats, v: Floats) -> None:
    """v = v_free + M^-1 J^T impulses of the island's trees."""
    # Free motion, then what each impulse adds
    copy_velocities(scene, island, scene.free, v)
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            if impulses[i, r] != 0.0:
                add_response(scene, i, r, impulses[i, r], v)
        j = scene.constraints[i].moments
        for r in range(scene.constraints[j].rows if j >= 0 else 0):
            if impulses[j, r] != 0.0:
                add_response(scene, j, r, impulses[j, r], v)


@kernel
def update_velocities(
    scene: SparseView, island: Any, cone: int, polygon: Records, blocks: Records
) -> float:
    """Velocities that the impulses give, and the certificate's residual of both; inf for NaN."""
    respond(scene, island, scene.p, scene.v)
    worst = 0.0
    # The certificate of blocks takes one: each constraint is written into it in turn
    block = blocks[0]
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c = scene.constraints[i]
        block.row, block.tangents = 0, c.rows - 1
        block.friction, block.compression = c.friction, c.compression
        block.dry = block.moments = 0
        # Velocities of the rows, right-hand sides included
        u = scene.trial[i]
        for r in range(3):
            u[r] = row_velocity(scene, i, r, scene.v) + scene.bias[i, r] if r < c.rows else 0.0
        G = matrix(raw(scene.G[i], 72), 0, 3, 3, np.float64)
        if c.contact == DRY:
            residual = certify_dry(c.compression, scene.G[i, 0], scene.p[i, 0], u[0]) / island.scale
            block.slip = 0.0
        elif c.moments >= 0:
            residual = _certify_moments(scene, i, c) / island.scale
            block.slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
        elif cone == CONE and c.rows == 3:
            residual = certify_cones(blocks, 1, G, island.scale, scene.p[i], u)
        else:
            residual = certify_block(polygon, block, G, island.scale, scene.p[i], u)
        # Written so that NaN counts as the worst
        c.slip = block.slip
        if not residual <= worst:
            worst = residual
    return worst if worst < math.inf else math.inf


@kernel
def _round(
    scene: SparseView, island: Any, cone: int, polygon: Records, penalty: float, residual: float,
    budget: int,
) -> bool:  # fmt: skip
    """Solve for v at these multipliers and penalty, and move p; returns whether that was solved."""
    # Far from an answer the slip is held: then the round minimises a convex function
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        scene.slip[i] = -1.0
        if residual > FAR:
            c = scene.constraints[i]
            scene.slip[i] = c.friction * c.slip + (c.turning if c.moments >= 0 else 0.0)
    # A round need not be solved better than the problem is so far
    target = 0.05 * min(residual, 1.0) * island.scale
    off = _miss(scene, island, cone, polygon, penalty)
    least, idle = off, 0
    for _ in range(INNER):
        if off <= target or idle >= PATIENCE or island.newtons >= budget:
            break
        # Newton's step for v
        assemble(scene, island)
        if island.moments != 0:
            _add_moments(scene, island)
        island.newtons += 1
        if not factorise(scene, island):
            break
        _direct(scene, island)
        off = _search(scene, island, cone, polygon, penalty)
        # Rounding may leave nothing to gain: a few idle steps end the round
        idle += 1
        if off < 0.5 * least:
            least, idle = off, 0
        elif off < FINE * island.scale:
            break
    copy_impulses(scene, island, scene.trial, scene.p)
    return bool(off <= max(target, FINE * island.scale))


@kernel
def _miss(scene: SparseView, island: Any, cone: int, polygon: Records, penalty: float) -> float:
    """Impulses `trial` of the law at v, W, and by how much v misses what they give [m/s].

    `off` = v - v_free - M^-1 J^T trial; returns the largest velocity that it gives a row.
    """
    # The law at these velocities
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c, held = scene.constraints[i], scene.slip[i]
        u = row_velocities(scene, i, scene.v)
        if c.contact == DRY:
            _project_dry(scene, i, penalty / c.g, u[0])
        elif c.moments >= 0:
            _project_moments(scene, i, penalty / c.g, held)
        else:
            project_contact(
                cone, polygon, c, penalty / c.g, scene.p[i], u, held, scene.trial[i], scene.W[i]
            )
    # What velocities its impulses give, against those assumed
    respond(scene, island, scene.trial, scene.off)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.off[j] = scene.v[j] - scene.off[j]
    # Measured as velocities of the rows: masses are of all sizes
    worst = 0.0
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        for r in range(scene.constraints[i].rows):
            worst = max(worst, abs(row_velocity(scene, i, r, scene.off)))
        j = scene.constraints[i].moments
        for r in range(scene.constraints[j].rows if j >= 0 else 0):
            worst = max(worst, abs(row_velocity(scene, j, r, scene.off)))
    return worst


@inlined
def _velocities(scene: SparseView, index: int) -> Six:
    """Velocities and turns at contact `index`, which has moments."""
    a, b, c = row_velocities(scene, index, scene.v)
    d, e, f = row_velocities(scene, scene.constraints[index].moments, scene.v)
    return a, b, c, d, e, f


@inlined
def _impulses(scene: SparseView, index: int) -> Six:
    """Impulses and moments of contact `index`."""
    p, q = scene.p[index], scene.p[scene.constraints[index].moments]
    return p[0], p[1], p[2], q[0], q[1], q[2]


@inlined
def _coefficients(scene: SparseView, index: int) -> Three:
    """Those of sliding, torsional and rolling friction."""
    c = scene.constraints[index]
    d = scene.constraints[c.moments]
    return c.friction, d.friction, d.roll if d.rows == 3 else 0.0


@inlined
def _certify_moments(scene: SparseView, index: int, constraint: Any) -> float:
    """The law's residual at contact `index` [m/s]; writes what turns add to its slip."""
    # The largest velocity that a unit of impulse gives a row, moments' rows included
    mu, u, g = _coefficients(scene, index), _velocities(scene, index), 0.0
    for r in range(3):
        g = max(g, scene.G[index, 4 * r] if r < constraint.rows else 0.0)
        g = max(
            g,
            scene.G[constraint.moments, 4 * r]
            if r < scene.constraints[constraint.moments].rows
            else 0.0,
        )
    constraint.turning = turning(mu, u)
    return float(certify_moments(mu, constraint.compression, g, _impulses(scene, index), u))


@inlined
def _project_moments(scene: SparseView, index: int, rho: float, held: float) -> None:
    """The law of contact `index` and its moments into `trial`, `law` and `W`."""
    c = scene.constraints[index]
    j = c.moments
    D, u, p = scene.law[j], _velocities(scene, index), _impulses(scene, index)
    # Three rows of the contact, three of its moments; each has its part of the derivative
    q = project_moments(_coefficients(scene, index), c.compression, rho, p, u, held, D)
    trial, moment = scene.trial[index], scene.trial[j]
    trial[0], trial[1], trial[2] = q[0], q[1], q[2]
    moment[0], moment[1], moment[2] = q[3], q[4], q[5]
    for r in range(3):
        for k in range(3):
            scene.W[index, 3 * r + k] = D[6 * r + k]


@inlined
def _project_dry(scene: SparseView, index: int, rho: float, velocity: float) -> None:
    """The law of dry joint `index` into `trial` and `W`."""
    for k in range(9):
        scene.W[index, k] = 0.0
    scene.trial[index, 1] = scene.trial[index, 2] = 0.0
    bound = scene.constraints[index].compression
    scene.trial[index, 0], scene.W[index, 0] = project_dry(bound, rho, scene.p[index, 0], velocity)


@kernel
def assemble(scene: SparseView, island: Any) -> None:
    """M + J^T W J into the factor's blocks."""
    F = scene.factor
    # The trees' masses on the diagonal
    for k in range(island.words):
        F[k] = 0.0
    for a in range(island.trees):
        tree = scene.trees[scene.trees_of[island.first_tree + a]]
        D = scene.block[a, a]
        for k in range(tree.nv * tree.nv):
            F[D + k] = scene.masses[tree.mass_at + k]
    # Each constraint's W between the trees that it acts on
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c, W = scene.constraints[i], scene.W[i]
        if W[0] == 0.0 and W[4] == 0.0:  # open
            continue
        for side in range(2 if c.b >= 0 else 1):
            a = scene.trees[c.b if side else c.a]
            for other in range(2 if c.b >= 0 else 1):
                b = scene.trees[c.b if other else c.a]
                at, left, right = scene.block[a.node, b.node], 6 * i + 3 * side, 6 * i + 3 * other
                if c.rows == 3 and a.nv == 6 and b.nv == 6:  # free bodies: known lengths unroll
                    _add_weighted(F, (at, 6), scene.J, (left, 0, 6), (right, 0, 6), 3, W)
                else:
                    rows = left, c.first[side], c.last[side]
                    columns = right, c.first[other], c.last[other]
                    _add_weighted(F, (at, b.nv), scene.J, rows, columns, c.rows, W)


@inlined
def _add_weighted(
    values: Floats,
    block: tuple[int, int],
    J: Floats,
    left: tuple[int, int, int],
    right: tuple[int, int, int],
    count: int,
    law: Floats,
) -> None:
    """Block += J_left^T W J_right, for n rows of each.

    block: its first word, and its width
    left, right: the first row of J, and the range of its columns that are not zero
    """
    for r in range(count):
        for i in range(left[1], left[2]):
            weight = 0.0
            for k in range(count):
                weight += J[left[0] + k, i] * law[3 * k + r]
            for j in range(right[1], right[2]):
                values[block[0] + block[1] * i + j] += weight * J[right[0] + r, j]


@kernel
def _add_moments(scene: SparseView, island: Any) -> None:
    """What moments add to J^T W J, alone and with the impulses of their contacts."""
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        if j < 0:
            continue
        for row in range(6):
            for column in range(6):
                if row < 3 and column < 3:
                    continue  # the contact's own
                weight = scene.law[j, 6 * row + column]
                if weight != 0.0:
                    left = (i, row) if row < 3 else (j, row - 3)
                    right = (i, column) if column < 3 else (j, column - 3)
                    _add_product(scene, left, right, weight)


@inlined
def _add_product(
    scene: SparseView, left: tuple[int, int], right: tuple[int, int], weight: float
) -> None:
    """Factor's blocks += weight J_left^T J_right, for one row each of the same trees."""
    c, d = scene.constraints[left[0]], scene.constraints[right[0]]
    for side in range(2 if c.b >= 0 else 1):
        a = scene.trees[c.b if side else c.a]
        own = 6 * left[0] + 3 * side + left[1]
        for other in range(2 if c.b >= 0 else 1):
            b = scene.trees[c.b if other else c.a]
            to = 6 * right[0] + 3 * other + right[1]
            at = scene.block[a.node, b.node]
            for r in range(c.first[side], c.last[side]):
                for k in range(d.first[other], d.last[other]):
                    scene.factor[at + b.nv * r + k] += weight * scene.J[own, r] * scene.J[to, k]


@inlined
def _times_mass(scene: SparseView, island: Any, v: Floats, out: Floats) -> None:
    """out = M v of the island's trees."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for i in range(tree.nv):
            total = 0.0
            for j in range(tree.nv):
                total += scene.masses[tree.mass_at + tree.nv * i + j] * v[tree.first + j]
            out[tree.first + i] = total


@kernel
def _direct(scene: SparseView, island: Any) -> None:
    """Newton's step -(M + J^T W J)^-1 M off."""
    _times_mass(scene, island, scene.off, scene.step)
    substitute(scene, island, scene.step)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.step[j] = -scene.step[j]
            scene.start[j] = scene.v[j]


@inlined
def _slope(scene: SparseView, island: Any) -> float:
    """step^T M off: the slope of what is minimised, where the slip is held."""
    total = 0.0
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for i in range(tree.nv):
            row = tree.mass_at + tree.nv * i
            for j in range(tree.nv):
                total += (
                    scene.step[tree.first + i] * scene.masses[row + j] * scene.off[tree.first + j]
                )
    return total


@inlined
def _go(scene: SparseView, island: Any, part: float) -> None:
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.v[j] = scene.start[j] + part * scene.step[j]


@kernel
def _search(scene: SparseView, island: Any, cone: int, polygon: Records, penalty: float) -> float:
    """Go along Newton's step until the slope has fallen enough; returns the miss there [m/s]."""
    # The slope falls along the way, but not evenly: the law has kinks
    first = _slope(scene, island)
    low, low_slope = 0.0, first
    high, high_slope = 0.0, 0.0
    part = 1.0
    off = math.inf
    for _ in range(LINE):
        _go(scene, island, part)
        off = _miss(scene, island, cone, polygon, penalty)
        slope = _slope(scene, island)
        # Far enough: half of the slope is gone, or the full step does not overshoot
        if abs(slope) <= 0.5 * abs(first) or (part == 1.0 and slope <= 0.0):
            break
        # The root lies between `low` and `high`: false position, kept off both ends
        if slope > 0.0:
            high, high_slope = part, slope
        else:
            low, low_slope = part, slope
        if high == 0.0:
            break
        share = low_slope / (low_slope - high_slope) if low_slope < high_slope else 0.5
        part = low + min(max(share, 0.1), 0.9) * (high - low)
    return off
