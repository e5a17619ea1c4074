"""One frictional impact, integrated over its normal impulse (Keller 1986; Mirtich and Canny 1995;
Cloutier 1995, section 6.4.2).

The relative velocity u at the contact changes with the normal impulse p_n as

    du/dp_n = L (n + friction),  L = J M^-1 J^T,

where friction is -mu along the direction of slip while the contact slides; where slip stops, it
sticks if the friction that this takes is within the cone, and else slides off in a direction that
keeps itself up.  Compression ends at u_n = 0 with p_c; the impact at (1 + e) p_c (Poisson).

Cost: some hundred products with the 3 x 3 matrix L an impact; one contact at a time.
What it gives up: simultaneous contacts have no answer, and resting ones none at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats

STEPS = 400  # in which a frictionless approach would be stopped, while slip changes
NORMAL = np.array([0.0, 0.0, 1.0])
HEADINGS = 720  # tried for a direction in which slip keeps itself up


class Impact(NamedTuple):
    """What an impact did."""

    impulse: Floats  # on the first body along (t1, t2, n) [N s], shape (3,)
    velocity: Floats  # relative velocity after it [m/s], shape (3,)
    compression: float  # normal impulse at the end of compression [N s]


def collide(
    L: Floats, velocity: Floats, friction: float, restitution: float, *, steps: int = STEPS
) -> Impact:
    """Integrate one impact.

    Args:
        L: J M^-1 J^T along (t1, t2, n) [1/kg], shape (3, 3), positive definite.
        velocity: relative velocity before it along (t1, t2, n) [m/s], shape (3,).
        friction: coefficient.
        restitution: Poisson's, between 0 and 1.
        steps: in which a frictionless approach would be stopped.

    Raises:
        ValueError: parameters out of range.
        ArithmeticError: compression does not end (L is not positive definite).
    """
    if not (friction >= 0.0 and 0.0 <= restitution <= 1.0):
        raise ValueError(
            f"friction must not be negative, restitution between 0 and 1: {friction}, {restitution}"
        )
    impulse, velocity = np.zeros(3), np.array(velocity, dtype=np.float64)
    if velocity[2] >= 0.0:
        return Impact(impulse, velocity, 0.0)
    # Compression, in steps of normal impulse
    step = -velocity[2] / L[2, 2] / steps
    for _ in range(10_000 * steps):
        push, dp = _push(L, velocity, friction, step)
        rise = float(L[2] @ push)  # du_n / dp_n
        stopping = rise > 0.0 and velocity[2] + dp * rise >= 0.0
        dp = -velocity[2] / rise if stopping else dp
        velocity, impulse = velocity + dp * (L @ push), impulse + dp * push
        if stopping:
            break
    else:
        raise ArithmeticError("the compression phase does not end: L is not positive definite")
    velocity[2] = 0.0
    compression = float(impulse[2])
    # Restitution: as much as Poisson's law adds
    rest = restitution * compression
    while rest > 1e-15 * compression:
        push, dp = _push(L, velocity, friction, step)
        dp = min(dp, rest)
        velocity, impulse = velocity + dp * (L @ push), impulse + dp * push
        rest -= dp
    return Impact(impulse, velocity, compression)


def _push(L: Floats, velocity: Floats, friction: float, step: float) -> tuple[Floats, float]:
    """Impulse per normal impulse along (t1, t2, n), and for how much of it that holds."""
    if friction == 0.0:
        return NORMAL, np.inf
    stick = np.append(-np.linalg.solve(L[:2, :2], L[:2, 2]), 1.0)
    # Whether it would stick if it did not slip
    sticks = np.hypot(stick[0], stick[1]) <= friction
    if not velocity[:2].any():
        return (stick, np.inf) if sticks else (_ray(L, friction), step)
    # It slips: by the midpoint, unless the slip turns round within the step
    push = _drag(velocity, friction)
    middle = velocity + step / 2 * (L @ push)
    if velocity[:2] @ middle[:2] > 0.0:
        push = _drag(middle, friction)
        if velocity[:2] @ (velocity + step * (L @ push))[:2] > 0.0:
            return push, step
    return _stop(L, velocity, friction, step, stick)


def _drag(velocity: Floats, friction: float) -> Floats:
    """Along the normal, and against the slip by `friction`."""
    speed = np.hypot(velocity[0], velocity[1])
    return np.array([-friction * velocity[0] / speed, -friction * velocity[1] / speed, 1.0])


def _stop(
    L: Floats, velocity: Floats, friction: float, step: float, stick: Floats
) -> tuple[Floats, float]:
    """Ends the slip that would turn back within the step, as far as the cone allows."""
    push = stick.copy()
    push[:2] -= np.linalg.solve(L[:2, :2], velocity[:2]) / step
    excess = np.hypot(push[0], push[1]) / friction
    if excess > 1.0:
        push[:2] /= excess
    return push, step


def _ray(L: Floats, friction: float) -> Floats:
    """The push whose change of slip goes along the slip that it opposes: slip keeps itself up."""
    angles = 2 * np.pi * np.arange(HEADINGS) / HEADINGS
    slip = np.array([np.cos(angles), np.sin(angles)])
    change = L[:2, :2] @ (-friction * slip) + L[:2, 2:]
    best = int(np.argmax((slip * change).sum(0) / np.maximum(np.hypot(*change), 1e-300)))
    return np.array([-friction * slip[0, best], -friction * slip[1, best], 1.0])
