"""Dry joints (`dynenvs.contact.law.dry`) as constraints of an island, one row each."""

from __future__ import annotations

from dynenvs.contact.law.dry import within
from dynenvs.contact.sparse.problem import note_span
from dynenvs.contact.sparse.weights import weigh_rows
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import StateView, WorldView
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
        # One constraint for each, with one row: the coordinate itself
        c = scene.constraints[count]
        c.contact, c.coordinate, c.rows, c.friction = DRY, j, 1, 0.0
        c.drifts, c.moments, c.pressed, c.dry = 0, -1, 0, 1
        c.a, c.b = dof.tree, -1
        for r in range(6):
            for k in range(scene.J.shape[1]):
                scene.J[6 * count + r, k] = 0.0
        scene.J[6 * count, dof.place] = 1.0
        note_span(scene, count)
        for r in range(3):
            scene.bias[count, r] = scene.p[count, r] = 0.0
        weigh_rows(w.dofs, w.L, scene, count)
        # The compression impulse is the bound, here as in blocks of rows
        c.speed, c.compression = abs(w.v_free[j]), dof.friction * dt
        scene.p[count, 0] = within(c.compression, last[j])
        count += 1
    return count


@inlined
def remember_dry(w: StateView, scene: SparseView, first: int, count: int) -> None:
    """Keep the impulses of dry joints, which are among constraints first, ..., count - 1."""
    last = w.dry
    for i in range(first, count):
        if scene.constraints[i].contact == DRY:
            last[scene.constraints[i].coordinate] = scene.p[i, 0]
