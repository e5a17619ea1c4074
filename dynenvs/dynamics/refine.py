"""One step of iterative refinement for deep trees, whose mass matrix has lost digits.

M and h are sums about the tree's origin in relative coordinates.  In a chain of n links both have
entries that are n^3 times what turns its last link, so that even exact entries, rounded, leave
n^4 eps in the velocities (30 links: 1e-10 m/s).  Newton's and Euler's equations, written about each
body's own origin with the joints' own arms, lose nothing of the kind: what they say is left of

    M^ (v_free - v) = dt (tau - h - D v)     and     M^ (v_new - v_free) = J^T p

is worth a correction by the factors at hand, and after one the velocities are good to 1e-14
(Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 12; the residual's own
algorithm is Featherstone 2008, table 5.1, in each body's frame of reference).

For trees of hinges and slides; which models are refined is decided when they are built
(`dynenvs/model/plan.py`), so that the same state always gives the same bits.  Scratch: rows of each
body's IA, which only `aba.py` uses besides: its twist (or rate of it) at its origin, the wrench
there, and its arm from the parent's origin.
"""

from __future__ import annotations

from typing import Any

from dynenvs.dynamics.factor import solve
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.spatial import dot3
from dynenvs.memory.layout import Floats, WorkView, WorldView, damped_time
from dynenvs.memory.records import PRISMATIC, REVOLUTE

REFINED = 0  # what the kernels return, unless they could not be compiled
TWIST, WRENCH, ARM = range(3)  # rows of IA


@unit("refined", seconds=3.5)
def refine_free(w: WorldView, tau: Floats, dt: float) -> int:
    """Correct `w.v_free` by what the equations of motion miss.  Needs what made it."""
    # The acceleration that the step has found
    for j in range(w.header[0].nv):
        w.rhs[j] = (w.v_free[j] - w.v[j]) / dt
    _arms(w)
    _outward(w, w.rhs, True)
    # What the bodies need for that, and what pushes them
    for i in range(1, w.header[0].nb):
        _inertial(w.bodies[i], w.mass_scale[i], w.pose[i], w.body[i], True)
        _push(w.bodies[i], w.wrench[i], w.pose[i], w.body[i].IA[WRENCH])
    # What the joints need: the difference is the defect, and the factors correct it
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        w.rhs[j] = tau[j] - dof.damping * w.v[j] - (dof.armature + dt * dof.damping) * w.rhs[j]
    _inward(w, w.rhs)
    solve(w, w.L, w.rhs)
    for j in range(w.header[0].nv):
        w.v_free[j] += dt * w.rhs[j]
    return REFINED


@unit("refined", seconds=2)
def refine_biases(w: WorldView, count: int, dt: float) -> int:
    """Right-hand sides of the contacts' rows from `w.v_free`, body by body."""
    _arms(w)
    _outward(w, w.v_free, False)
    # Rows from the bodies' own velocities, not from sums about the tree's origin
    for i in range(count):
        contact = w.contacts[i]
        r = contact.row
        un, u1, u2 = _velocity(w, contact)
        if contact.drifts:
            u1, u2 = u1 + dot3(contact.t1, contact.drift), u2 + dot3(contact.t2, contact.drift)
        w.bias_row[r] = un + contact.target / dt
        if contact.tangents > 0:
            w.bias_row[r + 1] = u1
        if contact.tangents > 1:
            w.bias_row[r + 2] = u2
    return REFINED


@unit("refined", seconds=3)
def refine_response(w: WorldView, count: int, rows: int, dt: float) -> int:
    """Correct `w.v_new` = v_free + M^-1 J^T p, and the rows' right-hand sides by what G p misses.

    The contact problem with these right-hand sides has the answer of the exact G, to first order.
    """
    nv = w.header[0].nv
    # What the bodies' equations of motion miss for v_new - v_free
    for j in range(nv):
        w.rhs[j] = w.v_new[j] - w.v_free[j]
    _arms(w)
    _outward(w, w.rhs, False)
    for i in range(1, w.header[0].nb):
        _inertial(w.bodies[i], w.mass_scale[i], w.pose[i], w.body[i], False)
    r = 0
    for i in range(count):
        r = w.contacts[i].row + 1 + w.contacts[i].tangents
        _press(w, w.contacts[i])
    damped = damped_time(w, dt)
    for j in range(nv):
        w.rhs[j] *= -(w.dofs[j].armature + damped * w.dofs[j].damping)
    for k in range(r, rows):
        for j in range(nv):
            w.rhs[j] += w.J[k, j] * w.impulse_row[k]
    _inward(w, w.rhs)
    # The correction of the velocity
    solve(w, w.L, w.rhs)
    for j in range(nv):
        w.v_new[j] += w.rhs[j]
        w.rhs[j] = w.v_new[j] - w.v_free[j]
    _outward(w, w.rhs, False)
    # The rows' velocities beside those that G p gives
    for i in range(count):
        contact = w.contacts[i]
        un, u1, u2 = _velocity(w, contact)
        _miss(w, contact.row, un, rows)
        if contact.tangents > 0:
            _miss(w, contact.row + 1, u1, rows)
        if contact.tangents > 1:
            _miss(w, contact.row + 2, u2, rows)
    for k in range(r, rows):
        velocity = 0.0
        for j in range(nv):
            velocity += w.J[k, j] * w.rhs[j]
        _miss(w, k, velocity, rows)
    return REFINED


