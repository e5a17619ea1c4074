"""Block Gauss-Seidel: one contact after the other, each with what the others have left it.

It converges slowly where contacts are far or redundant, but from nothing it comes near to an answer
in a few sweeps; Newton's method (`proximal.py`) goes on from there.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.law.dry import within
from dynenvs.contact.solvers.modes import nearest
from dynenvs.contact.sparse.problem import row_velocity
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, Records
from dynenvs.memory.records import CONE, DRY
from dynenvs.memory.sparse_view import SparseView


@kernel
def sweep(scene: SparseView, island: Any, cone: int, polygon: Records, rounds: int) -> None:
    """Change `p` of an island, and `v` with it: v = free + Z^T p before and after."""
    for _ in range(rounds):
        for k in range(island.first, island.first + island.count):
            i = scene.members[k]
            if scene.constraints[i].contact == DRY:
                _relax_dry(scene, i)
            elif scene.constraints[i].moments < 0:
                _relax(scene, i, cone, polygon)
            else:
                _relax(scene, i, CONE, polygon)
                _relax_moments(scene, i)


@inlined
def _relax(scene: SparseView, index: int, cone: int, polygon: Records) -> None:
    """The normal impulse that answers u_n, then the friction nearest to what stops the slip."""
    c, p, G = scene.constraints[index], scene.p[index], scene.G[index]
    if not G[0] > 0.0:  # nothing moves it
        return
    # The normal impulse that stops its approach, or none
    u = row_velocity(scene, index, 0, scene.v) + scene.bias[index, 0]
    add_impulse(scene, index, 0, max(p[0] - u / G[0], 0.0) - p[0])
    if c.rows == 1:
        return
    # Friction within its bound, which follows the impulse that has just changed
    bound = c.friction * (p[0] + c.compression)
    g = G[4] if c.rows == 2 else max(G[4], G[8])
    g = max(g, 1e-9 * G[0])
    y1 = p[1] - (row_velocity(scene, index, 1, scene.v) + scene.bias[index, 1]) / g
    if c.rows == 2:
        add_impulse(scene, index, 1, min(max(y1, -bound), bound) - p[1])
        return
    y2 = p[2] - (row_velocity(scene, index, 2, scene.v) + scene.bias[index, 2]) / g
    # The nearest point of the disc, or of the polygon
    if cone == CONE:
        size = math.sqrt(y1 * y1 + y2 * y2)
        share = bound / size if size > bound else 1.0
        y1, y2 = share * y1, share * y2
    else:
        _, y1, y2 = nearest(polygon, bound, y1, y2)
    add_impulse(scene, index, 1, y1 - p[1])
    add_impulse(scene, index, 2, y2 - p[2])


@inlined
def _relax_dry(scene: SparseView, index: int) -> None:
    """The impulse within its bound that is nearest to what stops the joint."""
    bound, p = scene.constraints[index].compression, scene.p[index, 0]
    y = p - (row_velocity(scene, index, 0, scene.v) + scene.bias[index, 0]) / scene.G[index, 0]
    add_impulse(scene, index, 0, within(bound, y) - p)


@inlined
def _relax_moments(scene: SparseView, index: int) -> None:
    """The moments nearest to what stops the turns, for the normal impulse as it is."""
    j = scene.constraints[index].moments
    d, q, G = scene.constraints[j], scene.p[j], scene.G[j]
    # A row that yields next to nothing would ask for any moment
    least = 1e-9 * d.g
    # About the normal
    bound = d.friction * scene.p[index, 0]
    y0 = q[0] - (row_velocity(scene, j, 0, scene.v) + scene.bias[j, 0]) / max(G[0], least)
    add_impulse(scene, j, 0, min(max(y0, -bound), bound) - q[0])
    if d.rows == 1:
        return
    # About the tangents: one disc for both
    bound = d.roll * scene.p[index, 0]
    g = max(max(G[4], G[8]), least)
    y1 = q[1] - (row_velocity(scene, j, 1, scene.v) + scene.bias[j, 1]) / g
    y2 = q[2] - (row_velocity(scene, j, 2, scene.v) + scene.bias[j, 2]) / g
    size = math.sqrt(y1 * y1 + y2 * y2)
    share = bound / size if size > bound else 1.0
    add_impulse(scene, j, 1, share * y1 - q[1])
    add_impulse(scene, j, 2, share * y2 - q[2])


@inlined
def add_impulse(scene: SparseView, index: int, row: int, change: float) -> None:
    """Change one impulse, and the velocities of the trees that it acts on."""
    if change == 0.0:
        return
    scene.p[index, row] += change
    add_response(scene, index, row, change, scene.v)


@inlined
def add_response(scene: SparseView, index: int, row: int, impulse: float, v: Floats) -> None:
    """v += M^-1 J^T impulse for `row` of constraint `index`."""
    c = scene.constraints[index]
    a = scene.trees[c.a]
    for k in range(a.nv):
        v[a.first + k] += impulse * scene.Z[6 * index + row, k]
    if c.b >= 0:
        b = scene.trees[c.b]
        for k in range(b.nv):
            v[b.first + k] += impulse * scene.Z[6 * index + 3 + row, k]


@inlined
def add_responses(scene: SparseView, index: int, impulses: Floats, v: Floats) -> None:
    """The same for all three rows of a constraint: v is loaded and stored once."""
    c, p, q, r = scene.constraints[index], impulses[0], impulses[1], impulses[2]
    Z, first, at = scene.Z, scene.trees[c.a].first, 6 * index
    for k in range(scene.trees[c.a].nv):
        v[first + k] = v[first + k] + p * Z[at, k] + q * Z[at + 1, k] + r * Z[at + 2, k]
    if c.b >= 0:
        first, at = scene.trees[c.b].first, at + 3
        for k in range(scene.trees[c.b].nv):
            v[first + k] = v[first + k] + p * Z[at, k] + q * Z[at + 1, k] + r * Z[at + 2, k]
