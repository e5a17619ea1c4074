"""The momenta of islands that float, kept where positions are corrected, at no gain of energy.

Moving a body by dx at a given velocity v changes its angular momentum by dx x m v.  Where bodies
meet in empty space nothing outside could have given them that: the island as a whole is given the
spin that takes it back.  That changes no velocity at a contact, but may add to the kinetic energy,
which the island then loses again from its inner motion: what is left of each velocity besides the
motion of the whole as one rigid body is shrunk by one factor.  It carries no momentum, and contacts
that hold or part go on doing so.

For islands of free bodies that touch nothing that stands still.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import cross, dot, entries
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView
from dynenvs.memory.records import FREE
from dynenvs.memory.sparse_view import SparseView

INNER = 1e-12  # of the energy: less than this is none


@kernel
def begin_momentum(w: WorldView, scene: SparseView) -> int:
    """Note momenta and energy of floating islands at `w.pose_new`; returns how many there are."""
    # Islands that float, and their sums
    count = 0
    k = 0
    while k < scene.trees.shape[0] and scene.islands[k].count > 0:
        scene.islands[k].floats = 1 if _floats(w, scene, scene.islands[k]) else 0
        count += scene.islands[k].floats
        k += 1
    if count > 0:
        _sum(w, scene)
        for k in range(scene.trees.shape[0]):
            if scene.islands[k].count == 0:
                break
            island = scene.islands[k]
            island.energy = island.kinetic
            for i in range(3):
                island.kept[i] = island.angular[i]
    return count


@inlined
def _floats(w: ModelView, scene: SparseView, island: Any) -> bool:
    """Whether all trees are free bodies, and nothing that stands still is in reach."""
    floats = True
    for k in range(island.first, island.first + island.count):
        floats = floats and scene.constraints[scene.members[k]].b >= 0
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = scene.trees[scene.trees_of[k]]
        body = w.bodies[w.dofs[scene.coordinates[tree.first]].body]
        floats = floats and tree.nv == 6 and body.joint == FREE
    return floats


@kernel
def restore_momentum(w: WorldView, scene: SparseView) -> None:
    """Change `w.v_new` of floating islands: their momenta at `w.pose_new` are those noted."""
    # The sums as they have become; for each island the motion that puts them right
    _sum(w, scene)
    for k in range(scene.trees.shape[0]):
        if scene.islands[k].count == 0:
            break
        if scene.islands[k].floats != 0:
            _find_motion(scene.islands[k])
    # Body by body
    for t in range(scene.trees.shape[0]):
        tree = scene.trees[t]
        if tree.island >= 0 and scene.islands[tree.island].floats != 0:
            i = w.dofs[scene.coordinates[tree.first]].body
            _move(w, scene.islands[tree.island], i, w.bodies[i].v_at)


@inlined
def _clear(island: Any) -> None:
    island.mass = island.kinetic = 0.0
    for a in range(3):
        island.moment[a] = island.linear[a] = island.angular[a] = 0.0
        for b in range(3):
            island.inertia[a, b] = 0.0


@kernel
def _sum(w: WorldView, scene: SparseView) -> None:
    """Mass, first moment, inertia, momenta (about the world's origin) and energy of islands."""
    k = 0
    while k < scene.trees.shape[0] and scene.islands[k].count > 0:
        _clear(scene.islands[k])
        k += 1
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if body.tree < 0 or body.mass == 0.0 or scene.trees[body.tree].island < 0:
            continue
        island = scene.islands[scene.trees[body.tree].island]
        if island.floats != 0:
            _add_body(w, island, i, w.bodies[body.root].v_at, body, w.mass_scale[i])


@inlined
def _add_body(w: WorkView, island: Any, index: int, at: int, body: Any, scale: float) -> None:
    """Add what a body has to its island's sums.

    at: of the velocity of its tree's free joint; scale: of its mass
    """
    # Motion of its centre of mass
    root, pose, mass = w.pose_new[body.root], w.pose_new[index], body.mass * scale
    vx, vy, vz = rotate(root.frame, w.v_new[at : at + 3])
    omega = rotate(root.R, w.v_new[at + 3 : at + 6])
    cx, cy, cz = rotate(pose.R, body.com)
    c = cx + pose.p[0], cy + pose.p[1], cz + pose.p[2]
    dx, dy, dz = cross(omega, (c[0] - root.p[0], c[1] - root.p[1], c[2] - root.p[2]))
    v = vx + dx, vy + dy, vz + dz
    # Momenta about the world's origin, and inertia by Steiner's rule
    arm, square = cross(c, v), dot(c, c)
    island.mass += mass
    island.kinetic += 0.5 * mass * dot(v, v)
    for a in range(3):
        island.moment[a] += mass * c[a]
        island.linear[a] += mass * v[a]
        island.angular[a] += mass * arm[a]
        island.inertia[a, a] += mass * square
        for b in range(3):
            own = 0.0
            for k in range(3):
                for n in range(3):
                    own += pose.R[a, k] * body.inertia[k, n] * pose.R[b, n]
            own *= scale
            island.angular[a] += own * omega[b]
            island.kinetic += 0.5 * own * omega[a] * omega[b]
            island.inertia[a, b] += own - mass * c[a] * c[b]


@inlined
def _find_motion(island: Any) -> None:
    """The island's motion as one rigid body, now and as it is to be, and the factor of the rest.

    `moment` becomes the centre of mass, `linear` its velocity, `angular` and `kept` the angular
    velocities now and then, `energy` the factor.
    """
    I, now, then = island.inertia, island.angular, island.kept
    # Centre of mass and its velocity
    for a in range(3):
        island.moment[a] /= island.mass
        island.linear[a] /= island.mass
    c, V = entries(island.moment, 0), entries(island.linear, 0)
    # Angular momentum and inertia about the centre
    square, arm = dot(c, c), cross(c, V)
    for a in range(3):
        for b in range(3):
            I[a, b] += island.mass * c[a] * c[b]
        I[a, a] -= island.mass * square
        now[a] -= island.mass * arm[a]
        then[a] -= island.mass * arm[a]
    # What is left of the energy beside that of the whole as one rigid body, then and now
    as_one = 0.5 * island.mass * dot(V, V)
    inner = island.kinetic - as_one - _divide(I, now)
    left = island.energy - as_one - _divide(I, then)
    island.energy = 1.0
    # Only what has been gained is taken: the factor never exceeds one
    if left < inner and inner > INNER * island.kinetic:
        island.energy = math.sqrt(max(left, 0.0) / inner)


@inlined
def _divide(inertia: Floats, spin: Floats) -> float:
    """Angular momentum to angular velocity, in place; returns the energy of that turn.

    By cofactors: a group of bodies has inertia about every axis.
    """
    rows = entries(inertia[0], 0), entries(inertia[1], 0), entries(inertia[2], 0)
    # Minors of the rows are the cofactors
    momentum = entries(spin, 0)
    minors = cross(rows[1], rows[2]), cross(rows[2], rows[0]), cross(rows[0], rows[1])
    det = dot(rows[0], minors[0])
    for a in range(3):  # the inertia is symmetric, and so are its cofactors
        spin[a] = dot(minors[a], momentum) / det
    return 0.5 * dot(momentum, entries(spin, 0))


@inlined
def _move(w: WorkView, island: Any, root: int, at: int) -> None:
    """Give a free body, whose velocity begins at `at`, its part of the island's new motion."""
    # The velocity that the island's own motion gives the body, before and after
    pose, c, part = w.pose_new[root], entries(island.moment, 0), island.energy
    arm = pose.p[0] - c[0], pose.p[1] - c[1], pose.p[2] - c[2]
    now, then = entries(island.angular, 0), entries(island.kept, 0)
    moved, moves = cross(now, arm), cross(then, arm)
    spin = rotate(pose.R, w.v_new[at + 3 : at + 6])
    speed = rotate(pose.frame, w.v_new[at : at + 3])
    # The change of that, and a share of what the body has beside it
    change = (
        moves[0] - moved[0] - (1.0 - part) * (speed[0] - island.linear[0] - moved[0]),
        moves[1] - moved[1] - (1.0 - part) * (speed[1] - island.linear[1] - moved[1]),
        moves[2] - moved[2] - (1.0 - part) * (speed[2] - island.linear[2] - moved[2]),
    )
    turn = (
        then[0] - now[0] - (1.0 - part) * (spin[0] - now[0]),
        then[1] - now[1] - (1.0 - part) * (spin[1] - now[1]),
        then[2] - now[2] - (1.0 - part) * (spin[2] - now[2]),
    )
    # Back into the axes of the joint
    for a in range(3):
        for b in range(3):
            w.v_new[at + a] += pose.frame[b, a] * change[b]
            w.v_new[at + 3 + a] += pose.R[b, a] * turn[b]
