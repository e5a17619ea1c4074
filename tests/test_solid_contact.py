"""Solids that rest, slide and fall on solids: no creep, no penetration, no energy from nowhere."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from scenes import G, block_inertia, certified, energy
from scipy.spatial.transform import Rotation
from solids import Solid, add_solid, few_of, pose, read_gaps
from test_contact_geometry import hills
from trees import Array

from dynenvs.contact.detection.manifold import pull_back
from dynenvs.memory.layout import open_work
from dynenvs.memory.records import CONTACT, SPOT
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, prismatic, revolute
from dynenvs.simulation.inverse import InverseStatus, inverse_dynamics
from dynenvs.simulation.world import SimulationError, World


def inertia(mass: float, solid: Solid) -> Array:
    """Principal moments of a homogeneous solid (a capsule as its bounding cylinder)."""
    if solid.kind == "box":
        return block_inertia(mass, np.array(solid.size))
    if solid.kind == "sphere":
        return np.full(3, 0.4 * mass * solid.size[0] ** 2)
    r, h = solid.size[0], 2 * sum(solid.size)
    return mass * np.array([(3 * r * r + h * h) / 12] * 2 + [r * r / 2])


def scene(
    movers: list[Solid],
    fixtures: list[Solid] = (),
    *,
    mu: float = 0.5,
    dt: float = 2e-3,
    **options: Any,
) -> World:
    """Free solids among fixed ones, at their poses."""
    builder = ModelBuilder(**{"gravity": (0, 0, -G), **options})
    for i, solid in enumerate(fixtures):
        builder.box(
            f"fixture {i}",
            "world",
            half_size=solid.size,
            position=solid.p,
            rotation=solid.R,
            friction=mu,
        )
    for i, solid in enumerate(movers):
        builder.body(f"m{i}", joint=free(), mass=2.0, inertia=inertia(2.0, solid))
        add_solid(builder, f"m{i}", solid, friction=mu)
    world = World(builder.build(), timestep=dt)
    world.reset(np.concatenate([pose(s.R, s.p) for s in movers]))
    return world


def least_gap(world: World) -> float:
    """Deepest contact [m]."""
    return min(c.gap for c in world.contacts)


def rests(world: World, steps: int = 1500) -> None:
    """It stands still from the first step on, carries its weight and does not sink."""
    start = world.q.copy()
    world.step(steps=steps)
    assert np.abs(world.q - start).max() < 1e-11
    assert np.abs(world.v).max() < 1e-11
    assert least_gap(world) > -1e-9
    certified(world)


def falls(world: World, gain: float, depth: float, seconds: float = 3.0) -> None:
    """Nothing gains energy beyond `gain` [J] in a step, or sinks deeper than `depth` [m]."""
    before = energy(world)
    for _ in range(round(seconds / world.timestep)):
        world.step()
        now = energy(world)
        assert now < before + gain
        before = now
        assert not world.contacts or least_gap(world) > -depth
    d = world.diagnostics
    assert (d.degraded, d.failed, d.overflow) == (0, 0, 0), d


FLAT = np.eye(3)
TURNED = Rotation.from_euler("z", 0.3).as_matrix()
LYING = Rotation.from_euler("y", 90, degrees=True).as_matrix()
TABLE = Solid("box", (0.5, 0.5, 0.1), FLAT, np.array([0, 0, -0.1]))


def box(half: tuple[float, float, float], p: tuple[float, ...], R: Array = FLAT) -> Solid:
    """A box."""
    return Solid("box", half, R, np.array(p))


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.1, 0.0), (0.12, 0.07)])
def test_stack_of_boxes_rests(shift: tuple[float, float]) -> None:
    """Three equal boxes, flush or overhanging."""
    half = (0.2, 0.15, 0.05)
    movers = [box(half, (k * shift[0] / 2, k * shift[1] / 2, 0.05 + 0.1 * k)) for k in range(3)]
    rests(scene(movers, [TABLE]))


@pytest.mark.parametrize("heading", [0.0, 0.4])
@pytest.mark.parametrize("off", [-1e-3, 1e-3])
def test_box_on_a_tilted_box_obeys_coulomb(off: float, heading: float) -> None:
    """Friction angle of a box on a fixed box: it sticks below and slides as it must above."""
    slope = np.arctan(0.5) + off
    turn = Rotation.from_euler("ZY", [heading, slope]).as_matrix()
    mover = box((0.2, 0.15, 0.05), tuple(turn[:, 2] * 0.05), turn)
    ramp = Solid("box", (2.0, 2.0, 0.1), turn, -0.1 * turn[:, 2])
    world = scene([mover], [ramp], dt=1e-3)
    start = world.q.copy()
    world.step(steps=500)
    if off < 0:
        assert np.abs(world.q - start).max() < 1e-12
    else:
        expected = G * (np.sin(slope) - 0.5 * np.cos(slope)) * 0.5 * turn[:, 0]
        np.testing.assert_allclose(world.v[:3], expected, atol=1e-9)
    certified(world)


RESTING = {
    "capsule across a box's edges": Solid("capsule", (0.05, 0.6), LYING, np.array([0.05, 0, 0.05])),
    "capsule along a box": Solid("capsule", (0.05, 0.2), LYING, np.array([0.0, 0, 0.05])),
    "sphere on a box": Solid("sphere", (0.1,), FLAT, np.array([0.2, 0.1, 0.1])),
    "box over the edge": box((0.2, 0.1, 0.02), (0.45, 0.0, 0.02)),
    "box over a corner": box((0.2, 0.2, 0.02), (0.42, 0.42, 0.02), TURNED),
    "bar across a narrow box": box((0.1, 0.9, 0.02), (0.0, 0.1, 0.02)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESTING)
def test_solids_rest_on_a_box(name: str) -> None:
    """Placed on a table's face, edges and corners: at rest at once."""
    rests(scene([RESTING[name]], [TABLE]), 500)


