"""One island's contact problem: its impulses, the velocities that they give, and its certificate.

Each tree is moved by its own mass matrix, M^-1 J^T = Z^T: no Delassus matrix of the island is made.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dynenvs.contact.law.dry import certify_dry
from dynenvs.contact.law.moments import Six, certify_moments, turning
from dynenvs.contact.solvers.cone_law import certify_cones
from dynenvs.contact.solvers.pyramid_law import certify_block
from dynenvs.contact.sparse.problem import row_velocities
from dynenvs.contact.sparse.sweeps import add_response, add_responses
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import matrix, raw
from dynenvs.kinematics.triples import Three
from dynenvs.memory.layout import Floats, Records, WorldView, cone_of, polygon_of
from dynenvs.memory.records import CONE, DRY
from dynenvs.memory.sparse_view import SparseView


class IslandProblem(NamedTuple):
    """An island, and what its solvers need beside it."""

    scene: SparseView
    island: Records  # its own, alone
    scale: float  # the certificate's velocity scale [m/s]
    cone: int  # PYRAMID or CONE
    polygon: Records
    blocks: Records  # scratch, one BLOCK at least
    # Impulses: those sought, those of a trial, the best, and those to go back to
    p: Floats
    trial: Floats
    best: Floats
    held: Floats


@inlined
def open_island(w: WorldView, index: int) -> IslandProblem:
    """The problem of island `index`, whose scale is known."""
    scene = w.scene
    island = scene.islands[index : index + 1]
    return IslandProblem(
        scene, island, island[0].scale, cone_of(w), polygon_of(w), w.blocks, scene.p, scene.trial,
        scene.best, scene.held,
    )  # fmt: skip


@inlined
def copy_impulses(scene: SparseView, island: Any, source: Floats, target: Floats) -> None:
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        j = scene.constraints[i].moments
        for r in range(3):
            target[i, r] = source[i, r]
            if j >= 0:
                target[j, r] = source[j, r]


@inlined
def copy_velocities(scene: SparseView, island: Any, source: Floats, target: Floats) -> None:
    """Of the island's trees."""
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        for j in range(tree.first, tree.first + tree.nv):
            target[j] = source[j]


@inlined
def respond(scene: SparseView, island: Any, impulses: Floats, v: Floats) -> None:
    """v = v_free + M^-1 J^T impulses of the island's trees."""
    # Free motion, then what each impulse adds
    copy_velocities(scene, island, scene.free, v)
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        if scene.constraints[i].rows == 3 and impulses[i, 0] != 0.0:
            add_responses(scene, i, impulses[i], v)
        else:
            for r in range(scene.constraints[i].rows):
                if impulses[i, r] != 0.0:
                    add_response(scene, i, r, impulses[i, r], v)
        j = scene.constraints[i].moments
        for r in range(scene.constraints[j].rows if j >= 0 else 0):
            if impulses[j, r] != 0.0:
                add_response(scene, j, r, impulses[j, r], v)


@kernel
def update_velocities(problem: IslandProblem) -> float:
    """Velocities that the impulses give, and the certificate's residual of both; inf for NaN."""
    scene, island, polygon, scale = problem.scene, problem.island[0], problem.polygon, problem.scale
    respond(scene, island, scene.p, scene.v)
    worst = 0.0
    # The certificate of blocks takes one: each constraint is written into it in turn
    block = problem.blocks[0]
    for k in range(island.first, island.first + island.count):
        i = scene.members[k]
        c = scene.constraints[i]
        block.row, block.tangents = 0, c.rows - 1
        block.friction, block.compression = c.friction, c.compression
        block.dry = block.moments = 0
        # Velocities of the rows, right-hand sides included
        u = scene.trial[i]
        u[0], u[1], u[2] = row_velocities(scene, i, scene.v)
        G = matrix(raw(scene.G[i], 72), 0, 3, 3, np.float64)
        if c.contact == DRY:
            residual = certify_dry(c.compression, scene.G[i, 0], scene.p[i, 0], u[0]) / scale
            block.slip = 0.0
        elif c.moments >= 0:
            residual = _certify_moments(scene, i, c) / scale
            block.slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
        elif problem.cone == CONE and c.rows == 3:
            residual = certify_cones(problem.blocks, 1, G, scale, scene.p[i], u)
        else:
            residual = certify_block(polygon, block, G, scale, scene.p[i], u)
        # Written so that NaN counts as the worst
        c.slip = block.slip
        if not residual <= worst:
            worst = residual
    return worst if worst < math.inf else math.inf


@inlined
def contact_velocities(scene: SparseView, index: int) -> Six:
    """Velocities and turns at contact `index`, which has moments."""
    a, b, c = row_velocities(scene, index, scene.v)
    d, e, f = row_velocities(scene, scene.constraints[index].moments, scene.v)
    return a, b, c, d, e, f


@inlined
def contact_impulses(scene: SparseView, index: int) -> Six:
    """Impulses and moments of contact `index`."""
    p, q = scene.p[index], scene.p[scene.constraints[index].moments]
    return p[0], p[1], p[2], q[0], q[1], q[2]


@inlined
def contact_coefficients(scene: SparseView, index: int) -> Three:
    """Those of sliding, torsional and rolling friction."""
    c = scene.constraints[index]
    d = scene.constraints[c.moments]
    return c.friction, d.friction, d.roll if d.rows == 3 else 0.0


@inlined
def _certify_moments(scene: SparseView, index: int, constraint: Any) -> float:
    """The law's residual at contact `index` [m/s]; writes what turns add to its slip."""
    # The largest velocity that a unit of impulse gives a row, moments' rows included
    mu, u, g = contact_coefficients(scene, index), contact_velocities(scene, index), 0.0
    for r in range(3):
        g = max(g, scene.G[index, 4 * r] if r < constraint.rows else 0.0)
        g = max(
            g,
            scene.G[constraint.moments, 4 * r]
            if r < scene.constraints[constraint.moments].rows
            else 0.0,
        )
    constraint.turning = turning(mu, u)
    return float(certify_moments(mu, constraint.compression, g, contact_impulses(scene, index), u))
