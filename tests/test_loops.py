"""Closed loops and the augmented forms: closed forms, identities, and MuJoCo as an oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from trees import Array, close

from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free, prismatic, revolute, spherical
from dynenvs.reference.augmented import (
    carried,
    freed_state,
    freed_twists,
    fully_augmented,
    tree_twists,
)
from dynenvs.reference.integrators import simulate
from dynenvs.simulation.inverse import inverse_dynamics
from dynenvs.simulation.world import SimulationError, World

G = 9.81  # [m/s^2]
CRANK, COUPLER = 0.5, 0.8  # lengths of the parallelogram's rods [m]
CRANK_MASS, COUPLER_MASS = 1.0, 2.0  # [kg]
TURN = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])  # frames with their z along +y


def rod(mass: float, length: float, axis: int) -> Array:
    """Principal moments of a slender rod along an axis."""
    moments = np.full(3, mass * length**2 / 12)
    moments[axis] = 1e-4 * mass
    return moments


def four_bar_parts(joint: str = "spherical", **options: Any) -> ModelBuilder:
    """A parallelogram that hangs from two pivots: q = (angle, angle, -angle) closes it."""
    a, c = CRANK, COUPLER
    builder = ModelBuilder(directions=2, **options)
    crank = {"mass": CRANK_MASS, "com": (0, 0, -a / 2), "inertia": rod(CRANK_MASS, a, 2)}
    builder.body("crank", joint=revolute(axis=(0, 1, 0)), **crank)
    builder.body("rocker", joint=revolute(axis=(0, 1, 0), position=(c, 0, 0)), **crank)
    builder.body(
        "coupler",
        parent="crank",
        joint=revolute(axis=(0, 1, 0), position=(0, 0, -a)),
        mass=COUPLER_MASS,
        com=(c / 2, 0, 0),
        inertia=rod(COUPLER_MASS, c, 0),
    )
    builder.close(
        "pin", "coupler", "rocker", joint=joint, position_a=(c, 0, 0), position_b=(0, 0, -a),
        rotation_a=TURN, rotation_b=TURN,
    )  # fmt: skip
    return builder


def four_bar(joint: str = "spherical", **options: Any) -> Model:
    """The model of `four_bar_parts`."""
    return four_bar_parts(joint, **options).build()


def set_angle(world: World, angle: float) -> None:
    """The four-bar's coordinates (crank, rocker, coupler)."""
    world.q = (angle, angle, -angle)


def energy(world: World) -> float:
    """Kinetic and potential [J]."""
    return float(totals(world.model, world.q, world.v).energy)


def acceleration(angle: float) -> float:
    """Of the parallelogram's cranks (docs/theory.md, Known answers) [rad/s^2]."""
    inertia = 2 / 3 * CRANK_MASS * CRANK**2 + COUPLER_MASS * CRANK**2
    return -G * (CRANK_MASS + COUPLER_MASS) * CRANK * np.sin(angle) / inertia


def reference(angle: float, seconds: float) -> Array:
    """Angle and rate of the parallelogram after some time."""
    found = solve_ivp(
        lambda t, y: (y[1], acceleration(y[0])), (0, seconds), (angle, 0.0),
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    return np.array(found.y[:, -1])


@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_four_bar_starts_from_rest_as_its_closed_form(joint: str) -> None:
    """One step is dt times the acceleration, to roundoff."""
    world = World(four_bar(joint), timestep=1e-3)
    set_angle(world, 0.9)
    world.step()
    close(world.v, 1e-3 * acceleration(0.9) * np.array([1, 1, -1]), 1e-13)


def test_a_weld_holds_the_four_bar_still() -> None:
    """Another loop between the pinned bodies, redundant in part."""
    c, s = np.cos(0.9), np.sin(0.9)
    builder = four_bar_parts()
    builder.close(
        "weld", "coupler", "rocker", joint="fixed", position_a=(COUPLER, 0, 0),
        position_b=(0, 0, -CRANK), rotation_b=np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]),
    )  # fmt: skip
    world = World(builder.build(), timestep=1e-3)
    set_angle(world, 0.9)
    assert np.abs(world.closure).max() < 1e-12
    world.step(steps=100)
    close(world.v, np.zeros(3), 1e-12)
    close(world.q, np.array([0.9, 0.9, -0.9]), 1e-12)


