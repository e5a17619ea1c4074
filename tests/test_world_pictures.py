"""Worlds without an environment in a picture: `dynenvs.render`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pictures import GREEN, RED, SIZE, ball_world, middle, where

import dynenvs
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import Joint, fixed, free, prismatic, revolute, spherical
from dynenvs.simulation.world import World


@pytest.mark.parametrize("view", [None, "side", "perspective"])
@pytest.mark.parametrize("ground", ["", "half_space", "height_field", "block_field"])
def test_a_picture_shows_the_world_and_changes_nothing(ground: str, view: Any) -> None:
    world = ball_world((0, 0, 0.1), (0.5, 0, 0.1), ground=ground)
    world.step(steps=5)
    before = world.get_state().tobytes()
    picture = dynenvs.render(world, view=view, forces=True, **SIZE)
    assert world.get_state().tobytes() == before
    assert picture.shape == (160, 240, 3)
    assert picture.dtype == np.uint8
    np.testing.assert_array_equal(picture, dynenvs.render(world, view=view, forces=True, **SIZE))
    assert where(picture, RED).sum() > 100
    assert where(picture, GREEN).sum() > 100


@pytest.mark.parametrize("view", ["side", "perspective"])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "point", "half_space"])
@pytest.mark.parametrize("joint", [None, free(), prismatic(axis=(0, 0, 1)), spherical()])
def test_every_shape_is_drawn_on_every_body(kind: str, view: Any, joint: Joint | None) -> None:
    """On a body that moves in the plane, in space, not at all, or on the world."""
    options: dict[str, Any] = {
        "sphere": {"radius": 0.2},
        "capsule": {"start": (-0.2, 0, 0), "end": (0.2, 0, 0), "radius": 0.1},
        "box": {"half_size": (0.2, 0.1, 0.1)},
        "point": {"position": (0, 0, 0)},
        "half_space": {"position": (0, 0, -0.5), "normal": (0.3, 0, 1)},
    }[kind]
    pictures = []
    for drawn in (True, False):
        builder = ModelBuilder()
        if joint is not None:
            builder.body("b", joint=joint, mass=1.0, inertia=(1, 1, 1))
        if drawn:
            getattr(builder, kind)("g", "world" if joint is None else "b", **options)
        world = World(builder.build())
        pictures.append(dynenvs.render(world, view=view, look_at=(0, 0, 0), distance=2.0, **SIZE))
    assert (pictures[0] != pictures[1]).any(axis=2).sum() > 8


@pytest.mark.parametrize("view", [None, "side", "perspective"])
@pytest.mark.parametrize("spread", [0.0, 0.6, 6.0])
def test_all_that_moves_is_in_the_picture_and_fills_it(spread: float, view: Any) -> None:
    places = [(0.0, 0.0, 0.5), (spread, 0, 0.5), (0, spread, 0.5), (0, 0, 0.5 + spread)]
    picture = dynenvs.render(ball_world(*places), view=view, width=480, height=320)
    shown = where(picture, RED) | where(picture, GREEN)
    rows, columns = np.nonzero(shown)
    assert 0 < rows.min() < rows.max() < 319
    assert 0 < columns.min() < columns.max() < 479
    assert max(np.ptp(rows) / 320, np.ptp(columns) / 480) > 0.6
    if view == "perspective" or (view is None and spread):
        assert abs(rows.min() + rows.max() - 320) < 16
        assert abs(columns.min() + columns.max() - 480) < 16


def test_what_hangs_on_a_hinge_has_room_to_swing() -> None:
    """The same picture's frame wherever the pendulum is."""
    builder = ModelBuilder(directions=2)
    builder.body("arm", joint=revolute(axis=(0, 1, 0)), density=1000.0)
    builder.capsule("rod", "arm", start=(0, 0, 0), end=(0, 0, -1), radius=0.05, color=RED)
    world = World(builder.build())
    for angle in np.linspace(0, 2 * np.pi, 7):
        world.q = [angle]
        shown = where(dynenvs.render(world, **SIZE), RED)
        edges = shown[[0, -1]].any(), shown[:, [0, -1]].any()
        assert edges == (False, False)


# The camera


@pytest.mark.parametrize("joint", [free(), prismatic(axis=(1, 0, 0))])
def test_from_the_side_x_is_to_the_right_and_z_up(joint: Joint) -> None:
    """Whether painted flat (bodies move in the plane) or by a long lens."""
    world = ball_world((0, 0, 1), (0.5, 0, 1), joint=joint)
    picture = dynenvs.render(world, view="side", look_at=(0, 0, 1), distance=3.0, **SIZE)
    np.testing.assert_allclose(middle(where(picture, RED)), 0.0, atol=1.5)
    right, down = middle(where(picture, GREEN))
    scale = 160 / (2 * 3.0 * np.tan(np.radians(16)))  # the same size as through the usual lens
    assert right == pytest.approx(0.5 * scale, abs=1.5)
    assert abs(down) < 1.5
    world = ball_world((0, 0, 1), (0, 0, 1.5), joint=joint)
    picture = dynenvs.render(world, view="side", look_at=(0, 0, 1), distance=3.0, **SIZE)
    right, down = middle(where(picture, GREEN))
    assert abs(right) < 1.5
    assert down == pytest.approx(-0.5 * scale * np.cos(0.2), abs=1.5)


