"""Viscous friction beside Coulomb's: a film of oil between surfaces that touch.

    |p_t| <= mu p_n + c |u_t| dt

The second part is a dashpot along the contact's plane, c in N s/m, which by the bound acts whether
the contact presses or not: a film.  So p_t = q + d, with Coulomb's law for q and, implicitly,

    d = -c dt u_t,    or of the midpoint rule    d = -c dt (u_t + u_t-) / 2,

u_t- the slip at the start of the step.  That is linear: with the rows J of all films and E, the
diagonal matrix of 1 / (c dt) (by the midpoint rule of 2 / (c dt)),

    J v+ + E d = 0,    K = J M^-1 J^T + E,

so that films are taken out of the contact problem as closed loops are (`contact.assembly.loops`):

    v_free <- v_free - M^-1 J^T K^-1 J v_free,    M^-1 <- M^-1 - M^-1 J^T K^-1 J M^-1.

What is left is the problem of Coulomb's law alone, as convex as ever, whose solvers and certificate
know nothing of films.  A film only takes energy: d . u_t <= 0.

Which contacts have one is known at the start of the step: those that touch there.  A contact first
made within a step has none in that step, and one that parts within it still has it to the step's
end; impacts take no time, in which a film gives no impulse.

A coefficient is that of a pair of geoms, in equal parts of all points in which they touch: a block
that slides on four corners is slowed by c v, as one that slides on two is.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.loops import HELD, respect_loops
from dynenvs.contact.assembly.rows import (
    MovingTree,
    Rows,
    couple,
    moving_tree,
    reference_tangents,
    rows_to_fill,
)
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.spatial import dot3
from dynenvs.kinematics.triples import entries
from dynenvs.lcp.dense import factorise_symmetric, substitute_symmetric
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, WorldView, damped_time

TOUCHES = 1e-6  # gap up to which parts touch [m], as `World.contacts` lists them
STIFFEST = 1e-10  # part of its slip that each film leaves at least: less is rounding


@unit("film", seconds=4)
def hold_film(w: WorldView, count: int, dt: float) -> int:
    """Take from `w.v_free` what the films of the first `count` contacts resist; -1: not compiled.

    Needs poses, axes and factors `w.L`, and `w.v_free` that closed loops hold already.
    Writes `w.film` and `w.answer.film`, the number of its rows, which it returns.
    """
    film, p = w.film, w.impulse_row
    rows = _list_rows(w, count, damped_time(w, dt), dt)
    w.answer[0].film = rows
    if rows == 0:
        return 0
    # How the rows move each other
    couple(w.dofs, w.J, w.L, rows, w.free_dof_mask, w.active, w.block, w.Y, w.G)
    if w.header[0].ne > 0 and respect_loops(w, rows) != HELD:
        return -1
    for r in range(rows):
        for c in range(rows):
            film.K[r, c] = w.G[r, c]
        film.K[r, r] += max(film.softness[r], STIFFEST * w.G[r, r])
    factorise_symmetric(film.K, rows)
    substitute_symmetric(film.K, rows, w.bias_row, film.x)
    # What they give the free motion; the rows of `w.Y` stay, for contacts
    for j in range(w.header[0].nv):
        for r in range(rows):
            film.Y[j, r] = w.Y[j, r]
    for r in range(rows):
        p[r] = -film.x[r]
    apply_impulses(w.dofs, w.Y, w.L, p, rows, w.rhs, w.v_free)
    return int(rows)


@inlined
def _list_rows(w: WorldView, count: int, time: float, dt: float) -> int:
    """Rows of all films into `w.J` and `w.bias_row`; returns how many there are.

    time: for which the velocity at the end of the step counts, all of dt or half of it [s]
    """
    film, tree, rows = w.film, moving_tree(w), rows_to_fill(w)
    nv, planar = w.header[0].nv, w.header[0].directions == 2
    tangents, before = 1 if planar else 2, dt / time - 1.0
    for j in range(nv):
        rows.first[j], rows.after[j] = rows.J.shape[0], 0
    r = integer(0)
    for i in range(count):
        contact = w.contacts[i]
        if not (w.features[contact.source].viscous > 0.0 and contact.gap <= TOUCHES):
            continue
        reference_tangents(contact, planar)
        for k in range(tangents):
            axis, J = contact.t1 if k == 0 else contact.t2, rows.J
            film.contact[r] = i
            for a in range(3):
                film.axis[r, a] = axis[a]
            for j in range(nv):
                J[r, j] = 0.0
            _add_point(tree, contact, contact.body_a, 1.0, film.axis[r], r, rows)
            _add_point(tree, contact, contact.body_b, -1.0, film.axis[r], r, rows)
            # Velocities at the end, and by the midpoint rule at the start, belts included
            drift = dot3(axis, contact.drift) if contact.drifts else 0.0
            rows.bias[r] = (1.0 + before) * drift
            for j in range(nv):
                rows.bias[r] += J[r, j] * (w.v_free[j] + before * w.v[j])
            r += 1
    # Each point has its part of its pair's coefficient
    for k in range(r):
        feature = w.features[w.contacts[film.contact[k]].source]
        points = _rows_of(w, feature, r) / tangents
        film.softness[k] = points / (feature.viscous * time)
    return int(r)


@inlined
def _rows_of(w: WorldView, feature: Any, rows: int) -> int:
    """How many of the films' rows are those of a feature's two geoms."""
    count = 0
    for r in range(rows):
        other = w.features[w.contacts[w.film.contact[r]].source]
        count += 1 if other.geom_a == feature.geom_a and other.geom_b == feature.geom_b else 0
    return count


@inlined
def _add_point(
    tree: MovingTree, contact: Any, body: int, sign: float, axis: Floats, row: int, rows: Rows
) -> None:
    """Add to a row sign times the velocity along `axis` of a body's point at the contact."""
    x, y, z = entries(contact.point, 0)
    origin = tree.poses[tree.bodies[body].root].p
    x, y, z = x - origin[0], y - origin[1], z - origin[2]
    S = tree.S
    j = tree.bodies[body].last
    while j >= 0:
        speed = axis[0] * (S[j, 3] + S[j, 1] * z - S[j, 2] * y)
        speed += axis[1] * (S[j, 4] + S[j, 2] * x - S[j, 0] * z)
        speed += axis[2] * (S[j, 5] + S[j, 0] * y - S[j, 1] * x)
        rows.J[row, j] += sign * speed
        rows.first[j], rows.after[j] = min(rows.first[j], row), row + 1
        j = tree.dofs[j].parent


