"""From depths to colours: sky, ground and pieces in sun and skylight, with haze far away."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.cast import NOTHING, normal_at
from dynenvs.envs.render.lens import (
    Canvas,
    Codes,
    Depths,
    Directions,
    Lens,
    Vector,
    open_lens,
    ray,
)
from dynenvs.envs.render.mesh import alike
from dynenvs.envs.render.orbit import Camera
from dynenvs.envs.render.pieces import MESH, Pieces
from dynenvs.envs.render.shadow import SUN, Beams, Light, open_light, visibility
from dynenvs.jit.compiled import entry, inlined, kernel
from dynenvs.kinematics.triples import dot
from dynenvs.memory.layout import Matrix

Array = NDArray[Any]
Color = tuple[float, float, float]


class Ground(NamedTuple):
    """What there is of the ground in a picture of h by w pixels."""

    depth: Depths  # along each ray, shape (h, w): the terrain's, then the floor's too
    normal: Directions  # the terrain's, shape (h, w, 3)
    terrain: bool  # whether there is any
    floor: float  # height of the level floor; NaN if there is none
    tile: float  # side of a tile


class Samples(NamedTuple):
    """What `cast` found of the pieces: four samples a pixel, in rows first..last-1 of pixels."""

    depth: Depths  # shape (2 h, 2 w)
    code: Codes  # which face it is, shape (2 h, 2 w)
    first: int
    last: int


def _color(color: palette.Color) -> Color:
    return float(color[0]), float(color[1]), float(color[2])


SKY_TOP = _color(palette.SKY_TOP)
SKY_LOW = _color(palette.SKY_LOW)
GROUND = _color(palette.GROUND)
TILE = _color(palette.TILE)
LINE = _color(palette.MARK)
RIM = _color(palette.OUTLINE)
WALL_TOP = _color(palette.WALL_TOP)
WALL_LOW = _color(palette.WALL_LOW)

SUN_AT = (float(SUN[0]), float(SUN[1]), float(SUN[2]))
LEVEL = (0.0, 0.0, 1.0)
GLOSS = 46.0  # brightest highlight
COARSE_BITS = 3
COARSE = 1 << COARSE_BITS  # side of the squares within which skylight is interpolated [px]
FINE = 5.0  # finer lines to a tile
SUN_SHARE, SKY_SHARE = 0.62, 0.50  # of a level white surface's light
HAZE = 16.0  # distance at which haze has taken hold, in heights of the view
LINE_WIDTH = 0.016  # of the lines between tiles, in their size
THIN = 0.01  # of the depth: samples of a mesh further apart than this see different parts of it
BAND = 0.30  # of the sky, in which it goes from its low to its top colour


@inlined
def _stripes(x: float, sharp: float) -> tuple[float, float]:
    """(which, line): the wave that is 1 on even and -1 on odd intervals, and how much a line at
    their borders covers; both evened out over an interval of width 1 / sharp about x."""
    cell = math.floor(x)
    edge = min(x - cell, cell + 1.0 - x)
    wave = min(2.0 * edge * sharp, 1.0)
    line = max((0.5 * LINE_WIDTH - edge) * sharp + 0.5, 0.0)
    return wave if int(cell) & 1 == 0 else -wave, min(line, min(LINE_WIDTH * sharp, 1.0))


@inlined
def _ground_color(
    lens: Lens, d: Vector, n: Vector, t: float, x: float, y: float, tiles: float
) -> Color:
    """Tiles and lines at a world point, evened out over what one pixel covers.

    tiles: their number to a metre.
    """
    r, u, f = lens.right, lens.up, t * lens.pixel * tiles
    slant = 1.0 / min(dot(n, d), -1e-4)
    across, upward = dot(n, r) * slant, dot(n, u) * slant
    wx = f * (abs(r[0] - d[0] * across) + abs(u[0] - d[0] * upward))
    wy = f * (abs(r[1] - d[1] * across) + abs(u[1] - d[1] * upward))
    check, mark, widest = 0.5, 0.0, max(wx, wy)
    if widest < 2.0:  # otherwise tiles are too fine to be told apart
        sharp_x, sharp_y = 1.0 / max(wx, 1e-4), 1.0 / max(wy, 1e-4)
        tile_x, line_x = _stripes(x * tiles, sharp_x)
        tile_y, line_y = _stripes(y * tiles, sharp_y)
        fade = 1.0 - 0.5 * widest
        check += 0.5 * tile_x * tile_y * fade
        mark = 0.5 * fade * max(line_x, line_y)
        if FINE * widest < 1.0:
            _, line_x = _stripes(FINE * x * tiles, sharp_x / FINE)
            _, line_y = _stripes(FINE * y * tiles, sharp_y / FINE)
            mark = max(mark, 0.22 * (1.0 - FINE * widest) * max(line_x, line_y))
    return _mixed(_mixed(GROUND, TILE, check), LINE, mark)


@inlined
def _mixed(a: Color, b: Color, share: float) -> Color:
    return (
        a[0] + (b[0] - a[0]) * share,
        a[1] + (b[1] - a[1]) * share,
        a[2] + (b[2] - a[2]) * share,
    )


@inlined
def sky_color(d: Vector, indoors: bool) -> Color:
    """The sky in a direction; a plain wall where there is no ground."""
    if d[2] <= 0.0 and not indoors:
        return SKY_LOW
    slope = d[2] / math.sqrt(dot(d, d))
    if indoors:
        return _mixed(WALL_LOW, WALL_TOP, min(max(0.5 + 0.9 * slope, 0.0), 1.0))
    s = min(max(slope / BAND, 0.0), 1.0)
    return _mixed(SKY_LOW, SKY_TOP, s * (2.0 - s))


@inlined
def _clear(t: float, haze: float) -> float:
    """How much of a colour comes through the air from depth t."""
    far = t / haze
    return 1.0 / (1.0 + far * far * (1.0 + far * far))


@kernel
def _skylight(
    lens: Lens,
    depth: Array,
    below: float,
    beams: Beams,
    casters: Array,
    table: Array,
    coarse: Array,
) -> None:
    """Share of the sky that the ground sees, which changes slowly: at some pixels only."""
    for i in range(coarse.shape[0]):
        row = min(i * COARSE, depth.shape[0] - 1)
        for j in range(coarse.shape[1]):
            column = min(j * COARSE, depth.shape[1] - 1)
            d = ray(lens, column + 0.5, row + 0.5)
            t = 1.0 * depth[row, column]
            if below * d[2] > 0.0:
                t = min(t, below / d[2])
            coarse[i, j] = 1.0
            if t < 1e9:
                p = (lens.eye[0] + t * d[0], lens.eye[1] + t * d[1], lens.eye[2] + t * d[2])
                coarse[i, j] = visibility(beams, casters, table, p, NOTHING)


@inlined
def _between(coarse: Array, row: int, column: int) -> float:
    """What `_skylight` found, between the pixels at which it looked."""
    i, j = row >> COARSE_BITS, column >> COARSE_BITS
    x = (column - (j << COARSE_BITS)) * (1.0 / COARSE)
    y = (row - (i << COARSE_BITS)) * (1.0 / COARSE)
    top = coarse[i, j] + x * (coarse[i, j + 1] - coarse[i, j])
    bottom = coarse[i + 1, j] + x * (coarse[i + 1, j + 1] - coarse[i + 1, j])
    return float(top + y * (bottom - top))


@inlined
def _ground_light(base: Color, n: Vector, sun: float, sky: float) -> Color:
    """A colour of the ground in the shares of sun and sky that it sees."""
    light = SUN_SHARE * sun * max(dot(n, SUN_AT), 0.0) / SUN_AT[2]
    light += SKY_SHARE * sky * (0.55 + 0.45 * n[2])
    cool = 0.06 * (1.0 - sun)  # only the blue sky lights a shadow
    return (
        min(base[0] * light * (1.0 - cool), 255.0),
        min(base[1] * light, 255.0),
        min(base[2] * light * (1.0 + cool), 255.0),
    )


@inlined
def _hidden(samples: Array, row: int, column: int, t: float) -> bool:
    """Whether all four samples of a pixel meet pieces before depth t."""
    i, j = 2 * row, 2 * column
    one = max(samples[i, j], samples[i, j + 1])
    return bool(max(one, max(samples[i + 1, j], samples[i + 1, j + 1])) < t)


@entry
def paint_background(
    camera: Camera,
    canvas: Canvas,
    ground: Ground,
    samples: Samples,
    haze: float,
    sun: Light,
    sky: Light,
    coarse: Matrix,
) -> None:
    """Sky, floor and terrain, shape (h, w, 3), but for what the samples of pieces hide.

    haze: the distance at which it has taken hold.
    coarse: scratch, one entry for each corner of squares of COARSE pixels.
    """
    lens = open_lens(camera)
    depth, normal, terrain = ground.depth, ground.normal, ground.terrain
    below = ground.floor - lens.eye[2]
    beams, casters, table = open_light(sun), sun.casters, sun.table
    _skylight(lens, depth, below, open_light(sky), sky.casters, sky.table, coarse)
    indoors = math.isnan(ground.floor) and not terrain
    for row in range(canvas.shape[0]):
        # The camera does not roll: all of a row looks down alike, and sees the floor equally far
        down = ray(lens, lens.column, row + 0.5)[2]
        floor_t = below / down if below * down > 0.0 else math.inf
        floor_clear = _clear(floor_t, haze)
        for column in range(canvas.shape[1]):
            d = ray(lens, column + 0.5, row + 0.5)
            t, n, clear = floor_t, LEVEL, floor_clear
            if terrain and depth[row, column] < t:
                t, at = 1.0 * depth[row, column], normal[row, column]
                n, clear = (1.0 * at[0], 1.0 * at[1], 1.0 * at[2]), _clear(t, haze)
            else:
                depth[row, column] = t
            if samples.first <= row < samples.last and _hidden(samples.depth, row, column, t):
                continue
            color = sky_color(d, indoors)
            if t < 1e9:
                p = (lens.eye[0] + t * d[0], lens.eye[1] + t * d[1], lens.eye[2] + t * d[2])
                base = _ground_color(lens, d, n, t, p[0], p[1], 1.0 / ground.tile)
                bright = visibility(beams, casters, table, p, NOTHING)
                lit = _ground_light(base, n, bright, _between(coarse, row, column))
                color = _mixed(color, lit, clear)
            # Rounding offsets that keep the sky from showing bands; always the same
            dither = 0.0625 * ((column * 7 + row * 11 + ((column * row) >> 2)) & 15)
            canvas[row, column, 0] = np.uint8(min(color[0] + dither, 255.0))
            canvas[row, column, 1] = np.uint8(min(color[1] + dither, 255.0))
            canvas[row, column, 2] = np.uint8(min(color[2] + dither, 255.0))


@inlined
def _lit(
    lens: Lens,
    pieces: Pieces,
    face: int,
    d: Vector,
    t: float,
    sun: Beams,
    casters: Array,
    table: Array,
) -> Color:
    """Colour of what one ray sees of a piece."""
    p = (lens.eye[0] + t * d[0], lens.eye[1] + t * d[1], lens.eye[2] + t * d[2])
    number = pieces.owners[face]
    piece, n = pieces.records[number], normal_at(pieces, face, p, d)
    facing = dot(n, SUN_AT)
    bright = visibility(sun, casters, table, p, number) if facing > 0.0 else 1.0
    base = piece.color
    if piece.body == 0:  # part of the ground
        light = SUN_SHARE * bright * max(facing, 0.0) / SUN_AT[2] + SKY_SHARE * (0.6 + 0.4 * n[2])
        return min(base[0] * light, 255.0), min(base[1] * light, 255.0), min(base[2] * light, 255.0)
    length = 1.0 / math.sqrt(dot(d, d))
    toward = -dot(n, d) * length
    light = 0.66 * bright * max(facing, 0.0) + 0.46 + 0.20 * n[2] + 0.08 * toward
    # A soft highlight between the sun and the viewer
    h = (SUN_AT[0] - d[0] * length, SUN_AT[1] - d[1] * length, SUN_AT[2] - d[2] * length)
    shine = max(dot(n, h) / math.sqrt(max(dot(h, h), 1e-9)), 0.0)
    shine *= shine
    shine *= shine
    shine *= shine
    gloss = GLOSS * bright * shine * shine * shine
    lit = (
        min(base[0] * light * (0.99 + 0.03 * bright) + gloss, 255.0),
        min(base[1] * light + gloss, 255.0),
        min(base[2] * light * (1.04 - 0.04 * bright) + gloss, 255.0),
    )
    # A dark rim against what lies behind
    edge = max(1.0 - max(toward, 0.0) / 0.42, 0.0)
    return _mixed(lit, RIM, 0.42 * edge * edge)


@inlined
def _one_surface(pieces: Pieces, depth: Array, code: Array, i: int, j: int) -> bool:
    """Whether the four samples of a pixel see smooth neighbours of one mesh."""
    nearest, farthest, one = math.inf, 0.0, code[i, j]
    alike_ = one != NOTHING and pieces.records[pieces.owners[one]].kind == MESH
    for k in range(4):
        other, t = code[i + k // 2, j + k % 2], depth[i + k // 2, j + k % 2]
        if alike_ and other != one:
            alike_ = other != NOTHING and pieces.owners[other] == pieces.owners[one]
            if alike_:
                piece = pieces.records[pieces.owners[one]]
                shift = piece.first - piece.code
                alike_ = alike(pieces.normals, one + shift, other + shift)
        nearest, farthest = min(nearest, t), max(farthest, t)
    return bool(alike_ and farthest - nearest < THIN * nearest)


@entry
def paint_pieces(
    camera: Camera,
    canvas: Canvas,
    ground: Ground,
    pieces: Pieces,
    samples: Samples,
    haze: float,
    sun: Light,
) -> None:
    """Paint the pieces in front of the background; pixels whose samples differ are blended."""
    lens = open_lens(camera)
    depth, code = samples.depth, samples.code
    beams, casters, table = open_light(sun), sun.casters, sun.table
    for row in range(samples.first, samples.last):
        for column in range(canvas.shape[1]):
            i, j = 2 * row, 2 * column
            one, two, three, four = code[i, j], code[i, j + 1], code[i + 1, j], code[i + 1, j + 1]
            if max(max(one, two), max(three, four)) == NOTHING:
                continue
            behind = ground.depth[row, column]
            same = one == two and one == three and one == four
            same = same or _one_surface(pieces, depth, code, i, j)
            r, g, b = 0.0, 0.0, 0.0
            count = 1 if same else 4
            for k in range(count):
                i, j = 2 * row + k // 2, 2 * column + k % 2
                t = 1.0 * depth[i, j]
                color = (
                    1.0 * canvas[row, column, 0],
                    1.0 * canvas[row, column, 1],
                    1.0 * canvas[row, column, 2],
                )
                if t < behind:
                    d = ray(lens, 0.5 * j + 0.25, 0.5 * i + 0.25)
                    color = _lit(lens, pieces, code[i, j], d, t, beams, casters, table)
                    color = _mixed(sky_color(d, False), color, _clear(t, haze))
                r, g, b = r + color[0], g + color[1], b + color[2]
            canvas[row, column, 0] = np.uint8(r / count + 0.5)
            canvas[row, column, 1] = np.uint8(g / count + 0.5)
            canvas[row, column, 2] = np.uint8(b / count + 0.5)
