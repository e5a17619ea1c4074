"""Velocity products (Coriolis, centrifugal and gyroscopic forces) of the mean velocity of a step.

At the velocity of its beginning they do work; at the mean of both velocities,

    M^ (v+ - v) = dt (tau - h(q, (v + v+) / 2) - D v),

the rule is symmetric in time, and gains or loses nothing in the long run.
"""

from __future__ import annotations

from dynenvs.contact.assembly.loops import HELD, hold_loops
from dynenvs.dynamics.bias import bias_forces
from dynenvs.dynamics.factor import solve
from dynenvs.dynamics.recursion import PASSED, free_by_recursion
from dynenvs.dynamics.spinning import add_spins
from dynenvs.dynamics.springs import add_stretch
from dynenvs.dynamics.tendons import add_drag, add_tautness
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, WorldView
from dynenvs.memory.records import EULER

CORRECTIONS = 30  # at most, of the mean velocity in the gyroscopic and Coriolis terms
DIVERGED = 1e3  # times the first change of velocity that a correction may be, at most
PRECISE = 1e-4  # share of the largest velocity that the next correction may be and is left out
ROUNDING = 1e-14  # share of it that a correction of rounding errors alone may be


@inlined
def center_velocity(w: WorldView, tau: Floats, dt: float, mean: Floats) -> bool:
    """Correct `w.v_free`, whose gyroscopic and Coriolis terms were those of the first velocity.

    They are to be those of the mean of both velocities, which `mean`, shape (nv,), approaches.
    Each correction is smaller than the last by about dt times the turn rates: one is enough for
    second order, further ones keep the energy of fast motion.  Returns False where they find no
    end.
    """
    nv = w.header[0].nv
    # The size of the first change: corrections that outgrow it diverge
    last = 0.0
    for j in range(nv):
        last = max(last, abs(w.v_free[j] - w.v[j]))
    most = DIVERGED * last
    # A fixed point: the products of the mean velocity, and the velocity that these give
    for _ in range(CORRECTIONS):
        for j in range(nv):
            mean[j] = 0.5 * (w.v[j] + w.v_free[j])
        if not push_at(w, tau, dt, mean):
            return False
        change, fastest = 0.0, 0.0
        for j in range(nv):
            change = max(change, abs(w.v_free[j] + w.v[j] - 2.0 * mean[j]))
            fastest = max(fastest, abs(w.v_free[j]))
        # The next change would be about change^2 / last: small enough, or rounding
        if change * change <= PRECISE * fastest * last or change <= ROUNDING * fastest:
            return True
        if not change <= most:
            return False
        last = change
    return False


@kernel
def push_at(w: WorldView, tau: Floats, dt: float, at: Floats) -> bool:
    """`w.v_free` with the velocity products of `at`, shape (nv,); False if there is none.

    Comes after the factors `w.L` of M^ (long chains: after poses alone).  Bodies that spin apart
    are pushed without their gyroscopic terms.
    """
    # Long chains have no factors: the recursion does it all in one
    euler = w.header[0].integrator == EULER
    if w.header[0].recursive and euler:
        done = free_by_recursion(w, tau, dt, at)
        return bool(done == PASSED)
    bias_forces(w, at)
    # Springs and tendons see the end of the step, as M^ has them
    if euler and w.header[0].sprung:
        add_stretch(w, w.v, w.bias, dt)
    if w.header[0].ntendons > 0 and euler:
        add_tautness(w, w.v, w.bias, dt)
    elif w.header[0].ntendons > 0:
        add_drag(w, at, w.bias, -1.0)
        add_drag(w, w.v, w.bias, 1.0)
    if w.header[0].nspins > 0:
        add_spins(w, at, -1.0, w.bias)
    for j in range(w.header[0].nv):
        # Dampers see the old velocity; those of `at` are what the bias was worked out with
        own = w.dofs[j].damping * (at[j] - w.v[j])  # of the bias: M^ has it already
        w.v_free[j] = dt * (tau[j] - w.bias[j] + own)
    return add_up(w)


@inlined
def add_up(w: WorldView) -> bool:
    """Velocity from impulses: `w.v_free` <- v + M^-1 `w.v_free`, less what would open a loop."""
    solve(w, w.L, w.v_free)
    for j in range(w.header[0].nv):
        w.v_free[j] += w.v[j]
    return bool(w.header[0].ne == 0 or hold_loops(w, w.q) == HELD)
