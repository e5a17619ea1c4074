"""Springs of hinges and slides, implicit in a step as their dampers are.

A spring of stiffness K pulls with -K (q - r), r being its reference.  Semi-implicit Euler takes the
position at the end of the step, q + dt v+, so that

    (M + dt D + dt^2 K) (v+ - v) = dt (tau - h - D v - K (q + dt v - r)),

the midpoint rule the mean of both ends, qm + dt/4 (v+ - v) with the middle qm = q + dt/2 v, so that

    (M + dt/2 D + dt^2/4 K) (v+ - v) = dt (tau - h - D v - K (qm - r)).

Both have the square of the time for which dampers act before K in the matrix.  Stiff springs
are damped by the first rule and keep their energy by the second, at any step (Hairer, Lubich,
Wanner, Geometric Numerical Integration, II.1).
"""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats, ModelView, StateView


@kernel
def add_springs(m: ModelView, s: StateView, M: Floats, bias: Floats, dt: float) -> None:
    """bias += K (q - r) and the diagonal of M += dt^2 K, shapes (nv,) and (nv, nv)."""
    for j in range(m.header[0].nv):
        dof = m.dofs[j]
        if dof.stiffness != 0.0:
            bias[j] += dof.stiffness * (s.q[dof.q_at] - dof.reference)
            M[j, j] += dt * dt * dof.stiffness


@kernel
def add_stretch(m: ModelView, v: Floats, bias: Floats, dt: float) -> None:
    """bias += K dt v: what springs pull more after a time dt at velocities v."""
    for j in range(m.header[0].nv):
        bias[j] += m.dofs[j].stiffness * dt * v[j]


@kernel
def spring_energy(m: ModelView, s: StateView) -> float:
    """Energy of all springs, 1/2 (q - r) K (q - r) [J]."""
    energy = 0.0
    for j in range(m.header[0].nv):
        dof = m.dofs[j]
        if dof.stiffness != 0.0:
            stretch = s.q[dof.q_at] - dof.reference
            energy += 0.5 * dof.stiffness * stretch * stretch
    return energy
