"""Sliding until something ends it, and what happens to the motion then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.memory.records import FREE
from dynenvs.model.validation import finite_vector
from dynenvs.reference.integrators.simulate import FIXED_STEP, Step
from dynenvs.reference.surfaces.contact import SlidingContact
from dynenvs.simulation.world import World

FLAT = 1e-6  # least ratio of H~'s singular values: below, qdd has no digits left
BISECTIONS = 60

TIME, BREAKS, EDGE, FLAT_ON_FLAT = "time is up", "contact breaks", "edge of a chart", "flat on flat"


class Slide(NamedTuple):
    """States at the ends of all steps, the start first, and why there are no more."""

    t: Floats  # [s], shape (n,)
    q: Floats  # contact coordinates, shape (n, 5)
    v: Floats  # shape (n, 5)
    end: str  # "time is up", "contact breaks", "edge of a chart" or "flat on flat"


def slide(
    contact: SlidingContact,
    q: Floats,
    v: Floats,
    duration: float,
    dt: float,
    *,
    method: str = "rk4",
) -> Slide:
    """Integrate the contact coordinates until `duration` or until they stop to describe the motion.

    The moment at which contact breaks (its normal force passes zero) or an edge is reached is
    found by bisection within the step, to 1e-18 of it.  Flat on flat (H~^T M H~ singular) ends the
    motion before the step that meets it.

    Args:
        contact: the two bodies.
        q, v: contact coordinates and their rates at the start, shape (5,).
        duration, dt: [s].
        method: one of `dynenvs.reference.integrators.FIXED_STEP`.

    Raises:
        ValueError: wrong shapes, not finite, unknown method, or nonpositive times.
    """
    if method not in FIXED_STEP:
        raise ValueError(f"unknown method {method!r}; choose from: {', '.join(FIXED_STEP)}")
    if not (0.0 < dt < np.inf and 0.0 < duration < np.inf):
        raise ValueError(f"duration and dt must be positive and finite, got {duration}, {dt}")
    q, v = finite_vector(q, 5, "q"), finite_vector(v, 5, "v")
    step = FIXED_STEP[method]
    times, states = [0.0], [(q, v)]
    end = why_over(contact, q, v)
    # Step by step, until something ends it
    while not end and times[-1] < duration * (1 - 1e-12):
        t, (q, v) = times[-1], states[-1]
        h = min(dt, duration - t)
        try:
            after = step(contact, t, q, v, h)
            end = why_over(contact, *after)
        except np.linalg.LinAlgError:
            end, after = FLAT_ON_FLAT, (q, v)
        if end == FLAT_ON_FLAT:
            break
        # Back to the last moment at which it still goes on
        if end:
            h = _last_moment(partial(_advance, step, contact, t, q, v), contact, h)
            after = step(contact, t, q, v, h)
        times.append(t + h)
        states.append(after)
    q_all, v_all = (np.array(part) for part in zip(*states, strict=True))
    return Slide(np.array(times), q_all, v_all, end or TIME)


def why_over(contact: SlidingContact, q: Floats, v: Floats) -> str:
    """Why contact coordinates do not describe the motion from here on; empty if they do."""
    if min(contact.moving.margin(q[:2]), contact.fixed.margin(q[2:4])) <= 0.0:
        return EDGE
    if contact.stiffness(q) < FLAT:
        return FLAT_ON_FLAT
    return BREAKS if contact.pressure(q, v) < 0.0 else ""


def _advance(
    step: Step, contact: SlidingContact, time: float, q: Floats, v: Floats, dt: float
) -> tuple[Floats, Floats]:
    return step(contact, time, q, v, dt)


def _last_moment(
    state_after: Callable[[float], tuple[Floats, Floats]], contact: SlidingContact, dt: float
) -> float:
    """The longest part of the step `dt` after which the motion still goes on [s]."""
    low, high = 0.0, dt
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if why_over(contact, *state_after(middle)):
            high = middle
        else:
            low = middle
    return low


def hand_over(contact: SlidingContact, q: Floats, v: Floats, world: World, body: str) -> None:
    """Give the sliding body's pose and velocity to a free body of a world with LCP contact.

    Args:
        contact: whose body 2's frame is the joint frame of the world's body.
        q, v: contact coordinates and their rates, shape (5,).
        world: takes over; its other coordinates stay.
        body: its name there; on a free joint, with the same mass distribution and body frame.

    Raises:
        ValueError: the body is not free, or its mass, centre or inertia differ.
        KeyError: no such body.
    """
    record = world.model.bodies[world.model.body_id(body)]
    if record.joint != FREE:
        raise ValueError(f"body {body!r} must be on a free joint")
    # Both must be the same body
    for name, theirs, ours in (
        ("mass", record.mass, contact.mass),
        ("com", record.com, contact.com),
        ("inertia", record.inertia, contact.inertia),
    ):
        if not np.allclose(theirs, ours, rtol=1e-12, atol=1e-12):
            raise ValueError(f"body {body!r} has another {name} in the world: {theirs}, not {ours}")
    pose, twist = contact.pose(q), contact.twist(q, v)
    at, first = int(record.q_at), int(record.v_at)
    world.q[at : at + 3] = pose.position
    world.q[at + 3 : at + 7] = _quaternion(pose.rotation)
    world.v[first : first + 3] = pose.rotation @ twist[3:]
    world.v[first + 3 : first + 6] = twist[:3]


def _quaternion(R: Floats) -> Floats:
    """Unit quaternion (w, x, y, z) of a rotation, by its largest component (Shepperd 1978)."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0.0, R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [0.0, 0.0, R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2]],
            [0.0, 0.0, 0.0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    K = K + np.triu(K, 1).T  # q is its eigenvector: 4 q q^T = K + 1
    quaternion: Floats = (K + np.eye(4))[int(np.argmax(np.diag(K)))]
    return quaternion / np.linalg.norm(quaternion)
