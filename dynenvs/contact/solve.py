"""THE LADDER for contacts in rows: what is tried, in which order, and why; from top to bottom.

Solver stages are tried in order of cost; the next one runs only if the one before failed.
`World.diagnostics.stages` counts how often each was called and how often it solved the problem.
Islands of loose parts have a ladder of their own (`sparse/ladder.py`), of which this one's stages
are some.

======== ================================================= =======================================
stage    what it does                                      why it is there
======== ================================================= =======================================
kept     last impulses as they are, swept, or corrected    what rests on more than holds it up
patches  whole soles stick as they did (`patches.py`)      a walk's guess, right nearly always, in
                                                           a quarter of the unknowns
modes    Newton's method on contact modes, from those of   most other steps change a mode or two
         the last step (`newton.py`)
sweeps   the same from the modes in which Gauss-Seidel     something new touches, or slips
         ends (`relax.py`)
multi-   proximal multipliers from the last step's         many contacts that jam or slide
pliers   impulses, then from none; in space
path     the central path's modes, made exact              a sole that just holds: few ways to
         (`interior_point.py`); in space                   share its load fit all cones
lemke    Lemke's method on the LCP written out             it ends on every problem that has an
         (`friction_lcp.py`)                               answer; slow in space
cones    the exact cone from the pyramid's answer          worlds on exact cones
         (`cone.py`)
======== ================================================= =======================================
"""

from __future__ import annotations

from dynenvs.contact.assembly.memory import (
    clear_warm_start,
    remember_impulses,
    remember_modes,
    warm_start,
    warm_start_all,
    warm_start_impulses,
)
from dynenvs.contact.assembly.problem import (
    ContactAnswer,
    ContactProblem,
    least_speed,
    open_answer,
    open_problem,
    open_scratch,
    row_velocities,
    velocity_scale,
)
from dynenvs.contact.solvers.cone import BRIEF, COLD, LATE, NEAR, WARM
from dynenvs.contact.solvers.cone_law import certify_answer
from dynenvs.contact.solvers.exact_cones import solve_on_cones
from dynenvs.contact.solvers.friction_lcp import choose_modes, solve_lcp_of_rows
from dynenvs.contact.solvers.interior_point import solve_from_inside
from dynenvs.contact.solvers.modes import SLIP
from dynenvs.contact.solvers.multipliers import AT_ONCE, CROWD
from dynenvs.contact.solvers.newton import converge, newton
from dynenvs.contact.solvers.pyramid_law import certify_pyramids
from dynenvs.contact.solvers.relax import relax
from dynenvs.contact.solvers.rounds import ENOUGH
from dynenvs.contact.solvers.step_multipliers import solve_by_multipliers
from dynenvs.jit.compiled import called, inlined, unit
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED, WARM_RESIDUAL
from dynenvs.memory.layout import WorldView, polygon_of
from dynenvs.memory.records import CONE, CONES, KEPT, LEMKE, MODES, MULTIPLIERS, PATH, PYRAMID

CHANGES = 2  # of the last step's modes
AT_REST = 1e-6  # residual of the last step's impulses where next to nothing has changed
CLOSE = 6  # factorisations up to which the last step's impulses were near this one's
FEW = 300  # variables of an LCP up to which Lemke's method is tried: it takes minutes beyond
QUICK, INSIDE, ALL = range(3)  # the first three stages, all but Lemke's, or as many as it takes


@inlined
def solve_contacts(w: WorldView, count: int, rows: int, law: int, dt: float) -> int:
    """Impulses of the rows of `count` contacts and of limits, from what is remembered.

    law: PYRAMID or CONE
    Details go to `w.answer`, impulses to the contacts and to memory.  Returns the status.
    """
    n, mixed = warm_start(w, count, rows, dt)
    floor = least_speed(w.header, dt)
    w.answer[0].pivots = 0
    status, stage = FAILED, w.status[0].stage
    # Where the last step's answer was no matter of modes it is the best start for this one's
    moments = _any_moments(w, count)
    if moments:
        warm_start_all(w, count, rows, dt)
    elif stage != MODES and stage != CONES:
        status = keep(w, count, n, rows, law, floor, dt)
        if status != CERTIFIED and stage == MULTIPLIERS and law == CONE:
            status = _approach(w, count, n, rows, floor, dt)
        if status != CERTIFIED and stage == MULTIPLIERS:
            status = _multiply(w, count, n, rows, law, floor, dt, True)
    if status != CERTIFIED:
        if stage != MODES:  # its modes were overwritten
            n, mixed = warm_start(w, count, rows, dt)
        # In the plane Lemke's method is as quick as multipliers; moments have methods of their own
        quick = polygon_of(w)[0].directions > 2 and not moments
        stages = QUICK if quick else ALL
        status = solve_rows(w, n, rows, law, stages, 1 if mixed else 0, floor)
        if status != CERTIFIED and quick and stage != MULTIPLIERS:
            status = _multiply(w, count, n, rows, law, floor, dt, True)
        if status != CERTIFIED and quick:  # impulses can mislead
            status = _multiply(w, count, n, rows, law, floor, dt, False)
        if status != CERTIFIED and quick:
            status = solve_rows(w, n, rows, law, ALL, 1, floor)
        if status != CERTIFIED and status != DEGRADED and quick:  # for an answer that is near
            status = _multiply(w, count, n, rows, law, floor, dt, True)
    # What the next step begins with
    clear_warm_start(w)
    remember_modes(w, count, n)
    remember_impulses(w, count)
    return int(status)


