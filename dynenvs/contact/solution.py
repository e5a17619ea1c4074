"""The contact problem solved: Newton's method, the cascade where it fails, and what is kept."""

from __future__ import annotations

from dynenvs.compiled import inlined
from dynenvs.contact.inside import solve_from_inside
from dynenvs.contact.modes import OPEN, active_bits, recall_mode
from dynenvs.contact.newton import newton, velocity_scale
from dynenvs.contact.problem import least_speed, solve_by_cascade
from dynenvs.contact.rows import SLIP, limited_coordinate
from dynenvs.contact.soles import find_soles, guess_wholes
from dynenvs.layout import ModelView, StateView, WorkspaceView, open_polygon
from dynenvs.lcp.solve import CERTIFIED, WARM_RESIDUAL
from dynenvs.views import raw


@inlined
def solve_problem(
    m: ModelView, s: StateView, w: WorkspaceView, count: int, rows: int, dt: float
) -> int:
    """Solve the contact problem of the rows; returns the status, details go to `w.answer`.

    Writes the impulses of rows and contacts.
    """
    status = CERTIFIED
    solved = True
    answer = w.answer[0]
    answer.residual, answer.pivots, answer.sweeps = 0.0, 0, 0
    if rows > 0:
        polygon = open_polygon(m, s)
        blocks, mixed = _recall(m, s, w, polygon[0].directions, count, rows)
        scale = velocity_scale(
            polygon, w.blocks, blocks, w.G, w.bias_row, least_speed(m.header, dt)
        )
        answer.residual, answer.sweeps = newton(
            polygon,
            w.blocks,
            blocks,
            w.G,
            w.bias_row,
            rows,
            scale,
            mixed,
            w.unknowns,
            w.A,
            w.active,
            w.b,
            w.z,
            w.impulse_row,
            w.v_row,
        )
        # A stale guess must not change the answer (physics.md, section 4, warm start).
        solved = answer.residual <= WARM_RESIDUAL
        s.status[0].by_modes += 1 if solved else 0
        if not solved:
            h = m.header[0]
            packed, row = raw(m.header, h.model_bytes), raw(s.status, h.state_bytes)
            buffer = raw(w.pose, h.workspace_bytes)
            if h.directions > 2:  # in the plane the cascade is as quick
                solved = solve_from_inside(packed, row, buffer, blocks, rows, dt) == CERTIFIED
                s.status[0].by_path += 1 if solved else 0
            if not solved:
                status = solve_by_cascade(packed, row, buffer, count, rows, dt)
                s.status[0].by_cascade += 1
    remember(m, s, w, count, rows, solved)
    return status


@inlined
def _recall(
    m: ModelView, s: StateView, w: WorkspaceView, directions: int, count: int, rows: int
) -> tuple[int, bool]:
    """List contacts and limits as blocks in the modes that their last active sets tell of.

    Returns their number, and whether one with two tangents is about to part: to guess that all
    hold is then not worth a try.
    """
    mixed = False
    r = 0
    for i in range(count):
        contact, block = w.contacts[i], w.blocks[i]
        r = contact.row
        block.row, block.tangents, block.friction = r, contact.tangents, contact.friction
        block.reserve = 0.0
        # In three dimensions v+ itself may be open: the corners of a sliding sole can share their
        # load in many ways, and each turns the body differently.  Memory must not choose.
        bits = s.memory[contact.candidate].active if contact.tangents < 2 else 0
        mixed = mixed or (contact.tangents == 2 and w.bias_row[r] >= 0.0)
        block.mode = recall_mode(directions, bits, w.bias_row[r] < 0.0)
        r += 1 + contact.tangents
    find_soles(w.contacts, count, w.blocks)
    guess_wholes(w.blocks, count)
    n = count
    for k in range(r, rows):
        block = w.blocks[n]
        block.corners = 0
        block.row, block.tangents, block.friction, block.reserve = k, 0, 0.0, 0.0
        bits = (s.status[0].limits_active >> limited_coordinate(w.J, k)) & 1
        block.mode = recall_mode(directions, bits, w.bias_row[k] < 0.0)
        n += 1
    for i in range(n):
        block = w.blocks[i]
        if not w.G[block.row, block.row] > 0.0:
            block.mode = OPEN
    return n, mixed


@inlined
def touch(s: StateView, k: int) -> None:
    """List candidate k among those that may remember something."""
    status, memory = s.status[0], s.memory[k]
    if memory.listed == 0:
        memory.listed = 1
        s.touched[status.touched] = k
        status.touched += 1


@inlined
def remember(
    m: ModelView, s: StateView, w: WorkspaceView, count: int, rows: int, from_blocks: bool
) -> None:
    """Keep impulses and active sets by candidate; those that were not in reach forget theirs.

    from_blocks: whether Newton's method gave the answer (the cascade keeps its active sets itself).
    """
    memory, status = s.memory, s.status[0]
    for k in range(status.touched):
        old = memory[s.touched[k]]
        old.impulse[0] = old.impulse[1] = old.impulse[2] = 0.0
        if from_blocks:
            old.active = 0
    if from_blocks:
        status.limits_active = 0
    status.contacts = 0
    r = 0
    p = w.impulse_row
    for i in range(count):
        contact = w.contacts[i]
        record = memory[contact.candidate]
        touch(s, contact.candidate)
        r = contact.row
        if from_blocks:
            contact.slip = w.blocks[i].slip
            record.active = active_bits(open_polygon(m, s), w.blocks[i], p)
        n, t1, t2 = contact.normal, contact.t1, contact.t2
        p0 = p[r]
        p1 = p[r + 1] if contact.tangents > 0 else 0.0
        p2 = p[r + 2] if contact.tangents > 1 else 0.0
        contact.impulse[0], contact.impulse[1], contact.impulse[2] = p0, p1, p2
        for k in range(3):
            record.impulse[k] = p0 * n[k] + p1 * t1[k] + p2 * t2[k]
        # It sticks if it presses and its slip is nil.
        contact.stick = contact.tangents if p0 > 0.0 and contact.slip <= SLIP else 0
        status.contacts += 1 if p0 > 0.0 else 0
        r += 1 + contact.tangents
    if from_blocks:
        for k in range(r, rows):
            if w.blocks[count + k - r].mode != OPEN:
                status.limits_active |= 1 << limited_coordinate(w.J, k)
