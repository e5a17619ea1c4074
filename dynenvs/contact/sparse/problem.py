"""The contact problem of all trees: constraints, their Jacobians, right-hand sides and own masses.

The same law, right-hand sides and units as in `dynenvs.contact.assembly.rows`; J is kept only for
the one or two trees that a constraint acts on.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.assembly.rows import (
    SLIP,
    closing_speed,
    is_limit_near,
    is_rounding,
    may_be_stuck,
    reference_tangents,
    stop_ahead,
)
from dynenvs.contact.assembly.swing import has_axis, swing
from dynenvs.contact.solvers.modes import strongest
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.spatial import dot3
from dynenvs.kinematics.triples import Three, dot, entries
from dynenvs.lcp.workspace import integer
from dynenvs.memory.layout import Floats, Records, WorkView, WorldView, polygon_of
from dynenvs.memory.records import LIMIT, SWING
from dynenvs.memory.sparse_view import SparseView

# Gaps are known to rounding only, and those of bodies that touch all around would contradict each
# other: what redundant contacts cannot meet to the last digit, they answer by squeezing.
SNUG = 1e-9  # gap up to which parts are not to come closer [m]
LARGE = 6  # coordinates of a tree, above which it is looked which of them a constraint moves


@kernel
def list_trees(dofs: Records, scene: SparseView) -> None:
    """Trees with their coordinates in order, and where each stands; kinematic ones come last."""
    nt = scene.trees.shape[0]
    # How many coordinates each tree has, and so where each begins
    for t in range(nt):
        scene.trees[t].nv = 0
    for j in range(dofs.shape[0]):
        if dofs[j].tree >= 0:
            scene.trees[dofs[j].tree].nv += 1
    first, mass_at = integer(0), integer(0)
    for t in range(nt):
        tree = scene.trees[t]
        tree.first, tree.mass_at = first, mass_at
        first += tree.nv
        mass_at += tree.nv * tree.nv
    # Kinematic coordinates come behind those of all trees
    for j in range(dofs.shape[0]):
        at = first
        if dofs[j].tree >= 0:
            at = scene.trees[dofs[j].tree].first + dofs[j].place
        else:
            first += 1
        scene.coordinates[at] = j


@kernel
def read_masses(dofs: Records, factors: Floats, scene: SparseView) -> None:
    """The trees' mass matrices M = L^T D L from their factors."""
    for t in range(scene.trees.shape[0]):
        tree = scene.trees[t]
        n = tree.nv
        for k in range(n * n):
            scene.masses[tree.mass_at + k] = 0.0
        # Outer products of the rows of L, each over the path from a coordinate to the root
        for place in range(n):
            k = scene.coordinates[tree.first + place]
            d = 1.0 / factors[k, k]
            i = k
            while i >= 0 and not dofs[i].kinematic:
                row = tree.mass_at + n * dofs[i].place
                left = d if i == k else d * factors[k, i]
                j = k
                while j >= 0 and not dofs[j].kinematic:
                    scene.masses[row + dofs[j].place] += left * (1.0 if j == k else factors[k, j])
                    j = dofs[j].parent
                i = dofs[i].parent


@kernel
def pose_problem(w: WorldView, scene: SparseView, count: int, dt: float) -> int:
    """Constraints of the first `count` contacts and of all limits; returns their number.

    dt: length of the step, or 0 in an impact, in which no gap closes
    Impulses start from those of the last step, by feature.
    """
    planar = w.header[0].directions == 2
    # The shift of tangents needs velocities of all contacts of a pair: first all, then the turns
    # Parts of steps are of many lengths; forces go on through all of them
    last = w.status[0].part
    part = dt / last if last > 0.0 else 1.0
    for i in range(count):
        _pose_contact(w, scene, i, planar, dt)
    if not planar:
        _align_tangents(w.contacts, count, scene)
    for i in range(count):
        gap = w.contacts[i].target
        offset = closing_speed(gap, dt) if abs(gap) > SNUG else 0.0
        _keep_offset(scene, i, polygon_of(w), w.contacts[i], offset)
        _warm_start(w.memory, w.contacts[i], part, scene.p[i])
    return _pose_limits(w, scene, count, part, dt)


