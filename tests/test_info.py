"""`info` is a plain dict of one world and of many, and the caller's own."""

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401

every_kind = pytest.mark.parametrize("name", ["DoublePendulum-v0", "MujocoHopper-v5"])


@every_kind
def test_it_is_a_plain_dict(name: str) -> None:
    """Minari's `DataCollector(record_infos=True)` maps over it with jax, which knows no other."""
    env, envs = gym.make(f"dynenvs/{name}"), gym.make_vec(f"dynenvs/{name}", 2)
    for one in (env, envs):
        assert type(one.reset(seed=0)[1]) is dict
        assert type(one.step(one.action_space.sample())[4]) is dict


@every_kind
def test_it_stays_as_it_was(name: str) -> None:
    """Steps after it change nothing, and its arrays may be written into, each for itself."""
    for one in (gym.make(f"dynenvs/{name}"), gym.make_vec(f"dynenvs/{name}", 3)):
        one.reset(seed=0)
        infos, copies = [], []
        for _ in range(120):
            *_, info = one.step(one.action_space.low)
            infos.append(info)
            copies.append({key: np.copy(value) for key, value in info.items()})
        for info, copy in zip(infos, copies, strict=True):
            for key, value in info.items():
                np.testing.assert_array_equal(value, copy[key])
                if isinstance(value, np.ndarray):
                    value[...] = 0
        for info in infos:
            assert all(not np.any(v) for v in info.values() if isinstance(v, np.ndarray))
