"""A humanoid in three dimensions: a free pelvis and 21 actuated joints; a man of 1.70 m and 70 kg.

Lengths, masses, centres of mass and radii of gyration: de Leva, Adjustments to Zatsiorsky-
Seluyanov's segment inertia parameters, J. Biomechanics 29 (1996), table 4, men, lengths scaled from
1.741 m; hands ride on the forearms.  Ankle height and foot length: Drillis & Contini (1966) in
Winter, Biomechanics and Motor Control of Human Movement (4th ed., 2009), figure 4.1.

Torques in the sagittal plane: Anderson, Madigan & Nussbaum, J. Biomechanics 40 (2007), table 3, as
the planar humanoid's; shoulder, elbow, lumbar flexion, and all speeds: the gymnast of Millard's
torque-muscle tables (RBDL, Millard2016TorqueMuscle), the weaker direction of each joint rounded.
Hip abduction and rotation, ankle inversion and lumbar bending: of the order that isokinetic
dynamometers show of young men (Neumann, Kinesiology of the Musculoskeletal System, chapters 9 to
14).  Rotors: of the Unitree H1-2's motors, as the planar humanoid's.  Ranges: Neumann, likewise.
Ground friction: Geyer & Herr (2010), 0.8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.robots.terrain import add_ground
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, free, revolute

HEIGHT, MASS = 1.70, 70.0  # [m], [kg]
SCALE = HEIGHT / 1.741  # of de Leva's mean man

THIGH, SHANK = 0.4222 * SCALE, 0.4340 * SCALE  # hip to knee to ankle [m]
ANKLE = 0.039 * HEIGHT  # above the sole [m]
LOWER_TRUNK, MIDDLE_TRUNK, UPPER_TRUNK = 0.1457 * SCALE, 0.2155 * SCALE, 0.2421 * SCALE  # [m]
HEAD = 0.2429 * SCALE  # vertex to the seventh vertebra of the neck [m]
UPPER_ARM, FOREARM, HAND = 0.2817 * SCALE, 0.2689 * SCALE, 0.0862 * SCALE  # [m]
FOOT = 0.152 * HEIGHT  # [m]
HIP_Y = 0.085  # hips from the middle [m]
SHOULDER_Y, SHOULDER_Z = 0.185, MIDDLE_TRUNK + UPPER_TRUNK - 0.06  # from the lumbar joint [m]
HEEL, TOE, SOLE_HALF = -0.055, 0.165, 0.05  # of the sole, from the ankle [m]
SHOE = 0.045  # radius of the capsule that touches the other leg [m]
FRICTION = 0.8


class Segment(NamedTuple):
    """A row of de Leva's table: fractions of the whole mass and of the segment's length."""

    mass: float
    center: float  # from the proximal (for the trunk and head: upper) end
    gyration: tuple[float, float, float]  # about the forward, sideways and longitudinal axes
    length: float  # [m]


SEGMENTS = {
    "head": Segment(0.0694, 0.5002, (0.303, 0.315, 0.261), HEAD),
    "upper_trunk": Segment(0.1596, 0.5066, (0.505, 0.320, 0.465), UPPER_TRUNK),
    "middle_trunk": Segment(0.1633, 0.4502, (0.482, 0.383, 0.468), MIDDLE_TRUNK),
    "lower_trunk": Segment(0.1117, 0.6115, (0.615, 0.551, 0.587), LOWER_TRUNK),
    "upper_arm": Segment(0.0271, 0.5772, (0.285, 0.269, 0.158), UPPER_ARM),
    "forearm": Segment(0.0162, 0.4574, (0.276, 0.265, 0.121), FOREARM),
    "hand": Segment(0.0061, 0.7900, (0.628, 0.513, 0.401), HAND),
    "thigh": Segment(0.1416, 0.4095, (0.329, 0.329, 0.149), THIGH),
    "shank": Segment(0.0433, 0.4459, (0.255, 0.249, 0.103), SHANK),
    "foot": Segment(0.0137, 0.4415, (0.124, 0.257, 0.245), FOOT),
}


class Drive(NamedTuple):
    """What a joint is and can do; ranges are a left limb's, mirrored about x and z for a right."""

    axis: str
    limits: tuple[float, float]  # [rad]
    effort: float  # [N m]
    speed: float  # [rad/s]
    damping: float  # [N m s/rad]
    armature: float  # [kg m^2]


