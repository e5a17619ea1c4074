"""The slots of all pairs of solids: found anew at each pose, taken over into contacts."""

from __future__ import annotations

import math
from typing import Any

from dynenvs.compiled import apart, inlined
from dynenvs.contact.geometry.block_field import sphere_blocks
from dynenvs.contact.geometry.box_blocks import box_blocks
from dynenvs.contact.geometry.box_box import box_box
from dynenvs.contact.geometry.capsule_blocks import capsule_blocks
from dynenvs.contact.geometry.capsule_box import capsule_box, sphere_box
from dynenvs.contact.geometry.capsule_capsule import capsule_capsule, sphere_capsule
from dynenvs.contact.geometry.height_field import solid_field
from dynenvs.contact.geometry.segment import clamp
from dynenvs.contact.geometry.spot import Point, back, discard, dot
from dynenvs.layout import (
    Bytes,
    Floats,
    Records,
    open_model,
    open_pairs,
    open_shapes,
    open_workspace,
)
from dynenvs.records import BLOCK_FIELD, BOX, CAPSULE, HEIGHT_FIELD
from dynenvs.rotation import rotate

FOUND = 0


@apart("int64(uint8[::1], uint8[::1], int64)", ahead=True)
def find_spots(packed: Bytes, buffer: Bytes, after: int) -> int:
    """Fill `w.spots` for the poses `w.pose`, or its second half for `w.pose_new` if `after`.

    Returns FOUND.
    """
    m = open_model(packed)
    w = open_workspace(m, buffer)
    pairs, heights = open_pairs(m, packed)
    shapes = open_shapes(m, buffer)
    start = m.header[0].ns if after else 0
    for p in range(m.header[0].np):
        pair = pairs[p]
        first = start + pair.first
        if after:
            near = _meet(pair, w.pose_new[pair.body_a], w.pose_new[pair.body_b], shapes)
        else:
            near = _meet(pair, w.pose[pair.body_a], w.pose[pair.body_b], shapes)
        if near or (after and w.spots[pair.first].skip == 0):  # else nobody reads the slots
            discard(w.spots, first, pair.slots)
        w.spots[first].skip = 0 if near else pair.slots
        if near:
            _find(pair, shapes[0], shapes[1], heights, w.spots, first)
    return FOUND


@inlined
def _meet(pair: Any, pose_a: Any, pose_b: Any, shapes: Records) -> bool:
    """Whether the solids are near each other; if so, both placed in the world."""
    a, b = pose_a.p, pose_b.p
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    if x * x + y * y + z * z > pair.apart:  # broad phase: nothing needs to be turned
        return False
    x, y, z = rotate(pose_a.R, pair.position_a)
    center = (x + a[0], y + a[1], z + a[2])
    if not _near(pair, back(pose_b.R, (center[0] - b[0], center[1] - b[1], center[2] - b[2]))):
        return False
    c = shapes[0].center
    c[0], c[1], c[2] = center
    _turn(pose_a.R, pair.rotation_a, shapes[0].R)
    x, y, z = rotate(pose_b.R, pair.position_b)
    other = (x + b[0], y + b[1], z + b[2])
    if pair.kind_a == CAPSULE and pair.kind_b == CAPSULE:
        u = rotate(pose_a.R, pair.rotation_a[:, 2])
        v = rotate(pose_b.R, pair.rotation_b[:, 2])
        if _side_by_side(pair, center, u, other, v):
            return False
    c = shapes[1].center
    c[0], c[1], c[2] = other
    _turn(pose_b.R, pair.rotation_b, shapes[1].R)
    for k in range(3):
        shapes[0].half[k], shapes[1].half[k] = pair.size_a[k], pair.size_b[k]
    return True


@inlined
def _turn(R: Floats, own: Floats, out: Floats) -> None:
    """out = R own"""
    for i in range(3):
        x, y, z = R[i, 0], R[i, 1], R[i, 2]
        for j in range(3):
            out[i, j] = x * own[0, j] + y * own[1, j] + z * own[2, j]


@inlined
def _near(pair: Any, center: Point) -> bool:
    """Whether A's bounding sphere, its centre in B's body frame, is near B: near a box, near the
    highest level of a field, near the bounding sphere of others."""
    p = pair.position_b
    x, y, z = center[0] - p[0], center[1] - p[1], center[2] - p[2]
    if pair.kind_b == HEIGHT_FIELD or pair.kind_b == BLOCK_FIELD:
        return bool(z - pair.top < pair.reach)
    if pair.kind_b == BOX:
        x, y, z = back(pair.rotation_b, (x, y, z))
        half = pair.size_b
        x -= clamp(x, half[0])
        y -= clamp(y, half[1])
        z -= clamp(z, half[2])
    return bool(x * x + y * y + z * z < pair.reach * pair.reach)