@inlined
def _pose_contact(w: WorldView, scene: SparseView, index: int, planar: bool, dt: float) -> None:
    contact, c = w.contacts[index], scene.constraints[index]
    _find_drift(w, contact, c)
    # Without friction the slip bound would be indeterminate: no tangential rows
    contact.tangents = 0 if contact.friction == 0.0 else (1 if planar else 2)
    if contact.skewed == 0:
        reference_tangents(contact, planar)
    c.contact, c.rows, c.friction = index, 1 + contact.tangents, contact.friction
    c.moments, c.dry = -1, 0
    c.a, c.b = w.bodies[contact.body_a].tree, w.bodies[contact.body_b].tree
    # A contact between two parts of one tree has both in the same rows
    for r in range(6):
        for k in range(scene.J.shape[1]):
            scene.J[6 * index + r, k] = 0.0
    _add_side(w, scene, contact.body_a, contact, 1.0, 6 * index)
    if c.b == c.a:
        _add_side(w, scene, contact.body_b, contact, -1.0, 6 * index)
        c.b = -1
    else:
        _add_side(w, scene, contact.body_b, contact, -1.0, 6 * index + 3)
    if c.a < 0:
        _swap_sides(scene.J, c, index)
    if may_be_stuck(w.bodies, contact) and _is_stuck(scene, c, index):
        for r in range(6):
            for k in range(scene.J.shape[1]):
                scene.J[6 * index + r, k] = 0.0
    note_span(scene, index)
    # Predicted velocities, for the slip and the scale; `_keep_offset` leaves what is no J v
    for r in range(3):
        scene.bias[index, r] = row_velocity(scene, index, r, scene.free)
    scene.bias[index, 0] += closing_speed(contact.target, dt)
    if c.drifts:
        scene.bias[index, 0] += dot3(contact.normal, c.drift)
        scene.bias[index, 1] += dot3(contact.t1, c.drift)
        scene.bias[index, 2] += dot3(contact.t2, c.drift)


@inlined
def _find_drift(w: WorkView, contact: Any, constraint: Any) -> None:
    """What moves a contact's surfaces besides the trees: belts, and kinematic bodies."""
    constraint.drifts = contact.drifts
    for k in range(3):
        constraint.drift[k] = contact.drift[k] if contact.drifts else 0.0
    # Bodies that are moved from outside move the surface, as a belt does
    for side in range(2 if w.header[0].nkinematic > 0 else 0):
        body = w.bodies[contact.body_b if side else contact.body_a]
        sign, at, origin = -1.0 if side else 1.0, contact.point, w.pose[body.root].p
        px, py, pz = at[0] - origin[0], at[1] - origin[1], at[2] - origin[2]
        j = body.last
        while j >= 0:
            if w.dofs[j].kinematic:
                w0, w1, w2, rate = w.S[j, 0], w.S[j, 1], w.S[j, 2], sign * w.v_free[j]
                constraint.drift[0] += rate * (w.S[j, 3] + w1 * pz - w2 * py)
                constraint.drift[1] += rate * (w.S[j, 4] + w2 * px - w0 * pz)
                constraint.drift[2] += rate * (w.S[j, 5] + w0 * py - w1 * px)
                constraint.drifts = 1
            j = w.dofs[j].parent


