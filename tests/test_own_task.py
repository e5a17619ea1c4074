"""Tasks of one's own on robots that ship, and the state of environments by names."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dynenvs
from dynenvs.envs import Outcome, make_task
from dynenvs.envs.core.state import State

HUMANOID = "dynenvs/Humanoid-v0"


def same_task(state: State) -> Outcome:
    """The robot's own reward, and nothing else."""
    return Outcome(rewards={"own": state.reward})


def stand(state: State) -> Outcome:
    """Stand, and see how high the pelvis is."""
    pelvis = state.body("pelvis")
    height = pelvis.position[:, 2]
    return Outcome(
        rewards={"height": height, "effort": -0.1 * (state.actions**2).mean(axis=1)},
        ended=height < 0.85,
        observation={"pelvis height": height, "pelvis velocity": pelvis.velocity},
    )


def actions_of(envs: Any, steps: int) -> Any:
    """Random actions, the same ones in every run."""
    return np.random.default_rng(0).uniform(-1, 1, (steps, *envs.action_space.shape))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("robot", [HUMANOID, "dynenvs/MujocoHopper-v5"])
def test_a_task_that_changes_nothing_is_the_robots_own(robot: str, mode: str) -> None:
    """Oracle: the environment as it ships; observations, rewards, flags and finals are its bits."""
    if "Mujoco" in robot:
        pytest.importorskip("mujoco")
    name = make_task(same_task, robot)
    pair = [gym.make_vec(id, num_envs=6, autoreset_mode=mode) for id in (robot, name)]
    assert np.array_equal(*(envs.reset(seed=3)[0] for envs in pair))
    ends = 0
    for action in actions_of(pair[0], 150):
        theirs, ours = (envs.step(action) for envs in pair)
        for a, b in zip(theirs[:4], ours[:4], strict=True):
            assert np.array_equal(a, b)
        ends += int((ours[2] | ours[3]).sum())
        assert ("final_obs" in theirs[4]) == ("final_obs" in ours[4])
        if "final_obs" in ours[4]:
            for i in np.flatnonzero(ours[4]["_final_obs"]):
                assert np.array_equal(theirs[4]["final_obs"][i], ours[4]["final_obs"][i])
    assert ends > 0


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_one_function_serves_one_world_and_many(mode: str) -> None:
    """Single episodes are the batch's, bit for bit, up to the end that the function sets."""
    name = make_task(stand)
    envs: Any = gym.make_vec(name, num_envs=4, autoreset_mode=mode)
    single = [gym.make(name) for _ in range(4)]
    first = np.stack([env.reset(seed=7 + i)[0] for i, env in enumerate(single)])
    seen, _ = envs.reset(seed=7)
    assert np.array_equal(first, seen)
    parts = envs.unwrapped.observation_slices
    assert parts["pelvis velocity"] == slice(seen.shape[1] - 3, seen.shape[1])
    height = envs.unwrapped.world.body("pelvis").position[:, 2]
    assert np.array_equal(seen[:, parts["pelvis height"]][:, 0], height)
    going = np.ones(4, bool)
    for action in actions_of(envs, 60):
        seen, rewards, terminated, _, info = envs.step(action)
        for i in np.flatnonzero(going):
            observation, reward, over, _, told = single[i].step(action[i])
            assert (reward, over) == (rewards[i], terminated[i])
            assert reward == pytest.approx(told["reward_height"] + told["reward_effort"])
            last = seen[i]
            if over and mode == "SameStep":
                last = info["final_obs"][i]
                assert info["final_info"]["end"][i] == told["end"]
            elif over:
                assert info["end"][i] == told["end"] == "task"
            assert np.array_equal(last, observation)
            going[i] = not over
        if not going.any():
            break
        if mode == "Disabled" and terminated.any():
            with pytest.raises(gym.error.ResetNeeded):
                envs.step(action)
            envs.reset(options={"reset_mask": terminated})
    assert not going.any()


def test_next_step_begins_what_the_function_has_ended() -> None:
    """After an end: reward 0, no end, the clock at zero."""
    envs: Any = gym.make_vec(make_task(stand), num_envs=4)
    envs.reset(seed=7)
    over = np.zeros(4, bool)
    begun = 0
    for action in actions_of(envs, 60):
        _, rewards, terminated, _, _ = envs.step(action)
        assert (rewards[over] == 0.0).all()
        assert not terminated[over].any()
        assert (envs.unwrapped.world.time[over] == 0.0).all()
        begun += int(over.sum())
        over = terminated
    assert begun > 3


