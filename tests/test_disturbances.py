"""Disturbances: what each option does, against statistics and Worlds stepped here in Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import assert_same, make_batch, random_actions, worlds_bits
from rollouts import IDS, PLANAR, bits, every_env, gentle, make, trace

from dynenvs import World
from dynenvs.agents.evaluation.options import parse_options
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.base import DynEnv
from dynenvs.model.builder import ModelBuilder

PENDULUM, QUADRUPED, FREE = (
    f"dynenvs/{name}-v0" for name in ("DoublePendulum", "PlanarQuadruped", "Quadruped")
)
MOTORS: dict[str, Any] = {
    "observation_noise": 1.0,
    "action_noise": 0.1,
    "action_delay": (0, 3),
    "motor_strength_range": (0.7, 0.9),
}
BODIES: dict[str, Any] = {
    "mass_range": (0.8, 1.2),
    "friction_range": (0.4, 1.2),
    "payload_range": (-0.5, 2.0),
    "com_offset": 0.03,
}


def everything(name: str) -> dict[str, Any]:
    """All that an environment can be disturbed by."""
    return MOTORS if "Pendulum" in name else MOTORS | BODIES


def world_of(env: DynEnv, com_shift: Any = (0.0, 0.0, 0.0)) -> World:
    """A World like the environment's, its trunk's centre of mass shifted as a model's would be."""
    parts, trunk = env.model.description, env.model.body_names[trunk_of(env)]
    bodies = tuple(
        replace(body, com=np.add(body.com, com_shift)) if body.name == trunk else body
        for body in parts.bodies
    )
    world = World(
        ModelBuilder.of(replace(parts, bodies=bodies)).build(), timestep=env.task.timestep
    )
    world.q[:], world.v[:] = env.worlds.states["q"][0], env.worlds.states["v"][0]
    world.mass_scale[:] = env.worlds.states["mass_scale"][0]
    world.friction[:] = env.worlds.states["coefficients"]["friction"][0]
    return world


def trunk_of(env: DynEnv) -> int:
    """Number of the body that carries what is put on."""
    return max(range(env.model.header.nb), key=lambda body: env.model.bodies["mass"][body])


# Off, and the same bits everywhere


@every_env
def test_off_a_world_remembers_and_says_nothing_of_it(name: str) -> None:
    env = make(name, action_delay=0, motor_strength_range=[1, 1], observation_noise=0)
    assert env.worlds.task_states.dtype == env.task.own_record
    assert "privileged" not in env.reset(seed=0)[1]


@pytest.mark.parametrize("control", ["torque", "position"])
@every_env
@pytest.mark.thorough
def test_a_world_is_the_same_alone_and_in_batches(name: str, control: str) -> None:
    """Whatever its number, the batch, the threads, and what follows the end of an episode."""
    options = everything(name) | {"control": control, "max_episode_steps": 15}
    envs = make_batch(name, 40, num_threads=2, **options)
    lone = make_batch(name, 40, num_threads=1, **options)
    assert_same(envs.reset(seed=5), lone.reset(seed=5))
    singles = {i: make(name, **options) for i in (0, 7, 39)}
    for i, single in singles.items():
        single.reset(seed=5 + i)
    running = set(singles)
    for action in random_actions(envs, 40):
        result = envs.step(action)
        assert worlds_bits(lone.step(action), 40) == worlds_bits(result, 40)
        for i in sorted(running):
            observation, reward, ended, cut, told = singles[i].step(action[i])
            assert observation.tobytes() == result[0][i].tobytes()
            assert [reward, ended, cut] == [part[i] for part in result[1:4]]
            for key, value in told.items():
                np.testing.assert_array_equal(result[4][key][i], value)
            running -= {i} if ended or cut else set()
    assert not running


@pytest.mark.parametrize("control", ["torque", "position"])
@every_env
def test_state_holds_late_actions_noise_and_what_was_drawn(name: str, control: str) -> None:
    """Restored in another environment, the present and the future are the same."""
    env = make(name, control=control, **everything(name))
    env.reset(seed=4)
    act = gentle()
    for k in range(10):
        observation = env.step(act(env, k))[0]
    state = env.get_state()
    actions = [gentle(1)(env, k) for k in range(30)]
    future = trace(env, lambda _, k: actions[k], 30)
    again = make(name, control=control, **everything(name))
    again.set_state(state)
    np.testing.assert_array_equal(again.worlds.observations[0], observation)
    assert trace(again, lambda _, k: actions[k], 30) == future


