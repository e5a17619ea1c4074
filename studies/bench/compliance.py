"""How contact points give way: the linear recursion against sparse factors of the mass matrix.

The time step takes J M^-1 J^T of its contacts from the factors L^T D L of M, which it has all the
same.  The recursion (`dynenvs.dynamics.compliance`) forms neither M nor J.  Both must give the same
matrix before anything is timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dynenvs.contact.assembly.rows import couple
from dynenvs.dynamics.compliance import compliance, compliance_of_nodes
from dynenvs.dynamics.crba import crba_passes
from dynenvs.dynamics.factor import factor_in_place
from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.memory.layout import Floats, Ints, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import prepare
from studies.bench.mirrors import chain, humanoid, random_states
from studies.bench.race import Case, Maker, Race, Row, Settings, System

LENGTHS = (5, 10, 20, 30, 50, 100)
CONTACTS = (1, 4, 8)
BY = ("factors", "recursion")
AGREEMENT = 1e-9  # relative to the largest entry


def cases(settings: Settings) -> list[Case]:
    """Chains with contacts on their last links, and the humanoid tree with contacts at its ends."""
    lengths = (5, 20) if settings.quick else LENGTHS
    models = {f"chain of {n}": chain(n) for n in lengths} | {"humanoid": humanoid()}
    makers: list[tuple[str, Maker]] = []
    against = {}
    for name, model in models.items():
        for k in CONTACTS[:1] if settings.quick else CONTACTS:
            for by in BY:
                label = f"{name}, {k} contact{'s' if k > 1 else ''}, {by}"
                makers.append((label, partial(_system, model, k, by, name)))
                against[label] = f"{name}, {k} contact{'s' if k > 1 else ''}, {BY[0]}"
    notes = [
        "Kinematics included, bias forces left out.  Factors: composite inertias, mass matrix, its "
        "sparse factors, the contacts' Jacobian and coupling; from the same factors the step has "
        "its free motion and the effect of impulses for a solve each, for which the recursion "
        "would need two more passes over the bodies, not counted here.  Ratio: to the factors."
    ]
    title = "Compliance of contacts, J M^-1 J^T"
    return [
        Race(
            "compliance",
            title,
            "evaluation",
            makers,
            notes,
            unit="us",
            conclude=_crossover,
            against=against,
        )
    ]


def _nodes(model: Model, count: int) -> tuple[Ints, Floats]:
    """Bodies that nothing hangs on first (all of them in turns), then those that carry them."""
    parents = set(model.bodies["parent"][1:].tolist())
    bodies = [i for i in range(1, len(model.body_names)) if i not in parents]
    while len(bodies) < count:
        above = max(set(model.bodies["parent"][bodies].tolist()) - set(bodies) - {0}, default=0)
        bodies.append(above or bodies[0])
    chosen = np.sort(np.array(bodies[:count], np.int64))
    return chosen, np.random.default_rng(0).uniform(-0.1, 0.1, (count, 3))


@kernel
def _by_recursion(
    w: WorldView,
    bodies: Ints,
    points: Floats,
    arrays: tuple[Floats, Floats, Floats, Floats],
    count: int,
) -> None:
    upsilon, omega, forces, Lambda = arrays
    for _ in range(count):
        compliance_of_nodes(w, bodies, points, upsilon, omega, forces, Lambda)


@kernel
def _by_factors(
    w: WorldView,
    bodies: Ints,
    points: Floats,
    arrays: tuple[Floats, Floats, Ints, Ints, Floats, Floats],
    count: int,
) -> None:
    J, free_dof_mask, first, after, Y, Lambda = arrays
    for _ in range(count):
        update_kinematics(w)
        crba_passes(w, w.L)
        for j in range(w.header[0].nv):
            w.L[j, j] += w.dofs[j].armature
        factor_in_place(w.dofs, w.L)
        for j in range(w.header[0].nv):
            first[j], after[j] = 3 * bodies.shape[0], 0
        for a in range(bodies.shape[0]):
            pose = w.pose[bodies[a]]
            origin = w.pose[w.bodies[bodies[a]].root].p
            for k in range(3):
                for j in range(w.header[0].nv):
                    J[3 * a + k, j] = 0.0
            p = points[a]
            x = pose.p[0] - origin[0]
            y = pose.p[1] - origin[1]
            z = pose.p[2] - origin[2]
            x += pose.R[0, 0] * p[0] + pose.R[0, 1] * p[1] + pose.R[0, 2] * p[2]
            y += pose.R[1, 0] * p[0] + pose.R[1, 1] * p[1] + pose.R[1, 2] * p[2]
            z += pose.R[2, 0] * p[0] + pose.R[2, 1] * p[1] + pose.R[2, 2] * p[2]
            j = w.bodies[bodies[a]].last
            while j >= 0:
                S = w.S[j]
                J[3 * a, j] = S[3] + S[1] * z - S[2] * y
                J[3 * a + 1, j] = S[4] + S[2] * x - S[0] * z
                J[3 * a + 2, j] = S[5] + S[0] * y - S[1] * x
                first[j], after[j] = min(first[j], 3 * a), 3 * a + 3
                j = w.dofs[j].parent
        couple(w.dofs, J, w.L, 3 * bodies.shape[0], free_dof_mask, first, after, Y, Lambda)


def _system(model: Model, count: int, by: str, name: str) -> System:
    q, _, _ = random_states(model, 1)
    w = prepare(model, q[0])
    bodies, points = _nodes(model, count)
    nb, nv, size = len(model.body_names), model.nv, 3 * count
    wide = -(-size // 4) * 4  # `couple` works on whole vector registers
    Lambda = np.zeros((size, size) if by == "recursion" else (wide, wide))
    arrays: tuple[Any, ...]
    if by == "recursion":
        arrays = np.zeros((nb, 6, 6)), np.zeros((nb, 6, 6)), np.zeros((size, 6)), Lambda
    else:
        arrays = (
            np.zeros((size, nv)),
            np.ones(nv),
            np.zeros(nv, np.int64),
            np.zeros(nv, np.int64),
            np.zeros((nv, wide)),
            Lambda,
        )
    compiled: Any = _by_recursion if by == "recursion" else _by_factors

    def run(times: int) -> None:
        compiled(w, bodies, points, arrays, times)

    run(1)
    nodes = [(model.body_names[i], point) for i, point in zip(bodies, points, strict=True)]
    expected = compliance(model, q[0], nodes)
    if np.abs(Lambda[:size, :size] - expected).max() > AGREEMENT * np.abs(expected).max():
        raise AssertionError(f"compliances differ: {Lambda[:size, :size]} and {expected}")
    facts = {"bodies": nb - 1, "contacts": count, "by": by, "model": name}
    return System(run, facts=facts)


def _crossover(rows: list[Row]) -> list[str]:
    """From which length on the recursion is the faster one."""
    sentences = []
    for k in dict.fromkeys(row.facts["contacts"] for row in rows):
        ahead = [
            row.facts["bodies"]
            for row in rows
            if row.facts["contacts"] == k
            and row.facts["by"] == "recursion"
            and row.facts["model"].startswith("chain")
            and row.ratio > 1.0
        ]
        where = f"from {min(ahead)} links on" if ahead else "at no length measured"
        sentences.append(f"{k} contact{'s' if k > 1 else ''}: the recursion is ahead {where}.")
    return [" ".join(sentences)]
