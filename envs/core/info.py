"""What `info` says: a dict of one world, and of a batch one that is made when it is first read.

Most training loops never look at a batch's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


_UNREAD: Any = object()  # the one key until then: what looks past the methods finds no empty dict


class Info(dict[str, Any]):
    """A dict whose entries may come later: when one of them, or their number, is asked for.

    What is set beside them stays: `info["episode"] = ...` reads nothing.  Copies and pickles are
    plain dicts.
    """

    __slots__ = ("_read",)
    _read: Callable[[], dict[str, Any]] | None

    def __init__(self, *entries: Any, **named: Any) -> None:
        self._read = None
        super().__init__(*entries, **named)

    @classmethod
    def later(cls, read: Callable[[], dict[str, Any]]) -> Info:
        """One whose entries `read` gives; it is called once at most, at any later time."""
        info = cls.__new__(cls)
        dict.__setitem__(info, _UNREAD, None)
        info._read = read
        return info

    def _fill(self) -> None:
        read, self._read = self._read, None
        if read is not None:
            beside = dict(dict.items(self))
            del beside[_UNREAD]
            dict.clear(self)
            dict.update(self, read())
            dict.update(self, beside)

    def __eq__(self, other: object) -> bool:
        self._fill()
        if isinstance(other, Info):
            other._fill()
        return dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _filled(method: Any) -> Any:
    @wraps(method)
    def filled(self: Info, *given: Any, **named: Any) -> Any:
        self._fill()
        return method(self, *given, **named)

    return filled


for _name in (
    *("__getitem__", "__delitem__", "__iter__", "__reversed__", "__len__", "__contains__"),
    *("__repr__", "__or__", "__ror__", "get", "keys", "values", "items", "copy", "setdefault"),
    *("pop", "popitem", "clear"),
):
    setattr(Info, _name, _filled(getattr(dict, _name)))


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
        """World i's as they are now: Python's numbers, and arrays of the caller's own.

        A plain dict: to the trees of jax, by which Minari records, one of another class is a leaf.
        """
        record = self._memory[i * self._size : (i + 1) * self._size].tobytes()
        info: dict[str, Any] = dict(zip(self._scalars, self._unpack(record), strict=True))
        for name, kind, shape, place in self._arrays:
            info[name] = np.ndarray(shape, kind, record, place).copy()
        return info


def batched(rows: NDArray[Any], *groups: tuple[Sequence[str], Flags | None]) -> Info:
    """What `info` says of many worlds, in Gymnasium's form: arrays, and masks `_key`.

    Args:
        rows: one record a world, nobody else's, shape (count,).
        groups: names, and of whom they say something, shape (count,); of all worlds if None.
            The first group's mask holds the others'; names of nobody are left out.
    """
    own = [(names, None if mask is None else mask.copy()) for names, mask in groups]
    return Info.later(partial(_read_batch, rows, own))


def _read_batch(
    rows: NDArray[Any], groups: list[tuple[Sequence[str], Flags | None]]
) -> dict[str, Any]:
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
