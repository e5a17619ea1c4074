"""What functions of this package leave out of machine code: a seventh of a step's instructions.

* Counts of references to arrays.  They allocate nothing: arrays are views of a world's memory.
  Those that return arrays count, as their callers may have allocated what they hand over.
* Negative indices.  Numba adds an array's length to an index below zero, and has to look at every
  one.  Here a number that is written out, as in `a[-1]`, counts from the end, and one that is
  computed must not be negative.  NUMBA_BOUNDSCHECK=1 tells where it is (`tests/checked_scenes.py`).

Functions of other packages keep both.
"""

from __future__ import annotations

from typing import Any

from numba import types

from dynenvs.jit.private import arrayobj, ir


def trust(state: Any) -> None:
    """Leave both out of the function that is about to be lowered, if it is one of ours."""
    if not state.func_id.modname.startswith("dynenvs."):
        return
    state.targetctx.indexes_from_the_front = True
    if not _holds_array(state.return_type):
        state.targetctx.enable_nrt = False


def _holds_array(kind: Any) -> bool:
    parts = getattr(kind, "types", ())  # of a tuple
    return isinstance(kind, types.Array) or any(_holds_array(part) for part in parts)


_counting_from_the_end = arrayobj.fix_integer_index


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """The place of an entry, from the index that a function gives."""
    trusted = getattr(context, "indexes_from_the_front", False)
    if not trusted or isinstance(index, ir.Constant):
        return _counting_from_the_end(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


arrayobj.fix_integer_index = _index
