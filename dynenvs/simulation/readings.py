"""What worlds are at the moment: bodies and joints by name, and what contacts gave each body."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.jacobians import Frames, read_frames
from dynenvs.jit.compiled import entry
from dynenvs.memory.layout import Bytes, Floats, Ints, WorldView, open_work
from dynenvs.model.model import Model
from dynenvs.model.mujoco_words import DATA, KnowsMujoco
from dynenvs.model.parts import positive
from dynenvs.simulation.batch import read_impulses, read_wrenches
from dynenvs.simulation.guard import Guarded, alone
from dynenvs.simulation.timestep import step
from dynenvs.simulation.totals import clear_totals


class Body(NamedTuple):
    """A body in world axes; of many worlds with one row a world, of one without."""

    position: Floats  # of its origin [m], shape (n, 3)
    rotation: Floats  # body to world, shape (n, 3, 3)
    velocity: Floats  # of its origin [m/s], shape (n, 3)
    angular_velocity: Floats  # [rad/s], shape (n, 3)


class Joint(NamedTuple):
    """A joint; of one coordinate shape (n,), of more (n, k); of one world without n."""

    position: Floats  # [rad] or [m]
    velocity: Floats  # [rad/s] or [m/s]


class Readings(KnowsMujoco, Guarded):
    """What `World` and `Worlds` have alike; their arrays differ by the row of each world."""

    _mujoco_words = DATA
    _rows: NDArray[Any]  # states, dtype `model.state_dtype`
    _sources: Ints  # `contact_sources` of the model
    _written: bool  # whether parameters may have been written from outside
    _bound: Any  # the step's kernel with its arguments, or None

    @property
    @abstractmethod
    def _workspace(self) -> Bytes:
        """Memory for one kernel."""

    @abstractmethod
    def _give(self, array: NDArray[Any]) -> Any:
        """What a user gets of an array with one row a world."""

    def _view(self, *names: str) -> Floats:
        """A field of the states, or one within it: a view that can be written into."""
        array = self._rows
        for name in names:
            array = array[name]
        view: Floats = self._give(array)
        return view

    def _copy(self, name: str) -> Floats:
        """What a step keeps of each coordinate in a field; zeros if the model has no such parts."""
        if name in (self._rows.dtype.names or ()):
            return np.array(self._view(name))
        zeros: Floats = self._give(np.zeros((len(self._rows), self.model.nv)))
        return zeros

    @property
    def timestep(self) -> float:
        """Length of a step [s]; may be set at any time."""
        return self._timestep

    @timestep.setter
    def timestep(self, value: float) -> None:
        self._timestep = positive(value, "timestep [s]")
        self._bound = None

    @property
    def wrenches(self) -> Floats:
        """External (moment; force) on each body at its centre of mass, world axes, shape (nb, 6).

        A view that can be written into; it stays until it is changed.  Of many worlds this and the
        following arrays have one row a world.
        """
        return self._view("wrench")

    @property
    def friction(self) -> Floats:
        """A world's friction coefficient of each contact feature, shape (nf,), writable.

        A feature is a point of one geom against another, or a pair of solids (`Model.features`).
        """
        self._written = True
        return self._view("coefficients", "friction")

    @property
    def restitution(self) -> Floats:
        """A world's coefficient of restitution of each contact feature, shape (nf,).

        Writable if the model has a part that bounces; else every impact is inelastic.
        """
        self._written = True
        view = self._view("coefficients", "restitution")
        view.flags.writeable = bool(self.model.header.restitution)
        return view

    @property
    def mass_scale(self) -> Floats:
        """A world's factor on the mass and inertia of each body, shape (nb,), writable."""
        self._written = True
        return self._view("mass_scale")

    @property
    def stop_impulses(self) -> Floats:
        """What joint stops gave each coordinate in the last time step [N m s, N s], shape (nv,).

        Positive pushes towards larger coordinates; divided by `timestep`, a force.  Where parts
        bounce, impacts on stops are not in it.
        """
        return self._copy("stops")

    @property
    def dry_impulses(self) -> Floats:
        """What dry friction gave each coordinate in the last time step [N m s, N s], (nv,).

        At most `Joint.friction` times the step.
        """
        return self._copy("dry")

    @property
    def _parts(self) -> str:
        """What `repr` says of the model."""
        bodies = len(self.model.body_names) - 1
        return f"{bodies} {'body' if bodies == 1 else 'bodies'}, {self.model.nq} positions"

    @property
    @alone
    def frames(self) -> Frames:
        """Poses and velocities of all bodies, the world first: copies, as `dynenvs.frames` gives.

        Of `Worlds` with a row a world: shapes (count, nb, 3, 3) and (count, nb, 3).
        """
        return Frames(*map(self._give, frames_of(self.model, self._rows, self._workspace)))

    def body(self, name: str) -> Body:
        """Pose and velocity of one body by its name, one of `model.body_names`.

        Raises:
            KeyError: there is none of that name; the message lists those there are.

        Example::

            height = world.body("pelvis").position[2]
        """
        i = self.model.body_id(name)
        found = self.frames
        at = (..., i, slice(None))  # the body's axis is the last but one
        turned = found.rotations[..., i, :, :]
        return Body(found.positions[at], turned, found.linear[at], found.angular[at])

    def joint(self, name: str) -> Joint:
        """Position and velocity of one joint by its name, one of `model.joint_names`: copies.

        Raises:
            KeyError: there is none of that name; the message lists those there are.
        """
        parts = joint_of(self.model, self._rows["q"], self._rows["v"], name)
        return Joint(*(self._give(part.copy()) for part in parts))

    @property
    def impulses(self) -> Floats:
        """What contacts gave each body in the last time step, world axes [N s], shape (nb, 3).

        Divided by `timestep`, the mean force.  Of `Worlds`, shape (count, nb, 3): in the last call
        of `step`; divided by the time that it simulated, the mean force.
        """
        found: Floats = self._give(impulses_of(self.model, self._rows, self._sources))
        return found

    @property
    @alone
    def contact_wrenches(self) -> Floats:
        """What contacts gave each body in the last time step (not call), angular before linear.

        Shape (nb, 6), of `Worlds` (count, nb, 6): impulses at the body's centre of mass, world axes
        [N m s, N s], at the places where parts touch now; divided by `timestep`, (moment; force).
        Where parts bounce, a step has several parts: of the last of them.
        """
        wrenches = np.zeros((len(self._rows), len(self.model.body_names), 6))
        read_wrenches(self.model.packed, bytes_of(self._rows), self._workspace, wrenches)
        found: Floats = self._give(wrenches)
        return found


