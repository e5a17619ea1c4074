"""Springs of joints: their law, their place in every algorithm, and what they do to energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, forward_dynamics, prismatic, revolute
from dynenvs.model.model import Model
from dynenvs.reference.methods import METHODS

MASS, STIFFNESS, REST = 2.0, 50.0, 0.3
RATE = math.sqrt(STIFFNESS / MASS)


def oscillator(damping: float = 0.0, stiffness: float = STIFFNESS) -> Model:
    """A mass on a spring along x, without gravity."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    slide = prismatic(
        "slide", (1, 0, 0), stiffness=stiffness, reference=REST, damping=damping, actuated=True
    )
    builder.body("block", joint=slide, mass=MASS, inertia=(0.1, 0.1, 0.1))
    return builder.build()


def chain(axes: list[tuple[int, int, int]], stiffness: float = 8.0) -> Model:
    """Links on sprung hinges, of different stiffness, above a floor."""
    builder = ModelBuilder()
    parent = "world"
    for i, axis in enumerate(axes):
        place = (0.0, 0.0, 1.0) if i == 0 else (0.0, 0.0, -0.3)
        hinge = revolute(
            f"hinge {i}", axis, position=place, stiffness=stiffness * (i + 1), reference=0.1 * i
        )
        builder.body(f"link {i}", parent=parent, joint=hinge, density=800.0)
        builder.capsule(
            f"rod {i}", f"link {i}", start=(0, 0, 0), end=(0.02, 0.01, -0.3), radius=0.03
        )
        parent = f"link {i}"
    return builder.build()


PLANAR = [(0, 1, 0)] * 3
SPATIAL = [(0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)]


@pytest.mark.parametrize("axes", [PLANAR, SPATIAL], ids=["planar", "spatial"])
def test_every_method_of_forward_dynamics_knows_springs(axes: list[Any]) -> None:
    """aba is M^-1 (tau - h - K (q - r)), and all other methods agree."""
    model = chain(axes)
    rng = np.random.default_rng(0)
    q, v, tau = (rng.normal(size=model.nv) for _ in range(3))
    pull = model.stiffness * (q - model.dofs["reference"])
    right = tau - dynenvs.bias_force(model, q, v) - pull
    expected = np.linalg.solve(dynenvs.crba(model, q), right)
    close(dynenvs.aba(model, q, v, tau), expected)
    for method in METHODS:
        close(forward_dynamics(model, q, v, tau, method=method), expected, 1e-8)


@pytest.mark.parametrize("axes", [PLANAR, SPATIAL], ids=["planar", "spatial"])
@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_step_is_the_equation_that_it_solves(axes: list[Any], integrator: str) -> None:
    """The velocity after a step, put into the rule's own equation."""
    model, dt = chain(axes), 0.01
    rng = np.random.default_rng(1)
    q, v, tau = (0.3 * rng.normal(size=model.nv) for _ in range(3))
    world = World(model, timestep=dt, integrator=integrator)
    world.reset(q, v)
    world.step(tau)
    change = world.v - v
    if integrator == "euler":
        at, stretch, speed = q, q + dt * world.v, v
    else:
        at = q + dt / 2 * v
        stretch, speed = at + dt / 4 * change, (v + world.v) / 2
    pull = model.stiffness * (stretch - model.dofs["reference"])
    missing = dynenvs.crba(model, at) @ change
    missing -= dt * (tau - dynenvs.bias_force(model, at, speed) - pull)
    # The midpoint rule ends its iteration of the velocity products before the last digit
    scale = np.abs(change).max()
    assert np.abs(missing).max() < (1e-14 if integrator == "euler" else 1e-5) * scale


def test_the_midpoint_rule_keeps_a_springs_energy() -> None:
    """Exactly (it is the implicit midpoint rule), at a step of a third of a period, for long."""
    model = oscillator()
    world = World(model, timestep=2 * math.pi / RATE / 3, integrator="midpoint")
    world.reset([REST + 0.2])
    first = dynenvs.totals(model, world.q, world.v).energy
    close(first, 0.5 * STIFFNESS * 0.2**2)
    for _ in range(1000):
        world.step(np.zeros(1))
        assert abs(dynenvs.totals(model, world.q, world.v).energy / first - 1.0) < 1e-9


def test_both_rules_converge_with_their_order() -> None:
    """To the damped oscillation's closed form: errors at half the step are 1/2 and 1/4."""
    damping, time = 3.0, 1.0
    decay = damping / (2 * MASS)
    rate = math.sqrt(RATE**2 - decay**2)
    exact = REST + 0.2 * math.exp(-decay * time) * (
        math.cos(rate * time) + decay / rate * math.sin(rate * time)
    )
    for integrator, ratio in (("euler", 2.0), ("midpoint", 4.0)):
        errors = []
        for steps in (400, 800):
            world = World(oscillator(damping), timestep=time / steps, integrator=integrator)
            world.reset([REST + 0.2])
            for _ in range(steps):
                world.step(np.zeros(1))
            errors.append(abs(world.q[0] - exact))
        assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_stiff_springs_stay_stable(integrator: str) -> None:
    """A period of a thousandth of the step."""
    world = World(oscillator(stiffness=1e8), timestep=0.01, integrator=integrator)
    world.reset([REST + 0.01])
    for _ in range(1000):
        world.step(np.zeros(1))
        assert abs(world.q[0] - REST) <= 0.01 * (1 + 1e-9)


def test_inverse_dynamics_finds_the_torques_of_a_step() -> None:
    """What it finds leads to the velocity that was asked for."""
    model, dt = chain(SPATIAL), 0.01
    rng = np.random.default_rng(2)
    q, v = 0.2 * rng.normal(size=model.nv), 0.5 * rng.normal(size=model.nv)
    wanted = v + 0.05 * rng.normal(size=model.nv)
    found = dynenvs.inverse_dynamics(model, q, v, wanted, dt)
    world = World(model, timestep=dt)
    world.reset(q, v)
    world.step(found.tau)
    close(world.v, wanted, 1e-9)


def test_springs_that_cannot_be_are_refused() -> None:
    builder = ModelBuilder()
    for options, message in (
        ({"stiffness": -1.0}, "stiffness must be finite and not negative"),
        ({"reference": math.inf}, "reference must be finite"),
    ):
        with pytest.raises(ModelError, match=message):
            builder.body("link", joint=revolute(**options), mass=1.0)
