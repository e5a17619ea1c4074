"""Impacts: a stop on the floor, a row of spheres, Painleve's rod, and what they must keep."""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, cos, sin

import numpy as np

from studies.verify.scene import Make, Reading, Scene, Solid, ball, box, lowest, momentum


def readings(make: Make) -> Iterator[Reading]:
    """Inelastic, as is the default."""
    yield from _landing(make)
    yield from _row(make)
    yield from _painleve(make)
    yield from _collision(make)


def _landing(make: Make) -> Iterator[Reading]:
    """A box falls flat by 0.3 m: deepest and last place of its base."""
    half = (0.12, 0.1, 0.08)
    simulation = make(Scene((box(2.0, half, position=(0.0, 0.0, half[2] + 0.3)),), 2e-3))
    deepest = 0.0
    for _ in range(500):
        simulation.step()
        deepest = max(deepest, -lowest(simulation.read(), 0, half))
    name = "box falls flat on the floor"
    yield Reading(name, "deepest [m]", 0.0, deepest, 1e-9)
    yield Reading(name, "at rest [m]", 0.0, abs(lowest(simulation.read(), 0, half)), 1e-9)


def _row(make: Make) -> Iterator[Reading]:
    """A sphere at 1 m/s meets three that touch: inelastic and all at once, all go on at 1/4."""
    places = [-0.01, 0.2, 0.4, 0.6]
    solids = tuple(
        ball(1.0, 0.1, position=(x, 0.0, 0.0), velocity=(float(x < 0.0), 0.0, 0.0)) for x in places
    )
    simulation = make(Scene(solids, 1e-3, floor=False, gravity=(0.0, 0.0, 0.0)))
    simulation.step(100)
    worst = float(np.abs(simulation.read().velocity[:, 0] - 0.25).max())
    yield Reading("sphere meets a row of three", "speeds from 1/4 [m/s]", 0.0, worst, 1e-9)


def _painleve(make: Make) -> Iterator[Reading]:
    """A rod pushed along with its tip ahead of it jams (mu = 2, tan(theta) = 2).

    No force gives an acceleration there; an impulse stops the tip at once.  The rest follows from
    the angular momentum about the tip.
    """
    theta, mu, dt, radius = atan(2.0), 2.0, 1e-3, 1e-3
    tip = (-cos(theta), 0.0, -sin(theta))
    height = sin(theta) + radius
    rod = Solid(
        1.0,
        (1 / 3, 1 / 3, 1 / 3),
        radius=radius,
        offsets=(tip,),
        position=(0.0, 0.0, height),
        velocity=(-1.0, 0.0, 0.0),
    )
    scene = Scene((rod,), dt, friction=mu)
    simulation = make(scene)
    simulation.step()
    state = simulation.read()
    arm = np.array([cos(theta), height])  # from the contact to the centre
    about = arm[0] * -9.81 * dt + arm[1]
    kinetic = 0.5 * about**2 / (1 / 3 + arm @ arm)
    v, spin = state.velocity[0], state.spin[0]
    energy = 0.5 * float(v @ v) + float(spin @ spin) / 6
    yield Reading("Painleve's rod, one step", "kinetic energy [J]", kinetic, energy, 1e-9)


def _collision(make: Make) -> Iterator[Reading]:
    """Two rough spinning spheres in empty space: momentum over the impact."""
    first = ball(1.0, 0.1, velocity=(1.0, 0.1, 0.2), spin=(3.0, -2.0, 1.0))
    second = ball(3.0, 0.15, position=(0.255, 0.02, 0.03), velocity=(-0.5, 0.0, 0.1))
    scene = Scene((first, second), 1e-3, floor=False, gravity=(0.0, 0.0, 0.0), friction=0.4)
    simulation = make(scene)
    before = momentum(scene, simulation.read())
    speed = simulation.read().velocity[0].copy()
    simulation.step(20)
    after = simulation.read()
    if np.abs(after.velocity[0] - speed).max() < 0.1:
        raise RuntimeError("the spheres did not meet")
    change = np.abs(momentum(scene, after) - before)
    name = "rough spheres collide"
    yield Reading(name, "linear momentum lost [N s]", 0.0, float(change[3:].max()), 1e-12)
    # First order: contact forces act where the spheres were at the start of the step
    yield Reading(name, "angular momentum lost [N m s]", 0.0, float(change[:3].max()), 1e-3)
