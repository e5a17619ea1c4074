"""Which bodies turn independently of all others: their gyroscopic term is implicit in a step."""

from __future__ import annotations

import numpy as np

from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import FREE, SPHERICAL
from dynenvs.model.parts import Body, carried

REGULAR = 1e-12  # least share of an inertia's largest moment that its least one is


def mark_spins(records: Records, bodies: list[Body], held: set[str], driven: set[str]) -> int:
    """Fill `spins` of the BODY records; returns the number of bodies that spin.

    They are on a free joint or a ball that stands still, nothing that moves hangs from them, no
    loop holds them, and their inertia turns any way.  Not where servos drive the joint: these see
    the end of the step.

    held: names of what loops hold
    driven: names of those whose joints servos push by forces that follow the state
    """
    rides = carried(bodies)
    for i, body in enumerate(bodies, 1):
        record = records[i]
        moved = records[record.parent].tree >= 0
        on_ball = record.joint in (SPHERICAL, FREE) and not moved and not rides[i - 1]
        record.spins = on_ball and not body.kinematic and body.name not in driven
        if moved and record.nv > 0:
            records[_carrier(records, int(record.parent))].spins = 0
        if record.tree >= 0 and body.name in held:
            records[_carrier(records, i)].spins = 0
    welded = np.flatnonzero(records["nv"] == 0)
    for place in np.flatnonzero(records["spins"]):
        moments = np.linalg.eigvalsh(_inertia(records, int(place), welded[welded > place].tolist()))
        records[place].spins = moments[0] > REGULAR * moments[-1]
    return int(np.count_nonzero(records["spins"]))


def _carrier(records: Records, index: int) -> int:
    """The first body on the way from a body to the root, itself included, whose joint moves."""
    while records[index].nv == 0:
        index = int(records[index].parent)
    return index


def _inertia(records: Records, index: int, welded: list[int]) -> Floats:
    """Inertia of a body and all that is fixed to it about what stays, its axes, (3, 3).

    welded: bodies after it that do not move against their parents
    """
    places = {index: (np.eye(3), np.zeros(3))}
    mass, h, about = 0.0, np.zeros(3), np.zeros((3, 3))
    for k in (index, *welded):
        record = records[k]
        if k != index:
            if int(record.parent) not in places:
                continue
            R, p = places[int(record.parent)]
            places[k] = R @ record.rotation, p + R @ record.position
        R, p = places[k]
        c = p + R @ record.com
        mass, h = mass + record.mass, h + record.mass * c
        about += R @ record.inertia @ R.T + record.mass * (c @ c * np.eye(3) - np.outer(c, c))
    if records[index].joint == FREE and mass > 0.0:
        about -= (h @ h * np.eye(3) - np.outer(h, h)) / mass
    return about
