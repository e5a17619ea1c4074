"""What Gymnasium, stable-baselines3 and users may expect of every registered environment."""

from __future__ import annotations

import copy
import importlib.util
import json
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from rollouts import (
    IDS,
    WALKERS,
    Policy,
    action_list,
    bits,
    hold,
    idle,
    make,
    own_length,
    state_bits,
    trace,
    uniform,
)

from dynenvs.dynamics.energy import totals
from dynenvs.envs.base import END_WORDS, DynEnv

HAS_VIEW = importlib.util.find_spec("dynenvs.envs.view") is not None
needs_view = pytest.mark.skipif(not HAS_VIEW, reason="dynenvs.envs.view is missing")

every_env = pytest.mark.parametrize("name", IDS)
every_walker = pytest.mark.parametrize("name", WALKERS)


@pytest.fixture(autouse=True)
def _headless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


# Checkers and registration


def test_environments_are_registered() -> None:
    """The three robots of the first release are there."""
    expected = {"DoublePendulum", "PlanarHumanoid", "PlanarQuadruped"}
    assert {f"dynenvs/{name}-v0" for name in expected} <= set(IDS)


@every_env
def test_gymnasium_check_env(name: str) -> None:
    """No warning, let alone an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(name), skip_render_check=True)


@needs_view
@every_env
def test_gymnasium_check_env_with_every_render_mode(name: str) -> None:
    """The same with all render modes built."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(name))


@every_env
def test_sb3_check_env(name: str) -> None:
    """stable-baselines3 has nothing to warn about either."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(make(name), warn=True, skip_render_check=not HAS_VIEW)


@every_env
def test_wrapped_env_warns_of_nothing(name: str) -> None:
    """`gym.make` with its passive checker, over an episode's start."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make(name)
        env.reset(seed=1)
        for _ in range(5):
            env.step(env.action_space.sample())
        env.close()


@every_env
def test_make_with_module_prefix(name: str) -> None:
    """`gym.make("dynenvs:dynenvs/...")` imports the package by itself."""
    env = gym.make(f"dynenvs:{name}")
    env.reset(seed=0)
    env.close()


@every_env
def test_spec_is_json(name: str) -> None:
    """A spec survives JSON, with its options, and makes the same environment."""
    spec = gym.make(name, reset_noise=0.02).spec
    assert spec is not None
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert json.loads(spec.to_json())["kwargs"]["reset_noise"] == 0.02
    assert bits(again.reset(seed=3)) == bits(gym.make(name, reset_noise=0.02).reset(seed=3))


@every_env
def test_docstring_has_gymnasium_sections(name: str) -> None:
    """The headings, and every constructor argument by name."""
    cls = type(make(name))
    text = cls.__doc__ or ""
    headings = (
        "Description",
        "Action Space",
        "Observation Space",
        "Rewards",
        "Starting State",
        "Episode End",
        "Arguments",
        "Version History",
    )
    positions = [text.find(f"## {heading}\n") for heading in headings]
    assert min(positions) >= 0, headings[int(np.argmin(positions))]
    assert positions == sorted(positions)
    arguments = text[positions[6] :]
    options = list(cls.__init__.__kwdefaults__ or {})
    assert options
    assert [o for o in options if f"`{o}`" not in arguments] == []


@every_env
def test_docstring_tables_tell_the_truth(name: str) -> None:
    """Shapes as documented; each entry's documented bounds are the space's (to 1 %)."""
    env = make(name)
    text = type(env).__doc__ or ""
    actions, observations = env.action_space.shape, env.observation_space.shape
    assert f"`Box(-1, 1, {actions}, float32)`" in text
    assert f"`Box({observations}, float64)`" in text
    table = text[text.index("## Observation Space") : text.index("## Rewards")]
    row = re.compile(r"^ *\| *(\d+)(?:-(\d+))? *\|[^|]*\|([^|]*)\|([^|]*)\|", re.MULTILINE)
    covered: list[int] = []
    for first, last, low, high in row.findall(table):
        entries = list(range(int(first), int(last or first) + 1))
        covered += entries
        space = env.observation_space
        for written, bound in ((low, space.low), (high, space.high)):
            try:
                documented = float(written)
            except ValueError:  # "as left"
                continue
            np.testing.assert_allclose(bound[entries], documented, rtol=1e-2, atol=6e-3)
    assert sorted(covered) == list(range(env.observation_space.shape[0]))


