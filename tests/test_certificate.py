"""The certificate of a world tells what is wrong with positions, where, and nothing where all is
well."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import dynenvs
from dynenvs import ModelBuilder, World, Worlds, free, prismatic, revolute, spherical
from dynenvs.dynamics import energy
from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.jacobians import frames
from dynenvs.dynamics.rnea import rnea
from dynenvs.memory.layout import Bytes, WorldView
from dynenvs.model.hulls import prism
from dynenvs.model.model import Model
from dynenvs.simulation import audit
from dynenvs.simulation.audit import Audit, Given, Moment, _created, _predict

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def at(z: float) -> list[float]:
    """Position and orientation of what stands straight at a height."""
    return [0.0, 0.0, z, 1.0, 0.0, 0.0, 0.0]


def solid(builder: ModelBuilder, name: str, kind: str) -> None:
    """A free solid of half height 0.1 m."""
    builder.body(name, joint=free(), mass=1.0, inertia=(0.01,) * 3)
    if kind == "hull":
        builder.convex(name, name, points=0.1 * CUBE)
    elif kind == "disc":
        builder.convex(name, name, points=prism(0.2, 0.1, 16))
    elif kind == "box":
        builder.box(name, name, half_size=(0.1, 0.1, 0.1))
    else:
        builder.sphere(name, name, radius=0.1)


@pytest.mark.parametrize(
    "kinds", list(itertools.product(("hull", "disc", "box", "ball"), repeat=2))
)
def test_how_deep_and_who(kinds: tuple[str, str]) -> None:
    """Two solids that overlap by 3 mm, and two that touch."""
    builder = ModelBuilder()
    for name, kind in zip(("lower", "upper"), kinds, strict=True):
        solid(builder, name, kind)
    world = World(builder.build())
    world.reset([*at(0.0), *at(0.197)])
    found = world.certificate()
    assert found.deepest == pytest.approx(0.003, abs=1e-9)
    assert set(found.pair.split(" and ")) == {"lower", "upper"}
    world.reset([*at(0.0), *at(0.2)])
    assert world.certificate().deepest < 1e-12


@pytest.mark.parametrize("ground", ["half space", "blocks", "hills"])
@pytest.mark.parametrize("kind", ["hull", "box", "ball"])
def test_how_deep_in_the_ground(ground: str, kind: str) -> None:
    """At 4 cm: blocks of 0.3 m, flat hills."""
    builder = ModelBuilder()
    if ground == "half space":
        builder.half_space("ground")
    elif ground == "blocks":
        builder.block_field("ground", heights=np.zeros((9, 9)), half_size=(1.35, 1.35))
    else:
        builder.height_field("ground", heights=np.zeros((9, 9)), half_size=(1.35, 1.35))
    solid(builder, "it", kind)
    world = World(builder.build())
    world.reset(at(0.06))
    found = world.certificate()
    assert found.deepest == pytest.approx(0.04, abs=1e-9)
    assert "ground" in found.pair
    world.reset(at(0.3))
    assert world.certificate()[:2] == (0.0, "")


def test_joints_beyond_their_stops() -> None:
    """A hinge by 0.25 rad, a ball that may lean by 0.5 by 0.1."""
    builder = ModelBuilder()
    hinge = revolute("hinge", axis=(0, 1, 0), limits=(-0.5, 0.5))
    builder.body("a", joint=hinge, mass=1.0, inertia=(0.01,) * 3)
    builder.body("b", joint=spherical("ball", limits=(0, 0.5)), mass=1.0, inertia=(0.01,) * 3)
    world = World(builder.build())
    world.reset([-0.75, np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    found = world.certificate()
    assert found.overrun == pytest.approx(0.25)
    assert found.joint == "hinge"
    world.reset([0.5, np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    found = world.certificate()
    assert found.overrun == pytest.approx(0.1)
    assert found.joint == "ball"


def test_loops_that_are_open() -> None:
    """Two bars of a metre whose tips are to meet, 3 m from pivot to pivot."""
    builder = ModelBuilder()
    for name, x in (("left", 0.0), ("right", 3.0)):
        joint = revolute(name, axis=(0, 1, 0), position=(x, 0, 0))
        builder.body(name, joint=joint, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08))
    builder.close("tips", "left", "right", position_a=(1, 0, 0), position_b=(1, 0, 0))
    world = World(builder.build())
    world.q[1] = np.pi
    found = world.certificate()
    assert found.opened == pytest.approx(1.0)
    assert found.loop == "tips"


def test_a_heap_is_well_and_asking_changes_nothing() -> None:
    """Six hulls that are dropped on each other: certified at every step, the same bits."""
    worlds = []
    for asked in (False, True):
        builder = ModelBuilder(timestep=0.002).half_space("floor")
        for k in range(6):
            solid(builder, f"{k}", ("hull", "disc", "box")[k % 3])
        world = World(builder.build())
        world.reset(
            np.concatenate([[0.02 * k, 0.01 * k, *at(0.1 + 0.21 * k)[2:]] for k in range(6)])
        )
        for _ in range(200):
            world.step()
            if asked:
                assert world.certificate().deepest < 1e-7
        worlds.append(world)
    np.testing.assert_array_equal(worlds[0].q, worlds[1].q)


def test_each_of_many_worlds_has_its_own() -> None:
    """Of three balls one is 3 mm in the ground; there is no fourth."""
    builder = ModelBuilder().half_space("ground")
    solid(builder, "it", "ball")
    worlds = Worlds(builder.build(), 3)
    worlds.reset(np.array([at(0.2), at(0.097), at(0.1)]))
    assert [worlds.certificate(k).deepest for k in range(3)] == pytest.approx([0.0, 0.003, 0.0])
    with pytest.raises(ValueError, match="number must be below 3, got 3"):
        worlds.certificate(3)


# Above blocks a corner may come to lie over another edge within a correction
@pytest.mark.parametrize(("ground", "bar"), [("box", 1e-6), ("half space", 1e-6), ("blocks", 1e-5)])
def test_boxes_that_tumble_end_outside_of_all(ground: str, bar: float) -> None:
    """Three that fall on each other at 15 rad/s: far turns take corrections more than two steps."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        builder = ModelBuilder(timestep=5e-3)
        if ground == "box":
            builder.box("ground", "world", half_size=(2, 2, 0.1), position=(0, 0, -0.1))
        elif ground == "half space":
            builder.half_space("ground")
        else:
            heights = rng.uniform(0, 0.1, (9, 9))
            builder.block_field("ground", heights=heights, half_size=(1.8, 1.8))
        for i in range(3):
            builder.body(f"b{i}", joint=free(), mass=1.0, inertia=(4e-3,) * 3)
            builder.box(f"b{i}", f"b{i}", half_size=rng.uniform(0.03, 0.1, 3))
        world = World(builder.build())
        turned = rng.normal(size=(3, 4))
        turned /= np.linalg.norm(turned, axis=1, keepdims=True)
        q = [[0.05 * i, 0, 0.3 + 0.36 * i, *turned[i]] for i in range(3)]
        v = rng.normal(size=18) * np.tile([1, 1, 1, 15, 15, 15], 3)
        world.reset(np.concatenate(q), v)
        for _ in range(200):
            world.step()
            found = world.certificate()
            assert found.deepest <= bar, (seed, found)
        assert world.diagnostics.degraded == 0


