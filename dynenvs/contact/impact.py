"""Impacts with restitution: Newton's and Poisson's laws, all contacts at once or one by one.

Velocities jump at a fixed configuration, so these are the contact problems of a step of length
zero: no gaps, no forces.  With u- = J v- before and G = J M^-1 J^T (docs/theory.md, Restitution):

Newton:   u_n+ >= -e u_n- where contacts approach, complementary to p_n, friction as ever.
Poisson:  compression, an inelastic impact with impulses p_c; then decompression by at least
          e p_c along the normal: what comes on top of that is the LCP's unknown, and friction is
          bounded by all of it: the cone row of the LCP has the right-hand side mu e p_c.  The exact
          cone is cut off there (`cone.py`).

Either can gain energy where friction acts.  The guard then goes only so far from the inelastic
answer, which always loses some, towards the elastic one that none is gained; both obey the
inequalities u_n >= 0 and |p_t| <= mu p_n, and so does what lies between.

Here stands when things bounce: what touches now, what is about to, and when.  One tree of bodies,
closed loops and long chains are then solved as one problem (`impact_rows.py`), scenes of many
bodies island by island, and guarded so (`sparse/impacts.py`).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.loops import HELD, hold_loops
from dynenvs.contact.assembly.problem import least_speed
from dynenvs.contact.assembly.rows import TOUCH, normal_velocity
from dynenvs.contact.detection.detect import detect_spots, select_contacts
from dynenvs.contact.detection.manifold import FOUND
from dynenvs.contact.impact_rows import collide_rows
from dynenvs.contact.sparse.impacts import SEQUENCE, collide_islands
from dynenvs.dynamics.factor import factor_in_place
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.dynamics.recursion import PASSED, free_by_recursion
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.lcp.solve import CERTIFIED, FAILED
from dynenvs.memory.layout import WorldView
from dynenvs.memory.records import SEQUENTIAL

CUTS = 4  # impacts of a step that have each its own time; of more ...
PARTS = 4  # ... those of each of so many parts of the step happen together, at its start
STILL = 1e-9  # slowest approach that is an impact, where there is no gravity [m/s]


@unit("impacts", seconds=27)
def collide(w: WorldView, dt: float, part: float) -> int:
    """Change the velocities by the impacts of parts that touch and approach each other now.

    Parts that approach by no more than g dt, what they gain in a step, are left to the step.
    Needs the poses.  Returns the worst status of the contact problems solved.

    `w.answer.window` tells within which time what bounces and would touch has had its impact
    now, too: none, but where many impacts lie ahead.

    dt, part: lengths of the whole step and of the part of it that begins now [s]
    """
    if detect_spots(w, 0, math.inf) != FOUND:
        return FAILED
    # Factors of the mass matrix, without damping: an impact takes no time
    if w.header[0].recursive:
        if free_by_recursion(w, w.tau, 0.0, w.v) != PASSED:
            return FAILED
    else:
        w.answer[0].recursive = 0
        equations_of_motion(w, w.v, 0.0, w.L)
        if not factor_in_place(w.dofs, w.L):
            return FAILED
    # Everything yields: prescribed motion is no matter of impacts
    for j in range(w.header[0].nv):
        w.free_dof_mask[j] = 1.0
    if w.header[0].ne > 0 and not _hold(w):
        return FAILED
    # Which contacts touch and approach; where many impacts lie ahead, those soon to come, too
    slowest = max(least_speed(w.header, dt), STILL)
    answer = w.answer[0]
    many = answer.cuts >= CUTS or _count_ahead(w, part, slowest) > CUTS
    window = dt / PARTS if many else 0.0
    answer.window = window
    count = _touching(w, window, slowest)
    if not _fastest(w, count, slowest) >= 0:
        return CERTIFIED
    # All of them at once, or one after the other, the fastest first
    if w.header[0].sparse != 0:
        return int(collide_islands(w, count, dt, slowest))
    if w.header[0].impacts != SEQUENTIAL:
        return collide_rows(w, count, dt, slowest, 1.0)
    worst = CERTIFIED
    for _ in range(SEQUENCE):
        i = _fastest(w, _touching(w, window, slowest), slowest)
        if i < 0:
            return worst
        w.contacts[0] = w.contacts[i]
        worst = max(worst, collide_rows(w, 1, dt, slowest, 1.0))
    w.status[0].degraded += 1  # without end, as far as can be seen
    count = _touching(w, window, slowest)
    return max(worst, collide_rows(w, count, dt, slowest, 0.0))


@inlined
def _hold(w: WorldView) -> bool:
    """Velocities that open no loop, to begin with; impulses will open none either."""
    for j in range(w.header[0].nv):
        w.v_free[j] = w.v[j]
    if hold_loops(w, w.q) != HELD:
        return False
    for j in range(w.header[0].nv):
        w.v[j] = w.v_free[j]
    return True


@unit("impacts", seconds=1)
def find_impact(w: WorldView, dt: float) -> int:
    """Time until the first impact with restitution, or dt, into `w.answer[0].until` [s].

    No less than `w.answer.window`: sooner ones had their turn in `collide`.
    In a step of length t parts close in with the velocity v + t (v_free - v) / dt: the time is a
    root of a quadratic in which the directions of contacts stay those of now.  Needs `free_motion`.
    """
    until = dt
    w.answer[0].until = dt
    if w.header[0].ne > 0 and hold_loops(w, w.q) != HELD:
        return FAILED
    if detect_spots(w, 0, math.inf) != FOUND:
        return FAILED
    count = select_contacts(w, dt)
    # What closes in, with restitution: when is its gap gone, and is it fast enough then?
    if count > w.header[0].nc:
        w.answer[0].wanted = count
        return FAILED
    slowest = max(least_speed(w.header, dt), STILL)
    for i in range(count):
        contact = w.contacts[i]
        if contact.gap <= TOUCH or w.coefficients[contact.source].restitution == 0.0:
            continue
        now = normal_velocity(w, contact, w.v)
        then = normal_velocity(w, contact, w.v_free)
        rate = (then - now) / dt
        time = _first_root(rate, now, contact.gap)
        if time < until and now + rate * time < -slowest:
            until = time
    w.answer[0].until = min(max(until, w.answer[0].window), dt)
    return CERTIFIED


@inlined
def _first_root(a: float, b: float, c: float) -> float:
    """Least positive root of a t^2 + b t + c with c > 0, or infinity."""
    inside = b * b - 4.0 * a * c
    if inside < 0.0:
        return math.inf
    # Without cancellation: one of b and the square root's sign agree
    q = -0.5 * (b + (math.sqrt(inside) if b >= 0.0 else -math.sqrt(inside)))
    first = c / q if q != 0.0 else math.inf
    second = q / a if a != 0.0 else math.inf
    if not first > 0.0:
        first = math.inf
    return min(first, second) if second > 0.0 else first


@kernel
def _count_ahead(w: WorldView, part: float, slowest: float) -> int:
    """How many pairs of bodies will bounce off each other within a part, as far as can be seen."""
    if w.header[0].sparse == 0:
        return 0
    count, last = 0, -1
    # Contacts of one group stand together and count once
    for i in range(min(select_contacts(w, part), w.header[0].nc)):
        contact = w.contacts[i]
        new = contact.gap > TOUCH and contact.group != last
        if new and _meets(w, contact, part, slowest):
            count, last = count + 1, contact.group
    return count


@inlined
def _meets(w: WorldView, contact: Any, time: float, slowest: float) -> bool:
    """Whether a contact that bounces closes within some time, if it gains no more than slowest."""
    if w.coefficients[contact.source].restitution == 0.0:
        return False
    speed = normal_velocity(w, contact, w.v)
    return bool(speed < 0.0 and contact.gap < time * (slowest - speed))


@kernel
def _touching(w: WorldView, window: float, slowest: float) -> int:
    """The contacts of parts that touch, first in `w.contacts`; returns their number.

    And of parts that bounce and will touch within the window, if they gain no more than `slowest`
    till then.
    """
    found = select_contacts(w, window)
    if found > w.header[0].nc:  # the step is repeated with more room
        w.answer[0].wanted = found
    count = 0
    for i in range(min(found, w.header[0].nc)):
        contact = w.contacts[i]
        if contact.gap <= TOUCH or (window > 0.0 and _meets(w, contact, window, slowest)):
            w.contacts[count] = w.contacts[i]
            w.contacts[count].target = 0.0
            count += 1
    return count


@kernel
def _fastest(w: WorldView, count: int, slowest: float) -> int:
    """The contact with restitution that approaches fastest, -1 if none does by more than slowest.

    One by one, every contact has its turn, inelastic ones too: they pass impacts on.
    """
    worst, found, elastic = -slowest, -1, False
    for i in range(count):
        contact = w.contacts[i]
        speed = normal_velocity(w, contact, w.v)
        if speed < -slowest and w.coefficients[contact.source].restitution > 0.0:
            elastic = True
        if speed < worst:
            worst, found = speed, i
    return found if elastic or w.header[0].impacts == SEQUENTIAL else -1