@called
def _multiply(
    w: WorldView, count: int, total: int, rows: int, law: int, floor: float, dt: float, warm: bool
) -> int:
    """Multipliers from the last step's impulses if warm, else from none; others as of `keep`."""
    if warm:
        warm_start_all(w, count, rows, dt)
    for r in range(0 if warm else rows):
        w.impulse_row[r] = 0.0
    # The modes of the last step tell nothing here
    status = w.status[0]
    scale = velocity_scale(polygon_of(w), w.blocks, total, w.G, w.bias_row, floor)
    w.answer[0].sweeps = 0
    found = _counted(w, MULTIPLIERS, solve_by_multipliers(w, total, rows, scale, law))
    if found == CERTIFIED:
        # Where much has changed, what is kept or modes are the quicker start, but in a crowd
        first = w.answer[0].sweeps <= CLOSE or rows > CROWD * w.header[0].nv
        status.stage = MULTIPLIERS if first else PATH
    return int(found)


@inlined
def _approach(w: WorldView, count: int, total: int, rows: int, floor: float, dt: float) -> int:
    """The exact cones' own method from the last step's impulses, which multipliers gave.

    Of the hundred contacts of a crowd a few bear: its matrix is of these.  Others as of `keep`.
    """
    warm_start_all(w, count, rows, dt)
    scale = velocity_scale(polygon_of(w), w.blocks, total, w.G, w.bias_row, floor)
    found = solve_on_cones(w, total, rows, scale, NEAR)
    if found == CERTIFIED:
        _counted(w, CONES, found)
    return int(found)


@unit("contact", seconds=2)
def keep(w: WorldView, count: int, total: int, rows: int, law: int, floor: float, dt: float) -> int:
    """Answer by the last step's impulses, corrected, if nothing slipped; FAILED if that fails.

    Of things that rest on more than holds them up, the impulses of least norm often fit no cone
    while others do; those that fitted in the last step mostly go on to.  Those that multipliers
    gave may do as they are: multipliers would begin with them, and end there.

    count, total: of contacts, and of all blocks; floor: as of `solve_rows`
    """
    status, report, polygon = w.status[0], w.answer[0], polygon_of(w)
    scale = velocity_scale(polygon, w.blocks, total, w.G, w.bias_row, floor)
    problem = open_problem(w, polygon, total, rows, scale)
    answer, scratch = open_answer(w), open_scratch(w)
    if status.stage == MULTIPLIERS:
        warm_start_all(w, count, rows, dt)
        report.residual, report.sweeps = _residual_of(problem, answer, law), 0
        # At rest a few sweeps, which cost less than a factorisation, keep them right
        if ENOUGH < report.residual <= AT_REST and law == PYRAMID:
            relax(problem, answer, AT_ONCE)
            report.residual = _residual_of(problem, answer, law)
        if report.residual <= ENOUGH:
            return _counted(w, KEPT, CERTIFIED)
    if not warm_start_impulses(w, count, rows, dt):
        return FAILED
    status.called[KEPT] += 1
    report.residual, report.sweeps = converge(problem, answer, scratch, CHANGES, True)
    # Multipliers, which come next then, begin with these impulses, too, and take no better answer
    bound = ENOUGH if status.stage == MULTIPLIERS else WARM_RESIDUAL
    if not report.residual <= bound:
        return FAILED
    if law == CONE:
        report.residual = certify_answer(problem, answer)
        if not report.residual <= bound:
            return FAILED
    status.solved[KEPT] += 1
    if report.residual <= WARM_RESIDUAL:
        status.stage = KEPT
    return CERTIFIED


@inlined
def _residual_of(problem: ContactProblem, answer: ContactAnswer, law: int) -> float:
    """The velocities and modes that impulses give, and the natural residual of all."""
    if law == CONE:
        return float(certify_answer(problem, answer))
    row_velocities(problem, answer.p, answer.u)
    choose_modes(problem, answer)
    return float(certify_pyramids(problem, answer))


