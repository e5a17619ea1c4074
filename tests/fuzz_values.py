"""What the fuzzer draws from: numbers usual and absurd, texts, and changes of nested data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

Strategy = st.SearchStrategy[Any]

ABSURD: list[Any] = [
    0.0, -0.0, -1.0, 1e-320, 1e-300, 1e-100, 1e-18, 1e-9, 1e-5, 50.0, 1e3, 1e6, 1e9, 1e12, 1e15,
    1e16, 1e18, 1e19, 1e100, 1e155, 1e300, -1e12, -1e18, -1e300, math.nan, math.inf, -math.inf,
    0, 1, -1, 2**31, 2**32, 2**62, 2**63, 10**18, 10**30, -(10**30), 10**400, True, None, "", "a",
    "world", [], [1.0], [1.0, 2.0], {}, 1j, b"x",
]  # fmt: skip
FINITE = [x for x in ABSURD if type(x) in (int, float) and abs(x) < math.inf]
INTEGERS = [0, 1, -1, 2, 3, 7, 64, 255, 10**4, 10**6, 10**9, 2**31, 2**32 + 1, 2**62, 2**63 - 1,
            -5, -(2**31), -(2**63)]  # fmt: skip
FLOATS = [x for x in ABSURD if isinstance(x, float)]

absurd = st.sampled_from(ABSURD)


def rarely(usual: Strategy, odd: Strategy = absurd, one_in: int = 16) -> Strategy:
    """Of `usual`, now and then of `odd`."""
    return st.integers(1, one_in).flatmap(lambda k: odd if k == 1 else usual)


def size(low: float = 0.02, high: float = 0.5) -> Strategy:
    """A number of the size that scenes have."""
    return rarely(st.floats(low, high))


def vector(low: float = -0.5, high: float = 0.5, count: int = 3) -> Strategy:
    """`count` such numbers, one of which may be absurd, or something else altogether."""
    return rarely(st.lists(rarely(st.floats(low, high), one_in=40), min_size=count, max_size=count))


def some_of(**options: Strategy) -> Strategy:
    """A dictionary with some of the options."""
    return st.fixed_dictionaries({}, optional=options)


# Changes of nested data, as JSON has it: a place by numbers, and what stands there afterwards

change = st.tuples(
    st.one_of(
        *[st.lists(st.integers(0, 10**6), min_size=9, max_size=9)] * 5,
        st.lists(st.integers(0, 10**6), min_size=3, max_size=8),
    ),
    st.sampled_from([*["set"] * 8, "drop", "double", "nest"]),
    st.one_of(*[st.sampled_from(FINITE)] * 5, absurd, st.floats(), st.text(max_size=8)),
)
changes = st.lists(change, max_size=3)


NAMES = ["a", "b", "c", "world", "a1", "b1", "hinge", "qpos0", "free", "fixed", "box", "convex"]


def changed(value: Any, change: Any) -> Any:
    """The value with one change made in it: mostly a number for a number, a name for a name."""
    path, how, new = change
    parent, key, at = None, None, value
    for number in path:
        keys = list(at) if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()
        if not keys:
            break
        parent, key = at, keys[number % len(keys)]
        at = parent[key]
    if parent is None:
        return new if how == "set" else value
    if how == "drop":
        del parent[key]
    elif how == "double" and isinstance(parent, list):
        parent.append(at)
    elif how == "nest":
        parent[key] = [at]
    elif path[0] % 4 and type(at) not in (type(new), type(None), dict, list):
        parent[key] = _likely(at, path[0])
    else:
        parent[key] = new
    return value


def _likely(at: Any, number: int) -> Any:
    """Something of the same type."""
    if isinstance(at, bool):
        return not at
    return NAMES[number % len(NAMES)] if isinstance(at, str) else FINITE[number % len(FINITE)]


cuts = st.lists(
    st.tuples(
        st.floats(0.0, 1.0),
        st.integers(0, 40),
        st.one_of(
            st.text(max_size=6),
            st.sampled_from(["<", ">", '"', "{", "[" * 3000, "\0", "1e999", "-", "NaN"]),
        ),
    ),
    max_size=3,
)


def cut(text: Any, many: Any) -> Any:
    """A text, or bytes, with parts of it replaced."""
    for place, length, new in many:
        at = int(place * len(text))
        put = new.encode("utf-8", "replace") if isinstance(text, bytes) else new
        text = text[:at] + put + text[at + length :]
    return text


# Changes of records: field, place in it, number

spoilings = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.integers(0, 10**6),
        st.sampled_from([*range(len(FLOATS))]),
        st.sampled_from(INTEGERS),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


def spoil(rows: Any, many: Any, fields: list[tuple[str, tuple[str, ...]]]) -> None:
    """Change numbers of records, in place.

    rows: shape (n,); fields: as `dynenvs.memory.bounds.fields_of` has them
    """
    for which, at, real, integer, everywhere in many:
        _, path = fields[which % len(fields)]
        values = rows[path[0]] if len(path) == 1 else rows[path[0]][path[1]]
        if values.dtype.kind == "u":
            new: Any = integer % 2**64
        else:
            new = integer if values.dtype.kind == "i" else FLOATS[real]
        if everywhere:
            values[...] = new
        elif values.size:
            values[np.unravel_index(at % values.size, values.shape)] = new
