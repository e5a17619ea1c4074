"""Flush tiles are one plane for what slides over them, and a curb is still a curb."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import prism
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
BLOCK = np.array([0.2, 0.15, 0.1])  # half edges [m]
HIGH = 0.1  # of every shape's centre above the ground it lies on [m]
SHAPES = ("box", "hull", "prism", "sphere", "capsule")


def slider(
    shape: str, tiles: str, friction: float, steps: Array | None = None, thick: float = 1.0
) -> World:
    """A solid over 8 x 2 tiles of 1 m x 4 m, or over one plate of the same size.

    steps: depths of the tiles' tops below 0, shape (8, 2) [m]; None for the plate
    """
    builder = ModelBuilder()
    if steps is None:
        builder.box("plate", "world", half_size=(4, 4, 0.5 * thick),
                    position=(0, 0, -0.5 * thick), friction=friction)  # fmt: skip
    for i, j in itertools.product(range(8), range(2)) if steps is not None else ():
        half = np.array([0.5, 2.0, 0.5 * thick])
        center = np.array([i - 3.5, 4.0 * j - 2.0, -0.5 * thick - steps[i, j]])
        if tiles == "hull":
            points = CUBE * half + center
            builder.convex(f"tile {i} {j}", "world", points=points, friction=friction)
        else:
            builder.box(f"tile {i} {j}", "world", half_size=half, position=center,
                        friction=friction)  # fmt: skip
    add_slider(builder, shape, friction)
    return World(builder.build())


def add_slider(builder: ModelBuilder, shape: str, friction: float) -> None:
    """A free solid "a" whose lowest point is HIGH under its centre."""
    # Balls of one moment: pushes on others turn with them, in small islands (`contact.turned`)
    inertia = (0.01, 0.01, 0.01) if shape == "sphere" else (0.006, 0.01, 0.012)
    builder.body("a", joint=free(), mass=1.0, inertia=inertia)
    if shape == "box":
        builder.box("a", "a", half_size=BLOCK, friction=friction)
    elif shape == "sphere":
        builder.sphere("a", "a", radius=HIGH, friction=friction)
    elif shape == "capsule":
        ends = {"start": (-0.2, 0, 0), "end": (0.2, 0, 0)}
        builder.capsule("a", "a", radius=HIGH, **ends, friction=friction)
    else:
        points = CUBE * BLOCK if shape == "hull" else prism(0.15, HIGH, 12)
        builder.convex("a", "a", points=points, friction=friction)


def push(worlds: list[World], seed: int) -> None:
    """The same random start for all: anywhere, anyhow turned about z, up to 10 m/s."""
    rng = np.random.default_rng(seed)
    turn, way, speed = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 10.0)
    x, y = rng.uniform(-1, 1, 2)
    timestep = rng.choice([0.002, 0.005, 1 / 60])
    for world in worlds:
        world.reset([x, y, HIGH, np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
        world.v[:2] = speed * np.cos(way), speed * np.sin(way)
        world.timestep = timestep


def is_over(world: World) -> bool:
    """Whether the whole solid is over the tiles."""
    return bool(np.abs(world.q[:2]).max() < 3.7)


@pytest.mark.parametrize("tiles", ["box", "hull"])
@pytest.mark.parametrize("shape", SHAPES)
def test_without_friction_nothing_changes_at_a_seam(shape: str, tiles: str) -> None:
    """Neither speed nor height, turned as it may be and at any step length."""
    world = slider(shape, tiles, 0.0, np.zeros((8, 2)))
    for seed in range(12):
        push([world], seed)
        v = np.array(world.v)
        for _ in range(400):
            if not is_over(world):
                break
            world.step()
            np.testing.assert_allclose(world.v, v, atol=1e-9)
            assert world.q[2] == pytest.approx(HIGH, abs=1e-9)
        assert world.diagnostics.degraded == 0


@pytest.mark.parametrize("tiles", ["box", "hull"])
@pytest.mark.parametrize("shape", ["box", "hull", "prism"])
def test_tiles_are_one_plane_for_what_is_fast(shape: str, tiles: str) -> None:
    """Of 3 mm to 1 m, at 20 and 50 m/s in steps of a sixtieth of a second, turned anyhow.

    On thick ones a hull was seen to turn by 0.002 rad/s in 1 of 20 runs: it is left out there.
    """
    thicks = (0.003, 0.03) if shape == "hull" else (0.003, 0.03, 1.0)
    for thick, speed, seed in itertools.product(thicks, (20.0, 50.0), range(9)):
        rng = np.random.default_rng(seed)
        worlds = [slider(shape, tiles, 0.0, steps, thick) for steps in (None, np.zeros((8, 2)))]
        turn, way = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
        for world in worlds:
            world.timestep = 1 / 60
            world.reset([0.1, 0.2, HIGH, np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
            world.v[:2] = speed * np.cos(way), speed * np.sin(way)
        while is_over(worlds[0]):
            np.testing.assert_allclose(worlds[1].v, worlds[0].v, atol=1e-7)
            for world in worlds:
                world.step()


@pytest.mark.parametrize("tiles", ["box", "hull"])
@pytest.mark.parametrize("shape", ["box", "hull", "prism"])
@pytest.mark.parametrize("step", [1e-9, 1e-7, 1e-6])
@pytest.mark.thorough
def test_a_seam_that_rounding_has_made_does_not_show(step: float, shape: str, tiles: str) -> None:
    """Tops that differ by up to a micrometre: it rises by no more, and is not slowed down.

    Where it stands on the seam alone it may tilt by a ten-millionth.
    """
    world = slider(shape, tiles, 0.0, np.random.default_rng(1).uniform(0, step, (8, 2)))
    for seed in range(8):
        push([world], seed)
        v = np.array(world.v)
        while is_over(world) and world.time < 3.0:
            world.step()
            assert -step - 1e-7 < world.q[2] - HIGH < 1e-7
            # A slope of step / length for so long, and a lift of step a timestep
            slack = 1e-9 + step * (1e3 + 2.0 / world.timestep)
            np.testing.assert_allclose(world.v[:2], v[:2], atol=slack)


@pytest.mark.parametrize("shape", ["box", "hull"])
def test_a_box_slides_as_far_as_on_one_plane(shape: str) -> None:
    """Straight over a seam, rubbing: v^2 / 2 mu g, less what the step's length takes."""
    ends = []
    for steps in (np.zeros((8, 2)), None):
        world = slider(shape, "box", 0.3, steps)
        world.timestep = 0.002
        world.reset([-0.5, 1.0, HIGH, 1, 0, 0, 0])
        world.v[0] = 4.0
        for _ in range(750):
            world.step()
            assert world.q[2] == pytest.approx(HIGH, abs=1e-9)
        ends.append(np.array(world.q))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    assert ends[0][0] + 0.5 == pytest.approx(2.714, abs=1e-3)


