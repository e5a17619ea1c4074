"""Model: what all worlds of a robot share, as named, read-only views over one packed buffer."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.handles import arrays_of
from dynenvs.memory.layout import Bytes, Floats, StateView, open_model
from dynenvs.memory.origin import marked, unmarked
from dynenvs.memory.records import (
    ALONE,
    BLOCK_FIELD,
    BOX,
    BUDGET,
    CONE,
    HEADER,
    HEIGHT_FIELD,
    INELASTIC,
    MIDPOINT,
)
from dynenvs.model.annotations import Actuator, Eye, Keyframe, Site
from dynenvs.model.closures import Closures, fill_envelope, fill_loops
from dynenvs.model.contact_options import ContactOptions, integrator_code, integrator_name
from dynenvs.model.description import Description
from dynenvs.model.grains import fill_grains
from dynenvs.model.mujoco_words import MODEL, KnowsMujoco
from dynenvs.model.packing import (
    allocate,
    body_index,
    check_carried,
    fill_around,
    fill_bodies,
    fill_dofs,
    fill_features,
    fill_polygons,
)
from dynenvs.model.pairs import Contacts
from dynenvs.model.parts import JOINT_TYPES, Body, Geom, Joint, ModelError
from dynenvs.model.servos import cords_of, driven_bodies, fill_cords
from dynenvs.model.solids import fill_pairs, mark_meeting, plan_slots, thinnest
from dynenvs.model.spinning import mark_spins
from dynenvs.model.visuals import Visual
from dynenvs.model.whirls import mark_turns, mark_whirls

resource: Any
try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

# Of a container: what it may have and what it has, as one sees it from inside (cgroup 2 and 1)
GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
LARGE = 256_000_000  # bytes of scratch memory, from which it is checked whether there are so many


def available_bytes() -> int:
    """Bytes of memory that can be had now; no end of them where the system does not say.

    The least of what the machine has, what the container lets (its control group, as Docker and
    Slurm set it), and what the process may address (ulimit -v).
    """
    found = [sys.maxsize, _addressable()]
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            found.append(1024 * int(line.split()[1]))
    for most, used in GROUPS:
        limit, now = _lines(most), _lines(used)
        if limit and now and limit[0].isdigit() and now[0].isdigit():
            found.append(int(limit[0]) - int(now[0]))
    return max(0, min(found))


def _addressable() -> int:
    """What the process may take beyond what it has."""
    if resource is None:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _lines("/proc/self/statm")
    if limit == resource.RLIM_INFINITY or not pages:
        return sys.maxsize
    return int(limit - int(pages[0].split()[0]) * resource.getpagesize())


def _lines(path: str) -> list[str]:
    """Of a file that the system may not have."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


