"""Worlds without an environment, seen: `dynenvs.render` and `dynenvs.Viewer`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pygame
import pytest
from numpy.typing import NDArray

import dynenvs
from dynenvs.builder import ModelBuilder
from dynenvs.contact.geometry.height_field import surface
from dynenvs.envs.render.cast import BLOCK, PIECE
from dynenvs.envs.render.shadow import SUN, light, open_light, visibility
from dynenvs.envs.render.terrain import Surface
from dynenvs.envs.viewer import FPS
from dynenvs.layout import open_model, open_pairs
from dynenvs.parts import Joint, fixed, free, prismatic, revolute, spherical
from dynenvs.world import World

Picture = NDArray[np.uint8]
Array = NDArray[Any]
RED, GREEN = (230, 40, 30), (40, 190, 60)
SIZE: dict[str, Any] = {"width": 240, "height": 160}


def ball_world(
    *places: tuple[float, float, float], ground: str = "", joint: Joint | None = None
) -> World:
    """Balls of 0.1 m at these places, the first red and the others green."""
    builder = ModelBuilder(max_contacts=20)
    if ground == "half_space":
        builder.half_space("ground")
    if ground == "height_field":
        builder.height_field("ground", heights=np.zeros((5, 5)), half_size=(2, 2))
    if ground == "block_field":
        builder.block_field("ground", heights=np.zeros((5, 5)), half_size=(2, 2))
    for i, place in enumerate(places):
        joint_here = Joint(**{**vars(joint or free()), "position": place})
        builder.body(f"ball {i}", joint=joint_here, density=1000.0)
        builder.sphere(f"skin {i}", f"ball {i}", radius=0.1, color=GREEN if i else RED)
    return World(builder.build())


def where(picture: Picture, color: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Pixels whose colour is rather this pure one than any other."""
    strong = int(np.argmax(color))
    rest = np.delete(picture.astype(int), strong, axis=2).max(axis=2)
    return np.asarray(picture[..., strong] > 1.6 * rest + 20)


def middle(mask: NDArray[np.bool_]) -> Array:
    """Column and row of the middle of marked pixels, from the picture's middle [px]."""
    rows, columns = np.nonzero(mask)
    assert len(rows) > 10
    height, width = mask.shape
    return np.array([columns.mean() + 0.5 - width / 2, rows.mean() + 0.5 - height / 2])


# Pictures


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
        timeout=300,
        check=False,
    )
    assert done.stdout.strip().endswith("(48, 64, 3)"), done.stderr


# Ground and light


def test_terrain_is_drawn_where_it_is_touched() -> None:
    """The net's corners lie on the surface of contact, between the array's points as well."""
    heights = np.random.default_rng(0).uniform(0, 0.5, (6, 9))
    builder = ModelBuilder(max_contacts=9)
    builder.height_field("hills", heights=heights, half_size=(2.0, 3.0), position=(1, 0, 0.2))
    builder.body("ball", joint=free(), density=1000.0).sphere("skin", "ball", radius=0.05)
    model = builder.build()
    points, normals = Surface(model.geoms[0]).near(np.zeros(3), np.eye(3), np.zeros(3))
    assert len(points) > 60  # finer than the array
    m = open_model(model.packed)
    pairs, packed_heights = open_pairs(m, model.packed)
    near = points[::7, ::5].reshape(-1, 3)
    touched = [surface(pairs[0], packed_heights, x - 1.0, y)[0] + 0.2 for x, y, _ in near]
    np.testing.assert_allclose(near[:, 2], touched, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=2), 1.0)


