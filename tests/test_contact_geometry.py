"""Slots of pairs of solids against independent distances, symmetry, and degenerate placements."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from solids import UP, Solid, distance, few_of, pair_model, pose, read, slots
from trees import Array

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import ModelError, free, revolute

KINDS = {"sphere": 1, "capsule": 2, "box": 3}
PAIRS = [p for p in combinations_with_replacement(KINDS, 2) if p != ("sphere", "sphere")]


def random_solid(rng: np.random.Generator, kind: str, spread: float = 0.3) -> Solid:
    """A solid of 2 to 20 cm at a random pose."""
    size = tuple(rng.uniform(0.02, 0.2, KINDS[kind]))
    R = Rotation.random(random_state=rng).as_matrix()
    return Solid(kind, size, R, rng.uniform(-spread, spread, 3))


def apart(rng: np.random.Generator, kinds: tuple[str, str]) -> tuple[Solid, Solid, float]:
    """Two random solids that are near each other and do not overlap, and their distance [m]."""
    while True:
        a, b = (random_solid(rng, kind) for kind in kinds)
        gap = distance(a, b)
        if 1e-3 < gap < 0.09:
            return a, b, gap


@pytest.mark.parametrize("kinds", PAIRS[:-1])  # boxes apart from each other: see the next test
@pytest.mark.parametrize("seed", range(6))
def test_gap_is_the_distance_of_round_pairs(kinds: tuple[str, str], seed: int) -> None:
    """The least gap equals the solids' distance, and its point and normal measure it."""
    a, b, gap = apart(np.random.default_rng(seed), kinds)
    found = slots(a, b)
    assert found.least == pytest.approx(gap, abs=2e-7)
    assert (found.gaps > gap - 2e-7).all()  # every slot is a valid constraint
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-12)
    # B's nearest point lies where the gap says
    k = int(found.gaps.argmin())
    tip = found.points[k] - found.gaps[k] * found.normals[k]
    assert abs(distance(Solid("sphere", (1e-9,), np.eye(3), tip), b)) < 1e-6


@pytest.mark.parametrize("seed", few_of(40, 6))
@pytest.mark.thorough
def test_boxes_that_touch_by_edges_or_corners(seed: int) -> None:
    """Moved along the way that parts them until their distance is 1 um, boxes have a slot that
    says so; no slot says less."""
    rng = np.random.default_rng(seed)
    a, b = random_solid(rng, "box"), random_solid(rng, "box")
    a = approach(a, b, rng)
    gap = distance(a, b)
    found = slots(a, b)
    assert found.least == pytest.approx(gap, abs=2e-7)


def approach(a: Solid, b: Solid, rng: np.random.Generator) -> Solid:
    """`a` moved along a random line through `b` to 1 um from it (bisection)."""
    way = rng.normal(size=3)
    way /= np.linalg.norm(way)
    near, far = 0.0, 1.0
    for _ in range(34):
        middle = 0.5 * (near + far)
        gap = distance(a._replace(p=b.p + middle * way), b)
        near, far = (near, middle) if gap > 1e-6 else (middle, far)
    return a._replace(p=b.p + far * way)


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.thorough
def test_gaps_do_not_depend_on_the_frame_or_on_the_order(kinds: tuple[str, str]) -> None:
    """Both solids moved together: same gaps.  Exchanged: same least gap, opposite normal."""
    rng = np.random.default_rng(7)
    R, p = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    for _ in range(5):
        a, b, _ = apart(rng, kinds)
        if kinds == ("box", "box"):
            a = approach(a, b, rng)
        here, there, other = slots(a, b), slots(a.moved(R, p), b.moved(R, p)), slots(b, a)
        np.testing.assert_array_equal(here.numbers, there.numbers)
        np.testing.assert_allclose(here.gaps, there.gaps, atol=1e-12)
        np.testing.assert_allclose(here.normals @ R.T, there.normals, atol=1e-9)
        assert other.least == pytest.approx(here.least, abs=1e-9)


SPAN = st.floats(-0.3, 0.3)


