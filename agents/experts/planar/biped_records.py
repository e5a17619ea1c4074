"""What the walking expert knows of a two-legged robot, and what it computes at each call."""

from __future__ import annotations

from dynenvs.agents.experts.common.memory import TIMES
from dynenvs.memory.records import record_type

LEGS = 2
JOINTS = 6  # of a leg: hip yaw, roll and pitch, knee, ankle pitch and roll
UPPER = 9  # joints above: torso, then left and right arm, three each
TWIST = 6  # angular, then linear velocity

# A robot's body, gait and gains; one record, made by `parameters.py`
BIPED = record_type(
    [
        *TIMES,
        ("sole", "f8", (3,)),  # middle of a sole in its foot's frame [m]
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
        ("arrival", "f8"),  # fraction of it by which a swinging foot is over its place,
        ("landing", "f8"),  # and by which it is almost down
        ("phase_warp", "f8"),  # by how much faster its way forward ends, and slower begins
        ("clearance", "f8"),  # of a swinging foot [m]
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("mass", "f8"),  # of the whole robot [kg]
        ("height", "f8"),  # of the base above the ground [m]
        ("lean", "f8", (3,)),  # pitch of base at rest [rad], its growth with speed [rad s/m], bound
        ("height_rate", "f8"),  # bandwidths [rad/s]: of the height,
        ("tilt_rate", "f8"),  # of roll and pitch,
        ("turn_rate", "f8"),  # of the turning speed,
        ("balance_rate", "f8"),  # of the divergent component of motion,
        ("swing_rate", "f8"),  # of swinging feet,
        ("posture_rate", "f8"),  # of torso and arms
        ("pose", "f8", (UPPER,)),  # of those joints [rad]
        ("swing", "f8", (UPPER,)),  # and how far they swing to each side with speed [rad s/m]
        ("heel", "f8"),  # greatest pitch of a swinging foot, toe down, with speed [rad s/m]
    ]
)

LEG = record_type(
    [
        ("body", "i8"),  # the foot
        ("first", "i8"),  # coordinate of its first joint
        ("phase", "f8"),  # since the foot was due to carry, in [0, 1)
        ("gap", "f8"),  # of its lowest corner [m],
        ("high", "f8"),  # of its highest
        ("corner", "f8", (3,)),  # the lowest, from the middle of the sole [m]
        ("stands", "i8"),
        ("share", "f8"),  # of the load, in [0, 1]
        ("point", "f8", (3,)),  # middle of the sole, in the heading's frame [m]
        ("velocity", "f8", (TWIST,)),
        ("yaw", "f8"),  # of the foot [rad]
        ("tilt", "f8", (3,)),  # rotation vector that would lay it flat [rad]
        ("goal", "f8", (TWIST,)),  # its twist after the period ...
        ("twist", "f8", (TWIST,)),  # ... and relative to the base
        ("arm", "f8", (3,)),  # from the base to the sole's middle then [m]
        ("jacobian", "f8", (TWIST, JOINTS)),
        ("inverse", "f8", (JOINTS, TWIST)),  # of its Jacobian then
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
        ("center", "f8", (3,)),  # of mass [m]
        ("height", "f8"),  # of the base [m]
        ("speed", "f8", (3,)),  # its velocity [m/s]
        ("turning", "f8", (3,)),  # [rad/s]
        ("momentum", "f8", (2,)),  # velocity that stands for the angular momentum [m/s]
        ("capture", "f8", (2,)),  # divergent component of motion [m]
        ("behind", "f8", (2,)),  # from the last foothold to this one, of a steady gait [m]
        ("ahead", "f8", (2,)),  # from this foothold to the next one [m]
        ("offset", "f8", (2,)),  # from there to the capture point at the step's end [m]
        ("place", "f8", (2,)),  # the next foothold [m]
        ("pressure", "f8", (2,)),  # desired centre of pressure [m]
        ("a", "f8", (3,)),  # desired acceleration of the base, balance left aside [m/s^2]
        ("alpha", "f8", (3,)),  # [rad/s^2]
        ("balanced", "f8", (3,)),  # the same with what balance asks for [m/s^2]
    ]
)
