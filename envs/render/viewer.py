"""Worlds without an environment, seen: `render` makes a picture, `Viewer` opens a window."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.checks import choice, flag, number, picture_side
from dynenvs.envs.render import Frame, Renderer
from dynenvs.envs.render.framing import (
    AROUND,
    LONG,
    PARALLEL,
    SIDE,
    Shot,
    is_flat,
    shot_of,
    sights,
    view_of,
)
from dynenvs.envs.render.orbit import FIELD, HIGH, LOW, OrbitCamera
from dynenvs.envs.render.scene import Scene
from dynenvs.envs.render.side import SideView
from dynenvs.envs.render.snapshot import snapshot
from dynenvs.envs.render.window import Mode
from dynenvs.model.annotations import Eye
from dynenvs.model.model import Model
from dynenvs.model.validation import finite_vector
from dynenvs.simulation.world import World

View = Literal["side", "perspective"]
VIEWS = ("side", "perspective")
FPS = 60.0  # pictures a second in a window [1/s]
NEAREST = 0.1  # of what a camera of the model looks at, at least [m]
SLOWEST = 4.0  # and at least so many, however long the steps between them are [1/s]


class Camera(NamedTuple):
    """Where the user wants the camera; None where that is left to us."""

    view: str | None
    look_at: ArrayLike | str | None
    distance: float | None
    azimuth: float | None
    elevation: float | None
    name: str | None


def render(
    world: World,
    *,
    width: int = 960,
    height: int = 540,
    view: View | None = None,
    look_at: ArrayLike | str | None = None,
    distance: float | None = None,
    azimuth: float | None = None,
    elevation: float | None = None,
    camera: str | None = None,
    forces: bool = False,
    shapes: str = "visual",
) -> NDArray[np.uint8]:
    """A picture of a world as it is now; needs no display and changes nothing.

    What is not given about the camera is chosen so that all that moves is in the picture.  For a
    film, give `look_at` and `distance`, so that the camera stands still from picture to picture.

    Args:
        world: any `World`.
        width, height: of the picture [px], 16 to 8192.
        view: "perspective", or "side" (from -y, x to the right, all distances alike); if None,
            "side" for models that move in the x-z plane.
        look_at: world point in the middle of the picture [m], shape (3,), or the name of a body,
            whose origin that is.
        distance: of the camera from there [m].
        azimuth: of the camera seen from there, from the x axis to the left [rad]; "perspective".
        elevation: of the camera above that point's level [rad], -0.03 to 1.48; "perspective".
        camera: name of a camera of the model (`Model.eyes`), instead of all these.
        forces: whether to draw the contact forces of the last step as arrows.
        shapes: what bodies are drawn as: "visual", their visual meshes where they have some, or
            "collision", the shapes that touch.

    Returns the picture, shape (height, width, 3), red, green and blue from 0 to 255.

    Raises:
        TypeError: `world` is no World.
        ValueError: an argument out of its range, or a state that is not finite.

    Example::

        from PIL import Image

        Image.fromarray(dynenvs.render(world)).save("world.png")
    """
    wanted = Camera(view, look_at, distance, azimuth, elevation, camera)
    renderer, shot = _open(world, "rgb_array", width, height, wanted, shapes)
    picture = renderer.draw(_frame(world, renderer, shot, wanted, flag(forces, "forces")))
    assert picture is not None
    return picture


class Viewer:
    """A window that shows a world while your own loop steps it.

    Time passes in the window as `speed` says, however often the loop draws: `draw` waits where the
    world is ahead of that, and shows no picture where the last one is still fresh.

    In the window, space pauses (and `draw` waits), `.` goes on by one picture, arrows and mouse
    move the camera, `+` and `-` zoom, escape closes it; `h` shows the keys.

    What is not given suits the world as it is when the window opens.  With a body's name for
    `look_at` the camera goes with that body.

    Args:
        world: any `World`.
        width, height, view, look_at, distance, azimuth, elevation, camera, forces, shapes: as for
            `render`.
        speed: simulated seconds a second.
        title: of the window.

    Raises:
        TypeError: `world` is no World.
        ValueError: an argument out of its range.
        RuntimeError: there is no display; with the environment variable SDL_VIDEODRIVER=dummy it
            works all the same and shows nothing.  A process has one window.

    Example::

        with dynenvs.Viewer(world) as viewer:
            while viewer.is_open:
                world.step()
                viewer.draw()
    """

    def __init__(
        self,
        world: World,
        *,
        width: int = 960,
        height: int = 540,
        view: View | None = None,
        look_at: ArrayLike | str | None = None,
        distance: float | None = None,
        azimuth: float | None = None,
        elevation: float | None = None,
        camera: str | None = None,
        forces: bool = False,
        shapes: str = "visual",
        speed: float = 1.0,
        title: str = "dynenvs",
    ) -> None:
        self._wanted = Camera(view, look_at, distance, azimuth, elevation, camera)
        self._speed = number(speed, "speed", 1e-6, 1e6, "simulated seconds a second")
        self._forces = flag(forces, "forces")
        opened = _open(world, "human", width, height, self._wanted, shapes, title)
        self._renderer, self._shot = opened
        self._world, self._shown = world, -math.inf

    @property
    def is_open(self) -> bool:
        """Whether the window is there; False once it was closed, by its user or by `close`."""
        return not self._renderer.closed

    def draw(self) -> None:
        """Show the world as it is now; does nothing once the window is closed.

        Raises:
            ValueError: the world's state is not finite.
        """
        passed = (self._world.time - self._shown) / self._speed
        if not self.is_open or 0.0 < passed < (1.0 - 1e-6) / FPS:
            return
        began_again = passed <= 0.0 or not math.isfinite(passed)
        self._renderer.fps = FPS if began_again else max(1.0 / passed, SLOWEST)
        frame = _frame(self._world, self._renderer, self._shot, self._wanted, self._forces)
        self._renderer.draw(frame._replace(readings={"time": f"{self._world.time:.2f} s"}))
        self._shown = self._world.time

    def close(self) -> None:
        """Close the window; may be called again."""
        self._renderer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _open(
    world: Any,
    mode: Mode,
    width: int,
    height: int,
    camera: Camera,
    shapes: str,
    title: str = "",
) -> tuple[Renderer, Shot]:
    """A renderer whose camera stands where it is wanted, and where that is."""
    if not isinstance(world, World):
        hint = "; an environment draws itself: env.render()" if hasattr(world, "render") else ""
        raise TypeError(f"world must be a dynenvs.World, got {type(world).__name__}{hint}")
    size = picture_side(width, "width"), picture_side(height, "height")
    painted = _view(world.model, camera)
    shot = _shot(world, camera, painted, size[0] / size[1])
    renderer = Renderer(
        world.model,
        mode=mode,
        width=size[0],
        height=size[1],
        fps=FPS,
        title=title,
        view_height=shot.view_height,
        perspective=painted != "flat",
        shapes=shapes,
    )
    eye = renderer.camera
    if isinstance(eye, OrbitCamera):
        eye.azimuth, eye.elevation, eye.field = shot.azimuth, shot.elevation, shot.field
        eye.rise, eye.middle = 0.0, 0.5
    if isinstance(renderer.view, SideView):
        renderer.view.exact = True
    return renderer, shot


def _view(model: Model, camera: Camera) -> str:
    """How to paint: "perspective", "flat" (from the side), or "long": from the side as well, but
    of a scene that only rays get right, by a lens that sees nearly parallel ones."""
    if camera.name is not None:
        others = [name for name in Camera._fields[:-1] if getattr(camera, name) is not None]
        if others:
            raise ValueError(f"camera={camera.name!r} says where it stands: leave out {others[0]}")
        if camera.name not in model.eyes:
            known = ", ".join(model.eyes) or "none"
            raise ValueError(f"camera: unknown name {camera.name!r}; the model has: {known}")
        return "perspective"
    angles = {"azimuth": camera.azimuth, "elevation": camera.elevation}
    given = [name for name, angle in angles.items() if angle is not None]
    view = camera.view
    if view is None:
        view = "perspective" if given else view_of(model)
    elif choice(view, "view", VIEWS) == "side" and given:
        raise ValueError(f"{given[0]} needs view='perspective'; from the side it is fixed")
    if view == "perspective":
        return view
    return "flat" if is_flat(model) else "long"


def _shot(world: World, camera: Camera, painted: str, aspect: float) -> Shot:
    """Where the camera stands: as wanted, else so that everything is in the picture."""
    azimuth, elevation = SIDE
    if painted == "perspective":
        azimuth, elevation = AROUND
        if camera.azimuth is not None:
            azimuth = number(camera.azimuth, "azimuth", -100.0, 100.0, "[rad]")
        if camera.elevation is not None:
            elevation = number(camera.elevation, "elevation", LOW, HIGH, "[rad]")
    distance = camera.distance
    if distance is not None:
        distance = number(distance, "distance", 1e-3, 1e6, "[m]")
    frame = _placed(world)
    target = None if camera.look_at is None else _focus(world.model, frame, camera.look_at)
    field = {"perspective": FIELD, "flat": PARALLEL, "long": LONG}[painted]
    seen = sights(world.model, Scene(world.model, unit=0.0), frame)  # points without radius
    if camera.name is not None:
        eye, axes = _held(world.model.eyes[camera.name], world.model, frame)
        middle = 0.5 * (seen.points.min(axis=0) + seen.points.max(axis=0))
        away = max(float(axes[:, 2] @ (eye - middle)), NEAREST)
        field = world.model.eyes[camera.name].field
        height = 2.0 * away * math.tan(0.5 * field)
        return Shot(eye - away * axes[:, 2], height, azimuth, elevation, field)
    return shot_of(seen, aspect, (azimuth, elevation), field, target=target, distance=distance)


def _held(eye: Eye, model: Model, frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where a camera of the model is [m], shape (3,), and its axes as columns, shape (3, 3)."""
    body = model.body_id(eye.body)
    turn = frame.rotations[body] if eye.turns else np.eye(3)
    return frame.positions[body] + turn @ eye.position, turn @ eye.rotation


