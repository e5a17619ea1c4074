"""Smooth curves that swinging feet follow, as functions of the part of their time that is over."""

from __future__ import annotations

from dynenvs.compiled import inlined


@inlined
def smooth_step(x: float) -> float:
    """From 0 to 1, with no slope or curvature at the ends."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


@inlined
def rise(s: float) -> float:
    """From rest at 0 to rest at 1 with the least greatest jerk: +32, -32, +32 by quarters."""
    s = min(max(s, 0.0), 1.0)
    if s < 0.25:
        return 16.0 / 3.0 * s * s * s
    if s < 0.75:
        return ((8.0 - 16.0 / 3.0 * s) * s - 2.0) * s + 1.0 / 6.0
    return 1.0 - 16.0 / 3.0 * (1.0 - s) ** 3


@inlined
def rise_rate(s: float) -> float:
    """Its derivative."""
    s = min(max(s, 0.0), 1.0)
    if s < 0.25:
        return 16.0 * s * s
    if s < 0.75:
        return 16.0 * s * (1.0 - s) - 2.0
    return 16.0 * (1.0 - s) * (1.0 - s)


@inlined
def bump(s: float) -> float:
    """Up to 1 and down again with neither speed nor acceleration at the ends, 0 and 1."""
    return rise(2.0 * s) if s < 0.5 else rise(2.0 - 2.0 * s)


@inlined
def bump_rate(s: float) -> float:
    """Its derivative."""
    return 2.0 * rise_rate(2.0 * s) if s < 0.5 else -2.0 * rise_rate(2.0 - 2.0 * s)


@inlined
def hurry(s: float, more: float) -> float:
    """Time that begins at the rate 1 - more and ends at 1 + more: from 0 to 1 as s."""
    s = min(max(s, 0.0), 1.0)
    return s + more * s * (s - 1.0)


@inlined
def hurry_rate(s: float, more: float) -> float:
    """Its derivative."""
    s = min(max(s, 0.0), 1.0)
    return 1.0 + more * (2.0 * s - 1.0)
