"""The angular momentum of islands that float, kept where positions are corrected.

Moving a body by dx at a given velocity v changes its angular momentum by dx x m v.  Where bodies
meet in empty space nothing outside could have given them that: the island as a whole is given the
spin that takes it back.  A rigid motion of the whole changes no velocity at a contact.

For islands of free bodies that touch nothing that stands still.
"""

from __future__ import annotations

from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.layout import ModelView, StateView, WorkspaceView
from dynenvs.records import FREE
from dynenvs.rotation import rotate
from dynenvs.sparse_view import SparseView


@kernel
def begin_momentum(m: ModelView, s: StateView, w: WorkspaceView, x: SparseView) -> int:
    """Note the momenta of floating islands at `w.pose_new` and `w.v_new`; returns their number."""
    count = 0
    k = 0
    while k < x.trees.shape[0] and x.islands[k].count > 0:
        island = x.islands[k]
        island.floats = 1 if _floats(m, x, island) else 0
        count += island.floats
        for i in range(3):
            island.spin[i] = 0.0
        k += 1
    if count > 0:
        _add(m, s, w, x, -1.0)
    return count


@inlined
def _floats(m: ModelView, x: SparseView, island: Any) -> bool:
    """Whether all trees are free bodies, and nothing that stands still is in reach."""
    floats = True
    for k in range(island.first, island.first + island.count):
        floats = floats and x.constraints[x.members[k]].b >= 0
    for k in range(island.first_tree, island.first_tree + island.trees):
        tree = x.trees[x.trees_of[k]]
        body = m.bodies[m.dofs[x.coordinates[tree.first]].body]
        floats = floats and tree.nv == 6 and body.joint == FREE
    return floats


@kernel
def restore_momentum(m: ModelView, s: StateView, w: WorkspaceView, x: SparseView) -> None:
    """Change `w.v_new` of floating islands: their momenta at `w.pose_new` are those noted."""
    k = 0
    while k < x.trees.shape[0] and x.islands[k].count > 0:
        island = x.islands[k]
        k += 1
        island.mass = 0.0
        for i in range(3):
            island.moment[i] = 0.0
            for j in range(3):
                island.inertia[i, j] = 0.0
    _add(m, s, w, x, 1.0)
    for k in range(x.trees.shape[0]):
        if x.islands[k].count == 0:
            break
        if x.islands[k].floats != 0:
            _find_spin(x.islands[k])
    for t in range(x.trees.shape[0]):
        tree = x.trees[t]
        if tree.island >= 0 and x.islands[tree.island].floats != 0:
            i = m.dofs[x.coordinates[tree.first]].body
            _turn(w, x.islands[tree.island], i, m.bodies[i].v_at)


@kernel
def _add(m: ModelView, s: StateView, w: WorkspaceView, x: SparseView, sign: float) -> None:
    """Add sign times each body's angular momentum about the world's origin to its island's.

    And mass, first moment and inertia, all about the world's origin.
    """
    for i in range(1, m.header[0].nb):
        body = m.bodies[i]
        if body.tree < 0 or body.mass == 0.0 or x.trees[body.tree].island < 0:
            continue
        island = x.islands[x.trees[body.tree].island]
        if island.floats == 0:
            continue
        root, pose = w.pose_new[body.root], w.pose_new[i]
        at = m.bodies[body.root].v_at
        mass = body.mass * s.mass_scale[i]
        vx, vy, vz = rotate(root.frame, w.v_new[at : at + 3])
        wx, wy, wz = rotate(root.R, w.v_new[at + 3 : at + 6])
        cx, cy, cz = rotate(pose.R, body.com)
        cx, cy, cz = cx + pose.p[0], cy + pose.p[1], cz + pose.p[2]
        dx, dy, dz = cx - root.p[0], cy - root.p[1], cz - root.p[2]
        vx += wy * dz - wz * dy
        vy += wz * dx - wx * dz
        vz += wx * dy - wy * dx
        island.spin[0] += sign * mass * (cy * vz - cz * vy)
        island.spin[1] += sign * mass * (cz * vx - cx * vz)
        island.spin[2] += sign * mass * (cx * vy - cy * vx)
        c, omega = (cx, cy, cz), (wx, wy, wz)
        square = cx * cx + cy * cy + cz * cz
        island.mass += mass
        for a in range(3):
            island.moment[a] += mass * c[a]
            for b in range(3):
                own = 0.0
                for k in range(3):
                    for n in range(3):
                        own += pose.R[a, k] * body.inertia[k, n] * pose.R[b, n]
                own *= s.mass_scale[i]
                island.spin[a] += sign * own * omega[b]
                island.inertia[a, b] += own - mass * c[a] * c[b]
            island.inertia[a, a] += mass * square


@inlined
def _find_spin(island: Any) -> None:
    """`spin` from what is missing [N m s] to the angular velocity that gives it [rad/s].

    And `moment` to the centre of mass.
    """
    c, I, spin = island.moment, island.inertia, island.spin
    for a in range(3):
        c[a] /= island.mass
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    for a in range(3):
        for b in range(3):
            I[a, b] += island.mass * c[a] * c[b]
        I[a, a] -= island.mass * square
    # The inverse by cofactors: a group of bodies has inertia about every axis
    yz = I[1, 1] * I[2, 2] - I[1, 2] * I[1, 2]
    xz = I[0, 2] * I[1, 2] - I[0, 1] * I[2, 2]
    xy = I[0, 1] * I[1, 2] - I[0, 2] * I[1, 1]
    zz = I[0, 0] * I[1, 1] - I[0, 1] * I[0, 1]
    yy = I[0, 0] * I[2, 2] - I[0, 2] * I[0, 2]
    yx = I[0, 1] * I[0, 2] - I[0, 0] * I[1, 2]
    det = I[0, 0] * yz + I[0, 1] * xz + I[0, 2] * xy
    sx, sy, sz = -spin[0] / det, -spin[1] / det, -spin[2] / det
    spin[0] = yz * sx + xz * sy + xy * sz
    spin[1] = xz * sx + yy * sy + yx * sz
    spin[2] = xy * sx + yx * sy + zz * sz


@inlined
def _turn(w: WorkspaceView, island: Any, root: int, at: int) -> None:
    """Add the island's spin about its centre of mass to a free body, whose velocity begins at."""
    pose, c, s = w.pose_new[root], island.moment, island.spin
    dx, dy, dz = pose.p[0] - c[0], pose.p[1] - c[1], pose.p[2] - c[2]
    moved = (s[1] * dz - s[2] * dy, s[2] * dx - s[0] * dz, s[0] * dy - s[1] * dx)
    for a in range(3):
        for b in range(3):
            w.v_new[at + a] += pose.frame[b, a] * moved[b]
            w.v_new[at + 3 + a] += pose.R[b, a] * s[b]
