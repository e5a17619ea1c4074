"""Closed loops as described: two frames held together by a joint outside the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.records import COUPLED
from dynenvs.model.parts import JOINT_TYPES, ModelError

ROWS = {"spherical": 3, "revolute": 5, "prismatic": 5, "fixed": 6}  # that a loop's joint holds
COUPLING = "coupled"  # of a loop that holds two joints' positions together, by one row
DEGREE = 4  # of its polynomial, at most


@dataclass(frozen=True)
class Loop:
    """A frame of body A held to one of body B by a joint that is no part of the tree."""

    name: str
    joint: str  # spherical, revolute or prismatic (about or along the frames' z), fixed, or coupled
    body_a: str
    body_b: str
    position_a: NDArray[np.float64]  # in the body's frame [m]
    position_b: NDArray[np.float64]
    rotation_a: NDArray[np.float64]
    rotation_b: NDArray[np.float64]
    # Coupled: the position of A's own joint is the sum of c_k times the k-th power of that of B's
    coefficients: tuple[float, ...] = ()

    @property
    def rows(self) -> int:
        """How many velocities the loop holds at zero, redundant ones included."""
        return 1 if self.joint == COUPLING else ROWS[self.joint]


@dataclass(frozen=True)
class Closures:
    """The loops of a model, and whether the zeros of their matrices are left out."""

    loops: Sequence[Loop] = ()
    sparse: bool = True

    @property
    def rows(self) -> int:
        """Of all loops."""
        return sum(loop.rows for loop in self.loops)


def fill_loops(closures: Closures, body_names: Sequence[str], records: Any, bodies: Any) -> None:
    """Write the loops into a model's records; `bodies` are BODY, filled in.

    Raises:
        ModelError: a body is unknown.
    """
    row = 0
    for record, loop in zip(records, closures.loops, strict=True):
        for name in (loop.body_a, loop.body_b):
            if name not in body_names:
                known = ", ".join(body_names)
                raise ModelError(f"loop {loop.name!r}: unknown body {name!r}; known: {known}")
        record.body_a = body_names.index(loop.body_a)
        record.body_b = body_names.index(loop.body_b)
        if loop.joint == COUPLING:
            _fill_coupling(record, loop, bodies)
        else:
            record.joint = JOINT_TYPES[loop.joint]
        record.row, record.rows = row, loop.rows
        record.position_a[:], record.position_b[:] = loop.position_a, loop.position_b
        record.rotation_a[:], record.rotation_b[:] = loop.rotation_a, loop.rotation_b
        row += loop.rows


def _fill_coupling(record: Any, loop: Loop, bodies: Any) -> None:
    """The polynomial of coupled joints, and where their coordinates are."""
    a, b = bodies[record.body_a], bodies[record.body_b]
    for body, name in ((a, loop.body_a), (b, loop.body_b)):
        if name != "world" and int(body.nv) != 1:
            raise ModelError(f"coupling {loop.name!r}: {name!r} is on no hinge or slide")
    record.joint = COUPLED
    record.coefficients[: len(loop.coefficients)] = loop.coefficients
    record.coordinate_a, record.q_a = a.v_at, a.q_at
    record.coordinate_b, record.q_b = (b.v_at, b.q_at) if record.body_b else (-1, 0)


def fill_envelope(
    closures: Closures,
    records: Any,
    bodies: Any,
    dofs: Any,
    spans: NDArray[np.int64],
    lasts: NDArray[np.int64],
) -> None:
    """Which entries of the loops' matrices can differ from zero (all of them, unless sparse).

    K = J M^-1 J^T couples two rows only if some coordinate moves both; its factor U has no entries
    right of the last one of any row above.

    records: of the loops, filled in; spans, lasts: see `dynenvs.memory.layout.LoopView`.

    Raises:
        ModelError: no coordinate moves a loop.
    """
    rows = closures.rows
    spans[:] = (rows, 0) if closures.sparse else (0, rows)
    lasts[:] = rows - 1
    for loop, record in zip(closures.loops, records, strict=True):
        first, end = record.row, record.row + record.rows
        moving = 0
        for body in (record.body_a, record.body_b):
            j = int(bodies[body].last)
            while j >= 0:
                spans[j] = min(spans[j, 0], first), max(spans[j, 1], end)
                j = int(dofs[j].parent)
                moving += 1
        if not moving:
            raise ModelError(
                f"loop {loop.name!r}: neither {loop.body_a!r} nor {loop.body_b!r} moves"
            )
    if closures.sparse:
        lasts[:] = 0
        for first, end in spans[spans[:, 0] < spans[:, 1]]:
            lasts[first:end] = np.maximum(lasts[first:end], end - 1)
        np.maximum.accumulate(lasts, out=lasts)
