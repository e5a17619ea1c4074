"""Servos: actuators whose forces follow the state, implicit in a step as springs and dampers are.

An actuator's force is f = clip(k(u) + a(u) l + b(u) l'), its length being l = g q and its velocity
l' = g v (`dynenvs.model.annotations.Actuator`); of paths and pushes g is that of one pose in a step
(`pulls.py`).  With the stiffness K = max(0, -a) and the damping D = max(0, -b) it is, at the end of
a step by Euler's rule or in the mean of the midpoint rule's,

    f = f0 - r g (v+ - v),    f0 = f(q + dt v, v),  r = D + dt K      (Euler)
                              f0 = f(qm, v),        r = D/2 + dt/4 K  (midpoint)

so that M^ = M + armature + dt D_joints + dt g^T r g, and g^T f0 is with the other forces
(`springs.py` has the same for springs).  Only what resists is implicit: a force that grows with the
length or the velocity is what it is at the beginning.  So is that of an actuator whose coordinates
are not all on one way to the root, where M^ has no entries for them, or one of whose several
coordinates gets the effort of its joint.

At a limit of its force an actuator gives just that, and its r is zero; likewise a joint whose
actuators together reach its effort.  Which are at their limits is decided by the end of the step,
v+, contacts and all: the step is made with those of the step before, and once more with others as
long as a force would be beyond its limit, or a limit would be where the force is not.  (MuJoCo's
implicitfast decides by the beginning.)  That is a bounded linear complementarity problem of a
monotone law, with one answer, sought as Judice and Pires do: a few times all are put right at once,
then the first one alone (Murty's rule, which ends).  Should that take too long, limits are taken on
alone: no force is beyond its own ever.
"""

from __future__ import annotations

from typing import Any

from dynenvs.dynamics.pulls import constant_pulls, path_pulls, push_pulls, speed_of, stiffen
from dynenvs.jit.compiled import inlined, unit
from dynenvs.memory.layout import Floats, Ints, Records, WorldView, damped_time
from dynenvs.memory.records import MIDPOINT

DRIVEN = CONVERGED = 0
AGAIN = 1
TRIALS = 4  # of a step, after which one limit at a time changes ...
PATIENCE = 40  # ... and after so many limits are taken on alone
EDGE = 1e-9  # share of a limit by which a force may be beyond it


@unit("servos", seconds=2)
def drive(w: WorldView, tau: Floats, dt: float) -> int:
    """Add what servos add to M^ in `w.L`, and list tau and their forces (`w.forces`).

    Comes after `equations_of_motion`.  tau: other forces, shape (nv,).
    """
    driven, forces = w.driven, w.forces
    for j in range(w.header[0].nv):
        forces[j] = tau[j]
    if driven[0] == 0.0:
        return DRIVEN
    saturated = w.saturated
    servos, gears, works = w.servos, w.gears, w.servo_work
    n = w.header[0].nservos
    # Each servo's length, its gears at this pose, and its force with what is implicit of it
    for i in range(n):
        servo, work = servos[i], works[i]
        length = constant_pulls(w, servo)
        if servo.segments > 0:
            length += path_pulls(w, servo.first, servo.gears, servo.segment, servo.segments)
        if servo.body > 0:
            push_pulls(w, servo)
        _linearise(w, servo, length, work, dt)
        # A joint at its effort takes the servo's part in it away: nothing is implicit then
        if _is_held(servo, gears, saturated, n) and servo.gears > 1:
            work.rate = 0.0
        # Explicit, at its limit, or with its own term in M^
        force = work.force
        if work.rate == 0.0:
            saturated[i] = 0
            force = _clipped(force, servo.force[0], servo.force[1])
        elif saturated[i] != 0:
            force = servo.force[0] if saturated[i] < 0 else servo.force[1]
        elif not _is_held(servo, gears, saturated, n):
            stiffen(w, servo, dt * work.rate, w.L)
        for k in range(servo.first, servo.first + servo.gears):
            forces[gears[k].dof] += w.pulls[k] * force
    # Joints at their effort get just that
    for j in range(w.header[0].nv):
        if saturated[n + j] != 0:
            forces[j] = tau[j] + saturated[n + j] * w.dofs[j].effort
    return DRIVEN


