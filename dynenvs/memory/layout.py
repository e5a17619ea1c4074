"""Every array of a world, declared once: the handles that kernels get.

A call with sixty arrays costs more than a step, so what a world consists of stands in three byte
buffers:

==========  ==============================================================================
model       what all worlds share: header, bodies, degrees of freedom, contact features, pairs
state       one row per world: positions, velocities, warm start, per-world parameters
work        one per thread: every intermediate quantity of the step
==========  ==============================================================================

A kernel gets one handle `w` on them and reads `w.q` or `w.J` (`dynenvs.jit.handles`).  The class of
the handle tells what a kernel needs: `ModelView` the model alone, `StateView` model and state,
`WorkView` model and workspace, `WorldView` all three.  Offsets and sizes, the state's dtype and the
reference follow from the declarations here and in `sparse_view.py`.

Counts: nb bodies (the world is body 0), nq positions, nv velocities, nf contact features (npoints
points, then np pairs of solids), nk contact candidates (the points, then ns slots of pairs), at
most nc contacts at once, of which nd are solved by dense matrices, nr constraint rows, nl variables
of the LCP, nloops closed loops with ne rows.

Slots: each way in which two solids can touch (a corner on a face, an edge across an edge) is a slot
of their pair, and what a world remembers of it is part of its state.  Where all pairs together have
few slots, as in all robots here, each keeps its own for ever: its candidates have fixed numbers.
In scenes of many loose parts nearly all pairs are far apart, and a pair of two of these has slots
only while it is near: a block out of a pool of nblocks, all of the same length
(`dynenvs.model.solids`).
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.jit.handles import Handle, array, lay_out, nested, number_arrays, opener
from dynenvs.jit.views import raw, vector
from dynenvs.lcp.workspace import Workspace as LcpWorkspace
from dynenvs.lcp.workspace import unpack_workspace, workspace_size
from dynenvs.memory.records import (
    ANSWER,
    BLOCK,
    BODY,
    BODY_WORK,
    COEFFICIENTS,
    CONE,
    CONTACT,
    CORRECTION,
    DOF,
    ELIMINATED,
    FEATURE,
    GEAR,
    GRAIN,
    HEADER,
    LOOP,
    MEMORY,
    MIDPOINT,
    NEARBY,
    OWN,
    PAIR,
    PLACES,
    POLYGON,
    POSE,
    SEGMENT,
    SERVO,
    SERVO_WORK,
    SHAPE,
    SOLID,
    SPOT,
    STATUS,
    TENDON,
    UNKNOWN,
    VARIABLE,
)
from dynenvs.memory.sparse_view import SparseView

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = NDArray[Any]
Matrix = Annotated[Floats, 2]  # of two dimensions, for kernels that Python calls
Matrices = Annotated[Floats, 3]

Handle.header_type = HEADER
_model, _state, _work = partial(array, "model"), partial(array, "state"), partial(array, "work")
POLYGON_SIZE = POLYGON.itemsize
f8, i8, u8 = np.float64, np.int64, np.uint8


# fmt: off
class ModelView(Handle, buffers=("model",)):
    """What all worlds of a model share; nothing of it changes in a step."""

    header: Records = _model(HEADER, "1", what="counts, sizes and places")
    bodies: Records = _model(BODY, "nb", what="every body, the world first")
    dofs: Records = _model(DOF, "nv", what="every degree of freedom")
    features: Records = _model(FEATURE, "nf", what="every point that can touch, then every pair")
    pairs: Records = _model(PAIR, "np", what="every pair of solids")
    own: Records = _model(OWN, "nown", what="pairs with slots of their own, in order")
    solids: Records = _model(SOLID, "nsolids", what="every geom of the pairs")
    heights: Floats = _model(f8, "nheights", what="heights of all height fields [m]")
    hulls: Floats = _model(f8, "nhulls",
        what="numbers of all polyhedra (`dynenvs.model.polyhedra`)")
    loops: Records = _model(LOOP, "nloops", what="every closed loop")
    spans: Ints = _model(i8, "nv", "2", when="ne",
        what="of the loops' rows: the first that a coordinate moves, and the one after the last")
    lasts: Ints = _model(i8, "ne",
        what="the last row that each row of loops is coupled with, in K and its factor")
    polygons: Records = _model(POLYGON, "npolygons", what="bases of the friction pyramids")
    servos: Records = _model(SERVO, "nservos", what="every actuator whose force follows the state")
    tendons: Records = _model(TENDON, "ntendons", what="every spring and damper along a tendon")
    gears: Records = _model(GEAR, "ngears", what="every coordinate that these drive or pull")
    segments: Records = _model(SEGMENT, "nsegments", what="straight parts of their paths")
    grains: Records = _model(GRAIN, "ngrains",
        what="two coefficients of friction, and along which directions")


class StateView(ModelView, buffers=("model", "state")):
    """The state of one world besides its model: all that a step goes on from."""

    status: Records = _state(STATUS, "1", what="time, counters, and the friction cone")
    q: Floats = _state(f8, "nq", what="positions [rad, m]")
    v: Floats = _state(f8, "nv", what="velocities [rad/s, m/s]")
    touched: Ints = _state(i8, "nk", what="candidates with a memory, `status.touched` of them")
    memory: Records = _state(MEMORY, "nk", what="what is remembered of every contact candidate")
    coefficients: Records = _state(COEFFICIENTS, "nf", what="this world's friction and restitution")
    owners: Ints = _state(i8, "nblocks", what="the pair that has each block of slots, or -1")
    wrench: Floats = _state(f8, "nb", "6",
        what="external moment and force at each centre of mass, world axes [N m, N]")
    mass_scale: Floats = _state(f8, "nb", what="factor on each body's mass and inertia")
    surface: Floats = _state(f8, "nsurfaces", "3", when="nsurfaces",
        what="surface velocity of each geom, axes of its body [m/s]")
    last: Floats = _state(f8, "nv", when="nkinematic",
        what="velocities at the end of the last step, NaN before the first: the user may have "
        "set them anew since")
    moments: Floats = _state(f8, "nk", "3", when="moments",
        what="impulse moment of each candidate in the last step on A, world axes [N m s]")
    drag: Floats = _state(f8, "nk", "3", when="nviscous",
        what="of each candidate's impulse the viscous part in the last step, world axes [N s]")
    stops: Floats = _state(f8, "nv", when="nlimited",
        what="impulse that joint stops gave each coordinate in the last step [N m s, N s]")
    dry: Floats = _state(f8, "nv", when="ndry",
        what="impulse that dry friction gave each coordinate in the last step [N m s, N s]")
    drive: Floats = _state(f8, "nv", when="nservos",
        what="force of the actuators on each coordinate in the last driven step [N m, N]")
    saturated: Ints = _state(i8, "nservos + nv", when="nservos",
        what="which limit each actuator, then each motor was at: -1, 1, or 0 for none")


class BroadView(ModelView, buffers=("model", "work")):
    """What the broad phase of solids works with (`dynenvs.contact.detection.broad_phase`)."""

    entry: Ints = _work(i8, "np", what="each pair's number in the list of those near at the start")
    entry_after: Ints = _work(i8, "np", what="the same at the end")
    block: Ints = _work(i8, "np", what="each pair's block of slots")
    owners: Ints = _work(i8, "nblocks", what="as `StateView.owners`, where there is no state")
    kept: Ints = _work(i8, "nblocks", what="whether each block must stay with its pair")
    found: Ints = _work(i8, "np", what="scratch: numbers of pairs")
    order: Ints = _work(i8, "nsolids", what="solids from left to right")
    boxes: Floats = _work(f8, "nsolids", "6", what="around each solid along x, y, z: from, to [m]")
    centers: Floats = _work(f8, "nsolids", "3", what="of every solid [m]")
    # They show sooner which pairs are far apart; no result depends on what they are
    ways: Floats = _work(f8, "np", "3",
        what="normals of planes that parted hulls and smooth solids the last time")


class WatchView(ModelView, buffers=("model", "work")):
    """How bodies moved since pairs of solids were listed and looked at, and how they move."""

    pairs: Records = _work(OWN, "np", what="those that may be near until a solid moves far")
    count: Ints = _work(i8, "1", what="how many these are")
    centers: Floats = _work(f8, "nsolids", "3", what="of every solid when they were listed [m]")
    pose: Records = _work(POSE, "nb", when="ns", what="poses at that time")
    turns: Floats = _work(f8, "nb", what="how far a body turned since then, at most [rad]")
    stands: Ints = _work(i8, "nb", what="whether it stands as it did at the end of the last step")
    speeds: Floats = _work(f8, "nb", what="of the fastest point of a body, at most [m/s]")
    spins: Floats = _work(f8, "nb", what="how fast it turns [rad/s]")


class LoopView(ModelView, buffers=("model", "work")):
    """What a step computes of a model's closed loops (`dynenvs.contact.assembly.loops`)."""

    J: Floats = _work(f8, "nv", "ne", what="the loops' rows as columns")
    Y: Floats = _work(f8, "nv", "ne", what="L^-T J^T")
    K: Floats = _work(f8, "ne", "ne",
        what="Cholesky's factor U of J M^-1 J^T = U^T U within its envelope")
    T: Floats = _work(f8, "ne", "nr", what="the contact rows' coupling with the loops")
    inverse: Floats = _work(f8, "ne",
        what="of the factor's diagonal, zero where a row is redundant")
    errors: Floats = _work(f8, "ne",
        what="by which the rows miss their closure [m, rad or m/s, rad/s]")
    start: Floats = _work(f8, "ne", what="the same at the start of the step")
    x: Floats = _work(f8, "ne", what="scratch")
    change: Floats = _work(f8, "nv", when="ne", what="scratch")
    curve: Floats = _work(f8, "nv", when="ne", what="velocity that the loops' curvature asks for")


