"""Model: what all worlds of a robot share, as named, read-only views over one packed buffer."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.closures import Closures, fill_envelope, fill_loops
from dynenvs.joints import JOINT_NQ, JOINT_NV
from dynenvs.laws import Laws
from dynenvs.layout import (
    BODY,
    BOX,
    CONE,
    DOF,
    FEATURE,
    HALF_SPACE,
    HEADER,
    HEIGHT_FIELD,
    LOOP,
    MEMORY,
    PAIR,
    POINT,
    POISSON,
    PYRAMID,
    SEEN,
    SPHERE,
    STATUS,
    Bytes,
    Floats,
    fill_offsets,
)
from dynenvs.pairs import Contacts, Feature, SolidPair
from dynenvs.parts import (
    JOINT_TYPES,
    Body,
    Geom,
    Joint,
    ModelError,
    rotation3,
    unit3,
    vector3,
)

RECURSION = 22_000  # sum of squares of depths: a chain of 40
NEAR = 0.1  # solids further apart than this are not looked at [m]


class Model:
    """A frozen robot or scene; make it with `ModelBuilder`.

    Attributes:
        nq, nv, nu: numbers of positions, velocities and actuated velocities.
        body_names: the world first.  joint_names: joints that move, in order of `v`.
        geoms: the geoms as described.
        closures: the closed loops as described.
        bodies, dofs, features, pairs, loops: read-only record arrays, see `dynenvs.layout`.
        packed: the buffer that kernels read, uint8.
        actuated: indices into `v` of the actuated coordinates, shape (nu,): the rows of P.
        lower, upper: position limits, shape (nv,) [rad, m] (infinite where there is none).
        velocity_limit, effort_limit, damping, armature: shape (nv,).
    """

    def __init__(
        self,
        bodies: list[Body],
        geoms: list[Geom],
        contacts: Contacts,
        *,
        gravity: Floats,
        directions: int,
        laws: Laws,
        max_contacts: int | None,
        closures: Closures | None = None,
    ) -> None:
        self.closures = closures or Closures()
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
        self.packed: Bytes = self._allocate(
            bodies, contacts, gravity, directions, laws, max_contacts
        )
        self._open()
        self._fill_bodies(bodies)
        self._fill_dofs(bodies)
        self.header.recursive = self._takes_recursion()
        self._fill_features(contacts.features)
        self._fill_pairs(contacts.pairs)
        self._fill_loops()
        self._freeze()

    # Packing

    def _allocate(
        self,
        bodies: list[Body],
        contacts: Contacts,
        gravity: Floats,
        directions: int,
        laws: Laws,
        max_contacts: int | None,
    ) -> Bytes:
        kinds = [JOINT_TYPES[body.joint.type] for body in bodies]
        header = np.zeros(1, HEADER)[0]
        header.nb = len(bodies) + 1
        header.nq = sum(JOINT_NQ[kind] for kind in kinds)
        header.nv = sum(JOINT_NV[kind] for kind in kinds)
        header.nf = len(contacts.features)
        header.ns = sum(pair.slots for pair in contacts.pairs)
        header.np = len(contacts.pairs)
        fields = {id(pair.geom_b): pair.geom_b.heights for pair in contacts.pairs}
        header.nheights = sum(heights.size for heights in fields.values() if heights is not None)
        most = contacts.at_once
        header.nc = most if max_contacts is None else min(max_contacts, int(header.nf))
        header.nlimited = sum(np.isfinite(body.joint.limits).any() for body in bodies)
        tangents = 1 if directions == 2 else 2
        # Rounded up: loops along rows then have whole vector registers to work on
        header.nr = -(-(header.nc * (1 + tangents) + header.nlimited) // 4) * 4
        header.nl = header.nc * (2 + directions) + header.nlimited
        header.directions = directions
        header.nloops, header.ne = len(self.closures.loops), self.closures.rows
        header.cone = laws.cone if directions > 2 else PYRAMID
        header.impacts = laws.impacts
        if any(feature.restitution > 0.0 for feature in contacts.features):
            header.restitution = laws.restitution
            if (header.cone, header.restitution) == (CONE, POISSON):
                raise ModelError("Poisson's restitution needs the pyramid: choose cone='pyramid'")
        header.gravity[:] = gravity
        angles = 2 * np.pi * np.arange(directions) / directions
        # Exact zeros and ones: the directions of opposite sense must be exact opposites.
        header.cosines[:directions] = np.round(np.cos(angles), 15)
        header.sines[:directions] = np.round(np.sin(angles), 15)
        fill_offsets(header)
        packed = np.zeros(header.model_bytes, np.uint8)
        packed[: HEADER.itemsize].view(HEADER)[0] = header
        return packed

    def _open(self) -> None:
        h = self.packed[: HEADER.itemsize].view(HEADER)[0]
        self.header = h

        def view(start: int, count: int, record: np.dtype[Any]) -> NDArray[Any]:
            return self.packed[start : start + count * record.itemsize].view(record)

        self.bodies = view(h.bodies_at, h.nb, BODY)
        self.dofs = view(h.dofs_at, h.nv, DOF)
        self.features = view(h.features_at, h.nf, FEATURE)
        self.pairs = view(h.pairs_at, h.np, PAIR)
        self.loops = view(h.loops_at, h.nloops, LOOP)

    def _fill_bodies(self, bodies: list[Body]) -> None:
        index = {name: i for i, name in enumerate(self.body_names)}
        by_name = {body.name: body for body in bodies}
        self.bodies[0].parent = self.bodies[0].last = -1
        self.bodies[0].rotation[:] = np.eye(3)
        planar = True
        axes: list[_Axis] = [_Axis(True, None, np.eye(3))]
        q_at = v_at = 0
        for i, body in enumerate(bodies, 1):
            record = self.bodies[i]
            joint = body.joint
            kind = JOINT_TYPES[joint.type]
            parent = index[body.parent]
            record.parent = parent
            record.joint = kind
            record.root = i if parent == 0 else self.bodies[parent].root
            record.q_at, record.v_at, record.nv = q_at, v_at, JOINT_NV[kind]
            q_at += JOINT_NQ[kind]
            v_at += JOINT_NV[kind]
            rotation, position = _joint_placement(joint, by_name.get(body.parent), body.name)
            record.rotation[:] = rotation
            record.position[:] = position
            record.axis[:] = unit3(joint.axis, f"axis of the joint of {body.name!r}")
            axes.append(_fill_turn(record, axes[parent]))
            record.principal, record.offset = _principal(record), record.position.any()
            record.in_plane = _is_in_plane(record) and (parent == 0 or self.bodies[parent].in_plane)
            record.mass = body.mass
            record.com[:] = body.com
            record.inertia[:] = body.inertia
            turn, axis = axes[i].rotation, axes[i].axis
            planar = planar and axes[i].parallel and (axis is None or _is_y(axis))
            if kind == JOINT_TYPES["prismatic"]:
                planar = planar and abs((turn @ record.axis)[1]) < 1e-15
            record.plane_moment = (turn @ body.inertia @ turn.T)[1, 1]
        self.header.planar = planar

    def _fill_dofs(self, bodies: list[Body]) -> None:
        last = np.full(len(bodies) + 1, -1)  # last degree of freedom at or above each body
        for i, body in enumerate(bodies, 1):
            record = self.bodies[i]
            previous = last[record.parent]
            for k in range(record.nv):
                j = record.v_at + k
                dof = self.dofs[j]
                dof.parent, dof.body = previous, i
                previous = j
                dof.actuated = body.joint.actuated
                dof.damping, dof.armature = body.joint.damping, body.joint.armature
                dof.velocity, dof.effort = body.joint.velocity, body.joint.effort
                dof.lower, dof.upper = body.joint.limits
                dof.q_at = record.q_at
                dof.limited = bool(np.isfinite(body.joint.limits).any())
            record.last = last[i] = previous
            if record.nv > 1 and np.isfinite(body.joint.limits).any():
                raise ModelError(f"joint of {body.name!r}: only one-coordinate joints have limits")

    def _takes_recursion(self) -> bool:
        """Whether factors of the mass matrix would cost the step more than articulated bodies.

        Factors cost about the sum of the squares of the coordinates' depths.  Measured on chains
        (`dynenvs bench --cases compliance`); closed loops are taken out by factors.
        """
        depths: list[int] = []
        for dof in self.dofs:
            depths.append(1 + (depths[dof.parent] if dof.parent >= 0 else 0))
        return not self.header.ne and sum(depth**2 for depth in depths) >= RECURSION

    def _fill_features(self, features: list[Feature]) -> None:
        geom_index = {geom.name: i for i, geom in enumerate(self.geoms)}
        index = {name: i for i, name in enumerate(self.body_names)}
        for i, feature in enumerate(features):
            record = self.features[i]
            a, b = feature.geom_a, feature.geom_b
            record.geom_a, record.geom_b = geom_index[a.name], geom_index[b.name]
            record.body_a, record.body_b = index[a.body], index[b.body]
            record.kind, record.group = b.kind, feature.group
            record.center[:] = feature.center
            record.radius = feature.radius
            record.target[:] = b.position
            record.target_normal[:] = b.rotation[:, 2]
            record.target_radius = 0.0 if b.kind == HALF_SPACE else b.size[0]
            record.friction, record.restitution = feature.friction, feature.restitution
            record.apart = _apart(a, b, SEEN)

    def _fill_pairs(self, pairs: list[SolidPair]) -> None:
        h, index = self.header, {name: i for i, name in enumerate(self.body_names)}
        heights = self.packed[h.heights_at : h.heights_at + 8 * h.nheights].view(np.float64)
        begin: dict[str, int] = {}  # of each height field's heights
        end = 0
        for record, (a, b, first, slots, parts) in zip(self.pairs, pairs, strict=True):
            record.kind_a = SPHERE if a.kind == POINT else a.kind
            record.kind_b = b.kind
            record.body_a, record.body_b = index[a.body], index[b.body]
            record.first, record.slots = first, slots
            record.size_a[:], record.size_b[:] = a.size, b.size
            record.position_a[:], record.position_b[:] = a.position, b.position
            record.rotation_a[:], record.rotation_b[:] = a.rotation, b.rotation
            record.reach = record.apart = math.inf
            record.parts[:] = parts
            if b.heights is None:
                record.reach = a.bounding_radius + NEAR
                record.apart = _apart(a, b, NEAR)
                if b.kind != BOX:
                    record.reach += b.bounding_radius
                continue
            if b.name not in begin:
                begin[b.name], end = end, end + b.heights.size
                heights[begin[b.name] : end] = b.heights.ravel()
            record.heights_at = begin[b.name]
            record.nx, record.ny = b.heights.shape
            cells = np.array(b.heights.shape) - (b.kind == HEIGHT_FIELD)
            record.dx, record.dy = 2 * b.size[:2] / cells
            record.top = b.heights.max()

    def _fill_loops(self) -> None:
        h = self.header
        if not h.ne:
            return
        spans = self.packed[h.spans_at : h.spans_at + 16 * h.nv].view(np.int64).reshape(-1, 2)
        lasts = self.packed[h.lasts_at : h.lasts_at + 8 * h.ne].view(np.int64)
        fill_loops(self.closures, self.body_names, self.loops)
        fill_envelope(self.closures, self.loops, self.bodies, self.dofs, spans, lasts)

    def _freeze(self) -> None:
        self.packed.flags.writeable = False
        self._open()
        h = self.header
        self.nq, self.nv = int(h.nq), int(h.nv)
        self.actuated: NDArray[np.intp] = np.flatnonzero(self.dofs["actuated"])
        self.nu = len(self.actuated)
        self.lower, self.upper = self.dofs["lower"], self.dofs["upper"]
        self.velocity_limit, self.effort_limit = self.dofs["velocity"], self.dofs["effort"]
        self.damping, self.armature = self.dofs["damping"], self.dofs["armature"]
        # One world's row, field by field (the layout that kernels open), and such a row at rest
        self.state_dtype = self._state_dtype()
        self._at_rest = self._state_at_rest()
        self._workspace_bytes = int(h.workspace_bytes)

    def __getstate__(self) -> dict[str, Any]:
        views = {"header", "bodies", "dofs", "features", "pairs", "loops"}
        derived = {"lower", "upper", "velocity_limit", "effort_limit", "damping", "armature"}
        made = {"state_dtype", "_at_rest", "_workspace_bytes"}
        return {k: v for k, v in vars(self).items() if k not in views | derived | made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    # Names

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
        q = np.zeros(self.nq)
        for body in self.bodies[1:]:
            if body.joint == JOINT_TYPES["spherical"]:
                q[body.q_at] = 1.0
            elif body.joint == JOINT_TYPES["free"]:
                q[body.q_at + 3] = 1.0
        return q

    def _state_dtype(self) -> np.dtype[Any]:
        h = self.header
        sections: list[tuple[str, Any, int]] = [
            ("status", STATUS, 0),
            ("q", ("f8", (self.nq,)), h.q_at),
            ("v", ("f8", (self.nv,)), h.v_at),
            ("memory", (MEMORY, (int(h.nf),)), h.memory_at),
            ("wrench", ("f8", (int(h.nb), 6)), h.wrench_at),
            ("mass_scale", ("f8", (int(h.nb),)), h.mass_scale_at),
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
        rows.view(np.uint8).reshape(count, self.state_dtype.itemsize)[:] = self._at_rest
        return rows

    def _state_at_rest(self) -> Bytes:
        """The bytes of a world's row at rest in the neutral configuration."""
        row = np.zeros(1, self.state_dtype)
        row["q"] = self.neutral()
        row["mass_scale"] = 1.0
        row["memory"]["friction"] = self.features["friction"]
        row["memory"]["restitution"] = self.features["restitution"]
        return row.view(np.uint8)

    def workspace(self) -> Bytes:
        """Scratch memory for one thread."""
        return np.zeros(self._workspace_bytes, np.uint8)

    def __repr__(self) -> str:
        return (
            f"Model({len(self.body_names) - 1} bodies, nq={self.nq}, nv={self.nv}, nu={self.nu}, "
            f"{len(self.features)} contact features)"
        )


