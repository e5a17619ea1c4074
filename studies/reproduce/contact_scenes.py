"""Contact models beside each other on scenes with known answers (Cloutier 1995, chapter 6)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free
from dynenvs.reference.contact_models import Penalty, simulate_microcollisions, touching
from dynenvs.reference.integrators import simulate
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

G, FRICTION = 9.81, 0.5
LCP_STEP, PENALTY_STEP, KNOCK_STEP = 5e-3, 5e-4, 1e-3  # [s]
STIFFNESS = 5e4  # [N/m]
SLIP = 5e-3  # below which the springs' friction is viscous [m/s]


class Scene(NamedTuple):
    """Something whose answer is known."""

    name: str
    asked: str
    unit: str
    model: Model
    q: Floats
    v: Floats
    seconds: float
    read: Callable[[Floats, Floats], float]  # from the last positions and velocities
    exact: float
    restitution: float = 0.0


class Answer(NamedTuple):
    """A model's answer and its cost."""

    value: float
    depth: float  # deepest overlap at the end [m]
    steps: int
    seconds: float  # wall-clock time [s]


def _tilted(slope: float) -> Floats:
    return G * np.array([np.sin(slope), 0.0, -np.cos(slope)])


def _body(gravity: Floats, *, ball: bool, mass: float = 1.0, restitution: float = 0.0) -> Model:
    """A ball of radius 0.1 m, or a block on four feet, above a floor."""
    builder = ModelBuilder(gravity=gravity)
    builder.half_space("floor", friction=FRICTION, restitution=restitution)
    if ball:
        builder.body("body", joint=free(), mass=mass, inertia=np.full(3, 0.4 * mass * 0.01))
        builder.sphere("skin", "body", radius=0.1, friction=FRICTION)
    else:
        builder.body("body", joint=free(), mass=mass, inertia=mass * np.array([0.02, 0.03, 0.05]))
        for i, (x, y) in enumerate([(-0.3, -0.2), (-0.3, 0.2), (0.3, -0.2), (0.3, 0.2)]):
            builder.point(f"foot{i}", "body", (x, y, -0.1), friction=FRICTION)
    return builder.build()


