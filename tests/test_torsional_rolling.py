"""Torsional and rolling friction: moments at contacts, beside Coulomb's law, with known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G, block_inertia, tilted_gravity
from scipy.spatial.transform import Rotation

from dynenvs import inverse_dynamics
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.jacobians import frames
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, free, prismatic, revolute
from dynenvs.simulation.world import World

RADIUS, MASS = 0.1, 0.7
INERTIA = 0.4 * MASS * RADIUS**2
SPIN, ROLL = 0.01, 0.005  # coefficients [m]
DT = 1e-3
ALL = [
    {"cone": cone, "integrator": rule, "balls": balls}
    for cone in ("pyramid", "exact")
    for rule in ("euler", "midpoint")
    for balls in (1, 2)
]


def on_floor(
    *, torsional: float = 0.0, rolling: float = 0.0, friction: float = 0.5, balls: int = 1,
    **options: Any,
) -> World:  # fmt: skip
    """Balls at rest, side by side on the floor."""
    known = {"torsional_friction": torsional, "rolling_friction": rolling, "friction": friction}
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space("floor", **known)
    for k in range(balls):
        builder.body(f"ball{k}", joint=free(), mass=MASS, inertia=np.full(3, INERTIA))
        builder.sphere(f"skin{k}", f"ball{k}", radius=RADIUS, **known)
    world = World(builder.build(), timestep=DT)
    for k in range(balls):
        world.q[7 * k : 7 * k + 3] = 0.0, k, RADIUS
    return world


def certified(world: World) -> bool:
    return world.diagnostics.degraded + world.diagnostics.failed == 0


@pytest.mark.parametrize("options", ALL)
def test_a_spinning_ball_is_stopped_by_torsional_friction(options: dict[str, Any]) -> None:
    """The moment is spin m g: w = w0 - spin m g t / I, until it stops, and stays so."""
    world = on_floor(torsional=SPIN, **options)
    start = 20.0
    world.v[5::6] = start
    stop = INERTIA * start / (SPIN * MASS * G)
    half = int(stop / 2 / DT)
    world.step(steps=half)
    np.testing.assert_allclose(world.v[5::6], start - SPIN * MASS * G / INERTIA * half * DT,
                               atol=1e-9)  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm([c.moment for c in world.contacts], axis=1),
                               SPIN * MASS * G * DT, rtol=1e-9)  # fmt: skip
    world.step(steps=half)
    world.step(steps=20)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-9)
    assert certified(world)


@pytest.mark.parametrize("options", ALL)
@pytest.mark.parametrize("heading", [0.0, 0.4])
def test_a_rolling_ball_is_stopped_by_rolling_friction(
    options: dict[str, Any], heading: float
) -> None:
    """It rolls, so friction and the moment roll m g give v' = -5/7 roll g / r."""
    world = on_floor(rolling=ROLL, **options)
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    rate = 5 / 7 * ROLL * G / RADIUS
    for at in range(0, world.model.nv, 6):
        world.v[at : at + 3] = 0.2 * along
        world.v[at + 3 : at + 6] = np.cross((0, 0, 1), 0.2 * along) / RADIUS
    world.step(steps=300)
    for at in range(0, world.model.nv, 6):
        np.testing.assert_allclose(world.v[at : at + 3], (0.2 - rate * 0.3) * along, atol=1e-9)
    world.step(steps=round(0.2 / rate / DT) - 280)
    np.testing.assert_allclose(world.v, 0.0, atol=1e-9)
    here = world.q.copy()
    world.step(steps=200)
    np.testing.assert_allclose(world.q, here, atol=1e-9)
    assert certified(world)


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize("off", [-1e-3, 1e-3])
def test_a_ball_rests_on_a_slope_that_rolling_friction_holds(cone: str, off: float) -> None:
    """If and only if tan(slope) < roll / r; above it rolls with 5/7 (g sin - roll / r g cos)."""
    slope = np.arctan(ROLL / RADIUS) + off
    world = on_floor(rolling=ROLL, gravity=tilted_gravity(slope, 0.3), cone=cone)
    world.step(steps=500)
    rate = 5 / 7 * G * (np.sin(slope) - ROLL / RADIUS * np.cos(slope))
    assert np.linalg.norm(world.v[:3]) == pytest.approx(max(0.0, 0.5 * rate), abs=1e-9)
    if off < 0:
        assert np.linalg.norm(world.q[:2]) < 1e-9
    assert certified(world)


