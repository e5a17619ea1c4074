"""A primal-dual interior-point method: near to an answer whose modes cannot be guessed.

Of the LCP of `problem.py` it keeps every variable z and its w positive and brings all products z w
down together, to zero in the limit.  Among many answers (a sole at rest shares its load between its
corners in many ways) it ends in the midst of them, where a contact that need not slip clearly
sticks: Newton's method on those modes then gives the exact one.  Ten or so iterations suffice
whatever the modes; each factors one matrix of the rows' size, because a contact's friction
directions and sigma are eliminated beforehand.

Source: Mehrotra, On the implementation of a primal-dual interior point method (1992).  With the
products' targets c, and the sums over a contact's directions k weighted by beta_k / w_k,

    dp_t = e - S du_t - s dsigma,   (w_s + sigma s_0) dsigma = c_s - sigma (mu dp_n - e_0 + s.du_t),

which, solved for du_t, joins du = G dp.
"""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.modes import OPEN, SLIP, STICK, nearest, strongest
from dynenvs.layout import Floats, Ints, Records
from dynenvs.lcp.dense import factorise, substitute

ITERATIONS = 40
NEAR = 1e-8  # the smaller of each z and w, in the certificate's units, at which modes are clear
REACH = 0.99  # of the step that would bring the first variable to zero

# Rows of the scratch vectors, one entry for each variable of the LCP: z, w, their changes, and the
# product of those; for friction directions z / w, dp's part e, and what w misses
Z, W, DZ, DW, SECOND, WEIGHT, ALONE, DEFECT = range(8)


@kernel
def follow(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    vectors: Floats,
    eliminated: Records,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
) -> int:
    """Modes of the n blocks and impulses p that suit them, near to an answer.

    scale: the certificate's velocity scale [m/s]
    vectors: scratch, shape (8, number of the LCP's variables)
    eliminated: scratch, ELIMINATED, shape (n,)
    K, order, right, x: scratch as for `newton`; u: receives velocities, shape (rows,)
    Returns the number of iterations.
    """
    _start(polygon, blocks, n, G, bias, rows, scale, vectors, p, u)
    iteration = 0
    while iteration < ITERATIONS:
        mean, worst = _measure(polygon, blocks, n, G, vectors)
        if not worst > NEAR * scale:
            break
        iteration += 1
        _assemble(polygon, blocks, n, G, rows, vectors, eliminated, K)
        if not factorise(K, rows, order) > 0.0:
            break
        variables = _clear(polygon, blocks, n, vectors)
        _direction(polygon, blocks, n, G, rows, 0.0, vectors, eliminated, K, order, right, x, u)
        length = _longest(vectors, variables)
        left = 0.0
        for v in range(variables):
            z, w = vectors[Z, v], vectors[W, v]
            left += (z + length * vectors[DZ, v]) * (w + length * vectors[DW, v])
            vectors[SECOND, v] = vectors[DZ, v] * vectors[DW, v]
        share = left / (mean * variables)
        target = mean * share * share * share
        _direction(polygon, blocks, n, G, rows, target, vectors, eliminated, K, order, right, x, u)
        length = REACH * _longest(vectors, variables)
        for r in range(rows):
            p[r] += length * x[r]
            u[r] += length * right[r]
        for v in range(variables):
            vectors[Z, v] += length * vectors[DZ, v]
            vectors[W, v] += length * vectors[DW, v]
    _choose_modes(polygon, blocks, n, G, vectors, p, u)
    return iteration


@inlined
def _size(polygon: Records, block: Any) -> int:
    """Number of a block's LCP variables: the normal impulse, those along directions, sigma."""
    return int(2 + polygon[0].directions) if block.tangents > 0 else 1


@kernel
def _start(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    bias: Floats,
    rows: int,
    scale: float,
    vectors: Floats,
    p: Floats,
    u: Floats,
) -> None:
    """Each contact presses as if it were alone, half of its friction in all directions alike."""
    directions = polygon[0].directions
    for r in range(rows):
        p[r] = 0.0
        u[r] = bias[r]
    for i in range(n):
        r = blocks[i].row
        if G[r, r] > 0.0:
            p[r] = max(scale, -bias[r]) / G[r, r]
            for c in range(rows):
                u[c] += p[r] * G[r, c]
    v = 0
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        z, w = vectors[Z], vectors[W]
        z[v], w[v] = p[r] if p[r] > 0.0 else scale, max(u[r], scale)
        if block.tangents > 0:
            x, y = u[t], _second(block.tangents, u, t)
            sigma = scale + strongest(polygon, x, y)
            for k in range(directions):
                z[v + 1 + k] = 0.5 * block.friction * z[v] / directions
                slip = polygon[0].cosines[k] * x + polygon[0].sines[k] * y
                w[v + 1 + k] = slip + sigma
            z[v + 1 + directions] = sigma
            w[v + 1 + directions] = 0.5 * block.friction * z[v]
        v += _size(polygon, block)


