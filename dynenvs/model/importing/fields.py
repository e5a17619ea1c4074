"""Dataclasses to plain JSON values and back, by the types of their fields."""

from __future__ import annotations

import collections.abc
import dataclasses
import math
import types
import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.parts import ModelError

INFINITIES = {"inf": math.inf, "-inf": -math.inf}  # JSON has no infinity


def encoded(value: Any) -> Any:
    """A dataclass, array, tuple, mapping or number as JSON values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: encoded(getattr(value, field.name)) for field in fields}
    if isinstance(value, np.ndarray | np.generic):
        return encoded(value.tolist())
    if isinstance(value, collections.abc.Mapping):
        return {str(name): encoded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(entry) for entry in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def decoded(kind: Any, value: Any, where: str) -> Any:
    """The value of a field of type `kind`.

    Args:
        kind: a dataclass or the type of a field.
        value: as JSON has it.
        where: of it in the file, for messages.

    Raises:
        ModelError: it has another type, a field is missing or unknown, or a number is NaN.
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, value, where)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        kinds = [arg for arg in args if arg is not type(None)]
        listed = len(kinds) > 1 and isinstance(value, list)
        return decoded(kinds[1] if listed else kinds[0], value, where)
    if kind is Any:  # a rotation, or none
        return None if value is None else _array(value, where)
    if origin in (np.ndarray, NDArray, collections.abc.Sequence):  # the second from NumPy 2.5 on
        return _array(value, where)
    if origin is collections.abc.Mapping:
        return _mapping(value, where)
    if origin is tuple:
        return _tuple(args, value, where)
    return _scalar(kind, value, where)


def _record(kind: type, value: Any, where: str) -> Any:
    """A dataclass, all of its fields there and no other."""
    if not isinstance(value, dict):
        raise ModelError(f"{where or 'the file'} must be an object, got {value!r:.60}")
    types_of = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    at = f"{where}: " if where else ""
    for name in names:
        if name not in value:
            raise ModelError(f"{at}{name!r} is missing")
    for name in value:
        if name not in names:
            raise ModelError(f"{at}{name!r} is unknown; known: {', '.join(names)}")
    inside = f"{where}." if where else ""
    return kind(**{name: decoded(types_of[name], value[name], inside + name) for name in names})


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ModelError(f"{where} must be an object, got {value!r:.60}")
    return dict(value)


def _tuple(args: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ModelError(f"{where} must be a list, got {value!r:.60}")
    kinds = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
    if len(kinds) != len(value):
        raise ModelError(f"{where} must have {len(kinds)} entries, got {len(value)}")
    both = enumerate(zip(kinds, value, strict=True))
    return tuple(decoded(kind, entry, f"{where}[{i}]") for i, (kind, entry) in both)


def _array(value: Any, where: str) -> Any:
    """Finite numbers in lists, as deep as they are nested."""
    rows = _numbers(value, where)
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError:
        raise ModelError(f"{where} has rows of different lengths") from None


def _numbers(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return [_numbers(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    found = _scalar(float, value, where)
    if not math.isfinite(found):
        raise ModelError(f"{where} must be finite, got {value!r:.60}")
    return found


def _float(value: float) -> float:
    """A number as a float; infinite where it is larger than all of these."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _scalar(kind: Any, value: Any, where: str) -> Any:
    """A text, truth value, whole number or number (infinite at most, never NaN)."""
    if kind is float:
        if isinstance(value, str) and value in INFINITIES:
            return INFINITIES[value]
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
            return _float(value)
        raise ModelError(f"{where} must be a number, got {value!r:.60}")
    if type(value) is not kind:
        names = {str: "a text", bool: "true or false", int: "a whole number"}
        raise ModelError(f"{where} must be {names.get(kind, kind)}, got {value!r:.60}")
    return value
