"""Drawing: pictures have the right shape, show what they are given, and need no display."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pygame
import pytest
from numpy.typing import NDArray

from dynenvs.envs.render import Frame, Renderer
from dynenvs.envs.render.backdrop import round_step
from dynenvs.envs.render.camera import SideCamera
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import prismatic, revolute

SIZE: dict[str, Any] = {"width": 320, "height": 180, "view_height": 0.87}
Picture = NDArray[np.uint8]


def hopper(*, slope: bool = False) -> Model:
    """A box on a leg with a foot, above a floor."""
    builder = ModelBuilder(directions=2)
    builder.half_space("floor")
    if slope:
        builder.half_space("ramp", position=(1.0, 0.0, 0.0), normal=(-0.3, 0.0, 1.0))
    builder.body("slide", joint=prismatic("x", axis=(1, 0, 0)))
    builder.body("trunk", parent="slide", joint=prismatic("z"), mass=5.0)
    builder.box("hull", "trunk", half_size=(0.25, 0.1, 0.1), collide=False)
    hip = revolute("hip", axis=(0, 1, 0))
    builder.body("leg", parent="trunk", joint=hip, mass=1.0, com=(0, -0.1, -0.2))
    builder.capsule("shin", "leg", start=(0, -0.1, 0), end=(0, -0.1, -0.4), radius=0.05)
    builder.sphere("tip", "leg", radius=0.06, position=(0, -0.1, -0.4))
    builder.point("spur", "leg", position=(0.05, -0.1, -0.4))
    return builder.build()


def pendulum() -> Model:
    """One link on a pivot, no floor."""
    builder = ModelBuilder(directions=2)
    builder.body("arm", joint=revolute("pivot", axis=(0, 1, 0)), mass=1.0, com=(0, 0, -0.2))
    builder.capsule("rod", "arm", start=(0, 0, 0), end=(0, 0, -0.5), radius=0.03)
    return builder.build()


def posed(model: Model, *, x: float = 0.0, height: float = 0.5, angle: float = 0.0) -> Frame:
    """All bodies at (x, 0, height), the last one turned by `angle` about y."""
    count = len(model.body_names)
    rotations = np.tile(np.eye(3), (count, 1, 1))
    c, s = np.cos(angle), np.sin(angle)
    rotations[-1] = [[c, 0, s], [0, 1, 0], [-s, 0, c]]
    positions = np.tile([x, 0.0, height], (count, 1))
    positions[0] = 0.0
    none = np.zeros((0, 3))
    return Frame(rotations, positions, none, none, np.array([x, 0.0, 0.0]), {"time": "0.00 s"})


def picture(model: Model, frame: Frame, **options: Any) -> Picture:
    renderer = Renderer(model, mode="rgb_array", **{**SIZE, **options})
    image = renderer.draw(frame)
    renderer.close()
    assert image is not None
    return image


@pytest.mark.parametrize("model", [hopper(), hopper(slope=True), pendulum()])
def test_a_picture_has_the_asked_shape_and_the_same_pixels_each_time(model: Model) -> None:
    frame = posed(model, x=1.0, angle=0.3)
    first = picture(model, frame)
    assert first.shape == (180, 320, 3)
    assert first.dtype == np.uint8
    assert first.std() > 10.0
    np.testing.assert_array_equal(first, picture(model, frame))


def test_pictures_do_not_depend_on_what_was_drawn_before_nor_share_memory() -> None:
    model = hopper()
    renderer = Renderer(model, mode="rgb_array", **SIZE)
    frame = posed(model)
    first = renderer.draw(frame)
    assert first is not None
    kept = first.copy()
    renderer.draw(posed(model, x=2.0, angle=1.0))
    np.testing.assert_array_equal(first, kept)
    again = renderer.draw(frame)
    assert again is not None
    np.testing.assert_array_equal(first, again)


def test_pose_distance_readings_and_forces_show() -> None:
    model = hopper()
    frame = posed(model)
    plain = picture(model, frame)
    pushed = frame._replace(
        contact_points=np.array([[0.0, -0.1, 0.04]]), contact_forces=np.array([[5.0, 0.0, 60.0]])
    )
    for other in (
        posed(model, angle=0.4),
        posed(model, x=0.3),  # the robot stays in the middle; the floor's marks pass by
        frame._replace(readings={"time": "1.23 s"}),
        frame._replace(readings={"speed": "0.5 / 1.0 m/s"}, speed=(0.5, 1.0)),
        pushed,
    ):
        assert np.any(picture(model, other) != plain)


def test_an_arrow_is_red_and_as_long_as_the_weight_says() -> None:
    """Of the robot's weight, 6 kg: 0.24 of the view's height."""
    model = hopper()
    force = 0.3 / (0.24 * 1.8) * 6.0 * 9.81  # of an arrow of 0.3 m
    frame = posed(model)._replace(
        contact_points=np.array([[0.6, 0.0, 0.0]]),
        contact_forces=np.array([[0.0, 0.0, force]]),
        readings={},
    )
    # 100 px/m: 30 px, seen a little from above
    image = picture(model, frame, view_height=1.8).astype(int)
    red = (image[..., 0] > 180) & (image[..., 1] < 110) & (image[..., 2] < 110)
    rows, columns = np.nonzero(red)
    assert abs(columns.mean() - (160 + 60)) < 1.0
    assert 28 <= np.ptp(rows) <= 33


def test_the_camera_follows_the_focus() -> None:
    model = hopper()
    renderer = Renderer(model, mode="rgb_array", **SIZE)
    renderer.draw(posed(model, x=0.0))
    image = renderer.draw(posed(model, x=5.0))
    assert image is not None
    blue = image[..., 2].astype(int) - image[..., 0] > 90  # the trunk
    assert blue.any()


def test_parts_in_front_hide_parts_behind() -> None:
    """The leg at y = -0.1 is nearer than the trunk; at y = +0.1 it would hide behind it."""
    model = hopper()
    near = posed(model, height=0.5)
    far = posed(model, height=0.5)
    far.rotations[-1] = np.diag([-1.0, -1.0, 1.0])  # half a turn about z: the leg changes sides
    images = [picture(model, frame).astype(int) for frame in (near, far)]
    blue = [int(np.sum(image[..., 2] - image[..., 0] > 90)) for image in images]
    assert blue[1] > blue[0] + 20


def test_a_high_robot_stays_in_the_picture() -> None:
    model = hopper()
    renderer = Renderer(model, mode="rgb_array", **SIZE)
    frame = posed(model, height=30.0)._replace(focus=np.array([0.0, 0.0, 30.0]), readings={})
    image = renderer.draw(frame)
    assert image is not None
    assert np.any(image[..., 2].astype(int) - image[..., 0] > 90)


def test_side_camera_looks_along_y_with_x_to_the_right_and_z_up() -> None:
    camera = SideCamera((200, 100), 2.0, pitch=0.0)
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 1.0, 0.0]])
    seen = camera.project(points)
    np.testing.assert_allclose(seen.pixels, [[100, 50], [150, 50], [100, 25], [100, 50]])
    assert seen.depth[3] > seen.depth[0]
    np.testing.assert_allclose(seen.scale, 50.0)


def test_marks_stand_at_round_distances() -> None:
    assert [round_step(x) for x in (0.3, 0.5, 0.7, 1.2, 30.0)] == [0.5, 0.5, 1.0, 2.0, 50.0]


def test_close_twice_and_then_draw() -> None:
    model = pendulum()
    renderer = Renderer(model, mode="rgb_array", **SIZE)
    renderer.close()
    renderer.close()
    assert renderer.closed
    with pytest.raises(RuntimeError, match="closed"):
        renderer.draw(posed(model))


def test_text_survives_someone_elses_pygame_quit() -> None:
    model = pendulum()
    renderer = Renderer(model, mode="rgb_array", **SIZE)
    renderer.draw(posed(model))
    pygame.quit()
    renderer.draw(posed(model)._replace(readings={"tip": "0.2 m"}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "ansi"}, "choose from: human, rgb_array"),
        ({"mode": "rgb_array", "width": 3}, r"width must be a whole number in \[16, 8192\]"),
        ({"mode": "rgb_array", "view_height": -1.0}, "view_height must be positive"),
    ],
)
def test_wrong_options_say_what_would_be_right(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Renderer(pendulum(), **{"view_height": 1.0, **options})


# The window


@pytest.fixture
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.usefixtures("no_window")
def test_human_mode_shows_the_same_picture_and_ends_when_its_window_is_closed() -> None:
    model = hopper()
    frame = posed(model)
    renderer = Renderer(model, mode="human", fps=1000.0, **SIZE)
    assert renderer.draw(frame) is None
    window = pygame.display.get_surface()
    assert window is not None
    shown = pygame.surfarray.array3d(window).swapaxes(0, 1)
    np.testing.assert_array_equal(shown, picture(model, frame))
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    renderer.draw(frame)
    assert renderer.closed
    assert renderer.draw(frame) is None
    renderer.close()


@pytest.mark.usefixtures("no_window")
def test_human_mode_keeps_to_its_pace() -> None:
    model = pendulum()
    renderer = Renderer(model, mode="human", fps=50.0, **SIZE)
    renderer.draw(posed(model))
    start = pygame.time.get_ticks()
    for _ in range(5):
        renderer.draw(posed(model))
    assert pygame.time.get_ticks() - start >= 90
    renderer.close()


@pytest.mark.usefixtures("no_window")
def test_human_mode_survives_someone_elses_pygame_quit() -> None:
    model = pendulum()
    renderer = Renderer(model, mode="human", **SIZE)
    pygame.quit()
    assert renderer.draw(posed(model)) is None
    assert renderer.closed


def test_human_mode_without_a_display_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "nonexistent")
    with pytest.raises(RuntimeError, match="SDL_VIDEODRIVER=dummy"):
        Renderer(pendulum(), mode="human", view_height=1.0)


def test_arrays_need_neither_display_nor_sound() -> None:
    code = (
        "import pygame; from dynenvs.model.builder import ModelBuilder; import numpy as np\n"
        "from dynenvs.envs.render import Frame, Renderer\n"
        "m = ModelBuilder().body('b', mass=1.0).sphere('s', 'b', radius=0.1).build()\n"
        "none = np.zeros((0, 3))\n"
        "f = Frame(np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), none, none, np.zeros(3), {})\n"
        "r = Renderer(m, mode='rgb_array', width=64, height=36, view_height=1.0)\n"
        "assert r.draw(f).shape == (36, 64, 3)\n"
        "assert not pygame.display.get_init() and not pygame.mixer.get_init()\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
