"""Jain et al. 2012, figures 1 and 2 and table I: a pendulum of many links hits floor and wall."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.dynamics.energy import totals
from dynenvs.dynamics.jacobians import frames
from dynenvs.memory.layout import Floats, Ints
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.reference.augmented import freed_state, fully_augmented
from dynenvs.simulation.world import World
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

MASS = 1.0  # of a link [kg]
LENGTH, RADIUS = 6.0, 3.0  # of all links together; a link's radius is RADIUS / n [m]
FLOOR, WALL = 0.1, 3.9  # faces [m]
FRICTION = 0.5
SECONDS, STEP = 5.0, 1e-3  # [s]
LITERAL, FIGURE = 10.0, 5.0  # height of the base [m]
FORMS = MINIMAL, DENSE, SPARSE = "minimal", "dense", "sparse"  # formulations


def pendulum(links: int, base: float, form: str = MINIMAL) -> Model:
    """n spheres of 1 kg in the middles of links of length 6 / n; all but neighbours collide.

    form: MINIMAL coordinates, or free bodies with hinges as constraints, DENSE or SPARSE.
    """
    builder = ModelBuilder(gravity=(0, 0, -9.8), directions=2, max_contacts=3 * links)
    builder.half_space("floor", position=(0, 0, FLOOR), friction=FRICTION)
    builder.half_space("wall", position=(WALL, 0, 0), normal=(-1, 0, 0), friction=FRICTION)
    spacing, radius = LENGTH / links, RADIUS / links
    for i in range(links):
        builder.body(
            f"link{i}",
            parent=f"link{i - 1}" if i else "world",
            joint=revolute(axis=(0, 1, 0), position=(0, 0, -spacing) if i else (0, 0, base)),
            mass=MASS,
            com=(0, 0, -spacing / 2),
            inertia=np.full(3, 0.4 * radius**2),
        )
        builder.sphere(
            f"ball{i}", f"link{i}", radius=radius, position=(0, 0, -spacing / 2), friction=FRICTION
        )
    builder.self_contact(*(f"ball{i}" for i in range(links)))
    tree = builder.build()
    return tree if form == MINIMAL else fully_augmented(tree, builder, sparse=form == SPARSE)


class Swing(NamedTuple):
    """What happened in five seconds."""

    q: Floats  # after each step, shape (steps, nq)
    floor: int  # steps in which a link touched it
    wall: int
    links: int  # steps in which links touched each other
    gained: float  # most energy that a step gained, where that was looked for [J]
    residual: float
    failed: int


def swing(
    links: int,
    base: float,
    tick: Tick = lambda done: None,
    *,
    energies: bool = False,
    form: str = MINIMAL,
) -> Swing:
    """From pi/2 (to the left) with a rate of -1 rad/s; `energies`: look for gains too."""
    tree, model = pendulum(links, base), pendulum(links, base, form)
    world, start, rate = World(model, timestep=STEP), np.zeros(links), np.zeros(links)
    start[0], rate[0] = np.pi / 2, -1.0
    world.reset(*((start, rate) if form == MINIMAL else freed_state(tree, start, rate)))
    steps = round(SECONDS / STEP)
    q, touched, gained = np.empty((steps, model.nq)), np.zeros(3, int), 0.0
    kind = _kinds(world.model)
    before = totals(world.model, world.q, world.v).energy
    for k in range(steps):
        world.step()
        q[k] = world.q
        loaded = np.any(world.get_state()["memory"]["impulse"] != 0.0, axis=1)
        touched += [bool(loaded[kind == which].any()) for which in range(3)]
        if energies:
            after = totals(world.model, world.q, world.v).energy
            gained, before = max(gained, after - before), after
        if k % 50 == 0:
            tick(k / steps)
    d = world.diagnostics
    floor, wall, between = (int(x) for x in touched)
    failed = d.failed + d.degraded
    return Swing(q, floor, wall, between, gained, d.residual, failed)


def _kinds(model: Model) -> Ints:
    """Of each feature: 0 with the floor, 1 with the wall, 2 between links."""
    names = [model.geoms[f.geom_b].name for f in model.candidates]
    return np.array([{"floor": 0, "wall": 1}.get(name, 2) for name in names])


def centers(model: Model, q: Floats) -> Floats:
    """Of the spheres: (x, z) [m], shape (n, 2)."""
    found = frames(model, q)
    points = found.positions[1:] + np.einsum(
        "nij,nj->ni", found.rotations[1:], model.bodies["com"][1:]
    )
    found_xz: Floats = points[:, [0, 2]]
    return found_xz


def figure_1(tick: Tick) -> Outcome:
    """The sequence with 15 links, as described and as drawn."""
    links = 15
    literal = swing(links, LITERAL, lambda done: tick(done / 2))
    drawn = swing(links, FIGURE, lambda done: tick(0.5 + done / 2))
    model = pendulum(links, FIGURE)
    first = next((i for i in range(len(drawn.q)) if _lowest(model, drawn.q[i], links) < 1e-3), None)
    checks = [
        Check(
            "steps with floor contact, base at 10 m as written",
            "collides and drags",
            str(literal.floor),
            "0: six metres do not reach",
            literal.floor == 0,
        ),
        Check(
            "steps with floor, wall and link contact, base at 5 m",
            "all three",
            f"{drawn.floor}, {drawn.wall}, {drawn.links}",
            "all three seen",
            min(drawn.floor, drawn.wall, drawn.links) > 0,
        ),
        Check(
            "worst residual; degraded or failed solves",
            "",
            f"{max(literal.residual, drawn.residual):.0e}; {literal.failed + drawn.failed}",
            "1e-9; none",
            max(literal.residual, drawn.residual) <= 1e-9 and literal.failed + drawn.failed == 0,
        ),
        Check(
            "first floor contact, base at 5 m",
            "",
            "never" if first is None else f"{first * STEP:.2f} s",
        ),
    ]
    path = Table(
        ["time", *(f"q{k}" for k in range(links))],
        [[round((k + 1) * STEP, 3), *map(float, drawn.q[k])] for k in range(9, len(drawn.q), 10)],
    )
    return Outcome(
        checks, {"path": path}, lambda figure: _draw_sequence(figure, model, drawn), (10.0, 3.4)
    )


def _lowest(model: Model, q: Floats, links: int) -> float:
    return float(centers(model, q)[:, 1].min()) - RADIUS / links - FLOOR


def _draw_sequence(figure: Any, model: Model, drawn: Swing) -> None:
    from studies.bench.peers import peer

    circle = peer("matplotlib.patches").Circle
    moments = (0.0, 0.6, 1.0, 1.4, 2.0, 2.8, 3.6, 4.99)
    for panel, moment in zip(figure.subplots(2, 4).ravel(), moments, strict=True):
        points = centers(model, drawn.q[min(int(moment / STEP), len(drawn.q) - 1)])
        panel.axhspan(-0.1, FLOOR, color="#8d99ae")
        panel.axvspan(WALL, WALL + 0.2, color="#8d99ae")
        for x, z in points:
            panel.add_patch(
                circle((x, z), RADIUS / len(points), fc="#e0a458", ec="#7a4b12", lw=0.5)
            )
        panel.plot(0, FIGURE, "k^", ms=4)
        panel.set(xlim=(-6.3, 4.2), ylim=(-0.1, 6.2), aspect="equal", xticks=[], yticks=[])
        panel.set_title(f"{moment:.1f} s", fontsize="small")


def figure_2(tick: Tick) -> Outcome:
    """Height of the last of three links, by base and formulation."""
    runs = {
        "base at 10 m": (LITERAL, MINIMAL),
        "base at 5 m": (FIGURE, MINIMAL),
        "base at 5 m, fully augmented": (FIGURE, SPARSE),
    }
    found, heights = {}, {}
    for i, (name, (base, form)) in enumerate(runs.items()):
        model = pendulum(3, base, form)
        found[name] = swing(3, base, energies=form == MINIMAL, form=form)
        heights[name] = np.array([centers(model, q)[-1, 1] for q in found[name].q])
        tick((i + 1) / len(runs))
    t: Floats = STEP * np.arange(1.0, len(heights["base at 5 m"]) + 1.0)
    rows = [
        [round(float(t[k]), 3), *(float(height[k]) for height in heights.values())]
        for k in range(9, len(t), 10)
    ]
    return Outcome(
        _checks_2(found["base at 5 m"].gained, *list(heights.values())[1:]),
        {"height": Table(["time", *heights], rows)},
        lambda figure: _draw_2(figure, t, heights),
    )


RESTING = FLOOR + RADIUS / 3  # height of a sphere that lies on the floor, of three links [m]


def _checks_2(gained: float, tree: Floats, freed: Floats) -> list[Check]:
    lowest = float(tree.min()) - RESTING
    apart = np.abs(freed - tree)
    touched = int(np.argmax(tree - RESTING < 1e-6))
    return [
        Check(
            "lowest point above the floor, base at 5 m",
            "",
            f"{lowest:.1e} m",
            "not below -1e-6 m",
            lowest > -1e-6,
        ),
        Check(
            "most energy that a step gains (e = 0)",
            "",
            f"{gained:.1e} J of {9.8 * 3 * (FIGURE - 2):.0f} J",
            "below 0.1 J: time stepping is first order",
            gained < 0.1,
        ),
        Check(
            "fully and tree-augmented heights differ by at most, base at 5 m",
            "not to be told apart",
            f"{1e3 * apart[:touched].max():.1f} mm up to the first contact of the last link, "
            f"{1e3 * apart.max():.1f} mm in all",
            "10 mm up to the first contact: two first-order methods",
            bool(apart[:touched].max() < 0.01),
        ),
    ]


def _draw_2(figure: Any, t: Floats, heights: dict[str, Floats]) -> None:
    panel = figure.subplots()
    literal, tree, freed = heights.values()
    panel.plot(t, literal, color="#4a5463", label="base as written, tree-augmented")
    panel.plot(t, tree, color="#c8553d", label="base as drawn, tree-augmented")
    style = {"color": "#3d6fc8", "mfc": "none", "ms": 5, "markevery": 125}
    panel.plot(t, freed, "o", label="base as drawn, fully augmented", **style)
    panel.axhline(RESTING, color="gray", lw=0.8, ls="--", label="resting on the floor")
    panel.set_xlabel("time [s]")
    panel.set_ylabel("height of the last link [m]")
    panel.legend(fontsize="small")


WORLD = (
    "n spheres of 1 kg and radius 3/n, hinges 6/n apart, floor and wall with faces at z = 0.1 and "
    "x = 3.9, started at pi/2 with -1 rad/s, e = 0, steps of 1 ms for 5 s. Not given: friction "
    f"(here {FRICTION}), inertia (2/5 m r^2), where a sphere sits (mid-link), how far the wall "
    "reaches (everywhere). "
)

EXPERIMENTS = (
    Experiment(
        "jain-1",
        "Jain et al. 2012, figure 1: fifteen links swing into floor and wall",
        WORLD + "The description contradicts itself: six metres from a base at z = 10 never come "
        "below z = 4, so nothing can drag along the floor. Both are run: as written (no floor "
        "contact at all) and with the base at z = 5, which shows what the figure shows.",
        figure_1,
    ),
    Experiment(
        "jain-2",
        "Jain et al. 2012, figure 2: height of the last of three links",
        WORLD + "The paper's curve is that of two formulations on top of each other; its values "
        "are not printed. Here the tree-augmented one (minimal coordinates) for both heights of "
        "the base, and the fully augmented one (free bodies, hinges as constraints) where it "
        "touches. Each follows its own positions for five seconds; step by step from the same "
        "state their velocities are equal (table I).",
        figure_2,
    ),
)
