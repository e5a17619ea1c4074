"""The ground below a robot with a free base: its height anywhere, and what the robot sees of it."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.contact.detection.geometry.block_field import block_at, block_height
from dynenvs.contact.detection.geometry.height_field import surface
from dynenvs.envs.legged.records import OWN_OPTIONS
from dynenvs.envs.robots.terrain import (
    HALF_TILE,
    NUMBERS,
    ROUGH_START,
    START_NOISE,
    START_TILES,
    TREAD,
)
from dynenvs.jit.compiled import inlined, kernel, unit
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import write_quaternion
from dynenvs.memory.layout import Floats, Ints, ModelView, Records, StateView, WorldView
from dynenvs.simd.elementary import atan2, cos, sin
from dynenvs.simulation.rng import uniform

FLAT, SLOPE, ROUGH, STAIRS = (NUMBERS[name] for name in ("flat", "slope", "rough", "stairs"))
SETTLING = 20  # times that a robot is let down until its lowest foot touches
NEAR_ENOUGH = 1e-9  # [m]
FOUND = 0
Options = Annotated[Records, OWN_OPTIONS]
Generator = Annotated[Floats, np.dtype(np.uint64)]
UPRIGHT_LEGS = 2  # robots with no more legs begin upright on sloping ground


@kernel
def ground_height(w: ModelView, terrain: int, slope: float, x: float, y: float) -> float:
    """Height of the ground at (x, y) [m]; `slope` is the rise along x of a sloping one."""
    if terrain == SLOPE:
        return slope * x
    if terrain != FLAT:
        pairs, heights = w.pairs, w.heights
        pair = pairs[0]  # the ground is the first geom, and so is its first pair
        if terrain == ROUGH:
            return surface(pair, heights, x, y)[0]
        i, j = block_at(pair, x, y)
        return block_height(pair, heights, i, j)
    return 0.0


@inlined
def _at(w: StateView, o: Any, c: float, d: float, x: float, y: float) -> float:
    """Height of the ground at (x, y) from the base in its heading, of cosine c and sine d."""
    return ground_height(w, o.terrain, o.slope, w.q[0] + c * x - d * y, w.q[1] + d * x + c * y)


@inlined
def heading_of(w: StateView) -> float:
    """Direction of the base's x axis over ground [rad]."""
    e, x, y, z = w.q[3], w.q[4], w.q[5], w.q[6]
    return atan2(2.0 * (x * y + e * z), 1.0 - 2.0 * (y * y + z * z))


@inlined
def local_ground(w: WorldView, options: Options) -> float:
    """Mean height of the ground where the feet of a standing robot would be [m]."""
    if options[0].terrain == FLAT:
        return 0.0
    return float(w.rhs[0]) if find_ground(w, options, 1) == FOUND else math.nan


@inlined
def ground_below(w: WorldView, options: Options) -> float:
    """Height of the ground below the base [m]."""
    if options[0].terrain == FLAT:
        return 0.0
    return float(w.rhs[0]) if find_ground(w, options, 0) == FOUND else math.nan


@unit("terrain", seconds=3)
def find_ground(w: WorldView, options: Options, about: int) -> int:
    """`local_ground` if `about` is 1, else `ground_below`, into `w.rhs[0]`.  Returns FOUND."""
    o = options[0]
    if about:
        w.rhs[0] = _mean_height(w, o)
    else:
        w.rhs[0] = ground_height(w, o.terrain, o.slope, w.q[0], w.q[1])
    return FOUND


@inlined
def _mean_height(w: StateView, o: Any) -> float:
    angle = heading_of(w)
    c, d = cos(angle), sin(angle)
    x, y = o.footprint[0], o.footprint[1]
    total = _at(w, o, c, d, x, y) + _at(w, o, c, d, x, -y)
    total += _at(w, o, c, d, -x, y) + _at(w, o, c, d, -x, -y)
    return 0.25 * total


@unit("terrain", seconds=2)
def scan(w: StateView, options: Options, out: Floats, at: int) -> int:
    """Heights of the ground below the base's, on the grid about it in its heading, from out[at].

    Returns FOUND.
    """
    o = options[0]
    angle = heading_of(w)
    c, d = cos(angle), sin(angle)
    for i in range(o.scan_x):
        x = (i - 0.5 * (o.scan_x - 1.0)) * o.scan_spacing
        for j in range(o.scan_y):
            y = (j - 0.5 * (o.scan_y - 1.0)) * o.scan_spacing
            seen = _at(w, o, c, d, x, y) - w.q[2]
            out[at] = min(max(seen, -o.height_bound), o.height_bound)
            at += 1
    return FOUND


@unit("terrain", seconds=4)
def place_on_terrain(w: WorldView, options: Options, generator: Generator, feet: Ints) -> int:
    """Take a robot that stands at the origin to a drawn place and heading, its lowest foot down.

    Its base is tilted as the ground below its feet.  Returns FOUND.
    """
    o = options[0]
    x = y = 0.0
    if o.terrain == ROUGH:
        x = uniform(generator, -ROUGH_START, ROUGH_START)
        y = uniform(generator, -ROUGH_START, ROUGH_START)
    elif o.terrain == STAIRS:
        across = math.floor(uniform(generator, 0.0, 1.0 * START_TILES))
        along = math.floor(uniform(generator, 0.0, 1.0 * START_TILES))
        tile = 2.0 * HALF_TILE * TREAD
        x = tile * (across - START_TILES // 2) + uniform(generator, -START_NOISE, START_NOISE)
        y = tile * (along - START_TILES // 2) + uniform(generator, -START_NOISE, START_NOISE)
    angle = uniform(generator, -math.pi, math.pi)
    c, d = cos(angle), sin(angle)
    w.q[0], w.q[1] = x, y
    _tilt(w, o, angle, c, d)
    w.q[2] += _mean_height(w, o) + 0.2  # clear of the ground, to be let down
    for _ in range(SETTLING):
        update_poses(w, w.q, w.pose)
        measure_gaps(w)
        lowest = math.inf
        for f in range(w.header[0].nk):
            if feet[f] >= 0:
                lowest = min(lowest, w.gaps[f])
        w.q[2] -= lowest
        if abs(lowest) < NEAR_ENOUGH:
            break
    return FOUND


@inlined
def _tilt(w: StateView, o: Any, angle: float, c: float, d: float) -> None:
    """The base's quaternion: heading, then pitch and roll of the ground below the feet."""
    x, y = o.footprint[0], o.footprint[1]
    fl, fr = _at(w, o, c, d, x, y), _at(w, o, c, d, x, -y)
    rl, rr = _at(w, o, c, d, -x, y), _at(w, o, c, d, -x, -y)
    pitch = -atan2(0.5 * (fl + fr - rl - rr), max(2.0 * x, 0.1))
    roll = atan2(0.5 * (fl + rl - fr - rr), max(2.0 * y, 0.1))
    if o.legs <= UPRIGHT_LEGS:  # tilted, it would stand beside its feet
        pitch = roll = 0.0
    write_quaternion(w.q, 3, roll, pitch, angle)
