"""What a scene is, for every simulator alike, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from dynenvs.memory.layout import Floats

G = 9.81  # [m/s^2]
NO_MOMENTS = "it has no torsional or rolling friction"
Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


class Hinge(NamedTuple):
    """A body turns about an axis through a point of its parent; frames are parallel at angle 0."""

    parent: int | None  # number of the solid, None for the world
    axis: Triple  # unit
    anchor: Triple  # in the frame of the parent's hinge, or in the world [m]
    center: Triple  # of mass, from the anchor [m]
    angle: float = 0.0  # at the start [rad]
    rate: float = 0.0  # [rad/s]


class Solid(NamedTuple):
    """A rigid body with one shape; free, unless it has a hinge."""

    mass: float  # [kg]
    inertia: Triple  # principal moments about the centre of mass, body axes [kg m^2]
    box: Triple | None = None  # half edges [m]
    radius: float | None = None  # of a sphere [m]; with neither, it touches nothing
    length: float = 0.0  # half length of what then is a capsule along the body's z [m]
    wide: float = 0.0  # half width of what then is a cylinder of that radius along the body's z [m]
    # Of the shape from the centre of mass [m]; several for as many shapes
    offsets: tuple[Triple, ...] = ((0.0, 0.0, 0.0),)
    position: Triple = (0.0, 0.0, 0.0)  # of the centre of mass [m]
    turned: Quaternion = (1.0, 0.0, 0.0, 0.0)  # body to world, unit (w, x, y, z)
    velocity: Triple = (0.0, 0.0, 0.0)  # of the centre of mass [m/s]
    spin: Triple = (0.0, 0.0, 0.0)  # angular velocity, body axes [rad/s]
    hinge: Hinge | None = None


class Pin(NamedTuple):
    """Holds a point of one solid on one of another: it closes a loop."""

    a: int  # number of the solid
    b: int
    at_a: Triple  # from the centre of mass, body axes [m]
    at_b: Triple


class Plane(NamedTuple):
    """A fixed surface; what is behind it is solid."""

    point: Triple  # on it [m]
    normal: Triple  # unit, out of the solid


class Scene(NamedTuple):
    """Solids, all of one friction and restitution, on the floor z = 0 if there is one."""

    solids: tuple[Solid, ...]
    timestep: float  # [s]
    floor: bool = True
    gravity: Triple = (0.0, 0.0, -G)  # [m/s^2]
    friction: float = 0.5
    restitution: float = 0.0
    pins: tuple[Pin, ...] = ()
    planes: tuple[Plane, ...] = ()  # beside the floor
    belt: Triple = (0.0, 0.0, 0.0)  # velocity of the floor's surface [m/s]
    torsional: float = 0.0  # friction [m]
    rolling: float = 0.0


class State(NamedTuple):
    """The solids now; world axes."""

    position: Floats  # of centres of mass [m], shape (n, 3)
    rotation: Floats  # body to world, shape (n, 3, 3)
    velocity: Floats  # of centres of mass [m/s], shape (n, 3)
    spin: Floats  # angular velocity [rad/s], shape (n, 3)


class Simulation(Protocol):
    """A scene in one simulator."""

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""

    def read(self) -> State:
        """The state now."""

    def troubles(self) -> int | None:
        """Solves so far that missed the solver's own tolerance; None: it does not say."""


Make = Callable[[Scene], Simulation]


class Reading(NamedTuple):
    """One quantity of one scene in one simulator, beside what it should be."""

    scene: str
    quantity: str  # its unit in brackets
    expected: float
    measured: float
    bar: float | None = None  # the error that dynenvs must stay below; None: shown, not judged
    exact: bool = False  # whether the bar is for the exact friction cone only

    @property
    def error(self) -> float:
        """Distance from what is expected."""
        return abs(self.measured - self.expected)


Family = Callable[[Make], Iterator[Reading]]


