"""Islands: trees that touch each other, directly or through others; the ground does not connect.

What stands apart is solved apart: the work grows with the largest island, not with the scene.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Ints, Records
from dynenvs.memory.sparse_view import SparseView


@kernel
def find_islands(x: SparseView, n: int) -> int:
    """Sort n constraints and their trees into islands; returns the number of islands.

    Islands stand in the order of their first tree, their constraints in the order of all: the same
    contacts give the same islands, bit for bit.  Trees that nothing touches belong to none.
    """
    nt = x.trees.shape[0]
    for t in range(nt):
        x.trees[t].above, x.trees[t].island = t, -1
    for i in range(n):
        c = x.constraints[i]
        if c.b >= 0:
            a, b = _top(x.trees, c.a), _top(x.trees, c.b)
            x.trees[max(a, b)].above = min(a, b)
    islands = integer(0)
    for i in range(n):  # tops of trees that are touched
        x.trees[_top(x.trees, x.constraints[i].a)].island = 0
    for t in range(nt):
        top = _top(x.trees, t)
        if x.trees[top].island < 0:
            continue
        if top == t:
            x.trees[t].island = islands
            x.islands[islands].count = x.islands[islands].trees = 0
            islands += 1
        else:
            x.trees[t].island = x.trees[top].island
        x.islands[x.trees[t].island].trees += 1
    _sort(x, n, islands)
    return islands


@inlined
def _top(trees: Records, t: int) -> int:
    """The first tree of the island of tree t, as far as it is known."""
    while trees[t].above != t:
        trees[t].above = trees[trees[t].above].above
        t = trees[t].above
    return t


@inlined
def _sort(x: SparseView, n: int, islands: int) -> None:
    """Fill `members` and `trees_of`, island by island."""
    for i in range(n):
        x.islands[x.trees[x.constraints[i].a].island].count += 1
    first, first_tree = integer(0), integer(0)
    for k in range(islands):
        island = x.islands[k]
        island.first, island.first_tree = first, first_tree
        first += island.count
        first_tree += island.trees
        island.count = island.trees = 0
    for i in range(n):
        island = x.islands[x.trees[x.constraints[i].a].island]
        _append(x.members, island.first + island.count, i)
        island.count += 1
    for t in range(x.trees.shape[0]):
        if x.trees[t].island >= 0:
            island = x.islands[x.trees[t].island]
            _append(x.trees_of, island.first_tree + island.trees, t)
            island.trees += 1


@inlined
def _append(values: Ints, at: int, value: int) -> None:
    values[at] = value
