"""Energy that Euler's rule creates little by little, in trees that turn and that nothing drives.

Up to FAST (`whirl.py`) velocity products create some hundred-thousandths of a tree's kinetic energy
in a step, and to do without would cost more than it is worth: mostly the next steps take as much
away, or dampers and contacts do.  Where they do not, a thousand steps create half of all there is.
So it is summed up, from the last time that anything drove the world.  Once it has come to DRIFT of
the kinetic energy, velocity products of the mean (`centered.py`) keep the energy; what grows beyond
TOLD all the same counts as degraded.

The energy is read as docs/theory.md has it (Semi-implicit Euler, "Energy as it is read"): at a
step's start, with the mean of the velocity there and of the one to which forces lead.  Steps that
are cut (`whirl.py`) have velocities of the same time as positions: to go from one rule to the other
changes the energy, so a tree whose step was cut is cut on until it is slow, and one whose energy is
kept by products of the mean is not cut before it is twice as fast.  Whoever writes positions or
velocities between two steps gives energy, too: `status.left` tells that.
"""

from __future__ import annotations

import math

from dynenvs.dynamics.tree_energy import energy_at
from dynenvs.jit.compiled import inlined, unit
from dynenvs.memory.layout import Floats, StateView, WorldView
from dynenvs.memory.records import EULER

SLOW = 0.01  # turn of a joint in a step, up to which nothing is created that matters [rad]
DRIFT = 1e-3  # share of the kinetic energy from which on products are those of the mean, and ...
TOLD = 1e-2  # ... from which on a step counts as degraded
KEPT = 1.0 + 1e-9  # times DRIFT: once steps keep the energy, they go on so
ALONE = 4.0  # times the kinetic energy and the square of its turn: what a step may create at most
# What is done about a step's energy: nothing, it is read once, velocity products are of the mean,
# the step is cut as the one before was
LEFT_ALONE, READ, CENTERED, CUT = 0, 1, 2, 4
WAS_CUT = -1.0  # for the largest kinetic energy, which is not known
WATCHED = 0


@inlined
def begin_watch(w: WorldView, tau: Floats) -> None:
    """What is to be done about the energy of the step that comes, into `w.answer.watched`."""
    answer, status = w.answer[0], w.status[0]
    answer.watched = LEFT_ALONE
    if w.header[0].nwhirls == 0 or w.header[0].integrator != EULER:
        return
    # Motors may give energy rightly: what was there before is forgotten
    if is_driven(w, tau):
        status.most = 0.0
        return
    answer.watched = READ
    if status.most == WAS_CUT and status.left == fingerprint(w):
        answer.watched = CUT
    elif status.most > 0.0 and status.created > DRIFT * status.most:
        answer.watched = READ | CENTERED


@inlined
def is_driven(w: WorldView, tau: Floats) -> bool:
    """Whether belts, kinematic bodies, tendons, lifts, motors or wrenches may give energy."""
    h = w.header[0]
    driven = h.nsurfaces + h.nkinematic + h.ntendons + h.nlifted > 0 or (
        h.nservos > 0 and w.driven[0] != 0.0
    )
    for j in range(h.nv):
        driven = driven or tau[j] != 0.0
    if driven:
        return True
    for i in range(h.nb):
        for k in range(6):
            driven = driven or w.wrench[i, k] != 0.0
    return bool(driven)


@unit(seconds=3)
def watch_energy(w: WorldView, turn: float) -> int:
    """Add what the last steps have created to `status.created`, once a step.

    Comes after its free motion.  Returns WATCHED.

    turn: of the fastest coordinate that turns a body of a tree, in the step [rad]
    """
    status, mean = w.status[0], w.trial[0]
    for j in range(w.header[0].nv):
        mean[j] = 0.5 * (w.v[j] + w.v_free[j])
    energy = energy_at(w, w.pose, w.q, mean)
    kinetic = w.answer[0].kinetic
    w.answer[0].watched &= CENTERED
    # Nothing is known of energies before the first one, or of others than steps have left
    if not (status.most > 0.0 and status.left == fingerprint(w) and math.isfinite(energy)):
        status.created, status.most = 0.0, kinetic if math.isfinite(energy) else 0.0
    else:
        gain = energy - status.energy
        # More than a step creates has another cause: overlaps that are put right, say
        if gain <= ALONE * turn * turn * kinetic:
            status.created = max(status.created + gain, 0.0)
        status.most = max(status.most, kinetic)
        # A rule that changes time and again would give another reading each time
        if w.answer[0].watched & CENTERED:
            status.created = max(status.created, KEPT * DRIFT * status.most)
    status.energy = energy if math.isfinite(energy) else 0.0
    if status.created > TOLD * status.most:
        status.degraded += 1
    return WATCHED


@inlined
def keep_left(w: WorldView) -> None:
    """Note what a step has left, where its energy is watched."""
    if w.answer[0].pace > 0.0 and w.answer[0].watched != LEFT_ALONE:
        w.status[0].most = WAS_CUT
    elif w.answer[0].watched & CUT:
        w.status[0].most = 0.0
    if w.status[0].most != 0.0:
        w.status[0].left = fingerprint(w)


@inlined
def fingerprint(w: StateView) -> float:
    """A number that changes with any position, velocity or mass."""
    h, total = w.header[0], 0.0
    for i in range(h.nq):
        total += (i + 1.0) * w.q[i]
    for j in range(h.nv):
        total += (j + 1.5) * w.v[j]
    for i in range(h.nb):
        total += (i + 1.0) * w.mass_scale[i]
    return total
