"""Packed buffers and the named views that kernels open on them.

A call with sixty arrays costs more than a step, so a kernel gets three byte buffers:

==========  ==============================================================================
model       what all worlds share: header, bodies, degrees of freedom, contact features
state       one row per world: positions, velocities, warm start, per-world parameters
workspace   one per thread: every intermediate quantity of the step
==========  ==============================================================================

`open_model`, `open_state` and `open_workspace` turn them into named views; this costs some
ten nanoseconds and allocates nothing.  Shapes: nb bodies (the world is body 0), nq positions,
nv velocities, nf contact features, at most nc contacts at once, nr constraint rows, nl variables
of the LCP.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.compiled import kernel
from dynenvs.lcp.workspace import Workspace as LcpWorkspace
from dynenvs.lcp.workspace import unpack_workspace, workspace_size

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

# Joint types
FIXED, REVOLUTE, PRISMATIC, SPHERICAL, FREE = range(5)
# Geom types; POINT is a sphere of radius zero, HALF_SPACE is solid below its local z = 0
POINT, SPHERE, CAPSULE, BOX, HALF_SPACE, HEIGHT_FIELD = range(6)
# Friction cones
PYRAMID, CONE = range(2)


def _record(fields: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """Aligned record type whose elements have attributes in the interpreter too."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


HEADER = _record(
    [
        (name, "i8")
        for name in (
            "nb nq nv nf nc nlimited nr nl directions cone "
            "bodies_at dofs_at features_at model_bytes "
            "q_at v_at memory_at wrench_at mass_scale_at state_bytes "
            "pose_at pose_new_at body_work_at gaps_at contacts_at variables_at M_at L_at vectors_at "
            "q_new_at J_at Y_at G_at rhs_at A_at b_at z_at H_at cone_at active_at block_at lcp_at lcp_size "
            "workspace_bytes"
        ).split()
    ]
    + [("gravity", "f8", (3,)), ("cosines", "f8", (64,)), ("sines", "f8", (64,))]
)

BODY = _record(
    [
        ("parent", "i8"),
        ("joint", "i8"),
        ("root", "i8"),  # the tree's first body: its position is the tree's reference point
        ("q_at", "i8"),
        ("v_at", "i8"),
        ("nv", "i8"),
        ("rotation", "f8", (3, 3)),  # joint frame in the parent's frame
        ("position", "f8", (3,)),
        ("axis", "f8", (3,)),  # unit, in the joint frame
        ("mass", "f8"),
        ("com", "f8", (3,)),  # in the body frame [m]
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes [kg m^2]
    ]
)

DOF = _record(
    [
        ("parent", "i8"),  # the next degree of freedom towards the root, or -1
        ("body", "i8"),
        ("q_at", "i8"),
        ("actuated", "i8"),
        ("limited", "i8"),
        ("lower", "f8"),
        ("upper", "f8"),
        ("velocity", "f8"),
        ("effort", "f8"),
        ("damping", "f8"),
        ("armature", "f8"),
    ]
)

# A feature is a point of geom A (with a radius) that can touch geom B.
FEATURE = _record(
    [
        ("geom_a", "i8"),
        ("geom_b", "i8"),
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("kind", "i8"),  # type of geom B
        ("group", "i8"),  # features of one body against one geom: they share a rigid target twist
        ("center", "f8", (3,)),  # in body A's frame [m]
        ("radius", "f8"),
        ("target", "f8", (3,)),  # B's centre, or a point of its plane, in body B's frame [m]
        ("target_normal", "f8", (3,)),  # B's plane normal in body B's frame
        ("target_radius", "f8"),
        ("friction", "f8"),
        ("restitution", "f8"),
    ]
)

# What a world remembers of a feature between steps: part of the state (bit-exact restart).
MEMORY = _record(
    [
        ("impulse", "f8", (3,)),  # of the last step on A, world axes [N s]
        ("active", "i8"),  # bit k: variable k of the contact's LCP block was positive
        ("friction", "f8"),  # this world's own coefficients
        ("restitution", "f8"),
    ]
)

