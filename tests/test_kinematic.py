"""Kinematic bodies move as they are told, carry what stands on them and push what they meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G, block_inertia

from dynenvs import aba, forward_dynamics
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, free, prismatic, revolute, spherical
from dynenvs.simulation.inverse import inverse_dynamics
from dynenvs.simulation.world import SimulationError, World

HALF = np.array([0.1, 0.1, 0.05])
MASS = 2.0
MU = 0.4
DT = 1e-3
ALL = [
    {"cone": cone, "integrator": rule, "boxes": boxes}
    for cone in ("pyramid", "exact")
    for rule in ("euler", "midpoint")
    for boxes in (1, 2)  # one part alone is solved densely, several island by island
]


def platform(axis: Any, *, boxes: int = 1, solid: str = "box", **options: Any) -> World:
    """Boxes side by side on a platform that slides along an axis."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.body("platform", joint=prismatic(axis=axis), kinematic=True)
    if solid == "box":
        builder.box("top", "platform", half_size=(3, 3, 0.1), position=(0, 0, -0.1), friction=MU)
    else:
        builder.half_space("top", "platform", friction=MU)
    for k in range(boxes):
        builder.body(f"box{k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin{k}", f"box{k}", half_size=HALF, friction=MU)
    world = World(builder.build(), timestep=DT)
    for k in range(boxes):
        world.q[1 + 7 * k : 4 + 7 * k] = 0.0, k, HALF[2]
    return world


def pressed(world: World) -> np.ndarray:
    """Sum of the impulses on the boxes in the last step, world axes."""
    return np.sum([c.impulse if c.bodies[0] != "platform" else -c.impulse for c in world.contacts],
                  axis=0)  # fmt: skip


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("solid", ["box", "half_space"])
def test_a_lift_presses_with_weight_and_inertia(options: dict[str, Any], solid: str) -> None:
    """The normal force is m (g + a), in each step, for a lift that goes up and down."""
    world = platform((0, 0, 1), solid=solid, **options)
    boxes = options["boxes"]
    size, omega = 0.1, 9.0  # at most 8.1 m/s^2, less than g
    last = 0.0
    for k in range(1, 700):
        world.v[0] = size * omega * np.sin(omega * k * DT)
        world.step()
        force = boxes * MASS * (G + (world.v[0] - last) / DT)
        last = world.v[0]
        assert pressed(world)[2] / DT == pytest.approx(force, rel=1e-7)
        assert world.v[3] == pytest.approx(world.v[0], abs=1e-9)
        assert world.q[3] - world.q[0] == pytest.approx(HALF[2], abs=1e-9)
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("boxes", [1, 2])
@pytest.mark.parametrize(("pull", "lifts"), [(0.999, False), (1.001, True)])
def test_what_a_lift_leaves_behind(boxes: int, pull: float, lifts: bool) -> None:
    """A lift that falls faster than freely parts from what stands on it, and only then."""
    world = platform((0, 0, 1), boxes=boxes)
    for k in range(1, 200):
        world.v[0] = -pull * G * k * DT
        world.step()
    gap = world.q[3] - world.q[0] - HALF[2]
    free_fall = (pull - 1.0) * G * DT**2 * 199 * 200 / 2
    assert gap == pytest.approx(free_fall if lifts else 0.0, abs=1e-9)


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize(("share", "sticks"), [(0.99, True), (1.05, False)])
def test_a_shaking_plate_carries_what_friction_holds(
    options: dict[str, Any], share: float, sticks: bool
) -> None:
    """A box sticks to it if its greatest acceleration is less than mu g."""
    world = platform((1, 0, 0), **options)
    omega = 12.0
    size = share * MU * G / omega**2
    worst = 0.0
    for k in range(1, 1200):
        # So that the accelerations of the steps are those of the motion where they are greatest
        world.v[0] = size * omega * np.sin(omega * k * DT)
        world.step()
        worst = max(worst, abs(world.v[1] - world.v[0]))
    assert (worst < 1e-9) == sticks
    assert world.q[3] == pytest.approx(HALF[2], abs=1e-9)


@pytest.mark.parametrize("boxes", [1, 2])
@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_turntable_carries_at_a_fixed_radius(boxes: int, cone: str) -> None:
    """mu g > omega^2 r: the box turns with the table, and stays where it is on it."""
    builder = ModelBuilder(cone=cone)
    builder.body("table", joint=revolute(), kinematic=True)
    builder.half_space("top", "table", friction=MU)
    for k in range(boxes):
        builder.body(f"box{k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin{k}", f"box{k}", half_size=HALF / 10, friction=MU)
    world = World(builder.build(), timestep=DT)
    radius, omega = 0.8, 2.0
    world.v[0] = omega
    for k in range(boxes):
        world.q[1 + 7 * k : 4 + 7 * k] = radius, k, HALF[2] / 10
        turning = np.cross((0, 0, omega), (radius, k, 0.0))
        world.v[1 + 6 * k : 7 + 6 * k] = (*turning, 0.0, 0.0, omega)
    world.step(steps=2000)
    angle = world.q[0]
    assert angle == pytest.approx(omega * 2.0, abs=1e-9)
    np.testing.assert_allclose(
        world.q[1:3], radius * np.array([np.cos(angle), np.sin(angle)]), atol=1e-6
    )


