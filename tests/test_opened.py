"""How open closed loops are at the end of steps, told by `Diagnostics.opened`, or by an error.

The oracle is NumPy on the bodies' poses; reach and stops are worked out by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dynenvs import (
    ModelBuilder,
    SimulationError,
    World,
    Worlds,
    WorldsError,
    frames,
    free,
    prismatic,
    revolute,
    spherical,
)

Array = NDArray[np.float64]
TURN = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])  # frames with their z along +y
Y = {"axis": (0, 1, 0)}


def bar(builder: ModelBuilder, name: str, parent: str, start: Any, end: Any, mass: float) -> None:
    """A rod from one point to another, both in the parent's axes, on a hinge about y at its start.

    At zero its axes are the parent's.
    """
    half = (np.asarray(end) - start) / 2
    builder.body(
        name, parent=parent, joint=revolute(name, position=start, actuated=True, **Y),
        mass=mass, com=half, inertia=(mass * (half @ half) / 3,) * 3,
    )  # fmt: skip


def openings(world: World) -> list[float]:
    """Of each loop from the bodies' poses alone [m, rad], as its joint asks."""
    found = []
    at = frames(world.model, world.q)
    for loop in world.model.closures.loops:
        a, b = (world.model.body_id(name) for name in (loop.body_a, loop.body_b))
        A, B = at.rotations[a] @ loop.rotation_a, at.rotations[b] @ loop.rotation_b
        apart = at.positions[a] + at.rotations[a] @ loop.position_a
        apart = B.T @ (apart - at.positions[b] - at.rotations[b] @ loop.position_b)
        cosines = A[:, 2] @ B[:, 0], A[:, 2] @ B[:, 1], A[:, 0] @ B[:, 1]
        held = {
            "spherical": [*apart], "revolute": [*apart, *cosines[:2]],
            "prismatic": [*apart[:2], *cosines], "fixed": [*apart, *cosines],
        }[loop.joint]  # fmt: skip
        found.append(float(np.abs(held).max()))
    return found


def check(world: World, steps: int, tau: Array | None = None) -> None:
    """Each step ends closed, and `opened` is what the poses say; or an error ends all."""
    worst = largest = 0.0
    for _ in range(steps):
        try:
            world.step(tau)
        except SimulationError:
            break
        worst, largest = max(worst, *openings(world)), max(largest, np.abs(world.q).max())
        assert worst < 1e-9 * max(1.0, 1e-5 * largest)
    assert world.diagnostics.opened == pytest.approx(worst, abs=1e-14 * max(1.0, largest))


point = st.tuples(st.floats(-1.0, 1.0), st.just(0.0), st.floats(-1.0, 1.0)).map(np.array)
rule = st.sampled_from(["euler", "midpoint"])
period = st.sampled_from([1e-3, 5e-3, 1 / 60])


@pytest.mark.thorough
@given(point, point, st.sampled_from(["spherical", "revolute"]), rule, period, st.floats(-20, 20))
@settings(max_examples=25, deadline=None)
def test_random_four_bars_stay_closed(
    b: Array, c: Array, joint: str, integrator: str, timestep: float, torque: float
) -> None:
    """Closed at zero by construction; driven through their dead centres."""
    builder = ModelBuilder(timestep=timestep, integrator=integrator)
    b[2] += 2.5  # no rod is shorter than 0.5 m
    c += np.array([1.5, 0, 2.5])
    bar(builder, "crank", "world", np.zeros(3), b, 1.0)
    bar(builder, "coupler", "crank", b, c, 2.0)
    bar(builder, "rocker", "world", np.array([1.5, 0, 0]), c, 1.0)
    builder.close(
        "pin", "coupler", "rocker", joint=joint, position_a=c - b, position_b=c - (1.5, 0, 0),
        rotation_a=TURN, rotation_b=TURN,
    )  # fmt: skip
    world = World(builder.build())
    check(world, 60, np.array([torque, 0, 0]))


