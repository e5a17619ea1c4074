"""Random numbers for compiled resets: SplitMix64, one 64-bit word of state a world.

Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.  The word lies
in the world's own state, so a seed decides everything, wherever the world sits in a batch.
"""

from __future__ import annotations

import numpy as np

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_UNIT = 1.0 / (1 << 53)


@inlined
def next_word(state: np.uint64) -> np.uint64:
    """The number that follows the (already advanced) state."""
    z = (state ^ (state >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@kernel
def uniform(generator: Floats, low: float, high: float) -> float:
    """A number in [low, high); advances `generator`, uint64 of shape (1,)."""
    generator[0] += _GAMMA
    return low + (high - low) * (np.float64(next_word(generator[0]) >> _S11) * _UNIT)


def seeded(seed: int) -> np.uint64:
    """Starting state for a seed: neighbouring seeds give unrelated streams."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
