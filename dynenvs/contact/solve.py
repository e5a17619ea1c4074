"""THE LADDER for contacts in rows: what is tried, in which order, and why; from top to bottom.

Each rung is dearer than the one before, and is asked where that has not answered.  `World.
diagnostics.rungs` counts how often each was asked and how often it answered.  Islands of loose
parts have a ladder of their own (`sparse/ladder.py`), in which this one is a rung.

======== ================================================= =======================================
rung     what it does                                      why it is there
======== ================================================= =======================================
patches  whole soles stick as they did (`patches.py`)      a walk's guess, right nearly always, in
                                                           a quarter of the unknowns
modes    Newton's method on contact modes, from those of   most other steps change a mode or two
         the last step (`newton.py`)
sweeps   the same from the modes in which Gauss-Seidel     something new touches, or slips
         ends (`relax.py`)
path     the central path's modes, made exact              a sole that just holds: few ways to
         (`interior_point.py`); in space                   share its load fit all cones
lemke    Lemke's method on the LCP written out             it ends on every problem that has an
         (`friction_lcp.py`)                               answer; slow in space
cones    the exact cone from the pyramid's answer          worlds on exact cones
         (`cone.py`)
======== ================================================= =======================================
"""

from __future__ import annotations

from dynenvs.contact.assembly.memory import forget, recall, remember_impulses, remember_modes
from dynenvs.contact.assembly.problem import (
    least_speed,
    open_answer,
    open_problem,
    open_scratch,
    velocity_scale,
)
from dynenvs.contact.solvers.exact_cones import solve_on_cones
from dynenvs.contact.solvers.friction_lcp import solve_lcp_of_rows
from dynenvs.contact.solvers.interior_point import solve_from_inside
from dynenvs.contact.solvers.newton import newton
from dynenvs.jit.compiled import inlined
from dynenvs.lcp.solve import CERTIFIED, FAILED, WARM_RESIDUAL
from dynenvs.memory.layout import WorldView, polygon_of
from dynenvs.memory.records import CONE, CONES, LEMKE, PATH

QUICK, INSIDE, ALL = range(3)  # the first three rungs, all but Lemke's, or as many as it takes


@inlined
def solve_contacts(w: WorldView, count: int, rows: int, law: int, dt: float) -> int:
    """Impulses of the rows of `count` contacts and of limits, from what is remembered.

    law: PYRAMID or CONE
    Details go to `w.answer`, impulses to the contacts and to memory.  Returns the status.
    """
    n, mixed = recall(w, count, rows)
    forget(w)
    floor = least_speed(w.header, dt)
    w.answer[0].pivots = 0
    status = solve_rows(w, n, rows, law, ALL, 1 if mixed else 0, floor)
    remember_modes(w, count, n)
    remember_impulses(w, count)
    return int(status)


@inlined
def solve_rows(
    w: WorldView, count: int, rows: int, law: int, rungs: int, mixed: int, floor: float
) -> int:
    """Up the ladder with the first `count` blocks and their rows; returns the status.

    law: PYRAMID or CONE
    rungs: QUICK, INSIDE or ALL
    mixed: whether the blocks' modes are not worth a try
    floor: least velocity scale of the certificate, g dt [m/s]
    Writes impulses and velocities of the rows, modes and slips of the blocks, and `w.answer`.
    """
    polygon, report = polygon_of(w), w.answer[0]
    scale = velocity_scale(polygon, w.blocks, count, w.G, w.bias_row, floor)
    problem = open_problem(w, polygon, count, rows, scale)
    answer, scratch = open_answer(w), open_scratch(w, count)
    report.residual, report.sweeps = 0.0, 0
    if rows == 0:
        return CERTIFIED
    # A stale guess must not change the answer (docs/theory.md, Warm starts): what Newton's method
    # finds counts only if it is exact to rounding.
    report.residual, report.sweeps = newton(problem, answer, scratch, mixed != 0)
    status = CERTIFIED if report.residual <= WARM_RESIDUAL else FAILED
    if rungs == QUICK:
        return status
    if status != CERTIFIED and polygon[0].directions > 2:  # in the plane Lemke's is as quick
        answer.asked[PATH] += 1
        status = solve_from_inside(w, count, rows, scale)
        answer.answered[PATH] += 1 if status == CERTIFIED else 0
    if status != CERTIFIED and rungs == ALL:
        answer.asked[LEMKE] += 1
        status = solve_lcp_of_rows(w, count, rows, scale)
        answer.answered[LEMKE] += 1 if status == CERTIFIED else 0
    if law == CONE:
        answer.asked[CONES] += 1
        status = solve_on_cones(w, count, rows, scale)
        answer.answered[CONES] += 1 if status == CERTIFIED else 0
    return status


@inlined
def solve_with_reserves(w: WorldView, count: int, rows: int, law: int, scale: float) -> int:
    """The same for blocks with impulses in reserve, the second half of an impact by Poisson's law.

    These bound friction, too, and modes know nothing of that: Lemke's method begins.

    law: PYRAMID or CONE; scale: the certificate's velocity scale [m/s]
    """
    status = w.status[0]
    status.asked[LEMKE] += 1
    done = solve_lcp_of_rows(w, count, rows, scale)
    status.answered[LEMKE] += 1 if done == CERTIFIED else 0
    if law == CONE:
        status.asked[CONES] += 1
        done = solve_on_cones(w, count, rows, scale)
        status.answered[CONES] += 1 if done == CERTIFIED else 0
    return int(done)
