"""The farthest of many points: that of the plain loop, and of several the first."""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats
from dynenvs.simd.extremes import farthest


@kernel
def farthest_here(points: Floats, x: float, y: float, z: float) -> int:
    return farthest(points, x, y, z)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("count", [*range(1, 14), 63, 64, 65])
def test_farthest_is_the_first_that_the_plain_loop_finds(count: int, coarse: bool) -> None:
    rng = np.random.default_rng(count)
    for _ in range(50):
        points, (x, y, z) = rng.normal(size=(count, 3)), rng.normal(size=3)
        if coarse:  # many are as far as others
            points, x, y, z = np.round(points), round(x), round(y), round(z)
        reach = x * points[:, 0] + y * points[:, 1] + z * points[:, 2]
        assert farthest_here(points.ravel(), x, y, z) == 3 * int(reach.argmax())
