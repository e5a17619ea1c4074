"""The decorators that compile: ``@kernel`` is ``numba.njit`` with a cache that is never stale.

Numba keys a function's cache by its own file alone, so editing a callee leaves its callers' old
machine code in place.  Here the cache folder of a module carries a hash of that module and of
every module of the package that it imports, of the numba version and of the processor: an edit
opens new folders for exactly the modules that can see it.  Kernels' modules must therefore import
package names at module level, as ``from dynenvs.x import y``.

Rules for kernels: packed arguments, no allocation in the step, status codes instead of raising,
no fastmath, no BLAS and no array expressions (so the same bits come out everywhere).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import llvmlite.binding as llvm
import numba
import platformdirs
from llvmlite import ir
from numba import types
from numba.core import config, sigutils
from numba.extending import intrinsic

from dynenvs.ahead import Worker, end_with_parent, start_worker
from dynenvs.pipeline import Kernel

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(r"^from (dynenvs[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_KEPT_SECONDS = 30 * 86400  # machine code that no process has used for this long is removed


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Files of the package that the file at `path` imports itself."""
    found = []
    for module, names in _IMPORT.findall(path.read_text()):
        base = _PACKAGE.joinpath(*module.split(".")[1:])
        inner = [base / f"{name}.py" for name in re.findall(r"\w+", names)]
        found += [base.with_suffix(".py"), base / "__init__.py", *inner]
    return tuple(f for f in found if f.is_file() and f != _PACKAGE / "__init__.py")


def _imported_files(path: Path) -> set[Path]:
    """The file at `path` and every file of the package that it imports, directly or not."""
    found, waiting = {path}, [path]
    while waiting:
        new = set(_imports(waiting.pop())) - found
        found |= new
        waiting += new
    return found


@cache
def _cache_folder(source: Path) -> Path | None:
    """Folder of the machine code of one module, or None where nothing can be written."""
    digest = hashlib.sha256(
        repr((numba.__version__, sys.version, llvm.get_host_cpu_name())).encode()
    )
    for path in sorted(_imported_files(source)):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    folder = _cache_root() / f"{source.stem}-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:  # no writable home: numba then compiles in memory
        return None
    return folder


@cache
def _cache_root() -> Path:
    """Where all machine code lies; `DYNENVS_CACHE_DIR` overrides it.  Old folders are removed."""
    root = Path(os.environ.get("DYNENVS_CACHE_DIR") or platformdirs.user_cache_dir("dynenvs"))
    if root.is_dir():
        for folder in root.glob("*-" + "[0-9a-f]" * 16):
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
    return root


def _source_of(function: Callable[..., Any]) -> Path:
    """The function's file under the package's own folder (`envs` and `agents` are links there)."""
    parts = function.__module__.split(".")[1:]
    path = _PACKAGE.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _compile(function: F, **options: Any) -> F:
    if config.DISABLE_JIT:
        return function
    module = function.__module__
    folder = _cache_folder(_source_of(function)) if module.startswith("dynenvs.") else None
    compiled: Any = Kernel(
        function, options={"nopython": True, "error_model": "numpy", "nogil": True, **options}
    )
    if folder is not None:
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            compiled.enable_caching()
        finally:
            config.CACHE_DIR = previous
    return cast(F, compiled)


def kernel(function: F) -> F:
    """Compile `function` for one thread; the interpreter lock is released while it runs."""
    return _compile(function)


def inlined(function: F) -> F:
    """Compile a small helper into its callers: no call, no copying of the views it is given."""
    return _compile(function, forceinline=True)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a kernel's machine code is at hand, in memory or on disk: calling it is quick."""
    if not hasattr(function, "py_func") or getattr(function, "signatures", None):
        return True  # plain Python, or called before
    folder = _cache_folder(_source_of(function.py_func))
    return folder is not None and any(folder.rglob(f"*.{function.__name__}-*.nbi"))


_announced: set[str] = set()  # what this process has said
_units: dict[str, Any] = {}  # kernels compiled apart: their compilation, by name
_ahead: list[str] = []  # names of those that every robot needs sooner or later, callees first
_workers: list[Worker] = []  # that this process has started: one at most
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.clear)  # it is the parent's


def announce(function: Callable[..., Any]) -> None:
    """Say on stderr, once a process, that the first call of a kernel is about to compile it.

    A second process then compiles ahead what steps will need.
    """
    if not is_compiled(function) and not _announced:
        _announced.add(function.__name__)
        print("dynenvs: compiling the dynamics (about a minute, once)", file=sys.stderr)
        missing = [name for name in reversed(_ahead) if not is_compiled(_units[name].function)]
        kept = _cache_folder(_source_of(function.py_func)) is not None
        worker = start_worker(missing) if kept else None
        _workers.extend([worker] if worker else [])


