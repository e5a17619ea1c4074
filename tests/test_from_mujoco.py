"""What MuJoCo calls otherwise: errors name our word, and the guide has the same table."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynenvs import ModelBuilder, World, Worlds, free
from dynenvs.model.model import Model
from dynenvs.model.mujoco_words import DATA, MODEL, SHELL
from dynenvs.model.parts import ModelError

PAGE = Path(__file__).parent.parent / "docs/from-mujoco.md"


@pytest.fixture(scope="module")
def model() -> Model:
    builder = ModelBuilder()
    builder.body("ball", joint=free(), density=1000.0)
    builder.sphere("ball", "ball", radius=0.1)
    return builder.build()


@pytest.mark.parametrize("many", [False, True])
def test_worlds_say_what_mujocos_words_are_here(model: Model, many: bool) -> None:
    world = Worlds(model, 2) if many else World(model)
    # Many worlds list no single contacts
    words = {k: here for k, here in DATA.items() if not (many and here == "contacts")}
    for name, here in words.items():
        with pytest.raises(AttributeError, match=re.escape(f"calls {name} is {here} here")):
            getattr(world, name)
        assert not hasattr(world, name)


def test_models_say_what_mujocos_words_are_here(model: Model) -> None:
    for name, here in MODEL.items():
        with pytest.raises(AttributeError, match=re.escape(f"calls {name} is {here} here")):
            getattr(model, name)


def test_environments_say_what_mujocos_words_are_here() -> None:
    import gymnasium as gym

    env = gym.make("dynenvs/DoublePendulum-v0").unwrapped
    envs = gym.make_vec("dynenvs/DoublePendulum-v0", num_envs=2).unwrapped
    for shell in (env, envs):
        for name, here in SHELL.items():
            with pytest.raises(AttributeError, match=f"calls {name} is {here} here"):
                getattr(shell, name)
        for name, here in (("qpos", "q"), ("ctrl", "actions")):
            with pytest.raises(AttributeError, match=f"calls {name} is {here} here"):
                getattr(shell.world, name)
        # No word is promised that is not there
        with pytest.raises(AttributeError, match="has no attribute 'warning'"):
            _ = shell.world.warning


@pytest.mark.parametrize("name", ["DoublePendulum-v0", "MujocoHopper-v5"])
@pytest.mark.parametrize("many", [False, True])
def test_set_state_of_gymnasiums_says_how_to_place_a_world(name: str, many: bool) -> None:
    """By `set_state(qpos, qvel)` itself, or by the statements that its error names."""
    import gymnasium as gym

    made: Any = gym.make_vec(f"dynenvs/{name}", 2) if many else gym.make(f"dynenvs/{name}")
    env = made.unwrapped
    env.reset(seed=0)
    qpos, qvel = env.world.q + 0.01, env.world.v + 0.02
    if name.startswith("Mujoco") and not many:  # as Gymnasium's own
        env.set_state(qpos, qvel)
    else:
        with pytest.raises(TypeError, match="not qpos and qvel: write them into one, ") as told:
            env.set_state(qpos, qvel)
        with pytest.raises(TypeError, match="not qpos and qvel"):
            env.set_state(qpos=qpos, qvel=qvel)
        statements = str(told.value).partition("into one, ")[2].rpartition(" (docs/")[0]
        exec(statements, {"env": env, "qpos": qpos, "qvel": qvel})
    np.testing.assert_array_equal(env.world.q, qpos)
    np.testing.assert_array_equal(env.world.v, qvel)


def test_other_words_and_a_propertys_own_errors_stay(model: Model) -> None:
    """What is in no table fails as ever, and what a property says of itself is still said."""
    import gymnasium as gym

    world = World(model)
    with pytest.raises(AttributeError, match="'World' object has no attribute 'velocity'"):
        _ = world.velocity  # type: ignore[attr-defined]
    state = gym.make("dynenvs/DoublePendulum-v0").unwrapped.world  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="info has no 'command'"):
        _ = state.command
    for other in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert (other.q == world.q).all()


def test_friction_by_three_numbers_names_ours() -> None:
    """MuJoCo's friction is (sliding, torsional, rolling)."""
    builder = ModelBuilder().body("ball", joint=free(), density=1000.0)
    words = "MuJoCo's second and third are torsional_friction= and rolling_friction="
    with pytest.raises(ModelError, match=words):
        builder.sphere("ball", "ball", radius=0.1, friction=(0.8, 0.1, 0.1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("prefix", "words"), [("d", DATA), ("m", MODEL)])
def test_the_guide_has_the_same_words(prefix: str, words: dict[str, str]) -> None:
    """Each word stands in a row of the guide, beside what the error names."""
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if len(row) > 1]
    for name, here in words.items():
        if name == "data":  # an object of MuJoCo's, no field of one
            continue
        first = re.split(r"\W", here)[0]
        found = [row for row in rows if re.search(rf"`{prefix}\.{name}\b", row[0])]
        assert found, name
        assert any(re.search(rf"`[^`]*\b{first}\b", row[1]) for row in found), (name, here)
