"""Every registered environment passes the checkers, and its docstring tells the truth."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import VectorizeMode
from gymnasium.envs.registration import EnvSpec, registry
from gymnasium.utils.env_checker import check_env
from rollouts import (
    IDS,
    bits,
    every_env,
    make,
)

from dynenvs import agents
from dynenvs.registration import MUJOCO, spec_of


def test_environments_are_registered() -> None:
    """All robots are there."""
    expected = {"DoublePendulum", "ChainPendulum", "PlanarHumanoid", "PlanarQuadruped", "Quadruped"}
    assert {f"dynenvs/{name}-v0" for name in expected} <= set(IDS)


@every_env
def test_gymnasium_check_env(name: str) -> None:
    """No warning, let alone an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(name), skip_render_check=True)


@every_env
def test_gymnasium_check_env_with_every_render_mode(name: str) -> None:
    """The same with all render modes built."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(name, disable_env_checker=True).unwrapped)


@every_env
def test_sb3_check_env(name: str) -> None:
    """stable-baselines3 has nothing to warn about either."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(make(name), warn=True, skip_render_check=False)


@every_env
def test_checkers_take_what_make_gives(name: str) -> None:
    """Both again, with Gymnasium's wrappers around the environment."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checker.check_env(gym.make(name), warn=True)
        # "different from the unwrapped version": told of every environment that `make` wraps
        warnings.filterwarnings("ignore", ".*different from the unwrapped version.*")
        check_env(gym.make(name), skip_render_check=True)


@pytest.mark.parametrize("mode", [None, "vector_entry_point", VectorizeMode.VECTOR_ENTRY_POINT])
@pytest.mark.parametrize("name", [*IDS, *MUJOCO])
def test_wrappers_of_a_batch_are_refused_with_what_does_it(
    name: str, mode: str | VectorizeMode | None
) -> None:
    """Gymnasium's own words say that it cannot be done."""
    with pytest.raises(gym.error.Error, match=r"wrappers: .*dynenvs\.make_task"):
        gym.make_vec(name, 2, mode, wrappers=[gym.wrappers.TimeAwareObservation])
    assert gym.spec(name) == EnvSpec.from_json(gym.spec(name).to_json())


@every_env
def test_wrappers_of_single_worlds(name: str) -> None:
    envs = gym.make_vec(name, 2, "sync", wrappers=[gym.wrappers.TimeAwareObservation])
    width = gym.make(name).observation_space.shape[0]
    assert envs.reset(seed=0)[0].shape == (2, width + 1)
    envs.close()


@every_env
def test_unknown_arguments_in_pythons_words(name: str) -> None:
    """TorchRL's GymEnv gives `frameskip`, and tries again without it if it finds these words."""
    kind = type(make(name)).__name__
    words = f"{kind}.__init__() got an unexpected keyword argument 'frameskip'; did you mean "
    words += "'frame_skip'? choose from: "
    with pytest.raises(TypeError, match=f"^{re.escape(words)}.*frame_skip.*render_mode"):
        gym.make(name, frameskip=1)
    many = words.replace("Env.", "VectorEnv.")
    with pytest.raises(TypeError, match=f"^{re.escape(many)}num_envs.*frame_skip"):
        gym.make_vec(name, frameskip=1)


@every_env
def test_torchrl(name: str) -> None:
    """Its GymEnv runs an episode, to a limit of our choice."""
    envs = pytest.importorskip("torchrl.envs")
    assert envs.GymEnv(name, max_episode_steps=3).rollout(10).shape == (3,)


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
    options = list(inspect.signature(cls).parameters)
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
    row = re.compile(r"^ *\| *(\+?\d+)(?:-(\d+))? *\|[^|]*\|([^|]*)\|([^|]*)\|", re.MULTILINE)
    covered: list[int] = []
    pitching = table.find("With `free_pitch`"), table.find("Last come")
    for found in row.finditer(table):
        first, last, low, high = found.groups()
        if first.startswith("+"):  # what comes last, whatever is before it
            if "Planar" in name:
                covered += range(len(covered), len(covered) + int(first))
            continue
        pitches = pitching[0] < found.start() < pitching[1]
        entries = list(range(int(first), int(last or first) + 1))
        space = env.observation_space
        if entries[-1] < space.shape[0] and not pitches:
            covered += entries
        else:  # a row of what terrain adds, or a trunk that pitches
            more: dict[str, Any] = (
                {"free_pitch": True} if "Planar" in name else {"terrain": "rough"}
            )
            space = make(name, **more).observation_space
            assert f"`Box({space.shape}, float64)`" in text
        for written, bound in ((low, space.low), (high, space.high)):
            try:
                documented = float(written)
            except ValueError:  # "as left"
                continue
            np.testing.assert_allclose(bound[entries], documented, rtol=1e-2, atol=6e-3)
    assert sorted(covered) == list(range(env.observation_space.shape[0]))


@pytest.mark.parametrize("maker", ["make_sb3_vec_env", "reference_controller"])
@pytest.mark.parametrize("wrong", ["Humanoid-v0", "Quadruped-v0", "dynenvs/Humanoid-v7"])
def test_what_takes_an_id_says_which_was_meant(maker: str, wrong: str) -> None:
    """Gymnasium's own errors know the ids of others alone: its Humanoid-v0 was deprecated."""
    if maker == "make_sb3_vec_env":
        pytest.importorskip("stable_baselines3")
    arguments = (wrong, 2) if maker == "make_sb3_vec_env" else (wrong,)
    meant = "dynenvs/" + wrong.rpartition("/")[2].partition("-")[0] + "-v0"
    with pytest.raises(ValueError, match=f"no environment of dynenvs; did you mean '{meant}'"):
        getattr(agents, maker)(*arguments)


def test_an_id_may_have_its_module_before_it() -> None:
    """As gym.make takes it."""
    assert spec_of("dynenvs:dynenvs/Humanoid-v0", "env").id == "dynenvs/Humanoid-v0"


def test_an_id_without_a_version_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As gym.make takes it, but without its warning; what takes an id asks `spec_of`."""
    assert spec_of("dynenvs/Humanoid", "env").id == "dynenvs/Humanoid-v0"
    assert spec_of("dynenvs:dynenvs/MujocoAnt", "env").id == "dynenvs/MujocoAnt-v5"
    newer = EnvSpec("dynenvs/Humanoid-v10", entry_point="none.of:These")
    monkeypatch.setitem(registry, newer.id, newer)
    assert spec_of("dynenvs/Humanoid", "env") is newer
    assert type(agents.reference_controller("dynenvs/DoublePendulum")).__name__ == (
        "PendulumController"
    )
    # Gymnasium's own is not meant
    with pytest.raises(ValueError, match="did you mean 'dynenvs/Humanoid-v"):
        spec_of("Humanoid", "env")
