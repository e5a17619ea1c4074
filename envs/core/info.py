"""What `info` says of worlds: plain dicts, as libraries that map over them know no others."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


class InfoRows:
    """Reads what `info` says of worlds; NumPy's ways from a record to numbers take thrice as long.

    Args:
        rows: one record a world, of 64-bit numbers and arrays, shape (count,); each call reads them
            as they are then.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        kind = rows.dtype
        self.names: tuple[str, ...] = kind.names or ()
        parts = {name: kind[name] for name in self.names}
        places = {name: kind.fields[name][1] for name in self.names} if kind.fields else {}
        self._scalars = [name for name, part in parts.items() if part.shape == ()]
        self._arrays = [
            (name, *part.subdtype, places[name])
            for name, part in parts.items()
            if part.subdtype is not None
        ]
        letters = (
            "dq"[part.kind == "i"] if part.shape == () else f"{part.itemsize}x"
            for part in parts.values()
        )
        self._unpack = struct.Struct("=" + "".join(letters)).unpack
        self._memory, self._size = rows.view(np.uint8).data, kind.itemsize

    def of(self, i: int) -> dict[str, Any]:
        """World i's as they are now: Python's numbers, and arrays of the caller's own."""
        record = bytearray(self._memory[i * self._size : (i + 1) * self._size])
        info: dict[str, Any] = dict(zip(self._scalars, self._unpack(record), strict=True))
        for name, kind, shape, place in self._arrays:
            info[name] = np.ndarray(shape, kind, record, place)
        return info


def batched(rows: NDArray[Any], *groups: tuple[Sequence[str], Flags | None]) -> dict[str, Any]:
    """What `info` says of many worlds, in Gymnasium's form: arrays, and masks `_key`.

    Args:
        rows: one record a world, nobody else's, shape (count,).
        groups: names, and of whom they say something, shape (count,); of all worlds if None.
            The first group's mask holds the others'; names of nobody are left out.
    """
    present = groups[0][1]
    if present is not None:
        rows.view(np.uint8).reshape(len(rows), -1)[~present] = 0
    info: dict[str, Any] = {}
    for names, mask in groups:
        if mask is not None and not mask.any():
            continue
        masks = np.empty((len(names), len(rows)), np.bool_)
        masks[:] = True if mask is None else mask
        for name, own in zip(names, masks, strict=True):
            info[name], info["_" + name] = rows[name], own
    return info
