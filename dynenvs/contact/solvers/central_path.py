"""A primal-dual interior-point method: near to an answer whose modes cannot be guessed.

Of the LCP of `friction_lcp.py` it keeps every variable z and its w positive and brings all products
z w down together, to zero in the limit.  Among many answers (a sole at rest shares its load between
its corners in many ways) it ends in the midst of them, where a contact that need not slip clearly
sticks: Newton's method on those modes then gives the exact one.  Ten or so iterations suffice
whatever the modes; each factors one matrix of the rows' size, because a contact's friction
directions and sigma are eliminated beforehand.

Source: Mehrotra, On the implementation of a primal-dual interior point method (1992).  What a
contact's own variables come to is in `interior_block.py`; solved for du_t, it joins du = G dp.
"""

from __future__ import annotations

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem, Scratch
from dynenvs.contact.solvers.interior_block import (
    DW,
    DZ,
    SECOND,
    W,
    Z,
    aim,
    change_alone,
    invert_sums,
    longest,
    push_from_bounds,
    spread,
    spread_dry,
    start_block,
    sum_directions,
    variables_of,
)
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK, nearest_mode
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise, substitute
from dynenvs.memory.layout import Floats

ITERATIONS = 40
NEAR = 1e-8  # the smaller of each z and w, in the certificate's units, at which modes are clear
REACH = 0.99  # of the step that would bring the first variable to zero


@kernel
def follow(problem: ContactProblem, answer: ContactAnswer, scratch: Scratch) -> int:
    """Modes of the blocks and impulses that suit them, near to an answer.

    Returns the number of iterations.
    """
    rows, vectors, right, x = problem.rows, scratch.vectors, scratch.right, scratch.x
    # Every contact begins well within its bounds, so that no variable stands at zero
    _start(problem, answer, vectors)
    iteration = 0
    while iteration < ITERATIONS:
        mean, worst = _measure(problem, vectors)
        # Of each pair one is clearly the smaller by now: modes can be read off
        if not worst > NEAR * problem.scale:
            break
        iteration += 1
        _assemble(problem, scratch)
        if not factorise(scratch.K, rows, scratch.order) > 0.0:
            break
        # Predictor: where the products would go if all were aimed at zero at once
        variables = _clear(problem, vectors)
        _direction(problem, answer, scratch, 0.0)
        length = longest(vectors, variables)
        # Corrector: the products worth aiming at, with the predictor's second-order terms
        target = aim(vectors, variables, mean, length)
        _direction(problem, answer, scratch, target)
        # Stay off the bounds: a variable at zero would make the next matrix singular
        length = REACH * longest(vectors, variables)
        for r in range(rows):
            answer.p[r] += length * x[r]
            answer.u[r] += length * right[r]
        for v in range(variables):
            vectors[Z, v] += length * vectors[DZ, v]
            vectors[W, v] += length * vectors[DW, v]
    _choose_modes(problem, answer, vectors)
    return iteration


@kernel
def _start(problem: ContactProblem, answer: ContactAnswer, vectors: Floats) -> None:
    """Each contact presses as if it were alone, half of its friction in all directions alike."""
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    scale, rows, p, u = problem.scale, problem.rows, answer.p, answer.u
    for r in range(rows):
        p[r] = 0.0
        u[r] = problem.bias[r]
    # Each normal impulse stops its own approach; what the others do to it comes in through u
    for i in range(n):
        r = blocks[i].row
        if G[r, r] > 0.0 and blocks[i].dry == 0:
            p[r] = max(scale, -problem.bias[r]) / G[r, r]
            for c in range(rows):
                u[c] += p[r] * G[r, c]
    # The LCP's own variables, as they suit these impulses and velocities
    v = 0
    for i in range(n):
        start_block(polygon, blocks[i], scale, vectors, v, p, u)
        v += variables_of(polygon, blocks[i])


@kernel
def _measure(problem: ContactProblem, vectors: Floats) -> tuple[float, float]:
    """Mean product z w, and the worst of the smaller of z and w as velocities."""
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    total, worst = 0.0, 0.0
    v = 0
    for i in range(n):
        own = variables_of(polygon, blocks[i])
        g = G[blocks[i].row, blocks[i].row]
        for k in range(v, v + own):
            z, w = vectors[Z, k], vectors[W, k]
            total += z * w
            # sigma is a velocity, and its w an impulse
            if k > v and k == v + own - 1 and blocks[i].dry == 0:
                worst = max(worst, min(z, w * g))
            else:
                worst = max(worst, min(z * g, w))
        v += own
    return total / max(v, 1), worst


