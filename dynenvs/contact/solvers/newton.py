"""Newton's method on contact modes: the main solver of the contact problem.

The contact LCP is piecewise linear: once it is known which contacts are open, stick or slip, and
which way, what remains is one small linear system in the impulses that the modes leave free.  Solve
it, let every contact whose inequalities fail take the mode of its projection on the cone, and
repeat: a semismooth Newton method (Alart and Curnier 1991; docs/theory.md, Solvers), started from
the modes of the last step.  Often the first guess is right: where whole soles stick by it, it is
tried in few unknowns (`patches.py`).

Redundant contacts (heel and toe, the corners of a sole) make the system singular.  A proximal
diagonal of 1e-9 makes it regular, and iterative refinement takes its effect out again: the
impulses of least norm among those that give the same motion come out.  An answer counts if the
LCP's own certificate says so.  Where the method cycles, or the impulses of least norm fit no cone
while others would, it goes on from the modes and impulses that a few sweeps of Gauss-Seidel
(`relax.py`) end in; where that does not help, the ladder (`solve.py`) has more.
"""

from __future__ import annotations

import math

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem, Scratch, row_velocities
from dynenvs.contact.solvers.modes import SLACK, give_bounds, list_unknowns, update_modes
from dynenvs.contact.solvers.patches import any_sole, hold_soles
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.contact.solvers.relax import relax
from dynenvs.jit.compiled import called, entry, inlined, inlined_source, kernel
from dynenvs.lcp.dense import (
    factorise,
    factorise_symmetric,
    substitute,
    substitute_symmetric,
)
from dynenvs.lcp.solve import WARM_RESIDUAL
from dynenvs.memory.layout import Floats, Ints, Records
from dynenvs.memory.records import MODES, PATCHES, SWEEPS

HOLDS = 2  # tries of soles as wholes: one that would be pulled down parts
CHANGES = 4  # of modes, from the last ones
ROUNDS = (
    3  # of Gauss-Seidel where that does not converge, each with twice the sweeps of the last ...
)
PLANAR_ROUNDS = 1  # Lemke's method is quick there
RELAXATIONS = 12  # ... and the first with these
TRIES = 2  # changes of modes after each
REFINEMENTS = 4
PROXIMAL = 1e-9  # relative to the diagonal of G
COARSE = 1e-6  # by which an inequality must fail after one solve, in the certificate's units
EXACT = 3e-14  # defect of the equations, in the certificate's units, that needs no refinement


@entry
def newton(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, mixed: bool
) -> tuple[float, int]:
    """Solve by contact modes; the blocks' modes are where it starts, and become the answer's.

    mixed: the modes to start from are not worth a try: start with Gauss-Seidel
    Returns (natural residual of the LCP, infinite if the modes did not converge; systems solved).
    """
    residual, solves = math.inf, 0
    # Of a walk's guesses nearly all are right; this one costs a fraction of what follows
    if any_sole(problem.blocks, problem.n):  # without, not even the call is worth its time
        answer.called[PATCHES] += 1
        while solves < HOLDS and hold_soles(problem, answer, scratch, EXACT * problem.scale):
            solves += 1
            if update_modes(problem, answer, SLACK * problem.scale) == 0:
                residual = _certify(problem, answer)
                break
        if residual <= WARM_RESIDUAL:
            answer.solved[PATCHES] += 1
            return residual, solves
    # Then the modes of the last step, contact by contact
    if not mixed:
        answer.called[MODES] += 1
        residual, solves = converge(problem, answer, scratch, CHANGES, False)
        if residual <= WARM_RESIDUAL:
            answer.solved[MODES] += 1
            return residual, solves
    # At last Gauss-Seidel from no impulses: each round sweeps longer, and ends in other modes
    answer.called[SWEEPS] += 1
    for r in range(problem.rows):
        answer.p[r], answer.u[r] = 0.0, problem.bias[r]
    relaxations = RELAXATIONS
    for _ in range(ROUNDS if problem.polygon[0].directions > 2 else PLANAR_ROUNDS):
        relax(problem, answer, relaxations)
        relaxations *= 2
        residual, used = converge(problem, answer, scratch, TRIES, True)
        solves += used
        if residual <= WARM_RESIDUAL:
            answer.solved[SWEEPS] += 1
            break
    return residual, solves


