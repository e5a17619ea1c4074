"""Bodies that turn independently of all others: their gyroscopic term is implicit in a step.

A single body on a free joint, or a top on a ball that stands still, keeps the energy of its spin
and the length of its angular momentum.  With the gyroscopic term w x I w of the beginning of a step
it would gain both, without end once it turns by a radian in a step.  So forces push without it,

    M^ (w* - w) = dt (tau - h' - D w),    h' = h without w x I w,

in the middle of a free turn for the time of the step, by Euler's equations (`loose.spin`: energy
and length to rounding, whatever the step), in parts of at most TURN, which bring the direction of
the angular momentum along.  Contacts push in the middle, too (`contact.turned`): a top that stands
on the floor would else see the moment of its weight turned by half of its own turn in the step, and
lie down or stand up within seconds.  Free motion and pushes in turns: Reich (1994), "Momentum
conserving symplectic integrators", Physica D 76; Dullweber, Leimkuhler and McLachlan (1997),
"Symplectic splitting methods for rigid body molecular dynamics", J. Chem. Phys. 107.  (Game engines
take backward Euler for w x I w instead, Catto, GDC 2015, which brakes what tumbles.)

I is about what stays: the centre of a ball, the centre of mass of a free body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dynenvs.dynamics.loose import center, inertia, spin, swing
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.kinematics.triples import (
    Three,
    cross,
    dot,
    entries,
    plus,
    put_entries,
    scaled,
    size,
    solved,
    symmetric,
    turned_back,
    turned_by_quaternion,
)
from dynenvs.memory.layout import Floats, ModelView, WorkView, WorldView, damped_time
from dynenvs.memory.records import ALONE, EULER, FREE

SPUN, FAILED = 0, 1
TURN = 0.25  # of a body in one part of its free turn, at most [rad] ...
PARTS = 1000  # ... of which there are no more than so many


class Top(NamedTuple):
    """A body that spins, with all that is fixed to it, in its own axes."""

    c: Three  # centre of mass from its origin [m]
    diagonal: Three  # of the inertia about what stays: xx, yy, zz [kg m^2]
    off: Three  # beside it: yz, xz, xy
    rotor: Three  # of its joint, which has no gyroscopic term


@inlined
def _top(w: WorkView, index: int) -> Top:
    """Needs the composite inertia of body `index`."""
    body, pose, work = w.bodies[index], w.pose[index], w.body[index]
    c = center(pose, work, w.pose[body.root])
    diagonal, off = inertia(pose, work)
    at = turns_at(body)
    # About a ball's centre: Steiner's term
    if body.joint != FREE:
        arm, square = scaled(work.mc, c), dot(c, c)
        around = scaled(work.mc * square, (1.0, 1.0, 1.0))
        own = (arm[0] * c[0], arm[1] * c[1], arm[2] * c[2])
        diagonal = plus(plus(diagonal, 1.0, around), -1.0, own)
        off = plus(off, -1.0, (arm[1] * c[2], arm[0] * c[2], arm[0] * c[1]))
    dofs = w.dofs
    return Top(c, diagonal, off, (dofs[at].armature, dofs[at + 1].armature, dofs[at + 2].armature))


@inlined
def turns_at(body: Any) -> int:
    """The first of the three coordinates that turn a body."""
    return int(body.v_at + 3 if body.joint == FREE else body.v_at)


@kernel
def add_spins(w: WorkView, v: Floats, sign: float, force: Floats) -> None:
    """force += sign * (w x I w) of all bodies that spin, shape (nv,); v: velocities, (nv,)."""
    # What the bias force has of this is taken out, or put back, by its sign
    for i in range(1, w.header[0].nb):
        if w.bodies[i].spins:
            at, top = turns_at(w.bodies[i]), _top(w, i)
            turn = entries(v, at)
            moment = cross(turn, symmetric(top.diagonal, top.off, turn))
            put_entries(force, at, plus(entries(force, at), sign, moment))


@unit("spins", seconds=3)
def spin_on(w: WorldView, dt: float) -> int:
    """Free turns of all bodies that spin, for Euler's rule: from w* in `w.v_free` to their ends.

    Comes after a push without their gyroscopic terms, which acts half-way.  What the push would
    turn by if it came alone is left out, a term of third order: a body at rest stays so by just the
    opposite forces.  The centre of mass of a free body keeps the velocity that forces give it.
    Returns SPUN, or FAILED where Euler's equations are not solved.
    """
    found = True
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if not body.spins:
            continue
        top, at = _top(w, i), turns_at(body)
        # Half a turn, the push, half a turn; what the push alone would turn by is left out
        start, pushed = entries(w.v, at), entries(w.v_free, at)
        push = plus(pushed, -1.0, start)
        half, fine = _turn_freely(top, start, 0.5 * dt)
        end, too = _turn_freely(top, plus(half, 1.0, push), 0.5 * dt)
        alone, also = _turn_freely(top, push, 0.5 * dt)
        end = plus(end, -1.0, plus(alone, -1.0, push))
        found = found and fine and too and also
        put_entries(w.v_free, at, end)
        # The origin of a free body goes round its centre, which keeps its velocity
        if body.joint == FREE:
            c = top.c
            change = plus(cross(pushed, c), dt, cross(start, cross(start, c)))
            turn = scaled(-dt, plus(end, -1.0, push))
            change = plus(change, -1.0, turned_back(cross(end, c), turn))
            slide = turned_by_quaternion(w.q, body.q_at + 3, change)
            put_entries(w.v_free, body.v_at, plus(entries(w.v_free, body.v_at), 1.0, slide))
    return SPUN if found else FAILED


@kernel
def push_halfway(w: WorldView, index: int, push: Three, dt: float) -> bool:
    """Have an impulse act half-way through the free turn of body `index`, not at its end.

    push: by how much it changes the angular velocity that follows [rad/s]
    `w.expected` is the velocity without any.  What the impulse is turned by comes into `w.v_free`,
    to which it is added.  Returns False where Euler's equations are not solved; nothing is written.
    """
    body, top = w.bodies[index], _top(w, index)
    at = turns_at(body)
    # Back to the middle of the free turn, the push, and on
    free = entries(w.expected, at)
    half, fine = _turn_freely(top, free, -0.5 * dt)
    end, too = _turn_freely(top, plus(half, 1.0, push), 0.5 * dt)
    if not fine or not too:
        return False
    put_entries(w.v_free, at, plus(end, -1.0, push))
    # The centre gets what it got; its origin goes round it
    if body.joint == FREE:
        part = -dt if w.header[0].integrator == EULER else -0.5 * dt
        slide = turned_back(cross(free, top.c), scaled(part, free))
        slide = plus(slide, 1.0, cross(push, top.c))
        slide = plus(slide, -1.0, turned_back(cross(end, top.c), scaled(part, end)))
        slide = turned_by_quaternion(w.q, body.q_at + 3, slide)
        put_entries(w.v_free, body.v_at, plus(entries(w.expected, body.v_at), 1.0, slide))
    return True


@kernel
def _turn_freely(top: Top, turn: Three, dt: float) -> tuple[Three, bool]:
    """The angular velocity after a free turn for a time `dt`; whether it is found."""
    # Short turns: each brings the angular momentum's direction along
    far = abs(dt) * size(turn) / TURN
    parts = 1 + int(far) if far < PARTS else PARTS
    found, push = True, (0.0, 0.0, 0.0)
    for _ in range(parts):
        turn, fine = spin(top.diagonal, top.off, top.rotor, turn, turn, push, dt / parts)
        found = found and fine
    return turn, found


@kernel
def spin_through(w: WorldView, mean: Floats, dt: float) -> bool:
    """The same for the midpoint rule, whose push is at the middle of the free turn.

    mean: the velocities at which centrifugal terms in `w.v_free` were worked out, shape (nv,)
    A body that floats alone makes one turn whose rotation is known in closed form (`loose.fly`).
    """
    found = True
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if not body.spins:
            continue
        top, at = _top(w, i), turns_at(body)
        start, pushed = entries(w.v, at), entries(w.v_free, at)
        push = plus(pushed, -1.0, start)
        # A body alone has a closed form; others turn half before the push and half after it
        if body.floats == ALONE:
            moment = symmetric(top.diagonal, top.off, push)
            end, fine = spin(top.diagonal, top.off, top.rotor, start, pushed, moment, dt)
        else:
            before, fine = _turn_freely(top, start, 0.5 * dt)
            push = plus(push, -1.0, _damped_less(w, top, at, plus(before, -1.0, start), dt))
            end, too = _turn_freely(top, plus(before, 1.0, push), 0.5 * dt)
            fine = fine and too
        found = found and fine
        put_entries(w.v_free, at, end)
        # The centre's velocity stays: the origin's is put right
        if body.joint == FREE:
            old = swing(top.c, start, pushed, entries(mean, at), dt)
            middle = plus(start, 0.5, plus(end, -1.0, start))
            change = plus(old, -1.0, swing(top.c, start, end, middle, dt))
            slide = turned_by_quaternion(w.q, body.q_at + 3, change)
            put_entries(w.v_free, body.v_at, plus(entries(w.v_free, body.v_at), 1.0, slide))
    return found


@inlined
def _damped_less(w: ModelView, top: Top, at: int, change: Three, dt: float) -> Three:
    """By how much less dampers push that see a velocity changed so: M^ x = dt D change."""
    a, b, c = w.dofs[at], w.dofs[at + 1], w.dofs[at + 2]
    # The ball's own part of M^, with what dampers and springs add
    t = damped_time(w, dt)
    add_x = a.armature + t * (a.damping + t * a.stiffness)
    add_y = b.armature + t * (b.damping + t * b.stiffness)
    add_z = c.armature + t * (c.damping + t * c.stiffness)
    D, off = top.diagonal, top.off
    lost = (a.damping * change[0], b.damping * change[1], c.damping * change[2])
    return solved(
        (D[0] + add_x, off[2], off[1]),
        (off[2], D[1] + add_y, off[0]),
        (off[1], off[0], D[2] + add_z),
        scaled(dt, lost),
    )


@kernel
def gather(w: WorkView) -> None:
    """Composite inertias of bodies that spin from the bodies' own (`poses.update_inertias`)."""
    for i in range(1, w.header[0].nb):
        if not w.bodies[i].spins:
            continue
        all_ = w.body[i]
        all_.mc = 0.0
        for r in range(3):
            all_.hc[r] = 0.0
            for k in range(3):
                all_.Ic[r, k] = 0.0
        for k in range(i, w.header[0].nb):
            if w.bodies[k].last == w.bodies[i].last:  # itself, and what is fixed to it
                all_.mc += w.body[k].m
                for r in range(3):
                    all_.hc[r] += w.body[k].h[r]
                    for c in range(3):
                        all_.Ic[r, c] += w.body[k].I[r, c]
