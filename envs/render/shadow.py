"""Soft shadows: how much of the sun and of the sky a point sees past the pieces.

Cast along the light, a piece is a rounded convex outline in the plane across it.  A point sees the
light the better the further outside of the outline it lies, in units of the blur, which grows with
the distance to the piece.  The plane is divided into square cells, each with a list of the pieces
that may darken it.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from dynenvs.envs.render.lens import Vector, vector
from dynenvs.envs.render.pieces import BLOCK, MESH, ROD, Pieces
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.triples import dot
from dynenvs.memory.layout import Floats, Ints, Matrix
from dynenvs.memory.records import record_type

Array = NDArray[Any]

SUN = np.array([-0.42, -0.50, 0.95]) / np.linalg.norm([-0.42, -0.50, 0.95])
SKY = np.array([0.0, 0.0, 1.0])
SUN_BLUR = 0.10  # of a shadow's edge, per metre from what casts it
SKY_BLUR = 0.80
LEAST_BLUR = 0.006  # [m]
BELOW = 0.3  # so far below the lowest piece a shadow may fall [m]
THICK = 0.1  # a block's middle is no further above its edges for its shadow's blur [m]
CELLS = 24
MOST = 16  # corners of a mesh's outline
HEADS = CELLS * CELLS + 1  # entries of the table before the lists

CASTER = record_type(
    [
        ("corners", "f8", (MOST, 2)),  # across the light, in order [m]
        ("edges", "f8", (MOST, 3)),  # outward normal and distance along it of those lines [-, m]
        ("count", "i8"),
        ("radius", "f8"),
        ("middle", "f8", (2,)),
        ("reach", "f8"),  # of the outline from its middle
        ("height", "f8"),  # along the light, of the piece's middle
        ("along", "f8", (2,)),  # of a rod: from -1 to 1 between its ends, across the light [1/m]
        # How much higher its end is than its middle; of a block: at most, of any place in it
        ("rise", "f8"),
        ("half", "f8", (3,)),  # of a block, or of the one around a mesh
        ("turn", "f8", (3, 3)),  # of this block: from the light's axes to its own
    ]
)


class Light(NamedTuple):
    """A light, and the outlines of all that stands in it."""

    axes: Matrix  # two axes across the light and the one towards it, rows, shape (3, 3)
    blur: float
    casters: Annotated[Array, CASTER]  # shape (n,), in the order of the pieces
    corner: Floats  # of the cells, across the light [m], shape (2,)
    cell: float  # side of a cell [m]
    # HEADS places in what follows, where a cell's list starts and the next one's; then the lists of
    # the casters that may darken each cell
    table: Ints


def light(towards: Array, blur: float, pieces: Pieces) -> Light:
    """A light that shines on the pieces."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(towards[0]) < 0.8 else np.array([0.0, 1.0, 0.0])
    first = np.cross(towards, helper)
    first /= np.linalg.norm(first)
    axes = np.array([first, np.cross(towards, first), towards])
    casters = _outlines(pieces, axes)
    if not len(casters):
        return Light(axes, blur, casters, np.zeros(2), 1.0, np.zeros(HEADS, np.int64))
    # Receivers lie little lower than the lowest caster: so far a blur can spread
    lowest = (casters["height"] - casters["reach"]).min() - BELOW
    wide = casters["reach"] + LEAST_BLUR + blur * (casters["height"] - lowest)
    low = (casters["middle"] - wide[:, None]).min(axis=0)
    cell = float(((casters["middle"] + wide[:, None]).max(axis=0) - low).max()) / CELLS
    ticks = cell * (np.arange(CELLS) + 0.5)
    x = low[0] + ticks - casters["middle"][:, :1]
    y = low[1] + ticks - casters["middle"][:, 1:]
    near = (x * x)[:, :, None] + (y * y)[:, None, :] < ((wide + 0.71 * cell) ** 2)[:, None, None]
    near = near.reshape(len(casters), -1).T
    heads = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
    return Light(axes, blur, casters, low, cell, np.concatenate([heads, np.nonzero(near)[1]]))


_ROUND = 2.0 * np.pi / MOST * np.arange(MOST)
_LOOKS = np.array([np.cos(_ROUND), np.sin(_ROUND)])
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)