@inlined
def _add_side(
    w: WorkView, scene: SparseView, body: int, contact: Any, sign: float, row: int
) -> None:
    """Add sign * (n, t1, t2)^T J_point of a body to three rows of J."""
    if w.bodies[body].tree < 0:  # no impulse moves it
        return
    n, t1, t2, at = contact.normal, contact.t1, contact.t2, contact.point
    origin = w.pose[w.bodies[body].root].p
    px, py, pz = at[0] - origin[0], at[1] - origin[1], at[2] - origin[2]
    j = w.bodies[body].last
    # Coordinate by coordinate: velocity of the point, S_v + S_w x r
    while j >= 0 and not w.dofs[j].kinematic:
        w0, w1, w2 = w.S[j, 0], w.S[j, 1], w.S[j, 2]
        vx = sign * (w.S[j, 3] + w1 * pz - w2 * py)
        vy = sign * (w.S[j, 4] + w2 * px - w0 * pz)
        vz = sign * (w.S[j, 5] + w0 * py - w1 * px)
        k = w.dofs[j].place
        scene.J[row, k] += n[0] * vx + n[1] * vy + n[2] * vz
        if contact.tangents > 0:
            scene.J[row + 1, k] += t1[0] * vx + t1[1] * vy + t1[2] * vz
        if contact.tangents > 1:
            scene.J[row + 2, k] += t2[0] * vx + t2[1] * vy + t2[2] * vz
        j = w.dofs[j].parent


@inlined
def _is_stuck(scene: SparseView, constraint: Any, index: int) -> bool:
    """Whether no coordinate of either side parts a contact."""
    stuck = is_rounding(scene.J, 6 * index, scene.trees[constraint.a].nv)
    if constraint.b >= 0:
        stuck = stuck and is_rounding(scene.J, 6 * index + 3, scene.trees[constraint.b].nv)
    return bool(stuck)


@inlined
def _swap_sides(J: Floats, constraint: Any, index: int) -> None:
    """A contact whose first body stands still acts on the second alone: that becomes side 0."""
    constraint.a, constraint.b = constraint.b, -1
    for r in range(3):
        for k in range(J.shape[1]):
            J[6 * index + r, k] = J[6 * index + 3 + r, k]


@inlined
def note_span(scene: SparseView, index: int) -> None:
    """Note which coordinates of its trees a constraint moves: of a robot's mostly a few."""
    c, row = scene.constraints[index], 6 * index
    for side in range(2):
        tree = c.b if side else c.a
        n = scene.trees[tree].nv if tree >= 0 else 0
        first, last = (n, 0) if n > LARGE else (0, n)
        for k in range(n if n > LARGE else 0):
            at = row + 3 * side
            if scene.J[at, k] != 0.0 or scene.J[at + 1, k] != 0.0 or scene.J[at + 2, k] != 0.0:
                first, last = min(first, k), k + 1
        c.first[side], c.last[side] = min(first, last), last


@inlined
def row_velocity(scene: SparseView, index: int, row: int, v: Floats) -> float:
    """Velocity [m/s] of `row` of constraint `index`, for v ordered by trees; without the bias."""
    c = scene.constraints[index]
    a = scene.trees[c.a]
    u = 0.0
    for k in range(c.first[0], c.last[0]):
        u += scene.J[6 * index + row, k] * v[a.first + k]
    if c.b >= 0:
        b = scene.trees[c.b]
        for k in range(c.first[1], c.last[1]):
            u += scene.J[6 * index + 3 + row, k] * v[b.first + k]
    return u


@inlined
def add_pull(scene: SparseView, index: int, row: int, impulse: float, out: Floats) -> None:
    """out += J^T of a row of constraint `index` times an impulse; out is ordered by trees."""
    c = scene.constraints[index]
    a = scene.trees[c.a]
    for k in range(c.first[0], c.last[0]):
        out[a.first + k] += impulse * scene.J[6 * index + row, k]
    if c.b >= 0:
        b = scene.trees[c.b]
        for k in range(c.first[1], c.last[1]):
            out[b.first + k] += impulse * scene.J[6 * index + 3 + row, k]


