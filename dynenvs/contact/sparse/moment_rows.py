"""Rows of the moments that contacts pass on, by the law of `dynenvs.contact.law.moments`.

A contact that has either gets a constraint more: row 0 is the turn of A against B about the normal,
rows 1 and 2 those about the tangents (in the plane: row 0 alone, about the axis across it).  These
constraints stand after all others, and only the contact that each belongs to knows of it: islands,
the correction of positions and the central path see contacts and limits alone.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.law.directional import second_axis
from dynenvs.contact.sparse.problem import note_span, row_velocity
from dynenvs.contact.sparse.weights import weigh_rows
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.memory.sparse_view import SparseView

NIL = 1e-14  # yield of a row over the contact's, up to which it is none


@kernel
def pose_moments(w: WorldView, scene: SparseView, count: int, first: int) -> None:
    """Constraints from number `first` on for the moments of the first `count` contacts, weighed.

    Moments start from those of the last step.
    """
    planar = w.header[0].directions == 2
    moments = w.moments
    for i in range(count):
        contact, c = w.contacts[i], scene.constraints[i]
        if (contact.spin == 0.0 and contact.roll == 0.0) or not scene.G[i, 0] > 0.0:
            continue
        if planar and contact.roll == 0.0:
            continue
        # One row about the normal; three where it resists rolling
        d = scene.constraints[first]
        d.contact, d.a, d.b, d.moments = c.contact, c.a, c.b, -1
        d.friction, d.roll = contact.spin, contact.roll
        d.rows = 1 if contact.roll == 0.0 else 3
        if planar:
            d.friction, d.rows = contact.roll, 1
        for r in range(6):
            for k in range(scene.J.shape[1]):
                scene.J[6 * first + r, k] = 0.0
        for r in range(3):
            scene.bias[first, r] = scene.p[first, r] = 0.0
        # As in `problem._pose_contact`: a body that no impulse moves is no side
        swapped = w.bodies[contact.body_a].tree < 0
        _add_side(w, scene, contact.body_a, contact, 1.0, first, 0, planar)
        other = 0 if swapped or c.b < 0 else 3
        _add_side(w, scene, contact.body_b, contact, -1.0, first, other, planar)
        note_span(scene, first)
        weigh_rows(w.dofs, w.L, scene, first)
        if _measure(scene, i, first):
            # From the last step's moments; their turns count in the certificate's scale
            for r in range(d.rows):
                scene.p[first, r] = (
                    dot3(_axis(contact, r, planar), moments[contact.candidate]) / d.length
                )
                c.speed = max(
                    c.speed, abs(row_velocity(scene, first, r, scene.free) + scene.bias[first, r])
                )
            c.moments = first
            first += 1


@inlined
def _axis(contact: Any, row: int, planar: bool) -> Floats:
    """World axis of `row`."""
    if planar:
        return contact.t2
    return contact.normal if row == 0 else (contact.t1 if row == 1 else second_axis(contact))


@inlined
def _add_side(
    w: WorkView,
    scene: SparseView,
    body: int,
    contact: Any,
    sign: float,
    number: int,
    side: int,
    planar: bool,
) -> None:
    """Add sign times the turns of a body about the axes to the rows of a constraint, or to their
    right-hand sides if it is kinematic.
    """
    # Up the tree: turns of kinematic joints go to the right-hand side
    rows = scene.constraints[number].rows
    j = w.bodies[body].last
    while j >= 0:
        for r in range(rows):
            axis = _axis(contact, r, planar)
            turn = sign * (axis[0] * w.S[j, 0] + axis[1] * w.S[j, 1] + axis[2] * w.S[j, 2])
            if w.dofs[j].kinematic:
                scene.bias[number, r] += turn * w.v_free[j]
            else:
                scene.J[6 * number + side + r, w.dofs[j].place] += turn
        j = w.dofs[j].parent


@inlined
def _measure(scene: SparseView, index: int, moments: int) -> bool:
    """Give the moments of contact `index` units in which they yield as the contact does.

    Returns False if nothing can turn there.
    """
    c, d = scene.constraints[index], scene.constraints[moments]
    # The unit is a length: with it the largest of these rows yields as the contact's own
    most = 0.0
    for r in range(d.rows):
        most = max(most, scene.G[moments, 4 * r])
    # A coefficient too small to matter, or nothing turns
    if not most * d.roll * d.roll + most * d.friction * d.friction > NIL * c.g:
        return False
    length = math.sqrt(c.g / most)
    d.length, d.friction, d.roll = length, d.friction / length, d.roll / length
    # Rows of J carry the unit once, G twice
    for r in range(d.rows):
        scene.bias[moments, r] *= length
        for side in range(2):
            for k in range(scene.J.shape[1]):
                scene.J[6 * moments + 3 * side + r, k] *= length
                scene.Z[6 * moments + 3 * side + r, k] *= length
        for k in range(3):
            scene.G[moments, 3 * r + k] *= length * length
    d.g = c.g
    return True


@inlined
def keep_moments(
    scene: SparseView, index: int, contact: Any, planar: bool, moments: Floats
) -> None:
    """Write down the moments of contact `index`, world axes [N m s]; shape (3,)."""
    n = scene.constraints[index].moments
    for k in range(3):
        moments[k] = 0.0
    if n < 0:
        return
    d = scene.constraints[n]
    for r in range(d.rows):
        axis = _axis(contact, r, planar)
        for k in range(3):
            moments[k] += d.length * scene.p[n, r] * axis[k]


@inlined
def has_moments(scene: SparseView, island: Any) -> int:
    """1 if some contact of the island passes moments on, else 0."""
    found = 0
    for k in range(island.first, island.first + island.count):
        if scene.constraints[scene.members[k]].moments >= 0:
            found = 1
    return found