STATUS = _record(
    [
        ("time", "f8"),  # [s]
        ("residual", "f8"),  # worst certificate residual since the counters were cleared
        ("solves", "i8"),
        ("pivots", "i8"),
        ("degraded", "i8"),
        ("failed", "i8"),
        ("overflow", "i8"),
        ("contacts", "i8"),  # features that carried an impulse in the last step
        ("limits_active", "i8"),  # bit i: the i-th limited joint pressed against its stop
    ]
)

POSE = _record(
    [
        ("R", "f8", (3, 3)),  # body to world
        ("p", "f8", (3,)),  # body origin, world [m]
        ("frame", "f8", (3, 3)),  # joint frame to world, before the joint's own motion
        ("turn", "f8", (3, 3)),  # the joint's own rotation
    ]
)

BODY_WORK = _record(
    [
        ("v", "f8", (6,)),  # spatial velocity (angular; linear), world axes, at the tree's origin
        ("c", "f8", (6,)),  # velocity-product acceleration of the joint
        ("a", "f8", (6,)),
        ("f", "f8", (6,)),  # (moment; force)
        ("m", "f8"),  # rigid inertia at the tree's origin: mass,
        ("h", "f8", (3,)),  # mass times centre of mass,
        ("I", "f8", (3, 3)),  # rotational inertia
        ("mc", "f8"),  # the same of the composite of the body and all that it carries
        ("hc", "f8", (3,)),
        ("Ic", "f8", (3, 3)),
        ("IA", "f8", (6, 6)),  # articulated inertia
        ("pA", "f8", (6,)),
    ]
)

CONTACT = _record(
    [
        ("feature", "i8"),
        ("row", "i8"),  # of the normal; tangents follow
        ("tangents", "i8"),  # tangential rows: 0 (frictionless), 1 (planar) or 2
        ("stick", "i8"),
        ("center", "f8", (3,)),
        ("point", "f8", (3,)),
        ("normal", "f8", (3,)),  # from B to A
        ("t1", "f8", (3,)),
        ("t2", "f8", (3,)),
        ("gap", "f8"),
        ("target", "f8"),  # gap of the group's rigid target motion, not negative
        ("friction", "f8"),
        ("impulse", "f8", (3,)),
    ]
)

# One column of the LCP: which rows of the contact problem it combines.
NORMAL, DIRECTION, SLACK, LIMIT = range(4)
VARIABLE = _record(
    [
        ("kind", "i8"),
        ("contact", "i8"),  # index into contacts; of a LIMIT, the limited coordinate
        ("row", "i8"),  # first row combined (the next one too if `s` is not zero)
        ("bit", "i8"),  # its place in the memory's active set
        ("c", "f8"),
        ("s", "f8"),
    ]
)

VECTORS = 6  # nv-vectors of the workspace

_HEADER_SIZE = HEADER.itemsize
_BODY_SIZE = BODY.itemsize
_DOF_SIZE = DOF.itemsize
_FEATURE_SIZE = FEATURE.itemsize
_MEMORY_SIZE = MEMORY.itemsize
_STATUS_SIZE = STATUS.itemsize
_BODY_WORK_SIZE = BODY_WORK.itemsize
_CONTACT_SIZE = CONTACT.itemsize
_POSE_SIZE = POSE.itemsize
_VARIABLE_SIZE = VARIABLE.itemsize


class ModelView(NamedTuple):
    """Named views of the packed model."""

    header: Records  # HEADER, shape (1,)
    bodies: Records  # BODY, shape (nb,)
    dofs: Records  # DOF, shape (nv,)
    features: Records  # FEATURE, shape (nf,)


class StateView(NamedTuple):
    """Named views of one world's row."""

    status: Records  # STATUS, shape (1,)
    q: Floats  # [rad, m], shape (nq,)
    v: Floats  # [rad/s, m/s], shape (nv,)
    memory: Records  # MEMORY, shape (nf,)
    wrench: Floats  # external (moment; force) at each body's centre of mass, world axes, (nb, 6)
    mass_scale: Floats  # factor on each body's mass and inertia, shape (nb,)


