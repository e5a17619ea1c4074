"""A pair of solids writes to its own slots alone: the next ones are another pair's, or none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free

SOLIDS: dict[str, dict[str, Any]] = {
    "sphere": {"radius": 0.06},
    "capsule": {"start": (-0.2, 0, 0), "end": (0.2, 0, 0), "radius": 0.06},
    "box": {"half_size": (0.2, 0.15, 0.1)},
    "cylinder": {"radius": 0.15, "half_length": 0.1},
    "cone": {"radius": 0.15, "half_length": 0.1},
    "ellipsoid": {"radii": (0.2, 0.15, 0.1)},
    "convex": {"points": np.vstack([np.eye(3), -np.eye(3)]) * 0.15},
}
HEIGHTS = np.random.default_rng(0).uniform(0.0, 0.1, (40, 40))
FIELDS = ("height_field", "block_field")
FAR_AWAY = 100.0  # [m]
MARK = 77.0
POSES = 5
PAIRS = [
    *itertools.product(SOLIDS, FIELDS),
    *itertools.combinations_with_replacement(SOLIDS, 2),
]
PAIRS.remove(("sphere", "sphere"))  # which need no slots


@pytest.mark.parametrize(("kind", "other"), PAIRS)
def test_they_leave_others_alone(kind: str, other: str) -> None:
    """One solid touches the other one, or the field, from several sides; its twin is far away."""
    builder = ModelBuilder()
    if other in FIELDS:
        getattr(builder, other)("other", heights=HEIGHTS, half_size=(3.0, 3.0))
    else:
        builder.body("other", joint=free(), density=500.0)
        getattr(builder, other)("other", "other", **SOLIDS[other])
    for name in ("near", "twin"):
        builder.body(name, joint=free(), density=500.0)
        getattr(builder, kind)(name, name, **SOLIDS[kind])
    model = builder.exclude("near", "twin").build()
    m = open_model(model.packed)
    w = open_work(m, model.workspace())
    rng = np.random.default_rng(1)
    touched = 0
    for _ in range(POSES):
        q = np.zeros((model.nq // 7, 7))
        q[:, 3] = 1.0
        q[-2, :3] = *rng.uniform(-0.05, 0.05, 2), 0.1
        q[-2, 3:] = rng.normal(size=4)
        q[-2, 3:] /= np.linalg.norm(q[-2, 3:])
        q[-1, 2] = FAR_AWAY
        update_poses(m, q.ravel(), w.pose)
        w.spots["gap"], w.spots["radius"], w.spots["edges"] = 0.0, MARK, int(MARK)
        measure_gaps(w)
        own = np.zeros(len(w.spots), bool)
        for entry in w.near[: w.answer["near"][0]]:
            own[entry["first"] : entry["first"] + entry["slots"]] = True
            touched += 1
        assert not own.all()
        assert (w.spots["gap"][~own] == 0.0).all()
        assert (w.spots["radius"][~own] == MARK).all()
        assert (w.spots["edges"][~own] == int(MARK)).all()
    assert touched == POSES
