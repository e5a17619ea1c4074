"""What a kernel with machine code of its own takes and returns, by its annotations.

Such a kernel is called with addresses and numbers alone: each argument becomes a row of 8-byte
words, which `Kind.words` lists, and machine code makes the argument of them again
(`dynenvs.jit.compiler`).

==========================  =================================================================
annotation                  words
==========================  =================================================================
int, float, bool            the number
a class of handles          the address of each of its buffers
an array                    the address of its first entry, then its length in each dimension
Record(dtype)               the address of one record
a tuple, a named tuple      those of its entries, one after the other
==========================  =================================================================

An array is `NDArray[np.float64]` (of one dimension, as `NDArray[np.int64]` and `NDArray[np.uint8]`
are); more dimensions, and records, are given by `Annotated`, or by `ArrayKind` itself:

    Matrix = Annotated[NDArray[np.float64], 2]
    Poses = Annotated[NDArray[Any], POSE]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.handles import Handle

# How a number's word is made, and what it is called
_NUMBERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "q": (operator.index, "a whole number"),
    "Q": (operator.index, "a whole number"),
    "d": (float, "a number"),
    "?": (bool, "True or False"),
}
_ARRAYS: list[tuple[Any, np.dtype[Any]]] = [
    (NDArray[np.float64], np.dtype(np.float64)),
    (NDArray[np.float32], np.dtype(np.float32)),
    (NDArray[np.int64], np.dtype(np.int64)),
    (NDArray[np.int32], np.dtype(np.int32)),
    (NDArray[np.uint8], np.dtype(np.uint8)),
]


class Kind:
    """One kind of argument.

    Attributes:
        format: its words in the letters of `struct`.
    """

    format: str

    def words(self, value: Any) -> Iterator[Any]:
        """The numbers that stand for `value`.

        Raises:
            TypeError: it is of another kind.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Number(Kind):
    """An int ("q"), a float ("d"), a bool ("?"), or an unsigned integer ("Q")."""

    letter: str

    @property
    def format(self) -> str:  # type: ignore[override]
        """Eight bytes each."""
        return "q" if self.letter == "?" else self.letter

    def words(self, value: Any) -> Iterator[Any]:
        make, name = _NUMBERS[self.letter]
        try:
            yield make(value)
        except TypeError:
            raise TypeError(f"{name} is wanted, not {value!r}") from None


@dataclass(frozen=True)
class ArrayKind(Kind):
    """A contiguous array."""

    dtype: np.dtype[Any]
    dimensions: int

    @property
    def format(self) -> str:  # type: ignore[override]
        """An address and lengths."""
        return "q" * (1 + self.dimensions)

    def words(self, value: Any) -> Iterator[Any]:
        found = value.dtype if isinstance(value, np.ndarray) else None
        if (
            found is None
            or not (found is self.dtype or found == self.dtype)
            or value.ndim != self.dimensions
            or not value.flags.c_contiguous
        ):
            raise TypeError(f"{self} is wanted, not {_described(value)}")
        yield value.__array_interface__["data"][0]
        yield from value.shape

    def __str__(self) -> str:
        return _described_by(self.dtype, self.dimensions)


@dataclass(frozen=True)
class Record(Kind):
    """One record of an array."""

    dtype: np.dtype[Any]
    format = "q"

    def words(self, value: Any) -> Iterator[Any]:
        if getattr(value, "dtype", None) != self.dtype:
            raise TypeError(
                f"one record of {list(self.dtype.names or ())} is wanted, not {value!r}"
            )
        yield np.frombuffer(value, np.uint8).__array_interface__["data"][0]


@dataclass(frozen=True)
class HandleKind(Kind):
    """A handle."""

    handle: type[Handle]

    @property
    def format(self) -> str:  # type: ignore[override]
        """Addresses."""
        return "q" * len(self.handle.buffers)

    def words(self, value: Any) -> Iterator[Any]:
        for name in self.handle.buffers:
            address = (
                value.__dict__.get(f"address_of_{name}") if isinstance(value, Handle) else None
            )
            if address is None:
                raise TypeError(f"a {self.handle.__name__} is wanted, not {type(value).__name__}")
            yield address


@dataclass(frozen=True)
class TupleKind(Kind):
    """A tuple, or one with names."""

    entries: tuple[Kind, ...]
    names: type | None = None  # the class of one with names

    @property
    def format(self) -> str:  # type: ignore[override]
        """Those of its entries."""
        return "".join(entry.format for entry in self.entries)

    def words(self, value: Any) -> Iterator[Any]:
        for entry, part in zip(self.entries, value, strict=True):
            yield from entry.words(part)


def kinds_of(function: Callable[..., Any]) -> tuple[dict[str, Kind], Kind | None]:
    """What a function takes, by name, and what it returns (nothing if None).

    Raises:
        TypeError: an annotation says nothing that such a kernel can take or return.
    """
    # Annotations in full, with what `Annotated` adds
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return", None)
    kinds = {name: _kind(hint, f"{function.__name__}({name})") for name, hint in hints.items()}
    if result in (None, type(None)):
        return kinds, None
    return kinds, _kind(result, f"{function.__name__}'s result")


def _kind(hint: Any, where: str) -> Kind:
    # From the simple to the composed; what is left must be an array
    if isinstance(hint, Kind):
        return hint
    numbers = {int: "q", float: "d", bool: "?", np.uint64: "Q"}
    if hint in numbers:
        return Number(numbers[hint])
    if isinstance(hint, type) and issubclass(hint, Handle):
        return HandleKind(hint)
    if get_origin(hint) is Annotated:
        return _annotated(hint, where)
    if get_origin(hint) is tuple:
        return TupleKind(tuple(_kind(part, where) for part in get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        parts = get_type_hints(hint, include_extras=True)
        return TupleKind(tuple(_kind(parts[name], where) for name in hint._fields), hint)
    dtype = _dtype(hint)
    if dtype is None:
        raise TypeError(
            f"{where}: {hint}: kernels with machine code of their own take handles, int, float, "
            "bool, arrays whose entries and dimensions are given, and tuples of these"
        )
    return ArrayKind(dtype, 1)


def _annotated(hint: Any, where: str) -> Kind:
    """`Annotated[array, dimensions or dtype or both, in this order]`, or with a kind itself."""
    base, *notes = get_args(hint)
    if isinstance(notes[0], Kind):
        return notes[0]
    dtype = notes[-1] if isinstance(notes[-1], np.dtype) else _dtype(base)
    if dtype is None:
        return _kind(base, where)
    return ArrayKind(dtype, notes[0] if isinstance(notes[0], int) else 1)


def _dtype(hint: Any) -> np.dtype[Any] | None:
    """Entries of `NDArray[...]`, if that says which."""
    known = (dtype for alias, dtype in _ARRAYS if alias == hint)
    return next(known, None)


def format_of(kinds: Sequence[Kind]) -> str:
    """The words of several arguments, in the letters of `struct`."""
    return "=" + "".join(kind.format for kind in kinds)


def _described(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    words = _described_by(value.dtype, value.ndim)
    return words if value.flags.c_contiguous else words.replace("contiguous", "scattered")


def _described_by(dtype: np.dtype[Any], dimensions: int) -> str:
    entries = "records" if dtype.names else dtype.name
    return f"a contiguous array of {entries} of {dimensions} dimension{'s' * (dimensions != 1)}"
