"""`info` is made when it is read: nothing else about it may be seen."""

import copy
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401
from dynenvs.envs.core.info import Info

ENTRIES = {"x": 1.5, "degraded": 0, "name": "fell"}


def unread() -> Info:
    return Info.later(lambda: dict(ENTRIES))


@pytest.mark.parametrize(
    "look",
    [
        dict,
        len,
        list,
        repr,
        json.dumps,
        lambda info: {**info},
        lambda info: dict(**info),
        lambda info: info == ENTRIES,
        lambda info: operator.eq(ENTRIES, info),
        lambda info: info != ENTRIES,
        lambda info: "x" in info,
        lambda info: info["x"],
        lambda info: info.get("x"),
        lambda info: info.get("y", 3),
        lambda info: list(info.items()),
        lambda info: list(reversed(info)),
        lambda info: info | {"y": 2},
        lambda info: {"y": 2} | info,
        lambda info: info.copy(),
        lambda info: copy.copy(info),
        lambda info: copy.deepcopy(info),
        lambda info: pickle.loads(pickle.dumps(info)),
        lambda info: info.pop("x"),
        lambda info: (info.setdefault("x", 7), info.setdefault("y", 7), dict(info)),
        lambda info: (info.update(x=2), dict(info)),
        lambda info: {}.update(info),
        lambda info: bool(info),
    ],
)
def test_it_is_seen_as_a_dict_is(look: Callable[[Any], Any]) -> None:
    """Whatever is asked first, the answer is that of a dict with the same entries."""
    assert look(unread()) == look(dict(ENTRIES))


def test_it_is_made_as_a_dict_is() -> None:
    """As libraries do that map a function over nested data."""
    assert Info(zip("ab", (1, 2), strict=True)) == Info({"a": 1}, b=2) == {"a": 1, "b": 2}


def test_two_of_them_are_compared_by_their_entries() -> None:
    assert unread() == unread()
    assert Info.later(dict) != unread()


def test_what_is_set_beside_reads_nothing_and_stays() -> None:
    """A wrapper's `info["episode"] = ...` comes last, as in a dict, and wins over an entry."""

    def read() -> dict[str, Any]:
        reads.append(1)
        return dict(ENTRIES)

    reads: list[int] = []
    info = Info.later(read)
    info["episode"], info["x"] = 9, 2.0
    assert not reads
    assert list(info) == [*ENTRIES, "episode"]
    assert info == {**ENTRIES, "x": 2.0, "episode": 9}
    assert reads == [1]


def test_it_is_gone_once_it_is_cleared_or_taken() -> None:
    info = unread()
    assert info.pop("name") == "fell"
    del info["x"]
    assert info == {"degraded": 0}
    info = unread()
    info.clear()
    assert info == {}
    assert len(info) == 0


@pytest.mark.parametrize("name", ["DoublePendulum-v0", "MujocoHopper-v5"])
def test_read_late_it_says_what_it_would_have_said_at_once(name: str) -> None:
    """Of one world and of many; whatever has happened since, to masks that it shows, too."""
    env, envs = gym.make(f"dynenvs/{name}"), gym.make_vec(f"dynenvs/{name}", 3)
    for one, action in ((env, env.action_space.low), (envs, envs.action_space.low)):
        early, late = [], []
        for chosen in (early, late):
            one.reset(seed=0)
            for _ in range(120):
                *_, info = one.step(action)
                chosen.append(
                    {key: np.copy(info[key]) for key in info} if chosen is early else info
                )
        for was, now in zip(early, late, strict=True):
            assert list(was) == list(now)
            for key in was:
                np.testing.assert_array_equal(was[key], now[key], strict=True)
        env.close()


@pytest.mark.parametrize("name", ["DoublePendulum-v0", "MujocoHopper-v5"])
def test_one_worlds_is_a_plain_dict(name: str) -> None:
    """Minari's `DataCollector(record_infos=True)` maps over it with jax, which knows no other."""
    env = gym.make(f"dynenvs/{name}")
    assert type(env.reset(seed=0)[1]) is dict
    assert type(env.step(env.action_space.sample())[4]) is dict
