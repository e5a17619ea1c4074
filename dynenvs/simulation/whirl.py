"""Trees that whirl: the step is cut, and its parts keep the energy.

Euler's rule takes Coriolis, centrifugal and gyroscopic forces of the beginning of a step, and the
mass matrix there.  A tree of several joints then gains or loses energy, of the order of the square
of what it turns in a step, and without end where that is more than a fraction of a radian.  Mostly
joints' dampers take much more; where they do not, the step is made of parts in which no body turns
by more than TURN, and positions and velocities go in turns (Stoermer's and Verlet's rule; Hairer,
Lubich, Wanner, Geometric Numerical Integration, I.1.4):

    positions by half a part; then n times velocities by a part, with the velocity products of the
    mean (`centered.py`), and positions by a part, at last by half of one.

That is of second order and symmetric in time.  What each part does to positions is a part of the
step like any other, with contacts, stops and loops: these hold where it ends.  The mean is that of
what contacts and stops leave, not of the free velocity: a motor that presses a joint against its
stop would let products of a velocity act that nothing ever has.  The midpoint rule,
which is symmetric anyway, is cut into such parts, too: its mean velocity is not found, or a wrong
one, where a step turns a body by much of a radian.

Whether products create or destroy more than dampers take is tried: a step with nothing but these.
So a rotor that is balanced, whose angle does not change the mass matrix, cuts no steps.

A step that is cut and still gains energy, where nothing gives it any, counts as degraded.
"""

from __future__ import annotations

import math

from dynenvs.dynamics.bias import bias_forces
from dynenvs.dynamics.factor import factor_in_place
from dynenvs.dynamics.motion import equations_of_motion
from dynenvs.dynamics.recursion import PASSED, free_by_recursion
from dynenvs.dynamics.spinning import SPUN, spin_on
from dynenvs.dynamics.tree_energy import add_kinetic, clear_trees, energy_at
from dynenvs.jit.compiled import inlined, unit
from dynenvs.kinematics.joints import integrate
from dynenvs.kinematics.poses import update_poses, update_velocities
from dynenvs.kinematics.triples import dot, entries
from dynenvs.memory.layout import Floats, WorkView, WorldView
from dynenvs.memory.records import EULER
from dynenvs.simulation.centered import center_velocity, push_at
from dynenvs.simulation.drift import CENTERED, CUT, READ, SLOW, is_driven, watch_energy
from dynenvs.simulation.free_motion import push_freely

FAST = 0.05  # turn of a joint in a part, up to which nothing is tried [rad]
FASTER = 0.1  # the same of a world that nothing drives: products of the mean keep its energy
SHARE = 0.25  # of the kinetic energy, times that turn squared: what products may create, about
CREATED = 1e-4  # share of the kinetic energy that they may create or destroy in a part
TURN = 0.03  # of a body in a part of a step that is cut, by Euler's rule [rad] ...
TURN_HALFWAY = 0.05  # ... and by the midpoint rule, whose error is a smaller one ...
PARTS = 5000  # ... into so many parts at most: what is faster counts as degraded
STILL = 1e-300  # a pace at which nothing is cut [rad/s]
GAINED = 1e-3  # share of the kinetic energy; a step that gains more counts as degraded
RECENTRED = 8  # times at most that products are centred again for what contacts leave
SETTLED = 1e-7  # share of the largest velocity, up to which that has not changed
CALM, WHIRLS, FAILED = 0, 1, 2
PUSHED = MEASURED = 0


@inlined
def whirl(w: WorldView, tau: Floats, dt: float, moved: bool) -> int:
    """Whether a part must be cut for trees that whirl: then `w.answer.pace` is their fastest turn.

    Comes after the part's free motion.  Returns CALM, WHIRLS, or FAILED.

    moved: whether that was found; by the midpoint rule it may need shorter parts
    """
    # Nothing turns far enough to matter, or no tree can
    turn = _fastest_turn(w) * dt if w.header[0].nwhirls > 0 else 0.0
    watched = w.answer[0].watched
    if not turn > (SLOW if watched & CUT else FASTER if watched & CENTERED else FAST):
        if moved and turn > SLOW and watched & READ:
            watch_energy(w, turn)
        return CALM if moved else FAILED
    if moved and not _outruns(w, turn, dt):
        return CALM
    # Tried only where dampers might not take it
    if moved and not watched & CUT:
        found = try_products(w, tau, dt)
        if found != WHIRLS:
            return CALM if found == CALM else FAILED
    else:
        update_velocities(w, w.v)
        keep_pace(w)
    start = w.q if w.header[0].integrator == EULER else w.starts[0]
    return WHIRLS if sum_energy(w, start) == MEASURED else FAILED


