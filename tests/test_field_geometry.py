"""Capsules and boxes on fields against brute force: distances, symmetry, slots that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from solids import Solid, few_of, pose, read
from test_block_field import BREADTH, blocks, over
from test_contact_geometry import field, hills
from trees import Array

from dynenvs.builder import ModelBuilder
from dynenvs.packing import _bounds
from dynenvs.parts import free
from dynenvs.records import FAR

SEEN = 0.05  # rims are looked at as far as this [m]
ROUND = (np.sqrt(5) - 1) / 2


def attitude(rng: np.random.Generator) -> Array:
    """Level, slightly tilted or any attitude."""
    R = Rotation.from_rotvec(rng.normal(size=3) * rng.choice([0.0, 0.1, 2.0]))
    lying = Rotation.from_euler("zy", [rng.uniform(0, 6), np.pi / 2])
    return np.asarray((R * lying).as_matrix() if rng.random() < 0.7 else R.as_matrix())


# Block fields


def axis_distance(heights: Array, capsule: Solid) -> float:
    """Distance of a capsule's axis from a heap of blocks [m]: from each block it is a convex
    function of the place on the axis; golden section."""
    n = np.array(heights.shape)
    low = (np.indices(heights.shape).transpose(1, 2, 0) - 0.5 * n) * BREADTH
    low = np.concatenate([low, np.full((*heights.shape, 1), -10.0)], axis=-1).reshape(-1, 3)
    high = np.concatenate([low[:, :2] + BREADTH, heights.reshape(-1, 1)], axis=-1)
    u, half = capsule.R[:, 2], capsule.size[1]

    def away(s: Array) -> Array:
        p = capsule.p + s[:, None] * u
        return np.asarray(np.linalg.norm(p - np.clip(p, low, high), axis=-1))

    a, b = np.full(len(low), -half), np.full(len(low), half)
    for _ in range(80):
        c, d = b - ROUND * (b - a), a + ROUND * (b - a)
        left = away(c) < away(d)
        a, b = np.where(left, a, c), np.where(left, d, b)
    return float(min(away(0.5 * (a + b)).min(), away(a).min(), away(b).min()))


@pytest.mark.parametrize("seed", few_of(400, 40))
def test_capsules_gap_is_the_distance_to_the_heap(seed: int) -> None:
    """Rims, corners and upright edges under the middle of a capsule count as they are; no slot
    says less than the distance."""
    rng = np.random.default_rng(seed)
    heights = blocks(seed)
    size = (rng.uniform(0.01, 0.06), rng.uniform(0.05, 0.4))
    p = np.array([*rng.uniform(-0.5, 0.5, 2), rng.uniform(-0.1, 0.3)])
    capsule = Solid("capsule", size, attitude(rng), p)
    wanted = size[0] + rng.uniform(1e-3, 0.04)
    for _ in range(200):
        if axis_distance(heights, capsule) >= wanted:
            break
        capsule = capsule._replace(p=capsule.p + np.array([0, 0, 0.01]))
    gap = axis_distance(heights, capsule) - size[0]
    assert gap < SEEN
    found = read(over(heights, capsule), pose(capsule.R, capsule.p))
    assert found.least == pytest.approx(gap, abs=1e-9)
    assert (found.gaps > gap - 1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-12)


def stairs() -> Array:
    """Two treads far below each other: the upper one begins at x = 0."""
    heights = np.full((4, 4), -1.0)
    heights[2:] = 0.08
    return heights


def shank(angle: float, along: float, radius: float = 0.03, half: float = 0.2) -> Solid:
    """A capsule that leans over the rim of `stairs` and touches it `along` its axis."""
    R = Rotation.from_euler("y", angle).as_matrix()
    out = np.array([-np.cos(angle), 0.0, np.sin(angle)])  # away from the upper tread
    p = np.array([0.0, 0.1, 0.08]) + radius * out - along * R[:, 2]
    return Solid("capsule", (radius, half), R, p)


@pytest.mark.parametrize("angle", [0.2, 0.7, 1.2])
@pytest.mark.parametrize("along", [0.0, 0.013, -0.031])
def test_the_rim_of_a_stair_under_the_middle_of_a_shank(angle: float, along: float) -> None:
    """Its place and normal to roundoff, wherever on the axis."""
    solid = shank(angle, along)
    found = read(over(stairs(), solid), pose(solid.R, solid.p))
    k = int(found.gaps.argmin())
    assert found.gaps[k] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.points[k], [0.0, 0.1, 0.08], atol=1e-12)
    np.testing.assert_allclose(found.normals[k], [-np.cos(angle), 0, np.sin(angle)], atol=1e-12)


def test_a_rim_within_a_capsule_pushes_it_out() -> None:
    """Axis and rim have passed each other: the depth goes on through zero."""
    for depth in (0.02, 0.0299, 0.0301, 0.04):
        solid = shank(0.7, 0.0)
        out = np.array([-np.cos(0.7), 0.0, np.sin(0.7)])
        solid = solid._replace(p=solid.p - depth * out)
        found = read(over(stairs(), solid), pose(solid.R, solid.p))
        rim = int(np.abs(found.normals @ out - 1.0).argmin())
        assert found.gaps[rim] == pytest.approx(-depth, abs=1e-12)


def test_slots_of_rims_stay_while_a_capsule_moves_on() -> None:
    """Rolled along the rim, over joints between blocks: one slot; ends keep theirs."""
    seen = set()
    model = over(stairs(), shank(0.7, 0.0))
    for y in np.linspace(-0.4, 0.4, 33):
        solid = shank(0.7, 0.0)
        found = read(model, pose(solid.R, solid.p + np.array([0, y, 0])))
        assert found.least == pytest.approx(0.0, abs=1e-12)
        seen.add(int(found.numbers[found.gaps.argmin()]))
    assert len(seen) == 1


# Height fields


def surface(heights: Array, half: float, x: Array, y: Array) -> Array:
    """Heights of a square field at any places, by the splines' blending matrix."""
    B = np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2
    n = len(heights)

    def weights(at: Array) -> tuple[Array, Array]:
        t = np.clip((at / half + 1) * 0.5 * (n - 1), 0, n - 1)
        i = np.minimum(t.astype(int), n - 2)
        f = t - i
        powers = np.stack([np.ones_like(f), f, f * f, f**3], axis=-1)
        return np.clip(i[..., None] + np.arange(-1, 3), 0, n - 1), powers @ B

    (i, a), (j, b) = weights(x), weights(y)
    around = heights[i[..., :, None], j[..., None, :]]
    return np.asarray(np.einsum("...i,...ij,...j->...", a, around, b))