@kernel
def _assemble(problem: ContactProblem, scratch: Scratch) -> None:
    """K, transposed: G and what a block's own variables add to its rows."""
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    rows, vectors, eliminated, K = problem.rows, scratch.vectors, scratch.eliminated, scratch.K
    # G itself.  Each equation is a column here: `factorise` wants the transpose
    for a in range(rows):
        for b in range(rows):
            K[a, b] = G[a, b]
    v = 0
    for i in range(n):
        block, e = blocks[i], eliminated[i]
        r, t = block.row, block.row + 1
        if not G[r, r] > 0.0:
            for a in range(r, t + block.tangents):  # nothing moves here: no change
                for b in range(rows):
                    K[b, a] = 0.0
                K[a, a] = 1.0
        elif block.dry != 0:
            # Either bound of a dry joint is a spring of stiffness w / z
            K[r, r] += push_from_bounds(vectors, v, 0.0, 0.0)[1]
        else:
            # w / z is what the complementarity of the normal impulse adds, once linearised
            K[r, r] += vectors[W, v] / vectors[Z, v]
            if block.tangents > 0:
                xx, xy, yy = sum_directions(polygon, vectors, v, e)
                invert_sums(block.tangents, xx, xy, yy, e)
                # Friction's bound rises with the normal impulse: that makes K unsymmetric
                pressed = e.slope * block.friction
                K[t, t] += e.xx
                K[r, t] -= pressed * (e.xx * e.x + e.xy * e.y)
            if block.tangents == 2:
                K[t, t + 1] += e.xy
                K[t + 1, t] += e.xy
                K[t + 1, t + 1] += e.yy
                K[r, t + 1] -= pressed * (e.xy * e.x + e.yy * e.y)
        v += variables_of(polygon, block)


@inlined
def _clear(problem: ContactProblem, vectors: Floats) -> int:
    """No second-order terms; returns the number of variables."""
    v = 0
    for i in range(problem.n):
        v += variables_of(problem.polygon, problem.blocks[i])
    for k in range(v):
        vectors[SECOND, k] = 0.0
    return v


@kernel
def _direction(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, target: float
) -> None:
    """Changes of all variables that would bring the products to the target.

    Those of impulses come in x, those of velocities in `right`.
    """
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    rows, vectors, eliminated, u = problem.rows, scratch.vectors, scratch.eliminated, answer.u
    right, x = scratch.right, scratch.x
    # Right-hand sides after elimination of each contact's directions
    v = 0
    for i in range(n):
        block = blocks[i]
        r = block.row
        for a in range(r, r + 1 + block.tangents):
            right[a] = 0.0
        if block.dry != 0 and G[r, r] > 0.0:
            right[r], _ = push_from_bounds(vectors, v, target, u[r])
        elif G[r, r] > 0.0:
            z, w = vectors[Z, v], vectors[W, v]
            right[r] = (target - z * w - vectors[SECOND, v]) / z - (u[r] - w)
            if block.tangents > 0:
                e, t = eliminated[i], r + 1
                dx, dy = change_alone(polygon, block, e, vectors, v, target, u)
                right[t] = e.xx * dx + e.xy * dy
                if block.tangents == 2:
                    right[t + 1] = e.xy * dx + e.yy * dy
        v += variables_of(polygon, block)
    # Changes of impulses x, and of velocities G x
    substitute(scratch.K, rows, scratch.order, right, x)
    for r in range(rows):
        right[r] = 0.0
    for r in range(rows):
        for c in range(rows):
            right[c] += x[r] * G[r, c]
    # Changes of the eliminated variables follow
    v = 0
    for i in range(n):
        block = blocks[i]
        r = block.row
        own = variables_of(polygon, block)
        if block.dry != 0 and G[r, r] > 0.0:
            spread_dry(vectors, v, target, x[r])
        elif G[r, r] > 0.0:
            vectors[DZ, v], vectors[DW, v] = x[r], right[r] + u[r] - vectors[W, v]
            if block.tangents > 0:
                spread(polygon, block, eliminated[i], vectors, v, x, right)
        else:
            for k in range(v, v + own):
                vectors[DZ, k] = vectors[DW, k] = 0.0
        v += own


@kernel
def _choose_modes(problem: ContactProblem, answer: ContactAnswer, vectors: Floats) -> None:
    """The mode that each block tends to, and its impulses brought into it."""
    polygon, blocks, n, G = problem.polygon, problem.blocks, problem.n, problem.G
    p, u = answer.p, answer.u
    v = 0
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        if block.dry != 0:
            block.mode = STICK if G[r, r] > 0.0 else OPEN
            # The bound that it is at has the smaller z, in the same units as w
            for k in range(2 if G[r, r] > 0.0 else 0):
                if vectors[Z, v + k] * G[r, r] < vectors[W, v + k]:
                    block.mode = SLIP + 1 - k
        # Open where the impulse, as a velocity, is the smaller one of its pair
        elif not p[r] * G[r, r] > vectors[W, v]:
            block.mode = OPEN
            for k in range(r, r + 1 + block.tangents):
                p[k] = 0.0
        else:
            block.mode, x, y = nearest_mode(polygon, block, G, p, u)
            if block.mode != STICK:
                p[t] = x
                if block.tangents == 2:
                    p[t + 1] = y
        v += variables_of(polygon, block)
