"""The step's dynamics by articulated bodies, O(n) for each row: for long chains.

Factors L^T D L of the mass matrix cost the cube of a chain's length.  Articulated inertias
(`aba.py`) are another factorisation of the same M^ = M + armature + dt damping,

    M^-1 = (1 - H psi K)^T D^-1 (1 - H psi K)   (Jain et al. 2012, eq. 42),

whose parts are never written out: a column M^-1 J^T is a pass to the base and one back.  Neither M
nor its factors are formed.  What the rest of the step knows as L^-1 D^-1 Y is Y itself here, with L
and D of ones.  Which models take this way is decided when they are built (`Model`), so that the
same state always gives the same bits.
"""

from __future__ import annotations

from dynenvs.dynamics.aba import aba_passes
from dynenvs.dynamics.spinning import add_spins, gather
from dynenvs.jit.compiled import unit
from dynenvs.kinematics.poses import update_inertias, update_velocities
from dynenvs.kinematics.spatial import dot6
from dynenvs.memory.layout import Floats, WorkView, WorldView

PASSED, SINGULAR = 0, 1


@unit("recursive", seconds=6)
def free_by_recursion(w: WorldView, tau: Floats, dt: float, at: Floats) -> int:
    """The velocity without contacts after dt into `w.v_free`; needs the poses.

    at: velocities whose products push, mostly `w.v`, shape (nv,)

    Leaves `w.U`, D in the first column of `w.M`, and `w.L` of ones.  Returns PASSED, or SINGULAR.
    """
    nv = w.header[0].nv
    # Velocities and inertias, as the passes need them
    update_velocities(w, at)
    update_inertias(w, w.mass_scale)
    # Dampers push by the old velocity; what is implicit of them is in D
    for j in range(nv):
        w.bias[j] = tau[j] - w.dofs[j].damping * w.v[j]
    if w.header[0].nspins > 0:
        gather(w)
        add_spins(w, at, 1.0, w.bias)  # they are for `spinning.spin_on`
    aba_passes(w, w.bias, dt, w.v_free)
    w.answer[0].recursive = 1
    # L of ones and D^-1 of ones: what follows knows factors only
    for j in range(nv):
        w.v_free[j] = w.v[j] + dt * w.v_free[j]
        w.M[j, 0] = w.v_next[j]
        w.L[j, j] = 1.0
        i = w.dofs[j].parent
        while i >= 0:
            w.L[j, i] = 0.0
            i = w.dofs[i].parent
        if not w.v_next[j] > 0.0:
            return SINGULAR
    return PASSED


@unit("recursive", seconds=1)
def couple_by_recursion(w: WorkView, rows: int) -> int:
    """`w.Y` = M^-1 J^T and `w.G` = J M^-1 J^T of all rows, after `free_by_recursion`."""
    nb, nv = w.header[0].nb, w.header[0].nv
    w.answer[0].rooted = 0
    for r in range(rows):
        # Pass 1: what the row's impulse leaves for each joint, tips to base
        for i in range(nb):
            for k in range(6):
                w.body[i].pA[k] = 0.0
        for i in range(nb - 1, 0, -1):
            body, p = w.bodies[i], w.body[i].pA
            for j in range(body.v_at + body.nv - 1, body.v_at - 1, -1):
                share = (w.J[r, j] - dot6(w.S[j], p)) / w.M[j, 0]
                w.Y[j, r] = share
                for k in range(6):
                    p[k] += w.U[j, k] * share
            above = w.body[body.parent].pA
            for k in range(6):
                above[k] += p[k]
        # Pass 2: velocities, base to tips (`pA` has served)
        for k in range(6):
            w.body[0].pA[k] = 0.0
        for i in range(1, nb):
            body, a = w.bodies[i], w.body[i].pA
            above = w.body[body.parent].pA
            for k in range(6):
                a[k] = above[k]
            for j in range(body.v_at, body.v_at + body.nv):
                w.Y[j, r] -= dot6(w.U[j], a) / w.M[j, 0]
                for k in range(6):
                    a[k] += w.S[j, k] * w.Y[j, r]
    # G from the columns, along the few coordinates that each row moves
    for r in range(rows):
        for c in range(rows):
            w.G[r, c] = 0.0
        for j in range(nv):
            if w.J[r, j] != 0.0:
                for c in range(rows):
                    w.G[r, c] += w.J[r, j] * w.Y[j, c]
    return PASSED
