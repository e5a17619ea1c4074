"""The contact problem written in rows, with its Delassus matrix, and what solvers work in."""

from __future__ import annotations

from typing import NamedTuple

from dynenvs.layout import Floats, Ints, Records


class RowProblem(NamedTuple):
    """Contacts and limits as rows: velocities u = G p + bias, and the law of each block."""

    blocks: Records  # BLOCK: where each contact's or limit's rows are, friction, reserve
    n: int  # how many of them there are
    G: Floats  # Delassus matrix J M^-1 J^T [1/kg]
    bias: Floats  # velocities without impulses [m/s]
    rows: int
    scale: float  # the certificate's velocity scale [m/s]


class RowScratch(NamedTuple):
    """Working memory for a problem's rows."""

    vectors: Floats  # shape (>= 8, >= rows)
    laws: Floats  # twelve for each block
    K: Floats  # shape (>= rows, >= rows)
    order: Ints  # shape (>= rows,)
    right: Floats  # shape (>= rows,)
    x: Floats  # shape (>= rows,)
