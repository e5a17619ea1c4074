"""What a scene costs: the processor time of its steps, in every simulator alike."""

from __future__ import annotations

import time

from studies.verify.scene import Make, Scene, Simulation, State


class Clock:
    """Makes simulations as `make` does, and adds up the time of their steps."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self.seconds, self.steps = 0.0, 0

    def __call__(self, scene: Scene) -> Simulation:
        simulation = self._make(scene)
        simulation.step(0)  # what is compiled or loaded at the first step is none of its time
        return _Timed(simulation, self)

    def take(self) -> float | None:
        """Processor time of a step since it was last asked [s]; None if there was none."""
        mean = self.seconds / self.steps if self.steps else None
        self.seconds, self.steps = 0.0, 0
        return mean


class _Timed:
    """A simulation whose steps a clock counts."""

    def __init__(self, simulation: Simulation, clock: Clock) -> None:
        self._simulation, self._clock = simulation, clock

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""
        begin = self.spent()
        self._simulation.step(count)
        self._clock.seconds += self.spent() - begin
        self._clock.steps += count

    def spent(self) -> float:
        """Processor time so far, or what the simulation itself says that it took [s]."""
        own: float | None = getattr(self._simulation, "spent", None)
        return time.process_time() if own is None else own

    def read(self) -> State:
        """The state now."""
        return self._simulation.read()

    def troubles(self) -> int | None:
        """Solves so far that missed the solver's own tolerance; None: it does not say."""
        return self._simulation.troubles()
