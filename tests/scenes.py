"""Small scenes with contact, and readings of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation
from trees import Array

from dynenvs.dynamics.energy import totals
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.simulation.world import World

G = 9.81  # [m/s^2]


def tilted_gravity(slope: float, heading: float = 0.0) -> Array:
    """Gravity as felt on a slope [rad] that falls along `heading` [rad] in the x-y plane."""
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    return G * (np.sin(slope) * along - np.cos(slope) * np.array([0.0, 0.0, 1.0]))


def block_inertia(mass: float, half: Array) -> Array:
    """Principal moments of a homogeneous box with half edges `half` [m]."""
    square = np.asarray(half) ** 2
    return mass / 3 * (square.sum() - square)


def block(
    half: tuple[float, float, float] = (0.2, 0.15, 0.05),
    *,
    mass: float = 2.0,
    friction: float = 0.5,
    timestep: float = 1e-3,
    **options: Any,
) -> World:
    """A box that stands on the floor z = 0."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space("floor", friction=friction)
    builder.body("block", joint=free(), mass=mass, inertia=block_inertia(mass, np.array(half)))
    builder.box("skin", "block", half_size=half, friction=friction)
    world = World(builder.build(), timestep=timestep)
    world.q[2] = half[2]
    return world


def ball(
    *,
    radius: float = 0.1,
    mass: float = 0.7,
    friction: float = 0.5,
    timestep: float = 1e-3,
    **options: Any,
) -> World:
    """A homogeneous sphere that rests on the floor z = 0."""
    builder = ModelBuilder(**{"gravity": (0.0, 0.0, -G), **options})
    builder.half_space("floor", friction=friction)
    builder.body("ball", joint=free(), mass=mass, inertia=np.full(3, 0.4 * mass * radius**2))
    builder.sphere("skin", "ball", radius=radius, friction=friction)
    world = World(builder.build(), timestep=timestep)
    world.q[2] = radius
    return world


def body_rotation(q: Array, at: int = 3) -> Array:
    """Rotation matrix of the quaternion (w, x, y, z) at `q[at:]`."""
    w, x, y, z = q[at : at + 4]
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def quaternion(R: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation matrix."""
    x, y, z, w = Rotation.from_matrix(R).as_quat()
    return np.array([w, x, y, z])


def corners(q: Array, half: tuple[float, float, float]) -> Array:
    """World positions of a free box's corners, shape (8, 3)."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return q[:3] + (signs * half) @ body_rotation(q).T


def energy(world: World) -> float:
    """Kinetic plus potential energy [J]."""
    return totals(world.model, world.q, world.v).energy


def certified(world: World) -> None:
    """Assert that every step so far was solved and certified."""
    d = world.diagnostics
    assert (d.degraded, d.failed, d.overflow) == (0, 0, 0), d
    assert d.residual <= 1e-9, d