def test_the_three_frictions_do_not_share_a_bound() -> None:
    """A ball that slides and spins slows down by mu g and by spin m g / I, each as if alone."""
    world = on_floor(torsional=SPIN, rolling=ROLL, friction=0.3)
    world.v[:] = 3.0, 0.0, 0.0, 0.0, 0.0, 10.0
    world.step(steps=100)
    assert world.v[0] == pytest.approx(3.0 - 0.3 * G * 0.1, abs=1e-9)
    # It turns by friction's moment less that of rolling friction
    turned = (0.3 * RADIUS - ROLL) * MASS * G / INERTIA * 0.1
    left = 10.0 - SPIN * MASS * G / INERTIA * 0.1
    spin = frames(world.model, world.q, world.v).angular[1]
    np.testing.assert_allclose(spin, (0.0, turned, left), atol=1e-9)


def test_moments_of_a_patch_add_to_those_of_its_corners() -> None:
    """A spinning box: four corners at a distance R give mu m g R, torsional friction the rest."""
    half, mu, start = np.array([0.1, 0.1, 0.05]), 0.4, 20.0
    reach, inertia = 0.1 * np.sqrt(2.0), block_inertia(2.0, half)
    for torsional in (0.0, 0.02):
        builder = ModelBuilder()
        builder.half_space("floor", friction=mu, torsional_friction=torsional)
        builder.body("box", joint=free(), mass=2.0, inertia=inertia)
        builder.box("skin", "box", half_size=half, friction=mu, torsional_friction=torsional)
        world = World(builder.build(), timestep=1e-4, cone="exact")
        world.q[2], world.v[5] = half[2], start
        world.step(steps=1000)
        rate = (mu * reach + torsional) * 2.0 * G / inertia[2]
        assert world.v[5] == pytest.approx(start - rate * 0.1, rel=1e-4)
        np.testing.assert_allclose(world.v[:5], 0.0, atol=1e-7)
        assert certified(world)


@pytest.mark.parametrize("rule", ["euler", "midpoint"])
def test_in_the_plane(rule: str) -> None:
    """A wheel in the x-z plane has rolling friction alone."""
    builder = ModelBuilder(directions=2, integrator=rule)
    builder.half_space("floor", friction=0.5, rolling_friction=ROLL, torsional_friction=SPIN)
    builder.body("x", joint=prismatic("x", axis=(1, 0, 0)), mass=0.0)
    builder.body("z", parent="x", joint=prismatic("z"), mass=0.0)
    builder.body("wheel", parent="z", joint=revolute("turn", axis=(0, 1, 0)), mass=MASS,
                 inertia=np.full(3, INERTIA))  # fmt: skip
    builder.sphere("rim", "wheel", radius=RADIUS, rolling_friction=ROLL, torsional_friction=SPIN)
    world = World(builder.build(), timestep=DT)
    world.q[1] = RADIUS
    world.v[:] = 1.0, 0.0, 1.0 / RADIUS
    world.step(steps=500)
    assert world.v[0] == pytest.approx(1.0 - 5 / 7 * ROLL * G / RADIUS * 0.5, abs=1e-9)
    assert certified(world)


