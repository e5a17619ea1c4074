"""Integrators compared, and Bhargava's figure 4: what each makes of a double pendulum's energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.dynamics.energy import totals
from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.reference.integrators import (
    FIXED_STEP,
    INTEGRATORS,
    SCIPY,
    Trajectory,
    energies_along,
    simulate,
)
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

SECONDS, STEP = 10.0, 2e-3  # [s]
LONG = 60.0  # [s]
TOLERANCE = 1e-8  # of the adaptive methods
START = np.array([np.pi / 2, np.pi / 2])  # both rods horizontal [rad]


def double_pendulum() -> Model:
    """Two rods of 1 m and 1 kg by Denavit-Hartenberg rows, hinged at the origin."""
    builder = ModelBuilder(gravity=(0.0, -9.8, 0.0))
    for name, parent in (("upper", "world"), ("lower", "upper")):
        builder.dh_link(
            name,
            parent=parent,
            a=1.0,
            theta=-np.pi / 2 if parent == "world" else 0.0,
            joint=revolute(),
            mass=1.0,
            com=(-0.5, 0.0, 0.0),
            inertia=(1e-4, 1 / 12, 1 / 12),
        )
    return builder.build()


def order(model: Model, method: str) -> float:
    """Measured: log2 of the ratio of errors for a step and its half, against a tight reference."""
    start = START, np.zeros(2)
    exact = simulate(model, *start, 0.5, method="DOP853", tolerance=1e-13)
    dt = 0.02 if method == "rk4" else 1e-3
    errors = []
    for part in (dt, dt / 2):
        end = simulate(model, *start, 0.5, method=method, dt=part)
        errors.append(float(np.abs(end.q[-1] - exact.q[-1]).max()))
    return float(np.log2(errors[0] / errors[1]))


def compare(tick: Tick) -> Outcome:
    """Orders, energies and evaluations of every integrator over ten seconds."""
    model = double_pendulum()
    rows: list[list[Any]] = []
    curves: dict[str, Any] = {}
    chosen = [m for m in INTEGRATORS if m != "lcp"]
    for i, method in enumerate(chosen):
        fixed = method in FIXED_STEP
        dt, tolerance = (STEP, None) if fixed else (None, TOLERANCE)
        start = START, np.zeros(2)
        done = simulate(model, *start, SECONDS, method=method, dt=dt, tolerance=tolerance)
        drift = _drift(model, done)
        curves[method] = (done.t, drift)
        measured = f"{order(model, method):.2f}" if fixed else ""
        setting = f"dt {STEP:g} s" if fixed else f"tolerance {TOLERANCE:g}"
        cost = [done.evaluations, done.bad]
        rows.append([method, setting, measured, *cost, _late(drift), float(np.ptp(drift))])
        tick((i + 1) / (len(chosen) + 1))
    eulers = {
        (method, dt, seconds): _drift(model, simulate(model, *start, seconds, method=method, dt=dt))
        for method, dt, seconds in (
            ("semi_implicit_euler", STEP / 2, SECONDS),
            ("semi_implicit_euler", STEP, LONG),
            ("explicit_euler", STEP, LONG),
        )
    }
    halved, minute, explicit = eulers.values()
    columns = ["method", "setting", "order", "evaluations", "bad steps", "drift", "span"]
    return Outcome(
        [
            *_checks({row[0]: row[2] for row in rows if row[2]}, curves, float(halved.max())),
            Check(
                "the same two after a minute",
                "",
                f"explicit {_late(explicit):+.0%}, semi-implicit {_late(minute):+.0%}",
            ),
        ],
        {"integrators": Table(columns, rows)},
        lambda figure: _draw(figure, curves),
        shown=["integrators"],
    )


def _drift(model: Model, done: Trajectory) -> Floats:
    """Change of the energy of each state, relative to the height of the drop."""
    height = totals(model, START).energy - totals(model, np.zeros(2)).energy
    energy = energies_along(model, done)
    change: Floats = (energy - energy[0]) / height
    return change


def _late(drift: Floats) -> float:
    """Mean of the last quarter."""
    return float(drift[-len(drift) // 4 :].mean())


def _checks(orders: dict[str, str], curves: dict[str, Any], halved: float) -> list[Check]:
    off = [abs(float(x) - (4 if m == "rk4" else 1)) for m, x in orders.items()]
    late = {method: _late(drift) for method, (_, drift) in curves.items()}
    gained = float(curves["semi_implicit_euler"][1].max())
    return [
        Check(
            "orders of the fixed steps",
            "",
            ", ".join(f"{m} {x}" for m, x in orders.items()),
            "1 (Euler) and 4 (RK4) within 0.15",
            max(off) < 0.15,
        ),
        Check(
            "explicit Euler's energy",
            'blows up ("tendency")',
            f"{late['explicit_euler']:+.1%} in the last quarter",
            "gains more than 5 %",
            late["explicit_euler"] > 0.05,
        ),
        Check(
            "semi-implicit Euler's energy",
            "does not blow up",
            f"{late['semi_implicit_euler']:+.1%} in the last quarter; gains at most {gained:.2%}, "
            f"with half the step {halved:.2%}",
            "gains less than 5 %, and half as much with half the step (within a tenth)",
            gained < 0.05 and abs(gained / halved - 2) < 0.2,
        ),
        Check("RK4's energy", "", f"{late['rk4']:+.1e}", "below 1e-5", abs(late["rk4"]) < 1e-5),
    ]


def _draw(figure: Any, curves: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    for method, (t, drift) in curves.items():
        if method in FIXED_STEP and method != "rk4":
            style = "--" if method == "implicit_euler_newton" else "-"  # lies on the fixed point's
            left.plot(t, 100 * drift, style, lw=1, label=method.replace("_", " "))
        else:
            # The largest so far: the change passes zero again and again
            largest = np.maximum.accumulate(np.abs(drift))
            right.semilogy(t, np.maximum(largest, 1e-16), lw=1, label=method)
    right.set_ylim(1e-12, 1e-5)
    left.set_ylabel("energy, change [% of the drop]")
    right.set_ylabel("|energy, change| / drop, largest so far")
    for panel in (left, right):
        panel.set_xlabel("time [s]")
        panel.legend(fontsize="x-small")


EXPERIMENTS = (
    Experiment(
        "rotation-4",
        "Bhargava, figure 4: a double pendulum's energy by integrator",
        "Rods of 1 m and 1 kg from the horizontal; masses, lengths and steps are not given there, "
        "nor is the figure more than frames of a film, so only its claim can be tested: that the "
        "energy does not blow up. Changes are relative to the height of the drop; drift is the "
        "mean of the last quarter. In joint coordinates semi-implicit Euler is not symplectic (M "
        "depends on q, and the velocity-dependent forces are taken before the step): what it gains "
        "stays bounded by the step, so that it does not blow up, but it loses energy, on this "
        "wide motion as fast as explicit Euler gains it, on narrower ones less. Cash and Karp's "
        "and scipy's adaptive methods "
        f"({', '.join(SCIPY)}) stand beside it.",
        compare,
    ),
)
