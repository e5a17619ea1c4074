"""A four-legged robot in three dimensions: a free trunk and 4 legs of 3 actuated joints, 12.7 kg.

Numbers of the Unitree Go1 (google-deepmind/mujoco_menagerie, unitree_go1/go1.xml: masses, centres
of mass, inertias, lengths, joint ranges, torques, foot radius; the right side is the left one's
mirror image).  Rotors and speeds: mujocolab/mjlab, unitree_go1 constants.  Damping stands for the
motors' 0.2 N m of dry friction.  Ground friction: go1.xml's feet, 0.8.  The trunk's two bars, the
shoulders' and the knees' spheres take the place of the collision cylinders and boxes of go1.xml.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from dynenvs.envs.robots.terrain import add_ground
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute

TRUNK_MASS = 5.204  # [kg]
TRUNK_COM = (0.0223, 0.002, -0.0005)  # [m]
# xx, yy, zz, xy, xz, yz about the centre of mass, as all inertias here [kg m^2]
TRUNK_INERTIA = (1.68128e-2, 6.30095e-2, 7.16547e-2, -2.29676e-4, -2.94553e-4, -4.18733e-5)
TRUNK_HALF = (0.1881, 0.04675, 0.057)  # what is seen of the trunk [m]
BAR_Y, BAR_HALF, BAR_RADIUS = 0.04, 0.125, 0.058  # of the bars that touch the ground [m]
HIP_X, HIP_Y = 0.1881, 0.04675  # abduction axes from the trunk's centre [m]
THIGH_Y = 0.08  # thigh from the abduction axis [m]
THIGH = CALF = 0.213  # lengths [m]
HIP_RADIUS, KNEE_RADIUS, FOOT_RADIUS = 0.046, 0.022, 0.023  # [m]
FRICTION = 0.8


class Link(NamedTuple):
    """Mass distribution of a left leg's link, front or rear; its joint and what that can do."""

    joint: str
    axis: tuple[float, float, float]
    limits: tuple[float, float]  # [rad]
    effort: float  # [N m]
    speed: float  # [rad/s]
    armature: float  # [kg m^2]
    mass: float  # [kg]
    com: tuple[float, float, float]  # from the joint [m]
    inertia: tuple[float, float, float, float, float, float]  # [kg m^2]


LINKS = {
    "hip": Link(
        "abduction",
        (1.0, 0.0, 0.0),
        (-0.863, 0.863),
        23.7,
        30.1,
        0.004026,
        0.680,
        (-0.0049166, -0.00762615, -8.865e-05),  # of a front leg; x has the other sign behind
        (3.99380e-4, 7.33419e-4, 4.68422e-4, -1.45897e-5, 1.24609e-6, 1.57518e-6),
    ),
    "thigh": Link(
        "hip",
        (0.0, 1.0, 0.0),
        (-0.686, 4.501),
        23.7,
        30.1,
        0.004026,
        1.009,
        (-0.00304722, -0.019315, -0.0305004),
        (4.59880e-3, 4.68922e-3, 8.17448e-4, 6.13737e-5, -2.27530e-4, 6.10808e-4),
    ),
    "calf": Link(
        "knee",
        (0.0, 1.0, 0.0),
        (-2.818, -0.888),
        35.55,
        20.06,
        0.009059,
        0.195862,
        (0.00429862, -0.000976676, -0.146197),
        (1.48449e-3, 1.49764e-3, 3.60682e-5, -6.18625e-7, -1.77200e-5, -3.56628e-6),
    ),
}
DAMPING = 0.05  # [N m s/rad]
# Which side of the trunk: x forward, y to the left
LEGS = {
    "front_left": (1.0, 1.0),
    "front_right": (1.0, -1.0),
    "rear_left": (-1.0, 1.0),
    "rear_right": (-1.0, -1.0),
}
STANDING = (0.0, 0.9, -1.8)  # abduction, hip, knee; go1.xml's key "home" [rad]
STANDING_HEIGHT = (THIGH + CALF) * math.cos(STANDING[1]) + FOOT_RADIUS  # [m]
# Geoms that touch loose objects alone
LOOSE_ONLY = tuple(f"{leg}_{name}_link" for leg in LEGS for name in ("thigh", "calf"))


def build(terrain: str = "flat", terrain_seed: int = 0, self_collision: bool = False) -> Model:
    """The model that `describe` tells of."""
    return describe(terrain, terrain_seed, self_collision).build()


