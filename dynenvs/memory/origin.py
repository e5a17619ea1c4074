"""Who made what comes from outside: the version, and a checksum of how memory is laid out.

Pickles of models, worlds and environments, files of starts and datasets hold bytes that kernels
read by the declarations of one version.  Another version may have moved every one of them, so each
carries its origin, and what is not of this one is refused before a byte of it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dynenvs.jit.handles import Handle
from dynenvs.memory.layout import (
    BroadView,
    FilmView,
    LoopView,
    ModelView,
    StateView,
    WatchView,
    WorkView,
)
from dynenvs.memory.records import HEADER
from dynenvs.memory.sparse_view import SparseView
from dynenvs.version import __version__

KINDS: tuple[type[Handle], ...] = (
    ModelView,
    StateView,
    WorkView,
    BroadView,
    LoopView,
    FilmView,
    SparseView,
    WatchView,
)
KEY = "made by"  # of an origin in what is pickled


class Origin(NamedTuple):
    """What made something: `version` of dynenvs, and the checksum of its layout."""

    version: str
    layout: str

    def text(self) -> str:
        """As JSON, for files."""
        return json.dumps(self._asdict())


@cache
def this() -> Origin:
    """What is running."""
    return Origin(__version__, layout_digest(KINDS, HEADER))


def layout_digest(kinds: Iterable[type[Handle]], header: np.dtype[Any]) -> str:
    """A checksum of declarations: each array's name, buffer, type, shape and condition.

    Args:
        kinds: classes of handles.
        header: the type of the header, which counts their arrays.
    """
    # All that moves a byte: names, order, shapes and conditions
    lines = [_spelled(header)]
    for kind in kinds:
        for entry in kind.arrays():
            words = (entry.name, entry.buffer, entry.shape, entry.when, _spelled(entry.kind))
            lines.append(f"{kind.__name__}: {words}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _spelled(kind: np.dtype[Any]) -> str:
    """A type with the names, places and types of its fields."""
    if kind.subdtype is not None:
        base, shape = kind.subdtype
        return f"{_spelled(base)}{shape}"
    if not kind.fields:
        return kind.str
    parts = [f"{name}@{field[1]}:{_spelled(field[0])}" for name, field in kind.fields.items()]
    return f"{{{', '.join(parts)}; {kind.itemsize}}}"


def check_origin(found: Any, what: str, *, any_version: bool = False) -> None:
    """Refuse what another version made, or another layout.

    Args:
        found: the origin that it tells: an `Origin`, its text, or None where it tells none.
        what: it, for the message.
        any_version: take what other versions made, if their layout is this one's.

    Raises:
        ValueError: another origin; the line says which, and what runs here.
    """
    here, maker = this(), _read(found)
    if maker == here or (any_version and maker is not None and maker.layout == here.layout):
        return
    if maker is None:
        by = "by a version of dynenvs that does not tell its layout"
    elif maker.layout == here.layout:
        by = f"by dynenvs {maker.version[:40]}"
    else:
        by = f"by dynenvs {maker.version[:40]} with another layout"
    raise ValueError(f"{what}: made {by}; this is dynenvs {here.version}: make it anew with it")


def _read(found: Any) -> Origin | None:
    """The origin that something tells, if it is one."""
    if isinstance(found, str):
        try:
            record = json.loads(found)
            found = (record["version"], record["layout"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
    whole = isinstance(found, tuple | list) and len(found) == 2
    return Origin(*found) if whole and all(isinstance(part, str) for part in found) else None


def marked(state: dict[str, Any]) -> dict[str, Any]:
    """What is to be pickled, with its origin."""
    return {**state, KEY: tuple(this())}


def unmarked(state: Any, what: str) -> dict[str, Any]:
    """What `marked` was given.

    Raises:
        ValueError: of another origin.
    """
    kept = dict(state) if isinstance(state, dict) else {}
    check_origin(kept.pop(KEY, None), what)
    return kept
