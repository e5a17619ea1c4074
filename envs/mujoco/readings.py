"""Quantities that Gymnasium observes under MuJoCo's names, of all bodies of one floating robot.

MuJoCo documentation, mjData: `cinert`, `cvel` and `cfrc_ext` are taken about the centre of mass of
the whole robot, in world axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.model import Model
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
UPPER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of an inertia, in their order


class Readings(NamedTuple):
    """Of each world; `n` bodies of the file, without the world."""

    inertias: Floats  # cinert: inertia, mass times place, mass, shape (count, n, 10)
    velocities: Floats  # cvel: (angular; linear) [rad/s, m/s], shape (count, n, 6)
    forces: Floats  # cfrc_ext: (moment; force) of contacts [N m, N], shape (count, n, 6)


def links(model: Model) -> NDArray[np.int64]:
    """Numbers of the file's bodies: those with mass, as bodies with several joints are chains."""
    return np.flatnonzero(model.bodies["mass"] > 0.0)


def mass_center(worlds: Worlds) -> Floats:
    """Centre of mass of each world's robot [m], shape (count, 3)."""
    masses = worlds.model.bodies["mass"]
    centers = _centers(worlds)
    middle: Floats = np.einsum("b,nbk->nk", masses, centers) / masses.sum()
    return middle


def _centers(worlds: Worlds) -> Floats:
    """Centres of mass of all bodies [m], shape (count, nb, 3)."""
    frames = worlds.frames
    arms = np.einsum("nbij,bj->nbi", frames.rotations, worlds.model.bodies["com"])
    centers: Floats = frames.positions + arms
    return centers


def read(worlds: Worlds) -> Readings:
    """All of it."""
    model, frames, which = worlds.model, worlds.frames, links(worlds.model)
    masses, R = model.bodies["mass"][which], frames.rotations[:, which]
    offsets = _offsets(worlds)
    turned = R @ model.bodies["inertia"][which] @ np.swapaxes(R, -1, -2)
    square = np.sum(offsets**2, axis=-1)[..., None, None] * np.eye(3)
    moved = square - offsets[..., :, None] * offsets[..., None, :]
    inertias = turned + masses[:, None, None] * moved
    packed = np.stack([inertias[..., i, j] for i, j in UPPER], axis=-1)
    first = masses[:, None] * offsets
    weights = np.broadcast_to(masses[:, None], (*first.shape[:2], 1))
    omega = frames.angular[:, which]
    arms = mass_center(worlds)[:, None] - frames.positions[:, which]
    linear = frames.linear[:, which] + np.cross(omega, arms)
    return Readings(
        np.concatenate([packed, first, weights], axis=-1),
        np.concatenate([omega, linear], axis=-1),
        contact_forces(worlds),
    )


def contact_forces(worlds: Worlds) -> Floats:
    """`Readings.forces` alone."""
    given = worlds.contact_wrenches[:, links(worlds.model)] / worlds.timestep
    return about_the_robot(worlds, given)


def about_the_robot(worlds: Worlds, wrenches: Floats) -> Floats:
    """Wrenches at each body's centre of mass, taken about that of the robot, (count, n, 6)."""
    moments = wrenches[..., :3] + np.cross(_offsets(worlds), wrenches[..., 3:])
    return np.concatenate([moments, wrenches[..., 3:]], axis=-1)


def _offsets(worlds: Worlds) -> Floats:
    """From the robot's centre of mass to each body's [m], shape (count, n, 3)."""
    offsets: Floats = _centers(worlds)[:, links(worlds.model)] - mass_center(worlds)[:, None]
    return offsets
