"""Drawing in perspective: what is where, what hides what, shadows, terrain, keys."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pygame
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from dynenvs.envs.render import Frame, Hooks, Renderer, palette
from dynenvs.envs.render.cast import NOTHING, cast
from dynenvs.envs.render.controls import Controls
from dynenvs.envs.render.mesh import hull_mesh
from dynenvs.envs.render.orbit import OrbitCamera
from dynenvs.envs.render.pieces import BALL, BLOCK, MESH, PIECE, ROD, Pieces, collected
from dynenvs.envs.render.shadow import SUN, light, open_light, visibility
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute

SIZE: dict[str, Any] = {"width": 320, "height": 240}
Picture = NDArray[np.int64]
Array = NDArray[Any]


def walker(ground: str = "floor") -> Model:
    """A box with two legs that floats freely."""
    builder = ModelBuilder(max_contacts=20)
    if ground == "floor":
        builder.half_space("floor")
    if ground == "slope":
        builder.half_space("slope", normal=(-math.sin(0.2), 0.0, math.cos(0.2)))
    if ground == "hills":
        x = np.linspace(-3, 3, 31)
        builder.height_field(
            "hills", heights=0.1 * np.sin(2 * x)[:, None] * np.cos(x), half_size=(3, 3)
        )
    builder.body("trunk", joint=free(), mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.box("hull", "trunk", half_size=(0.2, 0.1, 0.06))
    for side, y in (("left", 0.12), ("right", -0.12)):
        hip = revolute(f"{side} hip", axis=(0, 1, 0), position=(0, y, 0))
        builder.body(side, parent="trunk", joint=hip, mass=1.0, inertia=(0.01, 0.01, 0.01))
        builder.capsule(f"{side} leg", side, start=(0, 0, 0), end=(0, 0, -0.25), radius=0.03)
    return builder.build()


def posed(model: Model, height: float = 0.3, x: float = 0.0) -> Frame:
    """All bodies at their places with straight legs."""
    count = len(model.body_names)
    positions = np.tile([x, 0.0, height], (count, 1))
    positions[0] = 0.0
    positions[2, 1], positions[3, 1] = 0.12, -0.12
    none = np.zeros((0, 3))
    return Frame(
        np.tile(np.eye(3), (count, 1, 1)), positions, none, none, np.array([x, 0.0, 0.0]), {}
    )


def picture(model: Model, frame: Frame, **options: Any) -> Picture:
    renderer = Renderer(model, mode="rgb_array", view_height=1.0, **SIZE, **options)
    image = renderer.draw(frame)
    assert image is not None
    return image.astype(np.int64)


def blue(image: Picture) -> NDArray[np.bool_]:
    """Where the trunk is."""
    return np.asarray(image[..., 2] - image[..., 0] > 70)


@pytest.mark.parametrize("ground", ["floor", "hills", "none"])
def test_a_picture_shows_the_robot_and_comes_out_the_same_each_time(ground: str) -> None:
    model = walker(ground)
    frame = posed(model)
    first = picture(model, frame)
    assert first.shape == (240, 320, 3)
    assert 300 < blue(first).sum() < 20000
    np.testing.assert_array_equal(first, picture(model, frame))


def test_the_camera_follows_goes_round_and_zooms() -> None:
    model = walker()
    frame = posed(model)
    renderer = Renderer(model, mode="rgb_array", view_height=1.0, **SIZE)
    camera = renderer.camera
    assert isinstance(camera, OrbitCamera)

    def seen(frame: Frame) -> NDArray[np.bool_]:
        image = renderer.draw(frame)
        assert image is not None
        return blue(image.astype(np.int64))

    start = seen(frame)
    np.testing.assert_allclose(seen(posed(model, x=7.0)), start)  # 7 m are whole tiles
    camera.orbit(np.pi / 2, 0.0)
    assert (seen(frame) != start).any()
    camera.orbit(-np.pi / 2, 0.0)
    camera.zoom = 1.5
    assert seen(frame).sum() == pytest.approx(1.5**2 * start.sum(), rel=0.1)
    camera.orbit(0.0, 10.0)
    assert camera.elevation < np.pi / 2


def test_points_appear_where_rays_through_them_go() -> None:
    """`project` and `ray` are each other's inverse."""
    camera = OrbitCamera((320, 240), 1.0)
    camera.orbit(0.7, 0.2)
    camera.aim(np.array([0.3, -0.2, 0.4]))
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 3))
    seen = camera.project(points)
    c = camera.record[0]
    way = (
        c.ahead
        + ((seen.pixels[:, 0] - c.column) / c.focal)[:, None] * c.right
        + ((c.row - seen.pixels[:, 1]) / c.focal)[:, None] * c.up
    )
    np.testing.assert_allclose(c.eye + seen.depth[:, None] * way, points, atol=1e-12)
    np.testing.assert_allclose(camera.project(camera.target[None]).pixels, [[160, 0.54 * 240]])


