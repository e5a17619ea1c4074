"""Closed loops as described: two frames held together by a joint outside the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.parts import JOINT_TYPES, ModelError

ROWS = {"spherical": 3, "revolute": 5, "prismatic": 5, "fixed": 6}  # that a loop's joint holds


@dataclass(frozen=True)
class Loop:
    """A frame of body A held to one of body B by a joint that is no part of the tree."""

    name: str
    joint: str  # spherical, revolute or prismatic (about or along the frames' z), or fixed
    body_a: str
    body_b: str
    position_a: NDArray[np.float64]  # in the body's frame [m]
    position_b: NDArray[np.float64]
    rotation_a: NDArray[np.float64]
    rotation_b: NDArray[np.float64]

    @property
    def rows(self) -> int:
        """How many velocities the loop holds at zero, redundant ones included."""
        return ROWS[self.joint]


@dataclass(frozen=True)
class Closures:
    """The loops of a model, and whether the zeros of their matrices are left out."""

    loops: Sequence[Loop] = ()
    sparse: bool = True

    @property
    def rows(self) -> int:
        """Of all loops."""
        return sum(loop.rows for loop in self.loops)


def supports(
    closures: Closures, body_names: Sequence[str], bodies: Any, dofs: Any
) -> list[list[int]]:
    """Coordinates that move each loop, in ascending order (all of them, if dense).

    bodies, dofs: records of the model, their `last` and `parent` filled in.

    Raises:
        ModelError: a body is unknown, or no coordinate moves the loop.
    """
    found = []
    for loop in closures.loops:
        path: set[int] = set()
        for name in (loop.body_a, loop.body_b):
            if name not in body_names:
                known = ", ".join(body_names)
                raise ModelError(f"loop {loop.name!r}: unknown body {name!r}; known: {known}")
            j = int(bodies[body_names.index(name)].last)
            while j >= 0:
                path.add(j)
                j = int(dofs[j].parent)
        if not path:
            raise ModelError(
                f"loop {loop.name!r}: neither {loop.body_a!r} nor {loop.body_b!r} moves"
            )
        found.append(sorted(path) if closures.sparse else list(range(len(dofs))))
    return found


def fill_loops(
    closures: Closures,
    found: Sequence[Sequence[int]],
    body_names: Sequence[str],
    records: Any,
    support: NDArray[np.int64],
) -> None:
    """Write the loops and the lists of `supports` into a model's records.

    The envelope: rows of two loops are coupled by K = J M^-1 J^T only if some coordinate moves
    both, and Cholesky's factor has no entries further left than K's first one in each row.
    """
    row = at = 0
    for record, loop, path in zip(records, closures.loops, found, strict=True):
        record.joint = JOINT_TYPES[loop.joint]
        record.body_a = body_names.index(loop.body_a)
        record.body_b = body_names.index(loop.body_b)
        record.row, record.rows = row, loop.rows
        record.support_at, record.support = at, len(path)
        support[at : at + len(path)] = path
        record.position_a[:], record.position_b[:] = loop.position_a, loop.position_b
        record.rotation_a[:], record.rotation_b[:] = loop.rotation_a, loop.rotation_b
        coupled = [k for k, other in enumerate(found) if not set(other).isdisjoint(path)]
        record.first = records[coupled[0]].row
        row += loop.rows
        at += len(path)
