"""Packed buffers and the named views that kernels open on them.

A call with sixty arrays costs more than a step, so a kernel gets three byte buffers:

==========  ==============================================================================
model       what all worlds share: header, bodies, degrees of freedom, contact features, pairs
state       one row per world: positions, velocities, warm start, per-world parameters
workspace   one per thread: every intermediate quantity of the step
==========  ==============================================================================

`open_model`, `open_state` and `open_workspace` turn them into named views; this costs some
ten nanoseconds and allocates nothing.  Shapes: nb bodies (the world is body 0), nq positions,
nv velocities, nf contact features (ns of them slots of the np pairs of solids), at most nc contacts
at once, nr constraint rows, nl variables of the LCP, nloops closed loops with ne rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.compiled import inlined
from dynenvs.lcp.workspace import Workspace as LcpWorkspace
from dynenvs.lcp.workspace import unpack_workspace, workspace_size
from dynenvs.views import matrix, vector

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

# Joint types
FIXED, REVOLUTE, PRISMATIC, SPHERICAL, FREE = range(5)
# Geom types; POINT is a sphere of radius zero, HALF_SPACE is solid below its local z = 0
POINT, SPHERE, CAPSULE, BOX, HALF_SPACE, HEIGHT_FIELD, BLOCK_FIELD = range(7)
# Friction cones
PYRAMID, CONE = range(2)
# Laws of restitution (none where nothing bounces), and what happens where several parts meet
INELASTIC, NEWTON, POISSON = range(3)
SIMULTANEOUS, SEQUENTIAL = range(2)


def record_type(fields: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """Aligned record type whose elements have attributes in the interpreter too."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


# fmt: off
_COUNTS = [  # planar: every axis is along y, every slide in the x-z plane
    "nb", "nq", "nv", "nf", "ns", "np", "nheights", "nc", "nlimited", "nr", "nl", "directions",
    "cone", "restitution", "impacts", "planar", "recursive", "nloops", "ne",
]
_PLACES = [  # byte offsets of the views, in their order, and sizes of the buffers
    "bodies_at", "dofs_at", "features_at", "pairs_at", "heights_at", "loops_at", "spans_at",
    "lasts_at", "model_bytes", "q_at", "v_at", "memory_at",
    "wrench_at", "mass_scale_at", "state_bytes", "pose_at", "pose_new_at", "body_work_at",
    "gaps_at", "spots_at", "shapes_at", "contacts_at", "variables_at", "blocks_at",
    "unknowns_at", "eliminated_at", "answer_at", "M_at", "L_at", "vectors_at", "q_new_at", "J_at",
    "Y_at", "G_at", "rhs_at", "A_at", "b_at", "z_at", "H_at", "cone_at", "active_at", "block_at",
    "lcp_at", "lcp_size", "loop_J_at", "loop_Y_at", "loop_K_at", "loop_T_at", "loop_vectors_at",
    "loop_v_at", "workspace_bytes",
]
# fmt: on
HEADER = record_type(
    [(name, "i8") for name in (*_COUNTS, *_PLACES)]
    + [("gravity", "f8", (3,)), ("cosines", "f8", (64,)), ("sines", "f8", (64,))]
)

BODY = record_type(
    [
        ("parent", "i8"),
        ("joint", "i8"),
        ("root", "i8"),  # the tree's first body: its position is the tree's reference point
        ("q_at", "i8"),
        ("v_at", "i8"),
        ("nv", "i8"),
        ("last", "i8"),  # the coordinate nearest to the body on its way to the root, or -1
        ("rotation", "f8", (3, 3)),  # joint frame in the parent's frame
        # A revolute joint turns the body by rest + cos(q) even + sin(q) odd, in the parent's frame;
        # other joints by rest alone, before the joint's own rotation.  If all axes on the way from
        # the root are parallel (or turn nothing), q is the sum of their angles and R comes out.
        ("parallel", "i8"),
        ("in_plane", "i8"),  # whether, besides, R turns about the y axis alone
        ("sign", "f8"),  # of this joint's angle in that sum
        ("principal", "i8"),  # 1, 2, 3: turns about its parent's x, y or z, nothing else; or 0
        ("offset", "i8"),  # whether `position` is not zero
        ("plane_moment", "f8"),  # of inertia about the world's y axis, of planar models [kg m^2]
        ("rest", "f8", (3, 3)),
        ("even", "f8", (3, 3)),
        ("odd", "f8", (3, 3)),
        ("position", "f8", (3,)),
        ("axis", "f8", (3,)),  # unit, in the joint frame
        ("mass", "f8"),
        ("com", "f8", (3,)),  # in the body frame [m]
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes [kg m^2]
    ]
)