def compile_units(names: Sequence[str]) -> None:
    """What a worker does: say which kernel it begins, and compile it into the cache."""
    end_with_parent()
    for name in names:
        import_module(name.rpartition(".")[0])
        unit = _units[name]
        if not is_compiled(unit.function):
            print(name, flush=True)
            unit.function.compile(unit.arguments)


def merged(function: F) -> F:
    """Write a helper into its only caller before types are inferred: it is compiled there alone.

    For helpers with one way out (no `return` but at the end, or none).
    """
    return _compile(function, inline="always")


class _Unit(NamedTuple):
    """A kernel compiled apart, and the types of its arguments."""

    function: Any
    arguments: tuple[Any, ...]


def apart(signature: str, *, ahead: bool = False) -> Callable[[Any], Any]:
    """Compile a kernel apart from its callers, by its first call; they reach it by its address.

    A kernel that others call is optimised again within each of them, and in their callers.  Large
    ones, and those that are rarely needed, stand behind an address instead: a cell in this process
    holds it, under a name that compiled code knows; at first it is that of a stub which compiles
    the kernel (or loads it from the cache).  No address is cached or pickled: each process has its
    own cells, and a fork inherits valid ones.

    signature: as numba writes it; int64 is returned, arguments are int64, float64 and
        one-dimensional contiguous arrays.  -1 comes back if the kernel could not be compiled, as
        when compiling is interrupted: callers take what they know for an answer, and no more.
    ahead: whether every robot needs it sooner or later: a second process may compile it while this
        one is busy with its callers.
    """

    def decorate(function: F) -> Any:
        compiled: Any = _compile(function)
        if config.DISABLE_JIT:
            return function
        arguments, result = sigutils.normalize_signature(signature)
        name = f"{function.__module__}.{function.__name__}"
        _units[name] = _Unit(compiled, arguments)
        _ahead.extend([name] if ahead else [])
        cell = ctypes.c_void_p()
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *_native(arguments))

        def first_call(*values: Any) -> int:
            returned = ctypes.c_int64.from_address(values[0])
            returned.value = -1
            announce(compiled)
            for worker in _workers:
                worker.wait_for(name)
            compiled.compile(arguments)
            made = compiled.overloads[arguments]
            symbol = made.fndesc.llvm_func_name
            cell.value = made.library.get_pointer_to_function(symbol)
            return int(prototype(cell.value)(*values))

        stub = prototype(first_call)
        cell.value = ctypes.cast(stub, ctypes.c_void_p).value
        llvm.add_symbol(name, ctypes.addressof(cell))
        _kept.append((cell, stub))
        return _caller(name, result, arguments)

    return decorate


_kept: list[Any] = []  # cells and stubs live as long as the process


def _native(arguments: tuple[Any, ...]) -> list[Any]:
    """What numba's calling convention passes: result, exception, then each argument's parts."""
    pointer, word = ctypes.c_void_p, ctypes.c_ssize_t
    parts: list[Any] = [pointer, pointer]
    for kind in arguments:
        if isinstance(kind, types.Array):  # owner, parent, items, item size, data, shape, strides
            parts += [pointer, pointer, word, word, pointer, word, word]
        else:
            parts.append({types.int64: ctypes.c_int64, types.float64: ctypes.c_double}[kind])
    return parts


def _caller(name: str, result: Any, arguments: tuple[Any, ...]) -> Any:
    """What compiled code calls: load the address from the cell, and go there."""

    @intrinsic
    def call(typing_context: Any, *given: Any) -> Any:
        for kind, wanted in zip(given, arguments, strict=True):
            if isinstance(wanted, types.Array) and (
                not isinstance(kind, types.Array)
                or (kind.dtype, kind.ndim, kind.layout) != (wanted.dtype, 1, "C")
            ):
                raise TypeError(f"{name} takes {wanted}, not {kind}")
        packed = types.StarArgTuple.from_types(given)

        def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            module = builder.module
            cell = module.globals.get(name) or ir.GlobalVariable(module, ir.IntType(64), name)
            kind = context.call_conv.get_function_type(result, arguments)
            address = builder.inttoptr(builder.load(cell), kind.as_pointer())
            words = [
                context.cast(builder, builder.extract_value(values[0], i), given[i], wanted)
                if not isinstance(wanted, types.Array)
                else builder.extract_value(values[0], i)
                for i, wanted in enumerate(arguments)
            ]
            _, value = context.call_conv.call_function(builder, address, result, arguments, words)
            return value

        return result(packed), generate

    return call
