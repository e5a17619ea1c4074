"""Torsional and rolling friction: a ball that spins, that rolls out, that rests on a slope.

With a moment of at most c m g (c is a length) a ball of inertia 2/5 m r^2 loses 5/2 c g / r^2 of
its spin a second; rolling, it slows down by 5/7 c g / r; it rests where tan(slope) < c / r.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, cos, radians, sin

import numpy as np

from studies.verify.scene import G, Make, Reading, Scene, ball, tilted

RADIUS, MASS = 0.1, 0.7
SPIN, ROLL = 0.01, 0.005  # coefficients [m]
HEADING = radians(22.5)
STEPS = 200  # until the spinning ball stops


def readings(make: Make) -> Iterator[Reading]:
    """Spinning; rolling; on a slope just below and above the threshold; all three at once."""
    yield from _spinning(make)
    yield from _rolling(make)
    for off in (-1e-3, 1e-3):
        yield from _slope(make, off)
    yield from _sliding(make)


def _scene(timestep: float = 1e-3, **options: object) -> Scene:
    solid = ball(MASS, RADIUS, position=(0.0, 0.0, RADIUS), **options)
    return Scene((solid,), timestep, torsional=SPIN, rolling=ROLL)


def _spinning(make: Make) -> Iterator[Reading]:
    start, rate = 10.0, 2.5 * SPIN * G / RADIUS**2
    simulation = make(_scene(start / rate / STEPS, spin=(0.0, 0.0, start)))
    simulation.step(STEPS // 2)
    name = "ball spins on its spot"
    spin = float(simulation.read().spin[0, 2])
    yield Reading(name, "spin half-way [rad/s]", start / 2, spin, 1e-9)
    simulation.step(STEPS)
    spin = float(np.linalg.norm(simulation.read().spin[0]))
    yield Reading(name, "spin after it has stopped [rad/s]", 0.0, spin, 1e-9)


def _rolling(make: Make) -> Iterator[Reading]:
    speed, rate = 0.2, 5 / 7 * ROLL * G / RADIUS
    c, s = cos(HEADING), sin(HEADING)
    simulation = make(
        _scene(
            velocity=(speed * c, speed * s, 0.0),
            spin=(-speed * s / RADIUS, speed * c / RADIUS, 0.0),
        )
    )
    simulation.step(300)
    name = "ball rolls out"
    v = simulation.read().velocity[0]
    yield Reading(name, "speed after 0.3 s [m/s]", speed - 0.3 * rate, c * v[0] + s * v[1], 1e-9)
    simulation.step(500)
    v = float(np.linalg.norm(simulation.read().velocity[0]))
    yield Reading(name, "speed after it has stopped [m/s]", 0.0, v, 1e-9)


def _slope(make: Make, off: float) -> Iterator[Reading]:
    slope = atan(ROLL / RADIUS) + off
    simulation = make(_scene()._replace(gravity=tilted(slope, HEADING)))
    simulation.step(1000)
    expected = max(0.0, 5 / 7 * G * (sin(slope) - ROLL / RADIUS * cos(slope)))
    speed = float(np.linalg.norm(simulation.read().velocity[0]))
    side = "below" if off < 0 else "above"
    name = f"ball on a slope, 1 mrad {side} the threshold of rolling friction"
    yield Reading(name, "speed [m/s]", expected, speed, 1e-9)


def _sliding(make: Make) -> Iterator[Reading]:
    """It slides, spins and is turned by friction, less rolling friction: each as if alone."""
    mu, speed, start, time = 0.5, 3.0, 10.0, 0.05
    simulation = make(_scene(velocity=(speed, 0.0, 0.0), spin=(0.0, 0.0, start)))
    simulation.step(round(time / 1e-3))
    state = simulation.read()
    name = "ball slides and spins"
    v, spin = float(state.velocity[0, 0]), state.spin[0]
    yield Reading(name, "speed [m/s]", speed - mu * G * time, v, 1e-9)
    unit = 2.5 * G / RADIUS**2 * time  # for a coefficient of a metre [rad/s]
    turn = (mu * RADIUS - ROLL) * unit
    yield Reading(name, "spin [rad/s]", start - SPIN * unit, float(spin[2]), 1e-9)
    yield Reading(name, "turn by friction [rad/s]", turn, float(spin[1]), 1e-9)