def test_audits_tell_what_steps_do_not_see() -> None:
    """Tumbling cans: hardly within each other; and a fast chain, which Euler's rule drives on."""
    builder = ModelBuilder().half_space("floor")
    for k in range(3):
        builder.body(f"can {k}", joint=free(), density=500.0)
        builder.cylinder(f"can {k}", f"can {k}", radius=0.05, half_length=0.06)
    cans = World(builder.build(), timestep=0.005, audit_every=2)
    cans.reset([0, 0, 0.1, 0.9, 0.3, 0.3, 0.1, 0, 0, 0.3, 1, 0, 0, 0, 0.05, 0, 0.5, 1, 1, 0, 0])
    cans.step(steps=200)
    told = cans.diagnostics
    assert told.audits == 100
    assert 0.0 < told.deepest < 1e-5
    assert told.gained < 1e-3
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("a", joint=spherical(), mass=1.0, com=(0.3, 0, 0), inertia=(0.01, 0.02, 0.03))
    builder.body("b", parent="a", joint=revolute(position=(0.6, 0, 0)), mass=1.0, com=(0.2, 0.1, 0))
    chain = World(builder.build(), timestep=0.01, audit_every=1)
    chain.reset(v=[3.0, 2.0, 10.0, 7.0])
    before = dynenvs.totals(chain.model, chain.q, chain.v).energy
    chain.step(steps=20)
    assert chain.diagnostics.gained > 1e-5 * before
    assert chain.diagnostics.coarse > 0
    assert chain.diagnostics.beyond == 0


