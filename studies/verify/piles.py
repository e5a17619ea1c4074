"""Many bodies that must stand: towers, a wall, a row of dominoes; and dominoes that fall."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.verify.scene import Make, Reading, Scene, Solid, Triple, box, energy, lowest

BRICK = (0.1, 0.05, 0.05)  # half edges [m]
DOMINO = (0.01, 0.05, 0.1)
MASS = 1.0  # of each [kg]
FRICTION = 0.6
TIMESTEP = 2e-3  # [s]
STANDS = 250  # steps
APART = 0.1  # between dominoes' centres [m]
PUSH = 3.0  # of the first one, about its lower edge [rad/s]
RUN = 600  # steps


def readings(make: Make) -> Iterator[Reading]:
    """What stands does not move; what falls lies at last and gains no energy."""
    towers = [(1.0 * i, 0.0, z) for i in range(3) for z in _heights(5)]
    yield from _stands(make, "3 towers of 5 boxes stand", BRICK, towers)
    yield from _stands(make, "wall of 12 bricks stands", BRICK, wall(12))
    row: list[Triple] = [(APART * i, 0.0, DOMINO[2]) for i in range(10)]
    yield from _stands(make, "10 dominoes stand", DOMINO, row)
    yield from _falls(make, row)


def wall(count: int, width: int = 4) -> list[Triple]:
    """Bricks in rows, every other row shifted by a quarter of a brick: all stand on their own."""
    rows = (divmod(i, width) for i in range(count))
    return [
        (2 * BRICK[0] * (column + 0.25 * (row % 2)), 0.0, BRICK[2] * (1 + 2 * row))
        for row, column in rows
    ]


def pile(half: Triple, places: list[Triple], timestep: float = TIMESTEP) -> Scene:
    """Equal boxes at rest."""
    solids = tuple(box(MASS, half, position=place) for place in places)
    return Scene(solids, timestep, friction=FRICTION)


def _heights(count: int) -> list[float]:
    return [BRICK[2] * (1 + 2 * i) for i in range(count)]


def _stands(make: Make, name: str, half: Triple, places: list[Triple]) -> Iterator[Reading]:
    simulation = make(pile(half, places))
    start = simulation.read()
    simulation.step(STANDS)
    moved = float(np.abs(simulation.read().position - start.position).max())
    yield Reading(name, "moved [m]", 0.0, moved if np.isfinite(moved) else np.inf, 1e-9)


def _falls(make: Make, places: list[Triple]) -> Iterator[Reading]:
    """The first one is turned about its lower edge; 1.2 s later all lie, or lean on the next."""
    scene = pile(DOMINO, places)
    scene = scene._replace(solids=(_pushed(scene.solids[0]), *scene.solids[1:]))
    simulation = make(scene)
    energies, depths = [energy(scene, simulation.read())], [0.0]
    for _ in range(RUN // 2):
        simulation.step(2)
        state = simulation.read()
        energies.append(energy(scene, state))
        depths.append(max(-lowest(state, i, DOMINO) for i in range(len(places))))
    upright = int((simulation.read().rotation[:, 2, 2] > np.cos(0.3)).sum())
    name = "10 dominoes fall"
    yield Reading(name, "still upright [1]", 0.0, float(upright), 0.0)
    yield Reading(name, "deepest in the floor [m]", 0.0, max(depths), 1e-6)
    gained = float(np.diff(energies).max(initial=0.0)) / energies[0]
    yield Reading(name, "energy gained in two steps [1]", 0.0, max(0.0, gained))
    troubles = simulation.troubles()
    if troubles is not None:
        yield Reading(name, "solves above tolerance [1]", 0.0, float(troubles))


def _pushed(domino: Solid) -> Solid:
    speed = PUSH * DOMINO[2], 0.0, PUSH * DOMINO[0]
    return domino._replace(velocity=speed, spin=(0.0, PUSH, 0.0))
