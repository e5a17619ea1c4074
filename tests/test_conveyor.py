"""Surfaces that run along their geoms, as belts of conveyors do: what they carry, and how fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G, block_inertia, tilted_gravity
from scipy.spatial.transform import Rotation

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, Vector, free, prismatic
from dynenvs.simulation.inverse import inverse_dynamics
from dynenvs.simulation.world import World

HALF = (0.1, 0.1, 0.05)
CUBE = np.full(3, 0.1)
MASS = 2.0
MU = 0.5
ALL = [
    {"cone": cone, "integrator": rule, "boxes": boxes}
    for cone in ("pyramid", "exact")
    for rule in ("euler", "midpoint")
    for boxes in (1, 2)  # one robot or part alone is solved densely, several island by island
]


def conveyor(
    velocity: Vector,
    *,
    friction: float = MU,
    boxes: int = 1,
    timestep: float = 1e-3,
    restitution: float = 0.0,
    **options: Any,
) -> World:
    """Boxes at rest, side by side on a belt that is the ground."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space(
        "belt", friction=friction, restitution=restitution, surface_velocity=velocity
    )
    for k in range(boxes):
        inertia = block_inertia(MASS, np.array(HALF))
        builder.body(f"box{k}", joint=free(), mass=MASS, inertia=inertia)
        builder.box(f"skin{k}", f"box{k}", half_size=HALF, friction=friction)
    world = World(builder.build(), timestep=timestep)
    for k in range(boxes):
        world.q[7 * k : 7 * k + 3] = 0.0, k, HALF[2]
    return world


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("heading", [0.0, 0.3, 2.0])
def test_a_belt_accelerates_what_lies_on_it_until_it_rides_along(
    options: dict[str, Any], heading: float
) -> None:
    """mu g, up to the time u / (mu g); from then on u, and nothing turns or lifts."""
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    speed = 1.0
    world = conveyor(speed * along, **options)
    world.step(steps=150)
    for at in range(0, world.model.nv, 6):
        np.testing.assert_allclose(world.v[at : at + 3], MU * G * 0.15 * along, atol=1e-9)
    world.step(steps=100)
    assert speed / (MU * G) < 0.25
    for at in range(0, world.model.nv, 6):
        np.testing.assert_allclose(world.v[at : at + 3], speed * along, atol=1e-9)
        np.testing.assert_allclose(world.v[at + 3 : at + 6], 0.0, atol=1e-9)
    here = world.q[:3].copy()
    world.step(steps=100)
    np.testing.assert_allclose(world.q[:3] - here, 0.1 * speed * along, atol=1e-9)
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize(("excess", "rides"), [(-1e-3, True), (1e-3, False)])
def test_an_inclined_belt_takes_up_what_friction_holds(
    cone: str, excess: float, rides: bool
) -> None:
    """A box that starts with the belt rides up if tan(slope) < mu, and slides back if not."""
    slope = np.arctan(MU) + excess
    world = conveyor((-1.0, 0.0, 0.0), gravity=tilted_gravity(slope), cone=cone)
    world.v[0] = -1.0
    world.step(steps=500)
    lost = 0.0 if rides else 0.5 * G * (np.sin(slope) - MU * np.cos(slope))
    assert world.v[0] == pytest.approx(-1.0 + lost, abs=1e-9)


def test_a_belt_in_the_plane() -> None:
    """Models of two friction directions have one tangent."""
    builder = ModelBuilder(directions=2)
    builder.half_space("belt", friction=MU, surface_velocity=(1.0, 0.0, 0.0))
    builder.body("slide", joint=prismatic("x", axis=(1, 0, 0)), mass=0.0)
    builder.body("lift", parent="slide", joint=prismatic("z"), mass=MASS)
    builder.box("skin", "lift", half_size=HALF, friction=MU)
    world = World(builder.build(), timestep=1e-3)
    world.q[1] = HALF[2]
    world.step(steps=100)
    assert world.v[0] == pytest.approx(0.1 * MU * G, abs=1e-12)
    world.step(steps=200)
    assert world.v[0] == pytest.approx(1.0, abs=1e-12)


def test_only_the_part_along_the_contact_counts() -> None:
    world = conveyor((0.3, 0.0, 5.0))
    world.step(steps=200)
    np.testing.assert_allclose(world.v[:3], (0.3, 0.0, 0.0), atol=1e-12)