@pytest.mark.parametrize("rule", ["euler", "midpoint"])
def test_what_shorter_steps_mend_is_coarse(rule: str) -> None:
    """A pendulum: Euler's energy is read half a step apart, the midpoint's is off by dt cubed."""
    builder = ModelBuilder(timestep=0.01, integrator=rule)
    builder.body("rod", joint=revolute(axis=(0, 1, 0)), mass=1.0, com=(0.25, 0, 0))
    world = World(builder.build(), audit_every=1)
    world.step(steps=100)
    told = world.diagnostics
    assert told.beyond == 0
    assert told.coarse > 10


def ball(height: float = 1.0, gravity: float = -9.81) -> World:
    """A ball of 1 kg and a radius of 0.1 m above a floor, audited in each step."""
    builder = ModelBuilder(gravity=(0, 0, gravity), timestep=0.005).half_space("floor")
    solid(builder, "ball", "ball")
    world = World(builder.build(), audit_every=1)
    world.reset(at(height))
    return world


def test_a_kick_in_one_step_is_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made again in parts the step is sound: that explains nothing of what it had gained."""
    real = World._call

    def kicking(world: World) -> Callable[[], int]:
        step = real(world)

        def kicked() -> int:
            done: int = step()
            world.v[:] *= 1.00001
            return done

        return kicked

    monkeypatch.setattr(World, "_call", kicking)
    world = ball(gravity=0.0)
    world.v[:3] = 1.0
    world.step(steps=5)
    assert world.diagnostics.beyond == 5
    assert world.diagnostics.coarse == 0


def test_a_force_that_is_not_counted_is_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weight without potential energy: however short the parts, together they gain as much."""

    def without_weight(w: WorldView) -> tuple[float, float]:
        return energy.measure_energy(w)[0], 0.0

    monkeypatch.setattr(audit, "measure_energy", without_weight)
    world = ball()
    world.step(steps=5)
    assert world.diagnostics.beyond == 5
    assert world.diagnostics.coarse == 0


def test_what_is_pushed_out_is_beyond() -> None:
    """A ball that is 5 mm in the floor is lifted: at the end all is well but its energy."""
    world = ball(0.1)
    world.step()
    assert world.diagnostics.beyond == 0
    world.q[2] = 0.095
    world.step()
    assert world.q[2] == pytest.approx(0.1, abs=1e-9)
    assert world.diagnostics.gained == pytest.approx(9.81 * 0.005, rel=0.01)
    assert world.diagnostics.beyond == 1
    assert world.diagnostics.coarse == 0