def test_capsule_rests_across_two_capsules() -> None:
    """A log on two logs lying at a right angle to it, on a table."""
    beside = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    logs = [Solid("capsule", (0.05, 0.3), beside, np.array([x, 0, 0.05])) for x in (-0.2, 0.2)]
    rests(scene([*logs, Solid("capsule", (0.05, 0.3), LYING, np.array([0, 0.02, 0.15]))], [TABLE]))


def dropped(kind: str, size: tuple[float, ...], seed: int, dt: float) -> World:
    """A solid dropped askew on the edge of a step that lies on the floor."""
    rng = np.random.default_rng(seed)
    R = Rotation.random(random_state=rng).as_matrix()
    mover = Solid(kind, size, R, np.array([*rng.uniform(-0.1, 0.1, 2), 0.35]))
    floor = box((5.0, 5.0, 0.1), (0, 0, -0.1))
    return scene([mover], [floor, box((0.2, 0.5, 0.1), (0.25, 0, 0.0))], mu=0.6, dt=dt)


@pytest.mark.parametrize("seed", few_of(12, 2))
def test_boxes_fall_over_a_step_and_rest(seed: int) -> None:
    """Corners, edges and faces in turn: energy only falls, and in the end nothing moves."""
    world = dropped("box", (0.12, 0.08, 0.05), seed, 2e-3)
    falls(world, gain=1e-9, depth=1e-7)
    rests(world, 200)


@pytest.mark.parametrize("dt", [2e-3, 1e-3])
@pytest.mark.parametrize("seed", few_of(4, 1))
def test_capsules_roll_over_a_step(seed: int, dt: float) -> None:
    """Rolling over an edge, time stepping is first order: what a step gains falls as dt^2."""
    falls(dropped("capsule", (0.05, 0.12), seed, dt), gain=100 * dt**2, depth=1e-5)


def test_step_across_an_edge_does_not_jump() -> None:
    """A box slides over the end of a table: contacts hand over from corners to the edge."""
    mover = box((0.2, 0.1, 0.05), (0.2, 0.0, 0.05))
    world = scene([mover], [TABLE], mu=0.0)
    world.v[0] = 1.0
    before = energy(world)
    for _ in range(450):  # its centre passes the end at 0.3 s: it tips
        world.step()
        assert energy(world) < before + 1e-9
        before = energy(world)
        if world.time < 0.29:
            assert abs(world.v[2]) < 1e-10
            assert np.abs(world.v[3:]).max() < 1e-10
    assert world.v[4] > 0.1  # it falls nose down
    assert world.diagnostics.failed == 0


# Height fields