class FilmView(ModelView, buffers=("model", "work")):
    """What a step computes of viscous friction (`dynenvs.contact.law.viscous`)."""

    contact: Ints = _work(i8, "nfilm", what="each row's contact")
    axis: Floats = _work(f8, "nfilm", "3", what="its direction, world axes")
    softness: Floats = _work(f8, "nfilm", what="1 / (c dt) [1/kg]")
    Y: Floats = _work(f8, "nv", "nfilm", what="L^-T J^T")
    K: Floats = _work(f8, "nfilm", "nfilm", what="factors of J M^-1 J^T + 1 / (c dt)")
    T: Floats = _work(f8, "nfilm", "nr", when="nfilm",
        what="K^-1 times the rows' coupling with the contact rows")
    x: Floats = _work(f8, "nfilm", what="K^-1 times the rows' free velocity [N s]")


class WorkView(ModelView, buffers=("model", "work")):
    """A thread's workspace besides the model: what a step computes, and nothing that lasts."""

    pose: Records = _work(POSE, "nb", what="poses at q")
    pose_new: Records = _work(POSE, "nb", what="poses at q_new")
    pose_seen: Records = _work(POSE, "nb", when="ns",
        what="poses for which the second halves of `spots` and `near` stand")
    body: Records = _work(BODY_WORK, "nb", what="velocities and forces of bodies")
    kept: Bytes = _work(u8, "state_bytes", what="a state to go back to (`dynenvs.simulation.undo`)")
    gaps: Floats = _work(f8, "nk", what="gap of every contact candidate [m]")
    spots: Records = _work(SPOT, "2 * ns", what="every slot at `pose`, then at `pose_new`")
    shapes: Records = _work(SHAPE, "nsolids", what="every geom of the pairs in the world")
    hull_work: Floats = _work(f8, "hull_work", what="work array, to place two polyhedra")
    near: Records = _work(NEARBY, "2 * nnear", what="pairs near at `pose`, then at `pose_new`")
    numbers: Ints = _work(i8, "nk", what="scratch: each candidate's number in a list")
    low: Ints = _work(i8, "2 * nk", what="candidates below ground, and their features")
    broad: BroadView = nested(BroadView)
    watch: WatchView = nested(WatchView)
    contacts: Records = _work(CONTACT, "nc + 1",
        what="contacts of the step; the last one is scratch")
    variables: Records = _work(VARIABLE, "nl", what="columns of the LCP")
    blocks: Records = _work(BLOCK, "nd + nlimited + ndry",
        what="contacts, limits and dry joints as Newton's method sees them")
    laws: Floats = _work(f8, "42 * (nd + nlimited + ndry)", what="each block's law, linearised")
    unknowns: Records = _work(UNKNOWN, "nr", what="unknowns of its linear system")
    eliminated: Records = _work(ELIMINATED, "nd + nlimited + ndry",
        what="what elimination keeps of each block")
    answer: Records = _work(ANSWER, "1", what="what a solve of the contact problem reports")
    correction: Records = _work(CORRECTION, "1", what="how far the correction of positions is")
    M: Floats = _work(f8, "nv", "nv", what="mass matrix with armature and dt damping")
    L: Floats = _work(f8, "nv", "nv", what="its factors: unit lower L, D^-1 on the diagonal")
    S: Floats = _work(f8, "nv", "6", what="joint axes (angular; linear) at the tree's origin")
    U: Floats = _work(f8, "nv", "6", what="articulated inertia times axes")
    bias: Floats = _work(f8, "nv",
        what="Coriolis, centrifugal, gravity and external forces [N m, N]")
    tau: Floats = _work(f8, "nv", what="generalized forces that are held [N m, N]")
    v_free: Floats = _work(f8, "nv", what="velocities without contacts [rad/s, m/s]")
    v_new: Floats = _work(f8, "nv", what="velocities at the end of a part [rad/s, m/s]")
    rhs: Floats = _work(f8, "nv", what="scratch")
    v_next: Floats = _work(f8, "nv", what="scratch")
    expected: Floats = _work(f8, "nv",
        what="velocities at which joint stops are looked for [rad/s, m/s]")
    trial: Floats = _work(f8, "3", "nv",
        what="velocities of a step that is tried [rad/s, m/s]")
    whirl: Floats = _work(f8, "ntrees", "3",
        what="of each tree: its kinetic energy before and after, what its dampers take [J]")
    free_dof_mask: Floats = _work(f8, "nv",
        what="1 where a coordinate gives way to impulses, 0 where it is prescribed")
    q_new: Floats = _work(f8, "nq", what="positions at the end of a part [rad, m]")
    q_posed: Floats = _work(f8, "nq",
        what="positions that `pose_new` belongs to, where it is valid [rad, m]")
    starts: Floats = _work(f8, "2", "nq",
        what="positions at the start of a midpoint step, and room for others [rad, m]")
    J: Floats = _work(f8, "nr", "nv", what="constraint rows")
    Y: Floats = _work(f8, "nv", "nr", what="L^-T J^T")
    G: Floats = _work(f8, "nr", "nr", what="J M^-1 J^T")
    roots: Floats = _work(f8, "min(nr, nv)", "nr", what="A with G = A^T A")
    strips: Floats = _work(f8, "12", "min(nr, nv)", what="some columns of A, and their products")
    bias_row: Floats = _work(f8, "nr", what="right-hand side of the rows [m/s]")
    impulse_row: Floats = _work(f8, "nr", what="impulses of the rows [N s]")
    v_row: Floats = _work(f8, "nr", what="velocities of the rows, right-hand side included [m/s]")
    A: Floats = _work(f8, "nl", "nl", what="LCP matrix")
    b: Floats = _work(f8, "nl", what="its right-hand side")
    z: Floats = _work(f8, "nl", what="its solution")
    H: Floats = _work(f8, "nl", "nl", what="quadratic form of the torque redistribution")
    active: Ints = _work(i8, "max(nl, nv)",
        what="active set, or first row that each coordinate moves")
    block: Ints = _work(i8, "max(nl, nv)", what="block of each variable, or the row after the last")
    lcp: Floats = _work(f8, "lcp_size", what="working memory of the LCP's solvers")
    closure: LoopView = nested(LoopView)
    film: FilmView = nested(FilmView)
    scene: SparseView = nested(SparseView)
    servo_work: Records = _work(SERVO_WORK, "nservos",
        what="what a step works out of each actuator")
    driven: Floats = _work(f8, "1", when="nservos", what="1 where controls act, else 0")
    forces: Floats = _work(f8, "nv", when="nservos",
        what="all forces at the step's beginning, what is not the actuators' included [N m, N]")
    servo_room: Floats = _work(f8, "nv", when="nservos", what="scratch")
    pulls: Floats = _work(f8, "ngears",
        what="d velocity / d v of each gear's actuator or tendon (`dynenvs.dynamics.pulls`)")
    tautness: Floats = _work(f8, "ntendons",
        what="stiffness of each tendon's spring as implicit now, 0 where it is slack [N/m, N m]")