DOF = record_type(
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

# A feature is a point of geom A (with a radius) that can touch geom B, or a slot of a pair of
# solids: one of the ways in which they can touch (a corner on a face, an edge across an edge).
# Slots come last; `center` to `target_radius` are not theirs.
FEATURE = record_type(
    [
        ("geom_a", "i8"),
        ("geom_b", "i8"),
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("kind", "i8"),  # type of geom B
        ("apart", "f8"),  # square of the bodies' distance from which round geoms are far [m^2]
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

# Two solids of which both have edges, faces or round sides: their slots are found together
# (`dynenvs.contact.spots`).
PAIR = record_type(
    [
        ("kind_a", "i8"),  # SPHERE, CAPSULE or BOX
        ("kind_b", "i8"),  # CAPSULE, BOX, HEIGHT_FIELD or BLOCK_FIELD
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("first", "i8"),  # first slot
        ("slots", "i8"),
        ("apart", "f8"),  # square of the bodies' distance from which the geoms are far [m^2]
        # Of a box over a field: points along its edges, or in x how many blocks it can touch
        ("parts", "i8", (3,)),
        ("size_a", "f8", (3,)),  # as `dynenvs.parts.Geom.size`
        ("size_b", "f8", (3,)),
        ("position_a", "f8", (3,)),  # in the body's frame [m]
        ("position_b", "f8", (3,)),
        ("rotation_a", "f8", (3, 3)),
        ("rotation_b", "f8", (3, 3)),
        # A's centre further than this from B (from B's centre, if it is no box) is far [m]
        ("reach", "f8"),
        ("heights_at", "i8"),  # of a field: its first height, points (blocks) along x and y,
        ("nx", "i8"),
        ("ny", "i8"),
        ("dx", "f8"),  # their distances [m]
        ("dy", "f8"),
        ("top", "f8"),  # and the highest one [m]
    ]
)

# Two frames, one of each body, that a closed loop holds together (`dynenvs.contact.loops`).
LOOP = record_type(
    [
        ("joint", "i8"),  # SPHERICAL, REVOLUTE or PRISMATIC (both about or along z), or FIXED
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("row", "i8"),  # its first row, and how many it has
        ("rows", "i8"),
        ("position_a", "f8", (3,)),  # in the body's frame [m]
        ("position_b", "f8", (3,)),
        ("rotation_a", "f8", (3, 3)),
        ("rotation_b", "f8", (3, 3)),
    ]
)

# What a world remembers of a feature between steps: part of the state (bit-exact restart).
MEMORY = record_type(
    [
        ("impulse", "f8", (3,)),  # of the last step on A, world axes [N s]
        ("total", "f8", (3,)),  # sum of impulses since the caller cleared it [N s]
        ("active", "i8"),  # bit k: variable k of the contact's LCP block was positive
        ("friction", "f8"),  # this world's own coefficients
        ("restitution", "f8"),
        ("ignored", "i8"),  # not part of the contact problem (a foot that is not meant to carry)
    ]
)

STATUS = record_type(
    [
        ("time", "f8"),  # [s]
        ("residual", "f8"),  # worst certificate residual since the counters were cleared
        ("solves", "i8"),
        ("rescued", "i8"),  # solves that Newton's method left to the cascade
        ("pivots", "i8"),
        ("degraded", "i8"),
        ("failed", "i8"),
        ("overflow", "i8"),
        ("contacts", "i8"),  # features that carried an impulse in the last step
        ("limits_active", "i8"),  # bit i: the i-th limited joint pressed against its stop
    ]
)

POSE = record_type(
    [
        ("R", "f8", (3, 3)),  # body to world
        ("p", "f8", (3,)),  # body origin, world [m]
        ("frame", "f8", (3, 3)),  # of a spherical or free joint to world, before its own rotation
        ("angle", "f8"),  # sum of the angles of parallel axes, its sine and cosine
        ("sine", "f8"),
        ("cosine", "f8"),
        ("turn", "f8", (3, 3)),  # the rotation of a spherical or free joint
    ]
)

BODY_WORK = record_type(
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

# Where a slot's parts are nearest to each other now.
SPOT = record_type(
    [
        ("gap", "f8"),  # [m]; FAR where the slot does not touch that way
        ("radius", "f8"),  # of A around its core point
        ("edges", "i8"),  # which edges of two boxes cross: the slot alone does not tell; else 0
        # In a pair's first slot: how many it has, if they all have been discarded; else 0
        ("skip", "i8"),
        ("center", "f8", (3,)),  # core point of A, world axes [m]
        ("normal", "f8", (3,)),  # from B to A
    ]
)
FAR = 1e3  # [m]
SEEN = 0.5  # features with a larger gap are not looked at within a step [m]

# A solid in the world, and what the pair at hand needs to know of it.
SHAPE = record_type(
    [
        ("center", "f8", (3,)),
        ("R", "f8", (3, 3)),
        ("half", "f8", (3,)),  # size, as PAIR's; half edges of the block of a field at hand
        # The face of a box that looks to the other one: outward normal, centre, in-plane axes u, v
        # with half edges hu, hv, corners on the way round, and their numbers
        ("normal", "f8", (3,)),
        ("face", "f8", (3,)),
        ("u", "f8", (3,)),
        ("v", "f8", (3,)),
        ("hu", "f8"),
        ("hv", "f8"),
        ("corners", "f8", (4, 3)),
        ("numbers", "i8", (4,)),
        # Its corners cast along the common normal on the other's face: place and gap
        ("feet", "f8", (4, 3)),
        ("gaps", "f8", (4,)),
        ("inside", "i8", (4,)),
    ]
)

CONTACT = record_type(
    [
        ("feature", "i8"),
        ("row", "i8"),  # of the normal; tangents follow
        ("tangents", "i8"),  # tangential rows: 0 (frictionless), 1 (planar) or 2
        ("stick", "i8"),
        ("edges", "i8"),  # as SPOT's
        ("local", "f8", (3,)),  # core point of A in A's frame
        ("radius", "f8"),  # of A around it
        ("center", "f8", (3,)),  # core point, world axes
        ("point", "f8", (3,)),
        ("normal", "f8", (3,)),  # from B to A
        ("t1", "f8", (3,)),
        ("t2", "f8", (3,)),
        ("gap", "f8"),
        ("target", "f8"),  # gap of the group's rigid target motion, not negative
        ("friction", "f8"),
        ("slip", "f8"),  # sigma of the answer [m/s]
        ("impulse", "f8", (3,)),
    ]
)

# What Newton's method sees: a contact or a joint limit, and the mode in which it is.
BLOCK = record_type(
    [
        ("row", "i8"),  # of the normal; tangents follow
        ("tangents", "i8"),
        ("mode", "i8"),  # see `dynenvs.contact.modes`
        ("friction", "f8"),
        ("slip", "f8"),  # sigma: the least that bounds the slip along every direction [m/s]
    ]
)
# One unknown of its linear system: an impulse x along rows column + (0, c, s), and the row or
# combination of two rows whose velocity must vanish
UNKNOWN = record_type(
    [
        ("column", "i8"),
        ("c", "f8"),
        ("s", "f8"),
        ("equation", "i8"),
        ("combined", "i8"),  # whether the equation is ec row + es (row + 1)
        ("ec", "f8"),
        ("es", "f8"),
    ]
)

# What elimination keeps of a contact's friction directions (`dynenvs.contact.central_path`).
ELIMINATED = record_type(
    [
        ("x", "f8"),  # s: sum of the directions, weighted
        ("y", "f8"),
        ("total", "f8"),  # s_0: sum of the weights
        ("xx", "f8"),  # inverse of S - slope s s^T
        ("xy", "f8"),
        ("yy", "f8"),
        ("slope", "f8"),  # sigma / (w_s + sigma s_0)
        ("rate", "f8"),  # sigma's change at constant velocity and pressure
    ]
)

# One column of the LCP: which rows of the contact problem it combines.
NORMAL, DIRECTION, SLACK, LIMIT = range(4)
VARIABLE = record_type(
    [
        ("kind", "i8"),
        ("contact", "i8"),  # index into contacts; of a LIMIT, the limited coordinate
        ("row", "i8"),  # first row combined (the next one too if `s` is not zero)
        ("bit", "i8"),  # its place in the memory's active set
        ("c", "f8"),
        ("s", "f8"),
    ]
)

# What a solve of the contact problem reports.
ANSWER = record_type(
    [
        ("status", "i8"),  # CERTIFIED, DEGRADED or FAILED
        ("residual", "f8"),
        ("pivots", "i8"),
        ("sweeps", "i8"),  # of Newton's method
        ("contacts", "i8"),
        ("rows", "i8"),
        ("violation", "f8"),  # of the inverse problem's prescription [rad/s, m/s]
        ("recursive", "i8"),  # whether `dynenvs.dynamics.recursion` stands for the factors
        ("posed", "i8"),  # whether `pose_new` belongs to `q_posed`
        ("until", "f8"),  # time until the next impact with restitution [s]
    ]
)

VECTORS = 7  # nv-vectors of the workspace


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


class LoopView(NamedTuple):
    """Named views of a model's closed loops and of what a step computes of them."""

    loops: Records  # LOOP, shape (nloops,)
    spans: Ints  # the first row that each coordinate moves, and the one after the last, (nv, 2)
    lasts: Ints  # the last row that each row is coupled with, in K and its factor, shape (ne,)
    J: Floats  # transposed: the loops' rows as columns, shape (nv, ne)
    Y: Floats  # L^-T J^T, shape (nv, ne)
    K: Floats  # Cholesky's factor U of J M^-1 J^T = U^T U within its envelope, shape (ne, ne)
    T: Floats  # the contact rows' coupling with the loops, shape (ne, nr)
    inverse: Floats  # of the factor's diagonal, zero where a row is redundant, shape (ne,)
    errors: Floats  # by which the rows miss their closure [m, rad or m/s, rad/s], shape (ne,)
    start: Floats  # the same at the start of the step, shape (ne,)
    x: Floats  # scratch, shape (ne,)
    change: Floats  # scratch, shape (nv,)
    curve: Floats  # velocity that the loops' curvature asks for, shape (nv,)


class WorkspaceView(NamedTuple):
    """Named views of a thread's workspace."""

    pose: Records  # POSE at q, shape (nb,)
    pose_new: Records  # POSE at q_new, shape (nb,)
    body: Records  # BODY_WORK, shape (nb,)
    gaps: Floats  # gap of every feature [m], shape (nf,)
    spots: Records  # SPOT of every slot at `pose`, then at `pose_new`, shape (2 ns,)
    contacts: Records  # CONTACT, shape (nc,)
    variables: Records  # VARIABLE, shape (nl,)
    blocks: Records  # BLOCK, shape (nc + nlimited,)
    unknowns: Records  # UNKNOWN, shape (nr,)
    answer: Records  # ANSWER, shape (1,)
    S: Floats  # joint axes (angular; linear) at the tree's origin, shape (nv, 6)
    U: Floats  # articulated inertia times axes, shape (nv, 6)
    M: Floats  # mass matrix with armature and dt * damping, shape (nv, nv)
    L: Floats  # its factors: unit lower L, D^-1 on the diagonal, shape (nv, nv)
    bias: Floats  # shape (nv,), as are the next ones
    tau: Floats
    v_free: Floats
    v_new: Floats
    rhs: Floats
    v_next: Floats
    yields: Floats  # 1 where a coordinate gives way to impulses, 0 where it is prescribed
    q_new: Floats  # shape (nq,)
    q_posed: Floats  # shape (nq,)
    J: Floats  # constraint rows, shape (nr, nv)
    Y: Floats  # L^-T J^T, shape (nv, nr)
    G: Floats  # J M^-1 J^T, shape (nr, nr)
    bias_row: Floats  # right-hand side of the rows [m/s], shape (nr,)
    impulse_row: Floats  # impulses of the rows [N s], shape (nr,)
    v_row: Floats  # velocities of the rows, right-hand side included [m/s], shape (nr,)
    A: Floats  # LCP matrix, shape (nl, nl)
    b: Floats  # shape (nl,)
    z: Floats  # shape (nl,)
    H: Floats  # quadratic form of the torque redistribution, shape (nl, nl)
    cone: Floats  # edges of the friction cones in joint space, shape (nl, nv)
    active: Ints  # shape (max(nl, nv),): active set, or first row that each coordinate moves
    block: Ints  # shape (max(nl, nv),): block of each variable, or the row after the last


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
        _align(HEADER.itemsize),
        [
            ("bodies_at", nb * BODY.itemsize),
            ("dofs_at", nv * DOF.itemsize),
            ("features_at", nf * FEATURE.itemsize),
            ("pairs_at", header.np * PAIR.itemsize),
            ("heights_at", 8 * header.nheights),
            ("loops_at", header.nloops * LOOP.itemsize),
            ("spans_at", 16 * nv if header.ne else 0),
            ("lasts_at", 8 * header.ne),
        ],
    )
    header.state_bytes = place(
        _align(STATUS.itemsize),
        [
            ("q_at", 8 * nq),
            ("v_at", 8 * nv),
            ("memory_at", nf * MEMORY.itemsize),
            ("wrench_at", 48 * nb),
            ("mass_scale_at", 8 * nb),
        ],
    )
    header.workspace_bytes = place(
        0,
        [
            ("pose_at", nb * POSE.itemsize),
            ("pose_new_at", nb * POSE.itemsize),
            ("body_work_at", nb * BODY_WORK.itemsize),
            ("gaps_at", 8 * nf),
            ("spots_at", 2 * header.ns * SPOT.itemsize),
            ("shapes_at", 2 * SHAPE.itemsize),
            ("contacts_at", header.nc * CONTACT.itemsize),
            ("variables_at", nl * VARIABLE.itemsize),
            ("blocks_at", (header.nc + header.nlimited) * BLOCK.itemsize),
            ("unknowns_at", nr * UNKNOWN.itemsize),
            ("eliminated_at", (header.nc + header.nlimited) * ELIMINATED.itemsize),
            ("answer_at", ANSWER.itemsize),
            ("M_at", 8 * nv * nv),
            ("L_at", 8 * nv * nv),
            ("vectors_at", 8 * nv * (12 + VECTORS)),
            ("q_new_at", 16 * nq),
            ("J_at", 8 * nr * nv),
            ("Y_at", 8 * nr * nv),
            ("G_at", 8 * nr * nr),
            ("rhs_at", 24 * nr),
            ("A_at", 8 * nl * nl),
            ("b_at", 8 * nl),
            ("z_at", 8 * nl),
            ("H_at", 8 * nl * nl),
            ("cone_at", 8 * nl * nv),
            ("active_at", 8 * max(nl, nv)),
            ("block_at", 8 * max(nl, nv)),
            ("lcp_at", 8 * header.lcp_size),
            ("loop_J_at", 8 * header.ne * nv),
            ("loop_Y_at", 8 * header.ne * nv),
            ("loop_K_at", 8 * header.ne * header.ne),
            ("loop_T_at", 8 * header.ne * nr),
            ("loop_vectors_at", 32 * header.ne),
            ("loop_v_at", 16 * nv if header.ne else 0),
        ],
    )


@inlined
def open_model(packed: Bytes) -> ModelView:
    """Views of a packed model."""
    header = vector(packed, 0, 1, HEADER)
    h = header[0]
    return ModelView(
        header,
        vector(packed, h.bodies_at, h.nb, BODY),
        vector(packed, h.dofs_at, h.nv, DOF),
        vector(packed, h.features_at, h.nf, FEATURE),
    )


@inlined
def open_state(m: ModelView, row: Bytes) -> StateView:
    """Views of one world's row."""
    h = m.header[0]
    return StateView(
        vector(row, 0, 1, STATUS),
        vector(row, h.q_at, h.nq, np.float64),
        vector(row, h.v_at, h.nv, np.float64),
        vector(row, h.memory_at, h.nf, MEMORY),
        matrix(row, h.wrench_at, h.nb, 6, np.float64),
        vector(row, h.mass_scale_at, h.nb, np.float64),
    )


# Who needs one view alone opens that: each view costs compile time.
@inlined
def open_poses(m: ModelView, buffer: Bytes) -> Records:
    """`pose` of a workspace."""
    return vector(buffer, m.header[0].pose_at, m.header[0].nb, POSE)


@inlined
def open_pairs(m: ModelView, packed: Bytes) -> tuple[Records, Floats]:
    """PAIR of every pair of solids, shape (np,), and the heights of all height fields."""
    h = m.header[0]
    pairs = vector(packed, h.pairs_at, h.np, PAIR)
    return pairs, vector(packed, h.heights_at, h.nheights, np.float64)


@inlined
def open_loops(m: ModelView, packed: Bytes, buffer: Bytes) -> LoopView:
    """Closed loops of a model, and their part of a workspace."""
    h = m.header[0]
    ne, nv, at = h.ne, h.nv, h.loop_vectors_at
    return LoopView(
        vector(packed, h.loops_at, h.nloops, LOOP),
        matrix(packed, h.spans_at, nv, 2, np.int64),
        vector(packed, h.lasts_at, ne, np.int64),
        matrix(buffer, h.loop_J_at, nv, ne, np.float64),
        matrix(buffer, h.loop_Y_at, nv, ne, np.float64),
        matrix(buffer, h.loop_K_at, ne, ne, np.float64),
        matrix(buffer, h.loop_T_at, ne, h.nr, np.float64),
        vector(buffer, at, ne, np.float64),
        vector(buffer, at + 8 * ne, ne, np.float64),
        vector(buffer, at + 16 * ne, ne, np.float64),
        vector(buffer, at + 24 * ne, ne, np.float64),
        vector(buffer, h.loop_v_at, nv, np.float64),
        vector(buffer, h.loop_v_at + 8 * nv, nv, np.float64),
    )


@inlined
def open_shapes(m: ModelView, buffer: Bytes) -> Records:
    """SHAPE of the two solids of the pair at hand."""
    return vector(buffer, m.header[0].shapes_at, 2, SHAPE)


@inlined
def open_eliminated(m: ModelView, buffer: Bytes) -> Records:
    """ELIMINATED of every block, shape (nc + nlimited,)."""
    h = m.header[0]
    return vector(buffer, h.eliminated_at, h.nc + h.nlimited, ELIMINATED)


@inlined
def open_lcp(m: ModelView, buffer: Bytes) -> LcpWorkspace:
    """Working memory of the LCP's solvers."""
    h = m.header[0]
    return unpack_workspace(vector(buffer, h.lcp_at, h.lcp_size, np.float64), h.nl)


@inlined
def open_torques(m: ModelView, buffer: Bytes) -> Floats:
    """`tau` of a workspace."""
    h = m.header[0]
    return vector(buffer, h.vectors_at + 8 * 13 * h.nv, h.nv, np.float64)


@inlined
def open_workspace(m: ModelView, buffer: Bytes) -> WorkspaceView:
    """Views of a thread's workspace."""
    h = m.header[0]
    nv, nr, nl = h.nv, h.nr, h.nl
    at, step = h.vectors_at, 8 * h.nv
    return WorkspaceView(
        vector(buffer, h.pose_at, h.nb, POSE),
        vector(buffer, h.pose_new_at, h.nb, POSE),
        vector(buffer, h.body_work_at, h.nb, BODY_WORK),
        vector(buffer, h.gaps_at, h.nf, np.float64),
        vector(buffer, h.spots_at, 2 * h.ns, SPOT),
        vector(buffer, h.contacts_at, h.nc, CONTACT),
        vector(buffer, h.variables_at, nl, VARIABLE),
        vector(buffer, h.blocks_at, h.nc + h.nlimited, BLOCK),
        vector(buffer, h.unknowns_at, nr, UNKNOWN),
        vector(buffer, h.answer_at, 1, ANSWER),
        matrix(buffer, at, nv, 6, np.float64),
        matrix(buffer, at + 6 * step, nv, 6, np.float64),
        matrix(buffer, h.M_at, nv, nv, np.float64),
        matrix(buffer, h.L_at, nv, nv, np.float64),
        vector(buffer, at + 12 * step, nv, np.float64),
        vector(buffer, at + 13 * step, nv, np.float64),
        vector(buffer, at + 14 * step, nv, np.float64),
        vector(buffer, at + 15 * step, nv, np.float64),
        vector(buffer, at + 16 * step, nv, np.float64),
        vector(buffer, at + 17 * step, nv, np.float64),
        vector(buffer, at + 18 * step, nv, np.float64),
        vector(buffer, h.q_new_at, h.nq, np.float64),
        vector(buffer, h.q_new_at + 8 * h.nq, h.nq, np.float64),
        matrix(buffer, h.J_at, nr, nv, np.float64),
        matrix(buffer, h.Y_at, nv, nr, np.float64),
        matrix(buffer, h.G_at, nr, nr, np.float64),
        vector(buffer, h.rhs_at, nr, np.float64),
        vector(buffer, h.rhs_at + 8 * nr, nr, np.float64),
        vector(buffer, h.rhs_at + 16 * nr, nr, np.float64),
        matrix(buffer, h.A_at, nl, nl, np.float64),
        vector(buffer, h.b_at, nl, np.float64),
        vector(buffer, h.z_at, nl, np.float64),
        matrix(buffer, h.H_at, nl, nl, np.float64),
        matrix(buffer, h.cone_at, nl, nv, np.float64),
        vector(buffer, h.active_at, max(nl, nv), np.int64),
        vector(buffer, h.block_at, max(nl, nv), np.int64),
    )
