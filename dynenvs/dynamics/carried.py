"""What kinematic bodies do to those that they carry by joints.

A kinematic coordinate k has the acceleration (v_k - its last velocity) / dt, whatever happens.  Of
the equations of motion the rows of the others remain, M_c a_c + M_ck a_k + h_c = tau_c (hybrid
dynamics, Featherstone 2008, section 9.2).
"""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats, ModelView, StateView, open_last


@kernel
def take_along(m: ModelView, s: StateView, M: Floats, dt: float, bias: Floats) -> None:
    """Add M_ck a_k to the bias forces of what kinematic coordinates carry.

    M: the mass matrix, lower triangle, shape (nv, nv)
    """
    last = open_last(m, s)
    for c in range(m.header[0].nv):
        if m.dofs[c].kinematic:
            continue
        k = m.dofs[c].parent
        while k >= 0:
            if m.dofs[k].kinematic and last[k] == last[k]:  # not NaN
                bias[c] += M[c, k] * (s.v[k] - last[k]) / dt
            k = m.dofs[k].parent