@inlined
def _side_by_side(pair: Any, p: Point, u: Point, q: Point, v: Point) -> bool:
    """Whether a plane across the line between their centres p and q parts two capsules widely."""
    d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
    half_u, half_v = pair.size_a[1], pair.size_b[1]
    square = dot(d, d)
    parted = square - half_u * abs(dot(d, u)) - half_v * abs(dot(d, v))
    return bool(parted > (pair.reach - half_u - half_v) * math.sqrt(square))


@inlined
def _find(pair: Any, a: Any, b: Any, heights: Floats, spots: Records, first: int) -> None:
    if pair.kind_b == HEIGHT_FIELD:
        solid_field(pair, a, b, heights, spots, first)
    elif pair.kind_b == BLOCK_FIELD:
        if pair.kind_a == BOX:
            box_blocks(pair, a, b, heights, spots, first)
        elif pair.kind_a == CAPSULE:
            capsule_blocks(pair, a, b, heights, spots, first)
        else:
            sphere_blocks(pair, a, b, heights, spots, first)
    elif pair.kind_b == CAPSULE:
        if pair.kind_a == CAPSULE:
            capsule_capsule(pair, a, b, spots, first)
        else:
            sphere_capsule(pair, a, b, spots, first)
    elif pair.kind_a == BOX:
        box_box(a, b, spots, first)
    elif pair.kind_a == CAPSULE:
        capsule_box(pair, a, b, spots, first)
    else:
        sphere_box(pair, a, b, spots, first)


@inlined
def place_spot(spot: Any, pose: Any, contact: Any) -> None:
    """Centre, normal and point of a contact from its slot; `pose` is that of body A."""
    c, n = contact.center, contact.normal
    contact.radius = spot.radius
    contact.edges = spot.edges
    for k in range(3):
        c[k] = spot.center[k]
        n[k] = spot.normal[k]
        contact.point[k] = c[k] - spot.radius * n[k]
    _into_body(pose, c, contact.local)


@inlined
def _into_body(pose: Any, p: Floats, out: Floats) -> None:
    """out = R^T (p - origin)"""
    o = pose.p
    out[0], out[1], out[2] = back(pose.R, (p[0] - o[0], p[1] - o[1], p[2] - o[2]))


@inlined
def _out_of_body(pose: Any, local: Floats, out: Floats) -> None:
    """out = R local + origin"""
    x, y, z = rotate(pose.R, local)
    out[0], out[1], out[2] = x + pose.p[0], y + pose.p[1], z + pose.p[2]


@inlined
def pull_back(spot: Any, new_a: Any, new_b: Any, a: Any, b: Any, contact: Any) -> float:
    """A contact that shows only at the end of the step, at its start: returns the gap [m].

    The material points that meet at the end, taken to where they were, and their distance along
    the normal that they will meet at.
    """
    place_spot(spot, new_a, contact)
    reach = spot.gap + spot.radius
    other, n = contact.point, contact.normal
    for k in range(3):
        other[k] = contact.center[k] - reach * n[k]
    _into_body(new_b, other, contact.t1)  # tangents are not known yet: room for a point
    _out_of_body(b, contact.t1, other)
    _out_of_body(a, contact.local, contact.center)
    gap = -spot.radius
    for k in range(3):
        gap += n[k] * (contact.center[k] - other[k])
    for k in range(3):
        other[k] = contact.center[k] - spot.radius * n[k]
    return float(gap)


@inlined
def hold(pose_b: Any, contact: Any) -> None:
    """Keep a contact's normal in B's axes, before the bodies are turned (`carry`)."""
    n, held = contact.normal, contact.t1
    held[0], held[1], held[2] = back(pose_b.R, (n[0], n[1], n[2]))


@inlined
def carry(pose_a: Any, pose_b: Any, contact: Any) -> None:
    """Take a contact along with its bodies: the core point with A, the normal with B."""
    n = contact.normal
    n[0], n[1], n[2] = rotate(pose_b.R, contact.t1)
    _out_of_body(pose_a, contact.local, contact.center)
    for k in range(3):
        contact.point[k] = contact.center[k] - contact.radius * n[k]
