"""What a task sees of its worlds after a control step; each quantity is computed once, if asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.jacobians import Frames
from dynenvs.envs.mujoco.bodies import Bodies, new_bodies, read_bodies
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class View:
    """The present state of all worlds.

    Its arrays are written anew after `changed`: who keeps one copies it.

    Attributes:
        worlds: which.
        links: numbers of the file's bodies, shape (n,).  Those with mass: a body with several
            joints is a chain here, of which the last has the mass.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.links: NDArray[np.int64] = np.flatnonzero(worlds.model.bodies["mass"] > 0.0)
        self._bodies: Bodies | None = None
        self._frames: Frames | None = None
        self._waiting = np.ones(len(worlds), np.int64)  # whose bodies have not been read

    def __len__(self) -> int:
        return len(self.worlds)

    def changed(self, mask: Flags | None = None) -> None:
        """These worlds, shape (count,), are others now; all if None."""
        self._waiting[slice(None) if mask is None else mask] = 1
        self._frames = None

    @property
    def q(self) -> Floats:
        """Positions, shape (count, nq)."""
        return self.worlds.q

    @property
    def v(self) -> Floats:
        """Velocities, shape (count, nv)."""
        return self.worlds.v

    @property
    def frames(self) -> Frames:
        """Poses and velocities of all bodies."""
        if self._frames is None:
            self._frames = self.worlds.frames
        return self._frames

    @property
    def torques(self) -> Floats:
        """Forces of the motors on all coordinates [N m, N], shape (count, nv); qfrc_actuator."""
        torques = np.zeros_like(self.v)
        torques[:, self.worlds.model.actuated] = self.worlds.tau
        return torques

    @property
    def stops(self) -> Floats:
        """Forces of the joints' stops [N m, N], (count, nv); qfrc_constraint but contacts."""
        return self.worlds.stop_impulses / self.worlds.timestep

    @property
    def bodies(self) -> Bodies:
        """What is read of each body, about the robot's centre of mass."""
        worlds = self.worlds
        if self._bodies is None:
            nb = len(worlds.model.body_names)
            self._bodies = new_bodies(len(self), nb, len(self.links))
        if self._waiting.any():
            inputs = self.links, self._waiting, self._bodies, worlds.timestep
            worlds.visit("what is seen of bodies", read_bodies, *inputs)()
            self._waiting[:] = 0
        return self._bodies

    @property
    def origins(self) -> Floats:
        """Where the origins of all bodies of the model are [m], shape (count, nb, 3)."""
        return self.bodies.origins

    @property
    def mass_center(self) -> Floats:
        """Centre of mass of the robot [m], shape (count, 3)."""
        return self.bodies.centers

    @property
    def inertias(self) -> Floats:
        """Inertia, mass times place and mass of each link, shape (count, n, 10); cinert."""
        return self.bodies.inertias

    @property
    def velocities(self) -> Floats:
        """Angular and linear velocity of each link [rad/s, m/s], shape (count, n, 6); cvel."""
        return self.bodies.velocities

    @property
    def forces(self) -> Floats:
        """(Moment; force) of contacts on each link [N m, N], shape (count, n, 6); cfrc_ext."""
        return self.bodies.forces
