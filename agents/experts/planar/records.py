"""What the planar walkers' expert knows of a robot, and what it computes at each call."""

from __future__ import annotations

from dynenvs.agents.experts.common.memory import COMMON
from dynenvs.agents.experts.common.sight import places_of
from dynenvs.memory.records import record_type

LEGS = 4  # at most
JOINTS = 3  # of a leg

WALKER = record_type(
    [
        *COMMON,
        *places_of(
            "height",
            "joint angles",
            "velocity",
            "joint velocities",
            "gait phase",
            "command",
            "pitch",
            "pitch rate",
            "foot contacts",
        ),
        ("seen", "i8"),  # entries of an observation
        ("legs", "i8"),
        ("root", "i8"),  # root coordinates: x, z, and the trunk's pitch if it is free
        ("hips", "f8", (LEGS,)),  # each leg's hip before the trunk's origin [m]
        ("offsets", "f8", (LEGS,)),  # phase of each leg
        ("thigh", "f8"),  # hip to knee [m]
        ("shank", "f8"),  # knee to ankle [m]
        ("knee", "f8"),  # 1 or -1: which way it bends
        ("heel", "f8"),  # ends of the sole along the foot, from the ankle [m]
        ("toe", "f8"),
        ("sole", "f8"),  # height of the sole (of a spherical foot's centre), from the ankle [m]
        ("radius", "f8"),  # of a spherical foot, 0 for a sole [m]
        ("flat_pitch", "f8"),  # pitch of the foot that stands, sum of the leg's angles [rad]
        ("weight", "f8"),  # of the whole robot [N]
        ("friction", "f8"),  # coefficient that forces keep within
        # The gait
        ("slow_frequency", "f8"),  # cycles a second at rest [Hz]
        ("frequency_slope", "f8"),  # [Hz s/m]
        ("duty", "f8"),  # fraction of the cycle that a foot stands
        ("ramp", "f8"),  # fraction of the cycle in which it takes over its load, or sheds it
        ("light", "f8"),  # share of it by which a foot that is due to carry nothing stays down
        ("height", "f8"),  # of the hip, at most [m]
        ("reach", "f8"),  # of a leg, hip to ankle, that steps are planned for [m]
        ("longest", "f8"),  # that distance at which a knee is all but at its stop [m]
        ("ahead", "f8"),  # of the middle of a stance, before the hip [m]
        ("trail", "f8"),  # of a standing foot behind the hip, at most [m]
        ("clearance", "f8"),  # of a swinging foot's apex [m]
        ("landing", "f8"),  # fraction of the cycle by which it is forward before it is down
        ("below", "f8"),  # depth below the ground at which a swing ends [m]
        ("roll", "f8"),  # of a foot, toe down, for each metre of a stride [rad/m]
        ("roll_start", "f8"),  # phases between which it rolls over its toe and comes back
        ("roll_end", "f8"),
        ("press", "f8"),  # where the load is at touchdown, from the ankle [m]
        # Feedback
        ("speed_rate", "f8"),  # bandwidth of the forward speed [rad/s]
        ("acceleration", "f8"),  # its bound [m/s^2]
        ("height_rate", "f8"),  # of the hip's height [rad/s]
        ("recoil", "f8"),  # part of the swinging legs' recoil that the trunk takes
        ("tilt_rate", "f8"),  # of the trunk's pitch, where it is free [rad/s]
        ("turned", "f8"),  # distance at which its pitch counts as much as its height [m]
        ("swing_rate", "f8"),  # of a swinging foot [rad/s]
        ("landing_speed", "f8"),  # at which a foot that is late looks for the ground [m/s]
        # The estimate: standard deviations and gains
        ("leg_height", "f8"),  # of the hip's height above a standing foot [m]
        ("leg_speed", "f8"),  # of its speed above it [m/s]
        ("trust_q", "f8"),  # in the observed positions against the foreseen ones, 0 to 1
        ("trust_v", "f8"),  # in the observed joint velocities
        ("trust_root", "f8"),  # in the observed velocity of the trunk
        # Balance, where two legs carry a trunk that pitches (`capture.py`)
        ("balances", "i8"),  # 1 if it must be kept
        ("middle", "f8"),  # where a sole pushes in the middle of a step, from the ankle [m]
        ("sweep", "f8"),  # way of the centre of pressure along the sole in a step [m]
        ("edge", "f8"),  # that it keeps from the sole's ends [m]
        # Fractions of the cycle: in which it goes to a toe that is to be rolled on,
        ("toeing", "f8"),
        ("early", "f8"),  # by which a foot takes over load before it is due,
        ("resting", "f8"),  # and before that takes up the light share of one that rests
        ("room", "f8"),  # by which it may take errors out, as steps are planned [m]
        ("balance_rate", "f8"),  # of the capture point [rad/s]
        ("longest_step", "f8"),  # [m]
        ("quicker", "f8", (3,)),  # moves from and to which steps are quicker [m], by what share
        ("smooth", "f8"),  # part of a swing at either end in which its acceleration grows, or falls
        ("last", "f8"),  # about the least part of a swing's way that is divided by
    ]
)