def test_a_step_is_made_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part, under servos, a wrench and contact: the same bits."""
    builder = ModelBuilder(timestep=0.005).half_space("floor")
    rail, hinge = prismatic("rail", axis=(0, 0, 1)), revolute("hinge", axis=(0, 1, 0))
    builder.body("cart", joint=rail, mass=1.0, inertia=(0.01,) * 3)
    builder.body("arm", parent="cart", joint=hinge, mass=1.0, com=(0.2, 0, 0))
    builder.sphere("tip", "arm", radius=0.05, position=(0.3, 0, 0))
    builder.actuator("servo", {"hinge": 1.0}, gain=(5.0, 0.0, 0.0), bias=(0.0, -5.0, -0.3))
    world = World(builder.build(), audit_every=1)
    world.reset([0.06, 0.0])
    world.wrenches[1, 5] = -3.0
    same = []

    def compare(self: Audit, model: Model, row: Bytes, before: Moment, given: Given) -> None:
        again = self._in_parts(model, before, given, 1, np.inf)
        assert again is not None
        now = row.view(model.state_dtype)
        same.append([np.array_equal(again.end.state[k], now[k]) for k in now.dtype.names or ()])

    monkeypatch.setattr(Audit, "take", compare)
    for k in range(20):
        world.step(control=[np.sin(k)])
    assert np.array(same).all()
    assert len(same) == 20


def test_an_audit_counts_work_and_changes_nothing() -> None:
    """A cart that is pushed from rest gains what the force gives it, and no more."""
    builder = ModelBuilder().half_space("floor")
    builder.body("cart", joint=prismatic(axis=(1, 0, 0), position=(0, 0, 1)), mass=2.0)
    ends = []
    for every in (0, 1):
        world = World(builder.build(), timestep=0.01, audit_every=every)
        world.step([3.0], steps=100)
        ends.append((world.q.copy(), world.v.copy()))
    assert world.diagnostics.audits == 100
    assert world.diagnostics.gained < 1e-12
    assert world.diagnostics.beyond == 0
    np.testing.assert_array_equal(ends[0], ends[1])


def test_an_audit_counts_the_work_of_forces_where_there_are_servos() -> None:
    """Given forces, servos rest: the forces did the work, not what servos gave last."""
    builder = ModelBuilder(gravity=(0, 0, 0)).half_space("floor", position=(0, 0, -1))
    builder.body("cart", joint=prismatic("rail", axis=(0, 0, 1)), mass=2.0, inertia=(0.01,) * 3)
    hinge = revolute("hinge", axis=(0, 1, 0))
    builder.body("arm", parent="cart", joint=hinge, mass=1.0, inertia=(0.01,) * 3)
    builder.actuator("servo", {"hinge": 1.0}, gain=(5.0, 0.0, 0.0), bias=(0.0, -5.0, -0.3))
    world = World(builder.build(), audit_every=1)
    world.step([3.0, 0.0], steps=20)
    assert world.diagnostics.gained < 1e-12
    assert world.diagnostics.beyond + world.diagnostics.coarse == 0


def test_what_overlaps_from_the_start_is_named() -> None:
    builder = ModelBuilder().half_space("floor")
    solid(builder, "box", "box")
    world = World(builder.build(), timestep=0.01, audit_every=1)
    world.reset(at(0.05))
    world.step(steps=3)
    assert world.overlapping == ("box and floor",)
    assert world.diagnostics.deepest == 0.0
    with pytest.raises(ValueError, match="audit_every must be a whole number"):
        world.audit_every = -1


def test_geoms_without_a_name_are_named_with_their_bodies() -> None:
    """A file that names no geom; one that is named keeps its name alone."""
    pytest.importorskip("mujoco")
    body = '<body name="{0}" pos="0 0 {1}"><freejoint/><geom {2} size="0.1" condim="3"/></body>'
    bodies = body.format("lower", 0.0, ""), body.format("upper", 0.15, 'name="ball"')
    model = dynenvs.load(f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>")
    found = World(model).certificate()
    assert set(found.pair.split(" and ")) == {"geom 0 of lower", "ball"}
    assert found.deepest == pytest.approx(0.05)


def test_batches_are_audited_as_single_worlds() -> None:
    """The same counts and bits, whatever the number of threads; a masked world has no audits."""
    builder = ModelBuilder().half_space("floor")
    for k in range(2):
        builder.body(f"can {k}", joint=free(), density=500.0)
        builder.cylinder(f"can {k}", f"can {k}", radius=0.05, half_length=0.06)
    model = builder.build()
    rng = np.random.default_rng(0)
    q = np.array([[0, 0, 0.2, *rng.normal(size=4), 0.01, 0, 0.4, *rng.normal(size=4)]
                  for _ in range(32)])  # fmt: skip
    for part in (slice(3, 7), slice(10, 14)):
        q[:, part] /= np.linalg.norm(q[:, part], axis=1, keepdims=True)
    plain = Worlds(model, 32, timestep=0.005)
    batch = Worlds(model, 32, timestep=0.005, threads=2, audit_every=3)
    for worlds in (plain, batch):
        worlds.reset(q)
        worlds.step(steps=40)
        worlds.step(steps=20, mask=np.arange(32) < 31)
    np.testing.assert_array_equal(batch.q, plain.q)
    found = batch.diagnostics
    assert (plain.diagnostics["audits"] == 0).all()
    assert (found["audits"] == [20] * 31 + [13]).all()
    for i in (0, 5, 31):
        alone = World(model, timestep=0.005, audit_every=3)
        alone.reset(q[i])
        alone.step(steps=60 if i < 31 else 40)
        for name in ("audits", "beyond", "coarse", "deepest", "gained"):
            assert found[name][i] == getattr(alone.diagnostics, name)


def test_batches_go_on_with_audits_where_one_world_fails() -> None:
    """The others are stepped and audited to the end, and the error names the one."""
    builder = ModelBuilder().body("a", joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
    worlds = Worlds(builder.sphere("a", "a", radius=0.1).build(), 16, audit_every=1)
    worlds.v[5, 2] = 2.0
    worlds.step()
    worlds.v[3] = np.nan
    with pytest.raises(dynenvs.WorldsError) as caught:
        worlds.step(steps=5)
    assert caught.value.worlds.tolist() == [3]
    audits = worlds.diagnostics["audits"]
    assert audits[3] == 1
    assert (np.delete(audits, 3) == 6).all()
    with pytest.raises(ValueError, match="audit_every must be a whole number"):
        Worlds(worlds.model, 2, audit_every=1.5)  # type: ignore[arg-type]


def test_the_predict_of_what_parts_gain() -> None:
    """A rule of first order has a second one, too: three runs see through it, a limit stays."""

    def gains(a: float, *parts: int) -> list[tuple[int, float]]:
        return [(n, a + 9.41 / n - 42.0 / n**2) for n in parts]

    for a in (0.0, 1e-3):
        assert _predict(gains(a, 16, 64, 256), 0.0) == pytest.approx(a, abs=1e-12)
        assert _predict(gains(a, 2, 8, 32), 1.0) == pytest.approx(a + 9.41 - 42.0, abs=1e-10)
    # UR5's arm, that turned by half a radian in a step, of 352 J
    assert abs(_predict([(16, 0.5714), (64, 0.1474), (256, 0.03712)], 0.0)) < 1e-6 * 352
    # The same, whose motors turned a light link faster by 9 rad/s within a step, of 8.8 J
    runs = [(2, 0.148), (8, 0.0227), (32, 0.0048)]
    assert abs(_predict(runs, 0.0)) < 1e-4
    assert _predict(runs, 1.0) == pytest.approx(0.449, rel=0.01)


@pytest.mark.parametrize("seed", [3, 105])
def test_motors_that_turn_light_links_fast_are_coarse(seed: int) -> None:
    """A chain whose last link gets 200 rad/s and more in a step: no fault but the rule's.

    Its gain goes with the square of the step, too, which two runs of small parts do not predict.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, 0), timestep=0.002)
    for i in range(4):
        joint = revolute(axis=rng.normal(size=3), position=(0.3 * (i > 0), 0, 0))
        parent, mass, com = f"link {i - 1}" if i else "world", 3.0 / 3**i, 0.1 / 1.5**i
        builder.body(
            f"link {i}", parent=parent, joint=joint, mass=mass, com=rng.normal(size=3) * com
        )
    world = World(builder.build(), audit_every=1)
    world.reset(rng.uniform(-2, 2, 4), rng.normal(size=4) * 4)
    world.step(rng.uniform(-1, 1, 4) * np.array([40, 20, 10, 5]))
    assert world.diagnostics.beyond == 0
    assert world.diagnostics.coarse == 1


