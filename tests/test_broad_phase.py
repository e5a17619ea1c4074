"""What is far apart is left out early: the same bits as if everything were looked at."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dynenvs.contact.detection.broad_phase import FEW
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work
from dynenvs.model import packing, solids
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import World


def scene(seed: int) -> World:
    """Balls, capsules and boxes that fall on each other, off their bodies' origins, and a chain
    that folds; some of them far from all others."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(max_contacts=64)
    builder.half_space("floor")
    for i in range(8):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=(0.01, 0.012, 0.014))
        at = rng.uniform(-0.05, 0.05, 3)
        if i % 3 == 0:
            builder.sphere(f"s{i}", f"b{i}", radius=0.08, position=at)
        elif i % 3 == 1:
            builder.capsule(
                f"s{i}", f"b{i}", start=at, end=at + np.array([0.15, 0, 0]), radius=0.05
            )
        else:
            builder.box(f"s{i}", f"b{i}", half_size=(0.1, 0.06, 0.08), position=at)
    for i in range(5):
        parent = f"c{i - 1}" if i else "world"
        place = (0.2, 0.0, 0.0) if i else (0.0, 0.0, 1.0)
        joint = revolute(axis=(0, 1, 0), position=place)
        builder.body(f"c{i}", parent=parent, joint=joint, mass=1.0, inertia=[0.01] * 3)
        builder.sphere(f"r{i}", f"c{i}", radius=0.07, position=(0.1, 0, 0))
    builder.self_contact(*(f"r{i}" for i in range(5)))
    world = World(builder.build(), timestep=4e-3)
    for i in range(8):
        world.q[7 * i : 7 * i + 3] = rng.uniform(-0.3, 0.3, 3) + np.array([0, 0, 0.3 + 0.2 * i])
        world.v[6 * i : 6 * i + 6] = rng.normal(size=6)
    world.q[0] = 3.0
    world.q[7] = -2.0
    return world


