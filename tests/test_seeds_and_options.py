"""What seeds and options may be: the same for single environments and both kinds of batch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401
from dynenvs.envs.checks import interval, number, whole

NAMES = ["dynenvs/DoublePendulum-v0", "dynenvs/MujocoHopper-v5"]
COUNT = 3


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """An environment of each kind."""
    if "Mujoco" in request.param:
        pytest.importorskip("mujoco")
    return str(request.param)


@pytest.mark.parametrize(
    "seed",
    [
        3.7,
        "12",
        b"1",
        {1, 2, 3},
        {0: 1},
        -1,
        True,
        object(),
        np.array(2.5),
        [1, 2],
        [[1], [2], [3]],
    ],
)
def test_seeds_that_are_none(name: str, seed: Any) -> None:
    """One line that names the argument; a set has no order."""
    envs = gym.make_vec(name, num_envs=COUNT)
    with pytest.raises(ValueError, match=r"^seed"):
        envs.reset(seed=seed)
    if not isinstance(seed, list):
        with pytest.raises(ValueError, match=r"^seed"):
            gym.make(name).unwrapped.reset(seed=seed)


def test_seeds_of_odd_types(name: str) -> None:
    """Whole numbers and rows of them, whatever their type; nothing warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = gym.make_vec(name, num_envs=COUNT)
        first = envs.reset(seed=5)[0]
        for seed in (
            np.float32(5),
            np.float16(5),
            np.int8(5),
            np.array(5),
            5.0,
            range(5, 8),
            (5, 6, 7),
            np.arange(5, 8),
            np.arange(5.0, 8.0, dtype=np.float32),
        ):
            np.testing.assert_array_equal(envs.reset(seed=seed)[0], first)
        alone = gym.make(name).unwrapped.reset(seed=np.float32(6))[0]
    np.testing.assert_array_equal(alone, first[1])


@pytest.mark.parametrize("options", [5, 0, [], "command", [("reset_mask", 1)], object()])
def test_options_that_are_no_mapping(name: str, options: Any) -> None:
    """Nothing but a mapping or None, empty or not."""
    for env in (gym.make_vec(name, num_envs=COUNT), gym.make(name).unwrapped):
        with pytest.raises(ValueError, match=r"^reset options must be a dict or None, got"):
            env.reset(options=options)
        env.reset(seed=0, options=MappingProxyType({}))


class ListConfig(Sequence[float]):
    """A row of numbers that is no list, as omegaconf's."""

    def __init__(self, *values: float) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, i: Any) -> Any:
        return self._values[i]


def test_rows_of_configuration_files() -> None:
    """Hydra's lists are pairs, too; strings are none."""
    assert interval(ListConfig(0.5, 2.0), "mass_range", 0.0, 3.0) == (0.5, 2.0)
    with pytest.raises(ValueError, match="mass_range must be a pair of numbers"):
        interval("12", "mass_range", 0.0, 3.0)
    env = gym.make(
        NAMES[0],
        motor_strength_range=ListConfig(0.9, 1.1),
        action_delay=ListConfig(0, 1),
        control="position",
        stiffness=ListConfig(1.0, 2.0),
    ).unwrapped
    assert env.get_wrapper_attr("task").motor_strength_range == (0.9, 1.1)
    assert isinstance(MappingProxyType({}), Mapping)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, np.longdouble])
def test_numbers_of_any_type(kind: Any) -> None:
    """Compared without overflow, whatever the bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whole(kind(3), "seed", 0, 2**128) == 3
        assert number(kind(3), "weight", -1e300, 1e300) == 3.0


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_observations_of_single_precision(name: str, mode: str) -> None:
    """The same ones, rounded; within their space; the motion is the same, bit for bit."""
    made = [
        gym.make_vec(
            name,
            num_envs=COUNT,
            autoreset_mode=mode,
            max_episode_steps=4,
            observation_dtype=kind,
        )
        for kind in ("float64", "float32")
    ]
    assert made[1].observation_space.dtype == np.float32
    found = [env.reset(seed=1) for env in made]
    rng = np.random.default_rng(0)
    for _ in range(8):
        double, single = (one[0] for one in found)
        assert (double.dtype, single.dtype) == (np.float64, np.float32)
        np.testing.assert_array_equal(single, double.astype(np.float32))
        assert made[1].observation_space.contains(single)
        actions = rng.uniform(-1, 1, made[0].action_space.shape).astype(np.float32)
        found = [env.step(actions) for env in made]
        np.testing.assert_array_equal(found[0][1], found[1][1])
        if "final_obs" in found[1][4]:
            last = found[1][4]["final_obs"][0]
            assert last.dtype == np.float32
            np.testing.assert_array_equal(last, found[0][4]["final_obs"][0].astype(np.float32))
    env = gym.make(name, observation_dtype="float32")  # its own checker looks at the dtype
    seen = env.reset(seed=1)[0]
    assert seen.dtype == env.step(env.action_space.sample())[0].dtype == np.float32
    assert env.observation_space.contains(seen)
    with pytest.raises(ValueError, match="unknown observation_dtype 'float16'; choose from"):
        gym.make(name, observation_dtype="float16")


def test_the_type_of_observations_does_not_change() -> None:
    """Of worlds that there are."""
    env = gym.make(NAMES[0]).unwrapped
    with pytest.raises(ValueError, match="cannot change observation_dtype"):
        env.get_wrapper_attr("change_options")(observation_dtype="float32")