def chain(rng: np.random.Generator, lighter: float) -> ModelBuilder:
    """Three links on hinges about any axes."""
    builder = ModelBuilder(gravity=(0, 0, 0), timestep=0.002)
    for i in range(3):
        joint = revolute(axis=rng.normal(size=3), position=(0.3 * (i > 0), 0, 0))
        parent, com = f"link {i - 1}" if i else "world", rng.normal(size=3) * 0.1
        builder.body(f"link {i}", parent=parent, joint=joint, mass=3.0 / lighter**i, com=com)
    return builder


def test_what_velocity_products_create_is_bounded() -> None:
    """By the identity itself (docs/theory.md), of steps in which something is struck.

    Of velocities that are those of the start, the square of the turn bounds it; a blow leaves
    products of other velocities, which are of first order in the turn.
    """
    above = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        model = chain(rng, 4.0).build()
        q, v, none, dt = rng.uniform(-2, 2, 3), rng.normal(size=3) * 20, np.zeros(3), 0.002
        after = v + rng.normal(size=3) * 10
        later = q + dt * after
        before, mass = crba(model, q), crba(model, later)
        products = rnea(model, q, v, none)
        created = 0.5 * after @ (mass - before) @ after - dt * after @ products
        moments = []
        for at, speed in ((q, v), (later, after)):
            kinetic = float(energy.totals(model, at, speed).kinetic)
            spin = np.linalg.norm(frames(model, at, speed).angular, axis=1).max()
            moments.append(Moment(kinetic, 0.0, float(spin), np.zeros(1)))
        jump = float(0.5 * (after - v) @ mass @ (after - v))
        assert created <= _created(*moments, dt, jump)
        above += created > _created(*moments, dt, 0.0)
    assert above > 5