@pytest.mark.parametrize("seed", range(3))
def test_nothing_changes(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Bit for bit over a second, whatever touches whatever."""
    one = scene(seed)
    for module in (packing, solids):
        monkeypatch.setattr(module, "far", lambda distance: np.full_like(distance, math.inf))
    other = scene(seed)
    points = int(other.model.header.npoints)
    assert (other.model.features["far_squared"][:points] == math.inf).all()
    assert (other.model.pairs["far_squared"] == math.inf).all()
    touched = set()
    for _ in range(250):
        one.step()
        other.step()
        assert one.get_state().tobytes() == other.get_state().tobytes()
        touched |= {frozenset(contact.geoms) for contact in one.contacts}
    assert sum("floor" not in pair for pair in touched) >= 1


def flail(seed: int) -> World:
    """A chain of capsules in the air that lashes the floor."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(max_contacts=32)
    builder.half_space("floor")
    for i in range(6):
        hinge = revolute(axis=(0, 1, 0), position=(0.3, 0, 0), damping=0.1)
        joint, parent = (hinge, f"b{i - 1}") if i else (free(), "world")
        builder.body(f"b{i}", parent=parent, joint=joint, mass=1.0, inertia=[0.002, 0.01, 0.01])
        builder.capsule(f"s{i}", f"b{i}", start=(0, 0, 0), end=(0.3, 0, 0), radius=0.03)
    world = World(builder.build(), timestep=8e-3)
    world.q[2] = 0.8
    world.v[:] = 4.0 * rng.normal(size=world.model.nv)
    world.v[2] = -3.0
    return world


def lever(seed: int) -> World:
    """A rod whose tip strikes the floor at 24 m/s, at rest at its other end, where a light capsule
    hangs on it: out of reach, until the blow brings it down."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("stub", joint=free(), mass=0.05, inertia=[1e-5] * 3)
    builder.capsule("stub", "stub", start=(-0.02, 0, 0), end=(0.02, 0, 0), radius=0.03)
    hinge = revolute(axis=(0, 1, 0))
    inertia = [1e-4, 7.5e-3, 7.5e-3]
    builder.body("rod", parent="stub", joint=hinge, mass=1.0, com=(0.15, 0, 0), inertia=inertia)
    builder.sphere("tip", "rod", radius=0.03, position=(0.3, 0, 0))
    world = World(builder.build(), timestep=8e-3)
    world.q[2], world.q[7] = 0.09, 0.18 + 0.01 * seed / 5
    world.v[6] = 80.0
    return world


@pytest.mark.parametrize("scene", [flail, lever])
@pytest.mark.parametrize("seed", range(3))
def test_groups_that_are_clear_of_the_ground(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[int], World], seed: int
) -> None:
    """Bit for bit, also where a blow brings down within the step what was out of reach."""
    one = scene(seed)
    assert (one.model.features["members"] == 2).any()
    monkeypatch.setattr(packing, "_enclose_groups", lambda records: None)
    other = scene(seed)
    assert not other.model.features["members"].any()
    touched = set()
    for _ in range(200):
        one.step()
        other.step()
        assert one.get_state().tobytes() == other.get_state().tobytes()
        touched |= {geom for contact in one.contacts for geom in contact.geoms}
    assert touched == {geom.name for geom in one.model.geoms}


def test_a_pair_that_was_far_is_found_when_it_comes_near() -> None:
    """And is forgotten when it leaves: two boxes that meet, bounce off and fly apart."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name in "ab":
        builder.body(name, joint=free(), mass=1.0, inertia=(0.01, 0.01, 0.01))
        builder.box(f"skin {name}", name, half_size=(0.1, 0.1, 0.1), restitution=1.0)
    world = World(builder.build(), timestep=1e-2)
    world.q[0], world.v[0] = -2.0, 5.0
    world.step(steps=30)
    assert world.v[0] == pytest.approx(5.0, rel=1e-15)
    world.step(steps=20)
    np.testing.assert_allclose(world.v[[0, 6]], [0.0, 5.0], atol=1e-10)
    world.step(steps=100)
    np.testing.assert_allclose(world.v[[0, 6]], [0.0, 5.0], atol=1e-10)


@pytest.mark.parametrize("kept", [0, 1000])
@pytest.mark.parametrize("step", [0.0, 2e-3])
def test_a_list_of_pairs_serves_while_little_moves(
    monkeypatch: pytest.MonkeyPatch, kept: int, step: float
) -> None:
    """Long boxes and capsules that drift and turn at random, or turn alone: the pairs that are near
    are those that a workspace finds that has seen nothing before, or is full of rubbish.

    kept: number of pairs up to which each keeps slots of its own; others are found by a sweep
    """
    monkeypatch.setattr(solids, "PAIRS_KEPT", kept)
    rng, builder, count = np.random.default_rng(0), ModelBuilder(), 16
    for i in range(count):
        builder.body(f"b{i}", joint=free(), mass=1.0, inertia=[0.01] * 3)
        if i % 2:
            builder.capsule(f"s{i}", f"b{i}", start=(-0.3, 0, 0), end=(0.3, 0, 0), radius=0.02)
        else:
            builder.box(f"s{i}", f"b{i}", half_size=(0.3, 0.03, 0.02))
    model = builder.build()
    assert (model.header.nblocks > 0) == (kept == 0)
    m = open_model(model.packed)
    known = open_work(m, model.workspace())
    q = np.hstack([rng.uniform(-0.4, 0.4, (count, 3)), rng.normal(size=(count, 4))])
    made, seen = 0, set[tuple[int, ...]]()
    rubbish = model.workspace()
    dirty = open_work(m, rubbish)
    for k in range(300):
        q[:, :3] += rng.normal(0.0, step, (count, 3))
        q[:, 3:] += rng.normal(0.0, 5e-3, (count, 4))
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
        before = known.watch.pose["R"].copy()
        rubbish[:] = (255, 1, 0)[k % 3]
        lists = []
        for w in (known, open_work(m, model.workspace()), dirty):
            update_poses(m, q.ravel(), w.pose)
            measure_gaps(w)
            lists.append(w.near["pair"][: w.answer["near"][0]].tolist())
        assert lists[0] == lists[1] == lists[2]
        made += not np.array_equal(before, known.watch.pose["R"])
        seen.add(tuple(lists[0]))
    assert model.header.np > FEW
    assert len(seen) > 5
    assert 5 < made < 250
