"""Errors of every method on trees in general position, beside what the data's last bits do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint
from dynenvs.reference.methods import METHODS, tree_of
from dynenvs.reference.methods.composite import mass_matrix
from studies.bench.peers import peer
from studies.reproduce.digits import reference, relative_error
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

RATIOS = (1e0, 1e4, 1e8, 1e12)
TREES, NUDGES = 12, 4  # trees of each ratio; how often the data of each are moved by a bit
LAST_BIT = 2.0**-52


class Case(NamedTuple):
    """A tree in a state, and its acceleration."""

    model: Model
    state: tuple[Floats, Floats, Floats]  # q, v, tau
    exact: Any  # in fifty digits


def random_case(seed: int, ratio: float, nudge: np.random.Generator | None = None) -> Case:
    """A tree of 2 to 6 bodies at rest without gravity, masses spread over `ratio`.

    Args:
        seed: of everything random.
        ratio: largest over smallest possible mass.
        nudge: if given, every number of the tree and its state moves by its last bit, up or down.
    """
    rng = np.random.default_rng(seed)

    def given(values: Any) -> Any:
        if nudge is None:
            return values
        return values * (1.0 + LAST_BIT * nudge.choice([-1.0, 1.0], np.shape(values)))

    builder = ModelBuilder(gravity=(0, 0, 0))
    turns: list[int] = []  # where quaternions begin in q
    count = nq = 0
    for i in range(2 + seed % 5):
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "spherical"]))
        mass = ratio ** rng.uniform()
        builder.body(
            f"link{i}",
            parent=f"link{rng.integers(i)}" if i else "world",
            joint=Joint(kind, axis=given(rng.normal(size=3)), position=given(rng.normal(size=3))),
            mass=given(mass),
            com=given(rng.normal(size=3) * 0.3),
            inertia=given(np.array([0.1, 0.12, 0.15]) * mass),
        )
        turns += [nq] if kind == "spherical" else []
        nq += 4 if kind == "spherical" else 1
        count += 3 if kind == "spherical" else 1
    q, tau = rng.normal(size=nq), rng.normal(size=count)
    for at in turns:
        q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    model, state = builder.build(), (given(q), np.zeros(count), given(tau))
    return Case(model, state, reference(model, *state))


def last_bits(seed: int, ratio: float, case: Case) -> float:
    """Largest relative change of the exact answer when its data move by their last bits."""
    nudge = np.random.default_rng(seed)
    moved = (random_case(seed, ratio, nudge).exact for _ in range(NUDGES))
    return max(relative_error(other.astype(float), case.exact) for other in moved)


class Found(NamedTuple):
    """What one tree showed."""

    condition: float
    last_bits: float
    errors: dict[str, float]  # of each method; infinite where it gave up


def examine(seed: int, ratio: float) -> Found:
    """Errors of all methods on one tree."""
    case = random_case(seed, ratio)
    tree = tree_of(case.model, *case.state)
    errors = {}
    for method, solve in METHODS.items():
        try:
            errors[method] = relative_error(solve(tree), case.exact)
        except ArithmeticError:
            errors[method] = float("inf")
    condition = float(np.linalg.cond(mass_matrix(tree)))
    return Found(condition, last_bits(seed, ratio, case), errors)


def error_table(tick: Tick) -> Outcome:
    """Median and largest errors for each ratio."""
    peer("mpmath")
    found: dict[float, list[Found]] = {}
    for i, ratio in enumerate(RATIOS):
        found[ratio] = []
        for seed in range(TREES):
            found[ratio].append(examine(seed, ratio))
            tick((i + (seed + 1) / TREES) / len(RATIOS))
    rows = [
        [f"{ratio:.0e}", _pair([f.condition for f in some]), _pair([f.last_bits for f in some])]
        + [_pair([f.errors[method] for f in some]) for method in METHODS]
        for ratio, some in found.items()
    ]
    every = [one for some in found.values() for one in some]
    qr = np.array([one.errors["qr"] for one in every])
    unavoidable = np.array([one.last_bits for one in every])
    return Outcome(
        [
            Check(
                "QR form, median error of each ratio",
                "",
                ", ".join(f"{np.median([f.errors['qr'] for f in s]):.0e}" for s in found.values()),
                "1e-15 or so: below 2e-15",
                all(np.median([f.errors["qr"] for f in s]) < 2e-15 for s in found.values()),
            ),
            Check(
                "QR form and augmented system, largest error of all",
                "",
                f"{qr.max():.0e}, {max(one.errors['kkt'] for one in every):.0e}",
                "below 5e-14 whatever the ratio",
                max(max(one.errors["qr"], one.errors["kkt"]) for one in every) < 5e-14,
            ),
            Check(
                "QR form, error beyond 2e-15 over what the last bits of the data do",
                "",
                f"at most {(np.maximum(qr - 2e-15, 0) / unavoidable).max():.1f}",
                "at most 10",
                bool(np.all(qr <= 2e-15 + 10 * unavoidable)),
            ),
        ],
        {"errors": Table(["ratio", "condition", "last bits", *METHODS], rows)},
        lambda figure: _draw(figure, every),
        shown=["errors"],
    )


def _pair(values: list[float]) -> str:
    return f"{np.median(values):.0e} / {max(values):.0e}"


def _draw(figure: Any, every: list[Found]) -> None:
    panel = figure.subplots()
    kappa = np.array([one.condition for one in every])
    for method, style in (
        ("crb_cholesky", {"marker": ".", "color": "#c8553d"}),
        ("abm", {"marker": "x", "color": "#4a5463"}),
        ("kkt", {"marker": "s", "color": "black", "mfc": "none"}),
        ("qr", {"marker": "o", "color": "#3182bd"}),
    ):
        errors = [max(one.errors[method], 1e-17) for one in every]
        panel.loglog(kappa, errors, ls="none", ms=5, label=method, **style)
    bits = [one.last_bits for one in every]
    panel.loglog(kappa, bits, "+", color="#2a7f62", ms=6, label="last bits of the data")
    line = np.array([kappa.min(), kappa.max()])
    panel.loglog(line, line * 1.1e-16, "k:", label="condition x 1.1e-16")
    panel.set_ylim(1e-17, 1e-4)
    panel.set_xlabel("condition number")
    panel.set_ylabel("relative error")
    panel.legend(fontsize="x-small", loc="upper left")


EXPERIMENTS = (
    Experiment(
        "accuracy-trees",
        "Digits on trees in general position",
        "The same for trees of 2 to 6 bodies whose joints (hinges, slides, balls) stand anywhere, "
        "with masses spread at random over the ratio, random torques, at rest and without gravity. "
        "Poses are products of rounded rotations, so errors cannot be expected to stay far below "
        "what the answer itself changes by when the tree's numbers move by their last bits ('last "
        "bits', in fifty digits). Where joints stand anywhere, heavy bodies seldom "
        "hide light ones, and the composite method's error stays far below what the condition "
        "number allows. "
        f"Entries: median / largest of {TREES} trees.",
        error_table,
    ),
)
