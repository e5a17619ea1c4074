"""What the walking expert knows of a two-legged robot, and what it computes at each call.

Of `Biped`, of a leg and of what is worked out, a stage asks in its signature for the parts that it
needs: first of what the robot is like, then what it reads, last what it writes.
"""

from __future__ import annotations

from typing import Annotated

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.agents.experts.common.memory import ROOM, Common, expert_opener, numbers, records
from dynenvs.agents.experts.common.scan import Scan
from dynenvs.agents.experts.common.state import Sight
from dynenvs.memory.layout import Floats, ModelView

LEGS = 2
JOINTS = 6  # of a leg: hip yaw, roll and pitch, knee, ankle pitch and roll
UPPER = 9  # joints above: torso, then left and right arm, three each
TORSO = 3  # of them the torso's: yaw, roll, pitch
TWIST = 6  # angular, then linear velocity
ACTUATED = LEGS * JOINTS + UPPER
STATES = 9 + 2 * ACTUATED  # what is estimated: see `filter.py`
SEEN = STATES + 1  # of an observation: base and joints
NV = 6 + ACTUATED


class Memo:
    """What is carried from call to call, all numbers."""

    valid: float  # 1 if anything is
    seen: Annotated[Floats, SEEN]  # the next observation, as predicted
    noise: float  # of sensors: mean square over joints, in units of `filter.py`
    delay: float  # of the motors, in control steps, as the predicted one has it
    late: float  # sums: of changes that were asked for a call earlier, times what happened
    sure: float  # ... and their squares
    asked: Annotated[Floats, 2, NV]  # accelerations of the last call and the one before
    slips: float  # how much soles that carried have slid
    firm: float  # how long nothing has slid, surprised or been late [s]
    rolls: float  # how far soles roll, from 0 to 1
    ahead: float  # of its own clock against the observed one [cycles]
    faster: float  # share by which it runs faster
    swings: float  # 1 if a foot does,
    shift: Annotated[Floats, 2]  # and by what its foothold has been moved away from edges [m]


MEMO = dtype_of(Memo)
CARRIED = MEMO.itemsize // 8


# The robot's body, gait and gains, a class for each of the method's stages.  Of early, knee, trail,
# toe, hang, landing_speed, phase_warp and flat_rate the first one is for soles that stay flat, the
# second for soles that roll (`roll.py`)


class Soles(Common, Scan):
    """The soles, and where the ground under them is seen."""

    sole: Annotated[Floats, 3]  # middle of a sole in its foot's frame [m]
    sole_size: Annotated[Floats, 2]  # half its length and width [m]
    half_length: float  # of a sole's part in which the centre of pressure may lie [m]
    half_width: float


class Standing(Soles, Sight):
    """How soles stand, and on which part of them."""

    skew: float  # between a sole and the ground at which it is trusted half [rad]
    least_room: float  # part of the sole's room that is left at edges


class Estimate(Standing):
    """Of what is seen against what was expected, while either foot stands (`filter.py`)."""

    clean: Annotated[Floats, 2]  # noise below which what is seen is taken as it is, above not
    gain: Annotated[Floats, LEGS, STATES, STATES]
    spread: Annotated[Floats, LEGS, STATES]  # standard deviations
    # On dry ground and on slippery one:
    friction: Annotated[Floats, 2]  # horizontal force over vertical, at most,
    grip: Annotated[Floats, 2]  # and moment about the vertical over vertical force [m]


class Gait(Common):
    """The gait's clock."""

    duty: float  # fraction of the cycle that a foot stands, at rest ...
    duty_slope: float  # ... and what it loses with speed [s/m]
    slow_frequency: float  # cycles a second at rest [Hz]
    frequency_slope: float  # [Hz s/m]
    quicker: Annotated[Floats, 3]  # moves from and to which steps are quicker [m], by what share


class Balance(Common, Scan):
    """How errors of the capture point are taken out."""

    balance_rate: float  # bandwidth of the divergent component of motion [rad/s]
    early: Annotated[Floats, 2]  # by how much faster than evenly the load begins to pass [s/m]
    strongest: float  # horizontal acceleration of the base for balance [m/s^2]


class Footsteps(Balance):
    """Where feet go."""

    pace: float  # of the steps planned, over the commanded speed: they fall short
    width: float  # between the feet [m] ...
    width_slope: float  # ... and what it gains with a step sideways
    least_width: float  # distance between the feet sideways, at least [m] ...
    most_width: float  # ... and at most
    reach: float  # of a step forward or backward [m]


class Edges(Soles):
    """How footholds keep from edges."""

    edge: float  # metres that a foothold may move to have all of the sole on the ground,
    keep: float  # cost of moving it again, over that of moving it,
    margin: float  # and how far the sole is to keep from edges [m]