def least_over(function: Any, low: Array, high: Array) -> float:
    """The least of a function of two variables in a rectangle: from a grid of 161 x 161, its five
    best places refined."""
    axes = [np.linspace(a, b, 161) for a, b in zip(low, high, strict=True)]
    x, y = np.meshgrid(*axes, indexing="ij")
    values = function(x, y)
    best = np.inf
    for k in np.argsort(values, axis=None)[:5]:
        at = np.array([x.flat[k], y.flat[k]])
        reach = (np.asarray(high) - low) / 160
        for _ in range(30):
            offsets = np.linspace(-1, 1, 9)
            u, v = np.meshgrid(*(offsets * r for r in reach), indexing="ij")
            u, v = np.clip(at[0] + u, low[0], high[0]), np.clip(at[1] + v, low[1], high[1])
            around = function(u, v)
            i = int(around.argmin())
            at, reach = np.array([u.flat[i], v.flat[i]]), reach * 0.45
            best = min(best, float(around.flat[i]))
    return best


def ground(seed: int) -> tuple[Array, float]:
    """Heights and half breadth of a field: rough as the robots', or gentle hills."""
    rng = np.random.default_rng(seed)
    if seed % 3:
        return rng.uniform(0.0, 0.04, (21, 21)), 2.0
    return hills(), 1.0