@pytest.mark.thorough
@given(st.floats(0.2, 1.0), st.floats(0.1, 3.0), st.floats(-30, 30), rule, period)
@settings(max_examples=25, deadline=None)
def test_random_sliders_stay_closed(
    crank: float, more: float, torque: float, integrator: str, timestep: float
) -> None:
    """A crank drives a block along the world's x axis, which a loop's slide holds it to."""
    builder = ModelBuilder(timestep=timestep, integrator=integrator)
    rod = crank + more
    bar(builder, "crank", "world", np.zeros(3), np.array([crank, 0, 0]), 1.0)
    bar(builder, "rod", "crank", np.array([crank, 0, 0]), np.array([crank + rod, 0, 0]), 1.0)
    slide = revolute(position=(rod, 0, 0), actuated=False, **Y)
    builder.body("block", parent="rod", joint=slide, mass=1.0, inertia=(0.1,) * 3)
    along = np.array([[0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0]])  # z along x
    builder.close("rail", "block", "world", joint="prismatic", rotation_a=along, rotation_b=along)
    world = World(builder.build())
    turn = 0.8
    lean = -np.arcsin(crank * np.sin(turn) / rod)
    world.q = turn, lean - turn, -lean
    check(world, 60, np.array([torque, 0]))


def chain(links: int, load: float, timestep: float, integrator: str, joint: str) -> World:
    """Free bodies of 1 kg and half a metre in a row, held end to end; the last has the load."""
    builder = ModelBuilder(timestep=timestep, integrator=integrator)
    for i in range(links):
        mass = load if i == links - 1 else 1.0
        builder.body(f"{i}", joint=free(), mass=mass, inertia=(0.02 * mass,) * 3)
        other, at = (f"{i - 1}", 0.25) if i else ("world", 0.0)
        builder.close(
            f"link {i}", f"{i}", other, joint=joint, position_a=(-0.25, 0, 0),
            position_b=(at, 0, 0), rotation_a=TURN, rotation_b=TURN,
        )  # fmt: skip
    world = World(builder.build())
    world.q.reshape(links, 7)[:, 0] = 0.25 + 0.5 * np.arange(links)
    return world


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("joint", ["spherical", "revolute"])
@pytest.mark.parametrize(
    ("links", "load", "timestep"), [(10, 1e5, 2e-3), (20, 1e3, 5e-3), (20, 1e6, 1 / 60)]
)
def test_a_loaded_chain_of_loops_stays_closed(
    integrator: str, joint: str, links: int, load: float, timestep: float
) -> None:
    """Light links turn far within a step: with rows of its start alone it ends open by 0.2 m."""
    world = chain(links, load, timestep, integrator, joint)
    check(world, 150)
    assert world.time == pytest.approx(150 * timestep)
    assert np.linalg.norm(world.q[-7:-4]) < 0.5 * links


def arm(joint: str = "spherical", **options: Any) -> ModelBuilder:
    """A bar of 1 m on a hinge about y, whose tip is to be held at a place of the world."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    bar(builder, "bar", "world", np.zeros(3), np.array([1.0, 0, 0]), 1.0)
    return builder.close("pin", "bar", "world", joint=joint, position_a=(1, 0, 0), **options)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("start", [1e-6, 0.02, 0.7])
def test_a_start_that_is_a_little_off_is_put_right(integrator: str, start: float) -> None:
    """Within the first step, and without being called degraded."""
    world = World(arm(position_b=(1, 0, 0)).build(), integrator=integrator)
    world.q[0] = start
    world.step()
    assert abs(world.q[0]) < 1e-9
    told = world.diagnostics
    assert told.opened < 1e-9
    assert told.degraded == told.failed == 0


def test_a_start_that_is_far_off_is_told_while_it_closes() -> None:
    """A body 10 m away moves to its place within some steps; each that ends open is counted."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("ball", joint=free(), mass=1.0, inertia=(1, 1, 1))
    builder.close("pin", "ball", "world", position_b=(10, 0, 0))
    world = World(builder.build())
    steps = 0
    while steps == 0 or openings(world)[0] > 1e-9:
        world.step()
        steps += 1
        assert steps < 10
        if steps == 1:
            assert world.diagnostics.opened == pytest.approx(openings(world)[0], abs=1e-14)
            assert world.diagnostics.opened > 1.0
    assert world.diagnostics.degraded == steps - 1 > 0
    assert world.diagnostics.failed == 0
    world.reset(world.q)
    world.step(steps=10)
    assert world.diagnostics.opened < 1e-9
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize(
    ("joint", "place", "opening"),
    [
        ("spherical", (1.5, 0, 0), "0.5"),
        ("revolute", (1, 0.2, 0), "0.2"),
        ("fixed", (0, 0, 0), "1"),
    ],
)
def test_what_cannot_close_is_told_at_once(
    integrator: str, joint: str, place: tuple[float, ...], opening: str
) -> None:
    """Out of reach by half a metre, beside the plane, and where the bar's own pivot is."""
    model = arm(joint, position_b=place, rotation_a=TURN, rotation_b=TURN).build()
    world = World(model, integrator=integrator)
    with pytest.raises(SimulationError, match=rf"loop 'pin' .* at t = 0 s: .* open by {opening} m"):
        world.step()
    assert (world.q == 0.0).all()
    worlds = Worlds(model, 2, integrator=integrator)
    with pytest.raises(WorldsError, match="loops that cannot be closed"):
        worlds.step()
    np.testing.assert_array_equal(worlds.diagnostics["failed"], 1)


