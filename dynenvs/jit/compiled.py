"""The decorators of everything that is compiled.

==========  ==========================================================================
@kernel     a function that compiled code calls
@inlined    a small one, which is compiled into its callers
@called     a large one, of which each unit has one copy
@inlined_source     one that is written into its only caller before types are inferred
@entry      a kernel that Python calls
@unit      a large kernel, or one that is rarely needed: compiled code finds it by its address
==========  ==========================================================================

Entries and units have machine code of their own, which comes from the library or from the
compiler (`core.py`).  Nothing here needs numba: it is imported when something is to be compiled.

Rules for kernels: packed arguments, no allocation in the step, status codes instead of raising,
no fastmath, no BLAS and no array expressions, `dynenvs.simd.functions` instead of `math` where that
would ask the C library (so the same bits come out everywhere).
"""

from __future__ import annotations

import ctypes
import inspect
import struct
from collections.abc import Callable, Sequence
from functools import cached_property, partial, update_wrapper
from typing import Any, ClassVar, TypeVar, cast, overload

from dynenvs.jit import library
from dynenvs.jit.core import LIBRARY, PYTHON, core, runs_as_python
from dynenvs.jit.kinds import HandleKind, Kind, Number, TupleKind, format_of, kinds_of

F = TypeVar("F", bound=Callable[..., Any])

SECONDS = 2.0  # that compiling a kernel takes about, if nothing else is said
SELDOM = "seldom"  # the group of kernels that many first runs do without

units: dict[str, Unit] = {}  # kernels with machine code of their own, by module and name


def kernel(function: F) -> F:
    """Compile `function` where compiled code calls it; the interpreter lock is not held.

    Python may call it as well: tests do.  What the package itself calls is an `entry`.
    """
    return cast(F, function if runs_as_python() else Kernel(function))


def inlined(function: F) -> F:
    """Compile a small helper into its callers: no call, no copying of the views it is given."""
    return cast(F, function if runs_as_python() else Kernel(function, forceinline=True))


def called(function: F) -> F:
    """Compile a large helper once in each unit that needs it, and call it there.

    LLVM copies a function into its callers though it is large, if they are few: one that is called
    in several places, or rarely run, is better not.
    """
    return cast(F, function if runs_as_python() else Kernel(function, is_called=True))


def inlined_source(function: F) -> F:
    """Write a helper into its only caller before types are inferred: it is compiled there alone.

    For helpers with one way out (no `return` but at the end, or none).
    """
    return cast(F, function if runs_as_python() else Kernel(function, inline="always"))


@overload
def entry(function: F) -> F: ...


@overload
def entry(*, seconds: float) -> Callable[[F], F]: ...


def entry(function: Any = None, *, seconds: float = SECONDS) -> Any:
    """Compile a kernel for Python to call; the interpreter lock is released while it runs.

    Its annotations say what it takes and returns (`kinds.py`).

    Args:
        function: to compile.
        seconds: that compiling it takes a processor, about; for the message that it is compiled.
    """
    if function is None:
        return partial(entry, seconds=seconds)
    if runs_as_python():
        return function
    if isinstance(function, Kernel):  # an inlined one
        return Entry(function.py_func, "", seconds, **function.targetoptions)
    return Entry(function, "", seconds)


def unit(group: str = "rare", *, seconds: float = SECONDS) -> Callable[[F], Any]:
    """Compile a kernel separately, as a unit of its own; callers reach it by its address.

    A kernel that others call is optimised again within each of them, and in their callers.  Large
    ones, and those that are rarely needed, stand behind an address instead: a cell in this process
    holds it, under a name that compiled code knows.  `prepare` fills the cells of a group; until
    then a cell holds the address of a stub, which compiles the kernel (or loads it from the cache)
    when it is called.  No address is cached or pickled: each process has its own cells, and a fork
    inherits valid ones.

    Its annotations say what it gets: handles, int, float, and arrays of one dimension.  It returns
    an int: callers must treat -1 as failure, which means that it could not be compiled.

    Args:
        group: which models need it, a name for `prepare`; "rare" is for what few worlds ever do,
            "seldom" for what many need, but not at first: a helper process compiles it later.
        seconds: that compiling it takes a processor, about; for the message that it is compiled.
    """

    def decorate(function: F) -> Any:
        return function if runs_as_python() else InnerUnit(function, group, seconds)

    return decorate


