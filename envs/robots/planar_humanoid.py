"""A humanoid in the sagittal plane: 2 unactuated prismatic root joints, 6 revolute.

A man of 1.70 m and 70 kg.  The torso never pitches, so only its mass matters; but where a third
root joint lets it, its mass distribution does (head, arms and trunk in Winter's table 4.1), and
chest and head can touch the ground.

Segment lengths: fractions of height after Drillis & Contini (1966) in Winter, Biomechanics and
Motor Control of Human Movement (4th ed., 2009), figure 4.1.  Masses, centres of mass and radii of
gyration: Winter (2009), table 4.1; the foot's centre of mass and gyration: de Leva, J. Biomechanics
29 (1996), table 4.  Torques: Anderson, Madigan & Nussbaum, J. Biomechanics 40 (2007), table 3
(hip extension 188, knee extension 190, ankle plantarflexion 111 N m for this body).  Speeds: the
gymnast of Millard's torque-muscle tables (RBDL).  Ranges: Falisse et al., J. R. Soc. Interface 16
(2019), passive limits; but dorsiflexion, whose passive 0.52 rad a loaded foot exceeds, as in the
Unitree H1 (unitree_ros, h1_description/urdf/h1.urdf).  Rotors: the Unitree H1-2's motors of the
same torque class; damping: the H1 in MuJoCo Menagerie.  Ground friction: Geyer & Herr (2010), 0.8.
"""

from __future__ import annotations

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import prismatic, revolute

HEIGHT = 1.70  # [m]
MASS = 70.0  # [kg]
THIGH = 0.245 * HEIGHT  # hip to knee [m]
SHANK = 0.246 * HEIGHT  # knee to ankle [m]
ANKLE = 0.039 * HEIGHT  # ankle above the sole [m]
TORSO = 0.288 * HEIGHT  # hip to shoulder [m]
HEEL, TOE = -0.046, 0.160  # contact points, from the ankle [m]
FRICTION = 0.8

# mass / MASS, centre of mass from the proximal joint / length, radius of gyration / length
SEGMENTS = {
    "thigh": (0.100, 0.433, 0.323),
    "shank": (0.0465, 0.433, 0.302),
}
TORSO_MASS = 0.678 * MASS  # head, arms and trunk [kg]
TORSO_COM, TORSO_GYRATION = 0.626 * TORSO, 0.496 * TORSO  # above the hip, about that [m]
FOOT_MASS = 0.0145 * MASS  # [kg]
FOOT_LENGTH = 0.152 * HEIGHT  # [m]
FOOT_COM = (0.068, 0.0, -0.033)  # from the ankle [m]
FOOT_GYRATION = 0.245 * FOOT_LENGTH  # [m]

# effort [N m], speed [rad/s], range [rad], damping [N m s/rad], armature [kg m^2]
JOINTS = {
    "hip": (190.0, 9.0, (-1.81, 0.70), 1.0, 0.0633),
    "knee": (190.0, 18.0, (0.0, 2.40), 1.0, 0.0633),
    "ankle": (120.0, 12.0, (-0.87, 0.74), 1.0, 0.0251),
}
SIDES = {"left": 0.09, "right": -0.09}  # y of the leg [m]; it matters to the eye alone
STANDING = (-0.2, 0.4, -0.2)  # hip, knee, ankle [rad]: soles flat


