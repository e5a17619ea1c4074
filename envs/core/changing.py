"""Options of worlds that are running, given other values: what curricula stand on.

Numbers that the kernel reads at each step or reset may change: commands' ranges, pushes, noise,
delays, weights of rewards, the share of episodes that begin elsewhere.  What shapes the worlds may
not: robot, ground, observation, clock.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dynenvs.envs.checks import known_arguments
from dynenvs.envs.core.disturbance_options import tell_clean
from dynenvs.envs.core.frozen import freeze, overwrite
from dynenvs.envs.core.starts import HEAD
from dynenvs.envs.core.task import Task

# Fields of the task's that its observers count on
CLOCK = ("timestep", "frame_skip", "max_episode_steps", "gait_frequency")
IN_PLACE = ("options", "disturbance")  # arrays that kernels have the addresses of
SPACES = ("observation_space", "observation_blocks", "observation_slices", "action_space")
KEPT = ("model", "start_rows", "packed_disturbance", "tells_clean", *IN_PLACE, *SPACES)


def change_options(task: Task, options: dict[str, Any]) -> None:
    """Give a task's options other values; what an episode has drawn already it keeps.

    A task that nothing disturbs has no room for what disturbs, and commands are observed within the
    ranges that it was made with: it is to be made with the hardest values that it shall have, and
    changed to easier ones at once.

    Args:
        task: of the worlds.
        options: their names with new values; the others stay.

    Raises:
        TypeError: an option that does not exist.
        ValueError: a value out of its range, or an option that shapes the worlds; nothing is
            changed then.
    """
    names = [field.name for field in fields(task) if field.init]
    known_arguments(options, names, "change_options")
    other = replace(task, **options)
    if task.tells_clean:  # and goes on doing so, should there be no noise any more
        other.tells_clean = True
        tell_clean(other.packed_disturbance)
    if shape := _other_shape(task, other):
        raise ValueError(
            f"change_options cannot change {', '.join(options)}: {shape}; make a new environment"
        )
    overwrite(task.options, other.options)
    overwrite(task.disturbance, other.packed_disturbance[: len(task.disturbance)])
    overwrite(task.start_rows, other.start_rows[:HEAD])
    for name, value in vars(other).items():
        if name not in KEPT:
            vars(task)[name] = value
    freeze(task, *task.constants())


def _other_shape(task: Task, other: Task) -> str:
    """In what two tasks differ that their worlds were made for; "" if in nothing."""
    if any(getattr(task, name, None) != getattr(other, name, None) for name in CLOCK):
        return f"worlds keep their {', '.join(CLOCK)}"
    if not np.array_equal(task.model.packed, other.model.packed) or any(
        not np.array_equal(own, new)
        for own, new in zip(task.constants(), other.constants(), strict=True)
    ):
        return "another robot or ground"
    if task.info_dtype != other.info_dtype or not _within(other, task):
        return "they would be observed otherwise"
    if not np.array_equal(task.start_rows[HEAD:], other.start_rows[HEAD:]):
        return "episodes would begin in other states"
    if len(other.disturbance) and not len(task.disturbance):
        return "there is no room for disturbances in worlds that were made without"
    return ""


def _within(other: Task, task: Task) -> bool:
    """Whether what the other task observes lies in the space of the first."""
    space, new = task.observation_space, other.observation_space
    return (space.shape, space.dtype) == (new.shape, new.dtype) and bool(
        np.all(space.low <= new.low) and np.all(new.high <= space.high)
    )