@pytest.mark.parametrize("rule", ["euler", "midpoint"])
@pytest.mark.parametrize("boxes", [1, 3])
def test_a_pusher_pushes_at_its_own_speed(rule: str, boxes: int) -> None:
    """A row of boxes goes before it as fast as it goes, against friction (the blade has none, which
    could carry part of their weight)."""
    builder = ModelBuilder(integrator=rule)
    builder.half_space("floor", friction=MU)
    builder.body("pusher", joint=prismatic(axis=(1, 0, 0), position=(0, 0, 0.05)), kinematic=True)
    builder.box("blade", "pusher", half_size=(0.05, 0.5, 0.04), friction=0.0)
    for k in range(boxes):
        builder.body(f"box{k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin{k}", f"box{k}", half_size=HALF, friction=MU)
    world = World(builder.build(), timestep=DT)
    for k in range(boxes):
        world.q[1 + 7 * k : 4 + 7 * k] = 0.15 + 0.2 * k, 0.0, HALF[2]
    world.v[0] = 0.3
    world.step(steps=500)
    assert world.q[0] == pytest.approx(0.15, abs=1e-12)
    for k in range(boxes):
        assert world.v[1 + 6 * k] == pytest.approx(0.3, abs=1e-9)
        assert world.q[1 + 7 * k] == pytest.approx(0.3 + 0.2 * k, abs=1e-8)
    force = sum(c.impulse[0] for c in world.contacts if "pusher" in c.bodies) / DT
    assert abs(force) == pytest.approx(boxes * MU * MASS * G, rel=1e-6)


def test_two_boxes_on_one_platform_are_two_islands() -> None:
    world = platform((1, 0, 0), boxes=2)
    world.v[0] = 0.1
    world.step(steps=3)
    stages = world.diagnostics.stages
    assert stages.kept.solved + stages.modes.solved == 6


def test_no_force_moves_it() -> None:
    """Neither its weight, nor what falls on it, nor a wrench."""
    world = platform((0, 0, 1), boxes=2)
    world.wrenches[1, 5] = 100.0
    world.q[3] += 0.3
    world.step(steps=500)
    assert world.q[0] == 0.0
    assert world.v[0] == 0.0
    np.testing.assert_allclose(world.q[[3, 10]], HALF[2], atol=1e-9)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_racket_returns_a_ball(law: str, cone: str) -> None:
    """Restitution is that of the relative velocity: u+ = racket + e (racket - u-)."""
    e, racket, fall = 0.7, 2.0, 3.0
    builder = ModelBuilder(gravity=(0, 0, 0), restitution=law, cone=cone)
    builder.body("racket", joint=prismatic(), kinematic=True)
    builder.box("face", "racket", half_size=(1, 1, 0.05), position=(0, 0, -0.05), restitution=e)
    builder.body("ball", joint=free(), mass=0.5, inertia=(2e-3, 2e-3, 2e-3))
    builder.sphere("skin", "ball", radius=0.1, restitution=e)
    world = World(builder.build(), timestep=DT)
    world.q[3] = 0.1 + 2e-3
    world.v[0], world.v[3] = racket, -fall
    world.step(steps=2)
    assert world.v[3] == pytest.approx(racket + e * (racket + fall), abs=1e-9)


