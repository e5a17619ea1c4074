"""Dry friction of joints: a constraint of one row whose impulse has two bounds.

Coulomb's law for coordinate j with the friction f: it rests as long as an impulse within +-f dt can
hold it; while it moves, f dt opposes it.  With u = v_j this reads, for any rho > 0,

    p = P(p - rho u),    P(y) = min(max(y, -f dt), f dt):

a box in place of Coulomb's cone (`projection.py`), solved with all contacts of the island at once.
"""

from __future__ import annotations

from typing import Any

from dynenvs.contact.sparse.weights import weigh_rows
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, StateView, WorldView
from dynenvs.memory.records import DRY
from dynenvs.memory.sparse_view import SparseView


@kernel
def pose_dry(w: WorldView, scene: SparseView, count: int, dt: float) -> int:
    """Constraints from number `count` on for all dry joints, weighed; returns the number of all.

    Impulses start from those of the last step.
    """
    last = w.dry
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.friction == 0.0:
            continue
        c = scene.constraints[count]
        c.contact, c.coordinate, c.rows, c.friction = DRY, j, 1, 0.0
        c.drifts, c.moments, c.pressed = 0, -1, 0
        c.a, c.b = dof.tree, -1
        for r in range(6):
            for k in range(scene.J.shape[1]):
                scene.J[6 * count + r, k] = 0.0
        scene.J[6 * count, dof.place] = 1.0
        for r in range(3):
            scene.bias[count, r] = scene.p[count, r] = 0.0
        weigh_rows(w.dofs, w.L, scene, count)
        c.speed, c.reserve = abs(w.v_free[j]), dof.friction * dt
        scene.p[count, 0] = min(max(last[j], -c.reserve), c.reserve)
        count += 1
    return count


@inlined
def project_dry(c: Any, rho: float, p: float, u: float, out: Floats, W: Floats) -> None:
    """P(p - rho u) into `out`, shape (3,), and W = -dP/du, shape (9,)."""
    for k in range(9):
        W[k] = 0.0
    y = p - rho * u
    out[0], out[1], out[2] = min(max(y, -c.reserve), c.reserve), 0.0, 0.0
    W[0] = rho if abs(y) <= c.reserve else 0.0


@inlined
def certify_dry(c: Any, g: float, p: float, u: float) -> float:
    """Natural residual of the law at a dry joint [rad/s, m/s]; NaN stays."""
    y = p - u / g
    nearest = y
    if y > c.reserve:
        nearest = c.reserve
    elif y < -c.reserve:
        nearest = -c.reserve
    return abs(p - nearest) * g


@inlined
def has_dry(scene: SparseView, island: Any) -> int:
    """1 if some joint of the island rubs, else 0."""
    found = 0
    for k in range(island.first, island.first + island.count):
        if scene.constraints[scene.members[k]].contact == DRY:
            found = 1
    return found


@inlined
def remember_dry(w: StateView, scene: SparseView, first: int, count: int) -> None:
    """Keep the impulses of dry joints, which are among constraints first, ..., count - 1."""
    last = w.dry
    for i in range(first, count):
        if scene.constraints[i].contact == DRY:
            last[scene.constraints[i].coordinate] = scene.p[i, 0]
