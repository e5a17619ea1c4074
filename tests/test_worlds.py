"""Many worlds in one call: each is what `World` makes of it, bit for bit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from trees import random_q, random_tree

from dynenvs import ModelBuilder, World, Worlds, WorldsError, free, prismatic, revolute
from dynenvs.dynamics.jacobians import frames
from dynenvs.envs.robots import planar_humanoid, quadruped
from dynenvs.model.model import Model

COUNT, STEPS = 6, 40


def box_on_ground(boxes: int = 1, **options: Any) -> Model:
    """Boxes on a half space."""
    builder = ModelBuilder(**options)
    builder.half_space("ground")
    for k in range(boxes):
        builder.body(f"box{k}", joint=free(), density=500.0)
        builder.box(f"box{k}", f"box{k}", half_size=(0.1, 0.08, 0.06))
    return builder.build()


def on_a_table() -> Model:
    """A robot that swings beside a box, which is an island of its own."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.half_space("ground")
    builder.body("arm", joint=revolute(axis=(0, 1, 0), position=(0, 0, 0.5), effort=3.0),
                 mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.01))  # fmt: skip
    builder.sphere("fist", "arm", radius=0.05, position=(0, 0, -0.4))
    builder.body("box", joint=free(), density=500.0)
    builder.box("box", "box", half_size=(0.1, 0.08, 0.06))
    return builder.build()


MODELS = {
    "planar humanoid": planar_humanoid.build,
    "quadruped": quadruped.build,
    "box": box_on_ground,
    "two boxes": lambda: box_on_ground(2),
    "arm and box": on_a_table,
}


