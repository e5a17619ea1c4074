"""Contact detection: the gap, normal and point of every feature, and which ones can be reached.

A feature is a point with a radius on geom A; geom B is a half space or a sphere.  Its index is
its stable id, by which impulses and active sets are remembered from step to step.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import inlined, kernel
from dynenvs.kinematics import point_velocity
from dynenvs.layout import HALF_SPACE, Floats, ModelView, Records, StateView, WorkspaceView
from dynenvs.rotation import rotate

# Features this close are always part of the problem, so that a neighbour's push needs no second
# solve [m].
MARGIN = 1e-3


@inlined
def feature_gap(feature: Any, poses: Records) -> float:
    """Signed distance [m] of a feature from geom B, negative inside."""
    A, B = poses[feature.body_a], poses[feature.body_b]
    cx, cy, cz = rotate(A.R, feature.center)
    tx, ty, tz = rotate(B.R, feature.target)
    dx = cx + A.p[0] - tx - B.p[0]
    dy = cy + A.p[1] - ty - B.p[1]
    dz = cz + A.p[2] - tz - B.p[2]
    if feature.kind == HALF_SPACE:
        nx, ny, nz = rotate(B.R, feature.target_normal)
        return nx * dx + ny * dy + nz * dz - feature.radius
    return math.sqrt(dx * dx + dy * dy + dz * dz) - feature.radius - feature.target_radius


@inlined
def locate(feature: Any, poses: Records, contact: Any) -> None:
    """Fill centre, normal (from B to A) and point (on A's surface) of a contact, world axes."""
    A, B = poses[feature.body_a], poses[feature.body_b]
    c, n = contact.center, contact.normal
    cx, cy, cz = rotate(A.R, feature.center)
    c[0], c[1], c[2] = cx + A.p[0], cy + A.p[1], cz + A.p[2]
    if feature.kind == HALF_SPACE:
        n[0], n[1], n[2] = rotate(B.R, feature.target_normal)
    else:
        tx, ty, tz = rotate(B.R, feature.target)
        dx, dy, dz = c[0] - tx - B.p[0], c[1] - ty - B.p[1], c[2] - tz - B.p[2]
        distance = math.sqrt(dx * dx + dy * dy + dz * dz)
        if distance > 1e-12:
            n[0], n[1], n[2] = dx / distance, dy / distance, dz / distance
        else:  # concentric spheres: any direction parts them
            n[0], n[1], n[2] = 0.0, 0.0, 1.0
    for k in range(3):
        contact.point[k] = c[k] - feature.radius * n[k]


@inlined
def measure_gaps(m: ModelView, poses: Records, gaps: Floats) -> None:
    """Gap [m] of every feature, shape (nf,)."""
    for f in range(m.header[0].nf):
        gaps[f] = feature_gap(m.features[f], poses)


@inlined
def _approach(m: ModelView, w: WorkspaceView, contact: Any, feature: Any, scratch: Floats) -> float:
    """Normal velocity [m/s] of A's point relative to B's at the start of the step."""
    point_velocity(m, w, feature.body_a, contact.point, scratch)
    n = contact.normal
    speed = scratch[0] * n[0] + scratch[1] * n[1] + scratch[2] * n[2]
    if feature.body_b > 0:
        point_velocity(m, w, feature.body_b, contact.point, scratch)
        speed -= scratch[0] * n[0] + scratch[1] * n[1] + scratch[2] * n[2]
    return speed


@inlined
def add_contact(m: ModelView, s: StateView, w: WorkspaceView, f: int, count: int) -> None:
    """Make feature f the contact number `count`, located at the start of the step."""
    feature = m.features[f]
    contact = w.contacts[count]
    contact.feature = f
    contact.gap = w.gaps[f]
    contact.friction = s.memory[f].friction
    contact.stick = 0
    locate(feature, w.pose, contact)
    _set_target(m, w, contact)


@inlined
def _set_target(m: ModelView, w: WorkspaceView, contact: Any) -> None:
    """The distance that the contact may close within the step.

    Features of one body against one geom share a rigid target motion: their gaps, affine over the
    body, all shifted by the depth of the deepest.  A clamp of each alone would ask a rigid sole
    for a velocity field that it cannot have, and redundant contacts would squeeze
    (physics.md, section 4, consistent biases).
    """
    f = contact.feature
    group = m.features[f].group
    deepest = 0.0
    k = f
    while k >= 0 and m.features[k].group == group:
        deepest = min(deepest, w.gaps[k])
        k -= 1
    k = f + 1
    while k < m.header[0].nf and m.features[k].group == group:
        deepest = min(deepest, w.gaps[k])
        k += 1
    contact.target = contact.gap - deepest


@kernel
def select_contacts(m: ModelView, s: StateView, w: WorkspaceView, dt: float) -> int:
    """Collect the features that can be reached within the step; returns their number.

    Those that the answer reaches all the same are found after the solve and added then.  The
    number may exceed the capacity: then the last ones are left out and the caller reports it.
    """
    measure_gaps(m, w.pose, w.gaps)
    count = 0
    for f in range(m.header[0].nf):
        gap = w.gaps[f]
        if gap < 0.5 and s.memory[f].ignored == 0:  # far features cannot be near: skip the velocity
            slot = min(count, m.header[0].nc - 1)
            contact = w.contacts[slot]
            locate(m.features[f], w.pose, contact)
            speed = _approach(m, w, contact, m.features[f], w.body[0].f)
            if gap + dt * min(speed, 0.0) < MARGIN:
                if count < m.header[0].nc:
                    add_contact(m, s, w, f, count)
                count += 1
    return count