@inlined
def _miss(w: WorkView, row: int, velocity: float, rows: int) -> None:
    """Add to a row's right-hand side by how much its true change differs from (G p)_r."""
    for c in range(rows):
        velocity -= w.G[row, c] * w.impulse_row[c]
    w.bias_row[row] += velocity


@kernel
def _arms(w: WorldView) -> None:
    """From each parent's origin to its body's, world axes: places' differences lose digits."""
    for i in range(1, w.header[0].nb):
        body, arm = w.bodies[i], w.body[i].IA[ARM]
        arm[0], arm[1], arm[2] = rotate(w.pose[body.parent].R, body.position)
        if body.joint == PRISMATIC:
            for k in range(3):
                arm[k] += w.q[body.q_at] * w.S[body.v_at, 3 + k]


@inlined
def _cross(
    a0: float, a1: float, a2: float, b0: float, b1: float, b2: float
) -> tuple[float, float, float]:
    return a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0


@kernel
def _outward(w: WorldView, rates: Floats, moving: bool) -> None:
    """Twists (angular; linear) of the bodies' origins for `rates` of the coordinates.

    moving: rates are accelerations: with velocity products, and gravity as the world's
        acceleration.
    """
    # Gravity as the world's acceleration
    world, g = w.body[0].IA[TWIST], w.header[0].gravity
    for k in range(3):
        world[k] = 0.0
        world[3 + k] = -g[k] if moving else 0.0
    for i in range(1, w.header[0].nb):
        body, work = w.bodies[i], w.body[i]
        # The parent's twist, at this body's origin
        up, own, arm = w.body[body.parent].IA[TWIST], work.IA[TWIST], work.IA[ARM]
        turn = w.body[body.parent].v
        c0, c1, c2 = _cross(up[0], up[1], up[2], arm[0], arm[1], arm[2])
        a0, a1, a2 = up[0], up[1], up[2]
        l0, l1, l2 = up[3] + c0, up[4] + c1, up[5] + c2
        # Centripetal acceleration along the arm
        if moving:
            c0, c1, c2 = _cross(turn[0], turn[1], turn[2], arm[0], arm[1], arm[2])
            c0, c1, c2 = _cross(turn[0], turn[1], turn[2], c0, c1, c2)
            l0, l1, l2 = l0 + c0, l1 + c1, l2 + c2
        # The joint's own rate; of a slide, Coriolis' term counts twice
        if body.nv > 0:
            j = body.v_at
            S, rate, speed = w.S[j], rates[j], w.v[j] if moving else 0.0
            if body.joint == REVOLUTE:
                c0, c1, c2 = _cross(turn[0], turn[1], turn[2], S[0], S[1], S[2])
                a0 += S[0] * rate + c0 * speed
                a1 += S[1] * rate + c1 * speed
                a2 += S[2] * rate + c2 * speed
            else:
                c0, c1, c2 = _cross(turn[0], turn[1], turn[2], S[3], S[4], S[5])
                l0 += S[3] * rate + 2.0 * c0 * speed
                l1 += S[4] * rate + 2.0 * c1 * speed
                l2 += S[5] * rate + 2.0 * c2 * speed
        own[0], own[1], own[2], own[3], own[4], own[5] = a0, a1, a2, l0, l1, l2


@kernel
def _inertial(body: Any, scale: float, pose: Any, work: Any, moving: bool) -> None:
    """The wrench (moment; force) at a body's origin that its twist's rate takes."""
    a, f, B = work.IA[TWIST], work.IA[WRENCH], body.inertia
    # Acceleration of the centre of mass gives the force ...
    mass = scale * body.mass
    x, y, z = rotate(pose.R, body.com)
    f3 = mass * (a[3] + a[1] * z - a[2] * y)
    f4 = mass * (a[4] + a[2] * x - a[0] * z)
    f5 = mass * (a[5] + a[0] * y - a[1] * x)
    # ... and Euler's equation the moment about it
    n0, n1, n2 = _turned(pose.R, B, scale, a)
    if moving:
        v = work.v
        c0, c1, c2 = _cross(v[0], v[1], v[2], x, y, z)
        c0, c1, c2 = _cross(v[0], v[1], v[2], c0, c1, c2)
        f3, f4, f5 = f3 + mass * c0, f4 + mass * c1, f5 + mass * c2
        h0, h1, h2 = _turned(pose.R, B, scale, v)
        c0, c1, c2 = _cross(v[0], v[1], v[2], h0, h1, h2)
        n0, n1, n2 = n0 + c0, n1 + c1, n2 + c2
    # The moment about the origin
    c0, c1, c2 = _cross(x, y, z, f3, f4, f5)
    f[0], f[1], f[2] = n0 + c0, n1 + c1, n2 + c2
    f[3], f[4], f[5] = f3, f4, f5


