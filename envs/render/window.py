"""Renderer: one picture from a frame, as an array or in a window."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
import pygame
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.backdrop import Backdrop
from dynenvs.envs.render.camera import SideCamera
from dynenvs.envs.render.hud import Hud
from dynenvs.envs.render.paint import Painter, flat_table, light_table
from dynenvs.envs.render.scene import Frame, HalfSpace, Scene, Solid
from dynenvs.model import Model

Mode = Literal["human", "rgb_array"]
MODES: tuple[str, ...] = get_args(Mode)

GROUND_LINE = 0.80  # height of the robot's line on the floor, from the top of the picture
ROOM = 1.45  # height of the view, in heights of a robot that stands on a floor
SWEEP_ROOM = 1.22  # the same for all that a robot can sweep
HEADROOM = 0.62  # the camera rises with a focus above this share of the view, from the floor
FORCE_LENGTH = 0.24  # arrow of one body weight, as a share of the view's height


class Renderer:
    """Draws a model from the side, into an array or into a window.

    Args:
        model: what to draw.
        mode: "rgb_array" returns pictures and needs no display; "human" shows them in a window.
        width, height: of the picture [px].
        fps: pictures a second that "human" is paced to [1/s].
        title: at the top right and of the window.
        view_height: height of the picture [m]; to suit the robot if None.
        follow: the camera goes with the focus; if not, it stays at the first frame's focus.
        force_scale: length of contact-force arrows [m/N]; by the robot's weight if None.

    Attributes:
        closed: True once `close` was called or the window was closed by its user.

    Raises:
        ValueError: unknown mode, or a size that is not positive.
        RuntimeError: mode "human" without a display.
    """

    def __init__(
        self,
        model: Model,
        *,
        mode: Mode,
        width: int = 960,
        height: int = 540,
        fps: float = 50.0,
        title: str = "",
        view_height: float | None = None,
        follow: bool = True,
        force_scale: float | None = None,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"unknown render mode {mode!r}; choose from: {', '.join(MODES)}")
        if min(width, height) < 16:
            raise ValueError(f"a picture needs at least 16 x 16 pixels, got {width} x {height}")
        if view_height is not None and not view_height > 0:
            raise ValueError(f"view_height must be positive [m], got {view_height}")
        self.mode, self.fps, self.follow = mode, float(fps), follow
        self.closed = False
        self.scene = Scene(model)
        room = ROOM if self.scene.floor else SWEEP_ROOM
        self.view_height = view_height or room * self.scene.extent
        if force_scale is None:
            force_scale = FORCE_LENGTH * self.view_height / max(self.scene.weight, 1e-9)
        self.force_scale = float(force_scale)
        self._home: NDArray[np.float64] | None = None
        self._canvas = np.zeros((height, width, 3), np.uint8)
        self._surface = pygame.image.frombuffer(self._canvas.data, (width, height), "RGB")
        self._camera = SideCamera((width, height), self.view_height)
        self._backdrop = Backdrop(self.scene, self._camera)
        self._painter = Painter(self._canvas, line=max(1.4 * height / 540, 0.6))
        self._hud = Hud(self._surface, title)
        self._clock = pygame.time.Clock()
        self._screen = _open_window((width, height), title) if mode == "human" else None

    def draw(self, frame: Frame) -> NDArray[np.uint8] | None:
        """Draw `frame`.

        Returns:
            In mode "rgb_array" the picture, shape (height, width, 3), a copy; in mode "human"
            None, after waiting so that no more than `fps` pictures are shown a second.

        Raises:
            RuntimeError: in mode "rgb_array" after `close`; a closed window just shows nothing.
        """
        if self.mode == "rgb_array":
            if self.closed:
                raise RuntimeError("this Renderer was closed; make a new one to draw again")
            self._paint(frame)
            return self._canvas.copy()
        if not self.closed:
            self._paint(frame)
            self._show()
        return None

    def close(self) -> None:
        """Close the window, if there is one; may be called again."""
        if self._screen is not None:
            self._screen = None
            pygame.display.quit()  # pygame has one window a process
        self.closed = True

    # The picture, back to front

    def _paint(self, frame: Frame) -> None:
        self._aim(frame.focus)
        self._backdrop.paint(self._canvas)
        for half_space in self.scene.half_spaces:
            if half_space is not self.scene.floor:
                self._slope(half_space)
        solids = self.scene.solids(frame)
        self._backdrop.shadows(self._painter, solids)
        for text, x, y in self._backdrop.labels():
            self._hud.text(text, 13, palette.MARK, x, y, anchor=0.5)
        joints = self.scene.joints(frame)
        # Stable: bodies in one plane keep their order, and a joint lies on its own limb.
        for part in sorted(
            [*solids, *joints], key=lambda s: (-round(float(s.core[:, 1].mean()), 3), s.body)
        ):
            if part.shaded:
                self._painter.solid(part, self._camera)
            else:
                self._disc(part)
        for point, force in zip(frame.contact_points, frame.contact_forces, strict=True):
            self._arrow(np.asarray(point, float), np.asarray(force, float))
        self._hud.readings(frame.readings, frame.speed)

    def _aim(self, focus: NDArray[np.float64]) -> None:
        """Move the camera: along x with the focus, up only when the focus nears the top."""
        if self._home is None:
            self._home = np.array(focus, float)
        target = np.asarray(focus, float) if self.follow else self._home
        center = np.array([target[0], 0.0, target[2]])
        if self.scene.floor is not None:
            floor = float(self.scene.floor.position[2])
            above = (GROUND_LINE - 0.5) * self.view_height / self._camera.cos
            rise = max(0.0, target[2] - floor - HEADROOM * self.view_height)
            center[2] = floor + above + rise
        self._camera.center = center

    def _slope(self, half_space: HalfSpace) -> None:
        """A half space that is no level floor: flat, with a bright edge."""
        x, _, z = half_space.normal
        steep = math.hypot(x, z)
        if steep < 1e-6:
            return
        out = np.array([x, 0.0, z]) / steep
        along = np.array([out[2], 0.0, -out[0]])
        center = self._camera.center
        foot = center - out * float((center - half_space.position) @ out)
        span = 2.0 * self.view_height * max(1.0, self._canvas.shape[1] / self._canvas.shape[0])
        edge = np.array([foot - along * span, foot + along * span])
        corners = self._camera.project(np.concatenate([edge, edge[::-1] - 2.0 * span * out])).pixels
        color = half_space.color or palette.WALL
        self._painter.shape(corners, 1.0, flat_table(color))
        self._painter.shape(corners[:2], self._painter.line, flat_table((255, 255, 255)))

    def _disc(self, disc: Solid) -> None:
        """A joint: a dark ring around a bright pin."""
        seen = self._camera.project(disc.core)
        radius = disc.radius * float(seen.scale[0])
        self._painter.shape(seen.pixels, radius, flat_table(disc.color))
        pin = light_table(palette.ACCENT, disc.far)
        self._painter.shape(seen.pixels, 0.45 * radius, pin)

    def _arrow(self, point: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """A contact force, from the contact along the force."""
        ends = self._camera.project(np.array([point, point + force * self.force_scale])).pixels
        along = ends[1] - ends[0]
        length = float(np.linalg.norm(along))
        line = self._painter.line
        self._painter.shape(ends[:1], 2.6 * line, flat_table(palette.FORCE))
        if length < 8.0 * line:
            return
        along /= length
        across = np.array([-along[1], along[0]])
        head = min(11.0 * line, 0.6 * length)
        base = ends[1] - along * head
        spread = across * head * 0.42
        tip = np.array([ends[1], base + spread, base - spread])
        shaft = np.array([ends[0], base])
        white, red = flat_table((255, 255, 255)), flat_table(palette.FORCE)
        for table, extra, opacity in ((white, 1.3 * line, 0.75), (red, 0.0, 1.0)):
            self._painter.shape(shaft, 1.7 * line + extra, table, opacity=opacity)
            self._painter.shape(tip, 0.8 * line + extra, table, opacity=opacity)

    # The window

    def _show(self) -> None:
        if self._screen is None or not pygame.display.get_init():  # someone called pygame.quit()
            self._screen, self.closed = None, True
            return
        for event in pygame.event.get():
            escape = event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE
            if event.type == pygame.QUIT or escape:
                self.close()
                return
        self._screen.blit(self._surface, (0, 0))
        pygame.display.flip()
        self._clock.tick(self.fps)


def _open_window(size: tuple[int, int], title: str) -> pygame.Surface:
    try:
        pygame.display.init()
        screen = pygame.display.set_mode(size)
    except pygame.error as error:
        pygame.display.quit()
        raise RuntimeError(
            f"render mode 'human' needs a display, and there is none ({error}); use render mode "
            "'rgb_array', or set the environment variable SDL_VIDEODRIVER=dummy to show nothing"
        ) from error
    pygame.display.set_caption(title or "dynenvs")
    return screen