def _outlines(pieces: Pieces, axes: Array) -> Array:
    """CASTER of every piece, shape (n,), across the light with these axes."""
    records = pieces.records
    casters = np.zeros(len(records), CASTER)
    kind, half = records["kind"], records["half"]
    seen, across = records["center"] @ axes.T, axes @ records["R"]
    solid = (kind == BLOCK) | (kind == MESH)
    casters["middle"], casters["height"] = seen[:, :2], seen[:, 2]
    casters["radius"] = np.where(solid, 0.0, half[:, 0])
    corners, count, reach = casters["corners"], casters["count"], np.zeros(len(records))
    corners[:, 0], count[:] = seen[:, :2], 1
    rods = np.flatnonzero(kind == ROD)
    ways = across[rods, :, 2] * half[rods, 1:2]
    corners[rods, 0], corners[rods, 1] = seen[rods, :2] - ways[:, :2], seen[rods, :2] + ways[:, :2]
    count[rods] = 2
    length = (ways[:, :2] ** 2).sum(axis=1)
    reach[rods] = np.sqrt(length)
    lying = length > 1e-9  # others stand along the light
    casters["along"][rods[lying]] = ways[lying, :2] / length[lying, None]
    casters["rise"][rods[lying]] = ways[lying, 2]
    blocks = np.flatnonzero(solid)
    casters["half"][blocks] = half[blocks]
    casters["turn"][blocks] = np.swapaxes(across[blocks], 1, 2)
    casters["rise"][blocks] = np.linalg.norm(half[blocks], axis=1)
    for k in blocks:
        if kind[k] == MESH:
            outline = _around(pieces, records[k], across[k, :2])
        else:
            outline = (_SIGNS * half[k]) @ across[k, :2].T
            outline = outline[ConvexHull(outline).vertices]
        count[k], corners[k, : len(outline)] = len(outline), outline + seen[k, :2]
        reach[k] = np.linalg.norm(outline, axis=1).max()
    casters["reach"] = reach + casters["radius"]
    casters["edges"] = _edges(corners, count)
    return casters


def _edges(corners: Array, count: Array) -> Array:
    """Of outlines, counter-clockwise, the line through each corner and the next one.

    Its outward normal, and how far along it the line lies; shape (n, MOST, 3).
    """
    after = np.arange(1, MOST + 1) % np.maximum(count, 1)[:, None]
    ways = np.take_along_axis(corners, after[:, :, None], axis=1) - corners
    size = np.linalg.norm(ways, axis=2)
    there = (size > 0.0) & (np.arange(MOST) < count[:, None])
    out = np.stack([ways[:, :, 1], -ways[:, :, 0]], axis=2) / np.where(there, size, 1.0)[..., None]
    out[~there] = 0.0
    far = np.where(there, np.einsum("nij,nij->ni", out, corners), np.inf)
    return np.concatenate([out, far[..., None]], axis=2)


def _around(pieces: Pieces, piece: Any, across: Array) -> Array:
    """The outermost points of a mesh's hull in so many directions, in order."""
    first = piece["hull_first"]
    points = pieces.hulls[first : first + piece["hull_count"]] @ across.T
    found = np.argmax(points @ _LOOKS, axis=0)
    return np.asarray(points[found[found != np.roll(found, 1)]])


@inlined
def _beyond(caster: Any, x: float, y: float) -> float:
    """How far a point is beyond that edge's line which it is most beyond; negative inside.

    Inside that is the distance from the outline, outside no more than that.
    """
    edges, beyond = caster.edges, -math.inf
    for i in range(caster.count):
        beyond = max(beyond, edges[i, 0] * x + edges[i, 1] * y - edges[i, 2])
    return float(beyond)


@inlined
def _outside(caster: Any, x: float, y: float) -> float:
    """Distance of a point from the outline if it is outside of it."""
    corners, count = caster.corners, caster.count
    if count == 1:
        dx, dy = x - corners[0, 0], y - corners[0, 1]
        return float(math.sqrt(dx * dx + dy * dy) - caster.radius)
    nearest = math.inf
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        ax, ay = corners[i, 0], corners[i, 1]
        ex, ey = corners[j, 0] - ax, corners[j, 1] - ay
        dx, dy = x - ax, y - ay
        s = min(max((dx * ex + dy * ey) / max(ex * ex + ey * ey, 1e-12), 0.0), 1.0)
        dx, dy = dx - s * ex, dy - s * ey
        nearest = min(nearest, dx * dx + dy * dy)
    return float(math.sqrt(nearest) - caster.radius)


