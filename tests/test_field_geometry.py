"""Capsules on block fields against brute force, and what all solids on fields have in common."""

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

from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free
from dynenvs.model.solids import _top

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
    centimetre = np.array([0, 0, 0.01])
    while axis_distance(heights, capsule) > wanted:  # high above
        capsule = capsule._replace(p=capsule.p - centimetre)
    while axis_distance(heights, capsule) < wanted:
        capsule = capsule._replace(p=capsule.p + centimetre)
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


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 9]))
def test_no_place_is_higher_or_steeper_than_the_top(seed: int, n: int) -> None:
    """Of the splines, which overshoot their points."""
    rng = np.random.default_rng(seed)
    heights = rng.uniform(0.0, 1.0, (n, n))
    top = _top(heights)
    x, y = rng.uniform(-1, 1, (2, 2000))
    z = surface(heights, 1.0, x, y)
    assert z.max() <= top < 1.5


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
