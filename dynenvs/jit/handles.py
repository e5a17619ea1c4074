"""Handles: one small value for all arrays of a packed buffer, each declared once.

A class of handles lists its arrays as attributes:

    class ModelView(Handle, buffers=("model",)):
        dofs: Records = array("model", DOF, "nv", "every degree of freedom")

In compiled code a handle is the addresses of its buffers, and nothing else: `w.dofs` becomes a load
of the array's place from the header (which begins the first buffer) where it is read, and an array
that owns nothing (`handles_lowered.py`).  So to pass a handle costs nothing, however many arrays it
opens.  In Python a handle keeps the buffers and opens the same arrays.

Shapes are written in the header's counts, as in "max(nl, nv)" or "2 * ns".
"""

from __future__ import annotations

import ast
import ctypes
import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64  # bytes: where every array begins

H = TypeVar("H", bound="Handle")

kinds: dict[str, type[Handle]] = {}  # all classes of handles, by name
openers: list[tuple[type[Handle], Callable[..., Any]]] = []  # of each class, what opens it


class Array:
    """An array of a handle: where it stands, of what, how many, and what it is.

    Attributes:
        name: of the attribute.
        buffer: name of the buffer that holds it.
        kind: dtype of its entries.
        shape: one expression of the header's counts for each dimension.
        when: count without which the array takes no room; empty if it always does.
        what: one line for the reference: what it holds, and in which unit.
        number: its place in the header's list of places.
    """

    name: str
    number: int

    def __init__(self, buffer: str, kind: Any, shape: tuple[str, ...], what: str, when: str):
        self.buffer, self.kind, self.shape = buffer, np.dtype(kind), shape
        self.what, self.when = what, when
        self.sizes = [Expression(part) for part in shape]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, handle: Handle | None, owner: type) -> Any:
        if handle is None:
            return self
        opened = handle.__dict__[self.name] = self.open(handle)
        return opened

    def dimensions(self, header: Any) -> list[int]:
        """Its shape for a header's counts."""
        return [int(size(lambda name: int(header[name]))) for size in self.sizes]

    def format(self, header: Any) -> Any:
        """What it is in a record that holds it: its entry if there is one alone by declaration."""
        return self.kind if self.shape == ("1",) else (self.kind, tuple(self.dimensions(header)))

    def size(self, header: Any) -> int:
        """Bytes that it takes."""
        if self.when and not header[self.when]:
            return 0
        return int(math.prod(self.dimensions(header)) * self.kind.itemsize)

    def open(self, handle: Handle) -> Any:
        """It, for the interpreter."""
        header, buffer = handle._header, handle._buffers[self.buffer]
        start, shape = int(header["places"][self.number]), self.dimensions(header)
        size = self.size(header)
        if size == 0:
            shape[0] = 0
        return buffer[start : start + size].view(self.kind).reshape(shape)


class Pointed(Array):
    """An array of its own: the handle's only buffer has its address and its bytes, by its number.

    It has one dimension.  The buffer is a table, int64, shape (arrays, 2); nothing of it changes
    while a kernel runs.
    """

    def open(self, handle: Handle) -> Any:
        """It, for the interpreter."""
        (table,) = handle._buffers.values()
        address, size = table.reshape(-1, 2)[self.number].tolist()
        words = (ctypes.c_uint8 * size).from_address(address)
        return np.ctypeslib.as_array(words).view(self.kind)


class Nested(NamedTuple):
    """A handle within another one: of the same buffers, with arrays of its own."""

    kind: type[Handle]

    def __get__(self, handle: Handle | None, owner: type) -> Any:
        return (
            self if handle is None else self.kind(*(handle._buffers[b] for b in self.kind.buffers))
        )


def array(buffer: str, kind: Any, *shape: str, what: str, when: str = "") -> Any:
    """Declare an array of a handle (see `Array`)."""
    return Array(buffer, kind, shape, what, when)


def pointed(kind: Any, what: str) -> Any:
    """Declare an array of a handle that stands by itself (see `Pointed`)."""
    return Pointed("table", kind, ("n",), what, "")


def nested(kind: type[Handle]) -> Any:
    """Declare a handle within a handle."""
    return Nested(kind)