class Beams(NamedTuple):
    """The numbers of a Light, read once a picture."""

    x: Vector
    y: Vector
    towards: Vector
    blur: float
    low_x: float
    low_y: float
    cells: float  # to a metre


@inlined
def open_light(light: Any) -> Beams:
    """The numbers of a Light."""
    axes, corner = light.axes, light.corner
    x, y, towards = vector(axes[0]), vector(axes[1]), vector(axes[2])
    return Beams(x, y, towards, light.blur, corner[0], corner[1], 1.0 / light.cell)


@inlined
def visibility(beams: Beams, casters: Array, table: Array, p: Vector, own: int) -> float:
    """Share of a light that a world point sees, from 0 to 1; piece `own` does not count."""
    a, b, h = dot(beams.x, p), dot(beams.y, p), dot(beams.towards, p)
    i, j = (a - beams.low_x) * beams.cells, (b - beams.low_y) * beams.cells
    if min(i, j) < 0.0 or max(i, j) >= CELLS:
        return 1.0
    cell = int(i) * CELLS + int(j)
    first, last = HEADS + table[cell], HEADS + table[cell + 1]
    if first == last:
        return 1.0
    return float(_past_casters(casters, table[first:last], beams.blur, a, b, h, own))


@inlined
def _chord(caster: Any, dx: float, dy: float, above: float) -> tuple[float, float]:
    """Where a point's way to the light enters and leaves a block, the other way round if it passes
    the block by: distances from the point [m].

    dx, dy, above: from the block's middle to the point across the light, and back along it.
    """
    low, high = -math.inf, math.inf
    for k in range(3):
        turn, half = caster.turn[k], caster.half[k]
        if abs(turn[2]) > 1e-9:
            place = turn[0] * dx + turn[1] * dy - turn[2] * above
            one, other = (-half - place) / turn[2], (half - place) / turn[2]
            low, high = max(low, min(one, other)), min(high, max(one, other))
    return low, high


@inlined
def _above_in_block(caster: Any, dx: float, dy: float, above: float) -> float:
    """How far along the light the middle of a block's part over a point is from the point.

    Where the light passes the block by, its edge on the way to its middle counts: the chord's
    length is concave, so the secant between here and the middle ends inside of it.
    """
    low, high = _chord(caster, dx, dy, above)
    if low > high:
        first, last = _chord(caster, 0.0, 0.0, above)
        share = (last - first) / (last - first + low - high)
        low, high = _chord(caster, share * dx, share * dy, above)
    return float(min(max(0.5 * (low + high), above - caster.rise), above + caster.rise))


@kernel
def _past_casters(
    casters: Array, which: Array, blur: float, a: float, b: float, h: float, own: int
) -> float:
    seen = 1.0
    for i in which:
        if i == own:
            continue
        caster = casters[i]
        dx, dy = a - caster.middle[0], b - caster.middle[1]
        above = caster.height - h
        block, over, outside = caster.count > 2, above, 0.0
        if block:
            # Its middle is no higher than this above the point: passed by for sure
            widest = LEAST_BLUR + blur * max(above + caster.rise, 0.0)
            wide = caster.reach + widest
            if dx * dx + dy * dy > wide * wide:
                continue
            outside = _beyond(caster, a, b)
            if outside >= widest:
                continue
            # Blurred as if it were all at its middle's height, unless it is wide
            over = _above_in_block(caster, dx, dy, above)
            above = min(max(above, over), over + THICK)
        soft = LEAST_BLUR + blur * max(above, 0.0)
        wide = caster.reach + soft
        if dx * dx + dy * dy > wide * wide:
            continue
        if not block:
            place = caster.along[0] * dx + caster.along[1] * dy
            over += caster.rise * min(max(place, -1.0), 1.0)
        if over <= 0.0:
            continue
        if not block or 0.0 < outside < soft:
            outside = _outside(caster, a, b)
        share = min(max(0.5 + 0.5 * outside / soft, 0.0), 1.0)
        share = share * share * (3.0 - 2.0 * share)
        if over < 0.02:  # what stands in it shades itself no harder than it rises
            share = 1.0 - (1.0 - share) * over / 0.02
        # A small thing far away hides little of a wide light
        size = min(caster.reach, caster.radius + 0.7 * caster.reach)
        hides = min(1.0, (size / soft) ** 2) if soft > size else 1.0
        seen *= 1.0 - hides * (1.0 - share)
        if seen == 0.0:
            break
    return seen
