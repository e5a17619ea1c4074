"""Small islands by the dense ladder: before the multipliers, or where these do not suffice.

The Delassus matrix of a few contacts is small.  Newton's method on contact modes is then the
quickest way to an answer that is exact to rounding; the central path, Lemke's method and the cones'
own find answers where bodies are wedged or touch nearly along a line, which is hard on multipliers.
(`dynenvs.contact.solve`.)
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.memory import AT_BOUND
from dynenvs.contact.solve import QUICK, solve_rows, solve_with_compression
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK
from dynenvs.contact.sparse.island_problem import copy_impulses, open_island, update_velocities
from dynenvs.contact.sparse.problem import predicted_velocity
from dynenvs.jit.compiled import inlined, unit
from dynenvs.lcp.solve import CERTIFIED
from dynenvs.memory.layout import Floats, WorkView, WorldView, cone_of
from dynenvs.memory.records import DRY
from dynenvs.memory.sparse_view import SparseView

DONE, NOT_DONE = 0, 1


@unit("sparse", seconds=19)
def solve_small(w: WorldView, number: int, stages: int) -> int:
    """Solve island `number` densely; DONE if that is certified, and better than what `p` holds.

    stages: QUICK, INSIDE or ALL of the dense stages
    `scene.p` and the island's residual are then of that answer; else they stay.
    """
    scene = w.scene
    island, cone = scene.islands[number], cone_of(w)
    # No room in the dense arrays: the island is none of theirs
    if island.count > w.blocks.shape[0] or _count_rows(scene, island) > w.G.shape[0]:
        return NOT_DONE
    # The island as a dense problem
    rows = _list_blocks(scene, island, w)
    _fill(scene, island, w)
    n, scale = island.count, island.scale
    if has_compression(scene, island):
        done = solve_with_compression(w, n, rows, cone, scale)
    else:
        done = solve_rows(w, n, rows, cone, stages, 0, scale)
    # The quick methods only promise what they have certified
    if stages == QUICK and done != CERTIFIED:
        return NOT_DONE
    # Certified again by velocities of the trees: the dense ones carry the rounding of G
    _exchange(scene, island, w)
    residual = update_velocities(open_island(w, number))
    if residual < island.residual:
        island.residual = residual
        return DONE
    copy_impulses(scene, island, scene.best, scene.p)
    update_velocities(open_island(w, number))
    return NOT_DONE


@inlined
def _exchange(scene: SparseView, island: Any, w: WorkView) -> None:
    """Impulses of the rows into `p`; what stood there is kept in `best`."""
    for k in range(island.count):
        i = scene.members[island.first + k]
        _exchange_rows(scene, i, w, w.blocks[k].row)
        j = scene.constraints[i].moments
        if j >= 0:
            _exchange_rows(scene, j, w, w.blocks[k].row + scene.constraints[i].rows)


@inlined
def _exchange_rows(scene: SparseView, index: int, w: WorkView, first: int) -> None:
    for r in range(3):
        scene.best[index, r] = scene.p[index, r]
        scene.p[index, r] = w.impulse_row[first + r] if r < scene.constraints[index].rows else 0.0


@inlined
def _list_blocks(scene: SparseView, island: Any, w: WorkView) -> int:
    """The island's constraints as blocks; returns the number of their rows."""
    r = 0
    for k in range(island.count):
        i = scene.members[island.first + k]
        c, block = scene.constraints[i], w.blocks[k]
        # A block for each constraint; moments follow their contact's rows
        block.row, block.tangents, block.friction = r, c.rows - 1, c.friction
        block.compression, block.corners, block.dry = c.compression, 0, 0
        block.mode = STICK if scene.p[i, 0] > 0.0 else OPEN
        # Dry joints start at the bound at which they were
        if c.contact == DRY:
            block.dry, block.mode = 1, STICK
            if abs(scene.p[i, 0]) >= AT_BOUND * c.compression:
                block.mode = SLIP if scene.p[i, 0] > 0.0 else SLIP + 1
        r += c.rows
        block.moments, block.spin, block.roll = 0, 0.0, 0.0
        if c.moments >= 0:
            d = scene.constraints[c.moments]
            block.moments, block.spin = d.rows, d.friction
            block.roll = d.roll if d.rows == 3 else 0.0
            r += d.rows
    return r


@inlined
def _count_rows(scene: SparseView, island: Any) -> int:
    """Of the island's constraints, moments included."""
    rows = 0
    for k in range(island.first, island.first + island.count):
        c = scene.constraints[scene.members[k]]
        rows += c.rows
        if c.moments >= 0:
            rows += scene.constraints[c.moments].rows
    return rows


@inlined
def has_compression(scene: SparseView, island: Any) -> bool:
    """Whether friction is bounded by more than the unknown impulses (Poisson's law of impact)."""
    for k in range(island.first, island.first + island.count):
        c = scene.constraints[scene.members[k]]
        if c.compression > 0.0 and c.contact != DRY:
            return True
    return False


@inlined
def _fill(scene: SparseView, island: Any, w: WorkView) -> None:
    """The island's Delassus matrix J Z^T, and the predicted velocities of its rows."""
    w.answer[0].rooted = 0
    for k in range(island.count):
        i = scene.members[island.first + k]
        first = w.blocks[k].row
        _fill_rows(scene, island, w, i, first, k)
        j = scene.constraints[i].moments
        if j >= 0:
            _fill_rows(scene, island, w, j, first + scene.constraints[i].rows, k)


@inlined
def _fill_rows(
    scene: SparseView, island: Any, w: WorkView, index: int, first: int, block: int
) -> None:
    """Those of constraint `index` of a block, from the row `first` on, and their columns.

    Up to that block, since G is symmetric.  Dry joints come last: they move a coordinate each.
    """
    for a in range(scene.constraints[index].rows):
        row = first + a
        w.bias_row[row] = predicted_velocity(scene, index, a)
        w.impulse_row[row] = scene.p[index, a]  # where Newton's method on moments begins
        for other in range(block + 1):
            j = scene.members[island.first + other]
            at, m = w.blocks[other].row, scene.constraints[j].moments
            _couple(scene, index, a, j, w.G, row, at)
            if m >= 0:
                _couple(scene, index, a, m, w.G, row, at + scene.constraints[j].rows)


@inlined
def _couple(
    scene: SparseView, index: int, a: int, second: int, G: Floats, row: int, first: int
) -> None:
    """Fill `row` of G, of row `a` of constraint `index`, at the rows of a second one, and back.

    J of one constraint times Z of the other, over the trees that they share.
    """
    c, d = scene.constraints[index], scene.constraints[second]
    x, y, z = 0.0, 0.0, 0.0
    for side in range(2):
        own = c.b if side else c.a
        for other_side in range(2):
            if own < 0 or own != (d.b if other_side else d.a):
                continue
            # Its three rows side by side: each sum waits for its last addition
            at = 6 * second + 3 * other_side
            for k in range(c.first[side], c.last[side]):
                left = scene.J[6 * index + 3 * side + a, k]
                x += left * scene.Z[at, k]
                y += left * scene.Z[at + 1, k]
                z += left * scene.Z[at + 2, k]
    for b in range(d.rows):
        effect = x if b == 0 else (y if b == 1 else z)
        G[row, first + b] = G[first + b, row] = effect
