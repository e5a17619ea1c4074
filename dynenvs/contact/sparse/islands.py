"""Islands: trees that touch each other, directly or through others; the ground does not connect.

Islands are solved separately: the work grows with the largest island, not with the scene.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Ints, Records
from dynenvs.memory.sparse_view import SparseView


@kernel
def find_islands(scene: SparseView, count: int) -> int:
    """Sort `count` constraints and their trees into islands; returns the number of islands.

    Islands stand in the order of their first tree, their constraints in the order of all: the same
    contacts give the same islands, bit for bit.  Trees that nothing touches belong to none.
    """
    nt = scene.trees.shape[0]
    # Each tree is an island of its own, until a constraint joins two
    for t in range(nt):
        scene.trees[t].above, scene.trees[t].island = t, -1
    for i in range(count):
        c = scene.constraints[i]
        if c.b >= 0:
            a, b = _top(scene.trees, c.a), _top(scene.trees, c.b)
            scene.trees[max(a, b)].above = min(a, b)
    # Numbers in the order of first trees; those that nothing touches have none
    islands = integer(0)
    for i in range(count):  # tops of trees that are touched
        scene.trees[_top(scene.trees, scene.constraints[i].a)].island = 0
    for t in range(nt):
        top = _top(scene.trees, t)
        if scene.trees[top].island < 0:
            continue
        if top == t:
            scene.trees[t].island = islands
            scene.islands[islands].count = scene.islands[islands].trees = 0
            islands += 1
        else:
            scene.trees[t].island = scene.trees[top].island
        scene.islands[scene.trees[t].island].trees += 1
    _sort(scene, count, islands)
    return islands


@inlined
def _top(trees: Records, tree: int) -> int:
    """The first tree of the island of `tree`, as far as it is known."""
    while trees[tree].above != tree:
        # Paths are halved on the way: all later searches are short
        trees[tree].above = trees[trees[tree].above].above
        tree = trees[tree].above
    return tree


@inlined
def _sort(scene: SparseView, count: int, islands: int) -> None:
    """Fill `members` and `trees_of`, island by island."""
    # How many there are of each, then where each begins
    for i in range(count):
        scene.islands[scene.trees[scene.constraints[i].a].island].count += 1
    first, first_tree = integer(0), integer(0)
    for k in range(islands):
        island = scene.islands[k]
        island.first, island.first_tree = first, first_tree
        first += island.count
        first_tree += island.trees
        island.count = island.trees = 0
    # Filled in the order of all constraints and trees, whatever joined them
    for i in range(count):
        island = scene.islands[scene.trees[scene.constraints[i].a].island]
        _append(scene.members, island.first + island.count, i)
        island.count += 1
    for t in range(scene.trees.shape[0]):
        if scene.trees[t].island >= 0:
            island = scene.islands[scene.trees[t].island]
            _append(scene.trees_of, island.first_tree + island.trees, t)
            island.trees += 1


@inlined
def _append(values: Ints, at: int, value: int) -> None:
    values[at] = value
