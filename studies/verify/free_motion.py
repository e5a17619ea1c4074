"""Without contact: a free body that turns over, and a double pendulum."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi

import numpy as np
from scipy.integrate import solve_ivp

from studies.verify.scene import (
    Hinge,
    Make,
    Reading,
    Scene,
    Solid,
    Triple,
    energy,
    momentum,
)


def readings(make: Make) -> Iterator[Reading]:
    """What is conserved, in integrators of first order: shown, not judged."""
    yield from _dzhanibekov(make)
    yield from _double_pendulum(make)


def _dzhanibekov(make: Make) -> Iterator[Reading]:
    """Spun about the axis of its middle moment, with a touch of the others, 10 s at 1 ms."""
    inertia, spin = (1.0, 2.0, 3.0), (0.01, 5.0, 0.01)
    scene = Scene((Solid(1.0, inertia, spin=spin),), 1e-3, floor=False, gravity=(0.0, 0.0, 0.0))
    simulation = make(scene)
    start = momentum(scene, simulation.read())
    first = energy(scene, simulation.read())
    turns, last = 0, 1.0
    for _ in range(1000):
        simulation.step(10)
        state = simulation.read()
        along = float((state.rotation[0].T @ state.spin[0])[1])
        if along * last < 0.0:
            turns, last = turns + 1, along
    name = "free body turns over, 10 s"
    end = momentum(scene, state)
    lost = float(np.linalg.norm(end - start) / np.linalg.norm(start))
    yield Reading(name, "half turns [1]", float(_turns(inertia, spin)), float(turns))
    yield Reading(name, "angular momentum lost [1]", 0.0, lost)
    yield Reading(name, "energy lost [1]", 0.0, abs(energy(scene, state) / first - 1.0))


def _turns(inertia: Triple, spin: Triple) -> int:
    """How often the middle component of Euler's equations changes its sign in 10 s."""
    a, b, c = inertia

    def rates(_: float, w: np.ndarray) -> list[float]:
        return [(b - c) / a * w[1] * w[2], (c - a) / b * w[2] * w[0], (a - b) / c * w[0] * w[1]]

    times = np.linspace(0.0, 10.0, 1001)
    found = solve_ivp(rates, (0.0, 10.0), spin, t_eval=times, rtol=1e-10, atol=1e-12)
    return int(np.count_nonzero(np.diff(np.sign(found.y[1]))))


def _double_pendulum(make: Make) -> Iterator[Reading]:
    """Two rods of 1 m and 1 kg let go from the horizontal, a minute at 1 ms."""
    moments = (1 / 12, 1 / 12, 1 / 12)
    y, center = (0.0, 1.0, 0.0), (0.0, 0.0, -0.5)
    upper = Hinge(None, y, (0.0, 0.0, 0.0), center, angle=pi / 2)
    lower = Hinge(0, y, (0.0, 0.0, -1.0), center)
    scene = Scene(
        (Solid(1.0, moments, hinge=upper), Solid(1.0, moments, hinge=lower)), 1e-3, floor=False
    )
    simulation = make(scene)
    start = energy(scene, simulation.read())
    worst = 0.0
    for _ in range(600):
        simulation.step(100)
        worst = max(worst, abs(energy(scene, simulation.read()) - start))
    fall = 9.81 * (0.5 + 1.5)  # [J] of both rods, from the horizontal to hanging
    yield Reading("double pendulum for a minute", "energy / fall [1]", 0.0, worst / fall)
