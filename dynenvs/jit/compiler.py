"""The compiler's side of kernels: what numba takes them for, and machine code of units.

Imported when something is to be compiled, never before: numba takes half a second.
"""

from __future__ import annotations

import ctypes
import types as python_types
from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numba
from numba import config, types
from numba.extending import intrinsic

from dynenvs.jit import compiled
from dynenvs.jit.handles_lowered import HandleType, handle_type, lower_openers, narrow
from dynenvs.jit.interrupts import is_called_by_compiled_code
from dynenvs.jit.kinds import ArrayKind, HandleKind, Kind, Number, Record, TupleKind
from dynenvs.jit.lowering import WORD, point, word
from dynenvs.jit.plain import OPTIONS, is_plain, plain_kernel
from dynenvs.jit.private import ExecutionEngine, cgutils, ir, llvm, make_intrinsic_template

LOWERED = (
    "jit.views",
    "simd.vectors",
    "simd.extremes",
    "simd.trigonometry",
    "simulation.progress",
)
_NUMBERS = {"q": types.int64, "d": types.float64, "?": types.boolean, "Q": types.uint64}
_announced: set[str] = set()

# LLVM calls these when it has made machine code
is_called_by_compiled_code(ExecutionEngine._raw_object_cache_notify)
is_called_by_compiled_code(ExecutionEngine._raw_object_cache_getbuffer)


def announce() -> None:
    """Tell LLVM of all cells, and numba of all that has LLVM code of its own.

    Before anything is compiled or loaded: both look for these by their names.
    """
    # LLVM code of our own stands in modules of its own
    for module in LOWERED:
        import_module(f"dynenvs.{module}_lowered")
    lower_openers()
    for name, unit in compiled.units.items():
        if name not in _announced:
            llvm.add_symbol(name, ctypes.addressof(unit.cell))
            _announced.add(name)


def type_of(kernel: compiled.Kernel) -> Any:
    """What a kernel is for code that calls it."""
    announce()
    if isinstance(kernel, compiled.InnerUnit):
        return _type_of_caller(kernel)
    return types.Dispatcher(_helper_of(kernel))


def dispatcher_of(kernel: compiled.Kernel) -> Any:
    """What Python calls: numba compiles it for the types of the arguments."""
    announce()
    return _new_dispatcher(kernel.py_func)


@cache
def _helper_of(kernel: compiled.Kernel) -> Any:
    if is_plain():
        return numba.njit(**OPTIONS, **kernel.targetoptions)(kernel.py_func)
    from dynenvs.jit.linking import Effort
    from dynenvs.jit.pipeline import Parts, called_functions

    if kernel.is_called:
        called_functions.add(kernel.py_func)
    # Said of each: numba compiles what has no such option with that of whoever calls it first, and
    # copies it into its callers.  That is quicker to run by a tenth, and as the library is built
    options = {} if Effort.thorough else {"forceinline": False}
    options |= {"nopython": True, **OPTIONS, **kernel.targetoptions}
    return Parts(kernel.py_func, None, options)


@cache
def _type_of_caller(unit: compiled.InnerUnit) -> Any:
    caller = _caller(unit)
    return types.Function(make_intrinsic_template(caller, caller._defn, unit.name))


def _new_dispatcher(function: Callable[..., Any]) -> Any:
    """A function as Python calls it, its machine code kept on disk."""
    if is_plain():
        return plain_kernel(function)
    from dynenvs.jit.pipeline import Kernel

    made: Any = Kernel(function, options={"nopython": True, **OPTIONS})
    if function.__module__.startswith("dynenvs."):
        made.enable_caching()
    return made


class Made:
    """Machine code of a unit, by the compiler."""

    def __init__(self, unit: compiled.Unit) -> None:
        announce()
        if isinstance(unit, compiled.Entry):
            # What Python calls takes the address of words; what compiled code calls takes arguments
            self.arguments: tuple[Any, ...] = (types.int64,)
            self.dispatcher = _new_dispatcher(_of_words(unit))
        else:
            self.arguments = tuple(type_of_kind(kind) for kind in unit.kinds)
            self.dispatcher = _new_dispatcher(unit.py_func)

    @property
    def is_ready(self) -> bool:
        """Whether it is compiled, or on disk."""
        return bool(self.dispatcher.is_compiled_for(self.arguments))

    def compile(self) -> None:
        """Compile it, or load it from the cache."""
        announce()
        self.dispatcher.compile(self.arguments)

    @cached_property
    def address(self) -> int:
        """Where its machine code begins."""
        self.compile()
        made = self.dispatcher.overloads[self.arguments]
        address: int = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        return address


def type_of_kind(kind: Kind) -> Any:
    """Numba's type of a kind of argument."""
    if isinstance(kind, Number):
        return _NUMBERS[kind.letter]
    if isinstance(kind, HandleKind):
        return handle_type(kind.handle)
    if isinstance(kind, ArrayKind):
        return types.Array(numba.from_dtype(kind.dtype), kind.dimensions, "C")
    if isinstance(kind, Record):
        return numba.from_dtype(kind.dtype)
    assert isinstance(kind, TupleKind)
    parts = tuple(type_of_kind(entry) for entry in kind.entries)
    return types.BaseTuple.from_types(parts, kind.names)


# Entries: from words to arguments, and from what is returned to words