class Handle:
    """The buffers of a world, and the arrays in them by name; subclasses declare both.

    Attributes:
        buffers: names of the buffers; the first one begins with the header.
        header_type: the header's dtype; its field `places` has the place of each array.
    """

    buffers: ClassVar[tuple[str, ...]] = ()
    header_type: ClassVar[np.dtype[Any]]

    def __init_subclass__(cls, *, buffers: tuple[str, ...], **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.buffers = buffers
        kinds[cls.__name__] = cls

    def __init__(self, *memory: NDArray[np.uint8]) -> None:
        self._buffers = dict(zip(self.buffers, memory, strict=True))
        for name, buffer in self._buffers.items():
            setattr(self, f"address_of_{name}", buffer.ctypes.data)

    @property
    def _header(self) -> Any:
        """The header's only record."""
        kind = self.header_type
        return self._buffers[self.buffers[0]][: kind.itemsize].view(kind)[0]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(no_array(type(self), name))

    if not TYPE_CHECKING:  # types would take any name then

        def __setattr__(self, name: str, value: Any) -> None:
            """Nothing but its buffers: arrays are written into, entry by entry."""
            if hasattr(type(self), name):
                raise AttributeError(f"{name} is an array: write its entries: {name}[0] = ...")
            if not name.startswith(("_", "address_of_")):
                raise AttributeError(no_array(type(self), name))
            super().__setattr__(name, value)

    @classmethod
    def arrays(cls) -> Iterator[Array]:
        """Its arrays and its bases', each base's first, in the order in which they stand."""
        for kind in reversed(cls.__mro__):
            yield from (entry for entry in vars(kind).values() if isinstance(entry, Array))


def place_number(entry: Any) -> int:
    """Which of the header's places is that of an array, `ModelView.dofs` for example."""
    return int(entry.number)


def lay_out(header: Any, kinds: list[type[Handle]], buffer: str) -> int:
    """Give every array of a buffer its place in the header; returns the buffer's size [bytes]."""
    start = 0
    for entry in arrays_of(kinds, buffer):
        header["places"][entry.number] = start
        start = -(-(start + entry.size(header)) // ALIGNMENT) * ALIGNMENT
    return start


def arrays_of(kinds: list[type[Handle]], buffer: str) -> list[Array]:
    """The arrays that these handles declare themselves in one buffer."""
    own = [entry for kind in kinds for entry in vars(kind).values()]
    return [entry for entry in own if isinstance(entry, Array) and entry.buffer == buffer]


def number_arrays(kinds: list[type[Handle]], room: int, first: int = 0) -> int:
    """Give the arrays of these handles their numbers, from `first` on; returns the next one.

    The header has `room` for so many.
    """
    entries = [entry for kind in kinds for entry in vars(kind).values() if isinstance(entry, Array)]
    after = first + len(entries)
    assert after <= room, f"the header needs room for {after} places"
    for number, entry in enumerate(entries, first):
        entry.number = number
    return after


def opener(kind: type[H]) -> Callable[..., H]:
    """A function that makes a handle: for each buffer it takes its bytes, or a handle on it."""

    def open_handle(*sources: Any) -> H:
        pairs = zip(kind.buffers, sources, strict=True)
        return kind(*(s._buffers[b] if isinstance(s, Handle) else s for b, s in pairs))

    openers.append((kind, open_handle))
    return open_handle


class Expression:
    """A shape such as "2 * nk" or "max(nl, nv)", for numbers and for LLVM code."""

    _OPERATORS: ClassVar[dict[type, Any]] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
    }

    def __init__(self, text: str) -> None:
        self._tree = ast.parse(text, mode="eval").body

    def __call__(self, count: Callable[[str], Any]) -> Any:
        """Its value; `count` gives the header's counts by name."""
        return self._value(self._tree, count)

    def _value(self, node: Any, count: Callable[[str], Any]) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return -self._value(node.operand, count)
        if isinstance(node, ast.Name):
            return count(node.id)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, count), self._value(node.right, count)
            return self._OPERATORS[type(node.op)](left, right)
        left, right = (self._value(part, count) for part in node.args)
        if hasattr(left, "compared"):  # of LLVM code
            return left.compared({"min": "<", "max": ">"}[node.func.id], right)
        return {"min": min, "max": max}[node.func.id](left, right)


def no_array(kind: type[Handle], name: str) -> str:
    known = ", ".join(sorted(entry.name for entry in kind.arrays()))
    return f"{kind.__name__} has no {name!r}; it has {known}"
