"""What the experts of legged robots share of the way from goals to joint velocities and torques.

A leg's record has the fields gap [m] and velocity of its foot, whose last three entries
are linear, those before them angular.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView, Records, WorkspaceView

DOWN = 2e-5  # height below which a foot carries: one that is still in the air would slam [m]
SETTLED = 0.003  # speed below which a foot that stands is at rest [m/s]
SHARING = 200.0  # of the shares against least torque, for a foot that carries the whole weight
EVEN, UNLOADED = 0.001, 0.005  # keep the cost of a foot's impulse finite


@inlined
def contact_cost(share: float, mass: float, h: float) -> float:
    """Cost of the contact impulse of a foot that is to carry this share of the robot's weight.

    With these costs feet carry loads in proportion to their shares.  mass: of the robot [kg];
    h: control period [s].
    """
    sharing = SHARING / (9.81 * mass * h) ** 2
    unloaded = (1.0 - share + EVEN) / (share + UNLOADED)
    return sharing * math.sqrt(unloaded)


@inlined
def slams(one: Any, joints: int) -> bool:
    """Whether a foot is on the ground and still moves down: it has just come down."""
    return bool(one.gap < DOWN and one.velocity[joints - 1] < -SETTLED)


@inlined
def any_slams(legs: Records, count: int, joints: int) -> bool:
    """Whether one of the feet has just come down."""
    found = False
    for leg in range(count):
        found = found or slams(legs[leg], joints)
    return found


@inlined
def put_actions(m: ModelView, w: WorkspaceView, root: int, out: Floats) -> None:
    """The torques in `w.tau` behind the root's over their limits, within [-1, 1]; shape (nu,)."""
    for j in range(out.shape[0]):
        a = w.tau[root + j] / m.dofs[root + j].effort
        out[j] = min(max(a, -1.0), 1.0)
