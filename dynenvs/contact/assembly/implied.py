"""Rows of a body on a plane that others of its rows imply.

Three corners of a sole tell how its plane lies; one of them and a direction, where it stands on the
ground.  So of the twelve rows of four sticking corners six say it all, and the other six make G
singular and its factors dear.  Where rows share one rigid motion, they can be left out.
"""

from __future__ import annotations

from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Ints, Records
from dynenvs.memory.records import HALF_SPACE

COLLINEAR = 1e-6  # square of the sine from which a third point is off the line of two


@kernel
def leave_out_implied(contacts: Records, count: int, marks: Ints, marked: int) -> int:
    """Keep those marked rows that no others of their body imply; returns their number.

    marked: how many rows are marked
    marks: rows in rising order, those of the `count` contacts first; the others all stay
    """
    kept, at = 0, 0
    # Of the body at hand: its first and second point with a normal row, the first with tangents
    group, lead, other, stuck = -1, -1, -1, -1
    level, turned = False, False  # a third point fixes the plane, a second one the direction
    for i in range(count):
        contact = contacts[i]
        flat = contact.kind == HALF_SPACE
        # The next body: nothing is known of it yet
        if not flat or contact.group != group:
            group = contact.group if flat else -1
            lead = other = stuck = -1
            level = turned = False
        # Its marked rows, the normal one first
        while at < marked and marks[at] <= contact.row + contact.tangents:
            r = marks[at]
            at += 1
            needed = True
            # Normal rows: two are always needed, a third if it is off their line, and then no more
            if flat and r == contact.row:
                if lead < 0:
                    lead = i
                elif other < 0:
                    other = i
                else:
                    needed = not level and _off_line(contacts, lead, other, i)
                    level = level or needed
            # Tangential rows: both of one point, and of the others the first that tells of a turn
            elif flat and stuck < 0:
                stuck = i
            elif flat and stuck != i:
                needed = not turned and _turns(contacts[stuck], contact, r)
                turned = turned or needed
            if needed:
                marks[kept] = r
                kept += 1
    # Rows of joints stay
    for k in range(at, marked):
        marks[kept] = marks[k]
        kept += 1
    return kept


@inlined
def _off_line(contacts: Records, first: int, second: int, third: int) -> bool:
    """Whether the third of three points is not on the line of the other two."""
    # Twice the triangle's area along the normal
    n = contacts[first].normal
    p, q, r = contacts[first].point, contacts[second].point, contacts[third].point
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    u, v, w = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    area = n[0] * (y * w - z * v) + n[1] * (z * u - x * w) + n[2] * (x * v - y * u)
    return area * area > COLLINEAR * (x * x + y * y + z * z) * (u * u + v * v + w * w)


@inlined
def _turns(first: Any, contact: Any, row: int) -> bool:
    """Whether a turn about the first point moves another one more along this row than its other."""
    along, across = 0.0, 0.0
    # The arm in the plane: a turn moves the point across it
    for k in range(3):
        d = contact.point[k] - first.point[k]
        along += d * contact.t1[k]
        across += d * contact.t2[k]
    if row == contact.row + 1:
        return abs(across) > 0.0 and abs(across) >= abs(along)
    return abs(along) > abs(across)
