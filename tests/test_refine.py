"""Deep trees: velocities refined by Newton's and Euler's equations body by body."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.memory.layout import open_world
from dynenvs.memory.records import HEADER
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, prismatic, revolute
from dynenvs.simulation.timestep import DONE, step
from dynenvs.simulation.world import World
from studies.reproduce.jain import FIGURE, LENGTH, MASS, RADIUS, STEP, pendulum
from studies.reproduce.jain_forms import compare

# Oracles


def exact_step(links: int, q: Array, v: Array) -> list[Any]:
    """Turn rates of Jain's links after a free step, to fifty digits: absolute angles' equations."""
    exact = mpmath.mp.clone()
    exact.dps = 50
    length, half = exact.mpf(LENGTH / links), exact.mpf(LENGTH / links / 2)
    moment, dt, g = exact.mpf(0.4 * (RADIUS / links) ** 2), exact.mpf(STEP), exact.mpf(9.8)
    angle = [exact.fsum(exact.mpf(float(x)) for x in q[: i + 1]) for i in range(links)]
    rate = [exact.fsum(exact.mpf(float(x)) for x in v[: i + 1]) for i in range(links)]
    M, force = exact.matrix(links, links), exact.matrix(links, 1)
    for i in range(links):
        for j in range(links):
            last = max(i, j)
            arms = (half if i == last else length) * (half if j == last else length)
            arms = MASS * (arms + (links - 1 - last) * length**2)
            M[i, j] = arms * exact.cos(angle[i] - angle[j]) + (moment if i == j else 0)
            force[i] -= arms * exact.sin(angle[i] - angle[j]) * rate[j] ** 2
        force[i] -= MASS * (half + (links - 1 - i) * length) * g * exact.sin(angle[i])
    change = exact.lu_solve(M, force)
    return [w + dt * a for w, a in zip(rate, change, strict=True)]


@pytest.mark.parametrize("links", [6, 10, 15, 24, 30])
def test_a_free_chain_moves_as_fifty_digits_say(links: int) -> None:
    """Bent and fast, 2 rad/s a joint: 1e-12 rad/s; without refinement 30 links lose 1e-10."""
    rng = np.random.default_rng(links)
    world = World(pendulum(links, 20.0), timestep=STEP)
    assert world.model.header.refined == (links > 10)
    free_states = 0
    while free_states < 3:
        q, v = rng.uniform(-0.5, 0.5, links), 2.0 * rng.normal(size=links)
        world.reset(q, v)
        world.step()
        if world.contacts:
            continue
        free_states += 1
        exact = exact_step(links, q, v)
        found = [mpmath.fsum(map(mpmath.mpf, world.v[: i + 1].tolist())) for i in range(links)]
        assert max(abs(float(a - b)) for a, b in zip(found, exact, strict=True)) < 1e-12


def rough_chain(rng: np.random.Generator) -> World:
    """Sixteen bodies in space, hinges and slides, with all that joints may have, and a branch."""
    builder = ModelBuilder(gravity=(0.5, -1.0, -9.0))
    builder.half_space("floor", friction=0.5)
    for i in range(16):
        kind = prismatic if i % 4 == 3 else revolute
        joint = kind(
            axis=rng.normal(size=3), position=0.2 * rng.normal(size=3) + (0, 0, 0.6 * (i == 0)),
            rotation=Rotation.random(random_state=rng).as_matrix(), damping=0.1 * (i % 2),
            armature=0.01 * (i % 3), limits=(-0.4, 0.4) if i == 5 else (-np.inf, np.inf),
        )  # fmt: skip
        parent = "world" if i == 0 else f"link{9 if i == 15 else i - 1}"
        builder.body(
            f"link{i}", parent=parent, joint=joint, mass=rng.uniform(0.5, 1.5),
            com=0.1 * rng.normal(size=3), inertia=rng.uniform(0.1, 0.12, 3),
        )  # fmt: skip
        builder.sphere(f"ball{i}", f"link{i}", radius=0.1, friction=0.5)
    return World(builder.build(), timestep=1e-3)


def plain_step(world: World, tau: Array) -> Array:
    """The velocity after the same step without refinement."""
    model = world.model
    packed = model.packed.copy()
    packed[: HEADER.itemsize].view(HEADER)["refined"] = 0
    row = world.get_state().reshape(1).view(np.uint8)
    assert step(open_world(packed, row, model.workspace()), tau, world.timestep) == DONE
    found: Array = row.view(model.state_dtype)["v"][0]
    return found


def test_refinement_changes_last_digits_only() -> None:
    """Slides, damping, rotors, a stop, wrenches, changed masses, contact: one step both ways.

    (Not where a stuck chain jams: there an ulp of a coordinate moves either answer by 1e-6.)
    """
    touched = stopped = 0
    for case in range(24):
        rng = np.random.default_rng(case)
        world = rough_chain(rng)
        model = world.model
        assert model.header.refined
        world.reset(rng.uniform(-0.5, 0.5, model.nq), rng.normal(size=model.nv))
        world.q[5] = 0.4
        world.v[5] = 1.0
        world.wrenches[1:] = rng.normal(size=(16, 6))
        world.mass_scale[1:] = rng.uniform(0.5, 2.0, 16)
        tau = rng.normal(size=model.nu)
        expected = plain_step(world, tau)
        world.step(tau)
        np.testing.assert_allclose(world.v, expected, atol=1e-9)
        touched += bool(world.get_state()["memory"]["impulse"].any())
        stopped += int(world.get_state()["status"]["limits_active"]) != 0
    assert touched > 0
    assert stopped > 0


def test_what_is_refined() -> None:
    """Chains of more than ten hinges or slides, without loops and free joints."""
    assert not pendulum(10, FIGURE).header.refined
    assert pendulum(11, FIGURE).header.refined
    assert not pendulum(15, FIGURE, "sparse").header.refined
    builder = ModelBuilder()
    builder.body("base", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    for i in range(15):
        parent = f"link{i - 1}" if i else "base"
        builder.body(f"link{i}", parent=parent, joint=revolute(), mass=1.0, inertia=(1, 1, 1))
    assert not builder.build().header.refined


# Tree and free bodies


@pytest.mark.parametrize("links", [3, 6, 12, 15, 24])
@pytest.mark.thorough
def test_free_bodies_move_as_the_tree(links: int) -> None:
    """Some states of five seconds with contact: equal to 1e-12, or to what their last digit is."""
    found = compare(links, every=100)
    assert found.loaded > 0
    assert found.whirling < found.states // 10  # steps that are cut are not the same rule
    assert found.beyond == 0
    assert found.failed == 0