# Spaces


@every_env
def test_spaces(name: str) -> None:
    """Actions Box(-1, 1) float32, observations a Box with finite bounds and room between them."""
    env = make(name)
    space = env.action_space
    assert isinstance(space, gym.spaces.Box)
    assert space.dtype == np.float32
    assert np.all(space.low == -1)
    assert np.all(space.high == 1)
    seen = env.observation_space
    assert isinstance(seen, gym.spaces.Box)
    assert np.isfinite(seen.low).all()
    assert np.isfinite(seen.high).all()
    assert np.all(seen.low < seen.high)
    assert env.metadata["render_fps"] == pytest.approx(1 / env.dt, abs=0.5)
    assert {"human", "rgb_array"} <= set(env.metadata["render_modes"])


def _watch(env: DynEnv, policy: Policy, steps: int) -> np.ndarray:
    """Step, asserting what holds at every step; returns the observations."""
    seen = []
    keys: set[str] | None = None
    observation, info = env.reset(seed=11)
    assert observation in env.observation_space
    for i in range(steps):
        observation, reward, terminated, truncated, info = env.step(policy(env, i))
        assert observation in env.observation_space, env.observation_space
        assert observation.dtype == env.observation_space.dtype
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        ended = terminated or truncated
        assert ("end" in info) == ended
        terms = {k: v for k, v in info.items() if k.startswith("reward_")}
        assert terms
        assert all(type(v) is float and 0.0 <= v <= 1.0 for v in terms.values())
        assert reward == pytest.approx(sum(terms.values()), abs=1e-15)
        assert 0.0 <= reward <= 1.0 + 1e-12
        assert info["torques"].shape == (env.model.nu,)
        assert type(info["degraded"]) is int
        assert type(info["failed"]) is int
        assert 0.0 <= info["residual"] <= 1e-9 or info["degraded"] > 0
        for value in info.values():
            assert isinstance(value, str) or np.isfinite(value).all()
        keys = keys or set(info) - {"end"}
        assert set(info) - {"end"} == keys
        seen.append(observation)
        if ended:
            assert info["end"] in END_WORDS[1:]
            assert info["failed"] == 0
            observation, info = env.reset()
            assert observation in env.observation_space
            assert set(info) == keys
    return np.array(seen)


@every_env
def test_random_actions_keep_every_promise(name: str) -> None:
    """Bounds, types and reward terms, at every one of 3,000 steps; no entry is constant."""
    seen = _watch(make(name), uniform(1), 3000)
    constant = np.flatnonzero(np.ptp(seen, axis=0) == 0)
    assert constant.tolist() == []


@every_walker
def test_lying_on_the_ground_keeps_every_promise(name: str) -> None:
    """The same with termination on falls off, at 2,000 steps."""
    _watch(make(name, terminate_on_fall=False), uniform(2), 2000)


@every_env
def test_torques_are_newton_metres(name: str) -> None:
    """info["torques"] is the action times the effort limit, clipped."""
    env = make(name)
    env.reset(seed=0)
    effort = env.model.effort_limit[env.model.actuated]
    action = np.linspace(-0.9, 0.4, env.model.nu).astype(np.float32)
    info = env.step(action)[4]
    np.testing.assert_array_equal(info["torques"], action.astype(np.float64) * effort)
    info = env.step(np.full(env.model.nu, 3.0, np.float32))[4]
    np.testing.assert_array_equal(info["torques"], effort)


@every_env
def test_standing_still_earns_little(name: str) -> None:
    """Neither holding the starting pose nor letting go pays."""
    for policy, most in ((hold, 0.05), (idle, 0.2)):
        env = make(name)
        for seed in range(3):
            env.reset(seed=seed)
            earned = []
            for i in range(300):
                _, reward, terminated, _, _ = env.step(policy(env, i))
                earned.append(reward)
                if terminated:
                    break
            # What is not earned in the rest of the episode counts too
            assert sum(earned) / 300 < most


