"""Planar robots whose trunk is free to pitch: another model of the same task, balance to keep.

`free_pitch=True` gives the root a third, unactuated coordinate.  What the experts do with it over
100 seeds, the slow test measures.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import make_batch
from gymnasium.utils.env_checker import check_env
from PIL import Image
from rollouts import PLANAR, action_list, bits, every_planar, make, state_bits, trace, walk

from dynenvs import cli
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.measure import Gait, main, measure_gait
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.experts.standing import StandingController, planar_state
from dynenvs.dynamics.crba import crba
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.view import push
from dynenvs.envs.planar.kernel import FALL_PITCH
from dynenvs.envs.planar.walker import PlanarWalker
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model
from dynenvs.memory.records import POSE
from dynenvs.model.model import Model

PITCH = 2  # coordinate
Array = np.ndarray


def free(name: str, **options: Any) -> PlanarWalker:
    """The environment with a trunk that pitches."""
    env = make(name, free_pitch=True, **options)
    assert isinstance(env, PlanarWalker)
    return env


@cache
def expert(name: str) -> Any:
    """Its expert."""
    return reference_controller(free(name))


def seen_pitch(env: DynEnv, observation: Array) -> Array:
    """Pitch and its rate in an observation, shape (2,)."""
    where = env.observation_slices
    return np.concatenate([observation[where["pitch"]], observation[where["pitch rate"]]])


def pitched(env: DynEnv, pitch: float, rate: float = 0.0) -> None:
    """Change the pitch of a started environment's trunk [rad] and its rate [rad/s]."""
    state = env.get_state()
    state["world"]["q"][0, PITCH], state["world"]["v"][0, PITCH] = pitch, rate
    env.set_state(state)


def center_of_mass(model: Model, q: Array) -> Array:
    """[m], shape (3,)."""
    poses = np.zeros(int(model.header.nb), POSE)
    update_poses(open_model(model.packed), q, poses)
    mass = model.bodies["mass"]
    centers = poses["p"] + np.einsum("nij,nj->ni", poses["R"], model.bodies["com"])
    return np.asarray(mass @ centers / mass.sum())


# The model


@every_planar
def test_a_third_root_coordinate_that_nothing_drives(name: str) -> None:
    """The same robot otherwise: mass, joints, limits, centre of mass of the legs."""
    model, fixed = free(name).model, make(name).model
    assert (model.nq, model.nv, model.nu) == (fixed.nq + 1, fixed.nv + 1, fixed.nu)
    assert model.joint_names[:3] == ("root_x", "root_z", "root_pitch")
    assert not np.isin([0, 1, PITCH], model.actuated).any()
    assert model.bodies["mass"].sum() == pytest.approx(fixed.bodies["mass"].sum(), rel=1e-15)
    assert np.array_equal(model.effort_limit[3:], fixed.effort_limit[2:])
    assert np.array_equal(model.lower[3:], fixed.lower[2:])


@every_planar
def test_level_and_locked_it_is_the_fixed_robot(name: str) -> None:
    """Without pitch the mass matrix is that of the robot which cannot pitch."""
    model, fixed = free(name).model, make(name).model
    q = 0.3 * np.random.default_rng(0).normal(size=fixed.nq)
    keep = [i for i in range(model.nv) if i != PITCH]
    whole = crba(model, np.insert(q, PITCH, 0.0))
    np.testing.assert_allclose(whole[np.ix_(keep, keep)], crba(fixed, q), atol=1e-12)
    assert whole[PITCH, PITCH] > 0.0


def test_trunk_inertias_are_those_of_the_sources() -> None:
    """About the hip: Winter's head, arms and trunk (0.798 of its length); the Go1's with motors."""
    man, beast = (free(f"dynenvs/Planar{kind}-v0").model for kind in ("Humanoid", "Quadruped"))
    torso = man.bodies[man.body_id("torso")]
    about_hip = torso["inertia"][1, 1] + torso["mass"] * torso["com"][2] ** 2
    length = 0.288 * 1.70
    assert about_hip == pytest.approx(0.678 * 70.0 * (0.798 * length) ** 2, rel=2e-3)
    trunk = beast.bodies[beast.body_id("trunk")]
    assert trunk["inertia"][1, 1] == pytest.approx(0.0630095 + 2.72 * 0.1881**2, rel=1e-12)


# The environment