def on_hills(solid: Solid, mu: float, dt: float = 2e-3) -> World:
    """A free solid over the hills."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.height_field("hills", heights=hills(), half_size=(1, 1), friction=mu)
    builder.body("m0", joint=free(), mass=2.0, inertia=inertia(2.0, solid))
    add_solid(builder, "m0", solid, friction=mu)
    world = World(builder.build(), timestep=dt)
    world.reset(pose(solid.R, solid.p))
    return world


ON_HILLS = {
    "sphere": Solid("sphere", (0.05,), FLAT, np.array([0.1, 0.1, 0.12])),
    "box": box((0.1, 0.06, 0.03), (0.2, 0.3, 0.15)),
    "capsule": Solid("capsule", (0.04, 0.1), LYING, np.array([0.3, -0.2, 0.12])),
}


@pytest.mark.parametrize("dt", [2e-3, 1e-3])
@pytest.mark.parametrize("name", ON_HILLS)
def test_solids_fall_on_hills(name: str, dt: float) -> None:
    """They slide and roll over curved ground: what a step gains falls as dt^2; a box comes to
    rest.  (Later a capsule rolls over the border, which is a crease.)"""
    world = on_hills(ON_HILLS[name], 0.8, dt)
    falls(world, gain=20 * dt**2, depth=1e-7, seconds=1.5)
    if name == "box":
        rests(world, 200)


def test_sphere_stays_on_top_of_a_hill() -> None:
    """Balanced where the slope is zero, it does not creep."""
    x = np.linspace(-1, 1, 41)
    builder = ModelBuilder(gravity=(0, 0, -G))
    heights = 0.2 * np.cos(2 * x)[:, None] * np.cos(2 * x)[None, :]
    builder.height_field("hill", heights=heights, half_size=(1, 1))
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.004, 0.004, 0.004))
    builder.sphere("skin", "ball", radius=0.1)
    world = World(builder.build(), timestep=2e-3)
    world.reset(pose(FLAT, np.array([0, 0, heights.max() + 0.1])))
    rests(world, 500)


def nine_boxes(**options: Any) -> World:
    """On a table that is a box: 36 corners at once, where there is room for 32 to begin with."""
    half = (0.1, 0.1, 0.1)
    boxes = [box(half, (0.5 * (i % 3) - 0.5, 0.5 * (i // 3) - 0.5, 0.1)) for i in range(9)]
    table = Solid("box", (1.0, 1.0, 0.1), FLAT, np.array([0, 0, -0.1]))
    return scene(boxes, [table], **options)


def test_nine_boxes_make_the_room_that_they_need() -> None:
    """With default settings they all lie still."""
    world = nine_boxes()
    start = world.q.copy()
    room = int(world.model.header.nc)
    world.step(steps=50)
    np.testing.assert_allclose(world.q, start, atol=1e-9)
    assert int(world.model.header.nc) > room
    assert world.diagnostics.overflow == 0


def test_nine_boxes_and_a_limit() -> None:
    """What the error says to set is enough."""
    with pytest.raises(SimulationError) as error:
        nine_boxes(max_contacts=20).step(steps=20)
    found = re.search(r"ModelBuilder\(max_contacts=(\d+)\)", str(error.value))
    assert found
    world = nine_boxes(max_contacts=int(found[1]))
    start = world.q.copy()
    world.step(steps=50)
    np.testing.assert_allclose(world.q, start, atol=1e-9)


# Robots


def test_legs_do_not_pass_through_each_other() -> None:
    """Two legs driven against each other stop where their skins meet, and push the trunk no way."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("trunk", joint=free(), mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.box("belly", "trunk", half_size=(0.1, 0.2, 0.05))
    for name, y in (("left", 0.15), ("right", -0.15)):
        hip = revolute(f"{name} hip", axis=(1, 0, 0), position=(0, y, 0), damping=0.1)
        builder.body(name, parent="trunk", joint=hip, mass=1.0, com=(0, 0, -0.3),
                     inertia=(0.03, 0.03, 0.001))  # fmt: skip
        builder.capsule(f"{name} leg", name, start=(0, 0, 0), end=(0, 0, -0.6), radius=0.05)
    builder.self_contact("belly", "left leg", "right leg")
    world = World(builder.build(), timestep=2e-3)
    for _ in range(1000):
        world.step([-2.0, 2.0])  # inwards
        assert not world.contacts or least_gap(world) > -1e-7
    contact = max(world.contacts, key=lambda c: float(np.linalg.norm(c.impulse)))
    assert set(contact.bodies) == {"left", "right"}
    assert abs(contact.normal[1]) == pytest.approx(1.0, abs=1e-6)
    assert np.abs(world.v).max() < 1e-5  # what the scheme adds to the momentum of swinging legs
    assert contact.position[1] == pytest.approx(0.0, abs=0.06)
    certified(world)