def stopped(seed: int) -> World:
    """A chain in flight, whose last joint is to meet a stop within the step."""
    rng = np.random.default_rng(seed)
    axes, coms = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)) * 0.1
    q, v = rng.uniform(-2, 2, 3), rng.normal(size=3) * 20
    builder = ModelBuilder(gravity=(0, 0, 0), timestep=0.002)
    for i in range(3):
        end = q[i] + 0.002 * v[i] * rng.random()
        limits = (-10.0, 10.0)
        if i == 2:
            limits = (-10.0, end) if v[i] > 0 else (end, 10.0)
        joint = revolute(axis=axes[i], position=(0.3 * (i > 0), 0, 0), limits=limits)
        parent = f"link {i - 1}" if i else "world"
        builder.body(f"link {i}", parent=parent, joint=joint, mass=3.0 / 4**i, com=coms[i])
    world = World(builder.build(), audit_every=1)
    world.reset(q, v)
    return world


@pytest.mark.parametrize("seed", [958, 4359, 5570])
def test_a_blow_that_comes_in_the_next_step_is_coarse(seed: int) -> None:
    """A joint ends a step at its stop: in parts the blow costs energy, in the whole step it comes
    later.  What the step gains is what its velocity products create."""
    world = stopped(seed)
    world.step()
    assert world.diagnostics.gained > 0.0
    assert world.diagnostics.coarse == 1
    assert world.diagnostics.beyond == 0


@pytest.mark.parametrize(("lift", "beyond"), [(5e-12, 0), (1e-9, 1)])
def test_a_lift_that_no_step_knows_of_is_none(
    monkeypatch: pytest.MonkeyPatch, lift: float, beyond: int
) -> None:
    """A ball at rest, 5e-12 m higher: corrections leave more than that; not a nanometre."""
    world = ball(0.1)
    world.step()
    real = World._call

    def lifting(world: World) -> Callable[[], int]:
        step = real(world)

        def lifted() -> int:
            done: int = step()
            world.q[2] += lift
            return done

        return lifted

    monkeypatch.setattr(World, "_call", lifting)
    world.step()
    assert world.diagnostics.beyond == beyond
