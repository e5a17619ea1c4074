"""LU factors of A = M + J^T W J of an island, block by block: a block is a pair of trees.

Trees are eliminated by minimum degree (George and Liu, The evolution of the minimum degree ordering
algorithm, 1989): a wall's or a heap's factor stays nearly as sparse as the graph of its contacts.
The coupling of slip makes W unsymmetric: rows are exchanged within the diagonal blocks.

Blocks stand row by row in `SparseView.factor`.  After elimination of node k the blocks of its
column hold what they were, those of its row D_k^-1 times what they were.
"""

from __future__ import annotations

from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, Ints
from dynenvs.memory.sparse_view import SparseView


@kernel
def order_trees(scene: SparseView, island: Any) -> bool:
    """Order an island's trees, and place the blocks of its factor; False if there is no room."""
    # No blocks yet: what couples trees joins them
    n, first = island.trees, island.first_tree
    for a in range(n):
        scene.trees[scene.trees_of[first + a]].node = a
        scene.degree[a] = scene.laters[a] = 0
        for b in range(n):
            scene.block[a, b] = -1
    # Each constraint between two trees makes their blocks, one to each side
    for k in range(island.first, island.first + island.count):
        c = scene.constraints[scene.members[k]]
        if c.b >= 0:
            _join(scene, scene.trees[c.a].node, scene.trees[c.b].node)
    _eliminate(scene, n)
    # `trees_of` in the order found; `laters` holds each node's place in it
    for a in range(n):
        scene.trees[scene.trees_of[first + a]].node = scene.degree[a]
    for a in range(n):
        while scene.trees[scene.trees_of[first + a]].node != a:
            b = scene.trees[scene.trees_of[first + a]].node
            t = scene.trees_of[first + b]
            scene.trees_of[first + b] = scene.trees_of[first + a]
            scene.trees_of[first + a] = t
    return _place_blocks(scene, island)


@inlined
def _join(scene: SparseView, first: int, second: int) -> None:
    if first != second and scene.block[first, second] < 0:
        scene.block[first, second] = scene.block[second, first] = 0
        scene.degree[first] += 1
        scene.degree[second] += 1


@inlined
def _eliminate(scene: SparseView, trees: int) -> None:
    """Take out the node with fewest neighbours, join these, and so on.

    `later[k]` lists the old numbers of the neighbours of the k-th node that is taken; `degree` ends
    as the place of each old node.
    """
    # Minimum degree: of those left the one with the fewest neighbours goes first
    taken = -2  # in `block` of a node with itself: it has gone
    for place in range(trees):
        k = -1
        for a in range(trees):
            if scene.block[a, a] > taken and (k < 0 or scene.degree[a] < scene.degree[k]):
                k = a
        # Its neighbours that are left
        count = 0
        for a in range(trees):
            if a != k and scene.block[k, a] == 0 and scene.block[a, a] > taken:
                scene.later[place, count] = a
                count += 1
        scene.laters[place] = count
        scene.block[k, k] = taken
        # Without it they are all neighbours of each other: its Schur complement fills their blocks
        for i in range(count):
            a = scene.later[place, i]
            scene.degree[a] -= 1
            for j in range(i):
                _join(scene, a, scene.later[place, j])
        scene.degree[k] = place


@inlined
def _place_blocks(scene: SparseView, island: Any) -> bool:
    """Numbers of nodes in place of old ones in `later`, and each block's first word."""
    n, first = island.trees, island.first_tree
    for a in range(n):
        for b in range(n):
            scene.block[a, b] = -1
    # A node's diagonal block, then the two to each later neighbour
    at = integer(0)
    for k in range(n):
        size = scene.trees[scene.trees_of[first + k]].nv
        scene.block[k, k] = at
        at += size * size
        for i in range(scene.laters[k]):
            a = scene.degree[scene.later[k, i]]
            scene.later[k, i] = a
            words = size * scene.trees[scene.trees_of[first + a]].nv
            scene.block[k, a], scene.block[a, k] = at, at + words
            at += 2 * words
    island.words = at
    return bool(at <= scene.factor.shape[0])


@kernel
def factorise(scene: SparseView, island: Any) -> bool:
    """Factors of the matrix in `factor`, in place; False if a pivot is zero."""
    n, first, F = island.trees, island.first_tree, scene.factor
    # Node by node: its own block, those of its row, and the Schur complement
    for k in range(n):
        tree = scene.trees[scene.trees_of[first + k]]
        size, D = tree.nv, scene.block[k, k]
        if not _factorise_block(F, D, size, scene.swaps, tree.first):
            return False
        # The row: D^-1 times what couples it with later ones
        for j in range(scene.laters[k]):
            a = scene.later[k, j]
            columns = scene.trees[scene.trees_of[first + a]].nv
            _divide_block(F, D, size, scene.swaps, tree.first, scene.block[k, a], columns)
        # The complement, from all pairs of its neighbours
        for i in range(scene.laters[k]):
            a = scene.later[k, i]
            rows = scene.trees[scene.trees_of[first + a]].nv
            for j in range(scene.laters[k]):
                b = scene.later[k, j]
                columns = scene.trees[scene.trees_of[first + b]].nv
                target, left, right = scene.block[a, b], scene.block[a, k], scene.block[k, b]
                if rows == 6 and size == 6 and columns == 6:  # free bodies: known lengths unroll
                    _subtract_product(F, target, left, right, 6, 6, 6)
                else:
                    _subtract_product(F, target, left, right, rows, size, columns)
    return True


