"""What the planar walkers' expert knows of a robot, and what it computes at each call.

Of `Walker`, of a leg and of what is worked out, a stage asks in its signature for the parts that it
needs: first of what the robot is like, then what it reads, last what it writes.
"""

from __future__ import annotations

from typing import Annotated

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import ROOM, Common, expert_opener, numbers, records
from dynenvs.memory.layout import Floats, ModelView

LEGS = 4  # at most
JOINTS = 3  # of a leg


# The robot's legs, gait and gains, a class for each of the method's stages


class Body(Common):
    """The robot."""

    legs: int
    root: int  # root coordinates: x, z, and the trunk's pitch if it is free
    hips: Annotated[Floats, LEGS]  # each leg's hip before the trunk's origin [m]
    thigh: float  # hip to knee [m]
    shank: float  # knee to ankle [m]
    knee: float  # 1 or -1: which way it bends
    heel: float  # ends of the sole along the foot, from the ankle [m]
    toe: float
    sole: float  # height of the sole (of a spherical foot's centre), from the ankle [m]
    radius: float  # of a spherical foot, 0 for a sole [m]
    flat_pitch: float  # pitch of the foot that stands, sum of the leg's angles [rad]
    weight: float  # of the whole robot [N]


class Gait(Body):
    """The gait."""

    offsets: Annotated[Floats, LEGS]  # phase of each leg
    slow_frequency: float  # cycles a second at rest [Hz]
    frequency_slope: float  # [Hz s/m]
    duty: float  # fraction of the cycle that a foot stands
    ramp: float  # fraction of the cycle in which it takes over its load, or sheds it
    light: float  # share of it by which a foot that is due to carry nothing stays down
    ahead: float  # of the middle of a stance, before the hip [m]
    roll: float  # of a foot, toe down, for each metre of a stride [rad/m]
    roll_start: float  # phases between which it rolls over its toe and comes back
    roll_end: float
    press: float  # where the load is at touchdown, from the ankle [m]
    balances: int  # 1 if two legs carry a trunk that pitches (`capture.py`)


class Estimate(Gait):
    """What is seen, and how far it is believed."""

    at_height: int
    at_joint_angles: int
    at_velocity: int
    at_joint_velocities: int
    at_gait_phase: int
    at_command: int
    at_pitch: int
    at_pitch_rate: int
    at_foot_contacts: int
    seen: int  # entries of an observation
    leg_height: float  # standard deviations: of the hip's height above a standing foot [m],
    leg_speed: float  # of its speed above it [m/s]
    trust_q: float  # in the observed positions against the foreseen ones, 0 to 1
    trust_v: float  # in the observed joint velocities
    trust_root: float  # in the observed velocity of the trunk


class Balance(Gait):
    """Where steps go and soles push, where balance must be kept."""

    middle: float  # where a sole pushes in the middle of a step, from the ankle [m]
    sweep: float  # way of the centre of pressure along the sole in a step [m]
    edge: float  # that it keeps from the sole's ends [m]
    # Fractions of the cycle: in which it goes to a toe that is to be rolled on,
    toeing: float
    early: float  # by which a foot takes over load before it is due,
    resting: float  # and before that takes up the light share of one that rests
    room: float  # by which it may take errors out, as steps are planned [m]
    balance_rate: float  # of the capture point [rad/s]
    longest_step: float  # [m]
    quicker: Annotated[Floats, 3]  # moves from and to which steps are quicker [m], by what share


class Carriage(Gait):
    """How the trunk is carried."""

    height: float  # of the hip, at most [m]
    reach: float  # of a leg, hip to ankle, that steps are planned for [m]
    longest: float  # that distance at which a knee is all but at its stop [m]
    trail: float  # of a standing foot behind the hip, at most [m]
    speed_rate: float  # bandwidth of the forward speed [rad/s]
    acceleration: float  # its bound [m/s^2]
    height_rate: float  # of the hip's height [rad/s]
    tilt_rate: float  # of the trunk's pitch, where it is free [rad/s]
    recoil: float  # part of the swinging legs' recoil that the trunk takes