@inlined
def _second(tangents: int, x: Floats, t: int) -> float:
    """Entry of a contact's second tangent, if it has one; its first is at t."""
    return float(x[t + 1]) if tangents == 2 else 0.0


@kernel
def _measure(
    polygon: Records, blocks: Records, n: int, G: Floats, vectors: Floats
) -> tuple[float, float]:
    """Mean product z w, and the worst of the smaller of z and w as velocities."""
    total, worst = 0.0, 0.0
    v = 0
    for i in range(n):
        size = _size(polygon, blocks[i])
        g = G[blocks[i].row, blocks[i].row]
        for k in range(v, v + size):
            z, w = vectors[Z, k], vectors[W, k]
            total += z * w
            # sigma is a velocity, and its w an impulse
            if k > v and k == v + size - 1:
                worst = max(worst, min(z, w * g))
            else:
                worst = max(worst, min(z * g, w))
        v += size
    return total / max(v, 1), worst


@kernel
def _assemble(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    rows: int,
    vectors: Floats,
    eliminated: Records,
    K: Floats,
) -> None:
    """K, transposed: G and what a block's own variables add to its rows."""
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
        else:
            K[r, r] += vectors[W, v] / vectors[Z, v]
            if block.tangents > 0:
                _eliminate(polygon, block.tangents, vectors, v, e)
                pressed = e.slope * block.friction
                K[t, t] += e.xx
                K[r, t] -= pressed * (e.xx * e.x + e.xy * e.y)
            if block.tangents == 2:
                K[t, t + 1] += e.xy
                K[t + 1, t] += e.xy
                K[t + 1, t + 1] += e.yy
                K[r, t + 1] -= pressed * (e.xy * e.x + e.yy * e.y)
        v += _size(polygon, block)


@inlined
def _eliminate(polygon: Records, tangents: int, vectors: Floats, v: int, e: Any) -> None:
    """Sums over a contact's directions; v: its first variable."""
    directions = polygon[0].directions
    e.x = e.y = e.total = 0.0
    xx = xy = yy = 0.0
    for k in range(directions):
        x, y = polygon[0].cosines[k], polygon[0].sines[k]
        weight = vectors[Z, v + 1 + k] / vectors[W, v + 1 + k]
        vectors[WEIGHT, v + 1 + k] = weight
        e.total += weight
        e.x += weight * x
        e.y += weight * y
        xx += weight * x * x
        xy += weight * x * y
        yy += weight * y * y
    last = v + 1 + directions
    e.slope = vectors[Z, last] / (vectors[W, last] + vectors[Z, last] * e.total)
    xx -= e.slope * e.x * e.x
    xy -= e.slope * e.x * e.y
    yy -= e.slope * e.y * e.y
    if tangents == 1:
        e.xx, e.xy, e.yy = 1.0 / xx, 0.0, 0.0
    else:
        area = xx * yy - xy * xy
        e.xx, e.xy, e.yy = yy / area, -xy / area, xx / area


@inlined
def _clear(polygon: Records, blocks: Records, n: int, vectors: Floats) -> int:
    """No second-order terms; returns the number of variables."""
    v = 0
    for i in range(n):
        v += _size(polygon, blocks[i])
    for k in range(v):
        vectors[SECOND, k] = 0.0
    return v


@kernel
def _direction(
    polygon: Records,
    blocks: Records,
    n: int,
    G: Floats,
    rows: int,
    target: float,
    vectors: Floats,
    eliminated: Records,
    K: Floats,
    order: Ints,
    right: Floats,
    x: Floats,
    u: Floats,
) -> None:
    """Changes of all variables that would bring the products to the target.

    Those of impulses come in x, those of velocities in `right`.
    """
    v = 0
    for i in range(n):
        block = blocks[i]
        r = block.row
        for a in range(r, r + 1 + block.tangents):
            right[a] = 0.0
        if G[r, r] > 0.0:
            z, w = vectors[Z, v], vectors[W, v]
            right[r] = (target - z * w - vectors[SECOND, v]) / z - (u[r] - w)
            if block.tangents > 0:
                _tangential(polygon, block, eliminated[i], vectors, v, target, u, right)
        v += _size(polygon, block)
    substitute(K, rows, order, right, x)
    for r in range(rows):
        right[r] = 0.0
    for r in range(rows):
        for c in range(rows):
            right[c] += x[r] * G[r, c]
    v = 0
    for i in range(n):
        block = blocks[i]
        r = block.row
        size = _size(polygon, block)
        if G[r, r] > 0.0:
            vectors[DZ, v], vectors[DW, v] = x[r], right[r] + u[r] - vectors[W, v]
            if block.tangents > 0:
                _spread(polygon, block, eliminated[i], vectors, v, x, right)
        else:
            for k in range(v, v + size):
                vectors[DZ, k] = vectors[DW, k] = 0.0
        v += size