def test_gymnasium_and_stable_baselines_take_it() -> None:
    """Gymnasium's checker, and PPO on the batch."""
    check_env(gym.make(make_task(stand)).unwrapped, skip_render_check=True)
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO

    from dynenvs.agents import make_sb3_vec_env

    venv = make_sb3_vec_env("dynenvs/Stand-v0", 4, seed=0, terrain="flat")
    PPO("MlpPolicy", venv, n_steps=16, batch_size=64, device="cpu").learn(128)


def test_options_and_names() -> None:
    """The robot's options are kept; what does not fit is refused in a line."""
    name = make_task(stand, "dynenvs/Humanoid-v0", "dynenvs/Tall-v0", terminate_on_fall=False)
    assert gym.spec(name).kwargs == {"terminate_on_fall": False}
    with pytest.raises(TypeError, match="terminat_on_fall"):
        make_task(stand, terminat_on_fall=False)
    with pytest.raises(TypeError, match="function must take a State and give an Outcome, got 'x'"):
        make_task("x", name="dynenvs/NoFunction-v0")  # type: ignore[arg-type]
    assert "dynenvs/NoFunction-v0" not in gym.registry
    with pytest.raises(ValueError, match="no environment of dynenvs"):
        make_task(stand, "CartPole-v1")
    with pytest.raises(ValueError, match=r"did you mean 'dynenvs/Humanoid-v0'[?]$"):
        make_task(stand, "Humanoid-v0")  # Gymnasium once had one of this name, and says so
    with pytest.raises(ValueError, match="did you mean 'dynenvs/Humanoid-v0' or 'dynenvs/Planar"):
        make_task(stand, "humanoid")
    with pytest.raises(ValueError, match="the name of another environment"):
        make_task(stand, name=HUMANOID)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome({"a": np.zeros(3)}), r"rewards\['a'\] must have one entry a world, shape \(1,\)"),
        (Outcome({}, ended=np.zeros(2)), "ended must have one entry"),
        (Outcome({}, None, {"b": np.zeros((1, 2, 2))}), r"observation\['b'\] must have one row"),
        (Outcome({}, None, {"height": np.zeros(1)}), "two blocks are called 'height'"),
        (Outcome(np.zeros(1)), "rewards must be arrays by names"),  # type: ignore[arg-type]
        (Outcome({}, ended=np.ones(1)), "ended must be true or false of each world, got float64"),
        (1.0, "must give an Outcome"),
        (Outcome({"a": np.array(["1"])}), r"rewards\['a'\] must be real numbers, got <U1"),
        (Outcome({"a": np.array([1j])}), r"rewards\['a'\] must be real numbers, got complex128"),
        (Outcome({}, None, {"b": np.array([None])}), r"observation\['b'\] must be real numbers"),
    ],
)
def test_what_is_no_outcome_is_refused(outcome: Any, words: str) -> None:
    """When the environment is made, not in the middle of a training."""

    def wrong(state: State) -> Outcome:
        return outcome

    with pytest.raises(ValueError, match=words):
        gym.make(make_task(wrong))


def test_the_row_that_is_forgotten_is_told() -> None:
    """A height is position[:, 2]: position[2] asks for the third world."""

    def forgetful(state: State) -> Outcome:
        return Outcome({"height": state.body("pelvis").position[2]})

    with pytest.raises(IndexError) as raised:
        gym.make(make_task(forgetful))
    assert "one row per world, here 1" in "".join(raised.value.__notes__)