@settings(max_examples=25)
@example((0.0, 0.25, 0.25), 0.0, 0)  # so far apart that no slot is filled
@given(
    st.tuples(SPAN, SPAN, SPAN), st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.5]), st.integers(0, 2)
)
@pytest.mark.thorough
def test_slots_are_finite_wherever_the_solids_are(
    place: tuple[float, float, float], tilt: float, axis: int
) -> None:
    """Aligned, nearly aligned, touching, inside each other: unit normals and finite gaps."""
    turn = Rotation.from_rotvec(tilt * np.eye(3)[axis]).as_matrix()
    for kinds in PAIRS:
        a, b = (
            Solid(kind, (0.1, 0.1, 0.1)[: KINDS[kind]], np.eye(3), np.zeros(3)) for kind in kinds
        )
        for offset in (np.array(place), np.zeros(3), np.round(place, 1)):
            found = slots(a._replace(R=turn, p=offset), b)
            assert np.isfinite(found.gaps).all()
            np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-9)


# Known placements


def test_parallel_capsules_touch_at_two_ends() -> None:
    """One shorter, parallel, above the other: both its ends at the same gap, normal up."""
    across = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    a = Solid("capsule", (0.1, 0.2), across, np.array([0.0, 0.0, 0.25]))
    b = Solid("capsule", (0.1, 0.5), across, np.zeros(3))
    found = slots(a, b)
    close = found.gaps < 0.1
    assert close.sum() == 2
    np.testing.assert_allclose(found.gaps[close], 0.05, atol=1e-12)
    np.testing.assert_allclose(found.normals[close], np.tile(UP, (2, 1)), atol=1e-12)
    np.testing.assert_allclose(np.sort(found.points[close, 0]), [-0.2, 0.2], atol=1e-12)


def test_crossed_capsules_touch_between_their_ends() -> None:
    """At a right angle: one slot, at the crossing."""
    a = Solid(
        "capsule", (0.1, 0.5), Rotation.from_euler("y", 90, degrees=True).as_matrix(), 0.3 * UP
    )
    b = Solid("capsule", (0.1, 0.5), Rotation.from_euler("x", 90, degrees=True).as_matrix(), 0 * UP)
    found = slots(a, b)
    assert found.least == pytest.approx(0.1, abs=1e-12)
    assert (found.gaps < 0.15).sum() == 1
    np.testing.assert_allclose(found.points[found.gaps.argmin()], [0, 0, 0.2], atol=1e-12)


def test_capsule_across_a_box_touches_at_both_edges() -> None:
    """A long capsule over a narrow box: two edges carry it, wherever its ends are."""
    across = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    a = Solid("capsule", (0.05, 0.5), across, np.array([0.1, 0.0, 0.15]))
    b = Solid("box", (0.2, 0.3, 0.1), np.eye(3), np.zeros(3))
    found = slots(a, b)
    touching = found.gaps < 1e-9
    assert touching.sum() == 2
    np.testing.assert_allclose(np.sort(found.points[touching, 0]), [-0.2, 0.2], atol=1e-12)
    np.testing.assert_allclose(found.normals[touching], np.tile(UP, (2, 1)), atol=1e-12)