def test_noise_leaves_the_physics_alone() -> None:
    """Clean observations, rewards and info are those without noise, over several episodes."""
    off, on = make(QUADRUPED), make(QUADRUPED, observation_noise=2.0)
    act = gentle()
    for seed in (3, None):
        plain, (seen, info) = off.reset(seed=seed)[0], on.reset(seed=seed)
        for k in range(20):
            np.testing.assert_array_equal(info["privileged"], plain)
            assert not np.array_equal(seen, plain)
            action = act(off, k)
            plain, reward, _, _, told = off.step(action)
            seen, noisy_reward, _, _, info = on.step(action)
            assert reward == noisy_reward
            assert {key: bits(info[key]) for key in told} == {key: bits(told[key]) for key in told}


# Noise


@pytest.mark.parametrize("name", [PENDULUM, QUADRUPED, FREE])
def test_noise_has_the_declared_standard_deviations(name: str) -> None:
    """Of each block to 3 %, about zero, as the normal distribution's; none on the others."""
    envs = make_batch(name, 500, observation_noise=0.5)
    space = envs.single_observation_space
    seen, clean = [], []
    for k in range(20):
        observations, infos = envs.reset(seed=1000 * k)
        assert (observations >= space.low).all()
        assert (observations <= space.high).all()
        seen.append(observations)
        clean.append(infos["privileged"])
    true, noise = np.concatenate(clean), np.concatenate(seen) - np.concatenate(clean)
    for block in envs.observation_blocks:
        here = envs.observation_slices[block.name]
        if not block.noise.any():
            assert not noise[:, here].any()
            continue
        scale = 0.5 * block.noise
        inside = (true[:, here] - 6 * scale > block.low) & (true[:, here] + 6 * scale < block.high)
        values = (noise[:, here] / scale)[inside]
        assert len(values) > 5000, block.name
        assert np.std(values) == pytest.approx(1.0, abs=0.03), block.name
        assert np.mean(values) == pytest.approx(0.0, abs=4 / np.sqrt(len(values)))
        assert np.mean(np.abs(values) > 2.0) == pytest.approx(0.0455, abs=0.009)
    across = np.corrcoef(noise[:, envs.observation_slices["joint velocities"]].T)
    assert np.abs(across - np.eye(len(across))).max() < 0.05  # entries are independent


def test_noise_is_drawn_anew_in_each_step_and_episode() -> None:
    env = make(QUADRUPED, observation_noise=1.0)
    noises = []
    for _ in range(3):
        observation, info = env.reset(seed=0) if not noises else env.reset()
        for _ in range(3):
            noises.append((observation - info["privileged"])[env.observation_slices["velocity"]])
            observation, *_, info = env.step(np.zeros(12, np.float32))
    assert len({bits(noise) for noise in noises}) == 9


def test_last_observations_have_noise_and_the_clean_one_beside_them() -> None:
    """In mode "SameStep": those of the episode that has ended."""
    options = {"max_episode_steps": 3, "observation_noise": 1.0}
    same = make_batch(QUADRUPED, 2, autoreset_mode="SameStep", **options)
    later = make_batch(QUADRUPED, 2, **options)
    for envs in (same, later):
        envs.reset(seed=0)
    for action in random_actions(same, 3):
        _, _, _, over, info = same.step(action)
        last, _, _, _, told = later.step(action)
    assert over.all()
    for i in range(2):
        np.testing.assert_array_equal(info["final_obs"][i], last[i])
    np.testing.assert_array_equal(info["final_info"]["privileged"], told["privileged"])
    assert not np.array_equal(info["privileged"], told["privileged"])