@unit("film", seconds=2)
def respect_film(w: WorldView, rows: int) -> int:
    """`w.Y` and `w.G` of the contact rows with the films' resistance, after `hold_film`.

    The inner loops run along the contact rows.  Leaves `film.T` = K^-1 J M^-1 J_c^T.
    """
    film, n = w.film, w.answer[0].film
    K, T, G, Y = film.K, film.T, w.G, w.Y
    w.answer[0].rooted = 0
    # T = J M^-1 J_c^T, then L^-1 T
    for q in range(n):
        for c in range(rows):
            T[q, c] = 0.0
        for j in range(w.header[0].nv):
            factor = film.Y[j, q] * w.L[j, j]
            if factor != 0.0:
                for c in range(rows):
                    T[q, c] += factor * Y[j, c]
    for q in range(n):
        for r in range(q + 1, n):
            factor = K[q, r] * K[q, q]
            for c in range(rows):
                T[r, c] -= factor * T[q, c]
    # G - T^T K^-1 T is symmetric to the last bit
    for q in range(n):
        for r in range(rows):
            factor = T[q, r] * K[q, q]
            for c in range(r, rows):
                G[r, c] -= factor * T[q, c]
    for r in range(rows):
        for c in range(r):
            G[r, c] = G[c, r]
    # K^-1 T, and Y less what it gives
    for q in range(n):
        for c in range(rows):
            T[q, c] *= K[q, q]
    for q in range(n - 1, -1, -1):
        for r in range(q):
            for c in range(rows):
                T[r, c] -= K[q, r] * T[q, c]
    for j in range(w.header[0].nv):
        for q in range(n):
            factor = film.Y[j, q]
            if factor != 0.0:
                for c in range(rows):
                    Y[j, c] -= factor * T[q, c]
    return rows


@unit("film", seconds=2)
def keep_drag(w: WorldView, rows: int) -> int:
    """Keep what films gave each contact, world axes [N s], and add it to the contacts' impulses.

    rows: of the contacts, whose impulses Coulomb's law has given
    """
    film = w.film
    for r in range(w.answer[0].film):
        total = film.x[r]
        for c in range(rows):
            total += film.T[r, c] * w.impulse_row[c]
        candidate = w.contacts[film.contact[r]].candidate
        for a in range(3):
            w.drag[candidate, a] -= total * film.axis[r, a]
            w.memory[candidate].impulse[a] -= total * film.axis[r, a]
    return rows


@inlined
def touched_by_film(w: WorldView, body: int) -> bool:
    """Whether a film acts on a body in the step at hand."""
    found = False
    for r in range(w.answer[0].film):
        contact = w.contacts[w.film.contact[r]]
        found = found or contact.body_a == body or contact.body_b == body
    return found
