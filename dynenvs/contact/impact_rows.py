"""One impact of all contacts at hand, as one problem in rows with its Delassus matrix.

The laws, Newton's and Poisson's, are those of `impact.py`, which says when they act.  Scenes of
many bodies are solved island by island instead (`sparse/impacts.py`).
"""

from __future__ import annotations

from dynenvs.contact.assembly.impulses import apply_impulses
from dynenvs.contact.assembly.loops import HELD, respect_loops
from dynenvs.contact.assembly.memory import remember_impulses
from dynenvs.contact.assembly.more_rows import add_moment_rows, scale_moments
from dynenvs.contact.assembly.problem import least_speed, velocity_scale
from dynenvs.contact.assembly.rows import (
    contact_rows,
    couple,
    limit_rows,
    moving_tree,
    rows_to_fill,
)
from dynenvs.contact.assembly.swing_rows import swing_rows
from dynenvs.contact.law.directional import set_directions
from dynenvs.contact.law.restitution import share_without_gain
from dynenvs.contact.solve import solve_contacts, solve_with_compression
from dynenvs.dynamics.recursion import PASSED, couple_by_recursion
from dynenvs.jit.compiled import kernel
from dynenvs.lcp.solve import CERTIFIED, DEGRADED, FAILED
from dynenvs.memory.layout import Floats, WorldView, cone_of, polygon_of
from dynenvs.memory.records import POISSON

# Rows of `w.H`, which an impact has no other use for
BEFORE, COMPRESSED = range(2)


@kernel
def _rows(w: WorldView, count: int) -> int:
    """Rows of the contacts with their velocities now, and of stops that are met; below 0: none."""
    turns = w.header[0].moments != 0
    if w.header[0].ngrains > 0 and set_directions(w, count) < 0:
        return -1
    rows = contact_rows(moving_tree(w), w.contacts, count, w.v, 0.0, rows_to_fill(w), turns)
    if turns and add_moment_rows(w, count, w.v) < 0:
        return -1
    rows = limit_rows(w.dofs, w.q, rows, w.v, w.v, 0.0, w.active, w.block, w.J, w.bias_row)
    if w.header[0].nswings > 0:
        rows = swing_rows(w, rows, 0.0)
    w.answer[0].dry = rows  # in no time dry friction gives no impulse
    return int(rows)


@kernel
def collide_rows(w: WorldView, count: int, dt: float, slowest: float, share: float) -> int:
    """One impact of the first `count` contacts, with `share` of their restitution; into `w.v`."""
    # The rows of the impact, and how they are coupled
    rows = _rows(w, count)
    if rows < 0:
        return FAILED
    if w.answer[0].recursive == 0:
        couple(w.dofs, w.J, w.L, rows, w.free_dof_mask, w.active, w.block, w.Y, w.G)
        w.answer[0].rooted = 1
    elif couple_by_recursion(w, rows) != PASSED:
        return FAILED
    if w.header[0].moments != 0 and scale_moments(w, count, rows) < 0:
        return FAILED
    if w.header[0].ne > 0 and rows > 0 and respect_loops(w, rows) != HELD:
        return FAILED
    # Newton's law asks for a share of the approach back; Poisson's gives it after compression
    before, compressed = w.H[BEFORE], w.H[COMPRESSED]
    p = w.impulse_row
    for r in range(rows):
        before[r] = w.bias_row[r]
    poisson = w.header[0].restitution == POISSON
    if not poisson:
        for i in range(count):
            contact = w.contacts[i]
            if before[contact.row] < -slowest:
                e = share * w.coefficients[contact.source].restitution
                w.bias_row[contact.row] += e * before[contact.row]
    # Compression, or all of Newton's impact; then Poisson's decompression
    status = _solve(w, count, rows, dt)
    if status == FAILED:
        return FAILED
    if poisson:
        for r in range(rows):
            compressed[r] = p[r]
        status = max(status, _decompress(w, count, rows, dt, share))
        if status == FAILED:
            return FAILED
    # No impact may gain energy
    gain = _work(w.G, before, p, rows)
    if gain > 0.0:
        status = max(status, _guard(w, count, rows, dt, gain))
        if status == FAILED:
            return FAILED
    # What it gave is remembered, and moves the bodies
    remember_impulses(w, count)
    for i in range(count):
        memory = w.memory[w.contacts[i].candidate]
        for k in range(3):
            memory.total[k] += memory.impulse[k]
    apply_impulses(w.dofs, w.Y, w.L, p, rows, w.rhs, w.v)
    w.status[0].solves += 1
    if status == DEGRADED:
        w.status[0].degraded += 1
    else:
        w.status[0].residual = max(w.status[0].residual, w.answer[0].residual)
    return status


