"""What kinematic bodies do to those that they carry by joints.

A kinematic coordinate k has the acceleration (v_k - its last velocity) / dt, whatever happens.  Of
the equations of motion the rows of the others remain, M_c a_c + M_ck a_k + h_c = tau_c (hybrid
dynamics, Featherstone 2008, section 9.2).
"""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats, StateView


@kernel
def take_along(w: StateView, M: Floats, dt: float, bias: Floats) -> None:
    """Add M_ck a_k to the bias forces of what kinematic coordinates carry.

    M: the mass matrix, lower triangle, shape (nv, nv)
    """
    last = w.last
    for c in range(w.header[0].nv):
        if w.dofs[c].kinematic:
            continue
        k = w.dofs[c].parent
        while k >= 0:
            if w.dofs[k].kinematic and last[k] == last[k]:  # not NaN
                bias[c] += M[c, k] * (w.v[k] - last[k]) / dt
            k = w.dofs[k].parent
