"""The guard of impacts: the quadratic of `dynenvs.contact.law.restitution`, and its root."""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs.contact.law.restitution import share_without_gain


def work(G: np.ndarray, before: np.ndarray, p: np.ndarray) -> float:
    """By the theorem of kinetic energy: p.(u- + u+) / 2."""
    return float(p @ (before + 0.5 * G @ p))


def test_the_share_gives_back_what_compression_lost() -> None:
    """Random impacts, straight to the energy itself: none is gained, and a part more gains some."""
    rng, seen = np.random.default_rng(3), 0
    while seen < 200:
        root = rng.normal(size=(4, 4))
        G, before = root @ root.T + np.eye(4), rng.normal(size=4)
        inelastic = -np.linalg.solve(G, before) * rng.uniform(0.1, 1.0)
        d = rng.normal(size=4) * 10.0 ** rng.uniform(-3, 2)
        loss, gain = work(G, before, inelastic), work(G, before, inelastic + d)
        if not loss < 0.0 < gain:
            continue
        seen += 1
        share = share_without_gain(loss, float(d @ (before + G @ inelastic)), gain)
        assert 0.0 < share < 1.0
        assert work(G, before, inelastic + share * d) <= 0.0
        assert work(G, before, inelastic + share * (1 + 1e-9) * d) > 0.0


@pytest.mark.parametrize("inelastic", [0.0, 1e-18, np.nan])
def test_where_compression_loses_nothing_nothing_is_given_back(inelastic: float) -> None:
    """By hand: f(0) >= 0 leaves no part of the way."""
    assert share_without_gain(inelastic, 1.0, 2.0) == 0.0


def test_a_straight_way_needs_no_bend() -> None:
    """By hand: f(y) = -1 + 4 y, and f(y) = -1 - y + 3 y^2, whose root is (1 + sqrt(13)) / 6."""
    assert share_without_gain(-1.0, 4.0, 3.0) == pytest.approx(0.25, abs=1e-11)
    assert share_without_gain(-1.0, -1.0, 1.0) == pytest.approx((1 + 13**0.5) / 6, abs=1e-11)
