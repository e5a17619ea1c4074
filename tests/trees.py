"""Random kinematic trees as plain data, opened views on a state, and scenes with contact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dynenvs.dynamics.energy import energies
from dynenvs.dynamics.factor import factor, solve
from dynenvs.kinematics.joints import difference, integrate
from dynenvs.kinematics.poses import (
    add_point_row,
    point_bias_acceleration,
    point_velocity,
    update_kinematics,
)
from dynenvs.memory.layout import open_model, open_state, open_work
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint
from dynenvs.model.validation import prepare

Array = NDArray[np.float64]

KINDS = ("revolute", "prismatic", "spherical", "free", "fixed", "dh_revolute", "dh_prismatic")
PROBABILITIES = (0.3, 0.15, 0.15, 0.08, 0.08, 0.14, 0.1)


class Link(NamedTuple):
    """A body of a tree as a user would describe it."""

    name: str
    parent: str
    kind: str  # one of KINDS
    axis: Array
    position: Array
    rotation: Array
    dh: dict[str, float]  # a, alpha, d, theta
    mass: float
    com: Array
    inertia: Array
    armature: float
    damping: float
    pitch: float = 0.0  # of a screw


class Tree(NamedTuple):
    """A random model, the links that it was built from, and its source of random numbers."""

    model: Model
    links: list[Link]
    rng: np.random.Generator

    def state(self) -> tuple[Array, Array]:
        """A random configuration and velocity."""
        return random_q(self.model, self.rng), self.rng.normal(size=self.model.nv)


def random_inertia(rng: np.random.Generator, mass: float) -> Array:
    """Inertia of a random box of this mass, turned at random: physically possible."""
    size = rng.uniform(0.1, 0.6, 3) ** 2
    turn = Rotation.random(random_state=rng).as_matrix()
    return turn @ np.diag(mass / 12 * (size.sum() - size)) @ turn.T


def _random_link(rng: np.random.Generator, name: str, parent: Link | None, floating: bool) -> Link:
    kind = str(rng.choice(KINDS, p=PROBABILITIES))
    if parent is not None and parent.mass == 0.0:
        kind = "revolute"  # more freedom on a massless link would make M singular
    if parent is None and kind == "fixed":
        kind = "free"  # Pinocchio leaves what is welded to the world out of its totals
    if parent is None and floating:
        kind = "spherical" if kind == "spherical" else "free"
    massless = kind in ("revolute", "fixed", "dh_revolute") and rng.random() < 0.15
    mass = 0.0 if massless and (parent is None or parent.mass > 0.0) else rng.uniform(0.2, 3.0)
    axis = rng.normal(size=3)
    moving = not kind.startswith("fixed")
    return Link(
        name=name,
        parent="world" if parent is None else parent.name,
        kind=kind,
        axis=axis / np.linalg.norm(axis),
        position=rng.normal(size=3) * 0.5,
        rotation=Rotation.random(random_state=rng).as_matrix(),
        dh=dict(zip(("a", "alpha", "d", "theta"), rng.normal(size=4), strict=True)),
        mass=mass,
        com=rng.normal(size=3) * 0.3 * (mass > 0),
        inertia=random_inertia(rng, mass),
        armature=rng.uniform(0.0, 0.2) if moving and rng.random() < 0.3 else 0.0,
        damping=rng.uniform(0.0, 0.5) if moving and rng.random() < 0.3 else 0.0,
    )


def add_link(builder: ModelBuilder, link: Link) -> None:
    """Describe one link to the builder."""
    body: dict[str, Any] = {
        "parent": link.parent,
        "mass": link.mass,
        "com": link.com,
        "inertia": link.inertia,
    }
    options = {"armature": link.armature, "damping": link.damping}
    if link.kind.startswith("dh_"):
        builder.dh_link(link.name, joint=Joint(link.kind[3:], **options), **link.dh, **body)
        return
    if link.kind == "screw":
        options["pitch"] = link.pitch
    joint = Joint(
        link.kind, axis=link.axis, position=link.position, rotation=link.rotation, **options
    )
    builder.body(link.name, joint=joint, **body)


def random_tree(
    seed: int, bodies: int | None = None, floating: bool = False, screws: bool = False
) -> Tree:
    """A forest of 1 to 10 bodies with random joints about random axes; the same for equal seeds.

    floating: whether no root is bound to an axis; screws: whether hinges and slides are screws.
    """
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=rng.normal(size=3) * 6)
    links: list[Link] = []
    count = int(rng.integers(1, 11)) if bodies is None else bodies
    while len(links) < count or links[-1].mass == 0.0:
        parent = None if not links or rng.random() < 0.1 else links[rng.integers(len(links))]
        if links and links[-1].mass == 0.0:
            parent = links[-1]  # a massless link must carry something
        links.append(_random_link(rng, f"link{len(links)}", parent, floating))
        if screws and links[-1].kind in ("revolute", "prismatic"):
            links[-1] = links[-1]._replace(kind="screw", pitch=rng.normal())
        add_link(builder, links[-1])
    return Tree(builder.build(), links, rng)


def random_q(model: Model, rng: np.random.Generator) -> Array:
    """A random configuration with unit quaternions."""
    q = rng.normal(size=model.nq)
    for body in model.bodies[1:]:
        if body.nv in (3, 6):
            at = body.q_at + body.nv - 3
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    return q


def plus(model: Model, q: Array, step: Array) -> Array:
    """q (+) step, for a tangent vector, shape (nv,)."""
    out = np.empty(model.nq)
    integrate(open_model(model.packed), np.ascontiguousarray(q), np.array(step), 1.0, out)
    return out


def minus(model: Model, q1: Array, q0: Array) -> Array:
    """q1 (-) q0, the tangent vector from q0 to q1, shape (nv,)."""
    out = np.empty(model.nv)
    difference(open_model(model.packed), np.ascontiguousarray(q0), np.ascontiguousarray(q1), out)
    return out


def derivative(function: Any, step: float = 2e-3) -> Any:
    """d function(s) / ds at zero: central difference of sixth order, error O(step^6)."""
    weights = ((3, 1 / 60), (2, -9 / 60), (1, 45 / 60))
    total = sum(w * (function(k * step) - function(-k * step)) for k, w in weights)
    return total / step


class Opened:
    """Kernels' views on a state, after forward kinematics, and the kernels as methods."""

    def __init__(self, model: Model, q: Array, v: Array | None = None) -> None:
        self.model = model
        self.m = open_model(model.packed)
        self.world = prepare(model, q, v)
        self.s, self.w = open_state(self.world, self.world), open_work(self.world, self.world)
        update_kinematics(self.world)

    def pose(self, body: int) -> tuple[Array, Array]:
        """Rotation (body to world) and position of a body's frame."""
        pose = self.w.pose[body]
        return pose["R"].copy(), pose["p"].copy()

    def com(self, body: int) -> Array:
        """World position of a body's centre of mass [m]."""
        R, p = self.pose(body)
        return p + R @ self.model.bodies[body].com

    def point_jacobian(self, body: int, point: Array) -> Array:
        """Jacobian of a material point's velocity, shape (3, nv)."""
        J = np.zeros((3, self.model.nv))
        for k in range(3):
            add_point_row(self.w, body, point, np.eye(3)[k], 1.0, J[k])
        return J

    def spin_jacobian(self, body: int) -> Array:
        """Jacobian of the angular velocity, (3, nv): from pairs of points, w x (p1 - p0)."""
        at = self.com(body)
        J0 = self.point_jacobian(body, at)
        Jx, Jy, Jz = (self.point_jacobian(body, at + e) - J0 for e in np.eye(3))
        return np.array([Jy[2], Jz[0], Jx[1]])

    def point_velocity(self, body: int, point: Array) -> Array:
        """Velocity of a material point [m/s]."""
        out = np.zeros(3)
        point_velocity(self.w, body, point, out)
        return out

    def bias_acceleration(self, body: int, point: Array) -> Array:
        """Acceleration of a material point at zero joint acceleration [m/s^2]."""
        out = np.zeros(3)
        point_bias_acceleration(self.w, body, point, out)
        return out

    def energies(self) -> tuple[float, float]:
        """Kinetic (without armature) and potential energy [J]."""
        return energies(self.world)

    def factor(self, M: Array) -> Array:
        """Packed factors: L below the diagonal, 1 / D on it; M must be positive definite."""
        L = np.zeros_like(M)
        assert factor(self.m, M, L)
        return L

    def solve(self, L: Array, x: Array) -> Array:
        """M^-1 x by the packed factors."""
        out = x.copy()
        solve(self.m, L, out)
        return out


def close(actual: Any, expected: Any, tolerance: float = 1e-10) -> None:
    """Assert equality relative to the largest entry of what is expected."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    error = float(np.abs(actual - expected).max(initial=0.0))
    assert error <= tolerance * scale, f"differs by {error:.3g} (scale {scale:.3g})"
