"""Records of the legged robots' kernel: a world's memory, the task's options, what `info` says."""

from __future__ import annotations

from dynenvs.envs.core.records import Field, option_record
from dynenvs.memory.records import record_type

PLACE, TURN, ROOT = 3, 7, 6  # positions of the base, with its quaternion; its velocities

# Whose contact a feature is, if no foot's with the ground: a fall's, or of the robot with itself
BODY, ITSELF = -1, -2
OBJECT = -3  # or of a loose object, whatever it touches

# What a world remembers, the options that kernels read, and what `info` says of a world: the fields
# beside those that all tasks have and those of the reward's terms (`core/records.py`).
TASK_FIELDS: list[Field] = [
    ("phase", "f8"),  # of the gait clock, in [0, 1)
    ("forward", "f8"),  # commanded speeds in the base's heading [m/s, m/s, rad/s]
    ("sideways", "f8"),
    ("turning", "f8"),
    ("commanded", "i8"),  # the next episode takes this command and draws none
    ("cone", "i8"),  # of its contacts from the next episode on; 0: as the task's, or 1 + code
    ("polygon", "i8"),  # the same of its pyramids' polygon
    ("held", "i8"),  # this episode's command was given: it is not drawn anew
    ("x", "f8"),  # base at the end of the previous step [m]
    ("y", "f8"),
    ("heading", "f8"),  # [rad]
    ("ground", "f8"),  # its mean height about the base [m]
    ("x_speed", "f8"),  # means over the last control step, world axes [m/s]
    ("y_speed", "f8"),
    ("forward_speed", "f8"),  # ... and along the heading
    ("sideways_speed", "f8"),
    ("turning_speed", "f8"),
]

OPTION_FIELDS: list[Field] = [
    ("legs", "i8"),
    ("terminate_on_fall", "i8"),
    ("terrain", "i8"),  # its number among `terrain.TERRAINS`
    ("slope", "f8"),  # rise of a sloping ground along x
    ("footprint", "f8", (2,)),  # where feet stand, from the base forward and sideways [m]
    ("scan_x", "i8"),  # points of the height scan forward and sideways, 0 on flat ground
    ("scan_y", "i8"),
    ("scan_spacing", "f8"),  # [m]
    ("standing_height", "f8"),  # of the base above the ground [m]
    ("command", "f8", (3,)),  # of every episode, or NaN: drawn
    ("low_command", "f8", (3,)),
    ("high_command", "f8", (3,)),
    ("command_steps", "i8"),  # control steps after which it is drawn anew, 0: never
    ("slow_frequency", "f8"),  # of the gait at speed 0 [Hz]
    ("frequency_slope", "f8"),  # more of it for each m/s [Hz s/m]
    ("least_errors", "f8", (3,)),  # of speeds that leave exp(-1) of the reward [m/s, m/s, rad/s]
    ("push_impulse", "f8"),  # on the base [N s]
    ("push_steps", "i8"),  # control steps between pushes, 0: none
    ("low_friction", "f8"),  # factors on friction and masses
    ("high_friction", "f8"),
    ("cone", "i8"),  # of all worlds that do not choose their own, and the pyramids' polygon
    ("polygon", "i8"),
    ("low_mass", "f8"),
    ("high_mass", "f8"),
    ("height_bound", "f8"),  # of the observation [m]
    ("joint_bound", "f8"),  # velocity of a joint [rad/s]
    ("speed_bound", "f8"),  # of the base [m/s]
    ("turn_bound", "f8"),  # of the base [rad/s]
    ("object_bound", "f8"),  # of a loose object's place from the base [m]
    ("sees_objects", "i8"),
]

# The options without the weights of the reward's terms, which end them: for what serves all rewards
OWN_OPTIONS = option_record((), OPTION_FIELDS)

# Torques, shape (nu,), contact forces, (legs, 3), velocity and command, (3,) each, and places and
# quaternions of loose objects, (objects, 7), follow the scalars.
INFO_FIELDS: list[Field] = [
    ("x_position", "f8"),
    ("y_position", "f8"),
    ("x_velocity", "f8"),
    ("y_velocity", "f8"),
]
OWN_INFO = record_type(INFO_FIELDS)