@every_planar
def test_observation_tells_the_pitch_and_its_rate(name: str) -> None:
    """Before the contacts; all before them keep their places; the pitch is told within a turn."""
    env, fixed = free(name), make(name)
    assert env.observation_space.shape == (fixed.observation_space.shape[0] + 2,)
    for one, where in fixed.observation_slices.items():
        for bound in ("low", "high"):
            theirs, ours = (getattr(e.observation_space, bound) for e in (fixed, env))
            assert np.array_equal(ours[env.observation_slices[one]], theirs[where])
    at = [s.start for one, s in env.observation_slices.items() if one in fixed.observation_slices]
    assert at[:-1] == [where.start for where in fixed.observation_slices.values()][:-1]
    env = free(name, terminate_on_fall=False)
    seen, _ = env.reset(seed=3)
    row = env.worlds.states[0]
    assert np.array_equal(seen_pitch(env, seen), (row["q"][PITCH], row["v"][PITCH]))
    assert seen_pitch(env, seen)[0] != 0.0  # the noise at reset
    blocks = {name: seen[place] for name, place in env.observation_slices.items()}
    q, v = planar_state(blocks)
    assert np.array_equal(q[1:], row["q"][1:])
    assert np.array_equal(v, row["v"])
    for pitch in (0.5, 3.0, 4.0, -9.0):
        pitched(env, pitch)
        seen, *_ = env.step(np.zeros(env.model.nu, np.float32))
        assert seen in env.observation_space
        turned = row["q"][PITCH]
        assert abs(turned - pitch) < 0.1
        assert np.exp(1j * seen_pitch(env, seen)[0]) == pytest.approx(
            np.exp(1j * turned), abs=1e-12
        )


@every_planar
def test_contract(name: str) -> None:
    """Gymnasium's own check."""
    check_env(gym.make(name, free_pitch=True, disable_env_checker=True).unwrapped)


@every_planar
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_pitched_trunk_is_a_fall(name: str, sign: float) -> None:
    """Beyond the documented bound, unless falls are to be gone through."""
    for terminate in (True, False):
        env = free(name, terminate_on_fall=terminate)
        env.reset(seed=0)
        state = env.get_state()
        state["world"]["q"][0, 1] += 0.5  # in the air: nothing else touches
        env.set_state(state)
        pitched(env, sign * (FALL_PITCH - 0.05))
        assert not env.step(np.zeros(env.model.nu, np.float32))[2]
        pitched(env, sign * (FALL_PITCH + 0.05))
        _, _, terminated, _, info = env.step(np.zeros(env.model.nu, np.float32))
        assert terminated == terminate
        assert info.get("end", "") == ("fall" if terminate else "")


@every_planar
def test_nobody_holds_the_trunk(name: str) -> None:
    """In flight, whatever the joints do, the centre of mass falls freely."""
    env = free(name, terminate_on_fall=False, timestep=0.001, frame_skip=1)
    env.reset(seed=1)
    state = env.get_state()
    state["world"]["q"][0, 1] += 1.0
    env.set_state(state)
    row, model = env.worlds.states[0], env.model
    act = action_list(env, 200)
    places = []
    for i in range(200):
        places.append(center_of_mass(model, row["q"]))
        env.step(act(env, i))
    velocity = np.diff(places, axis=0) / env.dt
    np.testing.assert_allclose(velocity[1:, 2] - velocity[:-1, 2], -9.81 * env.dt, atol=1e-3)
    np.testing.assert_allclose(velocity[:, 0], velocity[0, 0], atol=1e-3)
    assert abs(row["q"][PITCH]) > 1e-3  # the legs' reaction has turned it


@every_planar
def test_batch_and_threads_give_the_single_ones_bits(name: str) -> None:
    """World by world, with a fall and a new start on the way."""
    count, steps = 33, 40
    actions = np.random.default_rng(0).uniform(-0.3, 0.3, (steps, count, free(name).model.nu))
    found = []
    for threads in (1, 2):
        batch = make_batch(name, count, free_pitch=True, num_threads=threads)
        seen, _ = batch.reset(seed=list(range(count)))
        found.append(seen)
        found += [batch.step(a.astype(np.float32))[0] for a in actions]
    assert bits(found[: steps + 1]) == bits(found[steps + 1 :])
    for world in (0, 32):
        env = free(name)
        seen, _ = env.reset(seed=world)
        assert bits(seen) == bits(found[0][world])
        for k in range(5):
            seen, *_ = env.step(actions[k, world].astype(np.float32))
            assert bits(seen) == bits(found[k + 1][world])


