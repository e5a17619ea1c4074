"""Cylinders, cones and ellipsoids: distances by other means, and motions whose answer is known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from solids import add_free, few_of, pose, read
from trees import Array, close

import dynenvs
from dynenvs import ModelBuilder, World, free

KINDS = ("sphere", "capsule", "box", "hull", "cylinder", "ellipsoid", "cone")
PAIRS = [pair for pair in itertools.combinations_with_replacement(KINDS, 2) if pair[1] in KINDS[4:]]
ALONG_Y = Rotation.from_euler("x", -90, degrees=True).as_matrix()


class Solid:
    """A solid of random size at a pose, by its support function alone."""

    def __init__(self, kind: str, rng: np.random.Generator) -> None:
        self.kind, self.size = kind, rng.uniform(0.05, 0.3, 3)
        self.points = rng.normal(size=(16, 3)) * self.size / 2
        if kind == "box":
            self.points = self.size * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        self.R, self.p = np.eye(3), np.zeros(3)

    def add(self, builder: ModelBuilder, body: str) -> None:
        """The solid as a body of its own."""
        add_free(builder, body, self.kind, self.size, self.points)

    def outermost(self, n: Array) -> Array:
        """The point that is outermost along n."""
        d, (r, h, _) = self.R.T @ n, self.size
        if self.kind in ("box", "hull"):
            own = self.points[np.argmax(self.points @ d)]
        elif self.kind == "ellipsoid":
            own = self.size**2 * d / np.linalg.norm(self.size * d)
        elif self.kind == "sphere":
            own = r * d
        elif self.kind == "capsule":
            own = r * d + [0.0, 0.0, math.copysign(h, d[2])]
        else:
            rim = r * np.array([d[0], d[1], 0.0]) / max(math.hypot(d[0], d[1]), 1e-300)
            end = h if self.kind == "cylinder" and d[2] > 0.0 else -h
            own = rim + np.array([0.0, 0.0, end])
            apex = np.array([0.0, 0.0, h])
            own = apex if self.kind == "cone" and apex @ d > own @ d else own
        return np.asarray(self.p + self.R @ own)


def parted(a: Solid, b: Solid, n: Array) -> float:
    """By how much planes across n part A from B [m]."""
    n = n / np.linalg.norm(n)
    return float(n @ (a.outermost(-n) - b.outermost(n)))


def best_parted(a: Solid, b: Solid, n: Array) -> tuple[float, Array]:
    """What the best direction near n parts them by (Nelder and Mead 1965), and that direction."""
    options = {"xatol": 1e-13, "fatol": 1e-15, "maxiter": 4000, "maxfev": 4000}
    for _ in range(3):
        simplex = n + 1e-3 * np.vstack([np.zeros(3), np.eye(3)])
        found = minimize(
            lambda x: -parted(a, b, x),
            n,
            method="Nelder-Mead",
            options={**options, "initial_simplex": simplex},
        )
        n = found.x / np.linalg.norm(found.x)
    return -float(found.fun), n


def placed(a: Solid, b: Solid, rng: np.random.Generator, gap: float) -> tuple[float, Array]:
    """Turn two solids, some alike, put A near B; how far they are apart, and the direction."""
    a.R, b.R = Rotation.random(2, random_state=rng).as_matrix()
    turn = rng.choice([0.0, 1e-9, 1e-4]) * rng.normal(size=3)
    alike = rng.integers(3)
    if alike == 1:
        a.R = b.R @ Rotation.from_rotvec(turn).as_matrix()
    elif alike == 2:
        a.R = b.R @ Rotation.from_rotvec(np.pi / 2 * np.eye(3)[rng.integers(3)]).as_matrix()
    n = rng.normal(size=3)
    if rng.random() < 0.4:
        n = b.R[:, rng.integers(3)] + rng.choice([0.0, 0.3]) * rng.normal(size=3)
    n /= np.linalg.norm(n)
    b.p = rng.normal(size=3)
    a.p = b.p + n
    for _ in range(3):  # along the best direction so far
        far, n = best_parted(a, b, n)
        a.p = a.p - (far - max(gap, 0.02)) * n
    far, n = best_parted(a, b, n)
    a.p = a.p - (far - gap) * n
    return best_parted(a, b, n)


@pytest.mark.parametrize("seed", few_of(40, 2))
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_the_nearest_slot_is_as_far_as_the_solids(kinds: tuple[str, str], seed: int) -> None:
    """Apart, touching and a little within each other, for poses at random and such as align."""
    rng = np.random.default_rng([seed, *map(ord, "".join(kinds))])
    a, b = Solid(kinds[0], rng), Solid(kinds[1], rng)
    gap = float(rng.choice([5e-3, 1e-4, 1e-6, 0.0, -1e-6, -1e-4]))
    truth, n = placed(a, b, rng, gap)
    builder = ModelBuilder(gravity=(0, 0, 0))
    a.add(builder, "a")
    b.add(builder, "b")
    found = read(builder.build(), np.concatenate([pose(a.R, a.p), pose(b.R, b.p)]))
    assert len(found.gaps) > 0
    nearest = int(np.argmin(found.gaps))
    # The search may have ended at a hill that is not the highest: it goes on from what was found
    truth, n = max((truth, n), best_parted(a, b, found.normals[nearest]), key=lambda x: x[0])
    # A plane of a face far from the nearest point may be nearer; never is what is found further
    assert found.least <= truth + 1e-9
    assert found.least >= truth - 1e-9 or found.normals[nearest] @ n < 1.0 - 1e-9


def test_round_shapes_of_files_stand_on_planes() -> None:
    """Where MuJoCo's do."""
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body><freejoint/><geom name="skin" {}/></body></worldbody></mujoco>"""
    rng, line = np.random.default_rng(3), np.zeros(6)
    for shape in ('type="cylinder" size=".1 .2"', 'type="ellipsoid" size=".1 .2 .05"'):
        ours = dynenvs.load(xml.format(shape))
        theirs = mujoco.MjModel.from_xml_string(xml.format(shape))
        data = mujoco.MjData(theirs)
        for _ in range(20):
            R = Rotation.random(random_state=rng).as_matrix()
            data.qpos[:] = pose(R, np.array([0.0, 0.0, 0.3]))
            mujoco.mj_forward(theirs, data)
            gap = mujoco.mj_geomDistance(theirs, data, 1, 0, 10.0, line)
            assert read(ours, data.qpos).least == pytest.approx(gap, abs=1e-7)


def ground(kind: str, **options: Any) -> ModelBuilder:
    """Level ground, whose top is at zero."""
    builder = ModelBuilder(friction="minimum", cone="exact", **options)
    if kind == "plane":
        return builder.half_space("floor", friction=1.0)
    if kind == "box":
        half = (20, 20, 0.5)
        return builder.box("floor", "world", half_size=half, position=(0, 0, -0.5), friction=1.0)
    if kind == "blocks":
        return builder.block_field("f", heights=np.zeros((8, 8)), half_size=(9, 9), friction=1.0)
    return builder.height_field("f", heights=np.zeros((8, 8)), half_size=(9, 9), friction=1.0)


GROUNDS = ("plane", "box", "blocks", "hills")


@pytest.mark.parametrize("floor", GROUNDS)
@pytest.mark.parametrize("half_length", [0.02, 1e-3])
def test_a_wheel_keeps_its_speed(floor: str, half_length: float) -> None:
    """Upright, over five metres."""
    builder = ground(floor).body("wheel", joint=free(), density=1000.0)
    builder.cylinder("rim", "wheel", radius=0.1, half_length=half_length, rotation=ALONG_Y)
    world = World(builder.build(), timestep=0.002)
    world.reset([-2.5, 0, 0.1, 1, 0, 0, 0], [1.0, 0, 0, 0, 10.0, 0])
    for _ in range(2500):
        world.step(np.zeros(0))
    close(world.v, [1.0, 0, 0, 0, 10.0, 0], 1e-9)
    close(world.q[:3], [2.5, 0, 0.1], 1e-9)


def energy(world: World) -> float:
    """Of the first body [J]."""
    body = world.model.bodies[1]
    R = Rotation.from_quat(world.q[3:7], scalar_first=True).as_matrix()
    omega, com, mass = world.v[3:6], np.array(body.com), float(body.mass)
    v = world.v[:3] + R @ np.cross(omega, com)
    spin = omega @ np.array(body.inertia) @ omega
    return float(0.5 * (mass * v @ v + spin) + mass * 9.81 * (world.q[2] + (R @ com)[2]))


@pytest.mark.parametrize("floor", ["plane", "box"])
def test_a_cone_rolls_round_its_apex(floor: str) -> None:
    """Its apex stays where it is, and its axis goes round as fast as a cone's without slip: the
    spin about the line that touches, times the tangent of half the cone's angle."""
    radius, height, spin = 0.05, 0.12, 3.0
    half = math.atan2(radius, height)
    builder = ground(floor, integrator="midpoint").body("top", joint=free(), density=1000.0)
    builder.cone("cone", "top", radius=radius, half_length=height / 2, friction=1.0)
    world = World(builder.build(), timestep=0.001)
    z = -np.array([math.cos(half), 0.0, math.sin(half)])
    R = np.column_stack([np.cross([0.0, 1.0, 0.0], z), [0.0, 1.0, 0.0], z])
    middle = -z * height / 2
    turn = np.array([spin, 0.0, 0.0])
    start = [*middle, *Rotation.from_matrix(R).as_quat(scalar_first=True)]
    world.reset(start, [*np.cross(turn, middle), *(R.T @ turn)])
    before, seconds = energy(world), 1.0
    for _ in range(round(seconds / 0.001)):
        world.step(np.zeros(0))
    R = Rotation.from_quat(world.q[3:7], scalar_first=True).as_matrix()
    apex = world.q[:3] + R @ [0.0, 0.0, height / 2]
    close(apex, np.zeros(3), 1e-4)
    angle = math.atan2(world.q[1], world.q[0])
    assert abs(angle) == pytest.approx(spin * math.tan(half) * seconds, rel=1e-3)
    assert energy(world) == pytest.approx(before, rel=1e-5)


