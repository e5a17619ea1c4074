"""What users of simulators report: seams trip a box, fast balls pass walls, wheels slow down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.verify.scene import (
    G,
    Make,
    Reading,
    Scene,
    Solid,
    Triple,
    ball,
    box,
    energy,
    wheel,
)

SHOTS = 60
WALL = 1000.0  # mass of walls and tiles [kg]
TIMESTEP = 2e-3  # [s]
NOTHING = (0.0, 0.0, 0.0)


def readings(make: Make) -> Iterator[Reading]:
    """Seams, shots at thin walls, a thin rod that spins fast, a wheel."""
    yield from _box_over_a_seam(make)
    yield from _ball_over_a_seam(make)
    yield from _shots(make)
    yield from _rod(make)
    yield from _wheel(make)


def tiles(thick: float) -> tuple[Solid, ...]:
    """Two heavy boxes side by side on the floor; they share the plane x = 1."""
    half = (1.0, 1.0, thick)
    return tuple(box(WALL, half, position=(x, 0.0, thick)) for x in (0.0, 2.0))


def _box_over_a_seam(make: Make) -> Iterator[Reading]:
    """It slides from one tile to the next as on one plane: v^2 / (2 mu g) far."""
    speed, mu, high = 3.0, 0.3, 0.2
    slider = box(
        1.0, (0.1, 0.1, 0.05), position=(0.3, 0.0, high + 0.05), velocity=(speed, 0.0, 0.0)
    )
    simulation = make(Scene((slider, *tiles(0.5 * high)), TIMESTEP, friction=mu))
    highest = 0.0
    for _ in range(600):
        simulation.step()
        highest = max(highest, float(simulation.read().position[0, 2]) - high - 0.05)
    way = float(simulation.read().position[0, 0]) - 0.3
    name = "box slides over a seam"
    # Euler's rule takes the friction of a step before its way: half a step of the speed is lost
    yield Reading(name, "way [m]", speed**2 / (2 * mu * G) - 0.5 * speed * TIMESTEP, way, 1e-4)
    yield Reading(name, "thrown up [m]", 0.0, highest, 1e-9)


def _ball_over_a_seam(make: Make) -> Iterator[Reading]:
    """At 10 m/s, without friction."""
    high, radius = 0.2, 0.1
    start = (-0.5, 0.0, high + radius)
    roller = ball(1.0, radius, position=start, velocity=(10.0, 0.0, 0.0))
    simulation = make(Scene((roller, *tiles(0.5 * high)), TIMESTEP, friction=0.0))
    highest = 0.0
    for _ in range(120):
        simulation.step()
        highest = max(highest, float(simulation.read().position[0, 2]) - start[2])
    speed = float(simulation.read().velocity[0, 0])
    name = "frictionless ball over a seam"
    yield Reading(name, "thrown up [m]", 0.0, highest, 1e-9)
    yield Reading(name, "speed [m/s]", 10.0, speed, 1e-9)


def _shots(make: Make) -> Iterator[Reading]:
    """Balls of 4 cm at walls of 3 to 50 mm, 20 to 300 m/s, 2 ms: up to 60 cm a step."""
    rng = np.random.default_rng(0)
    passed = 0
    for _ in range(SHOTS):
        half = 0.5 * float(rng.uniform(0.003, 0.05))
        speed, far = float(rng.uniform(20.0, 300.0)), float(rng.uniform(0.2, 1.0))
        aside: Triple = (-far, float(rng.uniform(-0.2, 0.2)), float(rng.uniform(-0.2, 0.2)))
        shot = ball(0.1, 0.02, position=aside, velocity=(speed, 0.0, 0.0))
        wall = box(WALL, (half, 0.5, 0.5))
        simulation = make(Scene((shot, wall), TIMESTEP, floor=False, gravity=NOTHING))
        simulation.step(int((far + 1.0) / (speed * TIMESTEP)) + 2)
        place = simulation.read().position
        passed += int(not place[0, 0] < place[1, 0])
    yield Reading(f"{SHOTS} balls shot at thin walls", "passed [1]", 0.0, float(passed), 0.0)


def _rod(make: Make) -> Iterator[Reading]:
    """A rod of 1 m and 2 cm turns end over end, askew, at 300 rad/s."""
    rod = Solid(1.0, (1 / 12, 1 / 12, 5e-5), spin=(10.0, 300.0, 30.0))
    scene = Scene((rod,), 1e-3, floor=False, gravity=NOTHING)
    simulation = make(scene)
    first, most = energy(scene, simulation.read()), 0.0
    for _ in range(100):
        simulation.step(10)
        now = energy(scene, simulation.read())
        most = max(most, now / first - 1.0 if np.isfinite(now) else np.inf)
    name = "rod spins at 300 rad/s, 1 s"
    yield Reading(name, "energy gained [1]", 0.0, most, 1e-6)


def _wheel(make: Make) -> Iterator[Reading]:
    """It rolls straight on, on its rim, for 2 s."""
    radius, wide = 0.1, 0.02
    turned = (0.5**0.5, 0.5**0.5, 0.0, 0.0)  # its axis along y
    disc = wheel(
        1.0,
        radius,
        wide,
        position=(0.0, 0.0, radius),
        turned=turned,
        velocity=(1.0, 0.0, 0.0),
        spin=(0.0, 0.0, -1.0 / radius),
    )
    simulation = make(Scene((disc,), TIMESTEP, friction=0.8))
    simulation.step(1000)
    speed = float(simulation.read().velocity[0, 0])
    yield Reading("wheel rolls, 2 s", "speed [m/s]", 1.0, speed, 1e-9)
