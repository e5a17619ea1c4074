"""Closed loops: a four-bar that swings, and a closed leg that falls on the floor."""

from __future__ import annotations

from collections.abc import Iterator
from math import asin, cos, sin
from typing import Any

import numpy as np

from studies.verify.scene import (
    G,
    Hinge,
    Make,
    Pin,
    Reading,
    Scene,
    Solid,
    Triple,
    energy,
    opened,
)

Y = (0.0, 1.0, 0.0)
ORIGIN = (0.0, 0.0, 0.0)


def readings(make: Make) -> Iterator[Reading]:
    """Pinned points stay together for a minute, in free motion, at impacts and at rest."""
    yield from _four_bar(make)
    yield from _leg(make)


def _rod(mass: float, length: float, along: int, hinge: Hinge, **options: Any) -> Solid:
    """A slender rod along an axis of its frame."""
    moments = [mass * length**2 / 12] * 3
    moments[along] *= 1e-3
    x, y, z = moments
    return Solid(mass, (x, y, z), hinge=hinge)._replace(**options)


def _four_bar(make: Make) -> Iterator[Reading]:
    """A parallelogram let go at 0.6 rad, 1 ms; its one freedom is a pendulum's.

    theta'' = -g (m_c + m_b) a sin(theta) / (2/3 m_c a^2 + m_b a^2)

    (docs/theory.md, Known answers).
    """
    crank, coupler, a, c, angle, dt = 0.5, 1.0, 0.4, 0.6, 0.6, 1e-3
    down: Triple = (0.0, 0.0, -a / 2)
    solids = (
        _rod(crank, a, 2, Hinge(None, Y, ORIGIN, down, angle=angle)),
        _rod(crank, a, 2, Hinge(None, Y, (c, 0.0, 0.0), down, angle=angle)),
        _rod(coupler, c, 0, Hinge(0, Y, (0.0, 0.0, -a), (c / 2, 0.0, 0.0), angle=-angle)),
    )
    pins = (Pin(2, 1, (c / 2, 0.0, 0.0), (0.0, 0.0, -a / 2)),)
    scene = Scene(solids, dt, floor=False, pins=pins)
    simulation = make(scene)
    start = energy(scene, simulation.read())
    inertia = 2 / 3 * crank * a**2 + coupler * a**2
    exact = -G * (crank + coupler) * a * sin(angle) / inertia
    simulation.step()
    name = "four-bar for a minute"
    first = float(simulation.read().spin[0, 1]) / dt
    yield Reading(name, "acceleration at first [rad/s^2]", exact, first, 1e-9)
    apart, lost = 0.0, 0.0
    for _ in range(6000):
        simulation.step(10)
        state = simulation.read()
        apart = max(apart, opened(scene, state))
        lost = max(lost, abs(energy(scene, state) - start))
    yield Reading(name, "opened [m]", 0.0, apart, 1e-12)
    fall = G * (crank + coupler) * a * (1 - cos(angle))
    yield Reading(name, "energy / fall [1]", 0.0, lost / fall)


def _leg(make: Make) -> Iterator[Reading]:
    """Two thighs on fixed hips, two shanks, and one foot that falls on the floor, 2 ms."""
    thigh, shank, bend, height = 0.3, 0.4, 0.6, 0.6
    inner = asin((0.1 + thigh * sin(bend)) / shank)
    end: Triple = (0.0, 0.0, -shank / 2)
    solids: list[Solid] = []
    for side in (1.0, -1.0):
        hip = Hinge(None, Y, (-0.1 * side, 0.0, height), (0.0, 0.0, -thigh / 2), angle=side * bend)
        knee = Hinge(len(solids), Y, (0.0, 0.0, -thigh), end, angle=-side * (bend + inner))
        foot: dict[str, Any] = {"radius": 0.02, "offsets": (end,)} if side > 0 else {}
        solids += [_rod(0.5, thigh, 2, hip), _rod(0.3, shank, 2, knee, **foot)]
    scene = Scene(tuple(solids), 2e-3, friction=0.8, pins=(Pin(1, 3, end, end),))
    simulation = make(scene)
    apart = deepest = 0.0
    for _ in range(3000):
        simulation.step(10)
        state = simulation.read()
        apart = max(apart, opened(scene, state))
        foot_at = float((state.position[1] + state.rotation[1] @ np.array(end))[2])
        deepest = max(deepest, 0.02 - foot_at)
    name = "closed leg falls on its foot, a minute"
    yield Reading(name, "opened [m]", 0.0, apart, 1e-12)
    yield Reading(name, "deepest [m]", 0.0, max(0.0, deepest), 1e-9)
    about = float(np.abs(state.spin).max())
    yield Reading(name, "turning at last [rad/s]", 0.0, about, 1e-9)