def lean(world: World) -> float:
    """Angle between a disk and the ground [rad]."""
    R = Rotation.from_quat(world.q[3:7], scalar_first=True).as_matrix()
    return math.acos(min(1.0, abs(R[2, 2])))


RADIUS, THICK = 0.0375, 1e-4  # of Euler's disk [m]


def eulers_disk(start: float, integrator: str, rolling: float, timestep: float) -> World:
    """A thin disk that leans by `start` [rad] and goes round while its centre stands still.

    Its rate is that of Moffatt (Nature 404, 2000), Omega^2 = 4 g / (r sin(lean)).
    """
    options = {"friction": 1.0, "rolling_friction": rolling}
    builder = ModelBuilder(integrator=integrator).half_space("floor", **options)
    builder.body("disk", joint=free(), density=7800.0)
    builder.cylinder("coin", "disk", radius=RADIUS, half_length=THICK, **options)
    world = World(builder.build(), timestep=timestep)
    rate = math.sqrt(4 * 9.81 / (RADIUS * math.sin(start)))
    R = Rotation.from_euler("y", start).as_matrix()
    turn = -rate * math.sin(start) * np.array([math.cos(start), 0.0, -math.sin(start)])
    height = RADIUS * math.sin(start) + THICK * math.cos(start)
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    world.reset([0, 0, height, *quaternion], [0, 0, 0, *(R.T @ turn)])
    return world


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_eulers_disk_goes_on_for_ever_where_nothing_rubs(integrator: str) -> None:
    """Twenty turns: neither energy nor lean change by more than the order of the step."""
    world = eulers_disk(0.3, integrator, 0.0, 2e-4)
    before = energy(world)
    for _ in range(4000):
        world.step(np.zeros(0))
        assert lean(world) == pytest.approx(0.3, rel=5e-3)
    assert energy(world) == pytest.approx(before, rel=1e-3)
    assert world.diagnostics.degraded == 0


