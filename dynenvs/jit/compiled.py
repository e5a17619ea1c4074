"""The decorators that compile: ``@kernel`` is ``numba.njit`` with a cache that is never stale.

What stands here uses numba's documented extension points; `pipeline.py` makes the first start
faster and can be done without (`plain.py`).

Rules for kernels: packed arguments, no allocation in the step, status codes instead of raising,
no fastmath, no BLAS and no array expressions (so the same bits come out everywhere).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, TypeVar, cast, get_type_hints, overload

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import config
from numba.extending import intrinsic
from numpy.typing import NDArray

from dynenvs.jit import compiling
from dynenvs.jit.ahead import jobs_from_parent
from dynenvs.jit.compiling import Job, compile_jobs, wait_for_helper
from dynenvs.jit.handles import HandleType, handle_kinds, handle_type, narrow
from dynenvs.jit.interrupts import uninterrupted
from dynenvs.jit.plain import OPTIONS, is_plain, plain_helper, plain_kernel, plain_merged
from dynenvs.jit.turns import help_another

F = TypeVar("F", bound=Callable[..., Any])
Calls = Sequence[tuple[Any, Sequence[Any]]]  # kernels that Python will call, with their arguments

SECONDS = 2.0  # that compiling a kernel takes about, if nothing else is said

_TYPES: dict[Any, Any] = {
    int: types.int64,
    float: types.float64,
    NDArray[np.float64]: types.float64[::1],
    NDArray[np.int64]: types.int64[::1],
    NDArray[np.uint8]: types.uint8[::1],
}

_units: dict[str, _Unit] = {}  # kernels compiled apart, by module and name


@overload
def kernel(function: F) -> F: ...


@overload
def kernel(*, seconds: float) -> Callable[[F], F]: ...


def kernel(function: Any = None, *, seconds: float = SECONDS) -> Any:
    """Compile `function` for one thread; the interpreter lock is released while it runs.

    Args:
        function: to compile.
        seconds: that compiling it takes a processor, about; for the message that it is compiled.
    """
    if function is None:
        return partial(kernel, seconds=seconds)
    if config.DISABLE_JIT:
        return function
    compiled: Any = plain_kernel(function) if is_plain() else _fast(function)
    compiled.seconds = seconds
    return compiled


def inlined(function: F) -> F:
    """Compile a small helper into its callers: no call, no copying of the views it is given."""
    if config.DISABLE_JIT:
        return function
    return cast(F, plain_helper(function) if is_plain() else _fast(function, forceinline=True))


def merged(function: F) -> F:
    """Write a helper into its only caller before types are inferred: it is compiled there alone.

    For helpers with one way out (no `return` but at the end, or none).
    """
    if config.DISABLE_JIT:
        return function
    return cast(F, plain_merged(function) if is_plain() else _fast(function, inline="always"))


def _fast(function: Callable[..., Any], **options: Any) -> Any:
    """The same by the accelerator of the first start."""
    from dynenvs.jit.pipeline import Kernel

    made: Any = Kernel(function, options={"nopython": True, **OPTIONS, **options})
    if function.__module__.startswith("dynenvs."):
        made.enable_caching()
    made.seconds = SECONDS
    return made


def apart(group: str = "rare", *, seconds: float = SECONDS) -> Callable[[F], Any]:
    """Compile a kernel apart from its callers; they reach it by its address.

    A kernel that others call is optimised again within each of them, and in their callers.  Large
    ones, and those that are rarely needed, stand behind an address instead: a cell in this process
    holds it, under a name that compiled code knows.  `prepare` fills the cells of a group; until
    then a cell holds the address of a stub, which compiles the kernel (or loads it from the cache)
    when it is called.  No address is cached or pickled: each process has its own cells, and a fork
    inherits valid ones.

    Its annotations say what it gets: handles, int, float, and arrays of one dimension.  It returns
    an int: callers must treat -1 as failure, which means that it could not be compiled.

    Args:
        group: who needs it, a name for `prepare`; "rare" is for what few worlds ever do.
        seconds: that compiling it takes a processor, about; for the message that it is compiled.
    """

    def decorate(function: F) -> Any:
        compiled: Any = kernel(seconds=seconds)(function)
        if config.DISABLE_JIT:
            return function
        unit = _Unit(compiled, group)
        _units[unit.job.name] = unit
        return _caller(unit.job.name, unit.result, unit.job.arguments)

    return decorate


class _Unit:
    """A kernel compiled apart: its job for the compiler, and the cell that holds its address."""

    def __init__(self, function: Any, group: str) -> None:
        arguments, self.result = _signature(function.py_func), types.int64
        self.job, self.group = Job(function, arguments, function.seconds), group
        self._prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *_native(arguments))
        self._stub = self._prototype(uninterrupted(self._first_call))
        self._cell = ctypes.c_void_p(ctypes.cast(self._stub, ctypes.c_void_p).value)
        llvm.add_symbol(self.job.name, ctypes.addressof(self._cell))

    def link(self) -> None:
        """Compile or load it, and let callers reach it."""
        job = self.job
        wait_for_helper(job.name)
        compile_jobs(f"{job.kernel.py_func.__name__}, needed now", [job])
        job.kernel.compile(job.arguments)
        made = job.kernel.overloads[job.arguments]
        symbol = made.fndesc.llvm_func_name
        self._cell.value = made.library.get_pointer_to_function(symbol)

    def _first_call(self, *values: Any) -> int:
        """Stands for the kernel until it is linked; values[0] is where the result belongs."""
        ctypes.c_int64.from_address(values[0]).value = -1
        self.link()
        return int(self._prototype(self._cell.value or 0)(*values))


def prepare(what: str, calls: Calls, groups: Sequence[str] | None) -> None:
    """Compile what is about to run, or load it from the cache, before it runs.

    A message on stderr tells how long it takes.  Ctrl-C stops it, and nothing is lost.

    Args:
        what: is about to run, in the message.
        calls: kernels that Python will call, each with its arguments.
        groups: of kernels compiled apart that those need; all that there are if None.
    """
    if config.DISABLE_JIT:
        return
    units = _units_of(groups)
    jobs = _jobs(calls, units)
    compile_jobs(what, jobs)
    for unit in units:
        unit.link()


def prepare_once(
    what: str, function: Any, arguments: Sequence[Any], groups: Sequence[str] = ()
) -> None:
    """`prepare` a kernel that a library function calls, unless this process has it already."""
    if not config.DISABLE_JIT and not function.overloads:
        prepare(what, [(function, arguments)], groups)


def expect(calls: Calls, groups: Sequence[str]) -> None:
    """Name what will be prepared later: a helper process that runs by then has done its part."""
    if not config.DISABLE_JIT:
        compiling.expect(_jobs(calls, _units_of(groups)))


def _units_of(groups: Sequence[str] | None) -> list[_Unit]:
    return [unit for unit in _units.values() if groups is None or unit.group in groups]


def _jobs(calls: Calls, units: Sequence[_Unit]) -> list[Job]:
    """What Python calls first, then units from quick to slow: a helper begins at the end."""
    jobs = [Job(k, tuple(typeof(a) for a in arguments), k.seconds) for k, arguments in calls]
    return jobs + sorted((unit.job for unit in units), key=lambda job: job.seconds)


def compile_for_another() -> None:
    """What a helper process does: say which kernel it begins, and compile it into the cache."""
    jobs = jobs_from_parent()
    help_another()
    for name, arguments in jobs:
        module, _, own = name.rpartition(".")
        home = import_module(module)
        function: Any = _units[name].job.kernel if name in _units else getattr(home, own)
        if not function.is_compiled_for(arguments):
            print(name, flush=True)
            function.compile(arguments)


def _signature(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Numba's types of a function's arguments, by its annotations."""
    hints = get_type_hints(function)
    hints.pop("return")
    known = _TYPES | {kind: handle_type(kind) for kind in handle_kinds()}
    for name, hint in hints.items():
        if hint not in known:
            raise TypeError(
                f"{function.__name__}({name}: {hint}): kernels compiled apart take handles, int, "
                "float, and vectors of float64, int64 or uint8"
            )
    return tuple(known[hint] for hint in hints.values())


