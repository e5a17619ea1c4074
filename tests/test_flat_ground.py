"""Ground that is flat, of each kind: how far a solid is from it is known by its support alone.

A feature of the solid (a corner, an edge, a rim, a side, an apex) is turned to the ground, exactly
or by a little less, and put a known way above it, on it or into it (`oracle.py`).
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import GAPS, KINDS, TOLERANCE, UP, Solid, frame, turned_a_little, unit
from scipy.spatial.transform import Rotation
from solids import few_of, pose, read_gaps
from trees import Array

from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model

GROUNDS = ("half space", "height field", "block field")
SEEN = 0.5e-3  # what is further away need not be seen [m]
RIMS = (
    "cylinder",
    "cone",
)  # an end that leans by 1e-6 counts as flat: its lowest point is not found


def on_ground(solid: Solid, ground: str, normal: Array, place: Array) -> Model:
    """A free solid above flat ground through a place."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    solid.add(builder, "solid")
    if ground == "half space":
        builder.half_space("ground", position=place, normal=normal)
    else:
        heights = np.full((5, 6), place[2])
        add = builder.height_field if ground == "height field" else builder.block_field
        broad = max(solid.scale, 0.02)  # blocks that are broader than what touches them
        half_size, position = (15.0 * broad, 12.0 * broad), (place[0], place[1], 0.0)
        add("ground", heights=heights, half_size=half_size, position=position)
    return builder.build()


def lowest(solid: Solid, R: Array, p: Array, normal: Array, place: Array) -> float:
    """How far the solid is above the ground, negative inside it [m]."""
    point = p + R @ solid.outermost(unit(-normal @ R))
    return float(normal @ (point - place))


@pytest.mark.parametrize("seed", few_of(30, 1))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_how_far_a_solid_is_from_flat_ground(ground: str, kind: str, seed: int) -> None:
    """Five solids in twenty poses each: to rounding, but for rims."""
    rng = np.random.default_rng([seed, *map(ord, ground + kind)])
    for _ in range(5):
        scale = 10.0 ** rng.uniform(-4, 1)
        solid = Solid(kind, scale, rng)
        normal = unit(rng.normal(size=3)) if ground == "half space" else UP
        place = rng.choice([0.0, 1.0]) * rng.normal(size=3)
        model = on_ground(solid, ground, normal, place)
        for _ in range(20):
            own = solid.feature(rng)
            there = frame(-normal, unit(np.cross(normal, rng.normal(size=3))))
            R = turned_a_little(rng) @ there @ frame(own.normal, own.tangent).T
            q = pose(R, np.zeros(3))
            R = Rotation.from_quat(q[3:], scalar_first=True).as_matrix()
            away = rng.normal(size=3) * scale * rng.choice([0.0, 1.0, 10.0, 30.0])
            away -= (away @ normal) * normal
            p = place + away + scale * rng.choice(GAPS) * normal - R @ own.point
            truth = lowest(solid, R, p, normal, place)
            gaps = read_gaps(model, np.concatenate([p, q[3:]]))
            least = gaps[gaps < FAR].min(initial=np.inf)
            within = (TOLERANCE if kind in RIMS else 1e-12) * scale + 1e-14
            assert least > truth - within
            if truth < SEEN:
                assert least < truth + within