class Swing(Gait):
    """How feet move."""

    swing_rate: float  # of a swinging foot [rad/s]
    clearance: float  # of a swinging foot's apex [m]
    landing: float  # fraction of the cycle by which it is forward before it is down
    landing_speed: float  # at which a foot that is late looks for the ground [m/s]
    below: float  # depth below the ground at which a swing ends [m]
    smooth: float  # part of a swing at either end in which its acceleration grows, or falls
    last: float  # about the least part of a swing's way that is divided by


class Sharing(Body):
    """How feet share what the ground is to give."""

    friction: float  # coefficient that forces keep within
    turned: float  # distance at which the trunk's pitch counts as much as its height [m]


class Walker(Estimate, Balance, Carriage, Swing, Sharing):
    """All of it, made by `parameters.py`."""


WALKER = dtype_of(Walker)


# A leg


class Stance:
    """Whether a foot carries."""

    phase: float  # in [0, 1), since the foot was due to carry
    touches: int  # the flag of the observation
    stood: int  # at the last call, if it remembers
    stands: int
    share: float  # of the load, before they are put to a sum of 1


class Limb:
    """A leg's links and the point of its sole."""

    point: float  # of the sole that it stands on or is moved by, from the ankle [m]
    rolls: int  # over its toe
    # From the joint on: thigh, shank and foot [m]; the foot's to the point
    thigh: Annotated[Floats, 2]
    shank: Annotated[Floats, 2]
    foot: Annotated[Floats, 2]
    hip: Annotated[Floats, 2]  # from the root's origin [m]
    ankle: float  # of the sole below the ankle, ahead of the root's origin [m]
    lowest: float  # height of the sole's lower end from the root's origin [m]
    rates: Annotated[Floats, 3]  # of the links in the plane [rad/s]
    place: Annotated[Floats, 2]  # of the point, from the root's origin [m]
    speed: Annotated[Floats, 2]  # over the ground [m/s]
    tilt: float  # of the foot against flat, toe down [rad]


class Leg(Stance, Limb):
    """A leg, its foot and what is wanted of it."""

    goal: Annotated[Floats, 3]  # desired acceleration of the point, and of the foot's turning
    force: Annotated[Floats, 2]  # of the ground on it [N]


# What is worked out at each call


class Clock:
    """The gait's clock, and the command."""

    phase: float  # of the gait, in [0, 1)
    command: float  # [m/s]
    rate: float  # cycles a second [Hz]
    pace: float  # speed that steps are planned for [m/s]
    known: int  # whether there is a memory
    ahead: float  # of its own clock against the observed one [cycles]
    faster: float  # share by which it runs faster


class Trunk:
    """How the trunk stands."""

    pitch: float  # [rad]
    cosine: float  # of the pitch
    sine: float
    turn: float  # its rate [rad/s]


class Wanted:
    """How the trunk is to accelerate."""

    ax: float  # the hip [m/s^2]
    az: float
    alpha: float  # the pitch [rad/s^2]


class Step:
    """The pendulum, and the next step."""

    omega: float  # of the pendulum that it is [1/s]
    drift: float  # its speed, by its angular momentum [m/s]
    capture: float  # capture point,
    pressure: float  # desired centre of pressure,
    foothold: float  # and next place of an ankle, ahead of the hip [m]
    way: float  # of a step, at most [m]


class Load:
    """What the ground is to give."""

    carried: float  # sum of the legs' shares
    force: Annotated[Floats, 3]  # x, z [N], moment about the root [N m]


class WalkerView(ModelView, buffers=ROOM):
    """What a thread of the planar walkers' expert works out."""

    a = numbers("nv", "desired accelerations [m/s^2, rad/s^2]")
    clock = records(Clock)
    trunk = records(Trunk)
    wanted = records(Wanted)
    step = records(Step)
    load = records(Load)
    legs = records(Leg, LEGS)


open_walker = expert_opener(WalkerView)
