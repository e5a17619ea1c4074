"""Where a robot has set its feet: one print for each stance, found step by step."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.viewer.moment import Moment

BREAK = 0.05  # a foot unloaded for longer has left the ground [s]
STEEPEST = 0.5  # least cosine to the vertical of ground that is stepped on


class Print(NamedTuple):
    """Where a foot stood."""

    foot: int  # its place in the list of feet
    start: float  # when it touched down [s]
    point: Floats  # middle of where it touched, world axes [m], shape (3,)
    normal: Floats  # of the ground, shape (3,)
    heading: float  # of the foot's x axis, from the world's to the left [rad]
    half: tuple[float, float]  # half of the print's length and breadth [m]


class _Stance:
    """A stance that is under way."""

    def __init__(self, start: float, rotation: Floats) -> None:
        self.start = self.last = start
        self.heading = math.atan2(rotation[1, 0], rotation[0, 0])
        self.points: list[Floats] = []
        self.normal = np.array([0.0, 0.0, 1.0])


class Footsteps:
    """Finds prints in a series of moments.

    Args:
        feet: bodies that count.
    """

    def __init__(self, feet: list[int]) -> None:
        self._feet = feet
        self._stances: dict[int, _Stance] = {}

    def add(self, moment: Moment) -> list[Print]:
        """Go on to the next moment; the prints of feet that have left the ground since."""
        # Feet that touch ground which is not too steep stand on it
        for foot, body in enumerate(self._feet):
            on_ground = (moment.bodies[:, 0] == body) & (moment.bodies[:, 1] == 0)
            touching = on_ground & (moment.normals[:, 2] > STEEPEST)
            if touching.any():
                stance = self._stances.get(foot)
                if stance is None:
                    stance = _Stance(moment.time, moment.rotations[body])
                    self._stances[foot] = stance
                stance.last, stance.normal = moment.time, moment.normals[touching][0]
                stance.points.append(moment.points[touching])
        # One that has not touched for a while has left
        over = [f for f, s in self._stances.items() if moment.time > s.last + BREAK]
        return [self._print(foot, self._stances.pop(foot)) for foot in over]

    def rest(self) -> list[Print]:
        """The prints of the feet that still stand; their stances end here."""
        left = [self._print(foot, stance) for foot, stance in self._stances.items()]
        self._stances.clear()
        return left

    def _print(self, foot: int, stance: _Stance) -> Print:
        """The rectangle along the foot that holds where it touched."""
        # The rectangle in the foot's own directions, as it stood when it touched down
        points = np.concatenate(stance.points)
        cosine, sine = math.cos(stance.heading), math.sin(stance.heading)
        along = points[:, :2] @ (cosine, sine)
        across = points[:, :2] @ (-sine, cosine)
        a, b = (0.5 * (v.min() + v.max()) for v in (along, across))
        half = (0.5 * float(np.ptp(along)), 0.5 * float(np.ptp(across)))
        point = np.array([a * cosine - b * sine, a * sine + b * cosine, points[:, 2].max()])
        return Print(foot, stance.start, point, stance.normal, stance.heading, half)