@inlined
def moved_rows(scene: SparseView, index: int, v: Floats) -> Three:
    """Velocities [m/s] of all rows of a constraint, without the bias; zero of no row."""
    c = scene.constraints[index]
    if c.rows == 1:
        return row_velocity(scene, index, 0, v), 0.0, 0.0
    # Side by side; rows that it does not have are zero
    x, y, z = 0.0, 0.0, 0.0
    for side in range(2 if c.b >= 0 else 1):
        first, at = scene.trees[c.b if side else c.a].first, 6 * index + 3 * side
        for k in range(c.first[side], c.last[side]):
            value = v[first + k]
            x += scene.J[at, k] * value
            y += scene.J[at + 1, k] * value
            z += scene.J[at + 2, k] * value
    return x, y, z


@inlined
def row_velocities(scene: SparseView, index: int, v: Floats) -> Three:
    """The same, right-hand sides included."""
    x, y, z = moved_rows(scene, index, v)
    rows, bias = scene.constraints[index].rows, scene.bias[index]
    return x + bias[0], y + bias[1] if rows > 1 else 0.0, z + bias[2] if rows > 2 else 0.0


@inlined
def predicted_velocity(scene: SparseView, index: int, row: int) -> float:
    """Velocity [m/s] of `row` of constraint `index` without impulses, the bias included."""
    return row_velocity(scene, index, row, scene.free) + scene.bias[index, row]


@inlined
def _align_tangents(contacts: Records, count: int, scene: SparseView) -> None:
    """Turn t1 along the predicted slip of the contacts of the same two bodies, side by side.

    As in `dynenvs.contact.assembly.rows`, whose comment says why.
    """
    first = integer(0)
    # A run of contacts of one pair
    while first < count:
        last = first + 1
        while last < count and contacts[last].group == contacts[first].group:
            last += 1
        # Their slip in the world's axes
        sx, sy, sz = 0.0, 0.0, 0.0
        for i in range(first, last):
            if contacts[i].skewed != 0:
                continue
            t1, t2 = contacts[i].t1, contacts[i].t2
            a, b = scene.bias[i, 1], scene.bias[i, 2]
            sx += a * t1[0] + b * t2[0]
            sy += a * t1[1] + b * t2[1]
            sz += a * t1[2] + b * t2[2]
        # Along that, as far as it lies in each one's plane
        for i in range(first, last):
            if contacts[i].tangents == 2 and contacts[i].skewed == 0:
                t1, t2 = contacts[i].t1, contacts[i].t2
                c = sx * t1[0] + sy * t1[1] + sz * t1[2]
                s = sx * t2[0] + sy * t2[1] + sz * t2[2]
                speed = math.sqrt(c * c + s * s)
                if speed > SLIP:
                    turn_rows(contacts[i], scene, i, c / speed, s / speed)
        first = last


@inlined
def turn_rows(contact: Any, scene: SparseView, index: int, cosine: float, sine: float) -> None:
    """Turn a contact's tangents, with their rows and right-hand sides."""
    # Axes, rows on both sides and right-hand sides turn alike
    for k in range(3):
        a, b = contact.t1[k], contact.t2[k]
        contact.t1[k] = cosine * a + sine * b
        contact.t2[k] = cosine * b - sine * a
    for side in range(2):
        r = 6 * index + 3 * side
        for k in range(scene.J.shape[1]):
            a, b = scene.J[r + 1, k], scene.J[r + 2, k]
            scene.J[r + 1, k] = cosine * a + sine * b
            scene.J[r + 2, k] = cosine * b - sine * a
    a, b = scene.bias[index, 1], scene.bias[index, 2]
    scene.bias[index, 1] = cosine * a + sine * b
    scene.bias[index, 2] = cosine * b - sine * a


@inlined
def _keep_offset(
    scene: SparseView, index: int, polygon: Records, contact: Any, offset: float
) -> None:
    """A contact's largest predicted velocity; the bias is what adds to J v from here on."""
    bias, c = scene.bias[index], scene.constraints[index]
    set_speed(c, polygon, (bias[0], bias[1], bias[2]))
    bias[0], bias[1], bias[2] = offset, 0.0, 0.0
    if c.drifts:
        bias[0] += dot3(contact.normal, c.drift)
        bias[1] = dot3(contact.t1, c.drift) if c.rows > 1 else 0.0
        bias[2] = dot3(contact.t2, c.drift) if c.rows > 2 else 0.0


