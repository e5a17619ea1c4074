"""A four-legged robot: 2 unactuated prismatic root joints and 4 legs of 3 revolute.

Numbers of the Unitree Go1 (google-deepmind/mujoco_menagerie, unitree_go1/go1.xml; joint ranges,
trunk box and friction: unitreerobotics/unitree_ros, go1_description; rotors and gears: mujocolab/
mjlab, unitree_go1 constants).  The Go1 spends one motor of each leg on roll; here it drives an
ankle instead.  So, derived and not the robot's: the four roll motors' 0.680 kg stay with the
trunk; the calf (0.213 m, 0.136 kg) is cut 60:40 into shank and metatarsal, the proportion of
OpenAI's half-cheetah; the ankle has the roll motor's torque, speed and rotor, and a range of our
choice; damping stands for the motors' 0.2 N m of dry friction.  The trunk's moment of inertia
matters where it may pitch: the Go1's, and the roll motors as points at the hips.
"""

from __future__ import annotations

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import prismatic, revolute

TRUNK_MASS = 5.204 + 4 * 0.680  # [kg]
TRUNK_MOMENT = 6.30095e-2 + 4 * 0.680 * 0.1881**2  # about its centre [kg m^2]
TRUNK_HALF = (0.1881, 0.0467, 0.057)  # [m]
HIP_X = 0.1881  # hips before and behind the trunk's centre [m]
FOOT_RADIUS = 0.023  # [m]
FRICTION = 0.6

# length [m], mass [kg], centre of mass below the joint [m], moment about it [kg m^2]
LINKS = {
    "thigh": (0.213, 1.009, 0.0305, 0.00469),
    "shank": (0.128, 0.08164, 0.0640, 1.115e-4),
    "metatarsal": (0.085, 0.11422, 0.0648, 9.37e-5),
}
# effort [N m], speed [rad/s], range [rad], damping [N m s/rad], armature [kg m^2]
JOINTS = {
    "hip": (23.7, 30.1, (-0.663, 2.967), 0.05, 0.004026),
    "knee": (35.55, 20.06, (-2.818, -0.888), 0.05, 0.009059),
    "ankle": (23.7, 30.1, (-0.40, 1.80), 0.05, 0.004026),
}
LEGS = {
    "front_left": (HIP_X, 0.12),
    "front_right": (HIP_X, -0.12),
    "rear_left": (-HIP_X, 0.12),
    "rear_right": (-HIP_X, -0.12),
}
STANDING = (0.6, -1.5, 0.7)  # hip, knee, ankle [rad]


def build(free_pitch: bool = False) -> Model:
    """The model: q = (x, z of the trunk, then hip, knee, ankle of each leg in the order of LEGS).

    A positive angle turns the limb backward about +y.  With `free_pitch` the trunk's pitch, nose
    down if positive, follows x and z.
    """
    builder = ModelBuilder(directions=2)
    builder.half_space("floor", friction=FRICTION)
    builder.body("slide", joint=prismatic("root_x", axis=(1.0, 0.0, 0.0), actuated=False))
    rise = prismatic("root_z", axis=(0.0, 0.0, 1.0), actuated=False)
    if free_pitch:
        builder.body("rise", parent="slide", joint=rise)
        builder.body(
            "trunk",
            parent="rise",
            joint=revolute("root_pitch", axis=(0.0, 1.0, 0.0), actuated=False),
            mass=TRUNK_MASS,
            inertia=(0.5 * TRUNK_MOMENT, TRUNK_MOMENT, TRUNK_MOMENT),
        )
    else:
        builder.body("trunk", parent="slide", joint=rise, mass=TRUNK_MASS)
    builder.box("body", "trunk", half_size=TRUNK_HALF, collide=False)
    for name, x in (("chest", HIP_X), ("rump", -HIP_X)):
        builder.sphere(
            name, "trunk", radius=TRUNK_HALF[2], position=(x, 0.0, 0.0), friction=FRICTION
        )
    for leg, (x, y) in LEGS.items():
        _add_leg(builder, leg, x, y)
    return builder.build()


def _add_leg(builder: ModelBuilder, leg: str, x: float, y: float) -> None:
    parent = "trunk"
    position = (x, y, 0.0)
    for (link, (length, mass, center, moment)), (name, limits) in zip(
        LINKS.items(), JOINTS.items(), strict=True
    ):
        effort, speed, span, damping, armature = limits
        body = f"{leg}_{link}"
        builder.body(
            body,
            parent=parent,
            joint=revolute(
                f"{leg}_{name}",
                axis=(0.0, 1.0, 0.0),
                position=position,
                limits=span,
                velocity=speed,
                effort=effort,
                damping=damping,
                armature=armature,
            ),
            mass=mass,
            com=(0.0, 0.0, -center),
            # Only the moment about y acts in the plane; the others complete a rod.
            inertia=(moment, moment, 0.1 * moment),
        )
        radius = {"thigh": 0.030, "shank": 0.018, "metatarsal": 0.014}[link]
        end = (0.0, 0.0, -length)
        builder.capsule(
            f"{body}_link", body, start=(0, 0, 0), end=end, radius=radius, collide=False
        )
        parent, position = body, end
    # What can touch the ground: knee, ankle and foot
    builder.sphere(f"{leg}_knee", f"{leg}_shank", radius=0.022, friction=FRICTION)
    builder.sphere(f"{leg}_ankle", f"{leg}_metatarsal", radius=0.018, friction=FRICTION)
    builder.sphere(
        f"{leg}_foot",
        f"{leg}_metatarsal",
        radius=FOOT_RADIUS,
        position=(0.0, 0.0, -LINKS["metatarsal"][0]),
        friction=FRICTION,
    )
