"""Two solids and their slots: readings for the tests of contact geometry."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work
from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free

UP = np.array([0.0, 0.0, 1.0])


def few_of(count: int, few: int) -> list[Any]:
    """Seeds from 0 on: the first few for every run, the others for the slow one."""
    return [*range(few), *(pytest.param(k, marks=pytest.mark.slow) for k in range(few, count))]


def add_free(builder: ModelBuilder, body: str, kind: str, size: Array, points: Array) -> None:
    """A free body that is one solid, as of `add_shape`."""
    builder.body(body, joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    add_shape(builder, body, kind, size, points)


def add_shape(builder: ModelBuilder, body: str, kind: str, size: Array, points: Array) -> None:
    """The one solid of a body, of its name.

    size: (radius, half length, -), half edges or radii [m]; points: of a hull
    """
    r, h, _ = (float(x) for x in size)
    if kind == "sphere":
        builder.sphere(body, body, radius=r)
    elif kind == "capsule":
        builder.capsule(body, body, start=(0, 0, -h), end=(0, 0, h), radius=r)
    elif kind == "box":
        builder.box(body, body, half_size=size)
    elif kind == "hull":
        builder.convex(body, body, points=points)
    elif kind == "ellipsoid":
        builder.ellipsoid(body, body, radii=size)
    else:
        getattr(builder, kind)(body, body, radius=r, half_length=h)


class Solid(NamedTuple):
    """A sphere (radius), capsule (radius, half length), box or box as hull (half edges), posed."""

    kind: str
    size: tuple[float, ...]
    R: Array
    p: Array

    def moved(self, R: Array, p: Array) -> Solid:
        """The solid after the motion x -> R x + p."""
        return self._replace(R=R @ self.R, p=R @ self.p + p)

    def core(self, s: Array) -> Array:
        """Point of the core (centre, axis or whole box) for parameters within +-1, shape (3,)."""
        if self.kind == "sphere":
            return self.p
        if self.kind == "capsule":
            return self.p + self.R[:, 2] * self.size[1] * s[0]
        return self.p + self.R @ (np.array(self.size) * s)

    @property
    def radius(self) -> float:
        """Of the round part around the core [m]."""
        return 0.0 if self.kind in ("box", "hull") else self.size[0]


class Slots(NamedTuple):
    """All slots of the pair that touch in some way: gaps, points on A, normals from B to A."""

    numbers: Array
    gaps: Array
    points: Array
    normals: Array

    @property
    def least(self) -> float:
        """The gap of the pair [m]."""
        return float(self.gaps.min(initial=np.inf))


def pair_model(a: Solid, b: Solid) -> Model:
    """Two free bodies, each with one solid at its origin."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name, solid in (("a", a), ("b", b)):
        builder.body(name, joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        add_solid(builder, name, solid)
    return builder.build()


def add_solid(builder: ModelBuilder, body: str, solid: Solid, **options: Any) -> None:
    """The solid as geom `skin of body`, in the middle of the body."""
    name = f"skin of {body}"
    if solid.kind == "sphere":
        builder.sphere(name, body, radius=solid.size[0], **options)
    elif solid.kind == "capsule":
        half = (0.0, 0.0, solid.size[1])
        ends = {"start": [-x for x in half], "end": half}
        builder.capsule(name, body, radius=solid.size[0], **ends, **options)
    elif solid.kind == "hull":
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        builder.convex(name, body, points=corners * solid.size, **options)
    else:
        builder.box(name, body, half_size=solid.size, **options)


def pose(R: Array, p: Array) -> Array:
    """Coordinates of a free body."""
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([*p, w, x, y, z])


def read(model: Model, q: Array) -> Slots:
    """The slots at q."""
    m = open_model(model.packed)
    w = open_work(m, model.workspace())
    update_poses(m, q, w.pose)
    measure_gaps(w)
    count = int(model.header.ns)
    spots, gaps = w.spots[:count], w.gaps[len(w.gaps) - count :]
    alive = np.flatnonzero(gaps < FAR)
    points = spots["center"] - spots["radius"][:, None] * spots["normal"]
    return Slots(alive, gaps[alive], points[alive], spots["normal"][alive])


def read_gaps(model: Model, q: Array) -> Array:
    """Gaps of all features at q, shape (nf,)."""
    m = open_model(model.packed)
    w = open_work(m, model.workspace())
    update_poses(m, q, w.pose)
    measure_gaps(w)
    return w.gaps.copy()


def slots(a: Solid, b: Solid) -> Slots:
    """The slots of two solids."""
    return read(pair_model(a, b), np.concatenate([pose(a.R, a.p), pose(b.R, b.p)]))


def distance(a: Solid, b: Solid) -> float:
    """Distance of two solids that are apart [m]: a convex program over their cores, solved by an
    independent code (L-BFGS-B, from several starts, then refined)."""

    def square(x: Array) -> tuple[float, Array]:
        d = a.core(x[:3]) - b.core(x[3:])
        slope = np.concatenate([2 * _derivative(a).T @ d, -2 * _derivative(b).T @ d])
        return float(d @ d), slope

    best = min(
        minimize(
            square,
            start,
            jac=True,
            bounds=[(-1, 1)] * 6,
            method="L-BFGS-B",
            options={"ftol": 0, "gtol": 1e-14, "maxiter": 2000},
        ).fun
        for start in (np.zeros(6), np.full(6, 0.5))
    )
    return float(np.sqrt(best)) - a.radius - b.radius


def _derivative(solid: Solid) -> Array:
    """d core / d s, shape (3, 3)."""
    if solid.kind == "sphere":
        return np.zeros((3, 3))
    if solid.kind == "capsule":
        out = np.zeros((3, 3))
        out[:, 0] = solid.R[:, 2] * solid.size[1]
        return out
    out = solid.R * np.array(solid.size)
    return out
