"""First method of Angeles and Ma (1988; Cloutier 1995, section 3.1.2): M = P^T P, then Cholesky.

Cost: O(n^3), more than the composite-rigid-body method.
Digits: M is formed after all, so the error is cond(M) eps; but a sum of squares cannot become
indefinite as easily.
"""

from __future__ import annotations

from dynenvs.reference.methods.complement import complement
from dynenvs.reference.methods.dense import cholesky, cholesky_solve
from dynenvs.reference.methods.newton_euler import bias_forces
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree


def angeles_ma(tree: Tree) -> Array:
    """qdd, shape (nv,); ArithmeticError if P^T P is not positive definite in these numbers."""
    P = complement(tree)
    return cholesky_solve(cholesky(P.T @ P, tree.scalars), tree.tau - bias_forces(tree))
