"""What the trotting expert knows of a robot, and what it computes at each call."""

from __future__ import annotations

from dynenvs.agents.experts.common.memory import COMMON
from dynenvs.agents.experts.common.scan import SCAN
from dynenvs.agents.experts.common.state import SIGHT
from dynenvs.memory.records import record_type

LEGS = 4
JOINTS = 3  # of a leg: abduction, hip, knee
NV = 6 + LEGS * JOINTS
GROUPS = 3  # of velocities, equally noisy: the base's linear and angular ones, the joints'
PAIRS = 2  # diagonal pairs, which stand in turn

# A robot's legs, gait and gains; one record, made by `parameters.py`
TROT = record_type(
    [
        *COMMON,
        ("pair", "i8", (LEGS,)),  # to which each leg belongs; pair 1 is half a cycle behind pair 0
        ("first", "i8", (PAIRS,)),  # legs of each pair
        ("second", "i8", (PAIRS,)),
        ("stance", "f8", (LEGS, 2)),  # where each foot stands, from the centre of mass [m]
        ("duty", "f8"),  # fraction of the cycle that a foot stands, at rest ...
        ("duty_slope", "f8"),  # ... and what it loses with speed [s/m]
        ("least_duty", "f8"),  # the pairs hand over the load while both are down
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
        *SIGHT,
        *SCAN,
        ("lead", "f8"),  # by which a step turns the velocity ahead: it follows late [s]
        ("swing_damping", "f8"),  # of swinging feet, relative to the critical one
        ("sink", "f8"),  # speed of a foot that is late, more of it for each metre above [1/s]
        ("ease", "f8"),  # of the swing, over the time left: its least stiffness
        ("lift", "f8"),  # bounds on the accelerations upwards [m/s^2],
        ("twist", "f8"),  # and of turning [rad/s^2]
        ("friction", "f8"),  # coefficient that the ground forces keep to ...
        ("grip", "f8"),  # ... and, where the robot is far too fast,
        ("fast", "f8", (2,)),  # by more than the first of these speeds to the second [m/s]
        ("beside", "f8", (2,)),  # or so far, over the height, from the line between standing feet
        ("quicker", "f8", (3,)),  # such speeds from and to which steps are quicker, by what share
        ("slack", "f8"),  # weight of the base's horizontal acceleration against the vertical one
        ("press", "f8"),  # acceleration of a foot that is late, against speed [1/s]
        ("gain", "f8"),  # bound on what one step adds to the velocity [m/s]
        ("braking", "f8"),  # ... and on what it takes from it [m/s]
    ]
)

LEG = record_type(
    [
        ("body", "i8"),  # that carries the foot
        ("feature", "i8"),
        ("phase", "f8"),  # since the foot was due to carry, in [0, 1)
        ("touches", "i8"),  # its contact flag
        ("stands", "i8"),  # it is given a force
        ("rests", "i8"),  # it stands and touches: it does not move
        ("share", "f8"),  # of its pair's load, in [0, 1]
        ("normal", "f8", (3,)),  # of the ground
        ("gap", "f8"),  # [m]
        ("point", "f8", (3,)),  # lowest point of the foot, in the heading's frame [m]
        ("velocity", "f8", (3,)),  # [m/s]
        ("place", "f8", (2,)),  # where it is to stand next [m]
        ("goal", "f8", (3,)),  # its velocity after the period [m/s]
        ("arm", "f8", (3,)),  # from the base to the point [m]
        ("jacobian", "f8", (3, JOINTS)),
        ("inverse", "f8", (JOINTS, 3)),
        ("effect", "f8", (6, 3)),  # of a force on the foot on the base's coordinates
        ("rates", "f8", (JOINTS,)),  # accelerations of its joints [rad/s^2]
        ("gives", "f8", (JOINTS, 6)),  # ... and how they follow the base's
        ("price", "f8"),  # of its force
        ("force", "f8", (3,)),  # of the ground on the foot [N]
        ("aside", "f8", (3,)),  # direction of that along the ground
    ]
)

# What `forces.py` computes with: names as there
DUAL = record_type(
    [
        ("E", "f8", (6, 6)),
        ("soft", "f8", (6, 6)),  # E W^-1 E'
        ("H", "f8", (6, 6)),
        ("weight", "f8", (6,)),
        ("b", "f8", (6,)),
        ("u", "f8", (6,)),
        ("y", "f8", (6,)),
        ("slope", "f8", (6,)),
        ("change", "f8", (6,)),
        ("trial", "f8", (6,)),
    ]
)

# What is remembered from call to call (`memory.py`), all numbers
MEMO = record_type(
    [
        ("valid", "f8"),  # 1 if anything is
        ("up", "f8", (3,)),  # upward direction in the base's axes
        ("seen", "f8", (NV,)),  # velocities as observed
        ("velocity", "f8", (NV,)),  # ... and as estimated
        ("asked", "f8", (2, NV)),  # accelerations of the last call and the one before
        ("swung", "f8", (2, LEGS)),  # 1 for a leg that did not stand then
        ("missed", "f8", (NV,)),  # change of velocity that was not foretold
        ("late", "f8"),  # sums: of changes that were asked for a call earlier, times what happened
        ("sure", "f8"),  # ... and their squares
        ("square", "f8", (GROUPS,)),  # of `missed`, squared,
        ("product", "f8", (GROUPS,)),  # ... and times that of the call before
        ("count", "f8", (GROUPS,)),
        ("ahead", "f8"),  # of its own clock against the observed one [cycles]
        ("faster", "f8"),  # share by which it runs faster
    ]
)
CARRIED = MEMO.itemsize // 8

PLAN = record_type(
    [
        ("friction", "f8"),  # coefficient that the ground forces keep to
        ("delay", "f8"),  # part of a control step by which torques are late
        ("ahead", "f8"),  # of its own clock against the observed one [cycles],
        ("faster", "f8"),  # and the share by which it runs faster
        ("wrong", "f8"),  # speed against the command, but for what it is slower [m/s]
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
        ("rise", "f8", (2,)),  # slopes of the ground forward and sideways
        ("place", "f8", (2,)),  # under the centre of mass when the next pair takes over ...
        ("offset", "f8", (2,)),  # ... and where that pair stands from there [m]
        ("along", "f8", (PAIRS, 2)),  # desired acceleration of the base while a pair carries
        ("a", "f8", (3,)),  # the same as the pairs share the weight [m/s^2]
        ("alpha", "f8", (3,)),  # [rad/s^2]
        ("weight", "f8", (PAIRS,)),  # shares of the pairs in the load
    ]
)
