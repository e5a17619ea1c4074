"""Interquartile means and their intervals against closed forms and large numbers."""

from __future__ import annotations

import numpy as np
import pytest

from studies.aggregate import middle


def test_the_middle_half_counts() -> None:
    scores = [np.array([0.0, 1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0, 100.0])]
    assert middle(scores).mean == pytest.approx(np.mean([2.0, 3.0, 4.0, 5.0]))


def test_runs_alike_leave_no_doubt() -> None:
    found = middle([np.full(3, 0.7), np.full(5, 0.7)])
    assert found == pytest.approx((0.7, 0.7, 0.7))


def test_one_run_has_no_interval() -> None:
    found = middle([np.array([0.5]), np.array([0.1, 0.2])])
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Of normal scores, whose interquartile mean is their mean; 95 % less what few runs cost."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(60):
        found = middle([rng.normal(0.3, 0.1, 15), rng.normal(0.3, 0.1, 15)])
        hits += found.low < 0.3 < found.high
    assert 50 <= hits <= 60


def test_environments_are_resampled_each_for_itself() -> None:
    """Different levels of environments are no uncertainty: only seeds are drawn anew."""
    rng = np.random.default_rng(1)
    apart = [level + 0.001 * rng.standard_normal(8) for level in (0.0, 0.5, 1.0)]
    found = middle(apart)
    assert found.high - found.low < 0.005