@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_four_bar_converges_to_its_closed_form(joint: str) -> None:
    """First order in dt, closed to 1e-12 at every step, one and three redundant rows."""
    expected = reference(1.0, 2.0)
    errors = []
    for dt in (2e-3, 1e-3):
        world = World(four_bar(joint), timestep=dt)
        set_angle(world, 1.0)
        for _ in range(round(2.0 / dt)):
            world.step()
            assert np.abs(world.closure).max() < 1e-12
        errors.append(abs(np.array([world.q[0], world.v[0]]) - expected))
    assert errors[1].max() < 2e-3
    assert 1.8 < errors[0][0] / errors[1][0] < 2.2
    close(world.q[1], world.q[0], 1e-12)


@pytest.mark.slow
def test_four_bar_stays_closed_for_a_minute_and_keeps_its_energy() -> None:
    """Residual below 1e-12; energy sways with dt, as of a pendulum's, and does not drift."""
    sway = []
    for dt in (2e-3, 1e-3):
        world = World(four_bar("revolute"), timestep=dt)
        set_angle(world, 1.0)
        start, worst, energies = energy(world), 0.0, []
        for _ in range(round(60.0 / dt)):
            world.step()
            worst = max(worst, float(np.abs(world.closure).max()))
            energies.append(energy(world) - start)
        assert worst < 1e-12
        sway.append(np.abs(energies).max())
        tenth = len(energies) // 10
        drift = np.mean(energies[-tenth:]) - np.mean(energies[:tenth])
        assert abs(drift) < 0.05 * sway[-1]
    assert sway[1] < 0.02
    assert 1.8 < sway[0] / sway[1] < 2.2


def test_a_pinned_body_spins_on_without_losing_energy() -> None:
    """Without gravity: the loop's curvature turns the velocity.

    A projection on the constraints of the step's start alone would lose (dt rate)^2 each step.
    """
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("rod", joint=free(), mass=2.0, com=(0.3, 0, 0), inertia=rod(2.0, 0.6, 0) + 0.01)
    builder.close("pin", "rod", "world", joint="revolute", rotation_a=TURN, rotation_b=TURN)
    world = World(builder.build(), timestep=2e-3)
    world.v[4] = 5.0
    start = energy(world)
    for _ in range(1000):
        world.step()
    assert np.abs(world.closure).max() < 1e-12
    assert abs(energy(world) / start - 1) < 1e-3  # else 1 - exp(-1000 * 1e-4 * ...) = 0.1
    assert world.v[4] == pytest.approx(5.0, rel=1e-3)


def test_redundant_loops_change_nothing() -> None:
    """Three pins in the place of one give the same motion."""
    worlds = [World(four_bar(joint), timestep=1e-3) for joint in ("spherical", "revolute")]
    for world in worlds:
        set_angle(world, 0.7)
        world.step(steps=200)
    close(worlds[0].q, worlds[1].q, 1e-12)
    close(worlds[0].v, worlds[1].v, 1e-11)


def test_dense_and_sparse_are_one() -> None:
    """Leaving out zeros leaves out zeros."""
    worlds = [World(four_bar(sparse_loops=sparse), timestep=1e-3) for sparse in (True, False)]
    for world in worlds:
        set_angle(world, 0.7)
        world.step(steps=100)
    close(worlds[0].q, worlds[1].q, 1e-13)


def leg() -> World:
    """A closed leg: two knees between a sliding hip and one foot, on a floor."""
    builder = ModelBuilder(directions=2)
    builder.half_space("floor", friction=0.8)
    builder.body("hip", joint=prismatic(axis=(0, 0, 1)), mass=3.0)
    half = {"axis": (0, 1, 0), "actuated": True}
    for side, x in (("left", -0.1), ("right", 0.1)):
        builder.body(
            f"{side} thigh", parent="hip", joint=revolute(position=(x, 0, 0), **half),
            mass=0.5, com=(0, 0, -0.15), inertia=rod(0.5, 0.3, 2),
        ).body(
            f"{side} shank", parent=f"{side} thigh",
            joint=revolute(position=(0, 0, -0.3), damping=0.05, **half),
            mass=0.3, com=(0, 0, -0.2), inertia=rod(0.3, 0.4, 2),
        )  # fmt: skip
    builder.close(
        "ankle", "left shank", "right shank", position_a=(0, 0, -0.4), position_b=(0, 0, -0.4)
    )
    builder.sphere("foot", "left shank", radius=0.02, position=(0, 0, -0.4))
    world = World(builder.build(), timestep=2e-3)
    # By symmetry the foot is below the hip: thighs out by 0.6 rad, shanks back in
    x = 0.1 + 0.3 * np.sin(0.6)
    shank = np.arcsin(x / 0.4)
    q = {"left thigh": 0.6, "left shank": -0.6 - shank}
    for name, angle in q.items():
        world.q[world.model.position_index(name)] = angle
        world.q[world.model.position_index(name.replace("left", "right"))] = -angle
    drop = 0.3 * np.cos(0.6) + 0.4 * np.cos(shank)
    world.q[0] = drop + 0.02 + 0.05
    assert np.abs(world.closure).max() < 1e-12
    return world