@every_walker
def test_contact_forces_change_the_momentum(name: str) -> None:
    """Forces of the feet and weight add up to the change of momentum, step by step (1st order)."""
    env = make(name, reset_noise=0.0)
    env.reset(seed=0)
    weight = env.model.bodies["mass"].sum() * 9.81
    mu = env.model.features["friction"].max()
    before = totals(env.model, env._rows["q"][0], env._rows["v"][0]).momentum[3:]
    balance = np.zeros(3)
    for i in range(200):
        _, _, terminated, _, info = env.step(hold(env, i))
        assert not terminated, info
        forces = info["contact_forces"]
        assert forces.shape[1] == 3
        assert np.all(forces[:, 2] >= 0)
        assert np.all(np.hypot(forces[:, 0], forces[:, 1]) <= mu * forces[:, 2] + 1e-9)
        now = totals(env.model, env._rows["q"][0], env._rows["v"][0]).momentum[3:]
        balance += forces.sum(0) - [0, 0, weight] - (now - before) / env.dt
        before = now
    np.testing.assert_allclose(balance / 200, 0.0, atol=0.01 * weight)


@every_walker
def test_info_is_not_stale(name: str) -> None:
    """Place and speed in info are those of the state that the observation shows."""
    env = make(name)
    observation, info = env.reset(seed=5)
    at = info["x_position"]
    for i in range(20):
        observation, _, _, _, info = env.step(hold(env, i))
        assert info["x_position"] == env._rows["q"][0, 0]
        assert info["x_velocity"] == pytest.approx((info["x_position"] - at) / env.dt, abs=1e-12)
        assert observation[0] == env._rows["q"][0, 1]
        assert observation[-1] == info["command"]
        at = info["x_position"]


@every_env
def test_results_are_the_callers_own(name: str) -> None:
    """Old observations and infos never change, and changing them changes nothing."""
    env, twin = make(name), make(name)
    env.reset(seed=2)
    twin.reset(seed=2)
    policy = action_list(env, 40)
    old = []
    for i in range(40):
        result = env.step(policy(env, i))
        old.append((result, bits(result)))
        spoiled = twin.step(policy(twin, i))
        assert bits(spoiled) == old[-1][1]
        spoiled[0][:] = 7.0
        for value in spoiled[4].values():
            if isinstance(value, np.ndarray):
                value[:] = -7.0
    assert all(bits(result) == then for result, then in old)


@every_env
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_action_is_left_alone(name: str, dtype: Any) -> None:
    """Actions beyond the bounds are clipped, but not in the caller's array."""
    env = make(name)
    env.reset(seed=0)
    action = np.full(env.model.nu, 2.0, dtype)
    env.step(action)
    assert np.all(action == 2.0)


@every_env
def test_actions_are_clipped(name: str) -> None:
    """5 does what 1 does, bit for bit."""
    env, twin = make(name), make(name)
    env.reset(seed=0)
    twin.reset(seed=0)
    sign = np.where(np.arange(env.model.nu) % 2, -1, 1).astype(np.float32)
    for _ in range(5):
        assert bits(env.step(5 * sign)) == bits(twin.step(sign))


# Seeds


@every_env
def test_equal_seeds_give_equal_bits(name: str) -> None:
    """Two environments, interleaved, several episodes: observations, rewards and info."""
    one, two = make(name), make(name)
    assert bits(one.reset(seed=123)) == bits(two.reset(seed=123))
    policy = action_list(one, 400)
    first = trace(one, policy, 400)
    assert trace(two, policy, 400) == first
    assert bits(one.reset(seed=123)) == bits(make(name).reset(seed=123))
    assert trace(one, policy, 400) == first


@every_env
def test_other_seeds_give_other_episodes(name: str) -> None:
    """Seeds differ; a reset without a seed continues the stream."""
    env = make(name)
    starts = [env.reset(seed=seed)[0].tobytes() for seed in range(20)]
    assert len(set(starts)) == 20
    env.reset(seed=0)
    stream = [env.reset()[0].tobytes() for _ in range(20)]
    assert len({*stream, starts[0]}) == 21
    other = make(name)
    other.reset(seed=0)
    assert [other.reset()[0].tobytes() for _ in range(20)] == stream


@every_env
def test_a_history_before_the_seed_does_not_matter(name: str) -> None:
    """After reset(seed) nothing of earlier episodes is left: no warm start, no clock."""
    env, fresh = make(name), make(name)
    env.reset(seed=9)
    trace(env, uniform(9), 100)
    assert bits(env.reset(seed=4)) == bits(fresh.reset(seed=4))
    assert state_bits(env) == state_bits(fresh)
    policy = action_list(env, 60)
    assert trace(env, policy, 60) == trace(fresh, policy, 60)


