"""Floating trees in the midpoint rule: momentum kept to rounding while nothing outside touches.

The midpoint rule's equations hold at the middle of a step, where they were linearised; at its end
the momentum of a tree is what it should be but for terms of third order.  Those are taken out of
the motion of the base.  Given the shape of the tree and the rates of its joints, its momentum about
the centre of mass, in the base's axes, is I w + k: I is its inertia as if it were rigid, k what the
joints' own motion adds.  So the base's turn is that of a gyrostat,

    Rm exp(h/2 w+) (I w+ + k) = L + h N,

of which three steps of Newton's method find w+ to rounding.  The centre of mass moves with the mean
of its velocities.  Joints, and impulses between parts of the tree, do not notice how the base moves
as a whole.  Where positions were corrected at the middle, because limbs of the tree touch each
other, the base keeps the turn that the correction gave it: that and the joints' changes leave its
momentum alone only together.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.jit.views import words
from dynenvs.kinematics.rotation import rotate, rotate_quaternion, rotation_vector
from dynenvs.kinematics.spatial import inertia_times
from dynenvs.kinematics.triples import (
    Three,
    cross,
    entries,
    into_body,
    plus,
    put_entries,
    scaled,
    size,
    solved,
    symmetric,
    turned_back,
    turned_by_quaternion,
    within,
)
from dynenvs.memory.layout import Floats, WorkView, WorldView

NEWTON_STEPS = 20
ROUNDING = 1e-16  # relative change of the velocity, below which it is found

# What is noted of a tree in the rows of `w.U` that belong to its free joint: threes, world axes.
# The moment from outside about the centre of mass, and the force; the mass;
# then, at the start or the end of a step, centre of mass and its velocity, angular momentum about
# it, and inertia.
MOMENT, FORCE, MASS, START, END = 0, 3, 6, 9, 18
CENTER, VELOCITY, TURN, DIAGONAL, OFF = 0, 3, 6, 9, 12  # from START, or from END, on
CORRECTION = 33  # by which the base was turned at the middle, a rotation vector in its own axes


@inlined
def notes(w: WorkView, index: int) -> Floats:
    """Room for what is noted of the tree of body `index`, which is on a free joint; shape (36,)."""
    at = 6 * w.bodies[index].v_at
    return words(w.U, 6 * w.header[0].nv)[at : at + 36]


@kernel
def push_tree(w: WorldView, index: int) -> None:
    """Note what gravity and the external wrenches do to the tree of body `index`, and its mass.

    Needs the poses and composite inertias at the middle of a step.
    """
    note, work, o = notes(w, index), w.body[index], w.pose[index].p
    mass, h = work.mc, work.hc
    note[MASS] = mass
    g = w.header[0].gravity
    # Gravity acts at the centre of mass; each wrench at its body's
    moment, force = (0.0, 0.0, 0.0), (mass * g[0], mass * g[1], mass * g[2])
    for b in range(index, w.header[0].nb):
        if w.bodies[b].root == index:
            e, p = w.wrench[b], w.pose[b].p
            x, y, z = rotate(w.pose[b].R, w.bodies[b].com)
            arm = (
                x + p[0] - o[0] - h[0] / mass,
                y + p[1] - o[1] - h[1] / mass,
                z + p[2] - o[2] - h[2] / mass,
            )
            moment = plus(plus(moment, 1.0, entries(e, 0)), 1.0, cross(arm, entries(e, 3)))
            force = plus(force, 1.0, entries(e, 3))
    put_entries(note, MOMENT, moment)
    put_entries(note, FORCE, force)


@kernel
def sum_tree(w: WorkView, index: int, at: int) -> None:
    """Note centre of mass, momentum and inertia of the tree of body `index`, from entry `at` on.

    Needs `update_kinematics`.
    """
    note = notes(w, index)
    mass = note[MASS]
    zero = (0.0, 0.0, 0.0)
    # First moment, momenta and inertia about the tree's origin
    h, P, L, diagonal, off = zero, zero, zero, zero, zero
    for b in range(index, w.header[0].nb):
        if w.bodies[b].root == index:
            work = w.body[b]
            f, I = work.f, work.I
            inertia_times(work.m, work.h, I, work.v, f)
            h = plus(h, 1.0, entries(work.h, 0))
            L = plus(L, 1.0, entries(f, 0))
            P = plus(P, 1.0, entries(f, 3))
            diagonal = plus(diagonal, 1.0, (I[0, 0], I[1, 1], I[2, 2]))
            off = plus(off, 1.0, (I[1, 2], I[0, 2], I[0, 1]))
    # From the tree's origin to its centre of mass
    x, y, z = scaled(1.0 / mass, h)
    squares = (y * y + z * z, x * x + z * z, x * x + y * y)
    put_entries(note, at + CENTER, plus((x, y, z), 1.0, entries(w.pose[index].p, 0)))
    put_entries(note, at + VELOCITY, scaled(1.0 / mass, P))
    put_entries(note, at + TURN, plus(L, -1.0, cross((x, y, z), P)))
    put_entries(note, at + DIAGONAL, plus(diagonal, -mass, squares))
    put_entries(note, at + OFF, plus(off, mass, (y * z, x * z, x * y)))


@inlined
def _spin_base(
    diagonal: Three, off: Three, own: Three, momentum: Three, w: Three, half: float
) -> Three:
    """The angular velocity w+ of I w+ + own = exp(-half w+) L, from the guess w."""
    for _ in range(NEWTON_STEPS):
        # The momentum as seen after half of the turn at the present guess
        b = turned_back(momentum, scaled(half, w))
        miss = plus(plus(b, -1.0, own), -1.0, symmetric(diagonal, off, w))
        ex, ey, ez = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        # Newton's matrix by columns: the inertia, and how the turn moves the momentum
        change = solved(
            plus(symmetric(diagonal, off, ex), -half, cross(b, ex)),
            plus(symmetric(diagonal, off, ey), -half, cross(b, ey)),
            plus(symmetric(diagonal, off, ez), -half, cross(b, ez)),
            miss,
        )
        w = plus(w, 1.0, change)
        if not size(change) > ROUNDING * size(w):
            break
    return w


@inlined
def _correction(note: Floats, without: Floats, corrected: Floats) -> Three:
    """The turn that leads from one orientation of the base to another; zero if they are equal."""
    for k in range(4):
        if without[k] != corrected[k]:
            rotation_vector(without, corrected, note[CORRECTION : CORRECTION + 3])
            return entries(note, CORRECTION)
    return (0.0, 0.0, 0.0)


@kernel
def fly_tree(w: WorldView, index: int, start: Floats, flown: Floats, dt: float) -> None:
    """Motion of a base at the end of a step in which nothing outside touched its tree.

    start: positions at the start of the step, shape (nq,); `w.v` are the velocities there.
    flown: positions at the next middle, shape (nq,), as velocities alone lead to it; those in
    `w.q_new` are corrected.
    dt: length of the step [s]
    `w.q` and `w.v_new` are what the step leads to: their parts of the base are corrected.  Needs
    the notes of the tree at the start and the end, and the poses at the end.
    """
    body, note, pose = w.bodies[index], notes(w, index), w.pose[index]
    at, v_at, mass = body.q_at, body.v_at, note[MASS]
    w0, w1 = entries(w.v, v_at + 3), entries(w.v_new, v_at + 3)
    # Angular momentum to be, in the axes of the middle
    L = plus(entries(note, START + TURN), dt, entries(note, MOMENT))
    R = w.pose_new[index].R  # at the start
    L = turned_back(into_body(R, L), scaled(0.5 * dt, w0))
    correction = _correction(note, flown[at + 3 : at + 7], w.q_new[at + 3 : at + 7])
    L = turned_back(L, correction)
    # Of the shape at the end, in the base's axes: inertia, centre of mass, and the joints' share
    R, F = pose.R, pose.frame
    diagonal, off = within(R, entries(note, END + DIAGONAL), entries(note, END + OFF))
    own = into_body(R, entries(note, END + TURN))
    own = plus(own, -1.0, symmetric(diagonal, off, w1))
    c = into_body(R, plus(entries(note, END + CENTER), -1.0, entries(pose.p, 0)))
    x, y, z = rotate(F, w.v_new[v_at : v_at + 3])
    inner = into_body(R, plus(entries(note, END + VELOCITY), -1.0, (x, y, z)))
    inner = plus(inner, -1.0, cross(w1, c))
    # The turn that gives this shape the momentum that it must have
    found = _spin_base(diagonal, off, own, L, w1, 0.5 * dt)
    put_entries(w.v_new, v_at + 3, found)
    # Orientation: half a step with the old turn, the correction, half a step with the new one
    q = w.q[at + 3 : at + 7]
    x, y, z = scaled(0.5 * dt, w0)
    rotate_quaternion(start[at + 3 : at + 7], x, y, z, q)
    x, y, z = correction
    if x != 0.0 or y != 0.0 or z != 0.0:
        rotate_quaternion(q, x, y, z, q)
    x, y, z = scaled(0.5 * dt, found)
    rotate_quaternion(q, x, y, z, q)
    # Where the base is for the centre of mass to be where it is to be, and likewise its velocity
    V0 = entries(note, START + VELOCITY)
    V1 = plus(V0, dt / mass, entries(note, FORCE))
    place = plus(plus(entries(note, START + CENTER), 0.5 * dt, V0), 0.5 * dt, V1)
    arm = turned_by_quaternion(q, 0, c)
    moved = plus(plus(place, -1.0, rotate(F, arm)), -1.0, entries(pose.p, 0))
    put_entries(w.q, at, plus(entries(w.q, at), 1.0, into_body(F, moved)))
    swing = turned_by_quaternion(q, 0, plus(inner, 1.0, cross(found, c)))
    put_entries(w.v_new, v_at, plus(into_body(F, V1), -1.0, swing))
