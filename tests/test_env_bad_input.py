"""Bad input is refused by name and leaves an environment untouched, bit for bit."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rollouts import FREE, IDS, bits, every_env, every_walker, hold, idle, make, state_bits

from dynenvs import ModelBuilder, ModelError
from dynenvs.envs.core.base import DynEnv

quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

REFUSED = (ValueError, TypeError)


@cache
def _env(name: str) -> DynEnv:
    env = make(name)
    env.reset(seed=0)
    for i in range(10):
        env.step(hold(env, i))
    return env


def _refused(env: DynEnv, action: Any, word: str = "action") -> None:
    """`step` raises an error that names the action and changes nothing."""
    before = state_bits(env)
    with pytest.raises(REFUSED, match=word):
        env.step(action)
    assert state_bits(env) == before


# Actions


@every_env
@quick
@given(data=st.data())
def test_actions_that_are_not_finite(name: str, data: st.DataObject) -> None:
    """NaN or infinity anywhere in the action."""
    env = _env(name)
    size = env.model.nu
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    action = data.draw(hnp.arrays(dtype, size, elements=st.floats(-1, 1, width=32)))
    at = data.draw(st.integers(0, size - 1))
    action[at] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    _refused(env, action)


@every_env
@quick
@given(data=st.data())
def test_actions_of_the_wrong_shape(name: str, data: st.DataObject) -> None:
    """Too short, too long, a matrix, a scalar, empty."""
    env = _env(name)
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=14))
    if shape == (env.model.nu,):
        return
    _refused(env, np.zeros(shape, np.float32))


@every_env
@pytest.mark.parametrize(
    "action",
    [
        None,
        "left",
        b"left",
        {"hip": 1.0},
        pytest.param(object(), id="object"),
        ["a", "b"],
        [None, None],
        [[0.0], [0.0, 0.0]],
        3,
        pytest.param(lambda: 0, id="function"),
    ],
    ids=repr,
)
def test_actions_of_the_wrong_type(name: str, action: Any) -> None:
    """A clear error that names the action; never a crash somewhere inside."""
    _refused(_env(name), action)


@every_env
def test_object_and_complex_arrays(name: str) -> None:
    """Arrays of the right shape that do not hold real numbers."""
    env = _env(name)
    size = env.model.nu
    for action in (
        np.array([None] * size),
        np.array(["a"] * size),
        np.array([{}] * size),
        np.full(size, 1j),
        np.full(size, np.datetime64("2026-01-01")),
    ):
        _refused(env, action)


@every_env
@quick
@given(data=st.data())
def test_out_of_range_actions_are_clipped(name: str, data: st.DataObject) -> None:
    """Any finite action is its clipped self, also as a list, in other dtypes and strides."""
    env = _env(name)
    size = env.model.nu
    action = data.draw(hnp.arrays(np.float64, size, elements=st.floats(-1e300, 1e300)))
    form = data.draw(
        st.sampled_from(
            [lambda a: a, list, tuple, lambda a: np.repeat(a, 2)[::2], lambda a: a.astype(object)]
        )
    )
    state = env.get_state()
    result = bits(env.step(form(action)))
    env.set_state(state)
    assert bits(env.step(np.clip(action, -1, 1))) == result
    env.set_state(state)


@every_env
def test_integer_and_boolean_actions(name: str) -> None:
    """They are numbers too."""
    env = _env(name)
    state = env.get_state()
    expected = bits(env.step(np.ones(env.model.nu)))
    for dtype in (np.int64, np.uint8, np.bool_, np.float16):
        env.set_state(state)
        assert bits(env.step(np.ones(env.model.nu, dtype))) == expected
    env.set_state(state)


@every_env
def test_readonly_actions(name: str) -> None:
    """An action that must not be written to is fine, in either precision, out of range too."""
    env = _env(name)
    state = env.get_state()
    for dtype in (np.float32, np.float64):
        action = np.full(env.model.nu, 2.0, dtype)
        action.flags.writeable = False
        env.step(action)
    env.set_state(state)


# Reset


@every_env
@pytest.mark.parametrize("seed", [-1, 1.5, "seed", [1], float("nan")], ids=repr)
def test_bad_seeds(name: str, seed: Any) -> None:
    """Refused with a word about the seed; nothing is changed."""
    env = _env(name)
    before = state_bits(env)
    with pytest.raises(Exception, match=r"(?i)seed"):
        env.reset(seed=seed)
    assert state_bits(env) == before


@every_env
@quick
@given(seed=st.integers(0, 2**64))
def test_any_natural_number_is_a_seed(name: str, seed: int) -> None:
    """Large ones too."""
    env = make(name)
    first = bits(env.reset(seed=seed))
    assert bits(env.reset(seed=seed)) == first


@every_env
@pytest.mark.parametrize("options", ["command", 3, [("command", 0.5)], {"x": 1}, {1: 2}], ids=repr)
def test_bad_reset_options(name: str, options: Any) -> None:
    """Not a dictionary, or unknown names; the environment goes on as before."""
    env = _env(name)
    before = state_bits(env)
    with pytest.raises(REFUSED, match="option"):
        env.reset(seed=3, options=options)
    assert state_bits(env) == before


@every_walker
@pytest.mark.parametrize(
    "command", ["fast", [0.5], {}, 1e9, -1.0, float("nan"), float("-inf"), 1j], ids=repr
)
def test_bad_commands(name: str, command: Any) -> None:
    """Named, in `reset` and in the constructor; nothing is changed, the generator included."""
    env = _env(name)
    before = state_bits(env)
    for attempt in (
        lambda: env.reset(options={"command": command}),
        lambda: env.reset(seed=5, options={"command": command}),
        lambda: type(env)(command=command),
    ):
        with pytest.raises(REFUSED, match="command"):
            attempt()
        assert state_bits(env) == before


# Constructors

PICTURE = ("render_mode", "width", "height")
SILLY: dict[str, list[Any]] = {
    "timestep": [0, -0.001, 0.021, 1e9, float("nan"), float("inf"), "fast", None, [0.01], 1j],
    "frame_skip": [0, -1, 2.5, float("nan"), float("inf"), "two", None, [2], 10**9],
    "reset_noise": [-0.1, 0.3, float("nan"), float("inf"), "much", None, [0.1]],
    "max_episode_steps": [0, -5, 1.5, float("nan"), float("inf"), "many", True, [3]],
    "render_mode": ["ansi", "", 3, ["human"], {}],
    "width": [0, -3, 1.5, 10**9, "wide", None, float("nan")],
    "height": [0, -3, 1.5, 10**9, "high", None, float("nan")],
    "command_range": [
        (1.0, 0.5),
        (0.5,),
        (0.1, 0.2, 0.3),
        0.5,
        None,
        "ab",
        (float("nan"), 1.0),
        (0.0, float("inf")),
        (0.3, 1e300),
        (-1e300, 0.3),
        (0.5, "b"),
    ],
    "terminate_on_fall": ["no", None, 2, float("nan"), []],
    "actuated": ["knee", "", None, 3, ["both"], {}],
    "links": [1, 16, 0, -5, 2.5, float("nan"), "five", None, [5]],
    "surface": ["ceiling", "", None, 3, ["floor"], {}],
    "free_pitch": ["yes", None, 1, float("nan")],
    "terrain": ["hills", "Rough", "", None, 2, ["flat"], {}],
    "terrain_seed": [-1, 0.5, 2**63, float("nan"), "a", None, True],
    "push_impulse": [-1.0, 201.0, float("nan"), float("inf"), "hard", None, [5.0], True],
    "push_interval": [0.0, -3.0, float("nan"), float("inf"), "often", None],
    "command_interval": [-1.0, float("nan"), float("inf"), "often", None],
    **{
        f"{what}_range": [
            (2.0, 1.0),
            (0.0, 1.0),
            (1.0, float("nan")),
            (1.0, float("inf")),
            1.0,
            "ab",
            None,
            (1.0,),
            (1.0, 2.0, 3.0),
            {1.0, 2.0},
            np.array([2.0, 1.0]),
        ]
        for what in ("friction", "mass")
    },
    **{
        f"{what}_range": [
            (0.2, 0.1),
            (-9.0, 0.0),
            (0.0, float("nan")),
            0.1,
            "ab",
            (0.1,),
            {0.0, 0.1},
            np.array(0.1),
            ((0.0, 0.1), (0.0, 0.1)),
        ]
        for what in ("forward", "sideways", "turning")
    },
}


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        pytest.param(name, option, value, id=f"{name.split('/')[1]}-{option}={value!r}")
        for name in IDS
        for option, values in SILLY.items()
        if option in inspect.signature(type(make(name))).parameters
        for value in values
    ],
)
def test_silly_constructor_options(name: str, option: str, value: Any) -> None:
    """A ValueError or TypeError that names the option."""
    with pytest.raises(REFUSED, match=option):
        type(make(name))(**{option: value})


@every_env
def test_unknown_options_are_told_the_known_ones(name: str) -> None:
    """Of the constructor and of reset: the error lists what there is."""
    kind = type(make(name))
    options = [n for n in inspect.signature(kind).parameters if n not in PICTURE]
    words = f"{kind.__name__}.__init__() got an unexpected keyword argument 'pushes'; choose from: "
    with pytest.raises(TypeError, match=f"^{re.escape(words)}.*timestep") as got:
        kind(pushes=True)
    assert all(option in str(got.value) for option in options)
    env = _env(name)
    rule = "choose from: command" if "command" in options else "there are none"
    with pytest.raises(ValueError, match=f"unknown reset option 'speling'; {rule}"):
        env.reset(options={"speling": 1})


@every_env
def test_states_that_are_none(name: str) -> None:
    """Which part is wrong, and what would be right; nothing is changed."""
    env = _env(name)
    before, state = state_bits(env), env.get_state()
    broken = {key: value.copy() for key, value in state.items()}
    broken["world"]["v"][0, 1] = np.nan
    for wrong, words in (
        (None, r"dict with \['world', 'task'\] of 1 world\(s\) .* got NoneType"),
        ({"world": state["world"]}, r"dict with .* got \['world'\]"),
        ({**state, "task": [1.0]}, r"state\['task'\] must be an array of records .* got list"),
        (
            {**state, "world": state["world"].view(np.uint8)},
            r"state\['world'\] must have the dtype",
        ),
        ({**state, "world": np.repeat(state["world"], 2)}, r"shape \(1,\) .* got \(2,\)"),
        (broken, r"state\['world'\]: v\[1\] of world 0 is nan; it must be finite"),
    ):
        with pytest.raises(ValueError, match=words):
            env.set_state(wrong)  # type: ignore[arg-type]
        assert state_bits(env) == before


@pytest.mark.parametrize("name", FREE)
def test_commands_in_mid_episode(name: str) -> None:
    """What `reset` refuses, `set_command` does; before the first episode nothing can change."""
    env = _env(name)
    before = state_bits(env)
    for command in (
        "fast",
        0.5,
        (0.5,),
        (99.0, 0, 0),
        (0, float("nan"), 0),
        None,
        np.zeros((1, 3)),
    ):
        with pytest.raises(ValueError, match=r"command .*must"):
            env.set_command(command)  # type: ignore[attr-defined]
        assert state_bits(env) == before
    with pytest.raises(gym.error.ResetNeeded, match=r"reset\(\) before set_command"):
        make(name).set_command((0.0, 0.0, 0.0))  # type: ignore[attr-defined]


@every_env
@quick
@given(
    timestep=st.floats(1e-5, 0.02),
    frame_skip=st.integers(1, 20),
    noise=st.floats(0.0, 0.2),
    steps=st.integers(1, 10**6),
    seed=st.integers(0, 2**32),
)
def test_any_allowed_options_make_a_sane_environment(
    name: str, timestep: float, frame_skip: int, noise: float, steps: int, seed: int
) -> None:
    """Whatever the options allow, an episode starts and steps within its bounds."""
    env = type(make(name))(
        timestep=timestep, frame_skip=frame_skip, reset_noise=noise, max_episode_steps=steps
    )
    observation, _ = env.reset(seed=seed)
    assert observation in env.observation_space
    for policy in (idle, hold, idle):
        observation, reward, _, _, info = env.step(policy(env, 0))
        assert observation in env.observation_space
        assert 0.0 <= reward <= 1.0 + 1e-12
        assert info["failed"] == 0


def test_what_was_meant_is_named() -> None:
    """A letter too few: the long list of options does not have to be read."""
    with pytest.raises(TypeError, match=r"'terain'; did you mean 'terrain'\? choose from: "):
        gym.make("dynenvs/Quadruped-v0", terain="rough")


@pytest.mark.parametrize("kind", ["long", "deep"])
def test_what_was_given_is_told_in_short(kind: str) -> None:
    """A text as long as a book, and lists too deep to be written out."""
    value: Any = "n" * 10**5
    if kind == "deep":
        value = []
        for _ in range(5000):
            value = [value]
    for option in ("terrain", "push_impulse", "directions", "forward_range", "reward_weights"):
        with pytest.raises(ValueError, match=r"got|choose from") as raised:
            gym.make("dynenvs/Quadruped-v0", **{option: value})
        assert len(str(raised.value)) < 300


def test_an_array_is_told_in_one_line() -> None:
    """NumPy writes a line for each row."""
    builder = ModelBuilder()
    with pytest.raises(ModelError, match="inertia must be 3 or 3 x 3") as raised:
        builder.body("b", mass=1.0, inertia=np.zeros((4, 3)))
    assert "\n" not in str(raised.value)