def test_eulers_disk_ends_in_a_finite_time() -> None:
    """It loses `rolling m g cos(lean)` times its turn of 2 sqrt(g sin(lean) / r) a second, of an
    energy of `3/2 m g r sin(lean)`: the root of the lean falls in a straight line, to zero after
    `3/2 r / rolling sqrt(r lean / g)`, while the disk hurries without bounds."""
    start, rolling = 0.15, 1e-3
    world = eulers_disk(start, "euler", rolling, 2e-4)
    end = 1.5 * RADIUS / rolling * math.sqrt(RADIUS * start / 9.81)
    worst = 0.0
    for step in range(round(0.9 * end / 2e-4)):
        world.step(np.zeros(0))
        line = math.sqrt(start) * (1.0 - (step + 1) * 2e-4 / end)
        worst = max(worst, abs(math.sqrt(lean(world)) - line) / math.sqrt(start))
    assert worst < 0.02
    assert lean(world) < 0.015 * start
    assert world.diagnostics.degraded == 0


def at_rest_below(builder: ModelBuilder, R: Array, arm: Array, turn: Array) -> World:
    """The first body, turned so, with a turn [rad/s] about the point at `arm` on the ground."""
    world = World(builder.build(), timestep=0.001)
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    world.reset([0, 0, -arm[2], *quaternion], [*-np.cross(turn, arm), *(R.T @ turn)])
    return world


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("seed", range(6))
def test_a_pebble_that_rocks_and_turns_keeps_its_energy(integrator: str, seed: int) -> None:
    """The point that touches goes round on it; a step of 1 ms may lose 0.5 % in a second."""
    builder = ground("plane", integrator=integrator).body("pebble", joint=free(), density=1000.0)
    builder.ellipsoid("pebble", "pebble", radii=(0.2, 0.12, 0.09), friction=5.0)
    turn = 3.0 * np.random.default_rng(seed).normal(size=3)
    world = at_rest_below(builder, np.eye(3), np.array([0.0, 0.0, -0.09]), turn)
    before, at_rest = energy(world), float(world.model.bodies[1].mass) * 9.81 * 0.09
    for _ in range(1000):
        world.step(np.zeros(0))
    assert energy(world) == pytest.approx(before, abs=5e-3 * (before - at_rest))


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("lean", [20.0, 45.0, 65.0, 80.0])
def test_a_coin_goes_round_on_the_table(integrator: str, lean: float) -> None:
    """On its rim, while its centre stands still: its energy changes by less than 0.1 % a second."""
    radius, thick, angle = 0.1, 0.005, math.radians(lean)
    builder = ground("plane", integrator=integrator).body("coin", joint=free(), density=1000.0)
    builder.cylinder("coin", "coin", radius=radius, half_length=thick, friction=1.0)
    R = Rotation.from_euler("x", angle).as_matrix()
    arm = R @ [0.0, -radius, -thick]
    # A turn about the vertical, and one about its axis: together about the arm, so that the
    # centre stands still
    up, axis = np.array([0.0, 0.0, 1.0]), R[:, 2]
    around, own = np.cross(up, arm), np.cross(axis, arm)
    turn = math.sqrt(4 * 9.81 / (radius * math.sin(angle))) * (
        up - around @ own / (own @ own) * axis
    )
    world = at_rest_below(builder, R, arm, turn)
    before = energy(world)
    for _ in range(1000):
        world.step(np.zeros(0))
    assert energy(world) == pytest.approx(before, rel=1e-3)


