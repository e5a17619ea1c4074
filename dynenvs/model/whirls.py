"""Which bodies, and which of their coordinates, belong to trees that may whirl.

There the motion of one coordinate pushes the others.
"""

from __future__ import annotations

import numpy as np

from dynenvs.memory.layout import Records
from dynenvs.memory.records import FREE, PRISMATIC


def mark_whirls(records: Records, carried: bool) -> int:
    """Fill `whirls` of the BODY records; returns the number of bodies with it.

    They belong to a tree of several coordinates, and do not spin apart from all others.  None where
    kinematic bodies carry others: these may give and take any energy.

    carried: whether they do
    """
    moving = records["tree"] >= 0
    trees = records["tree"][moving]
    coordinates = np.bincount(trees, weights=records["nv"][moving])
    spinning = np.bincount(trees, weights=records["spins"][moving])
    records["whirls"][moving] = (coordinates[trees] > 1) & (spinning[trees] == 0) & (not carried)
    return int(records["whirls"].sum())


def mark_turns(dofs: Records, bodies: Records) -> None:
    """Fill `turns` of the DOF records, from filled BODY records."""
    for body in bodies[1:]:
        first = body.v_at + (3 if body.joint == FREE else 0)  # translations of a free joint
        turns = body.whirls and body.joint != PRISMATIC
        dofs["turns"][first : body.v_at + body.nv] = turns
