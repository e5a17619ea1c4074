"""Mirror images of observations and actions, for robots whose left side is like their right one.

A walker that is seen in a mirror walks as well: what it sees and does with left and right exchanged
is a possible step, too.  Learners take each sample twice that way (`agents/learn/ppo.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

# Signs of directions and of turns about (x, y, z), mirrored about the x-z plane
ALONG, ABOUT = (1.0, -1.0, 1.0), (-1.0, 1.0, -1.0)
# Of blocks of robots in space
SIGNS = {
    "upward direction": ALONG,
    "velocity": ALONG,
    "angular velocity": ABOUT,
    "command": (1.0, -1.0, -1.0),
}
# The clock of a gait that does with the left what it did with the right half a cycle before
HALF_A_CYCLE = (-1.0, -1.0)


class Image(NamedTuple):
    """The image of an array is array[places] * signs."""

    places: NDArray[np.intp]
    signs: Floats

    def of(self, array: NDArray[Any]) -> Floats:
        """Mirrored rows, shape (..., size)."""
        mirrored: Floats = array[..., self.places] * self.signs
        return mirrored


class Mirror(NamedTuple):
    """How observations and actions look in a mirror."""

    observation: Image
    action: Image


def mirror_of(task: Any) -> Mirror:
    """The mirror images of a walker's observations and actions.

    In space left and right change places, and what points to a side changes its sign; in the plane
    the legs alone change places.  The gait clock goes on by half a cycle.

    Args:
        task: a walker's `Task`.

    Raises:
        ValueError: no walker, joints without a counterpart, or a block without a declared image.
    """
    if not hasattr(task, "legs"):
        raise ValueError(
            "a robot with no legs has no left and right: leave out symmetric and equivariant"
        )
    action = _joints(task.robot)
    planar = bool(task.robot.header.planar)
    places: list[NDArray[np.intp]] = []
    signs: list[Floats] = []
    at = 0
    for block in task.observation_blocks:
        own, sign = np.arange(block.size), np.ones(block.size)
        if block.name in ("joint angles", "joint velocities"):
            own, sign = action
        elif block.name == "foot contacts":
            own = _exchanged(task.legs)
        elif block.name == "gait phase":
            sign = np.array(HALF_A_CYCLE)
        elif not planar and block.name in SIGNS:
            sign = np.array(SIGNS[block.name])
        elif block.name == "height scan":  # row by row from behind, from one side to the other
            forward, sideways = task.scan
            own = np.arange(block.size).reshape(forward, sideways)[:, ::-1].reshape(-1)
        elif not planar and block.name != "height":
            raise ValueError(f"no mirror image is declared for {block.name!r}")
        places.append(at + own)
        signs.append(sign)
        at += block.size
    return Mirror(Image(np.concatenate(places), np.concatenate(signs)), action)


def _joints(model: Model) -> Image:
    """Of a number for each motor: a hinge across the robot turns as its counterpart does."""
    names = [name for name, joint in model.joints.items() if joint.type == "revolute"]
    names = names[len(names) - model.nu :]  # a planar trunk may pitch, without a motor
    across = np.array([abs(float(model.joints[name].axis[1])) > 0.5 for name in names])
    return Image(_exchanged(names), np.where(across | bool(model.header.planar), 1.0, -1.0))


def _exchanged(names: Any) -> NDArray[np.intp]:
    """The place of each name's counterpart, "left" and "right" exchanged.

    Raises:
        ValueError: there is none.
    """
    own = list(names)
    others = ["right".join(n.replace("right", "left") for n in name.split("left")) for name in own]
    for name, other in zip(own, others, strict=True):
        if other not in own:
            raise ValueError(f"{name!r} has no counterpart {other!r} in the mirror")
    return np.array([own.index(other) for other in others])
