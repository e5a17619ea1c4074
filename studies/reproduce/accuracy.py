"""Errors of every method against fifty digits, as the ratio of the masses grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.reference.methods import METHODS, tree_of
from dynenvs.reference.methods.composite import mass_matrix
from studies.bench.peers import peer
from studies.reproduce.digits import reference, relative_error
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

RATIOS = (1e0, 1e2, 1e4, 1e6, 1e8, 1e10, 1e12)
ROBOTS = 8  # of each ratio: twice chains of 2 to 5 links


def coaxial_chain(links: int, ratio: float, seed: int) -> Model:
    """Joints about one line that is no coordinate axis, masses growing to `ratio` at the tip."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i in range(links):
        mass = ratio ** (i / (links - 1))
        builder.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(axis=axis, position=axis * rng.normal()),
            mass=mass,
            com=rng.normal(size=3) * 0.3,
            inertia=np.array([0.1, 0.12, 0.15]) * mass,
        )
    return builder.build()


def error_table(tick: Tick) -> Outcome:
    """Median and largest relative error of each method for each ratio."""
    peer("mpmath")
    errors: dict[str, list[list[float]]] = {method: [] for method in METHODS}
    kappa = []
    for i, ratio in enumerate(RATIOS):
        for found in errors.values():
            found.append([])
        kappas = []
        for seed in range(ROBOTS):
            links = 2 + seed % 4
            model = coaxial_chain(links, ratio, seed)
            q, tau = np.random.default_rng(seed).normal(size=(2, links))
            state = q, np.zeros(links), tau
            exact, tree = reference(model, *state), tree_of(model, *state)
            kappas.append(np.linalg.cond(mass_matrix(tree)))
            for method, solve in METHODS.items():
                try:
                    error = relative_error(solve(tree), exact)
                except ArithmeticError:
                    error = np.inf
                errors[method][-1].append(error)
        kappa.append(float(np.median(kappas)))
        tick((i + 1) / len(RATIOS))
    rows = [
        [f"{ratio:.0e}", f"{kappa[i]:.0e}"]
        + [f"{np.median(e[i]):.0e} / {max(e[i]):.0e}" for e in errors.values()]
        for i, ratio in enumerate(RATIOS)
    ]
    table = Table(["ratio", "condition", *METHODS], rows)
    return Outcome(
        _checks(errors, kappa),
        {"errors": table},
        lambda figure: _draw(figure, errors, kappa),
        shown=["errors"],
    )


def _checks(errors: dict[str, list[list[float]]], kappa: list[float]) -> list[Check]:
    medians = {m: np.array([np.median(e) for e in found]) for m, found in errors.items()}
    slope = np.polyfit(np.log10(kappa), np.log10(medians["crb_cholesky"]), 1)[0]
    qr = max(max(e) for e in errors["qr"])
    return [
        Check(
            "composite method's error against condition number",
            "proportional",
            f"slope {slope:.2f} over {np.log10(kappa[-1] / kappa[0]):.0f} decades",
            "0.9 to 1.1 over ten decades",
            bool(0.9 < slope < 1.1 and kappa[-1] / kappa[0] > 1e10),
        ),
        Check(
            "QR form, median error at any ratio",
            "",
            f"{medians['qr'].max():.1e}",
            "1e-15 or so whatever the ratio",
            bool(medians["qr"].max() < 2e-15),
        ),
        Check("QR form, largest error of all", "", f"{qr:.1e}", "below 5e-14", qr < 5e-14),
        Check(
            "modified ABM / ABM at 1e8",
            "more accurate",
            f"{medians['abm_modified'][4] / medians['abm'][4]:.1f} times the error",
        ),
    ]


STYLES = {
    "kkt": ("black", "s-"), "crb_cholesky": ("#c8553d", ".-"), "crb_ltdl": ("#c8553d", ".--"),
    "crb_lu": ("#e0a458", ".-"), "crb_svd": ("#e0a458", ".--"), "abm": ("#4a5463", "x-"),
    "abm_bad": ("#4a5463", "x--"), "abm_modified": ("#4a5463", "x:"), "qr": ("#3182bd", "o-"),
    "cg": ("#2a7f62", "^-"), "angeles_ma": ("#6a51a3", "d--"),
    "angeles_ma_direct": ("#6a51a3", "d-"),
}  # fmt: skip


def _draw(figure: Any, errors: dict[str, list[list[float]]], kappa: list[float]) -> None:
    panel = figure.subplots()
    for method, found in errors.items():
        color, style = STYLES[method]
        medians = [max(float(np.median(e)), 1e-17) for e in found]
        panel.loglog(RATIOS, medians, style, color=color, ms=5, lw=1.2, label=method)
    panel.loglog(RATIOS, np.array(kappa) * 1.1e-16, "k:", label="condition x 1.1e-16")
    panel.set_xlabel("ratio of the tip's mass to the base's")
    panel.set_ylabel("median relative error")
    panel.legend(fontsize="x-small", ncols=2)


EXPERIMENTS = (
    Experiment(
        "accuracy",
        "Digits that each method loses",
        "Pai et al. and Cloutier reason about cancellation; here every method meets the same "
        "passes in fifty digits (mpmath), given exactly the same doubles. Chains of 2 to 5 links "
        "about one line that is not a coordinate axis, light links near the base, random torques, "
        "at rest and without gravity: a case in which Pai et al.'s modified articulated-body "
        "method gains little. With gravity or speed the bias of a heavy link is itself known only "
        "to eps of its size, and no method gives a light link's acceleration better than that "
        "allows. Entries: median / largest of eight robots.",
        error_table,
    ),
)