@every_env
def test_unseeded_environments_differ(name: str) -> None:
    """Without a seed two environments start apart."""
    assert make(name).reset()[0].tobytes() != make(name).reset()[0].tobytes()


# Options


@every_env
def test_unknown_options_are_named(name: str) -> None:
    """Of reset and of the constructor; the environment goes on as if nothing had happened."""
    env = make(name)
    env.reset(seed=0)
    before = state_bits(env)
    with pytest.raises(ValueError, match="speling"):
        env.reset(seed=1, options={"speling": 1.0})
    assert state_bits(env) == before
    with pytest.raises(TypeError, match="speling"):
        type(env)(speling=1.0)  # type: ignore[call-arg]


@every_env
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timestep", 0.0),
        ("timestep", -0.01),
        ("timestep", 1.0),
        ("timestep", float("nan")),
        ("frame_skip", 0),
        ("frame_skip", 1.5),
        ("reset_noise", -0.1),
        ("reset_noise", float("nan")),
        ("reset_noise", 3.0),
        ("max_episode_steps", 0),
        ("render_mode", "ascii"),
    ],
)
def test_bad_constructor_options_are_named(name: str, option: str, value: Any) -> None:
    """A ValueError that names the option."""
    cls = type(make(name))
    with pytest.raises(ValueError, match=option):
        cls(**{option: value})


@every_walker
def test_command(name: str) -> None:
    """Drawn within its range; fixed by the constructor or for one episode; checked."""
    env = make(name)
    low, high = env.command_range  # type: ignore[attr-defined]
    drawn = [env.reset(seed=seed)[1]["command"] for seed in range(200)]
    assert low <= min(drawn) < low + 0.1 * (high - low)
    assert high - 0.1 * (high - low) < max(drawn) <= high
    middle = 0.5 * (low + high)
    assert env.reset(options={"command": middle})[1]["command"] == middle
    assert env.reset()[1]["command"] != middle
    fixed = type(env)(command=middle)
    assert fixed.reset(seed=1)[1]["command"] == middle
    assert fixed.reset(options={"command": low})[1]["command"] == low
    assert fixed.reset()[1]["command"] == middle
    before = state_bits(env)
    for wrong in (low - 0.01, high + 0.01, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="command"):
            env.reset(seed=77, options={"command": wrong})
        with pytest.raises(ValueError, match="command"):
            type(env)(command=wrong)
    assert state_bits(env) == before
    for wrong_range in ((1.0, 0.5), (float("nan"), 1.0), (0.0, float("inf"))):
        with pytest.raises(ValueError, match="command_range"):
            type(env)(command_range=wrong_range)


@every_walker
def test_fixed_command_draws_the_same_start(name: str) -> None:
    """A given command changes the command only, not the rest of the drawn start."""
    env = make(name)
    drawn, _ = env.reset(seed=6)
    given, _ = env.reset(seed=6, options={"command": 0.5})
    np.testing.assert_array_equal(drawn[:-1], given[:-1])


# Ends


@every_env
def test_truncates_by_its_own_count(name: str) -> None:
    """No TimeLimit wrapper: the environment says "time limit" at its own last step."""
    env = own_length(name, 12)
    for seed in range(2):
        env.reset(seed=seed)
        for i in range(12):
            _, _, terminated, truncated, info = env.step(hold(env, i))
            assert not terminated
            assert truncated == (i == 11)
        assert info["end"] == "time limit"


@every_env
def test_default_episode_has_1000_steps(name: str) -> None:
    """Through `gym.make` too, where nothing else counts."""
    env = gym.make(name)
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    env.reset(seed=0)
    for i in range(1000):
        _, _, terminated, truncated, info = env.step(hold(inner, i))
        assert not terminated, (i, info)
        assert truncated == (i == 999)
    assert info["end"] == "time limit"


@every_walker
def test_a_fall_terminates(name: str) -> None:
    """Legs let go: the episode ends by a fall; with termination off it goes on."""
    env = make(name)
    env.reset(seed=0)
    for i in range(200):
        _, _, terminated, truncated, info = env.step(idle(env, i))
        if terminated:
            break
    assert terminated
    assert not truncated
    assert info["end"] == "fall"
    env = make(name, terminate_on_fall=False)
    env.reset(seed=0)
    assert not any(any(env.step(idle(env, i))[2:4]) for i in range(300))


