"""Soles that stick as wholes: the first guess of Newton's method, in few unknowns.

The corners of a sole that sticks all say the same: that a rigid body is at rest.  Six patterns of
impulses do what all of theirs can: pressing alike, tilting about two axes, two pushes and a turn.
Other impulses of the same corners only squeeze; without them the system is regular, and a quarter
as large or less.  These are the impulses of least norm among all that hold the sole; where they do
not fit the corners' cones, the load is shared in another way (`load_distribution.py`).

Source: the patterns span the range of the grasp map's transpose, what squeezes is its null space
(Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, chapter 5).
"""

from __future__ import annotations

from dynenvs.contact.assembly.problem import ContactAnswer, ContactProblem, Scratch, row_velocities
from dynenvs.contact.solvers.load_distribution import share_loads
from dynenvs.contact.solvers.modes import OPEN, STICK, give_bounds
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.lcp.dense import factorise_symmetric, substitute_symmetric
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import HALF_SPACE

PATTERNS = 6
LEVEL = 1e-3  # least over largest second moment of a sole's corners: fewer lie on a line
REFINEMENTS = 4
PROXIMAL = 1e-9  # relative to the diagonal


@kernel
def find_soles(contacts: Records, count: int, blocks: Records) -> None:
    """Mark the first of the blocks of each sole by `corners`, and place all of them in its plane.

    A sole is three or more contacts with friction of one body on one plane, not on a line.
    """
    for i in range(count):
        blocks[i].corners = 0
    i = 0
    # Contacts of one sole stand together, in a group of their own
    while i < count:
        m = 1
        if contacts[i].kind == HALF_SPACE:
            while i + m < count and contacts[i + m].group == contacts[i].group:
                m += 1
        # Without friction, or with another one along each direction, patterns do not hold
        rubs = True
        for k in range(i, i + m):
            rubs = rubs and contacts[k].tangents == 2 and contacts[k].skewed == 0
        if m > 2 and rubs:
            _place_corners(contacts, i, m, blocks)
        i += m


@inlined
def _place_corners(contacts: Records, first: int, corners: int, blocks: Records) -> None:
    """Coordinates of a sole's corners from their centre, along the tangents.

    Writes the number of corners into the first one's block, if they span an area.
    """
    t1, t2, origin = contacts[first].t1, contacts[first].t2, contacts[first].point
    # Along the tangents, from the first corner on, for the centre is not known yet
    x, y = 0.0, 0.0
    for k in range(first, first + corners):
        block, at = blocks[k], contacts[k].point
        block.x = block.y = 0.0
        for a in range(3):
            block.x += t1[a] * (at[a] - origin[a])
            block.y += t2[a] * (at[a] - origin[a])
        x += block.x / corners
        y += block.y / corners
    # Second moments about the centre: corners near a line would leave one tilt undetermined
    xx, xy, yy = 0.0, 0.0, 0.0
    for k in range(first, first + corners):
        block = blocks[k]
        block.x -= x
        block.y -= y
        xx += block.x * block.x
        xy += block.x * block.y
        yy += block.y * block.y
    total = xx + yy
    if xx * yy - xy * xy > LEVEL * total * total:
        blocks[first].corners = corners


@inlined
def guess_wholes(blocks: Records, count: int) -> None:
    """A sole of which one corner is thought to stick is thought to stick as a whole.

    blocks: `count` of them, soles marked, in the modes that are guessed for each alone
    """
    for i in range(count):
        last = i + blocks[i].corners
        hit = False
        for k in range(i, last):
            hit = hit or blocks[k].mode == STICK
        for k in range(i, last if hit else i):
            blocks[k].mode = STICK


@inlined
def any_sole(blocks: Records, count: int) -> bool:
    """Whether a sole is thought to stick, by the mode of its first corner."""
    found = False
    for i in range(count):
        found = found or (blocks[i].corners > 0 and blocks[i].mode == STICK)
    return found


@kernel
def hold_soles(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, exact: float
) -> bool:
    """Impulses by which all blocks that stick do so, and their velocities; soles as wholes.

    exact: velocities so small are nil [m/s]
    Returns False where no whole sole sticks, or something slips: there is nothing to gain.
    """
    blocks, n, rows = problem.blocks, problem.n, problem.rows
    K, p, u = scratch.K, answer.p, answer.u
    # Too few unknowns to gain from, or too many for the rows of K
    k, alone = _count_unknowns(blocks, n)
    if k == 0 or 2 * k > K.shape[0]:
        return False
    # Velocities by each unknown, then how these move the unknowns' own motions
    effects = K[k : 2 * k]
    _add_effects(blocks, n, problem.G, rows, effects)
    for a in range(k):
        _sum_patterns(blocks, n, effects[a], K[a])
        if alone:  # two corners of a foot are redundant as ever; soles' unknowns are not
            K[a, a] *= 1.0 + PROXIMAL
    factorise_symmetric(K, k)
    for r in range(rows):
        p[r] = 0.0
    give_bounds(blocks, n, p)
    # From no impulses: those of least norm come out
    row_velocities(problem, p, u)
    _bring_to_rest(problem, answer, scratch, k, exact)
    # The load shared anew has no corner pull, but rounding has moved the soles a little
    if share_loads(problem.polygon, blocks, n, scratch.x, p):
        row_velocities(problem, p, u)
        _bring_to_rest(problem, answer, scratch, k, exact)
    return True