@every_planar
def test_a_saved_state_has_the_same_future(name: str) -> None:
    """Bit for bit, in another environment."""
    env, twin = free(name), free(name)
    env.reset(seed=4)
    for i in range(30):
        env.step(action_list(env, 30)(env, i))
    twin.set_state(env.get_state())
    act = action_list(env, 60, seed=1)
    assert trace(env, act, 60) == trace(twin, act, 60)
    assert state_bits(env) == state_bits(twin)


@every_planar
def test_picture_shows_the_pitch(name: str) -> None:
    """The trunk is drawn as it stands."""
    env = free(name, render_mode="rgb_array", width=320, height=180)
    env.reset(seed=0)
    level = env.render()
    pitched(env, 0.4)
    tilted = env.render()
    assert level is not None
    assert tilted is not None
    assert level.shape == tilted.shape == (180, 320, 3)
    assert (np.abs(level.astype(int) - tilted) > 30).any(axis=2).sum() > 200
    env.close()


@pytest.mark.parametrize("bad", ["yes", 2, None])
def test_bad_option(bad: Any) -> None:
    """Neither on nor off."""
    with pytest.raises(ValueError, match="free_pitch"):
        make(PLANAR[0], free_pitch=bad)


# Who acts in it


@every_planar
@pytest.mark.thorough
def test_expert_of_a_batch_gives_the_single_ones_bits(name: str) -> None:
    """On the observation alone, without what the last call has handed on."""
    env, policy = free(name), expert(name)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=0)
    seen = []
    for _ in range(80):
        seen.append(observation)
        action = policy.predict(observation)[0]
        observation, *_ = env.step(action + 0.1 * rng.normal(size=action.shape))
    batch = policy.predict(np.array(seen))[0]
    again = [policy.predict(one)[0] for one in seen[::-1]][::-1]
    assert batch.tobytes() == np.array(again).tobytes()
    assert batch.dtype == np.float32


def _bars(name: str, gait: Gait) -> list[str]:
    """Which bars a whole episode misses."""
    met = {
        "alive": gait.steps == 1000 and gait.end == "time limit",
        "speed within 3 %": gait.speed_error < 0.03,
        "slip < 5 mm": gait.slip < 5e-3,
        "clearance > 2.5 cm": gait.clearance > 0.025,
        "single support": gait.single_support > 0.5,
        "penetration < 1e-6 m": gait.penetration < 1e-6,
        "no degraded, no failed solve": gait.degraded == gait.failed == 0,
    }
    return [bar for bar, good in met.items() if not good]


@pytest.mark.thorough
@every_planar
@pytest.mark.parametrize("at", [0.0, 0.5, 1.0])
def test_walks_upright_over_the_range(name: str, at: float) -> None:
    """1,000 steps at the slowest, a middle and the fastest command."""
    env = free(name)
    low, high = env.task.command_range
    assert _bars(name, walk(env, expert(name), seed=6, command=low + at * (high - low))) == []
    assert abs(env.worlds.states["q"][0, PITCH]) < 0.05


@pytest.mark.slow
@every_planar
def test_100_seeds_stay_up(name: str) -> None:
    """95 of 100 alive for 1,000 steps, and all that walk do it well."""
    env = free(name)
    batch = make_batch(name, 100, free_pitch=True, num_threads=1)
    gaits = [measure_gait(env, e) for e in run_episodes(batch, reference_controller(batch), seed=0)]
    alive = [gait for gait in gaits if gait.end == "time limit"]
    assert len(alive) >= 95
    assert [
        (seed, missed)
        for seed, gait in enumerate(gaits)
        if gait in alive and (missed := _bars(name, gait))
    ] == []
    assert sum(gait.degraded + gait.failed for gait in gaits) == 0
    assert max(gait.torque_change_pooled for gait in alive) < 0.15  # of the limits, all joints
    assert max(abs(gait.speed - gait.command) for gait in alive) < 0.05


