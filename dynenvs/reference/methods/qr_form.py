"""Accurate form: Householder QR of sorted rows and columns (docs/theory.md, Accurate form).

The rows of the orthogonal complement P (`complement.py`) are sorted by size, largest first, and
P E = Q R with column pivoting E; then R^T R E^T qdd = E^T (tau - h).  So ordered, the reflections
treat heavy and light rows each to their own precision (Powell and Reid 1969; Cox and Higham 1998).

Cost: O(n^3): 6 n rows, 2 (6 n) n^2 multiplications.
Digits: M^-1 acts with errors near eps whatever the ratio of the masses.  What the right-hand side
has lost already does not come back: h holds a heavy body's weight and centrifugal force rounded
to eps of themselves, and where joints are coaxial but not along coordinate axes a light body
feels that difference.
"""

from __future__ import annotations

import numpy as np

from dynenvs.reference.methods.complement import complement
from dynenvs.reference.methods.dense import householder, solve_lower, solve_upper
from dynenvs.reference.methods.newton_euler import bias_forces
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree


def qr_form(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    P = complement(tree)
    sizes = np.array([float(max(abs(x) for x in row)) for row in P])
    R, _, order = householder(P[np.argsort(-sizes, kind="stable")], tree.scalars, pivot=True)
    qdd = tree.scalars.zeros(tree.nv)
    qdd[order] = solve_upper(R, solve_lower(R.T, (tree.tau - bias_forces(tree))[order]))
    return qdd
