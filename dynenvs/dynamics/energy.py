"""Energy, momentum and centre of mass of a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.dynamics.passive import passive_energy
from dynenvs.jit.compiled import entry, kernel
from dynenvs.kinematics.poses import update_kinematics
from dynenvs.kinematics.spatial import dot6, inertia_times
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.model.model import Model
from dynenvs.model.validation import borrow


@kernel
def energies(w: WorkView) -> tuple[float, float]:
    """Kinetic (sum v^T I v / 2) and potential (-m g.c, zero at the world's origin) energy [J].

    Bodies alone; rotor inertia (armature) is added by the caller.  Needs `update_kinematics`.
    """
    kinetic = 0.0
    potential = 0.0
    g = w.header[0].gravity
    for i in range(1, w.header[0].nb):
        work = w.body[i]
        inertia_times(work.m, work.h, work.I, work.v, work.f)
        kinetic += 0.5 * dot6(work.v, work.f)
        origin = w.pose[w.bodies[i].root].p
        for k in range(3):
            potential -= g[k] * (work.h[k] + work.m * origin[k])
    return kinetic, potential


@kernel
def momentum(w: WorkView, out: Floats) -> None:
    """Total (angular about the world's origin [N m s]; linear [N s]) momentum, shape (6,)."""
    for k in range(6):
        out[k] = 0.0
    for i in range(1, w.header[0].nb):
        work = w.body[i]
        inertia_times(work.m, work.h, work.I, work.v, work.f)
        f = work.f
        o = w.pose[w.bodies[i].root].p
        out[0] += f[0] + o[1] * f[5] - o[2] * f[4]
        out[1] += f[1] + o[2] * f[3] - o[0] * f[5]
        out[2] += f[2] + o[0] * f[4] - o[1] * f[3]
        for k in range(3, 6):
            out[k] += f[k]


@kernel
def center_of_mass(w: WorkView, out: Floats) -> float:
    """Centre of mass [m] of all bodies into `out`, shape (3,); returns the total mass [kg]."""
    total = 0.0
    for k in range(3):
        out[k] = 0.0
    for i in range(1, w.header[0].nb):
        work = w.body[i]
        origin = w.pose[w.bodies[i].root].p
        total += work.m
        for k in range(3):
            out[k] += work.h[k] + work.m * origin[k]
    if total > 0.0:
        for k in range(3):
            out[k] /= total
    return total


@entry
def _measure(w: WorldView, total: Floats, center: Floats) -> tuple[float, float, float]:
    update_kinematics(w)
    kinetic, potential = energies(w)
    for j in range(w.header[0].nv):
        kinetic += 0.5 * w.dofs[j].armature * w.v[j] * w.v[j]
    potential += passive_energy(w)
    momentum(w, total)
    return kinetic, potential, center_of_mass(w, center)


def measure_energy(w: WorldView) -> tuple[float, float]:
    """Kinetic and potential energy [J] of a world's state, as of `Totals`; writes its workspace."""
    kinetic, potential, _ = _measure(w, np.zeros(6), np.zeros(3))
    return kinetic, potential


class Totals(NamedTuple):
    """Mechanical totals of a state."""

    kinetic: float  # [J], rotor inertia (armature) included
    potential: float  # [J], zero at the world's origin, springs and lifts included
    momentum: Floats  # (angular about the world's origin [N m s]; linear [N s]), shape (6,)
    center_of_mass: Floats  # [m], shape (3,)
    mass: float  # [kg]

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic + self.potential


def totals(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Totals:
    """Energy, momentum, centre of mass and mass of a state.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,); zero if None.

    Raises:
        ValueError: wrong shape, or not finite.
    """
    h, c = np.zeros(6), np.zeros(3)
    kinetic, potential, mass = _measure(borrow(model, q, v), h, c)
    return Totals(kinetic, potential, h, c, mass)