@inlined
def _is_held(servo: Any, gears: Records, saturated: Ints, count: int) -> bool:
    """Whether a joint that one of `count` actuators drives gets its effort, whatever this does."""
    held = False
    for k in range(servo.first, servo.first + servo.gears):
        held = held or saturated[count + gears[k].dof] != 0
    return held


@inlined
def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


@inlined
def _linearise(w: WorldView, servo: Any, length: float, work: Any, dt: float) -> None:
    """f0 and r of an actuator, whatever its limits."""
    speed = speed_of(w, servo, w.v)
    # Gain and bias as MuJoCo's: constant, per length, per velocity
    u = _clipped(work.control, servo.control[0], servo.control[1])
    a = servo.gain[1] * u + servo.bias[1]
    b = servo.gain[2] * u + servo.bias[2]
    work.force = servo.gain[0] * u + servo.bias[0] + a * length + b * speed
    work.rate = 0.0
    # Only what resists is implicit: dampers in full, springs by the square of the time
    if servo.implicit:
        time = damped_time(w, dt)
        stiffness, damping = max(0.0, -a), max(0.0, -b)
        work.rate = (time * damping + time * time * stiffness) / dt
        # By Euler's rule the spring sees the position that the old velocity leads to
        if w.header[0].integrator != MIDPOINT:
            work.force -= dt * stiffness * speed


@unit("servos", seconds=2)
def update_limits(w: WorldView, trials: int) -> int:
    """Whether the limits with which a step was made are those that its end `w.v_new` asks for.

    Returns CONVERGED, with the forces that acted in the world's state; or AGAIN, with other limits.
    trials: how often AGAIN was said before
    """
    driven, total = w.driven, w.servo_room
    if driven[0] == 0.0:
        return CONVERGED
    saturated, acting = w.saturated, w.drive
    servos, gears, works = w.servos, w.gears, w.servo_work
    n, nv, changes = w.header[0].nservos, w.header[0].nv, 0
    for j in range(nv):
        total[j] = 0.0
    # Each servo's force at the end of the step, and at which limit it wants to be
    for i in range(n):
        servo, work = servos[i], works[i]
        change = speed_of(w, servo, w.v_new) - speed_of(w, servo, w.v)
        force = work.force - work.rate * change
        if work.rate != 0.0:
            wanted = _limit_of(force, servo.force[0], servo.force[1], saturated[i], trials)
            if wanted != saturated[i] and (changes == 0 or not TRIALS <= trials < PATIENCE):
                changes, saturated[i] = changes + 1, wanted
        force = _clipped(force, servo.force[0], servo.force[1])
        if saturated[i] != 0:
            force = servo.force[0] if saturated[i] < 0 else servo.force[1]
        for k in range(servo.first, servo.first + servo.gears):
            total[gears[k].dof] += w.pulls[k] * force
    # Likewise each joint's effort, which bounds the sum of what drives it
    for j in range(nv):
        effort = w.dofs[j].effort
        wanted = _limit_of(total[j], -effort, effort, saturated[n + j], trials)
        if wanted != saturated[n + j] and (changes == 0 or not TRIALS <= trials < PATIENCE):
            changes, saturated[n + j] = changes + 1, wanted
        acting[j] = _clipped(total[j], -effort, effort)
        if saturated[n + j] != 0:
            acting[j] = saturated[n + j] * effort
    return AGAIN if changes > 0 else CONVERGED


@inlined
def _limit_of(force: float, low: float, high: float, before: int, trials: int) -> int:
    """Which limit a force is to be at, -1 or 1, or 0; from one to the other by way of 0."""
    # A force at its limit stays there up to rounding, one within it likewise
    if before > 0:
        stays = trials >= PATIENCE or force >= high - EDGE * abs(high)
    elif before < 0:
        stays = trials >= PATIENCE or force <= low + EDGE * abs(low)
    else:
        stays = low - EDGE * abs(low) <= force <= high + EDGE * abs(high)
    if stays:
        return before
    if before != 0:
        return 0
    return 1 if force > high else -1