def _row() -> Model:
    """Four equal balls in a row, the first one 5 cm before the others."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i in range(4):
        builder.body(f"ball{i}", joint=free(), mass=1.0, inertia=np.full(3, 0.4 * 0.01))
        builder.sphere(f"skin{i}", f"ball{i}", radius=0.1, friction=FRICTION)
    return builder.build()


def scenes() -> list[Scene]:
    """At rest, in motion, and in impacts."""
    return [*_resting(), *_moving(), *_impacts()]


def _resting() -> list[Scene]:
    """Drop, stick, heavy."""
    level, still = _tilted(0.0), np.zeros(6)
    slope = _body(_tilted(np.arctan(0.4)), ball=False)
    heavy = _body(level, ball=False, mass=1000.0)
    return [
        Scene("drop", "height at rest", "m", _body(level, ball=True), _at(0.2), still, 0.6,
              lambda q, v: float(q[2]), 0.1),
        Scene("stick", "way down a slope of tan 0.4", "m", slope, _at(0.1), still, 0.6,
              lambda q, v: float(q[0]), 0.0),
        Scene("heavy", "height of 1000 kg at rest", "m", heavy, _at(0.1), still, 0.3,
              lambda q, v: float(q[2]), 0.1),
    ]  # fmt: skip


def _moving() -> list[Scene]:
    """Slip, slide, roll."""
    still, fast = np.zeros(6), np.array([2.0, 0, 0, 0, 0, 0])
    slip, roll = np.arctan(0.6), np.arctan(0.3)
    speed = 0.6 * G * (np.sin(slip) - FRICTION * np.cos(slip))
    return [
        Scene("slip", "speed down a slope of tan 0.6", "m/s", _body(_tilted(slip), ball=False),
              _at(0.1), still, 0.6, lambda q, v: float(v[0]), speed),
        Scene("slide", "way until it stops", "m", _body(_tilted(0.0), ball=False), _at(0.1), fast,
              0.6, lambda q, v: float(q[0]), 4.0 / (2 * FRICTION * G)),
        Scene("roll", "speed of a ball down a slope of tan 0.3", "m/s",
              _body(_tilted(roll), ball=True), _at(0.1), still, 0.6, lambda q, v: float(v[0]),
              0.6 * 5 / 7 * G * np.sin(roll)),
    ]  # fmt: skip


def _impacts() -> list[Scene]:
    """A bounce, a bounce aslant that makes the ball roll, a ball that meets a row; no gravity."""
    bouncy, row = _body(np.zeros(3), ball=True, restitution=0.5), _row()
    down, aslant = np.array([0, 0, -2.0, 0, 0, 0]), np.array([1.0, 0, -2.0, 0, 0, 0])
    places = row.neutral().reshape(4, 7)
    places[:, 0] = -0.05, 0.2, 0.4, 0.6
    thrown = np.zeros(24)
    thrown[0] = 1.0
    return [
        Scene("bounce", "speed after a fall at 2 m/s, e = 0.5", "m/s", bouncy, _at(0.2), down, 0.2,
              lambda q, v: float(v[2]), 1.0, 0.5),
        Scene("aslant", "speed along the floor after it, 1 m/s before", "m/s", bouncy, _at(0.2),
              aslant, 0.2, lambda q, v: float(v[0]), 5 / 7, 0.5),
        Scene("row", "most that a speed is off 1/4 after a ball of 1 m/s met three, e = 0", "m/s",
              row, places.ravel(), thrown, 0.2, lambda q, v: float(np.abs(v[::6] - 0.25).max()),
              0.0),
    ]  # fmt: skip


def _at(height: float) -> Floats:
    """Position and no turn of a free body [m]."""
    return np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0])


def by_lcp(scene: Scene) -> tuple[Floats, Floats, int]:
    """Time stepping with the LCP."""
    done = simulate(scene.model, scene.q, scene.v, scene.seconds, method="lcp", dt=LCP_STEP)
    return done.q[-1], done.v[-1], done.evaluations


def by_springs(law: str) -> Callable[[Scene], tuple[Floats, Floats, int]]:
    """Penalty forces, semi-implicit Euler."""

    def run(scene: Scene) -> tuple[Floats, Floats, int]:
        stiffness, damping = (STIFFNESS, 150.0) if law == "linear" else (1e6, 2.0)
        if scene.restitution:
            damping = _damping(law, scene.restitution)
        spring = Penalty(scene.model, stiffness, damping, law, SLIP)
        done = simulate(
            scene.model, scene.q, scene.v, scene.seconds, method="semi_implicit_euler",
            dt=PENALTY_STEP, tau=spring,
        )  # fmt: skip
        return done.q[-1], done.v[-1], done.evaluations

    return run


def _damping(law: str, e: float, mass: float = 1.0, speed: float = 2.0) -> float:
    """What returns about e of an impact's speed: of a linear oscillator, Hunt and Crossley's."""
    if law == "linear":
        log = float(np.log(e))
        return -2 * log * float(np.sqrt(STIFFNESS * mass / (np.pi**2 + log**2)))
    return 1.5 * (1 - e) / speed


def by_knocks(scene: Scene) -> tuple[Floats, Floats, int]:
    """Micro-collisions with integrated impulses."""
    done = simulate_microcollisions(
        scene.model, scene.q, scene.v, scene.seconds, dt=KNOCK_STEP, shell=1e-4,
        restitution=scene.restitution,
    )  # fmt: skip
    return done.q[-1], done.v[-1], len(done.t) - 1


MODELS: dict[str, Callable[[Scene], tuple[Floats, Floats, int]]] = {
    "LCP": by_lcp,
    "linear springs": by_springs("linear"),
    "nonlinear springs": by_springs("nonlinear"),
    "micro-collisions": by_knocks,
}


def answer(scene: Scene, run: Callable[[Scene], tuple[Floats, Floats, int]]) -> Answer:
    """Run a scene by a contact model."""
    begin = time.perf_counter()
    q, v, steps = run(scene)
    seconds = time.perf_counter() - begin
    depth = max((-touch.gap for touch in touching(scene.model, q)), default=0.0)
    return Answer(scene.read(q, v), depth, steps, seconds)


def compare(tick: Tick) -> Outcome:
    """All models on all scenes."""
    every = scenes()
    found: dict[str, dict[str, Answer]] = {}
    for i, scene in enumerate(every):
        found[scene.name] = {}
        by_lcp(scene._replace(seconds=0.01))  # compiled before time is taken
        for k, (name, run) in enumerate(MODELS.items()):
            found[scene.name][name] = answer(scene, run)
            tick((i + (k + 1) / len(MODELS)) / len(every))
    rows: list[list[Any]] = []
    for scene in every:
        for name, got in found[scene.name].items():
            cells = [scene.name, f"{scene.asked} [{scene.unit}]", name, scene.exact, got.value]
            cost = [round(got.steps / scene.seconds), f"{got.seconds / scene.seconds:.2g}"]
            rows.append(
                [*cells, f"{got.value - scene.exact:.1e}", f"{got.depth:.0e}", *cost],
            )
    columns = [
        "scene", "asked", "model", "exact", "found", "error", "overlap [m]", "steps a second",
        "wall-clock time a second [s]",
    ]  # fmt: skip
    return Outcome(
        _checks(every, found),
        {"scenes": Table(columns, rows)},
        lambda figure: _draw(figure, every, found),
        (10.0, 4.2),
        ["scenes"],
    )


def _errors(every: list[Scene], found: dict[str, dict[str, Answer]], name: str) -> dict[str, float]:
    return {s.name: abs(found[s.name][name].value - s.exact) for s in every}


def _checks(every: list[Scene], found: dict[str, dict[str, Answer]]) -> list[Check]:
    lcp = _errors(every, found, "LCP")
    springs = _errors(every, found, "linear springs")
    knocks = _errors(every, found, "micro-collisions")
    first_order = 2.0 * LCP_STEP / 2  # of the slide: v dt / 2, and what the last step adds
    last_step = FRICTION * G * LCP_STEP**2 / 8
    exact = [scene.name for scene in every if scene.name != "slide"]
    return [
        Check(
            f"LCP: {', '.join(exact)}",
            "",
            ", ".join(f"{lcp[k]:.0e}" for k in exact),
            "below 1e-9",
            max(lcp[k] for k in exact) < 1e-9,
        ),
        Check(
            "LCP: slide",
            "",
            f"{lcp['slide']:.2e} m",
            f"v dt / 2 = {first_order:.0e} m within mu g dt^2 / 8",
            abs(lcp["slide"] - first_order) < last_step * (1 + 1e-9),
        ),
        Check(
            "springs creep where a block should stick",
            "",
            f"{springs['stick']:.1e} m in 0.6 s",
            "more than 1e-4 m",
            springs["stick"] > 1e-4,
        ),
        Check(
            "springs sink under 1000 kg",
            "",
            f"{springs['heavy']:.1e} m",
            "m g / 4 k = 4.9e-2 m or more, while they swing",
            springs["heavy"] > 4.8e-2,
        ),
        Check(
            "impulses integrated through an impact: bounce, aslant",
            "",
            f"{knocks['bounce']:.0e}, {knocks['aslant']:.0e} m/s",
            "below 1e-9: one impact at a time is what they are made for",
            max(knocks["bounce"], knocks["aslant"]) < 1e-9,
        ),
        Check(
            "the same as micro-collisions: stick, roll",
            "",
            f"{knocks['stick']:.0e} m, {knocks['roll']:.0e} m/s",
            "more than 1e-4: what rests or rolls is knocked",
            min(knocks["stick"], knocks["roll"]) > 1e-4,
        ),
    ]


def _draw(figure: Any, every: list[Scene], found: dict[str, dict[str, Answer]]) -> None:
    panel = figure.subplots()
    width = 0.2
    for k, (name, color) in enumerate(
        zip(MODELS, ("#c8553d", "#4a5463", "#8d99ae", "#e0a458"), strict=True)
    ):
        errors = [max(x, 1e-16) for x in _errors(every, found, name).values()]
        panel.bar(np.arange(len(every)) + (k - 1.5) * width, errors, width, label=name, color=color,
                  bottom=1e-17)  # fmt: skip
    panel.set_yscale("log")
    panel.set_ylim(1e-17, 1e2)
    panel.set_xticks(range(len(every)), [f"{s.name} [{s.unit}]" for s in every])
    panel.set_ylabel("error")
    panel.legend(fontsize="small", loc="upper center", ncols=4)


EXPERIMENTS = (
    Experiment(
        "contact-models",
        "Cloutier 1995, chapter 6: other models of contact beside the LCP",
        "The chapter surveys models and reports no numbers; here they run on scenes whose answers "
        "are known. LCP: steps of 5 ms. Springs: k = 5e4 N/m a contact with damping 150 N s/m, or "
        "Hunt and Crossley's 1e6 N/m^1.5, friction viscous below 5 mm/s, semi-implicit Euler "
        "with 0.5 ms (at 1 ms errors double, at 2 ms the linear ones blow up). Micro-collisions: "
        "impulses integrated as by Keller, Mirtich and Canny, steps of 1 ms, a shell of 0.1 mm. "
        "Where parts bounce, the springs' damping is the textbook's for e and this speed. "
        "The LCP's loop is compiled "
        "and the others' is Python: compare steps a second, not times. Corrections to the "
        "chapter: two springs need e^2 k (e k returns sqrt(e) of the speed); eqs. (6.3, 6.4) "
        "need the inverse of the operational inertia; v = v2 - v1 contradicts (6.6) with the "
        "normal from body 2 to body 1.",
        compare,
    ),
)
