"""Records of experts, declared as classes: what a kernel's argument has is seen in its annotation.

A class lists a record's fields with their types and comments; its dtype follows.  In kernels an
argument of that type is such a record, of numpy in Python and of numba in compiled code.
"""

from __future__ import annotations

from typing import Any, get_type_hints

import numpy as np

from dynenvs.memory.layout import Floats, Ints
from dynenvs.memory.records import record_type

_KINDS: dict[Any, str] = {float: "f8", int: "i8", Floats: "f8", Ints: "i8"}


def dtype_of(kind: type) -> np.dtype[Any]:
    """The record of a class: fields are `float`, `int`, or arrays, `Annotated[Floats, 3]`."""
    fields: list[Any] = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        shape = getattr(hint, "__metadata__", ())
        letter = _KINDS[hint.__origin__ if shape else hint]
        fields.append((name, letter, shape) if shape else (name, letter))
    return record_type(fields)
