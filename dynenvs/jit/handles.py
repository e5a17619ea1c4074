"""Handles: one small value for all arrays of a packed buffer, each declared once.

A class of handles lists its arrays as attributes:

    class ModelView(Handle, buffers=("model",)):
        dofs: Records = array("model", DOF, "nv", "every degree of freedom")

In compiled code a handle is the addresses of its buffers, and nothing else: `w.dofs` becomes a load
of the array's place from the header (which begins the first buffer) where it is read, and an array
that owns nothing.  So to pass a handle costs nothing, however many arrays it opens.  In Python a
handle keeps the buffers and opens the same arrays.

Shapes are written in the header's counts, as in "max(nl, nv)" or "2 * ns".
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

ALIGNMENT = 64  # bytes: where every array begins

H = TypeVar("H", bound="Handle")

_WORD = ir.IntType(64)
_handles: dict[str, type[Handle]] = {}  # by name


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
        self._sizes = [Expression(part) for part in shape]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, handle: Handle | None, owner: type) -> Any:
        if handle is None:
            return self
        opened = handle.__dict__[self.name] = self.open(handle)
        return opened

    def dimensions(self, header: Any) -> list[int]:
        """Its shape for a header's counts."""
        return [int(size(lambda name: int(header[name]))) for size in self._sizes]

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

    def generate(self, context: Any, builder: Any, addresses: Any, first: str) -> Any:
        """LLVM code for it, in a handle with these addresses, the header's in `first`."""
        header = _Header(builder, getattr(addresses, first))
        shape = [_word(size(header.count)) for size in self._sizes]
        start = builder.add(getattr(addresses, self.buffer), header.place(self.number))
        return point(context, builder, self.numba_type, start, shape)

    @property
    def numba_type(self) -> Any:
        """Numba's type of it."""
        return types.Array(numba.from_dtype(self.kind), len(self.shape), "C")


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
        _handles[cls.__name__] = cls

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
        raise AttributeError(_no_array(type(self), name))

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


def number_arrays(kinds: list[type[Handle]], room: int) -> None:
    """Give the arrays of these handles their numbers, of which the header has room for so many."""
    entries = [entry for kind in kinds for entry in vars(kind).values() if isinstance(entry, Array)]
    assert len(entries) <= room, f"the header needs room for {len(entries)} places"
    for number, entry in enumerate(entries):
        entry.number = number


def opener(kind: type[H]) -> Callable[..., H]:
    """A function that makes a handle: for each buffer it takes its bytes, or a handle on it."""

    def open_handle(*sources: Any) -> H:
        pairs = zip(kind.buffers, sources, strict=True)
        return kind(*(s._buffers[b] if isinstance(s, Handle) else s for b, s in pairs))

    made_of = handle_type(kind)
    # Numba looks at how many arguments this takes
    typed = {1: lambda a: made_of, 2: lambda a, b: made_of, 3: lambda a, b, c: made_of}

    @type_callable(open_handle)
    def infer(context: Any) -> Any:
        return typed[len(kind.buffers)]

    @lower_builtin(open_handle, *[types.Any] * len(kind.buffers))
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = cgutils.create_struct_proxy(made_of)(context, builder)
        for name, source, value in zip(kind.buffers, sig.args, args, strict=True):
            if isinstance(source, HandleType):
                address = getattr(
                    cgutils.create_struct_proxy(source)(context, builder, value), name
                )
            else:
                data = make_array(source)(context, builder, value).data
                address = builder.ptrtoint(data, _WORD)
            setattr(made, name, address)
        return made._getvalue()

    return open_handle


class HandleType(types.Type):
    """Numba's type of a class of handles, which it knows by name: types are pickled and hashed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    @property
    def kind(self) -> type[Handle]:
        """The class."""
        return _handles[self.name]


def handle_kinds() -> set[type[Handle]]:
    """All classes of handles."""
    return set(_handles.values())


def handle_type(kind: type[Handle]) -> HandleType:
    """Numba's type of a class of handles."""
    return HandleType(kind.__name__)


@register_model(HandleType)
class _HandleModel(models.StructModel):
    """One address for each buffer."""

    def __init__(self, manager: Any, handle: HandleType) -> None:
        super().__init__(manager, handle, [(name, types.int64) for name in handle.kind.buffers])


@typeof_impl.register(Handle)
def _typeof(value: Handle, context: Any) -> HandleType:
    return handle_type(type(value))


