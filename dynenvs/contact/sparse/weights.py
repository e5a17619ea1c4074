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
def weigh(dofs: Records, factors: Floats, scene: SparseView, count: int) -> None:
    """Z = J M^-1 of `count` constraints, and each one's own G = J M^-1 J^T."""
    for i in range(count):
        _weigh_one(dofs, factors, scene, i)


@inlined
def _weigh_one(dofs: Records, factors: Floats, scene: SparseView, index: int) -> None:
    weigh_rows(dofs, factors, scene, index)
    if not scene.G[index, 0] > 0.0:
        _leave_out(scene, index)


@kernel
def align_with_slip(
    dofs: Records, factors: Floats, contacts: Records, scene: SparseView, index: int
) -> None:
    """Turn the tangents of contact `index`, alone, along its slip now (at `free`)."""
    if scene.constraints[index].rows < 3 or contacts[index].skewed != 0:
        return
    a, b = predicted_velocity(scene, index, 1), predicted_velocity(scene, index, 2)
    speed = math.sqrt(a * a + b * b)
    if speed > SLIP:
        turn_rows(contacts[index], scene, index, a / speed, b / speed)
        _weigh_one(dofs, factors, scene, index)


@kernel
def weigh_rows(dofs: Records, factors: Floats, scene: SparseView, index: int) -> None:
    """Z and G of constraint `index`."""
    c = scene.constraints[index]
    # Row and law as blocks know them
    c.row, c.tangents, c.compression = 3 * index, c.rows - 1, 0.0
    for k in range(9):
        scene.G[index, k] = 0.0
    # Z and the own block of G, side by side: J and Z of the same tree
    for side in range(2 if c.b >= 0 else 1):
        tree = scene.trees[c.b if side else c.a]
        row = 6 * index + 3 * side
        if c.rows == 3:
            _divide_three(dofs, factors, scene, tree, row)
        else:
            for r in range(c.rows):
                _divide(dofs, factors, scene, tree, row + r)
        for a in range(c.rows):
            for b in range(c.rows):
                for k in range(c.first[side], c.last[side]):
                    scene.G[index, 3 * a + b] += scene.J[row + a, k] * scene.Z[row + b, k]
    # One measure of how it yields, for penalties and moments
    c.g = (scene.G[index, 0] + scene.G[index, 4] + scene.G[index, 8]) / c.rows


@inlined
def _leave_out(scene: SparseView, index: int) -> None:
    """A contact that no coordinate can part (a cart's on a rail) carries nothing, nor friction.

    Any normal impulse would do; none is the answer of the dense solvers, too.
    """
    c = scene.constraints[index]
    c.rows, c.tangents, c.g, c.speed = 1, 0, 1.0, 0.0
    for k in range(9):
        scene.G[index, k] = 0.0
    for r in range(3):
        scene.p[index, r] = 0.0


@inlined
def _divide(dofs: Records, factors: Floats, scene: SparseView, tree: Any, row: int) -> None:
    """One row of Z: the tree's factors L^T D L solved for the same row of J."""
    Z, order = scene.Z, scene.coordinates
    for k in range(tree.nv):
        Z[row, k] = scene.J[row, k]
    for k in range(tree.nv - 1, -1, -1):  # L^-T: tips to base
        i = order[tree.first + k]
        value = Z[row, k]
        j = dofs[i].parent if value != 0.0 else -1
        while j >= 0 and not dofs[j].kinematic:
            Z[row, dofs[j].place] -= factors[i, j] * value
            j = dofs[j].parent
    for k in range(tree.nv):  # D^-1, then L^-1: base to tips
        i = order[tree.first + k]
        value = Z[row, k] * factors[i, i]
        j = dofs[i].parent
        while j >= 0 and not dofs[j].kinematic:
            value -= factors[i, j] * Z[row, dofs[j].place]
            j = dofs[j].parent
        Z[row, k] = value


@inlined
def _divide_three(dofs: Records, factors: Floats, scene: SparseView, tree: Any, row: int) -> None:
    """The same of three rows at once: the way from a coordinate to the root takes longest."""
    Z, order = scene.Z, scene.coordinates
    for r in range(row, row + 3):
        for k in range(tree.nv):
            Z[r, k] = scene.J[r, k]
    for k in range(tree.nv - 1, -1, -1):  # L^-T: tips to base
        i = order[tree.first + k]
        x, y, z = Z[row, k], Z[row + 1, k], Z[row + 2, k]
        j = dofs[i].parent if x != 0.0 or y != 0.0 or z != 0.0 else -1
        while j >= 0 and not dofs[j].kinematic:
            f, at = factors[i, j], dofs[j].place
            Z[row, at] -= f * x
            Z[row + 1, at] -= f * y
            Z[row + 2, at] -= f * z
            j = dofs[j].parent
    for k in range(tree.nv):  # D^-1, then L^-1: base to tips
        i = order[tree.first + k]
        d = factors[i, i]
        x, y, z = Z[row, k] * d, Z[row + 1, k] * d, Z[row + 2, k] * d
        j = dofs[i].parent
        while j >= 0 and not dofs[j].kinematic:
            f, at = factors[i, j], dofs[j].place
            x -= f * Z[row, at]
            y -= f * Z[row + 1, at]
            z -= f * Z[row + 2, at]
            j = dofs[j].parent
        Z[row, k], Z[row + 1, k], Z[row + 2, k] = x, y, z