@pytest.mark.parametrize("kind", ["box", "hull"])
@pytest.mark.parametrize("tilt", [0.0, 20.0])
def test_a_capsule_through_a_box_is_pushed_out(kind: str, tilt: float) -> None:
    """From face to face, both ends outside: through the face that is nearest to its middle."""
    across = Rotation.from_euler("y", 90 + tilt, degrees=True).as_matrix()
    a = Solid("capsule", (0.05, 0.5), across, np.array([0.0, 0.0, 0.02]))
    b = Solid(kind, (0.1, 0.3, 0.1), np.eye(3), np.zeros(3))
    found = slots(a, b)
    assert found.least == pytest.approx(-(0.1 - 0.02) - 0.05, abs=1e-12)
    np.testing.assert_allclose(found.normals[found.gaps.argmin()], UP, atol=1e-12)
    if not tilt:
        assert slots(a._replace(p=0.2 * UP), b).least > 0.04


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ((0.0, 0.0), [(-0.1, -0.05), (-0.1, 0.05), (0.1, -0.05), (0.1, 0.05)]),  # all inside
        ((0.25, 0.0), [(0.15, -0.05), (0.15, 0.05), (0.2, -0.05), (0.2, 0.05)]),  # over the edge
        ((0.0, 0.2), [(-0.1, 0.15), (-0.1, 0.2), (0.1, 0.15), (0.1, 0.2)]),
        ((0.25, 0.2), [(0.15, 0.15), (0.15, 0.2), (0.2, 0.15), (0.2, 0.2)]),  # over a corner
        ((0.1, 0.15), [(0.0, 0.1), (0.0, 0.2), (0.2, 0.1), (0.2, 0.2)]),  # edges flush
    ],
)
def test_box_on_box_touches_along_the_overlap(
    offset: tuple[float, float], expected: list[tuple[float, float]]
) -> None:
    """A foot on a step: contacts at the corners of the overlap, edges included."""
    a = Solid("box", (0.1, 0.05, 0.02), np.eye(3), np.array([*offset, 0.12]))
    b = Solid("box", (0.2, 0.2, 0.1), np.eye(3), np.zeros(3))
    found = slots(a, b)
    np.testing.assert_allclose(found.gaps, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.normals, np.tile(UP, (len(found.gaps), 1)), atol=1e-12)
    assert sorted(map(tuple, found.points[:, :2].round(9) + 0.0)) == sorted(expected)


def test_crossed_boxes_touch_where_their_edges_cross() -> None:
    """A plus of two bars: no corner of either is over the other; four crossings carry."""
    a = Solid("box", (0.4, 0.05, 0.05), np.eye(3), 0.1 * UP)
    b = Solid("box", (0.05, 0.4, 0.05), np.eye(3), 0 * UP)
    found = slots(a, b)
    np.testing.assert_allclose(found.gaps, 0.0, atol=1e-12)
    assert sorted(map(tuple, found.points[:, :2].round(9))) == sorted(
        [(-0.05, -0.05), (-0.05, 0.05), (0.05, -0.05), (0.05, 0.05)]
    )


def test_tilted_sole_on_the_nose_of_a_step() -> None:
    """Toes down by 20 degrees, the sole rests on the step's edge between its own corners."""
    tilt = Rotation.from_euler("y", 20, degrees=True).as_matrix()
    half = np.array([0.12, 0.05, 0.02])
    nose = np.array([0.2, 0.0, 0.1])
    a = Solid("box", tuple(half), tilt, nose + tilt @ np.array([0.03, 0.0, half[2]]))
    b = Solid("box", (0.2, 0.5, 0.1), np.eye(3), np.zeros(3))
    found = slots(a, b)
    touching = found.gaps < 1e-9
    assert touching.sum() == 2
    expected = [(0.2, -0.05, 0.1), (0.2, 0.05, 0.1)]
    assert sorted(map(tuple, found.points[touching].round(9))) == expected
    np.testing.assert_allclose(found.normals[touching], np.tile(tilt[:, 2], (2, 1)), atol=1e-12)


def test_numbers_of_slots_stay_while_the_solids_slide() -> None:
    """Over 10 cm of a slide the same slots touch, each at its own moving place."""
    model = pair_model(
        Solid("box", (0.1, 0.05, 0.02), np.eye(3), 0 * UP),
        Solid("box", (0.5, 0.5, 0.1), np.eye(3), 0 * UP),
    )
    first = None
    for x in np.linspace(0, 0.1, 30):
        turn = Rotation.from_euler("z", 3 * x).as_matrix()
        a, b = pose(turn, np.array([x, 0.3 * x, 0.12])), pose(np.eye(3), np.zeros(3))
        found = read(model, np.concatenate([a, b]))
        first = found if first is None else first
        np.testing.assert_array_equal(found.numbers, first.numbers)
        step = np.linalg.norm(found.points - first.points, axis=1)
        assert (step < 1.5 * x + 1e-12).all()