def _recovers(name: str, policy: Any, rate: float) -> bool:
    """Whether it still walks 3 s after its trunk was given a pitch rate [rad/s], and level."""
    env = free(name)
    observation, _ = env.reset(seed=2, options={"command": 0.6})
    for k in range(500):
        if k == 200:
            pitched(env, float(seen_pitch(env, observation)[0]), rate)
            observation = env.worlds.observations[0].copy()
        observation, _, terminated, _, _ = env.step(policy.predict(observation)[0])
        if terminated:
            return False
    return bool(abs(seen_pitch(env, observation)[0]) < 0.05)


@every_planar
@pytest.mark.parametrize("rate", [-1.0, 1.0])
def test_balance_is_kept_against_a_blow(name: str, rate: float) -> None:
    """1 rad/s out of the blue."""
    assert _recovers(name, expert(name), rate)


def _push(env: PlanarWalker, impulse: float) -> Array:
    """Strike the trunk [N s], level; returns what is seen then, but for that as it was."""
    seen = env.worlds.observations[0].copy()
    push(env, abs(impulse), heading=0.0 if impulse > 0.0 else np.pi)
    v, nu = env.worlds.states[0]["v"], env.model.nu
    seen[1 + nu : 3 + nu], seen[3 + nu : 3 + 2 * nu] = v[:2], v[3:]
    seen[env.observation_slices["pitch rate"]] = v[PITCH]
    return seen


@every_planar
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_steps_follow_a_push(name: str, sign: float) -> None:
    """10 N s on the humanoid's chest, 8 N s on the quadruped's trunk (0.6 m/s) every 3 s."""
    env = free(name)
    observation, _ = env.reset(seed=3, options={"command": 0.6})
    for k in range(700):
        if k in (200, 500):
            observation = _push(env, sign * (10.0 if "Humanoid" in name else 8.0))
        observation, _, terminated, _, info = env.step(expert(name).predict(observation)[0])
        assert not terminated, (k, info["end"])
    assert abs(seen_pitch(env, observation)[0]) < 0.05


def test_a_biped_that_would_fall_steps_quicker() -> None:
    """Its clock gets ahead of the environment's after a push, and has waited for it 4 s later."""
    env = free(PLANAR[0])
    observation, _ = env.reset(seed=3, options={"command": 0.6})
    policy, state, leads = expert(PLANAR[0]), None, []
    for k in range(600):
        if k == 200:
            observation = _push(env, 25.0)
        action, state = policy.predict(observation, state)
        leads.append(state[-2 - len(env.task.legs)])  # cycles
        observation, _, terminated, _, _ = env.step(action)
        assert not terminated, k
    assert np.abs(leads[150:200]).max() < 1e-3
    assert max(leads[200:300]) > 0.02
    assert abs(leads[-1]) < 0.005


@every_planar
def test_without_balance_it_falls(name: str) -> None:
    """The torques of an undisturbed walk, replayed after a blow, do not hold the robot."""
    env, twin = free(name), free(name)
    observation, _ = env.reset(seed=2, options={"command": 0.6})
    twin.reset(seed=2, options={"command": 0.6})
    pitched(twin, 0.05, 0.5)
    fell = False
    for _ in range(500):
        action = expert(name).predict(observation)[0]
        observation, *_ = env.step(action)
        fell = fell or twin.step(action)[2]
    assert fell


@every_planar
def test_standing_agent_stays_up(name: str) -> None:
    """With stiff joints a standing robot is a table, or a man on his soles."""
    env = free(name)
    policy = StandingController(env)
    observation, _ = env.reset(seed=0)
    for _ in range(300):
        observation, _, terminated, _, info = env.step(policy.predict(observation)[0])
        assert not terminated, info
    assert abs(seen_pitch(env, observation)[0]) < 0.1


# The commands


def test_measure_takes_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    """And says where there is none such."""
    main(["planar-quadruped", "--free-pitch", "--seeds", "1"])
    assert "1 of 1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["quadruped", "--free-pitch", "--seeds", "1"])
    assert "free_pitch" in capsys.readouterr().err


@pytest.mark.thorough
def test_demo_takes_the_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A film of the humanoid."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    file = tmp_path / "walk.gif"
    arguments = ["demo", "planar-humanoid", "--free-pitch", "--steps", "24", "--output", str(file)]
    monkeypatch.setattr(sys, "argv", ["dynenvs", *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert not exit_.value.code
    with Image.open(file) as picture:
        assert getattr(picture, "n_frames", 1) > 1
