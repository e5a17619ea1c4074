"""Contact breaks, seen in the wrench; the LCP takes over (Pai, Ascher and Kry 2000, section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.dynamics.energy import totals
from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.reference.surfaces import Plane, SlidingContact, Sphere, hand_over, slide
from dynenvs.reference.surfaces.slide import EDGE, FLAT_ON_FLAT
from dynenvs.simulation.world import World
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick
from studies.reproduce.pai_film import bowl

GLOBE, BALL, FLOOR = 1.0, 0.2, -1.5  # radii, and the floor's height from the globe's centre [m]
TILT = 0.05  # of the start from the top [rad]
G = 9.81  # [m/s^2]
STEP, SECONDS = 1e-3, 0.6  # of the world, after the ball has left [s]


def sliding_ball() -> tuple[SlidingContact, Floats]:
    """The ball near the top; x is up, so that the charts' poles stay aside."""
    moments = np.full(3, 0.4 * BALL**2)
    contact = SlidingContact(
        Sphere(BALL), Sphere(GLOBE), mass=1.0, inertia=moments, gravity=(-G, 0, 0)
    )
    return contact, np.array([0.0, 0.0, TILT, 0.0, 0.0])


def ball_world() -> World:
    """The same without friction for the LCP, and a floor."""
    builder = ModelBuilder(gravity=(-G, 0.0, 0.0))
    builder.sphere("globe", "world", radius=GLOBE, friction=0.0)
    builder.half_space("floor", position=(FLOOR, 0, 0), normal=(1, 0, 0), friction=0.0)
    builder.body("ball", joint=free(), mass=1.0, inertia=np.full(3, 0.4 * BALL**2))
    builder.sphere("skin", "ball", radius=BALL, friction=0.0)
    return World(builder.build(), timestep=STEP)


def leave(tick: Tick) -> Outcome:
    """Slide, break, fly, land; and the LCP alone from the same start, at three step lengths."""
    contact, start = sliding_ball()
    done = slide(contact, start, np.zeros(5), 5.0, 0.005)
    position = contact.pose(done.q[-1]).position
    cosine, exact = position[0] / np.linalg.norm(position), 2 / 3 * np.cos(TILT)
    tick(0.5)
    world = ball_world()
    hand_over(contact, done.q[-1], done.v[-1], world, "ball")
    kept = totals(world.model, world.q, world.v).energy - contact.energy(done.q[-1], done.v[-1])
    flight = []
    for _ in range(round(SECONDS / STEP)):
        world.step()
        flight.append(world.q[:3].copy())
    rows = [[dt, *_lcp_alone(contact, start, dt, exact)] for dt in (4e-3, 2e-3, 1e-3)]
    rate = np.sqrt(G * exact / (GLOBE + BALL) * (1 - exact**2))  # d cos / dt where it leaves [1/s]
    slid = np.array([contact.pose(q).position for q in done.q])
    return Outcome(
        [
            Check(
                "cosine of the angle at which it leaves",
                "from the wrench's sign",
                f"{cosine:.12f}",
                f"2/3 cos({TILT}) = {exact:.12f} within 1e-9",
                abs(cosine - exact) < 1e-9,
            ),
            Check("normal force there", "0", f"{contact.pressure(done.q[-1], done.v[-1]):.0e} N"),
            Check(
                "energy at the hand-over", "", f"{kept:.0e} J", "below 1e-12 J", abs(kept) < 1e-12
            ),
            Check(
                "height at which the ball rests at last",
                "",
                f"{flight[-1][0] - FLOOR:.9f} m",
                f"{BALL} m within 1e-6",
                abs(flight[-1][0] - FLOOR - BALL) < 1e-6,
            ),
            Check(
                "LCP alone leaves there too",
                "",
                ", ".join(f"{row[2]:+.1e}" for row in rows) + " off",
                "less than it moves in a step",
                all(abs(off) < rate * dt for dt, _, off in rows),
            ),
            *_other_ends(),
        ],
        {"lcp": Table(["dt [s]", "cosine where the LCP's ball leaves", "off by"], rows)},
        lambda figure: _draw(figure, slid, np.array(flight)),
        (5.0, 5.0),
        ["lcp"],
    )


def _other_ends() -> list[Check]:
    """Where contact coordinates end though nothing breaks: at a chart's edge, and flat on flat."""
    flat = SlidingContact(Plane(), Plane(), mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1))
    rest = slide(flat, np.zeros(5), np.zeros(5), 1.0, 0.01)
    thrown, rates = bowl(), np.array([5.0, 0.0, 0.0, 0.0, 0.0])
    ended = slide(thrown, np.array([0.5, 0.5, 0.0, 0.0, 0.0]), rates, 1.0, 0.01)
    margin = thrown.moving.margin(ended.q[-1, :2])
    return [
        Check("a plane on a plane", "singular", rest.end, FLAT_ON_FLAT, rest.end == FLAT_ON_FLAT),
        Check(
            "the bowl of figure 2, thrown",
            "",
            f"{ended.end} after {ended.t[-1]:.3f} s, {margin:.0e} of the patch before it",
            f"{EDGE}, to 1e-12",
            ended.end == EDGE and 0.0 <= margin < 1e-12,
        ),
    ]


def _lcp_alone(
    contact: SlidingContact, start: Floats, dt: float, exact: float
) -> tuple[float, float]:
    """Cosine at which the world's ball carries its last impulse from the globe, and the error."""
    world = ball_world()
    world.timestep = dt
    hand_over(contact, start, np.zeros(5), world, "ball")
    last = 1.0
    while world.q[0] > 0.3 and world.time < 5.0:
        before = world.q[0] / np.linalg.norm(world.q[:3])
        world.step()
        if world.get_state()["memory"]["impulse"].any():
            last = before
    return float(last), float(last - exact)


def _draw(figure: Any, slid: Floats, flight: Floats) -> None:
    panel = figure.subplots()
    angle = np.linspace(0, 2 * np.pi, 200)
    panel.fill(GLOBE * np.sin(angle), GLOBE * np.cos(angle), color="#d9d4c7")
    panel.axhspan(FLOOR - 0.1, FLOOR, color="#8d99ae")
    panel.plot(slid[:, 1], slid[:, 0], color="#c8553d", lw=2, label="contact coordinates")
    panel.plot(flight[:, 1], flight[:, 0], color="#4a5463", lw=2, label="LCP world")
    for place in (slid[0], slid[-1], flight[len(flight) // 4], flight[-1]):
        panel.plot(place[1] + BALL * np.sin(angle), place[0] + BALL * np.cos(angle), "k", lw=0.8)
    panel.set(aspect="equal", xlabel="across [m]", ylabel="height [m]")
    panel.legend(fontsize="small", loc="lower left")


EXPERIMENTS = (
    Experiment(
        "pai-contact",
        "Pai et al. 2000, section 6: the contact that breaks",
        "The section says that a contact's breaking is seen in the wrench and shows no example. "
        "Here a ball slides off a fixed ball without friction, which it must leave at cos = 2/3 "
        "of the start's; the moment is found by bisection within the step, the motion is handed "
        "to the LCP world, flies, and lands on a floor. The LCP alone, from the same start, "
        "leaves within a step of the same place. Two more ends of contact coordinates are "
        "detected: flat on flat, where they are singular, and the edge of a chart.",
        leave,
    ),
)
