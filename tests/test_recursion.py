"""The step of long chains by articulated bodies: the same as by factors of the mass matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trees import Array

from dynenvs.model import plan
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import World


def chain(links: int, **options: Any) -> Model:
    """Balls on hinges about y and x in turns above a floor: stops, damping, rotors."""
    builder = ModelBuilder(**options)
    builder.half_space("floor", friction=0.6)
    builder.body("b0", joint=free(), mass=1.0, inertia=[0.01] * 3)
    builder.sphere("s0", "b0", radius=0.09, friction=0.6, restitution=0.3)
    for i in range(1, links):
        joint = revolute(
            f"j{i}",
            axis=np.eye(3)[i % 2],
            position=(0.2, 0.0, 0.0),
            limits=(-1.0, 1.0) if i % 5 == 0 else (-np.inf, np.inf),
            damping=0.05,
            armature=1e-3,
        )
        builder.body(f"b{i}", parent=f"b{i - 1}", joint=joint, mass=1.0, inertia=[0.01] * 3)
        if i % 3 == 0:  # fewer rows than coordinates: one answer
            builder.sphere(f"s{i}", f"b{i}", radius=0.09, friction=0.6, restitution=0.3)
    return builder.build()


def both(monkeypatch: pytest.MonkeyPatch, links: int, **options: Any) -> tuple[World, World]:
    """The chain stepped by recursion, and by factors."""
    worlds = []
    for bound in (0, 10**9):
        monkeypatch.setattr(plan, "RECURSION", bound)
        worlds.append(World(chain(links, **options), timestep=2e-3))
    assert [int(world.model.header.recursive) for world in worlds] == [1, 0]
    return worlds[0], worlds[1]


def start(links: int, seed: int) -> tuple[Array, Array, Array]:
    """A bent chain on and above the floor, its velocities, and forces."""
    rng = np.random.default_rng(seed)
    q = np.concatenate([[0, 0, 0.0895, 1, 0, 0, 0], 0.02 * rng.normal(size=links - 1)])
    return q, rng.normal(size=links + 5), rng.normal(size=links - 1)


@pytest.mark.parametrize("restitution", ["newton", "poisson"])
@pytest.mark.parametrize("seed", range(3))
def test_recursion_and_factors_step_alike(
    monkeypatch: pytest.MonkeyPatch, seed: int, restitution: str
) -> None:
    """From the same states, with many contacts, stops, wrenches and impacts."""
    links = 12
    one, other = both(monkeypatch, links, restitution=restitution)
    q, v, tau = start(links, seed)
    touched = 0
    for _ in range(40):
        for world in (one, other):
            world.reset(q, v)
            world.wrenches[3] = (0.1, 0.2, 0.3, 1.0, 2.0, 3.0)
            world.step(tau)
        np.testing.assert_allclose(one.v, other.v, atol=1e-9)
        np.testing.assert_allclose(one.q, other.q, atol=1e-11)
        touched += len(one.contacts)
        q, v = other.q.copy(), other.v.copy()
    assert touched > 20
    assert one.diagnostics.failed == other.diagnostics.failed == 0


def test_long_chains_take_the_recursion_and_robots_do_not() -> None:
    """Decided by depths when the model is built."""
    assert not chain(15).header.recursive
    assert chain(40).header.recursive


def test_a_long_chain_stays_on_the_floor() -> None:
    """Forty links fall flat: certified, nothing sinks in."""
    world = World(chain(40), timestep=4e-3)
    q, v, _ = start(40, 0)
    q[2] = 0.3
    world.reset(q, 0.2 * v)
    touched = 0
    for _ in range(120):
        world.step()
        touched += len(world.contacts)
        assert all(contact.gap > -1e-6 for contact in world.contacts)
    assert world.diagnostics.residual < 1e-9
    assert world.diagnostics.failed == 0
    assert touched > 20