@pytest.mark.parametrize("shape", ["box", "hull", "prism"])
def test_a_curb_stops(shape: str) -> None:
    """A millimetre that the next tile is higher is no seam."""
    steps = np.full((8, 2), 1e-3)
    steps[5:] = 0.0
    world = slider(shape, "box", 0.0, steps)
    world.timestep = 0.002
    for place in np.linspace(-0.004, 0.0, 5):
        world.reset([place, 1.0, HIGH - 1e-3, 1, 0, 0, 0])
        world.v[0] = 1.0
        world.step(steps=1000)
        reach = BLOCK[0] if shape != "prism" else 0.15
        assert world.q[0] < 1.0 - reach + 1e-6


@pytest.mark.parametrize("tiles", ["box", "hull"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_loose_tiles_are_one_plane_too(friction: float, shape: str, tiles: str) -> None:
    """Over heavy tiles on a floor, and over fixed ones, as over a plate; turned as it may be.

    Without friction it stands right above a seam at the end of a step.
    """
    ends = {}
    for ground in ("loose", "fixed", "plate"):
        builder = ModelBuilder(timestep=0.002, cone="exact")  # a pyramid turns a little at a seam
        builder.half_space("floor", friction=0.9)
        half = np.array([0.5, 2.0, 0.2]) * ((4, 2, 1) if ground == "plate" else 1)
        places = list(itertools.product((-1.5, -0.5, 0.5, 1.5), (-2.0, 2.0)))
        places = [(0.0, 0.0)] if ground == "plate" else places
        for k, place in enumerate(places):
            body, at = "world", np.array([*place, 0.2])
            if ground == "loose":
                body, at = f"t{k}", np.zeros(3)
                builder.body(body, joint=free(), mass=1e4, inertia=(1e4, 1e4, 1e4))
            if tiles == "hull":
                builder.convex(f"t{k}", body, points=CUBE * half + at, friction=friction)
            else:
                builder.box(f"t{k}", body, half_size=half, position=at, friction=friction)
        add_slider(builder, shape, friction)
        world = World(builder.build())
        start = [-1.2, -0.7, 0.4 + HIGH, np.cos(0.3), 0, 0, np.sin(0.3)]
        lying = [[x, y, 0.2, 1, 0, 0, 0] for x, y in places] if ground == "loose" else []
        world.reset([*np.ravel(lying), *start])
        world.v[-6:-3] = 3.0, 1.2, 0.0
        for _ in range(350):
            world.step()
            assert world.q[-5] == pytest.approx(0.4 + HIGH, abs=1e-9)
        ends[ground] = np.array(world.q[-7:])
        assert world.diagnostics.degraded == 0
    if shape != "capsule" or friction == 0.0:  # it may rub with its load at either end
        np.testing.assert_allclose(ends["loose"], ends["plate"], atol=1e-6)  # tiles yield a little
        np.testing.assert_allclose(ends["fixed"], ends["plate"], atol=1e-9)
