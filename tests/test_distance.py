"""Distances of convex solids, and how deep they are in each other, against coal."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from solids import few_of, pose
from test_parallel_faces import APART, KINDS, Placed, shape, turns
from trees import Array

from dynenvs.contact.detection.overlaps import measure_overlaps
from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.simulation.world import World

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
SIZES = (1e-4, 0.1, 1e3)


def depth_of(world: World, q: Array) -> float:
    """How deep the two solids of a world are in each other [m]."""
    world.reset(q)
    depths = np.zeros(int(world.model.header["npoints"] + world.model.header["np"]))
    measure_overlaps(world._handle, depths)
    return float(depths.max())


@pytest.mark.parametrize("scale", SIZES)
@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("seed", few_of(40, 1))
def test_distances_and_depths_are_coals(kinds: tuple[str, str], scale: float, seed: int) -> None:
    """At random and with parallel faces, apart by up to their size and in each other by a third."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng(seed)
    for k in range(100):
        if k % 20 == 0:
            a, b = (shape(coal, kind, rng) for kind in kinds)
            builder = ModelBuilder(gravity=(0, 0, 0))
            a.add(builder, "a", scale)
            b.add(builder, "b", scale)
            world = World(builder.build())
        _, Ra, Rb = turns(rng)
        placed = Placed(coal, a, b, world.model, scale, Ra, Rb)
        p = rng.normal(size=3)
        p *= rng.uniform(0.3, 3.0) / np.linalg.norm(p)
        theirs, _ = placed.distance(p)
        q = np.concatenate([pose(Ra, scale * p), pose(Rb, np.zeros(3))])
        ours = -depth_of(world, q) / scale
        if ours == FAR / scale:  # not even the balls around them are near
            assert theirs * scale > float(world.model.header.near)
        elif theirs > 0.0:
            assert ours == pytest.approx(theirs, abs=1e-8), k
        else:
            assert ours <= 1e-9
            # An upper bound of the depth; the depth itself where they are not deep in each other
            assert ours < theirs + 1e-7
            if theirs > -0.05:
                assert ours == pytest.approx(theirs, abs=1e-6), k


# Where two edges part the solids better than any face, by less than a micrometre
EDGES = [("prism", "gem", 5632, 10), ("prism", "gem", 5577, 10), ("prism", "gem", 5883, 20)]
EDGES += [("prism", "prism", 5955, 40)]


@pytest.mark.parametrize("scale", SIZES)
@pytest.mark.parametrize(("one", "other", "seed", "number"), EDGES)
def test_no_edges_that_touch_are_missed(
    one: str, other: str, seed: int, number: int, scale: float
) -> None:
    """Of 190,000 random pairs that touch, those four in which the slots saw too large a gap."""
    coal: Any = pytest.importorskip("coal")
    rng = np.random.default_rng(seed)
    for k in range(number + 1):
        if k % 20 == 0:
            a, b = shape(coal, one, rng), shape(coal, other, rng)
        _, Ra, Rb = turns(rng)
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        rng.uniform(0.3, 3.0)
    builder = ModelBuilder(gravity=(0, 0, 0))
    a.add(builder, "a", scale)
    b.add(builder, "b", scale)
    placed = Placed(coal, a, b, builder.build(), scale, Ra, Rb)
    assert placed.least(placed.approach(np.zeros(3), way)) == pytest.approx(APART, abs=1e-8)
