"""Modes of contacts: what each one does, which unknowns that gives, and when it no longer holds.

======  ==========================================  ================================
mode    meaning                                     unknowns
======  ==========================================  ================================
OPEN    no impulse                                  none
STICK   no velocity (a limit: pressed)              normal and tangential impulses
SLIP+k  slips against direction k of the pyramid    normal impulse p: p (n + mu d_k)
EDGE+k  slips between directions k and k + 1        impulses along both edges
======  ==========================================  ================================

A dry joint sticks, or slips with either bound: SLIP with the upper one, SLIP + 1 with the lower.
With nd directions, EDGE stands for SLIP + nd.  Each mode turns some complementarity conditions of
the LCP (`friction_lcp.py`) into equations; the rest are inequalities, checked here.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

OPEN, STICK, SLIP = 0, 1, 2

SLACK = 1e-12  # by which an inequality may fail, in the certificate's units, before a mode changes


@inlined
def sector(polygon: Records, x: float, y: float) -> int:
    """The k with (x, y) between directions k and k + 1."""
    directions = polygon[0].directions
    for k in range(directions - 1):
        c, s = polygon[0].cosines, polygon[0].sines
        # To the left of direction k and to the right of the next
        if c[k] * y - s[k] * x >= 0.0 and c[k + 1] * y - s[k + 1] * x < 0.0:
            return k
    return int(directions - 1)


@inlined
def split(polygon: Records, index: int, x: float, y: float) -> tuple[float, float]:
    """(a, b) with (x, y) = a d_k + b d_{index+1}."""
    after = index + 1 if index + 1 < polygon[0].directions else 0
    c0, s0 = polygon[0].cosines[index], polygon[0].sines[index]
    c1, s1 = polygon[0].cosines[after], polygon[0].sines[after]
    # Cramer's rule; `area` is the sine of the angle between the two directions
    area = c0 * s1 - s0 * c1
    return (x * s1 - y * c1) / area, (c0 * y - s0 * x) / area


@inlined
def strongest(polygon: Records, x: float, y: float) -> float:
    """Largest -d . (x, y) over the directions: the least sigma that bounds this slip, or 0."""
    largest = 0.0
    for k in range(polygon[0].directions // 2):  # the others are their exact opposites
        largest = max(largest, abs(polygon[0].cosines[k] * x + polygon[0].sines[k] * y))
    return largest


@kernel
def list_unknowns(
    polygon: Records, blocks: Records, total: int, unknowns: Records
) -> tuple[int, bool]:
    """List the unknowns and equations of all blocks' modes.

    Returns how many there are, and whether nothing slips: then their system is symmetric.
    """
    count = 0
    symmetric = True
    directions = polygon[0].directions
    for i in range(total):
        block = blocks[i]
        if block.mode == OPEN:
            continue
        if block.mode == STICK:
            for k in range(1 + block.tangents):
                count = _unknown(unknowns, count, block.row + k, 0.0, 0.0, block.row + k)
            continue
        if block.dry != 0:  # slips: its impulse is a bound
            continue
        symmetric = False
        # It slips: one unknown along the edge of the pyramid that opposes the slip
        edge = block.mode >= SLIP + directions
        k = block.mode - SLIP - (directions if edge else 0)
        mu, c, s = block.friction, polygon[0].cosines, polygon[0].sines
        count = _unknown(unknowns, count, block.row, mu * c[k], mu * s[k], block.row)
        if edge:
            # Between two directions: one along each of their edges, and both slip alike
            after = k + 1 if k + 1 < directions else 0
            row = block.row
            count = _unknown(unknowns, count, row, mu * c[after], mu * s[after], row + 1)
            last = unknowns[count - 1]
            last.combined = 1
            last.ec, last.es = c[k] - c[after], s[k] - s[after]
    return count, symmetric


@inlined
def _unknown(
    unknowns: Records, count: int, column: int, cosine: float, sine: float, equation: int
) -> int:
    unknown = unknowns[count]
    unknown.column = column
    unknown.c = cosine
    unknown.s = sine
    unknown.equation = equation
    unknown.combined = 0
    return count + 1


@kernel
def update_modes(problem: ContactProblem, answer: ContactAnswer, slack: float) -> int:
    """Change the mode of every block whose inequalities fail; returns how many changed.

    slack: by which an inequality may fail [m/s]
    The new mode is the one of the projection of p - u / G_rr on the cone, as in Alart and
    Curnier's semismooth Newton method (1991), with the pyramid's polygon for the disc.
    """
    polygon, G, p, u = problem.polygon, problem.G, answer.p, answer.u
    changed = 0
    for i in range(problem.n):
        block = problem.blocks[i]
        r = block.row
        g = G[r, r]
        if not g > 0.0:
            continue  # nothing moves here
        if block.dry != 0:
            mode = dry_mode(block, g, slack, p[r], u[r])
            if mode != block.mode:
                block.mode = mode
                changed += 1
            continue
        # The normal first: what is open and closes, or presses and would pull
        normal = p[r]
        if block.mode == OPEN:
            if u[r] >= -slack:
                continue
            # As if it stopped alone: the friction that it would have decides what it does then
            normal = -u[r] / g
        elif normal < -slack / g:
            block.mode = OPEN
            changed += 1
            continue
        # Then friction, within what the normal impulse allows
        mode = STICK
        if block.tangents == 1:
            mode = _line(block, G, normal, slack, p, u)
        elif block.tangents == 2:
            mode = _polygon(polygon, block, G, normal, slack, p, u)
        if mode != block.mode:
            block.mode = mode
            changed += 1
    return changed


@inlined
def dry_mode(block: Any, response: float, slack: float, impulse: float, velocity: float) -> int:
    """Mode of a dry joint after that in which it has the `impulse` and the `velocity`.

    response: velocity that a unit of impulse gives it
    """
    # Slipping ends where the velocity turns round; sticking where the impulse leaves the bound
    if block.mode == SLIP:
        return SLIP if velocity <= slack else STICK
    if block.mode == SLIP + 1:
        return SLIP + 1 if velocity >= -slack else STICK
    if abs(impulse) <= block.compression + slack / response:
        return STICK
    return SLIP if impulse > 0.0 else SLIP + 1


@inlined
def give_bounds(blocks: Records, total: int, impulses: Floats) -> None:
    """Dry joints that slip have their bounds for impulses."""
    for i in range(total):
        block = blocks[i]
        if block.dry != 0 and block.mode >= SLIP:
            impulses[block.row] = block.compression if block.mode == SLIP else -block.compression


@inlined
def _line(
    block: Any, G: Floats, normal: float, slack: float, impulses: Floats, velocities: Floats
) -> int:
    """Mode of a pressing contact with one tangent: directions + and - (modes SLIP and SLIP + 1)."""
    # Slip in one of both ways goes on as long as its velocity does not turn round
    t = block.row + 1
    if block.mode == SLIP and velocities[t] <= slack:
        return SLIP
    if block.mode == SLIP + 1 and velocities[t] >= -slack:
        return SLIP + 1
    # A direction without inertia is scaled like the normal
    g = G[t, t] if G[t, t] > 0.0 else G[t - 1, t - 1]
    x = impulses[t]
    if block.mode == OPEN:
        x -= velocities[t] / g
    # After slipping it tries to stick first: whether friction suffices shows with that answer
    if block.mode >= SLIP or abs(x) <= block.friction * normal + slack / g:
        return STICK
    return SLIP if x > 0.0 else SLIP + 1


@inlined
def _polygon(
    polygon: Records,
    block: Any,
    G: Floats,
    normal: float,
    slack: float,
    impulses: Floats,
    velocities: Floats,
) -> int:
    """Mode of a pressing contact with two tangents."""
    t = block.row + 1
    directions = polygon[0].directions
    g = max(G[t, t], G[t + 1, t + 1])
    if not g > 0.0:
        g = G[t - 1, t - 1]
    bound = block.friction * normal
    x, y = impulses[t], impulses[t + 1]
    # Sticking holds within the polygon: most impulses lie well inside, which is quick to see
    if block.mode == STICK:
        if _well_inside(polygon, bound, x, y):
            return STICK
        a, b = split(polygon, sector(polygon, x, y), x, y)
        if a + b <= bound + slack / g:
            return STICK
    elif block.mode != OPEN:
        # Slip along direction k holds as long as no other direction is steeper, and an edge as long
        # as both of its impulses push
        edge = block.mode >= SLIP + directions
        k = block.mode - SLIP - (directions if edge else 0)
        sigma = -polygon[0].cosines[k] * velocities[t] - polygon[0].sines[k] * velocities[t + 1]
        holds = sigma >= strongest(polygon, velocities[t], velocities[t + 1]) - slack
        if edge:
            a, b = split(polygon, k, x, y)
            holds = holds and min(a, b) >= -slack / g
        if holds:
            return int(block.mode)
    # Otherwise the mode of the projection
    mode, _, _ = nearest(polygon, bound, x - velocities[t] / g, y - velocities[t + 1] / g)
    return mode


@inlined
def _well_inside(polygon: Records, bound: float, x: float, y: float) -> bool:
    """Whether (x, y) lies in the circle that touches the edges of the polygon."""
    return bool(x * x + y * y <= 0.5 * (1.0 + polygon[0].cosines[1]) * bound * bound)


@inlined
def nearest(polygon: Records, bound: float, x: float, y: float) -> tuple[int, float, float]:
    """The point of the polygon with corners `bound` d_k that is nearest to (x, y), and its mode."""
    if _well_inside(polygon, bound, x, y):
        return STICK, x, y
    directions = polygon[0].directions
    k = sector(polygon, x, y)
    a, b = split(polygon, k, x, y)
    if a + b <= bound:
        return STICK, x, y
    # Beyond the edge between directions k and k + 1: the nearest point of it, or a corner
    after = k + 1 if k + 1 < directions else 0
    c0, s0 = polygon[0].cosines[k], polygon[0].sines[k]
    ex, ey = polygon[0].cosines[after] - c0, polygon[0].sines[after] - s0
    along = (x - bound * c0) * ex + (y - bound * s0) * ey
    length = bound * (ex * ex + ey * ey)
    share = min(max(along / length, 0.0), 1.0) if length > 0.0 else 0.0
    mode = int(SLIP + directions + k)
    if share == 0.0:
        mode = SLIP + k
    elif share == 1.0:
        mode = SLIP + after
    return mode, bound * (c0 + share * ex), bound * (s0 + share * ey)


@inlined
def nearest_mode(
    polygon: Records, block: Any, G: Floats, impulses: Floats, velocities: Floats
) -> tuple[int, float, float]:
    """Mode of a contact that presses, and the tangential impulse that it has in this mode.

    Both are those of the projection of p_t - u_t / g on the contact's polygon.  Of a dry joint it
    is the mode alone.
    """
    r, t = block.row, block.row + 1
    if block.dry != 0:
        y = impulses[r] - velocities[r] / G[r, r]
        return (STICK if abs(y) <= block.compression else (SLIP if y > 0.0 else SLIP + 1)), 0.0, 0.0
    # With the compression: in the second half of an impact friction sees both impulses
    bound = block.friction * (impulses[r] + block.compression)
    if block.tangents == 2:
        g = max(G[t, t], G[t + 1, t + 1])
        g = g if g > 0.0 else G[r, r]
        return nearest(
            polygon, bound, impulses[t] - velocities[t] / g, impulses[t + 1] - velocities[t + 1] / g
        )
    mode, x = STICK, 0.0
    if block.tangents == 1:
        g = G[t, t] if G[t, t] > 0.0 else G[r, r]
        x = impulses[t] - velocities[t] / g
        if abs(x) > bound:
            mode = SLIP if x > 0.0 else SLIP + 1
            x = bound if x > 0.0 else -bound
    return mode, x, 0.0
