"""Parts that overlap and cannot part: shapes of files are often larger than the limbs they cover.

What no correction parts stays as it is, all else is corrected, and a step takes no longer than the
many contacts ask for.
"""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs import ModelBuilder, World, free, revolute
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import JAMMED

STEPS = 200


def limb(overlap: float, way: Floats, beside: int) -> World:
    """A box on the ground and a ball on its limb, on the two axes of the limb's joints.

    However these turn, the ball is as deep in the box.

    overlap: of ball and box [m]; way: of the axes, out of the box, shape (3,), along an axis of it
    beside: loose boxes that stand elsewhere: from a few on, the problem is solved in islands
    """
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("box", joint=free(), mass=8.0, inertia=(0.05,) * 3)
    builder.box("box", "box", half_size=(0.1,) * 3)
    turn = revolute("first", axis=tuple(way), position=tuple(0.2 * way), damping=1.0)
    builder.body("link", parent="box", joint=turn, mass=0.1, inertia=(1e-4,) * 3)
    at = tuple((0.15 - overlap - 0.2) * way)
    turn = revolute("second", axis=tuple(way), position=at, damping=1.0)
    builder.body("tip", parent="link", joint=turn, mass=0.1, inertia=(1e-4,) * 3)
    builder.sphere("tip", "tip", radius=0.05)
    builder.pair("box", "tip")
    for k in range(beside):
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01,) * 3)
        builder.box(f"b{k}", f"b{k}", half_size=(0.1,) * 3)
    world = World(builder.build(), timestep=0.002)
    for k in range(1 + beside):
        at_q = 7 * k + (2 if k else 0)
        world.q[at_q : at_q + 7] = [0.5 * k, 0, 0.1, 1, 0, 0, 0]
    return world


@pytest.mark.parametrize("beside", [0, 6])
@pytest.mark.parametrize("overlap", [1e-6, 1e-4, 5e-3])
@pytest.mark.parametrize("way", [(0, 0, 1), (1, 0, 0), (0, -1, 0)])
def test_joints_that_cannot_part_what_overlaps_stay_still(
    way: tuple[int, int, int], overlap: float, beside: int
) -> None:
    world = limb(overlap, np.array(way, dtype=float), beside)
    start = world.q.copy()
    for _ in range(STEPS):
        world.step()
        assert np.abs(world.q - start).max() < 1e-5  # a step turned them by 0.02 rad
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("beside", [0, 6])
@pytest.mark.parametrize("overlap", [2e-4, 5e-3])
def test_what_stands_in_the_ground_beside_them_is_lifted_out(overlap: float, beside: int) -> None:
    """Two millimetres; the correction was taken back as a whole, in every step."""
    world = limb(overlap, np.array([0.0, 0, 1]), beside)
    world.q[2] -= 0.002
    for _ in range(STEPS):
        world.step()
    assert world.q[2] == pytest.approx(0.1, abs=1e-8)


@pytest.mark.parametrize("beside", [0, 6])
@pytest.mark.parametrize("beyond", [0.0, 0.5])
def test_what_only_far_turns_part_stays(beyond: float, beside: int) -> None:
    """A ball 2 mm deep on an arm whose axis is all but the plate's normal: a lever of 1.4 mm.

    Along the tangent it would be free after 1.4 rad, so the joint walked there, by 0.06 rad a step,
    and by 1 rad where another joint was beyond its stop.

    beyond: of the stop at which another joint begins [rad]; beside: as of `limb`
    """
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.box("plate", "world", half_size=(0.3, 0.3, 0.1), position=(0, 0, -0.1))
    hinge = revolute("hinge", axis=(0, 0.014, 1))
    builder.body("arm", parent="world", joint=hinge, mass=1.0, inertia=(0.01,) * 3)
    builder.sphere("ball", "arm", radius=0.05, position=(0.1, 0, 0.048))
    builder.pair("plate", "ball")
    stop = revolute("stop", axis=(0, 1, 0), position=(0, 0, 1.0), limits=(beyond, 2.0))
    builder.body("hand", parent="arm", joint=stop, mass=0.1, inertia=(1e-3,) * 3)
    for k in range(beside):
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01,) * 3)
        builder.sphere(f"b{k}", f"b{k}", radius=0.1)
    world = World(builder.build(), timestep=0.002)
    for k in range(beside):
        world.q[2 + 7 * k : 9 + 7 * k] = [0.5 * k, 0, 9.1, 1, 0, 0, 0]
    for _ in range(STEPS):
        before = world.q[0]
        world.step()
        assert abs(world.q[0] - before) < 1e-3
    assert abs(world.q[0]) < 0.1
    assert world.q[1] == pytest.approx(beyond, abs=1e-9)


