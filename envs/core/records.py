"""What all tasks' records have in common, and the terms of their rewards.

A reward is the sum of named terms, each a quality between 0 and 1 times a weight.  A task declares
its terms once; the fields `reward_NAME` of a world's record and of `info`, and the fields
`weight_NAME` of the options that its kernel reads, follow.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import got, known, number
from dynenvs.memory.records import record_type

WEIGHT_BOUND = 1000.0  # of a reward term, either way

Field = tuple[str, str] | tuple[str, str, tuple[int, ...]]


class RewardTerm(NamedTuple):
    """A term of a reward."""

    name: str
    weight: float  # unless the option `reward_weights` has another one
    meaning: str


# Of all walkers, and only where `reward_weights` asks for them
RHYTHM = RewardTerm("rhythm", 0.0, "as commanded, and each foot unloaded while it is due to swing")
SLIP = RewardTerm("slip", 0.0, "as commanded, on feet that do not slide")
SMOOTHNESS = RewardTerm("smoothness", 0.0, "as commanded, with torques that change little")


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
    ]
    return record_type([*first, *fields, *((f"weight_{term.name}", "f8") for term in terms)])


def info_record(terms: Sequence[RewardTerm], fields: Sequence[Field]) -> np.dtype[Any]:
    """The scalars in `info`: the task's own, the reward's terms, how well contact was solved."""
    last = [("residual", "f8"), ("degraded", "i8"), ("failed", "i8")]
    return record_type([*fields, *_rewards(terms), *last])


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


class InfoRows:
    """Reads what `info` says of worlds; NumPy's ways from a record to numbers take thrice as long.

    Args:
        rows: one record a world, of 64-bit numbers and arrays, shape (count,); each call reads them
            as they are then.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        kind = rows.dtype
        self.names: tuple[str, ...] = kind.names or ()
        parts = {name: kind[name] for name in self.names}
        self._scalars = [name for name, part in parts.items() if part.shape == ()]
        self._arrays = [(name, rows[name]) for name, part in parts.items() if part.shape != ()]
        letters = (
            "dq"[part.kind == "i"] if part.shape == () else f"{part.itemsize}x"
            for part in parts.values()
        )
        self._unpack = struct.Struct("=" + "".join(letters)).unpack_from
        self._memory, self._size = rows.view(np.uint8).data, kind.itemsize

    def of(self, i: int) -> dict[str, Any]:
        """World i's, as Python's numbers, and arrays of the caller's own."""
        numbers = self._unpack(self._memory, i * self._size)
        info: dict[str, Any] = dict(zip(self._scalars, numbers, strict=True))
        for name, array in self._arrays:
            info[name] = array[i].copy()
        return info