def test_look_at_distance_azimuth_and_elevation() -> None:
    world = ball_world((1, 2, 3), (1.5, 2, 3))
    near = dynenvs.render(world, look_at=(1, 2, 3), distance=3.0, azimuth=-np.pi / 2, **SIZE)
    np.testing.assert_allclose(middle(where(near, RED)), 0.0, atol=1.5)
    assert middle(where(near, GREEN))[0] > 20  # seen from -y
    far = dynenvs.render(world, look_at="ball 0", distance=6.0, azimuth=np.pi / 2, **SIZE)
    np.testing.assert_allclose(middle(where(far, RED)), 0.0, atol=1.5)
    assert middle(where(far, GREEN))[0] < -10  # seen from +y
    assert where(near, RED).sum() == pytest.approx(4 * where(far, RED).sum(), rel=0.15)
    above = dynenvs.render(
        world, look_at="ball 0", distance=3.0, azimuth=0.0, elevation=1.4, **SIZE
    )
    assert middle(where(above, GREEN))[1] > 20  # x points to the camera, down in the picture


def test_models_in_the_plane_are_seen_from_the_side_and_others_in_perspective() -> None:
    flat = ball_world((0, 0, 1), joint=prismatic(axis=(1, 0, 0)), ground="half_space")
    space = ball_world((0, 0, 1), ground="half_space")
    for world, view in ((flat, "side"), (space, "perspective")):
        asked = dynenvs.render(world, view=view, **SIZE)  # type: ignore[arg-type]
        np.testing.assert_array_equal(dynenvs.render(world, **SIZE), asked)
    turned = dynenvs.render(flat, azimuth=0.3, **SIZE)
    np.testing.assert_array_equal(
        turned, dynenvs.render(flat, azimuth=0.3, view="perspective", **SIZE)
    )


def test_forces_are_drawn_on_request() -> None:
    builder = ModelBuilder().half_space("floor").body("box", joint=free(), density=500.0)
    builder.box("skin", "box", half_size=(0.1, 0.1, 0.1), color=(250, 250, 250))
    world = World(builder.build())
    world.q[2] = 0.1
    world.step(steps=50)
    assert where(dynenvs.render(world, **SIZE), RED).sum() == 0
    assert where(dynenvs.render(world, forces=True, **SIZE), RED).sum() > 50


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "width": ({"width": 15}, ValueError, r"width must be a whole number in \[16, 8192\]"),
    "height": ({"height": 1e5}, ValueError, r"height must be a whole number in \[16, 8192\]"),
    "half a pixel": ({"width": 100.5}, ValueError, r"width must be a whole number"),
    "view": ({"view": "top"}, ValueError, r"unknown view 'top'; choose from: side, perspective"),
    "azimuth": ({"azimuth": np.nan}, ValueError, r"azimuth must be a number"),
    "elevation": ({"elevation": 2.0}, ValueError, r"elevation must be a number in"),
    "distance": ({"distance": 0.0}, ValueError, r"distance must be a number in"),
    "look_at": ({"look_at": (0, 0)}, ValueError, r"look_at must have shape \(3,\)"),
    "body": ({"look_at": "leg"}, ValueError, r"unknown body 'leg'; choose from: world, ball 0"),
    "side": ({"view": "side", "azimuth": 1.0}, ValueError, r"azimuth needs view='perspective'"),
    "forces": ({"forces": 2}, ValueError, r"forces must be True or False"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_say_what_would_be_right(case: str) -> None:
    options, error, message = BAD[case]
    for draw in (dynenvs.render, dynenvs.Viewer):
        with pytest.raises(error, match=message):
            draw(ball_world((0, 0, 1)), **options)


def test_states_that_cannot_be_drawn_are_named() -> None:
    world = ball_world((0, 0, 1))
    world.q[3:] = 0.0
    with pytest.raises(ValueError, match=r"'ball 0' hangs on a quaternion of length zero"):
        dynenvs.render(world)
    world.q[0] = np.nan
    with pytest.raises(ValueError, match=r"world\.q must be finite; entries \[0\]"):
        dynenvs.render(world)


def test_what_is_no_world_is_refused() -> None:
    class Env:
        def render(self) -> None: ...

    with pytest.raises(TypeError, match=r"World, got Model$"):
        dynenvs.render(ball_world((0, 0, 1)).model)
    with pytest.raises(TypeError, match=r"got Env; an environment draws itself: env.render"):
        dynenvs.render(Env())


@pytest.mark.thorough
def test_pictures_need_no_display(tmp_path: Path) -> None:
    """In a fresh process without any display; the import alone does not load pygame."""
    code = """
import sys, dynenvs
builder = dynenvs.ModelBuilder().half_space("floor")
builder.body("ball", joint=dynenvs.free(), density=100.0).sphere("skin", "ball", radius=0.1)
world = dynenvs.World(builder.build())
assert "pygame" not in sys.modules
print(dynenvs.render(world, width=64, height=48).shape)
import pygame
assert not pygame.display.get_init()
"""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k not in hidden},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.stdout.strip().endswith("(48, 64, 3)"), done.stderr


def test_links_welded_to_the_world_are_drawn() -> None:
    builder = ModelBuilder().body("post", joint=fixed(position=(0, 0, 1)))
    builder.sphere("knob", "post", radius=0.1, color=RED)
    assert where(dynenvs.render(World(builder.build()), **SIZE), RED).sum() > 50