def capsule_distance(heights: Array, half: float, capsule: Solid) -> float:
    """From every point of the surface to the axis: the least [m], minus the radius."""
    u, l = capsule.R[:, 2], capsule.size[1]
    reach = l * np.abs(u[:2]) + 0.15

    def away(x: Array, y: Array) -> Array:
        d = np.stack([x, y, surface(heights, half, x, y)], axis=-1) - capsule.p
        s = np.clip(d @ u, -l, l)
        return np.asarray(np.linalg.norm(d - s[..., None] * u, axis=-1))

    return least_over(away, capsule.p[:2] - reach, capsule.p[:2] + reach) - capsule.size[0]


@pytest.mark.parametrize("seed", few_of(200, 10))
def test_capsules_gap_is_the_distance_to_the_hills(seed: int) -> None:
    """Between its ends, too; no slot says less."""
    rng = np.random.default_rng(seed)
    heights, half = ground(seed)
    size = (rng.uniform(0.01, 0.06), rng.uniform(0.05, 0.3))
    place = rng.uniform(-0.5, 0.5, 2)
    capsule = Solid("capsule", size, attitude(rng), np.array([*place, 1.0]))
    for _ in range(12):  # let down to a small gap
        gap = capsule_distance(heights, half, capsule)
        capsule = capsule._replace(p=capsule.p - np.array([0, 0, max(gap - 0.003, 0.0)]))
        if gap < 0.01:
            break
    gap = capsule_distance(heights, half, capsule)
    found = read(field(heights, (half, half), capsule), pose(capsule.R, capsule.p))
    assert found.least == pytest.approx(gap, abs=1e-8)
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-12)


def clearance(heights: Array, half: float, box: Solid) -> float:
    """The least height of a box's points above the surface [m], face by face."""
    best = np.inf
    for axis in range(3):
        for side in (-1.0, 1.0):
            i, j = (axis + 1) % 3, (axis + 2) % 3

            def above(x: Array, y: Array, k: tuple[int, int, int] = (axis, i, j),
                      side: float = side) -> Array:  # fmt: skip
                s = np.empty((*x.shape, 3))
                s[..., k[0]], s[..., k[1]], s[..., k[2]] = side, x, y
                p = box.p + (s * np.array(box.size)) @ box.R.T
                return np.asarray(p[..., 2] - surface(heights, half, p[..., 0], p[..., 1]))

            best = min(best, least_over(above, -np.ones(2), np.ones(2)))
    return best


@pytest.mark.parametrize("seed", few_of(200, 10))
def test_boxes_touch_hills_where_they_meet_first(seed: int) -> None:
    """Let down upright until it touches, a box has a slot that says so: a corner, a place on an
    edge or a hill below the middle of its sole; no slot says less."""
    rng = np.random.default_rng(seed)
    heights, half = ground(seed)
    size = tuple(rng.uniform(0.02, 0.2, 3))
    R = Rotation.from_rotvec(rng.normal(size=3) * rng.choice([0.0, 0.1, 2.0])).as_matrix()
    box = Solid("box", size, R, np.array([*rng.uniform(-0.5, 0.5, 2), 0.5]))
    box = box._replace(p=box.p - np.array([0, 0, clearance(heights, half, box)]))
    found = read(field(heights, (half, half), box), pose(R, box.p))
    assert found.least == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-12)


def test_a_hill_below_the_middle_of_a_sole() -> None:
    """No corner, no edge: one slot on the face, at the top of the hill."""
    x = np.linspace(-1, 1, 41)
    heights = 0.1 * np.cos(2 * x)[:, None] * np.cos(2 * x)[None, :]
    box = Solid("box", (0.13, 0.17, 0.02), np.eye(3), np.array([0.05, -0.03, 0.12]))
    found = read(field(heights, (1, 1), box), pose(np.eye(3), box.p))
    k = int(found.gaps.argmin())
    assert found.gaps[k] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.points[k], [0, 0, 0.1], atol=1e-9)
    np.testing.assert_allclose(found.normals[k], [0, 0, 1], atol=1e-9)
    assert (found.gaps < 1e-4).sum() == 1


