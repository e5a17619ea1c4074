"""Proximal multipliers: the method, for any problem that can do what `Ways` lists.

Outer rounds: impulses p move to P(p - rho (J v + bias + mu s e_n)), where v solves

    M (v - v_free) = J^T P(p - rho (J v + bias + mu s e_n)):

the method of multipliers (Rockafellar 1976) for the law of `projection.py`.  Its equation for v is
smooth but for kinks: Newton's method needs the matrix M + J^T W J, whose size is that of the
bodies, not of the contacts, and which is regular however redundant these are.  The penalty rho, in
units of 1 / g, the mass that a contact feels, grows as long as a round leaves too much; after a
round whose equation was not solved it falls, and stays lower for a while.  Every round ends with
the certificate of `dynenvs.contact`: of the velocities that the impulses really give.  While far
from an answer, the slip mu s in the law is held for a round: the equation is then that of a convex
minimum.

Where contacts bear together what each of them could, and their gaps agree but for rounding, no
impulses are right until one of them slips or opens; rounds creep there along a ray, each by as much
as the last one.  A round that gains nothing is therefore followed as far as the law allows.

The work is bounded: `budget` factorisations.  Where they do not suffice the best answer is taken,
and its residual says how good it is.

How M and J are applied is the problem's matter: dense rows (`multipliers.py`), or an island's trees
with a sparse factor (`dynenvs/contact/sparse/proximal.py`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.jit.compiled import inlined

PATIENCE = 4  # Newton's steps of a round in a row that may gain less than half
STILL = 0.01  # ... and a change of what one misses by that shows that the round is at its end
LINE = 8  # trials along one of them
ENOUGH = 1e-10  # residual that ends a search ...
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
FURTHER, REACHES = 2.0, 12  # each reach along a creeping round is so much longer; so many of them
CREEPING = 1e-6  # residual up to which a round that gains nothing creeps; above it may be lost
WORSE = 100.0  # times the round's residual that it may have there


class Ways(NamedTuple):
    """What rounds do with a problem, which each of these functions gets first.

    The problem has arrays of impulses `p`, `trial`, `best` and `held`, and a `scale` [m/s].  What
    takes these functions is inlined: passed on in machine code they would be addresses of this
    process, and such code is not cached.
    """

    certify: Any  # velocities that the impulses `p` give, and the natural residual of both
    is_good: Any  # (residual): whether that of `best` is small enough
    copy: Any  # (source, target): impulses
    reach: Any  # (times): `p` to so many times its way from `held`
    begin: Any  # (far): a round from `p`; if far, its slips are held
    miss: Any  # (penalty): `trial` of the law at v, and by how much v misses what it gives [m/s]
    direct: Any  # Newton's step for v; whether there is one
    slope: Any  # along that step, of what is minimised where the slip is held
    go: Any  # (part): v to a part of the step


class Stiffness(NamedTuple):
    """Penalties of a problem."""

    first: float  # to begin with, at most
    most: float
    recovery: float  # by how much more the penalty may grow after each round that is solved


@inlined
def rounds(
    problem: Any,
    ways: Any,
    residual: float,
    stiff: Stiffness,
    enough: float,
    spent: int,
    budget: int,
) -> tuple[float, int]:
    """Rounds of multipliers from `p`, whose residual is given, until they gain nothing more.

    stiff: the problem's penalties
    enough: residual that ends the search
    spent, budget: factorisations before, and at all
    `p` ends as the best that was met.  Returns (its residual, factorisations with those before).
    """
    best = held = residual
    ways.copy(problem, problem.p, problem.best)
    ways.copy(problem, problem.p, problem.held)
    penalty, cap = first_penalty(residual, stiff.first), stiff.most
    used, begun, loosen = spent, spent, LOOSEN
    while best > enough and max(used, begun) < budget:
        # A round: Newton's method with this penalty, then the residual
        begun += 1  # one that begins with its equation solved costs no factorisation
        last = residual
        done, used = _round(problem, ways, penalty, residual, used, budget)
        residual = ways.certify(problem)
        slow = not residual < SLOW * best
        if residual < best:
            best = residual
            ways.copy(problem, problem.p, problem.best)
        if slow and ways.is_good(problem, best):
            break
        if not done and not residual < SLOW * held:  # back to the last round that was solved
            ways.copy(problem, problem.held, problem.p)
            residual = ways.certify(problem)
            cap, penalty = softer(penalty, CAP), softer(penalty, BACK)
            loosen = LOOSEN
            continue
        # It has gained: stiffer; or it is lost: back to the best
        penalty = stiffer(penalty, cap, residual, last)
        cap, loosen = min(loosen * cap, stiff.most), stiff.recovery * loosen
        if not residual < LOST * best:
            ways.copy(problem, problem.best, problem.p)
            residual = ways.certify(problem)
            penalty = softer(penalty, FAR_BACK)
        if residual > STUCK * last and last <= CREEPING:
            residual = _reach(problem, ways, residual)
            if residual < best:
                best = residual
                ways.copy(problem, problem.p, problem.best)
        held = residual
        ways.copy(problem, problem.p, problem.held)
    ways.copy(problem, problem.best, problem.p)
    return ways.certify(problem), used


@inlined
def _reach(problem: Any, ways: Any, residual: float) -> float:
    """Go on along a round that has gained nothing, as far as the law allows; returns the residual.

    What rounding adds on a long way the next round takes back.
    """
    found, times = residual, FURTHER
    for _ in range(REACHES):
        ways.reach(problem, times)
        further = ways.certify(problem)
        if further <= WORSE * residual:
            found = further
            continue
        # Too far: back, and from there on not so far
        ways.reach(problem, 1.0 / times)
        found = ways.certify(problem)
        times = 1.0 + 0.5 * (times - 1.0)
    return float(found)


@inlined
def _round(
    problem: Any, ways: Any, penalty: float, residual: float, used: int, budget: int
) -> tuple[bool, int]:
    """Solve for v at these multipliers and penalty, and move p.

    Returns (whether that was solved, factorisations with the `used` ones).
    """
    ways.begin(problem, residual > FAR)
    # A round need not be solved better than the problem is so far
    target = 0.05 * min(residual, 1.0) * problem.scale
    off = ways.miss(problem, penalty)
    least, idle = off, 0
    for _ in range(INNER):
        if off <= target or idle >= PATIENCE or used >= budget:
            break
        used += 1
        if not ways.direct(problem):
            break
        before = off
        off = _search(problem, ways, penalty)
        # At a kink there is no way on
        if abs(off - before) <= STILL * before:
            break
        # Rounding may leave nothing to gain: a few idle steps end the round
        idle += 1
        if off < 0.5 * least:
            least, idle = off, 0
        elif off < FINE * problem.scale:
            break
    ways.copy(problem, problem.trial, problem.p)
    return off <= max(target, FINE * problem.scale), used


@inlined
def _search(problem: Any, ways: Any, penalty: float) -> float:
    """Go along Newton's step until the slope has fallen enough; returns the miss there [m/s]."""
    # The slope falls along the way, but not evenly: the law has kinks
    first = ways.slope(problem)
    low, low_slope = 0.0, first
    high, high_slope = 0.0, 0.0
    part = 1.0
    off = math.inf
    for _ in range(LINE):
        ways.go(problem, part)
        off = ways.miss(problem, penalty)
        slope = ways.slope(problem)
        # Far enough: half of the slope is gone, or the full step does not overshoot
        if abs(slope) <= 0.5 * abs(first) or (part == 1.0 and slope <= 0.0):
            break
        # The root lies between `low` and `high`: false position, kept off both ends
        if slope > 0.0:
            high, high_slope = part, slope
        else:
            low, low_slope = part, slope
        if high == 0.0:
            break
        share = low_slope / (low_slope - high_slope) if low_slope < high_slope else 0.5
        part = low + min(max(share, 0.1), 0.9) * (high - low)
    return off


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
