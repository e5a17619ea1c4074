"""Constructor and reset arguments are checked here: a ValueError names the argument."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.spelling import did_you_mean, shortly

MOST_SEED = 2**128
IN_SPACE = "loose objects are bodies in space: Quadruped-v0 and Humanoid-v0 alone take them"
LEAST_SIDE, MOST_SIDE = 16, 8192  # of a picture [px]


def number(value: Any, name: str, low: float, high: float, unit: str = "") -> float:
    """`value` as a float in [low, high]; NaN, truth values and whatever is no number are refused.

    Raises:
        ValueError: it is not; the words name the argument.
    """
    found = _real(value)
    if not low <= found <= high:
        raise ValueError(f"{name} must be a number in [{low}, {high}] {unit}".rstrip() + got(value))
    return float(found)


def whole(value: Any, name: str, low: int, high: int) -> int:
    """`value` as an int in [low, high]; 2.0 is one, True is not.

    Raises:
        ValueError: it is not; the words name the argument.
    """
    found = _real(value)
    if not (low <= found <= high and found == int(found)):
        raise ValueError(f"{name} must be a whole number in [{low}, {high}]" + got(value))
    return int(found)


def _real(value: Any) -> Any:
    """`value` as Python's own number, or NaN if it is none; NumPy's overflow in comparisons."""
    found = value.item() if isinstance(value, np.generic) else value
    if isinstance(found, bool) or not isinstance(found, numbers.Real):
        return math.nan
    try:
        float(found)
    except OverflowError:  # a whole number beyond all floats
        return math.nan
    return found


def is_list(value: Any) -> bool:
    """Whether `value` is a row of values: a list, a tuple, an array, a `range`, no string."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def picture_side(value: Any, name: str) -> int:
    """`value` as the width or height of a picture [px].

    Raises:
        ValueError: it is not a whole number, too small or too large; the words name the argument.
    """
    return whole(value, name, LEAST_SIDE, MOST_SIDE)


def flag(value: Any, name: str) -> bool:
    """`value` as a bool; nothing but True and False is one.

    Raises:
        ValueError: it is not; the words name the argument.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False" + got(value))
    return bool(value)


def choice(value: Any, name: str, choices: Collection[str]) -> str:
    """`value` if it is one of the strings `choices`.

    Raises:
        ValueError: it is not; the words name the argument and the choices.
    """
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"unknown {name} {shortly(value)}; choose from: {', '.join(choices)}")
    return value


def typed(space: gym.spaces.Box, dtype: Any) -> gym.spaces.Box:
    """A space of observations whose numbers have this type, by its name.

    Raises:
        ValueError: another name than "float64" and "float32".
    """
    kind: Any = np.dtype(choice(dtype, "observation_dtype", ("float64", "float32")))
    return gym.spaces.Box(space.low.astype(kind), space.high.astype(kind), dtype=kind)


def interval(value: Any, name: str, low: float, high: float, unit: str = "") -> tuple[float, float]:
    """`value` as a pair of numbers in [low, high], the smaller one first.

    Raises:
        ValueError: it is not; the words name the argument.
    """
    ends = value.tolist() if isinstance(value, np.ndarray) else value
    if not (is_list(ends) and len(ends) == 2):
        raise ValueError(f"{name} must be a pair of numbers" + got(value))
    pair = (
        number(ends[0], f"{name}[0]", low, high, unit),
        number(ends[1], f"{name}[1]", low, high, unit),
    )
    if pair[0] > pair[1]:
        raise ValueError(f"{name} must start with its lower end" + got(value))
    return pair


def number_each(
    value: Any, name: str, count: int | None, low: float, high: float, unit: str = ""
) -> float | NDArray[np.float64]:
    """`value` as a number in [low, high], or as `count` of them (not if None), shape (count,).

    Raises:
        ValueError: it is neither; the words name the argument.
    """
    if count is None or not is_list(value):
        return number(value, name, low, high, unit)
    array = real_numbers(value, (count,), name)
    bad = np.flatnonzero(~((low <= array) & (array <= high)))
    if len(bad):
        raise ValueError(
            f"{name} must be numbers in [{low}, {high}] {unit}".rstrip()
            + f"; entries {bad[:8].tolist()} are not: {array[bad[:8]]}"
        )
    return array


def real_numbers(value: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """`value` as float64 numbers of the given shape.

    Raises:
        ValueError: no real numbers, or another shape; the words name the argument.
    """
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "fiubO":
            raise TypeError(given.dtype)
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        kind = type(value).__name__
        raise ValueError(f"{name} must be real numbers of shape {shape}, got a {kind}") from None
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array


def known(name: Any, names: Collection[str], what: str) -> None:
    """Make sure that an option exists.

    Raises:
        ValueError: it does not; the words name it and those that do.
    """
    if name not in names:
        choices = f"choose from: {', '.join(names)}" if names else "there are none"
        raise ValueError(f"unknown {what} {shortly(name)}; {choices}")


def known_arguments(given: Collection[str], names: Collection[str], function: str) -> None:
    """Make sure that a function has the keyword arguments that it was given.

    Other libraries look for Python's own words in the error, to try again with fewer arguments
    (TorchRL's GymEnv does with `frameskip`); the choices follow them.

    Raises:
        TypeError: it does not; in Python's words, and with those that there are.
    """
    for name in given:
        if name not in names:
            why = f"; {IN_SPACE}" if "objects" in name else ""
            hint = did_you_mean(name, names) or ";"
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}{why}{hint} "
                f"choose from: {', '.join(names)}"
            )


def got(value: Any) -> str:
    """The end of a refusal."""
    return f", got {shortly(value)}"


def check_records(value: Any, records: NDArray[Any], name: str, whose: str) -> None:
    """Make sure that `value` can take the place of `records`.

    Raises:
        ValueError: no array, or of another dtype or shape.
    """
    if not isinstance(value, np.ndarray):
        raise ValueError(f"{name} must be an array of records {whose}, got {type(value).__name__}")
    if value.dtype != records.dtype:
        raise ValueError(f"{name} must have the dtype {whose}; the model or its options differ")
    if value.shape != records.shape:
        raise ValueError(f"{name} must have shape {records.shape} {whose}, got {value.shape}")