@called
def converge(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, most: int, near: bool
) -> tuple[float, int]:
    """Change modes until they hold, `most` times at most; answer as of `newton`.

    near: p is near to an answer and suits the modes: the first impulses are to be near to it, not
        of least norm.
    """
    rows, scale, unknowns = problem.rows, problem.scale, scratch.unknowns
    p, u, right, x = answer.p, answer.u, scratch.right, scratch.x
    for change in range(1, most + 1):
        k, symmetric = list_unknowns(problem.polygon, problem.blocks, problem.n, unknowns)
        if not _factorise(problem, scratch, k, symmetric):
            return math.inf, change
        # From no impulses at all the least ones come out, of all that give the same motion
        for r in range(rows):
            p[r] = p[r] if near and change == 1 else 0.0
        give_bounds(problem.blocks, problem.n, p)
        row_velocities(problem, p, u)
        solves = 0
        converged = False
        # Modes that are far from right show after one solve; the others are tested on exact values
        for least, slack in ((1, COARSE), (REFINEMENTS, SLACK)):
            while solves < least and _defect(unknowns, k, u, right) > EXACT * scale:
                if symmetric:
                    substitute_symmetric(scratch.K, k, right, x)
                else:
                    substitute(scratch.K, k, scratch.order, right, x)
                _add_impulses(unknowns, k, x, p)
                row_velocities(problem, p, u)
                solves += 1
            converged = update_modes(problem, answer, slack * scale) == 0
            if not converged:
                break
        if converged:
            return _certify(problem, answer), change
    return math.inf, most


@inlined
def _factorise(problem: ContactProblem, scratch: Scratch, count: int, symmetric: bool) -> bool:
    """Factors of the system of the unknowns, in K; returns whether it has one solution."""
    if symmetric:
        _gather_symmetric(scratch.unknowns, count, problem.G, scratch.order, scratch.K)
        factorise_symmetric(scratch.K, count)
        return True
    _gather(scratch.unknowns, count, problem.G, problem.rows, scratch.x, scratch.K)
    return factorise(scratch.K, count, scratch.order) > 0.0


@inlined_source
def _gather(
    unknowns: Records, count: int, G: Floats, rows: int, effects: Floats, K: Floats
) -> None:
    """K, transposed: the equations' velocities for a unit of each unknown, and the proximal part.

    effects: scratch of shape (rows,), the rows' velocities for a unit of one unknown
    """
    for b in range(count):
        # A slip's unknown carries its friction along, c and s of the normal impulse
        unknown = unknowns[b]
        r, c, s = unknown.column, unknown.c, unknown.s
        for i in range(rows):
            effects[i] = G[r, i]
        if c != 0.0:
            for i in range(rows):
                effects[i] += c * G[r + 1, i]
        if s != 0.0:
            for i in range(rows):
                effects[i] += s * G[r + 2, i]
        # What each equation sees of that; between two directions it is a combination of both rows
        for a in range(count):
            equation = unknowns[a]
            e = equation.equation
            K[b, a] = effects[e]
            if equation.combined:
                K[b, a] = equation.ec * effects[e] + equation.es * effects[e + 1]
        K[b, b] += PROXIMAL * G[r, r]


@inlined_source
def _gather_symmetric(unknowns: Records, count: int, G: Floats, columns: Ints, K: Floats) -> None:
    """The same where nothing slips: the upper triangle of rows and columns of G."""
    for a in range(count):
        columns[a] = unknowns[a].column
    for a in range(count):
        own = columns[a]
        for b in range(a, count):
            K[a, b] = G[own, columns[b]]
        K[a, a] += PROXIMAL * K[a, a]


@inlined_source
def _defect(unknowns: Records, count: int, velocities: Floats, right: Floats) -> float:
    """right = -(velocities that must vanish); returns the largest."""
    worst = 0.0
    for a in range(count):
        equation = unknowns[a]
        value = velocities[equation.equation]
        if equation.combined:
            value = equation.ec * value + equation.es * velocities[equation.equation + 1]
        right[a] = -value
        worst = max(worst, abs(value))
    return worst


@inlined_source
def _add_impulses(unknowns: Records, count: int, solution: Floats, impulses: Floats) -> None:
    for a in range(count):
        unknown = unknowns[a]
        r = unknown.column
        impulses[r] += solution[a]
        if unknown.c != 0.0:
            impulses[r + 1] += unknown.c * solution[a]
        if unknown.s != 0.0:
            impulses[r + 2] += unknown.s * solution[a]


@inlined
def _clip(blocks: Records, count: int, impulses: Floats) -> bool:
    """No contact pulls, not even by roundoff; returns whether any did."""
    clipped = False
    for i in range(count):
        r = blocks[i].row
        if impulses[r] < 0.0 and blocks[i].dry == 0:
            clipped = True
            for k in range(r, r + 1 + blocks[i].tangents):
                impulses[k] = 0.0
    return clipped


@kernel
def _certify(problem: ContactProblem, answer: ContactAnswer) -> float:
    """Natural residual of the whole problem, once no contact pulls; infinite for NaN."""
    if _clip(problem.blocks, problem.n, answer.p):
        row_velocities(problem, answer.p, answer.u)
    return certify_pyramids(problem, answer)
