"""How a sole that sticks shares its load: the same wrench, and in every corner's cone if it can."""

from __future__ import annotations

import numpy as np
import pytest
from polygons import friction_polygon
from trees import Array

from dynenvs.contact.solvers.load_distribution import share_loads
from dynenvs.contact.solvers.modes import STICK
from dynenvs.memory.records import BLOCK

SEEDS = range(50)
FRICTION = 0.8


def corners(rng: np.random.Generator) -> Array:
    """Four of a foot, in any order, as coordinates from their centre [m]."""
    size = rng.uniform(0.05, 0.3, 2)
    points = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * size / 2
    points = points + rng.uniform(-0.2, 0.2, (4, 2)) * size  # any quadrilateral will do
    angle = rng.uniform(0.0, 2.0 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return rng.permutation((points - points.mean(axis=0)) @ turn.T)


def patterns(points: Array) -> Array:
    """Forces and moments by the impulses (normal, along, across) of the corners, (6, 3 corners)."""
    rows = np.zeros((6, 3 * len(points)))
    rows[0, 0::3], rows[1, 1::3], rows[2, 2::3] = 1.0, 1.0, 1.0
    rows[3, 0::3], rows[4, 0::3] = points.T
    rows[5, 1::3], rows[5, 2::3] = -points[:, 1], points[:, 0]
    return rows


def blocks_of(points: Array) -> Array:
    blocks = np.zeros(len(points), BLOCK)
    blocks["row"], blocks["tangents"] = 3 * np.arange(len(points)), 2
    blocks["mode"], blocks["friction"] = STICK, FRICTION
    blocks["corners"][0] = len(points)
    blocks["x"], blocks["y"] = points.T
    return blocks


def slip(p: Array) -> float:
    """How far the impulses are from all cones: above zero, some corner pulls or slips."""
    loads, pushes = p[0::3], np.array([p[1::3], p[2::3]]).T
    angles = (np.arange(8) + 0.5) * np.pi / 4  # of the polygon's edges
    outward = np.array([np.cos(angles), np.sin(angles)])
    reach = FRICTION * np.cos(np.pi / 8) * loads
    return float(max(-loads.min(), ((pushes @ outward).max(axis=1) - reach).max()))


def least(points: Array, p: Array) -> Array:
    """The impulses of least norm with the same wrench."""
    rows = patterns(points)
    return np.linalg.pinv(rows) @ (rows @ p)


def shared(points: Array, p: Array) -> tuple[bool, Array]:
    p = p.copy()
    return bool(
        share_loads(friction_polygon(8), blocks_of(points), len(points), np.zeros(40), p)
    ), p


@pytest.mark.parametrize("seed", SEEDS)
def test_a_load_anywhere_between_the_corners_is_carried(seed: int) -> None:
    """With a push up to 0.9 of what friction can hold, and no turn about the load's centre."""
    rng = np.random.default_rng(seed)
    points = corners(rng)
    loads = rng.dirichlet(np.full(4, 0.5)) + 0.01
    angle, share = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.0, 0.9 * np.cos(np.pi / 8))
    pushes = share * FRICTION * np.outer(loads, [np.cos(angle), np.sin(angle)])
    p = least(points, np.column_stack([loads, pushes]).ravel())
    changed, answer = shared(points, p)
    assert changed == (slip(p) > 0.0)
    assert slip(answer) <= 1e-15
    np.testing.assert_allclose(patterns(points) @ answer, patterns(points) @ p, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_changes_has_the_same_wrench_and_fits(seed: int) -> None:
    """Any load, push and turn; what does not fit either way keeps its bits."""
    rng = np.random.default_rng(seed)
    points = corners(rng)
    loads = rng.dirichlet(np.full(4, 0.5))
    pushes = loads[:, None] * rng.uniform(-FRICTION, FRICTION, (4, 2))
    p = least(points, np.column_stack([loads, pushes]).ravel())
    changed, answer = shared(points, p)
    if changed:
        assert slip(p) > 0.0 >= slip(answer) - 1e-15
        np.testing.assert_allclose(patterns(points) @ answer, patterns(points) @ p, atol=1e-14)
    else:
        np.testing.assert_array_equal(answer, p)


def test_a_load_outside_the_corners_and_a_push_too_strong_stay() -> None:
    points = np.array([[0.1, 0.05], [0.1, -0.05], [-0.1, -0.05], [-0.1, 0.05]])
    outside = least(points, np.array([2, 0, 0, 2, 0, 0, -0.1, 0, 0, 0, 0, 0.0]))
    strong = least(points, np.array([1, 0.9, 0, 1, 0.9, 0, 1, 0.9, 0, 1, 0.9, 0.0]))
    for p in (outside, strong):
        changed, answer = shared(points, p)
        assert not changed
        np.testing.assert_array_equal(answer, p)


def test_soles_of_three_corners_share_their_push() -> None:
    """Their loads are known; a push at one corner is shared in proportion."""
    points = np.array([[0.1, 0.0], [-0.05, 0.08], [-0.05, -0.08]])
    p = least(points, np.array([2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.2, 0.1, 0.05]))
    assert slip(p) > 0.0
    changed, answer = shared(points, p)
    assert changed
    assert slip(answer) < 0.0
    np.testing.assert_allclose(answer[0::3], p[0::3], atol=1e-15)
    np.testing.assert_allclose(answer[1::3] / answer[0::3], 0.5, atol=1e-12)
