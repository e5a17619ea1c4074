"""Rows of what few models have: torsional and rolling friction of contacts, dry friction of joints.

Compiled separately from the rows that every model has.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.rows import MovingTree, Rows, moving_tree, rows_to_fill
from dynenvs.contact.law.directional import second_axis
from dynenvs.jit.compiled import inlined, unit
from dynenvs.memory.layout import Floats, WorldView

NIL = 1e-14  # yield of a row over the contact's, up to which it is none


@inlined
def moment_axis(contact: Any, row: int, planar: bool) -> Floats:
    """World axis of `row` of a contact's moments: its normal, then its tangents.

    In the plane the one row is about the axis across it.
    """
    if planar:
        return contact.t2
    return contact.normal if row == 0 else (contact.t1 if row == 1 else second_axis(contact))


@unit("extra rows", seconds=3)
def add_moment_rows(w: WorldView, count: int, v: Floats) -> int:
    """Fill the rows that `contact_rows` left for the contacts' moments: turns of A against B.

    v: velocities for the right-hand sides, shape (nv,)
    """
    for i in range(count):
        contact = w.contacts[i]
        first = contact.row + 1 + contact.tangents
        # Turns of A less turns of B
        for r in range(first, first + contact.moments):
            w.bias_row[r] = 0.0
            for j in range(w.header[0].nv):
                w.J[r, j] = 0.0
        if contact.moments > 0:
            _add_turns(moving_tree(w), contact, contact.body_a, 1.0, v, rows_to_fill(w))
            _add_turns(moving_tree(w), contact, contact.body_b, -1.0, v, rows_to_fill(w))
    return 1


@inlined
def _add_turns(
    tree: MovingTree, contact: Any, body: int, sign: float, v: Floats, rows: Rows
) -> None:
    """Add sign times the turns of a body to a contact's rows of moments, and their velocities."""
    first, planar = contact.row + 1 + contact.tangents, tree.header[0].directions == 2
    j = tree.bodies[body].last
    # The angular part of each axis, along the rows' own axes
    while j >= 0:
        rows.first[j] = min(rows.first[j], first)
        rows.after[j] = max(rows.after[j], first + contact.moments)
        for k in range(contact.moments):
            axis, S = moment_axis(contact, k, planar), tree.S
            turn = sign * (axis[0] * S[j, 0] + axis[1] * S[j, 1] + axis[2] * S[j, 2])
            rows.J[first + k, j] += turn
            rows.bias[first + k] += turn * v[j]
        j = tree.dofs[j].parent


@unit("extra rows", seconds=3)
def scale_moments(w: WorldView, count: int, rows: int) -> int:
    """Give the rows of moments, once coupled, units in which they yield as their contacts do.

    Writes each contact's `length`, zero where nothing can turn.
    """
    nv = w.header[0].nv
    for i in range(count):
        contact = w.contacts[i]
        # Mean yield of the contact's own rows against the largest of the turns': their ratio is a
        # length squared
        first, own = contact.row + 1 + contact.tangents, 0.0
        for r in range(contact.row, first):
            own += w.G[r, r] / (first - contact.row)
        most = 0.0
        for r in range(first, first + contact.moments):
            most = max(most, w.G[r, r])
        # A coefficient so small that it would never matter has no row
        bound = contact.roll * contact.roll + contact.spin * contact.spin
        contact.length = math.sqrt(own / most) if most * bound > NIL * own else 0.0
        unit = contact.length if contact.length > 0.0 else 1.0
        for r in range(first, first + contact.moments):
            # Rows and columns of all arrays that have them, in the new unit
            w.bias_row[r] *= unit
            for j in range(nv):
                w.J[r, j] *= unit
                w.Y[j, r] *= unit
            for c in range(rows):
                w.G[r, c] *= unit
            for c in range(rows):
                w.G[c, r] *= unit
    return 1


@unit("extra rows", seconds=2)
def dry_rows(w: WorldView, row: int) -> int:
    """Rows of all dry joints from `row` on; returns the number of all."""
    for i in range(w.header[0].nv):
        if w.dofs[i].friction == 0.0:
            continue
        for j in range(w.header[0].nv):
            w.J[row, j] = 0.0
        w.J[row, i] = 1.0
        w.active[i], w.block[i] = min(w.active[i], row), row + 1
        w.bias_row[row] = w.v_free[i]
        row += 1
    return row


@unit("extra rows", seconds=2)
def keep_moments(w: WorldView, count: int) -> int:
    """Keep the contacts' moments, world axes [N m s], by feature; others are cleared."""
    planar = w.header[0].directions == 2
    # Those that touched last time and do not now have none
    for k in range(w.status[0].touched):
        for a in range(3):
            w.moments[w.touched[k], a] = 0.0
    for i in range(count):
        contact = w.contacts[i]
        for a in range(3):
            w.moments[contact.candidate, a] = 0.0
        for r in range(contact.moments):
            moment = contact.length * w.impulse_row[contact.row + 1 + contact.tangents + r]
            axis = moment_axis(contact, r, planar)
            for a in range(3):
                w.moments[contact.candidate, a] += moment * axis[a]
    return count
