"""Constraint rows of the contact problem: their Jacobians, right-hand sides and coupling.

Rows: for each contact its normal and tangents, then one row for each joint limit in reach.  W is
M^-1 in the forward problem and Z (Z^T M Z)^-1 Z^T in the inverse one (docs/theory.md, Delassus
matrix); either comes as sparse factors L^T D L, and

    Y = L^-T J^T,   G = Y^T D^-1 Y,   b = J v_free + gap / dt on normal rows,

and on tangential rows the velocity with which surfaces run along each other besides (belts).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dynenvs.jit.compiled import inlined, inlined_source, kernel
from dynenvs.kinematics.spatial import dot3
from dynenvs.kinematics.triples import Three, dot, entries, subtract
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, Ints, Records, WorkView
from dynenvs.memory.records import FREE, STOPS
from dynenvs.simd.vectors import add_multiple, add_outer

SLIP = 1e-8  # predicted slip that turns the first direction; slower is called sticking [m/s]
# Limits this far away are part of the problem, beyond what the velocity predicts: pushes change it
REACH = 0.05  # [rad, m]
LEVER = 1e-13  # of a normal about a joint's axis; less is rounding [m]
TOUCH = 1e-8  # gap up to which parts meet in an impact, which takes no time [m, rad]


class MovingTree(NamedTuple):
    """Bodies, degrees of freedom, poses and joint axes: what a Jacobian is made of."""

    header: Records
    bodies: Records
    dofs: Records
    poses: Records
    S: Floats


class Rows(NamedTuple):
    """Where constraint rows go."""

    first: Ints  # all rows that coordinate j moves are first[j] to after[j] - 1, shape (nv,)
    after: Ints
    J: Floats
    bias: Floats  # right-hand sides


@inlined
def moving_tree(w: WorkView) -> MovingTree:
    """Of the poses in the workspace."""
    return MovingTree(w.header, w.bodies, w.dofs, w.pose, w.S)


@inlined
def rows_to_fill(w: WorkView) -> Rows:
    """Those of the step's contact problem."""
    return Rows(w.active, w.block, w.J, w.bias_row)


@inlined
def closing_speed(gap: float, dt: float) -> float:
    """Speed at which a gap closes within a step of length dt; an impact (dt = 0) closes none."""
    return gap / dt if dt > 0.0 else 0.0


@inlined
def is_limit_near(gap: float, speed: float, dt: float) -> bool:
    """Whether a joint limit belongs to the problem of a step of length dt, or of an impact (0)."""
    return bool(gap + dt * speed < REACH if dt > 0.0 else gap <= TOUCH)


@inlined
def contact_velocity(w: WorkView, contact: Any, v: Floats) -> Three:
    """Velocity [m/s] of A from B at a contact's point where coordinates move with v, in world axes.

    J v without the rows of J: the work is that of the bodies on the way to the root.
    """
    x, y, z = 0.0, 0.0, 0.0
    for side in range(2):
        body = contact.body_b if side else contact.body_a
        if body == 0:
            continue
        sign, origin = -1.0 if side else 1.0, w.pose[w.bodies[body].root].p
        rx, ry, rz = subtract(entries(contact.point, 0), entries(origin, 0))
        j = w.bodies[body].last
        # Coordinate by coordinate up the tree: S_v + S_w x r
        while j >= 0:
            s, rate = w.S[j], sign * v[j]
            x += rate * (s[3] + s[1] * rz - s[2] * ry)
            y += rate * (s[4] + s[2] * rx - s[0] * rz)
            z += rate * (s[5] + s[0] * ry - s[1] * rx)
            j = w.dofs[j].parent
    return (x, y, z)


@inlined
def normal_velocity(w: WorkView, contact: Any, v: Floats) -> float:
    """Velocity [m/s] at which a contact opens along its normal where coordinates move with v."""
    return dot(entries(contact.normal, 0), contact_velocity(w, contact, v))


