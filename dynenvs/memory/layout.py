"""Packed buffers and the named views that kernels open on them.

A call with sixty arrays costs more than a step, so a kernel gets three byte buffers:

==========  ==============================================================================
model       what all worlds share: header, bodies, degrees of freedom, contact features, pairs
state       one row per world: positions, velocities, warm start, per-world parameters
workspace   one per thread: every intermediate quantity of the step
==========  ==============================================================================

`open_model`, `open_state` and `open_workspace` turn them into named views; this costs some
ten nanoseconds and allocates nothing.  Shapes: nb bodies (the world is body 0), nq positions,
nv velocities, nf contact features (npoints points, then np pairs of solids), nk contact candidates
(the points, then ns slots of pairs), at most nc contacts at once, of which nd are solved by dense
matrices, nr constraint rows, nl variables of the LCP, nloops closed loops with ne rows.

Slots: each way in which two solids can touch (a corner on a face, an edge across an edge) is a slot
of their pair, and what a world remembers of it is part of its state.  Where all pairs together have
few slots, as in all robots here, each keeps its own for ever: its candidates have fixed numbers.
In scenes of many loose parts nearly all pairs are far apart, and a pair of two of these has slots
only while it is near: a block out of a pool of nblocks, all of the same length
    (`dynenvs.model.solids`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.lcp.workspace import Workspace as LcpWorkspace
from dynenvs.lcp.workspace import unpack_workspace, workspace_size
from dynenvs.memory.records import (
    ANSWER,
    BLOCK,
    BODY,
    BODY_WORK,
    COEFFICIENTS,
    CONTACT,
    DOF,
    ELIMINATED,
    FEATURE,
    GEAR,
    HEADER,
    LOOP,
    MEMORY,
    MIDPOINT,
    NEARBY,
    PAIR,
    POLYGON,
    POSE,
    SERVO,
    SERVO_WORK,
    SHAPE,
    SOLID,
    SPOT,
    STATUS,
    UNKNOWN,
    VARIABLE,
)
from dynenvs.memory.sparse_view import sparse_bytes
from dynenvs.memory.views import matrix, raw, vector

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]

VECTORS = 8  # nv-vectors of the workspace
POLYGON_SIZE = POLYGON.itemsize


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
    touched: Ints  # candidates with a memory, `status.touched` of them, shape (nk,)
    memory: Records  # MEMORY, shape (nk,)
    coefficients: Records  # COEFFICIENTS, shape (nf,)
    owners: Ints  # the pair that has each block of slots, or -1, shape (nblocks,)
    wrench: Floats  # external (moment; force) at each body's centre of mass, world axes, (nb, 6)
    mass_scale: Floats  # factor on each body's mass and inertia, shape (nb,)


class BroadView(NamedTuple):
    """What the broad phase of solids reads and writes (`contact.detection.broad_phase`)."""

    own: Ints  # pairs with slots of their own, in order, shape (nown,)
    entry: Ints  # each pair's number in the list of those near at the start, shape (np,)
    entry_after: Ints  # the same at the end, shape (np,)
    block: Ints  # each pair's block of slots, shape (np,)
    owners: Ints  # as `StateView.owners`, for who has no state, shape (nblocks,)
    kept: Ints  # whether each block must stay with its pair, shape (nblocks,)
    found: Ints  # pairs of the pool that are near, shape (nblocks,)
    order: Ints  # solids from left to right, shape (nsolids,)
    boxes: Floats  # around each solid along x, y, z: from, to [m], shape (nsolids, 6)


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
    gaps: Floats  # gap of every contact candidate [m], shape (nk,)
    spots: Records  # SPOT of every slot at `pose`, then at `pose_new`, shape (2 ns,)
    near: Records  # NEARBY of the pairs near at `pose`, then at `pose_new`, shape (2 nnear,)
    numbers: Ints  # scratch: each candidate's number in a list, shape (nk,)
    low: Ints  # candidates below ground, and their features, shape (2 nk,)
    contacts: Records  # CONTACT, shape (nc + 1,): the last one is scratch
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
    expected: Floats  # velocities at which joint stops are looked for
    free_dof_mask: Floats  # 1 where a coordinate gives way to impulses, 0 where it is prescribed
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


def index_size(header: Any) -> int:
    """Words of `BroadView`."""
    return int(3 * (header.np + header.nblocks) + 7 * header.nsolids)


def fill_offsets(header: Any) -> None:
    """Lay out the three buffers for the counts already in `header`."""
    nb, nq, nv, nf, nk = header.nb, header.nq, header.nv, header.nf, header.nk
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
            ("own_at", 8 * header.nown),
            ("solids_at", header.nsolids * SOLID.itemsize),
            ("heights_at", 8 * header.nheights),
            ("hulls_at", 8 * header.nhulls),
            ("loops_at", header.nloops * LOOP.itemsize),
            ("spans_at", 16 * nv if header.ne else 0),
            ("lasts_at", 8 * header.ne),
            ("polygons_at", header.npolygons * POLYGON_SIZE),
            ("servos_at", header.nservos * SERVO.itemsize),
            ("gears_at", header.ngears * GEAR.itemsize),
        ],
    )
    header.state_bytes = place(
        _align(STATUS.itemsize),
        [
            ("q_at", 8 * nq),
            ("v_at", 8 * nv),
            ("touched_at", 8 * nk),
            ("memory_at", nk * MEMORY.itemsize),
            ("coefficients_at", nf * COEFFICIENTS.itemsize),
            ("owners_at", 8 * header.nblocks),
            ("wrench_at", 48 * nb),
            ("mass_scale_at", 8 * nb),
            ("surface_at", 24 * header.nsurfaces),
            ("last_at", 8 * nv if header.nkinematic else 0),
            ("moments_at", 24 * nk if header.moments else 0),
            ("stops_at", 8 * nv if header.nlimited else 0),
            ("dry_at", 8 * nv if header.ndry else 0),
            ("drive_at", 8 * nv if header.nservos else 0),
            ("saturated_at", 8 * (header.nservos + nv) if header.nservos else 0),
        ],
    )
    header.workspace_bytes = place(
        0,
        [
            ("pose_at", nb * POSE.itemsize),
            ("pose_new_at", nb * POSE.itemsize),
            ("body_work_at", nb * BODY_WORK.itemsize),
            ("kept_at", header.state_bytes),
            ("gaps_at", 8 * nk),
            ("spots_at", 2 * header.ns * SPOT.itemsize),
            ("shapes_at", header.nsolids * SHAPE.itemsize),
            ("hull_room_at", 8 * header.hull_room),
            ("near_at", 2 * header.nnear * NEARBY.itemsize),
            ("index_at", 8 * (3 * nk + index_size(header))),
            ("contacts_at", (header.nc + 1) * CONTACT.itemsize),
            ("variables_at", nl * VARIABLE.itemsize),
            ("blocks_at", (header.nd + header.nlimited) * BLOCK.itemsize),
            ("unknowns_at", nr * UNKNOWN.itemsize),
            ("eliminated_at", (header.nd + header.nlimited) * ELIMINATED.itemsize),
            ("answer_at", ANSWER.itemsize),
            ("M_at", 8 * nv * nv),
            ("L_at", 8 * nv * nv),
            ("vectors_at", 8 * nv * (12 + VECTORS)),
            ("q_new_at", 32 * nq),
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
            ("sparse_at", sparse_bytes(header)),
            ("servo_work_at", header.nservos * SERVO_WORK.itemsize),
            ("driven_at", 8 * (1 + 2 * nv) if header.nservos else 0),
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
        vector(row, h.touched_at, h.nk, np.int64),
        vector(row, h.memory_at, h.nk, MEMORY),
        vector(row, h.coefficients_at, h.nf, COEFFICIENTS),
        vector(row, h.owners_at, h.nblocks, np.int64),
        matrix(row, h.wrench_at, h.nb, 6, np.float64),
        vector(row, h.mass_scale_at, h.nb, np.float64),
    )


# Who needs one view alone opens that: each view costs compile time.
@inlined
def open_poses(m: ModelView, buffer: Bytes) -> Records:
    """`pose` of a workspace."""
    return vector(buffer, m.header[0].pose_at, m.header[0].nb, POSE)


@inlined
def open_polygon(m: ModelView, s: StateView) -> Records:
    """The POLYGON of this world's friction pyramids, shape (1,)."""
    h = m.header[0]
    at = h.polygons_at + s.status[0].polygon * POLYGON_SIZE
    return vector(raw(m.header, h.model_bytes), at, 1, POLYGON)