class Kernel:
    """A function that compiled code calls, and Python as well.

    Attributes:
        py_func: as it is written.
        targetoptions: options for the compiler.
        is_called: whether it is called wherever compiled code needs it, never copied to there.
        always_compiled: whether it is compiled for Python beside the library, too: tests want it.
    """

    always_compiled: ClassVar[bool] = False

    def __init__(
        self, function: Callable[..., Any], is_called: bool = False, **options: Any
    ) -> None:
        update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options
        self.is_called = is_called

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._for_python(*arguments, **named)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by its name, as functions are

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.name}>"

    @property
    def name(self) -> str:
        """Module and function."""
        return f"{self.py_func.__module__}.{self.py_func.__qualname__}"

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the package's."""
        return self.py_func.__module__.startswith("dynenvs.")

    @cached_property
    def _for_python(self) -> Callable[..., Any]:
        """What Python calls: with the library, the package's own kernels run as they are written.

        Those that matter to Python are entries.
        """
        if self.is_ours and core() == LIBRARY and not self.always_compiled:
            return self.py_func
        from dynenvs.jit.compiler import dispatcher_of

        found: Callable[..., Any] = dispatcher_of(self)
        return found

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for, in code that calls it."""
        from dynenvs.jit.compiler import type_of

        return type_of(self)


class Unit(Kernel):
    """A kernel with machine code of its own.

    Attributes:
        group: which models need it.
        seconds: that compiling it takes, about.
        cell: where compiled code finds its address.
    """

    def __init__(
        self, function: Callable[..., Any], group: str, seconds: float, **options: Any
    ) -> None:
        super().__init__(function, **options)
        self.group, self.seconds = group, seconds
        address = library.address_of(self.name) if self.is_ours and core() == LIBRARY else 0
        self.is_linked = address != 0
        self.cell = ctypes.c_void_p(address or self._stub())
        units[self.name] = self

    @cached_property
    def _declared(self) -> tuple[dict[str, Kind], Kind | None]:
        return kinds_of(self.py_func)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What it takes."""
        return tuple(self._declared[0].values())

    @property
    def named_kinds(self) -> dict[str, Kind]:
        """What it takes, by name."""
        return self._declared[0]

    @property
    def result(self) -> Kind | None:
        """What it returns, if it returns something."""
        return self._declared[1]

    @cached_property
    def _made(self) -> Any:
        """What the compiler makes of it."""
        from dynenvs.jit.compiler import Made

        return Made(self)

    @property
    def is_ready(self) -> bool:
        """Whether a call compiles nothing: it is linked, or its machine code is on disk."""
        return self.is_linked or bool(self._made.is_ready)

    def compile(self) -> None:
        """Make its machine code, or load it from the cache."""
        if not self.is_linked:
            self._made.compile()

    def link(self) -> None:
        """Let callers reach it: it is compiled if it must be."""
        if self.is_linked:
            return
        from dynenvs.jit.compiling import compile_now

        compile_now(self)
        self.cell.value = self._made.address
        self.is_linked = True

    def _stub(self) -> int:
        """The address of what stands for it until it is linked."""
        return 0


class InnerUnit(Unit):
    """A kernel that compiled code finds by its address."""

    def __init__(self, function: Callable[..., Any], group: str, seconds: float) -> None:
        super().__init__(function, group, seconds)
        for name, kind in self._declared[0].items():
            if isinstance(kind, TupleKind) or getattr(kind, "dimensions", 1) != 1:
                raise TypeError(
                    f"{function.__name__}({name}): units take handles, int, "
                    "float, and arrays of one dimension"
                )

    def _stub(self) -> int:
        from dynenvs.jit.interrupts import uninterrupted

        self._prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *_native(self.kinds))
        self._first = self._prototype(uninterrupted(self._first_call))
        return ctypes.cast(self._first, ctypes.c_void_p).value or 0

    def _first_call(self, *values: Any) -> int:
        """Stands for the kernel until it is linked; values[0] is where the result belongs."""
        ctypes.c_int64.from_address(values[0]).value = -1
        self.link()
        return int(self._prototype(self.cell.value or 0)(*values))


class Entry(Unit):
    """A kernel that Python calls: its machine code takes the address of a row of words.

    The words: one for what machine code says of errors, and one for the end of that; then those of
    the arguments; then those of what it returns.
    """

    _CALL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named:
            arguments = inspect.signature(self.py_func).bind(*arguments, **named).args
        return Call(self, arguments)()

    def bind(self, *arguments: Any) -> Call:
        """A call with these arguments that can be repeated, by one thread at a time."""
        return Call(self, arguments)

    @cached_property
    def function(self) -> Callable[..., int]:
        """Its machine code."""
        self.link()
        return self._CALL(self.cell.value or 0)

    @cached_property
    def layout(self) -> tuple[struct.Struct, struct.Struct, int]:
        """How arguments and results are packed, and where the results begin [bytes]."""
        arguments = struct.Struct(format_of(self.kinds))
        results = struct.Struct(format_of([self.result] if self.result else []))
        return arguments, results, _HEAD + arguments.size


