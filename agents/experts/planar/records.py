"""What the walkers' expert computes at each call: where in its gait it is, what its legs do."""

from __future__ import annotations

from dynenvs.agents.experts.planar.gaits import ENTRIES
from dynenvs.memory.records import record_type

LEGS = 4  # at most

PLAN = record_type(
    [
        ("phase", "f8"),  # of the gait, in [0, 1)
        ("command", "f8"),  # [m/s]
        ("shape", "f8", (ENTRIES,)),  # of the gait at the speed that steps are planned for
        ("pace", "f8"),  # mean speed of the hip that steps are planned for [m/s]
        ("away", "f8"),  # deviation of the hip from its mean way [m]
        ("hip_x", "f8"),  # velocity of the hip after the period, forward [m/s] ...
        ("hip_z", "f8"),  # ... and upward
        ("turn", "f8"),  # rate of the trunk's pitch after the period [rad/s]
    ]
)

LEG = record_type(
    [
        ("number", "i8"),
        ("phase", "f8"),  # in [0, 1), since the foot was due to carry
        ("low", "f8"),  # height of its lowest contact feature [m] ...
        ("high", "f8"),  # ... and of its highest
        ("stands", "i8"),
    ]
)
