"""Record types of the packed buffers (`layout.py`), and the codes that stand in their fields.

Every field is 8 bytes or an array of such; units stand with the fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Joint types
FIXED, REVOLUTE, PRISMATIC, SPHERICAL, FREE, SCREW = range(6)
COUPLED = 6  # of loops alone
# What a body on a free joint in the world carries: nothing that moves, or a tree; ROOTED: any other
ROOTED, ALONE, BASE = range(3)
# What limits a coordinate: two stops, or the largest angle of the ball that begins with it
STOPS, SWING = 1, 2
# Geom types; POINT is a sphere of radius zero, HALF_SPACE is solid below its local z = 0
POINT, SPHERE, CAPSULE, BOX, HALF_SPACE, HEIGHT_FIELD, BLOCK_FIELD, CONVEX = range(8)
CYLINDER, ELLIPSOID, CONE_GEOM = range(8, 11)  # smooth solids: the kinds from CYLINDER on
# Friction cones
PYRAMID, CONE = range(2)
# Laws of restitution (none where nothing bounces), and what happens where several parts meet
INELASTIC, NEWTON, POISSON = range(3)
SIMULTANEOUS, SEQUENTIAL = range(2)
# Integrators: semi-implicit Euler's rule, and the midpoint rule
EULER, MIDPOINT = range(2)
# Solver stages of contact (`dynenvs.contact.solve`, `dynenvs.contact.sparse.ladder`)
KEPT, PATCHES, MODES, SWEEPS, MULTIPLIERS, PATH, LEMKE, CONES = range(8)
STAGES = 8


def record_type(fields: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """Aligned record type whose elements have attributes in the interpreter too."""
    return np.dtype((np.record, np.dtype(fields, align=True)))


PLACES = 192  # of arrays for which the header has room (`dynenvs.memory.layout`)
# fmt: off
_COUNTS = [  # planar: every axis is along y, every slide in the x-z plane
    "nb", "nq", "nv", "nf", "npoints", "nround", "np", "nk", "ns", "nown", "nblocks",
    "block_slots", "nnear", "nsolids", "nheights", "nhulls", "hull_work", "nc", "nd", "limit",
    "nlimited", "nr", "nl",
    "directions", "npolygons", "cone", "restitution", "impacts", "planar", "recursive", "refined",
    "nloops", "ne", "ntrees", "widest", "sparse",
    "integrator", "nbases", "nsurfaces", "nkinematic", "moments", "nmoments", "sprung", "ndry",
    "nservos", "ngears", "nbeside", "nspins", "nwhirls", "nswings", "nsmooth", "ncarried",
    "nconstraints", "nlifted", "ntendons", "nsegments", "ngrains", "nviscous", "nfilm", "nscrews",
    "lcp_size", "model_bytes", "state_bytes", "workspace_bytes",  # of the LCP's room, of buffers
]
# fmt: on
_NUMBERS = [
    ("gravity", "f8", (3,)),
    # The least sum of the radii of the balls within two things that may meet, no half spaces [m]
    ("thinnest", "f8"),
    ("near", "f8"),  # solids further apart than this are not looked at [m]
    ("places", "i8", (PLACES,)),  # byte offsets of all arrays in their buffers
]
HEADER = record_type([*((name, "i8") for name in _COUNTS), *_NUMBERS])

BODY = record_type(
    [
        ("parent", "i8"),
        ("joint", "i8"),
        # Its number among the trees that move apart from each other, or -1 of what no impulse moves
        ("tree", "i8"),
        ("root", "i8"),  # the tree's first body: its position is the tree's reference point
        ("q_at", "i8"),
        ("v_at", "i8"),
        ("nv", "i8"),
        ("floats", "i8"),  # whether it is on a free joint in the world: ALONE, as a BASE, or ROOTED
        # Whether it turns apart from all others: on a free joint, or a ball, that stands still, and
        # nothing that moves hangs from it (`dynenvs.dynamics.spinning`)
        ("spins", "i8"),
        # Whether it belongs to a tree in which one coordinate's motion pushes the others
        ("whirls", "i8"),
        # Whether it has a part that could pass through another one (`contact.detection.travel`)
        ("meets", "i8"),
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
        ("pitch", "f8"),  # of a screw: how far it moves along the axis as it turns [m/rad]
        ("mass", "f8"),
        ("com", "f8", (3,)),  # in the body frame [m]
        ("inertia", "f8", (3, 3)),  # about the centre of mass, body axes [kg m^2]
        ("around", "f8"),  # of a ball around its origin that holds all that can touch [m]
        # How much further than the ball within it a solid of its reaches [m]: none of balls
        ("uneven", "f8"),
        ("lift", "f8"),  # share of its weight that something carries (`dynenvs.dynamics.lifts`)
    ]
)

DOF = record_type(
    [
        ("parent", "i8"),  # the next degree of freedom towards the root, or -1
        ("whole", "i8"),  # leading entries of its row of factors that are taken in blocks
        ("body", "i8"),
        ("tree", "i8"),  # its tree (-1: kinematic), and its place among the coordinates of that
        ("place", "i8"),
        ("q_at", "i8"),
        ("actuated", "i8"),
        ("kinematic", "i8"),  # its velocity is what the user sets: it has an infinite mass
        ("turns", "i8"),  # whether it turns a body of a tree that may whirl
        ("limited", "i8"),  # STOPS, SWING, or 0
        ("lower", "f8"),
        ("upper", "f8"),
        ("velocity", "f8"),
        ("effort", "f8"),
        ("damping", "f8"),
        ("armature", "f8"),
        ("friction", "f8"),  # dry
        # Of a spring, and where it does not pull: a position, or an entry of a rotation vector
        ("stiffness", "f8"),
        ("reference", "f8"),
    ]
)

# An actuator of a model in which the force of one at least follows the state
# (`dynenvs.model.annotations.Actuator`).
SERVO = record_type(
    [
        ("gain", "f8", (3,)),
        ("bias", "f8", (3,)),
        ("control", "f8", (2,)),  # ranges
        ("force", "f8", (2,)),
        ("first", "i8"),  # of its gears, and their number
        ("gears", "i8"),
        ("segment", "i8"),  # of its path, and their number
        ("segments", "i8"),
        # Where it pushes on a body (0: it does not): a point, force and moment per unit of its
        # force, the body's axes [m, -, m]
        ("body", "i8"),
        ("place", "f8", (3,)),
        ("push", "f8", (3,)),
        ("twist", "f8", (3,)),
        # Whether its coordinates are on one way to the root: M has entries for every two of them
        ("implicit", "i8"),
    ]
)
# A spring and damper along a length that depends on several coordinates.
TENDON = record_type(
    [
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("rest", "f8", (2,)),  # lengths between which the spring does not pull
        ("first", "i8"),  # as of SERVO
        ("gears", "i8"),
        ("segment", "i8"),
        ("segments", "i8"),
        ("implicit", "i8"),
    ]
)
# A straight part of the path of a servo or a tendon, between points of two bodies.
SEGMENT = record_type(
    [
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("place_a", "f8", (3,)),  # in the bodies' frames [m]
        ("place_b", "f8", (3,)),
        ("share", "f8"),  # of its length that counts
    ]
)
# A coordinate that one of these moves with.
GEAR = record_type(
    [
        ("dof", "i8"),
        ("q_at", "i8"),  # of the position that its length counts, or -1
        ("gear", "f8"),
    ]
)
# What a step works out of an actuator: its force f - rate g (v+ - v), g being its gears.
SERVO_WORK = record_type([("control", "f8"), ("force", "f8"), ("rate", "f8")])

# A feature is a point of geom A (with a radius) that can touch geom B, or a pair of solids, which
# can touch in several ways (a corner on a face, an edge across an edge).  Pairs come last; `center`
# to `target_radius` and what follows `restitution` are not theirs.
FEATURE = record_type(
    [
        ("geom_a", "i8"),
        ("geom_b", "i8"),
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("kind", "i8"),  # type of geom B
        (
            "far_squared",
            "f8",
        ),  # squared distance of bodies from which round geoms are far [m^2]
        ("group", "i8"),  # features of one body against one geom: they share a rigid target twist
        ("center", "f8", (3,)),  # in body A's frame [m]
        ("radius", "f8"),
        ("target", "f8", (3,)),  # B's centre, or a point of its plane, in body B's frame [m]
        ("target_normal", "f8", (3,)),  # B's plane normal in body B's frame
        ("target_radius", "f8"),
        ("friction", "f8"),
        ("restitution", "f8"),
        ("spin", "f8"),  # torsional and rolling friction [m]
        ("roll", "f8"),
        ("grain", "i8"),  # 1 + number of its GRAIN, or 0: friction is the same along all directions
        ("viscous", "f8"),  # friction of its pair (`dynenvs.contact.law.viscous`) [N s/m]
        ("corner", "i8"),  # whether it is one of a solid foot's: see `detect.locate`
        # Of the first one of a group on a plane of the world: how many there are, or 0, and a ball
        # in body A's frame that holds them all [m]
        ("members", "i8"),
        ("middle", "f8", (3,)),
        ("around", "f8"),
    ]
)

# Friction with two coefficients (`dynenvs.contact.law.directional`).
GRAIN = record_type(
    [
        ("body", "i8"),  # in whose frame the directions are
        ("along", "f8", (3,)),  # of the first coefficient
        ("spare", "f8", (3,)),  # ... where that is too near to the normal,
        ("steep", "f8"),  # that is, from which cosine of their angle on
        ("ratio", "f8"),  # second coefficient over the first
    ]
)

# A geom of such a pair; each is placed once for all its pairs
# (`dynenvs.contact.detection.manifold`).
SOLID = record_type(
    [
        ("body", "i8"),
        ("kind", "i8"),  # of its geom; SPHERE of points
        ("radius", "f8"),  # of the ball around it, infinite of a field [m]
        ("inside", "f8"),  # of the ball in it, zero of a field [m]
        ("extent", "f8", (3,)),  # its size, as `dynenvs.model.parts.Geom.size`
        # Of its pairs with solids of higher numbers: the first one, and how many there are.  They
        # are in the order of those numbers
        ("pairs_at", "i8"),
        ("pairs", "i8"),
        ("position", "f8", (3,)),  # in the body's frame [m]
        ("rotation", "f8", (3, 3)),
    ]
)

# Two solids of which both have edges, faces or round sides: their slots are found together.
PAIR = record_type(
    [
        ("solid_a", "i8"),
        ("solid_b", "i8"),
        ("kind_a", "i8"),  # SPHERE, CAPSULE, BOX, CONVEX or smooth
        ("kind_b", "i8"),  # the same, or HEIGHT_FIELD, BLOCK_FIELD, HALF_SPACE (of smooth solids)
        ("first", "i8"),  # first of its own slots, or -1: it is given a block of slots while near
        ("slots", "i8"),
        ("far_squared", "f8"),  # square of the centres' distance from which the geoms are far [m^2]
        # A's centre further than this from B is far (from B's centre, if it is neither box nor
        # field; above a field's top) [m]
        ("reach", "f8"),
        # Of a box over a height field: points along its edges.  Over blocks: how many along x a box
        # can touch; how many lines between them, and nodes, a capsule
        ("parts", "i8", (3,)),
        # Whether one of them may meet another solid, too, that the other one is fixed to
        ("beside", "i8"),
        ("size_a", "f8", (3,)),  # as `dynenvs.model.parts.Geom.size`
        ("size_b", "f8", (3,)),
        ("hull_a", "i8"),  # where the numbers of its polyhedra begin (of a box or block: a cube's)
        ("hull_b", "i8"),
        ("heights_at", "i8"),  # of a field: its first height, points (blocks) along x and y,
        ("nx", "i8"),
        ("ny", "i8"),
        ("dx", "f8"),  # their distances [m]
        ("dy", "f8"),
        ("top", "f8"),  # and what no point of the field is higher than [m]
    ]
)

# Two frames, one of each body, that a closed loop holds together
# (`dynenvs.contact.assembly.loops`).
LOOP = record_type(
    [
        # SPHERICAL, REVOLUTE or PRISMATIC (both about or along z), FIXED or COUPLED
        ("joint", "i8"),
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("row", "i8"),  # its first row, and how many it has
        ("rows", "i8"),
        ("position_a", "f8", (3,)),  # in the body's frame [m]
        ("position_b", "f8", (3,)),
        ("rotation_a", "f8", (3, 3)),
        ("rotation_b", "f8", (3, 3)),
        # Of coupled joints: q_a = sum of c_k q_b^k; their coordinates (that of B -1 if there is
        # none), and where these are in q
        ("coefficients", "f8", (5,)),
        ("coordinate_a", "i8"),
        ("coordinate_b", "i8"),
        ("q_a", "i8"),
        ("q_b", "i8"),
    ]
)

# The base of a friction pyramid: one for each number of directions that a world may choose.
POLYGON = record_type([("directions", "i8"), ("cosines", "f8", (64,)), ("sines", "f8", (64,))])

# What a world remembers of a contact candidate (a point feature, or a slot of a pair) between
# steps: part of the state (bit-exact restart).  Nothing, but for zeros, where it is not listed.
MEMORY = record_type(
    [
        ("impulse", "f8", (3,)),  # of the last step on A, world axes [N s]
        ("total", "f8", (3,)),  # sum of impulses since the caller cleared it [N s]
        ("mode", "i8"),  # of the last step (`dynenvs.contact.solvers.modes`)
        ("listed", "i8"),  # whether the row's list of touched candidates has it
        ("jammed", "i8"),  # steps in which corrections of positions leave it alone
    ]
)

# A world's own coefficients of a feature.
COEFFICIENTS = record_type(
    [
        ("friction", "f8"),
        ("restitution", "f8"),
        ("excluded", "i8"),  # not part of the contact problem (a foot that is not meant to carry)
    ]
)

STATUS = record_type(
    [
        ("time", "f8"),  # [s]
        ("residual", "f8"),  # worst certificate residual since the counters were cleared
        ("opened", "f8"),  # largest opening of a closed loop at the end of a part [m, rad]
        ("overrun", "f8"),  # ... and how far a joint was beyond its stops there [rad, m]
        # Of audited steps (`dynenvs.simulation.audit`): how many, how many of these were beyond
        # their bounds, and how many only because the step is no shorter; the deepest overlap [m],
        # and the most energy gained [J]
        ("audits", "i8"),
        ("beyond", "i8"),
        ("coarse", "i8"),
        ("deepest", "f8"),
        ("gained", "f8"),
        ("solves", "i8"),
        # How often each solver stage was called for a problem (of an island, or of all contacts),
        # and how often it solved it
        ("called", "i8", (STAGES,)),
        ("solved", "i8", (STAGES,)),
        ("stage", "i8"),  # which of them gave the last answer to a problem in rows ...
        ("large_stage", "i8"),  # ... and to a large island: MULTIPLIERS, or else PATH
        ("pivots", "i8"),
        ("degraded", "i8"),
        ("failed", "i8"),
        ("overflow", "i8"),
        ("sunk", "i8"),  # shortest parts of steps that end deeper in something than they began
        ("contacts", "i8"),  # candidates that carried an impulse in the last step
        # Candidates that were in a contact problem since the totals were cleared: how many the row
        # lists.  All others carry nothing and hold no total: most of the row need not be read
        ("touched", "i8"),
        # Length of the part of a step that the remembered impulses are of; 0 of none [s]
        ("part", "f8"),
        ("limits_active", "i8"),  # bit i: coordinate i pressed against its stop; of the first BITS
        ("cone", "i8"),  # of this world: PYRAMID or CONE ...
        ("polygon", "i8"),  # ... and which of the model's polygons the pyramid stands on
        ("budget", "i8"),  # factorisations that each method may spend on an island
        # Energy of a world that nothing drives (`dynenvs.simulation.drift`): at the start of the
        # last step that was watched [J], what steps have created of it, and the largest kinetic
        # energy, 0 while nothing is known; and a fingerprint of what the last step left
        ("energy", "f8"),
        ("created", "f8"),
        ("most", "f8"),
        ("left", "f8"),
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
    ]
)

BODY_WORK = record_type(
    [
        ("v", "f8", (6,)),  # spatial velocity (angular; linear), world axes, at the tree's origin
        ("a", "f8", (6,)),
        ("f", "f8", (6,)),  # (moment; force)
        # Composite of the body and all that it carries, at the tree's origin: mass, mass times
        # centre of mass, rotational inertia
        ("mc", "f8"),
        ("hc", "f8", (3,)),
        ("Ic", "f8", (3, 3)),
        ("kinetic", "f8"),  # energy of the body alone, as equations of motion leave it [J]
        ("c", "f8", (6,)),  # velocity-product acceleration of the joint
        ("m", "f8"),  # the body's own
        ("h", "f8", (3,)),
        ("I", "f8", (3, 3)),
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
        ("center", "f8", (3,)),  # core point of A, world axes [m]
        ("normal", "f8", (3,)),  # from B to A
    ]
)
# A pair that has slots of its own: what the broad phase asks first.
OWN = record_type([("pair", "i8"), ("solid_a", "i8"), ("solid_b", "i8"), ("far_squared", "f8")])
# A pair that is near, and where its slots are.
NEARBY = record_type(
    [
        ("pair", "i8"),
        ("first", "i8"),
        ("slots", "i8"),  # from there on; 0 where the two are too far apart to show any
        # Of boxes, hulls and smooth solids: the distance up to which their slots are needed, 0
        # once it is known to be larger [m]
        ("look", "f8"),
        # ... that distance as it was asked for, and the one that was found, if it is no larger [m]
        ("asked", "f8"),
        ("gap", "f8"),
    ]
)
FAR = 1e3  # [m]
# `edges` of slots on what rolls, which need not come back to where they were: on the line along a
# side; the nearest point; others beside that, which at the end of a step are elsewhere
ON_LINE, NEAREST, BESIDE = -1, -2, -3
NEAR = 0.1  # solids further apart than this are not looked at [m] ...
LOOK = 0.02  # ... or this, where some are hulls or smooth: many of a robot are near
SEEN = 0.5  # candidates with a larger gap are not looked at within a step [m]
# Features this close are always part of the problem, so that a neighbour's push needs no second
# solve [m].
MARGIN = 1e-3

# A SOLID in the world, and what the pair at hand needs to know of it.
SHAPE = record_type(
    [
        ("center", "f8", (3,)),
        ("R", "f8", (3, 3)),  # of a sphere nothing, of a capsule its axis alone: column 2
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
        ("candidate", "i8"),  # index into `memory` and `gaps`
        ("slot", "i8"),  # its number among the slots, or -1 of a point feature
        ("source", "i8"),  # the feature that it is of: index into `features` and `coefficients`
        ("body_a", "i8"),  # what follows is the feature's
        ("body_b", "i8"),
        ("group", "i8"),
        ("kind", "i8"),
        ("corner", "i8"),
        ("row", "i8"),  # of the normal; tangents follow
        ("tangents", "i8"),  # tangential rows: 0 (frictionless), 1 (planar) or 2
        ("moments", "i8"),  # rows of its torsional and rolling friction, after those: 0, 1 or 3
        ("length", "f8"),  # in units of which they have moments and turns [m]
        ("stick", "i8"),
        ("edges", "i8"),  # as SPOT's
        ("local", "f8", (3,)),  # core point of A in A's frame
        ("radius", "f8"),  # of A around it
        ("center", "f8", (3,)),  # core point, world axes
        ("point", "f8", (3,)),
        ("normal", "f8", (3,)),  # from B to A
        # Of length one, unless it is skewed: has two coefficients of friction, along t1 and `side`,
        # and tangents as long as these are large (`dynenvs.contact.law.directional`)
        ("t1", "f8", (3,)),
        ("t2", "f8", (3,)),
        ("side", "f8", (3,)),
        ("skewed", "i8"),
        ("gap", "f8"),
        ("target", "f8"),  # gap of the group's rigid target motion, not negative, and the bend
        # Of a rim that rolls: its gap at the end of the step, less that of its straight way [m]
        ("bend", "f8"),
        ("friction", "f8"),
        ("spin", "f8"),  # torsional and rolling friction [m]
        ("roll", "f8"),
        ("slip", "f8"),  # sigma of the answer [m/s]
        ("impulse", "f8", (3,)),
        # Velocity of A's surface from B's besides that of their bodies, as of belts, or by ways
        # that bend: along the contact's plane, world axes [m/s]; and whether there is any, or BENT
        ("drift", "f8", (3,)),
        ("drifts", "i8"),
        ("grounded", "i8"),  # whether nothing that happens moves B: it is the world or kinematic
        # Of the correction of positions: by how much the gap is to grow, HELD where nothing can
        # make it, and what it was before [m]
        ("correction", "f8"),
        ("before", "f8"),
    ]
)
BENT = 2  # `drifts` where the drift is that of a point which goes round on its way
HELD = -1.0
BITS = 63  # of a whole number, but its sign
JAMMED = 15  # steps in which it is left alone before it is tried again

# What the solver of many bodies works on (`dynenvs.memory.sparse_view`): trees of bodies,
# constraints on one tree or between two, and islands of trees that touch.
TREE = record_type(
    [
        ("first", "i8"),  # of its coordinates in vectors ordered by trees
        ("nv", "i8"),
        ("mass_at", "i8"),  # first word of its mass matrix in `SparseView.masses`
        ("island", "i8"),
        ("node", "i8"),  # its place in the order of elimination, within its island
        ("above", "i8"),  # scratch of the search for islands
    ]
)
LIMIT, DRY = -1, -2  # constraints that are no contacts
CONSTRAINT = record_type(
    [
        ("a", "i8"),  # tree of side 0
        ("b", "i8"),  # tree of side 1, or -1
        # Of each side: its tree's coordinates that it moves are from place `first` to before `last`
        ("first", "i8", (2,)),
        ("last", "i8", (2,)),
        ("rows", "i8"),
        ("row", "i8"),  # its first one, three for each constraint before it
        ("tangents", "i8"),  # rows but the normal's
        ("contact", "i8"),  # number of the contact, or LIMIT or DRY
        ("dry", "i8"),  # whether it is a dry joint's
        # Velocity of A's surface from B's besides the trees' (of belts, of kinematic bodies),
        # world axes [m/s]; and whether there is any
        ("drift", "f8", (3,)),
        ("drifts", "i8"),
        # Of a joint limit or dry joint; and whether the limit presses against its stop
        ("coordinate", "i8"),
        ("pressed", "i8"),
        ("friction", "f8"),
        # Compression impulse: it bounds friction besides p_n, in an impact by Poisson's law; of a
        # dry joint the bound of its impulse
        ("compression", "f8"),
        ("restitution", "f8"),  # of an impact
        ("offset", "f8"),  # of its normal velocity, but for restitution [m/s]
        ("speed", "f8"),  # largest predicted velocity of its rows, bias included [m/s]
        ("slip", "f8"),  # of the answer [m/s]
        # Number of the constraint of its moments, or -1 (`dynenvs.contact.sparse.moment_rows`), and
        # what they add to mu times the slip [m/s].  Of such a one: rolling friction (`friction` is
        # the torsional one), and the length [m] in units of which it has moments and turns
        ("moments", "i8"),
        ("turning", "f8"),
        ("roll", "f8"),
        ("length", "f8"),
        ("g", "f8"),  # what a unit of impulse changes: mean of the diagonal of G [1/kg]
    ]
)
ISLAND = record_type(
    [
        ("first", "i8"),  # in `members`, of its constraints, and their number
        ("count", "i8"),
        ("first_tree", "i8"),  # in `trees_of`, and their number
        ("trees", "i8"),
        ("words", "i8"),  # of its factor
        ("moments", "i8"),  # whether some contact has moments
        ("scale", "f8"),  # the certificate's velocity scale [m/s]
        ("residual", "f8"),
        ("newtons", "i8"),
        # Of what floats (`dynenvs.contact.sparse.momentum`), about the world's origin
        ("floats", "i8"),
        ("mass", "f8"),
        ("moment", "f8", (3,)),
        ("inertia", "f8", (3, 3)),
        ("linear", "f8", (3,)),
        ("angular", "f8", (3,)),
        ("kinetic", "f8"),
        ("kept", "f8", (3,)),  # angular momentum and energy that it is to have
        ("energy", "f8"),
    ]
)

# What Newton's method sees: a contact, a joint limit or a dry joint, and the mode in which it is.
BLOCK = record_type(
    [
        ("row", "i8"),  # of the normal; tangents follow, then moments
        ("tangents", "i8"),
        ("moments", "i8"),  # 0, 1 (about the normal; in the plane across it) or 3
        ("dry", "i8"),  # whether it is a dry joint: one row, whose impulse `compression` bounds
        ("mode", "i8"),  # see `dynenvs.contact.solvers.modes`
        ("friction", "f8"),
        ("spin", "f8"),  # torsional friction, or in the plane rolling friction, in its `length`
        ("roll", "f8"),  # rolling friction, likewise
        # Compression impulse: it bounds friction besides the unknown normal impulse, in an impact
        # by Poisson's law; of a dry joint the bound of its impulse
        ("compression", "f8"),
        ("slip", "f8"),  # sigma: the least that bounds the slip along every direction [m/s]
        ("corners", "i8"),  # how many blocks, this one first, are the corners of a sole; or 0
        ("x", "f8"),  # of a corner, from their centre, along the tangents [m]
        ("y", "f8"),
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

# What elimination keeps of a contact's friction directions
# (`dynenvs.contact.solvers.central_path`).
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

BUDGET = 600  # of a world unless it is given another one

# One column of the LCP: which rows of the contact problem it combines.
NORMAL, DIRECTION, SLACK = range(3)
VARIABLE = record_type(
    [
        ("kind", "i8"),
        ("block", "i8"),  # whose it is
        ("row", "i8"),  # first row combined (the next one too if `s` is not zero)
        ("c", "f8"),
        ("s", "f8"),
    ]
)

# What a solve of the contact problem reports.
ANSWER = record_type(
    [
        ("residual", "f8"),
        ("pivots", "i8"),
        ("sweeps", "i8"),  # of Newton's method
        ("contacts", "i8"),  # of the problem
        ("listed", "i8"),  # and those found redundant for it, which follow them
        ("rows", "i8"),
        ("dry", "i8"),  # the first row of dry joints, which come last
        ("film", "i8"),  # rows of viscous friction, which the contact problem does not have
        # Largest opening of a loop at the start of a part of a step, and at its end [m, rad], and
        # what its closing has come to: a status of `dynenvs.lcp.solve`
        ("opened_before", "f8"),
        ("opened", "f8"),
        ("shut", "i8"),
        ("overrun", "f8"),  # how far a joint ends the part beyond its stops, at most [rad, m]
        ("near", "i8"),  # how many pairs of solids are near at the start of the step ...
        ("near_after", "i8"),  # ... and at its end
        # How many contacts and blocks of slots the step needs, where there are fewer; or 0
        ("wanted", "i8"),
        ("blocks", "i8"),
        ("violation", "f8"),  # of the inverse problem's prescription [rad/s, m/s]
        ("recursive", "i8"),  # whether `dynenvs.dynamics.recursion` stands for the factors
        ("rooted", "i8"),  # whether the Delassus matrix G is Y^T D^-1 Y, as `couple` leaves it
        ("sparse", "i8"),  # whether the sparse solver gave the answer (`dynenvs.contact.sparse`)
        ("poses_valid", "i8"),  # whether `pose_new` belongs to `q_posed`
        ("lowest", "f8"),  # gap of the deepest feature where the velocities lead [m]
        ("until", "f8"),  # time until the next impact with restitution [s]
        ("cuts", "i8"),  # impacts at which the step has been cut
        ("window", "f8"),  # within which all that bounces has had its impact at once [s]
        # Of trees that whirl: their fastest turn [rad/s], 0 while the step need not be cut for it,
        # and by how much positions are ahead of velocities [s] (`dynenvs.simulation.whirl`)
        ("pace", "f8"),
        ("lead", "f8"),
        ("energy", "f8"),  # kinetic and potential, at the start of such a step [J] ...
        ("kinetic", "f8"),  # ... and the kinetic energy alone
        ("watched", "i8"),  # what is done about the step's energy (`dynenvs.simulation.drift`)
    ]
)
CORRECTION = record_type(  # of positions, at the end of a part of a step
    [
        ("way", "i8"),  # what it does: see `dynenvs.contact.errors`
        ("attempt", "i8"),
        ("before", "f8"),  # largest error of the attempt before [m, rad]
        ("worst", "f8"),  # and of this one; and how deep a contact is, of these [m]
        ("deep", "f8"),
        ("beyond", "f8"),  # of joints beyond their stops, of these [m, rad]
        ("pull", "f8"),  # farthest pull of this one, not above zero [m]
        ("share", "f8"),  # of the errors that this one corrects
        ("bare", "f8"),  # gap of the deepest feature without any correction [m] ...
        ("least", "f8"),  # ... that is let be, since it was as deep before ...
        ("lowest", "f8"),  # ... and as far as positions are corrected
        ("seen", "i8"),  # whether `lowest` is known of the positions as they are
        # Share of an error that a correction leaves: the length of the change of all coordinates in
        # this part [rad, m], or what the last one has left of its own, if that is more
        ("turned", "f8"),
        ("factored", "i8"),  # rows whose factors are known, or -1
        ("known", "i8"),  # whether the contacts' `before` is of the positions, the slots of others
    ]
)