@inlined_source
def _add_point_rows(
    tree: MovingTree, body: int, origin: Floats, contact: Any, sign: float, v: Floats, rows: Rows
) -> tuple[float, float, float]:
    """Add sign * (n, t1, t2)^T J_point of a body to the contact's rows; returns their velocities.

    Column j of J_point is the velocity that coordinate j gives the point: S_v + S_w x r.
    """
    # Entries in locals: the arrays' addresses are not read anew in each round
    n, t1, t2 = contact.normal, contact.t1, contact.t2
    n0, n1, n2 = n[0], n[1], n[2]
    a0, a1, a2 = t1[0], t1[1], t1[2]
    b0, b1, b2 = t2[0], t2[1], t2[2]
    at = contact.point
    x, y, z = at[0] - origin[0], at[1] - origin[1], at[2] - origin[2]
    r, tangents = contact.row, contact.tangents
    un, u1, u2 = 0.0, 0.0, 0.0
    S, J, first, after = tree.S, rows.J, rows.first, rows.after
    # Up the tree: entry, and its part of the rows' velocity
    j = tree.bodies[body].last
    while j >= 0:
        w0, w1, w2 = S[j, 0], S[j, 1], S[j, 2]
        vx = sign * (S[j, 3] + w1 * z - w2 * y)
        vy = sign * (S[j, 4] + w2 * x - w0 * z)
        vz = sign * (S[j, 5] + w0 * y - w1 * x)
        first[j], after[j] = min(first[j], r), r + 1 + tangents
        rate = v[j]
        entry = n0 * vx + n1 * vy + n2 * vz
        J[r, j] += entry
        un += entry * rate
        if tangents > 0:
            entry = a0 * vx + a1 * vy + a2 * vz
            J[r + 1, j] += entry
            u1 += entry * rate
        if tangents > 1:
            entry = b0 * vx + b1 * vy + b2 * vz
            J[r + 2, j] += entry
            u2 += entry * rate
        j = tree.dofs[j].parent
    return un, u1, u2


@inlined
def may_be_stuck(bodies: Records, contact: Any) -> bool:
    """Whether a contact could be one that no coordinate parts: not one of a free body's alone."""
    return bool(contact.body_b > 0 or bodies[bodies[contact.body_a].root].joint != FREE)


@inlined
def is_rounding(J: Floats, row: int, size: int) -> bool:
    """Whether a normal's row is zero but for rounding: no coordinate parts that contact.

    A bearing is such a contact, whose normal meets the axis.  Any impulse would solve its row, and
    bound its friction by nothing; it gets none.
    """
    largest = 0.0
    for j in range(size):
        largest = max(largest, abs(J[row, j]))
    return largest < LEVER


@inlined_source
def reference_tangents(contact: Any, planar: bool) -> None:
    """Tangents by the world's axes: t1 in the x-z plane (or nearest to x), t2 = n x t1."""
    n, t1, t2 = contact.normal, contact.t1, contact.t2
    if planar or abs(n[1]) < 0.9:  # t1 = y x n
        x, y, z = n[2], 0.0, -n[0]
    else:  # t1 = z x n
        x, y, z = -n[1], n[0], 0.0
    # Both ways above are at least 0.4 long: no division by nearly nothing
    length = math.sqrt(x * x + y * y + z * z)
    t1[0], t1[1], t1[2] = x / length, y / length, z / length
    t2[0] = n[1] * t1[2] - n[2] * t1[1]
    t2[1] = n[2] * t1[0] - n[0] * t1[2]
    t2[2] = n[0] * t1[1] - n[1] * t1[0]


