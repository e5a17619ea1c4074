"""What the walking expert knows of a two-legged robot, and what it computes at each call."""

from __future__ import annotations

from dynenvs.agents.experts.common.memory import COMMON
from dynenvs.agents.experts.common.scan import SCAN
from dynenvs.agents.experts.common.state import SIGHT
from dynenvs.memory.records import record_type

LEGS = 2
JOINTS = 6  # of a leg: hip yaw, roll and pitch, knee, ankle pitch and roll
UPPER = 9  # joints above: torso, then left and right arm, three each
TORSO = 3  # of them the torso's: yaw, roll, pitch
TWIST = 6  # angular, then linear velocity
ACTUATED = LEGS * JOINTS + UPPER
STATES = 9 + 2 * ACTUATED  # what is estimated: see `filter.py`
SEEN = STATES + 1  # of an observation: base and joints
NV = 6 + ACTUATED

# What is carried from call to call, all numbers
MEMO = record_type(
    [
        ("valid", "f8"),  # 1 if anything is
        ("seen", "f8", (SEEN,)),  # the next observation, as foretold
        ("noise", "f8"),  # of sensors: mean square over joints, in units of `filter.py`
        ("delay", "f8"),  # of the motors, in control steps, as the foretold one has it
        ("late", "f8"),  # sums: of changes that were asked for a call earlier, times what happened
        ("sure", "f8"),  # ... and their squares
        ("asked", "f8", (2, NV)),  # accelerations of the last call and the one before
        ("slips", "f8"),  # how much soles that carried have slid
        ("ahead", "f8"),  # of its own clock against the observed one [cycles]
        ("faster", "f8"),  # share by which it runs faster
        ("swings", "f8"),  # 1 if a foot does,
        ("shift", "f8", (2,)),  # and by what its foothold has been moved away from edges [m]
    ]
)
CARRIED = MEMO.itemsize // 8

# A robot's body, gait and gains; one record, made by `parameters.py`
BIPED = record_type(
    [
        *COMMON,
        *SIGHT,
        *SCAN,
        ("sole", "f8", (3,)),  # middle of a sole in its foot's frame [m]
        ("sole_size", "f8", (2,)),  # half its length and width [m]
        ("half_length", "f8"),  # of a sole's part in which the centre of pressure may lie [m]
        ("half_width", "f8"),
        ("width", "f8"),  # between the feet [m] ...
        ("width_slope", "f8"),  # ... and what it gains with a step sideways
        ("least_width", "f8"),  # distance between the feet sideways, at least [m] ...
        ("most_width", "f8"),  # ... and at most
        ("reach", "f8"),  # of a step forward or backward [m]
        ("leg", "f8"),  # greatest distance from hip to ankle [m]
        ("knee", "f8"),  # the same of a steady gait, knees a little bent [m]
        ("trail", "f8"),  # how much further than half a step a foot stays behind [m]
        ("hip", "f8"),  # hips from the middle [m]
        ("duty", "f8"),  # fraction of the cycle that a foot stands, at rest ...
        ("duty_slope", "f8"),  # ... and what it loses with speed [s/m]
        ("early", "f8"),  # by how much faster than evenly the load begins to pass, with speed [s/m]
        ("landing", "f8"),  # part of a swing in which the foot takes up its landing speed,
        ("landing_speed", "f8"),  # and that speed [m/s]
        ("phase_warp", "f8"),  # by how much faster its way forward ends, and slower begins
        ("clearance", "f8"),  # of a swinging foot [m]
        ("over", "f8"),  # ... over what is highest on its way on terrain [m],
        ("apex", "f8"),  # and the part of the swing after which it is there
        ("sink", "f8"),  # speed of a late foot, more of it for each metre above ground [1/s]
        ("edge", "f8"),  # metres that a foothold may move to have all of the sole on the ground,
        ("keep", "f8"),  # cost of moving it again, over that of moving it,
        ("margin", "f8"),  # and how far the sole is to keep from edges [m]
        ("least_room", "f8"),  # part of the sole's room that is left at edges
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("mass", "f8"),  # of the whole robot [kg]
        ("pace", "f8"),  # of the steps planned, over the commanded speed: they fall short
        ("height", "f8"),  # of the base above the ground [m]
        ("lean", "f8", (3,)),  # pitch of base at rest [rad], its growth with speed [rad s/m], bound
        ("height_rate", "f8"),  # bandwidths [rad/s]: of the height,
        ("tilt_rate", "f8"),  # of roll and pitch,
        ("turn_rate", "f8"),  # of the turning speed,
        ("yaw_rate", "f8"),  # of the heading against the standing feet's,
        ("torso_rate", "f8"),  # of the torso, upright by itself,
        ("balance_rate", "f8"),  # of the divergent component of motion,
        ("swing_rate", "f8"),  # of swinging feet,
        ("foot_rate", "f8"),  # of their tilt,
        ("hurry", "f8", (2,)),  # foothold's move at which feet are faster [m], and by what share
        ("quicker", "f8", (3,)),  # moves from and to which steps are quicker [m], by what share
        ("flat_rate", "f8"),  # of the tilt of standing ones,
        ("clean", "f8", (2,)),  # noise below which what is seen is taken as it is, above not
        ("skew", "f8"),  # between a sole and the ground at which it is trusted half [rad]
        ("posture_rate", "f8"),  # of torso and arms
        ("pose", "f8", (UPPER,)),  # of those joints [rad]
        ("swing", "f8", (UPPER,)),  # and how far they swing to each side with speed [rad s/m]
        ("strongest", "f8"),  # horizontal acceleration of the base for balance [m/s^2]
        ("most_turning", "f8"),  # and its turning acceleration [rad/s^2]
        ("most_swing", "f8", (TWIST,)),  # acceleration of a foot [rad/s^2, m/s^2]
        # On dry ground and on slippery one:
        ("friction", "f8", (2,)),  # horizontal force over vertical, at most,
        ("grip", "f8", (2,)),  # and moment about the vertical over vertical force [m]
        # Of what is seen against what was expected, while either foot stands (`filter.py`):
        ("gain", "f8", (LEGS, STATES, STATES)),
        ("spread", "f8", (LEGS, STATES)),  # standard deviations
        ("heel", "f8"),  # greatest pitch of a swinging foot, toe down, with speed [rad s/m]
    ]
)