@inlined
def tell_gain(w: WorldView, tau: Floats) -> None:
    """Count a step that was cut for trees that whirl, and has gained energy out of nothing."""
    answer = w.answer[0]
    before, kinetic = answer.energy, answer.kinetic
    if is_driven(w, tau) or sum_energy(w, w.q) != MEASURED:
        return
    if not answer.energy - before <= GAINED * max(kinetic, answer.kinetic):
        w.status[0].degraded += 1


@inlined
def part_of(w: WorkView, left: float, dt: float) -> float:
    """How long the next part of a step may be of which so much is left, where trees whirl."""
    euler = w.header[0].integrator == EULER
    turn = TURN if euler else TURN_HALFWAY
    longest = max(turn / max(float(w.answer[0].pace), STILL), dt / PARTS)
    # Not the first part: whole parts, and half of one at the end
    if w.answer[0].lead > 0.0:
        return left / (math.ceil(left / longest - 0.5 - 1e-9) + 0.5)
    # The first part of Euler's rule goes half as far: its velocities come first
    part = left / max(math.ceil(left / longest - 1e-9), 1)
    return 0.5 * part if euler else part


@inlined
def push_time(w: WorkView, part: float, left: float) -> float:
    """How far velocities go in a part, of a step of which so much is left [s].

    By Euler's rule a part's velocity is that of its middle, but for the first and the last one.
    """
    answer = w.answer[0]
    if answer.pace == 0.0 or w.header[0].integrator != EULER:
        return part
    if answer.lead == 0.0:
        return 0.0
    return float(answer.lead + (part if part == left else 0.5 * part))


@unit(seconds=8)
def push_centered(w: WorldView, tau: Floats, time: float, again: int) -> int:
    """The velocity without contacts after a time, velocity products centred, into `w.v_free`.

    And the factors of M^ into `w.L`; bodies' velocities are those of `w.v`, or a mean.  Returns
    PUSHED, or FAILED.

    again: 1 where contacts have answered, and `is_settled` has kept the velocity that they leave:
        products of its mean with the first one then; else 0
    """
    mean, left = w.trial[0], w.trial[1]
    if time == 0.0:
        if not _coast(w, tau):
            return FAILED
    else:
        if again == 0 and not push_freely(w, tau, time):
            return FAILED
        forces = w.forces if w.header[0].nservos > 0 else tau
        if again != 0:
            for j in range(w.header[0].nv):
                mean[j] = 0.5 * (w.v[j] + left[j])
            if not push_at(w, forces, time, mean):
                return FAILED
        elif not center_velocity(w, forces, time, mean):
            return FAILED
        if w.header[0].nspins > 0 and spin_on(w, time) != SPUN:
            return FAILED
    if again == 0:
        for j in range(w.header[0].nv):
            left[j] = w.v_free[j]
    return PUSHED


@inlined
def is_centered(w: WorldView, dt: float) -> bool:
    """Whether a part keeps the energy by products of the mean; faster trees are cut instead."""
    turn = _fastest_turn(w) * dt
    return bool(w.answer[0].watched & CENTERED and turn > SLOW and not turn > FASTER)


@inlined
def is_settled(w: WorldView, time: float) -> bool:
    """Whether contacts leave about the velocity that a part's products were centred for.

    Keeps it for `push_centered`.  time: of velocities in the part [s]
    """
    if (w.answer[0].pace == 0.0 and not is_centered(w, time)) or time == 0.0:
        return True
    left, change, fastest = w.trial[1], 0.0, 0.0
    for j in range(w.header[0].nv):
        change = max(change, abs(w.v_new[j] - left[j]))
        fastest = max(fastest, abs(w.v_new[j]))
        left[j] = w.v_new[j]
    return change <= SETTLED * fastest


@inlined
def _coast(w: WorldView, tau: Floats) -> bool:
    """No time for forces: `w.v_free` is the velocity, and `w.L` has no damping."""
    if w.header[0].recursive:
        if free_by_recursion(w, tau, 0.0, w.v) != PASSED:
            return False
    else:
        w.answer[0].recursive = 0
        equations_of_motion(w, w.v, 0.0, w.L)
        if not factor_in_place(w.dofs, w.L):
            return False
    for j in range(w.header[0].nv):
        w.v_free[j] = w.v[j]
    return True


