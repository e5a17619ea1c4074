"""What all tasks' records have in common, and what a task declares: terms, parts, endings.

A reward is the sum of named terms, each a quality between 0 and 1 times a weight.  A task declares
its terms once; the fields `reward_NAME` of a world's record and of `info`, and the fields
`weight_NAME` of the options that its kernel reads, follow, and so does the kernel (`declared.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.checks import got, known, number
from dynenvs.envs.core.blocks import Block
from dynenvs.memory.records import record_type

WEIGHT_BOUND = 1000.0  # of a reward term, either way

Field = tuple[str, str] | tuple[str, str, tuple[int, ...]]

# How well contact was solved, the last scalars of `info`
SOLVED = record_type([("residual", "f8"), ("degraded", "i8"), ("failed", "i8")])
SOLVED_BYTES = SOLVED.itemsize


class RewardTerm(NamedTuple):
    """A term of a reward: weight * gate * quality.

    `quality` is a kernel: of a world (`TaskWorld`) and of what the task has measured of it, which
    has the gate: how far what counts most has been reached.
    """

    name: str
    weight: float  # unless the option `reward_weights` has another one; 0: only where that asks
    meaning: str
    quality: Any
    is_gated: bool = True


class Part(NamedTuple):
    """A part of an observation: how it is declared, and the kernel that writes it.

    `blocks` gives a task's blocks, none where its options leave the part out.  `write` is a kernel
    `write(w, observation, at)`: from entry `at` on, as many as there are; it returns the next one.
    """

    blocks: Callable[[Any], Sequence[Block]]
    write: Any


class Ending(NamedTuple):
    """A reason why an episode ends (`codes.py`), and the kernel that says whether it has come."""

    reason: int
    has_come: Any


class Kernels(NamedTuple):
    """What the loop calls of a task, each a kernel of a world `w` (`TaskWorld`)."""

    begin: Any  # starts an episode; the physical state has just been set to the initial one
    start: Any  # start(w, tau): the torques of a control step, shape (nv,), which are then held
    advance: Any  # after the physics: clocks, means over the control step
    reward: Any  # the reward (`reward_of`)
    end: Any  # why the episode ends here, or RUNNING (`end_of`)
    change: Any  # what changes before the next control step
    observe: Any  # observe(w, observation) (`observation_of`)
    describe: Any  # describe(w, info): the task's own scalars and the arrays that follow


def last_action_field(nu: int) -> tuple[str, str, tuple[int, ...]]:
    """What follows a task's own record: the torques of the last control step, over their limits."""
    return ("last_action", "f8", (nu,))


def task_record(terms: Sequence[RewardTerm], fields: Sequence[Field]) -> np.dtype[Any]:
    """What a world remembers beside its physical state.

    The loop needs the first three fields; `fields` are the task's own; the terms of the last
    control step's reward, weighted, come last.
    """
    first = [
        ("generator", "u8"),  # of random numbers
        ("steps", "i8"),  # control steps of this episode
        ("end", "i8"),  # why the episode ended, or RUNNING
    ]
    return record_type([*first, *fields, *_rewards(terms)])


def option_record(terms: Sequence[RewardTerm], fields: Sequence[Field]) -> np.dtype[Any]:
    """The numbers that a task's kernel reads: those of all tasks, its own, the terms' weights."""
    first = [
        ("timestep", "f8"),  # of physics [s]
        ("frame_skip", "i8"),  # physics steps in a control step
        ("max_steps", "i8"),  # control steps in an episode
        ("noise", "f8"),  # at reset, of angles [rad] and velocities [rad/s]
        ("terms", "i8"),  # how many the reward has
        ("info_bytes", "i8"),  # of the scalars in `info`
    ]
    return record_type([*first, *fields, *((f"weight_{term.name}", "f8") for term in terms)])


def info_record(terms: Sequence[RewardTerm], fields: Sequence[Field]) -> np.dtype[Any]:
    """The scalars in `info`: the task's own, the reward's terms, how well contact was solved."""
    return record_type([*fields, *_rewards(terms), *SOLVED.descr])


def _rewards(terms: Sequence[RewardTerm]) -> list[tuple[str, str]]:
    return [(f"reward_{term.name}", "f8") for term in terms]


def checked_weights(terms: Sequence[RewardTerm], changes: Any) -> dict[str, float]:
    """The weight of each term, by its name: the user's, or the term's own.

    Args:
        terms: of the task.
        changes: the option `reward_weights`: None, or some terms' weights by their names.

    Raises:
        ValueError: no dict, no such term, or no number within WEIGHT_BOUND.
    """
    weights = {term.name: term.weight for term in terms}
    if changes is None:
        return weights
    if not isinstance(changes, Mapping):
        example = {terms[0].name: terms[0].weight}
        raise ValueError(f"reward_weights must be a dict, such as {example}" + got(changes))
    for name, weight in changes.items():
        known(name, weights, "reward term")
        place = f"reward_weights[{name!r}]"
        weights[name] = number(weight, place, -WEIGHT_BOUND, WEIGHT_BOUND)
    return weights
