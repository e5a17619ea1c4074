"""Scenes of many bodies: they stand, keep Coulomb's law, and agree with the dense solvers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from dynenvs import ModelBuilder, World, free, prismatic, revolute
from dynenvs.dynamics.energy import totals
from dynenvs.model.model import Model

Place = tuple[float, float, float]
HALF = (0.1, 0.05, 0.05)


def boxes(count: int, half: Place = HALF, friction: float = 0.6) -> Model:
    """So many free boxes above a floor."""
    builder = ModelBuilder()
    builder.half_space("floor", friction=friction)
    for i in range(count):
        builder.body(f"b{i}", joint=free(), density=600.0)
        builder.box(f"g{i}", f"b{i}", half_size=half, friction=friction)
    return builder.build()


def standing(places: Sequence[Place], half: Place = HALF, **options: str) -> World:
    world = World(boxes(len(places), half), timestep=0.002, **options)
    world.q.reshape(-1, 7)[:, :3] = places
    return world


def wall(count: int, width: int = 4) -> list[Place]:
    """Bricks in rows, each shifted by a quarter of a brick against the row below."""
    rows = (divmod(i, width) for i in range(count))
    return [((c + 0.25 * (r % 2)) * 0.2, 0.0, 0.05 + 0.1 * r) for r, c in rows]


def thrown(count: int, seed: int, friction: float, cone: str) -> World:
    """Boxes that tumble down on each other."""
    rng = np.random.default_rng(seed)
    world = World(boxes(count, (0.05, 0.06, 0.07), friction), timestep=0.002, cone=cone)
    q = world.q.reshape(-1, 7)
    q[:, :2] = rng.uniform(-0.08, 0.08, (count, 2))
    q[:, 2] = 0.12 + 0.22 * np.arange(count)  # no two overlap, however they are turned
    q[:, 3:] = Rotation.random(count, random_state=rng).as_quat(scalar_first=True)
    return world


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_wall_of_twenty_bricks_stands_still(cone: str) -> None:
    places = wall(20)
    world = standing(places, cone=cone)
    world.step(steps=100)
    assert world.diagnostics.residual < 1e-9
    assert world.diagnostics.degraded == world.diagnostics.failed == 0
    moved = world.q.reshape(-1, 7)[:, :3] - places
    assert np.abs(moved).max() < 1e-9
    below = sum(contact.impulse[2] for contact in world.contacts if "world" in contact.bodies)
    assert below == pytest.approx(20 * 600 * 8 * np.prod(HALF) * 9.81 * 0.002, rel=1e-9)


def test_masses_of_one_to_a_thousand_are_stacked() -> None:
    builder = ModelBuilder()
    builder.half_space("floor")
    for i in range(8):
        builder.body(f"b{i}", joint=free(), density=600.0 * 1000.0 ** (i % 2))
        builder.box(f"g{i}", f"b{i}", half_size=HALF)
    world = World(builder.build(), timestep=0.002)
    heights = 0.05 + 0.1 * np.arange(8)
    world.q.reshape(-1, 7)[:, 2] = heights
    world.step(steps=50)
    assert world.diagnostics.degraded == 0
    assert np.abs(world.q.reshape(-1, 7)[:, 2] - heights).max() < 1e-9


def solved(world: World) -> Any:
    """CONTACT of each one in the last problem of the last step."""
    opened = world._handle
    return opened.contacts[: opened.answer[0].contacts]


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.thorough
def test_a_heap_keeps_newtons_and_coulombs_laws(cone: str, seed: int) -> None:
    """By the contacts' impulses along their normals and tangents, and by nothing else."""
    friction = (0.3, 0.6, 0.9)[seed]
    world = thrown(10, seed, friction, cone)
    mass = world.model.bodies["mass"][1]
    checked = cut = 0
    for _ in range(300):
        before = world.v.reshape(-1, 6)[:, :3].copy()
        world.step()
        if world.get_state()["status"]["part"] < 0.002:  # the last problem is not all of the step
            cut += 1
            continue
        gained = np.zeros((11, 3))  # the floor first
        for contact in solved(world):
            p, axes = contact.impulse, np.array([contact.normal, contact.t1, contact.t2])
            gained[contact.body_a] += p @ axes
            gained[contact.body_b] -= p @ axes
            assert p[0] >= 0.0
            assert np.hypot(p[1], p[2]) <= friction * p[0] * (1 + 1e-9) + 1e-12
            checked += 1
        after = world.v.reshape(-1, 6)[:, :3]
        missing = after - before - gained[1:] / mass - 0.002 * world.model.header.gravity
        # What floats is turned as a whole where its positions are corrected
        links = [(contact.body_a, contact.body_b) for contact in solved(world)]
        graph = coo_array((np.ones(len(links)), np.array(links).reshape(-1, 2).T), shape=(11, 11))
        count, island = connected_components(graph, directed=False)
        for k in range(count):
            lost = missing[island[1:] == k]
            lost = lost if k == island[0] else lost.sum(axis=0)
            np.testing.assert_allclose(lost, 0.0, atol=1e-11)
        assert min((contact.gap for contact in world.contacts), default=0.0) > -1e-4
    assert world.diagnostics.failed == 0
    assert checked > 1000
    assert cut < 5


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_heaps_of_four_need_no_degraded_answer(cone: str) -> None:
    for seed in range(6):
        world = thrown(4, seed, (0.3, 0.6, 0.9)[seed % 3], cone)
        world.step(steps=300)
        assert world.diagnostics.degraded == world.diagnostics.failed == 0
        assert world.diagnostics.residual < 1e-9


