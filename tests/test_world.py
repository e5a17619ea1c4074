"""World: its contract with a user: state, arguments, per-world parameters, honest failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scenes import G, ball, block, certified, quaternion
from scipy.spatial.transform import Rotation

from dynenvs.dynamics.aba import aba
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.rnea import rnea
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import SimulationError, World


def tumbling() -> World:
    world = block((0.12, 0.1, 0.08), timestep=2e-3)
    world.q[2:] = [0.2, *quaternion(Rotation.from_rotvec([0.5, 0.4, 0.2]).as_matrix())]
    world.v[:] = [1.0, -0.3, 0.0, 1.0, 2.0, -1.0]
    return world


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal bit for bit, field by field."""
    return all(one[name].tobytes() == other[name].tobytes() for name in one.dtype.names)


def arm() -> World:
    """Two actuated hinges and a passive one."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    parent = "world"
    for i in range(3):
        joint = revolute(axis=(0, 1, 0), position=(0, 0, -0.5 * (i > 0)), actuated=i != 1)
        builder.body(
            f"l{i}", parent=parent, joint=joint, mass=1.0, com=(0, 0, -0.2), inertia=[0.02] * 3
        )
        parent = f"l{i}"
    return World(builder.build(), timestep=1e-3)


# State


def test_restored_states_repeat_bit_for_bit() -> None:
    """get_state, 300 steps, set_state, 300 steps: the same bytes, in this and in another world."""
    world = tumbling()
    world.step(steps=150)  # in the middle of its contacts, with a warm start
    saved = world.get_state()
    world.step(steps=300)
    first = world.get_state()
    assert not same(first, saved)
    world.set_state(saved)
    world.step(steps=300)
    assert same(world.get_state(), first)
    other = World(world.model, timestep=2e-3)
    other.step(steps=7)
    other.set_state(saved)
    other.step(steps=300)
    assert same(other.get_state(), first)


def test_get_state_is_a_copy() -> None:
    """Later steps do not reach into a saved state."""
    world = tumbling()
    saved = world.get_state()
    before = saved.copy()
    world.step(steps=10)
    assert same(saved, before)


def test_equal_states_have_equal_bytes() -> None:
    """States can be hashed and stored: no stray memory between the fields."""
    worlds = [tumbling() for _ in range(20)]
    for world in worlds:
        world.step(steps=3)
    states = [world.get_state() for world in worlds]  # all alive: each in its own memory
    assert len({state.tobytes() for state in states}) == 1


@pytest.mark.parametrize("steps", [-1, 2.5, 2.0, True, None, "two", float("nan")])
def test_steps_are_a_whole_number(steps: Any) -> None:
    """Anything else is refused, and the world stays as it was."""
    world = tumbling()
    before = world.get_state()
    with pytest.raises(ValueError, match="steps must be a whole number from 0 on, got"):
        world.step(steps=steps)
    assert same(world.get_state(), before)
    world.step(steps=np.int64(2))
    assert world.time == pytest.approx(4e-3)


def test_steps_at_once_equal_steps_one_by_one() -> None:
    """step(steps=n) is n times step()."""
    one, many = tumbling(), tumbling()
    many.step(steps=100)
    for _ in range(100):
        one.step()
    assert same(one.get_state(), many.get_state())


def test_reset_forgets_everything() -> None:
    """A reset world equals a new one bit for bit."""
    world = tumbling()
    q, v = world.q.copy(), world.v.copy()
    world.friction[:] = 0.1
    world.wrenches[1, 3] = 1.0
    world.step(steps=200)
    world.reset(q, v)
    fresh = World(world.model, timestep=2e-3)
    fresh.reset(q, v)
    assert same(world.get_state(), fresh.get_state())
    world.reset()
    np.testing.assert_array_equal(world.q, world.model.neutral())
    assert not world.v.any()


@pytest.mark.parametrize("state", [None, 3, np.zeros(4), b"bytes"])
def test_a_foreign_state_is_refused(state: Any) -> None:
    """Only what get_state of this model returned."""
    with pytest.raises(ValueError, match="state"):
        tumbling().set_state(state)
    with pytest.raises(ValueError, match="state"):
        tumbling().set_state(arm().get_state())


# Arguments


@pytest.mark.parametrize("timestep", [0.0, -1e-3, np.nan, np.inf])
def test_bad_timesteps_are_refused(timestep: float) -> None:
    """Positive and finite."""
    with pytest.raises(ValueError, match="timestep"):
        World(arm().model, timestep=timestep)


BAD_SHAPES = [0.0, np.zeros(2), np.zeros(4), np.zeros((3, 1))]
NOT_FINITE = [[0.0, np.nan, 0.0], [0.0, 0.0, np.inf]]


@pytest.mark.parametrize("value", BAD_SHAPES + NOT_FINITE, ids=str)
def test_bad_vectors_are_refused_by_name(value: Any) -> None:
    """Shape or NaN: a ValueError that names the argument; the world stays as it was."""
    world = arm()
    model = world.model
    good = np.zeros(3)
    before = world.get_state()
    calls = {
        "q": [
            lambda: setattr(world, "q", value),
            lambda: crba(model, value),
            lambda: rnea(model, value, good, good),
            lambda: aba(model, value, good, good),
            lambda: totals(model, value, good),
        ],
        "v": [
            lambda: setattr(world, "v", value),
            lambda: rnea(model, good, value, good),
            lambda: aba(model, good, value, good),
            lambda: totals(model, good, value),
        ],
        "a": [lambda: rnea(model, good, good, value)],
        "tau": [lambda: aba(model, good, good, value), lambda: world.step(np.ravel(value)[:1])],
    }
    for name, tries in calls.items():
        for call in tries:
            with pytest.raises(ValueError, match=rf"^{name} must"):
                call()
    assert same(world.get_state(), before)


@pytest.mark.parametrize("wrench", [np.zeros(6), np.zeros((3, 6)), np.full((4, 6), np.nan)])
def test_bad_wrenches_are_refused(wrench: Any) -> None:
    """One row for each body, the world included, all finite."""
    good = np.zeros(3)
    with pytest.raises(ValueError, match="wrenches"):
        rnea(arm().model, good, good, good, wrenches=wrench)
    with pytest.raises(ValueError, match="wrenches"):
        aba(arm().model, good, good, good, wrenches=wrench)


def test_nan_written_into_a_view_is_caught() -> None:
    """Views bypass the checks; the step then fails and says when, instead of spreading NaN."""
    world = arm()
    world.step(steps=3)
    world.v[0] = np.nan
    with pytest.raises(SimulationError, match=r"t = 0\.003"):
        world.step()
    assert world.diagnostics.failed == 1


def test_a_quaternion_of_zeros_is_named() -> None:
    """`world.q[:] = 0` is no neutral pose; a shorter step would not help."""
    world = World(
        ModelBuilder()
        .body("ball", joint=free(), density=1.0)
        .sphere("ball", "ball", radius=0.1)
        .build()
    )
    world.q = np.zeros(7)
    with pytest.raises(SimulationError, match="the quaternion of joint 'ball' is zero"):
        world.step()


def test_a_step_that_explodes_keeps_the_last_finite_state() -> None:
    """Absurd forces: SimulationError, positions and velocities still finite."""
    world = arm()
    with pytest.raises(SimulationError):
        world.step([1e308, -1e308], steps=50)
    assert np.isfinite(world.q).all()
    assert np.isfinite(world.v).all()


# Forces and parameters


def test_a_step_is_semi_implicit_euler() -> None:
    """v+ = v + dt aba(q, v, tau), q+ = q + dt v+, with tau on the actuated joints alone."""
    world = arm()
    rng = np.random.default_rng(0)
    world.reset(rng.normal(size=3), rng.normal(size=3))
    for _ in range(20):
        tau = rng.normal(size=2)
        full = np.array([tau[0], 0.0, tau[1]])
        q, v = world.q.copy(), world.v.copy()
        world.step(tau)
        expected = v + 1e-3 * aba(world.model, q, v, full)
        np.testing.assert_allclose(world.v, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(world.q, q + 1e-3 * world.v, rtol=1e-15, atol=1e-16)


def test_forces_last_for_one_call() -> None:
    """A step without tau is a step with zero forces."""
    pushed, plain = arm(), arm()
    pushed.step([5.0, -5.0])
    saved = pushed.get_state()
    pushed.step()
    plain.set_state(saved)
    plain.step([0.0, 0.0])
    assert same(pushed.get_state(), plain.get_state())


def test_wrenches_push() -> None:
    """A force above the weight lifts the block: m a = f - m g; it stays until it is taken away."""
    world = block(mass=2.0, timestep=1e-3)
    world.wrenches[1, 5] = 2.0 * G + 3.0
    world.step(steps=100)
    np.testing.assert_allclose(world.v, [0, 0, 0.15, 0, 0, 0], atol=1e-12)
    world.wrenches[:] = 0.0
    world.step(steps=10)
    assert world.v[2] == pytest.approx(0.15 - 0.01 * G, rel=1e-12)


def test_mass_scale() -> None:
    """Twice the mass under the same force: half the acceleration; weight alone: the same."""
    for scale in (0.5, 1.0, 2.0):
        world = block(mass=2.0, friction=0.0, timestep=1e-3)
        world.mass_scale[1] = scale
        world.wrenches[1, 3] = 4.0
        world.step(steps=100)
        assert world.v[0] == pytest.approx(4.0 / (2.0 * scale) * 0.1, rel=1e-12)
        (impulse,) = {round(sum(c.impulse[2] for c in world.contacts), 12)}
        assert impulse == pytest.approx(2.0 * scale * G * 1e-3, abs=1e-11)


def test_time_advances() -> None:
    """n steps of dt."""
    world = arm()
    world.step(steps=123)
    assert world.time == pytest.approx(0.123, rel=1e-13)


# Contacts and diagnostics


def test_contacts_name_what_touches() -> None:
    """Bodies and geoms by name, the point on the plane, the normal out of it, the gap zero."""
    world = ball(radius=0.1, mass=0.7, timestep=1e-3)
    world.step(steps=5)
    (contact,) = world.contacts
    assert contact.bodies == ("ball", "world")
    assert contact.geoms == ("skin", "floor")
    np.testing.assert_allclose(contact.position, 0.0, atol=1e-15)
    np.testing.assert_array_equal(contact.normal, [0, 0, 1])
    assert abs(contact.gap) < 1e-15
    np.testing.assert_allclose(contact.impulse, [0, 0, 0.7 * G * 1e-3], rtol=1e-12)
    world.q[2] = 1.0
    world.step()
    assert world.contacts == []
    certified(world)


def test_a_deep_overlap_is_pushed_out_without_speed() -> None:
    """Started 5 cm below ground: lifted by at most 1 cm a step, no velocity from it."""
    world = ball(radius=0.1, timestep=1e-3)
    world.q[2] = 0.05
    heights = [0.05]
    for _ in range(20):
        world.step()
        heights.append(float(world.q[2]))
        np.testing.assert_allclose(world.v, 0.0, atol=1e-12)
    assert max(np.diff(heights)) <= 0.01 + 1e-12
    assert heights[-1] == pytest.approx(0.1, abs=1e-9)


def test_too_many_contacts_are_an_error() -> None:
    """Capacity 2, four corners on the floor: no step without two of them, and the state stays."""
    world = block(max_contacts=2)
    before = world.get_state()
    with pytest.raises(SimulationError, match=r"room for up to \d+ contacts.*max_contacts="):
        world.step()
    assert same(world.get_state(), before)


def test_no_contact_features_at_all() -> None:
    """A model without geoms steps."""
    builder = ModelBuilder().body("b", joint=free(), mass=1.0, inertia=(1, 1, 1))
    world = World(builder.build(), timestep=1e-2)
    world.step(steps=10)
    assert world.contacts == []
    certified(world)


def test_contacts_of_a_box_on_a_box_are_its_corners() -> None:
    """By hand: the smaller box's lower corners, each with its part of the weight."""
    builder = ModelBuilder()
    builder.box("table", "world", half_size=(0.5, 0.5, 0.1), position=(2.0, -3.0, 0.1))
    builder.body("box", joint=free(), density=500.0)
    builder.box("box", "box", half_size=(0.1, 0.08, 0.06), friction=0.5)
    world = World(builder.build(), timestep=0.002)
    world.q[:3] = 2.0, -3.0, 0.26
    world.step(steps=50)
    points = np.array([contact.position for contact in world.contacts])
    corners = {(x, y) for x in (1.9, 2.1) for y in (-3.08, -2.92)}
    assert {(round(x, 6), round(y, 6)) for x, y, _ in points.tolist()} == corners
    np.testing.assert_allclose(points[:, 2], 0.2, atol=1e-6)
    weight = 9.81 * world.model.bodies[-1].mass * 0.002
    total = np.sum([contact.impulse for contact in world.contacts], axis=0)
    np.testing.assert_allclose(np.abs(total), (0.0, 0.0, weight), atol=1e-9)