class Model(KnowsMujoco):
    """A frozen robot or scene; make it with `ModelBuilder`.

    Attributes:
        nq, nv, nu: numbers of positions, velocities and actuated velocities.
        body_names, joint_names: the world first; joints that move, in order of `v`.
        geoms: the geoms as described.
        closures: the closed loops as described.
        description: all that the model was built from (`dynenvs.model.description`).
        sites, keyframes: of the description, by name (`dynenvs.model.annotations`).
        actuators, visuals: the same, in order (`dynenvs.model.visuals`).
        max_contacts: the user's limit to contacts at once, or None.
        bodies, dofs, features, pairs, solids, loops: read-only record arrays, see
            `dynenvs.memory.layout`.
        packed: the buffer that kernels read, uint8.
        plan: how its matrices are applied (`dynenvs.explain` puts it into words).
        actuated: indices into `v` of the actuated coordinates, shape (nu,): the rows of P.
        lower, upper: position limits, shape (nv,) [rad, m] (infinite where there is none).
        velocity_limit, effort_limit, damping, armature, stiffness: shape (nv,).
        kinematic: whether there are bodies whose motion is given.
        state_dtype, at_rest: a world's row, field by field, and its bytes in the neutral
            configuration.
    """

    _mujoco_words = MODEL

    def __init__(
        self,
        bodies: list[Body],
        geoms: list[Geom],
        contacts: Contacts,
        *,
        gravity: Floats,
        options: ContactOptions,
        max_contacts: int | None,
        closures: Closures | None = None,
        description: Description | None = None,
    ) -> None:
        # What it was described with, by name
        self.closures = closures or Closures()
        self.description = description or Description()
        self.max_contacts = max_contacts
        self.body_names: tuple[str, ...] = ("world", *(body.name for body in bodies))
        self.geoms: tuple[Geom, ...] = tuple(geoms)
        self.joints: dict[str, Joint] = {
            body.joint.name or body.name: body.joint
            for body in bodies
            if body.joint.type != "fixed"
        }
        self.joint_names: tuple[str, ...] = tuple(self.joints)
        self._joint_body = {
            body.joint.name or body.name: i
            for i, body in enumerate(bodies, 1)
            if body.joint.type != "fixed"
        }
        # One buffer for all records; they are filled through views on it
        cords = cords_of(self.description, bodies)
        self.packed, self.plan = allocate(
            bodies,
            self.geoms,
            contacts,
            gravity,
            options,
            max_contacts,
            self.closures,
            cords,
        )
        self._open()
        h = self.header
        arrays = open_model(self.packed)
        # Bodies and joints: poses and rotations first, for all else refers to them
        fill_bodies(h, self.bodies, bodies, cords.pushed)
        driven = driven_bodies(cords)
        h.nspins = mark_spins(self.bodies, bodies, self.closures.bodies, driven)
        h.nwhirls = mark_whirls(self.bodies, carried=h.ncarried > 0)
        fill_around(self.bodies, bodies, self.geoms)
        fill_dofs(h, self.bodies, self.dofs, bodies)
        mark_turns(self.dofs, self.bodies)
        # What can touch, as points and as pairs of solids, and where their slots are
        fill_features(self.features, contacts, bodies, self.geoms, options.directions > 2)
        plan = plan_slots(contacts.pairs, self.geoms)
        index = body_index(bodies)
        fill_grains(arrays.grains, self.features, contacts.grains, self.geoms, index)
        loose = self.bodies["floats"] == ALONE
        room = arrays.heights, arrays.hulls
        fill_pairs(self.pairs, self.solids, *room, contacts.pairs, plan, self.geoms, index, loose)
        points = self.features[: int(h.npoints)]
        h.thinnest = thinnest(self.pairs, self.solids, points)
        bounces = h.restitution != INELASTIC
        mark_meeting(self.bodies, self.pairs, self.solids, points, bounces)
        h.nbeside = int(self.pairs["beside"].sum())
        # What the broad phase reads of every pair in each step, packed tightly
        for name in ("solid_a", "solid_b", "far_squared"):
            arrays.own[name] = self.pairs[name][plan.own]
        arrays.own["pair"] = plan.own
        fill_polygons(h, arrays.polygons)
        # Loops, actuators and tendons
        self._fill_loops()
        fill_cords(arrays, cords, index)
        self._freeze()

    # Packing

    def _open(self) -> None:
        arrays = open_model(self.packed)
        self.header = arrays.header[0]
        self.bodies, self.dofs, self.features = arrays.bodies, arrays.dofs, arrays.features
        self.pairs, self.solids, self.loops = arrays.pairs, arrays.solids, arrays.loops

    def _fill_loops(self) -> None:
        h = self.header
        if not h.ne:
            return
        arrays = open_model(self.packed)
        fill_loops(self.closures, self.body_names, self.loops, self.bodies)
        envelope = arrays.spans, arrays.lasts
        fill_envelope(self.closures, self.loops, self.bodies, self.dofs, *envelope)

    def _freeze(self) -> None:
        self.packed.flags.writeable = False
        self._open()
        # Numbers that are read in every step, as Python's own
        h = self.header
        self.nq, self.nv = int(h.nq), int(h.nv)
        self.actuated: NDArray[np.intp] = np.flatnonzero(self.dofs["actuated"])
        self.nu = len(self.actuated)
        self.kinematic = bool(h.nkinematic)
        self.lower, self.upper = self.dofs["lower"], self.dofs["upper"]
        self.velocity_limit, self.effort_limit = self.dofs["velocity"], self.dofs["effort"]
        self.damping, self.armature = self.dofs["damping"], self.dofs["armature"]
        self.stiffness = self.dofs["stiffness"]
        self.state_dtype = self._state_dtype()
        self.at_rest = self._state_at_rest()
        # Each world begins with these bytes, and kernels believe the counts in them
        self.actuated.flags.writeable = self.at_rest.flags.writeable = False
        self._workspace_bytes = int(h.workspace_bytes)

    @property
    def feature_of(self) -> NDArray[np.int64]:
        """The feature that each contact candidate is of: index into `features`, shape (nk,).

        A candidate is a point feature, or one of the ways in which a pair of solids can touch;
        what a world's state remembers of contact (`memory`, `touched`) goes by candidates.

        Raises:
            ModelError: the scene is so large that pairs share their slots (`dynenvs.model.solids`);
                only `World.contacts` then says which bodies touch.
        """
        h = self.header
        if h.nblocks:
            raise ModelError(
                f"among {h.np} pairs of solids, candidates belong to no pair for ever; read "
                "World.contacts instead"
            )
        pairs = h.npoints + np.repeat(np.arange(h.np), self.pairs["slots"])
        return np.concatenate([np.arange(h.npoints), pairs])

    @property
    def candidates(self) -> NDArray[Any]:
        """FEATURE of every contact candidate (see `feature_of`), shape (nk,)."""
        records: NDArray[Any] = self.features[self.feature_of]
        return records

    def __getstate__(self) -> dict[str, Any]:
        # Views and what follows from the buffer are made again
        views = {"header", "bodies", "dofs", "features", "pairs", "solids", "loops"}
        derived = {"lower", "upper", "velocity_limit", "effort_limit"}
        derived |= {"damping", "armature", "stiffness"}
        made = {"state_dtype", "at_rest", "_workspace_bytes"}
        kept = {k: v for k, v in vars(self).items() if k not in views | derived | made}
        return marked({**kept, "digest": _digest(self.packed)})

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = unmarked(state, "pickled Model")
        # Damaged bytes would be read as places of arrays
        packed, digest = kept.get("packed"), kept.pop("digest", None)
        if not isinstance(packed, np.ndarray) or digest != _digest(packed):
            raise ValueError("pickled Model: its bytes are damaged: make it anew")
        self.__dict__.update(kept)
        self._freeze()

    def repacked(self, packed: Bytes) -> Model:
        """The same model over another buffer: one with more room (`dynenvs.simulation.room`)."""
        other = object.__new__(type(self))
        other.__setstate__({**self.__getstate__(), "packed": packed, "digest": _digest(packed)})
        return other

    @property
    def integrator(self) -> str:
        """ "euler" or "midpoint", as the model was built with or `with_integrator` has chosen."""
        return integrator_name(int(self.header.integrator))

    @property
    def timestep(self) -> float:
        """Length of a step that worlds of it take unless they are given another one [s]."""
        return float(self.description.options.get("timestep", 0.005))

    def with_integrator(self, name: str) -> Model:
        """The same model, stepped by another rule: "euler" or "midpoint" (`ModelBuilder`).

        States of the one are states of the other.

        Raises:
            ModelError: there is no such integrator, or it is "midpoint" and parts bounce.
        """
        code = integrator_code(name, bool(self.header.restitution != INELASTIC))
        if code == self.header.integrator:
            return self
        packed = self.packed.copy()
        header = packed[: HEADER.itemsize].view(HEADER)[0]
        header.integrator = code
        check_carried(header)
        return self.repacked(packed)

    @property
    def kernel_groups(self) -> tuple[str, ...]:
        """Groups of units (`compiled.unit`) that a step of this model needs."""
        h = self.header
        # A group is compiled before the first step of a model that has what it is for
        wanted = {
            "step": True,
            "contact": h.nf or h.nlimited or h.ne or h.ndry,
            "solids": h.ns,
            "boxes": np.any(self.pairs["kind_b"] == BOX),
            "fields": np.any(np.isin(self.pairs["kind_b"], (HEIGHT_FIELD, BLOCK_FIELD))),
            "hulls": h.nhulls,
            "smooth": h.nsmooth,
            "loops": h.ne,
            "refined": h.refined,
            "recursive": h.recursive,
            "impacts": h.restitution != INELASTIC,
            "island impacts": h.sparse and h.restitution != INELASTIC,
            "midpoint": h.integrator == MIDPOINT,
            "servos": h.nservos,
            "spins": h.nspins,
            "swings": h.nswings,
            "sparse": h.sparse,
            "cones": h.cone == CONE or h.moments,
            "film": h.nviscous,
            "extra rows": h.moments or h.ndry or h.ngrains,
        }
        return tuple(name for name, needed in wanted.items() if needed)

    # Names

    @property
    def sites(self) -> dict[str, Site]:
        """Named frames, by name."""
        return {site.name: site for site in self.description.sites}

    @property
    def keyframes(self) -> dict[str, Keyframe]:
        """Named states, by name."""
        return {frame.name: frame for frame in self.description.keyframes}

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """Motors, in the order of their controls."""
        return self.description.actuators

    @property
    def eyes(self) -> dict[str, Eye]:
        """Named places for a camera, by name."""
        return {eye.name: eye for eye in self.description.eyes}

    @property
    def visuals(self) -> tuple[Visual, ...]:
        """Surfaces that are seen and touch nothing."""
        return self.description.visuals

    def body_id(self, name: str) -> int:
        """Index of a body."""
        return self._find(name, self.body_names, "body")

    def geom_id(self, name: str) -> int:
        """Index of a geom."""
        return self._find(name, tuple(geom.name for geom in self.geoms), "geom")

    def velocity_index(self, joint: str) -> int:
        """Index into `v` of a joint's first coordinate."""
        self._find(joint, self.joint_names, "joint")
        return int(self.bodies[self._joint_body[joint]].v_at)

    def position_index(self, joint: str) -> int:
        """Index into `q` of a joint's first coordinate."""
        self._find(joint, self.joint_names, "joint")
        return int(self.bodies[self._joint_body[joint]].q_at)

    @staticmethod
    def _find(name: str, names: tuple[str, ...], what: str) -> int:
        if name not in names:
            raise KeyError(f"unknown {what} {name!r}; choose from: {', '.join(names)}")
        return names.index(name)

    # Buffers

    def neutral(self) -> Floats:
        """The zero configuration, shape (nq,): quaternions at one, all else at zero."""
        # Quaternions of no turn; all else is zero
        q = np.zeros(self.nq)
        for body in self.bodies[1:]:
            if body.joint == JOINT_TYPES["spherical"]:
                q[body.q_at] = 1.0
            elif body.joint == JOINT_TYPES["free"]:
                q[body.q_at + 3] = 1.0
        return q

    def _state_dtype(self) -> np.dtype[Any]:
        h = self.header
        # The state's arrays, where the layout has put them
        sections = [
            (entry.name, entry.format(h), h.places[entry.number])
            for entry in arrays_of([StateView], "state")
            if not entry.when or h[entry.when]
        ]
        return np.dtype(
            {
                "names": [name for name, _, _ in sections],
                "formats": [kind for _, kind, _ in sections],
                "offsets": [int(offset) for _, _, offset in sections],
                "itemsize": int(h.state_bytes),
            }
        )

    def states(self, count: int = 1) -> NDArray[Any]:
        """Rows of `count` worlds at rest in the neutral configuration, dtype `state_dtype`."""
        rows = np.zeros(count, self.state_dtype)
        rows.view(np.uint8).reshape(count, self.state_dtype.itemsize)[:] = self.at_rest
        return rows

    def _state_at_rest(self) -> Bytes:
        """The bytes of a world's row at rest in the neutral configuration."""
        row = np.zeros(1, self.state_dtype)
        # What a world has of its own from the start
        row["q"] = self.neutral()
        row["mass_scale"] = 1.0
        row["status"]["cone"] = self.header.cone
        row["status"]["budget"] = BUDGET
        row["status"]["polygon"] = self.header.npolygons - 1
        row["coefficients"]["friction"] = self.features["friction"]
        row["coefficients"]["restitution"] = self.features["restitution"]
        row["owners"] = -1
        # Not known before the first step
        if self.header.nkinematic:
            row["last"] = np.nan
        if self.header.nsurfaces:
            row["surface"] = [
                np.zeros(3) if geom.surface_velocity is None else geom.surface_velocity
                for geom in self.geoms
            ]
        return row.view(np.uint8)

    def workspace(self) -> Bytes:
        """Scratch memory for one thread.

        Raises:
            MemoryError: it needs more than there is; it grows with the square of `max_contacts`.
        """
        # Free memory is looked up only where it matters: that takes time
        free = available_bytes() if self._workspace_bytes > LARGE else self._workspace_bytes
        if self._workspace_bytes > free:
            raise MemoryError(
                f"room for {self.header.nc} contacts at once needs "
                f"{self._workspace_bytes / 1e9:.1f} GB for each world or thread, more than the "
                f"{free / 1e9:.1f} GB that are free; build the model with fewer directions, or "
                "with a limit, max_contacts"
            )
        return np.zeros(self._workspace_bytes, np.uint8)

    def __repr__(self) -> str:
        return (
            f"Model({len(self.body_names) - 1} bodies, nq={self.nq}, nv={self.nv}, nu={self.nu}, "
            f"{len(self.features)} contact features)"
        )


def _digest(packed: Bytes) -> str:
    """By which damage to a pickled model is seen; no signature."""
    return hashlib.sha256(packed.tobytes()).hexdigest()
