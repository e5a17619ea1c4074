"""Bad input to a batch is refused by name and leaves every world untouched, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import make_batch, random_actions
from rollouts import FREE, bits, every_env, every_planar

from dynenvs.envs.core.vector import DynVectorEnv

COUNT = 4


def _prepared(name: str, **options: Any) -> DynVectorEnv:
    batch = make_batch(name, COUNT, **options)
    batch.reset(seed=0)
    for action in random_actions(batch, 5):
        batch.step(action)
    return batch


def _refused(batch: DynVectorEnv, call: Callable[[], Any], *words: str) -> None:
    """The call raises a ValueError with these words and changes nothing."""
    before, generator = bits(batch.get_state()), bits(batch.np_random.bit_generator.state)
    with pytest.raises(ValueError, match=r".*".join(words)):
        call()
    assert bits(batch.get_state()) == before
    assert bits(batch.np_random.bit_generator.state) == generator


@every_env
def test_actions(name: str) -> None:
    """Wrong shape, wrong type, not finite: which entry."""
    batch = _prepared(name)
    nu = batch.task.model.nu
    good = np.zeros((COUNT, nu), np.float32)
    for shape in ((nu,), (COUNT,), (COUNT + 1, nu), (COUNT, nu + 1), (1, nu), (COUNT, nu, 1), ()):
        expected = rf"\({COUNT}, {nu}\)"
        wrong = np.zeros(shape)
        _refused(batch, lambda wrong=wrong: batch.step(wrong), "actions", "shape", expected)
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[2, nu - 1] = value
        _refused(batch, lambda bad=bad: batch.step(bad), "actions", "finite", rf"2, {nu - 1}")
    for value in (None, "left", [None] * COUNT, np.zeros((COUNT, nu), complex), {}, object()):
        _refused(batch, lambda value=value: batch.step(value), "actions")
    batch.step(good.tolist())  # numbers in lists are numbers


@every_env
def test_reset_masks(name: str) -> None:
    """Not an array of bools, wrong shape, or nobody."""
    batch = _prepared(name)
    for mask in (
        [True] * COUNT,
        True,
        None,
        np.ones(COUNT),
        np.ones(COUNT, np.int64),
        np.ones(COUNT + 1, np.bool_),
        np.ones((COUNT, 1), np.bool_),
        np.zeros(COUNT, np.bool_),
    ):
        options = {"reset_mask": mask}
        _refused(batch, lambda o=options: batch.reset(seed=3, options=o), "reset_mask")
    options = {"reset_mask": np.ones(COUNT, np.bool_)}
    batch.reset(options=options)
    assert list(options) == ["reset_mask"], "the caller's own"


@every_env
def test_reset_options_and_seeds(name: str) -> None:
    """Unknown options, no dictionary, seeds that are none."""
    batch = _prepared(name)
    for options in ({"speling": 1}, [("command", 0.5)], "command", {1: 2}):
        _refused(batch, lambda o=options: batch.reset(seed=1, options=o), "option")
    wrong = {"speling": 1}
    _refused(batch, lambda: batch.reset(options=wrong), "choose from: ", "reset_mask")
    for seed in (-1, True, 1.5, "x", [1, 2], [1] * (COUNT + 1), [0, 1, -2, 3], [0, 1, "a", 2]):
        _refused(batch, lambda seed=seed: batch.reset(seed=seed), "seed")


@every_planar
def test_commands(name: str) -> None:
    """Out of range, not finite, too many: which world."""
    batch = _prepared(name)
    low, _ = batch.task.command_range  # type: ignore[attr-defined]
    good = np.full(COUNT, low)
    for value in (np.nan, np.inf, 99.0):
        bad = good.copy()
        bad[2] = value
        options = {"command": bad}
        _refused(batch, lambda o=options: batch.reset(options=o), "command", r"\[2\]")
        _refused(batch, lambda b=bad: batch.set_command(b), "command", r"\[2\]")  # type: ignore[attr-defined]
    for bad in (99.0, float("nan"), "fast", None, good[:2], good[:, None], ["a"] * COUNT):
        options = {"command": bad}
        _refused(batch, lambda o=options: batch.reset(seed=1, options=o), "command")
        _refused(batch, lambda b=bad: batch.set_command(b), "command")  # type: ignore[attr-defined]
    with pytest.raises(gym.error.ResetNeeded, match="set_command"):
        make_batch(name, COUNT).set_command(low)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FREE)
def test_commands_of_three_speeds(name: str) -> None:
    """One for all or one a world: the shapes that are right, and which world is wrong."""
    batch = _prepared(name)
    each = np.zeros((COUNT, 3))
    each[2] = (0.0, np.nan, 0.0)
    for wrong, words in (
        (each, r"sideways in .*entries \[2\]"),
        (each[:2], r"shape \(3,\) or \(4, 3\), got \(2, 3\)"),
        (each.T, r"shape \(3,\) or \(4, 3\), got \(3, 4\)"),
        (each[:, 0], r"shape \(3,\) or \(4, 3\), got \(4,\)"),
        ((99.0, 0.0, 0.0), "forward in"),
        ("fast", "command .*must"),
        (None, "command .*must"),
        ([["a", "b", "c"]] * COUNT, "real numbers"),
        ([[0.0], [0.0, 0.0]], "command .*must"),
    ):
        options = {"command": wrong}
        _refused(batch, lambda o=options: batch.reset(seed=1, options=o), words)
        _refused(batch, lambda w=wrong: batch.set_command(w), words)  # type: ignore[attr-defined]
    with pytest.raises(gym.error.ResetNeeded, match="set_command"):
        make_batch(name, COUNT).set_command((0.0, 0.0, 0.0))  # type: ignore[attr-defined]


@every_env
def test_constructor(name: str) -> None:
    """Each argument by name."""
    for option, values in {
        "num_envs": [0, -1, 1.5, None, "many", True, 10**9],
        "num_threads": [0, -2, 2.5, "all", 10**6, False],
        "autoreset_mode": ["never", 3, None, "NEXT_STEP"],
        "render_mode": ["human", "ansi", 3],
        "width": [0, "wide"],
        "timestep": [0.0, 1.0],
    }.items():
        for value in values:
            with pytest.raises(ValueError, match=option):
                gym.make_vec(name, **{"num_envs": 2, option: value})
    with pytest.raises(TypeError, match="speling"):
        gym.make_vec(name, num_envs=2, speling=1)


@every_env
def test_calls_out_of_turn(name: str) -> None:
    """A step before the first reset, of some worlds only too; or past an end without autoreset."""
    batch = make_batch(name, COUNT, autoreset_mode="Disabled", max_episode_steps=3)
    actions = np.zeros(batch.action_space.shape, np.float32)
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        batch.step(actions)
    batch.reset(options={"reset_mask": np.arange(COUNT) < 2})
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        batch.step(actions)
    batch.reset(options={"reset_mask": np.arange(COUNT) >= 2})
    for _ in range(3):
        batch.step(actions)
    before = bits(batch.get_state())
    with pytest.raises(gym.error.ResetNeeded, match=r"worlds \[0, 1, 2, 3\] have ended"):
        batch.step(actions)
    assert bits(batch.get_state()) == before
    batch.reset(options={"reset_mask": np.ones(COUNT, np.bool_)})
    batch.step(actions)


@every_env
def test_states(name: str) -> None:
    """Of another size or environment, or none at all."""
    batch = _prepared(name)
    other = make_batch(name, COUNT + 1)
    other.reset(seed=0)
    for state in ({}, None, 3, other.get_state(), batch.envs[0].get_state()):
        _refused(batch, lambda state=state: batch.set_state(state), "state", f"{COUNT} world")
    broken = batch.get_state()
    broken["world"]["q"][2, 0] = np.inf
    _refused(batch, lambda: batch.set_state(broken), r"q\[0\] of world 2 is inf", "finite")