def box(mass: float, half: Triple, **options: Any) -> Solid:
    """A homogeneous box [kg, m]."""
    square = np.array(half) ** 2
    x, y, z = mass / 3 * (square.sum() - square)
    return Solid(mass, (float(x), float(y), float(z)), box=half)._replace(**options)


def wheel(mass: float, radius: float, half: float, **options: Any) -> Solid:
    """A homogeneous cylinder of half width `half` along z [kg, m]."""
    across = mass * (3.0 * radius**2 + 4.0 * half**2) / 12.0
    inertia = across, across, 0.5 * mass * radius**2
    return Solid(mass, inertia, radius=radius, wide=half)._replace(**options)


def ball(mass: float, radius: float, **options: Any) -> Solid:
    """A homogeneous sphere [kg, m]."""
    moment = 0.4 * mass * radius**2
    return Solid(mass, (moment, moment, moment), radius=radius)._replace(**options)


def capsule(mass: float, radius: float, length: float, **options: Any) -> Solid:
    """A homogeneous capsule along z; `length` is half that of its straight part [kg, m]."""
    tube, caps = 2 * length, 4 / 3 * radius
    middle, ends = mass * tube / (tube + caps), mass * caps / (tube + caps)
    along = middle * radius**2 / 2 + ends * 0.4 * radius**2
    across = middle * (radius**2 / 4 + tube**2 / 12)
    across += ends * (0.4 * radius**2 + length**2 + 0.75 * radius * length)
    solid = Solid(mass, (across, across, along), radius=radius, length=length)
    return solid._replace(**options)


def about(axis: Triple, angle: float) -> Quaternion:
    """The quaternion of a turn about a unit axis [rad]."""
    x, y, z = (float(np.sin(angle / 2)) * a for a in axis)
    return float(np.cos(angle / 2)), x, y, z


def tilted(slope: float, heading: float = 0.0) -> Triple:
    """Gravity as felt on a slope [rad] that falls along a heading [rad] in the x-y plane."""
    along = G * float(np.sin(slope))
    return (
        along * float(np.cos(heading)),
        along * float(np.sin(heading)),
        -G * float(np.cos(slope)),
    )


def lowest(state: State, i: int, half: Triple) -> float:
    """Height of a box's lowest corner [m]."""
    return float(state.position[i, 2] - np.abs(state.rotation[i, 2]) @ np.array(half))


def energies(scene: Scene, state: State) -> Floats:
    """Kinetic plus potential energy of each solid [J], shape (n,)."""
    mass = np.array([solid.mass for solid in scene.solids])
    inertia = np.array([solid.inertia for solid in scene.solids])
    spin = np.einsum("nji,nj->ni", state.rotation, state.spin)
    kinetic = mass * (state.velocity**2).sum(axis=1) + (inertia * spin**2).sum(axis=1)
    potential = -mass * (state.position @ np.array(scene.gravity))
    return np.asarray(0.5 * kinetic + potential)


def energy(scene: Scene, state: State) -> float:
    """Kinetic plus potential energy [J]."""
    return float(energies(scene, state).sum())


def opened(scene: Scene, state: State) -> float:
    """The furthest that two pinned points are from each other [m]."""
    worst = 0.0
    for pin in scene.pins:
        a = state.position[pin.a] + state.rotation[pin.a] @ np.array(pin.at_a)
        b = state.position[pin.b] + state.rotation[pin.b] @ np.array(pin.at_b)
        worst = max(worst, float(np.linalg.norm(a - b)))
    return worst


def momentum(scene: Scene, state: State) -> Floats:
    """(Angular about the origin [N m s]; linear [N s]) momentum, shape (6,)."""
    total = np.zeros(6)
    for i, solid in enumerate(scene.solids):
        R, linear = state.rotation[i], solid.mass * state.velocity[i]
        total[:3] += R @ (np.array(solid.inertia) * (R.T @ state.spin[i]))
        total[:3] += np.cross(state.position[i], linear)
        total[3:] += linear
    return total
