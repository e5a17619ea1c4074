"""Coulomb's law: when a block slips, how far it slides, and that no direction is preferred."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, cos, hypot, radians, sin, sqrt
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from dynenvs.memory.layout import Floats
from studies.verify.scene import G, Hinge, Make, Reading, Scene, Solid, box, lowest, tilted

HALF = (0.2, 0.15, 0.05)
HEADINGS = (0.0, 22.5, 45.0)  # [degrees]


def readings(make: Make) -> Iterator[Reading]:
    """Thresholds, sliding distances, a tripod that spins as it slides, and a turntable."""
    for off in (-1e-3, 1e-3):
        yield from _threshold(make, off)
    for heading in HEADINGS:
        yield from _distance(make, heading)
    for heading in (0.0, 22.5):
        yield from _tripod(make, heading)
    for excess in (0.98, 1.05):
        yield from _turntable(make, excess)


def _threshold(make: Make, off: float) -> Iterator[Reading]:
    """A block on a slope just below and above atan(mu), 22.5 degrees off its axes, after 1 s."""
    mu = 0.5
    slope = atan(mu) + off
    block = box(2.0, HALF, position=(0.0, 0.0, HALF[2]))
    simulation = make(Scene((block,), 1e-3, gravity=tilted(slope, radians(22.5)), friction=mu))
    simulation.step(1000)
    expected = max(0.0, G * (sin(slope) - mu * cos(slope)))
    speed = float(np.linalg.norm(simulation.read().velocity[0]))
    side = "below" if off < 0 else "above"
    yield Reading(f"slope 1 mrad {side} the threshold", "speed [m/s]", expected, speed, 1e-9)


def slide(make: Make, heading: float, steps: int = 400) -> tuple[Floats, float, float]:
    """A block thrown along a heading [degrees]: where it ends [m], the distance
    v^2 / (2 mu g) - v dt / 2, exact for a step that ends as it stops, and the most it lifted."""
    mu, speed = 0.3, 1.0
    dt = speed / (mu * G * steps)
    c, s = cos(radians(heading)), sin(radians(heading))
    block = box(2.0, HALF, position=(0.0, 0.0, HALF[2]), velocity=(speed * c, speed * s, 0.0))
    simulation = make(Scene((block,), dt, friction=mu))
    lift = 0.0
    for _ in range(steps // 10):
        simulation.step(10)
        lift = max(lift, lowest(simulation.read(), 0, HALF))
    simulation.step(100)
    exact = speed**2 / (2 * mu * G) - speed * dt / 2
    return simulation.read().position[0], exact, lift


def _distance(make: Make, heading: float) -> Iterator[Reading]:
    at, exact, lift = slide(make, heading)
    c, s = cos(radians(heading)), sin(radians(heading))
    name = f"slide at {heading:g} degrees"
    yield Reading(name, "distance / exact [1]", 1.0, hypot(at[0], at[1]) / exact, 1e-3)
    yield Reading(name, "aside / exact [1]", 0.0, abs(c * at[1] - s * at[0]) / exact, 1e-3)
    yield Reading(name, "lift [m]", 0.0, lift, 1e-9)


class Tripod(NamedTuple):
    """How a tripod ended."""

    off: float  # distance from where it should be, over its way
    turned: float  # [rad]
    expected: float  # [rad]


def spinning_tripod(make: Make, heading: float, dt: float = 1e-4) -> Tripod:
    """Three feet on a circle in the plane of the centre of mass, each with a third of the weight.

    Each slips its own way: here a pyramid cannot have all its directions right.
    """
    mu, spin, time, reach, radius = 0.3, 6.0, 0.25, 0.2, 1e-3
    angles = 2 * np.pi * np.arange(3) / 3
    feet = [(reach * cos(a), reach * sin(a), radius) for a in angles]
    c, s = cos(radians(heading)), sin(radians(heading))
    top = Solid(
        1.5,
        (0.02, 0.02, 0.04),
        radius=radius,
        offsets=tuple(feet),
        velocity=(c, s, 0.0),
        spin=(0.0, 0.0, spin),
    )
    simulation = make(Scene((top,), dt, friction=mu))
    simulation.step(round(time / dt))

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        arms = reach * np.array([np.cos(angles + state[2]), np.sin(angles + state[2])])
        slip = state[3:5, None] + state[5] * np.array([-arms[1], arms[0]])
        force = -mu * top.mass * G / 3 * slip / np.linalg.norm(slip, axis=0)
        moment = (arms[0] * force[1] - arms[1] * force[0]).sum() / top.inertia[2]
        return np.array([*state[3:], *force.sum(axis=1) / top.mass, moment])

    start = [0.0, 0.0, 0.0, c, s, spin]
    path = solve_ivp(rates, (0.0, time), start, rtol=1e-10, atol=1e-12).y[:, -1]
    state = simulation.read()
    x, y, _ = state.position[0]
    exact, gone = hypot(path[0], path[1]), hypot(x - path[0], y - path[1])
    angle = float(np.arctan2(state.rotation[0, 1, 0], state.rotation[0, 0, 0]))
    return Tripod(gone / exact, angle, float(path[2]))


def _tripod(make: Make, heading: float) -> Iterator[Reading]:
    found = spinning_tripod(make, heading)
    name = f"tripod slides and spins at {heading:g} degrees"
    yield Reading(name, "place off / distance [1]", 0.0, found.off, 1e-3, exact=True)
    yield Reading(name, "angle [rad]", found.expected, found.turned, 1e-3, exact=True)


def _turntable(make: Make, excess: float) -> Iterator[Reading]:
    """A small block at 1 m on a turning table slips outwards once omega^2 r > mu g; after 1 s."""
    mu, r, dt = 0.3, 1.0, 5e-4
    omega = sqrt(excess * mu * G / r)
    top = Hinge(None, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), rate=omega)
    table = Solid(1e3, (1e6, 1e6, 1e6), box=(1.5, 1.5, 0.1), hinge=top)
    half = (0.01, 0.01, 0.005)
    block = box(
        0.1,
        half,
        position=(r, 0.0, 1.1 + half[2]),
        velocity=(0.0, omega * r, 0.0),
        spin=(0.0, 0.0, omega),
    )
    simulation = make(Scene((table, block), dt, floor=False, friction=mu))
    simulation.step(2000)
    x, y, _ = simulation.read().position[1]
    exact = r if excess < 1.0 else _slipping(mu, r, omega, 1.0)
    name = f"turntable at {excess:g} of the threshold"
    # First order in time: a chord for each arc moves the block outwards by omega^2 r dt / 2 a
    # second; and the block has a size.
    yield Reading(name, "radius [m]", exact, hypot(x, y), 2e-3)


def _slipping(mu: float, r: float, omega: float, time: float) -> float:
    """Radius of a point that slips on the table from rest relative to it."""

    def rates(_: float, state: np.ndarray) -> list[float]:
        x, y, vx, vy = state
        sx, sy = vx + omega * y, vy - omega * x
        slip = hypot(sx, sy)
        # At the start it slips outwards, where the centrifugal force points
        dx, dy = (sx / slip, sy / slip) if slip > 1e-12 else (x / r, y / r)
        return [vx, vy, -mu * G * dx, -mu * G * dy]

    start = [r, 0.0, 0.0, omega * r]
    end = solve_ivp(rates, (0.0, time), start, rtol=1e-9, atol=1e-12, max_step=1e-3).y[:, -1]
    return hypot(end[0], end[1])
