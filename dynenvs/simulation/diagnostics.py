"""What the solver of a world has done, as its status tells."""

from __future__ import annotations

from typing import Any, NamedTuple

BOUNDS = "residual", "opened", "overrun"
AUDITED = "audits", "beyond", "coarse", "deepest", "gained"
COUNTERS = "solves", "pivots", "degraded", "failed", "overflow", "sunk"


class Stage(NamedTuple):
    """A way to solve a contact problem: how often it was called, and how often it succeeded."""

    called: int
    solved: int


class Stages(NamedTuple):
    """The solver stages of contact, from the cheapest to the dearest (docs/lab/contact.md).

    A problem is an island of bodies that touch, or all contacts of one robot.
    """

    kept: Stage  # the last step's impulses still hold, or do so when corrected
    patches: Stage  # whole soles stick as before (robots)
    modes: Stage  # Newton's method on contact modes, from the last ones
    sweeps: Stage  # the same, from modes in which Gauss-Seidel ends
    multipliers: Stage  # proximal multipliers
    path: Stage  # the central path
    lemke: Stage  # Lemke's method on the LCP written out
    cones: Stage  # the exact cone's own, from the pyramid's answer

    def __repr__(self) -> str:
        """Those that were called, and how often they succeeded."""
        called = [(name, stage) for name, stage in self._asdict().items() if stage.called]
        words = [f"{name} solved {stage.solved} of {stage.called}" for name, stage in called]
        return ", ".join(words) or "none was called"


class Diagnostics(NamedTuple):
    """What the solver did since the world was made or reset."""

    residual: float  # worst certificate residual of an accepted solution
    opened: float  # largest opening of a closed loop at the end of a step [m, rad]
    overrun: float  # how far a joint has ended a step beyond its stops, at most [rad, m]
    solves: int  # contact problems solved
    pivots: int  # and the work that took: factorisations, sweeps, pivots
    # Solves accepted above the certificate's 1e-9, steps that end above 1e-9 in `opened` or
    # `overrun`, halved steps, and steps of trees that turn fast and gain energy out of nothing
    degraded: int
    failed: int  # steps that could not be solved at all
    overflow: int  # steps with more contacts than the model's limit: `World.step` refuses them
    # Parts of steps that end more than 1e-9 m deeper in something than they began, though the step
    # was shortened; what overlapped before may go 1e-4 m deeper
    sunk: int
    stages: Stages  # which methods solved them
    audits: int  # steps that `World.audit_every` had audited
    # Of these, those that ended above 1e-9 m or rad, or gained above 1e-6 of their energy, and
    # would do so in shorter steps as well ...
    beyond: int
    coarse: int  # ... and those that would not: an error of the time step
    deepest: float  # deepest overlap at the end of an audited step, of what was apart before [m]
    # Most energy that an audited step gained beyond the work of its actuators [J]; NaN where belts,
    # kinematic bodies or wrenches do work, too
    gained: float

    def __repr__(self) -> str:
        """A line of what is not zero, and one of the stages that were called."""
        fields = {name: value for name, value in self._asdict().items() if name != "stages"}
        words = [f"{name}={_short(value)}" for name, value in fields.items() if value != 0]
        if not words:
            return "Diagnostics: all are 0"
        return f"Diagnostics: {', '.join(words)}; all others are 0\n  stages: {self.stages!r}"


def _short(value: float) -> str:
    """A count as it is, and three digits of a measure."""
    return str(value) if isinstance(value, int) else f"{value:.3g}"


def read_diagnostics(status: Any) -> Diagnostics:
    """The counters of a STATUS record."""
    called, solved = status["called"].reshape(-1), status["solved"].reshape(-1)
    return Diagnostics(
        residual=float(status["residual"]),
        opened=float(status["opened"]),
        overrun=float(status["overrun"]),
        stages=Stages(*(Stage(int(a), int(b)) for a, b in zip(called, solved, strict=True))),
        **{name: int(status[name]) for name in (*COUNTERS, "audits", "beyond", "coarse")},
        deepest=float(status["deepest"]),
        gained=float(status["gained"]),
    )