def starts(model: Model, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions near the neutral ones, raised a little, and velocities."""
    rng = np.random.default_rng(seed)
    q = np.tile(model.neutral(), (count, 1))
    for body in model.bodies[1:]:
        if body.nv == 6:
            q[:, body.q_at + 2] += rng.uniform(0.05, 0.4, count)
            q[:, body.q_at] += 0.3 * body.q_at
    return q, rng.normal(0.0, 0.5, (count, model.nv))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_each_is_a_world(name: str, threads: int) -> None:
    """Same positions, velocities, forces and counts after forty steps of random torques."""
    model, count = MODELS[name](), 32 if threads > 1 else COUNT
    q, v = starts(model, count, 1)
    rng = np.random.default_rng(2)
    tau = rng.normal(0.0, 5.0, (STEPS, count, model.nu))
    many = Worlds(model, count, timestep=0.004, threads=threads)
    many.reset(q, v)
    assert many.threads == threads
    for k in range(STEPS):
        many.step(tau[k], steps=1 + k % 2)
    for i in range(0, count, 5):
        one = World(model, timestep=0.004)
        one.q, one.v = q[i], v[i]
        for k in range(STEPS):
            one.step(tau[k, i], steps=1 + k % 2)
        assert one.q.tobytes() == many.q[i].tobytes()
        assert one.v.tobytes() == many.v[i].tobytes()
        assert one.tau.tobytes() == many.tau[i].tobytes()
        assert one.time == many.time[i]
        for key, values in many.diagnostics.items():
            assert getattr(one.diagnostics, key) == values[i]


def one_of(many: Worlds, i: int) -> World:
    """A `World` where world i of the batch is now, with its masses and wrenches."""
    one = World(many.model, timestep=many.timestep)
    one.set_state(many.get_state()[i])
    return one


def assert_same(one: World, many: Worlds, i: int) -> None:
    """Every byte of the state."""
    assert np.isfinite(one.q).all()
    assert np.isfinite(one.v).all()
    for name in ("q", "v", "mass_scale", "wrenches"):
        assert getattr(one, name).tobytes() == getattr(many, name)[i].tobytes(), name
    assert one.time == many.time[i]


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_of_any_mass_and_pushed(seed: int) -> None:
    """Joints of all kinds; each world has masses, wrenches and torques of its own."""
    tree = random_tree(seed, floating=seed % 2 == 0)
    model, rng = tree.model, tree.rng
    many = Worlds(model, 5, timestep=0.002)
    q = np.array([random_q(model, rng) for _ in range(5)])
    many.reset(q, rng.normal(size=(5, model.nv)))
    many.mass_scale[:] = rng.uniform(0.5, 2.0, many.mass_scale.shape)
    many.wrenches[:, 1::2] = rng.normal(size=many.wrenches[:, 1::2].shape)
    ones = [World(model, timestep=0.002) for _ in range(5)]
    for i, one in enumerate(ones):
        one.q, one.v = many.q[i], many.v[i]
        one.mass_scale[:], one.wrenches[:] = many.mass_scale[i], many.wrenches[i]
    for tau in rng.normal(size=(10, 5, model.nu)):
        many.step(tau)
        for one, mine in zip(ones, tau, strict=True):
            one.step(mine)
    for i, one in enumerate(ones):
        assert_same(one, many, i)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_world_without_an_answer_fails_alone(threads: int) -> None:
    """No number in two of many worlds: the bits of their neighbours are right."""
    model, count = random_tree(3, floating=True).model, 32
    many = Worlds(model, count, timestep=0.002, threads=threads)
    many.v[:] = np.random.default_rng(1).normal(size=many.v.shape)
    ones = [one_of(many, i) for i in range(count)]
    lost = [3, 17]
    many.v[lost] = np.nan
    with pytest.raises(WorldsError) as caught:
        many.step(steps=3)
    assert caught.value.worlds.tolist() == lost
    for i in sorted({*range(count)} - {*lost}):
        ones[i].step(steps=3)
        assert_same(ones[i], many, i)


@pytest.mark.parametrize("name", MODELS)
def test_impulses_are_those_of_the_contacts(name: str) -> None:
    """Of one step: what `World.contacts` lists, summed over each body."""
    model = MODELS[name]()
    q, v = starts(model, COUNT, 3)
    many = Worlds(model, COUNT, timestep=0.005)
    many.reset(q, v)
    many.step(steps=80)
    state = many.get_state()
    many.step()
    touched = 0
    for i in range(COUNT):
        one = World(model, timestep=0.005)
        one.set_state(state[i])
        before = one.diagnostics.solves
        one.step()
        if one.diagnostics.solves - before > 1:  # a step in parts: contacts tell the last one's
            continue
        expected = np.zeros((len(model.body_names), 3))
        for contact in one.contacts:
            a, b = (model.body_id(body) if body != "world" else 0 for body in contact.bodies)
            expected[a] += contact.impulse
            expected[b] -= contact.impulse
            touched += 1
        np.testing.assert_allclose(many.impulses[i], expected, atol=1e-12)
    assert touched > 0


def test_impulses_hold_what_lies_still() -> None:
    """A box at rest for a hundred steps: its weight times the time."""
    model = box_on_ground()
    many = Worlds(model, 3, timestep=0.002)
    many.q[:, 2] = 0.06
    many.step(steps=200)
    many.step(steps=100)
    body = model.body_id("box0")
    weight = 9.81 * float(model.bodies[body].mass) * 0.2
    np.testing.assert_allclose(many.impulses[:, body], np.tile((0, 0, weight), (3, 1)), atol=1e-9)
    np.testing.assert_allclose(many.impulses[:, 0], -many.impulses[:, body], atol=1e-15)


def test_contact_wrenches_hold_what_lies_still() -> None:
    """A box at rest far from the origin, pushed and twisted: contact answers with the opposite."""
    model = box_on_ground()
    many = Worlds(model, 2, timestep=0.002)
    body = model.body_id("box0")
    many.q[:, :3] = (3.0, -2.0, 0.06)
    many.wrenches[:, body] = (0.4, 0.5, 0.2, 3.0, -2.0, 1.0)
    assert not many.contact_wrenches.any()
    many.step(steps=400)
    np.testing.assert_allclose(many.v, 0.0, atol=1e-9)
    weight = np.array([0, 0, 0, 0, 0, 9.81 * float(model.bodies[body].mass)])
    given = many.contact_wrenches / many.timestep
    np.testing.assert_allclose(given[:, body], weight - many.wrenches[:, body], atol=1e-7)
    np.testing.assert_allclose(given[:, 0, 3:], -given[:, body, 3:], atol=1e-12)
    arm = np.cross(many.q[:, :3], given[:, body, 3:])  # the ground's is about the world's origin
    np.testing.assert_allclose(given[:, 0, :3], -given[:, body, :3] - arm, atol=1e-9)


def test_frames_are_those_of_each_state() -> None:
    """As `dynenvs.frames` gives them."""
    model = quadruped.build()
    many = Worlds(model, COUNT)
    many.reset(*starts(model, COUNT, 4))
    found = many.frames
    for i in range(COUNT):
        for mine, expected in zip(found, frames(model, many.q[i], many.v[i]), strict=True):
            assert mine[i].tobytes() == expected.tobytes()


def test_parameters_are_each_world_s_own() -> None:
    """Friction, masses and pushes differ from world to world; what follows differs with them."""
    model = box_on_ground()
    many = Worlds(model, 3, timestep=0.005)
    many.q[:, 2] = 0.06
    many.v[:, 0] = 1.0
    many.friction[:] = np.array([0.0, 0.2, 0.8])[:, None]
    many.step(steps=10)
    left = 1.0 - 9.81 * np.array([0.0, 0.2, 0.8]) * 0.05
    np.testing.assert_allclose(many.v[:, 0], left, atol=1e-9)
    many.reset()
    many.q[:, 2] = 1.0
    many.wrenches[:, 1, 3] = 2.0
    many.mass_scale[:] = np.array([1.0, 2.0, 4.0])[:, None]
    many.step(steps=10)
    np.testing.assert_allclose(many.v[:, 0] * [1.0, 2.0, 4.0], many.v[0, 0], rtol=1e-12)


def test_only_the_chosen_are_stepped_and_reset() -> None:
    """The others keep every bit; what they are asked for is not read."""
    model = planar_humanoid.build()
    many = Worlds(model, COUNT)
    many.reset(*starts(model, COUNT, 5))
    before = many.get_state()
    chosen = np.array([True, False, True, False, False, True])
    tau = np.full((COUNT, model.nu), np.nan)
    tau[chosen] = 0.5
    many.step(tau, mask=chosen)
    after = many.get_state()
    for i in range(COUNT):
        assert (after[i].tobytes() == before[i].tobytes()) == (not chosen[i])
    many.reset(mask=~chosen)
    assert many.time.tolist() == [0.005, 0.0, 0.005, 0.0, 0.0, 0.005]
    many.set_state(before, mask=chosen)
    restored = many.get_state()
    assert all(restored[i].tobytes() == before[i].tobytes() for i in np.flatnonzero(chosen))


@pytest.mark.parametrize("way", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_go_their_own_way(way: Any) -> None:
    """Same future, other memory."""
    model = quadruped.build()
    many = Worlds(model, COUNT, cone="exact")
    many.reset(*starts(model, COUNT, 6))
    many.step(steps=20)
    other = way(many)
    many.step(steps=20)
    assert other.time[0] < many.time[0]
    other.step(steps=20)
    assert other.get_state().tobytes() == many.get_state().tobytes()
    other.reset()
    many.reset()
    assert other.get_state().tobytes() == many.get_state().tobytes()


def test_saved_states_have_the_same_future() -> None:
    """Bit for bit."""
    model = quadruped.build()
    many = Worlds(model, COUNT)
    many.reset(*starts(model, COUNT, 7))
    many.step(steps=15)
    state = many.get_state()
    many.step(steps=15)
    end = many.get_state()
    many.set_state(state)
    many.step(steps=15)
    assert many.get_state().tobytes() == end.tobytes()


def test_room_is_made_where_it_is_wanted() -> None:
    """Forty boxes that come to lie in each world: the same bits as in `World`, one by one."""
    model = box_on_ground(40)
    rng = np.random.default_rng(8)
    q = np.tile(model.neutral(), (3, 1))
    places = q.reshape(3, 40, 7)
    places[:, :, :2] = 0.3 * np.stack(np.divmod(np.arange(40), 8), axis=1)
    places[:, :, 2] = rng.uniform(0.07, 0.1, (3, 40))
    many = Worlds(model, 3, timestep=0.005)
    room = int(many.model.header.nc)
    many.reset(q)
    many.step(steps=30)
    assert int(many.model.header.nc) > room
    for i in range(3):
        one = World(model, timestep=0.005)
        one.q = q[i]
        one.step(steps=30)
        assert one.q.tobytes() == many.q[i].tobytes()


def test_worlds_that_are_lost_are_named_and_the_others_go_on() -> None:
    """Too many contacts in one of three worlds."""
    model = box_on_ground(2, max_contacts=4)
    many = Worlds(model, 3, timestep=0.005)
    places = many.q.reshape(3, 2, 7)
    places[:, :, 0] = [0.0, 1.0]
    places[:, :, 2] = [[0.5, 0.5], [0.06, 0.06], [0.06, 0.5]]
    kept = many.get_state()[1]
    with pytest.raises(WorldsError, match=r"1 of 3 worlds \(numbers \[1\]") as caught:
        many.step()
    assert caught.value.worlds.tolist() == [1]
    assert many.time.tolist() == [0.005, 0.0, 0.005]
    assert many.get_state()[1]["q"].tobytes() == kept["q"].tobytes()
    alive = np.array([True, False, True])
    many.step(mask=alive)
    assert many.time.tolist() == [0.01, 0.0, 0.01]


def test_what_cannot_be_is_refused_and_nothing_changes() -> None:
    """Each with what would be right."""
    builder = ModelBuilder()
    builder.body("slider", joint=prismatic(axis=(1, 0, 0)), mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    many = Worlds(model, 2)
    before = many.get_state().tobytes()
    for call, match in (
        (lambda: Worlds(model, 0), "count must be a whole number from 1 on, got 0"),
        (lambda: Worlds(model, 2, threads=0), "threads must be a whole number from 1 on"),
        (lambda: Worlds(model, 2, timestep=-1.0), "timestep"),
        (lambda: Worlds(model, 2, cone="square"), "cone"),
        (lambda: many.step(np.zeros(1)), r"tau must have shape \(2, 1\), got \(1,\)"),
        (lambda: many.step(10), "tau must be forces of the motors, got 10; 10 steps are steps=10"),
        (lambda: World(model).step(10), "got 10; 10 steps are steps=10"),
        (lambda: many.step([[np.nan], [0.0]]), r"tau must be finite; entries \[\[0, 0\]\]"),
        (lambda: many.step([["a"], ["b"]]), "tau must be real numbers"),
        (lambda: many.step(steps=-1), "steps must be a whole number from 0 on"),
        (lambda: many.step(mask=[0, 1]), r"mask must be booleans of shape \(2,\)"),
        (lambda: many.reset(q=[0.0, 1.0]), r"q must have shape \(1,\)"),
        (lambda: many.reset(v=[[np.inf], [0.0]]), "v must be finite"),
        (lambda: many.set_state(many.get_state()[:1]), "state must be the 2 records"),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    assert many.get_state().tobytes() == before
    many.mass_scale[1, 1] = -1.0
    with pytest.raises(ValueError, match=r"mass_scale\[1, 1\] is -1.0"):
        many.step()


@pytest.mark.parametrize("name", MODELS)
def test_a_world_has_the_readings_of_many(name: str) -> None:
    """Frames, bodies, joints, impulses and wrenches: each row of `Worlds` is a `World`'s."""
    model = MODELS[name]()
    q, v = starts(model, COUNT, 5)
    many = Worlds(model, COUNT, timestep=0.005)
    many.reset(q, v)
    ones = [World(model, timestep=0.005) for _ in range(COUNT)]
    for i, one in enumerate(ones):
        one.reset(q[i], v[i])
    for steps in (60, 1, 1):  # the sums of impulses begin anew
        many.step(steps=steps)
        for i, one in enumerate(ones):
            one.step(steps=steps)
            if steps == 1:
                np.testing.assert_allclose(one.impulses, many.impulses[i], atol=1e-12)
            assert one.contact_wrenches.tobytes() == many.contact_wrenches[i].tobytes()
            for mine, theirs in zip(one.frames, many.frames, strict=True):
                assert mine.tobytes() == theirs[i].tobytes()
            for body in model.body_names:
                pairs = zip(one.body(body), many.body(body), strict=True)
                assert all(mine.tobytes() == theirs[i].tobytes() for mine, theirs in pairs)
            for joint in model.joint_names:
                pairs = zip(one.joint(joint), many.joint(joint), strict=True)
                assert all(np.array_equal(mine, theirs[i]) for mine, theirs in pairs)


def test_bodies_and_joints_by_name() -> None:
    """Oracle: `frames`, and the model's indices; what is read is the caller's own."""
    model = quadruped.build()
    world = World(model)
    world.reset(*(x[0] for x in starts(model, 1, 6)))
    expected = frames(model, world.q, world.v)
    for i, name in enumerate(model.body_names):
        body = world.body(name)
        assert body.position.tobytes() == expected.positions[i].tobytes()
        assert body.rotation.tobytes() == expected.rotations[i].tobytes()
        assert body.velocity.tobytes() == expected.linear[i].tobytes()
        assert body.angular_velocity.tobytes() == expected.angular[i].tobytes()
    name = model.joint_names[-1]
    knee = world.joint(name)
    assert knee.position == world.q[model.position_index(name)]
    assert knee.velocity == world.v[model.velocity_index(name)]
    before = world.q.copy()
    world.joint(model.joint_names[0]).position[:] = 7.0
    assert np.array_equal(world.q, before)
    with pytest.raises(KeyError, match="unknown body 'trunc'; choose from: world, trunk"):
        world.body("trunc")
    with pytest.raises(KeyError, match="unknown joint 'knee'"):
        world.joint("knee")


def test_diagnostics_are_said_in_two_lines_without_zeros() -> None:
    """What is not zero, by the names of the attributes, and the stages that were called."""
    world = World(box_on_ground(), timestep=0.002)
    assert repr(world.diagnostics) == "Diagnostics: all are 0"
    world.step(steps=5)
    found = world.diagnostics
    first, second = repr(found).splitlines()
    assert first.startswith("Diagnostics: ")
    assert f"residual={found.residual:.3g}, solves=5" in first
    assert "degraded" not in first
    words = [f"{name} solved {s.solved} of {s.called}" for name, s in stages(found) if s.called]
    assert second == f"  stages: {', '.join(words)}"
    assert words


def stages(found: Any) -> list[tuple[str, Any]]:
    """The stages of diagnostics, by name."""
    return list(zip(found.stages._fields, found.stages, strict=True))


def test_what_worlds_are_called() -> None:
    """`repr` says how large they are, and when it is."""
    model = box_on_ground()
    world, many = World(model, timestep=0.002), Worlds(model, 3, timestep=0.002)
    world.step(steps=5)
    many.step(steps=5, mask=[True, False, False])
    assert repr(world) == "<World of 1 body, 7 positions, t = 0.01 s, timestep 0.002 s>"
    words = "<3 Worlds of 1 body, 7 positions, t = 0 to 0.01 s, timestep 0.002 s>"
    assert repr(many) == words
    many.reset()
    assert ", t = 0 s, " in repr(many)