@every_env
def test_stepping_past_the_end_stays_sane(name: str) -> None:
    """Nothing breaks if a user steps on; the end is reported again."""
    env = own_length(name, 5)
    env.reset(seed=0)
    for i in range(10):
        observation, _, _, truncated, _ = env.step(hold(env, i))
        assert observation in env.observation_space
        assert truncated == (i >= 4)


@every_env
@pytest.mark.parametrize("speed", [1e60, 1e155, 1e200, 1e300])
def test_a_state_that_is_not_finite_is_never_returned(name: str, speed: float) -> None:
    """The last finite state stays, the episode ends and info says why."""
    env = make(name)
    env.reset(seed=0)
    for i in range(5):
        env.step(hold(env, i))
    env._rows["v"][0] = speed * np.where(np.arange(env.model.nv) % 2, -1.0, 1.0)
    q, v = env._rows["q"].copy(), env._rows["v"].copy()
    observation, reward, terminated, truncated, info = env.step(idle(env, 0))
    assert observation in env.observation_space
    assert np.isfinite(reward)
    assert np.isfinite(env._rows["q"]).all()
    assert np.isfinite(env._rows["v"]).all()
    assert np.isfinite(env._rows["memory"]["total"]).all()
    assert np.isfinite(info["residual"])
    if speed >= 1e200:  # its square is not finite
        assert truncated
        assert not terminated
        assert info["end"] == "no solution of the contact problem"
        assert info["failed"] == 1
        np.testing.assert_array_equal(env._rows["q"], q)
        np.testing.assert_array_equal(env._rows["v"], v)
    else:
        assert terminated or truncated
        assert info["end"] in END_WORDS
    observation, info = env.reset()
    assert info["failed"] == 0
    assert not any(env.step(hold(env, 0))[2:4])


# State


def _prepared(name: str) -> DynEnv:
    """An environment in the middle of an episode, in contact with the ground."""
    env = make(name)
    env.reset(seed=21)
    for i in range(25):
        env.step(hold(env, i))
    return env


@every_env
def test_state_is_restored_bit_for_bit(name: str) -> None:
    """Warm start, clock, step count and generator: the future is the same, episodes on."""
    env = _prepared(name)
    state = env.get_state()
    kept = bits(state)
    policy = action_list(env, 300)
    future = trace(env, policy, 300)  # crosses ends of episodes where falls end them
    assert bits(state) == kept, "the saved state changed"
    env.set_state(state)
    assert state_bits(env) == kept
    assert trace(env, policy, 300) == future
    assert bits(state) == kept, "the restored state is shared"
    again = make(name)  # never reset
    again.set_state(pickle.loads(pickle.dumps(state)))
    assert trace(again, policy, 300) == future


@every_env
def test_equal_states_have_equal_bytes(name: str) -> None:
    """The padding between fields is defined, also after a state whose padding is not."""
    env, twin = _prepared(name), make(name)
    state = env.get_state()
    dirty = {k: np.full(v.nbytes, 255, np.uint8).view(v.dtype) for k, v in state.items()}
    for key, value in state.items():
        dirty[key][:] = value  # fields only: as `ndarray.copy` into used memory
    assert dirty["world"].tobytes() != state["world"].tobytes()
    twin.set_state(dirty)
    again = twin.get_state()
    assert all(again[key].tobytes() == value.tobytes() for key, value in state.items())


@every_env
def test_state_after_the_end(name: str) -> None:
    """Saved at an episode's last step, it continues with the same next episodes."""
    env = own_length(name, 30)
    env.reset(seed=3)
    for i in range(30):
        truncated = env.step(hold(env, i))[3]
    assert truncated
    state = env.get_state()
    future = [bits(env.reset()), *trace(env, hold, 70)]
    other = own_length(name, 30)
    other.reset(seed=99)
    other.set_state(state)
    assert [bits(other.reset()), *trace(other, hold, 70)] == future


@every_env
def test_restored_state_is_drawn_and_described(name: str) -> None:
    """An environment that was restored before any reset gives its readings and focus."""
    env = make(name)
    env.set_state(_prepared(name).get_state())
    assert env.readings()
    assert np.isfinite(env.focus).all()
    assert set(env._info()) >= {"torques", "residual", "degraded", "failed"}


