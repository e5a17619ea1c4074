"""From the descriptions of loose objects to bodies of a model, and to what kernels draw them by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.objects import Loose
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import record_type
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import GEOM_TYPES, free
from dynenvs.simulation.world import World

FREE_Q, FREE_V = 7, 6  # positions and velocities of a free body
TOUCHES = 1e-6  # overlap that rounding may leave [m]
MARGIN = 0.05  # between drawn objects and a robot that starts with noise [m]

OBJECT = record_type(
    [
        ("kind", "i8"),  # SPHERE, CAPSULE or BOX
        ("extent", "f8", (3,)),  # as a geom's [m]
        ("radius", "f8"),  # of the ball that holds it [m]
        ("drawn", "i8"),  # its place is drawn
        ("lying", "i8"),  # on the ground, whatever its orientation
        ("low_position", "f8", (3,)),  # of its middle [m]
        ("high_position", "f8", (3,)),
        ("low_turn", "f8", (3,)),  # roll, pitch and yaw [rad]
        ("high_turn", "f8", (3,)),
        ("low_mass", "f8"),  # over the model's
        ("high_mass", "f8"),
        ("low_friction", "f8"),  # over the model's own coefficient
        ("high_friction", "f8"),
        ("away", "f8"),  # distance from the robot's start that a drawn place keeps over ground [m]
        ("above", "f8"),  # height above which the robot is never, standing [m]
    ]
)


def add_objects(builder: ModelBuilder, objects: Sequence[Loose], links: Sequence[str]) -> None:
    """Add loose objects to a model, behind the robot's bodies.

    Args:
        builder: has the ground and the robot already.
        objects: what is added, as bodies and geoms "object 0", "object 1" and so on.
        links: names of the robot's geoms that touch nothing but objects.
    """
    for k, loose in enumerate(objects):
        name = f"object {k}"
        options: dict[str, Any] = {"mass": loose.mass[1], "friction": loose.friction[1]}
        builder.body(name, joint=free(name))
        if loose.shape == "box":
            builder.box(name, name, half_size=loose.size, **options)
        elif loose.shape == "sphere":
            builder.sphere(name, name, radius=loose.size[0], **options)
        else:
            start, end = (0.0, 0.0, -loose.size[1]), (0.0, 0.0, loose.size[1])
            builder.capsule(name, name, start=start, end=end, radius=loose.size[0], **options)
        for link in links:
            builder.pair(link, name)


def check_room(model: Model, objects: Sequence[Loose]) -> None:
    """Refuse scenes so large that pairs would share their slots: environments know none such.

    Raises:
        ValueError: too many objects.
    """
    if model.header.nblocks:
        raise ValueError(
            f"objects: {len(objects)} of them make {model.header.np} pairs of shapes that may "
            "touch, more than an environment keeps track of; take fewer, or spheres for boxes"
        )


def object_table(objects: Sequence[Loose], reach: float, top: float) -> NDArray[Any]:
    """OBJECT of each.

    Args:
        objects: all of them.
        reach: of the standing robot over ground, from its base [m].
        top: height of the standing robot [m].

    Raises:
        ValueError: a place that is drawn has no room for its object beside the robot.
    """
    table = np.zeros(len(objects), OBJECT)
    for record, one in zip(table, objects, strict=True):
        record["kind"], record["extent"] = GEOM_TYPES[one.shape], one.size
        record["radius"] = one.radius
        record["drawn"], record["lying"] = one.is_drawn, one.height is None
        place = (*one.position, one.height or (0.0, 0.0))
        for name, spans in (("position", place), ("turn", one.orientation)):
            record[f"low_{name}"], record[f"high_{name}"] = np.transpose(spans)
        for name, (low, high) in (("mass", one.mass), ("friction", one.friction)):
            record[f"low_{name}"] = low / high if high > 0.0 else 1.0
            record[f"high_{name}"] = 1.0
        record["away"], record["above"] = reach + one.radius + MARGIN, top + MARGIN
        corner = np.abs([record["low_position"][:2], record["high_position"][:2]]).max(axis=0)
        if one.is_drawn and np.hypot(*corner) < record["away"]:
            raise ValueError(
                f"objects[{one.index}]: position leaves no room beside the robot, which stands at "
                f"(0, 0); let it reach {record['away']:.2f} m or farther"
            )
    return table


def check_places(model: Model, standing: Floats, objects: Sequence[Loose]) -> None:
    """Make sure that objects with a place of their own overlap with nothing at the start.

    Those with a drawn orientation are looked at in the middle of its range.

    Args:
        model: ground, robot and objects.
        standing: the robot's positions, its feet on the ground, shape (nq of the robot,).
        objects: all of them.

    Raises:
        ValueError: two things overlap; names them.
    """
    if all(one.is_drawn for one in objects):
        return
    world = World(model)
    q = model.neutral()
    q[: len(standing)] = standing
    poses = q[len(standing) :].reshape(-1, FREE_Q)
    for k, one in enumerate(objects):
        poses[k, :3] = 100.0 * k, 1e3, 1e3  # drawn later, and out of the way
        if not one.is_drawn:
            poses[k] = middle_pose(one)
    world.q = q
    for contact in world.contacts:
        if contact.gap < -TOUCHES and any(b.startswith("object ") for b in contact.bodies):
            names = " and ".join(_called(body, objects) for body in contact.bodies)
            raise ValueError(
                f"{names} overlap by {-contact.gap:.2g} m at the start; place them farther apart"
            )


def _called(body: str, objects: Sequence[Loose]) -> str:
    """What the user calls a body."""
    word, _, number = body.partition(" ")
    if word == "object":
        return f"objects[{objects[int(number)].index}]"
    return "the ground" if body == "world" else f"the robot's {body}"


def middle_pose(one: Loose) -> Floats:
    """An object in the middle of its ranges: place and quaternion, shape (7,)."""
    x, y = (0.5 * (low + high) for low, high in one.position)
    roll, pitch, yaw = (0.5 * (low + high) for low, high in one.orientation)
    turn = quaternion(roll, pitch, yaw)
    z = lowest_middle(one, turn)
    if one.height is not None:
        z = max(z, 0.5 * sum(one.height))
    return np.array([x, y, z, *turn])


def quaternion(roll: float, pitch: float, yaw: float) -> Floats:
    """Of a rotation by roll about x, then pitch about y, then yaw about z, all fixed axes, (4,)."""
    halves = 0.5 * np.array([roll, pitch, yaw])
    (g, b, a), (h, f, e) = np.cos(halves), np.sin(halves)
    return np.array(
        [
            a * b * g + e * f * h,
            a * b * h - e * f * g,
            a * f * g + e * b * h,
            e * b * g - a * f * h,
        ]
    )


def lowest_middle(one: Loose, turn: Floats) -> float:
    """Height of an object's middle when it lies on level ground, turned so [m]."""
    w, x, y, z = turn
    down = np.abs([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    if one.shape == "box":
        return float(down @ one.size)
    return one.size[0] + float(down[2]) * one.size[1]