def _apart(a: Geom, b: Geom, reach: float) -> float:
    """Square of the distance of two bodies from which their geoms are more than `reach` apart."""
    if b.kind == HALF_SPACE:
        return math.inf
    arms = float(np.linalg.norm(a.position) + np.linalg.norm(b.position))
    return float((arms + a.bounding_radius + b.bounding_radius + reach) ** 2 * (1 + 1e-9))


class _Axis(NamedTuple):
    """What the axes from the root to a body have in common."""

    parallel: bool
    axis: NDArray[np.float64] | None  # in the world; None if nothing turns yet
    rotation: NDArray[np.float64]  # of the body with all coordinates at zero


def _is_y(axis: NDArray[np.float64]) -> bool:
    return bool(abs(axis[0]) < 1e-15 and abs(axis[2]) < 1e-15)


def _principal(body: Any) -> int:
    """Which of its parent's axes a revolute body turns about: 1, 2, 3; 0 for any other."""
    if body.joint != JOINT_TYPES["revolute"] or (body.rotation != np.eye(3)).any():
        return 0
    units = np.abs(body.axis) == 1.0
    return int(np.argmax(units)) + 1 if units.any() else 0


def _is_in_plane(body: Any) -> bool:
    """Whether a body's rotation leaves the y axis in its place, at any angle."""
    y = np.array([0.0, 1.0, 0.0])
    parts = (body.rest, y), (body.even, np.zeros(3)), (body.odd, np.zeros(3))
    fixed = all((part[1] == row).all() and (part[:, 1] == row).all() for part, row in parts)
    return bool(body.parallel) and fixed


