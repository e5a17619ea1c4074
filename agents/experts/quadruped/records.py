"""What the trotting expert knows of a robot, and what it computes at each call.

Of `Trot`, of a leg and of what is worked out, a stage asks in its signature for the parts that it
needs: first of what the robot is like, then what it reads, last what it writes.
"""

from __future__ import annotations

from typing import Annotated

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import ROOM, Common, expert_opener, numbers, records
from dynenvs.agents.experts.common.scan import Scan
from dynenvs.agents.experts.common.state import Sight
from dynenvs.memory.layout import Floats, Ints, ModelView

LEGS = 4
JOINTS = 3  # of a leg: abduction, hip, knee
NV = 6 + LEGS * JOINTS
GROUPS = 3  # of velocities, equally noisy: the base's linear and angular ones, the joints'
PAIRS = 2  # diagonal pairs, which stand in turn
MOVES = 5  # of a foothold, away from edges, in each direction


# The robot's legs, gait and gains, a class for each of the method's stages


class Seen(Common, Sight, Scan):
    """Where the observation has what."""

    singular: float  # least determinant of a leg's Jacobian [m^3]


class Pairs(Common):
    """The legs."""

    pair: Annotated[Ints, LEGS]  # to which each leg belongs; pair 1 is half a cycle behind pair 0
    first: Annotated[Ints, PAIRS]  # legs of each pair
    second: Annotated[Ints, PAIRS]
    stance: Annotated[Floats, LEGS, 2]  # where each foot stands, from the centre of mass [m]


class Gait(Common):
    """The gait's clock."""

    duty: float  # fraction of the cycle that a foot stands, at rest ...
    duty_slope: float  # ... and what it loses with speed [s/m]
    least_duty: float  # the pairs hand over the load while both are down
    slow_frequency: float  # cycles a second at rest [Hz]
    frequency_slope: float  # [Hz s/m]
    quicker: Annotated[Floats, 3]  # such speeds from and to which steps are quicker, by what share


class Carriage(Common):
    """How the base is carried."""

    height: float  # of the base above the ground [m] ...
    height_slope: float  # ... and what it loses with speed [s]
    height_rate: float  # bandwidths [rad/s]: of the height,
    tilt_rate: float  # of roll and pitch,
    turn_rate: float  # of the turning speed,
    speed_rate: float  # of the speed along the line between the standing feet
    sway: float  # of the pendulum's change of speed, what is let happen along the line
    acceleration: float  # bounds on that along the line: gathering way [m/s^2] ...
    deceleration: float  # ... and braking
    trim: Annotated[Floats, 3]  # added to the command: of forward and sideways speed, and [m/s]
    follow: float  # part of the ground's slope that the base takes over
    lift: float  # bounds on the accelerations upwards [m/s^2],
    twist: float  # and of turning [rad/s^2]


class Footsteps(Carriage, Pairs):
    """Where feet go."""

    reach: float  # of a step, from below the centre of mass [m]
    lead: float  # by which a step turns the velocity ahead: it follows late [s]
    gain: float  # bound on what one step adds to the velocity [m/s]
    braking: float  # ... and on what it takes from it [m/s]


class Edges(Pairs, Scan):
    """Costs, in metres of moving a foothold."""

    edge: float  # of a metre by which the ground differs about it
    aside: float  # ... and by which a pair's line is moved from where balance wants it


class Swing(Pairs, Scan):
    """How feet move."""

    arrival: float  # fraction of the cycle by which a swinging foot is over its place,
    landing: float  # and by which it is almost down
    clearance: float  # of a swinging foot [m]
    phase_warp: float  # by how much faster a swing over ground ends, and slower begins
    rise: float  # by how much faster a foot begins to go up than it comes down
    swing_rate: float  # bandwidth of swinging feet [rad/s],
    swing_damping: float  # relative to the critical one
    ease: float  # of the swing, over the time left: its least stiffness
    touchdown: float  # speed of a foot that comes down on terrain [m/s]
    sink: float  # speed of a foot that is late, more of it for each metre above [1/s]
    press: float  # acceleration of a foot that is late, against speed [1/s]


class Reserve(Pairs):
    """The friction that is relied on, and where more of it."""

    friction: float  # coefficient that the ground forces keep to ...
    grip: float  # ... and, where the robot is far too fast,
    fast: Annotated[Floats, 2]  # by more than the first of these speeds to the second [m/s]
    beside: Annotated[Floats, 2]  # or so far, over the height, from the line between standing feet


class Forces(Carriage):
    """What forces are chosen by."""

    mass: float  # of the whole robot [kg]
    slack: float  # weight of the base's horizontal acceleration against the vertical one


class Trot(Seen, Gait, Footsteps, Edges, Swing, Reserve, Forces):
    """All of it, made by `parameters.py`."""


TROT = dtype_of(Trot)


# A leg


class Stance:
    """Whether a foot carries."""

    phase: float  # since the foot was due to carry, in [0, 1)
    touches: int  # its contact flag
    stands: int  # it is given a force
    rests: int  # it stands and touches: it does not move
    share: float  # of its pair's load, in [0, 1]


