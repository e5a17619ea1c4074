"""The compiled core: one shared library of all kernels, made when the package is built.

`build.py` makes it of the same Python sources.  It needs neither numba nor Python, holds its own
mathematical functions, and carries a table of what is in it: which sources it was made of, for
which processors, and the address of each kernel.  A library that does not belong to the sources
beside it is not used.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import platform
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[1]
SUFFIXES = {"Darwin": "dylib", "Windows": "dll"}
BUILD = "dynenvs compile"  # what makes it


def place() -> Path:
    """Where it lies, if there is one."""
    return _PACKAGE / "lib" / f"dynenvs.{SUFFIXES.get(platform.system(), 'so')}"


@cache
def fault() -> str:
    """Why it cannot be used, in a line; empty if it can."""
    if not place().is_file():
        return f"there is no compiled core at {place()} ({BUILD} makes one)"
    try:
        # A file that has lost its end would crash whoever loads it
        if digest_of(place()) != place().with_suffix(".sha256").read_text().strip():
            return f"{place()} is damaged ({BUILD} makes it anew)"
        # Made for this processor, and of these sources
        library = ctypes.CDLL(str(place()))
        if not library.dynenvs_runs_here():
            return f"{place()} is for processors with {_text(library, 'dynenvs_processor')}"
        made_of = _text(library, "dynenvs_sources")
    except (OSError, AttributeError) as error:
        return f"{place()} cannot be loaded ({error})"
    if made_of != digest_of_sources():
        return f"{place()} was made of other sources ({BUILD} makes it of these)"
    return ""


@cache
def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(str(place()))


@cache
def table() -> dict[str, str]:
    """The symbol of each kernel that is in it, by module and name."""
    found: dict[str, str] = json.loads(_text(_loaded(), "dynenvs_kernels"))
    return found


def address_of(name: str) -> int:
    """Where the machine code of a kernel begins; 0 if it is not in the library."""
    symbol = table().get(name)
    # The user's own kernels are not in it
    if symbol is None:
        return 0
    function: Any = getattr(_loaded(), symbol)
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def digest_of(path: Path) -> str:
    """A hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def digest_of_sources() -> str:
    """A hash of every source file of which the library is made."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def sources() -> list[Path]:
    """All files of the package of which code is made, in order."""
    found = [*_PACKAGE.glob("*.py")]
    for folder in _PACKAGE.iterdir():
        real = folder.resolve()  # `envs` and `agents` are links in a checkout
        for pattern in ("*.py", "*.c"):
            found += [folder / path.relative_to(real) for path in real.rglob(pattern)]
    return sorted(found)


def _text(library: ctypes.CDLL, symbol: str) -> str:
    """A text that the library holds."""
    function = library[symbol]
    function.restype = ctypes.c_char_p
    text: bytes = function()
    return text.decode()
