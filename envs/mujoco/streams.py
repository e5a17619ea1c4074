"""Uniform numbers of many generators of NumPy in one compiled call, with the bits of `random`.

By Python each of them costs 0.7 us, as much as a small robot's physics step.  The numbers come from
where NumPy keeps a PCG64's state, which moves on as if NumPy had drawn them (O'Neill, PCG: a family
of simple fast space-efficient statistically good algorithms for random number generation, 2014).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import borrow
from dynenvs.memory.layout import Bytes, Ints, Matrix

# The factor of the generator of 128 bits, as two words
_HIGH, _LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF, _HALF_MASK = np.uint64(32), np.uint64(0xFFFFFFFF)
_S11, _S58, _S63, _ONE = np.uint64(11), np.uint64(58), np.uint64(63), np.uint64(1)
_UNIT = 1.0 / (1 << 53)
_WORD = (1 << 64) - 1


@inlined
def _high_word(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper word of a product of two words, by their halves."""
    a0, a1, b0, b1 = a & _HALF_MASK, a >> _HALF, b & _HALF_MASK, b >> _HALF
    middle = a1 * b0 + ((a0 * b0) >> _HALF)
    other = a0 * b1 + (middle & _HALF_MASK)
    return a1 * b1 + (middle >> _HALF) + (other >> _HALF)


@inlined
def _next_uniform(words: Ints) -> float:
    """The next number in [0, 1); words: state, then increment, the low word first, shape (4,)."""
    low, high = words[0], words[1]
    high = _high_word(low, _LOW) + low * _HIGH + high * _LOW
    low = low * _LOW
    total = low + words[2]
    high = high + words[3]
    if total < low:
        high = high + _ONE
    words[0], words[1] = total, high
    # Exclusive or of the words, turned by the state's highest bits
    mixed, turn = total ^ high, high >> _S58
    number = (mixed >> turn) | (mixed << ((_S63 + _ONE - turn) & _S63))
    return float(np.float64(number >> _S11) * _UNIT)


@entry
def draw_uniforms(places: Ints, mask: Bytes, drawn: Matrix) -> None:
    """A row of numbers in [0, 1) for each world of the mask, from its own generator.

    Args:
        places: of the generators' states, shape (n,).
        mask: 1 for worlds that draw, shape (n,).
        drawn: where the numbers go, shape (n, m).
    """
    for i in range(mask.shape[0]):
        if mask[i] != 0:
            words = borrow(places[i], 4, np.uint64)
            for k in range(drawn.shape[1]):
                drawn[i, k] = _next_uniform(words)


def places_of(generators: Sequence[np.random.Generator]) -> Ints | None:
    """Addresses of the generators' states, shape (n,).

    None where NumPy keeps them in another way than is read here, and of a single generator.
    """
    if len(generators) == 1:  # by Python as quick, and made anew with each seed
        return None
    places = np.zeros(len(generators), np.int64)
    for i, generator in enumerate(generators):
        bits = generator.bit_generator
        if type(bits) is not np.random.PCG64:
            return None
        # NumPy's structure begins with the address of state and increment
        places[i] = ctypes.c_int64.from_address(bits.ctypes.state_address).value
        known = bits.state["state"]
        numbers = [known["state"], known["inc"]]
        found = borrow(places[i], 4, np.uint64).tolist()
        if found != [word for n in numbers for word in (n & _WORD, n >> 64)]:
            return None
    return places