def test_blocks_are_drawn_where_they_are() -> None:
    """Every corner of a top lies at its block's height, far beyond the array's border too."""
    heights = np.arange(12.0).reshape(3, 4)
    builder = ModelBuilder().block_field("steps", heights=heights, half_size=(1.5, 2.0))
    points, normals = Surface(builder.build().geoms[0]).near(np.zeros(3), np.eye(3), np.zeros(3))
    inner = points[1::4, 1::4] + points[2::4, 2::4]  # two opposite corners of each top
    x, y, z = 0.5 * np.moveaxis(inner, -1, 0)
    i = np.clip(np.floor(x + 1.5).astype(int), 0, 2)
    j = np.clip(np.floor(y + 2.0).astype(int), 0, 3)
    close = (np.abs(x) < 11) & (np.abs(y) < 11)
    np.testing.assert_array_equal(z[close], heights[i, j][close])
    assert points[..., 0].max() > 50
    assert set(np.unique(normals)) == {-1.0, 0.0, 1.0}


def test_the_highest_of_level_floors_is_seen() -> None:
    builder = ModelBuilder().half_space("cellar", position=(0, 0, -1)).half_space("floor")
    builder.sphere("ball", "world", radius=0.2, position=(0, 0, -0.5), color=RED)
    builder.sphere("peak", "world", radius=0.2, position=(0, 0, 0.5), color=GREEN)
    picture = dynenvs.render(World(builder.build()), elevation=0.5, **SIZE)
    assert where(picture, GREEN).sum() > 50
    assert where(picture, RED).sum() == 0


def test_ground_on_a_moving_body_moves_with_it() -> None:
    builder = ModelBuilder().body("lift", joint=prismatic(axis=(0, 0, 1)), mass=1.0)
    builder.height_field("deck", "lift", heights=np.zeros((3, 3)), half_size=(1, 1))
    builder.sphere("ball", "world", radius=0.1, position=(0, 0, 0.5), color=RED)
    world = World(builder.build())
    options: dict[str, Any] = {"look_at": (0, 0, 0.5), "distance": 2.0, **SIZE}
    assert where(dynenvs.render(world, **options), RED).sum() > 50
    world.q = [0.7]
    assert where(dynenvs.render(world, **options), RED).sum() == 0


def boxes(*rows: tuple[tuple[float, ...], tuple[float, ...]]) -> Array:
    """Records PIECE of upright boxes from (centre, half edges), fixed in the world."""
    made = np.zeros(len(rows), PIECE)
    for piece, (center, half) in zip(made, rows, strict=True):
        piece["kind"], piece["R"] = BLOCK, np.eye(3)
        piece["center"], piece["half"] = center, half
    return made


def bright(pieces: Array, place: tuple[float, ...], own: int = -1) -> float:
    sun = light(SUN, 0.1, pieces)
    return float(visibility(open_light(sun), sun.casters, sun.table, place, own))


def test_a_hundred_boxes_cast_a_hundred_shadows() -> None:
    """Each darkens the floor next to it, away from the sun; fixed ones too."""
    grid = [(float(i), float(j), 0.1) for i in range(10) for j in range(10)]
    pieces = boxes(*[(center, (0.1, 0.1, 0.1)) for center in grid])
    for x, y, _ in grid:
        assert bright(pieces, (x + 0.11, y + 0.11, 0.0)) < 0.1
        assert bright(pieces, (x - 0.2, y - 0.2, 0.0)) == 1.0


def test_what_lies_on_a_wide_slab_is_not_in_its_shadow() -> None:
    """Wherever it lies; what is below the slab is."""
    pieces = boxes(((0, 0, 0), (4.0, 4.0, 0.1)), ((3, 3, 0.2), (0.1, 0.1, 0.1)))
    for x in np.linspace(-3.9, 3.9, 7):
        assert bright(pieces, (x, 3.5, 0.15)) > 0.95
        assert bright(pieces, (0.9 * x, 0.0, -0.3)) < 0.05


def test_a_scene_a_hundred_times_as_large_looks_the_same() -> None:
    pictures = []
    for scale in (1.0, 100.0, 0.01):
        builder = ModelBuilder().half_space("floor")
        builder.body("b", joint=free(), mass=1.0, inertia=(1, 1, 1))
        builder.box("box", "b", half_size=np.array([0.2, 0.3, 0.1]) * scale)
        builder.point("tip", "b", np.array([0, 0, 0.3]) * scale)
        world = World(builder.build())
        world.q[2] = 0.15 * scale
        pictures.append(dynenvs.render(world, **SIZE).astype(int))
    for other in pictures[1:]:
        assert (np.abs(other - pictures[0]).max(axis=2) > 24).mean() < 0.02