def test_torque_noise_is_a_share_of_the_limits() -> None:
    """Standard deviation to 3 % in the middle of the range; never beyond the limits."""
    envs = make_batch(PENDULUM, 1000, action_noise=0.2)
    limits = envs.task.model.effort_limit[envs.task.model.actuated]
    for action, mean in ((0.0, 0.0), (1.0, -0.2 / np.sqrt(2 * np.pi))):
        envs.reset(seed=0)
        shares = np.concatenate(
            [envs.step(np.full((1000, 2), action))[4]["torques"] / limits for _ in range(10)]
        )
        assert np.abs(shares).max() <= 1.0
        assert np.mean(shares - action) == pytest.approx(mean, abs=0.006)
        if action == 0.0:
            assert np.std(shares) == pytest.approx(0.2, rel=0.03)


# What acts


@pytest.mark.parametrize("control", ["torque", "position"])
@pytest.mark.parametrize("delay", [1, 3, 8])
def test_late_actions_are_those_of_before(delay: int, control: str) -> None:
    """The same bits as without a delay, for who sends zeros first and then the same actions."""
    late = make(PENDULUM, action_delay=delay, control=control)
    prompt = make(PENDULUM, control=control)
    actions = np.random.default_rng(0).uniform(-1.5, 1.5, (30, 2)).astype(np.float32)
    sent = np.concatenate([np.zeros((delay, 2), np.float32), actions])
    for seed in (0, None):  # nothing of an episode's last actions reaches the next one
        assert bits(late.reset(seed=seed)) == bits(prompt.reset(seed=seed))
        for k in range(30):
            assert bits(late.step(actions[k])) == bits(prompt.step(sent[k]))


def test_delays_are_drawn_from_the_whole_range() -> None:
    """Each of 0 to 3 in about a fourth of the episodes (400 of them: five standard deviations)."""
    envs = make_batch(PENDULUM, 400, action_delay=(0, 3))
    envs.reset(seed=0)
    counts = np.bincount(envs.worlds.task_states["delay"])
    assert len(counts) == 4
    assert np.abs(counts - 100).max() < 5 * np.sqrt(400 * 3 / 16)


def test_strengths_scale_each_motor_and_its_limit() -> None:
    """`info` tells what acted; a World under these torques goes the same way."""
    env = make(PENDULUM, motor_strength_range=(0.7, 0.9))
    env.reset(seed=0)
    world = world_of(env)
    strength = env.worlds.task_states["motor_strength"][0].copy()
    assert ((strength >= 0.7) & (strength <= 0.9)).all()
    assert strength[0] != strength[1]
    limits = env.model.effort_limit[env.model.actuated]
    for action in np.random.default_rng(0).uniform(-2, 2, (20, 2)).astype(np.float32):
        info = env.step(action)[4]
        torques = strength * np.clip(action.astype(float), -1, 1) * limits
        np.testing.assert_allclose(info["torques"], torques, rtol=1e-15)
        world.step(torques, env.task.frame_skip)
        np.testing.assert_allclose(env.worlds.states["q"][0], world.q, atol=1e-12)
    env.reset()
    assert not np.array_equal(env.worlds.task_states["motor_strength"][0], strength)
    spread = make_batch(PENDULUM, 500, motor_strength_range=(0.7, 0.9))
    spread.reset(seed=0)
    drawn = spread.worlds.task_states["motor_strength"]
    assert drawn.mean() == pytest.approx(0.8, abs=0.01)
    assert drawn.std() == pytest.approx(0.2 / np.sqrt(12), rel=0.05)


# Bodies


@pytest.mark.parametrize("name", [QUADRUPED, FREE, "dynenvs/Humanoid-v0"])
def test_payload_and_centre_of_mass_act_as_in_a_changed_model(name: str) -> None:
    """Against a World of a model whose trunk is so; the robot falls and lands meanwhile."""
    pitch = {"free_pitch": True} if name == QUADRUPED else {}  # else a shift does nothing
    options = {"payload_range": (1.0, 2.0), "com_offset": 0.05, "terminate_on_fall": False}
    env = make(name, **options, **pitch)
    env.reset(seed=2)
    task, trunk = env.worlds.task_states[0], trunk_of(env)
    shift = task["com_shift"].copy()
    world, usual = world_of(env, shift), world_of(env)
    payload = (world.mass_scale[trunk] - 1.0) * env.model.bodies["mass"][trunk]
    assert 1.0 <= payload <= 2.0
    assert (np.abs(shift[[0, 2]]) > 1e-3).all()
    assert np.abs(shift).max() <= 0.05
    assert (world.mass_scale[[b for b in range(1, env.model.header.nb) if b != trunk]] == 1.0).all()
    for k in range(15):
        action = 0.3 * gentle(k)(env, k)
        torques = env.step(action)[4]["torques"]
        for one in (world, usual):
            one.step(torques, env.task.frame_skip)
        np.testing.assert_allclose(env.worlds.states["v"][0], world.v, atol=1e-7)
    assert np.abs(world.v - usual.v).max() > 1e-3


