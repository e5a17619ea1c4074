"""Scenes whose equations were solved and whose world was wrong: each with the right value."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from dynenvs import (
    ModelBuilder,
    SimulationError,
    World,
    free,
    load,
    prismatic,
    revolute,
    spherical,
)
from dynenvs.memory.records import STOPS
from dynenvs.model.model import Model

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


# Joint stops


RULES = ["euler", "midpoint"]


def slide(low: float, high: float, rule: str = "euler") -> World:
    """A weight on a rail between two stops, nothing else."""
    builder = ModelBuilder(gravity=(0, 0, 0), integrator=rule)
    joint = prismatic("s", axis=(1, 0, 0), limits=(low, high))
    builder.body("s", joint=joint, mass=1.0, inertia=(0.1,) * 3)
    return World(builder.build(), timestep=0.005)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("start", [-0.009, -0.001, 0.001, 0.009])
def test_a_slide_stops_at_the_stop_it_moves_to(start: float, rule: str) -> None:
    """A step would carry it over five times its range: it ends at the stop, and at rest."""
    world = slide(-0.01, 0.01, rule)
    for way in (-1.0, 1.0):
        world.reset([start], [way * 10.0])
        world.step()
        assert world.q[0] == pytest.approx(way * 0.01, abs=1e-12)
        assert world.diagnostics.degraded == 0


def knee(limits: tuple[float, float]) -> Model:
    """A heavy hip on a rail, a light leg on a knee, a foot aside of the knee."""
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("hip", joint=prismatic("z"), mass=1000.0, inertia=(1, 1, 1))
    joint = revolute("knee", axis=(0, 1, 0), limits=limits)
    builder.body("leg", parent="hip", joint=joint, mass=0.1, com=(0, 0, -0.25), inertia=(0.01,) * 3)
    builder.sphere("foot", "leg", radius=0.02, position=(0.3, 0, -0.5), friction=0.0)
    return builder.build()


@pytest.mark.parametrize("speed", [3.0, 10.0, 30.0])
@pytest.mark.parametrize("range_", [0.0005, 0.03])
def test_no_impact_carries_a_joint_beyond_its_stop(speed: float, range_: float) -> None:
    """A landing turns the knee about its stop at some 100 rad/s."""
    world = World(knee((-range_, range_)))
    world.reset([0.7, 0.0], [-speed, 0.0])
    for _ in range(100):
        world.step()
        assert abs(world.q[1]) <= range_ + 1e-9
    assert world.diagnostics.degraded == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ant", "humanoid", "humanoidstandup", "walker2d"])
@pytest.mark.parametrize("rub", [0.0, 0.01])
def test_robots_that_are_thrown_down_keep_their_stops(name: str, rub: float) -> None:
    """Gymnasium's, at 8 m/s, in both contact engines: dry friction chooses the sparse one.

    The humanoids' limbs lie in each other at the start, and correcting that bends joints, too.
    """
    pytest.importorskip("mujoco")
    world = World(rubbing(name, rub), timestep=0.005)
    dofs = [dof for dof in world.model.dofs if dof["limited"] == STOPS]
    at = np.array([dof["q_at"] for dof in dofs])
    low, high = (np.array([dof[side] for dof in dofs]) for side in ("lower", "upper"))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        world.reset()
        v = rng.normal(size=world.model.nv)
        if name == "walker2d":
            world.q[1], v[1] = world.q[1] + 0.5, -8.0
        else:
            world.q[2], v[2] = world.q[2] + 0.5, -8.0
        world.q[at] = np.clip(world.q[at], low, high)
        world.v[:] = v
        for _ in range(60):
            world.step()
            assert np.all(world.q[at] >= low - 1e-9)
            assert np.all(world.q[at] <= high + 1e-9)


def rubbing(name: str, friction: float) -> Model:
    """A robot of Gymnasium's, with dry friction in its hinges [N m]."""
    file = Path(gym.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"
    text = file.read_text()
    if friction > 0.0:
        text = text.replace("<joint ", f'<joint frictionloss="{friction}" ', 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(text)


def test_a_ball_that_spins_about_two_axes_keeps_its_limit() -> None:
    """A pendulum on a ball that may lean by 0.5 rad, swung and spun at some 10 rad/s."""
    builder = ModelBuilder()
    joint = spherical("j", limits=(0, 0.5))
    builder.body("p", joint=joint, mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.012, 0.008))
    world = World(builder.build(), timestep=5e-3)
    for seed in range(6):
        world.reset(None, 4.0 * np.random.default_rng(seed).normal(size=3))
        for _ in range(150):
            world.step()
            lean = 2.0 * np.arctan2(np.linalg.norm(world.q[1:]), abs(world.q[0]))
            assert lean <= 0.5 + 1e-9


# Fast bodies


def test_nothing_passes_a_thin_hull() -> None:
    """A ball of 1 cm at 20 m/s, in steps of 5 ms, against a plate of 4 cm."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.convex("wall", "world", points=CORNERS * (3, 3, 0.02))
    builder.body("ball", joint=free(), mass=1.0, inertia=(0.01,) * 3)
    builder.sphere("ball", "ball", radius=0.01)
    world = World(builder.build())
    for start in np.linspace(1.0, 1.1, 60):
        world.reset([0, 0, start, 1, 0, 0, 0], [0, 0, -20, 0, 0, 0])
        world.step(steps=25)
        assert world.q[2] >= 0.03 - 1e-9


# Bounces


@pytest.mark.parametrize("shape", ["hull", "ball"])
def test_a_fast_body_bounces(shape: str) -> None:
    """Head on, without gravity and loss: it leaves as fast as it came, from whatever gap."""
    builder = ModelBuilder(gravity=(0, 0, 0), timestep=0.005)
    builder.box("wall", "world", half_size=(2, 2, 2), position=(0, 0, -2), restitution=1.0)
    builder.body("a", joint=free(), mass=1.0, inertia=(0.1,) * 3)
    if shape == "hull":
        builder.convex("a", "a", points=0.1 * CORNERS)
    else:
        builder.sphere("a", "a", radius=0.1)
    world = World(builder.build())
    for gap, speed in ((0.015, 5.0), (0.024, 5.0), (0.09, 30.0), (0.12, 30.0)):
        world.reset([0, 0, 0.1 + gap, 1, 0, 0, 0], [0, 0, -speed, 0, 0, 0])
        world.step(steps=2)
        assert world.v[2] == pytest.approx(speed, abs=1e-9)


# Loops


def test_a_loop_that_cannot_close_is_told() -> None:
    """Two bars of 1 m that hang 3 m apart: by an error at the first step."""
    builder = ModelBuilder(timestep=0.002)
    for name, x in (("left", 0.0), ("right", 3.0)):
        joint = revolute(name, axis=(0, 1, 0), position=(x, 0, 0))
        builder.body(name, joint=joint, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.08, 0.08))
    builder.close("tips", "left", "right", position_a=(1, 0, 0), position_b=(1, 0, 0))
    world = World(builder.build())
    world.q[1] = np.pi
    with pytest.raises(SimulationError, match="loop 'tips' cannot be closed in the step at t = 0 "):
        world.step(steps=500)


# Gyroscopic terms


@pytest.mark.parametrize(("rule", "step"), [("euler", 5e-3), ("midpoint", 5e-3), ("euler", 1e-3)])
def test_a_fast_top_keeps_its_rate(rule: str, step: float) -> None:
    """300 rad/s about its axis, leaning by 0.2 rad: it precesses for 2 s."""
    builder = ModelBuilder(timestep=step, integrator=rule)
    top = spherical("foot")
    builder.body("top", joint=top, mass=0.1, com=(0, 0, 0.05), inertia=(3e-4, 3e-4, 1e-4))
    world = World(builder.build())
    world.q[:] = (np.cos(0.1), np.sin(0.1), 0, 0)
    world.v[:] = (0, 0, 300)
    for _ in range(int(2 / step)):
        world.step()
        assert np.abs(world.v).max() < 310.0