def test_what_stands_apart_does_not_know_of_each_other() -> None:
    """A tower alone and beside another one: the same bits."""
    tower = [(0.0, 0.0, 0.05 + 0.1 * i) for i in range(4)]
    alone = standing(tower)
    beside = standing([*tower, *((3.0, 0.0, z) for _, _, z in tower)])
    for world in (alone, beside):
        world.v[0] = 0.5
        world.v[15] = 0.3
        world.step(steps=60)
    np.testing.assert_array_equal(beside.q[: alone.q.size], alone.q)
    np.testing.assert_array_equal(beside.v[: alone.v.size], alone.v)


def test_a_state_taken_up_again_goes_on_with_the_same_bits() -> None:
    world = thrown(12, 5, 0.6, "pyramid")
    world.step(steps=120)
    other = World(world.model, timestep=0.002)
    other.set_state(world.get_state())
    for each in (world, other):
        each.step(steps=60)
    np.testing.assert_array_equal(other.q, world.q)
    np.testing.assert_array_equal(other.v, world.v)


def test_ten_dominoes_fall_one_after_the_other() -> None:
    places = [(0.1 * i, 0.0, 0.1) for i in range(10)]
    world = standing(places, (0.01, 0.05, 0.1))
    world.v[[0, 4]] = 0.3, 3.0
    fallen: list[int] = []
    for _ in range(600):
        world.step()
        up = Rotation.from_quat(world.q.reshape(-1, 7)[:, 3:], scalar_first=True).as_matrix()[
            :, 2, 2
        ]
        fallen += [i for i in range(10) if up[i] < 0.7 and i not in fallen]
    assert fallen == list(range(10))
    assert world.diagnostics.failed == 0


def test_an_arm_pushes_a_heavy_row_of_boxes() -> None:
    """A tree of several joints among free bodies: its motor's torque slides what friction holds.

    Three boxes in a row, pushed at their middle height: they move once F > mu m g.
    """
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.5)
    builder.body("arm", joint=revolute(axis=(0, 1, 0), position=(0, 0, 1.0)))
    ends = {"start": (0, 0, 0), "end": (0, 0, -0.95)}
    builder.capsule("rod", "arm", **ends, radius=0.02, friction=0.0, mass=1.0)
    for i in range(3):
        builder.body(f"b{i}", joint=free())
        builder.box(f"g{i}", f"b{i}", half_size=(0.1, 0.1, 0.1), friction=0.5, mass=2.0)
    model = builder.build()
    world = World(model, timestep=0.002)
    q = world.q[1:].reshape(-1, 7)
    q[:, 0] = 0.12 + 0.2 * np.arange(3)
    q[:, 2] = 0.1
    rest = q[:, 0].copy()
    lever = 0.9  # of the rod's axis above the boxes' middle [m]
    limit = 0.5 * 3 * 2.0 * 9.81 * lever
    world.step([-0.9 * limit], steps=100)
    assert np.abs(q[:, 0] - rest).max() < 1e-4
    world.step([-1.3 * limit], steps=100)
    assert (q[:, 0] - rest > 1e-3).all()
    assert world.diagnostics.degraded == 0