def _native(arguments: tuple[Any, ...]) -> list[Any]:
    """What numba's calling convention passes: result, exception, then each argument's parts."""
    pointer, word = ctypes.c_void_p, ctypes.c_ssize_t
    parts: list[Any] = [pointer, pointer]
    for kind in arguments:
        if isinstance(kind, types.Array):  # owner, parent, items, item size, data, shape, strides
            parts += [pointer, pointer, word, word, pointer, word, word]
        elif isinstance(kind, HandleType):
            parts += [word] * len(kind.kind.buffers)
        else:
            parts.append({types.int64: ctypes.c_int64, types.float64: ctypes.c_double}[kind])
    return parts


def _caller(name: str, result: Any, arguments: tuple[Any, ...]) -> Any:
    """What compiled code calls: load the address from the cell, and go there."""

    @intrinsic
    def call(typing_context: Any, *given: Any) -> Any:
        for kind, wanted in zip(given, arguments, strict=True):
            if not _fits(kind, wanted):
                raise TypeError(f"{name} takes {wanted}, not {kind}")
        packed = types.StarArgTuple.from_types(given)

        def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            module = builder.module
            cell = module.globals.get(name) or ir.GlobalVariable(module, ir.IntType(64), name)
            kind = context.call_conv.get_function_type(result, arguments)
            address = builder.inttoptr(builder.load(cell), kind.as_pointer())
            words = [
                _as_wanted(context, builder, builder.extract_value(values[0], i), given[i], wanted)
                for i, wanted in enumerate(arguments)
            ]
            _, value = context.call_conv.call_function(builder, address, result, arguments, words)
            return value

        return result(packed), generate

    return call


def _fits(given: Any, wanted: Any) -> bool:
    """Whether an argument of one type can be given where another is wanted."""
    if isinstance(wanted, types.Array):
        array = isinstance(given, types.Array)
        return array and (given.dtype, given.ndim, given.layout) == (wanted.dtype, 1, "C")
    if isinstance(wanted, HandleType):
        return isinstance(given, HandleType) and {*given.kind.buffers} >= {*wanted.kind.buffers}
    return True


def _as_wanted(context: Any, builder: Any, value: Any, given: Any, wanted: Any) -> Any:
    """LLVM code for an argument of the type that a kernel takes."""
    if isinstance(wanted, types.Array):
        return value
    if isinstance(wanted, HandleType):
        return narrow(context, builder, value, given, wanted)
    return context.cast(builder, value, given, wanted)