def _focus(model: Model, frame: Frame, look_at: Any) -> NDArray[np.float64]:
    """The world point that the user wants to see, or the origin of the body of that name."""
    if isinstance(look_at, str):
        if look_at not in model.body_names:
            names = ", ".join(model.body_names)
            raise ValueError(f"look_at: unknown body {look_at!r}; choose from: {names}")
        return np.array(frame.positions[model.body_id(look_at)])
    return finite_vector(look_at, 3, "look_at")


def _placed(world: World, *, forces: bool = False) -> Frame:
    """The world's bodies and contact forces [N] as they are now."""
    q = finite_vector(world.q, world.model.nq, "world.q")
    impulses = world.get_state()["memory"]["impulse"] / world.timestep if forces else None
    frame = snapshot(world.model, q, impulses)
    there = np.isfinite(frame.rotations).all(axis=(1, 2))
    if not there.all():
        name = world.model.body_names[int(np.argmin(there))]
        raise ValueError(f"world.q: body {name!r} hangs on a quaternion of length zero")
    return frame


def _frame(world: World, renderer: Renderer, shot: Shot, camera: Camera, forces: bool) -> Frame:
    """What to draw, and where to look: where the shot does, or where a body has gone."""
    frame = _placed(world, forces=forces)
    if camera.name is not None and isinstance(renderer.camera, OrbitCamera):
        renderer.camera.held = _held(world.model.eyes[camera.name], world.model, frame)
    follows = isinstance(camera.look_at, str)
    focus = _focus(world.model, frame, camera.look_at) if follows else shot.target
    return frame._replace(focus=focus)
