"""Random numbers of many generators in one compiled call: NumPy's, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from dynenvs.envs.mujoco.streams import draw_uniforms, places_of

COUNT, SIZE = 40, 7


def test_numbers_and_states_are_numpys() -> None:
    """Oracle: `Generator.random` of generators with the same seeds, over many draws."""
    ours = [np.random.default_rng(seed) for seed in range(COUNT)]
    theirs = [np.random.default_rng(seed) for seed in range(COUNT)]
    places, rng = places_of(ours), np.random.default_rng(99)
    assert places is not None
    drawn, expected = np.zeros((COUNT, SIZE)), np.zeros((COUNT, SIZE))
    for _ in range(50):
        mask = (rng.random(COUNT) < 0.6).astype(np.uint8)
        draw_uniforms(places, mask, drawn)
        for i in np.flatnonzero(mask):
            theirs[i].random(out=expected[i])
        np.testing.assert_array_equal(drawn, expected)
        states = [one.bit_generator.state for one in ours]
        assert states == [one.bit_generator.state for one in theirs]
    # What NumPy draws next follows on
    assert [one.normal() for one in ours] == [one.normal() for one in theirs]


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64DXSM, np.random.Philox])
def test_other_generators_draw_by_themselves(kind: type[np.random.BitGenerator]) -> None:
    ours = [np.random.default_rng(0), np.random.Generator(kind(1))]
    assert places_of(ours) is None