@inlined
def _turned(
    rotation: Floats, inertia: Floats, scale: float, v: Floats
) -> tuple[float, float, float]:
    """scale R B R^T times the angular part of v."""
    x = rotation[0, 0] * v[0] + rotation[1, 0] * v[1] + rotation[2, 0] * v[2]
    y = rotation[0, 1] * v[0] + rotation[1, 1] * v[1] + rotation[2, 1] * v[2]
    z = rotation[0, 2] * v[0] + rotation[1, 2] * v[1] + rotation[2, 2] * v[2]
    a = scale * (inertia[0, 0] * x + inertia[0, 1] * y + inertia[0, 2] * z)
    b = scale * (inertia[1, 0] * x + inertia[1, 1] * y + inertia[1, 2] * z)
    c = scale * (inertia[2, 0] * x + inertia[2, 1] * y + inertia[2, 2] * z)
    return (
        rotation[0, 0] * a + rotation[0, 1] * b + rotation[0, 2] * c,
        rotation[1, 0] * a + rotation[1, 1] * b + rotation[1, 2] * c,
        rotation[2, 0] * a + rotation[2, 1] * b + rotation[2, 2] * c,
    )


@inlined
def _push(body: Any, wrench: Floats, pose: Any, force: Floats) -> None:
    """force -= an external wrench at the body's centre of mass."""
    x, y, z = rotate(pose.R, body.com)
    force[0] -= wrench[0] + y * wrench[5] - z * wrench[4]
    force[1] -= wrench[1] + z * wrench[3] - x * wrench[5]
    force[2] -= wrench[2] + x * wrench[4] - y * wrench[3]
    for k in range(3, 6):
        force[k] -= wrench[k]


@kernel
def _press(w: WorkView, contact: Any) -> None:
    """Take a contact's impulse from the wrenches of its two bodies."""
    r, at, n, t1, t2 = contact.row, contact.point, contact.normal, contact.t1, contact.t2
    # The impulse in world axes
    p0 = w.impulse_row[r]
    p1 = w.impulse_row[r + 1] if contact.tangents > 0 else 0.0
    p2 = w.impulse_row[r + 2] if contact.tangents > 1 else 0.0
    x = p0 * n[0] + p1 * t1[0] + p2 * t2[0]
    y = p0 * n[1] + p1 * t1[1] + p2 * t2[1]
    z = p0 * n[2] + p1 * t1[2] + p2 * t2[2]
    # On either body about its own origin: short arms lose no digits
    for side in range(2):
        i, sign = (contact.body_a, 1.0) if side == 0 else (contact.body_b, -1.0)
        o, f = w.pose[i].p, w.body[i].IA[WRENCH]
        if i > 0:
            c0, c1, c2 = _cross(at[0] - o[0], at[1] - o[1], at[2] - o[2], x, y, z)
            f[0] -= sign * c0
            f[1] -= sign * c1
            f[2] -= sign * c2
            f[3] -= sign * x
            f[4] -= sign * y
            f[5] -= sign * z


@kernel
def _velocity(w: WorkView, contact: Any) -> tuple[float, float, float]:
    """Velocity of A's point from B's along the contact's normal and tangents."""
    n, t1, t2, at = contact.normal, contact.t1, contact.t2, contact.point
    v0, v1, v2 = 0.0, 0.0, 0.0
    for side in range(2):
        i, sign = (contact.body_a, 1.0) if side == 0 else (contact.body_b, -1.0)
        if i > 0:
            o, u = w.pose[i].p, w.body[i].IA[TWIST]
            x, y, z = at[0] - o[0], at[1] - o[1], at[2] - o[2]
            v0 += sign * (u[3] + u[1] * z - u[2] * y)
            v1 += sign * (u[4] + u[2] * x - u[0] * z)
            v2 += sign * (u[5] + u[0] * y - u[1] * x)
    return (
        n[0] * v0 + n[1] * v1 + n[2] * v2,
        t1[0] * v0 + t1[1] * v1 + t1[2] * v2,
        t2[0] * v0 + t2[1] * v1 + t2[2] * v2,
    )


@kernel
def _inward(w: WorkView, rates: Floats) -> None:
    """x_j -= S_j . (all that the joint carries); wrenches go from bodies to their parents."""
    # Tips to base: what a body carries comes to it over the arm
    for i in range(w.header[0].nb - 1, 0, -1):
        body, work = w.bodies[i], w.body[i]
        f, arm = work.IA[WRENCH], work.IA[ARM]
        if body.nv > 0:
            S, at = w.S[body.v_at], 0 if body.joint == REVOLUTE else 3
            rates[body.v_at] -= S[at] * f[at] + S[at + 1] * f[at + 1] + S[at + 2] * f[at + 2]
        if body.parent > 0:
            up = w.body[body.parent].IA[WRENCH]
            c0, c1, c2 = _cross(arm[0], arm[1], arm[2], f[3], f[4], f[5])
            up[0] += f[0] + c0
            up[1] += f[1] + c1
            up[2] += f[2] + c2
            for k in range(3, 6):
                up[k] += f[k]
