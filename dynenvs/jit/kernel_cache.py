"""Numba's cache of machine code, moved to our folders; it asks for each function by its types.

It builds on classes that numba keeps to itself, and serves `pipeline.Kernel` alone.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dynenvs.files import written_whole
from dynenvs.jit.cache import cache_root, folder_of, is_own, mark, say
from dynenvs.jit.private import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    _CacheLocator,
)

_DIGEST = hashlib.sha256
_LENGTH = _DIGEST().digest_size  # [bytes]
_MOST = 1 << 30  # of a file [bytes]; the largest kernels have some millions
_complaints: list[OSError] = []


class SpoiltError(Exception):
    """A file is not what was written: nothing of it may be run."""


class KernelCache(FunctionCache):
    """Numba's cache of one function's machine code, in the folder of its module's sources.

    What is not as it was written is compiled again; what cannot be written is said once, and stays
    in memory.
    """

    class _Place(CompileResultCacheImpl):
        _locator_classes: list[Any] = []  # noqa: RUF012 (filled below)

    _impl_class = _Place

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, source_stamp="")

    def has(self, signature: Any, target: Any) -> bool:
        """Whether machine code for these argument types is on disk."""
        # A spoilt index is as good as none
        try:
            key = self._index_key(signature, target.codegen())
            name = self._cache_file._load_index().get(key)
            return name is not None and Path(self.cache_path, name).is_file()
        except SpoiltError as error:
            _say_once(str(error))
            return False
        except Exception:  # whatever a spoilt file may raise: it is as good as none
            return False

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function, or None if it must be compiled."""
        if not self.has(signature, target):
            return None
        try:
            return super().load_overload(signature, target)
        except SpoiltError as error:
            _say_once(str(error))
            return None
        except Exception:  # of another kind of numba, say
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled function for the next start, if that is possible."""
        try:
            self._discard_if_spoilt()
            super().save_overload(signature, compiled)
        except OSError as error:
            _complain(error)

    def _discard_if_spoilt(self) -> None:
        try:
            self._cache_file._load_index()
        except Exception:
            Path(self._cache_file._index_path).unlink(missing_ok=True)


class _Files(IndexDataCacheFile):
    """A function's files: which machine code there is for which types, and the machine code.

    Numba unpickles both and runs the latter; so each begins with its digest, and is left alone if
    that is wrong or another user can have written it.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            index: dict[Any, str] = _load(self._index_path)
        except FileNotFoundError:
            return {}
        return index

    def _save_index(self, overloads: dict[Any, str]) -> None:
        _save(self._index_path, self._dump(overloads))

    def _load_data(self, name: str) -> Any:
        return _load(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        _save(self._data_path(name), self._dump(data))


def _load(path: str) -> Any:
    """What `_save` has written.

    Raises:
        OSError: it cannot be read.
        SpoiltError: it is something else by now, or somebody else's.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        found = os.fstat(file.fileno())
        if not is_own(found):
            raise SpoiltError(f"{path} belongs to another user, or others can write it: not used")
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST:
            raise SpoiltError(f"{path} is no file of machine code: compiling again")
        content = memoryview(file.read())
    # Nothing is unpickled before its digest is right
    if _digest(path, content[_LENGTH:]) != content[:_LENGTH]:
        raise SpoiltError(f"{path} has been damaged: compiling again")
    return pickle.loads(content[_LENGTH:])


def _save(path: str, content: bytes) -> None:
    with written_whole(Path(path)) as draft:
        draft.write_bytes(_digest(path, content) + content)
        draft.chmod(0o644)  # whatever the umask: what others can write is not run (`is_own`)


def _open_at_once(path: str, flags: int) -> int:
    """Without waiting for whoever might write into a pipe of that name."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(path: str, content: bytes | memoryview) -> bytes:
    """Of the content and of the file's name: under another one it is as good as damaged."""
    digest = _DIGEST(Path(path).name.encode() + b"\0")
    digest.update(content)
    return digest.digest()


class _BySources(_CacheLocator):
    """Says where a function's files are: in the folder whose name tells all that matters."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder_of(function, "pipeline")

    def ensure_cache_path(self) -> None:
        mark(self._folder)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name says it

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _BySources:
        return cls(function, file)


KernelCache._Place._locator_classes = [_BySources]


@cache
def _say_once(text: str) -> None:
    say(text)


def _complain(error: OSError) -> None:
    """Say it of the first file, for all of them."""
    if not _complaints:
        say(
            f"cannot keep machine code in {cache_root()} ({error}): it stays in memory, and the "
            "next start compiles again; DYNENVS_CACHE_DIR names another folder"
        )
    _complaints.append(error)
