"""Restitution: heights of a bouncing ball, both answers of Newton's cradle, and elastic energy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynenvs.memory.layout import Floats
from studies.verify.scene import (
    Make,
    Reading,
    Scene,
    Solid,
    ball,
    box,
    energies,
    energy,
    momentum,
)

IMPACTS = 10_000  # random ones
PAIRS, STEPS = 5, 150  # of solids in a scene, and for how long
CRADLE = {"all at once": (-1 / 3, 2 / 3, 2 / 3), "one by one": (0.0, 0.0, 1.0)}


def readings(make: Make) -> Iterator[Reading]:
    """A ball on the floor, a row of spheres, an oblique collision, ten thousand random ones."""
    yield from _bounce(make)
    yield from _cradle(make)
    yield from _oblique(make)
    yield from random_impacts(make, IMPACTS)


def _bounce(make: Make) -> Iterator[Reading]:
    """e = 0.8 from 0.5 m, 0.1 ms: the third height is e^6 h, of first order in the step."""
    e, height, dt = 0.8, 0.5, 1e-4
    start = ball(0.7, 0.1, position=(0.0, 0.0, 0.1 + height))
    simulation = make(Scene((start,), dt, restitution=e))
    path = []
    for _ in range(round(2.0 / dt)):
        simulation.step()
        path.append(float(simulation.read().position[0, 2]) - 0.1)
    peaks = [
        b for a, b, c in zip(path, path[1:], path[2:], strict=False) if a < b >= c and b > 0.02
    ]
    third = peaks[2] if len(peaks) > 2 else float("inf")
    name = "ball bounces, e = 0.8"
    yield Reading(name, "third height / exact [1]", 1.0, third / (height * e**6), 1e-2)
    yield Reading(name, "deepest [m]", 0.0, max(0.0, -min(path)), 1e-9)


def _cradle(make: Make) -> Iterator[Reading]:
    """One sphere meets two that touch, e = 1: both answers keep momentum and energy."""
    solids = tuple(
        ball(1.0, 0.1, position=(x, 0.0, 0.0), velocity=(float(x < 0.0), 0.0, 0.0))
        for x in (-0.0105, 0.2, 0.4)
    )
    scene = Scene(solids, 1e-3, floor=False, gravity=(0.0, 0.0, 0.0), restitution=1.0)
    simulation = make(scene)
    simulation.step(40)
    v = simulation.read().velocity[:, 0]
    away = {word: float(np.abs(v - answer).max()) for word, answer in CRADLE.items()}
    name = "Newton's cradle of three, e = 1"
    for word, distance in away.items():
        yield Reading(name, f"speeds from those {word} [m/s]", 0.0, distance)
    yield Reading(name, "speeds from the nearer ones [m/s]", 0.0, min(away.values()), 1e-9)


def _oblique(make: Make) -> Iterator[Reading]:
    """Two smooth spheres meet off their centres, e = 1: energy and momentum stay."""
    first = ball(1.0, 0.1, velocity=(1.0, 0.1, 0.2))
    second = ball(3.0, 0.15, position=(0.2555, 0.05, 0.03), velocity=(-0.5, 0.0, 0.1))
    scene = Scene(
        (first, second),
        1e-3,
        floor=False,
        gravity=(0.0, 0.0, 0.0),
        friction=0.0,
        restitution=1.0,
    )
    simulation = make(scene)
    start = simulation.read()
    simulation.step(20)
    end = simulation.read()
    if np.abs(end.velocity - start.velocity).max() < 0.1:
        raise RuntimeError("the spheres did not meet")
    name = "smooth spheres collide, e = 1"
    lost = abs(energy(scene, end) / energy(scene, start) - 1.0)
    yield Reading(name, "energy lost or gained [1]", 0.0, lost, 1e-12)
    change = momentum(scene, end)[3:] - momentum(scene, start)[3:]
    yield Reading(name, "linear momentum lost [N s]", 0.0, float(np.abs(change).max()), 1e-12)


def random_impacts(make: Make, least: int) -> Iterator[Reading]:
    """At least so many impacts of pairs of rough solids in empty space, e and mu drawn, too.

    Their moments of inertia are alike, so that nothing but an impact changes an energy.
    """
    rng = np.random.default_rng(1)
    met, worst = 0, 0.0
    for _ in range(100 + least):  # a simulator in which nothing meets would go on for ever
        if met >= least:
            break
        scene = _encounters(rng)
        simulation = make(scene)
        before = simulation.read()
        start = old = _by_pair(energies(scene, before))
        for _ in range(STEPS):
            simulation.step()
            state = simulation.read()
            new = _by_pair(energies(scene, state))
            hit = np.abs(state.velocity - before.velocity).max(axis=1)[::2] > 1e-9
            met += int(hit.sum())
            worst = max(worst, float(((new - old) / start)[hit].max(initial=0.0)))
            before, old = state, new
    name = f"{least:,} random rough impacts".replace(",", " ")
    yield Reading(name, "impacts too few [1]", 0.0, float(max(0, least - met)), 0.0)
    yield Reading(name, "energy gained by one [1]", 0.0, worst, 1e-12)


def _by_pair(each: Floats) -> Floats:
    return np.asarray(each[::2] + each[1::2])


def _encounters(rng: np.random.Generator) -> Scene:
    """Pairs of a cube, ball or jack each, far from other pairs, on their way to each other."""
    solids: list[Solid] = []
    for k in range(PAIRS):
        kinds = [_random_solid(rng) for _ in range(2)]
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        gap = sum(reach for _, reach in kinds) + 0.02
        for side, (solid, _) in zip((-0.5, 0.5), kinds, strict=True):
            center = np.array([5.0 * k, 0.0, 0.0]) + side * gap * way
            speed = -2.0 * side * way * rng.uniform(1.0, 3.0) + 0.2 * rng.normal(size=3)
            spin = 5.0 * rng.normal(size=3)
            solids.append(
                solid._replace(position=tuple(center), velocity=tuple(speed), spin=tuple(spin))
            )
    return Scene(
        tuple(solids),
        1e-3,
        floor=False,
        gravity=(0.0, 0.0, 0.0),
        friction=float(rng.uniform(0.0, 1.0)),
        restitution=float(rng.uniform(0.05, 1.0)),
    )


def _random_solid(rng: np.random.Generator) -> tuple[Solid, float]:
    """A solid, and how far it reaches from its centre [m]."""
    mass, size, kind = rng.uniform(0.3, 3.0), rng.uniform(0.04, 0.1), rng.integers(3)
    if kind == 0:
        return box(mass, (size, size, size)), size * 3**0.5
    if kind == 1:
        return ball(mass, size), size
    ends = size * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    moment = 2.0 * mass * size**2
    jack = Solid(mass, (moment, moment, moment), radius=0.3 * size, offsets=tuple(map(tuple, ends)))
    return jack, size * (3**0.5 + 0.3)
