"""The velocity to which forces lead without contacts, by Euler's rule."""

from __future__ import annotations

from dynenvs.dynamics.carried import take_along
from dynenvs.dynamics.factor import factor_in_place, solve
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.dynamics.recursion import PASSED, free_by_recursion
from dynenvs.dynamics.refine import REFINED, refine_free
from dynenvs.dynamics.servos import DRIVEN, drive
from dynenvs.dynamics.spinning import SPUN, add_spins, spin_on
from dynenvs.dynamics.springs import add_stretch
from dynenvs.dynamics.tendons import add_tautness
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, WorldView


@inlined
def free_motion(w: WorldView, tau: Floats, dt: float) -> bool:
    """Factors of M^ into `w.L` and the velocity without contacts into `w.v_free`."""
    pushed = push_freely(w, tau, dt)
    return pushed and (w.header[0].nspins == 0 or spin_on(w, dt) == SPUN)


@inlined
def push_freely(w: WorldView, tau: Floats, dt: float) -> bool:
    """The same, but for the free turns of bodies that spin (`dynenvs.dynamics.spinning`)."""
    h = w.header[0]
    # Long chains: articulated bodies in place of factors
    if h.recursive:
        done = free_by_recursion(w, tau, dt, w.v)
        return bool(done == PASSED)
    w.answer[0].recursive = 0
    equations_of_motion(w, w.v, dt, w.L)
    # Bodies that are carried by kinematic ones move with them, whatever pushes
    if h.ncarried > 0:
        take_along(w, w.L, dt, w.bias)
    # Springs and tendons as they are at the end of the step
    if h.sprung:
        add_stretch(w, w.v, w.bias, dt)
    if h.ntendons > 0:
        add_tautness(w, w.v, w.bias, dt)
    if h.nspins > 0:
        add_spins(w, w.v, -1.0, w.bias)
    # Servos add to M^, and to the forces
    forces = tau
    if h.nservos > 0:
        if drive(w, tau, dt) != DRIVEN:
            return False
        forces = w.forces
    if not factor_in_place(w.dofs, w.L):
        return False
    # M^ (v+ - v) = dt (tau - bias)
    for j in range(w.header[0].nv):
        w.v_free[j] = dt * (forces[j] - w.bias[j])
    solve(w, w.L, w.v_free)
    for j in range(w.header[0].nv):
        w.v_free[j] += w.v[j]
    if h.refined:
        done = refine_free(w, tau, dt)
        return bool(done == REFINED)
    return True
