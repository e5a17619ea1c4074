"""Numba's cache of machine code, moved to our folders; it asks for each function by its types.

It builds on classes that numba keeps to itself, and serves `pipeline.Kernel` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from dynenvs.jit.cache import cache_root, folder_of


class KernelCache(FunctionCache):
    """Numba's cache of one function's machine code, in the folder of its module's sources.

    What cannot be read is compiled again; what cannot be written is said once, and stays in memory.
    """

    class _Files(CompileResultCacheImpl):
        _locator_classes: list[Any] = []  # noqa: RUF012 (filled below)

    _impl_class = _Files

    def has(self, signature: Any, target: Any) -> bool:
        """Whether machine code for these argument types is on disk."""
        try:
            key = self._index_key(signature, target.codegen())
            name = self._cache_file._load_index().get(key)
            return name is not None and Path(self.cache_path, name).is_file()
        except Exception:  # whatever a spoilt file may raise: it is as good as none
            return False

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function, or None if it must be compiled."""
        if not self.has(signature, target):
            return None
        try:
            return super().load_overload(signature, target)
        except Exception:  # a spoilt file
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled function for the next start, if that is possible."""
        try:
            self._discard_if_spoilt()
            super().save_overload(signature, compiled)
        except OSError as error:
            _complain(error.strerror or str(error))

    def _discard_if_spoilt(self) -> None:
        try:
            self._cache_file._load_index()
        except Exception:
            Path(self._cache_file._index_path).unlink(missing_ok=True)


class _BySources(_CacheLocator):
    """Says where a function's files are: in the folder whose name tells all that matters."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._line = function.__code__.co_firstlineno
        self._folder = folder_of(function, "pipeline")

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name says it

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> _BySources:
        return cls(function, file)


KernelCache._Files._locator_classes = [_BySources]


@cache
def _complain(reason: str) -> None:
    print(
        f"dynenvs: cannot keep machine code in {cache_root()} ({reason}): it stays in memory, and "
        "the next start compiles again; DYNENVS_CACHE_DIR names another folder",
        file=sys.stderr,
    )