def test_bodies_of_six_freedoms_and_of_several_parts() -> None:
    """A free kinematic body is flown through a box; another carries a part that turns on it."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("fist", joint=free(), kinematic=True)
    builder.sphere("skin", "fist", radius=0.1)
    builder.body("base", joint=prismatic(position=(5, 0, 0)), kinematic=True)
    builder.body("arm", parent="base", joint=revolute(axis=(0, 1, 0)), kinematic=True)
    builder.body("hand", parent="arm")
    builder.box("palm", "hand", half_size=(0.5, 0.1, 0.01), position=(0.6, 0, 0))
    for k, x in enumerate((0.35, 5.9)):
        builder.body(f"box{k}", joint=free(position=(x, 0, 0.2 * k)), mass=1.0,
                     inertia=(0.1, 0.1, 0.1))  # fmt: skip
        builder.box(f"side{k}", f"box{k}", half_size=(0.1, 0.1, 0.1))
    world = World(builder.build(), timestep=DT)
    world.v[:3] = 1.0, 0.0, 0.0
    world.v[6:8] = 0.3, -0.4
    told = world.v[:8].copy()
    world.step(steps=400)
    np.testing.assert_array_equal(world.v[:8], told)
    np.testing.assert_allclose(world.q[:3], (0.4, 0.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(world.q[7:9], 0.4 * told[6:8], atol=1e-12)
    at = world.model.position_index("box0")
    assert world.q[at] == pytest.approx(0.4 + 0.2 - 0.35, abs=1e-9)
    assert world.v[world.model.velocity_index("box1") + 2] > 0.3  # the palm has met and lifts it


def test_a_crank_drives_a_loop() -> None:
    """A slider-crank: x = r cos(t) + sqrt(l^2 - r^2 sin(t)^2) of a crank that turns as told."""
    r, rod = 0.1, 0.3
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("crank", joint=revolute(axis=(0, 1, 0)), kinematic=True)
    builder.body("rod", joint=prismatic("x", axis=(1, 0, 0)), mass=0.3)
    builder.body("piston", parent="rod", joint=revolute("p", axis=(0, 1, 0)), mass=1.0,
                 com=(-0.15, 0, 0), inertia=(0.01, 0.01, 0.01))  # fmt: skip
    builder.close("pin", "crank", "piston", position_a=(r, 0, 0), position_b=(-rod, 0, 0))
    world = World(builder.build(), timestep=DT)
    world.q[1] = r + rod
    world.v[0] = 5.0
    world.step(steps=700)
    angle = 3.5
    assert world.q[0] == pytest.approx(angle, abs=1e-12)
    exact = r * np.cos(angle) + np.sqrt(rod**2 - (r * np.sin(angle)) ** 2)
    assert world.q[1] == pytest.approx(exact, abs=1e-9)
    assert world.v[0] == 5.0


def test_states_and_inverse_dynamics_know_it() -> None:
    """A robot of a base and a slide stands on a lift: its slide is told, too, and its weight is
    m (g + a)."""
    builder = ModelBuilder()
    builder.body("lift", joint=prismatic("lift"), kinematic=True)
    builder.half_space("top", "lift", friction=MU)
    builder.body("box", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
    builder.box("skin", "box", half_size=HALF)
    builder.body("mast", parent="box", joint=prismatic("s"), mass=0.5)
    model = builder.build()
    assert model.nu == 1
    q = model.neutral()
    q[3] = HALF[2]
    found = inverse_dynamics(model, q, np.r_[0.2, np.zeros(7)], [0.0], 0.01)
    assert found.v[0] == 0.2
    assert found.v[3] == pytest.approx(0.2, abs=1e-9)
    whole = (MASS + 0.5) * (G + 0.2 / 0.01) * 0.01
    np.testing.assert_allclose(found.impulses.sum(axis=0)[2], whole, rtol=1e-9)
    np.testing.assert_allclose(found.tau, 0.5 * (G + 20.0), rtol=1e-9)


def test_what_cannot_be_is_refused() -> None:
    def built(prepare: Any) -> None:
        builder = ModelBuilder()
        builder.body("table", joint=prismatic(), kinematic=True)
        builder.box("top", "table", half_size=(1, 1, 1))
        builder.half_space("floor")
        prepare(builder)
        builder.build()

    cases = {
        "needs a joint along which it moves": lambda b: b.body("stone", kinematic=True),
        "is carried by 'ball', which is none": lambda b: b.body(
            "ball", joint=spherical(), mass=1.0, inertia=(1, 1, 1)
        ).body("hat", parent="ball", joint=revolute(), kinematic=True),
        "limits, effort, damping and armature would do nothing": lambda b: b.body(
            "door", joint=revolute(limits=(0, 1)), kinematic=True
        ),
        "kinematic must be True or False": lambda b: b.body("x", joint=free(), kinematic=1),
        "neither can give way": lambda b: b.pair("top", "floor"),
    }
    for message, prepare in cases.items():
        with pytest.raises(ModelError, match=message):
            built(prepare)
    built(lambda b: None)


HEAVY = 1e9  # [kg]: its motion is no other than the force makes it, to a billionth


def robot_on(kinematic: bool, neighbours: int, **options: Any) -> ModelBuilder:
    """A trolley that moves along x and turns, with an arm of a hinge, a slide and a ball joint."""
    builder = ModelBuilder(friction="minimum", **options)
    builder.half_space("floor", friction=0.6)
    weights: dict[str, Any] = {} if kinematic else {"mass": HEAVY, "inertia": (HEAVY,) * 3}
    empty: dict[str, Any] = {} if kinematic else {"mass": HEAVY}
    builder.body("rail", joint=prismatic(axis=(1, 0, 0)), kinematic=kinematic, **empty)
    builder.body("table", parent="rail", joint=revolute(), kinematic=kinematic, **weights)
    builder.body(
        "arm", parent="table", joint=revolute(axis=(0, 1, 0), position=(0.2, 0, 0.5)),
        mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.02, 0.02),
    )  # fmt: skip
    slide = prismatic(axis=(1, 0, 0), position=(0.6, 0, 0), limits=(-0.1, 0.1))
    builder.body("slide", parent="arm", joint=slide, mass=0.5, inertia=(1e-3,) * 3)
    builder.body("hand", parent="slide", joint=spherical(), mass=0.3, com=(0, 0, -0.2),
                 inertia=(2e-3, 3e-3, 1e-3))  # fmt: skip
    builder.sphere("fist", "hand", radius=0.05, position=(0, 0, -0.3), friction=0.6)
    for k in range(neighbours):
        builder.body(f"box {k}", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
        builder.box(f"skin {k}", f"box {k}", half_size=HALF, friction=0.6)
    return builder


@pytest.mark.parametrize("options", [{}, {"cone": "exact"}])
@pytest.mark.parametrize("neighbours", [0, 2])  # dense, and island by island
def test_what_a_kinematic_body_carries_by_joints(options: dict[str, Any], neighbours: int) -> None:
    """Moves as on a body of a million tons that is pushed along the same way, but for what is of
    first order in the step; its fist drags over the floor and into boxes."""
    errors = [_apart(neighbours, dt, options) for dt in (1e-3, 5e-4)]
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0]


def _apart(neighbours: int, dt: float, options: dict[str, Any]) -> float:
    """How far what is told and what is pushed are apart after 0.6 s, at most [rad, m]."""
    told = World(robot_on(True, neighbours, **options).build(), timestep=dt)
    pushed = World(robot_on(False, neighbours, **options).build(), timestep=dt)
    start = told.q.copy()
    start[2] = 0.1
    for k in range(neighbours):
        start[8 + 7 * k : 11 + 7 * k] = 0.9 + 0.3 * k, 0.1, HALF[2]
    told.reset(start)
    pushed.reset(start)
    told.step(np.zeros(told.model.nu))
    pushed.step(np.zeros(pushed.model.nu))
    touched = 0
    for k in range(round(0.6 / dt)):
        t = k * dt
        speeds = np.array([0.6 * np.sin(3 * t), 2.0 * np.sin(5 * t) * t])
        tau = np.zeros(pushed.model.nu)
        tau[0] = 2 * HEAVY * (speeds[0] - pushed.v[0]) / dt
        tau[1] = HEAVY * (speeds[1] - pushed.v[1]) / dt
        told.v[:2] = speeds
        told.step(np.zeros(told.model.nu))
        pushed.step(tau)
        touched += any("hand" in contact.bodies for contact in told.contacts)
    assert touched > 20
    assert told.diagnostics.degraded == 0
    return float(np.abs(told.q - pushed.q).max())


def test_a_pendulum_hangs_aslant_on_what_speeds_up() -> None:
    """At atan(a / g), at rest on a trolley of constant acceleration a."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.body("trolley", joint=prismatic(axis=(1, 0, 0)), kinematic=True)
    builder.body("bob", parent="trolley", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -1))
    world = World(builder.build(), timestep=DT)
    rate = 3.0
    angle = np.arctan2(rate, G)
    world.reset([0, angle], [-rate * DT, 0])
    world.step()
    world.reset([0, angle], [0, 0])
    world.step()
    world.q[1], world.v[1] = angle, 0.0
    for k in range(1, 2000):
        world.v[0] = k * rate * DT
        world.step()
    assert world.q[1] == pytest.approx(angle, abs=1e-9)


