"""Proximal multipliers with the bodies' sparse matrix: the solver of large islands.

The method is that of `dynenvs.contact.solvers.rounds`, with the trees' own velocities v, and a
sparse factor of M + J^T W J (`factor.py`).
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.law.dry import project_dry
from dynenvs.contact.law.moments import project_moments
from dynenvs.contact.solvers.projection import project_contact
from dynenvs.contact.solvers.rounds import ENOUGH, Stiffness, Ways, rounds
from dynenvs.contact.sparse.factor import factorise, substitute
from dynenvs.contact.sparse.island_problem import (
    IslandProblem,
    contact_coefficients,
    contact_impulses,
    contact_velocities,
    copy_impulses,
    respond,
    update_velocities,
)
from dynenvs.contact.sparse.problem import moved_rows, row_velocities
from dynenvs.contact.sparse.rounding import is_good
from dynenvs.contact.sparse.sweeps import sweep
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import DRY
from dynenvs.memory.sparse_view import SparseView

POOR = 1e-3  # residual above which a start is worth so little that sweeps come first
STIFFNESS = Stiffness(1e6, 1e7, 1.5)


@kernel
def multiply(problem: IslandProblem, residual: float, sweeps: int, budget: int) -> float:
    """Rounds of multipliers from `p`, whose residual is given, until they gain nothing more.

    `p` ends as the best that was met; returns its residual.
    """
    # From far away: sweeps first
    if residual > POOR:
        sweep(problem.scene, problem.island[0], problem.cone, problem.polygon, sweeps)
        residual = update_velocities(problem)
    spent = problem.island[0].newtons
    residual, spent = rounds(problem, WAYS, residual, STIFFNESS, ENOUGH, spent, budget)
    problem.island[0].newtons = spent
    return residual


@inlined
def _copy(problem: IslandProblem, source: Floats, target: Floats) -> None:
    copy_impulses(problem.scene, problem.island[0], source, target)


@inlined
def _reach(problem: IslandProblem, times: float) -> None:
    scene, island = problem.scene, problem.island[0]
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        for r in range(3):
            scene.p[i, r] = scene.held[i, r] + times * (scene.p[i, r] - scene.held[i, r])
            if j >= 0:
                scene.p[j, r] = scene.held[j, r] + times * (scene.p[j, r] - scene.held[j, r])


@inlined
def _begin(problem: IslandProblem, far: bool) -> None:
    """Slips that are held, or -1; v is that of the impulses at hand."""
    scene, island = problem.scene, problem.island[0]
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        scene.slip[i] = -1.0
        if far:
            c = scene.constraints[i]
            scene.slip[i] = c.friction * c.slip + (c.turning if c.moments >= 0 else 0.0)


@kernel
def _miss(problem: IslandProblem, penalty: float) -> float:
    """Impulses `trial` of the law at v, W, and by how much v misses what they give [m/s].

    `off` = v - v_free - M^-1 J^T trial; returns the largest velocity that it gives a row.
    """
    scene, island, cone, polygon = problem.scene, problem.island[0], problem.cone, problem.polygon
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
        worst = max(worst, _largest_of(moved_rows(scene, i, scene.off)))
        j = scene.constraints[i].moments
        if j >= 0:
            worst = max(worst, _largest_of(moved_rows(scene, j, scene.off)))
    return worst


@inlined
def _largest_of(three: Three) -> float:
    return max(abs(three[0]), abs(three[1]), abs(three[2]))


@inlined
def _project_moments(scene: SparseView, index: int, rho: float, held: float) -> None:
    """The law of contact `index` and its moments into `trial`, `law` and `W`."""
    c = scene.constraints[index]
    j = c.moments
    D, u, p = scene.law[j], contact_velocities(scene, index), contact_impulses(scene, index)
    # Three rows of the contact, three of its moments; each has its part of the derivative
    q = project_moments(contact_coefficients(scene, index), c.compression, rho, p, u, held, D)
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
    if count == 3:
        _add_weighted_three(values, block, J, left, right, law)
        return
    for r in range(count):
        for i in range(left[1], left[2]):
            weight = 0.0
            for k in range(count):
                weight += J[left[0] + k, i] * law[3 * k + r]
            for j in range(right[1], right[2]):
                values[block[0] + block[1] * i + j] += weight * J[right[0] + r, j]


@inlined
def _add_weighted_three(
    values: Floats,
    block: tuple[int, int],
    J: Floats,
    left: tuple[int, int, int],
    right: tuple[int, int, int],
    law: Floats,
) -> None:
    """The same of three rows, in one go over the block: it is loaded and stored once."""
    r = right[0]
    for i in range(left[1], left[2]):
        a, b, c = J[left[0], i], J[left[0] + 1, i], J[left[0] + 2, i]
        x = a * law[0] + b * law[3] + c * law[6]
        y = a * law[1] + b * law[4] + c * law[7]
        z = a * law[2] + b * law[5] + c * law[8]
        row = block[0] + block[1] * i
        for j in range(right[1], right[2]):
            values[row + j] = values[row + j] + x * J[r, j] + y * J[r + 1, j] + z * J[r + 2, j]


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
def _four_of_mass(
    scene: SparseView, tree: Any, row: int, v: Floats
) -> tuple[float, float, float, float]:
    """Entries row, ..., row + 3 of M v, as far as the tree has them.

    Side by side, since each sum waits for its last addition.
    """
    n, M, at = tree.nv, scene.masses, tree.mass_at + tree.nv * row
    b, c, d = n * min(1, n - 1 - row), n * min(2, n - 1 - row), n * min(3, n - 1 - row)
    x, y, z, t = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        value = v[tree.first + j]
        x += M[at + j] * value
        y += M[at + b + j] * value
        z += M[at + c + j] * value
        t += M[at + d + j] * value
    return x, y, z, t


@inlined
def _times_mass(scene: SparseView, island: Any, v: Floats, out: Floats) -> None:
    """out = M v of the island's trees."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for i in range(0, tree.nv, 4):
            four = _four_of_mass(scene, tree, i, v)
            for j in range(min(4, tree.nv - i)):
                out[tree.first + i + j] = four[j]


@kernel
def _direct(problem: IslandProblem) -> bool:
    """Newton's step -(M + J^T W J)^-1 M off; False where it has none."""
    scene, island = problem.scene, problem.island[0]
    assemble(scene, island)
    if island.moments != 0:
        _add_moments(scene, island)
    if not factorise(scene, island):
        return False
    _times_mass(scene, island, scene.off, scene.step)
    substitute(scene, island, scene.step)
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.step[j] = -scene.step[j]
            scene.start[j] = scene.v[j]
    return True


@inlined
def _slope(problem: IslandProblem) -> float:
    """step^T M off."""
    scene, island = problem.scene, problem.island[0]
    total = 0.0
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for i in range(0, tree.nv, 4):
            four = _four_of_mass(scene, tree, i, scene.off)
            for j in range(min(4, tree.nv - i)):
                total += scene.step[tree.first + i + j] * four[j]
    return total


@inlined
def _go(problem: IslandProblem, part: float) -> None:
    scene, island = problem.scene, problem.island[0]
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            scene.v[j] = scene.start[j] + part * scene.step[j]


WAYS = Ways(update_velocities, is_good, _copy, _reach, _begin, _miss, _direct, _slope, _go)
