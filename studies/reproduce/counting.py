"""Numbers that count the operations made with them: what a method costs, by running it.

What does not depend on the state is known beforehand and costs nothing: a product or sum of known
numbers is known, a product with a known zero or one and a sum with a known zero are no operation.
That is what a programmer who writes a method out for one robot would save.  Elementary rotations
and products shared between passes are not, so counts lie above the best published ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dynenvs.model.model import Model
from dynenvs.reference.methods.scalars import Array, Scalars
from dynenvs.reference.methods.tree import Tree, tree_of


class Operations(NamedTuple):
    """Operations of one evaluation."""

    multiplications: int
    additions: int  # and subtractions
    divisions: int
    roots: int


class Tally:
    """What the numbers of one run write to."""

    def __init__(self) -> None:
        self.counts = {"multiplications": 0, "additions": 0, "divisions": 0, "roots": 0}

    def operations(self) -> Operations:
        """The counts so far."""
        return Operations(**self.counts)


class Counted:
    """A double that counts; `known` if it does not depend on the state."""

    __slots__ = ("known", "tally", "value")

    def __init__(self, value: float, known: bool, tally: Tally) -> None:
        self.value, self.known, self.tally = value, known, tally

    def _make(self, other: Any, value: float, kind: str) -> Counted:
        known = self.known and other.known
        if not known:
            self.tally.counts[kind] += 1
        return Counted(value, known, self.tally)

    def _other(self, other: Any) -> Counted:
        return other if isinstance(other, Counted) else Counted(float(other), True, self.tally)

    def _is(self, value: float) -> bool:
        return self.known and self.value == value

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array spreads the operation over its entries
        other = self._other(other)
        if self._is(0.0):
            return other
        if other._is(0.0):
            return self
        return self._make(other, self.value + other.value, "additions")

    __radd__ = __add__

    def __neg__(self) -> Counted:
        return Counted(-self.value, self.known, self.tally)  # a sign, not an operation

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array spreads the operation over its entries
        return self + (-self._other(other))

    def __rsub__(self, other: Any) -> Any:
        return self._other(other) + (-self)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array spreads the operation over its entries
        other = self._other(other)
        for one, two in ((self, other), (other, self)):
            if one._is(0.0):
                return one
            if one._is(1.0):
                return two
            if one._is(-1.0):
                return -two
        return self._make(other, self.value * other.value, "multiplications")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # the array spreads the operation over its entries
        other = self._other(other)
        if self._is(0.0) or other._is(1.0):
            return self
        return self._make(other, self.value / other.value, "divisions")

    def __rtruediv__(self, other: Any) -> Any:
        return self._other(other) / self

    def __abs__(self) -> Counted:
        return Counted(abs(self.value), self.known, self.tally)

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return not self._is(0.0)  # a known zero is no entry of a sparse matrix

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int | float | Counted) and self.value == float(other)

    def __hash__(self) -> int:
        return hash(self.value)


def counting_scalars(tally: Tally) -> Scalars:
    """Numbers that count into `tally`; made from doubles, they are known."""

    def function(of: Callable[[float], float], kind: str | None) -> Callable[[Any], Counted]:
        def apply(x: Counted) -> Counted:
            if kind and not x.known:
                tally.counts[kind] += 1
            return Counted(of(x.value), x.known, tally)

        return apply

    return Scalars(
        "counting",
        lambda x: Counted(float(x), True, tally),
        function(math.sin, None),
        function(math.cos, None),
        function(math.sqrt, "roots"),
    )


def count_operations(
    method: Callable[[Tree], Array], model: Model, q: Any, v: Any, tau: Any
) -> Operations:
    """Operations of one evaluation, joint transforms and velocities included; sines are not.

    Args:
        method: one of `dynenvs.reference.methods.METHODS`' functions.
        model: the robot; what it is made of is known.
        q, v, tau: a state in general position and forces: unknown, shapes (nq,), (nv,), (nv,).
    """
    tally = Tally()
    scalars = counting_scalars(tally)

    def unknown(values: Any) -> Array:
        made = scalars.array(values)
        for x in made:
            x.known = False
        return made

    method(tree_of(model, q, v, tau, scalars, state=unknown))
    return tally.operations()