def test_between_two_moving_bodies_momentum_is_kept() -> None:
    """Two balls pressed together in empty space: one spins the other up, the sum stays."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for k in range(2):
        builder.body(f"ball{k}", joint=free(), mass=MASS, inertia=np.full(3, INERTIA))
        builder.sphere(f"skin{k}", f"ball{k}", radius=RADIUS, torsional_friction=SPIN,
                       rolling_friction=ROLL)  # fmt: skip
    world = World(builder.build(), timestep=DT)
    world.q[2], world.q[9] = RADIUS, -RADIUS
    world.v[5] = 30.0
    for _ in range(200):
        for at, push in ((1, -5.0), (2, 5.0)):
            world.wrenches[at, 5] = push
        world.step()
    moved = SPIN * 5.0 / INERTIA * 0.2
    assert world.v[5] == pytest.approx(30.0 - moved, abs=1e-9)
    assert world.v[11] == pytest.approx(moved, abs=1e-9)
    world.step(steps=700)
    np.testing.assert_allclose(world.v[[5, 11]], 15.0, atol=1e-9)
    assert certified(world)


def test_a_turntable_spins_a_ball_up() -> None:
    """On a kinematic table a ball at the centre ends with the table's spin, a wheel stays put."""
    builder = ModelBuilder()
    builder.body("table", joint=revolute(), kinematic=True)
    builder.half_space("top", "table", torsional_friction=SPIN)
    builder.body("ball", joint=free(), mass=MASS, inertia=np.full(3, INERTIA))
    builder.sphere("skin", "ball", radius=RADIUS, torsional_friction=SPIN)
    world = World(builder.build(), timestep=DT)
    world.q[3], world.v[0] = RADIUS, 4.0
    world.step(steps=50)
    assert world.v[6] == pytest.approx(SPIN * MASS * G / INERTIA * 0.05, abs=1e-9)
    world.step(steps=300)
    np.testing.assert_allclose(world.v[1:], (0, 0, 0, 0, 0, 4.0), atol=1e-9)


def test_a_pair_has_its_own() -> None:
    """`pair` prevails over the geoms' coefficients, which combine by the model's rule."""
    known: dict[str, Any] = {"torsional_friction": 0.01, "rolling_friction": 0.04}
    for rule, spin, roll in (("geometric", 0.02, 0.02), ("maximum", 0.04, 0.04)):
        builder = ModelBuilder(friction=rule)
        builder.half_space("floor", torsional_friction=0.04, rolling_friction=0.01)
        builder.body("ball", joint=free(), mass=1.0, inertia=(1, 1, 1))
        builder.sphere("skin", "ball", radius=0.1, **known)
        builder.sphere("other", "ball", radius=0.2, **known)
        builder.pair("floor", "other", torsional_friction=0.0, rolling_friction=0.3)
        features = builder.build().features
        np.testing.assert_allclose(features["spin"], (spin, 0.0))
        np.testing.assert_allclose(features["roll"], (roll, 0.3))


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize("rule", ["euler", "midpoint"])
def test_thrown_together_all_is_certified_and_gains_no_energy(cone: str, rule: str) -> None:
    """Cubes, balls and capsules fall on each other: no answer is degraded.  Each body's inertia
    is nearly that of a ball, so that explicit gyroscopic terms give no energy."""
    rng = np.random.default_rng(11)
    for _ in range(3):
        builder = ModelBuilder(cone=cone, integrator=rule, friction="maximum")
        builder.half_space("floor", friction=0.6, torsional_friction=0.01, rolling_friction=0.003)
        for k in range(5):
            builder.body(f"body{k}", joint=free(), mass=1.0, inertia=np.full(3, 0.004))
            own = {"torsional_friction": rng.uniform(0, 0.02), "friction": rng.uniform(0, 1),
                   "rolling_friction": rng.uniform(0, 0.01)}  # fmt: skip
            if k % 3 == 0:
                builder.box(f"skin{k}", f"body{k}", half_size=(0.1, 0.1, 0.1), **own)
            elif k % 3 == 1:
                builder.sphere(f"skin{k}", f"body{k}", radius=0.1, **own)
            else:
                builder.capsule(f"skin{k}", f"body{k}", start=(0, 0, -0.1), end=(0, 0, 0.1),
                                radius=0.06, **own)  # fmt: skip
        world = World(builder.build(), timestep=2e-3)
        for k in range(5):
            world.q[7 * k : 7 * k + 3] = *rng.uniform(-0.1, 0.1, 2), 0.15 + 0.25 * k
            world.q[7 * k + 3 : 7 * k + 7] = np.roll(Rotation.random(rng=rng).as_quat(), 1)
            world.v[6 * k : 6 * k + 6] = rng.normal(size=6)
        before = _energy(world)
        for _ in range(40):
            world.step(steps=10)
            now = _energy(world)
            assert now < before + 1e-6
            before = now
        assert certified(world)


def _energy(world: World) -> float:
    found = totals(world.model, world.q, world.v)
    return float(found.kinetic + found.potential)