DRIVES = {
    "hip_yaw": Drive("z", (-0.7, 0.7), 70.0, 9.0, 1.0, 0.0251),
    "hip_roll": Drive("x", (-0.45, 0.75), 120.0, 9.0, 1.0, 0.0633),
    "hip_pitch": Drive("y", (-2.0, 0.70), 190.0, 9.0, 1.0, 0.0633),
    "knee": Drive("y", (0.0, 2.40), 190.0, 18.0, 1.0, 0.0633),
    "ankle_pitch": Drive("y", (-0.87, 0.87), 120.0, 12.0, 1.0, 0.0251),
    "ankle_roll": Drive("x", (-0.5, 0.5), 40.0, 12.0, 1.0, 0.0251),
    "torso_yaw": Drive("z", (-0.8, 0.8), 90.0, 9.0, 1.0, 0.0251),
    "torso_roll": Drive("x", (-0.5, 0.5), 150.0, 9.0, 1.0, 0.0633),
    "torso_pitch": Drive("y", (-0.45, 1.0), 210.0, 9.0, 1.0, 0.0633),
    "shoulder_pitch": Drive("y", (-2.8, 1.0), 90.0, 18.0, 2.0, 0.0251),
    "shoulder_roll": Drive("x", (-0.15, 1.6), 90.0, 18.0, 2.0, 0.0251),
    "elbow": Drive("y", (-2.5, 0.0), 70.0, 18.0, 1.0, 0.0251),
}
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
SIDES = {"left": 1.0, "right": -1.0}
LEG = ("hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll")
TORSO = ("torso_yaw", "torso_roll", "torso_pitch")
ARM = ("shoulder_pitch", "shoulder_roll", "elbow")
# Knees and elbows a little bent, soles flat, in the order of the joints [rad]
STANDING_LEG = (0.0, 0.0, -0.2, 0.4, -0.2, 0.0)
STANDING = (
    *STANDING_LEG,
    *STANDING_LEG,
    *(0.0, 0.0, 0.0),
    *(0.0, 0.1, -0.3),
    *(0.0, -0.1, -0.3),
)
# Geoms that touch loose objects alone
LOOSE_ONLY = ("belly", "neck")

Point = tuple[float, float, float]


class Mass(NamedTuple):
    """Mass [kg], centre of mass [m] and inertia about it [kg m^2] of a body, in its frame."""

    mass: float
    com: NDArray[np.float64]
    inertia: NDArray[np.float64]


def build(terrain: str = "flat", terrain_seed: int = 0) -> Model:
    """The model that `describe` tells of."""
    return describe(terrain, terrain_seed).build()


def describe(terrain: str = "flat", terrain_seed: int = 0) -> ModelBuilder:
    """The robot on its ground.

    q = (pelvis' place and quaternion, left leg, right leg, torso, left arm, right).

    The pelvis' frame lies between the hips.  Positive angles turn about +x (a left limb outward),
    +y (a hanging limb backward, the foot's toe down, the torso forward) and +z (to the left).
    """
    builder = ModelBuilder()
    add_ground(builder, terrain, terrain_seed, FRICTION)
    lower = _lump(("lower_trunk", (0.0, 0.0, LOWER_TRUNK)))
    builder.body(
        "pelvis", joint=free("root"), mass=lower.mass, com=lower.com, inertia=lower.inertia
    )
    _capsule(builder, "hips", "pelvis", (0.0, -0.07, 0.03), (0.0, 0.07, 0.03), 0.095)
    for side, left in SIDES.items():
        _add_leg(builder, side, left)
    _add_torso(builder)
    for side, left in SIDES.items():
        _add_arm(builder, side, left)
    # The legs can meet; the robot's other parts pass through each other.
    for one, other in (("thigh", "thigh"), ("shank", "shank"), ("shank", "shoe"), ("shoe", "shoe")):
        builder.pair(f"left_{one}", f"right_{other}")
        builder.pair(f"left_{other}", f"right_{one}")
    return builder


def _lump(*parts: tuple[str, Point]) -> Mass:
    """Segments that hang down from places [m] in a body's frame, as one mass distribution."""
    mass, moment = 0.0, np.zeros(3)
    centers = []
    for name, place in parts:
        segment = SEGMENTS[name]
        center = np.array(place) - (0.0, 0.0, segment.center * segment.length)
        centers.append(center)
        mass += segment.mass * MASS
        moment += segment.mass * MASS * center
    com = moment / mass
    inertia = np.zeros((3, 3))
    for (name, _), center in zip(parts, centers, strict=True):
        segment = SEGMENTS[name]
        gyration = np.array(segment.gyration) * segment.length
        arm = center - com
        inertia += segment.mass * MASS * np.diag(gyration**2)
        inertia += segment.mass * MASS * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Mass(mass, com, inertia)


def _chain(
    builder: ModelBuilder, prefix: str, left: float, parent: str, names: tuple[str, ...], at: Point
) -> str:
    """Massless bodies for all of a joint's axes but the last; returns what carries that one."""
    for name in names:
        builder.body(f"{prefix}{name}_link", parent=parent, joint=_joint(prefix, name, left, at))
        parent, at = f"{prefix}{name}_link", (0.0, 0.0, 0.0)
    return parent


def _joint(prefix: str, name: str, left: float, at: Point) -> Joint:
    drive = DRIVES[name]
    low, high = drive.limits
    if drive.axis != "y" and left < 0.0:
        low, high = -high, -low
    return revolute(
        f"{prefix}{name}",
        axis=AXES[drive.axis],
        position=at,
        limits=(low, high),
        velocity=drive.speed,
        effort=drive.effort,
        damping=drive.damping,
        armature=drive.armature,
    )


def _body(
    builder: ModelBuilder,
    name: str,
    parent: str,
    joint: Joint,
    mass: Mass,
) -> None:
    builder.body(
        name, parent=parent, joint=joint, mass=mass.mass, com=mass.com, inertia=mass.inertia
    )


