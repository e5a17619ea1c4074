"""Jain's pendulum made an arm: n balls on hinged links over a floor and before a wall.

After Jain et al. 2012, section V.E, in the variant that reaches the floor as their figure 1 does
(docs/reproduction.md): n spheres with a radius of half a link, links that together are longer than
the pivot is high, floor and wall.  Ours: the chain is 1 m long and 3 kg heavy whatever its number
of links, each ball sits at its link's far end (so that the last one's centre is the tip and next
neighbours keep their distance), it grows no larger than a tenth of the chain, and every hinge has a
motor, a rotor, damping and stops.
"""

from __future__ import annotations

import math

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute

GRAVITY = 9.81  # [m/s^2]
LENGTH, MASS = 1.0, 3.0  # of all links together [m, kg]
LARGEST = 0.1  # radius of a ball of a chain with few links [m]
PIVOT = 0.75  # height of the pivot above the floor: a straight chain does not hang free [m]
WALL = 0.8  # from the pivot to the wall's face [m]
FRICTION = 0.5
# Of a hinge, for each N m that it takes to hold what it carries level:
STRENGTH = 2.5  # effort limit
NO_LOAD_SPEED = 30.0  # at which damping takes all of the effort limit [rad/s]
ROTOR = 0.002  # inertia of the rotor, for each N m of the effort limit [kg m^2/(N m)]
# Stops [rad]: the first hinge hangs at 0; ball after next touches at 2.09 in chains without gaps
BASE_STOP, STOP = 3.1, 2.2
TIP_COLOR = (58, 110, 190)  # the ball that is to be pressed somewhere


def radius(links: int) -> float:
    """Of every ball [m]."""
    return min(LENGTH / (2 * links), LARGEST)


def holding_torques(links: int) -> list[float]:
    """What each hinge needs to hold the level chain beyond it [N m]."""
    ball, spacing = MASS / links * GRAVITY, LENGTH / links
    return [ball * spacing * (links - i) * (links - i + 1) / 2 for i in range(links)]


def build(links: int) -> Model:
    """The model: angles are zero hanging straight, positive towards +x (the wall's side)."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -GRAVITY), directions=2, max_contacts=4 * links)
    builder.half_space("floor", friction=FRICTION)
    builder.half_space(
        "wall", position=(WALL, 0.0, 0.0), normal=(-1.0, 0.0, 0.0), friction=FRICTION
    )
    mass, spacing, size = MASS / links, LENGTH / links, radius(links)
    moment = 0.4 * mass * size**2
    for i, torque in enumerate(holding_torques(links)):
        effort = STRENGTH * torque
        stop = STOP if i else BASE_STOP
        builder.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(
                f"hinge{i}",
                axis=(0.0, -1.0, 0.0),
                position=(0.0, 0.0, -spacing if i else PIVOT),
                limits=(-stop, stop),
                velocity=NO_LOAD_SPEED,
                effort=effort,
                damping=effort / NO_LOAD_SPEED,
                armature=ROTOR * effort,
            ),
            mass=mass,
            com=(0.0, 0.0, -spacing),
            inertia=(moment, moment, moment),
        )
        end = (0.0, 0.0, -spacing)
        builder.capsule(
            f"rod{i}", f"link{i}", start=(0, 0, 0), end=end, radius=0.25 * size, collide=False
        )
        builder.sphere(
            f"ball{i}",
            f"link{i}",
            radius=size,
            position=end,
            friction=FRICTION,
            color=TIP_COLOR if i == links - 1 else None,
        )
    builder.self_contact(*(f"ball{i}" for i in range(links)))
    return builder.build()


def tip(q: Floats) -> tuple[float, float]:
    """Place (x, z) of the last ball's centre [m] for hinge angles `q` [rad], shape (links,)."""
    spacing = LENGTH / len(q)
    x, z, angle = 0.0, PIVOT, 0.0
    for turn in q:
        angle += float(turn)
        x += spacing * math.sin(angle)
        z -= spacing * math.cos(angle)
    return x, z
