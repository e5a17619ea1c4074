"""Gymnasium's MuJoCo tasks on hard contact: its own numbers for the same states."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import dynenvs
from dynenvs.envs.mujoco.bodies import Bodies, new_bodies, read_bodies
from dynenvs.registration import MUJOCO

mujoco: Any = pytest.importorskip("mujoco")

NAMES = [name.removeprefix("dynenvs/Mujoco") for name in MUJOCO]


def pair(name: str, **options):
    """Our environment and Gymnasium's."""
    ours = gym.make(f"dynenvs/Mujoco{name}", **options)
    return ours, gym.make(name, **options)


def bodies_of(worlds: dynenvs.Worlds, mask: np.ndarray | None = None, out: Any = None) -> Bodies:
    """What is told of each body of the file in the worlds of a mask, over what was told before."""
    links = np.flatnonzero(worlds.model.bodies["mass"] > 0.0)
    mask = np.ones(worlds.count, np.bool_) if mask is None else mask
    out = out or new_bodies(worlds.count, len(worlds.model.body_names), len(links))
    inputs = links, mask.view(np.uint8), out, worlds.timestep, True
    worlds.visit("what is seen of bodies", read_bodies, *inputs)()
    return out


def follow(ours, theirs) -> None:
    """Let Gymnasium's environment go through our states instead of simulating."""
    one = theirs.unwrapped

    def go(action, frames):
        worlds = ours.unwrapped.batch.worlds
        one.data.ctrl[:] = action
        one.set_state(worlds.q[0], worlds.v[0])
        # Its own contact is soft: it is to reckon with our forces
        one.data.qfrc_constraint[:] = worlds.stop_impulses[0] / worlds.timestep
        if one.model.nv > 9:  # those that observe forces
            one.data.cfrc_ext[1:] = bodies_of(worlds).forces[0]

    one.do_simulation = go


