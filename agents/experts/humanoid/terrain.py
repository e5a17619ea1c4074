"""The walk on terrain: the ground as the height scan shows it, and how soles stand on it.

The frame's origin lies in the plane that fits the scanned ground best, below the base.  The walk is
planned above that plane; the scan itself says how the ground lies under each sole, and what a
swinging foot has to clear.  Whether a foot stands, its contact flag tells: the scan is too coarse
for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynenvs.agents.experts.common.scan import Scan, fit_plane, ground_height
from dynenvs.agents.experts.humanoid.records import (
    LEGS,
    Clock,
    Edges,
    Ground,
    Leg,
    Memo,
    Soles,
    Standing,
    Stride,
    Swing,
)
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, WorkView
from dynenvs.simd.elementary import atan2, cos, sin

ALONG, ACROSS = 5, 3  # points of a sole below which the ground is looked at
UNEVEN = 0.025  # range of heights about the plane under a sole from which on there is an edge [m]
SEATS = 9  # along it, to tell which part of it is carried
STEP = 0.06  # below what is highest, from which on ground does not carry [m]
FREE = 0.3  # time left of a swing when moving its foothold costs as much as `keep` says [s]
MOVE, MOVES_X, MOVES_Y = 0.02, 11, 5  # of footholds: distance [m], and how many of them
STEEP = 0.32  # slope from which on there is one, too


@inlined
def height_at(g: Scan, o: Floats, ground: Ground, x: float, y: float) -> float:
    """Height of the ground at (x, y) in the frame [m]."""
    return float(ground.level + ground_height(g, o, x, y))


@kernel
def fit_sole(
    g: Soles, o: Floats, ground: Ground, x: float, y: float, yaw: float, normal: Floats
) -> float:
    """The ground under a sole with its middle at (x, y): its normal; height on which it rests [m].

    At an edge a sole lies level on what is higher.
    """
    c, s = cos(yaw), sin(yaw)
    mean = along = across = xx = yy = 0.0
    top = -math.inf
    for k in range(ALONG * ACROSS):
        a = g.sole_size[0] * (2.0 * (k // ACROSS) / (ALONG - 1.0) - 1.0)
        b = g.sole_size[1] * (2.0 * (k % ACROSS) / (ACROSS - 1.0) - 1.0)
        z = height_at(g, o, ground, x + c * a - s * b, y + s * a + c * b)
        mean += z / (ALONG * ACROSS)
        along, across = along + a * z, across + b * z
        xx, yy = xx + a * a, yy + b * b
        top = max(top, z)
    u, v = along / xx, across / yy  # slopes along the sole and across
    low, high = math.inf, -math.inf
    for k in range(ALONG * ACROSS):
        a = g.sole_size[0] * (2.0 * (k // ACROSS) / (ALONG - 1.0) - 1.0)
        b = g.sole_size[1] * (2.0 * (k % ACROSS) / (ACROSS - 1.0) - 1.0)
        z = height_at(g, o, ground, x + c * a - s * b, y + s * a + c * b)
        apart = z - mean - u * a - v * b
        low, high = min(low, apart), max(high, apart)
    if high - low > UNEVEN or u * u + v * v > STEEP * STEEP:
        normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
        return float(top)
    size = math.sqrt(1.0 + u * u + v * v)
    normal[0], normal[1], normal[2] = -(c * u - s * v) / size, -(s * u + c * v) / size, 1.0 / size
    return float(mean + high)


@inlined
def look_at_ground(g: Standing, o: Floats, ground: Ground) -> None:
    """The plane of the scanned ground, and the height above it instead of that observed."""
    o[g.at_height] = fit_plane(g, o, ground)
    ground.level = o[g.at_height]


@inlined
def feel_ground(w: WorkView, g: Standing, o: Floats, ground: Ground, legs: Sequence[Leg]) -> None:
    """The ground under each sole, and how far the sole seems to lie on it; needs the poses."""
    ground.level = o[g.at_height]
    for leg in range(LEGS):
        one = legs[leg]
        pose = w.pose[one.body]
        R = pose.R
        x, y, z = rotate(R, g.sole)
        x, y = x + pose.p[0], y + pose.p[1]
        n = one.normal
        yaw = atan2(R[1, 0], R[0, 0])
        one.ground = fit_sole(g, o, ground, x, y, yaw, n)
        _take_seat(g, o, ground, one, x, y, z + pose.p[2], yaw)
        skew = (R[0, 2] - n[0]) ** 2 + (R[1, 2] - n[1]) ** 2 + (R[2, 2] - n[2]) ** 2
        one.flatness = 1.0 / (1.0 + skew / (g.skew * g.skew))


@inlined
def _take_seat(
    g: Standing, o: Floats, ground: Ground, one: Leg, x: float, y: float, z: float, yaw: float
) -> None:
    """The middle and the size of the part of a sole that the ground carries.

    How far a point is carried passes evenly over the height of a step: the scan leaves open where
    between two of its points an edge is.
    """
    c, s = cos(yaw), sin(yaw)
    level = min(one.ground, z)
    total = a1 = b1 = a2 = b2 = full_a = full_b = 0.0
    for k in range(SEATS * ACROSS):
        a = g.sole_size[0] * (2.0 * (k // ACROSS) / (SEATS - 1.0) - 1.0)
        b = g.sole_size[1] * (2.0 * (k % ACROSS) / (ACROSS - 1.0) - 1.0)
        share = _carried(height_at(g, o, ground, x + c * a - s * b, y + s * a + c * b), level, one)
        total += share
        a1, b1, a2, b2 = a1 + share * a, b1 + share * b, a2 + share * a * a, b2 + share * b * b
        full_a, full_b = full_a + a * a, full_b + b * b
    total = max(total, 1e-3)
    a1, b1 = a1 / total, b1 / total
    count = SEATS * ACROSS
    room_a = math.sqrt(max(a2 / total - a1 * a1, 0.0) / (full_a / count))
    room_b = math.sqrt(max(b2 / total - b1 * b1, 0.0) / (full_b / count))
    one.room[0] = g.half_length * min(max(room_a, g.least_room), 1.0)
    one.room[1] = g.half_width * min(max(room_b, g.least_room), 1.0)
    one.seat[0], one.seat[1] = c * a1 - s * b1, s * a1 + c * b1
    one.seat[2] = -(one.normal[0] * one.seat[0] + one.normal[1] * one.seat[1]) / one.normal[2]


@inlined
def _carried(height: float, level: float, one: Leg) -> float:
    """How far ground of this height carries a sole: all of it where there is no edge."""
    if one.normal[2] < 1.0:
        return 1.0
    return min(max(1.0 + (height - level) / STEP, 0.0), 1.0)


@kernel
def carried_share(g: Edges, o: Floats, ground: Ground, x: float, y: float, yaw: float) -> float:
    """Share of a sole with its middle at (x, y), and a margin about it, that the ground carries."""
    c, s = cos(yaw), sin(yaw)
    top, mean = -math.inf, 0.0
    for turn in range(2):
        for k in range(SEATS * ACROSS):
            a = (g.sole_size[0] + g.margin) * (2.0 * (k // ACROSS) / (SEATS - 1.0) - 1.0)
            b = (g.sole_size[1] + g.margin) * (2.0 * (k % ACROSS) / (ACROSS - 1.0) - 1.0)
            z = height_at(g, o, ground, x + c * a - s * b, y + s * a + c * b)
            if turn == 0:
                top = max(top, z)
            else:
                mean += min(max(1.0 + (z - top) / STEP, 0.0), 1.0)
    return mean / (SEATS * ACROSS)


@inlined
def choose_foothold(
    g: Edges,
    o: Floats,
    clock: Clock,
    ground: Ground,
    legs: Sequence[Leg],
    stride: Stride,
    old: Memo,
    new: Memo,
) -> None:
    """Move the next foothold away from edges: for and back, and a little to the side."""
    one = legs[1 - clock.main]
    if one.stands:
        new.swings = 0.0
        return
    new.swings = 1.0
    yaw = clock.command[2] * (clock.left + 0.5 * clock.step)
    keep = FREE * clock.frequency / max(1.0 - one.phase, 0.01)
    keep *= g.keep * keep
    best = math.inf
    for k in range(MOVES_X * MOVES_Y):
        dx, dy = MOVE * (k // MOVES_Y - MOVES_X // 2), MOVE * (k % MOVES_Y - MOVES_Y // 2)
        lacks = g.edge * (
            1.0 - carried_share(g, o, ground, stride.place[0] + dx, stride.place[1] + dy, yaw)
        )
        cost = lacks * lacks + dx * dx + dy * dy
        if old.swings > 0.0:
            cost += keep * ((dx - old.shift[0]) ** 2 + (dy - old.shift[1]) ** 2)
        if cost < best:
            best = cost
            new.shift[0], new.shift[1] = dx, dy
    stride.place[0] += new.shift[0]
    stride.place[1] += new.shift[1]


@inlined
def _toward(way: float, speed: float, last: float, time: float, most: float) -> float:
    """Acceleration now of the cubic that goes `way` from `speed` to speed `last` in `time`."""
    a = (6.0 * way / time - 4.0 * speed - 2.0 * last) / time
    return min(max(a, -most), most)


@kernel
def highest(g: Soles, o: Floats, ground: Ground, one: Leg, x1: float, y1: float) -> float:
    """The highest ground that a sole meets from where it is to (x1, y1) [m]."""
    x, y = one.point[0], one.point[1]
    c, s = cos(one.yaw), sin(one.yaw)
    top = -math.inf
    for k in range(4 * ALONG):
        part = (k // ALONG) / 3.0
        a = g.sole_size[0] * (2.0 * (k % ALONG) / (ALONG - 1.0) - 1.0)
        px, py = x + part * (x1 - x) + c * a, y + part * (y1 - y) + s * a
        top = max(top, height_at(g, o, ground, px, py))
    return top


@inlined
def aim(g: Soles, o: Floats, ground: Ground, stride: Stride, one: Leg) -> None:
    """The ground below the next foothold."""
    one.ground = fit_sole(g, o, ground, stride.place[0], stride.place[1], one.yaw, one.normal)


@inlined
def rise_over(
    g: Swing, o: Floats, ground: Ground, stride: Stride, one: Leg, elapsed: float, whole: float
) -> float:
    """Vertical acceleration of a swinging foot: up, over what is in the way, down to its place."""
    done, left = elapsed / whole, whole - elapsed
    down = one.ground
    top = max(highest(g, o, ground, one, stride.place[0], stride.place[1]), down)
    z, speed, most = one.point[2], one.velocity[5], g.most_swing[5]
    if done < g.apex:
        time = max((g.apex - done) * whole, 0.05)
        return _toward(top + g.over - z, speed, 0.0, time, most)
    time = max(left, 0.03)
    return _toward(down - z, speed, -g.landing_speed[0], time, most)