@inlined
def set_speed(constraint: Any, polygon: Records, velocities: tuple[float, float, float]) -> None:
    """A constraint's largest predicted velocity, of those of its rows: the certificate's scale."""
    constraint.speed = abs(velocities[0])
    if constraint.rows == 2:
        constraint.speed = max(constraint.speed, abs(velocities[1]))
    elif constraint.rows == 3:
        constraint.speed = max(constraint.speed, strongest(polygon, velocities[1], velocities[2]))


@inlined
def _warm_start(memory: Records, contact: Any, part: float, impulses: Floats) -> None:
    """This part of the last step's impulses, along this step's normal and tangents."""
    last = memory[contact.candidate].impulse
    n, t1, t2 = contact.normal, contact.t1, contact.t2
    # In the world's axes it was kept: tangents have turned since
    impulses[0] = impulses[1] = impulses[2] = 0.0
    for k in range(3):
        impulses[0] += n[k] * last[k]
        impulses[1] += t1[k] * last[k] if contact.tangents > 0 else 0.0
        impulses[2] += t2[k] * last[k] if contact.tangents > 1 else 0.0
    if contact.skewed != 0:
        impulses[1] /= dot3(t1, t1)
        impulses[2] /= dot3(t2, t2)
    for r in range(3):
        impulses[r] *= part


@inlined
def _pose_limits(w: WorldView, scene: SparseView, count: int, part: float, dt: float) -> int:
    """Constraints of the joint limits in reach, after `count` others, as `limit_rows` makes them.

    part: of the last step's impulses, which they begin with
    Returns the number of all.
    """
    dofs, q, v, stops = w.dofs, w.q, w.v_free, w.stops
    expected = w.expected if dt > 0.0 else v
    for j in range(w.header[0].nv):
        dof = dofs[j]
        if dof.limited == 0:
            continue
        # The way left to the limit, and the axis along which it is approached
        a, b = 0.0, 0.0  # rates of a ball's other two coordinates
        if dof.limited == SWING:
            gap, axis = swing(dof, q, expected, j, dt)
            sign, a, b = axis
            near = has_axis(axis) and is_limit_near(gap, dot(axis, entries(expected, j)), dt)
            speed = dot(axis, entries(v, j))
        else:
            gap, sign = stop_ahead(dof, q, expected[j], dt)
            near, speed = is_limit_near(gap, sign * expected[j], dt), sign * v[j]
            gap = max(gap, 0.0)
        # One row along that axis
        if near:
            c = scene.constraints[count]
            c.contact, c.coordinate, c.rows, c.friction = LIMIT, j, 1, 0.0
            c.drifts, c.moments, c.dry = 0, -1, 0
            c.a, c.b = dof.tree, -1
            for r in range(6):
                for k in range(scene.J.shape[1]):
                    scene.J[6 * count + r, k] = 0.0
            scene.J[6 * count, dof.place] = sign
            if dof.limited == SWING:
                scene.J[6 * count, dof.place + 1], scene.J[6 * count, dof.place + 2] = a, b
            note_span(scene, count)
            scene.bias[count, 0] = closing_speed(gap, dt)
            c.speed = abs(speed + scene.bias[count, 0])
            scene.bias[count, 1] = scene.bias[count, 2] = 0.0
            # Along the entries of the row, three of a ball's
            last = sign * stops[j]
            if dof.limited == SWING:
                last += a * stops[j + 1] + b * stops[j + 2]
            scene.p[count, 0] = max(part * last, 0.0)
            scene.p[count, 1] = scene.p[count, 2] = 0.0
            count += 1
    return count