class Carriage(Soles):
    """How the base is carried."""

    leg: float  # greatest distance from hip to ankle [m]
    knee: Annotated[Floats, 2]  # the same of a steady gait, knees a little bent [m]
    trail: Annotated[Floats, 2]  # how much further than half a step a foot stays behind [m]
    hip: float  # hips from the middle [m]
    height: float  # of the base above the ground [m]
    vault: float  # how much higher it is in the middle of a step, with speed [m s/m]
    lean: Annotated[Floats, 3]  # base's pitch at rest [rad], growth with speed [rad s/m], bound
    height_rate: float  # bandwidths [rad/s]: of the height,
    tilt_rate: float  # of roll and pitch,
    turn_rate: float  # of the turning speed,
    yaw_rate: float  # of the heading against the standing feet's
    most_turning: float  # bound on its turning acceleration [rad/s^2]


class Posture:
    """How torso and arms are held."""

    torso_rate: float  # bandwidths [rad/s]: of the torso, upright by itself,
    posture_rate: float  # of torso and arms
    pose: Annotated[Floats, UPPER]  # of those joints [rad]
    swing: Annotated[Floats, UPPER]  # and how far they swing to each side with speed [rad s/m]


class Roll(Soles):
    """How soles are pitched (`roll.py`)."""

    toe: Annotated[Floats, 2]  # greatest pitch over the toe, with speed [rad s/m]
    hang: Annotated[Floats, 2, 2]  # from and to when, in parts of the swing: it begins before that
    strike: float  # pitch with which the heel meets the ground, with speed [rad s/m]
    rise: float  # part of the swing after which the toe rises for that
    lie: float  # part of the cycle after which the sole lies flat
    ahead: Annotated[Floats, 2]  # speed from which on soles roll, and that of a full roll [m/s]
    aside: float  # sideways speed [m/s]
    around: float  # and turning speed from which on they stay flat [rad/s]
    wait: Annotated[Floats, 2]  # time undisturbed after which they begin to, and do fully [s],
    patience: float  # and how much longer on slippery ground [s]
    change: Annotated[Floats, 2]  # time in which they begin to roll, and cease to [s]


class Swing(Roll):
    """How feet move."""

    landing: float  # part of a swing in which the foot takes up its landing speed,
    landing_speed: Annotated[Floats, 2]  # and that speed [m/s]
    phase_warp: Annotated[Floats, 2]  # by how much faster its way forward ends, and slower begins
    clearance: float  # of a swinging foot [m]
    over: float  # ... over what is highest on its way on terrain [m],
    apex: float  # and the part of the swing after which it is there
    sink: float  # speed of a late foot, more of it for each metre above ground [1/s]
    swing_rate: float  # bandwidths [rad/s]: of swinging feet,
    foot_rate: float  # of their tilt,
    flat_rate: Annotated[Floats, 2]  # of the tilt of standing ones
    hurry: Annotated[Floats, 2]  # foothold's move at which feet are faster [m], and by what share
    most_swing: Annotated[Floats, TWIST]  # acceleration of a foot [rad/s^2, m/s^2]


class Biped(Estimate, Gait, Footsteps, Edges, Carriage, Posture, Swing):
    """All of it, made by `parameters.py`."""


BIPED = dtype_of(Biped)


# A leg


class Stance:
    """Whether a foot carries."""

    phase: float  # since the foot was due to carry, in [0, 1)
    touches: int  # the ground, as the observation says
    stands: int
    share: float  # of the load, in [0, 1]


class Sole:
    """A sole, and the ground below it."""

    body: int  # the foot
    point: Annotated[Floats, 3]  # middle of the sole, in the heading's frame [m]
    velocity: Annotated[Floats, TWIST]
    yaw: float  # of the foot [rad]
    up: Annotated[Floats, 3]  # the foot's upward axis
    tilt: Annotated[Floats, 2]  # rotation vector that would lay it on the ground [rad]
    normal: Annotated[Floats, 3]  # of the ground below its sole, or below the next foothold
    ground: float  # height of that ground [m]
    seat: Annotated[Floats, 3]  # from the sole's middle to that of its part on the ground [m]
    room: Annotated[Floats, 2]  # half length and width in which the centre of pressure may lie [m]
    roll: Annotated[Floats, 3]  # pitch that it is to have [rad], and its rates [rad/s, rad/s^2]
    lift: Annotated[Floats, 3]  # how high that lifts its middle over its edge [m], and rates
    edge: float  # where along the sole that edge is, from its middle [m]
    flatness: float  # how far its sole seems to lie as it is to
    trust: float  # in it as a measure of height and tilt, over the observation's


