"""Articulated-body method that adds before it subtracts (Cloutier 1995, 4.3 and 5.3.1).

The same equations as `articulated.py`, evaluated as

    IA = (I + sum of X^T IA_child X) - sum of X^T U D^-1 U^T X

Cost: one product of six by six matrices a body more.
Digits: the sum in brackets swallows a light body's inertia, as in the composite-rigid-body
method, and the subtraction does not bring it back: errors of cond(M) eps.  Here to be compared.
"""

from __future__ import annotations

from dynenvs.reference.methods.articulated import Child, eliminate
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree


def articulated_bad(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    return eliminate(tree, _add_then_subtract)


def _add_then_subtract(own: Array, children: list[Child], S: Array) -> tuple[Array, Array]:
    IA = own
    for child in children:
        IA = IA + child.lift(child.inertia)
    for child in children:
        IA = IA - child.lift(child.taken)
    return IA, IA @ S