def _of_words(unit: compiled.Entry) -> Callable[[int], int]:
    """A function of the address of a row of words: it calls the kernel with what they stand for."""
    # The same few lines for every entry, each with names of its own
    kinds, result = unit.kinds, unit.result
    count = sum(len(kind.format) for kind in kinds)
    names = {"function": unit, "opened": _opener(kinds)}
    if result is None:
        code = _without_result.__code__
    else:
        names["put"] = _writer(result, 8 * count)
        code = _with_result.__code__
    # Numba keeps machine code by a function's module, name and line
    own = unit.py_func.__code__
    code = code.replace(
        co_name=f"{own.co_name}_of_words",
        co_qualname=f"{unit.py_func.__qualname__}_of_words",
        co_firstlineno=own.co_firstlineno,
        co_filename=own.co_filename,
    )
    made = python_types.FunctionType(code, names, code.co_name)
    made.__module__ = unit.py_func.__module__
    made.__qualname__ = f"{unit.py_func.__qualname__}_of_words"
    return made


def _without_result(words: int) -> int:
    function(*opened(words))  # type: ignore[name-defined] # noqa: F821
    return 0


def _with_result(words: int) -> int:
    put(words, function(*opened(words)))  # type: ignore[name-defined] # noqa: F821
    return 0


def _opener(kinds: tuple[Kind, ...]) -> Any:
    result = types.Tuple(tuple(type_of_kind(kind) for kind in kinds))

    @intrinsic
    def opened(typing_context: Any, words: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            row = _Words(context, builder, args[0])
            return context.make_tuple(builder, result, [row.take(kind) for kind in kinds])

        return result(types.int64), generate

    return opened


def _writer(kind: Kind, begin: int) -> Any:
    wanted = type_of_kind(kind)

    @intrinsic
    def put(typing_context: Any, words: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            address = builder.add(args[0], word(begin))
            row = _Words(context, builder, address)
            row.put(kind, context.cast(builder, args[1], value, wanted))
            return context.get_dummy_value()

        return types.void(types.int64, value), generate

    return put


class _Words:
    """LLVM code that reads or writes a row of words, one after the other."""

    def __init__(self, context: Any, builder: Any, address: Any) -> None:
        self._context, self._builder = context, builder
        self._row = builder.inttoptr(address, WORD.as_pointer())
        self._at = 0

    def _next(self) -> Any:
        place = self._builder.gep(self._row, [word(self._at)])
        self._at += 1
        return place

    def take(self, kind: Kind) -> Any:
        """An argument."""
        builder, context = self._builder, self._context
        if isinstance(kind, TupleKind):
            parts = [self.take(entry) for entry in kind.entries]
            return context.make_tuple(builder, type_of_kind(kind), parts)
        # Numbers, or addresses that are pointed at
        words = [builder.load(self._next()) for _ in kind.format]
        if isinstance(kind, ArrayKind):
            return point(context, builder, type_of_kind(kind), words[0], words[1:])
        if isinstance(kind, HandleKind):
            made = cgutils.create_struct_proxy(type_of_kind(kind))(context, builder)
            for name, address in zip(kind.handle.buffers, words, strict=True):
                setattr(made, name, address)
            return made._getvalue()
        if isinstance(kind, Record):
            return builder.inttoptr(words[0], context.get_value_type(type_of_kind(kind)))
        assert isinstance(kind, Number)
        if kind.letter == "d":
            return builder.bitcast(words[0], ir.DoubleType())
        if kind.letter == "?":
            return builder.icmp_signed("!=", words[0], word(0))
        return words[0]

    def put(self, kind: Kind, value: Any) -> None:
        """A number, or a tuple of them."""
        builder = self._builder
        if isinstance(kind, TupleKind):
            for k, entry in enumerate(kind.entries):
                self.put(entry, builder.extract_value(value, k))
            return
        assert isinstance(kind, Number)
        if kind.letter == "d":
            value = builder.bitcast(value, WORD)
        elif kind.letter == "?":
            value = builder.zext(value, WORD)
        builder.store(value, self._next())


# Units: what compiled code calls by its address


def _caller(unit: compiled.InnerUnit) -> Any:
    """What compiled code calls: load the address from the cell, and go there."""
    name, result = unit.name, types.int64
    arguments = tuple(type_of_kind(kind) for kind in unit.kinds)

    @intrinsic
    def call(typing_context: Any, *given: Any) -> Any:
        # Checked while callers are compiled: a wrong handle is an error then
        for kind, wanted in zip(given, arguments, strict=True):
            if not _fits(kind, wanted):
                raise TypeError(f"{name} takes {wanted}, not {kind}")
        packed = types.StarArgTuple.from_types(given)

        def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            module = builder.module
            cell = module.globals.get(name) or ir.GlobalVariable(module, WORD, name)
            # The cell's address is known by its name, what it holds only when it runs
            kind = context.call_conv.get_function_type(result, arguments)
            address = builder.inttoptr(builder.load(cell), kind.as_pointer())
            words = [
                _as_wanted(context, builder, builder.extract_value(values[0], i), given[i], wanted)
                for i, wanted in enumerate(arguments)
            ]
            status, value = context.call_conv.call_function(
                builder, address, result, arguments, words
            )
            if config.BOUNDSCHECK:  # else no kernel raises
                with builder.if_then(status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
            return value

        return result(packed), generate

    return call


def _fits(given: Any, wanted: Any) -> bool:
    """Whether an argument of one type can be given where another is wanted."""
    if isinstance(wanted, types.Array):
        array = isinstance(given, types.Array)
        return array and (given.dtype, given.ndim, given.layout) == (wanted.dtype, 1, "C")
    if isinstance(wanted, HandleType):
        return isinstance(given, HandleType) and given.has(wanted)
    return True


def _as_wanted(context: Any, builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    """LLVM code for an argument of the type that a kernel takes."""
    if isinstance(wanted, types.Array):
        return value
    if isinstance(wanted, HandleType):
        return narrow(context, builder, given, wanted, value)
    return context.cast(builder, value, given, wanted)