def test_a_weld_that_is_turned_over_is_told() -> None:
    """All its cosines vanish where the bodies are half a turn apart."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("a", joint=free(), mass=1.0, inertia=(1, 1, 1))
    builder.close("weld", "a", "world", joint="fixed")
    world = World(builder.build())
    world.q[3:] = 0, 1, 0, 0
    assert np.abs(world.closure).max() < 1e-15
    with pytest.raises(SimulationError, match=r"loop 'weld' .* open by 3\.14 m or rad"):
        world.step()


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_stops_that_keep_a_loop_from_closing_are_told(integrator: str) -> None:
    """A gear of ratio one between hinges whose ranges do not meet."""
    builder = ModelBuilder(gravity=(0, 0, 0), integrator=integrator)
    for name, limits in (("a", (0.0, 0.5)), ("b", (1.0, 1.5))):
        joint = revolute(name, limits=limits, **Y)
        builder.body(name, joint=joint, mass=1.0, inertia=(1, 1, 1))
    builder.couple("gear", "a", "b", coefficients=(0.0, 1.0))
    world = World(builder.build())
    world.q = 0.5, 1.0
    world.step()
    gap = max(world.q[0] - 0.5, 1.0 - world.q[1])
    assert abs(world.q[0] - world.q[1]) < 1e-9
    assert gap >= 0.25 - 1e-9
    told = world.diagnostics
    assert told.overrun >= gap - 1e-12
    assert told.degraded > 0


def test_a_coupling_that_cannot_hold_is_told() -> None:
    """A slide at q_a = 1 + q_b^2, and held at zero by another one."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name in "ab":
        builder.body(name, joint=prismatic(name, axis=(1, 0, 0)), mass=1.0)
    builder.couple("cam", "a", "b", coefficients=(1.0, 0.0, 1.0))
    builder.couple("stop", "a", None, coefficients=(0.0,))
    world = World(builder.build())
    world.q = 0.0, 1.0
    with pytest.raises(SimulationError, match=r"loop '(cam|stop)' cannot be closed"):
        world.step(steps=20)


def test_worlds_tell_the_same_as_one() -> None:
    """`opened` and `overrun` of each world."""
    model = chain(10, 1e5, 2e-3, "euler", "spherical").model
    one, many = World(model), Worlds(model, 3)
    one.q.reshape(10, 7)[:, 0] = 0.25 + 0.5 * np.arange(10)
    many.q[:] = one.q
    one.step(steps=40)
    many.step(steps=40)
    np.testing.assert_array_equal(many.q, np.tile(one.q, (3, 1)))
    assert 1e-16 < one.diagnostics.opened < 1e-9
    assert (many.diagnostics["opened"] == one.diagnostics.opened).all()
    assert (many.diagnostics["overrun"] == 0.0).all()


@pytest.mark.parametrize(
    ("joint", "q", "overrun"),
    [
        (revolute(limits=(-1.0, 0.5)), (0.8,), 0.3),
        (prismatic(axis=(0, 0, 1), limits=(-1.0, 0.5)), (-1.2,), 0.2),
        (spherical(limits=(0.0, 0.5)), (np.cos(0.4), np.sin(0.4), 0, 0), 0.3),
    ],
)
def test_a_joint_beyond_its_stop_is_told(joint: Any, q: tuple[float, ...], overrun: float) -> None:
    """The step brings a joint back by what it may at most, and tells what is left."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("a", joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    world = World(builder.build())
    world.q = q
    world.step()
    told = world.diagnostics
    left = 2 * np.arccos(world.q[0]) if len(q) == 4 else abs(world.q[0] + 0.25) - 0.25
    stop = 0.5
    assert told.overrun == pytest.approx(left - stop, abs=1e-12)
    assert 0.0 <= told.overrun < overrun
    assert told.degraded == (told.overrun > 1e-9)