_HEAD = 16  # bytes before the arguments


class Call:
    """A call of an entry, which can be repeated: its arguments are packed once.

    What is packed are addresses of arrays and handles, which it keeps alive, and numbers as they
    are now.
    """

    __slots__ = ("_arguments", "_buffer", "_entry", "_read", "_run")

    def __init__(self, entry: Entry, arguments: tuple[Any, ...]) -> None:
        packer, results, begin = entry.layout
        words: list[Any] = []
        if len(arguments) != len(entry.kinds):
            raise TypeError(
                f"{entry.name} takes {len(entry.kinds)} arguments, not {len(arguments)}"
            )
        try:
            for kind, argument in zip(entry.kinds, arguments, strict=True):
                words += kind.words(argument)
            self._buffer = ctypes.create_string_buffer(begin + results.size)
            packer.pack_into(self._buffer, _HEAD, *words)
        except (TypeError, struct.error) as error:
            raise TypeError(f"{entry.name}: {error}") from None
        self._entry, self._arguments = entry, arguments
        first = ctypes.addressof(self._buffer)
        places = ctypes.c_void_p(first), ctypes.c_void_p(first + 8), ctypes.c_int64(first + _HEAD)
        self._run = partial(entry.function, *places)
        self._read = _reader(entry.result, results, begin)

    def __call__(self) -> Any:
        status = self._run()
        if status:
            raise RuntimeError(f"{self._entry.name} failed with status {status}")
        return self._read(self._buffer)


def _reader(kind: Kind | None, results: struct.Struct, begin: int) -> Callable[[Any], Any]:
    """What reads the result of an entry from its words."""
    unpack = results.unpack_from
    if kind is None:
        return lambda buffer: None
    if kind == Number("?"):
        return lambda buffer: unpack(buffer, begin)[0] != 0
    if isinstance(kind, Number):
        return lambda buffer: unpack(buffer, begin)[0]
    return lambda buffer: _value(kind, iter(unpack(buffer, begin)))


def _value(kind: Kind, values: Any) -> Any:
    """A number, or a tuple of numbers, of the words that follow."""
    if isinstance(kind, TupleKind):
        parts = [_value(part, values) for part in kind.entries]
        return tuple(parts) if kind.names is None else kind.names(*parts)
    value = next(values)
    return bool(value) if kind == Number("?") else value


def bind(function: Any, *arguments: Any) -> Callable[[], Any]:
    """A call of an entry that can be repeated, by one thread at a time (see `Call`)."""
    return (
        function.bind(*arguments) if isinstance(function, Entry) else partial(function, *arguments)
    )


def prepare(what: str, entries: Sequence[Any], groups: Sequence[str] | None) -> None:
    """Compile what is about to run, or load it from the cache, before it runs.

    A message on stderr tells how long it takes.  Ctrl-C stops it, and nothing is lost.

    Args:
        what: is about to run, in the message.
        entries: that Python will call.
        groups: of units that those need; all that there are if None.
    """
    waiting = _waiting(entries, groups)
    if waiting:
        from dynenvs.jit.compiling import compile_units

        expect((), (SELDOM,))
        compile_units(what, waiting)
        for unit in waiting:
            unit.link()


def expect(entries: Sequence[Any], groups: Sequence[str]) -> None:
    """Name what will be prepared later: a helper process that runs by then has done its part."""
    waiting = _waiting(entries, groups)
    if waiting:
        from dynenvs.jit import compiling

        compiling.expect(waiting)


def _waiting(entries: Sequence[Any], groups: Sequence[str] | None) -> list[Unit]:
    """Those that are not linked: entries first, then units from quick to slow.

    A helper process begins at the end.
    """
    if core() == PYTHON:
        return []
    others = (u for u in units.values() if isinstance(u, InnerUnit))
    behind = [u for u in others if groups is None or u.group in groups]
    found = [*entries, *sorted(behind, key=lambda unit: unit.seconds)]
    return [unit for unit in found if not unit.is_linked]


def _native(kinds: Sequence[Kind]) -> list[Any]:
    """What numba's calling convention passes: result, exception, then each argument's parts."""
    pointer, word = ctypes.c_void_p, ctypes.c_ssize_t
    parts: list[Any] = [pointer, pointer]
    for kind in kinds:
        if isinstance(kind, HandleKind):
            parts += [word] * len(kind.handle.buffers)
        elif isinstance(kind, Number):
            parts.append(ctypes.c_double if kind.letter == "d" else ctypes.c_int64)
        else:  # an array: owner, parent, items, item size, data, shape, strides
            parts += [pointer, pointer, word, word, pointer, word, word]
    return parts
