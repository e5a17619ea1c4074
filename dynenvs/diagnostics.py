"""What the solver of a world has done, as its status tells."""

from __future__ import annotations

from typing import Any, NamedTuple

COUNTERS = "solves", "pivots", "degraded", "failed", "overflow"


class Rungs(NamedTuple):
    """How many contact problems each rung of the ladder has solved (docs/contact.md).

    A problem is an island of bodies that touch, or all contacts of one robot.
    """

    kept: int  # the last step's impulses hold
    modes: int  # Newton's method on contact modes
    multipliers: int  # proximal multipliers on sparse factors
    path: int  # the central path
    cascade: int  # Lemke's method and its reserves, or the exact cone's own


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
    names = ("kept", "by_modes", "by_multipliers", "by_path", "by_cascade")
    return Diagnostics(
        residual=float(status["residual"]),
        rungs=Rungs(*(int(status[name]) for name in names)),
        **{name: int(status[name]) for name in COUNTERS},
    )
