"""Records of the disturbances: what a task asks for, and what a world remembers of them.

Both are there only where a disturbance is on: without one a world's record is the task's alone,
and the kernels pass all of this by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.core.table import BatchView
from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import matrix, vector
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import record_type

MOST_DELAY = 8  # control steps by which an action may act late
ROUND = MOST_DELAY + 1  # actions that are remembered

# What the options ask for; `DisturbanceView` says which arrays follow.
DISTURBANCE = record_type(
    [
        ("action_noise", "f8"),  # standard deviation, of torques over their limits
        ("noisy", "i8"),  # whether observations have noise
        ("positions", "i8"),  # whether actions are targets of position
        ("low_delay", "i8"),  # control steps
        ("high_delay", "i8"),
        ("low_strength", "f8"),  # factor on each motor's torque
        ("high_strength", "f8"),
        ("trunk", "i8"),  # the body that has the payload and the offset
        ("low_payload", "f8"),  # [kg]
        ("high_payload", "f8"),
        ("offset", "f8", (3,)),  # bound of the shift of its centre of mass [m]
        ("low_mass", "f8"),  # factor on each body's mass and inertia ...
        ("high_mass", "f8"),
        ("low_friction", "f8"),  # ... and on friction, beside what the task draws
        ("high_friction", "f8"),
    ]
)

# What a world remembers of an episode; strengths, noise and torques of its motors, (nu,) each, and
# late actions, (ROUND, nu), follow.
DRAWN = record_type(
    [
        ("disturbance_key", "u8"),  # by which all of the episode's disturbances are drawn
        ("disturbance_stream", "u8"),  # of random numbers, while some are being drawn
        ("delay", "i8"),  # of actions [control steps]
        ("com_shift", "f8", (3,)),  # of the trunk's centre of mass [m]
    ]
)
VECTORS = ("motor_strength", "motor_noise", "motor_torque")
ASKED_BYTES, DRAWN_BYTES = DISTURBANCE.itemsize, DRAWN.itemsize

# Numbers of streams that branch off an episode's key: the first one, then two a control step
EPISODE, ACTION, OBSERVATION = 0, 1, 2


class DisturbanceView(NamedTuple):
    """What the options ask for, and what one world remembers."""

    asked: Records  # DISTURBANCE, shape (1,)
    noise: Floats  # standard deviation of each entry of an observation, shape (observations,)
    low: Floats  # bounds of the observations, shape (observations,)
    high: Floats
    stiffness: Floats  # of PD motors, over torque limits [1/rad], shape (nu,)
    damping: Floats  # the same [s/rad]
    target: Floats  # position that the action 0 asks for [rad], shape (nu,)
    reach: Floats  # ... and how much further the action 1 does [rad], shape (nu,)
    drawn: Records  # DRAWN, shape (1,)
    strength: Floats  # factor on each motor's torque, shape (nu,)
    torque_noise: Floats  # over limits, for one control step, shape (nu,)
    total: Floats  # torques over their limits, summed over physics steps, shape (nu,)
    late: Floats  # the last actions, by control steps modulo ROUND, shape (ROUND, nu)


def drawn_fields(nu: int) -> list[tuple[Any, ...]]:
    """The fields of a world's record that hold this."""
    vectors = [(name, "f8", (nu,)) for name in VECTORS]
    return [*DRAWN.descr, *vectors, ("late_actions", "f8", (ROUND, nu))]


@inlined
def is_disturbed(batch: BatchView) -> bool:
    """Whether anything of this is on."""
    return bool(batch.disturbance.shape[0] > 0)


@inlined
def open_disturbance(batch: BatchView, i: int) -> DisturbanceView:
    """What is asked for, and what world i remembers."""
    n = batch.mask.shape[0]
    nu, size = batch.actions.shape[0] // (8 * n), batch.observations.shape[0] // (8 * n)
    given, seen = batch.disturbance, ASKED_BYTES
    motors = seen + 24 * size
    row = batch.task_states.shape[0] // n
    at = (i + 1) * row - 8 * nu * (len(VECTORS) + ROUND)  # where the vectors of a world begin
    kept = batch.task_states
    return DisturbanceView(
        vector(given, 0, 1, DISTURBANCE),
        vector(given, seen, size, np.float64),
        vector(given, seen + 8 * size, size, np.float64),
        vector(given, seen + 16 * size, size, np.float64),
        vector(given, motors, nu, np.float64),
        vector(given, motors + 8 * nu, nu, np.float64),
        vector(given, motors + 16 * nu, nu, np.float64),
        vector(given, motors + 24 * nu, nu, np.float64),
        vector(kept, at - DRAWN_BYTES, 1, DRAWN),
        vector(kept, at, nu, np.float64),
        vector(kept, at + 8 * nu, nu, np.float64),
        vector(kept, at + 16 * nu, nu, np.float64),
        matrix(kept, at + 24 * nu, ROUND, nu, np.float64),
    )
