"""Elementary functions: right to two units in the last place, and right where they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from dynenvs.simd import elementary
from dynenvs.simd.trigonometry import FAR, sine_cosine

RNG = np.random.default_rng(0)
COUNT = 1000
SMALL = RNG.normal(size=COUNT)
WIDE = np.concatenate([SMALL, RNG.normal(size=COUNT) * 10.0 ** RNG.uniform(-8, 2, COUNT)])
SHARES = np.concatenate([RNG.uniform(-1, 1, COUNT), 1.0 - 10.0 ** RNG.uniform(-16, -1, COUNT)])
POSITIVE = np.concatenate(
    [10.0 ** RNG.uniform(-300, 300, COUNT), 1.0 + SMALL * 10.0 ** RNG.uniform(-8, -1, COUNT)]
)
LARGE = np.concatenate([WIDE, RNG.uniform(-700, 700, COUNT)])
CASES = {
    "atan": WIDE, "asin": SHARES, "acos": SHARES, "exp": LARGE, "log": abs(POSITIVE),
    "sinh": LARGE, "cosh": LARGE, "tanh": WIDE,
}  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


def units_off(found: float, right: Any) -> float:
    """By how many units in its last place a number is wrong."""
    return float(abs(mpmath.mpf(found) - right)) / float(np.spacing(abs(float(right))))


@pytest.mark.parametrize("name", CASES)
def test_functions_are_right_to_the_last_places(name: str) -> None:
    with mpmath.workprec(200):
        own: Callable[[float], float] = getattr(elementary, name)
        right = getattr(mpmath, name)
        worst = max(units_off(own(x), right(mpmath.mpf(x))) for x in CASES[name].tolist())
    assert worst < 4.0


def test_angles_and_lengths_of_directions() -> None:
    pairs = RNG.normal(size=(COUNT, 2)) * 10.0 ** RNG.uniform(-8, 8, (COUNT, 2))
    with mpmath.workprec(200):
        for x, y in pairs.tolist():
            a, b = mpmath.mpf(x), mpmath.mpf(y)
            assert units_off(elementary.atan2(y, x), mpmath.atan2(b, a)) < 2.0
            assert units_off(elementary.hypot(x, y), mpmath.hypot(a, b)) < 2.0
    assert elementary.hypot(3e300, 4e300) == 5e300


@pytest.mark.parametrize("reach", [1.0, 100.0, 1e5, 1e7, 1e9, 1e12, FAR])
def test_sine_and_cosine_of_large_angles(reach: float) -> None:
    bound = 2.3e-16 if reach < FAR else 4e-16
    with mpmath.workprec(200):
        for x in RNG.uniform(-reach, reach, COUNT).tolist():
            s, c = sine_cosine(x)
            assert abs(s - float(mpmath.sin(x))) < bound
            assert abs(c - float(mpmath.cos(x))) < bound


def test_what_points_nowhere() -> None:
    """A huge number is taken for some angle; what is none has no sine."""
    for x in (2.0 * FAR, -1e60, 1e308):
        assert abs(math.hypot(*sine_cosine(x)) - 1.0) < 1e-15
    for x in (math.inf, -math.inf, math.nan):
        assert all(math.isnan(value) for value in sine_cosine(x))


def test_ends_of_functions() -> None:
    for y in SPECIAL:
        for x in SPECIAL:
            np.testing.assert_equal(elementary.atan2(y, x), math.atan2(y, x))
    assert [elementary.exp(x) for x in (710.0, -746.0, math.inf, -math.inf)] == [
        math.inf, 0.0, math.inf, 0.0,
    ]  # fmt: skip
    assert elementary.exp(-745.0) == 5e-324
    assert [elementary.log(x) for x in (0.0, math.inf, 1.0)] == [-math.inf, math.inf, 0.0]
    for name in ("exp", "log", "atan", "sinh", "tanh"):
        assert math.isnan(getattr(elementary, name)(math.nan))
    assert math.isnan(elementary.log(-1.0))