@inlined
def _bring_to_rest(
    problem: ContactProblem, answer: ContactAnswer, scratch: Scratch, count: int, exact: float
) -> None:
    """Add what brings u to zero, by the factors K of the `count` unknowns, to impulses p."""
    blocks, n, right, x = problem.blocks, problem.n, scratch.right, scratch.x
    for _ in range(REFINEMENTS):
        # The patterns of the velocities are what is left of the motion
        _sum_patterns(blocks, n, answer.u, right)
        worst = 0.0
        for a in range(count):
            worst = max(worst, abs(right[a]))
            right[a] = -right[a]
        if not worst > exact:
            break
        substitute_symmetric(scratch.K, count, right, x)
        _spread(blocks, n, x, answer.p)
        row_velocities(problem, answer.p, answer.u)


@inlined
def _count_unknowns(blocks: Records, count: int) -> tuple[int, bool]:
    """How many unknowns there are, or 0, and whether some are no sole's.

    `corners` stays of soles that stick as wholes.
    """
    k, soles = 0, 0
    alone = False
    last = 0
    for i in range(count):
        block = blocks[i]
        # Something slips: this guess has nothing to say
        if block.mode > STICK and block.dry == 0:
            return 0, False
        # A sole of which a corner does otherwise is no whole
        for j in range(i + 1, i + block.corners):
            if blocks[j].mode != blocks[i].mode:
                block.corners = 0
        if block.mode == OPEN:
            block.corners = 0
        if block.corners > 0:
            k += PATTERNS
            soles += 1
            last = i + block.corners
        elif i >= last and block.mode == STICK:
            k += 1 + block.tangents
            alone = True
    return k if soles > 0 else 0, alone


@kernel
def _add_effects(blocks: Records, count: int, G: Floats, rows: int, effects: Floats) -> None:
    """Velocities of all rows by a unit of each unknown, shape (unknowns, rows)."""
    a, i = 0, 0
    while i < count:
        # A sole: one row for each pattern, however many corners it has
        m = blocks[i].corners
        if m > 0:
            _add_sole(blocks, i, m, G, rows, effects[a : a + PATTERNS])
            a += PATTERNS
            i += m
            continue
        if blocks[i].mode == STICK:
            for r in range(blocks[i].row, blocks[i].row + 1 + blocks[i].tangents):
                for c in range(rows):
                    effects[a, c] = G[r, c]
                a += 1
        i += 1


@inlined
def _add_sole(
    blocks: Records, first: int, corners: int, G: Floats, rows: int, effects: Floats
) -> None:
    # Sums over the corners of normal and tangential rows, weighted by where they are
    for a in range(PATTERNS):
        for c in range(rows):
            effects[a, c] = 0.0
    for j in range(first, first + corners):
        r, x, y = blocks[j].row, blocks[j].x, blocks[j].y
        for c in range(rows):
            normal, along, across = G[r, c], G[r + 1, c], G[r + 2, c]
            effects[0, c] += normal
            effects[1, c] += x * normal
            effects[2, c] += y * normal
            effects[3, c] += along
            effects[4, c] += across
            effects[5, c] += x * across - y * along


@kernel
def _sum_patterns(blocks: Records, count: int, values: Floats, sums: Floats) -> None:
    """What all unknowns' patterns make of the rows' values, shapes (rows,) and (unknowns,)."""
    a, i = 0, 0
    while i < count:
        block = blocks[i]
        if block.corners > 0:
            s0, s1, s2, s3, s4, s5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(i, i + block.corners):
                r, x, y = blocks[j].row, blocks[j].x, blocks[j].y
                normal, along, across = values[r], values[r + 1], values[r + 2]
                s0 += normal
                s1 += x * normal
                s2 += y * normal
                s3 += along
                s4 += across
                s5 += x * across - y * along
            sums[a], sums[a + 1], sums[a + 2] = s0, s1, s2
            sums[a + 3], sums[a + 4], sums[a + 5] = s3, s4, s5
            a += PATTERNS
            i += block.corners
            continue
        if block.mode == STICK:
            for r in range(block.row, block.row + 1 + block.tangents):
                sums[a] = values[r]
                a += 1
        i += 1


@kernel
def _spread(blocks: Records, count: int, solution: Floats, impulses: Floats) -> None:
    """Add the unknowns' patterns to the rows' impulses."""
    a, i = 0, 0
    while i < count:
        block = blocks[i]
        if block.corners > 0:
            for j in range(i, i + block.corners):
                r, at, up = blocks[j].row, blocks[j].x, blocks[j].y
                impulses[r] += solution[a] + at * solution[a + 1] + up * solution[a + 2]
                impulses[r + 1] += solution[a + 3] - up * solution[a + 5]
                impulses[r + 2] += solution[a + 4] + at * solution[a + 5]
            a += PATTERNS
            i += block.corners
            continue
        if block.mode == STICK:
            for r in range(block.row, block.row + 1 + block.tangents):
                impulses[r] += solution[a]
                a += 1
        i += 1
