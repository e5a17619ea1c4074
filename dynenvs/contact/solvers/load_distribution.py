"""How soles that stick share their loads between their corners.

What a sole's corners press and push together is known from its motion; how much of it each of them
does is not, and moves nothing.  The impulses of least norm spread the load linearly.  Where it
rests near an edge this lets the opposite corner pull, or pushes one that carries little out of its
cone.  Then the load is shared in another way:

- Of four corners one may give and take with the others in turn, along the one pattern of normal
  impulses that tilts and presses nothing: by as little as makes none pull.
- Each pushes in proportion to what it presses, by its share of the whole push and of the turn about
  the load's centre.  So without a turn all are equally near to slipping, and hold if the sole does.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.solvers.modes import STICK, nearest
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records

MARGIN = 0.01  # of what corners can give and take: a rounding later, none pulls


@kernel
def share_loads(
    polygon: Records, blocks: Records, count: int, loads: Floats, impulses: Floats
) -> bool:
    """Share anew, in `impulses`, what soles do of which a corner pulls or would slip.

    blocks: `count` of them, with `corners` of those soles that stick as wholes
    impulses: shape (rows,); loads: scratch
    Returns whether anything changed.  What fits the cones neither way stays as it is.
    """
    changed = False
    i = 0
    while i < count:
        m = blocks[i].corners
        if (
            m > 0
            and not _fits(polygon, blocks, i, m, impulses)
            and _level(blocks, i, m, loads, impulses)
        ):
            changed = _push_alike(polygon, blocks, i, m, loads, impulses) or changed
        i += max(m, 1)
    return changed


@inlined
def _fits(polygon: Records, blocks: Records, first: int, corners: int, impulses: Floats) -> bool:
    """Whether the impulses of all corners lie in their cones."""
    fits = True
    for k in range(first, first + corners):
        r = blocks[k].row
        fits = fits and _holds(
            polygon, blocks[k].friction, impulses[r], impulses[r + 1], impulses[r + 2]
        )
    return fits


@inlined
def _holds(polygon: Records, friction: float, normal: float, x: float, y: float) -> bool:
    """Whether a contact presses, and the push (x, y) makes it no slip."""
    return normal >= 0.0 and nearest(polygon, friction * normal, x, y)[0] == STICK


@inlined
def _level(blocks: Records, first: int, corners: int, loads: Floats, impulses: Floats) -> bool:
    """Write normal impulses none of which pulls to `loads`, (corners,); whether there are such."""
    low, high = -math.inf, math.inf
    for k in range(corners):
        load = loads[k] = impulses[blocks[first + k].row]
        # The one pattern of four normal impulses without force or moment: areas of the triangles
        # that the other three span, with alternating signs
        part = 0.0
        if corners == 4:
            part = _area(
                blocks[first + (k + 1) % 4],
                blocks[first + (k + 2) % 4],
                blocks[first + (k + 3) % 4],
            )
        part = loads[corners + k] = -part if k % 2 else part
        # How much of the pattern brings this corner's load to zero, a bound from below or above
        if part > 0.0:
            low = max(low, -load / part)
        elif part < 0.0:
            high = min(high, -load / part)
        elif load < 0.0:
            return False
    # As little as makes none pull, but inside the bounds by a margin
    inner = MARGIN * (high - low) if high - low < math.inf else 0.0
    much = min(max(low + inner, 0.0), high - inner)
    for k in range(corners):
        loads[k] = max(0.0, loads[k] + much * loads[corners + k])  # below zero by rounding alone
    return low <= high


@inlined
def _area(first: Any, second: Any, third: Any) -> float:
    """Twice the area of the triangle of three corners, positive if they go round to the left."""
    return float(
        (second.x - first.x) * (third.y - first.y) - (second.y - first.y) * (third.x - first.x)
    )


@inlined
def _push_alike(
    polygon: Records, blocks: Records, first: int, corners: int, loads: Floats, impulses: Floats
) -> bool:
    """Give the corners their loads, and pushes in proportion; returns False if these do not fit."""
    load, x, y = 0.0, 0.0, 0.0  # in all, and its centre
    along, across, turn = 0.0, 0.0, 0.0  # the whole push, and its moment
    # Sums over the corners: the load with its centre, the push with its moment
    for k in range(corners):
        block = blocks[first + k]
        r = block.row
        load += loads[k]
        x += block.x * loads[k]
        y += block.y * loads[k]
        along += impulses[r + 1]
        across += impulses[r + 2]
        turn += block.x * impulses[r + 2] - block.y * impulses[r + 1]
    if not load > 0.0:
        return False
    # About the load's centre a turn is carried in proportion to load times distance
    x, y = x / load, y / load
    turn -= x * across - y * along
    inertia = 0.0
    for k in range(corners):
        dx, dy = blocks[first + k].x - x, blocks[first + k].y - y
        inertia += loads[k] * (dx * dx + dy * dy)
    rate = turn / inertia if inertia > 0.0 else 0.0
    fits = inertia > 0.0 or turn == 0.0
    # Into scratch first: the impulses stay unless every corner holds
    for k in range(corners):
        block, t = blocks[first + k], corners + 2 * k
        loads[t] = loads[k] * (along / load - rate * (block.y - y))
        loads[t + 1] = loads[k] * (across / load + rate * (block.x - x))
        fits = fits and _holds(polygon, block.friction, loads[k], loads[t], loads[t + 1])
    for k in range(corners if fits else 0):
        r, t = blocks[first + k].row, corners + 2 * k
        impulses[r], impulses[r + 1], impulses[r + 2] = loads[k], loads[t], loads[t + 1]
    return fits
