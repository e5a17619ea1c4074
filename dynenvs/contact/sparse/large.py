"""Large islands: multipliers from the last step's impulses, from the central path, from nothing."""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.contact.penalty import ENOUGH
from dynenvs.contact.sparse.factor import order_trees
from dynenvs.contact.sparse.path import follow_path
from dynenvs.contact.sparse.proximal import (
    copy_impulses,
    multiply,
    update_velocities,
)
from dynenvs.layout import Records
from dynenvs.lcp.solve import CERTIFIED_RESIDUAL
from dynenvs.records import MULTIPLIERS, PATH
from dynenvs.sparse_view import SparseView

WARM, NEAR = 0.08, 0.4  # parts of the budget after which multipliers of the first two end
FIRST_SWEEPS, NO_SWEEPS, MORE_SWEEPS = 20, 0, 60  # of Gauss-Seidel before them


@kernel
def go_on(x: SparseView, island: Any, status: Any, polygon: Records, blocks: Records) -> float:
    """Multipliers from the impulses that stand in `p`; returns the residual of the best.

    status: the world's STATUS; blocks: scratch, one BLOCK
    """
    cone, first = status.cone, island.residual
    if first <= ENOUGH or not order_trees(x, island):
        return first
    status.asked[MULTIPLIERS] += 1
    warm = multiply(
        x, island, cone, polygon, blocks, first, FIRST_SWEEPS, int(WARM * status.budget)
    )
    status.answered[MULTIPLIERS] += 1 if warm <= CERTIFIED_RESIDUAL else 0
    return warm


@kernel
def start_anew(x: SparseView, island: Any, status: Any, polygon: Records, blocks: Records) -> float:
    """From the central path, then from no impulses; arguments and answer as of `go_on`, after it.

    What `p` holds stays where that gives nothing better.
    """
    cone, budget, warm = status.cone, status.budget, island.residual
    copy_impulses(x, island, x.p, x.kept)
    status.asked[PATH] += 1
    # The pyramids' central path leads near the exact cones' answer, too
    near = follow_path(x, island, cone, polygon, blocks, budget)
    near = multiply(x, island, cone, polygon, blocks, near, NO_SWEEPS, int(NEAR * budget))
    if near <= CERTIFIED_RESIDUAL:
        status.answered[PATH] += 1
        return near
    if near < warm:
        copy_impulses(x, island, x.p, x.kept)
    # Contacts that have changed what they do can mislead: their impulses are worth less than none
    status.asked[MULTIPLIERS] += 1
    _clear(x, island)
    cold = update_velocities(x, island, cone, polygon, blocks)
    cold = multiply(x, island, cone, polygon, blocks, cold, MORE_SWEEPS, budget)
    if cold < min(warm, near):
        status.answered[MULTIPLIERS] += 1 if cold <= CERTIFIED_RESIDUAL else 0
        return cold
    copy_impulses(x, island, x.kept, x.p)
    return update_velocities(x, island, cone, polygon, blocks)


@inlined
def _clear(x: SparseView, island: Any) -> None:
    for k in range(island.first, island.first + island.count):
        i = x.members[k]
        j = x.constraints[i].moments
        for r in range(3):
            x.p[i, r] = 0.0
            if j >= 0:
                x.p[j, r] = 0.0