def test_the_midpoint_rule_knows_no_carried_joints() -> None:
    with pytest.raises(ModelError, match="for the integrator 'euler'"):
        robot_on(True, 0, integrator="midpoint").build()
    model = robot_on(True, 0).build()
    with pytest.raises(ModelError, match="for the integrator 'euler'"):
        World(model, integrator="midpoint")


def test_what_is_crushed_has_no_solution() -> None:
    """A press that closes on a box on the floor: no velocity obeys both."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("press", joint=prismatic(position=(0, 0, 0.2)), kinematic=True)
    builder.box("face", "press", half_size=(0.2, 0.2, 0.1))
    builder.body("box", joint=free(), mass=MASS, inertia=block_inertia(MASS, HALF))
    builder.box("skin", "box", half_size=HALF)
    world = World(builder.build(), timestep=DT)
    world.q[3] = HALF[2]
    world.v[0] = -0.5
    with pytest.raises(SimulationError, match="no solution"):
        world.step()
    assert world.time == 0.0


def test_forward_dynamics_of_it_is_refused() -> None:
    model = platform((1, 0, 0)).model
    q, v = model.neutral(), np.zeros(model.nv)
    for call in (aba, forward_dynamics):
        with pytest.raises(ValueError, match="kinematic bodies"):
            call(model, q, v, v)
