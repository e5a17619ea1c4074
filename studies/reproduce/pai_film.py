"""A Bezier patch slides on a plane without friction, as a film strip.

Source: Pai, Ascher and Kry 2000, figure 2.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.reference.surfaces import Bezier, Plane, Slide, SlidingContact, slide
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

GRID = np.array([-1.0, -1 / 3, 1 / 3, 1.0])  # of the control points [m]
START = np.array([0.7, 0.65, 0.0, 0.0, 0.3])
SECONDS = 1.0
STEPS = (0.02, 0.01, 0.005)  # [s]
FRAMES = 6
BLUE = "#1f4e9c"


def bowl() -> SlidingContact:
    """A bowl of heights .35 x^2 + .5 y^2 at its control points, centre of mass .3 m above."""
    control = np.array([[(x, y, 0.35 * x**2 + 0.5 * y**2) for x in GRID] for y in GRID])
    vertex = 0.85 / 3  # height of the patch over its middle
    return SlidingContact(
        Bezier(control), Plane(), mass=1.0, com=(0, 0, vertex + 0.3), inertia=(0.25, 0.3, 0.4)
    )


def film(tick: Tick) -> Outcome:
    """Energy, drift and wrench for three step lengths, and frames of the finest run."""
    contact, rows = bowl(), []
    for i, dt in enumerate(STEPS):
        done = slide(contact, START, np.zeros(5), SECONDS, dt)
        rows.append(_measure(contact, done, dt))
        tick((i + 1) / len(STEPS))
    orders = [float(np.log2(a[1] / b[1])) for a, b in pairwise(rows)]
    checks = [
        Check(
            "energy error at the end, dt = .02, .01, .005 s",
            "",
            ", ".join(f"{row[1]:.1e}" for row in rows) + " J",
            "order 5 within 0.5",
            all(abs(x - 5) < 0.5 for x in orders),
        ),
        Check("order of that", "", ", ".join(f"{x:.2f}" for x in orders)),
        Check(
            "sideways drift of the centre of mass, finest step",
            "moves only vertically",
            f"{rows[-1][3]:.1e} m",
            "below 1e-9 m",
            rows[-1][3] < 1e-9,
        ),
        Check("its vertical way", "seen", f"{rows[-1][4]:.3f} m"),
        Check(
            "moment and tangential force of the contact",
            "0 (frictionless)",
            f"{rows[-1][5]:.1e}",
            "below 1e-12 of the normal force",
            rows[-1][5] < 1e-12,
        ),
        Check(
            "the contact presses throughout", "", done.end, "time is up", done.end == "time is up"
        ),
    ]
    columns = [
        "dt",
        "energy error at the end",
        "on the way",
        "drift sideways",
        "vertical way",
        "tangential / normal",
    ]
    path = Table(
        ["time", *(f"q{k}" for k in range(5))],
        [[float(t), *map(float, q)] for t, q in zip(done.t, done.q, strict=True)],
    )
    return Outcome(
        checks,
        {"steps": Table(columns, rows), "path": path},
        lambda figure: _draw(figure, contact, done),
        (10.0, 5.2),
        ["steps"],
    )


def _measure(contact: SlidingContact, done: Slide, dt: float) -> list[float]:
    states = list(zip(done.q, done.v, strict=True))
    energy = [contact.energy(*state) for state in states]
    centers = np.array([contact.center(q) for q in done.q])
    wrenches = np.array([contact.wrench(*state) for state in states])
    impure = np.abs(wrenches[:, :5]).max(1) / np.abs(wrenches[:, 5])
    return [
        dt,
        abs(energy[-1] - energy[0]),
        float(np.abs(np.array(energy) - energy[0]).max()),
        float(np.ptp(centers[:, :2], axis=0).max()),
        float(np.ptp(centers[:, 2])),
        float(impure.max()),
    ]


def _draw(figure: Any, contact: SlidingContact, done: Slide) -> None:
    chosen = np.linspace(0, len(done.t) - 1, FRAMES).astype(int)
    u = np.linspace(0, 1, 13)
    patch = np.array([[contact.moving.jet(np.array([s, t])).c for t in u] for s in u])
    centers = np.array([contact.center(q) for q in done.q])
    touches = np.array([contact.fixed.jet(q[2:4]).c for q in done.q])
    panels = figure.subplots(2, 3, subplot_kw={"projection": "3d", "computed_zorder": False})
    for panel, k in zip(panels.ravel(), chosen, strict=True):
        pose = contact.pose(done.q[k])
        x, y, z = np.moveaxis(patch @ pose.rotation.T + pose.position, -1, 0)
        panel.plot_surface(*_floor(), color="#d9d4c7", shade=False, linewidth=0, zorder=1)
        panel.plot_surface(
            x, y, z, color="#e0a458", alpha=0.35, edgecolor="#b5651d", linewidth=0.3, zorder=2
        )
        plumb = np.array([centers[0], centers[0] * (1, 1, 0)])
        panel.plot(*plumb.T, color=BLUE, lw=0.8, ls=":", zorder=3)
        panel.plot(*touches[: k + 1].T, color="black", lw=1.2, zorder=3)
        panel.scatter(*touches[k], s=25, color="black", depthshade=False, zorder=4)
        _axes(panel, centers[k], pose.rotation)
        panel.scatter(*centers[k], s=90, color=BLUE, depthshade=False, zorder=6)
        panel.set_title(f"{done.t[k]:.1f} s", fontsize="small", y=0.92)
        panel.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(0, 1.2))
        panel.set_box_aspect((2.4, 2.4, 1.2), zoom=1.25)
        panel.view_init(18, -60)
        panel.set_axis_off()


def _floor() -> tuple[Floats, Floats, Floats]:
    x, y = np.meshgrid([-1.3, 1.3], [-1.3, 1.3])
    return x, y, np.zeros_like(x)


def _axes(panel: Any, center: Floats, R: Floats) -> None:
    for axis, color in zip(R.T, ("#b00020", "#1b7f3b", "#6a51a3"), strict=True):
        panel.plot(*zip(center, center + 0.35 * axis, strict=True), color=color, lw=1.5, zorder=5)


EXPERIMENTS = (
    Experiment(
        "pai-2",
        "Pai et al. 2000, figure 2: a Bezier patch on a frictionless plane",
        "The patch's control points, mass and start are not given: here a bowl of heights "
        ".35 x^2 + .5 y^2 at the control points {+-1, +-1/3}^2, 1 kg, moments .25, .3, .4 kg m^2, "
        "centre of mass .3 m above the vertex, put down tilted and at rest; RK4 as there. With "
        "nothing but vertical forces the centre of mass (blue, with a frame) must move along the "
        "plumb line (dotted) while the contact (black, with its trail) wanders. The printed sign "
        "of H_psi in eq. (12) is wrong and is corrected (`dynenvs.reference.surfaces`).",
        film,
    ),
)