class Chain:
    """The joints from the base to a sole."""

    first: int  # coordinate of the first one
    arm: Annotated[Floats, 3]  # from the base to the sole's middle [m]
    jacobian: Annotated[Floats, TWIST, JOINTS]
    damping: float  # of a straight leg's inverse
    square: Annotated[Floats, JOINTS, JOINTS]  # J^T J, damped where the knee is nearly straight,
    undone: Annotated[Floats, JOINTS, JOINTS]  # and its inverse
    inverse: Annotated[Floats, JOINTS, TWIST]


class Motion:
    """How a sole is to move."""

    goal: Annotated[Floats, TWIST]  # acceleration of the sole,
    drift: Annotated[Floats, TWIST]  # what it is by velocities alone,
    twist: Annotated[Floats, TWIST]  # and what the leg's joints add


class Leg(Stance, Sole, Chain, Motion):
    """A leg, its foot and the ground below it."""


# What is worked out at each call


class Clock:
    """The gait's clock, the command, and the step that they are in."""

    phase: float
    frequency: float  # [Hz]
    duty: float
    command: Annotated[Floats, 3]
    main: int  # the leg that carries
    side: float  # 1 if that is the left one, else -1
    since: float  # it took over [s]
    left: float  # until the other one does [s]
    step: float  # time of a step [s]
    overlap: float  # half the time in which both carry [s]
    rolls: float  # how far soles roll and legs stretch, from 0 to 1
    faster: float  # share by which its clock runs faster than the observed one


class Ground:
    """The ground as it is seen."""

    rise: Annotated[Floats, 2]  # slopes of the ground's plane forward and sideways
    level: float  # height from which the scan was taken [m]


class Pelvis:
    """The base and the centre of mass."""

    center: Annotated[Floats, 3]  # of mass, above the plane [m]
    height: float  # of the base above it [m]
    speed: Annotated[Floats, 3]  # its velocity [m/s]
    turning: Annotated[Floats, 3]  # [rad/s]
    momentum: Annotated[Floats, 2]  # velocity that stands for the angular momentum [m/s]


class Stride:
    """The pendulum, and the next foothold."""

    omega: float  # of the pendulum [1/s]
    capture: Annotated[Floats, 2]  # divergent component of motion [m]
    behind: Annotated[Floats, 2]  # from the last foothold to this one, of a steady gait [m]
    ahead: Annotated[Floats, 2]  # from this foothold to the next one [m]
    offset: Annotated[Floats, 2]  # from there to the capture point at the step's end [m]
    place: Annotated[Floats, 2]  # the next foothold [m]
    moved: float  # how far it is from the steady gait's [m]


class Wanted:
    """What the base is to do, balance left aside."""

    a: Annotated[Floats, 3]  # desired acceleration of the base, balance left aside [m/s^2]
    alpha: Annotated[Floats, 3]  # [rad/s^2]
    lean: float  # sine of the desired pitch


class Known:
    """What is known beside the observation."""

    error: Annotated[Floats, STATES]  # of what was expected
    noise: float  # of sensors: mean square over joints, in units of `filter.py`
    surprise: float  # of the arms' velocities [rad/s]
    delay: float  # of the motors, in control steps
    q: Annotated[Floats, NV + 1]  # the estimated state
    v: Annotated[Floats, NV]


class Hold:
    """What the ground can be relied on for."""

    friction: float  # horizontal force over vertical,
    grip: float  # and moment about the vertical over vertical force [m]


class Pressure:
    """Where the ground is to push."""

    center: Annotated[Floats, 3]  # desired centre of pressure [m]
    inside: Annotated[Floats, 3]  # from the seat of each sole to where it pushes [m],
    room: Annotated[Floats, 2]  # and how far that may be along the sole and across [m]


class Push:
    """How it pushes."""

    wrench: Annotated[Floats, 3, 6]  # the ground's, and its growth with a[0] and a[1]
    force: Annotated[Floats, 3]  # of the ground [N]
    moment: Annotated[Floats, 3]  # about the centre of pressure [N m]


class BipedView(ModelView, buffers=ROOM):
    """What a thread of the humanoid's expert works out."""

    a = numbers("nv", "desired accelerations [m/s^2, rad/s^2]")
    clock = records(Clock)
    ground = records(Ground)
    pelvis = records(Pelvis)
    stride = records(Stride)
    wanted = records(Wanted)
    known = records(Known)
    hold = records(Hold)
    press = records(Pressure)
    push = records(Push)
    legs = records(Leg, LEGS)


open_biped = expert_opener(BipedView)