@inlined
def _tangential(
    polygon: Records,
    block: Any,
    e: Any,
    vectors: Floats,
    v: int,
    target: float,
    u: Floats,
    right: Floats,
) -> None:
    """Right-hand sides of a contact's tangential rows."""
    directions = polygon[0].directions
    t = block.row + 1
    u1, u2 = u[t], _second(block.tangents, u, t)
    last = v + 1 + directions
    sigma, rest = vectors[Z, last], vectors[W, last]
    x = y = total = 0.0
    for k in range(directions):
        at = v + 1 + k
        w, c, s = vectors[W, at], polygon[0].cosines[k], polygon[0].sines[k]
        defect = c * u1 + s * u2 + sigma - w
        # What the impulse would change by alone
        alone = (target - vectors[SECOND, at]) / w - vectors[Z, at] - vectors[WEIGHT, at] * defect
        vectors[ALONE, at], vectors[DEFECT, at] = alone, defect
        total += alone
        x += alone * c
        y += alone * s
    wanted = target - sigma * rest - vectors[SECOND, last]
    e.rate = (wanted + sigma * total) / (rest + sigma * e.total)
    x -= e.x * e.rate
    y -= e.y * e.rate
    right[t] = e.xx * x + e.xy * y
    if block.tangents == 2:
        right[t + 1] = e.xy * x + e.yy * y


@inlined
def _spread(
    polygon: Records, block: Any, e: Any, vectors: Floats, v: int, x: Floats, du: Floats
) -> None:
    """Changes of a contact's impulses along the directions and of sigma."""
    directions = polygon[0].directions
    t = block.row + 1
    du1, du2 = du[t], _second(block.tangents, du, t)
    pressed = block.friction * x[block.row]
    change = e.rate - e.slope * (pressed + e.x * du1 + e.y * du2)
    total = 0.0
    for k in range(directions):
        at = v + 1 + k
        relative = polygon[0].cosines[k] * du1 + polygon[0].sines[k] * du2 + change
        dz = vectors[ALONE, at] - vectors[WEIGHT, at] * relative
        vectors[DZ, at], vectors[DW, at] = dz, relative + vectors[DEFECT, at]
        total += dz
    vectors[DZ, v + 1 + directions] = change
    vectors[DW, v + 1 + directions] = pressed - total


@kernel
def _longest(vectors: Floats, variables: int) -> float:
    """Part of the step, at most 1, that brings the first variable to zero."""
    length = 1.0
    for v in range(variables):
        if vectors[Z, v] + length * vectors[DZ, v] < 0.0:
            length = -vectors[Z, v] / vectors[DZ, v]
        if vectors[W, v] + length * vectors[DW, v] < 0.0:
            length = -vectors[W, v] / vectors[DW, v]
    return length


@kernel
def _choose_modes(
    polygon: Records, blocks: Records, n: int, G: Floats, vectors: Floats, p: Floats, u: Floats
) -> None:
    """The mode that each block tends to, and its impulses brought into it."""
    v = 0
    for i in range(n):
        block = blocks[i]
        r, t = block.row, block.row + 1
        block.mode = STICK
        if not p[r] * G[r, r] > vectors[W, v]:
            block.mode = OPEN
            for k in range(r, r + 1 + block.tangents):
                p[k] = 0.0
        elif block.tangents == 2:
            g = max(G[t, t], G[t + 1, t + 1])
            g = g if g > 0.0 else G[r, r]
            bound = block.friction * p[r]
            x, y = p[t] - u[t] / g, p[t + 1] - u[t + 1] / g
            block.mode, x, y = nearest(polygon, bound, x, y)
            if block.mode != STICK:
                p[t], p[t + 1] = x, y
        elif block.tangents == 1:
            g = G[t, t] if G[t, t] > 0.0 else G[r, r]
            bound, x = block.friction * p[r], p[t] - u[t] / g
            if abs(x) > bound:
                block.mode = SLIP if x > 0.0 else SLIP + 1
                p[t] = bound if x > 0.0 else -bound
        v += _size(polygon, block)
