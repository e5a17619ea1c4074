"""Conjugate gradients on M qdd = tau - h (Walker and Orin 1982, method 4; Cloutier 1995, 3.2).

M appears only in products with vectors, each of which is one pass of the recursive Newton-Euler
algorithm; in exact numbers n of them suffice.

Cost: O(n^2): n products of O(n) in exact numbers, fewer where M has few different eigenvalues;
measured, 2 n where M is well-conditioned and 3 n at cond(M) = 1e12.
Digits: roundoff spoils the conjugacy, so ill-conditioned systems need more than n products and stop
at a residual, not at a solution: of few coordinates it mostly has eps, at times cond(M) eps.
"""

from __future__ import annotations

from dynenvs.reference.methods.newton_euler import bias_forces, mass_times
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree

ROUNDS = 10  # at most so many times nv products
NOTHING = 1e-20  # of the first residual: what is left then changes no digit of the solution


def conjugate_gradients(tree: Tree) -> Array:
    """qdd, shape (nv,): the iterate with the smallest residual until none gets better.

    Ends when nothing of the residual is left, when it has not shrunk for nv products, or after
    ROUNDS nv of them.
    """
    right = tree.tau - bias_forces(tree)
    x, r = tree.scalars.zeros(tree.nv), right
    p, rr = r, r @ r
    best, best_rr, since = x, rr, 0
    zero = tree.scalars.number(0.0)
    nothing = tree.scalars.number(NOTHING**2) * rr
    for _ in range(ROUNDS * tree.nv):
        # M is never formed: a product costs two passes over the tree
        Mp = mass_times(tree, p)
        curvature = p @ Mp
        if not (rr > nothing and curvature > zero) or since > tree.nv:  # zero by underflow too
            break
        step = rr / curvature
        x = x + step * p
        r = r - step * Mp
        above, rr = rr, r @ r
        p = r + (rr / above) * p
        since += 1
        if rr < best_rr:
            best, best_rr, since = x, rr, 0
    return best