# Height fields


def field(heights: Array, size: tuple[float, float], solid: Solid) -> Any:
    """A model of one free solid over a height field."""
    builder = ModelBuilder()
    builder.height_field("hills", heights=heights, half_size=size)
    builder.body("a", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    if solid.kind == "sphere":
        builder.sphere("skin", "a", radius=solid.size[0])
    elif solid.kind == "capsule":
        l = solid.size[1]
        builder.capsule("skin", "a", start=(0, 0, -l), end=(0, 0, l), radius=solid.size[0])
    else:
        builder.box("skin", "a", half_size=solid.size)
    return builder.build()


def hills(n: int = 41) -> Array:
    """Smooth hills of 5 cm on a grid of +-1 m."""
    x = np.linspace(-1, 1, n)
    return 0.05 * np.sin(4 * x)[:, None] * np.cos(3 * x)[None, :]


def catmull_rom(heights: Array, x: float, y: float) -> float:
    """Height at grid coordinates (x, y), by the blending matrix, one row at a time."""
    B = np.array([[0, 2, 0, 0], [-1, 0, 1, 0], [2, -5, 4, -1], [-1, 3, -3, 1]]) / 2

    def blend(samples: Array, u: float) -> Any:
        i = int(np.floor(u))
        four = samples[np.clip(np.arange(i - 1, i + 3), 0, len(samples) - 1)]
        t = u - i
        return np.array([1, t, t * t, t**3]) @ B @ four

    return float(blend(np.array([blend(row, y) for row in heights]), x))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.thorough
def test_hills_between_a_boxs_corners(seed: int) -> None:
    """Heights drawn one by one, a sole broader than their distance: no more than a quarter of a
    hill is missed, and every slot is a valid constraint."""
    rng = np.random.default_rng(seed)
    heights = rng.uniform(0.0, 0.04, (21, 21))
    half = (0.16, 0.11, 0.02)
    R = Rotation.from_rotvec([*(0.1 * rng.normal(size=2)), rng.uniform(0, 3)]).as_matrix()
    p = np.array([*rng.uniform(-0.5, 0.5, 2), 0.12])
    found = read(field(heights, (2, 2), Solid("box", half, R, p)), pose(R, p))
    x = np.linspace(-1, 1, 60)
    sole = np.stack(np.meshgrid(half[0] * x, half[1] * x, [-half[2]]), -1).reshape(-1, 3) @ R.T + p
    above = np.array([c[2] - catmull_rom(heights, *(c[:2] / 0.2 + 10.0)) for c in sole])
    assert found.least > above.min() * 0.7 - 1e-9  # along the normal, not upright
    assert found.least < above.min() + 0.01


@pytest.mark.parametrize("seed", range(10))
def test_ball_over_hills(seed: int) -> None:
    """The gap is the distance to the surface: the least over a fine patch of it, refined."""
    rng = np.random.default_rng(seed)
    heights, r = hills(), 0.04
    c = np.array([*rng.uniform(-0.8, 0.8, 2), 0.0])
    g = (c[:2] + 1) / 0.05
    c[2] = catmull_rom(heights, *g) + rng.uniform(0.02, 0.1)
    model = field(heights, (1, 1), Solid("sphere", (r,), np.eye(3), c))
    found = read(model, pose(np.eye(3), c))

    def away(p: Array) -> float:
        z = catmull_rom(heights, *((p + 1) / 0.05))
        return float(np.sqrt(((c[:2] - p) ** 2).sum() + (c[2] - z) ** 2))

    best, step = c[:2].copy(), 0.02
    while step > 1e-9:
        around = [best + step * np.array([i, j]) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        new = min(around, key=away)
        step = step / 2 if np.array_equal(new, best) else step
        best = new
    assert found.gaps[0] == pytest.approx(away(best) - r, abs=1e-9)
    foot = np.array([*best, catmull_rom(heights, *((best + 1) / 0.05))])
    np.testing.assert_allclose(found.normals[0], (c - foot) / np.linalg.norm(c - foot), atol=1e-5)


def test_field_interpolates_heights_and_planes() -> None:
    """Corners of a box: on a plane the exact distance and normal; at a grid point its height."""
    x = np.linspace(-1, 1, 21)
    normal = np.array([-0.3, 0.2, 1.0]) / np.linalg.norm([-0.3, 0.2, 1.0])
    plane = 0.3 * x[:, None] - 0.2 * x[None, :]
    half = (0.1, 0.05, 0.02)
    R = Rotation.from_euler("xyz", [0.3, -0.2, 0.5]).as_matrix()
    c = np.array([0.1, -0.2, 0.2])
    found = read(field(plane, (1, 1), Solid("box", half, R, c)), pose(R, c))
    np.testing.assert_allclose(found.gaps, found.points @ normal, atol=1e-12)
    np.testing.assert_allclose(found.normals, np.tile(normal, (len(found.normals), 1)), atol=1e-12)


def test_capsule_over_a_ridge_touches_between_its_ends() -> None:
    """A long capsule lies across a ridge that neither end reaches."""
    x = np.linspace(-1, 1, 81)
    ridge = np.repeat(0.1 * np.exp(-((x / 0.1) ** 2))[:, None], 81, axis=1)
    across = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    c = np.array([0.0, 0.0, 0.15])
    found = read(field(ridge, (1, 1), Solid("capsule", (0.05, 0.4), across, c)), pose(across, c))
    assert found.least == pytest.approx(0.0, abs=1e-9)
    assert (found.gaps < 1e-3).sum() == 1


# Which pairs, and how many


def leg(builder: ModelBuilder) -> None:
    """A trunk, and two legs that hang on it by a massless hip."""
    builder.body("trunk", joint=free(), mass=1.0, inertia=(1, 1, 1))
    builder.box("belly", "trunk", half_size=(0.1, 0.2, 0.1))
    for side, y in (("left", 0.1), ("right", -0.1)):
        hip = revolute(axis=(1, 0, 0), position=(0, y, 0))
        builder.body(f"{side} hip", parent="trunk", joint=hip)
        builder.body(
            f"{side} thigh",
            parent=f"{side} hip",
            joint=revolute(axis=(0, 1, 0)),
            mass=1.0,
            inertia=(1, 1, 1),
        )
        builder.capsule(f"{side} leg", f"{side} thigh", start=(0, 0, 0), end=(0, 0, -1), radius=0.1)


def test_self_contact_leaves_out_adjacent_bodies() -> None:
    """Legs touch each other, not the trunk that carries them behind a massless hip."""
    builder = ModelBuilder()
    leg(builder)
    assert len(builder.build().pairs) == 0
    builder.self_contact("belly", "left leg", "right leg")
    model = builder.build()
    assert len(model.pairs) == 1
    assert {model.geoms[g].name for f in model.features for g in (f.geom_a, f.geom_b)} == {
        "left leg",
        "right leg",
    }
    builder.exclude("left leg", "right leg")
    assert len(builder.build().pairs) == 0
    with pytest.raises(ModelError, match="unknown geom 'arm' in self_contact"):
        builder.self_contact("belly", "arm").build()


def test_capacity_is_what_pairs_can_use_at_once() -> None:
    """32 slots of two boxes, 8 at once; ground against ground is refused."""
    a, b = (Solid("box", (0.1, 0.1, 0.1), np.eye(3), np.zeros(3)) for _ in range(2))
    model = pair_model(a, b)
    assert (int(model.header.nk), int(model.header.nc)) == (32, 8)
    builder = ModelBuilder()
    builder.half_space("floor")
    builder.body("b", joint=free(), mass=1.0, inertia=(1, 1, 1))
    builder.height_field("hills", "b", heights=np.zeros((2, 2)), half_size=(1, 1))
    with pytest.raises(ModelError, match="no contact test of half_space 'floor'"):
        builder.build()
