"""What a task sees of its worlds after a control step; each quantity is computed once, if asked.

MuJoCo documentation, mjData: `cinert`, `cvel` and `cfrc_ext` are taken about the centre of mass of
the whole robot, in world axes.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.jacobians import Frames
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
ROWS, COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]  # entries of an inertia, in MuJoCo's order


class View:
    """The present state of all worlds; made anew after each change.

    Attributes:
        worlds: which.
        q, v: positions and velocities, shapes (count, nq) and (count, nv).
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds, self.q, self.v = worlds, worlds.q, worlds.v
        self._bodies = worlds.model.bodies

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def links(self) -> NDArray[np.int64]:
        """Numbers of the file's bodies, shape (n,).

        Those with mass: a body with several joints is a chain here, of which the last has the mass.
        """
        return np.flatnonzero(self._bodies["mass"] > 0.0)

    @cached_property
    def _masses(self) -> Floats:
        masses: Floats = self._bodies["mass"][self.links]
        return masses

    @cached_property
    def frames(self) -> Frames:
        """Poses and velocities of all bodies."""
        return self.worlds.frames

    @cached_property
    def torques(self) -> Floats:
        """Forces of the motors on all coordinates [N m, N], shape (count, nv); qfrc_actuator."""
        torques = np.zeros_like(self.v)
        torques[:, self.worlds.model.actuated] = self.worlds.tau
        return torques

    @cached_property
    def stops(self) -> Floats:
        """Forces of the joints' stops [N m, N], (count, nv); qfrc_constraint but contacts."""
        return self.worlds.stop_impulses / self.worlds.timestep

    @cached_property
    def _arms(self) -> Floats:
        """From each link's origin to its centre of mass, world axes [m], shape (count, n, 3)."""
        coms = self._bodies["com"][self.links]
        arms: Floats = (self.frames.rotations[:, self.links] @ coms[..., None])[..., 0]
        return arms

    @cached_property
    def _centers(self) -> Floats:
        return self.frames.positions[:, self.links] + self._arms

    @cached_property
    def mass_center(self) -> Floats:
        """Centre of mass of the robot [m], shape (count, 3)."""
        middle: Floats = self._masses @ self._centers / self._masses.sum()
        return middle

    @cached_property
    def _offsets(self) -> Floats:
        """From the robot's centre of mass to each link's [m], shape (count, n, 3)."""
        offsets: Floats = self._centers - self.mass_center[:, None]
        return offsets

    @cached_property
    def inertias(self) -> Floats:
        """Inertia, mass times place and mass of each link, shape (count, n, 10); cinert."""
        R, c = self.frames.rotations[:, self.links], self._offsets
        turned = R @ self._bodies["inertia"][self.links] @ np.swapaxes(R, -1, -2)
        first = self._masses[:, None] * c
        out = np.empty((*c.shape[:2], 10))
        out[..., :6] = (turned - first[..., :, None] * c[..., None, :])[..., ROWS, COLUMNS]
        out[..., :3] += np.sum(first * c, axis=-1, keepdims=True)
        out[..., 6:9], out[..., 9] = first, self._masses
        return out

    @cached_property
    def velocities(self) -> Floats:
        """Angular and linear velocity of each link [rad/s, m/s], shape (count, n, 6); cvel."""
        omega = self.frames.angular[:, self.links]
        arms = self.mass_center[:, None] - self.frames.positions[:, self.links]
        linear = self.frames.linear[:, self.links] + _cross(omega, arms)
        return np.concatenate([omega, linear], axis=-1)

    @cached_property
    def forces(self) -> Floats:
        """(Moment; force) of contacts on each link [N m, N], shape (count, n, 6); cfrc_ext."""
        given = self.worlds.contact_wrenches[:, self.links] / self.worlds.timestep
        return self.about_the_robot(given)

    def about_the_robot(self, wrenches: Floats) -> Floats:
        """Wrenches at each link's centre of mass, taken about that of the robot, (count, n, 6)."""
        moments = wrenches[..., :3] + _cross(self._offsets, wrenches[..., 3:])
        return np.concatenate([moments, wrenches[..., 3:]], axis=-1)


def _cross(a: Floats, b: Floats) -> Floats:
    """a x b along the last axis; np.cross spends more on its axes than on the product."""
    out: Floats = a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]]
    return out