def test_planar_walkers_draw_masses_and_friction() -> None:
    """Each mass its own factor, one for all friction; the axis y is left alone."""
    for name in PLANAR:
        ranges = {"mass_range": (0.8, 1.2), "friction_range": (0.4, 1.2)}
        envs = make_batch(name, 300, com_offset=0.02, **ranges)
        envs.reset(seed=0)
        masses = envs.worlds.states["mass_scale"][:, 1:]
        usual = envs.task.model.features["friction"]
        friction = envs.worlds.states["coefficients"]["friction"] / usual
        np.testing.assert_allclose(friction, friction[:, :1] + np.zeros_like(friction))
        for drawn, low, high in ((masses, 0.8, 1.2), (friction[:, 0], 0.4, 1.2)):
            assert (low <= drawn).all()
            assert (drawn <= high).all()
            assert drawn.std() == pytest.approx((high - low) / np.sqrt(12), rel=0.1)
        assert np.abs(np.corrcoef(masses.T) - np.eye(masses.shape[1])).max() < 0.3
        shift = envs.worlds.task_states["com_shift"]
        assert not shift[:, 1].any()
        assert shift[:, 0].std() == pytest.approx(0.04 / np.sqrt(12), rel=0.1)


# PD motors


@pytest.mark.parametrize("name", [PENDULUM, QUADRUPED])
def test_pd_motors_act_as_a_loop_over_a_world_says(name: str) -> None:
    """Torques at each physics step from its own start, clipped; `info` has their mean."""
    env = make(name, control="position", action_delay=1, motor_strength_range=(0.7, 0.9))
    env.reset(seed=1)
    world, model, motors = world_of(env), env.model, env.task.motors
    assert motors is not None
    limits = model.effort_limit[model.actuated]
    np.testing.assert_allclose(motors.stiffness, 2.0 * limits)
    np.testing.assert_allclose(motors.damping, 0.05 * limits)
    first, pose = model.nq - model.nu, env.task.neutral()
    strength = env.worlds.task_states["motor_strength"][0]
    actions = np.random.default_rng(0).uniform(-1, 1, (20, model.nu)).astype(np.float32)
    saturated = 0
    for k, action in enumerate(actions):
        info = env.step(action)[4]
        target = pose + motors.reach * (actions[k - 1] if k else 0.0 * action).astype(float)
        shares = []
        for _ in range(env.task.frame_skip):
            torque = (
                motors.stiffness * (target - world.q[first:]) - motors.damping * world.v[first:]
            )
            shares.append(np.clip(torque / limits, -1.0, 1.0))
            world.step(strength * limits * shares[-1])
        saturated += int((np.abs(shares) == 1.0).sum())
        np.testing.assert_allclose(
            info["torques"], strength * limits * np.mean(shares, axis=0), atol=1e-6
        )
        np.testing.assert_allclose(env.worlds.states["q"][0], world.q, atol=1e-8)
    assert saturated > 0


@pytest.mark.parametrize("name", [*PLANAR, FREE])
def test_the_standing_pose_holds_under_pd_motors(name: str) -> None:
    """Two seconds with the action 0: on four legs, or with a trunk that cannot pitch."""
    still = {"command": (0.0, 0.0, 0.0)} if name == FREE else {}
    env = make(name, control="position", **still)
    env.reset(seed=0)
    for _ in range(200):
        ended, info = env.step(np.zeros(env.model.nu, np.float32))[2::2]
        assert not ended
    assert np.abs(env.worlds.states["v"]).max() < 0.3
    assert np.abs(info["torques"] / env.model.effort_limit[env.model.actuated]).max() < 0.5


