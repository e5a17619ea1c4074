"""Closed loops and coupled joints: described, collected, and written for kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.records import COUPLED
from dynenvs.model.parts import (
    JOINT_TYPES,
    WORLD,
    Body,
    ModelError,
    Vector,
    check_new,
    check_size,
    real_numbers,
    rotation3,
    vector3,
)

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

    @property
    def bodies(self) -> set[str]:
        """Names of all that loops hold."""
        return {name for loop in self.loops for name in (loop.body_a, loop.body_b)}


class LoopBuilder:
    """Collects closed loops and couplings; the part of `ModelBuilder` for them."""

    _bodies: dict[str, Body]

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}

    def close(
        self,
        name: str,
        body_a: str,
        body_b: str,
        *,
        joint: str = "spherical",
        position_a: Vector = (0.0, 0.0, 0.0),
        position_b: Vector = (0.0, 0.0, 0.0),
        rotation_a: Any = None,
        rotation_b: Any = None,
    ) -> Self:
        """Close a loop: hold a frame of one body to one of another by a joint outside the tree.

        The joint is a bilateral constraint (docs/theory.md, Closed loops), met exactly in
        velocities and positions.  Redundant ones are welcome: in a planar mechanism each pin can be
        `spherical` or `revolute`.  Set `q` so that the loop is closed; a small gap is closed by the
        first step.  `World` holds loops; `aba`, `forward_dynamics`, `inverse_dynamics` and the like
        are of the tree alone.

        Args:
            name: unique among loops.
            body_a, body_b: names of bodies, or "world".
            joint: "spherical" (the frames' origins coincide), "revolute" (their z axes too),
                "prismatic" (B's frame may slide along z alone) or "fixed".
            position_a, position_b: of the frames' origins in their bodies [m], shape (3,).
            rotation_a, rotation_b: of the frames in their bodies, shape (3, 3); none if None.

        Raises:
            ModelError: the name is taken, or the joint unknown.
        """
        # Names and ends, before any number is looked at
        check_new(name, self._loops, "loop")
        if joint not in ROWS:
            choices = ", ".join(ROWS)
            raise ModelError(f"loop {name!r}: unknown joint {joint!r}; choose from: {choices}")
        if body_a == body_b:
            raise ModelError(f"loop {name!r} joins {body_a!r} with itself")
        self._loops[name] = Loop(
            name,
            joint,
            body_a,
            body_b,
            vector3(position_a, f"position_a of {name!r}"),
            vector3(position_b, f"position_b of {name!r}"),
            rotation3(rotation_a, f"rotation_a of {name!r}"),
            rotation3(rotation_b, f"rotation_b of {name!r}"),
        )
        return self

    def couple(
        self,
        name: str,
        joint: str,
        other: str | None = None,
        *,
        coefficients: Sequence[float] = (0.0, 1.0),
    ) -> Self:
        """Couple two joints, as gears do: the position of the one is a polynomial of the other's.

        Held as closed loops are (`close`), exactly.

        Args:
            name: unique among loops.
            joint: name of a hinge or slide (of its body, if it has none).
            other: likewise; without one, the joint is held at coefficients[0].
            coefficients: c of q = c[0] + c[1] q' + ... + c[4] q'^4 [rad, m], five at most.

        Raises:
            ModelError: the name is taken, a joint unknown so far, or the coefficients are not one
                to five finite numbers.
        """
        # Joints by their own names, or by those of their bodies
        homes = {body.joint.name or body.name: body.name for body in self._bodies.values()}
        for wanted in (joint, *([] if other is None else [other])):
            if wanted not in homes:
                known = ", ".join(homes)
                raise ModelError(f"coupling {name!r}: unknown joint {wanted!r}; known: {known}")
        ends = homes[joint], WORLD if other is None else homes[other]
        zero, none = np.zeros(3), np.eye(3)
        numbers = tuple(real_numbers(coefficients).ravel().tolist())
        loop = Loop(name, COUPLING, *ends, zero, zero, none, none, numbers)
        return self._add_loop(loop)

    def _add_loop(self, loop: Loop) -> Self:
        """Add a loop, a coupling among them, of another model's description."""
        if loop.joint != COUPLING:
            options = dict(vars(loop))
            if options.pop("coefficients"):
                raise ModelError(f"loop {loop.name!r}: coefficients are for coupled joints")
            return self.close(**options)
        # A coupling is checked as `couple` would check it
        name, numbers = loop.name, loop.coefficients
        check_new(name, self._loops, "loop")
        if not 1 <= len(numbers) <= DEGREE + 1 or not np.all(np.isfinite(numbers)):
            raise ModelError(
                f"coupling {name!r}: coefficients must be one to {DEGREE + 1} finite numbers, got "
                f"{numbers}"
            )
        check_size(numbers, f"coupling {name!r}: coefficients")
        if loop.body_a == loop.body_b:
            raise ModelError(f"coupling {name!r} joins {loop.body_a!r} with itself")
        self._loops[name] = loop
        return self


def fill_loops(closures: Closures, body_names: Sequence[str], records: Any, bodies: Any) -> None:
    """Write the loops into a model's records; `bodies` are BODY, filled in.

    Raises:
        ModelError: a body is unknown.
    """
    row = 0
    for record, loop in zip(records, closures.loops, strict=True):
        # Names become numbers of bodies
        for name in (loop.body_a, loop.body_b):
            if name not in body_names:
                known = ", ".join(body_names)
                raise ModelError(f"loop {loop.name!r}: unknown body {name!r}; known: {known}")
        record.body_a = body_names.index(loop.body_a)
        record.body_b = body_names.index(loop.body_b)
        # A coupling has coordinates, other loops have frames
        if loop.joint == COUPLING:
            _fill_coupling(record, loop, bodies)
        else:
            record.joint = JOINT_TYPES[loop.joint]
        record.row, record.rows = row, loop.rows
        record.position_a[:], record.position_b[:] = loop.position_a, loop.position_b
        # Rows follow one another in the order of the loops
        record.rotation_a[:], record.rotation_b[:] = loop.rotation_a, loop.rotation_b
        row += loop.rows


def _fill_coupling(record: Any, loop: Loop, bodies: Any) -> None:
    """The polynomial of coupled joints, and where their coordinates are."""
    a, b = bodies[record.body_a], bodies[record.body_b]
    for body, name in ((a, loop.body_a), (b, loop.body_b)):
        if name != WORLD and int(body.nv) != 1:
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
    # The rows that each coordinate moves: along both ways to the root
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
    # Coupled rows: the last one of each coordinate's span, and no less than above
    if closures.sparse:
        lasts[:] = 0
        for first, end in spans[spans[:, 0] < spans[:, 1]]:
            lasts[first:end] = np.maximum(lasts[first:end], end - 1)
        np.maximum.accumulate(lasts, out=lasts)