PLAN = record_type(
    [
        ("phase", "f8"),  # of the gait, in [0, 1)
        ("command", "f8"),  # [m/s]
        ("rate", "f8"),  # cycles a second [Hz]
        ("pace", "f8"),  # speed that steps are planned for [m/s]
        ("carried", "f8"),  # sum of the legs' shares
        ("pitch", "f8"),  # of the trunk [rad]
        ("turn", "f8"),  # its rate [rad/s]
        ("known", "i8"),  # whether there is a memory
        ("ax", "f8"),  # acceleration of the hip that is wanted [m/s^2]
        ("az", "f8"),
        ("alpha", "f8"),  # of the pitch [rad/s^2]
        ("ahead", "f8"),  # of its own clock against the observed one [cycles]
        ("faster", "f8"),  # share by which it runs faster
        ("inertia", "f8"),  # against its pitch [kg m^2]
        ("omega", "f8"),  # of the pendulum that it is [1/s]
        ("drift", "f8"),  # its speed, by its angular momentum [m/s]
        ("capture", "f8"),  # capture point,
        ("pressure", "f8"),  # desired centre of pressure,
        ("foothold", "f8"),  # and next place of an ankle, ahead of the hip [m]
        ("way", "f8"),  # of a step, at most [m]
        ("force", "f8", (3,)),  # that the ground is to give: x, z [N], moment about the root [N m]
    ]
)

LEG = record_type(
    [
        ("phase", "f8"),  # in [0, 1), since the foot was due to carry
        ("touches", "i8"),  # the flag of the observation
        ("stood", "i8"),  # at the last call, if it remembers
        ("stands", "i8"),
        ("share", "f8"),  # of the load, before they are put to a sum of 1
        ("point", "f8"),  # of the sole that it stands on or is moved by, from the ankle [m]
        ("rolls", "i8"),  # over its toe
        # From the joint on: thigh, shank and foot [m]; the foot's to the point
        ("thigh", "f8", (2,)),
        ("shank", "f8", (2,)),
        ("foot", "f8", (2,)),
        ("hip", "f8", (2,)),  # from the root's origin [m]
        ("ankle", "f8"),  # of the sole below the ankle, ahead of the root's origin [m]
        ("rates", "f8", (3,)),  # of the links in the plane [rad/s]
        ("place", "f8", (2,)),  # of the point, from the root's origin [m]
        ("speed", "f8", (2,)),  # over the ground [m/s]
        ("goal", "f8", (3,)),  # desired acceleration of it, and of the foot's turning
        ("tilt", "f8"),  # of the foot against flat, toe down [rad]
        ("force", "f8", (2,)),  # of the ground on it [N]
    ]
)
