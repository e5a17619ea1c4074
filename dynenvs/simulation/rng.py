"""Random numbers for compiled resets: SplitMix64, one 64-bit word of state a world.

Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.  The word lies
in the world's own state, so a seed decides everything, wherever the world sits in a batch.
"""

from __future__ import annotations

import math

import numpy as np

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats
from dynenvs.simd.elementary import cos, log

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_BRANCH = np.uint64(0xD1342543DE82EF95)  # odd, so that all numbers give branches of their own
_UNIT = 1.0 / (1 << 53)


@inlined
def next_word(state: np.uint64) -> np.uint64:
    """The number that follows the (already advanced) state."""
    # Steele, Lea and Flood's mixing function, variant 13 of Stafford's
    z = (state ^ (state >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@kernel
def uniform(generator: Floats, low: float, high: float) -> float:
    """A number in [low, high); advances `generator`, uint64 of shape (1,)."""
    generator[0] += _GAMMA
    # 53 bits: every double of that spacing is as likely
    return low + (high - low) * (np.float64(next_word(generator[0]) >> _S11) * _UNIT)


@kernel
def normal(generator: Floats) -> float:
    """A number from the standard normal distribution, by Box and Muller's first formula (1958)."""
    radius = math.sqrt(-2.0 * log(1.0 - uniform(generator, 0.0, 1.0)))
    return radius * cos(2.0 * math.pi * uniform(generator, 0.0, 1.0))


@inlined
def branch(state: np.uint64, number: int) -> np.uint64:
    """State of a stream of its own: number `number` of those that branch off here."""
    return next_word(state + (np.uint64(number) + np.uint64(1)) * _BRANCH)


def seeded(seed: int) -> np.uint64:
    """Starting state for a seed: neighbouring seeds give unrelated streams."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