@entry(seconds=0.5)
def step_anew(w: WorldView, tau: Floats, dt: float) -> int:
    """As `step`; sums of contact impulses begin anew."""
    clear_totals(w)
    return int(step(w, tau, dt))


def frames_of(model: Model, rows: NDArray[Any], workspace: Bytes) -> Frames:
    """Poses and velocities of all bodies of some worlds; arrays with one row a world."""
    n, nb = len(rows), len(model.body_names)
    shapes = (n, nb, 3, 3), (n, nb, 3), (n, nb, 3), (n, nb, 3)
    found = Frames(*(np.empty(shape) for shape in shapes))
    read_frames(open_work(model.packed, workspace), bytes_of(rows), *found)
    return found


def impulses_of(model: Model, rows: NDArray[Any], sources: Ints) -> Floats:
    """What contacts gave each body since the sums began [N s], shape (n, nb, 3)."""
    found = np.empty((len(rows), len(model.body_names), 3))
    read_impulses(model.packed, bytes_of(rows), sources, found)
    return found


def contact_sources(model: Model) -> Ints:
    """The contact feature of each place in a world's memory of contacts that is nobody else's."""
    own, points = model.pairs["first"] >= 0, int(model.header.npoints)
    pairs = points + np.repeat(np.flatnonzero(own), model.pairs["slots"][own])
    return np.concatenate([np.arange(points), pairs]).astype(np.int64)


def joint_of(model: Model, q: Floats, v: Floats, name: str) -> tuple[Floats, Floats]:
    """Views of one joint's positions and velocities, of arrays with one row a world.

    Raises:
        KeyError: there is no joint of that name.
    """
    return _part(q, model.position_index, model, name), _part(v, model.velocity_index, model, name)


def _part(array: Floats, index: Any, model: Model, name: str) -> Floats:
    first = index(name)
    later = [index(other) for other in model.joint_names]
    after = min([at for at in later if at > first], default=array.shape[1])
    part = array[:, first:after]
    return part[:, 0] if part.shape[1] == 1 else part


def bytes_of(rows: NDArray[Any]) -> Bytes:
    """States' memory, as kernels take it."""
    return rows.reshape(-1).view(np.uint8)
