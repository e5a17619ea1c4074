"""What Python does around the compiled parts of Gymnasium's MuJoCo tasks: all that it promises."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs
from dynenvs.simulation.worlds import WorldsError

mujoco: Any = pytest.importorskip("mujoco")

ASSETS = Path(gym.__file__).parent / "envs/mujoco/assets"


def made(name: str = "Hopper-v5", **options: Any) -> Any:
    """An environment that has begun."""
    env = gym.make(f"dynenvs/Mujoco{name}", **options).unwrapped
    env.reset(seed=3)
    return env


def test_what_a_step_returns_is_the_callers_own() -> None:
    """Arrays that were returned stay as they are, and writing into them changes nothing."""
    env, other = made("Humanoid-v5"), made("Humanoid-v5")
    action = np.full(17, 0.1, np.float32)
    seen, _, _, _, told = env.step(action)
    other.step(action)
    kept, length = seen.copy(), told["tendon_length"].copy()
    following = env.step(action)
    np.testing.assert_array_equal(seen, kept)
    np.testing.assert_array_equal(told["tendon_length"], length)
    seen[:], told["tendon_length"][:], action[:] = 7.0, 7.0, 0.1
    expected = other.step(action)
    np.testing.assert_array_equal(following[0], expected[0])
    assert following[1] == expected[1]


def test_numbers_are_pythons() -> None:
    """Rewards and entries of `info` are floats, ends truth values."""
    _, reward, over, cut, told = made().step(np.zeros(3))
    assert [type(x) for x in (reward, over, cut)] == [float, bool, bool]
    assert {type(value) for value in told.values()} == {float}


@pytest.mark.parametrize(
    "form",
    [
        lambda a: a.tolist(),
        lambda a: a.astype(np.float64),
        lambda a: np.repeat(a, 2)[::2],
        lambda a: a.astype(np.float16),
    ],
)
def test_actions_of_all_forms(form: Any) -> None:
    """Lists, other floats and arrays with gaps do what a plain array does; it is left alone."""
    action = np.array([0.5, -0.25, 1.5], np.float32)
    expected = made().step(action)
    given = form(action)
    found = made().step(given)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
    np.testing.assert_array_equal(given, [0.5, -0.25, 1.5])


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (np.array([0.0, np.nan, 0.0]), r"action must be finite; entries \[\[1\]\] are not"),
        (np.array([0.0, 0.0, np.inf], np.float32), r"action must be finite; entries \[\[2\]\]"),
        ([0.0, np.nan, 0.0], "action must be finite"),
        (np.zeros((1, 3)), r"of shape \(3,\), got float64 of shape \(1, 3\)"),
        (np.zeros(3, np.complex128), "must be real numbers"),
    ],
)
def test_refused_actions_change_nothing(action: Any, words: str) -> None:
    env, other = made(), made()
    with pytest.raises(ValueError, match=words):
        env.step(action)
    found, expected = env.step(np.ones(3)), other.step(np.ones(3))
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[4] == expected[4]


def test_a_second_thread_is_told_so() -> None:
    """And what the first one works on stays as it is."""
    env, other = made(), made()
    holds, may_end = threading.Event(), threading.Event()

    def work() -> None:
        with env.batch.worlds._turn:
            holds.set()
            may_end.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    holds.wait(60)
    try:
        for act in (lambda: env.step(np.ones(3)), env.reset):
            with pytest.raises(RuntimeError, match="another thread is using this"):
                act()
    finally:
        may_end.set()
        thread.join()
    for _ in range(2):  # no number was drawn meanwhile
        found, expected = env.step(np.ones(3)), other.step(np.ones(3))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


def test_a_step_without_a_solution_ends_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the world alone that has none, and no later one."""
    envs = gym.make_vec("dynenvs/MujocoHalfCheetah-v5", num_envs=3).unwrapped
    envs.reset(seed=0)
    advance = envs.task.advance

    def fail(worlds: Any, actions: Any, mask: Any) -> None:
        advance(worlds, actions, mask)
        raise WorldsError("no solution", np.array([1]))

    monkeypatch.setattr(envs.task, "advance", fail)
    assert envs.step(np.zeros((3, 6)))[2].tolist() == [False, True, False]
    monkeypatch.setattr(envs.task, "advance", advance)
    for _ in range(2):
        assert not envs.step(np.zeros((3, 6)))[2].any()


def test_a_step_that_makes_room_goes_on() -> None:
    """Memory that has moved meanwhile is found again."""
    env, other = made("Ant-v5"), made("Ant-v5")
    action = np.full(8, 0.3, np.float32)
    for k in range(6):
        if k == 3:
            worlds = env.batch.worlds
            worlds._make_room(2 * int(worlds.model.header.nc), 0)
        found, expected = env.step(action), other.step(action)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1] == expected[1]
    env.reset(seed=1)
    np.testing.assert_array_equal(env.step(action)[0], _after_reset(other, action))


def _after_reset(env: Any, action: Any) -> Any:
    env.reset(seed=1)
    return env.step(action)[0]


def test_a_robot_without_the_tasks_coordinates_is_refused() -> None:
    """Compiled code would read beyond its arrays."""
    path = str(ASSETS / "inverted_pendulum.xml")
    with pytest.raises(ValueError, match=r"needs 3 positions .* the robot has 2"):
        gym.make("dynenvs/MujocoHalfCheetah-v5", xml_file=path)


def test_controls_are_the_actuators_forces() -> None:
    """Beyond their ranges, too: the compiled way is NumPy's, bit for bit."""
    model = made("Humanoid-v5").task.model
    worlds, others = dynenvs.Worlds(model, 2), dynenvs.Worlds(model, 2)
    world = dynenvs.World(model)
    rng = np.random.default_rng(0)
    for _ in range(20):
        control = rng.uniform(-0.8, 0.8, (2, 17))
        forces = dynenvs.actuator_forces(model, control, worlds.q, worlds.v)
        worlds.step(control=control)
        others.step(forces)
        world.step(control=control[1])
        np.testing.assert_array_equal(worlds.tau, others.tau)
        np.testing.assert_array_equal(world.tau, others.tau[1])
        np.testing.assert_array_equal(worlds.q, others.q)