def same(told: dict, expected: dict) -> None:
    """The same entries of `info`."""
    assert told.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(told[key], value, rtol=1e-12, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_spaces_and_limits(name: str) -> None:
    """Spaces, control period and length of episodes are Gymnasium's."""
    ours, theirs = pair(name)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.unwrapped.dt == theirs.unwrapped.dt
    assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps


@pytest.mark.parametrize("name", NAMES)
def test_same_numbers_for_the_same_states(name: str) -> None:
    """Observations, rewards, ends and info along our episodes are what Gymnasium makes of them."""
    ours, theirs = pair(name)
    follow(ours, theirs)
    ours.action_space.seed(3)
    steps = 0
    for seed in range(4):
        seen, told = ours.reset(seed=seed)
        expected, expected_told = theirs.reset(seed=seed)
        np.testing.assert_allclose(seen, expected, rtol=0.0, atol=1e-14)
        same(told, expected_told)
        over = False
        while not over and steps < 300 * (seed + 1):
            action = 1.2 * ours.action_space.sample().astype(np.float64)  # beyond the motors'
            got, want = ours.step(action), theirs.step(action)
            np.testing.assert_allclose(got[0], want[0], rtol=1e-12, atol=1e-12)
            assert got[1] == pytest.approx(want[1], rel=1e-12, abs=1e-12)
            assert got[2:4] == want[2:4]
            same(got[4], want[4])
            over = got[2] or got[3]
            steps += 1
    assert steps > 10


@pytest.mark.parametrize("name", NAMES)
def test_options_are_gymnasiums(name: str) -> None:
    """Every option but those of cameras exists, with the same default."""
    import inspect

    ours, theirs = pair(name)
    known = inspect.signature(type(ours.unwrapped)).parameters
    for option in inspect.signature(type(theirs.unwrapped).__init__).parameters.values():
        if option.name in ("self", "kwargs", "default_camera_config"):
            continue
        assert known[option.name].default == option.default, option.name


def test_observed_position() -> None:
    """With x among what is observed there is one number more."""
    ours, theirs = pair("Hopper-v5", exclude_current_positions_from_observation=False)
    np.testing.assert_array_equal(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
    assert ours.observation_space.shape == (12,)


@pytest.mark.parametrize("name", NAMES)
def test_gymnasiums_own_check(name: str) -> None:
    """What Gymnasium asks of an environment."""
    check_env(gym.make(f"dynenvs/Mujoco{name}").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", ["Hopper-v5", "HalfCheetah-v5"])
def test_a_world_of_a_batch_is_the_single_environment(name: str) -> None:
    """Bit for bit, through ends and new episodes, with one thread or two."""
    env_id = f"dynenvs/Mujoco{name}"
    envs = [gym.make_vec(env_id, 33, vectorization_mode="vector_entry_point") for _ in range(2)]
    envs.append(gym.make_vec(env_id, 33, num_threads=2, max_episode_steps=40))
    one = gym.make(env_id)
    one.action_space.seed(0)
    seen = [env.reset(seed=7)[0] for env in envs]
    alone, _ = one.reset(seed=7 + 32)
    np.testing.assert_array_equal(seen[0][32], alone)
    over, cut_short = False, False
    for _ in range(60):
        action = one.action_space.sample()
        actions = np.tile(action, (33, 1))
        first, second, third = (env.step(actions) for env in envs)
        np.testing.assert_array_equal(first[0], second[0])
        cut_short |= third[3].any()
        if over:
            alone, info = one.reset()
            assert first[1][32] == 0.0
        else:
            alone, reward, ended, cut, info = one.step(action)
            assert (reward, ended) == (first[1][32], first[2][32])
            over = ended or cut
            np.testing.assert_array_equal(first[0][32], alone)
            for key, value in info.items():
                assert first[4][key][32] == value
                assert first[4][f"_{key}"][32]
            continue
        over = False
        np.testing.assert_array_equal(first[0][32], alone)
    assert cut_short


def test_same_step_and_no_autoreset() -> None:
    """The three modes of Gymnasium's vector environments."""
    options = {"max_episode_steps": 3, "num_threads": 1}
    at_once = gym.make_vec(
        "dynenvs/MujocoHalfCheetah-v5", 2, autoreset_mode=AutoresetMode.SAME_STEP, **options
    )
    never = gym.make_vec("dynenvs/MujocoHalfCheetah-v5", 2, autoreset_mode="Disabled", **options)
    at_once.reset(seed=1)
    never.reset(seed=1)
    for _ in range(3):
        seen, _, _, cut, info = at_once.step(np.zeros((2, 6), np.float32))
        last = never.step(np.zeros((2, 6), np.float32))[0]
    assert cut.all()
    np.testing.assert_array_equal(np.stack(list(info["final_obs"])), last)
    assert not np.array_equal(seen, last)
    assert set(info["final_info"]) >= {"x_position", "reward_forward"}
    with pytest.raises(gym.error.ResetNeeded, match="reset_mask"):
        never.step(np.zeros((2, 6), np.float32))
    never.reset(options={"reset_mask": np.array([True, True])})
    never.step(np.zeros((2, 6), np.float32))


def test_flight_converges_to_mujocos() -> None:
    """Without contact both solve one equation of motion: the error halves with the step."""
    ours, theirs = pair("Hopper-v5")
    ours.reset(seed=0)
    theirs.reset(seed=0)
    model, data = theirs.unwrapped.model, theirs.unwrapped.data
    task = ours.unwrapped.task
    q = task.home + np.array([0, 5, 0.3, -0.3, -0.4, 0.1])
    v, time = np.array([1, 2, 1, -1, 0.5, 2.0]), 0.2
    model.opt.timestep = 1e-4
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, [0.1, -0.2, 0.05]
    mujoco.mj_step(model, data, round(time / 1e-4))
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        worlds = dynenvs.Worlds(task.model, 1, timestep=h)
        worlds.reset(q, v)
        forces = dynenvs.actuator_forces(task.model, data.ctrl, worlds.q, worlds.v)
        worlds.step(forces, round(time / h))
        errors.append(np.abs(worlds.q[0] - data.qpos).max())
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


def test_options_that_the_fuzzer_found() -> None:
    """A number beyond all floats, and bodies that are not there."""
    for value in (10**400, -(10**400)):
        with pytest.raises(ValueError, match="ctrl_cost_weight must be a number"):
            gym.make("dynenvs/MujocoHopper-v5", ctrl_cost_weight=value)
    for body in (0, -1, 99, 1e6, 1.5, None, True):
        with pytest.raises(ValueError, match=r"main_body must be a whole number in \[1, 13\]"):
            gym.make("dynenvs/MujocoAnt-v5", main_body=body)
    with pytest.raises(ValueError, match="no_such"):
        gym.make("dynenvs/MujocoAnt-v5", main_body="no_such")


def test_bad_input() -> None:
    """One line that says what is wrong."""
    with pytest.raises(ValueError, match="reset_noise_scale must be a number"):
        gym.make("dynenvs/MujocoHopper-v5", reset_noise_scale=-1)
    with pytest.raises(TypeError, match="frameskip"):
        gym.make("dynenvs/MujocoHopper-v5", frameskip=2)
    with pytest.raises(dynenvs.ModelError, match=r"no_such\.xml"):
        gym.make("dynenvs/MujocoHopper-v5", xml_file="no_such.xml")
    env = gym.make("dynenvs/MujocoHopper-v5").unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        env.step(np.zeros(3))
    env.reset(seed=0)
    for action in (np.zeros(2), np.array([0, np.nan, 0]), np.array(["a"] * 3)):
        with pytest.raises(ValueError, match="action must be"):
            env.step(action)
    with pytest.raises(ValueError, match="unknown reset option 'x'; there are none"):
        env.reset(options={"x": 1})


def test_copies_and_pictures() -> None:
    """A pickled environment goes on alike; a picture shows something."""
    env = gym.make("dynenvs/MujocoHalfCheetah-v5", render_mode="rgb_array").unwrapped
    env.reset(seed=2)
    picture = env.render()
    assert picture.shape == (480, 480, 3)
    assert picture.std() > 10
    other = pickle.loads(pickle.dumps(env))
    for _ in range(5):
        action = env.action_space.sample()
        assert env.step(action)[1] == other.step(action)[1]


def test_quantities_of_bodies_are_mujocos() -> None:
    """Inertias and velocities about the whole robot's centre of mass."""
    theirs = gym.make("Humanoid-v5").unwrapped
    theirs.reset(seed=0)
    model, data = theirs.model, theirs.data
    rng = np.random.default_rng(4)
    robot = dynenvs.Worlds(gym.make("dynenvs/MujocoHumanoid-v5").unwrapped.task.model, 1)
    for _ in range(20):
        q = theirs.init_qpos + rng.uniform(-0.5, 0.5, model.nq)
        q[3:7] /= np.linalg.norm(q[3:7])
        v = rng.normal(size=model.nv)
        theirs.set_state(q, v)
        robot.reset(q, v)
        found = bodies_of(robot)
        np.testing.assert_allclose(found.inertias[0], data.cinert[1:], atol=1e-13)
        np.testing.assert_allclose(found.velocities[0], data.cvel[1:], atol=1e-13)
        np.testing.assert_allclose(found.centers[0], data.subtree_com[0], atol=1e-13)


def test_contact_forces_are_moved_as_mujoco_moves_wrenches() -> None:
    """From each body's centre of mass to the robot's, once it has fallen to the ground."""
    theirs = gym.make("Humanoid-v5").unwrapped
    theirs.reset(seed=0)
    model, data = theirs.model, theirs.data
    robots = dynenvs.Worlds(gym.make("dynenvs/MujocoHumanoid-v5").unwrapped.task.model, 4)
    q = np.tile(theirs.init_qpos, (4, 1))
    q[:, 7:] += np.random.default_rng(5).uniform(-0.3, 0.3, (4, model.nq - 7))
    robots.reset(q)
    assert not bodies_of(robots).forces.any()
    robots.step(steps=150)
    found = bodies_of(robots)
    links = np.flatnonzero(robots.model.bodies["mass"] > 0.0)
    given = robots.contact_wrenches[:, links] / robots.timestep
    for i in range(4):
        assert np.abs(given[i]).max() > 10.0
        theirs.set_state(robots.q[i], robots.v[i])
        data.xfrc_applied[1:, :3], data.xfrc_applied[1:, 3:] = given[i, :, 3:], given[i, :, :3]
        data.ncon = 0
        mujoco.mj_rnePostConstraint(model, data)
        np.testing.assert_allclose(found.forces[i], data.cfrc_ext[1:], rtol=1e-12, atol=1e-9)
        data.xfrc_applied[:] = 0.0


def test_bodies_are_read_in_the_worlds_of_the_mask() -> None:
    """Those alone; their arrays are then those of a first reading, bit for bit."""
    worlds = dynenvs.Worlds(gym.make("dynenvs/MujocoAnt-v5").unwrapped.task.model, 32, threads=2)
    q = np.tile(worlds.q[0], (32, 1))
    q[:, 2] = np.linspace(0.3, 0.7, 32)
    worlds.reset(q)
    seen = bodies_of(worlds)
    first = seen.centers.copy()
    worlds.step(np.ones((32, 8)), 20)
    bodies_of(worlds, np.arange(32) % 3 == 0, seen)
    for part, whole in zip(seen, bodies_of(worlds), strict=True):
        np.testing.assert_array_equal(part[::3], whole[::3])
    np.testing.assert_array_equal(seen.centers[1::3], first[1::3])
    assert np.all(seen.centers[::3] != first[::3])