@every_env
def test_what_is_not_a_state_is_refused(name: str) -> None:
    """A ValueError or TypeError, and the environment is as before."""
    env = _prepared(name)
    before = state_bits(env)
    state = env.get_state()
    other = make(next(other for other in IDS if other != name))
    other.reset(seed=0)
    wrong: list[Any] = [
        {},
        {"world": state["world"]},
        {"task": state["task"]},
        {**state, "world": state["world"].tobytes()},
        {**state, "world": np.zeros(3)},
        {**state, "task": None},
        {**state, "task": [1.0]},
        other.get_state(),
        None,
        3,
        "state",
        state["world"],
    ]
    for value in wrong:
        with pytest.raises((ValueError, TypeError)):
            env.set_state(value)
        assert state_bits(env) == before


@every_env
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_continue_identically(name: str, copier: Any) -> None:
    """deepcopy and pickle in mid-episode; the copy shares nothing with its origin."""
    env = _prepared(name)
    twin = copier(env)
    policy = action_list(env, 150)
    future = trace(env, policy, 150)
    assert trace(twin, policy, 150) == future
    assert twin.readings() == env.readings()
    wrapped = gym.make(name)
    wrapped.reset(seed=0)
    wrapped_twin = copier(wrapped)
    assert bits(wrapped.step(policy(env, 0))) == bits(wrapped_twin.step(policy(env, 0)))
    assert wrapped_twin.spec == wrapped.spec


@every_env
def test_a_copy_draws_the_same_random_numbers(name: str) -> None:
    """Copied before the first reset, with Gymnasium's generator seeded or not, and after it."""
    env = _prepared(name)
    twin = copy.deepcopy(env)
    assert bits(env.reset()) == bits(twin.reset())
    assert env.np_random.random() == twin.np_random.random()


# Life


@every_env
def test_step_before_reset_raises(name: str) -> None:
    """Wrapped and bare."""
    env = make(name)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(idle(env, 0))
    wrapped = gym.make(name)
    with pytest.raises(gym.error.ResetNeeded):
        wrapped.step(idle(env, 0))


@every_env
def test_close_twice(name: str) -> None:
    """Before and after use."""
    env = make(name)
    env.close()
    env.close()
    env.reset(seed=0)
    env.close()
    env.close()


@every_env
def test_options_change_the_clock(name: str) -> None:
    """dt = timestep * frame_skip is what a control step takes."""
    env = type(make(name))(timestep=0.004, frame_skip=5)
    assert env.dt == pytest.approx(0.02)
    assert env.metadata["render_fps"] == 50
    env.reset(seed=0)
    env.step(idle(env, 0))
    assert float(env._rows["status"]["time"][0]) == pytest.approx(0.02, abs=1e-12)


# Pictures


@needs_view
@every_env
def test_rgb_array(name: str) -> None:
    """A picture of the asked size, the same for the same state, another after a step."""
    env = type(make(name))(render_mode="rgb_array", width=320, height=180)
    env.reset(seed=0)
    picture = env.render()
    assert picture is not None
    assert picture.shape == (180, 320, 3)
    assert picture.dtype == np.uint8
    assert np.ptp(picture) > 50
    again = env.render()
    np.testing.assert_array_equal(picture, again)
    for i in range(30):
        env.step(idle(env, i))
    assert not np.array_equal(picture, env.render())
    env.close()
    env.close()


@needs_view
@every_env
def test_rendering_changes_nothing(name: str) -> None:
    """A drawn episode is the undrawn one, bit for bit; drawn environments copy too."""
    plain, drawn = make(name), make(name, render_mode="rgb_array")
    assert bits(plain.reset(seed=8)) == bits(drawn.reset(seed=8))
    policy = action_list(plain, 20)
    for i in range(20):
        assert bits(plain.step(policy(plain, i))) == bits(drawn.step(policy(drawn, i)))
        before = state_bits(drawn)
        drawn.render()
        assert state_bits(drawn) == before
    for twin in (copy.deepcopy(drawn), pickle.loads(pickle.dumps(drawn))):
        np.testing.assert_array_equal(twin.render(), drawn.render())