def test_closed_leg_lands_and_stays_closed() -> None:
    """Loops and contact at once: no solve degraded, no opening, no depth, certified."""
    world = leg()
    stiffness, start = 300.0, world.q.copy()
    touched = 0
    for _ in range(1500):
        joints = world.model.actuated
        tau = -stiffness * (world.q[joints] - start[joints]) - 8.0 * world.v[joints]
        tau[0] = 0.0  # the hip slides freely
        world.step(tau)
        assert np.abs(world.closure).max() < 1e-12
        touched += bool(world.contacts and world.contacts[0].impulse[2] > 0)
        # At the impact loop and contact are projected in turns; at rest nothing is left to correct
        depth = 1e-7 if touched < 100 else 1e-12
        assert all(contact.gap > -depth for contact in world.contacts)
    told = world.diagnostics
    assert touched > 1000
    assert told.residual < 1e-9
    assert (told.degraded, told.failed) == (0, 0)
    # At rest the floor carries it all: the LCP's impulse is the weight's
    weight = G * world.model.bodies["mass"].sum() * world.timestep
    assert world.contacts[0].impulse[2] == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_four_bar_bounces(law: str) -> None:
    """Restitution with a loop: the rate of its one freedom turns over with e, nothing opens."""
    builder = four_bar_parts(restitution=law)
    builder.half_space("floor", position=(0, 0, -0.48), friction=0.0, restitution=0.5)
    builder.sphere("ball", "coupler", radius=0.01, position=(COUPLER / 2, 0, 0), friction=0.0)
    world = World(builder.build(), timestep=1e-3)
    set_angle(world, 1.0)
    before = 0.0
    while world.v[0] <= 0.0:
        before = world.v[0]
        world.step()
        assert world.time < 1.0
    assert before < -3.0
    assert world.v[0] / -before == pytest.approx(0.5, abs=0.01)
    close(world.v, world.v[0] * np.array([1, 1, -1]), 0.02)
    assert np.abs(world.closure).max() < 1e-12


def random_tree(rng: np.random.Generator) -> tuple[Model, ModelBuilder]:
    """A branched tree above a floor, of all joints but free ones."""
    builder = ModelBuilder(gravity=(0, 0, -G), directions=8)
    builder.half_space("floor", friction=0.6)
    joints = [revolute, prismatic, spherical, revolute, revolute]
    parents = ["world", "b0", "b1", "b1", "b3"]
    for i, (kind, parent) in enumerate(zip(joints, parents, strict=True)):
        options = {"position": rng.normal(size=3) * 0.3 + (0, 0, 0.3 if i == 0 else 0)}
        if kind is not spherical:
            options["axis"] = rng.normal(size=3)
        builder.body(
            f"b{i}", parent=parent, joint=kind(f"j{i}", **options), mass=rng.uniform(0.5, 2),
            com=rng.normal(size=3) * 0.1, inertia=rng.uniform(0.1, 0.12, 3),
        )  # fmt: skip
        builder.sphere(f"s{i}", f"b{i}", radius=0.2, friction=0.6)
    return builder.build(), builder


@pytest.mark.parametrize("seed", range(6))
def test_fully_augmented_equals_minimal(seed: int) -> None:
    """Bodies free, joints constraints, dense and sparse: equal velocities, with contact."""
    rng = np.random.default_rng(seed)
    tree, builder = random_tree(rng)
    world = World(tree, timestep=1e-3)
    world.v = rng.normal(size=tree.nv)
    world.step()
    q, v = world.q.copy(), rng.normal(size=tree.nv)
    world.reset(q, v)
    world.step()
    expected = tree_twists(tree, q, world.v)
    for sparse in (True, False):
        freed = World(fully_augmented(tree, builder, sparse=sparse), timestep=1e-3)
        state = freed_state(tree, q, v)
        freed.reset(*state)
        assert np.abs(freed.closure).max() < 1e-12
        freed.wrenches[:] = carried(tree, q, v)
        freed.step()
        close(freed_twists(freed, state[0]), expected, 1e-10)
        assert np.abs(freed.closure).max() < 1e-12


