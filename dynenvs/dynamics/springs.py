"""Springs of joints, implicit in a step as their dampers are.

A spring of stiffness K pulls with -K (q - r), r being its reference.  Semi-implicit Euler takes the
position at the end of the step, q + dt v+, so that

    (M + dt D + dt^2 K) (v+ - v) = dt (tau - h - D v - K (q + dt v - r)),

the midpoint rule the mean of both ends, qm + dt/4 (v+ - v) with the middle qm = q + dt/2 v, so that

    (M + dt/2 D + dt^2/4 K) (v+ - v) = dt (tau - h - D v - K (qm - r)).

Both have the square of the time for which dampers act before K in the matrix.  Stiff springs
are damped by the first rule and keep their energy by the second, at any step (Hairer, Lubich,
Wanner, Geometric Numerical Integration, II.1).

A ball's spring pulls towards a reference orientation with -K t, t being the body-fixed rotation
vector from there, of at most half a turn; its energy is K |t|^2 / 2.  Here q - r is t, and its rate
is taken to be v: the same along the axis of t, and at small angles.
"""

from __future__ import annotations

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import turned
from dynenvs.memory.layout import Floats, ModelView, StateView
from dynenvs.memory.records import FREE


@inlined
def stretch(w: ModelView, q: Floats, coordinate: int) -> float:
    """q - r of `coordinate`: how far its spring is from where it does not pull [m, rad]."""
    dof, body = w.dofs[coordinate], w.bodies[w.dofs[coordinate].body]
    if body.nv == 1:
        return float(q[dof.q_at] - dof.reference)
    # Balls and free joints: the rotation vector from the reference, one entry a coordinate
    k, at = coordinate - body.v_at, body.q_at
    if body.joint == FREE:
        if k < 3:
            return float(q[at + k] - dof.reference)
        k, at = k - 3, at + 3
    a, b, c = w.dofs[coordinate - k], w.dofs[coordinate - k + 1], w.dofs[coordinate - k + 2]
    x, y, z = turned(q, at, a.reference, b.reference, c.reference)
    return float(x if k == 0 else (y if k == 1 else z))


@kernel
def add_springs(w: StateView, M: Floats, bias: Floats, dt: float) -> None:
    """bias += K (q - r) and the diagonal of M += dt^2 K, shapes (nv,) and (nv, nv)."""
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.stiffness != 0.0:
            bias[j] += dof.stiffness * stretch(w, w.q, j)
            M[j, j] += dt * dt * dof.stiffness


@kernel
def add_stretch(w: ModelView, v: Floats, bias: Floats, dt: float) -> None:
    """bias += K dt v: what springs pull more after a time dt at velocities v."""
    for j in range(w.header[0].nv):
        bias[j] += w.dofs[j].stiffness * dt * v[j]


@kernel
def spring_energy(w: ModelView, q: Floats) -> float:
    """Energy of all springs at q, 1/2 (q - r) K (q - r) [J]."""
    energy = 0.0
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.stiffness != 0.0:
            long = stretch(w, q, j)
            energy += 0.5 * dof.stiffness * long * long
    return energy