@unit("contact", seconds=11)
def solve_rows(
    w: WorldView, count: int, rows: int, law: int, stages: int, mixed: int, floor: float
) -> int:
    """Try the stages on the first `count` blocks and their rows; returns the status.

    law: PYRAMID or CONE
    stages: QUICK, INSIDE or ALL
    mixed: whether the blocks' modes are not worth a try
    floor: least velocity scale of the certificate, g dt [m/s]
    Writes impulses and velocities of the rows, modes and slips of the blocks, and `w.answer`.
    """
    polygon, report = polygon_of(w), w.answer[0]
    scale = velocity_scale(polygon, w.blocks, count, w.G, w.bias_row, floor)
    problem = open_problem(w, polygon, count, rows, scale)
    answer, scratch = open_answer(w), open_scratch(w)
    report.residual, report.sweeps = 0.0, 0
    if rows == 0:
        return CERTIFIED
    if _any_moments(w, count):  # of which pyramids know nothing
        return _counted(w, CONES, solve_on_cones(w, count, rows, scale, WARM))
    # Where something slipped on the exact cone in the last step, pyramids are of little help
    slides = law == CONE and w.status[0].stage == CONES
    if slides and _slide(w, count, rows, scale) == CERTIFIED:
        return CERTIFIED
    # A stale guess must not change the answer (docs/theory.md, Warm starts): what Newton's method
    # finds counts only if it is exact to rounding.
    report.residual, report.sweeps = newton(problem, answer, scratch, mixed != 0)
    status = CERTIFIED if report.residual <= WARM_RESIDUAL else FAILED
    w.status[0].stage = MODES
    if stages == QUICK and law == PYRAMID:
        return status
    if law == CONE and status != CERTIFIED and not slides:
        slides = True
        if _slide(w, count, rows, scale) == CERTIFIED:
            return CERTIFIED
    if stages == QUICK and status != CERTIFIED:
        return FAILED
    if status != CERTIFIED and polygon[0].directions > 2:  # in the plane Lemke's is as quick
        w.status[0].stage = PATH
        status = _counted(w, PATH, solve_from_inside(w, count, rows, scale))
    if status != CERTIFIED and stages == ALL and count * (2 + polygon[0].directions) <= FEW:
        w.status[0].stage = LEMKE
        status = _counted(w, LEMKE, solve_lcp_of_rows(w, count, rows, scale))
    if law == CONE:
        start = LATE if slides else COLD
        status = _counted(w, CONES, solve_on_cones(w, count, rows, scale, start))
        if _any_slips(w, count):
            w.status[0].stage = CONES
    return status


@inlined
def _counted(w: WorldView, stage: int, found: int) -> int:
    """Count that a stage was called, and whether it solved the problem; its status again."""
    w.status[0].called[stage] += 1
    w.status[0].solved[stage] += 1 if found == CERTIFIED else 0
    return found


@inlined
def _slide(w: WorldView, count: int, rows: int, scale: float) -> int:
    """The exact cone's own method from no impulses, before those that take longer.

    Where it fails it is counted by the whole of that method, which follows.
    """
    status = w.status[0]
    found = solve_on_cones(w, count, rows, scale, BRIEF)
    if found == CERTIFIED:
        _counted(w, CONES, found)
        status.stage = CONES if _any_slips(w, count) else PATH
    return int(found)


@inlined
def _any_slips(w: WorldView, count: int) -> bool:
    """Whether a contact slips in the modes that the exact cone's method has left."""
    found = False
    for i in range(count):
        found = found or (w.blocks[i].mode >= SLIP and w.blocks[i].dry == 0)
    return found


@inlined
def _any_moments(w: WorldView, count: int) -> bool:
    """Whether a contact of the problem passes on moments."""
    found = False
    for i in range(count if w.header[0].moments != 0 else 0):
        found = found or w.blocks[i].moments > 0
    return found


@inlined
def solve_with_compression(w: WorldView, count: int, rows: int, law: int, scale: float) -> int:
    """The same for blocks with compression impulses, the second half of an impact by Poisson's law.

    These bound friction, too, and modes know nothing of that: Lemke's method begins.

    law: PYRAMID or CONE; scale: the certificate's velocity scale [m/s]
    """
    done = FAILED
    if _any_moments(w, count):
        for r in range(rows):
            w.impulse_row[r] = 0.0
    else:
        done = _counted(w, LEMKE, solve_lcp_of_rows(w, count, rows, scale))
    if law == CONE:
        done = _counted(w, CONES, solve_on_cones(w, count, rows, scale, COLD))
    return int(done)