def _fill_turn(body: Any, above: _Axis) -> _Axis:
    """Constant parts of a body's rotation (Rodrigues' formula): in the world, if all axes from the
    root on are parallel, otherwise in its parent's frame."""
    kind, rotation = body.joint, np.array(body.rotation)
    zero = above.rotation @ rotation
    axis = zero @ body.axis
    parallel = above.parallel and kind not in (JOINT_TYPES["spherical"], JOINT_TYPES["free"])
    if kind == JOINT_TYPES["revolute"]:
        # A tree's common axis points to the positive side: along +y, not -y, in planar models
        side = math.copysign(1.0, float(axis[np.argmax(np.abs(axis))]))
        common = side * axis if above.axis is None else above.axis
        parallel = parallel and float(np.linalg.norm(np.cross(axis, common))) < 1e-15
    else:
        common = above.axis
    body.parallel = parallel
    if parallel:
        body.sign = 0.0 if common is None else math.copysign(1.0, float(axis @ common))
        if common is None:
            body.rest[:] = zero
        else:
            _fill_parts(body, common, zero, left=True)
    elif kind == JOINT_TYPES["revolute"]:
        _fill_parts(body, np.array(body.axis), rotation, left=False)
    else:
        body.rest[:] = rotation
    return _Axis(parallel, common, zero)


def _fill_parts(
    body: Any, axis: NDArray[np.float64], rotation: NDArray[np.float64], *, left: bool
) -> None:
    """rest + cos(q) even + sin(q) odd = a turn by q about `axis`, left or right of `rotation`."""
    x, y, z = axis
    along = np.outer(axis, axis)
    parts = along, np.eye(3) - along, np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    for place, part in zip((body.rest, body.even, body.odd), parts, strict=True):
        place[:] = part @ rotation if left else rotation @ part


def _joint_placement(
    joint: Joint, parent: Body | None, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Joint frame in the parent body's frame (behind the parent's tip)."""
    rotation = rotation3(joint.rotation, f"rotation of the joint of {name!r}")
    position = vector3(joint.position, f"position of the joint of {name!r}")
    if parent is None:
        return rotation, position
    return (
        parent.tip_rotation @ rotation,
        parent.tip_rotation @ position + parent.tip_position,
    )
