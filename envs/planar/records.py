"""Records of the planar walkers' kernel: a world's memory, the task's options, what `info` says.

These are the fields beside those that all tasks have and those of the reward's terms
(`core/records.py`).
"""

from __future__ import annotations

from dynenvs.envs.core.records import Field
from dynenvs.memory.records import record_type

ROOT = 2  # slides of the root, x and z; where it is free to pitch, that angle follows

TASK_FIELDS: list[Field] = [
    ("phase", "f8"),  # of the gait clock, in [0, 1)
    ("command", "f8"),  # [m/s]
    ("commanded", "i8"),  # the next episode takes this command and draws none
    ("x", "f8"),  # hip at the end of the previous step [m]
    ("speed", "f8"),  # mean over the last control step [m/s]
]

OPTION_FIELDS: list[Field] = [
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
]

OWN_INFO = record_type([("x_position", "f8"), ("x_velocity", "f8"), ("command", "f8")])