# The window


@pytest.fixture
def falling() -> World:
    return ball_world((0, 0, 1), ground="half_space")


def press(*keys: int) -> None:
    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


def test_a_loop_of_one_s_own_shows_the_world_until_the_window_is_closed(falling: World) -> None:
    with dynenvs.Viewer(falling, speed=10.0, **SIZE) as viewer:
        rounds = 0
        while viewer.is_open:
            falling.step()
            viewer.draw()
            rounds += 1
            if rounds == 1:
                shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
            if rounds == 100:
                press(pygame.K_ESCAPE)
        assert rounds > 99
        viewer.draw()  # shows nothing
    assert not viewer.is_open
    assert not pygame.display.get_init()
    assert where(shown, RED).sum() > 50
    viewer.close()


def test_time_passes_at_the_asked_speed_and_no_picture_is_drawn_in_vain(
    falling: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dynenvs.Viewer(falling, speed=0.5, **SIZE) as viewer:
        viewer.draw()
        drawn: list[float] = []
        plain = viewer._renderer.draw
        monkeypatch.setattr(viewer._renderer, "draw", lambda f: (drawn.append(0.0), plain(f))[1])
        start = time.perf_counter()
        for _ in range(40):
            falling.step()  # 5 ms, in the window 10
            viewer.draw()
        took = time.perf_counter() - start
    assert took > 0.3  # 0.4 s but for the first and last picture
    assert len(drawn) <= 0.4 * FPS + 1
    assert len(drawn) >= 10


def test_a_world_that_stands_still_or_begins_again_is_drawn_all_the_same(falling: World) -> None:
    with dynenvs.Viewer(falling, **SIZE) as viewer:
        viewer.draw()
        falling.step(steps=400)
        falling.reset()
        for _ in range(3):
            press(pygame.K_RIGHT)
            azimuth = viewer._renderer.camera.azimuth  # type: ignore[union-attr]
            viewer.draw()
            assert viewer._renderer.camera.azimuth > azimuth  # type: ignore[union-attr]


def test_space_pauses_and_h_tells_the_keys(falling: World) -> None:
    with dynenvs.Viewer(falling, **SIZE) as viewer:
        press(pygame.K_SPACE, pygame.K_h)
        pygame.time.set_timer(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_SPACE), 200, loops=1)
        start = time.perf_counter()
        viewer.draw()
        assert time.perf_counter() - start > 0.15
        assert viewer.is_open
        keys = viewer._renderer._controls.help
    assert "zoom" in keys
    assert "push" not in keys  # there is no robot of ours to push


def test_the_camera_goes_with_a_body() -> None:
    world = ball_world((0, 0, 1), (0, 3, 1))
    with dynenvs.Viewer(world, look_at="ball 0", distance=4.0, **SIZE) as viewer:
        world.q[:3] = (30, 0, 0)
        viewer.draw()
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    np.testing.assert_allclose(middle(where(shown, RED)), 0.0, atol=2.0)


def test_without_a_display_it_says_what_to_do(
    falling: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "nonsense")
    pygame.display.quit()
    with pytest.raises(RuntimeError, match=r"needs a display.*dynenvs\.render.*SDL_VIDEODRIVER"):
        dynenvs.Viewer(falling)


def test_speed_must_be_positive(falling: World) -> None:
    with pytest.raises(ValueError, match=r"speed must be a number in"):
        dynenvs.Viewer(falling, speed=0.0)


def test_links_welded_to_the_world_are_drawn() -> None:
    builder = ModelBuilder().body("post", joint=fixed(position=(0, 0, 1)))
    builder.sphere("knob", "post", radius=0.1, color=RED)
    assert where(dynenvs.render(World(builder.build()), **SIZE), RED).sum() > 50