@inlined
def _factorise_block(values: Floats, diagonal: int, count: int, swaps: Ints, first: int) -> bool:
    """LU of a diagonal block, inverse pivots on the diagonal; row k was exchanged with `swaps`."""
    # Partial pivoting within the block
    for k in range(count):
        best = k
        for i in range(k + 1, count):
            if abs(values[diagonal + count * i + k]) > abs(values[diagonal + count * best + k]):
                best = i
        swaps[first + k] = best
        _swap(values, diagonal, count, k, best)
        pivot = values[diagonal + count * k + k]
        if not abs(pivot) > 0.0:  # NaN too
            return False
        inverse = 1.0 / pivot
        values[diagonal + count * k + k] = inverse
        for i in range(k + 1, count):
            ratio = values[diagonal + count * i + k] * inverse
            values[diagonal + count * i + k] = ratio
            for j in range(k + 1, count):
                values[diagonal + count * i + j] -= ratio * values[diagonal + count * k + j]
    return True


@inlined
def _swap(values: Floats, block: int, columns: int, first: int, second: int) -> None:
    """Exchange two rows of a block."""
    if first != second:
        for j in range(columns):
            value = values[block + columns * first + j]
            values[block + columns * first + j] = values[block + columns * second + j]
            values[block + columns * second + j] = value


@inlined
def _divide_block(
    values: Floats, diagonal: int, count: int, swaps: Ints, first: int, block: int, columns: int
) -> None:
    """block <- diagonal^-1 block"""
    # The same exchanges of rows, then the two triangular factors
    for k in range(count):
        _swap(values, block, columns, k, swaps[first + k])
    for i in range(count):
        for k in range(i):
            ratio = values[diagonal + count * i + k]
            for j in range(columns):
                values[block + columns * i + j] -= ratio * values[block + columns * k + j]
    # U^-1, from the last row up; pivots are inverse already
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            ratio = values[diagonal + count * i + k]
            for j in range(columns):
                values[block + columns * i + j] -= ratio * values[block + columns * k + j]
        inverse = values[diagonal + count * i + i]
        for j in range(columns):
            values[block + columns * i + j] *= inverse


@inlined
def _subtract_product(
    values: Floats, target: int, left: int, right: int, rows: int, inner: int, columns: int
) -> None:
    """target <- target - left right"""
    for i in range(rows):
        for k in range(inner):
            value = values[left + inner * i + k]
            for j in range(columns):
                values[target + columns * i + j] -= value * values[right + columns * k + j]


@kernel
def substitute(scene: SparseView, island: Any, right: Floats) -> None:
    """right <- A^-1 right, ordered by trees, for the island's trees."""
    n, first, F = island.trees, island.first_tree, scene.factor
    # Forward through the columns, which hold what they were
    for k in range(n):
        tree = scene.trees[scene.trees_of[first + k]]
        _solve_block(F, scene.block[k, k], tree.nv, scene.swaps, right, tree.first)
        for i in range(scene.laters[k]):
            a = scene.later[k, i]
            other = scene.trees[scene.trees_of[first + a]]
            _subtract_applied(
                F, scene.block[a, k], other.nv, tree.nv, right, tree.first, other.first
            )
    # Back through the rows, which hold D^-1 times it
    for k in range(n - 1, -1, -1):
        tree = scene.trees[scene.trees_of[first + k]]
        for i in range(scene.laters[k]):
            a = scene.later[k, i]
            other = scene.trees[scene.trees_of[first + a]]
            _subtract_applied(
                F, scene.block[k, a], tree.nv, other.nv, right, other.first, tree.first
            )


@inlined
def _solve_block(
    values: Floats, diagonal: int, count: int, swaps: Ints, right: Floats, at: int
) -> None:
    # Exchanges, L, then U with its inverse pivots
    for k in range(count):
        _swap(right, at, 1, k, swaps[at + k])
    for i in range(count):
        value = right[at + i]
        for k in range(i):
            value -= values[diagonal + count * i + k] * right[at + k]
        right[at + i] = value
    for i in range(count - 1, -1, -1):
        value = right[at + i]
        for k in range(i + 1, count):
            value -= values[diagonal + count * i + k] * right[at + k]
        right[at + i] = value * values[diagonal + count * i + i]


@inlined
def _subtract_applied(
    values: Floats, block: int, rows: int, columns: int, right: Floats, source: int, target: int
) -> None:
    """right[target:] <- right[target:] - block right[source:]"""
    for i in range(rows):
        value = 0.0
        for k in range(columns):
            value += values[block + columns * i + k] * right[source + k]
        right[target + i] -= value
