"""The view from the side: for robots that move in the x-z plane."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.backdrop import Backdrop
from dynenvs.envs.render.camera import SideCamera
from dynenvs.envs.render.hud import Hud
from dynenvs.envs.render.paint import Painter, flat_table, light_table
from dynenvs.envs.render.scene import LEVEL, Frame, HalfSpace, Scene, Solid

GROUND_LINE = 0.80  # height of the robot's line on the floor, from the top of the picture
HEADROOM = 0.62  # the camera rises with a focus above this share of the view, from the floor
TARGET, PIP = 0.028, 0.007  # radii of a target's disc and of the pip on it, in heights of the view


class SideView:
    """Paints a scene as an orthographic camera at -y sees it.

    Args:
        scene: what there is.
        painter: of the canvas.
        hud: writes distances on the floor.
        view_height: height of the picture [m].

    Attributes:
        exact: whether the camera looks just where it is told to; if not, a floor stays at
            GROUND_LINE as long as the robot is near it.
    """

    def __init__(self, scene: Scene, painter: Painter, hud: Hud, view_height: float) -> None:
        self.scene, self.view_height = scene, view_height
        self._painter, self._hud, self._canvas = painter, hud, painter.canvas
        self.camera = SideCamera((self._canvas.shape[1], self._canvas.shape[0]), view_height)
        self._backdrop = Backdrop(scene, self.camera)
        self.exact = False

    def paint(self, frame: Frame, target: NDArray[np.float64]) -> None:
        """Fill the canvas, back to front."""
        self._aim(target)
        self._backdrop.paint(self._canvas)
        for half_space in self.scene.half_spaces:
            if half_space.normal[2] < LEVEL:  # the highest level one is the floor
                self._slope(half_space)
        self._targets(frame, TARGET, palette.ACCENT)
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
                self._painter.solid(part, self.camera)
            else:
                self._disc(part)
        self._targets(frame, PIP, palette.LIMB)

    def _targets(self, frame: Frame, radius: float, color: palette.Color) -> None:
        """Discs at the targets: large ones behind the robot, small ones before it."""
        for target in frame.targets:
            seen = self.camera.project(target[None])
            size = radius * self.view_height * float(seen.scale[0])
            self._painter.shape(seen.pixels, size, flat_table(color))

    def _aim(self, target: NDArray[np.float64]) -> None:
        """Move the camera: along x with the target, up only when the target nears the top."""
        center = np.array([target[0], target[1] if self.exact else 0.0, target[2]])
        if self.scene.floor is not None and not self.exact:
            floor = float(self.scene.floor.position[2])
            above = (GROUND_LINE - 0.5) * self.view_height / self.camera.cos
            rise = max(0.0, target[2] - floor - HEADROOM * self.view_height)
            center[2] = floor + above + rise
        self.camera.center = center

    def _slope(self, half_space: HalfSpace) -> None:
        """A half space that is no level floor: flat, with a bright edge."""
        x, _, z = half_space.normal
        steep = math.hypot(x, z)
        if steep < 1e-6:
            return
        out = np.array([x, 0.0, z]) / steep
        along = np.array([out[2], 0.0, -out[0]])
        center = self.camera.center
        foot = center - out * float((center - half_space.position) @ out)
        span = 2.0 * self.view_height * max(1.0, self._canvas.shape[1] / self._canvas.shape[0])
        edge = np.array([foot - along * span, foot + along * span])
        corners = self.camera.project(np.concatenate([edge, edge[::-1] - 2.0 * span * out])).pixels
        color = half_space.color or palette.WALL
        self._painter.shape(corners, 1.0, flat_table(color))
        self._painter.shape(corners[:2], self._painter.line, flat_table((255, 255, 255)))

    def _disc(self, disc: Solid) -> None:
        """A joint: a dark ring around a bright pin."""
        seen = self.camera.project(disc.core)
        radius = disc.radius * float(seen.scale[0])
        self._painter.shape(seen.pixels, radius, flat_table(disc.color))
        pin = light_table(palette.ACCENT, disc.far)
        self._painter.shape(seen.pixels, 0.45 * radius, pin)