class WorkspaceView(NamedTuple):
    """Named views of a thread's workspace."""

    pose: Records  # POSE at q, shape (nb,)
    pose_new: Records  # POSE at q_new, shape (nb,)
    body: Records  # BODY_WORK, shape (nb,)
    gaps: Floats  # gap of every feature [m], shape (nf,)
    contacts: Records  # CONTACT, shape (nc,)
    variables: Records  # VARIABLE, shape (nl,)
    S: Floats  # joint axes (angular; linear) at the tree's origin, shape (nv, 6)
    U: Floats  # articulated inertia times axes, shape (nv, 6)
    M: Floats  # mass matrix with armature and dt * damping, shape (nv, nv)
    L: Floats  # its factors: unit lower L, D on the diagonal, shape (nv, nv)
    bias: Floats  # shape (nv,), as are the next ones
    tau: Floats
    v_free: Floats
    v_new: Floats
    rhs: Floats
    v_next: Floats
    q_new: Floats  # shape (nq,)
    J: Floats  # constraint rows, shape (nr, nv)
    Y: Floats  # D^-1/2 L^-T J^T, transposed, shape (nr, nv)
    G: Floats  # J M^-1 J^T, shape (nr, nr)
    bias_row: Floats  # right-hand side of the rows [m/s], shape (nr,)
    impulse_row: Floats  # impulses of the rows [N s], shape (nr,)
    A: Floats  # LCP matrix, shape (nl, nl)
    b: Floats  # shape (nl,)
    z: Floats  # shape (nl,)
    H: Floats  # quadratic form of the torque redistribution, shape (nl, nl)
    cone: Floats  # edges of the friction cones in joint space, shape (nl, nv)
    active: Ints  # shape (nl,)
    block: Ints  # shape (nl,)
    lcp: LcpWorkspace