def test_a_rattleback_turns_back_from_one_way_alone() -> None:
    """A boat whose heavy axes are turned from those of its keel: spun against them it begins to
    rattle and turns back; spun with them it goes on (Walker 1896)."""
    ends = []
    for way in (1.0, -1.0):
        builder = ground("plane", integrator="midpoint")
        a, b, c = 0.2, 0.05, 0.03
        turn = Rotation.from_euler("z", 0.15).as_matrix()
        inertia = np.diag([b * b + c * c, a * a + c * c, a * a + b * b]) / 5
        builder.body("boat", joint=free(), mass=1.0, inertia=turn @ inertia @ turn.T)
        builder.ellipsoid("hull", "boat", radii=(a, b, c), friction=1.0)
        world = World(builder.build(), timestep=0.001)
        world.reset([0, 0, c, 1, 0, 0, 0], [0, 0, 0, 0.01, 0.01, 2.0 * way])
        spins = []
        for _ in range(4000):
            world.step(np.zeros(0))
            spins.append(world.v[5])
        ends.append(np.array(spins) * way)
    assert ends[0].min() > 1.99
    assert ends[1][-1] < -1.8


@pytest.mark.parametrize("floor", GROUNDS)
@pytest.mark.parametrize("kind", ["cylinder", "ellipsoid", "cone"])
@pytest.mark.parametrize("seed", few_of(10, 1))
def test_what_is_dropped_comes_to_rest_on_the_ground(floor: str, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder = ground(floor).body("a", joint=free(), density=1000.0)
    r, h, c = rng.uniform(0.05, 0.2, 3)
    options = {"friction": 0.5, "rolling_friction": 0.01, "torsional_friction": 0.01}
    if kind == "ellipsoid":
        builder.ellipsoid("g", "a", radii=(r, h, c), **options)
    else:
        getattr(builder, kind)("g", "a", radius=r, half_length=h, **options)
    world = World(builder.build(), timestep=0.004)
    turn = Rotation.random(random_state=rng).as_quat()
    world.reset([0, 0, 0.6, *turn], [0.3, 0, 0, *rng.normal(size=3)])
    deepest = 0.0
    for _ in range(750):
        world.step(np.zeros(0))
        deepest = max(deepest, world.certificate().deepest)
    assert world.diagnostics.degraded == 0
    assert deepest < 1e-6
    lowest = world.q[2]
    assert 0.0 < lowest < max(r, math.hypot(r, h))


def test_a_pile_of_cans_stands() -> None:
    """Ten on each other, upright: the loads are the weights above, and nothing moves."""
    builder = ModelBuilder().half_space("floor")
    radius, half = 0.05, 0.06
    for k in range(10):
        builder.body(f"can {k}", joint=free(), mass=0.5, inertia=(1e-3, 1e-3, 6e-4))
        builder.cylinder(f"can {k}", f"can {k}", radius=radius, half_length=half)
    world = World(builder.build(), timestep=0.005)
    start = np.concatenate([[0, 0, (2 * k + 1) * half, 1, 0, 0, 0] for k in range(10)])
    world.reset(start)
    for _ in range(200):
        world.step(np.zeros(0))
    close(world.q, start, 1e-9)
    assert world.diagnostics.degraded == 0


def test_a_can_tips_where_its_weight_leaves_its_rim() -> None:
    """On a slope: a little flatter than radius over half length it stands, steeper it falls."""
    for steepness, falls in ((0.97, False), (1.03, True)):
        radius, half = 0.04, 0.1
        angle = math.atan(steepness * radius / half)
        for phase in (0.0, math.pi / 8):  # towards a point of the rim that is known, and between
            normal = (math.sin(angle), 0.0, math.cos(angle))
            builder = ModelBuilder(cone="exact").half_space("slope", normal=normal, friction=2.0)
            builder.body("can", joint=free(), density=1000.0)
            builder.cylinder("can", "can", radius=radius, half_length=half, friction=2.0)
            world = World(builder.build(), timestep=0.002)
            R = Rotation.from_euler("y", angle) * Rotation.from_euler("z", phase)
            world.reset([*(half * np.array(normal)), *R.as_quat(scalar_first=True)])
            for _ in range(500):
                world.step(np.zeros(0))
            turned = (R.inv() * Rotation.from_quat(world.q[3:7], scalar_first=True)).magnitude()
            assert (turned > 0.3) == falls, (steepness, phase, turned)


def test_smooth_solids_weigh_what_their_points_weigh() -> None:
    """Masses and moments as of fine hulls, to what these leave out."""
    for kind in ("cylinder", "ellipsoid", "cone"):
        size: dict[str, Any] = {"radius": 0.1, "half_length": 0.2}
        size = {"radii": (0.1, 0.2, 0.3)} if kind == "ellipsoid" else size
        found = []
        geom = None
        for convex in (False, True):
            builder = ModelBuilder().body("a", joint=free(), density=500.0)
            if convex:
                assert geom is not None
                builder.convex("g", "a", points=dynenvs.model.hulls.outline(geom))
            else:
                getattr(builder, kind)("g", "a", **size)
            model = builder.build()
            geom = model.geoms[0]
            found.append(model.bodies[1])
        close(found[1].mass / found[0].mass, 1.0, 0.03)
        close(found[1].com, np.array(found[0].com), 2e-3)
        close(
            found[1].inertia / found[0].inertia.max(),
            found[0].inertia / found[0].inertia.max(),
            0.05,
        )
