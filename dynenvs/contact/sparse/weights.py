"""What impulses along constraints do: Z = J M^-1, and each constraint's own G = J M^-1 J^T."""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.rows import SLIP
from dynenvs.contact.sparse.problem import predicted_velocity, turn_rows
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.sparse_view import SparseView


@kernel
def weigh(dofs: Records, L: Floats, scene: SparseView, count: int) -> None:
    """Z = J M^-1 of `count` constraints, and each one's own G = J M^-1 J^T."""
    for i in range(count):
        _weigh_one(dofs, L, scene, i)


@inlined
def _weigh_one(dofs: Records, L: Floats, scene: SparseView, i: int) -> None:
    weigh_rows(dofs, L, scene, i)
    if not scene.G[i, 0] > 0.0:
        _leave_out(scene, i)


@kernel
def align_with_slip(dofs: Records, L: Floats, contacts: Records, scene: SparseView, i: int) -> None:
    """Turn the tangents of contact i, alone, along its slip now (at `free`)."""
    if scene.constraints[i].rows < 3:
        return
    a, b = predicted_velocity(scene, i, 1), predicted_velocity(scene, i, 2)
    speed = math.sqrt(a * a + b * b)
    if speed > SLIP:
        turn_rows(contacts[i], scene, i, a / speed, b / speed)
        _weigh_one(dofs, L, scene, i)


@kernel
def weigh_rows(dofs: Records, L: Floats, scene: SparseView, i: int) -> None:
    """Z and G of constraint i."""
    c = scene.constraints[i]
    c.row, c.tangents, c.reserve = 3 * i, c.rows - 1, 0.0
    for k in range(9):
        scene.G[i, k] = 0.0
    for side in range(2 if c.b >= 0 else 1):
        tree = scene.trees[c.b if side else c.a]
        row = 6 * i + 3 * side
        for r in range(c.rows):
            _divide(dofs, L, scene, tree, row + r)
        for a in range(c.rows):
            for b in range(c.rows):
                for k in range(tree.nv):
                    scene.G[i, 3 * a + b] += scene.J[row + a, k] * scene.Z[row + b, k]
    c.g = (scene.G[i, 0] + scene.G[i, 4] + scene.G[i, 8]) / c.rows


@inlined
def _leave_out(scene: SparseView, i: int) -> None:
    """A contact that no coordinate can part (a cart's on a rail) carries nothing, nor friction.

    Any normal impulse would do; none is the answer of the dense solvers, too.
    """
    c = scene.constraints[i]
    c.rows, c.tangents, c.g, c.speed = 1, 0, 1.0, 0.0
    for k in range(9):
        scene.G[i, k] = 0.0
    for r in range(3):
        scene.p[i, r] = 0.0


@inlined
def _divide(dofs: Records, L: Floats, scene: SparseView, tree: Any, row: int) -> None:
    """One row of Z: the tree's factors L^T D L solved for the same row of J."""
    Z, order = scene.Z, scene.coordinates
    for k in range(tree.nv):
        Z[row, k] = scene.J[row, k]
    for k in range(tree.nv - 1, -1, -1):  # L^-T: tips to base
        i = order[tree.first + k]
        value = Z[row, k]
        j = dofs[i].parent
        while j >= 0 and not dofs[j].kinematic:
            Z[row, dofs[j].place] -= L[i, j] * value
            j = dofs[j].parent
    for k in range(tree.nv):  # D^-1, then L^-1: base to tips
        i = order[tree.first + k]
        value = Z[row, k] * L[i, i]
        j = dofs[i].parent
        while j >= 0 and not dofs[j].kinematic:
            value -= L[i, j] * Z[row, dofs[j].place]
            j = dofs[j].parent
        Z[row, k] = value
