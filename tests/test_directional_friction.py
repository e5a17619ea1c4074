"""Friction with two coefficients, along a direction of a surface and across it: known answers."""

from __future__ import annotations

import copy
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenes import G, block_inertia, certified, tilted_gravity
from scipy.optimize import brentq
from trees import Array

import dynenvs
from dynenvs import inverse_dynamics
from dynenvs.dynamics.jacobians import frames
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, fixed, free, prismatic, revolute
from dynenvs.simulation.world import World

MU = (0.5, 0.2)  # along x, and across it
HALF = np.array([0.2, 0.15, 0.05])
MASS, DT = 2.0, 1e-3
BALL = 0.05  # radius [m]
ALONG_X: dict[str, Any] = {"friction": MU, "direction": (1, 0, 0), "frame": "floor"}
HEADINGS = (0.0, np.pi / 2, np.pi / 4, 2.0)
EXACT = [
    {"cone": "exact", "integrator": rule, "blocks": blocks}
    for rule, blocks in itertools.product(("euler", "midpoint"), (1, 3))
]
PYRAMIDS = [{**one, "cone": "pyramid"} for one in EXACT]
ALL = EXACT + PYRAMIDS


def sliding(*, blocks: int = 1, pair: dict[str, Any] = ALONG_X, **options: Any) -> World:
    """Boxes side by side on a floor whose friction is MU; with several, islands are solved."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space("floor")
    for k in range(blocks):
        builder.body(f"block {k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin {k}", f"block {k}", half_size=HALF)
        frame = pair["frame"].replace("skin", f"skin {k}")
        builder.pair(f"skin {k}", "floor", **{**pair, "frame": frame})
    world = World(builder.build(), timestep=DT)
    for k in range(blocks):
        world.q[7 * k : 7 * k + 3] = 0.0, k, HALF[2]
    return world


def held(heading: float) -> float:
    """Tangent of the steepest slope that friction holds, if the slope falls along a heading."""
    return 1.0 / math.hypot(math.cos(heading) / MU[0], math.sin(heading) / MU[1])


def acceleration(force: Array, normal: float) -> Array:
    """Of a unit mass that slides from rest under a constant force: it keeps its direction.

    a_i = f_i - mu_i^2 a_i n / s with s = sqrt(sum of mu_i^2 a_i^2): for each s a vector a, and one
    s that is its own.
    """

    def of(s: float) -> Array:
        return np.array(force) / (1.0 + np.square(MU) * normal / s)

    def excess(s: float) -> float:
        return float(np.linalg.norm(MU * of(s))) - s

    return of(brentq(excess, 1e-9, 1e3, xtol=1e-15, rtol=1e-15))


@pytest.mark.parametrize(
    ("options", "heading"),
    [
        *itertools.product(EXACT, HEADINGS),
        # Off between the surface's directions, to which they keep
        *itertools.product(PYRAMIDS, HEADINGS[:2]),
    ],
)
def test_a_block_on_a_slope(options: dict[str, Any], heading: float) -> None:
    """It rests just below the angle that its heading's friction holds, and slides off above it.

    By hand: v = a t, exactly in each step, for its direction never changes; the slope is felt as
    gravity.
    """
    slope = math.atan(held(heading))
    world = sliding(gravity=tilted_gravity(slope - 1e-3, heading), **options)
    start = world.q.copy()
    world.step(steps=300)
    assert np.abs(world.q - start).max() < 1e-12
    certified(world)
    for more in (1e-3, 0.3):
        world = sliding(gravity=tilted_gravity(slope + more, heading), **options)
        pull = tilted_gravity(slope + more, heading)
        world.step(steps=100)
        expected = 0.1 * acceleration(pull[:2], -pull[2])
        for v in world.v.reshape(-1, 6):
            np.testing.assert_allclose(v[:2], expected, atol=1e-9)
            np.testing.assert_allclose(v[2:], 0.0, atol=1e-9)
        certified(world)


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_block_slides_as_far_as_its_direction_lets_it(options: dict[str, Any], axis: int) -> None:
    """v^2 / 2 mu g, less the scheme's v dt / 2 by Euler's rule."""
    world = sliding(**options)
    world.v[axis::6] = 1.0
    world.step(steps=int(1.0 / MU[axis] / G / DT) + 20)
    offset = 0.5 * DT if options["integrator"] == "euler" else 0.0
    far = 0.5 / MU[axis] / G - offset
    np.testing.assert_allclose(world.q.reshape(-1, 7)[:, 0], far * (axis == 0), atol=2e-6)
    start = np.arange(options["blocks"])
    np.testing.assert_allclose(world.q.reshape(-1, 7)[:, 1] - start, far * (axis == 1), atol=2e-6)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-12)
    certified(world)


@pytest.mark.parametrize("frame", ["skin", "floor", "world"])
def test_the_direction_turns_with_its_frame(frame: str) -> None:
    """A block that stands askew, on a slope that falls along its own x axis."""
    turn = 0.5
    world = sliding(pair={**ALONG_X, "frame": frame}, cone="exact",
                    gravity=tilted_gravity(0.6, turn))  # fmt: skip
    world.q[3], world.q[6] = math.cos(turn / 2), math.sin(turn / 2)
    world.step(steps=100)
    heading = np.array([math.cos(turn), math.sin(turn)])
    pull, normal = G * math.sin(0.6), G * math.cos(0.6)
    expected = 0.1 * acceleration(pull * heading, normal)
    if frame == "skin":
        expected = 0.1 * (pull - MU[0] * normal) * heading
    np.testing.assert_allclose(world.v[:2], expected, atol=1e-9)
    certified(world)


def test_a_direction_that_points_out_of_the_surface_is_replaced() -> None:
    """By the next axis, z, across it: on the floor that is -y, and not the normal itself."""
    world = sliding(pair={"friction": MU, "direction": (0, 0.8, 0.6), "frame": "world"})
    world.v[1] = 1.0
    world.step(steps=50)
    assert world.v[1] == pytest.approx(1.0 - MU[0] * G * 0.05, abs=1e-9)
    certified(world)


@pytest.mark.parametrize("rule", ["euler", "midpoint"])
@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2])
def test_in_the_plane_a_rail_bears_what_is_across(rule: str, angle: float) -> None:
    """On a rail along x, with the direction at an angle: the ellipse's reach along x counts."""
    builder = ModelBuilder(directions=2, integrator=rule)
    builder.half_space("floor")
    builder.body("x", joint=prismatic("x", axis=(1, 0, 0)), mass=0.0)
    builder.body("block", parent="x", joint=prismatic("z"), mass=MASS, inertia=(1, 1, 1))
    builder.sphere("skin", "block", radius=0.1)
    direction = (math.cos(angle), math.sin(angle), 0.0)
    builder.pair("skin", "floor", friction=MU, direction=direction, frame="floor")
    world = World(builder.build(), timestep=DT)
    world.q[1], world.v[0] = 0.1, 1.0
    world.step(steps=100)
    reach = math.hypot(MU[0] * math.cos(angle), MU[1] * math.sin(angle))
    assert world.v[0] == pytest.approx(1.0 - reach * 9.81 * 0.1, abs=1e-10)
    certified(world)