def test_moments_are_part_of_the_state() -> None:
    """A world that goes on from a state goes on bit for bit."""
    world = on_floor(torsional=SPIN, rolling=ROLL, gravity=tilted_gravity(0.1, 0.3), balls=2)
    world.v[5], world.v[9] = 5.0, 1.0
    world.step(steps=50)
    state = world.get_state()
    world.step(steps=50)
    other = on_floor(torsional=SPIN, rolling=ROLL, gravity=tilted_gravity(0.1, 0.3), balls=2)
    other.set_state(state)
    other.step(steps=50)
    np.testing.assert_array_equal(other.q, world.q)
    np.testing.assert_array_equal(other.v, world.v)


def test_what_is_not_available_is_refused() -> None:
    builder = ModelBuilder()
    with pytest.raises(ModelError, match="geom 'floor': rolling_friction must be finite and not"):
        builder.half_space("floor", rolling_friction=-0.1)
    model = on_floor(torsional=SPIN).model
    with pytest.raises(ValueError, match="inverse dynamics with torsional or rolling friction"):
        inverse_dynamics(model, model.neutral(), np.zeros(6), [], 0.01)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("balls", [1, 2])
def test_an_impact_twists_by_its_own_normal_impulse(law: str, balls: int) -> None:
    """A ball that falls and spins loses spin m (1 + e) v / I of its spin in the impact."""
    bounce, fall, start = 0.6, 2.0, 20.0
    known = {"torsional_friction": SPIN, "restitution": bounce}
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0), restitution=law)
    builder.half_space("floor", **known)
    for k in range(balls):
        builder.body(f"ball{k}", joint=free(), mass=MASS, inertia=np.full(3, INERTIA))
        builder.sphere(f"skin{k}", f"ball{k}", radius=RADIUS, **known)
    world = World(builder.build(), timestep=DT)
    q, v = (
        np.tile([0.0, 0, RADIUS, 1, 0, 0, 0], balls),
        np.tile([0.0, 0, -fall, 0, 0, start], balls),
    )
    q[0::7] = np.arange(balls)
    world.reset(q, v)
    world.step()
    np.testing.assert_allclose(world.v[2::6], bounce * fall, rtol=1e-9)
    lost = SPIN * MASS * (1 + bounce) * fall / INERTIA
    np.testing.assert_allclose(world.v[5::6], start - lost, rtol=1e-9)


def test_they_go_with_closed_loops_and_dry_joints() -> None:
    """A ball rolls to rest as it does alone, beside wheels that are geared and rub."""
    alone = on_floor(rolling=ROLL, torsional=SPIN)
    known = {"torsional_friction": SPIN, "rolling_friction": ROLL, "friction": 0.5}
    builder = ModelBuilder(gravity=(0.0, 0.0, -G))
    builder.half_space("floor", **known)
    builder.body("ball0", joint=free(), mass=MASS, inertia=np.full(3, INERTIA))
    builder.sphere("skin0", "ball0", radius=RADIUS, **known)
    for name in ("one", "other"):
        joint = revolute(name, axis=(0, 1, 0), friction=0.3, position=(3, 0, 3))
        builder.body(name, joint=joint, mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.couple("gear", "one", "other", coefficients=(0.0, -2.0))
    together = World(builder.build(), timestep=DT)
    v = [0.2, 0.0, 0.0, 0.0, 0.2 / RADIUS, 15.0]
    alone.reset(alone.q, v)
    together.reset([0.0, 0.0, RADIUS, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [*v, 2.0, -1.0])
    for _ in range(600):
        alone.step()
        together.step()
        np.testing.assert_allclose(together.v[:6], alone.v, atol=1e-8)
    # The gear holds, and both frictions, 0.3 of the one and half of that of the other, stop it
    rate = (0.3 + 0.3 / 2) / (0.1 + 0.1 / 4)
    assert together.q[7] == pytest.approx(0.5 * 2.0**2 / rate, abs=2 * DT)
    np.testing.assert_allclose(together.v[6:], 0.0, atol=1e-9)
    np.testing.assert_allclose(together.q[7], -2.0 * together.q[8], atol=1e-9)
    assert certified(together)
