"""Scenes on Pinocchio's contact solvers, which are steps of the world that `Ours` makes."""

from __future__ import annotations

from studies.bench.pinocchio_step import TOLERANCE, PinocchioStep
from studies.verify.ours import Ours
from studies.verify.scene import Scene


class InPinocchio(Ours):
    """A scene on one of Pinocchio's contact solvers.

    Args:
        scene: what to simulate.
        solver: "ADMM" or "PGS".
        tolerance: of the solver, absolute and relative [N s, m/s].

    Raises:
        MissingPeer: Pinocchio is not there, or its solvers cannot run the scene.
    """

    def __init__(self, scene: Scene, solver: str, tolerance: float = TOLERANCE) -> None:
        super().__init__(scene, cone="exact")
        self.stepper = PinocchioStep(self.world, solver, tolerance)

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""
        self.stepper.step(count)

    def troubles(self) -> int | None:
        """Solves that ended with a residual above the tolerance."""
        return self.stepper.unfinished

    @property
    def spent(self) -> float:
        """Processor time in Pinocchio's own functions so far [s]: detection is dynenvs' here."""
        return self.stepper.seconds
