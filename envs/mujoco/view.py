"""What a task sees of its worlds after a control step; each quantity is computed once, if asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.mujoco.bodies import Bodies, new_bodies, read_bodies
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class View:
    """The present state of all worlds.

    Its arrays are written anew after `changed`: who keeps one copies it.

    Attributes:
        worlds: which.
        links: numbers of the file's bodies, shape (n,): those with mass, see `MujocoTask`.
        room: where `read` puts what it tells of them.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.links: NDArray[np.int64] = np.flatnonzero(worlds.model.bodies["mass"] > 0.0)
        nb = len(worlds.model.body_names)
        self.room = new_bodies(len(worlds), nb, len(self.links))
        self._read: Callable[[], None] | None = None
        self._memory: Any = None  # of the worlds, for which that is made
        self._waiting = np.ones(len(worlds), np.int64)  # whose bodies have not been read

    def __len__(self) -> int:
        return len(self.worlds)

    def changed(self, mask: Flags | None = None) -> None:
        """These worlds, shape (count,), are others now; all if None."""
        self._waiting[slice(None) if mask is None else mask] = 1

    @property
    def stops(self) -> Floats:
        """Forces of the joints' stops [N m, N], (count, nv); qfrc_constraint but contacts."""
        return self.worlds.stop_impulses / self.worlds.timestep

    @property
    def bodies(self) -> Bodies:
        """What is told of each body, about the robot's centre of mass."""
        if self._waiting.any():
            self.read()
        return self.room

    def read(self) -> None:
        """Bodies of those worlds that have changed into `room`."""
        worlds = self.worlds
        if self._read is None or self._memory is not worlds.memory:
            inputs = self.links, self._waiting, self.room, worlds.timestep
            self._read = worlds.visit("what is seen of bodies", read_bodies, *inputs)
            self._memory = worlds.memory
        self._read()
        self._waiting[:] = 0

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