@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_fully_augmented_equals_tree_augmented(joint: str) -> None:
    """The four-bar as a tree with a loop, and as three free bodies with four joints."""
    builder = four_bar_parts(joint)
    tree = builder.build()
    for angle in (0.3, 1.0, -0.8):
        q, v = np.array([angle, angle, -angle]), np.array([2.0, 2.0, -2.0])
        world = World(tree, timestep=1e-3)
        world.reset(q, v)
        world.step()
        curve = world._handle.closure.curve
        expected = tree_twists(tree, q, world.v - curve)
        freed = World(fully_augmented(tree, builder), timestep=1e-3)
        state = freed_state(tree, q, v)
        freed.reset(*state)
        freed.wrenches[:] = carried(tree, q, v)
        freed.step()
        close(freed_twists(freed, state[0]), expected, 1e-12)


def test_four_bar_accelerates_as_mujoco_says() -> None:
    """One short step against an equality constraint made stiff."""
    mujoco = pytest.importorskip("mujoco")
    a, c = CRANK, COUPLER
    tiny = 1e-9
    inertia = CRANK_MASS * a * a / 12
    crank = (
        f'<inertial pos="0 0 {-a / 2}" mass="{CRANK_MASS}" '
        f'diaginertia="{inertia} {inertia} {tiny}"/><joint type="hinge" axis="0 1 0"/>'
    )
    slow = COUPLER_MASS * c * c / 12
    text = f"""<mujoco><option timestep="1e-4" gravity="0 0 {-G}"/><worldbody>
      <body name="crank">{crank}
        <body name="coupler" pos="0 0 {-a}"><inertial pos="{c / 2} 0 0" mass="{COUPLER_MASS}"
          diaginertia="{tiny} {slow} {slow}"/><joint type="hinge" axis="0 1 0"/></body></body>
      <body name="rocker" pos="{c} 0 0">{crank}</body></worldbody>
      <equality><connect body1="coupler" body2="rocker" anchor="{c} 0 0"
        solimp="0.9999 0.9999 0.001" solref="0.0005 1"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7, -0.7, 0.7
    mujoco.mj_forward(model, data)
    world = World(four_bar(), timestep=1e-4)
    set_angle(world, 0.7)
    world.step()
    assert world.v[0] / 1e-4 == pytest.approx(data.qacc[0], rel=2e-3)


def test_bad_loops_are_told() -> None:
    """What, where, and what would be right."""
    builder = ModelBuilder().body("a", joint=free(), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="unknown joint 'hinge'; choose from: spherical"):
        builder.close("x", "a", "world", joint="hinge")
    with pytest.raises(ModelError, match="itself"):
        builder.close("x", "a", "a")
    builder.close("x", "a", "b")
    with pytest.raises(ModelError, match="exists already"):
        builder.close("x", "a", "world")
    with pytest.raises(ModelError, match="unknown body 'b'"):
        builder.build()
    still = ModelBuilder().body("a", mass=1.0)
    still.body("c", joint=free(), mass=1, inertia=(1, 1, 1)).close("y", "a", "world")
    with pytest.raises(ModelError, match="neither 'a' nor 'world' moves"):
        still.build()
    model = four_bar()
    with pytest.raises(ValueError, match="closed loops"):
        inverse_dynamics(model, model.neutral(), np.zeros(3), np.zeros(3), 0.01)
    with pytest.raises(ValueError, match="choose lcp"):
        simulate(model, model.neutral(), np.zeros(3), 0.1, method="rk4", dt=0.01)
    damped = ModelBuilder().body("a", joint=revolute(damping=1.0), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="no springs, damping"):
        fully_augmented(damped.build(), damped)
    thin = ModelBuilder().body("a", joint=revolute(), mass=1, inertia=(0, 1, 1))
    with pytest.raises(ModelError, match="'a' turns without inertia"):
        fully_augmented(thin.build(), thin)


def test_a_loop_out_of_reach_is_told() -> None:
    """A rod of half a metre, pinned at a point a metre away: by an error, at once."""
    builder = ModelBuilder(directions=2)
    builder.body(
        "rod", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0, 0, -0.25), inertia=rod(1.0, 0.5, 2)
    )
    builder.close("pin", "rod", "world", position_a=(0, 0, -0.5), position_b=(0, 0, -1.0))
    world = World(builder.build(), timestep=1e-3)
    with pytest.raises(SimulationError, match=r"loop 'pin' .* open by 0.5 m or rad"):
        world.step()
    assert world.time == 0.0
