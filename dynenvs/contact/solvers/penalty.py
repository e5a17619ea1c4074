"""How stiff: the penalty of the method of multipliers, from one round to the next.

In units of 1 / g, the mass that a contact feels.  It grows as long as a round leaves too much;
after a round whose equation was not solved it falls, and stays lower for a while.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined

ENOUGH = 1e-10  # residual that ends the search ...
SLOW = 0.5  # ... as does a certified one of which a round leaves more than this
FINE = 1e-9  # what a velocity may miss, of the scale, where rounding leaves nothing to gain
FAR = 0.1  # residual above which the slip is held within a round
INNER = 15  # Newton's steps in a round
LOST = 1e3  # this far above the best, rounds lead nowhere
SOFTEST, SOFT = 1.0, 10.0  # of all penalties, and of those that a search begins with
GAIN, STIFFER = 0.1, 10.0  # a round that leaves more than this part makes the penalty grow ...
STUCK, MUCH_STIFFER = 0.8, 100.0  # ... and one that leaves more than this, much
BACK, CAP, LOOSEN = 0.1, 0.5, 1.5  # after a round that is not solved: softer, and so for a while
FAR_BACK = 0.01  # where rounds were lost


@inlined
def first_penalty(residual: float, stiff: float) -> float:
    """What to begin with: stiffer near an answer, `stiff` at most."""
    return min(max(0.1 / residual, SOFT), stiff) if residual > 0.0 else stiff


@inlined
def stiffer(penalty: float, cap: float, residual: float, last: float) -> float:
    """After a round that has brought the residual from `last` to `residual`."""
    if residual > GAIN * last:
        grow = MUCH_STIFFER if residual > STUCK * last else STIFFER
        return min(grow * penalty, cap)
    return penalty


@inlined
def softer(penalty: float, part: float) -> float:
    """A part of it, SOFTEST at least."""
    return max(part * penalty, SOFTEST)
