"""Small scenes of each kind, stepped where numba checks every index of an array.

To be run in a process of its own, by `test_checked_bounds.py`, with NUMBA_BOUNDSCHECK=1 and
NUMBA_FULL_TRACEBACKS=1: what is out of bounds is then printed, as "debug: IndexError", where it
happens, and the entry that Python called fails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba import config

import dynenvs
from dynenvs import Model, ModelBuilder, World
from dynenvs.jit.compiled import entry, prepare, unit
from dynenvs.memory.layout import Floats

STEPS = 150


@unit("wrong")
def beyond(values: Floats, k: int) -> int:
    """An entry that is not there."""
    return int(values[k])


def before(values: Floats, k: int) -> int:
    """An entry before the first: functions of the package do not count from the end."""
    return int(values[k])


before.__module__ = "dynenvs.jit.trust"  # one of the package
before = unit("wrong")(before)


@entry
def wrong_too(values: Floats, k: int) -> int:
    """The same by way of a unit."""
    return int(before(values, k))


@entry
def wrong(values: Floats, k: int) -> int:
    """The same by way of a unit."""
    return int(beyond(values, k))


def ball() -> Model:
    """On a floor: contact, the dense ladder."""
    builder = ModelBuilder().half_space("floor")
    return (
        builder.body("a", joint=dynenvs.free(), density=500.0).sphere("a", "a", radius=0.1).build()
    )


def loop() -> Model:
    """A closed loop, coupled joints, and a ball joint with a limit."""
    builder = ModelBuilder()
    inertia = (0.1, 0.1, 0.1)
    for name, x in (("one", 0.0), ("two", 1.0)):
        joint = dynenvs.revolute(name, (0, 1, 0), position=(x, 0, 0))
        builder.body(name, joint=joint, mass=1.0, inertia=inertia)
    builder.couple("gears", "one", "two", coefficients=(0.0, 2.0))
    joint = dynenvs.spherical("ball", limits=(0.0, 0.5))
    builder.body("c", joint=joint, mass=1.0, inertia=inertia, com=(0.3, 0, 0))
    joint = dynenvs.revolute("d", (0, 1, 0), position=(0.5, 0, 0))
    builder.body("d", parent="two", joint=joint, mass=1.0, inertia=inertia)
    at = {"position_a": (0.0, 0.0, 0.5), "position_b": (1.5, 0.0, 0.5)}
    return builder.close("pin", "d", "world", **at).build()


def heap() -> Model:
    """Boxes in a heap over hills: islands, the sparse ladder, room that grows."""
    builder = ModelBuilder()
    builder.height_field("hills", heights=np.zeros((4, 4)), half_size=(3.0, 3.0))
    for i in range(6):
        builder.body(f"b{i}", joint=dynenvs.free(position=(0.02 * i, 0, 0.11 + 0.21 * i)),
                     density=500.0)  # fmt: skip
        builder.box(f"b{i}", f"b{i}", half_size=(0.1, 0.1, 0.1))
    return builder.build()


def hulls() -> Model:
    """A hull, a capsule and a box over blocks."""
    builder = ModelBuilder()
    heights = np.random.default_rng(0).uniform(0.0, 0.1, (4, 4))
    builder.block_field("blocks", heights=heights, half_size=(2.0, 2.0))
    for i, name in enumerate("abc"):
        joint = dynenvs.free(position=(0.3 * i, 0.0, 0.3))
        builder.body(name, joint=joint, density=500.0)
    builder.convex("a", "a", points=np.vstack([np.eye(3), -np.eye(3)]) * 0.15)
    builder.capsule("b", "b", start=(-0.1, 0, 0), end=(0.1, 0, 0), radius=0.08)
    builder.box("c", "c", half_size=(0.1, 0.1, 0.1))
    return builder.build()


def main() -> None:
    """Prove that an index out of bounds is seen; then the scenes."""
    assert config.BOUNDSCHECK
    assert config.FULL_TRACEBACKS
    prepare("wrong kernels", [wrong, wrong_too], ["wrong"])
    with pytest.raises(RuntimeError, match="wrong failed with status"):
        wrong(np.zeros(3), 3)
    with pytest.raises(RuntimeError, match="wrong_too failed with status"):
        wrong_too(np.zeros(3), -1)
    print("seen so far is meant", flush=True)
    scenes: tuple[Callable[[], Model], ...] = (ball, loop, heap, hulls)
    for make in scenes:
        world = World(make())
        world.step(steps=STEPS)
        found = world.diagnostics
        print(f"{make.__name__}: {found.solves} solves, {found.failed} failed", flush=True)


if __name__ == "__main__":
    main()
