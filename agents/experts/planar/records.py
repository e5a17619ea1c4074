"""What the planar walkers' expert knows of a robot, and what it computes at each call."""

from __future__ import annotations

from typing import Annotated

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import Common
from dynenvs.memory.layout import Floats

LEGS = 4  # at most
JOINTS = 3  # of a leg


class Walker(Common):
    """A robot's legs, gait and gains, made by `parameters.py`."""

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
    legs: int
    root: int  # root coordinates: x, z, and the trunk's pitch if it is free
    hips: Annotated[Floats, LEGS]  # each leg's hip before the trunk's origin [m]
    offsets: Annotated[Floats, LEGS]  # phase of each leg
    thigh: float  # hip to knee [m]
    shank: float  # knee to ankle [m]
    knee: float  # 1 or -1: which way it bends
    heel: float  # ends of the sole along the foot, from the ankle [m]
    toe: float
    sole: float  # height of the sole (of a spherical foot's centre), from the ankle [m]
    radius: float  # of a spherical foot, 0 for a sole [m]
    flat_pitch: float  # pitch of the foot that stands, sum of the leg's angles [rad]
    weight: float  # of the whole robot [N]
    friction: float  # coefficient that forces keep within
    # The gait
    slow_frequency: float  # cycles a second at rest [Hz]
    frequency_slope: float  # [Hz s/m]
    duty: float  # fraction of the cycle that a foot stands
    ramp: float  # fraction of the cycle in which it takes over its load, or sheds it
    light: float  # share of it by which a foot that is due to carry nothing stays down
    height: float  # of the hip, at most [m]
    reach: float  # of a leg, hip to ankle, that steps are planned for [m]
    longest: float  # that distance at which a knee is all but at its stop [m]
    ahead: float  # of the middle of a stance, before the hip [m]
    trail: float  # of a standing foot behind the hip, at most [m]
    clearance: float  # of a swinging foot's apex [m]
    landing: float  # fraction of the cycle by which it is forward before it is down
    below: float  # depth below the ground at which a swing ends [m]
    roll: float  # of a foot, toe down, for each metre of a stride [rad/m]
    roll_start: float  # phases between which it rolls over its toe and comes back
    roll_end: float
    press: float  # where the load is at touchdown, from the ankle [m]
    # Feedback
    speed_rate: float  # bandwidth of the forward speed [rad/s]
    acceleration: float  # its bound [m/s^2]
    height_rate: float  # of the hip's height [rad/s]
    recoil: float  # part of the swinging legs' recoil that the trunk takes
    tilt_rate: float  # of the trunk's pitch, where it is free [rad/s]
    turned: float  # distance at which its pitch counts as much as its height [m]
    swing_rate: float  # of a swinging foot [rad/s]
    landing_speed: float  # at which a foot that is late looks for the ground [m/s]
    # The estimate: standard deviations and gains
    leg_height: float  # of the hip's height above a standing foot [m]
    leg_speed: float  # of its speed above it [m/s]
    trust_q: float  # in the observed positions against the foreseen ones, 0 to 1
    trust_v: float  # in the observed joint velocities
    trust_root: float  # in the observed velocity of the trunk
    # Balance, where two legs carry a trunk that pitches (`capture.py`)
    balances: int  # 1 if it must be kept
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
    smooth: float  # part of a swing at either end in which its acceleration grows, or falls
    last: float  # about the least part of a swing's way that is divided by


WALKER = dtype_of(Walker)


class Plan:
    """What is worked out at each call."""

    phase: float  # of the gait, in [0, 1)
    command: float  # [m/s]
    rate: float  # cycles a second [Hz]
    pace: float  # speed that steps are planned for [m/s]
    carried: float  # sum of the legs' shares
    pitch: float  # of the trunk [rad]
    turn: float  # its rate [rad/s]
    known: int  # whether there is a memory
    ax: float  # acceleration of the hip that is wanted [m/s^2]
    az: float
    alpha: float  # of the pitch [rad/s^2]
    ahead: float  # of its own clock against the observed one [cycles]
    faster: float  # share by which it runs faster
    inertia: float  # against its pitch [kg m^2]
    omega: float  # of the pendulum that it is [1/s]
    drift: float  # its speed, by its angular momentum [m/s]
    capture: float  # capture point,
    pressure: float  # desired centre of pressure,
    foothold: float  # and next place of an ankle, ahead of the hip [m]
    way: float  # of a step, at most [m]
    force: Annotated[Floats, 3]  # that the ground is to give: x, z [N], moment about the root [N m]


PLAN = dtype_of(Plan)


class Leg:
    """A leg, its foot and what is wanted of it."""

    phase: float  # in [0, 1), since the foot was due to carry
    touches: int  # the flag of the observation
    stood: int  # at the last call, if it remembers
    stands: int
    share: float  # of the load, before they are put to a sum of 1
    point: float  # of the sole that it stands on or is moved by, from the ankle [m]
    rolls: int  # over its toe
    # From the joint on: thigh, shank and foot [m]; the foot's to the point
    thigh: Annotated[Floats, 2]
    shank: Annotated[Floats, 2]
    foot: Annotated[Floats, 2]
    hip: Annotated[Floats, 2]  # from the root's origin [m]
    ankle: float  # of the sole below the ankle, ahead of the root's origin [m]
    rates: Annotated[Floats, 3]  # of the links in the plane [rad/s]
    place: Annotated[Floats, 2]  # of the point, from the root's origin [m]
    speed: Annotated[Floats, 2]  # over the ground [m/s]
    goal: Annotated[Floats, 3]  # desired acceleration of it, and of the foot's turning
    tilt: float  # of the foot against flat, toe down [rad]
    force: Annotated[Floats, 2]  # of the ground on it [N]


LEG = dtype_of(Leg)
