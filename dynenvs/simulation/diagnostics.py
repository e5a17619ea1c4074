"""What the solver of a world has done, as its status tells."""

from __future__ import annotations

from typing import Any, NamedTuple

COUNTERS = "solves", "pivots", "degraded", "failed", "overflow"


class Rung(NamedTuple):
    """A way to solve a contact problem: how often it was asked, and how often it answered."""

    asked: int
    answered: int


class Rungs(NamedTuple):
    """The rungs of the ladder of contact, from the cheapest to the dearest (docs/contact.md).

    A problem is an island of bodies that touch, or all contacts of one robot.
    """

    kept: Rung  # the last step's impulses still hold (islands)
    patches: Rung  # whole soles stick as before (robots)
    modes: Rung  # Newton's method on contact modes, from the last ones
    sweeps: Rung  # the same, from modes in which Gauss-Seidel ends
    multipliers: Rung  # proximal multipliers on sparse factors (islands)
    path: Rung  # the central path
    lemke: Rung  # Lemke's method on the LCP written out
    cones: Rung  # the exact cone's own, from the pyramid's answer


class Diagnostics(NamedTuple):
    """What the solver did since the world was made or reset."""

    residual: float  # worst certificate residual of an accepted solution
    solves: int
    pivots: int
    degraded: int  # solves accepted above the certificate's 1e-9, and halved steps
    failed: int
    overflow: int  # steps with more contacts than the model's limit: `World.step` refuses them
    rungs: Rungs


def read_diagnostics(status: Any) -> Diagnostics:
    """The counters of a STATUS record."""
    asked, answered = status["asked"].reshape(-1), status["answered"].reshape(-1)
    return Diagnostics(
        residual=float(status["residual"]),
        rungs=Rungs(*(Rung(int(a), int(b)) for a, b in zip(asked, answered, strict=True))),
        **{name: int(status[name]) for name in COUNTERS},
    )
