"""Momentum and energy without external forces (docs/theory.md, Known answers)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import Array, Opened, close, random_inertia, random_q

from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, free
from dynenvs.simulation.world import World


def floating_tree(seed: int) -> Model:
    """A free base with five links on random joints; no gravity, no damping."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("base", joint=free(), mass=2.0, com=(0.1, 0, 0.05), inertia=random_inertia(rng, 2))
    names = ["base"]
    for i, kind in enumerate(["revolute", "spherical", "prismatic", "revolute", "revolute"]):
        axis = rng.normal(size=3)
        joint = Joint(
            kind,
            axis=axis,
            position=rng.normal(size=3) * 0.3,
            rotation=Rotation.random(random_state=rng).as_matrix(),
        )
        builder.body(
            f"link{i}",
            parent=str(rng.choice(names)),
            joint=joint,
            mass=1.0,
            com=rng.normal(size=3) * 0.1,
            inertia=random_inertia(rng, 1.0),
        )
        names.append(f"link{i}")
    return builder.build()


def test_a_body_keeps_its_linear_momentum_exactly() -> None:
    """Free body, centre of mass at its origin: m v constant to roundoff whatever its spin."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("rock", joint=free(), mass=1.7, inertia=random_inertia(rng, 1.7))
    world = World(builder.build(), timestep=2e-3)
    world.v[:] = rng.normal(size=6) * 2
    before = totals(world.model, world.q, world.v).momentum[3:]
    world.step(steps=2000)
    close(totals(world.model, world.q, world.v).momentum[3:], before, 1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_each_step_balances_linear_momentum(seed: int) -> None:
    """J_c v+ = J_c v - dt Jdot_c v at the step's start: what the scheme promises, to roundoff."""
    model = floating_tree(seed)
    rng = np.random.default_rng(100 + seed)
    dt = 2e-3
    world = World(model, timestep=dt)
    world.reset(random_q(model, rng), rng.normal(size=model.nv))
    for _ in range(20):
        view = Opened(model, world.q, world.v)
        mass = model.bodies["mass"]
        J = sum(m * view.point_jacobian(i, view.com(i)) for i, m in enumerate(mass))
        drift = sum(m * view.bias_acceleration(i, view.com(i)) for i, m in enumerate(mass))
        before = world.v.copy()
        world.step()
        close(J @ world.v, J @ before - dt * drift, 1e-12)


def _momentum_error(model: Model, q: Array, v: Array, dt: float) -> tuple[float, float, float]:
    world = World(model, timestep=dt)
    world.reset(q, v)
    before = totals(model, q, v)
    world.step(steps=round(0.5 / dt))
    after = totals(model, world.q, world.v)
    change = after.momentum - before.momentum
    return (
        float(np.linalg.norm(change[:3])),
        float(np.linalg.norm(change[3:])),
        abs(after.energy - before.energy),
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_floating_tree_conserves_with_the_order_of_the_scheme(seed: int) -> None:
    """Angular and linear momentum and energy: errors fall by the step, order 1.0 +- 0.1."""
    model = floating_tree(seed)
    rng = np.random.default_rng(200 + seed)
    q, v = random_q(model, rng), rng.normal(size=model.nv)
    errors = np.array([_momentum_error(model, q, v, 1e-3 / 2**k) for k in range(4)])
    orders = np.log2(errors[-2] / errors[-1])
    np.testing.assert_allclose(orders, 1.0, atol=0.1)


def test_internal_forces_do_not_move_the_centre_of_mass() -> None:
    """Actuators push between links only: the change of momentum is the scheme's own O(dt)."""
    model = floating_tree(3)
    rng = np.random.default_rng(7)
    tau = rng.normal(size=model.nu)
    drifts = []
    for dt in (1e-3, 5e-4):
        world = World(model, timestep=dt)
        world.step(tau, steps=round(0.2 / dt))
        drifts.append(np.abs(totals(model, world.q, world.v).momentum).max())
    assert drifts[1] < 0.6 * drifts[0] < 1e-2