def arm(seed: int, axes: list[tuple[int, int, int]], gravity: float) -> ModelBuilder:
    """An arm whose links are shorter than what they are covered with."""
    rng, builder, parent = (
        np.random.default_rng(seed),
        ModelBuilder(gravity=(0, 0, -gravity)),
        "world",
    )
    for k, axis in enumerate(axes):
        place = rng.uniform(-0.02, 0.02, 3) + np.array([0, 0, 0.04 * (k > 0)])
        joint = revolute(f"j{k}", axis=axis, position=tuple(place), limits=(-2.9, 2.9))
        builder.body(f"l{k}", parent=parent, joint=joint, mass=1.0, inertia=(0.01,) * 3)
        parent = f"l{k}"
    return builder


def capsules(seed: int) -> ModelBuilder:
    """An arm of capsules 8 to 12 cm deep in each other."""
    builder, rng = arm(seed, 2 * [(0, 0, 1), (0, 1, 0)], 0.0), np.random.default_rng(seed)
    for k in range(4):
        ends = rng.uniform(-0.02, 0.02, (2, 3)) + np.array([[0, 0, 0], [0, 0, 0.2]])
        start, end = tuple(ends[0]), tuple(ends[1])
        builder.capsule(f"l{k}", f"l{k}", start=start, end=end, radius=0.06)
    for a, b in ((0, 2), (0, 3), (1, 3)):
        builder.pair(f"l{a}", f"l{b}")
    return builder


@pytest.mark.parametrize("seed", [1, 4, 16, 17, 20])
def test_deep_overlaps_do_not_throw_joints_about(seed: int) -> None:
    """Joints jumped by up to 2.2 rad in a step."""
    builder = capsules(seed)
    world = World(builder.build(), timestep=0.002)
    for _ in range(STEPS):
        before = world.q.copy()
        world.step()
        assert np.abs(world.q - before).max() < 0.25
    before = world.q.copy()
    world.step(steps=50)
    assert np.abs(world.q - before).max() < 1e-3  # what cannot be parted is at rest


@pytest.mark.parametrize("seed", range(4))
def test_a_jam_of_a_hundred_contacts_takes_few_factorisations(seed: int) -> None:
    """Nothing can part these boxes, so there is no central path, and nothing to go on from there.

    Most of the budget, 600 factorisations of a usual step, was spent on that.
    """
    builder, rng = (
        arm(seed, 4 * [(0, 0, 1), (0, 1, 0), (1, 0, 0)], 9.81),
        np.random.default_rng(seed),
    )
    for k in range(12):
        size, at = tuple(rng.uniform(0.05, 0.12, 3)), tuple(rng.uniform(-0.02, 0.02, 3))
        builder.box(f"l{k}", f"l{k}", half_size=size, position=at)
        for other in range(k):
            builder.pair(f"l{other}", f"l{k}")
    for k in range(4):  # with loose boxes elsewhere problems are solved in islands
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01,) * 3)
        builder.box(f"b{k}", f"b{k}", half_size=(0.1,) * 3)
    world = World(builder.build(), timestep=0.002, budget=40)
    world.q[12:] = np.ravel([[5, k, 0, 1, 0, 0, 0] for k in range(4)])
    for _ in range(12):
        world.step(rng.normal(0.0, 3.0, world.model.nu))
    assert world.diagnostics.degraded == 0
    assert world.diagnostics.residual < 1e-9


@pytest.mark.parametrize("turns", [0.0, 1.0])
@pytest.mark.parametrize("shape", ["convex", "cylinder"])
def test_what_overlaps_at_many_points_is_solved_once_a_step(shape: str, turns: float) -> None:
    """A wheel that turns flat in its bearing, 5 mm deep, which it cannot leave.

    Points that are redundant for the problem were added to it all the same, as they were deep; and
    rims rolled on to their ends' points in round after round.
    """
    builder = ModelBuilder()
    builder.box("block", "world", half_size=(0.2, 0.2, 0.1))
    bearing = revolute("hinge", axis=(0, 0, 1), damping=0.1)
    builder.body("wheel", parent="world", joint=bearing, mass=1.0, inertia=(0.01,) * 3)
    if shape == "cylinder":
        builder.cylinder("wheel", "wheel", radius=0.1, half_length=0.05, position=(0, 0, 0.145))
    else:
        angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
        rim = 0.1 * np.column_stack((np.cos(angles), np.sin(angles)))
        corners = [(x, y, z) for x, y in rim for z in (0.095, 0.195)]
        builder.convex("wheel", "wheel", points=corners)
    builder.pair("block", "wheel")
    world = World(builder.build(), timestep=0.002)
    world.v[:] = turns
    world.step(steps=STEPS)
    assert world.diagnostics.solves <= STEPS + 2
    assert world.diagnostics.degraded == 0
    assert abs(world.v[0]) <= turns


def test_overlaps_left_alone_keep_nothing_else_in_the_ground_for_long() -> None:
    """What no correction parts is left alone for some steps; then all that is deep is tried."""
    builder = capsules(1)
    builder.box("ground", "world", half_size=(1, 1, 1), position=(10, 0, -1))
    builder.body("box", joint=free(), mass=1.0, inertia=(0.01,) * 3)
    builder.box("box", "box", half_size=(0.1,) * 3)
    world = World(builder.build(), timestep=0.002)
    world.q[4:] = [10, 0, 0.1, 1, 0, 0, 0]
    world.step(steps=STEPS)
    assert 0 < world.get_state()["memory"]["jammed"].max() <= JAMMED
    world.q[6] = 0.098
    world.step(steps=STEPS)
    assert world.q[6] == pytest.approx(0.1, abs=1e-8)