def describe(
    terrain: str = "flat", terrain_seed: int = 0, self_collision: bool = False
) -> ModelBuilder:
    """The robot on its ground.

    q = (trunk's place and quaternion, then abduction, hip, knee of each of LEGS).

    The ground is one of `terrain.TERRAINS`.  Positive angles turn about +x (abduction; a left leg
    outward) and +y (a limb backward).  With `self_collision` thighs, shanks and feet of different
    legs touch each other; within the joints' limits they reach neither the trunk's bars nor, on
    the same leg, each other.
    """
    builder = ModelBuilder()
    add_ground(builder, terrain, terrain_seed, FRICTION)
    builder.body(
        "trunk",
        joint=free("root"),
        mass=TRUNK_MASS,
        com=TRUNK_COM,
        inertia=_mirrored(TRUNK_INERTIA, 1.0, 1.0),
    )
    builder.box("body", "trunk", half_size=TRUNK_HALF, collide=False)
    for side, y in (("left", BAR_Y), ("right", -BAR_Y)):
        builder.capsule(
            f"{side}_bar",
            "trunk",
            start=(-BAR_HALF, y, 0.0),
            end=(BAR_HALF, y, 0.0),
            radius=BAR_RADIUS,
            friction=FRICTION,
        )
    for leg, (front, left) in LEGS.items():
        _add_leg(builder, leg, front, left)
    if self_collision:
        _part_legs(builder)
    return builder


def _part_legs(builder: ModelBuilder) -> None:
    """Have the legs touch each other: links with links, feet with feet."""
    for one, other in itertools.combinations(LEGS, 2):
        for a, b in itertools.product(("thigh", "calf"), repeat=2):
            builder.pair(f"{one}_{a}_link", f"{other}_{b}_link")
        builder.pair(f"{one}_foot", f"{other}_foot")


def _add_leg(builder: ModelBuilder, leg: str, front: float, left: float) -> None:
    parent = "trunk"
    places = {
        "hip": (front * HIP_X, left * HIP_Y, 0.0),
        "thigh": (0.0, left * THIGH_Y, 0.0),
        "calf": (0.0, 0.0, -THIGH),
    }
    for name, link in LINKS.items():
        x, y, z = link.com
        forward = front if name == "hip" else 1.0  # rear hips are mirror images, too
        builder.body(
            f"{leg}_{name}",
            parent=parent,
            joint=revolute(
                f"{leg}_{link.joint}",
                axis=link.axis,
                position=places[name],
                limits=link.limits,
                velocity=link.speed,
                effort=link.effort,
                damping=DAMPING,
                armature=link.armature,
            ),
            mass=link.mass,
            com=(forward * x, left * y, z),
            inertia=_mirrored(link.inertia, forward, left),
        )
        parent = f"{leg}_{name}"
    _dress_leg(builder, leg, left)


def _mirrored(
    inertia: tuple[float, float, float, float, float, float], forward: float, left: float
) -> list[list[float]]:
    """The inertia matrix [kg m^2] of a link with x and y turned about as told."""
    xx, yy, zz, xy, xz, yz = inertia
    xy, xz, yz = forward * left * xy, forward * xz, left * yz
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _dress_leg(builder: ModelBuilder, leg: str, left: float) -> None:
    """Hip, knee and foot can touch the ground; the rest is there to be seen."""
    ends = {"thigh": (THIGH, 0.030), "calf": (CALF, 0.014)}
    for name, (length, radius) in ends.items():
        builder.capsule(
            f"{leg}_{name}_link",
            f"{leg}_{name}",
            start=(0.0, 0.0, 0.0),
            end=(0.0, 0.0, -length),
            radius=radius,
            collide=False,
        )
    at = (0.0, left * THIGH_Y, 0.0)
    touching = (
        (f"{leg}_shoulder", f"{leg}_hip", HIP_RADIUS, at),
        (f"{leg}_knee", f"{leg}_calf", KNEE_RADIUS, (0.0, 0.0, 0.0)),
        (f"{leg}_foot", f"{leg}_calf", FOOT_RADIUS, (0.0, 0.0, -CALF)),
    )
    for geom, body, radius, position in touching:
        builder.sphere(geom, body, radius=radius, position=position, friction=FRICTION)