@pytest.mark.parametrize("boxes", [1, 2])
def test_the_belt_may_be_on_either_side(boxes: int) -> None:
    """A tracked vehicle: its own skin runs backwards, so that it drives forwards, as it is turned;
    a box on a box, where pairs of solids are met."""
    world = conveyor((0.0, 0.0, 0.0), boxes=boxes)
    for k in range(boxes):
        world.surface_velocity[world.model.geom_id(f"skin{k}")] = (-0.4, 0.0, 0.0)
    turned = Rotation.from_euler("z", 0.7)
    world.q[3:7] = np.roll(turned.as_quat(), 1)
    world.step(steps=200)
    np.testing.assert_allclose(world.v[:3], 0.4 * turned.as_matrix()[:, 0], atol=1e-9)


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_carried_belt_keeps_momentum(cone: str) -> None:
    """A cart without friction below carries a belt: what the box gains the cart loses."""
    builder = ModelBuilder(cone=cone)
    builder.body("cart", joint=prismatic(axis=(1, 0, 0)), mass=8.0)
    builder.box("belt", "cart", half_size=(2, 1, 0.1), surface_velocity=(1.0, 0.0, 0.0))
    inertia = block_inertia(MASS, np.array(HALF))
    builder.body("box", joint=free(), mass=MASS, inertia=inertia)
    builder.box("skin", "box", half_size=HALF)
    world = World(builder.build(), timestep=1e-3)
    world.q[1:4] = 0.0, 0.0, 0.1 + HALF[2]
    for _ in range(5):
        world.step(steps=100)
        assert 8.0 * world.v[0] + MASS * world.v[1] == pytest.approx(0.0, abs=1e-9)
    assert world.v[1] - world.v[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("cone", ["pyramid", "exact"])
def test_a_bouncing_ball_is_dragged_by_the_belt(law: str, cone: str) -> None:
    """One impact that slips throughout: p_n = (1 + e) m v_n, p_t = mu p_n towards the belt's way,
    and the spin that goes with it: its energy grows, by less than the belt has given."""
    mass, radius, e, mu, belt, fall = 0.7, 0.1, 0.8, 0.1, 3.0, 2.0
    builder = ModelBuilder(gravity=(0, 0, 0), restitution=law, cone=cone)
    builder.half_space("belt", friction=mu, restitution=e, surface_velocity=(belt, 0, 0))
    moment = 0.4 * mass * radius**2
    builder.body("ball", joint=free(), mass=mass, inertia=(moment, moment, moment))
    builder.sphere("skin", "ball", radius=radius, friction=mu, restitution=e)
    world = World(builder.build(), timestep=1e-3)
    world.q[2], world.v[2] = radius + 1e-3, -fall
    world.step(steps=2)
    drag = mu * (1 + e) * fall
    np.testing.assert_allclose(world.v[:3], (drag, 0.0, e * fall), atol=1e-9)
    np.testing.assert_allclose(world.v[3:6], (0.0, -drag * mass * radius / moment, 0.0), atol=1e-9)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_impacts_on_a_belt_gain_no_more_than_it_gives(law: str) -> None:
    """The belt's drive gives p_t . u; cubes thrown at random keep to that (whose gyroscopic term,
    which explicit steps let gain energy, is nil)."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        velocity = rng.normal(size=3) * (2.0, 2.0, 0.0)
        world = _thrown(rng, velocity, law)
        before, moved = _kinetic(world), _linear(world)
        world.step(steps=60)
        given = (_linear(world) - moved) @ velocity
        assert _kinetic(world) - before <= given + 1e-9


def _thrown(rng: np.random.Generator, velocity: np.ndarray, law: str) -> World:
    builder = ModelBuilder(gravity=(0, 0, 0), restitution=law)
    builder.half_space("belt", friction=1.2, restitution=0.9, surface_velocity=velocity)
    builder.body("cube", joint=free(), mass=MASS, inertia=block_inertia(MASS, CUBE))
    builder.box("skin", "cube", half_size=CUBE, friction=1.2)
    world = World(builder.build(), timestep=1e-3)
    world.q[2] = 0.2
    world.q[3:7] = np.roll(Rotation.random(rng=rng).as_quat(), 1)
    world.v[:] = rng.normal(size=6)
    world.v[2] = -3.0
    return world


def _linear(world: World) -> np.ndarray:
    return MASS * world.v[:3]


def _kinetic(world: World) -> float:
    inertia = block_inertia(MASS, CUBE)
    return float(0.5 * (MASS * world.v[:3] @ world.v[:3] + inertia @ world.v[3:6] ** 2))


def test_the_belt_is_part_of_the_state() -> None:
    world = conveyor((0.5, 0.0, 0.0))
    world.surface_velocity[0] = (0.0, 0.7, 0.0)
    state = world.get_state()
    world.step(steps=300)
    ended = world.v.copy()
    np.testing.assert_allclose(ended[:3], (0.0, 0.7, 0.0), atol=1e-12)
    other = conveyor((0.5, 0.0, 0.0))
    other.set_state(state)
    other.step(steps=300)
    np.testing.assert_array_equal(other.v, ended)
    world.reset()
    np.testing.assert_array_equal(world.surface_velocity[0], (0.5, 0.0, 0.0))


def test_what_cannot_be_is_refused() -> None:
    builder = ModelBuilder()
    with pytest.raises(ModelError, match="geom 'floor': surface_velocity must be three finite"):
        builder.half_space("floor", surface_velocity=(1.0, np.nan, 0.0))
    builder.half_space("floor")
    builder.body("ball", joint=free(), mass=1.0, inertia=(1, 1, 1))
    builder.sphere("skin", "ball", radius=0.1)
    with pytest.raises(ValueError, match="no geom of the model has a surface velocity"):
        _ = World(builder.build()).surface_velocity
    world = conveyor((0.0, 0.0, 0.0))
    world.surface_velocity[0, 1] = np.inf
    with pytest.raises(ValueError, match="surface_velocity of the world must be finite"):
        world.step()


def test_inverse_dynamics_feels_the_belt() -> None:
    """A box with a slide inside: while it slips, the belt pulls with mu m g, whatever the slide."""
    builder = ModelBuilder()
    builder.half_space("belt", friction=MU, surface_velocity=(2.0, 0.0, 0.0))
    inertia = block_inertia(MASS, np.array(HALF))
    builder.body("box", joint=free(), mass=MASS, inertia=inertia)
    builder.box("skin", "box", half_size=HALF, friction=MU)
    builder.body("slide", parent="box", joint=prismatic("s", axis=(1, 0, 0)), mass=0.5)
    model = builder.build()
    q = model.neutral()
    q[2] = HALF[2]
    found = inverse_dynamics(model, q, np.zeros(7), [0.02], 0.01)
    whole = (MASS + 0.5) * G * 0.01
    total = found.impulses.sum(axis=0)
    np.testing.assert_allclose(total, (MU * whole, 0.0, whole), atol=1e-9)
    np.testing.assert_allclose((MASS + 0.5) * found.v[0] + 0.5 * found.v[6], MU * whole, atol=1e-9)
