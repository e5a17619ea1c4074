"""What a world remembers of its contacts between steps: the modes to start from, and the impulses.

The order in a step: `warm_start` before the contacts are solved, `remember_modes` and
`remember_impulses` after it.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.more_rows import moment_axis
from dynenvs.contact.assembly.rows import SLIP as SLIPS
from dynenvs.contact.assembly.rows import after_contacts, limited_coordinate
from dynenvs.contact.law.directional import impulse_along
from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK
from dynenvs.contact.solvers.patches import find_soles, guess_wholes
from dynenvs.jit.compiled import inlined
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, StateView, WorldView
from dynenvs.memory.records import BITS, SWING

AT_BOUND = 1.0 - 1e-9  # part of a dry joint's bound from which it is thought to slip
STILL = 1e-8  # a slower slip is remembered as sticking: then redundant contacts cease to squeeze


@inlined
def warm_start(w: WorldView, count: int, rows: int, dt: float) -> tuple[int, bool]:
    """List contacts, limits and dry joints as blocks in the modes of the last step.

    What was open is thought to stick if it is going to be hit.
    Returns their number, and whether one with two tangents is about to part: to guess that all
    hold is then not worth a try.
    """
    # Contacts in the modes of the last step
    mixed = False
    r = 0
    for i in range(count):
        contact, block = w.contacts[i], w.blocks[i]
        r = contact.row
        block.row, block.tangents, block.friction = r, contact.tangents, contact.friction
        block.compression, block.dry = 0.0, 0
        give_moments(contact, block)
        block.mode = OPEN
        # In three dimensions v+ itself may be open: the corners of a sliding sole can share their
        # load in many ways, and each turns the body differently.  Memory must not choose.
        if contact.tangents < 2:
            mode = w.memory[contact.candidate].mode
            slips = mode == SLIP or mode == SLIP + 1  # the two ways in a plane
            block.mode = STICK if mode == STICK or (slips and contact.tangents == 0) else OPEN
            if slips and contact.tangents == 1:
                block.mode = mode
        mixed = mixed or (contact.tangents == 2 and w.bias_row[r] >= 0.0)
        r += 1 + contact.tangents + contact.moments
    # Limits, pressed as they were
    n = count
    for k in range(r, w.answer[0].dry):
        block = w.blocks[n]
        _clear(block, k)
        block.mode = STICK if is_pressed(w, limited_coordinate(w.J, k)) else OPEN
        n += 1
    # Dry joints, at their bounds as they were
    if w.answer[0].dry < rows:
        n = _list_dry(w, n, rows, dt)
    # What will be hit sticks; soles hold as wholes; what nothing moves is open
    for i in range(n):
        block = w.blocks[i]
        if block.mode == OPEN and block.dry == 0 and w.bias_row[block.row] < 0.0:
            block.mode = STICK
    find_soles(w.contacts, count, w.blocks)
    _part_rocking(w, count)
    guess_wholes(w.blocks, count)
    for i in range(n):
        block = w.blocks[i]
        if not w.G[block.row, block.row] > 0.0:
            block.mode = OPEN
    return n, mixed


@inlined
def _part_rocking(w: WorldView, count: int) -> None:
    """Soles of which only some corners stuck in the last step are not held as wholes."""
    for i in range(count):
        stuck = 0
        for k in range(i, i + w.blocks[i].corners):
            stuck += 1 if w.memory[w.contacts[k].candidate].mode == STICK else 0
        if 0 < stuck < w.blocks[i].corners:
            w.blocks[i].corners = 0


@inlined
def warm_start_impulses(w: WorldView, count: int, rows: int, dt: float) -> bool:
    """Start from the last step's impulses and modes: into the rows and the listed blocks.

    Returns False where something slipped, or nothing pressed.
    """
    any_pressed, p = False, w.impulse_row
    # What slipped pushes another way by now: its impulses are no guess
    for i in range(count):
        contact, block = w.contacts[i], w.blocks[i]
        last = w.memory[contact.candidate]
        if last.mode >= SLIP:
            return False
        r = contact.row
        block.mode = last.mode if w.G[r, r] > 0.0 else OPEN
        any_pressed = any_pressed or last.mode == STICK
        for k in range(r, r + 1 + contact.tangents + contact.moments):
            p[k] = 0.0
        if block.mode == STICK:
            _warm_start_contact(w, contact, p)
    warm_start_joints(w, count, rows, dt)
    return any_pressed


@inlined
def _warm_start_contact(w: StateView, contact: Any, impulses: Floats) -> None:
    """Impulses along a contact's rows, from what it remembers in the world's axes."""
    last, r = w.memory[contact.candidate].impulse, contact.row
    impulses[r] = dot3(contact.normal, last)
    if contact.tangents > 0:
        impulses[r + 1] = impulse_along(contact, contact.t1, last)
    if contact.tangents > 1:
        impulses[r + 2] = impulse_along(contact, contact.t2, last)
    if w.header[0].nviscous > 0:
        _leave_out_drag(contact, w.drag[contact.candidate], impulses)


@inlined
def _leave_out_drag(contact: Any, drag: Floats, impulses: Floats) -> None:
    """Take the viscous part, world axes, from the impulses along a contact's rows."""
    r = contact.row
    impulses[r] -= dot3(contact.normal, drag)
    if contact.tangents > 0:
        impulses[r + 1] -= impulse_along(contact, contact.t1, drag)
    if contact.tangents > 1:
        impulses[r + 2] -= impulse_along(contact, contact.t2, drag)


