"""Errors of the rows of a dense contact problem, and the smallest motion that takes them back.

One Newton step in the kinetic metric, dq = W J^T lambda with G lambda = error: pressing contacts
get exactly the gap that they should have, and sticking ones the way along the ground.  What is only
lifted out of the ground may be lifted further.
"""

from __future__ import annotations

from dynenvs.contact.assembly.implied import leave_out_implied
from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.memory import is_pressed
from dynenvs.contact.assembly.rows import after_contacts, first_limited, limited_coordinate
from dynenvs.contact.errors import (
    LEFT_OUT,
    contact_errors,
    holds_stop,
    is_free_to_part,
    stop_error,
)
from dynenvs.jit.compiled import inlined, inlined_source
from dynenvs.lcp.dense import factorise_symmetric, multiply, substitute_symmetric
from dynenvs.memory.layout import Floats, Ints, WorldView

PROXIMAL = 1e-10  # relative diagonal that makes redundant rows solvable
RIGID = 1e-4  # error of a first correction, below which those of a body's points agree [m] ...
AGREE = 1e-5  # ... and of the next ones: where it has turned far they are of no rigid motion [m]


@inlined
def announce_rows(w: WorldView) -> None:
    """Where the step's velocities led the rows, into `w.v_row`."""
    w.correction[0].factored = -1  # number of rows, `w.block`, whose factors stand in `w.A`
    if w.answer[0].rows > 0:
        multiply(w.J, w.answer[0].rows, w.header[0].nv, w.v_new, w.v_row)


@inlined
def find_row_errors(w: WorldView, dt: float) -> None:
    """Errors of the contacts and stops into `w.bias_row`; dry joints have no position to keep."""
    aim, errors = w.correction[0], w.bias_row
    for r in range(w.answer[0].dry):
        errors[r] = LEFT_OUT
    contact_errors(w, errors, w.v_row, dt)
    for r in range(after_contacts(w.contacts, w.answer[0].contacts), w.answer[0].dry):
        j = limited_coordinate(w.J, r)
        error = stop_error(w.dofs[first_limited(w.dofs, j)], w.q_new, w.J[r, j] > 0.0)
        # A pressed stop is to be met exactly: else the others' correction would go through it
        if holds_stop(aim, error, is_pressed(w, j)):
            errors[r] = error
            aim.beyond = max(aim.beyond, abs(error))
            aim.deep = max(aim.deep, error)
            aim.worst = max(aim.worst, abs(error))


@inlined
def solve_row_errors(w: WorldView, share: float, dt: float) -> bool:
    """The motion `w.v_next` that takes back a share of the errors of a step of dt.

    Returns whether of all of them: what would have to pull is left out.
    """
    aim, rows, errors = w.correction[0], w.answer[0].rows, w.bias_row
    marked = 0
    for r in range(w.answer[0].dry):
        if errors[r] < LEFT_OUT and w.G[r, r] > 0.0:
            errors[r] *= share
            w.active[marked] = r
            marked += 1
    # Rows that others of their body imply would only make the factors larger
    if aim.worst < (RIGID if aim.attempt == 0 else AGREE):
        marked = leave_out_implied(w.contacts, w.answer[0].contacts, w.active, marked)
    all_met = True
    while True:
        if not _same(w.active, marked, w.block, aim.factored):
            _factor(w.G, w.active, marked, w.A)
            aim.factored = marked
        # Each Newton step has impulses of its own
        for r in range(rows):
            w.impulse_row[r] = 0.0
        _solve_equalities(w.G, w.A, w.active, marked, errors, w.b, w.z, w.impulse_row)
        kept = _leave_out_pulled(w, marked, dt)
        if kept == marked:
            break
        marked, all_met = kept, False
    for j in range(w.header[0].nv):
        w.v_next[j] = 0.0
    apply_impulses(w.dofs, w.Y, w.L, w.impulse_row, rows, w.rhs, w.v_next)
    return all_met


@inlined
def _leave_out_pulled(w: WorldView, marked: int, dt: float) -> int:
    """Keep those marked rows that do not pull down what is only lifted; returns their number.

    Where two such rows are nearly the same, both of them met exactly would take a far turn.
    """
    for i in range(w.answer[0].contacts):
        r = w.contacts[i].row
        if w.impulse_row[r] < 0.0 and is_free_to_part(w, i, w.v_row[r], dt):
            w.bias_row[r] = LEFT_OUT
    kept = 0
    for k in range(marked):
        if w.bias_row[w.active[k]] < LEFT_OUT:
            w.active[kept] = w.active[k]
            kept += 1
    return kept


@inlined
def row_moved(w: WorldView, index: int, least: float) -> float:
    """By how much the motion `w.v_next` parts a contact, as far as it is linear [m].

    least: turn of the coordinates that are counted [rad, m]
    """
    r, moved = w.contacts[index].row, 0.0
    for j in range(w.header[0].nv):
        if abs(w.v_next[j]) >= least:
            moved += w.J[r, j] * w.v_next[j]
    return moved


@inlined
def _same(marks: Ints, count: int, factored: Ints, known: int) -> bool:
    """Whether the marked rows are those that were factored; now they are."""
    same = count == known
    for i in range(count):
        same = same and factored[i] == marks[i]
        factored[i] = marks[i]
    return same


@inlined_source
def _factor(G: Floats, marks: Ints, count: int, factors: Floats) -> None:
    """Factors of G over the marked rows; redundant ones need a proximal diagonal."""
    for i in range(count):
        own = marks[i]
        # The upper triangle alone: G is symmetric
        for j in range(i, count):
            factors[i, j] = G[own, marks[j]]
        factors[i, i] *= 1.0 + PROXIMAL
    factorise_symmetric(factors, count)


@inlined_source
def _solve_equalities(
    G: Floats,
    factors: Floats,
    marks: Ints,
    count: int,
    errors: Floats,
    right: Floats,
    solution: Floats,
    impulses: Floats,
) -> None:
    """impulses = G^+ errors over the marked rows, refined once.

    What the proximal shift leaves in the null space of G moves nothing.
    """
    for i in range(count):
        right[i] = errors[marks[i]]
    # Right-hand side and solution over the marked rows
    substitute_symmetric(factors, count, right, solution)
    for i in range(count):
        own = marks[i]
        impulses[own] = solution[i]
        for j in range(count):
            right[i] -= G[own, marks[j]] * solution[j]
    # What the proximal diagonal has changed
    substitute_symmetric(factors, count, right, solution)
    for i in range(count):
        impulses[marks[i]] += solution[i]
