"""What a state's numbers may be: kernels index with them without looking.

Whatever comes from outside (a state that was kept, a file of starts, a pickle) passes
`check_states` before a kernel sees it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.handles import Expression
from dynenvs.memory.records import JAMMED, STAGES

COUNTED = "0", str(2**62)  # a counter
# Of each whole number of a state: from, to, in the header's counts
WHOLE: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "status.audits", "status.beyond", "status.coarse", "status.solves", "status.called",
            "status.solved", "status.pivots", "status.degraded", "status.failed",
            "status.overflow", "status.sunk", "status.contacts", "status.budget",
        ),
        COUNTED,
    ),
    "status.touched": ("0", "nk"),
    "status.limits_active": (str(-(2**63)), str(2**63 - 1)),  # bits
    "status.cone": ("0", "1"),
    "status.stage": ("0", str(STAGES - 1)),
    "status.large_stage": ("0", str(STAGES - 1)),
    "status.polygon": ("0", "npolygons - 1"),
    "touched": ("0", "max(nk - 1, 0)"),
    "memory.mode": ("0", "2 * directions + 1"),
    "memory.listed": ("0", "1"),
    "memory.jammed": ("0", str(JAMMED)),
    "coefficients.excluded": ("0", "1"),
    "owners": ("-1", "np - 1"),
    "saturated": ("-1", "1"),
    # Of what tasks remember of a world (dynenvs.envs)
    "steps": COUNTED,
    "end": ("0", "4"),
    "commanded": ("0", "1"),
    "held": ("0", "1"),
    "on_wall": ("0", "1"),
    "cone": ("0", "2"),
    "polygon": ("0", "npolygons"),
    "delay": ("0", "8"),
}  # fmt: skip
ANY = -(2**63), 2**63 - 1  # of a number that a task of the user's own remembers
COUNTS = "nk", "np", "npolygons", "directions"  # that stand there
FAR = {"q": 1e12}  # the largest size, as of a model's numbers: sines need digits
# Numbers that need not be finite: unknown velocities, worst figures so far
OPEN = {"last", "status.residual", "status.opened", "status.overrun", "status.deepest",
        "status.gained"}  # fmt: skip


def check_states(header: Any, rows: NDArray[Any], name: str) -> None:
    """Refuse states, or what tasks remember, with a number that no step can have left.

    Args:
        header: the model's.
        rows: shape (n,), of the model's `state_dtype`, or records of a task.
        name: what they are, for the message.

    Raises:
        ValueError: an index, a code or a count out of range, or a number that is not finite.
    """
    low: float
    high: float
    bounds = _bounds(tuple(int(header[name]) for name in COUNTS))
    for field, path in fields_of(rows.dtype):
        values = rows[path[0]] if len(path) == 1 else rows[path[0]][path[1]]
        # Whole numbers by their bounds, others by being finite
        if values.dtype.kind == "i":
            low, high = bounds.get(field, ANY)
            right = not values.size or (values.min() >= low and values.max() <= high)
            wanted = f"from {low} to {high}"
        else:
            high = FAR.get(field, sys.float_info.max)
            low, right = -high, field in OPEN or bool((np.abs(values) <= high).all())  # or bits
            wanted = f"finite, at most {high:g} in size" if field in FAR else "finite"
        if not right:
            # The first one that is wrong, for the message; NaN is none that is right
            wrong = ~((values >= low) & (values <= high))
            at = np.argwhere(wrong)[0].tolist()
            raise ValueError(
                f"{name}: {_told(field, at)} is {values[tuple(at)]}; it must be {wanted}"
            )


def check_size(found: Any, rows: NDArray[Any], name: str) -> None:
    """Refuse bytes that are not of the size of states.

    Args:
        found: bytes, or an array of them.
        rows: states of the size that they should have.
        name: what they are, for the message.

    Raises:
        ValueError: they are not.
    """
    size = len(found) if isinstance(found, bytes) else getattr(found, "nbytes", None)
    if size != rows.nbytes:
        raise ValueError(f"{name}: its states must have {rows.nbytes} bytes, got {size}")


def _told(field: str, at: list[int]) -> str:
    """Where a number stands: its field, its place in it, and the world."""
    return f"{field}{''.join(f'[{k}]' for k in at[1:])} of world {at[0]}"


@cache
def fields_of(kind: np.dtype[Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The numbers of a state by name, and the names that lead to them."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name in kind.names or ():
        inner = kind[name].base.names
        found += (
            [(f"{name}.{part}", (name, part)) for part in inner] if inner else [(name, (name,))]
        )
    return found


@cache
def _bounds(counts: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """`WHOLE` in numbers."""
    known = dict(zip(COUNTS, counts, strict=True))

    def number(text: str) -> int:
        return int(Expression(text)(known.__getitem__))

    return {field: (number(low), number(high)) for field, (low, high) in WHOLE.items()}
