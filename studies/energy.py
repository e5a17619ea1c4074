"""Random scenes, each step audited: which gain energy, which end in each other, and who tells.

What counts as degraded is told always, the rest where somebody asks for audits.

    python -m studies.energy --scenes 800 --seed 0

Loose solids and trees, on a floor or free, 200 steps of 1 to 10 ms, at up to 60 rad/s, half of
them by the midpoint rule.  A gain is counted from an earlier low, as a share of the scene's largest
kinetic energy, weight and springs included; by Euler's rule with velocities of the same time as
positions (docs/theory.md, Semi-implicit Euler, "Energy as it is read"), which those of steps are
that are cut for trees that whirl.  An overlap is one of more than 1 % of the size of the smallest
part.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs import Model, ModelBuilder, SimulationError, World, free, revolute, totals

Floats = NDArray[np.float64]
SHARE = 0.01  # of the largest kinetic energy, and of a part's size
SIZE = 0.1  # of parts, about [m]
LEAST = 0.6  # times that, of the smallest
SOLIDS = "sphere", "capsule", "box", "cylinder", "ellipsoid", "convex"


class Scene(NamedTuple):
    """What is simulated."""

    model: Model
    q: Floats
    v: Floats
    steps: int


class Outcome(NamedTuple):
    """What came of it."""

    gain: float  # share of the largest kinetic energy
    told: bool  # whether audits counted a step, as coarse or beyond
    beyond: bool  # or as beyond
    overlap: float  # [m]
    degraded: bool
    failed: bool


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenes", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found: Counter[str] = Counter()
    for number in range(given.seed, given.seed + given.scenes):
        scene = random_scene(number)
        rule = scene.model.integrator
        outcome = run(scene)
        found.update(_counted(rule, outcome))
        if outcome.gain > SHARE or outcome.overlap > SHARE * LEAST * SIZE:
            print(f"scene {number}, {rule}: {outcome}", flush=True)
    for name in sorted(found):
        print(f"{name}: {found[name]}")


def _counted(rule: str, outcome: Outcome) -> list[str]:
    gains, overlaps = outcome.gain > SHARE, outcome.overlap > SHARE * LEAST * SIZE
    told = "told by audits" if outcome.told else "told by nobody"
    told = "counted as degraded" if outcome.degraded else told
    names = ["scenes", f"scenes, {rule}"]
    names += [f"gains above 1 %, {rule}, {told}"] if gains else []
    names += [f"overlaps above 1 % of size, {rule}, {told}"] if overlaps else []
    names += ["degraded"] if outcome.degraded else []
    return names + (["failed"] if outcome.failed else [])


def random_scene(seed: int) -> Scene:
    """A scene, and how it begins; the same for equal seeds."""
    rng = np.random.default_rng(seed)
    rule = ("euler", "midpoint")[seed % 2]
    weight = -9.81 * float(rng.random() < 0.7)
    step = float(np.exp(rng.uniform(np.log(1e-3), np.log(1e-2))))
    builder = ModelBuilder(gravity=(0, 0, weight), timestep=step, integrator=rule)
    if rng.random() < 0.6:
        builder.half_space("floor", friction=float(rng.uniform(0, 1.5)))
    for number in range(int(rng.integers(1, 4))):
        _add_tree(builder, rng, number, int(rng.choice([1, 1, 2, 3])))
    model = builder.build()
    spin = float(rng.uniform(0.0, 60.0)) ** float(rng.random())
    v = rng.normal(size=model.nv)
    return Scene(model, model.neutral(), v * spin / max(np.abs(v).max(), 1e-9), 200)


def _add_tree(builder: ModelBuilder, rng: np.random.Generator, number: int, links: int) -> None:
    """A loose solid, or a chain on a hinge or loose; far enough from others to begin apart."""
    loose = links == 1 or rng.random() < 0.5
    place = (1.2 * number, 0.0, 1.0 + float(rng.uniform(0.0, 0.5)))
    for i in range(links):
        name, parent = f"{number}.{i}", f"{number}.{i - 1}" if i else "world"
        axis = rng.normal(size=3)
        joint = revolute(axis=axis, position=(0.3, 0, 0) if i else place)
        if i == 0 and loose:
            joint = free(position=place)
        builder.body(name, parent=parent, joint=joint, density=float(rng.uniform(300, 3000)))
        _add_solid(builder, rng, name)


def _add_solid(builder: ModelBuilder, rng: np.random.Generator, name: str) -> None:
    """A solid of about SIZE beside the joint."""
    kind = str(rng.choice(SOLIDS))
    a, b, c = (SIZE * float(x) for x in rng.uniform(LEAST, 1.0, 3))
    if kind == "sphere":
        builder.sphere(name, name, radius=a)
    elif kind == "capsule":
        builder.capsule(name, name, start=(0, 0, -b), end=(0, 0, b), radius=0.5 * a)
    elif kind == "box":
        builder.box(name, name, half_size=(a, b, c))
    elif kind == "cylinder":
        builder.cylinder(name, name, radius=a, half_length=b)
    elif kind == "ellipsoid":
        builder.ellipsoid(name, name, radii=(a, b, c))
    else:
        builder.convex(name, name, points=rng.uniform(-1, 1, (16, 3)) * (a, b, c))


def run(scene: Scene) -> Outcome:
    """Simulate a scene, and look at its energy and depths after each step."""
    model = scene.model
    world = World(model, audit_every=1)
    world.reset(scene.q, scene.v)
    low, gain, most, deepest, failed = np.inf, 0.0, 0.0, 0.0, False
    for _ in range(scene.steps):
        q, v = world.q.copy(), world.v.copy()
        try:
            world.step()
        except SimulationError:
            failed = True
            break
        # By Euler's rule velocities are half a step behind: those of the start's positions
        if model.integrator != "euler":
            q, v = world.q, world.v
        elif not world._handle.answer[0]["pace"] > 0.0:
            v = 0.5 * (v + world.v)
        at = totals(model, q, v)
        energy = at.kinetic + at.potential
        low, most = min(low, energy), max(most, at.kinetic)
        gain = max(gain, energy - low)
        deepest = max(deepest, world.certificate().deepest if not failed else 0.0)
    told = world.diagnostics
    return Outcome(
        gain / max(most, 1e-12),
        told.coarse + told.beyond > 0,
        told.beyond > 0,
        deepest,
        told.degraded > 0,
        failed,
    )


if __name__ == "__main__":
    main()
