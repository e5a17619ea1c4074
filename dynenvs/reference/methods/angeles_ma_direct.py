"""Second method of Angeles and Ma (1988; Cloutier 1995, section 3.1.2, eqs. 3.3 and 3.4).

M is not formed: P^T y = tau - h is solved with the smallest y, then P qdd = y by least squares.
With P = Q R, y = Q R^-T (tau - h) and qdd = R^-1 Q^T y.

Cost: O(n^3) with a larger constant than the first method (6 n rows).
Digits: cond(P) = sqrt(cond(M)) decides where rows are of one size.  Householder's reflections mix
heavy and light rows in whatever order they come, which costs digits that `qr_form.py` keeps.
"""

from __future__ import annotations

from dynenvs.reference.methods.complement import complement
from dynenvs.reference.methods.dense import (
    apply,
    apply_transposed,
    householder,
    solve_lower,
    solve_upper,
)
from dynenvs.reference.methods.newton_euler import bias_forces
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree


def angeles_ma_direct(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    P = complement(tree)
    R, reflectors, _ = householder(P, tree.scalars)
    y = apply(reflectors, solve_lower(R.T, tree.tau - bias_forces(tree)), len(P), tree.scalars)
    return solve_upper(R, apply_transposed(reflectors, y, tree.scalars))
