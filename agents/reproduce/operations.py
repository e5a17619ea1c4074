"""Source 003, section 3.4: operations of the methods, counted by running them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.agents.reproduce.experiment import Check, Experiment, Outcome, Table, Tick
from dynenvs.builder import ModelBuilder
from dynenvs.methods import METHODS
from dynenvs.methods.counting import Operations, count_operations
from dynenvs.model import Model
from dynenvs.parts import revolute

SIZES = tuple(range(2, 17))
COUNTED = ("abm", "abm_bad", "abm_modified", "crb_cholesky", "crb_ltdl", "angeles_ma", "qr")


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


def paper(method: str, n: int) -> tuple[float, float]:
    """Multiplications and additions by the paper's table (Featherstone 1987)."""
    if method == "abm":
        return 300 * n - 267, 279 * n - 259
    return (
        n**3 / 6 + 11.5 * n**2 + (160 + 1 / 3) * n - 109,
        n**3 / 6 + 7 * n**2 + (138 + 5 / 6) * n - 102,
    )


def _crossover(abm: list[float], crb: list[float]) -> int:
    """The first number of links from which ABM takes fewer."""
    return next(n for n, a, c in zip(SIZES, abm, crb, strict=True) if a < c)


def count_all(tick: Tick) -> Outcome:
    """Count every method that runs with any number type, on chains of 2 to 16 links."""
    counts: dict[str, list[Operations]] = {method: [] for method in COUNTED}
    for i, n in enumerate(SIZES):
        model = dh_chain(n)
        state = np.random.default_rng(1).normal(size=(3, n))
        for method, found in counts.items():
            found.append(count_operations(METHODS[method], model, *state))
        tick((i + 1) / len(SIZES))
    products = {method: [c.multiplications for c in found] for method, found in counts.items()}
    rows = [
        [
            n,
            *(products[method][i] for method in COUNTED),
            *(round(paper(m, n)[0]) for m in ("abm", "crb")),
        ]
        for i, n in enumerate(SIZES)
    ]
    columns = ["links", *COUNTED, "paper: ABM", "paper: CRBM"]
    return Outcome(
        _checks(counts),
        {"multiplications": Table(columns, rows)},
        lambda figure: _draw(figure, products),
        shown=["multiplications"],
    )


def _checks(counts: dict[str, list[Operations]]) -> list[Check]:
    abm = [c.multiplications for c in counts["abm"]]
    crb = [c.multiplications for c in counts["crb_cholesky"]]
    slopes = set(np.diff(abm[1:]).tolist())
    third = set(np.diff(crb[1:], 3).tolist())
    totals = [[c.multiplications + c.additions for c in counts[m]] for m in ("abm", "crb_cholesky")]
    theirs = [[sum(paper(m, n)) for n in SIZES] for m in ("abm", "crb")]
    return [
        Check(
            "multiplications of ABM",
            "300 n - 267",
            f"{abm[2] - abm[1]} n - {(abm[2] - abm[1]) * SIZES[1] - abm[1]}",
            "linear",
            len(slopes) == 1,
        ),
        Check(
            "cubic part of CRBM with Cholesky",
            "n^3 / 6",
            " or ".join(f"{x:g} n^3 / 6".removeprefix("1 ") for x in sorted(third)),
            "n^3 / 6",
            third == {1},
        ),
        Check(
            "ABM takes fewer multiplications from",
            f"{_crossover(*([paper(m, n)[0] for n in SIZES] for m in ('abm', 'crb')))} links",
            f"{_crossover(abm, crb)} links",  # type: ignore[arg-type]
        ),
        Check(
            "ABM takes fewer operations from",
            f"{_crossover(*theirs)} links (not said there)",
            f"{_crossover(*totals)} links",  # type: ignore[arg-type]
        ),
    ]


def _draw(figure: Any, products: dict[str, list[int]]) -> None:
    panel = figure.subplots()
    for method, found in products.items():
        panel.loglog(SIZES, found, "o-", ms=3, label=method)
    for method, label in (("abm", "ABM, paper"), ("crb", "CRBM, paper")):
        panel.loglog(SIZES, [paper(method, n)[0] for n in SIZES], "k--", lw=0.8)
        panel.annotate(label, (SIZES[-1], paper(method, SIZES[-1])[0]), fontsize=7)
    panel.set_xlabel("links")
    panel.set_ylabel("multiplications")
    panel.legend(fontsize="small")


EXPERIMENTS = (
    Experiment(
        "operations",
        "003, section 3.4: operations a call",
        "Counted by numbers that count (`dynenvs.methods.counting`), run through the methods' own "
        "code on chains with general Denavit-Hartenberg rows; numbers that do not depend on the "
        "state, and products with zeros and ones among them, are free. The paper quotes "
        "Featherstone's hand-optimised programs, which transform by two elementary rotations and "
        "keep one half of symmetric matrices; the code here multiplies six by six matrices as "
        "the equations do. That costs the articulated-body method 1.7 times its best figure, and "
        "the composite one, whose rigid inertias have ten numbers and not thirty-six, more: so "
        "here the former wins from the start. What carries over is the growth: linear against "
        "cubic, with the same n^3 / 6.",
        count_all,
    ),
)