def test_gains_and_noise_of_pd_motors() -> None:
    """Given gains, one for all or one a motor; without any, the noise alone acts."""
    env = make(PENDULUM, control="position", stiffness=[1.0, 2.0], damping=0.5, action_scale=0.1)
    motors = env.task.motors
    assert motors is not None
    assert motors.stiffness.tolist() == [1.0, 2.0]
    assert motors.damping.tolist() == [0.5, 0.5]
    assert motors.reach.tolist() == [0.1, 0.1]
    options = {"stiffness": 0.0, "damping": 0.0, "action_noise": 0.2}
    limp = make_batch(PENDULUM, 1000, control="position", **options)
    limp.reset(seed=0)
    torques = limp.step(np.ones((1000, 2)))[4]["torques"]
    assert (torques / limp.task.model.effort_limit).std() == pytest.approx(0.2, rel=0.06)
    with pytest.raises(ValueError, match="experts give torques"):
        reference_controller(limp)


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"observation_noise": -1.0}, r"observation_noise must be a number in \[0.0, 100.0\]"),
        ({"action_noise": 2.0}, r"action_noise must be a number in \[0.0, 1.0\]"),
        ({"action_delay": 9}, r"action_delay must be a whole number in \[0, 8\], got 9"),
        ({"action_delay": 0.5}, "action_delay must be a whole number"),
        ({"action_delay": (0, 9)}, r"action_delay\[1\] must be"),
        ({"action_delay": (0, 1.5)}, r"action_delay\[1\] must be a whole number"),
        ({"action_delay": (3, 1)}, "action_delay must start with its lower end"),
        ({"motor_strength_range": 1.0}, "motor_strength_range must be a pair of numbers"),
        ({"motor_strength_range": (0.5, 11)}, r"motor_strength_range\[1\] must be"),
        ({"control": "pd"}, "unknown control 'pd'; choose from: torque, position"),
        ({"stiffness": 3.0}, 'stiffness is for control="position" only'),
        ({"control": "position", "damping": -1.0}, "damping must be a number in"),
        ({"control": "position", "action_scale": [1.0]}, r"action_scale must have shape \(12,\)"),
        ({"control": "position", "stiffness": [-1.0] * 12}, r"stiffness\[0\] must be"),
        (
            {"payload_range": (-50.0, 0.0)},
            r"payload_range may take at most [\d.]+ kg from the trunk",
        ),
        ({"payload_range": 1.0}, "payload_range must be a pair of numbers"),
        ({"com_offset": -0.1}, "com_offset must be a number in"),
        ({"com_offset": (0.1, 0.1, 0.1)}, r"com_offset\[1\] is along y"),
        ({"com_offset": (0.1, 0.1)}, r"com_offset must have shape \(3,\)"),
        ({"mass_range": (0.0, 1.0)}, r"mass_range\[0\] must be"),
    ],
)
def test_wrong_values_are_refused_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        make(QUADRUPED, **options)
    assert "\n" not in str(error.value)


def test_who_takes_the_options() -> None:
    """Pendulums have no trunk; options come as words, and with every way to make environments."""
    with pytest.raises(TypeError, match="payload_range"):
        make(PENDULUM, payload_range=(0.0, 1.0))
    texts = ["observation-noise=0.5", "action_delay=0,2", "payload_range=-1,1", "control=position"]
    options = parse_options(FREE, texts)
    assert options["action_delay"] == (0, 2)
    env: Any = gym.make(FREE, **options).unwrapped
    assert env.task.action_delay == (0, 2)
    assert env.task.payload_range == (-1, 1)
    assert IDS  # all of them have the first four, see the docstrings' tests


def test_stable_baselines_sees_the_clean_observation() -> None:
    """Each world's info has it, and at the end of an episode beside the last observation."""
    sb3 = pytest.importorskip("stable_baselines3")
    from dynenvs.agents.sb3 import make_sb3_vec_env

    assert sb3
    envs = make_sb3_vec_env(PENDULUM, 2, observation_noise=1.0, max_episode_steps=2)
    envs.seed(0)
    observations: Any = envs.reset()
    for _ in range(2):
        observations, _, ended, infos = envs.step(np.zeros((2, 2), np.float32))
    assert ended.all()
    for observation, info in zip(observations, infos, strict=True):
        off = np.abs(observation - info["privileged"])
        assert 0.0 < off.max() < 6.0
        assert not np.array_equal(info["terminal_observation"], info["privileged"])