@pytest.mark.slow
@pytest.mark.parametrize("ground", ["floor", "hills"])
def test_thirty_pictures_a_second(ground: str) -> None:
    """At 640 x 480, in CPU time of one core, the quickest of ten."""
    model = walker(ground)
    frame = posed(model)
    renderer = Renderer(model, mode="rgb_array", view_height=1.0, width=640, height=480)
    renderer.draw(frame)
    times = []
    for _ in range(10):
        start = time.process_time()
        renderer.draw(frame)
        times.append(time.process_time() - start)
    assert min(times) < 1 / 30


# Pieces


GEM = np.random.default_rng(8).normal(size=(30, 3)) * (0.09, 0.06, 0.03)


def pieces(*rows: tuple[int, tuple[float, ...], tuple[float, ...], Array]) -> Pieces:
    """Pieces from (kind, centre, half, R); meshes are the hull of GEM."""
    made = np.zeros(len(rows), PIECE)
    for piece, (kind, center, half, R) in zip(made, rows, strict=True):
        piece["kind"], piece["body"], piece["center"], piece["R"] = kind, 1, center, R
        piece["half"][: len(half)] = half
    return collected(made, [hull_mesh(GEM)] * sum(row[0] == MESH for row in rows))


def sampled(camera: OrbitCamera, made: Pieces) -> tuple[Array, Array]:
    width, height = camera.size
    depth = np.full((2 * height, 2 * width), np.inf, np.float32)
    code = np.full((2 * height, 2 * width), NOTHING, np.int32)
    cast(camera.record[0], made, depth, code, np.empty((len(made.records), 4), np.int64))
    return depth, code


@pytest.mark.parametrize("seed", range(4))
def test_samples_see_the_surfaces_of_pieces(seed: int) -> None:
    """Each sample's point lies on its piece; rays that pass a piece by do not come near it."""
    rng = np.random.default_rng(seed)
    camera = OrbitCamera((80, 60), 1.0)
    camera.aim(np.zeros(3))
    kinds = [(BALL, (0.15,)), (ROD, (0.08, 0.2)), (BLOCK, (0.2, 0.1, 0.05))]
    kinds.append((MESH, tuple(np.abs(GEM).max(axis=0))))
    for kind, half in kinds:
        R = Rotation.random(random_state=rng).as_matrix()
        made = pieces((kind, tuple(rng.uniform(-0.1, 0.1, 3)), half, R))
        depth, code = sampled(camera, made)
        rows, columns = np.nonzero(code != NOTHING)
        assert len(rows) > 200
        way = rays(camera)
        points = camera.record[0].eye + depth[rows, columns, None] * way[rows, columns]
        assert np.abs(outside(made.records[0], points)).max() < 1e-5
        # Elsewhere nothing lies on the ray
        free_rows, free_columns = np.nonzero(code == NOTHING)
        for t in np.linspace(0.8, 2.8, 60):
            ahead = camera.record[0].eye + t * way[free_rows, free_columns]
            assert outside(made.records[0], ahead).min() > -1e-9


def rays(camera: OrbitCamera) -> Array:
    """Direction of each sample's ray, shape (2 h, 2 w, 3)."""
    width, height = camera.size
    c = camera.record[0]
    x = (0.5 * np.arange(2 * width) + 0.25 - c.column) / c.focal
    y = (c.row - 0.5 * np.arange(2 * height) - 0.25) / c.focal
    return c.ahead + x[None, :, None] * c.right + y[:, None, None] * c.up


def outside(piece: Any, points: Array) -> Array:
    """Signed distance of points from a piece."""
    local = (points - piece["center"]) @ piece["R"]
    half = piece["half"]
    if piece["kind"] == MESH:
        planes = ConvexHull(GEM).equations
        return np.asarray((local @ planes[:, :3].T + planes[:, 3]).max(axis=1))
    if piece["kind"] == BLOCK:
        beyond = np.abs(local) - half
        out = np.linalg.norm(np.maximum(beyond, 0), axis=1)
        return out + np.minimum(beyond.max(axis=1), 0)
    if piece["kind"] == ROD:
        local[:, 2] -= np.clip(local[:, 2], -half[1], half[1])
    return np.linalg.norm(local, axis=1) - half[0]


def test_nearer_pieces_hide_farther_ones() -> None:
    """Of two equal balls on the line of sight the nearer one is seen, in whichever order."""
    camera = OrbitCamera((80, 60), 1.0)
    camera.aim(np.zeros(3))
    ahead = camera.record[0].ahead
    near, far = tuple(-0.3 * ahead), tuple(0.3 * ahead)
    for order in ((near, far), (far, near)):
        made = pieces(*[(BALL, center, (0.1,), np.eye(3)) for center in order])
        _, code = sampled(camera, made)
        assert made.owners[code[2 * 32, 2 * 40]] == order.index(near)
        assert set(np.unique(code)) == {NOTHING, order.index(near)}


# Light


