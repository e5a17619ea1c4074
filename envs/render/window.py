"""Renderer: one picture from a frame, as an array or in a window."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pygame
from numpy.typing import NDArray

from dynenvs.envs.checks import choice, picture_side
from dynenvs.envs.render import palette
from dynenvs.envs.render.controls import Controls, Hooks
from dynenvs.envs.render.hud import Hud
from dynenvs.envs.render.paint import Painter, flat_table
from dynenvs.envs.render.perspective import PerspectiveView
from dynenvs.envs.render.scene import Frame, Scene, unit_of
from dynenvs.envs.render.side import SideView
from dynenvs.memory.records import FREE
from dynenvs.model.model import Model

Mode = Literal["human", "rgb_array"]
MODES: tuple[str, ...] = get_args(Mode)
SHAPES = ("visual", "collision")

FORCE_LENGTH = 0.24  # arrow of one robot's weight, as a share of the view's height
PAUSED_RATE = 30  # pictures a second while time stands still


class Renderer:
    """Draws a model into an array or into a window.

    A model with a free joint is drawn in perspective, others from the side.

    Args:
        model: what to draw.
        mode: "rgb_array" returns pictures and needs no display; "human" shows them in a window.
        width, height: of the picture [px].
        fps: pictures a second that "human" is paced to [1/s].
        title: at the top right and of the window.
        view_height: height of the picture (in perspective, at the robot) [m].
        perspective: whether to draw in perspective; by the model if None.
        shapes: what bodies are drawn as in perspective: "visual", their visual meshes where they
            have some, or "collision", the shapes that touch.
        hooks: what keys in the window do besides pausing and moving the camera.

    Attributes:
        closed: True once `close` was called or the window was closed by its user.
        view: how it is drawn, from the side or in perspective.
        camera: of the view; one in perspective can be moved (`orbit`, `zoom`).

    Raises:
        ValueError: unknown mode, or no such size.
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
        view_height: float,
        perspective: bool | None = None,
        shapes: str = "visual",
        hooks: Hooks | None = None,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"unknown render mode {mode!r}; choose from: {', '.join(MODES)}")
        choice(shapes, "shapes", SHAPES)
        width, height = picture_side(width, "width"), picture_side(height, "height")
        if not view_height > 0:
            raise ValueError(f"view_height must be positive [m], got {view_height}")
        self.mode, self.fps = mode, float(fps)
        self.closed = False
        self.scene, self.view_height = Scene(model, unit_of(view_height)), view_height
        self.force_scale = FORCE_LENGTH * view_height / max(self.scene.weight, 1e-9)  # [m/N]
        self._canvas = np.zeros((height, width, 3), np.uint8)
        self._surface = pygame.image.frombuffer(self._canvas.data, (width, height), "RGB")
        self._painter = Painter(self._canvas, line=max(1.4 * height / 540, 0.6))
        self._hud = Hud(self._surface, title)
        if perspective is None:
            perspective = bool((model.bodies["joint"] == FREE).any())
        self.view: SideView | PerspectiveView = (
            PerspectiveView(model, self.scene, self._canvas, self.view_height, shapes)
            if perspective
            else SideView(self.scene, self._painter, self._hud, self.view_height)
        )
        self.camera = self.view.camera
        orbit = self.view.camera if isinstance(self.view, PerspectiveView) else None
        self._controls = Controls(orbit, hooks or Hooks())
        self._clock = pygame.time.Clock()
        self._screen = _open_window((width, height), title) if mode == "human" else None

    def draw(self, frame: Frame) -> NDArray[np.uint8] | None:
        """Draw `frame`.

        Returns:
            In mode "rgb_array" the picture, shape (height, width, 3), a copy; in mode "human"
            None, after waiting so that no more than `fps` pictures are shown a second, and for as
            long as the user pauses.

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
            self._show(frame)
        return None

    def close(self) -> None:
        """Close the window, if there is one; may be called again."""
        if self._screen is not None:
            self._screen = None
            pygame.display.quit()  # pygame has one window a process
        self.closed = True

    # The picture, back to front

    def _paint(self, frame: Frame) -> None:
        self.view.paint(frame, np.asarray(frame.focus, float))
        for point, force in zip(frame.contact_points, frame.contact_forces, strict=True):
            self._arrow(np.asarray(point, float), np.asarray(force, float))
        self._hud.readings(frame.readings, frame.speed)
        if self._controls.paused or self._controls.helping:
            row = self._canvas.shape[0] - 16 * self._hud.unit
            text = (
                self._controls.help
                if self._controls.helping
                else "paused   (space goes on, h for help)"
            )
            self._hud.text(text, 13, palette.TEXT, 20 * self._hud.unit, row)

    def _arrow(self, point: NDArray[np.float64], force: NDArray[np.float64]) -> None:
        """A contact force, from the contact along the force."""
        ends = self.camera.project(np.array([point, point + force * self.force_scale])).pixels
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

    def _show(self, frame: Frame) -> None:
        """Show the picture; while time stands still, show it again as the camera moves."""
        while True:
            if self._screen is None or not pygame.display.get_init():  # pygame.quit() was called
                self._screen, self.closed = None, True
                return
            going = self._controls.read()
            if self._controls.closed:
                self.close()
                return
            if not going:
                self._paint(frame)
            self._screen.blit(self._surface, (0, 0))
            pygame.display.flip()
            self._clock.tick(self.fps if going else PAUSED_RATE)
            if going:
                return


def _open_window(size: tuple[int, int], title: str) -> pygame.Surface:
    try:
        pygame.display.init()
        screen = pygame.display.set_mode(size)
    except pygame.error as error:
        pygame.display.quit()
        raise RuntimeError(
            f"a window needs a display, and there is none ({error}); ask for pictures instead "
            "(an environment's with render mode 'rgb_array', a World's with dynenvs.render), or "
            "set the environment variable SDL_VIDEODRIVER=dummy to show nothing "
            "(docs/trouble.md, No display)"
        ) from error
    pygame.display.set_caption(f"{title or 'dynenvs'}   (h: keys)")
    return screen
