"""The baseline: kernels compiled by `numba.njit`, with options and settings that numba documents.

`pipeline.py` halves the time of a first start, by means that numba keeps to itself.  Where it does
not know the version of numba, and where `DYNENVS_COMPILER=plain` asks for it, kernels are compiled
here: the same numbers come out, later.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba import config

from dynenvs.jit.cache import folder_of, is_writable, mark
from dynenvs.jit.private import KNOWN

OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}


@cache
def is_plain() -> bool:
    """Whether numba compiles in its own way in this process."""
    choice = os.environ.get("DYNENVS_COMPILER", "")
    if choice not in ("", "plain"):
        raise ValueError(f"DYNENVS_COMPILER is {choice!r}: it may be 'plain', or not be set")
    return choice == "plain" or not is_known()


def is_known() -> bool:
    """Whether the accelerator is made for the version of numba that is installed."""
    return tuple(int(part) for part in numba.__version__.split(".")[:2]) == KNOWN


def plain_kernel(function: Callable[..., Any]) -> Any:
    """`numba.njit`, with its cache in the folder of the function's module and all its imports."""
    ours = function.__module__.startswith("dynenvs.")
    folder = _private_folder(function) if ours and is_writable() else None
    if folder is None:
        made = numba.njit(**OPTIONS)(function)
        made.is_compiled_for = partial(_is_compiled_for, made, None)
        return made
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)  # NUMBA_CACHE_DIR: numba reads it when it makes the function
    try:
        made = numba.njit(cache=True, **OPTIONS)(function)
    finally:
        config.CACHE_DIR = before
    made.is_compiled_for = partial(_is_compiled_for, made, folder)
    return made


def _private_folder(function: Callable[..., Any]) -> Path | None:
    """Where numba keeps its machine code, in files that a group might write; None if nowhere."""
    folder = folder_of(function, "plain")
    try:
        mark(folder, 0o700)
    except OSError:
        return None
    return folder


def _is_compiled_for(made: Any, folder: Path | None, arguments: tuple[Any, ...]) -> bool:
    """Whether it is compiled, or looks so on disk: numba compiles again what it cannot use there.

    Its files do not say for which types they are; nearly every kernel is compiled for one set.
    """
    if arguments in made.overloads:
        return True
    function = made.py_func
    name = f"*.{function.__qualname__}-{function.__code__.co_firstlineno}.*.nbc"
    return folder is not None and any(folder.rglob(name))