@inlined
def open_surfaces(m: ModelView, s: StateView) -> Floats:
    """This world's surface velocity of each geom, axes of its body [m/s], shape (nsurfaces, 3)."""
    h = m.header[0]
    return matrix(raw(s.status, h.state_bytes), h.surface_at, h.nsurfaces, 3, np.float64)


@inlined
def open_last(m: ModelView, s: StateView) -> Floats:
    """Velocities at the end of the last step, NaN before the first, shape (nv,).

    Of models with kinematic bodies alone, whose own may have been set anew since.
    """
    h = m.header[0]
    return vector(raw(s.status, h.state_bytes), h.last_at, h.nv, np.float64)


@inlined
def open_stops(m: ModelView, s: StateView) -> Floats:
    """Impulse that joint stops gave each coordinate in the last step [N m s, N s], shape (nv,).

    Of models with limited joints alone.
    """
    h = m.header[0]
    return vector(raw(s.status, h.state_bytes), h.stops_at, h.nv, np.float64)


@inlined
def open_dry(m: ModelView, s: StateView) -> Floats:
    """Impulse that dry friction gave each coordinate in the last step [N m s, N s], shape (nv,).

    Of models with dry joints alone.
    """
    h = m.header[0]
    return vector(raw(s.status, h.state_bytes), h.dry_at, h.nv, np.float64)