@needs_view
@every_env
def test_record_video(name: str, tmp_path: Path) -> None:
    """Gymnasium's RecordVideo writes a film."""
    pytest.importorskip("moviepy")
    env: gym.Env[Any, Any] = gym.make(name, render_mode="rgb_array")
    env = gym.wrappers.RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
    env.reset(seed=0)
    inner = env.unwrapped
    assert isinstance(inner, DynEnv)
    for i in range(12):
        env.step(hold(inner, i))
    env.close()
    (film,) = tmp_path.glob("*.mp4")
    assert film.stat().st_size > 1000


@every_env
def test_render_without_a_mode_warns(name: str) -> None:
    """It says what to do instead."""
    env = make(name)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


# Vectors


def _as_vector_would(name: str, seed: int, actions: np.ndarray) -> list[tuple[Any, ...]]:
    """A single environment under the NEXT_STEP autoreset: (observation, reward, ended)."""
    env = gym.make(name)
    found: list[tuple[Any, ...]] = [(env.reset(seed=seed)[0].tobytes(),)]
    ended = False
    for action in actions:
        if ended:
            observation, reward, terminated, truncated = env.reset()[0], 0.0, False, False
        else:
            observation, reward, terminated, truncated, _ = env.step(action)
        ended = terminated or truncated
        found.append((observation.tobytes(), float(reward), terminated, truncated))
    return found


@every_env
@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_env_equals_single_envs(name: str, vector: Any) -> None:
    """Bit for bit, over several episodes, wherever a world sits in the batch."""
    count, steps = 3, 80
    envs = vector([lambda: gym.make(name)] * count)
    rng = np.random.default_rng(0)
    size = envs.single_action_space.shape
    actions = rng.uniform(-1, 1, (steps, count, *size)).astype(np.float32)
    observations, _ = envs.reset(seed=40)
    found: list[list[tuple[Any, ...]]] = [[(o.tobytes(),)] for o in observations]
    for batch in actions:
        observations, rewards, terminated, truncated, _ = envs.step(batch)
        for i in range(count):
            found[i].append(
                (
                    observations[i].tobytes(),
                    float(rewards[i]),
                    bool(terminated[i]),
                    bool(truncated[i]),
                )
            )
    envs.close()
    for i in range(count):
        assert found[i] == _as_vector_would(name, 40 + i, actions[:, i])


@every_env
def test_make_vec(name: str) -> None:
    """`gym.make_vec` gives a vector environment that steps."""
    envs = gym.make_vec(name, num_envs=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.close()


@every_env
def test_sb3_dummy_vec_env(name: str) -> None:
    """stable-baselines3's vector gives what single environments give."""
    module = pytest.importorskip("stable_baselines3.common.vec_env")
    _check_sb3(name, module.DummyVecEnv([lambda: gym.make(name)] * 2))


@pytest.mark.parametrize("name", IDS[1:2])
def test_sb3_subproc_vec_env(name: str) -> None:
    """The same in processes of their own."""
    module = pytest.importorskip("stable_baselines3.common.vec_env")
    # The module's name in the id: a fresh process has not imported dynenvs
    _check_sb3(name, module.SubprocVecEnv([lambda: gym.make(f"dynenvs:{name}")] * 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_sb3_subproc_vec_env_of_every_env(name: str) -> None:
    """The same for every environment: its processes start slowly."""
    test_sb3_subproc_vec_env(name)


def _check_sb3(name: str, envs: Any) -> None:
    envs.seed(50)
    observations = envs.reset()
    rng = np.random.default_rng(1)
    actions = rng.uniform(-0.3, 0.3, (40, 2, *envs.action_space.shape)).astype(np.float32)
    for i in range(2):
        single = gym.make(name)
        observation, _ = single.reset(seed=50 + i)
        np.testing.assert_array_equal(observations[i], observation)
    singles = [gym.make(name) for _ in range(2)]
    for i, single in enumerate(singles):
        single.reset(seed=50 + i)
    for batch in actions:
        observations, rewards, dones, infos = envs.step(batch)
        for i, single in enumerate(singles):
            observation, reward, terminated, truncated, _ = single.step(batch[i])
            assert bool(dones[i]) == (terminated or truncated)
            if dones[i]:
                np.testing.assert_array_equal(infos[i]["terminal_observation"], observation)
                observation, _ = single.reset()
            np.testing.assert_array_equal(observations[i], observation)
            assert rewards[i] == pytest.approx(reward, rel=1e-6)
    envs.close()
