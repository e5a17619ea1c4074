"""Handles in compiled code: their types, and LLVM code that opens their arrays."""

from __future__ import annotations

from typing import Any

import numba
from numba import TypingError, types
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from dynenvs.jit.handles import Array, Handle, Nested, Pointed, kinds, no_array, openers
from dynenvs.jit.lowering import WORD, address_of, point, word
from dynenvs.jit.private import AttributeTemplate, Conversion, cgutils


def type_of(entry: Array) -> Any:
    """Numba's type of an array of a handle."""
    return types.Array(numba.from_dtype(entry.kind), len(entry.shape), "C")


def _open(entry: Array, context: Any, builder: Any, addresses: Any, first: str) -> Any:
    """LLVM code for an array of a handle with these addresses, the header's in `first`."""
    if isinstance(entry, Pointed):
        table = _Fixed(builder, getattr(addresses, first))
        address, size = table.word(16 * entry.number), table.word(16 * entry.number + 8)
        count = builder.udiv(size, _word(entry.kind.itemsize))
        return point(context, builder, type_of(entry), address, [count])
    header = _Header(builder, getattr(addresses, first))
    shape = [_word(size(header.count)) for size in entry.sizes]
    start = builder.add(getattr(addresses, entry.buffer), header.place(entry.number))
    return point(context, builder, type_of(entry), start, shape)


def lower_openers() -> None:
    """Tell numba of all functions that open handles and that it does not know yet."""
    while openers:
        _lower_opener(*openers.pop())


def _lower_opener(kind: type[Handle], open_handle: Any) -> None:
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
                address = address_of(context, builder, source, value)
            setattr(made, name, address)
        return made._getvalue()


class HandleType(types.Type):
    """Numba's type of a class of handles, which it knows by name: types are pickled and hashed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    @property
    def kind(self) -> type[Handle]:
        """The class."""
        return kinds[self.name]

    def can_convert_to(self, context: Any, other: Any) -> Any:
        """Whether a handle on other buffers can be made of this one: on some of its own."""
        has_all = isinstance(other, HandleType) and self.has(other)
        return Conversion.safe if has_all else None

    def has(self, other: HandleType) -> bool:
        """Whether it has all buffers of another one."""
        return {*self.kind.buffers} >= {*other.kind.buffers}


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
def _unbox(handle: HandleType, value: Any, context: Any) -> NativeValue:
    made = cgutils.create_struct_proxy(handle)(context.context, context.builder)
    for name in handle.kind.buffers:
        address = context.pyapi.object_getattr_string(value, f"address_of_{name}")
        setattr(made, name, context.pyapi.long_as_longlong(address))
        context.pyapi.decref(address)
    return NativeValue(made._getvalue())


@infer_getattr
class _HandleAttributes(AttributeTemplate):
    key = HandleType

    def generic_resolve(self, handle: HandleType, name: str) -> Any:
        entry = getattr(handle.kind, name, None)
        if isinstance(entry, Array):
            return type_of(entry)
        if isinstance(entry, Nested):
            return handle_type(entry.kind)
        raise TypingError(no_array(handle.kind, name))


@lower_getattr_generic(HandleType)
def _get(context: Any, builder: Any, handle: HandleType, value: Any, name: str) -> Any:
    entry = getattr(handle.kind, name)
    addresses = cgutils.create_struct_proxy(handle)(context, builder, value)
    if isinstance(entry, Array):
        return _open(entry, context, builder, addresses, handle.kind.buffers[0])
    made = cgutils.create_struct_proxy(handle_type(entry.kind))(context, builder)
    for buffer in entry.kind.buffers:
        setattr(made, buffer, getattr(addresses, buffer))
    return made._getvalue()


def as_declared(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Types of arguments, but of a handle that has more than a function's annotation says that one.

    So a function is compiled once, whoever calls it.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if len(names) != len(arguments):
        return arguments
    return tuple(
        _declared(function, name, given) for name, given in zip(names, arguments, strict=True)
    )


def _declared(function: Any, name: str, given: Any) -> Any:
    hint = function.__annotations__.get(name)
    if not isinstance(given, HandleType) or hint is None:
        return given
    kind = function.__globals__.get(hint) if isinstance(hint, str) else hint
    if not (isinstance(kind, type) and issubclass(kind, Handle)):
        return given
    wanted = handle_type(kind)
    return wanted if given.has(wanted) else given


@lower_cast(HandleType, HandleType)
def narrow(context: Any, builder: Any, given: HandleType, wanted: HandleType, value: Any) -> Any:
    """LLVM code for a handle on some of another one's buffers."""
    source = cgutils.create_struct_proxy(given)(context, builder, value)
    made = cgutils.create_struct_proxy(wanted)(context, builder)
    for buffer in wanted.kind.buffers:
        setattr(made, buffer, getattr(source, buffer))
    return made._getvalue()


class _Fixed:
    """LLVM code that reads words which never change while a kernel runs."""

    def __init__(self, builder: Any, address: Any) -> None:
        self.builder, self.address = builder, address

    def word(self, offset: int) -> Any:
        """The word so many bytes from the address on."""
        address = self.builder.add(self.address, _word(offset))
        value = self.builder.load(self.builder.inttoptr(address, WORD.as_pointer()))
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value


class _Header(_Fixed):
    """LLVM code that reads a header."""

    def count(self, name: str) -> _Number:
        """One of its counts."""
        return _Number(self.builder, self.word(_offset(name)))

    def place(self, number: int) -> Any:
        """Where an array begins in its buffer."""
        return self.word(_offset("places") + 8 * number)


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
        return word(value)
    return value.value if isinstance(value, _Number) else value
