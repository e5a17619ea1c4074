"""Smooth curves that swinging feet follow, as functions of the part of their time that is over."""

from __future__ import annotations

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats


@inlined
def smooth_step(x: float) -> float:
    """From 0 to 1, with no slope or curvature at the ends."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


@inlined
def between(ends: Floats, share: float) -> float:
    """From the first to the second of two numbers, as share goes from 0 to 1."""
    return float(ends[0] + share * (ends[1] - ends[0]))


@inlined
def phase_warp(s: float, more: float) -> float:
    """Time that begins at the rate 1 - more and ends at 1 + more: from 0 to 1 as s."""
    s = min(max(s, 0.0), 1.0)
    return s + more * s * (s - 1.0)


@inlined
def phase_warp_rate(s: float, more: float) -> float:
    """Derivative of `phase_warp` by s."""
    s = min(max(s, 0.0), 1.0)
    return 1.0 + more * (2.0 * s - 1.0)


@inlined
def glide(s: float, start: float, end: float) -> float:
    """From rest at 0 to rest at 1: the acceleration's graph is a line between two short ramps.

    `start` and `end` are the ramps' lengths.  Short ramps leave the long line in between, hence
    the torques, the least slope (12 without ramps, 32 with ramps of a quarter): let the jerk be
    where the feet take over the load from each other and torques jump anyway.
    """
    s = min(max(s, 0.0), 1.0)
    gain, brake = 6.0 / (1.0 - end), 6.0 / (1.0 - start)
    if s < start:
        return gain * s * s * s / (6.0 * start)
    if s > 1.0 - end:
        left = 1.0 - s
        return 1.0 - brake * left * left * left / (6.0 * end)
    slope = (gain + brake) / (1.0 - start - end)
    x = s - start
    return gain * (start * start / 6.0 + x * (0.5 * start + 0.5 * x)) - slope * x * x * x / 6.0


@inlined
def glide_rate(s: float, start: float, end: float) -> float:
    """Slope of `glide`."""
    s = min(max(s, 0.0), 1.0)
    gain, brake = 6.0 / (1.0 - end), 6.0 / (1.0 - start)
    if s < start:
        return 0.5 * gain * s * s / start
    if s > 1.0 - end:
        return 0.5 * brake * (1.0 - s) * (1.0 - s) / end
    slope = (gain + brake) / (1.0 - start - end)
    x = s - start
    return gain * (0.5 * start + x) - 0.5 * slope * x * x


@inlined
def hop(s: float, ramp: float) -> float:
    """Up to 1 and down again with neither speed nor acceleration at the ends."""
    return glide(2.0 * s, ramp, 0.0) if s < 0.5 else glide(2.0 - 2.0 * s, ramp, 0.0)


@inlined
def hop_rate(s: float, ramp: float) -> float:
    """Slope of `hop`."""
    if s < 0.5:
        return 2.0 * glide_rate(2.0 * s, ramp, 0.0)
    return -2.0 * glide_rate(2.0 - 2.0 * s, ramp, 0.0)