@inlined
def _align_tangents(
    contacts: Records, count: int, index: int, nv: int, J: Floats, bias: Floats
) -> None:
    """Turn t1 along the predicted slip: this removes most of a pyramid's bias.

    The slip is the sum over all contacts of the same two bodies.  A direction of its own for each
    foot of a slowly sliding body would turn with the body's spin and feed it.
    """
    # The slip of everything between the two bodies
    contact = contacts[index]
    r = contact.row
    s1, s2 = 0.0, 0.0
    for k in range(count):
        other = contacts[k]
        both = other.body_a == contact.body_a and other.body_b == contact.body_b
        if both and other.skewed == 0:
            slip = other.impulse  # holds the predicted slip, world axes, until the solve
            for a in range(3):
                s1 += slip[a] * contact.t1[a]
                s2 += slip[a] * contact.t2[a]
    speed = math.sqrt(s1 * s1 + s2 * s2)
    if speed < SLIP:
        return
    # Tangents, rows and right-hand sides turn by the same angle
    c, s = s1 / speed, s2 / speed
    for k in range(3):
        a, b = contact.t1[k], contact.t2[k]
        contact.t1[k] = c * a + s * b
        contact.t2[k] = c * b - s * a
    for j in range(nv):
        a, b = J[r + 1, j], J[r + 2, j]
        J[r + 1, j] = c * a + s * b
        J[r + 2, j] = c * b - s * a
    a, b = bias[r + 1], bias[r + 2]
    bias[r + 1] = c * a + s * b
    bias[r + 2] = c * b - s * a


@inlined
def moment_count(contact: Any, planar: bool) -> int:
    """How many rows a contact's torsional and rolling friction have: 0, 1 or 3."""
    if planar:
        return 1 if contact.roll > 0.0 else 0
    if contact.roll > 0.0:
        return 3
    return 1 if contact.spin > 0.0 else 0


@kernel
def contact_rows(
    tree: MovingTree, contacts: Records, count: int, v: Floats, dt: float, rows: Rows, turns: bool
) -> int:
    """Rows J and right-hand sides of the contacts; returns the number of rows.

    `v` is the velocity without contact impulses, shape (nv,): it gives the right-hand side and
    the predicted slip.
    dt: length of the step, or 0 in an impact, in which no gap closes
    turns: whether rows are left for torsional and rolling friction (`more_rows.py` fills them)
    Tangents of skewed contacts are set already (`dynenvs.contact.law.directional`).
    """
    # Which rows move each coordinate: none so far
    planar = tree.header[0].directions == 2
    nv = tree.header[0].nv
    first, after, J, bias = rows.first, rows.after, rows.J, rows.bias
    r = integer(0)
    for j in range(nv):
        first[j], after[j] = J.shape[0], 0
    for i in range(count):
        contact = contacts[i]
        contact.row = r
        # Without friction the slip bound sigma would be indeterminate: no tangential rows.
        contact.tangents = 0 if contact.friction == 0.0 else (1 if planar else 2)
        contact.moments = moment_count(contact, planar) if turns else 0
        if contact.skewed == 0:
            reference_tangents(contact, planar)
        for k in range(r, r + 1 + contact.tangents):
            for j in range(nv):
                J[k, j] = 0.0
        # Rows of both bodies, and the free velocity along them
        un, u1, u2 = 0.0, 0.0, 0.0
        for side in range(2):
            body = contact.body_a if side == 0 else contact.body_b
            if body > 0:
                origin = tree.poses[tree.bodies[body].root].p
                sign = 1.0 if side == 0 else -1.0
                a, b, c = _add_point_rows(tree, body, origin, contact, sign, v, rows)
                un, u1, u2 = un + a, u1 + b, u2 + c
        if may_be_stuck(tree.bodies, contact) and is_rounding(J, r, nv):
            for k in range(r, r + 1 + contact.tangents):
                for j in range(nv):
                    J[k, j] = 0.0
            un = u1 = u2 = 0.0
        # Right-hand sides: the velocity that closes the gap, and what belts add
        bias[r] = un + closing_speed(contact.target, dt)
        if contact.drifts:
            u1, u2 = u1 + dot3(contact.t1, contact.drift), u2 + dot3(contact.t2, contact.drift)
        if contact.tangents > 0:
            bias[r + 1] = u1
        if contact.tangents == 2:
            bias[r + 2] = u2
            for k in range(3):
                contact.impulse[k] = u1 * contact.t1[k] + u2 * contact.t2[k]
        else:
            for k in range(3):
                contact.impulse[k] = 0.0
        r += 1 + contact.tangents + contact.moments
    # Tangents along the predicted slip, as far as contacts of one body agree on it
    if not planar:
        for i in range(count):
            if contacts[i].tangents == 2 and contacts[i].skewed == 0:
                _align_tangents(contacts, count, i, nv, J, bias)
    return r