# fmt: on
class WorldView(StateView, WorkView, buffers=("model", "state", "work")):
    """One world with a workspace: what a step gets."""


_KINDS: list[type[Handle]] = [
    ModelView, StateView, WorkView, BroadView, LoopView, FilmView, SparseView, WatchView,
]  # fmt: skip
NUMBERED = number_arrays(_KINDS, PLACES)  # how many places of the header they take

open_model, open_state = opener(ModelView), opener(StateView)
open_work, open_world = opener(WorkView), opener(WorldView)


def fill_places(header: Any) -> None:
    """Lay out the three buffers for the counts already in `header`."""
    # Sizes that follow from other counts, then the places of all arrays
    header.lcp_size = workspace_size(int(header.nl))
    header.nconstraints = header.nc + header.nlimited + header.ndry + header.nmoments
    header.model_bytes = lay_out(header, _KINDS, "model")
    header.state_bytes = lay_out(header, _KINDS, "state")
    header.workspace_bytes = lay_out(header, _KINDS, "work")


@inlined
def polygon_of(w: StateView) -> Records:
    """The POLYGON of this world's friction pyramids, shape (1,)."""
    # One record of them, as a view on its bytes
    polygons = raw(w.polygons, w.header[0].npolygons * POLYGON_SIZE)
    return vector(polygons, w.status[0].polygon * POLYGON_SIZE, 1, POLYGON)


@inlined
def cone_of(w: StateView) -> int:
    """PYRAMID or CONE: the law of this world's contacts; beside moments it is always the cone."""
    return CONE if w.header[0].moments != 0 else int(w.status[0].cone)


@inlined
def open_lcp(w: WorkView) -> LcpWorkspace:
    """Working memory of the LCP's solvers."""
    return unpack_workspace(w.lcp, w.header[0].nl)


@inlined
def damped_time(w: ModelView, dt: float) -> float:
    """Time for which the velocity at the end of a step is damped: M^ = M + armature + time D [s].

    All of the step in Euler's rule, half of it in the midpoint rule.
    """
    return 0.5 * dt if w.header[0].integrator == MIDPOINT else dt