def _add_leg(builder: ModelBuilder, side: str, left: float) -> None:
    p = f"{side}_"
    origin = (0.0, 0.0, 0.0)
    hip = _chain(builder, p, left, "pelvis", LEG[:2], (0.0, left * HIP_Y, 0.0))
    joint = _joint(p, "hip_pitch", left, origin)
    _body(builder, f"{p}thigh", hip, joint, _lump(("thigh", origin)))
    joint = _joint(p, "knee", left, (0.0, 0.0, -THIGH))
    _body(builder, f"{p}shank", f"{p}thigh", joint, _lump(("shank", origin)))
    ankle = _chain(builder, p, left, f"{p}shank", LEG[4:5], (0.0, 0.0, -SHANK))
    _body(builder, f"{p}foot", ankle, _joint(p, "ankle_roll", left, origin), _foot())
    _capsule(builder, f"{p}thigh", f"{p}thigh", (0.0, 0.0, -0.03), (0.0, 0.0, -THIGH), 0.062)
    # The shank's lower cap stays clear of a ground that the sole stands on.
    _capsule(builder, f"{p}shank", f"{p}shank", (0.0, 0.0, -0.03), (0.0, 0.0, -SHANK + 0.04), 0.048)
    builder.box(
        f"{p}foot",
        f"{p}foot",
        half_size=((TOE - HEEL) / 2, SOLE_HALF, 0.022),
        position=((TOE + HEEL) / 2, 0.0, -ANKLE + 0.022),
        friction=FRICTION,
    )
    # What the other leg meets of the foot; a box would take ten times as long to test.
    back, front = (HEEL + SHOE, 0.0, -ANKLE + SHOE), (TOE - SHOE, 0.0, -ANKLE + SHOE)
    _capsule(builder, f"{p}shoe", f"{p}foot", back, front, SHOE, collide=False)


def _foot() -> Mass:
    """A foot lies; its heel is as far behind its ankle as Winter's and its sole's."""
    segment = SEGMENTS["foot"]
    mass = segment.mass * MASS
    gyration = np.array(segment.gyration) * segment.length
    com = np.array([segment.center * segment.length + HEEL, 0.0, -ANKLE / 2])
    return Mass(mass, com, mass * np.diag(gyration**2))


def _add_torso(builder: ModelBuilder) -> None:
    """Trunk above the navel, neck and head, on the lumbar joint."""
    at = (0.0, 0.0, LOWER_TRUNK)
    waist = _chain(builder, "", 1.0, "pelvis", TORSO[:2], at)
    neck = MIDDLE_TRUNK + UPPER_TRUNK
    mass = _lump(
        ("middle_trunk", (0.0, 0.0, MIDDLE_TRUNK)),
        ("upper_trunk", (0.0, 0.0, neck)),
        ("head", (0.0, 0.0, neck + HEAD)),
    )
    _body(builder, "torso", waist, _joint("", "torso_pitch", 1.0, (0.0, 0.0, 0.0)), mass)
    belly = (0.0, 0.0, 0.02), (0.0, 0.0, SHOULDER_Z - 0.1)
    _capsule(builder, "belly", "torso", *belly, 0.1, collide=False)
    chest = SHOULDER_Z - 0.07
    _capsule(builder, "chest", "torso", (0.0, -0.075, chest), (0.0, 0.075, chest), 0.115)
    builder.capsule(
        "neck",
        "torso",
        start=(0.0, 0.0, neck - 0.05),
        end=(0.01, 0.0, neck + 0.06),
        radius=0.045,
        collide=False,
        color=(74, 84, 101),
    )
    builder.sphere(
        "head", "torso", radius=0.1, position=(0.015, 0.0, neck + HEAD - 0.11), friction=FRICTION
    )


def _add_arm(builder: ModelBuilder, side: str, left: float) -> None:
    p = f"{side}_"
    origin = (0.0, 0.0, 0.0)
    at = (0.0, left * SHOULDER_Y, SHOULDER_Z)
    shoulder = _chain(builder, p, left, "torso", ARM[:1], at)
    joint = _joint(p, "shoulder_roll", left, origin)
    _body(builder, f"{p}upper_arm", shoulder, joint, _lump(("upper_arm", origin)))
    joint = _joint(p, "elbow", left, (0.0, 0.0, -UPPER_ARM))
    mass = _lump(("forearm", origin), ("hand", (0.0, 0.0, -FOREARM)))
    _body(builder, f"{p}forearm", f"{p}upper_arm", joint, mass)
    _capsule(builder, f"{p}upper_arm", f"{p}upper_arm", origin, (0.0, 0.0, -UPPER_ARM), 0.04)
    _capsule(builder, f"{p}forearm", f"{p}forearm", origin, (0.0, 0.0, -FOREARM - 0.05), 0.032)


def _capsule(
    builder: ModelBuilder,
    name: str,
    body: str,
    start: Point,
    end: Point,
    radius: float,
    collide: bool = True,
) -> None:
    builder.capsule(
        name, body, start=start, end=end, radius=radius, friction=FRICTION, collide=collide
    )
