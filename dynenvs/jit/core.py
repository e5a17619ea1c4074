"""Where machine code comes from in this process.

* the library: all kernels of the package, compiled when it was built (`library.py`),
* the compiler: numba, when a kernel is first needed (`compiler.py`),
* nowhere: Python runs kernels as they are written (`NUMBA_DISABLE_JIT=1`, for debuggers).
"""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache

from dynenvs.jit import library
from dynenvs.jit.cache import say

LIBRARY, COMPILER, PYTHON = "library", "jit", "python"


@cache
def core() -> str:
    """LIBRARY, COMPILER or PYTHON; `DYNENVS_CORE` chooses between the first two.

    Raises:
        ValueError: `DYNENVS_CORE` is something else.
        ImportError: the library cannot be used, and there is no numba.
    """
    chosen = os.environ.get("DYNENVS_CORE", "")
    if chosen not in ("", LIBRARY, COMPILER):
        raise ValueError(f"DYNENVS_CORE is {chosen!r}: it may be 'library', 'jit', or not be set")
    if runs_as_python():
        return PYTHON
    if chosen == COMPILER:
        return _compiler("DYNENVS_CORE=jit asks for the compiler")
    fault = library.fault()
    if not fault:
        return LIBRARY
    if chosen == LIBRARY:
        raise ImportError(f"DYNENVS_CORE=library: {fault}")
    if library.place().exists():
        say(f"{fault}: kernels are compiled when they are needed")
    return _compiler(fault)


def runs_as_python() -> bool:
    """Whether numba's own switch says that nothing is to be compiled."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _compiler(why: str) -> str:
    if "numba" in sys.modules:
        missing = sys.modules["numba"] is None
    else:
        missing = importlib.util.find_spec("numba") is None
    if missing:
        raise ImportError(f'{why}, and numba is not installed: pip install "dynenvs[jit]"')
    return COMPILER
