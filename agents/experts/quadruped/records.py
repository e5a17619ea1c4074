"""What the trotting expert knows of a robot, and what it computes at each call."""

from __future__ import annotations

from dynenvs.agents.experts.common.memory import TIMES
from dynenvs.memory.records import record_type

LEGS = 4
JOINTS = 3  # of a leg: abduction, hip, knee
PAIRS = 2  # diagonal pairs, which stand in turn

# A robot's legs, gait and gains; one record, made by `parameters.py`
TROT = record_type(
    [
        *TIMES,
        ("pair", "i8", (LEGS,)),  # to which each leg belongs; pair 1 is half a cycle behind pair 0
        ("first", "i8", (PAIRS,)),  # legs of each pair
        ("second", "i8", (PAIRS,)),
        ("stance", "f8", (LEGS, 2)),  # where each foot stands, from the centre of mass [m]
        ("duty", "f8"),  # fraction of the cycle that a foot stands, at rest ...
        ("duty_slope", "f8"),  # ... and what it loses with speed [s/m]
        ("arrival", "f8"),  # fraction of it by which a swinging foot is over its place,
        ("landing", "f8"),  # and by which it is almost down
        ("clearance", "f8"),  # of a swinging foot [m]
        ("phase_warp", "f8"),  # by how much faster a swing over ground ends, and slower begins
        ("rise", "f8"),  # by how much faster a foot begins to go up than it comes down
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("mass", "f8"),  # of the whole robot [kg]
        ("height", "f8"),  # of the base above the ground [m] ...
        ("height_slope", "f8"),  # ... and what it loses with speed [s]
        ("singular", "f8"),  # least determinant of a leg's Jacobian [m^3]
        ("reach", "f8"),  # of a step, from below the centre of mass [m]
        ("height_rate", "f8"),  # bandwidths [rad/s]: of the height,
        ("tilt_rate", "f8"),  # of roll and pitch,
        ("turn_rate", "f8"),  # of the turning speed,
        ("speed_rate", "f8"),  # of the speed along the line between the standing feet,
        ("swing_rate", "f8"),  # and of swinging feet
        ("sway", "f8"),  # of the pendulum's change of speed, what is let happen along the line
        ("acceleration", "f8"),  # bounds on that along the line: gathering way [m/s^2] ...
        ("deceleration", "f8"),  # ... and braking
        ("trim", "f8", (3,)),  # added to the command: of forward and sideways speed, and [m/s]
        # Costs, in metres of moving a foothold, of a metre by which the ground differs about it
        ("edge", "f8"),
        ("aside", "f8"),  # ... and by which a pair's line is moved from where balance wants it
        ("follow", "f8"),  # part of the ground's slope that the base takes over
        ("touchdown", "f8"),  # speed of a foot that comes down on terrain [m/s]
        ("scan_x", "i8"),  # points of the height scan forward, 0 if there is none,
        ("scan_y", "i8"),  # and sideways,
        ("scan_spacing", "f8"),  # their distance [m]
        ("scan_at", "i8"),  # first entry in the observation
        ("lead", "f8"),  # by which a step turns the velocity ahead: it follows late [s]
        ("gain", "f8"),  # bound on what one step adds to the velocity [m/s]
        ("braking", "f8"),  # ... and on what it takes from it [m/s]
    ]
)

LEG = record_type(
    [
        ("body", "i8"),  # that carries the foot
        ("feature", "i8"),
        ("phase", "f8"),  # since the foot was due to carry, in [0, 1)
        ("gap", "f8"),  # [m]
        ("touches", "i8"),  # on terrain: its contact flag
        ("normal", "f8", (3,)),  # of the ground
        ("stands", "i8"),
        ("share", "f8"),  # of its pair's load, in [0, 1]
        ("point", "f8", (3,)),  # lowest point of the foot, in the heading's frame [m]
        ("velocity", "f8", (3,)),  # [m/s]
        ("place", "f8", (2,)),  # where it is to stand next [m]
        ("goal", "f8", (3,)),  # its velocity after the period [m/s]
        ("arm", "f8", (3,)),  # from the base to the point then [m]
        ("inverse", "f8", (3, 3)),  # of its Jacobian then
    ]
)

PLAN = record_type(
    [
        ("phase", "f8"),
        ("frequency", "f8"),  # [Hz]
        ("duty", "f8"),
        ("command", "f8", (3,)),
        ("main", "i8"),  # the pair that carries
        ("since", "f8"),  # it took over [s]
        ("left", "f8"),  # until the other one does [s]
        ("omega", "f8"),  # of the pendulum [1/s]
        ("factor", "f8", (PAIRS,)),  # of the velocity against its mean over either pair's step,
        ("last", "f8"),  # its value at a step's ends, across the line ...
        ("last_along", "f8"),  # ... and along it
        ("center", "f8", (3,)),  # of mass [m]
        ("height", "f8"),  # of the base [m]
        ("speed", "f8", (3,)),  # its velocity [m/s]
        ("turning", "f8", (3,)),  # [rad/s]
        ("momentum", "f8", (2,)),  # velocity that stands for the angular momentum [m/s]
        ("line", "f8", (PAIRS, 2)),  # over ground from the second foot of a pair to its first, unit
        ("ascent", "f8", (PAIRS,)),  # of that line
        ("rise", "f8", (2,)),  # slopes of the ground forward and sideways
        ("place", "f8", (2,)),  # under the centre of mass when the next pair takes over ...
        ("offset", "f8", (2,)),  # ... and where that pair stands from there [m]
        ("along", "f8", (PAIRS, 2)),  # desired acceleration of the base while a pair carries
        ("a", "f8", (3,)),  # the same as the pairs share the weight [m/s^2]
        ("alpha", "f8", (3,)),  # [rad/s^2]
        ("balanced", "f8", (3,)),  # the same with what balance asks for [m/s^2]
        ("weight", "f8", (PAIRS,)),  # shares of the pairs in the load
    ]
)
