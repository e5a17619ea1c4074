"""What the sparse solver works on, within the workspace.

A tree is a free body, or a robot with all its bodies; what stands still belongs to none.  Vectors
of velocities are ordered by trees here: entry `tree.first + k` is the tree's k-th coordinate.
A constraint is a contact (normal and tangents: 1 to 3 rows), a joint limit in reach (1 row) or a
dry joint, and acts on one tree or on two: side 0 and side 1.

Counts: nconstraints at most, ntrees trees, nv coordinates, widest: those of the largest tree.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.handles import Handle, array
from dynenvs.memory.records import CONSTRAINT, ELIMINATED, ISLAND, TREE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

_work = partial(array, "work", when="sparse")
f8, i8 = np.float64, np.int64


# fmt: off
class SparseView(Handle, buffers=("model", "work")):
    """Trees, the constraints between them, and the islands that these make of them."""

    trees: Records = _work(TREE, "ntrees", what="every tree")
    constraints: Records = _work(CONSTRAINT, "nconstraints", what="constraints of the step")
    islands: Records = _work(ISLAND, "ntrees + 1",
        what="islands; the last is what one contact alone joins")
    members: Ints = _work(i8, "nconstraints", what="constraints, island by island")
    trees_of: Ints = _work(i8, "ntrees + 2",
        what="trees, island by island, in the order of elimination")
    masses: Floats = _work(f8, "nv * widest", what="the trees' mass matrices, one after the other")
    J: Floats = _work(f8, "6 * nconstraints", "widest",
        what="Jacobian of row r of side s of constraint k in row 6 k + 3 s + r")
    Z: Floats = _work(f8, "6 * nconstraints", "widest", what="J M^-1")
    G: Floats = _work(f8, "nconstraints", "9",
        what="J M^-1 J^T of each constraint alone, row by row")
    W: Floats = _work(f8, "nconstraints", "9",
        what="derivative of the impulse by the velocity, row by row")
    bias: Floats = _work(f8, "nconstraints", "3", what="right-hand side [m/s]")
    p: Floats = _work(f8, "nconstraints", "3", what="impulses [N s]")
    best: Floats = _work(f8, "nconstraints", "3", what="the best impulses so far [N s]")
    held: Floats = _work(f8, "nconstraints", "3",
        what="impulses after the last round that was solved [N s]")
    kept: Floats = _work(f8, "nconstraints", "3", what="what an earlier attempt ended with [N s]")
    inelastic: Floats = _work(f8, "nconstraints", "3",
        what="impulses of an impact without restitution [N s]")
    trial: Floats = _work(f8, "nconstraints", "3",
        what="impulses that the law gives at a trial velocity [N s]")
    path: Floats = _work(f8, "8", "nconstraints * (2 + directions)",
        what="of the interior-point method: 8 entries for each variable of the LCP")
    eliminated: Records = _work(ELIMINATED, "nconstraints",
        what="what elimination keeps of each contact")
    slip: Floats = _work(f8, "nconstraints",
        what="mu times the slip, where it is held for a round [m/s]")
    free: Floats = _work(f8, "nv", what="velocity without impulses, ordered by trees")
    before: Floats = _work(f8, "nv", what="of an impact: the velocity before it")
    v: Floats = _work(f8, "nv", what="the trial velocity")
    off: Floats = _work(f8, "nv", what="by which it misses what its impulses give")
    step: Floats = _work(f8, "nv", what="Newton's step")
    start: Floats = _work(f8, "nv", what="the velocity before a line search")
    coordinates: Ints = _work(i8, "nv", what="the model's coordinate of each entry")
    swaps: Ints = _work(i8, "nv",
        what="row that was exchanged with each one of the factor's diagonal blocks")
    block: Ints = _work(i8, "ntrees", "ntrees",
        what="first word of the factor's block of a row's and a column's node, or -1")
    later: Ints = _work(i8, "ntrees", "ntrees",
        what="nodes coupled with each node that come after it")
    laters: Ints = _work(i8, "ntrees", what="how many these are")
    degree: Ints = _work(i8, "ntrees", what="scratch")
    # Always enough for 300 free bodies, and for each coordinate of larger scenes 2,000 words more
    factor: Floats = _work(f8, "min(nv * nv, 4_000_000 + 2_000 * nv)", what="blocks of the factor")
    law: Floats = array("work", f8, "nconstraints", "36", when="moments",
        what="derivative of a contact's impulse and moments by velocities and turns, row by row, "
        "by the moments' constraint")
# fmt: on