@inlined
def warm_start_all(w: WorldView, count: int, rows: int, dt: float) -> None:
    """The last step's impulses and moments into all rows, whatever slipped."""
    planar, p = w.header[0].directions == 2, w.impulse_row
    # Moments are turned back into units of the contact's length
    for r in range(rows):
        p[r] = 0.0
    for i in range(count):
        contact = w.contacts[i]
        m = contact.row + 1 + contact.tangents
        _warm_start_contact(w, contact, p)
        for a in range(contact.moments if contact.length > 0.0 else 0):
            p[m + a] = dot3(moment_axis(contact, a, planar), w.moments[contact.candidate])
            p[m + a] /= contact.length
    warm_start_joints(w, count, rows, dt)


@inlined
def warm_start_joints(w: WorldView, count: int, rows: int, dt: float) -> None:
    """The last step's impulses of joint stops and dry joints into their rows."""
    p, stops, rubbed = w.impulse_row, w.stops, w.dry
    # A stop's impulse in its row: along the entries of the gradient, three of a ball's
    for r in range(after_contacts(w.contacts, count), w.answer[0].dry):
        j = limited_coordinate(w.J, r)
        p[r] = w.J[r, j] * stops[j]
        for k in range(j + 1, j + 3 if w.dofs[j].limited == SWING else j):
            p[r] += w.J[r, k] * stops[k]
        p[r] = max(p[r], 0.0)
    # Within the bounds, which follow the length of the step
    r = w.answer[0].dry
    for j in range(w.header[0].nv if r < rows else 0):
        if w.dofs[j].friction > 0.0 and r < rows:
            p[r] = within(w.dofs[j].friction * dt, rubbed[j])
            r += 1


@inlined
def _clear(block: Any, row: int) -> None:
    """A block of one row, a joint's."""
    block.row, block.tangents, block.friction, block.compression = row, 0, 0.0, 0.0
    block.moments = block.dry = block.corners = 0


@inlined
def give_moments(contact: Any, block: Any) -> None:
    """Torsional and rolling friction of a contact, where anything can turn there."""
    block.moments, block.spin, block.roll = 0, 0.0, 0.0
    if contact.moments > 0 and contact.length > 0.0:
        block.moments = contact.moments
        spin, roll = contact.spin / contact.length, contact.roll / contact.length
        # In the plane the one row is that of rolling, and stands where that of spin does
        planar = contact.moments == 1 and contact.roll > 0.0
        block.spin = roll if planar else spin
        block.roll = roll if contact.moments == 3 else 0.0