class Foot:
    """A foot, the joints from the base to it, and the ground below it."""

    body: int  # that carries the foot
    feature: int
    normal: Annotated[Floats, 3]  # of the ground
    gap: float  # [m]
    point: Annotated[Floats, 3]  # lowest point of the foot, in the heading's frame [m]
    velocity: Annotated[Floats, 3]  # [m/s]
    arm: Annotated[Floats, 3]  # from the base to the point [m]
    jacobian: Annotated[Floats, 3, JOINTS]
    inverse: Annotated[Floats, JOINTS, 3]


class Leg(Stance, Foot):
    """A leg, and what is wanted of it."""

    place: Annotated[Floats, 2]  # where it is to stand next [m]
    goal: Annotated[Floats, 3]  # its velocity after the period [m/s]
    effect: Annotated[Floats, 6, 3]  # of a force on the foot on the base's coordinates
    rates: Annotated[Floats, JOINTS]  # accelerations of its joints [rad/s^2]
    gives: Annotated[Floats, JOINTS, 6]  # ... and how they follow the base's
    price: float  # of its force
    force: Annotated[Floats, 3]  # of the ground on the foot [N]
    aside: Annotated[Floats, 3]  # direction of that along the ground


# What is carried from call to call, and what is worked out at each


class Memo:
    """What is remembered from call to call (`memory.py`), all numbers."""

    valid: float  # 1 if anything is
    up: Annotated[Floats, 3]  # upward direction in the base's axes
    seen: Annotated[Floats, NV]  # velocities as observed
    velocity: Annotated[Floats, NV]  # ... and as estimated
    asked: Annotated[Floats, 2, NV]  # accelerations of the last call and the one before
    swung: Annotated[Floats, 2, LEGS]  # 1 for a leg that did not stand then
    missed: Annotated[Floats, NV]  # change of velocity that was not predicted
    late: float  # sums: of changes that were asked for a call earlier, times what happened
    sure: float  # ... and their squares
    square: Annotated[Floats, GROUPS]  # of `missed`, squared,
    product: Annotated[Floats, GROUPS]  # ... and times that of the call before
    count: Annotated[Floats, GROUPS]
    ahead: float  # of its own clock against the observed one [cycles]
    faster: float  # share by which it runs faster


MEMO = dtype_of(Memo)
CARRIED = MEMO.itemsize // 8


class Clock:
    """The gait's clock, and the command."""

    phase: float
    frequency: float  # [Hz]
    duty: float
    command: Annotated[Floats, 3]
    main: int  # the pair that carries
    since: float  # it took over [s]
    left: float  # until the other one does [s]
    ahead: float  # of its own clock against the observed one [cycles],
    faster: float  # and the share by which it runs faster
    delay: float  # part of a control step by which torques are late


class Ground:
    """The ground as it is seen."""

    rise: Annotated[Floats, 2]  # slopes of the ground forward and sideways


class Base:
    """The base, the centre of mass, the lines between the feet."""

    center: Annotated[Floats, 3]  # of mass [m]
    height: float  # of the base [m]
    speed: Annotated[Floats, 3]  # its velocity [m/s]
    turning: Annotated[Floats, 3]  # [rad/s]
    momentum: Annotated[Floats, 2]  # velocity that stands for the angular momentum [m/s]
    line: Annotated[Floats, PAIRS, 2]  # over ground from a pair's second foot to its first, unit


class Stride:
    """The pendulum, and the next step."""

    omega: float  # of the pendulum [1/s]
    factor: Annotated[Floats, PAIRS]  # of the velocity against its mean over either pair's step,
    last: float  # its value at a step's ends, across the line ...
    last_along: float  # ... and along it
    place: Annotated[Floats, 2]  # under the centre of mass when the next pair takes over ...
    offset: Annotated[Floats, 2]  # ... and where that pair stands from there [m]


class Wanted:
    """What the base is to do."""

    along: Annotated[Floats, PAIRS, 2]  # desired acceleration of the base while a pair carries
    a: Annotated[Floats, 3]  # the same as the pairs share the weight [m/s^2]
    alpha: Annotated[Floats, 3]  # [rad/s^2]


class Load:
    """What the feet carry."""

    weight: Annotated[Floats, PAIRS]  # shares of the pairs in the load
    friction: float  # coefficient that the ground forces keep to


class Dual:
    """What `forces.py` computes with, names as there."""

    E: Annotated[Floats, 6, 6]
    soft: Annotated[Floats, 6, 6]  # E W^-1 E'
    H: Annotated[Floats, 6, 6]
    weight: Annotated[Floats, 6]
    b: Annotated[Floats, 6]
    u: Annotated[Floats, 6]
    y: Annotated[Floats, 6]
    slope: Annotated[Floats, 6]
    change: Annotated[Floats, 6]
    trial: Annotated[Floats, 6]


class TrotView(ModelView, buffers=ROOM):
    """What a thread of the quadruped's expert works out."""

    clock = records(Clock)
    ground = records(Ground)
    base = records(Base)
    stride = records(Stride)
    wanted = records(Wanted)
    load = records(Load)
    dual = records(Dual)
    legs = records(Leg, LEGS)
    costs = numbers(f"{2 * MOVES * MOVES}", "of moves of both footholds of a pair")


open_trot = expert_opener(TrotView)
