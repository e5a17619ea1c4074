"""What a world remembers of its contacts between steps: the modes to start from, and the impulses.

The order in a step: `recall` before the contacts are solved, `remember_modes` and
`remember_impulses` after it.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.assembly.rows import SLIP as SLIPS
from dynenvs.contact.assembly.rows import limited_coordinate
from dynenvs.contact.solvers.modes import OPEN, SLIP, STICK
from dynenvs.contact.solvers.patches import find_soles, guess_wholes
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import StateView, WorldView

STILL = 1e-8  # a slower slip is remembered as sticking: then redundant contacts cease to squeeze


@inlined
def recall(w: WorldView, count: int, rows: int) -> tuple[int, bool]:
    """List contacts and limits as blocks in the modes of the last step.

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
        block.reserve = 0.0
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
        r += 1 + contact.tangents
    # Limits, pressed as they were
    n = count
    for k in range(r, rows):
        block = w.blocks[n]
        block.corners = 0
        block.row, block.tangents, block.friction, block.reserve = k, 0, 0.0, 0.0
        pressed = (w.status[0].limits_active >> limited_coordinate(w.J, k)) & 1
        block.mode = STICK if pressed else OPEN
        n += 1
    # What will be hit sticks; soles hold as wholes; what nothing moves is open
    for i in range(n):
        block = w.blocks[i]
        if block.mode == OPEN and w.bias_row[block.row] < 0.0:
            block.mode = STICK
    find_soles(w.contacts, count, w.blocks)
    guess_wholes(w.blocks, count)
    for i in range(n):
        block = w.blocks[i]
        if not w.G[block.row, block.row] > 0.0:
            block.mode = OPEN
    return n, mixed


@inlined
def touch(w: StateView, k: int) -> None:
    """List candidate k among those that may remember something."""
    status, memory = w.status[0], w.memory[k]
    if memory.listed == 0:
        memory.listed = 1
        w.touched[status.touched] = k
        status.touched += 1


@inlined
def forget(w: StateView) -> None:
    """Candidates that were not in reach this time remember nothing but their sums."""
    status = w.status[0]
    for k in range(status.touched):
        old = w.memory[w.touched[k]]
        old.impulse[0] = old.impulse[1] = old.impulse[2] = 0.0
        old.mode = OPEN
    status.limits_active = 0


@inlined
def remember_modes(w: WorldView, count: int, n: int) -> None:
    """Keep the modes of n blocks: `count` contacts, by candidate, and limits, by coordinate."""
    for i in range(count):
        block, memory = w.blocks[i], w.memory[w.contacts[i].candidate]
        memory.mode = block.mode
        if block.mode >= SLIP and not block.slip > STILL:
            memory.mode = STICK
    for i in range(count, n):
        if w.blocks[i].mode != OPEN:
            w.status[0].limits_active |= 1 << limited_coordinate(w.J, w.blocks[i].row)


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
    for k in range(3):
        record.impulse[k] = p0 * n[k] + p1 * t1[k] + p2 * t2[k]
    # It sticks if it presses and its slip is nil.
    contact.stick = contact.tangents if p0 > 0.0 and slip <= SLIPS else 0
    w.status[0].contacts += 1 if p0 > 0.0 else 0
