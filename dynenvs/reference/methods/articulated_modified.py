"""Modified articulated-body method.

Source: Pai, Ascher and Kry 2000, section 7, after Ascher, Pai and Cloutier 1997.

The pivot is summed from two quadratic forms, D = S^T I S + S^T I~ S, where I~ is what the children
add: the body's own inertia is applied to the joint's axis before large entries of I~ can hide it.

Cost: another quadratic form a joint.
Digits: meant for light bodies that carry heavy ones.  Measured, it gains no more than a small
factor over `articulated.py` where joints are coaxial but not along coordinate axes (docs/theory.md,
Lost digits): I~ S is zero in exact numbers, and its roundoff is as large as before.
"""

from __future__ import annotations

from dynenvs.reference.methods.articulated import Child, eliminate
from dynenvs.reference.methods.scalars import Array
from dynenvs.reference.methods.tree import Tree


def articulated_modified(tree: Tree) -> Array:
    """qdd, shape (nv,)."""
    return eliminate(tree, _pivot_in_two_parts)


def _pivot_in_two_parts(own: Array, children: list[Child], S: Array) -> tuple[Array, Array]:
    """IA = I + I~, and IA S = I S + I~ S: the pivot S^T IA S then is the sum of two forms."""
    carried = own - own
    for child in children:
        carried = carried + child.lift(child.inertia - child.taken)
    return own + carried, own @ S + carried @ S
