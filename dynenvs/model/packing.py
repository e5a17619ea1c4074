"""From the described parts of a model to the records that kernels read (`layout.py`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dynenvs.kinematics.joints import JOINT_NQ, JOINT_NV
from dynenvs.memory.layout import Bytes, Floats, Records
from dynenvs.memory.records import (
    ALONE,
    BASE,
    FREE,
    HALF_SPACE,
    HEADER,
    INELASTIC,
    MIDPOINT,
    PYRAMID,
    ROOTED,
    SEEN,
    STOPS,
    SWING,
)
from dynenvs.model.closures import Closures
from dynenvs.model.contact_options import (
    ContactOptions,
    direction_counts,
    integrator_code,
    integrator_name,
)
from dynenvs.model.joint_constants import (
    Axis,
    fill_turn,
    is_in_plane,
    joint_placement,
    moves_in_plane,
    principal,
)
from dynenvs.model.pairs import GROUND, Contacts, Feature, SolidPairs
from dynenvs.model.parts import JOINT_TYPES, Body, Geom, ModelError, carried, unit3
from dynenvs.model.plan import Plan, choose, list_trees, size_rows
from dynenvs.model.servos import Cords, count_cords
from dynenvs.model.solids import (
    count_smooth,
    far,
    field_numbers,
    inner_ball,
    near_distance,
    pack_hulls,
    plan_slots,
    solid_numbers,
)
from dynenvs.simd.vectors import WIDTH

LEAST_CORNERS = 3  # of one body on one plane, from which their rows depend on each other
START = 32  # contacts at once for which there is room to begin with


def allocate(
    bodies: list[Body],
    geoms: tuple[Geom, ...],
    contacts: Contacts,
    gravity: Floats,
    options: ContactOptions,
    max_contacts: int | None,
    closures: Closures,
    cords: Cords,
) -> tuple[Bytes, Plan]:
    """The model's buffer, a header with all counts and places and zeros; and the model's plan."""
    kinds = [JOINT_TYPES[body.joint.type] for body in bodies]
    header = np.zeros(1, HEADER)[0]
    header.nb = len(bodies) + 1
    header.nq = sum(JOINT_NQ[kind] for kind in kinds)
    header.nv = sum(JOINT_NV[kind] for kind in kinds)
    # Candidates of contact: points have one each, pairs their slots
    pairs, slots = contacts.pairs, plan_slots(contacts.pairs, geoms)
    header.npoints, header.np = len(contacts.points), len(pairs.slots)
    header.nround = sum(feature.geom_b.kind != HALF_SPACE for feature in contacts.points)
    header.nf = header.npoints + header.np
    header.nown, header.nblocks, header.block_slots = (
        len(slots.own),
        slots.blocks,
        slots.block_slots,
    )
    header.ns = slots.own_slots + slots.blocks * slots.block_slots
    header.nk = header.npoints + header.ns
    header.nnear = header.nown + header.nblocks
    # Solids, and the numbers that describe them
    header.nsolids = len(solid_numbers(pairs))
    fields = (geoms[k].heights for k in field_numbers(pairs, geoms))
    header.nheights = sum(heights.size for heights in fields if heights is not None)
    hulls, _, header.hull_work = pack_hulls(pairs, geoms)
    header.nhulls = len(hulls)
    header.nsmooth = count_smooth(pairs, geoms)
    header.near = near_distance(pairs, geoms)
    if any(geom.surface_velocity is not None for geom in geoms):
        header.nsurfaces = len(geoms)
    # Joints with stops, balls among them
    limited = [np.isfinite(body.joint.limits).any() for body in bodies]
    header.nlimited = sum(limited)
    header.nswings = sum(JOINT_NV[kinds[i]] > 1 for i in np.flatnonzero(limited))
    # What the contact problem is and how it is solved
    header.directions = options.directions
    header.nloops, header.ne = len(closures.loops), closures.rows
    header.cone = options.cone if options.directions > 2 else PYRAMID
    header.impacts = options.impacts
    bounces = any(feature.restitution > 0.0 for feature in contacts.points)
    if bounces or (pairs.restitution > 0.0).any():
        header.restitution = options.restitution
    header.moments, header.ngrains = has_moments(contacts), len(contacts.grains)
    header.nviscous = count_viscous(contacts)
    header.integrator = integrator_code(
        integrator_name(options.integrator), header.restitution != INELASTIC
    )
    header.gravity[:] = gravity
    rides = carried(bodies)
    header.ncarried = sum(JOINT_NV[kind] for kind, own in zip(kinds, rides, strict=True) if own)
    check_carried(header)
    trees = list_trees(bodies)
    header.ntrees, header.widest = len(trees), max(map(len, trees), default=0)
    header.nkinematic = sum(body.kinematic for body in bodies)
    header.ndry = sum(
        JOINT_NV[kind]
        for body, kind in zip(bodies, kinds, strict=True)
        if body.joint.friction > 0.0 and not body.kinematic
    )
    header.nscrews = kinds.count(JOINT_TYPES["screw"])
    header.sprung = any(body.joint.stiffness != 0.0 for body in bodies)
    velocities = {body.name: JOINT_NV[kind] for body, kind in zip(bodies, kinds, strict=True)}
    count_cords(header, cords, velocities)
    header.nlifted = sum(body.lift != 0.0 for body in bodies)
    plan = choose(header, trees, max(map(JOINT_NV.__getitem__, kinds), default=0))
    header.recursive, header.refined = plan.recursion.taken, plan.refinement.taken
    header.sparse = plan.islands.taken
    header.npolygons = len(direction_counts(options.directions))
    header.limit = 0 if max_contacts is None else max_contacts
    most = min(contacts.at_once, START) if max_contacts is None else max_contacts
    size_rows(header, min(most, int(header.nk)))
    packed = np.zeros(header.model_bytes, np.uint8)
    packed[: HEADER.itemsize].view(HEADER)[0] = header
    return packed, plan


def check_carried(header: Any) -> None:
    """Raise a ModelError where kinematic bodies carry others and the integrator knows none."""
    if header.ncarried and header.integrator == MIDPOINT:
        raise ModelError(
            "a kinematic body carries others by joints: that is for the integrator 'euler', not "
            "'midpoint'"
        )


def has_moments(contacts: Contacts) -> bool:
    """Whether any contact knows torsional or rolling friction."""
    pairs = contacts.pairs
    solid = bool((pairs.torsional > 0.0).any() or (pairs.rolling > 0.0).any())
    return solid or any(f.torsional > 0.0 or f.rolling > 0.0 for f in contacts.points)


def count_viscous(contacts: Contacts) -> int:
    """How many features have viscous friction."""
    solid = int((contacts.pairs.viscous > 0.0).sum())
    return solid + sum(feature.viscous > 0.0 for feature in contacts.points)


def fill_polygons(header: Any, records: Records) -> None:
    """POLYGON of every number of directions, fewest first."""
    for record, count in zip(records, direction_counts(int(header.directions)), strict=True):
        fill_polygon(record, count)


def fill_polygon(record: Any, count: int) -> None:
    """POLYGON of `count` directions."""
    record.directions = count
    angles = 2 * np.pi * np.arange(count) / count
    # Exact zeros and ones: the directions of opposite sense must be exact opposites.
    record.cosines[:count] = np.round(np.cos(angles), 15)
    record.sines[:count] = np.round(np.sin(angles), 15)


def fill_bodies(header: Any, records: Records, bodies: list[Body], pushed: set[str]) -> None:
    """BODY of the world and of every body, parents first.

    pushed: names of bodies in the world whose trees have forces from outside
    """
    index = body_index(bodies)
    pushed = pushed | lifted_roots(bodies)
    by_name = {body.name: body for body in bodies}
    records[0].parent = records[0].last = records[0].tree = -1
    records[0].rotation[:] = np.eye(3)
    planar = True
    axes: list[Axis] = [Axis(True, None, np.eye(3))]
    q_at = v_at = trees = 0
    for i, body in enumerate(bodies, 1):
        record = records[i]
        joint = body.joint
        kind = JOINT_TYPES[joint.type]
        parent = index[body.parent]
        record.parent = parent
        record.joint = kind
        record.root = i if parent == 0 else records[parent].root
        record.q_at, record.v_at, record.nv = q_at, v_at, JOINT_NV[kind]
        # A body that floats alone: no motor, no losses, nothing that pushes it from outside
        free = kind == FREE and not (joint.actuated or body.kinematic)
        free = free and joint.damping == joint.armature == joint.friction == 0.0
        free = free and joint.stiffness == 0.0 and body.name not in pushed
        record.floats = ALONE if parent == 0 and free else ROOTED
        # A joint on it makes it the base of a tree
        if record.nv > 0 and records[parent].tree >= 0 and records[record.root].floats == ALONE:
            records[record.root].floats = BASE
        record.tree = records[parent].tree
        if record.tree < 0 and record.nv > 0 and not body.kinematic:
            record.tree, trees = trees, trees + 1
        q_at += JOINT_NQ[kind]
        v_at += JOINT_NV[kind]
        # Where its joint is in its parent, and the parts of its rotation that never change
        rotation, position = joint_placement(joint, by_name.get(body.parent), body.name)
        record.rotation[:] = rotation
        record.position[:] = position
        record.axis[:] = unit3(joint.axis, f"axis of the joint of {body.name!r}")
        record.pitch = joint.pitch
        axes.append(fill_turn(record, axes[parent]))
        record.principal, record.offset = principal(record), record.position.any()
        record.in_plane = is_in_plane(record) and (parent == 0 or records[parent].in_plane)
        record.mass = body.mass
        record.com[:] = body.com
        record.inertia[:] = body.inertia
        record.lift = body.lift
        # Everything must turn about y and slide across it for the planar passes
        turn = axes[i].rotation
        planar = planar and moves_in_plane(record, axes[i])
        record.plane_moment = (turn @ body.inertia @ turn.T)[1, 1]
    header.planar = planar
    header.nbases = (records["floats"] == BASE).sum()


def lifted_roots(bodies: list[Body]) -> set[str]:
    """Bodies in the world whose trees have a body that is lifted; bodies: parents first."""
    roots: dict[str, str] = {}
    for body in bodies:
        roots[body.name] = roots.get(body.parent, body.name)
    return {roots[body.name] for body in bodies if body.lift != 0.0}


def fill_around(records: Records, bodies: list[Body], geoms: tuple[Geom, ...]) -> None:
    """How far a body's geoms reach from its origin, but for the ground's."""
    index = body_index(bodies)
    for geom in geoms:
        if geom.kind not in GROUND:
            record = records[index[geom.body]]
            reach = float(np.linalg.norm(geom.position)) + geom.bounding_radius
            record.around = max(record.around, reach)
            record.uneven = max(record.uneven, geom.bounding_radius - inner_ball(geom))


def fill_dofs(header: Any, records: Records, dofs: Records, bodies: list[Body]) -> None:
    """DOF of every coordinate, from the bodies and their filled BODY records."""
    places = [0] * int(header.ntrees)  # coordinates of each tree so far
    last = np.full(len(bodies) + 1, -1)  # last degree of freedom at or above each body
    for i, body in enumerate(bodies, 1):
        # Coordinates of one joint carry each other, first to last
        record = records[i]
        previous = last[record.parent]
        for k in range(record.nv):
            j = record.v_at + k
            dof = dofs[j]
            dof.parent, dof.body, dof.tree = previous, i, record.tree
            dof.kinematic = body.kinematic
            if not body.kinematic:
                dof.place = places[record.tree]
                places[record.tree] += 1
            previous = j
            dof.actuated = body.joint.actuated and not body.kinematic
            dof.damping, dof.armature = body.joint.damping, body.joint.armature
            dof.friction = 0.0 if body.kinematic else body.joint.friction
            dof.stiffness = body.joint.stiffness
            dof.reference = np.broadcast_to(body.joint.reference, record.nv)[k]
            dof.velocity, dof.effort = body.joint.velocity, body.joint.effort
            dof.q_at = record.q_at
            dof.lower, dof.upper = -np.inf, np.inf
            if k == 0 and np.isfinite(body.joint.limits).any():  # of a ball the first one has it
                dof.lower, dof.upper = body.joint.limits
                dof.limited = SWING if record.nv > 1 else STOPS
        record.last = last[i] = previous
    for j, depth in enumerate(_depths(dofs)):
        # In blocks a row is quicker, zeros and all, unless most of it belongs to other branches
        blocks = (j + 1) // WIDTH
        dofs[j].whole = WIDTH * blocks if blocks + 2 < depth else 0


def _depths(dofs: Records) -> list[int]:
    """Number of coordinates from each to the root, itself included."""
    depths: list[int] = []
    for dof in dofs:
        depths.append(1 + (depths[dof.parent] if dof.parent >= 0 else 0))
    return depths


def fill_features(
    records: Records,
    contacts: Contacts,
    bodies: list[Body],
    geoms: tuple[Geom, ...],
    spatial: bool,
) -> None:
    """FEATURE of every contact feature: points, then pairs of solids."""
    _fill_points(records[: len(contacts.points)], contacts.points, bodies, geoms)
    _fill_pair_features(records[len(contacts.points) :], contacts.pairs, bodies, geoms)
    _enclose_groups(records[: len(contacts.points)])
    if spatial:
        _mark_corners(records)


def _fill_pair_features(
    records: Records,
    pairs: SolidPairs,
    bodies: list[Body],
    geoms: tuple[Geom, ...],
) -> None:
    # One row of arrays for all pairs: there may be a million
    index = body_index(bodies)
    body = np.array([index[geom.body] for geom in geoms], dtype=np.int64)
    kinds = np.array([geom.kind for geom in geoms], dtype=np.int64)
    records["geom_a"], records["geom_b"] = pairs.geom_a, pairs.geom_b
    records["body_a"], records["body_b"] = body[pairs.geom_a], body[pairs.geom_b]
    records["kind"], records["group"] = kinds[pairs.geom_b], pairs.group
    records["friction"], records["restitution"] = pairs.friction, pairs.restitution
    records["spin"], records["roll"] = pairs.torsional, pairs.rolling
    records["viscous"] = pairs.viscous


def _fill_points(
    records: Records, points: list[Feature], bodies: list[Body], geoms: tuple[Geom, ...]
) -> None:
    # Where each feature is on A, what it touches on B, and by which law
    geom_index = {geom.name: i for i, geom in enumerate(geoms)}
    index = body_index(bodies)
    for i, feature in enumerate(points):
        record = records[i]
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
        record.spin, record.roll = feature.torsional, feature.rolling
        record.viscous = feature.viscous
        record.far_squared = _far_squared(a, b)


def _mark_corners(records: Records) -> None:
    """Three or more points of a body above a plane: more rows than a rigid body has freedoms."""
    points = (records["kind"] == HALF_SPACE) & (records["radius"] == 0.0)
    for group in np.unique(records["group"][points]):
        members = points & (records["group"] == group)
        records["corner"][members] = members.sum() >= LEAST_CORNERS


def _enclose_groups(records: Records) -> None:
    """The balls around groups of several features on a plane of the world."""
    # Groups stand together
    groups = records[["group", "body_a"]]  # of bodies welded to each other, each has its own
    first = 0
    while first < len(records):
        last = first + 1
        while last < len(records) and groups[last] == groups[first]:
            last += 1
        record, members = records[first], records[first:last]
        if record.kind == HALF_SPACE and record.body_b == 0 and len(members) > 1:
            centers = members["center"]
            middle = (centers.min(axis=0) + centers.max(axis=0)) / 2
            reach = np.linalg.norm(centers - middle, axis=1) + members["radius"]
            record.members, record.middle[:], record.around = len(members), middle, reach.max()
        first = last


def _far_squared(first: Geom, second: Geom) -> float:
    """Square of the distance of two bodies from which round geoms are more than SEEN apart."""
    if second.kind == HALF_SPACE:
        return math.inf
    arms = float(np.linalg.norm(first.position) + np.linalg.norm(second.position))
    return float(far(arms + first.bounding_radius + second.bounding_radius + SEEN))


def body_index(bodies: list[Body]) -> dict[str, int]:
    return {"world": 0, **{body.name: i for i, body in enumerate(bodies, 1)}}