LEG = record_type(
    [
        ("flatness", "f8"),  # how far its sole seems to lie flat
        ("normal", "f8", (3,)),  # of the ground below its sole, or below the next foothold
        ("ground", "f8"),  # height of that ground [m]
        ("seat", "f8", (3,)),  # from the sole's middle to that of its part on the ground [m]
        ("room", "f8", (2,)),  # half length and width in which the centre of pressure may lie [m]
        ("body", "i8"),  # the foot
        ("first", "i8"),  # coordinate of its first joint
        ("phase", "f8"),  # since the foot was due to carry, in [0, 1)
        ("touches", "i8"),  # the ground, as the observation says
        ("trust", "f8"),  # in its sole as a measure of height and tilt, over the observation's
        ("stands", "i8"),
        ("share", "f8"),  # of the load, in [0, 1]
        ("point", "f8", (3,)),  # middle of the sole, in the heading's frame [m]
        ("velocity", "f8", (TWIST,)),
        ("yaw", "f8"),  # of the foot [rad]
        ("up", "f8", (3,)),  # the foot's upward axis
        ("tilt", "f8", (2,)),  # rotation vector that would lay it on the ground [rad]
        ("goal", "f8", (TWIST,)),  # acceleration of the sole,
        ("drift", "f8", (TWIST,)),  # what it is by velocities alone,
        ("twist", "f8", (TWIST,)),  # and what the leg's joints add
        ("arm", "f8", (3,)),  # from the base to the sole's middle [m]
        ("jacobian", "f8", (TWIST, JOINTS)),
        ("damping", "f8"),  # of a straight leg's inverse
        ("square", "f8", (JOINTS, JOINTS)),  # J^T J, damped where the knee is nearly straight,
        ("undone", "f8", (JOINTS, JOINTS)),  # and its inverse
        ("inverse", "f8", (JOINTS, TWIST)),
    ]
)

PLAN = record_type(
    [
        ("phase", "f8"),
        ("frequency", "f8"),  # [Hz]
        ("duty", "f8"),
        ("command", "f8", (3,)),
        ("main", "i8"),  # the leg that carries
        ("side", "f8"),  # 1 if that is the left one, else -1
        ("since", "f8"),  # it took over [s]
        ("left", "f8"),  # until the other one does [s]
        ("step", "f8"),  # time of a step [s]
        ("overlap", "f8"),  # half the time in which both carry [s]
        ("omega", "f8"),  # of the pendulum [1/s]
        ("rise", "f8", (2,)),  # slopes of the ground's plane forward and sideways
        ("level", "f8"),  # height from which the scan was taken [m]
        ("center", "f8", (3,)),  # of mass, above the plane [m]
        ("height", "f8"),  # of the base above it [m]
        ("speed", "f8", (3,)),  # its velocity [m/s]
        ("turning", "f8", (3,)),  # [rad/s]
        ("momentum", "f8", (2,)),  # velocity that stands for the angular momentum [m/s]
        ("capture", "f8", (2,)),  # divergent component of motion [m]
        ("behind", "f8", (2,)),  # from the last foothold to this one, of a steady gait [m]
        ("ahead", "f8", (2,)),  # from this foothold to the next one [m]
        ("offset", "f8", (2,)),  # from there to the capture point at the step's end [m]
        ("place", "f8", (2,)),  # the next foothold [m]
        ("faster", "f8"),  # share by which its clock runs faster than the observed one
        ("moved", "f8"),  # how far it is from the steady gait's [m]
        ("pressure", "f8", (3,)),  # desired centre of pressure [m]
        ("a", "f8", (3,)),  # desired acceleration of the base, balance left aside [m/s^2]
        ("alpha", "f8", (3,)),  # [rad/s^2]
        ("lean", "f8"),  # sine of the desired pitch
        ("error", "f8", (STATES,)),  # of what was expected
        ("noise", "f8"),  # of sensors: mean square over joints, in units of `filter.py`
        ("delay", "f8"),  # of the motors, in control steps
        ("q", "f8", (NV + 1,)),  # the estimated state
        ("v", "f8", (NV,)),
        ("friction", "f8"),  # horizontal force over vertical that is relied on,
        ("grip", "f8"),  # and moment about the vertical over vertical force [m]
        ("inside", "f8", (3,)),  # from the seat of each sole to where it pushes [m],
        ("room", "f8", (2,)),  # and how far that may be along the sole and across [m]
        ("wrench", "f8", (3, 6)),  # the ground's, and its growth with a[0] and a[1]
        ("force", "f8", (3,)),  # of the ground [N]
        ("moment", "f8", (3,)),  # about the centre of pressure [N m]
    ]
)