def test_shadows_fall_along_the_light_and_end_softly() -> None:
    made = pieces((BALL, (0.0, 0.0, 0.5), (0.1,), np.eye(3)))
    sun = light(SUN, 0.1, made)
    beams = open_light(sun)

    def bright(p: Array, own: int = -1) -> float:
        return float(visibility(beams, sun.casters, sun.table, tuple(p), own))

    foot = np.array([0.0, 0.0, 0.5]) - 0.5 / SUN[2] * SUN
    assert bright(foot) < 0.05
    assert bright(np.array([0.0, 0.0, 0.5]) + 0.3 * SUN) == 1.0  # between the ball and the sun
    assert bright(foot, own=0) == 1.0
    across = np.cross(SUN, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    steps = [bright(foot + s * across) for s in np.linspace(0, 0.3, 60)]
    assert (np.diff(steps) > -1e-12).all()
    assert np.diff(steps).max() < 0.2
    assert steps[-1] == 1.0


def test_the_robot_darkens_the_floor_below_it() -> None:
    model = walker()
    frame = posed(model)
    away = posed(model)
    away.positions[1:, 2] += 50.0
    with_robot, without = picture(model, frame), picture(model, away)
    darker = (without - with_robot).sum(axis=2) > 60
    assert (darker & ~blue(with_robot)).sum() > 500


def test_a_slope_ends_against_the_sky_as_a_tilted_line() -> None:
    """A slope that rises to the right; in a level floor's haze its edge would be lost."""
    image = picture(walker("slope"), posed(walker("slope")))
    edges = []
    for column in (10, 310):
        bright = image[:, column].sum(axis=1)
        edge = int(np.flatnonzero(bright == sum(palette.SKY_LOW))[-1])
        assert bright[edge] - bright[edge + 1] > 15
        edges.append(edge)
    assert edges[0] - edges[1] > 0.5 * 300 * math.tan(0.2)  # seen from an oblique side


def test_hills_hide_what_is_behind_them() -> None:
    """A ridge between the robot and the camera covers it."""
    builder = ModelBuilder()
    x = np.linspace(-3, 3, 61)
    camera = OrbitCamera((1, 1), 1.0)
    toward = np.array([np.cos(camera.azimuth), np.sin(camera.azimuth)])
    ahead = x[:, None] * toward[0] + x[None, :] * toward[1]
    ridge = 0.5 * np.exp(-(((ahead - 0.8) / 0.15) ** 2))
    builder.height_field("ridge", heights=ridge, half_size=(3, 3))
    builder.body("trunk", joint=free(), mass=5.0, inertia=(0.1, 0.1, 0.1))
    builder.box("hull", "trunk", half_size=(0.2, 0.1, 0.06), color=(40, 90, 220))
    model = builder.build()
    none = np.zeros((0, 3))
    low, high = (
        Frame(
            np.tile(np.eye(3), (2, 1, 1)),
            np.array([[0, 0, 0], [0, 0, z]]),
            none,
            none,
            np.zeros(3),
            {},
        )
        for z in (0.1, 0.6)
    )
    assert blue(picture(model, low)).sum() == 0
    assert blue(picture(model, high)).sum() > 100


# Keys


def press(*keys: int) -> None:
    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key))


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    pygame.display.set_mode((64, 48))
    pygame.event.clear()
    yield
    pygame.display.quit()


@pytest.mark.usefixtures("window")
def test_keys_pause_step_push_command_and_move_the_camera() -> None:
    camera = OrbitCamera((64, 48), 1.0)
    pushes: list[str] = []
    steps: list[tuple[int, int, int]] = []
    hooks = Hooks(lambda: pushes.append("push"), lambda *step: steps.append(step))
    controls = Controls(camera, hooks)
    assert controls.read()
    press(pygame.K_SPACE)
    assert not controls.read()
    press(pygame.K_PERIOD)
    assert controls.read()  # one step
    assert not controls.read()
    press(pygame.K_SPACE, pygame.K_p, pygame.K_w, pygame.K_e, pygame.K_d)
    assert controls.read()
    assert pushes == ["push"]
    assert steps == [(1, 0, 0), (0, 0, -1), (0, -1, 0)]
    azimuth, elevation = camera.azimuth, camera.elevation
    press(pygame.K_RIGHT, pygame.K_UP, pygame.K_PLUS)
    controls.read()
    assert camera.azimuth > azimuth
    assert camera.elevation > elevation
    assert camera.zoom > 1.0
    press(pygame.K_ESCAPE)
    controls.read()
    assert controls.closed


@pytest.mark.usefixtures("window")
def test_a_paused_window_goes_on_when_told() -> None:
    model = walker()
    renderer = Renderer(model, mode="human", fps=500.0, view_height=1.0, **SIZE)
    press(pygame.K_SPACE, pygame.K_LEFT, pygame.K_h)
    pygame.time.set_timer(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_SPACE), 200, loops=1)
    start = pygame.time.get_ticks()
    renderer.draw(posed(model))
    assert pygame.time.get_ticks() - start >= 150
    assert not renderer.closed
    renderer.close()