def _align(size: int) -> int:
    return -(-size // 64) * 64


def fill_offsets(header: Any) -> None:
    """Lay out the three buffers for the counts already in `header`."""
    nb, nq, nv, nf = header.nb, header.nq, header.nv, header.nf
    nr, nl = header.nr, header.nl
    header.lcp_size = workspace_size(int(nl))

    def place(start: int, parts: list[tuple[str, int]]) -> int:
        for name, size in parts:
            setattr(header, name, start)
            start = _align(start + size)
        return start

    header.model_bytes = place(
        _align(_HEADER_SIZE),
        [
            ("bodies_at", nb * _BODY_SIZE),
            ("dofs_at", nv * _DOF_SIZE),
            ("features_at", nf * _FEATURE_SIZE),
        ],
    )
    header.state_bytes = place(
        _align(_STATUS_SIZE),
        [
            ("q_at", 8 * nq),
            ("v_at", 8 * nv),
            ("memory_at", nf * _MEMORY_SIZE),
            ("wrench_at", 48 * nb),
            ("mass_scale_at", 8 * nb),
        ],
    )
    header.workspace_bytes = place(
        0,
        [
            ("pose_at", nb * _POSE_SIZE),
            ("pose_new_at", nb * _POSE_SIZE),
            ("body_work_at", nb * _BODY_WORK_SIZE),
            ("gaps_at", 8 * nf),
            ("contacts_at", header.nc * _CONTACT_SIZE),
            ("variables_at", nl * _VARIABLE_SIZE),
            ("M_at", 8 * nv * nv),
            ("L_at", 8 * nv * nv),
            ("vectors_at", 8 * nv * (12 + VECTORS)),
            ("q_new_at", 8 * nq),
            ("J_at", 8 * nr * nv),
            ("Y_at", 8 * nr * nv),
            ("G_at", 8 * nr * nr),
            ("rhs_at", 16 * nr),
            ("A_at", 8 * nl * nl),
            ("b_at", 8 * nl),
            ("z_at", 8 * nl),
            ("H_at", 8 * nl * nl),
            ("cone_at", 8 * nl * nv),
            ("active_at", 8 * nl),
            ("block_at", 8 * nl),
            ("lcp_at", 8 * header.lcp_size),
        ],
    )


@kernel
def open_model(packed: Bytes) -> ModelView:
    """Views of a packed model."""
    header = packed[:_HEADER_SIZE].view(HEADER)
    h = header[0]
    return ModelView(
        header,
        packed[h.bodies_at : h.bodies_at + h.nb * _BODY_SIZE].view(BODY),
        packed[h.dofs_at : h.dofs_at + h.nv * _DOF_SIZE].view(DOF),
        packed[h.features_at : h.features_at + h.nf * _FEATURE_SIZE].view(FEATURE),
    )


@kernel
def _floats(buffer: Bytes, start: int, count: int) -> Floats:
    return buffer[start : start + 8 * count].view(np.float64)


@kernel
def _matrix(buffer: Bytes, start: int, rows: int, columns: int) -> Floats:
    return buffer[start : start + 8 * rows * columns].view(np.float64).reshape(rows, columns)


@kernel
def _ints(buffer: Bytes, start: int, count: int) -> Ints:
    return buffer[start : start + 8 * count].view(np.int64)


@kernel
def open_state(m: ModelView, row: Bytes) -> StateView:
    """Views of one world's row."""
    h = m.header[0]
    return StateView(
        row[:_STATUS_SIZE].view(STATUS),
        _floats(row, h.q_at, h.nq),
        _floats(row, h.v_at, h.nv),
        row[h.memory_at : h.memory_at + h.nf * _MEMORY_SIZE].view(MEMORY),
        _matrix(row, h.wrench_at, h.nb, 6),
        _floats(row, h.mass_scale_at, h.nb),
    )


@kernel
def open_workspace(m: ModelView, buffer: Bytes) -> WorkspaceView:
    """Views of a thread's workspace."""
    h = m.header[0]
    nv = h.nv
    at = h.vectors_at
    step = 8 * nv
    return WorkspaceView(
        buffer[h.pose_at : h.pose_at + h.nb * _POSE_SIZE].view(POSE),
        buffer[h.pose_new_at : h.pose_new_at + h.nb * _POSE_SIZE].view(POSE),
        buffer[h.body_work_at : h.body_work_at + h.nb * _BODY_WORK_SIZE].view(BODY_WORK),
        _floats(buffer, h.gaps_at, h.nf),
        buffer[h.contacts_at : h.contacts_at + h.nc * _CONTACT_SIZE].view(CONTACT),
        buffer[h.variables_at : h.variables_at + h.nl * _VARIABLE_SIZE].view(VARIABLE),
        _matrix(buffer, at, nv, 6),
        _matrix(buffer, at + 6 * step, nv, 6),
        _matrix(buffer, h.M_at, nv, nv),
        _matrix(buffer, h.L_at, nv, nv),
        _floats(buffer, at + 12 * step, nv),
        _floats(buffer, at + 13 * step, nv),
        _floats(buffer, at + 14 * step, nv),
        _floats(buffer, at + 15 * step, nv),
        _floats(buffer, at + 16 * step, nv),
        _floats(buffer, at + 17 * step, nv),
        _floats(buffer, h.q_new_at, h.nq),
        _matrix(buffer, h.J_at, h.nr, nv),
        _matrix(buffer, h.Y_at, h.nr, nv),
        _matrix(buffer, h.G_at, h.nr, h.nr),
        _floats(buffer, h.rhs_at, h.nr),
        _floats(buffer, h.rhs_at + 8 * h.nr, h.nr),
        _matrix(buffer, h.A_at, h.nl, h.nl),
        _floats(buffer, h.b_at, h.nl),
        _floats(buffer, h.z_at, h.nl),
        _matrix(buffer, h.H_at, h.nl, h.nl),
        _matrix(buffer, h.cone_at, h.nl, nv),
        _ints(buffer, h.active_at, h.nl),
        _ints(buffer, h.block_at, h.nl),
        unpack_workspace(_floats(buffer, h.lcp_at, h.lcp_size), h.nl),
    )
