"""All solids against each other, where they touch in every special way.

The oracle makes poses whose answer is known (`oracle.py`); below are the kinds of faults that it
found, each as small as it can be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracle import PAIRS, made_up, missed, try_pair
from scipy.spatial.transform import Rotation
from solids import few_of, pose, read

from dynenvs import ModelBuilder, World, free


@pytest.mark.parametrize("seed", few_of(25, 1))
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_what_touches_is_found(kinds: tuple[str, str], seed: int) -> None:
    """Nothing that overlaps is missed, and no overlap is made up: four pairs of solids each."""
    check(kinds, seed)


@pytest.mark.parametrize(
    ("kinds", "seed"),
    [
        (("box", "box"), 45),  # of two corners at a place the one that lies less deep was told
        (("box", "hull"), 34),  # so was a corner beside which two edges cross deeper
        (("box", "hull"), 36),  # depth was told along a side of an edge that looks past the other
    ],
)
def test_the_deepest_at_a_place_is_told(kinds: tuple[str, str], seed: int) -> None:
    """Boxes and hulls of which one overlapped by up to twice as much as any slot told."""
    check(kinds, seed)


def check(kinds: tuple[str, str], seed: int) -> None:
    """Four random pairs of solids in a hundred poses each."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng([seed, *map(ord, "".join(kinds))])
    for _ in range(4):
        found = try_pair(kinds, rng, 100, coal)
        assert not missed(found).any(), np.flatnonzero(missed(found))
        assert not made_up(found).any(), np.flatnonzero(made_up(found))


LEVEL = Rotation.from_euler("x", 90, degrees=True).as_matrix()  # the axis along -y


def two(*first: Any, **sizes: Any) -> ModelBuilder:
    """A free body with a round solid: its kind and sizes; the other one is to be added."""
    builder = ModelBuilder(gravity=(0, 0, -9.81)).body("a", joint=free(), density=1000.0)
    getattr(builder, first[0])("a", "a", **sizes)
    return builder


def on_its_edge(builder: ModelBuilder) -> ModelBuilder:
    """A cube of the world's whose upper edge lies along y, at the origin."""
    half = 0.1
    R = Rotation.from_euler("y", 45, degrees=True).as_matrix()
    at = (0.0, 0.0, -math.sqrt(2) * half)
    return builder.box("b", "world", half_size=(half,) * 3, position=at, rotation=R)


@pytest.mark.parametrize("half_length", [0.05, 0.1, 0.3])
def test_a_cylinder_along_an_edge_is_held_straight_up(half_length: float) -> None:
    """At both ends of what they share, not along the normals of the faces beside the edge."""
    model = on_its_edge(two("cylinder", radius=0.04, half_length=half_length)).build()
    for depth in (0.0, 1e-9, 1e-5):
        found = read(model, pose(LEVEL, np.array([0.0, 0.0, 0.04 - depth])))
        deepest = found.gaps < found.least + 1e-12
        assert found.least == pytest.approx(-depth, abs=1e-12)
        np.testing.assert_allclose(np.abs(found.normals[deepest][:, 2]), 1.0)
        ends = np.sort(found.points[deepest][:, 1])
        np.testing.assert_allclose(ends, [-min(half_length, 0.1), min(half_length, 0.1)], atol=1e-9)


def test_a_cylinder_balances_on_an_edge() -> None:
    """Let down on it along its middle it stays, and has not sunk."""
    world = World(on_its_edge(two("cylinder", radius=0.04, half_length=0.1)).build())
    world.reset(pose(LEVEL, np.array([0.0, 0.0, 0.04 + 1e-5])))
    world.step(steps=50)
    assert world.q[2] == pytest.approx(0.04, abs=1e-9)
    assert abs(world.q[0]) < 1e-9


@pytest.mark.parametrize("kind", ["capsule", "cylinder", "cone"])
def test_a_line_that_is_tangent_to_a_rim_touches_it(kind: str) -> None:
    """At one point of an end of a cylinder, and of nothing else: in it by a micrometre."""
    sizes: dict[str, Any] = {"radius": 0.03, "half_length": 0.1}
    lift, R = 0.03, LEVEL
    if kind == "capsule":
        sizes = {"radius": 0.03, "start": (0, 0, -0.1), "end": (0, 0, 0.1)}
    elif kind == "cone":  # its side level below the middle of its axis
        angle = math.atan2(0.03, 0.2)
        R, lift = Rotation.from_euler("x", angle).as_matrix() @ LEVEL, 0.015 * math.cos(angle)
    builder = two(kind, **sizes)
    builder.cylinder("b", "world", radius=0.2, half_length=0.1, position=(0, 0, -0.1))
    found = read(builder.build(), pose(R, np.array([0.2, 0.0, lift - 1e-6])))
    assert found.least == pytest.approx(-1e-6, rel=1e-3)


def test_a_box_on_the_rim_of_a_flat_cone_is_not_deep_in_it() -> None:
    """A search that began along faces and axes ended 17 box sizes away."""
    rng = np.random.default_rng(3)
    deepest = 0.0
    for _ in range(300):
        base, height = 10.0 ** rng.uniform(0, 2), 10.0 ** rng.uniform(-1, 1)
        builder = two("box", half_size=(0.05, 0.1, 0.08))
        builder.cone("b", "world", radius=base, half_length=height)
        R, angle = Rotation.random(random_state=rng).as_matrix(), rng.uniform(0, 7)
        n = np.array([2 * height * math.cos(angle), 2 * height * math.sin(angle), base])
        n /= np.linalg.norm(n)
        share = rng.random()
        there = np.array([0, 0, height]) * (1 - share) + share * np.array(
            [base * math.cos(angle), base * math.sin(angle), -height]
        )
        corner = np.copysign([0.05, 0.1, 0.08], -R.T @ n)
        found = read(builder.build(), pose(R, there - R @ corner + 1e-12 * n))
        deepest = min(deepest, found.least)
    assert deepest > -1e-9
