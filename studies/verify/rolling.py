"""Spheres: rolling, slipping, and rolling under a push along no axis."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, radians, sin, tan

import numpy as np

from studies.verify.scene import G, Make, Reading, Scene, ball, tilted

SLOPE = 0.5  # [rad]
RADIUS = 0.1  # [m]


def readings(make: Make) -> Iterator[Reading]:
    """On a slope with friction enough and too little; thrown without spin."""
    for word, excess in (("rolls", 1.5), ("slips", 0.5)):
        for heading in (0.0, 22.5):
            yield from _slope(make, word, excess, heading)
    for heading in (0.0, 22.5, 45.0):
        yield from _thrown(make, heading)
    for heading in (22.5, 45.0):
        yield from _pushed(make, heading)


def _slope(make: Make, word: str, excess: float, heading: float) -> Iterator[Reading]:
    """5/7 g sin(theta) if mu >= 2/7 tan(theta), else g (sin(theta) - mu cos(theta)); 0.5 s."""
    mu = excess * 2 / 7 * tan(SLOPE)
    gravity = tilted(SLOPE, radians(heading))
    sphere = ball(0.7, RADIUS, position=(0.0, 0.0, RADIUS))
    simulation = make(Scene((sphere,), 1e-3, gravity=gravity, friction=mu))
    simulation.step(500)
    v = simulation.read().velocity[0]
    c, s = cos(radians(heading)), sin(radians(heading))
    a = 5 / 7 * G * sin(SLOPE) if excess > 1 else G * (sin(SLOPE) - mu * cos(SLOPE))
    name = f"sphere {word} down a slope at {heading:g} degrees"
    yield Reading(name, "acceleration [m/s^2]", a, float(c * v[0] + s * v[1]) / 0.5, 1e-7)
    if heading:
        yield Reading(name, "speed aside [m/s]", 0.0, float(abs(c * v[1] - s * v[0])), 1e-9)


def _pushed(make: Make, heading: float) -> Iterator[Reading]:
    """It rolls along x, pushed at its centre by a quarter of its weight along a heading, 0.5 s.

    Without slip all of the push but 2/7 moves it on: the path is a parabola.
    """
    push = 0.25 * G
    c, s = cos(radians(heading)), sin(radians(heading))
    sphere = ball(
        0.7,
        RADIUS,
        position=(0.0, 0.0, RADIUS),
        velocity=(1.0, 0.0, 0.0),
        spin=(0.0, 1.0 / RADIUS, 0.0),
    )
    gravity = (push * c, push * s, -G)
    simulation = make(Scene((sphere,), 1e-3, gravity=gravity, friction=0.3))
    simulation.step(500)
    state = simulation.read()
    gained = state.velocity[0] - (1.0, 0.0, 0.0)
    name = f"rolling sphere pushed at {heading:g} degrees"
    speed = 5 / 7 * push * 0.5
    yield Reading(name, "speed gained [m/s]", speed, float(c * gained[0] + s * gained[1]), 1e-9)
    yield Reading(name, "speed aside [m/s]", 0.0, float(abs(c * gained[1] - s * gained[0])), 1e-9)


def _thrown(make: Make, heading: float) -> Iterator[Reading]:
    """Thrown without spin it slides, then rolls at 5/7 of its speed."""
    c, s = cos(radians(heading)), sin(radians(heading))
    sphere = ball(0.7, RADIUS, position=(0.0, 0.0, RADIUS), velocity=(c, s, 0.0))
    simulation = make(Scene((sphere,), 1e-3, friction=0.3))
    simulation.step(500)
    v = simulation.read().velocity[0]
    name = f"sphere thrown at {heading:g} degrees"
    yield Reading(name, "speed at last [m/s]", 5 / 7, float(np.hypot(v[0], v[1])), 1e-9)
    yield Reading(name, "speed aside [m/s]", 0.0, float(abs(c * v[1] - s * v[0])), 1e-9)