def test_rewards_that_are_no_numbers_are_refused() -> None:
    """One world's NaN would spoil a learner in silence; before a first step there may be some."""

    def broken(state: State) -> Outcome:
        height = state.body("pelvis").position[:, 2].copy()
        height[-1] = np.nan
        return Outcome(rewards={"height": height})

    name = make_task(broken)
    for envs, at in ((gym.make_vec(name, num_envs=3), 2), (gym.make(name).unwrapped, 0)):
        envs.reset(seed=0)
        words = rf"rewards\['height'\] of world {at} is nan; it must be finite"
        with pytest.raises(ValueError, match=words):
            envs.step(np.zeros(envs.action_space.shape))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (lambda n, _: Outcome({"a": np.full(n, 1e308), "b": np.full(n, 1e308)}), "sum of rewards"),
        (lambda n, _: Outcome({}, None, {"b": np.full((n, 2), np.inf)}), r"observation\['b'\]"),
        (lambda n, k: Outcome({}, None, {"b": np.zeros((n, 1 + k // 3))}), "keeps its .* sizes"),
        (lambda n, k: Outcome({}, None, {"ab"[k // 3]: np.zeros(n)}), "keeps its names"),
    ],
)
@pytest.mark.parametrize("count", [0, 3])
def test_what_spoils_learners_later_is_refused(
    outcome: Callable[[int, int], Outcome], words: str, count: int
) -> None:
    """Rewards and observations beyond numbers, and observations that change their shape."""
    asked = itertools.count()

    def task(state: State) -> Outcome:
        return outcome(len(state.q), next(asked))

    name = make_task(task, "dynenvs/DoublePendulum-v0")
    envs: Any = gym.make_vec(name, num_envs=count) if count else gym.make(name).unwrapped

    def run() -> None:
        envs.reset(seed=0)
        for _ in range(3):
            envs.step(np.zeros(envs.action_space.shape))

    with pytest.raises(ValueError, match=words):
        run()


@pytest.mark.parametrize("again", ["step", "reset"])
def test_a_function_that_steps_its_own_worlds_is_refused(again: str) -> None:
    """It would be called again within itself, without end."""
    own: list[Any] = []

    def task(state: State) -> Outcome:
        for env in own:
            env.step(np.zeros(2)) if again == "step" else env.reset()
        return Outcome({"nothing": np.zeros(len(state.q))})

    env: Any = gym.make(make_task(task, "dynenvs/DoublePendulum-v0")).unwrapped
    env.reset(seed=0)
    own.append(env)
    with pytest.raises(RuntimeError, match="must not step or reset its own environment"):
        env.step(np.zeros(2))
    own.clear()
    env.step(np.zeros(2))


def test_the_state_by_names() -> None:
    """Oracle: `World` with the same positions and velocities, and `info`."""
    env: Any = gym.make(HUMANOID).unwrapped
    env.reset(seed=0)
    action = np.full(21, 0.1)
    for _ in range(5):
        _, reward, _, _, info = env.step(action)
    world = env.world
    frames = dynenvs.frames(env.model, world.q, world.v)
    foot = env.model.body_id("left_foot")
    assert np.allclose(world.body("left_foot").position, frames.positions[foot], atol=1e-12)
    assert np.allclose(world.body("left_foot").velocity, frames.linear[foot], atol=1e-12)
    assert np.array_equal(world.foot_forces["left"], info["contact_forces"][0])
    assert np.allclose(world.contact_force("left_foot"), info["contact_forces"][0])
    assert np.array_equal(world.command, info["command"])
    assert (world.reward, world.time) == (reward, pytest.approx(0.075))
    assert np.allclose(world.actions, 0.1)
    knee = world.joint("left_knee")
    assert knee.position == world.q[env.model.position_index("left_knee")]
    assert knee.velocity == world.v[env.model.velocity_index("left_knee")]
    assert world.joint("root").position.shape == (7,)
    before = world.body("pelvis").position.copy()
    env.step(action)
    assert (world.body("pelvis").position != before).any()  # it follows the world
    with pytest.raises(ValueError, match="read-only"):
        world.q[0] = 1.0
    with pytest.raises(KeyError, match="unknown body 'pelvi'; choose from: world, pelvis"):
        world.body("pelvi")


def test_the_state_of_many_and_of_other_tasks() -> None:
    """A row a world; where there are no feet or commands, a line says what there is."""
    envs: Any = gym.make_vec(HUMANOID, num_envs=3).unwrapped
    envs.reset(seed=0)
    assert envs.world.body("pelvis").rotation.shape == (3, 3, 3)
    for i, env in enumerate(envs.envs):
        assert np.array_equal(env.world.q, envs.world.q[i])
    pendulum: Any = gym.make("dynenvs/DoublePendulum-v0").unwrapped
    pendulum.reset(seed=0)
    with pytest.raises(AttributeError, match="info has no 'command': it has tip_height"):
        _ = pendulum.world.command


def test_what_they_are_called() -> None:
    """`repr` says what it is, and how large."""
    env: Any = gym.make(HUMANOID).unwrapped
    words = (
        "<HumanoidEnv of dynenvs/Humanoid-v0: observation (59,), action (21,), control step 15 ms>"
    )
    assert repr(env) == words
    assert repr(env.world).startswith("<State of one world: 28 positions, 27 velocities; q, v,")
    envs: Any = gym.make_vec(HUMANOID, num_envs=3, num_threads=1).unwrapped
    assert repr(envs) == "HumanoidVectorEnv(dynenvs/Humanoid-v0, num_envs=3)"
    assert repr(envs.world).startswith("<State of 3 worlds")