@pytest.mark.parametrize("ground", ["boxes", "hills"])
def test_inverse_dynamics_through_contact_of_solids(ground: str) -> None:
    """Ball feet on steps and hills: torques from the desired velocity, then the step meets it."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("trunk", joint=free(), mass=8.0, inertia=(0.2, 0.3, 0.3))
    for i, (x, y) in enumerate([(-0.3, -0.2), (-0.3, 0.2), (0.3, -0.2), (0.3, 0.2)]):
        if ground == "boxes":
            builder.box(f"step{i}", "world", half_size=(0.2, 0.15, 0.1), position=(x, y, 0.02 * i))
        leg = prismatic(f"leg{i}", axis=(0, 0, -1), position=(x, y, 0))
        builder.body(f"foot{i}", parent="trunk", joint=leg, mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
        builder.sphere(f"sole{i}", f"foot{i}", radius=0.03)
    if ground == "hills":
        builder.height_field("hills", heights=0.2 * hills(), half_size=(1, 1))  # no foot slides
    dt = 4e-3
    world = World(builder.build(), timestep=dt)
    world.reset([0, 0, 0.6, 1, 0, 0, 0, 0.4, 0.4, 0.4, 0.4])
    world.step(np.zeros(4))
    start = [c.gap for c in world.contacts]
    assert not start  # the feet hang over the ground: let them down
    for i in range(4):
        world.q[7 + i] += _feet_gaps(world, i)
    world.v[:] = 0.0
    for k in range(100):
        v_des = 0.1 * np.sin(0.1 * k) * np.ones(4)
        result = inverse_dynamics(world.model, world.q, world.v, v_des, period=dt)
        assert result.status == InverseStatus.TRACKED
        world.step(result.tau)
        np.testing.assert_allclose(world.v, result.v, atol=1e-8)
        assert len(world.contacts) >= 3
    certified(world)


def _feet_gaps(world: World, foot: int) -> float:
    """How far a foot can slide down its leg until it touches [m]."""
    low, high = 0.0, 0.2
    q = world.q.copy()
    for _ in range(60):
        middle = 0.5 * (low + high)
        moved = q.copy()
        moved[7 + foot] += middle
        gap = read_gaps(world.model, moved)[foot_features(world, foot)].min()
        low, high = (middle, high) if gap > 0 else (low, middle)
    return low


def foot_features(world: World, foot: int) -> Array:
    """Numbers of a foot's features."""
    names = [world.model.body_names[f.body_a] for f in world.model.candidates]
    others = [world.model.body_names[f.body_b] for f in world.model.candidates]
    name = f"foot{foot}"
    return np.array([i for i, pair in enumerate(zip(names, others, strict=True)) if name in pair])


@numba.njit
def pulled_back(packed: Array, buffer: Array, spots: Array, a: int, contacts: Array) -> float:
    """`pull_back` of a contact of bodies a and 2, from the workspace's poses after a step."""
    return pull_back(open_work(packed, buffer), spots[0], a, 2, contacts[0])


def test_a_contact_found_late_is_where_its_bodies_were() -> None:
    """Taken back along no motion, or one that both bodies share, it keeps gap and place; on the
    world, the place is that of the body that moves, at whose arm impulses act."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder()
    for name in "ab":
        builder.body(name, joint=free(), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    buffer = model.workspace()
    w = open_work(model.packed, buffer)
    for one, new in zip(w.pose[1:], w.pose_new[1:], strict=True):
        one["R"], one["p"] = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        new["R"], new["p"] = one["R"], one["p"]
    w.pose["R"][0] = w.pose_new["R"][0] = np.eye(3)
    spot, contact = np.zeros(1, SPOT), np.zeros(1, CONTACT)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    spot["normal"], spot["center"] = normal, rng.normal(size=3)
    spot["gap"], spot["radius"] = 0.02, 0.1
    gap = pulled_back(model.packed, buffer, spot, 1, contact)
    assert gap == pytest.approx(0.02, abs=1e-12)
    point = spot["center"][0] - 0.1 * normal
    np.testing.assert_allclose(contact["point"][0], point, atol=1e-12)
    way = np.array([0.3, -0.2, 0.5])  # of both bodies, back to before the step
    w.pose["p"][1:] += way
    gap = pulled_back(model.packed, buffer, spot, 1, contact)
    assert gap == pytest.approx(0.02, abs=1e-12)
    np.testing.assert_allclose(contact["point"][0], point + way, atol=1e-12)
    gap = pulled_back(model.packed, buffer, spot, 0, contact)
    assert gap == pytest.approx(0.02 - way @ normal, abs=1e-12)
    along = way - (way @ normal) * normal
    np.testing.assert_allclose(contact["point"][0], point + along, atol=1e-12)
