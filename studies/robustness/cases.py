"""The disturbances of the study, as options of environments: rows of a table, points of curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dynenvs.envs.core.task import Task
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.legged.legged import LeggedTask
from dynenvs.envs.planar.walker import WalkerTask

Options = dict[str, Any]

PUSHES = {"HumanoidTask": 20.0}  # on a base every three seconds, by task [N s]
PUSH = 15.0  # on others


class Case(NamedTuple):
    """A row of the table."""

    name: str
    options: Options
    alive: float  # share of the episodes that should reach the time limit
    kept: float | None  # share of the undisturbed return that should be left; None: no such aim


class Curve(NamedTuple):
    """A disturbance of growing size."""

    name: str
    unit: str
    sizes: tuple[float, ...]
    options: Callable[[float], Options]


def weight(task: Task) -> float:
    """Mass of the robot [kg]."""
    return float(task.robot.bodies["mass"].sum())


def other_bodies(task: Task) -> Options:
    """Masses of 80 to 120 %, a payload of a tenth of the whole mass either way, and friction.

    Friction is multiplied by 0.3 to 1.2.
    """
    load = 0.1 * weight(task)
    ranges = {"mass_range": (0.8, 1.2), "friction_range": (0.3, 1.2)}
    return {**ranges, "payload_range": (-load, load)}


def cases(task: Task) -> list[Case]:
    """The rows for a task."""
    walks = isinstance(task, WalkerTask | LeggedTask)
    bodies = other_bodies(task) if walks else {}
    mixed: Options = {"observation_noise": 0.5, "action_noise": 0.05, "action_delay": 1, **bodies}
    found = [
        Case("observation noise, scale 0.5", {"observation_noise": 0.5}, 0.99, 0.90),
        Case("observation noise, scale 1", {"observation_noise": 1.0}, 0.95, 0.80),
        Case("torque noise, 5 % of the limits", {"action_noise": 0.05}, 0.99, 0.95),
        Case("torque noise, 10 %", {"action_noise": 0.1}, 0.95, 0.85),
        Case("a delay of one control step", {"action_delay": 1}, 0.98, 0.90),
        Case("reset noise 0.1", {"reset_noise": 0.1}, 0.99, 0.95),
    ]
    if walks:
        what = "masses +-20 %, payload +-10 %, friction times 0.3 to 1.2"
        found.append(Case(what, bodies, 0.98, 0.90))
    if isinstance(task, LeggedTask):
        size = PUSHES.get(type(task).__name__, PUSH)
        what = f"pushes of {size:g} N s every 3 s"
        found.append(Case(what, {"push_impulse": size}, 0.98, None))
    if isinstance(task, HumanoidTask):
        slow = {"terrain": "stairs", "forward_range": (0.0, 0.4)}
        found += [
            Case("slope of 10 degrees", {"terrain": "slope"}, 0.90, None),
            Case("rough ground, 4 cm", {"terrain": "rough"}, 0.90, None),
            Case("stairs of 8 cm, to 0.4 m/s", slow, 0.90, None),
        ]
    what = "noise 0.5, torque noise 5 %, a delay of one" + (", bodies as above" if walks else "")
    return [*found, Case(f"all at once: {what}", mixed, 0.90, 0.75)]


def curves(task: Task) -> list[Curve]:
    """The disturbances whose sizes are varied, for a task."""

    def one(name: str, scale: Callable[[float], Any] = lambda size: size) -> Any:
        return lambda size: {name: scale(size)}

    noises = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
    shares = (0.0, 0.05, 0.1, 0.15, 0.2)
    found = [
        Curve(
            "observation noise", "times its standard deviations", noises, one("observation_noise")
        ),
        Curve("torque noise", "of the limits", shares, one("action_noise")),
        Curve("delay", "control steps", (0, 1, 2, 3, 4), one("action_delay", int)),
        Curve("reset noise", "rad and rad/s", (0.01, 0.05, 0.1, 0.15, 0.2), one("reset_noise")),
    ]
    if isinstance(task, WalkerTask | LeggedTask):
        spread = one("mass_range", lambda size: (1.0 - size, 1.0 + size))
        slide = one("friction_range", lambda factor: (factor, factor))
        load = weight(task)
        carry = one("payload_range", lambda share: (share * load, share * load))
        found += [
            Curve("masses", "spread either way", (0.0, 0.1, 0.2, 0.3, 0.4), spread),
            Curve("friction", "factor", (1.2, 1.0, 0.8, 0.6, 0.4, 0.2), slide),
            Curve("payload", "of the robot's mass", (-0.1, 0.0, 0.1, 0.2, 0.3), carry),
        ]
    if isinstance(task, LeggedTask):
        pushes = (0.0, 10.0, 20.0, 30.0, 40.0)
        found.append(Curve("pushes every 3 s", "N s", pushes, one("push_impulse")))
    return found
