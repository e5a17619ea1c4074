"""Where machine code is kept between runs, so that it is never stale and compiled once a machine.

Numba keys a function's cache by the path and date of its own file: an edit of a callee leaves its
callers' old machine code in place, and a second installation of the same sources compiles again.
Here the cache folder of a module carries a hash of that module and of every module of the package
that it imports, of the versions of numba and Python, and of the processor.  An edit opens new
folders for exactly the modules that can see it, and all installations share what is the same.
Kernels' modules must therefore import package names at module level, as `from dynenvs.x import y`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import platformdirs

_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^from (dynenvs[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_KEPT_SECONDS = 30 * 86400  # machine code that no process has used for this long is removed
WORLDS = "worlds"  # what is compiled by one process of a machine, part by part
_LOOK = 0.5  # between looks whether another process has compiled what is needed here [s]


@cache
def cache_root() -> Path:
    """Where all machine code lies; `DYNENVS_CACHE_DIR` overrides it.  Old folders are removed."""
    root = Path(os.environ.get("DYNENVS_CACHE_DIR") or platformdirs.user_cache_dir("dynenvs"))
    if root.is_dir():
        for folder in root.glob("*-" + "[0-9a-f]" * 16):
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
    return root


@cache
def is_writable() -> bool:
    """Whether machine code that is compiled now can be found by the next start."""
    try:
        cache_root().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_root(), os.W_OK | os.X_OK)


def source_of(function: Callable[..., Any]) -> Path:
    """The function's file under the package's own folder (`envs` and `agents` are links there)."""
    path = _PACKAGE.joinpath(*function.__module__.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def folder_of(function: Callable[..., Any], compiler: str) -> Path:
    """Folder of the machine code that `compiler` makes of a function and the rest of its module."""
    return _folder_of(source_of(function), compiler)


@cache
def _folder_of(source: Path, compiler: str) -> Path:
    """Folder of the machine code of one module; its date says when it was last of use."""
    digest = hashlib.sha256(
        repr((compiler, numba.__version__, sys.version, llvm.get_host_cpu_name())).encode()
    )
    for path in sorted(_imported_files(source)):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    folder = cache_root() / f"{source.stem}-{digest.hexdigest()[:16]}"
    with suppress(OSError):  # there is none yet, or it is another's
        os.utime(folder)
    return folder


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Files of the package that the file at `path` imports itself."""
    found = []
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
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


# Nothing is compiled by two processes at a time

_helps: list[bool] = []  # not empty in a process that helps another one, which holds the lock


def help_another() -> None:
    """From now on this process compiles on behalf of one that holds the lock."""
    _helps.append(True)


@contextmanager
def turn_to_compile(what: str, is_done: Callable[[], bool]) -> Iterator[bool]:
    """Wait until no other process compiles this; True if there is still something to do.

    A process that ends, however it ends, gives its turn away.  Within a turn a thread may take
    another one.

    Args:
        what: a kernel's module and name, or `WORLDS` for all that a robot needs.
        is_done: whether others have meanwhile put on disk all that is needed.
    """
    lock = None if _helps or not is_writable() else _lock(what)
    held = False
    while lock is not None and not held and not is_done():
        taken = _acquire(lock)
        lock, held = (None, False) if taken is None else (lock, taken)
    try:
        yield not is_done()
    finally:
        if held and lock is not None:
            lock.release()


def compiles_elsewhere(what: str) -> bool:
    """Whether another process, or thread, has its turn at present."""
    if _helps or not is_writable():
        return False
    lock = _lock(what)
    taken = _acquire(lock, 0.0)
    if taken:
        lock.release()
    return taken is False


def _acquire(lock: Any, timeout: float = _LOOK) -> bool | None:
    """Whether the lock was taken; None where the file system knows no locks."""
    from filelock import Timeout

    try:
        lock.acquire(timeout=timeout, poll_interval=_LOOK / 2)
    except Timeout:
        return False
    except (NotImplementedError, OSError):
        return None
    return True


@cache
def _lock(what: str) -> Any:
    from filelock import FileLock  # 30 ms, and seldom needed

    folder = cache_root() / "locks"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / f"{what}.lock")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock.cache_clear)