def test_fifty_boxes_far_apart_are_fifty_islands() -> None:
    world = standing([(2.0 * (i % 10), 2.0 * (i // 10), 0.05) for i in range(50)])
    world.v.reshape(-1, 6)[:, 0] = 1.0
    world.step(steps=200)
    x = world.q.reshape(-1, 7)[:, 0] - 2.0 * (np.arange(50) % 10)
    # They slide v^2 / (2 mu g), but for the discretisation's half step
    assert np.ptp(x) < 1e-12
    assert x[0] == pytest.approx(1.0 / (2 * 0.6 * 9.81), abs=2e-3)


def test_cubes_that_meet_in_empty_space_keep_their_momentum() -> None:
    """Linear and angular, at each state, and never gain energy: free rotation of cubes is exact."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i in range(6):
        builder.body(f"b{i}", joint=free(), density=600.0)
        builder.box(f"g{i}", f"b{i}", half_size=(0.1, 0.1, 0.1), friction=0.6)
    world = World(builder.build(), timestep=0.002)
    rng = np.random.default_rng(0)
    q, v = world.q.reshape(-1, 7), world.v.reshape(-1, 6)
    q[:, :3] = 0.45 * np.array([[i % 3, i // 3, 0.1 * i] for i in range(6)])
    q[:, 3:] = Rotation.random(6, random_state=rng).as_quat(scalar_first=True)
    v[:, :3] = -2.0 * (q[:, :3] - q[:, :3].mean(axis=0)) + rng.normal(size=(6, 3))
    v[:, 3:] = 3.0 * rng.normal(size=(6, 3))
    start = totals(world.model, world.q, world.v)
    met = 0
    for _ in range(300):
        before = totals(world.model, world.q, world.v)
        world.step()
        after = totals(world.model, world.q, world.v)
        np.testing.assert_allclose(after.momentum, before.momentum, atol=1e-11)
        assert after.kinetic < before.kinetic * (1 + 1e-12)
        met += sum(bool(contact.impulse.any()) for contact in world.contacts)
    assert met > 50
    assert after.kinetic < 0.7 * start.kinetic
    np.testing.assert_allclose(after.momentum, start.momentum, atol=1e-10)


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_cart_on_a_rail_is_not_braked_by_the_floor_below(cone: str) -> None:
    """Its rail carries it: what the floor would press is undetermined, and taken as nothing.

    It pushes two boxes, and all slide on together: v = 2 / (2 + 1 + 1) m/s, braked by the boxes'
    friction alone, mu 2 g / 4.
    """
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.5)
    builder.body("cart", joint=prismatic(axis=(1, 0, 0), position=(0, 0, 0.1)))
    builder.box("cart", "cart", half_size=(0.1, 0.1, 0.1), mass=2.0, friction=0.5)
    for i in range(2):
        builder.body(f"b{i}", joint=free())
        builder.box(f"g{i}", f"b{i}", half_size=(0.1, 0.1, 0.1), mass=1.0, friction=0.5)
    builder.pair("cart", "g0", friction=0.0)  # else the cart could press the boxes down
    world = World(builder.build(), timestep=0.002, cone=cone)
    boxes = world.q[1:].reshape(-1, 7)
    boxes[:, 0], boxes[:, 2] = (0.2, 0.4), 0.1
    world.v[0] = 1.0
    world.step(steps=150)
    way = 0.5**2 / (2 * 0.5 * 9.81 / 2)
    assert world.q[0] == pytest.approx(way - 0.5 * 0.5 * 0.002, abs=1e-5)  # half a step's way less
    np.testing.assert_allclose(boxes[:, 0] - world.q[0], [0.2, 0.4], atol=1e-9)
    assert world.diagnostics.degraded == 0


def cubes(kind: str) -> World:
    """Twenty-seven that touch all around: many share an edge alone, and could go two ways."""
    half = 0.1
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.6)
    corners = half * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    for i in range(27):
        builder.body(f"b{i}", joint=free(), density=600.0)
        if kind == "box":
            builder.box(f"g{i}", f"b{i}", half_size=(half,) * 3, friction=0.6)
        else:
            builder.convex(f"g{i}", f"b{i}", points=corners, friction=0.6)
    world = World(builder.build(), timestep=0.002)
    places = list(itertools.product((0, 1, 2), repeat=3))
    world.q.reshape(-1, 7)[:, :3] = [(2 * half * x, 2 * half * y, half + 2 * half * z)
                                     for x, y, z in places]  # fmt: skip
    return world


@pytest.mark.parametrize("kind", ["box", "hull"])
def test_cubes_that_touch_all_around_keep_their_normals(kind: str) -> None:
    """Two faces that part them equally well but for rounding: always the same one is taken."""
    world = cubes(kind)
    world.step()
    before = {(c.feature, c.slot): c.normal for c in world.contacts}
    for _ in range(20):
        world.step()
        normals = {(c.feature, c.slot): c.normal for c in world.contacts}
        assert normals.keys() == before.keys()
        for key, normal in normals.items():
            np.testing.assert_allclose(normal, before[key], rtol=0, atol=1e-9)
    assert (
        world.diagnostics.stages.path.called == 1
    )  # after that the impulses of the last step hold
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("ratio", [1e4, 1e8])
def test_no_more_is_tried_than_rounding_allows(ratio: float) -> None:
    """Under 1e8 kg, 1 kg weighs less than rounding leaves of what it carries: that is told."""
    builder = ModelBuilder()
    builder.half_space("floor")
    for i, mass in enumerate((1.0, ratio)):
        builder.body(f"b{i}", joint=free(), mass=mass, inertia=(mass / 150,) * 3)
        builder.box(f"g{i}", f"b{i}", half_size=(0.1, 0.1, 0.1))
    world = World(builder.build(), timestep=0.002)
    world.q.reshape(-1, 7)[:, 2] = (0.1, 0.3)
    world.step(steps=100)
    found = world.diagnostics
    assert found.residual < (1e-9 if ratio < 1e6 else 5e-8)
    assert (found.degraded == 0) == (ratio < 1e6)
    assert found.stages.multipliers.called == found.stages.lemke.called == 0
    assert np.abs(world.q.reshape(-1, 7)[:, 2] - (0.1, 0.3)).max() < 1e-9