@inlined
def open_moments(m: ModelView, s: StateView) -> Floats:
    """Impulse moment of each contact candidate in the last step on A, world axes [N m s], (nk, 3).

    Of models with torsional or rolling friction alone.
    """
    h = m.header[0]
    return matrix(raw(s.status, h.state_bytes), h.moments_at, h.nk, 3, np.float64)


@inlined
def open_pairs(m: ModelView, packed: Bytes) -> tuple[Records, Floats]:
    """PAIR of every pair of solids, shape (np,), and the heights of all height fields."""
    h = m.header[0]
    pairs = vector(packed, h.pairs_at, h.np, PAIR)
    return pairs, vector(packed, h.heights_at, h.nheights, np.float64)


@inlined
def open_hulls(m: ModelView, packed: Bytes, buffer: Bytes) -> tuple[Floats, Floats]:
    """The numbers of all polyhedra (`dynenvs.model.polyhedra`), and room to place two of them."""
    h = m.header[0]
    room = vector(buffer, h.hull_room_at, h.hull_room, np.float64)
    return vector(packed, h.hulls_at, h.nhulls, np.float64), room


@inlined
def open_broad(m: ModelView, packed: Bytes, buffer: Bytes) -> BroadView:
    """What the broad phase of solids works with."""
    h = m.header[0]
    at = h.index_at + 24 * h.nk
    blocks = at + 24 * h.np
    solids = blocks + 24 * h.nblocks
    return BroadView(
        vector(packed, h.own_at, h.nown, np.int64),
        vector(buffer, at, h.np, np.int64),
        vector(buffer, at + 8 * h.np, h.np, np.int64),
        vector(buffer, at + 16 * h.np, h.np, np.int64),
        vector(buffer, blocks, h.nblocks, np.int64),
        vector(buffer, blocks + 8 * h.nblocks, h.nblocks, np.int64),
        vector(buffer, blocks + 16 * h.nblocks, h.nblocks, np.int64),
        vector(buffer, solids, h.nsolids, np.int64),
        matrix(buffer, solids + 8 * h.nsolids, h.nsolids, 6, np.float64),
    )


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
def open_solids(m: ModelView, packed: Bytes, buffer: Bytes) -> tuple[Records, Records]:
    """SOLID of every geom of the pairs, and its SHAPE in the world, shapes (nsolids,)."""
    h = m.header[0]
    solids = vector(packed, h.solids_at, h.nsolids, SOLID)
    return solids, vector(buffer, h.shapes_at, h.nsolids, SHAPE)


@inlined
def open_eliminated(m: ModelView, buffer: Bytes) -> Records:
    """ELIMINATED of every block, shape (nc + nlimited,)."""
    h = m.header[0]
    return vector(buffer, h.eliminated_at, h.nd + h.nlimited, ELIMINATED)


@inlined
def open_lcp(m: ModelView, buffer: Bytes) -> LcpWorkspace:
    """Working memory of the LCP's solvers."""
    h = m.header[0]
    return unpack_workspace(vector(buffer, h.lcp_at, h.lcp_size, np.float64), h.nl)


@inlined
def open_answer(m: ModelView, buffer: Bytes) -> Records:
    """`answer` of a workspace."""
    return vector(buffer, m.header[0].answer_at, 1, ANSWER)


@inlined
def open_torques(m: ModelView, buffer: Bytes) -> Floats:
    """`tau` of a workspace."""
    h = m.header[0]
    return vector(buffer, h.vectors_at + 8 * 13 * h.nv, h.nv, np.float64)


@inlined
def open_start(m: ModelView, buffer: Bytes) -> Floats:
    """Of a workspace: positions at the start of a midpoint step, and room for others, (2, nq)."""
    h = m.header[0]
    return matrix(buffer, h.q_new_at + 16 * h.nq, 2, h.nq, np.float64)


@inlined
def damped_time(m: ModelView, dt: float) -> float:
    """Time for which the velocity at the end of a step is damped: M^ = M + armature + time D [s].

    All of the step in Euler's rule, half of it in the midpoint rule.
    """
    return 0.5 * dt if m.header[0].integrator == MIDPOINT else dt


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
        vector(buffer, h.gaps_at, h.nk, np.float64),
        vector(buffer, h.spots_at, 2 * h.ns, SPOT),
        vector(buffer, h.near_at, 2 * h.nnear, NEARBY),
        vector(buffer, h.index_at, h.nk, np.int64),
        vector(buffer, h.index_at + 8 * h.nk, 2 * h.nk, np.int64),
        vector(buffer, h.contacts_at, h.nc + 1, CONTACT),
        vector(buffer, h.variables_at, nl, VARIABLE),
        vector(buffer, h.blocks_at, h.nd + h.nlimited, BLOCK),
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
        vector(buffer, at + 19 * step, nv, np.float64),
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


@inlined
def buffers_of(m: ModelView, s: StateView, w: WorkspaceView) -> tuple[Bytes, Bytes, Bytes]:
    """The packed model, the row of state and the workspace on which these views were opened."""
    h = m.header[0]
    packed, row = raw(m.header, h.model_bytes), raw(s.status, h.state_bytes)
    return packed, row, raw(w.pose, h.workspace_bytes)
