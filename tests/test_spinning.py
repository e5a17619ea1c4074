"""Single bodies that spin: Euler's equations between pushes, in both rules and both dynamics."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scenes import certified
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from trees import Array, close

from dynenvs import (
    ModelBuilder,
    SimulationError,
    World,
    Worlds,
    fixed,
    forward_dynamics,
    free,
    revolute,
    spherical,
)
from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.loose import spin
from dynenvs.model import plan
from dynenvs.model.model import Model

RULES = ("euler", "midpoint")
NOTHING = (0.0, 0.0, 0.0)
ROD = (1e-3, 0.08, 0.0801)
FOOT = 0.05  # of the top, from its centre [m]


def loose(com: tuple[float, float, float] = NOTHING, **options: Any) -> Model:
    """A long thin body in empty space, a weight fixed to it."""
    builder = ModelBuilder(gravity=NOTHING, **options)
    builder.body("rod", joint=free(), mass=1.0, com=com, inertia=ROD)
    weight = fixed(position=(0.3, 0.1, 0.0))
    builder.body("weight", parent="rod", joint=weight, mass=0.1, inertia=(1e-4, 2e-4, 2e-4))
    return builder.build()


def top(**options: Any) -> World:
    """300 rad/s about its axis, leaning by 0.2 rad."""
    builder = ModelBuilder(**options)
    at = (0, 0, FOOT)
    builder.body("top", joint=spherical("foot"), mass=0.1, com=at, inertia=(3e-4, 3e-4, 1e-4))
    world = World(builder.build())
    world.reset((math.cos(0.1), math.sin(0.1), 0, 0), (0, 0, 300))
    return world


def about_center(world: World) -> Array:
    """Angular momentum about the centre of mass, then linear momentum."""
    found = totals(world.model, world.q, world.v)
    turn = found.momentum[:3] - np.cross(found.center_of_mass, found.momentum[3:])
    return np.concatenate([turn, found.momentum[3:]])


# Free spin


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("com", [NOTHING, (0.1, -0.2, 0.05)])
@pytest.mark.parametrize("step", [1e-3, 5e-3, 1 / 60])
def test_a_rod_at_300_rad_s_gains_no_energy(
    rule: str, com: tuple[float, float, float], step: float
) -> None:
    """Energy, the length of its angular momentum, and its linear momentum stay to rounding."""
    world = World(loose(com, integrator=rule, timestep=step))
    for seed in range(3):
        turn = np.random.default_rng(seed).normal(size=3)
        world.reset(None, [0, 0, 0, *(300.0 * turn / np.linalg.norm(turn))])
        first, start = totals(world.model, world.q, world.v).energy, about_center(world)
        for _ in range(200):
            world.step()
            assert abs(totals(world.model, world.q, world.v).energy / first - 1.0) < 1e-11
            now = about_center(world)
            length = np.linalg.norm(now[:3]) / np.linalg.norm(start[:3])
            assert abs(length - 1.0) < 1e-11
            close(now[3:], start[3:], 1e-8)
        # The midpoint rule turns such a body at once, which five radians may be too far for
        assert world.diagnostics.degraded == 0 or (rule, step) == ("midpoint", 1 / 60)


def test_the_momentum_of_a_tumbling_rod_errs_by_the_order_of_the_step() -> None:
    """Its direction; half the step, half the error, which does not grow."""
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        world = World(loose(timestep=step))
        world.v[3:] = 11.0, 7.0, -5.0
        start, worst = about_center(world), [0.0, 0.0]
        for second in range(2):
            for _ in range(round(1.0 / step)):
                world.step()
                off = np.linalg.norm(about_center(world)[:3] - start[:3])
                worst[second] = max(worst[second], off / np.linalg.norm(start[:3]))
        assert worst[1] < 1.1 * worst[0]
        errors.append(worst[0])
    assert errors[0] < 2e-3 * np.linalg.norm((11, 7, -5))  # what it turns in a step
    for long, short in itertools.pairwise(errors):
        assert long / short == pytest.approx(2.0, rel=0.1)


# Pushed


def reference(model: Model, q: Array, v: Array, time: float) -> Array:
    """Where a body on a ball or a free joint is after a time, by its explicit equations."""
    slides = len(v) - 3

    def rate(_: float, x: Array) -> Array:
        now, speed = x[: model.nq], x[model.nq :]
        a, (b, c, d), (x_, y, z) = now[slides], now[slides + 1 :], speed[slides:]
        turn = 0.5 * np.array(
            [-b * x_ - c * y - d * z, a * x_ + c * z - d * y,
             a * y + d * x_ - b * z, a * z + b * y - c * x_]
        )  # fmt: skip
        push = forward_dynamics(model, now, speed, np.zeros(model.nv))
        return np.concatenate([speed[:slides], turn, push])

    start = np.concatenate([q, v])
    found = solve_ivp(rate, (0.0, time), start, rtol=1e-10, atol=1e-12)
    return np.asarray(found.y[:, -1])


def dragged() -> Model:
    """On a ball aside of its centre: with friction in the joint, a rotor and a spring."""
    builder = ModelBuilder()
    joint = spherical("ball", damping=0.02, armature=0.01, stiffness=0.5)
    size = {"com": (0.05, -0.1, 0.2), "inertia": (0.01, 0.03, 0.035)}
    return builder.body("body", joint=joint, mass=1.0, **size).build()


def thrown() -> Model:
    """On a free joint aside of its centre."""
    builder = ModelBuilder()
    size = {"com": (0.05, -0.1, 0.2), "inertia": (0.01, 0.03, 0.035)}
    return builder.body("body", joint=free(), mass=1.0, **size).build()


@pytest.mark.parametrize(("rule", "order"), [("euler", 1), ("midpoint", 2)])
@pytest.mark.parametrize("make", [dragged, thrown])
def test_steps_converge_by_their_order(rule: str, order: int, make: Any) -> None:
    """Towards the explicit equations of motion, by an integrator of order five."""
    model = make()
    v = np.array([0.3, -0.2, 0.5, 9.0, -7.0, 8.0])[-model.nv :]
    exact, errors = reference(model, model.neutral(), v, 0.2), []
    for step in (2e-3, 1e-3, 5e-4):
        world = World(model, timestep=step, integrator=rule)
        world.v[:] = v
        world.step(steps=round(0.2 / step))
        errors.append(np.linalg.norm(np.concatenate([world.q, world.v]) - exact))
    for long, short in itertools.pairwise(errors):
        assert math.log2(long / short) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize("rule", RULES)
def test_a_fast_top_precesses_as_it_should(rule: str) -> None:
    """Steadily, at the slow root of a quadratic equation (Goldstein, 5.7)."""
    along, across, spin_ = 1e-4, 3e-4 + 0.1 * FOOT**2, 300.0
    weight = 0.1 * 9.81 * FOOT
    lean, errors = 0.2, []
    # I_across cos(lean) P^2 - I w P + m g d = 0, w being the turn about the axis
    a, b = across * math.cos(lean), along * spin_
    rate = (b - math.sqrt(b * b - 4.0 * a * weight)) / (2.0 * a)
    for step in (1e-3, 5e-4, 2.5e-4):
        world = top(timestep=step, integrator=rule)
        # No nutation: the top moves about the vertical from the beginning
        world.v[:] = 0.0, rate * math.sin(lean), spin_
        total, last = 0.0, None
        for _ in range(round(1.0 / step)):
            a_, b_, c_, d_ = world.q
            x, y = 2.0 * (b_ * d_ + a_ * c_), 2.0 * (c_ * d_ - a_ * b_)
            angle = math.atan2(y, x)
            if last is not None:
                total += (angle - last + math.pi) % (2.0 * math.pi) - math.pi
            last = angle
            world.step()
        errors.append(abs(total / (1.0 - step) / rate - 1.0))
    assert errors[0] < 0.03
    assert errors[2] < 0.6 * errors[0]


# The same whichever way


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("place", ["on a ball joint", "on the floor", "about its centre"])
def test_a_top_goes_on_leaning_as_it_does(rule: str, place: str) -> None:
    """Steady precession: `A cos(lean) W^2 - C spin W + m g l = 0`, by moments about its foot.

    The foot on the floor stays where it is.  By Euler's rule the top nods a little.  (Moments that
    were turned by half of its turn in a step, 0.05 rad, let it lie down or stand up in a second.)
    """
    mass, l, lean, turn = 0.2, FOOT, 0.3, 100.0
    inertia = (1.2e-4, 1.2e-4, 2e-4)
    foot = -l if place == "about its centre" else 0.0  # from its origin
    builder = ModelBuilder(integrator=rule)
    joint = spherical("foot") if place == "on a ball joint" else free()
    builder.body("top", joint=joint, mass=mass, com=(0, 0, foot + l), inertia=inertia)
    if place != "on a ball joint":
        builder.half_space("floor", friction=5.0)
        builder.point("foot", "top", position=(0, 0, foot), friction=5.0)
    world = World(builder.build(), timestep=1e-3)
    R = Rotation.from_euler("x", lean).as_matrix()
    a, b = (inertia[0] + mass * l * l) * math.cos(lean), inertia[2] * turn
    rate = (b - math.sqrt(b * b - 4 * a * mass * 9.81 * l)) / (2 * a)
    omega = R.T @ [0, 0, rate] + [0, 0, turn - rate * math.cos(lean)]
    at = world.q.size - 4
    origin = -foot * R[:, 2]
    quaternion = Rotation.from_matrix(R).as_quat(scalar_first=True)
    world.reset([*origin[:at], *quaternion], [*np.cross(R @ omega, origin)[:at], *omega])
    nods = 0.04 if rule == "euler" and place == "on the floor" else 0.005
    for _ in range(1000):
        world.step()
        R = Rotation.from_quat(world.q[at:], scalar_first=True).as_matrix()
        assert math.acos(R[2, 2]) == pytest.approx(lean, abs=nods)
    close(world.q[:at] + foot * R[:at, 2], np.zeros(at), 1e-5)
    assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("lean", [NOTHING, (0.02, 0.01, -0.03)])
def test_recursion_and_factors_spin_alike(
    monkeypatch: pytest.MonkeyPatch, lean: tuple[float, float, float]
) -> None:
    """A rod with a fixed weight, and a top on a stand, beside a chain."""
    builder = ModelBuilder()
    builder.body("rod", joint=free(), mass=1.0, com=lean, inertia=ROD)
    weight = fixed(position=(0.3, 0.1, 0.0))
    builder.body("weight", parent="rod", joint=weight, mass=0.1, inertia=(1e-4, 2e-4, 2e-4))
    stand = fixed(position=(1.0, 0.0, 0.5))
    builder.body("stand", joint=stand, mass=1.0, inertia=(0.1, 0.1, 0.1))
    foot = spherical("foot", position=(0.1, 0.0, 0.2))
    builder.body("top", parent="stand", joint=foot, mass=0.1, com=(0.01, 0, 0.05), inertia=ROD)
    hinge = revolute("hinge", position=(3.0, 0.0, 0.0))
    builder.body("arm", joint=hinge, mass=1.0, inertia=(0.1, 0.1, 0.1))
    worlds = []
    for bound in (0, 10**9):
        monkeypatch.setattr(plan, "RECURSION", bound)
        world = World(builder.build(), timestep=5e-3)
        assert world.model.header.recursive == (bound == 0)
        world.v[:] = np.random.default_rng(1).normal(scale=100.0, size=world.model.nv)
        world.step(steps=20)
        worlds.append(world)
    close(worlds[0].q, worlds[1].q, 1e-9)
    close(worlds[0].v, worlds[1].v, 1e-9 * np.abs(worlds[1].v).max())


def rods_on_a_floor(rule: str) -> Model:
    """Three capsules and a box."""
    builder = ModelBuilder(integrator=rule)
    builder.half_space("floor")
    for i in range(3):
        builder.body(f"rod{i}", joint=free(), density=1000.0)
        builder.capsule(f"rod{i}", f"rod{i}", radius=0.02, start=(-0.2, 0, 0), end=(0.2, 0, 0))
    builder.body("box", joint=free(), density=1000.0)
    builder.box("box", "box", half_size=(0.2, 0.1, 0.02))
    return builder.build()


@pytest.mark.parametrize("rule", RULES)
def test_spinning_bodies_meet_a_floor_certified(rule: str) -> None:
    """At 100 rad/s, in a batch as alone, and never with more energy than they had."""
    model, count = rods_on_a_floor(rule), 4
    rng = np.random.default_rng(3)
    q, v = np.tile(model.neutral(), (count, 1)), np.zeros((count, model.nv))
    for body in range(4):
        q[:, 7 * body : 7 * body + 3] = np.array([body, 0, 0.25]) + rng.uniform(0, 0.02, (count, 3))
        v[:, 6 * body + 3 : 6 * body + 6] = 100.0 * rng.normal(size=(count, 3))
    worlds = Worlds(model, count, timestep=2e-3)
    worlds.reset(q, v)
    alone = [World(model, timestep=2e-3) for _ in range(count)]
    for i, world in enumerate(alone):
        world.reset(q[i], v[i])
    first = [totals(model, world.q, world.v).energy for world in alone]
    for _ in range(10):
        worlds.step(steps=20)
        for i, world in enumerate(alone):
            world.step(steps=20)
            assert world.q.tobytes() == worlds.q[i].tobytes()
            assert world.v.tobytes() == worlds.v[i].tobytes()
            assert totals(model, world.q, world.v).energy <= first[i] * (1.0 + 1e-9)
    for world in alone:
        certified(world)


# What has no answer is told


@pytest.mark.parametrize("far", [0.1, 1.0, 3.0, 30.0])
def test_an_answer_of_eulers_equations_is_one(far: float) -> None:
    """`spin` says whether it has solved them: then energy and momentum's length are kept."""
    rng = np.random.default_rng(5)
    solved = 0
    for _ in range(200):
        a, b, c = rng.uniform(0.01, 1.0, 3)
        moments, w = np.array([b + c, a + c, a + b]), rng.normal(size=3)
        turn = tuple(float(x) for x in far * w / np.linalg.norm(w))
        diagonal = tuple(float(x) for x in moments)
        end, found = spin(diagonal, NOTHING, NOTHING, turn, turn, NOTHING, 1.0)
        if found:
            solved += 1
            for weight in (moments, moments**2):
                assert weight @ np.square(end) == pytest.approx(weight @ np.square(turn), rel=1e-9)
    assert solved == 200 or far > 1.0


@pytest.mark.parametrize("speed", [300.0, 400.0])
@pytest.mark.parametrize("seed", range(3))
def test_what_the_midpoint_rule_does_not_solve_is_told(speed: float, seed: int) -> None:
    """Three bars that whirl by a radian or two in a step: cut, and counted, or an error."""
    builder = ModelBuilder(gravity=NOTHING, integrator="midpoint", timestep=5e-3)
    for i in range(3):
        parent = f"bar{i - 1}" if i else "world"
        joint = revolute(f"j{i}", axis=np.eye(3)[i], position=(0.0, 0.0, 0.3 if i else 0.0))
        size = {"com": (0.1, 0.1, 0.15), "inertia": (0.01, 0.012, 0.004)}
        builder.body(f"bar{i}", parent=parent, joint=joint, mass=1.0, **size)
    world = World(builder.build())
    world.v[:] = speed * np.random.default_rng(seed).normal(size=3)
    first = totals(world.model, world.q, world.v).energy
    for _ in range(20):
        try:
            world.step()
        except SimulationError:
            return
        energy = totals(world.model, world.q, world.v).energy
        assert world.diagnostics.degraded > 0 or energy < 2.0 * first
