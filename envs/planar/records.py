"""Records of the planar walkers' kernel: a world's memory, the task's options, what `info` says."""

from __future__ import annotations

from dynenvs.envs.core.records import (
    RHYTHM,
    SLIP,
    SMOOTHNESS,
    RewardTerm,
    info_record,
    option_record,
    task_record,
)

ROOT = 2  # slides of the root, x and z; where it is free to pitch, that angle follows

TERMS = (
    RewardTerm("velocity", 0.8, "the hip follows the command"),
    RewardTerm("ease", 0.1, "follows it without effort"),
    RewardTerm("height", 0.1, "follows it at its standing height"),
    RHYTHM,
    SLIP,
    SMOOTHNESS,
)

TASK = task_record(
    TERMS,
    [
        ("phase", "f8"),  # of the gait clock, in [0, 1)
        ("command", "f8"),  # [m/s]
        ("commanded", "i8"),  # the next episode takes this command and draws none
        ("x", "f8"),  # hip at the end of the previous step [m]
        ("speed", "f8"),  # mean over the last control step [m/s]
    ],
)

OPTIONS = option_record(
    TERMS,
    [
        ("root", "i8"),  # root coordinates: ROOT, or one more if it pitches
        ("legs", "i8"),
        ("terminate_on_fall", "i8"),
        ("standing_height", "f8"),  # of the hip joint above the ground [m]
        ("command", "f8"),  # of every episode, or NaN: drawn
        ("low_command", "f8"),
        ("high_command", "f8"),
        ("slow_frequency", "f8"),  # of the gait at speed 0 [Hz]
        ("frequency_slope", "f8"),  # more of it for each m/s [Hz s/m]
        ("height_bound", "f8"),  # of the observation [m]
        ("velocity_bound", "f8"),  # [rad/s]
        ("root_velocity_bound", "f8"),  # [m/s]
    ],
)

# What `info` says of a world; its torques, shape (nu,), and contact forces, (legs, 3), follow.
INFO = info_record(TERMS, [("x_position", "f8"), ("x_velocity", "f8"), ("command", "f8")])