@unbox(HandleType)
def _unbox(handle: HandleType, value: Any, c: Any) -> NativeValue:
    made = cgutils.create_struct_proxy(handle)(c.context, c.builder)
    for name in handle.kind.buffers:
        address = c.pyapi.object_getattr_string(value, f"address_of_{name}")
        setattr(made, name, c.pyapi.long_as_longlong(address))
        c.pyapi.decref(address)
    return NativeValue(made._getvalue())


@infer_getattr
class _HandleAttributes(AttributeTemplate):
    key = HandleType

    def generic_resolve(self, handle: HandleType, name: str) -> Any:  # type: ignore[override]
        entry = getattr(handle.kind, name, None)
        if isinstance(entry, Array):
            return entry.numba_type
        if isinstance(entry, Nested):
            return handle_type(entry.kind)
        raise TypingError(_no_array(handle.kind, name))


@lower_getattr_generic(HandleType)
def _get(context: Any, builder: Any, handle: HandleType, value: Any, name: str) -> Any:
    entry = getattr(handle.kind, name)
    addresses = cgutils.create_struct_proxy(handle)(context, builder, value)
    if isinstance(entry, Array):
        return entry.generate(context, builder, addresses, handle.kind.buffers[0])
    made = cgutils.create_struct_proxy(handle_type(entry.kind))(context, builder)
    for buffer in entry.kind.buffers:
        setattr(made, buffer, getattr(addresses, buffer))
    return made._getvalue()


def narrow(context: Any, builder: Any, value: Any, given: HandleType, wanted: HandleType) -> Any:
    """LLVM code for a handle on some of another one's buffers."""
    source = cgutils.create_struct_proxy(given)(context, builder, value)
    made = cgutils.create_struct_proxy(wanted)(context, builder)
    for buffer in wanted.kind.buffers:
        setattr(made, buffer, getattr(source, buffer))
    return made._getvalue()


def point(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """LLVM code for an array of numba's type `kind` that points to an address and owns nothing."""
    made = make_array(kind)(context, builder)
    size = _word(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    made.data = builder.inttoptr(address, made.data.type)
    made.shape = cgutils.pack_array(builder, shape)
    strides = [size] if len(shape) == 1 else [builder.mul(shape[1], size), size]
    made.strides = cgutils.pack_array(builder, strides)
    made.itemsize = size
    made.nitems = shape[0] if len(shape) == 1 else builder.mul(shape[0], shape[1])
    made.meminfo = cgutils.get_null_value(made.meminfo.type)
    made.parent = cgutils.get_null_value(made.parent.type)
    return made._getvalue()


class _Header:
    """LLVM code that reads a header; its numbers never change while a kernel runs."""

    def __init__(self, builder: Any, address: Any) -> None:
        self.builder, self.address = builder, address

    def count(self, name: str) -> _Number:
        """One of its counts."""
        return _Number(self.builder, self._load(_offset(name)))

    def place(self, number: int) -> Any:
        """Where an array begins in its buffer."""
        return self._load(_offset("places") + 8 * number)

    def _load(self, offset: int) -> Any:
        address = self.builder.add(self.address, _word(offset))
        value = self.builder.load(self.builder.inttoptr(address, _WORD.as_pointer()))
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value


def _offset(name: str) -> int:
    """Where a field begins in the header [bytes]."""
    fields: Any = Handle.header_type.fields
    return int(fields[name][1])


class _Number:
    """A number that LLVM code works out, for `Expression`."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: Any) -> _Number:
        return _Number(self.builder, self.builder.add(self.value, _word(other)))

    def __mul__(self, other: Any) -> _Number:
        return _Number(self.builder, self.builder.mul(self.value, _word(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> _Number:
        return _Number(self.builder, self.builder.sub(self.value, _word(other)))

    def compared(self, sign: str, other: Any) -> _Number:
        """It or the other, whichever is (sign "<") smaller or (">") larger."""
        first = self.builder.icmp_signed(sign, self.value, _word(other))
        return _Number(self.builder, self.builder.select(first, self.value, _word(other)))


def _word(value: Any) -> Any:
    """A number as LLVM sees it."""
    if isinstance(value, int):
        return ir.Constant(_WORD, value)
    return value.value if isinstance(value, _Number) else value


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
        if isinstance(left, _Number):
            return left.compared({"min": "<", "max": ">"}[node.func.id], right)
        return {"min": min, "max": max}[node.func.id](left, right)


def _no_array(kind: type[Handle], name: str) -> str:
    known = ", ".join(sorted(entry.name for entry in kind.arrays()))
    return f"{kind.__name__} has no {name!r}; it has {known}"