def test_level_ground_is_met_by_corners_and_ends_alone() -> None:
    """However heights are given: no slot between, none twice."""
    heights = np.full((21, 21), 0.03)
    box = Solid("box", (0.2, 0.15, 0.05), np.eye(3), np.array([0.012, 0.034, 0.08]))
    found = read(field(heights, (1, 1), box), pose(np.eye(3), box.p))
    assert (found.gaps < 1e-9).sum() == 4
    R = Rotation.from_euler("zy", [0.3, np.pi / 2]).as_matrix()
    found = read(field(heights, (1, 1), Solid("capsule", (0.05, 0.3), R, box.p)), pose(R, box.p))
    assert len(found.gaps) == 2
    np.testing.assert_allclose(found.gaps, 0.0, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 9]))
def test_no_place_is_higher_or_steeper_than_the_bounds(seed: int, n: int) -> None:
    """Of the splines, which overshoot their points."""
    rng = np.random.default_rng(seed)
    heights = rng.uniform(0.0, 1.0, (n, n))
    top, steep = _bounds(heights, 2.0 / (n - 1), 2.0 / (n - 1))
    x, y = rng.uniform(-1, 1, (2, 2000))
    z = surface(heights, 1.0, x, y)
    assert z.max() <= top < 1.5
    e = 1e-6
    slope = np.hypot(
        (surface(heights, 1.0, x + e, y) - z) / e, (surface(heights, 1.0, x, y + e) - z) / e
    )
    assert slope.max() < steep + 1e-3


# Both


def carried(ground: str, solid: Solid) -> Any:
    """A free body with a field, a free body with a solid."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("b", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    if ground == "hills":
        builder.height_field("field", "b", heights=hills(), half_size=(1, 1))
    else:
        builder.block_field("field", "b", heights=blocks(3), half_size=(0.9, 0.9))
    builder.body("a", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    size = dict(zip(("radius", "half"), solid.size, strict=False))
    if solid.kind == "sphere":
        builder.sphere("skin", "a", radius=size["radius"])
    elif solid.kind == "capsule":
        ends = {"start": (0, 0, -size["half"]), "end": (0, 0, size["half"])}
        builder.capsule("skin", "a", radius=size["radius"], **ends)
    else:
        builder.box("skin", "a", half_size=solid.size)
    return builder.build()


SOLIDS = [("sphere", (0.05,)), ("capsule", (0.04, 0.15)), ("box", (0.11, 0.05, 0.03))]


@pytest.mark.parametrize("ground", ["hills", "blocks"])
@pytest.mark.parametrize(("kind", "size"), SOLIDS)
def test_gaps_do_not_depend_on_the_frame(ground: str, kind: str, size: tuple[float, ...]) -> None:
    """Field and solid moved together: same slots, same gaps, normals turned along."""
    rng = np.random.default_rng(1)
    near = 0
    for _ in range(6):
        R = attitude(rng)
        p = np.array([*rng.uniform(-0.4, 0.4, 2), rng.uniform(0.05, 0.25)])
        model, still = carried(ground, Solid(kind, size, R, p)), pose(np.eye(3), np.zeros(3))
        here = read(model, np.concatenate([still, pose(R, p)]))
        while here.least < 0.0:
            p = p + np.array([0.0, 0.0, 0.02])
            here = read(model, np.concatenate([still, pose(R, p)]))
        M, o = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        there = read(model, np.concatenate([pose(M, o), pose(M @ R, M @ p + o)]))
        close, other = here.gaps < 0.05, there.gaps < 0.05
        near += int(close.sum())
        np.testing.assert_array_equal(here.numbers[close], there.numbers[other])
        np.testing.assert_allclose(here.gaps[close], there.gaps[other], atol=1e-11)
        np.testing.assert_allclose((here.normals @ M.T)[close], there.normals[other], atol=1e-8)
    assert near > 0


def test_far_above_a_field_nothing_is_looked_at() -> None:
    """More than half a metre above the highest place."""
    for solid in (shank(0.7, 0.0), Solid("box", (0.1, 0.1, 0.1), np.eye(3), np.zeros(3))):
        q = pose(np.eye(3), np.array([0.0, 0.0, 1.2]))
        for model in (over(stairs(), solid), field(hills(), (1, 1), solid)):
            assert (read(model, q).gaps < FAR).sum() == 0