@kernel
def _solve(w: WorldView, count: int, rows: int, dt: float) -> int:
    """The contact problem of the rows on the world's own cone."""
    return solve_contacts(w, count, rows, cone_of(w), dt)


@kernel
def _decompress(w: WorldView, count: int, rows: int, dt: float, share: float) -> int:
    """Add Poisson's second half to the impulses of compression in `w.H`; into `w.impulse_row`."""
    p, compressed = w.impulse_row, w.H[COMPRESSED]
    # The compression impulse is the least that decompression gives: e times what compression took
    for i in range(count):
        contact = w.contacts[i]
        e = share * w.coefficients[contact.source].restitution
        contact.target = e * compressed[contact.row]
        p[contact.row] += contact.target
    # Velocities with compression and these impulses: what is left to solve for comes on top
    for r in range(rows):
        w.bias_row[r] = w.H[BEFORE, r]
        for c in range(rows):
            w.bias_row[r] += w.G[r, c] * p[c]
    n = rows
    for i in range(count):
        n -= w.contacts[i].tangents + w.contacts[i].moments  # a block a contact and a limit
        w.blocks[i].compression = w.contacts[i].target
    polygon, cone = polygon_of(w), cone_of(w)
    scale = velocity_scale(polygon, w.blocks, n, w.G, w.bias_row, least_speed(w.header, dt))
    # The impulses of both halves and the compression impulses, as one impact
    status = solve_with_compression(w, n, rows, cone, scale)
    for r in range(rows):
        p[r] += compressed[r]
    for i in range(count):
        contact = w.contacts[i]
        p[contact.row] += contact.target
        contact.target = 0.0
    return int(status)


@kernel
def _guard(w: WorldView, count: int, rows: int, dt: float, gain: float) -> int:
    """Impulses between those of the inelastic impact and `w.impulse_row` that gain no energy.

    gain: of the latter [J]
    """
    p, inelastic, before = w.impulse_row, w.H[COMPRESSED], w.H[BEFORE]
    status = CERTIFIED
    # Newton's law has no compression to go back to: its inelastic impact is solved for now
    if w.header[0].restitution != POISSON:
        for r in range(rows):
            inelastic[r] = p[r]
            w.bias_row[r] = before[r]
        status = _solve(w, count, rows, dt)
        for r in range(rows):
            inelastic[r], p[r] = p[r], inelastic[r]
    # Along the way between them
    slope = 0.0
    for r in range(rows):
        after = before[r]
        for c in range(rows):
            after += w.G[r, c] * inelastic[c]
        slope += (p[r] - inelastic[r]) * after
    share = share_without_gain(_work(w.G, before, inelastic, rows), slope, gain)
    for r in range(rows):
        p[r] = inelastic[r] + share * (p[r] - inelastic[r])
    return status


@kernel
def _work(G: Floats, before: Floats, p: Floats, rows: int) -> float:
    """Kinetic energy gained by the impulses p, p.u- + p.G p / 2 [J]."""
    total = 0.0
    for r in range(rows):
        speed = 0.0
        for c in range(rows):
            speed += G[r, c] * p[c]
        total += p[r] * (before[r] + 0.5 * speed)
    return total
