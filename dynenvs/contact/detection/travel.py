"""How long a part of the step may be so that fast bodies do not pass through others unseen.

Contacts are looked for where bodies are at the start and at the end of a part.  A body that moves
by more than the thickness of what stands in its way would be seen before it and behind it, never
in it.  Pairs that are nearer than NEAR at the start (above fields: SEEN) are seen in time.  So a
body is dangerous that comes from further away and still goes half of its thickness into another.
Where it is about to meet something, the part is cut: within one, two solids move by no more than
half of what they are thick together, and are seen, at the latest, where they overlap by as much:
then the direction that parts them is still the right one.  Slow bodies, and fast ones with nothing
ahead, cost no more than a look at their velocities.

Half spaces have no other side: what is below them is brought back (`resolve.add_missed`).
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.contact.detection.geometry.segment import clamp
from dynenvs.contact.detection.geometry.spot import back
from dynenvs.jit.compiled import apart, inlined
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import (
    Bytes,
    ModelView,
    Records,
    WorkspaceView,
    open_model,
    open_pairs,
    open_solids,
    open_workspace,
)
from dynenvs.memory.records import BLOCK_FIELD, BOX, HALF_SPACE, HEIGHT_FIELD, NEAR, SEEN

THIN = 0.005  # way that two solids may always move, however thin they are [m]
MOST_PARTS = 200  # into which one part is cut
LOOKED = 0


@inlined
def safe_part(m: ModelView, w: WorkspaceView, packed: Bytes, buffer: Bytes, dt: float) -> float:
    """The longest part of dt, from `w.pose` with the velocities `w.body.v`, that may be taken."""
    h = m.header[0]
    if h.np + h.nround == 0:
        return dt
    fastest = 0.0
    for i in range(1, h.nb):
        fastest = max(fastest, _fastest_point(m, w, i))
    if not 2.0 * dt * fastest > NEAR:
        return dt
    w.answer[0].until = dt
    find_safe_part(packed, buffer, dt)
    return float(w.answer[0].until)


@inlined
def _fastest_point(m: ModelView, w: WorkspaceView, i: int) -> float:
    """Bound on the speed of all points of a body's geoms [m/s]."""
    v, p, o = w.body[i].v, w.pose[i].p, w.pose[m.bodies[i].root].p
    x, y, z = _point_velocity(v, p[0] - o[0], p[1] - o[1], p[2] - o[2])
    spin = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return math.sqrt(x * x + y * y + z * z) + spin * m.bodies[i].around


@inlined
def _point_velocity(v: Any, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Velocity of the point at (x, y, z) from the tree's origin."""
    return (
        v[3] + v[1] * z - v[2] * y,
        v[4] + v[2] * x - v[0] * z,
        v[5] + v[0] * y - v[1] * x,
    )


@apart("int64(uint8[::1], uint8[::1], float64)", "contact", seconds=2.5)
def find_safe_part(packed: Bytes, buffer: Bytes, dt: float) -> int:
    """`safe_part` into `w.answer.until`, by a look at all pairs.  Returns LOOKED."""
    m = open_model(packed)
    w = open_workspace(m, buffer)
    h = m.header[0]
    pairs, _ = open_pairs(m, packed)
    solids, shapes = open_solids(m, packed, buffer)
    for k in range(solids.shape[0]):
        _move(m, w, solids[k], shapes[k])
    parts = 1.0
    for k in range(h.np):
        pair = pairs[k]
        parts = max(parts, _parts_of_pair(pair, solids, shapes, dt))
    for f in range(h.npoints):
        if m.features[f].kind != HALF_SPACE:
            parts = max(parts, _parts_of_points(m, w, m.features[f], dt))
    w.answer[0].until = dt / min(parts, 1.0 * MOST_PARTS)
    return LOOKED


@inlined
def _move(m: ModelView, w: WorkspaceView, solid: Any, shape: Any) -> None:
    """A solid's centre and axes, the velocity of its centre (`normal`), and how fast its other
    points move about it (`hu`)."""
    pose, v = w.pose[solid.body], w.body[solid.body].v
    o = w.pose[m.bodies[solid.body].root].p
    x, y, z = rotate(pose.R, solid.position)
    c, n = shape.center, shape.normal
    c[0], c[1], c[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    n[0] = n[1] = n[2] = shape.hu = 0.0
    if solid.body > 0:
        n[0], n[1], n[2] = _point_velocity(v, c[0] - o[0], c[1] - o[1], c[2] - o[2])
        if solid.radius > solid.inside:  # a sphere turns in its own place
            spin = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            shape.hu = spin * (solid.radius - solid.inside)
    own = solid.rotation
    for i in range(3):
        x, y, z = pose.R[i, 0], pose.R[i, 1], pose.R[i, 2]
        for j in range(3):
            shape.R[i, j] = x * own[0, j] + y * own[1, j] + z * own[2, j]


@inlined
def _parts_of_pair(pair: Any, solids: Records, shapes: Records, dt: float) -> float:
    """Into how many parts dt must be cut for a pair of solids."""
    a, b = shapes[pair.solid_a], shapes[pair.solid_b]
    one, other = solids[pair.solid_a], solids[pair.solid_b]
    u, v = a.normal, b.normal
    x, y, z = u[0] - v[0], u[1] - v[1], u[2] - v[2]
    way = dt * (math.sqrt(x * x + y * y + z * z) + a.hu + b.hu)
    thick, reach = one.inside + other.inside, one.radius + way
    over_field = pair.kind_b == HEIGHT_FIELD or pair.kind_b == BLOCK_FIELD
    if not way > (SEEN if over_field else NEAR) + 0.5 * thick:  # from where pairs are near
        return 1.0
    p, q = a.center, b.center
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    if over_field:
        _, _, z = back(b.R, (x, y, z))
        if z - pair.top > reach:
            return 1.0
    else:
        if pair.kind_b == BOX:
            x, y, z = back(b.R, (x, y, z))
            half = pair.size_b
            x -= clamp(x, half[0])
            y -= clamp(y, half[1])
            z -= clamp(z, half[2])
        else:
            reach += other.radius
        if x * x + y * y + z * z > reach * reach:
            return 1.0
    return math.ceil(way / max(0.5 * thick, THIN))


@inlined
def _parts_of_points(m: ModelView, w: WorkspaceView, feature: Any, dt: float) -> float:
    """The same for a point feature of two round geoms."""
    x, y, z, ux, uy, uz = _center(m, w, feature.body_a, feature.center)
    tx, ty, tz, vx, vy, vz = _center(m, w, feature.body_b, feature.target)
    way = dt * math.sqrt((ux - vx) ** 2 + (uy - vy) ** 2 + (uz - vz) ** 2)
    thick = feature.radius + feature.target_radius
    distance = math.sqrt((x - tx) ** 2 + (y - ty) ** 2 + (z - tz) ** 2)
    if not way > NEAR + 0.5 * thick or distance > thick + way:
        return 1.0
    return math.ceil(way / max(0.5 * thick, THIN))


@inlined
def _center(
    m: ModelView, w: WorkspaceView, body: int, local: Any
) -> tuple[float, float, float, float, float, float]:
    """Place and velocity of a point of a body."""
    pose, o = w.pose[body], w.pose[m.bodies[body].root].p
    x, y, z = rotate(pose.R, local)
    x, y, z = x + pose.p[0], y + pose.p[1], z + pose.p[2]
    if body == 0:
        return x, y, z, 0.0, 0.0, 0.0
    u, v, t = _point_velocity(w.body[body].v, x - o[0], y - o[1], z - o[2])
    return x, y, z, u, v, t