def build(free_pitch: bool = False) -> Model:
    """The model: q = (x, z of the hip, left hip, knee, ankle, right hip, knee, ankle).

    A positive hip or knee angle turns the limb backward, a positive ankle angle the toe down.  With
    `free_pitch` the torso's pitch, forward if positive, follows x and z.
    """
    builder = ModelBuilder(directions=2)
    builder.half_space("floor", friction=FRICTION)
    builder.body("slide", joint=prismatic("root_x", axis=(1.0, 0.0, 0.0), actuated=False))
    rise = prismatic("root_z", axis=(0.0, 0.0, 1.0), actuated=False)
    if free_pitch:
        builder.body("rise", parent="slide", joint=rise)
        moment = TORSO_MASS * TORSO_GYRATION**2
        builder.body(
            "torso",
            parent="rise",
            joint=revolute("root_pitch", axis=(0.0, 1.0, 0.0), actuated=False),
            mass=TORSO_MASS,
            com=(0.0, 0.0, TORSO_COM),
            inertia=(moment, moment, 0.1 * moment),
        )
    else:
        builder.body("torso", parent="slide", joint=rise, mass=TORSO_MASS)
    _dress_torso(builder, free_pitch)
    for side, y in SIDES.items():
        _add_leg(builder, side, y)
    return builder.build()


def _add_leg(builder: ModelBuilder, side: str, y: float) -> None:
    parent = "torso"
    position = (0.0, y, 0.0)
    for link, name, length in (("thigh", "hip", THIGH), ("shank", "knee", SHANK)):
        fraction, center, gyration = SEGMENTS[link]
        mass = fraction * MASS
        moment = mass * (gyration * length) ** 2
        _add_link(
            builder, side, link, name, parent, position, mass, (0, 0, -center * length), moment
        )
        builder.capsule(
            f"{side}_{link}",
            f"{side}_{link}",
            start=(0.0, 0.0, 0.0),
            # The shank's lower cap stays clear of a ground that the sole stands on.
            end=(0.0, 0.0, -length + (0.03 if link == "shank" else 0.0)),
            radius=0.07 if link == "thigh" else 0.05,
            friction=FRICTION,
            collide=link == "shank",
        )
        parent = f"{side}_{link}"
        position = (0.0, 0.0, -length)
    moment = FOOT_MASS * FOOT_GYRATION**2
    _add_link(builder, side, "foot", "ankle", parent, position, FOOT_MASS, FOOT_COM, moment)
    builder.box(
        f"{side}_sole",
        f"{side}_foot",
        half_size=((TOE - HEEL) / 2 + 0.01, 0.045, 0.022),
        position=((TOE + HEEL) / 2, 0.0, -ANKLE + 0.022),
        collide=False,
    )
    for name, x in (("heel", HEEL), ("toe", TOE)):
        builder.point(f"{side}_{name}", f"{side}_foot", (x, 0.0, -ANKLE), friction=FRICTION)


def _add_link(
    builder: ModelBuilder,
    side: str,
    link: str,
    joint: str,
    parent: str,
    position: tuple[float, float, float],
    mass: float,
    com: tuple[float, float, float],
    moment: float,
) -> None:
    effort, speed, limits, damping, armature = JOINTS[joint]
    builder.body(
        f"{side}_{link}",
        parent=parent,
        joint=revolute(
            f"{side}_{joint}",
            axis=(0.0, 1.0, 0.0),
            position=position,
            limits=limits,
            velocity=speed,
            effort=effort,
            damping=damping,
            armature=armature,
        ),
        mass=mass,
        com=com,
        # Only the moment about y acts in the plane; the others complete a rod.
        inertia=(moment, moment, 0.1 * moment),
    )


def _dress_torso(builder: ModelBuilder, pitches: bool) -> None:
    """The pelvis touches the ground in a fall; so do chest and head where the torso pitches."""
    builder.sphere("pelvis", "torso", radius=0.11, friction=FRICTION)
    builder.capsule(
        "trunk",
        "torso",
        start=(0.0, 0.0, 0.06),
        end=(0.0, 0.0, TORSO - 0.08),
        radius=0.12,
        friction=FRICTION,
        collide=pitches,
    )
    builder.capsule(
        "neck",
        "torso",
        start=(0.0, 0.0, TORSO - 0.02),
        end=(0.01, 0.0, TORSO + 0.12),
        radius=0.045,
        collide=False,
        color=(74, 84, 101),
    )
    builder.sphere(
        "head",
        "torso",
        radius=0.105,
        position=(0.015, 0.0, TORSO + 0.19),
        friction=FRICTION,
        collide=pitches,
    )
