"""Fifty digits: what a method would answer without roundoff, to measure what roundoff does.

Needs mpmath (`pip install "dynenvs[reproduce]"`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.reference.methods.composite import crb_cholesky
from dynenvs.reference.methods.scalars import Array, Scalars
from dynenvs.reference.methods.tree import tree_of

DIGITS = 50


def many_digits(digits: int = DIGITS) -> Scalars:
    """Numbers of so many decimal digits, in a context of their own."""
    import mpmath

    context: Any = mpmath.MPContext()
    context.dps = digits
    return Scalars(
        f"{digits}-digit",
        lambda x: context.mpf(float(x)),
        context.sin,
        context.cos,
        context.sqrt,
    )


def reference(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, digits: int = DIGITS
) -> Array:
    """The acceleration for exactly these doubles, as `digits`-digit numbers, shape (nv,).

    The composite-rigid-body method serves: it loses cond(M) of the digits, which leaves enough.
    """
    return crb_cholesky(tree_of(model, q, v, tau, many_digits(digits)))


def relative_error(found: Floats, exact: Array) -> float:
    """Largest difference over the largest entry of the exact answer."""
    largest = max(abs(x) for x in exact)
    worst = max(abs(type(e)(float(f)) - e) for f, e in zip(found, exact, strict=True))
    return float(worst / largest) if largest else float(np.abs(found).max())