@inlined
def _list_dry(w: WorldView, first: int, rows: int, dt: float) -> int:
    """Dry joints as blocks from number `first` on; returns how many blocks there are."""
    r, last = w.answer[0].dry, w.dry
    for j in range(w.header[0].nv):
        if w.dofs[j].friction == 0.0 or r >= rows:
            continue
        block = w.blocks[first]
        # The bound stands where contacts have their compression impulse
        _clear(block, r)
        block.dry, block.compression = 1, w.dofs[j].friction * dt
        block.mode = STICK
        # At a bound in the last step: it slips on
        if abs(last[j]) >= AT_BOUND * block.compression:
            block.mode = SLIP if last[j] > 0.0 else SLIP + 1
        first, r = first + 1, r + 1
    return first


@inlined
def touch(w: StateView, candidate: int) -> None:
    """List `candidate` among those that may remember something."""
    status, memory = w.status[0], w.memory[candidate]
    if memory.listed == 0:
        memory.listed = 1
        w.touched[status.touched] = candidate
        status.touched += 1


@inlined
def clear_warm_start(w: StateView) -> None:
    """Candidates that were not in reach this time remember nothing but their sums."""
    status = w.status[0]
    for k in range(status.touched):
        old = w.memory[w.touched[k]]
        old.impulse[0] = old.impulse[1] = old.impulse[2] = 0.0
        old.mode = OPEN
        for a in range(3 if w.header[0].nviscous > 0 else 0):
            w.drag[w.touched[k], a] = 0.0
    status.limits_active = 0


@inlined
def remember_modes(w: WorldView, count: int, total: int) -> None:
    """Keep the modes of `total` blocks: `count` contacts, by candidate, and limits, by coordinate.

    Those of dry joints follow from their impulses.
    """
    # A slip that is hardly one counts as sticking
    for i in range(count):
        block, memory = w.blocks[i], w.memory[w.contacts[i].candidate]
        memory.mode = block.mode
        if block.mode >= SLIP and not block.slip > STILL:
            memory.mode = STICK
    # One bit for each coordinate whose stop pressed
    for i in range(count, total):
        if w.blocks[i].mode != OPEN and w.blocks[i].dry == 0:
            coordinate = limited_coordinate(w.J, w.blocks[i].row)
            if coordinate < BITS:
                w.status[0].limits_active |= 1 << coordinate


@inlined
def remember_impulses(w: WorldView, count: int) -> None:
    """Keep the impulses of the rows, and write them to the contacts."""
    p = w.impulse_row
    w.status[0].contacts = 0
    for i in range(count):
        contact = w.contacts[i]
        r, tangents = contact.row, contact.tangents
        p1 = p[r + 1] if tangents > 0 else 0.0
        p2 = p[r + 2] if tangents > 1 else 0.0
        remember_contact(w, contact, p[r], p1, p2, w.blocks[i].slip)


@inlined
def remember_contact(
    w: StateView, contact: Any, p0: float, p1: float, p2: float, slip: float
) -> None:
    """Keep a contact's impulse by its candidate, in the world's axes.

    p0, p1, p2: along its normal and tangents [N s]; slip: the least that bounds it [m/s]
    """
    n, t1, t2 = contact.normal, contact.t1, contact.t2
    record = w.memory[contact.candidate]
    touch(w, contact.candidate)
    contact.slip = slip
    contact.impulse[0], contact.impulse[1], contact.impulse[2] = p0, p1, p2
    # In the world's axes: the tangents turn from step to step
    for k in range(3):
        record.impulse[k] = p0 * n[k] + p1 * t1[k] + p2 * t2[k]
    # It sticks if it presses and its slip is nil.
    contact.stick = contact.tangents if p0 > 0.0 and slip <= SLIPS else 0
    w.status[0].contacts += 1 if p0 > 0.0 else 0


@inlined
def is_pressed(w: WorldView, coordinate: int) -> bool:
    """Whether the joint stop of a coordinate bore in the last answer."""
    if coordinate < BITS:
        return bool((w.status[0].limits_active >> coordinate) & 1)
    return bool(w.stops[coordinate] != 0.0)
