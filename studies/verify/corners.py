"""A box dropped a thousand times, on edges, corners and at random: what goes wrong is counted."""

from __future__ import annotations

from collections.abc import Iterator
from math import acos, pi

import numpy as np

from studies.verify.scene import Make, Quaternion, Reading, Scene, box, energy, lowest

DROPS = 1000
HALF = (0.06, 0.05, 0.04)
MASS, TIMESTEP = 1.0, 2e-3
HIGH = 0.02  # of the lowest point above the floor [m]
STEPS = 100  # of a drop: 64 ms of fall, and the impacts
DEEP = 1e-6  # what counts as a penetration [m]
GAIN = 1e-9  # what counts as a gain of energy, of that of the fall


def readings(make: Make) -> Iterator[Reading]:
    """Penetrations, gains of energy by contact, and what the solver itself says."""
    rng = np.random.default_rng(2)
    deepest, most, deep, gained = 0.0, 0.0, 0, 0
    troubles: int | None = 0
    for k in range(DROPS):
        depth, gain, trouble = _drop(make, k, rng)
        deepest, most = max(deepest, depth), max(most, gain)
        deep, gained = deep + (depth > DEEP), gained + (gain > GAIN)
        troubles = None if trouble is None or troubles is None else troubles + trouble
    name = f"box dropped {DROPS} times on edges and corners"
    yield Reading(name, "deepest [m]", 0.0, deepest, 1e-6)
    yield Reading(name, "drops with more than 1 um [1]", 0.0, float(deep), 0.0)
    yield Reading(name, "most energy gained in a step [1]", 0.0, most)
    yield Reading(name, "drops that gain 1e-9 [1]", 0.0, float(gained))
    if troubles is not None:
        yield Reading(name, "solves above tolerance [1]", 0.0, float(troubles), 0.0)


def _drop(make: Make, k: int, rng: np.random.Generator) -> tuple[float, float, int | None]:
    """The deepest place of a drop [m], the most energy a step with contact gained, and troubles."""
    solid = box(MASS, HALF, turned=_turned(k, rng))
    scene = Scene((solid,), TIMESTEP, friction=float(rng.uniform(0.0, 1.0)))
    low = lowest(make(scene).read(), 0, HALF)
    solid = solid._replace(position=(0.0, 0.0, HIGH - low))
    scene = scene._replace(solids=(solid,))
    simulation = make(scene)
    fall = MASS * 9.81 * HIGH
    depth = gain = 0.0
    before = energy(scene, simulation.read())
    for _ in range(STEPS):
        simulation.step()
        state = simulation.read()
        low, now = lowest(state, 0, HALF), energy(scene, state)
        depth = max(depth, -low)
        if low < 1e-4:
            gain = max(gain, (now - before) / fall)
        before = now
    return depth, gain, simulation.troubles()


def _turned(k: int, rng: np.random.Generator) -> Quaternion:
    """Every third on an edge, on a corner, or at random; the former two at a random heading."""
    half = np.array(HALF)
    heading = rng.uniform(0.0, 2 * pi)
    if k % 3 == 0:  # about x until the diagonal of its y-z face is upright
        angle = float(np.arctan2(HALF[1], HALF[2]))
        axis = np.array((1.0, 0.0, 0.0))
    elif k % 3 == 1:  # the diagonal of the box upright
        diagonal = half / np.linalg.norm(half)
        axis = np.cross(diagonal, (0.0, 0.0, 1.0))
        axis /= np.linalg.norm(axis)
        angle = acos(diagonal[2])
    else:
        q = rng.normal(size=4)
        w, x, y, z = q / np.linalg.norm(q)
        return float(w), float(x), float(y), float(z)
    w, (x, y, z) = np.cos(angle / 2), np.sin(angle / 2) * axis
    c, s = np.cos(heading / 2), np.sin(heading / 2)  # then about z
    return float(c * w - s * z), float(c * x - s * y), float(c * y + s * x), float(c * z + s * w)
