"""Where machine code is kept between runs, so that it is never stale and compiled once a machine.

Numba keys a function's cache by the path and date of its own file: an edit of a callee leaves its
callers' old machine code in place, and a second installation of the same sources compiles again.
Here the cache folder of a module carries a hash of that module and of every module of the package
that it imports, of the versions of numba and Python, and of the processor.  An edit opens new
folders for exactly the modules that can see it, and all installations share what is the same.
Kernels' modules must therefore import package names at module level, as `from dynenvs.x import y`.

Machine code is run as it is found: whoever can write it can do what its user may.  So all of it
lies in one folder of our own, which others must not be able to write, or it is not used; and only
folders that hold our mark are ever removed.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^from (dynenvs[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_KEPT_SECONDS = 30 * 86400  # machine code that no process has used for this long is removed
OWN = "dynenvs-kernels"  # the folder in which all is written and removed
TAG = "CACHEDIR.TAG"  # marks a folder as a cache for backups, too: https://bford.info/cachedir
_MARK = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# Machine code of dynenvs, which removes this folder when nobody has used it for 30 days.\n"
)


def say(text: str) -> None:
    """A line for people, on stderr."""
    print(f"dynenvs: {text}", file=sys.stderr, flush=True)


@cache
def cache_root() -> Path:
    """Where all machine code lies: a folder of our own, where `DYNENVS_CACHE_DIR` says."""
    return Path(os.environ.get("DYNENVS_CACHE_DIR") or platformdirs.user_cache_dir("dynenvs")) / OWN


def is_own(found: os.stat_result) -> bool:
    """Whether none but this user and root can have written a file or folder."""
    if not hasattr(os, "geteuid"):  # Windows: a user's folders are his own
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022


def is_trusted() -> bool:
    """Whether what lies in the cache may be run; says in a line if not."""
    try:
        trusted = is_own(cache_root().stat())
    except OSError:  # there is none yet, or none can be
        return True
    if not trusted:
        _warn()
    return trusted


@cache
def _warn() -> None:
    if multiprocessing.parent_process() is None:
        # Only the first process says it, not each of its workers
        say(
            f"{cache_root()} belongs to another user, or others can write it: what lies there is "
            "not run; DYNENVS_CACHE_DIR names another folder"
        )


@cache
def is_writable() -> bool:
    """Whether machine code that is compiled now can be found by the next start."""
    root = cache_root()
    try:
        mark(root)
        usable = is_trusted() and os.access(root, os.W_OK | os.X_OK)
    except OSError:
        return False
    if usable:
        _remove_unused(root)
    return usable


def mark(folder: Path, mode: int = 0o755) -> None:
    """Make a folder that others cannot write, marked as ours, if it is not there.

    Raises:
        OSError: it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode)
        (folder / TAG).write_bytes(_MARK)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")


def _remove_unused(root: Path) -> None:
    """Remove what no process has used for long, of what we have made; others may do so as well."""
    # Folders that look like ours, are old, and hold our mark
    for folder in root.glob("*-" + "[0-9a-f]" * 16):
        with suppress(OSError):  # another process was faster
            unused = time.time() - folder.stat().st_mtime > _KEPT_SECONDS
            if unused and not folder.is_symlink() and (folder / TAG).read_bytes() == _MARK:
                shutil.rmtree(folder, ignore_errors=True)


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
    import numba

    from dynenvs.jit.private import llvm

    # All that decides machine code besides the sources
    digest = hashlib.sha256(
        repr(
            (compiler, numba.__version__, sys.version, llvm.get_host_cpu_name(), *_settings())
        ).encode()
    )
    # The compiler, and what modules are lowered to, are found by their names, not imported
    compiler_files = {*_PACKAGE.glob("*/*_lowered.py"), *_PACKAGE.glob("jit/*.py")}
    for path in sorted(_imported_files(source) | compiler_files):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + path.read_bytes())
    folder = cache_root() / f"{source.stem}-{digest.hexdigest()[:16]}"
    # Its date says that it is of use
    with suppress(OSError):  # there is none yet, or it is another's
        os.utime(folder)
    return folder


def _settings() -> tuple[Any, ...]:
    """What numba's own settings change of machine code."""
    from numba import config

    return config.CPU_NAME, config.CPU_FEATURES, config.OPT, config.BOUNDSCHECK


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
    # Everything within reach, each file once
    while waiting:
        new = set(_imports(waiting.pop())) - found
        found |= new
        waiting += new
    return found