@kernel
def limit_rows(
    dofs: Records,
    q: Floats,
    row: int,
    v: Floats,
    expected: Floats,
    dt: float,
    first: Ints,
    after: Ints,
    J: Floats,
    bias: Floats,
) -> int:
    """Rows of the stops in reach of hinges and slides (frictionless, gap/dt like a normal).

    +-e_i for the stop that is nearer at the end of the step, moving with the velocities `expected`.
    Those of balls follow (`swing_rows`).  v: of free motion
    """
    nv = dofs.shape[0]
    for i in range(nv):
        dof = dofs[i]
        if dof.limited != STOPS:
            continue
        # The stop that the coordinate is going to be nearer to
        gap, sign = stop_ahead(dof, q, expected[i], dt)
        if is_limit_near(gap, sign * expected[i], dt):
            for j in range(nv):
                J[row, j] = 0.0
            J[row, i] = sign
            first[i], after[i] = min(first[i], row), row + 1
            bias[row] = sign * v[i] + closing_speed(max(gap, 0.0), dt)
            row += 1
    return row


@inlined
def stop_ahead(dof: Any, q: Floats, v: float, dt: float) -> tuple[float, float]:
    """The stop of a hinge or slide that is nearer after dt [s] at the rate v [rad/s, m/s].

    Returns how far away it is now [rad, m], and the direction that leads back from it, 1 or -1.
    """
    low, high = q[dof.q_at] - dof.lower, dof.upper - q[dof.q_at]
    if low + dt * v < high - dt * v:
        return low, 1.0
    return high, -1.0


@inlined
def after_contacts(contacts: Records, count: int) -> int:
    """The first row that is none of the contacts'."""
    if count == 0:
        return 0
    last = contacts[count - 1]
    return int(last.row + 1 + last.tangents + last.moments)


@inlined
def limited_coordinate(J: Floats, row: int) -> int:
    """The coordinate that a joint limit's row acts on: its only entry, or the first of a ball's."""
    j = 0
    while J[row, j] == 0.0:
        j += 1
    return j


@inlined
def first_limited(dofs: Records, coordinate: int) -> int:
    """The coordinate that has the limit of `coordinate`: itself, or the first one of its ball."""
    while dofs[coordinate].limited == 0:
        coordinate -= 1
    return coordinate


@kernel
def couple(
    dofs: Records,
    J: Floats,
    factors: Floats,
    rows: int,
    free_dof_mask: Floats,
    first: Ints,
    after: Ints,
    Y: Floats,
    G: Floats,
) -> None:
    """Y and G of all rows, for the coordinates that yield.

    A coordinate moves few rows, which mostly stand side by side (those of one foot): all sums run
    over its own span of rows, in blocks of four that fill a vector register.

    first, after: the rows that each coordinate moves, as `contact_rows` leaves them
    """
    nv = dofs.shape[0]
    padded = (rows + 3) // 4 * 4
    # Y begins as J^T; each span of rows is widened to whole registers
    for j in range(nv):
        for r in range(padded):
            Y[j, r] = 0.0
        for r in range(first[j], after[j]):
            Y[j, r] = J[r, j] * free_dof_mask[j]
        first[j], after[j] = first[j] // 4 * 4, (after[j] + 3) // 4 * 4
    # L^-T, tips to base; a parent's span grows to hold its children's
    for i in range(nv - 1, -1, -1):
        low, high = first[i], after[i]
        j = dofs[i].parent if low < high else -1
        while j >= 0:
            first[j], after[j] = min(first[j], low), max(after[j], high)
            add_multiple(Y, j, Y, i, low, high, -factors[i, j])
            j = dofs[j].parent
    # G is symmetric: the blocks from the diagonal on, then their images
    for r in range(padded):
        for c in range(r // 4 * 4, padded):
            G[r, c] = 0.0
    for j in range(nv):
        low, high, inverse = first[j], after[j], factors[j, j]
        for block in range(low, high, 4):
            add_outer(G, block, Y, j, block, high, inverse)
    for r in range(rows):
        for c in range(r):
            G[r, c] = G[c, r]