def test_each_overlap_that_nothing_parts_is_soon_known() -> None:
    """Twelve boxes deep in each other: all were tried anew in every step, none was remembered."""
    builder, rng = arm(0, 4 * [(0, 0, 1), (0, 1, 0), (1, 0, 0)], 0.0), np.random.default_rng(0)
    for k in range(12):
        size, at = tuple(rng.uniform(0.05, 0.12, 3)), tuple(rng.uniform(-0.02, 0.02, 3))
        builder.box(f"l{k}", f"l{k}", half_size=size, position=at)
        for other in range(k):
            builder.pair(f"l{other}", f"l{k}")
    world = World(builder.build(), timestep=0.002)
    world.step(steps=STEPS)
    deep = sum(contact.gap < -1e-4 for contact in world.contacts)
    known = (world.get_state()["memory"]["jammed"] > 0).sum()
    assert known > 0.7 * deep > 70


def bearing(way: Floats, beside: int) -> World:
    """A ball on an arm that turns about `way`, 5 mm deep in a plate across it, wherever it goes.

    way: unit vector, shape (3,); beside: loose balls elsewhere, as of `limb`
    """
    across = np.cross(way, [0.3, -0.8, 0.5])
    across /= np.linalg.norm(across)
    builder = ModelBuilder(gravity=(0, 0, 0))
    turn = np.column_stack((across, np.cross(way, across), way))
    builder.box("plate", "world", half_size=(0.3, 0.3, 0.1), rotation=turn, friction=0.5)
    joint = revolute("turn", axis=tuple(way), limits=(-2.0, -0.5))
    builder.body("arm", parent="world", joint=joint, mass=1.0, inertia=(0.01,) * 3)
    at = tuple(0.1 * across + 0.145 * way)
    builder.sphere("ball", "arm", radius=0.05, position=at, friction=0.5)
    builder.pair("plate", "ball")
    for k in range(beside):
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01,) * 3)
        builder.sphere(f"b{k}", f"b{k}", radius=0.1)
    world = World(builder.build(), timestep=0.002)
    for k in range(beside):
        world.q[1 + 7 * k : 8 + 7 * k] = [0.5 * k, 0, 9.1, 1, 0, 0, 0]
    return world


@pytest.mark.parametrize("beside", [0, 6])
@pytest.mark.parametrize("seed", range(6))
def test_a_joint_beyond_its_stop_comes_back_through_what_it_cannot_part(
    seed: int, beside: int
) -> None:
    """Its normal meets the axis but for rounding: an impulse of 1e15 N s held it for ever."""
    way = np.random.default_rng(seed).normal(size=3)
    world = bearing(way / np.linalg.norm(way), beside)
    world.step()
    assert max((np.abs(c.impulse).max() for c in world.contacts), default=0.0) < 1e3
    world.step(steps=STEPS)
    assert world.q[0] == pytest.approx(-0.5, abs=1e-6)
    assert world.diagnostics.failed == 0


@pytest.mark.parametrize("beside", [0, 6])
@pytest.mark.parametrize("seed", range(6))
def test_joints_come_back_from_beyond_their_stops_whatever_they_bury(
    seed: int, beside: int
) -> None:
    """Files whose joints begin beyond their stops, and whose limbs stand in the ground there."""
    rng = np.random.default_rng(seed)
    builder, parent = ModelBuilder(), "world"
    floor = rng.uniform(-0.6, -0.55)
    builder.half_space("floor", position=(0, 0, floor))
    for k in range(3):
        low = rng.uniform(0.3, 0.8)  # zero is outside
        limits = (low, 2.0) if rng.random() < 0.5 else (-2.0, -low)
        at = (0, 0, -0.2 * (k > 0))
        joint = revolute(f"j{k}", axis=(0, 1, 0), position=at, limits=limits, damping=0.1)
        builder.body(f"l{k}", parent=parent, joint=joint, mass=1.0, inertia=(0.01,) * 3)
        builder.box(f"l{k}", f"l{k}", half_size=(0.05, 0.05, 0.1), position=(0, 0, -0.1))
        parent = f"l{k}"
    for k in range(beside):
        builder.body(f"b{k}", joint=free(), mass=1.0, inertia=(0.01,) * 3)
        builder.box(f"b{k}", f"b{k}", half_size=(0.1,) * 3)
    world = World(builder.build(), timestep=0.002)
    for k in range(beside):
        world.q[3 + 7 * k : 10 + 7 * k] = [1.0 + 0.5 * k, 0, floor + 0.1, 1, 0, 0, 0]
    world.step(steps=300)
    assert world.certificate().overrun < 1e-9
    before = world.q.copy()
    world.step(steps=50)
    assert np.abs(world.q - before).max() < 0.1  # and is not thrown about there
