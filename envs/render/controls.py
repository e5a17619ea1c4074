"""What a user at the window can do: pause, step, move the camera, push, change the command."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pygame

from dynenvs.envs.render.orbit import OrbitCamera

TURN = math.radians(6.0)  # of the camera, by a key
DRAG = math.radians(0.3)  # per pixel of the mouse
ZOOM = 1.1
NEAREST, FARTHEST = 6.0, 0.25  # zoom
# Keys: steps of the command forward, to the left, and turning left
COMMANDS = {
    pygame.K_w: (1, 0, 0),
    pygame.K_s: (-1, 0, 0),
    pygame.K_a: (0, 1, 0),
    pygame.K_d: (0, -1, 0),
    pygame.K_q: (0, 0, 1),
    pygame.K_e: (0, 0, -1),
}


@dataclass
class Hooks:
    """What the keys do to what is shown; None where it can't be done.

    Attributes:
        push: give the robot a push.
        change_command: step the commanded speeds: forward, to the left, turning left (-1, 0, 1).
    """

    push: Callable[[], None] | None = None
    change_command: Callable[[int, int, int], None] | None = None


class Controls:
    """Reads the window's events.

    Args:
        camera: that keys and mouse move; None where it stands still.
        hooks: what else keys do.

    Attributes:
        paused: whether time stands still.
        helping: whether the user wants to read which keys there are (h).
        closed: whether the user wants the window gone.
    """

    def __init__(self, camera: OrbitCamera | None, hooks: Hooks) -> None:
        self._camera, self._hooks = camera, hooks
        self.paused = self.helping = self.closed = False
        self._step = False

    @property
    def help(self) -> str:
        """Which keys there are."""
        keys = ["space pause", ". step"]
        if self._camera is not None:
            keys += ["arrows, mouse camera", "+ - zoom"]
        if self._hooks.push is not None:
            keys.append("p push")
        if self._hooks.change_command is not None:
            keys.append("w s a d q e command")
        return "   ".join([*keys, "esc close"])

    def read(self) -> bool:
        """Handle all events that wait; returns whether time may go on."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.closed = True
            elif event.type == pygame.KEYDOWN:
                self._key(event.key)
            elif event.type == pygame.MOUSEMOTION and event.buttons[0]:
                self._orbit(-DRAG * event.rel[0], DRAG * event.rel[1])
            elif event.type == pygame.MOUSEWHEEL:
                self._zoom(ZOOM**event.y)
        step, self._step = self._step, False
        return step or not self.paused

    def _key(self, key: int) -> None:
        turns = {
            pygame.K_LEFT: (-TURN, 0.0),
            pygame.K_RIGHT: (TURN, 0.0),
            pygame.K_UP: (0.0, TURN),
            pygame.K_DOWN: (0.0, -TURN),
        }
        if key == pygame.K_ESCAPE:
            self.closed = True
        elif key == pygame.K_SPACE:
            self.paused = not self.paused
        elif key == pygame.K_h:
            self.helping = not self.helping
        elif key == pygame.K_PERIOD:
            self.paused = self._step = True
        elif key in turns:
            self._orbit(*turns[key])
        elif key in (pygame.K_PLUS, pygame.K_EQUALS, pygame.K_KP_PLUS):
            self._zoom(ZOOM)
        elif key in (pygame.K_MINUS, pygame.K_KP_MINUS):
            self._zoom(1 / ZOOM)
        elif key == pygame.K_p and self._hooks.push is not None:
            self._hooks.push()
        elif key in COMMANDS and self._hooks.change_command is not None:
            self._hooks.change_command(*COMMANDS[key])

    def _orbit(self, azimuth: float, elevation: float) -> None:
        if self._camera is not None:
            self._camera.orbit(azimuth, elevation)

    def _zoom(self, factor: float) -> None:
        if self._camera is not None:
            self._camera.zoom = min(max(self._camera.zoom * factor, FARTHEST), NEAREST)
