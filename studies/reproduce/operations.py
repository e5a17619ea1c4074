"""Cloutier 1995, section 3.4: operations of the methods, counted by running them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.reference.methods import METHODS
from studies.reproduce.counting import Operations, count_operations
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

SIZES = tuple(range(2, 12))
COUNTED = (  # kkt and crb_svd are solved by libraries, into which these numbers cannot go
    "abm", "abm_bad", "abm_modified", "crb_cholesky", "crb_ltdl", "crb_lu", "cg", "angeles_ma",
    "angeles_ma_direct", "qr",
)  # fmt: skip


def dh_chain(links: int) -> Model:
    """Revolute links with general Denavit-Hartenberg rows and inertias."""
    rng = np.random.default_rng(links)
    builder = ModelBuilder()
    for i in range(links):
        builder.dh_link(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            a=rng.uniform(0.2, 0.6),
            alpha=rng.uniform(-1, 1),
            d=rng.uniform(-0.2, 0.2),
            joint=revolute(),
            mass=rng.uniform(1, 3),
            com=rng.normal(size=3) * 0.1,
            inertia=rng.uniform(0.1, 0.15, 3),
        )
    return builder.build()


def formula(counts: Sequence[float], degree: int) -> Floats:
    """Coefficients of the polynomial in n, highest first, through the last degree + 1 counts."""
    return np.polyfit(SIZES[-degree - 1 :], counts[-degree - 1 :], degree)


def _crossover(abm: Floats, crb: Floats) -> int:
    """The first number of links from which ABM takes fewer, by polynomials in n."""
    return next(n for n in range(2, 1000) if np.polyval(abm, n) < np.polyval(crb, n))


def _factor(x: float) -> str:
    return "" if abs(x - 1) < 1e-6 else f"{x:.3g} "


KINDS = ("multiplications", "additions")  # the first fields of `Operations`
PAPER_FORMULAS = {  # of these kinds
    "abm": (np.array([300.0, -267]), np.array([279.0, -259])),
    "crb": (
        np.array([1 / 6, 11.5, 160 + 1 / 3, -109]),
        np.array([1 / 6, 7.0, 138 + 5 / 6, -102]),
    ),
}


def count_all(tick: Tick) -> Outcome:
    """Count methods on chains of 2 to 11 links."""
    counts: dict[str, list[Operations]] = {method: [] for method in COUNTED}
    for i, n in enumerate(SIZES):
        model = dh_chain(n)
        state = np.random.default_rng(1).normal(size=(3, n))
        for method, found in counts.items():
            found.append(count_operations(METHODS[method], model, *state))
        tick((i + 1) / len(SIZES))
    return Outcome(
        _checks(counts),
        {kind: _table(counts, k) for k, kind in enumerate(KINDS)},
        lambda figure: _draw(figure, counts),
        (9.0, 4.2),
        KINDS,
    )


def _table(counts: dict[str, list[Operations]], kind: int) -> Table:
    """Counts of one kind beside the paper's formulas."""
    rows = []
    for i, n in enumerate(SIZES):
        theirs = (round(float(np.polyval(PAPER_FORMULAS[m][kind], n))) for m in ("abm", "crb"))
        rows.append([n, *(counts[method][i][kind] for method in COUNTED), *theirs])
    return Table(["links", *COUNTED, "paper: ABM", "paper: CRBM"], rows)


def _checks(counts: dict[str, list[Operations]]) -> list[Check]:
    products = {m: [c.multiplications for c in counts[m]] for m in ("abm", "crb_cholesky")}
    totals = {m: [c.multiplications + c.additions for c in counts[m]] for m in products}
    slopes = set(np.diff(products["abm"][1:]).tolist())
    third = set(np.diff(products["crb_cholesky"][1:], 3).tolist())
    abm, crb = formula(products["abm"], 1), formula(products["crb_cholesky"], 3)
    theirs = PAPER_FORMULAS
    both = {m: np.add(*pair) for m, pair in theirs.items()}
    return [
        Check(
            "multiplications of ABM",
            "300 n - 267",
            f"{abm[0]:.0f} n - {-abm[1]:.0f}",
            "linear",
            len(slopes) == 1,
        ),
        Check(
            "multiplications of CRBM with Cholesky",
            "n^3/6 + 11.5 n^2 + 160.3 n - 109",
            f"{_factor(6 * crb[0])}n^3/6 + {crb[1]:.1f} n^2 + {crb[2]:.1f} n - {-crb[3]:.0f}",
            "cubic part n^3/6",
            third == {1},
        ),
        Check(
            "ABM takes fewer multiplications from",
            f"{_crossover(theirs['abm'][0], theirs['crb'][0])} links",
            f"{_crossover(abm, crb)} links",
            "8 to 12 links",
            8 <= _crossover(abm, crb) <= 12,
        ),
        Check(
            "ABM takes fewer operations from",
            f"{_crossover(both['abm'], both['crb'])} links (not said there)",
            f"{_crossover(formula(totals['abm'], 1), formula(totals['crb_cholesky'], 3))} links",
        ),
    ]


STYLES = {  # some curves coincide
    "abm": ("#4a5463", "o-"), "abm_bad": ("#8d99ae", "o-"), "abm_modified": ("#8d99ae", "^:"),
    "crb_cholesky": ("#c8553d", "s-"), "crb_ltdl": ("#e0a458", "v:"), "crb_lu": ("#e0a458", "s-"),
    "cg": ("#2a7f62", "d-"), "angeles_ma": ("#6a51a3", "x-"),
    "angeles_ma_direct": ("#6a51a3", "+:"), "qr": ("#3182bd", "*-"),
}  # fmt: skip


def _draw(figure: Any, counts: dict[str, list[Operations]]) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    for kind, panel in enumerate(panels):
        for method, found in counts.items():
            color, style = STYLES[method]
            panel.semilogy(SIZES, [c[kind] for c in found], style, color=color, ms=4, label=method)
        for method, label, style in (("abm", "ABM, paper", "k--"), ("crb", "CRBM, paper", "k:")):
            theirs = [np.polyval(PAPER_FORMULAS[method][kind], n) for n in SIZES]
            panel.semilogy(SIZES, theirs, style, lw=1.2, label=label)
        panel.set_xlabel("links")
        panel.set_title(KINDS[kind], fontsize="small")
    panels[0].legend(fontsize="x-small", ncols=2)


EXPERIMENTS = (
    Experiment(
        "operations",
        "Cloutier 1995, section 3.4: operations a call",
        "Counted by numbers that count (`studies/reproduce/counting.py`), run through the "
        "methods' own code on chains with general Denavit-Hartenberg rows; numbers that do not "
        "depend on the "
        "state, and products with zeros and ones among them, are free. The paper quotes "
        "Featherstone's hand-optimised programs, which turn vectors by two elementary rotations; "
        "the code here multiplies by rotation matrices, keeps one half of symmetric matrices and "
        "the ten numbers of rigid inertias. That costs about a sixth more, for both methods, so "
        "that the crossing lies where the paper has it.",
        count_all,
    ),
)