def law_error(world: World, before: Array) -> float:
    """By how much impulses on balls from the floor miss the law, over a ball's weight in a step.

    before: positions at the start of the step, for whose lowest points the law holds
    """
    moved, worst = frames(world.model, before, world.v), 0.0
    for contact in world.contacts:
        k, p = world.model.body_id(contact.bodies[0]), contact.impulse
        u = (moved.linear[k] + np.cross(moved.angular[k], (0.0, 0.0, -BALL)))[:2]
        worst = max(worst, float(np.linalg.norm(p[:2] / MU)) - p[2])
        size = float(np.linalg.norm(np.array(MU) * u))
        if size > 1e-6:
            expected = -np.square(MU) * u * p[2] / size
            worst = max(worst, float(np.linalg.norm(p[:2] - expected)))
    return worst / (0.5 * G * world.timestep)


def legged(restitution: float = 0.0, rolling: float = 0.0, dry: float = 0.0, cords: bool = False,
           links: int = 3, trees: int = 1) -> Model:  # fmt: skip
    """Free trunks with tails of balls on hinges, that slide on the floor with all that is asked."""
    builder = ModelBuilder(cone="exact")
    builder.half_space("floor", restitution=restitution, rolling_friction=rolling)
    for t in range(trees):
        parent = "world"
        for i in range(links):
            turn = (0, 0, 1) if i % 2 else (0, 1, 0)
            joint = revolute(axis=turn, position=(0.1, 0, 0), friction=dry) if i else free()
            name = f"{t} {i}"
            builder.body(name, parent=parent, joint=joint, mass=0.5, inertia=(2e-3,) * 3)
            if i % max(1, links // 8) == 0:
                builder.sphere(name, name, radius=BALL, rolling_friction=rolling)
                builder.pair(name, "floor", rolling_friction=rolling, **ALONG_X)
            parent = name
        if cords:
            builder.close(f"loop {t}", f"{t} 0", f"{t} {links - 1}", joint="spherical",
                          position_a=(0.1, 0.1, 0), position_b=(-0.1, 0.1, 0))  # fmt: skip
    return builder.build()


MODELS: dict[str, dict[str, Any]] = {
    "alone": {},
    "islands": {"trees": 3},
    "dry joints": {"dry": 0.05},
    "dry joints in islands": {"dry": 0.05, "trees": 2},
    "rolling friction": {"rolling": 0.003},
    "rolling friction in islands": {"rolling": 0.003, "trees": 2},
    "loops": {"cords": True},
    "recursion": {"links": 45},
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", MODELS)
def test_the_law_holds_in_every_model(name: str) -> None:
    """Impulses and velocities of each contact, read from outside, beside the certificate."""
    model = legged(**MODELS[name])
    world = World(model, timestep=2e-3)
    # Slow turns: of trees that whirl steps are cut
    world.v[:] = np.random.default_rng(3).normal(scale=0.02, size=model.nv)
    trees = MODELS[name].get("trees", 1)
    rows = world.q.reshape(trees, -1)
    rows[:, 1], rows[:, 2] = 2.0 * np.arange(trees), BALL
    world.v.reshape(trees, -1)[:, :2] = 0.4, 0.3
    worst, slips = 0.0, 0
    for _ in range(60):
        before = world.q.copy()
        world.step()
        worst = max(worst, law_error(world, before))
        slips += len(world.contacts)
    assert slips > 60
    # Beside dry joints answers are as exact as the certificate asks, not to rounding
    assert worst < (1e-6 if "dry" in name else 1e-9)
    certified(world)


@pytest.mark.thorough
@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("balls", [1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_ball_bounces_with_the_friction_of_its_direction(law: str, balls: int, axis: int) -> None:
    """It slides all through the impact: its speed falls by mu (1 + e) times that of the fall."""
    builder = ModelBuilder(restitution=law, cone="exact", gravity=(0, 0, 0))
    builder.half_space("floor", restitution=0.5)
    for k in range(balls):
        builder.body(f"{k}", joint=free(), mass=1.0, inertia=(4e-3,) * 3)
        builder.sphere(f"{k}", f"{k}", radius=0.1, restitution=0.5)
        builder.pair(f"{k}", "floor", restitution=0.5, **ALONG_X)
    world = World(builder.build(), timestep=1e-3)
    world.q.reshape(-1, 7)[:, 1], world.q.reshape(-1, 7)[:, 2] = np.arange(balls), 0.105
    world.v.reshape(-1, 6)[:, axis], world.v.reshape(-1, 6)[:, 2] = 5.0, -1.0
    world.step(steps=20)
    for v in world.v.reshape(-1, 6):
        assert v[2] == pytest.approx(0.5, abs=1e-9)
        assert v[axis] == pytest.approx(5.0 - 1.5 * MU[axis], abs=1e-9)
        assert v[1 - axis] == pytest.approx(0.0, abs=1e-9)
    certified(world)


@pytest.mark.parametrize("balls", [1, 2])
@pytest.mark.parametrize("heading", [0.0, 0.8, np.pi / 2])
def test_rolling_friction_is_the_same_along_all_directions(balls: int, heading: float) -> None:
    """A ball that rolls: v' = -5/7 roll g / r, whatever the coefficients that hold it."""
    radius, roll = 0.1, 0.005
    builder = ModelBuilder(cone="exact", gravity=(0, 0, -G))
    builder.half_space("floor")
    for k in range(balls):
        builder.body(f"{k}", joint=free(), mass=1.0, inertia=(0.4 * radius**2,) * 3)
        builder.sphere(f"{k}", f"{k}", radius=radius)
        builder.pair(f"{k}", "floor", rolling_friction=roll, **ALONG_X)
    world = World(builder.build(), timestep=DT)
    along = np.array([math.cos(heading), math.sin(heading), 0.0])
    for k in range(balls):
        world.q[7 * k : 7 * k + 3] = 0.0, k, radius
        world.v[6 * k : 6 * k + 3] = 0.2 * along
        world.v[6 * k + 3 : 6 * k + 6] = np.cross((0, 0, 1), 0.2 * along) / radius
    world.step(steps=200)
    for v in world.v.reshape(-1, 6):
        np.testing.assert_allclose(
            v[:3], (0.2 - 5 / 7 * roll * G / radius * 0.2) * along, atol=1e-9
        )
    certified(world)


def test_torques_for_a_wanted_motion_know_both_coefficients() -> None:
    """A foot pulled across its direction: the floor gives mu m g at most, the motor all else."""
    for axis, mu in zip(((1, 0, 0), (0, 1, 0)), MU, strict=True):
        builder = ModelBuilder(gravity=(0, 0, -G))
        builder.half_space("floor")
        builder.body("rail", joint=prismatic("rail", axis=axis), mass=0.0)
        lift = prismatic("lift", axis=(0, 0, 1), actuated=False)
        builder.body("foot", parent="rail", joint=lift, mass=1.0, inertia=(1, 1, 1))
        builder.sphere("foot", "foot", radius=0.1)
        builder.pair("foot", "floor", **ALONG_X)
        found = inverse_dynamics(builder.build(), [0.0, 0.1], [1.0, 0.0], [1.0], 0.01)
        assert found.tau[0] == pytest.approx(mu * G, rel=1e-9)


def test_equal_coefficients_are_coulomb_s_law() -> None:
    worlds = []
    for pair in ({**ALONG_X, "friction": (0.3, 0.3)}, {"friction": 0.3, "frame": ""}):
        if isinstance(pair["friction"], float):
            builder = ModelBuilder(gravity=(0.0, 0.0, -G), cone="exact")
            builder.half_space("floor")
            builder.body("block 0", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
            builder.box("skin 0", "block 0", half_size=HALF)
            builder.pair("skin 0", "floor", friction=0.3)
            world = World(builder.build(), timestep=DT)
            world.q[2] = HALF[2]
        else:
            world = sliding(pair=pair, cone="exact")
        world.v[:] = 0.5, 0.3, 0.0, 0.0, 0.0, 2.0
        world.step(steps=100)
        worlds.append(world)
    np.testing.assert_allclose(worlds[0].q, worlds[1].q, atol=1e-8)


def test_a_world_s_friction_scales_both(tmp_path: Path) -> None:
    """The ratio stays; and a saved model moves bit for bit."""
    world = sliding(blocks=2)
    world.friction[:] = 2.0 * MU[0]
    world.v[:2], world.v[6:8] = (1.0, 0.0), (0.0, 1.0)
    again = copy.deepcopy(world)
    world.step(steps=50)
    assert world.v[0] == pytest.approx(1.0 - 2.0 * MU[0] * G * 0.05, abs=1e-9)
    assert world.v[7] == pytest.approx(1.0 - 2.0 * MU[1] * G * 0.05, abs=1e-9)
    again.step(steps=50)
    np.testing.assert_array_equal(again.q, world.q)
    dynenvs.save(world.model, tmp_path / "model.json")
    other = World(dynenvs.load(tmp_path / "model.json"), timestep=DT)
    other.reset(sliding(blocks=2).q, None)
    other.friction[:] = 2.0 * MU[0]
    other.v[:2], other.v[6:8] = (1.0, 0.0), (0.0, 1.0)
    other.step(steps=50)
    np.testing.assert_array_equal(other.q, world.q)


SCENE = """
<mujoco><option timestep=".001" cone="elliptic" impratio="100"/><worldbody>
<geom name="floor" type="plane" size="9 9 1"/>
<body name="b" pos="0 0 {height}"><freejoint/><geom name="s" {shape} mass="1"/></body></worldbody>
<contact><pair geom1="s" geom2="floor" condim="3" friction="{first} {second} 0 0 0"/></contact>
</mujoco>"""
SHAPES = {
    "box": ('type="box" size=".2 .15 .05"', 0.05),
    "capsule": ('type="capsule" size=".05 .2" euler="0 90 0"', 0.05),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_directions_are_mujoco_s(shape: str, axis: int) -> None:
    """Speeds: of a box the first coefficient is along y, of a capsule along itself."""
    mujoco = pytest.importorskip("mujoco")
    words, height = SHAPES[shape]
    text = SCENE.format(shape=words, height=height, first=0.6, second=0.2)
    # A capsule that is pushed along y would roll
    start = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    if axis:
        start = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qvel[:] = start
    mujoco.mj_step(theirs, data, 100)
    world = World(dynenvs.load(text), cone="exact")
    world.reset(None, start)
    world.step(steps=100)
    # Theirs is soft
    lost = 1.0 - world.v[axis]
    assert lost == pytest.approx(1.0 - data.qvel[axis], rel=0.03)
    assert lost > 0.15 * 9.81 * 0.1
    certified(world)


WRONG = {
    "no direction": ({"friction": (0.5, 0.2)}, "needs a direction for the first one, and the"),
    "no frame": ({"friction": (0.5, 0.2), "direction": (1, 0, 0)}, "'skin' or 'floor' or 'world'"),
    "one coefficient": ({"friction": 0.5, "direction": (1, 0, 0)}, "are for friction of two"),
    "three": ({**ALONG_X, "friction": (1, 2, 3)}, "one coefficient or two"),
    "zero": ({**ALONG_X, "friction": (0.5, 0.0)}, "friction across the direction must be positive"),
    "negative": ({**ALONG_X, "friction": (-0.5, 0.2)}, "friction along the direction must be"),
    "far apart": ({**ALONG_X, "friction": (1e-5, 0.2)}, "differ by more than a factor of 1000"),
    "no such frame": ({**ALONG_X, "frame": "ice"}, "unknown frame 'ice'; choose from: skin, floor"),
    "zero direction": ({**ALONG_X, "direction": (0, 0, 0)}, "direction must not be zero"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    pair, message = WRONG[name]
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("block", joint=fixed())
    builder.box("skin", "block", half_size=(1, 1, 1))
    with pytest.raises(ModelError, match=f"pair 'skin', 'floor': .*{message}"):
        builder.pair("skin", "floor", **pair)