@inlined
def keep_pace(w: WorldView) -> None:
    """Into `w.answer.pace` the fastest turn of trees that may whirl, by `w.body.v` and `w.v`."""
    fastest = _fastest_turn(w)
    for i in range(1, w.header[0].nb):
        if w.bodies[i].whirls:
            turn = entries(w.body[i].v, 0)
            fastest = max(fastest, math.sqrt(dot(turn, turn)))
    w.answer[0].pace = max(fastest, 1e-9)


@inlined
def _fastest_turn(w: WorldView) -> float:
    """How fast the fastest coordinate turns that turns a body of such a tree [rad/s]."""
    fastest = 0.0
    for j in range(w.header[0].nv):
        if w.dofs[j].turns:
            fastest = max(fastest, abs(w.v[j]))
    return fastest


@inlined
def _outruns(w: WorldView, turn: float, dt: float) -> bool:
    """Whether products may create more energy than the dampers of a tree take.

    Needs kinetic energies as the equations of motion leave them; of long chains nothing is known.

    turn: of the fastest coordinate in dt [rad]
    """
    trees = w.whirl
    if w.header[0].recursive:
        return True
    clear_trees(w)
    # Kinetic energy, that of rotors included, and what dampers take of it
    for i in range(1, w.header[0].nb):
        if w.bodies[i].tree >= 0:
            trees[w.bodies[i].tree, 0] += w.body[i].kinetic
    for j in range(w.header[0].nv):
        dof = w.dofs[j]
        if dof.tree >= 0:
            square = w.v[j] * w.v[j]
            trees[dof.tree, 0] += 0.5 * dof.armature * square
            trees[dof.tree, 2] += dt * dof.damping * square
    found = False
    for i in range(1, w.header[0].nb):
        if w.bodies[i].whirls:
            t = w.bodies[i].tree
            found = found or SHARE * turn * turn * trees[t, 0] > trees[t, 2]
    return found


@unit(seconds=4)
def try_products(w: WorldView, tau: Floats, dt: float) -> int:
    """What velocity products of the beginning alone do in a part to the energy of each tree.

    Returns WHIRLS where it is more than dampers take; CALM; or FAILED.
    """
    nv, trees, tried, kept, none = w.header[0].nv, w.whirl, w.trial[0], w.trial[1], w.trial[2]
    forces = w.forces if w.header[0].nservos > 0 else tau
    for j in range(nv):
        kept[j], none[j] = w.v_free[j], 0.0
    # What they make of the velocity: the difference of two pushes, with them and without
    if not push_at(w, forces, dt, none):
        return FAILED
    for j in range(nv):
        tried[j] = w.v[j] - w.v_free[j]
    if not push_at(w, forces, dt, w.v):
        return FAILED
    for j in range(nv):
        tried[j] += w.v_free[j]
        w.v_free[j] = kept[j]
    # The energy before and after
    clear_trees(w)
    add_kinetic(w, w.pose, w.v, 0)
    integrate(w, w.q, tried, dt, w.q_new)
    update_poses(w, w.q_new, w.pose_new)
    w.answer[0].poses_valid = 0
    add_kinetic(w, w.pose_new, tried, 1)
    # What dampers take in the same time
    for j in range(nv):
        if w.dofs[j].tree >= 0:
            trees[w.dofs[j].tree, 2] += dt * w.dofs[j].damping * w.v[j] * w.v[j]
    # More than that, in any tree: the step must be cut
    found = False
    for i in range(1, w.header[0].nb):
        if w.bodies[i].whirls:
            t = w.bodies[i].tree
            bound = trees[t, 2] + CREATED * trees[t, 0]
            # Written so that NaN counts as whirling
            found = found or not abs(trees[t, 1] - trees[t, 0]) <= bound
    if found:
        keep_pace(w)
        if w.answer[0].pace * dt > PARTS * TURN:
            w.status[0].degraded += 1
    if w.header[0].integrator != EULER:  # the bodies' velocities as they were
        bias_forces(w, w.v_next)
    return WHIRLS if found else CALM


@unit(seconds=3)
def sum_energy(w: WorldView, q: Floats) -> int:
    """Energy at positions q, shape (nq,), and velocities `w.v` into `w.answer`.

    Takes `w.pose_new` for the poses.  Returns MEASURED.
    """
    update_poses(w, q, w.pose_new)
    w.answer[0].poses_valid = 0
    w.answer[0].energy = energy_at(w, w.pose_new, q, w.v)
    return MEASURED
