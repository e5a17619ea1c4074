"""What the fuzzer tries: of each kind of input a strategy, and what is done with it."""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from fuzz_models import (
    build_model,
    load_xml,
    models,
    read_saved,
    saved,
    saved_texts,
    xml,
)
from fuzz_values import Strategy, absurd, cut, cuts, rarely, some_of, spoil, spoilings
from gymnasium.envs.registration import load_env_creator
from hypothesis import strategies as st

import dynenvs
from dynenvs import World, Worlds
from dynenvs.cli import main
from dynenvs.memory.bounds import fields_of
from dynenvs.registration import ENVIRONMENTS, LEGGED, MUJOCO


class Kind(NamedTuple):
    """A kind of input."""

    inputs: Strategy
    attempt: Callable[[Any], None]


# States of worlds

states = st.tuples(
    st.integers(0, 2), spoilings, st.sampled_from(["set_state", "batch", "pickle", "pickles"])
)


@cache
def stepped(which: int) -> tuple[World, Worlds]:
    """A world, and three, of a model with many parts, after some steps."""
    Path("scene.json").write_text(saved_texts()[which], encoding="utf-8")
    model = dynenvs.load("scene.json")
    one, many = World(model), Worlds(model, 3)
    one.step(steps=30)
    many.step(steps=30)
    return one, many


def spoil_state(recipe: Any) -> None:
    """Give a world a spoilt state, and step on."""
    which, many, how = recipe
    one, three = stepped(which)
    world: Any = pickle.loads(pickle.dumps(one if how in ("set_state", "pickle") else three))
    rows = np.atleast_1d(world.get_state().copy())
    spoil(rows, many, fields_of(rows.dtype))
    if how in ("set_state", "batch"):
        world.set_state(rows[0] if how == "set_state" else rows)
    else:
        kept = world.__getstate__()
        if how == "pickle":
            kept["state"] = rows.tobytes()
        else:
            kept["states"] = rows.view(np.uint8)
        world = type(world).__new__(type(world))
        world.__setstate__(kept)
    world.step()
    if how in ("set_state", "pickle"):
        repr((world.contacts, world.certificate(), world.diagnostics))


# States and starts of environments

STARTED = ("dynenvs/Quadruped-v0", "dynenvs/PlanarHumanoid-v0", "dynenvs/DoublePendulum-v0")
starts = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["world", "task", "file", "file task", "bytes", "arrays"]),
    spoilings,
    cuts,
    st.lists(st.integers(0, 70), max_size=3),
)


@cache
def begun(which: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Two worlds of an environment after ten steps, their states, and their file of starts."""
    envs: Any = gym.make_vec(STARTED[which], num_envs=2, max_episode_steps=-1).unwrapped
    envs.reset(seed=0)
    for _ in range(10):
        envs.step(np.zeros(envs.action_space.shape, np.float32))
    envs.save_starts("starts.npz")
    with np.load("starts.npz") as file:
        parts = {name: file[name].copy() for name in file.files}
    return envs, envs.get_state(), parts


def spoil_starts(recipe: Any) -> None:
    """Give an environment a spoilt state, or a spoilt file of starts, and step on."""
    which, how, many, cut_out, shape = recipe
    envs, state, parts = begun(which)
    idle = np.zeros(envs.action_space.shape, np.float32)
    kinds = {"world": envs.task.model.state_dtype, "record": envs.task.own_record}
    if how in ("world", "task"):
        state = {name: rows.copy() for name, rows in state.items()}
        spoil(state[how].reshape(-1), many, fields_of(state[how].dtype))
        envs.set_state(state)
        for _ in range(3):
            envs.step(idle)
        return
    parts = {name: value.copy() for name, value in parts.items()}
    if how in ("file", "file task"):
        part = "record" if how == "file task" else "world"
        rows = parts[part].reshape(-1).view(kinds[part])
        spoil(rows, many, fields_of(rows.dtype))
    elif how == "arrays":
        part = sorted(parts)[many[0][0] % len(parts)]
        parts[part] = np.zeros(shape, [np.uint8, np.float64, object, "U5"][many[0][1] % 4])
    np.savez("spoilt.npz", **parts)
    if how == "bytes":
        file = Path("spoilt.npz")
        file.write_bytes(cut(file.read_bytes(), cut_out))
    other: Any = gym.make_vec(STARTED[which], num_envs=2, starts="spoilt.npz")
    other.reset(seed=1)
    for _ in range(3):
        other.step(idle)


# Options of environments

IDS = (*ENVIRONMENTS, *MUJOCO, *LEGGED)
option_values = st.one_of(
    absurd,
    st.sampled_from(["flat", "stairs", "rough", "slope", "euler", "midpoint", "position", "float32",
                     "spoilt.npz", "human", "rgb_array", False]),
    st.floats(0.0, 2.0),
    st.integers(0, 12),
    st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0)),
    st.tuples(absurd, absurd),
    st.dictionaries(st.sampled_from(["alive", "height", "x"]), absurd, max_size=2),
    st.lists(
        some_of(
            shape=rarely(st.sampled_from(["box", "sphere", "capsule"])),
            half_size=rarely(st.floats(0.01, 0.3)), radius=rarely(st.floats(0.01, 0.3)),
            half_length=rarely(st.floats(0.01, 0.3)), count=rarely(st.integers(1, 3)),
            mass=rarely(st.floats(0.1, 1.0)), position=rarely(st.just(((0.5, 2.0), (-1.0, 1.0)))),
        ),
        max_size=2,
    ),
)  # fmt: skip
options = st.tuples(
    st.integers(0, len(IDS) - 1),
    st.lists(st.tuples(st.integers(0, 100), option_values), max_size=3),
    st.sampled_from(["one", "many"]),
    rarely(st.integers(1, 3), absurd, 8),
    rarely(st.integers(0, 5), absurd, 8),
    rarely(
        st.none(),
        st.dictionaries(st.sampled_from(["command", "reset_mask", "low"]), option_values),
        4,
    ),
)  # fmt: skip


MOST_STEPPED = 10_000  # worlds of an environment


def make_environment(recipe: Any) -> None:
    """Make an environment by options, reset and step it."""
    which, chosen, how, count, seed, reset = recipe
    name = IDS[which]
    names = sorted(_option_names(name))
    given = {names[k % len(names)]: value for k, value in chosen}
    if given.get("render_mode") != "rgb_array":  # a window; Gymnasium itself trips over numbers
        given.pop("render_mode", None)
    if name in LEGGED:
        given.setdefault("source", _robot())
    if how == "one":
        env: Any = gym.make(name, disable_env_checker=True, **given).unwrapped
    else:
        given.pop("render_mode", None)
        env = gym.make_vec(name, num_envs=count, **given)
    # A million worlds that there is memory for take as long as a million worlds take
    if getattr(env, "num_envs", 1) <= MOST_STEPPED:
        env.reset(seed=seed, options=reset)
        for _ in range(3):
            env.step(env.action_space.sample() * 0)
    env.close()


@cache
def _robot() -> str:
    path = Path("robot.xml").absolute()
    legs = "".join(
        f'<body pos="{x} {y} 0"><joint axis="0 1 0" range="-1 1"/>'
        '<geom type="capsule" size="0.02 0.1" pos="0 0 -0.12"/></body>'
        for x in (-0.2, 0.2)
        for y in (-0.1, 0.1)
    )
    motors = "".join(f'<motor joint="j{k}" ctrlrange="-5 5"/>' for k in range(4))
    for k in range(4):
        legs = legs.replace("<joint axis", f'<joint name="j{k}" axis', 1)
    path.write_text(
        '<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="base" pos="0 0 0.3">'
        f'<freejoint/><geom type="box" size="0.2 0.1 0.05"/>{legs}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>",
        encoding="utf-8",
    )
    return str(path)


@cache
def _option_names(name: str) -> tuple[str, ...]:
    creator = load_env_creator(str(gym.spec(name).entry_point))
    return tuple(inspect.signature(creator).parameters)


# The command line

# Their words, which are changed; then words that stay, so that none takes long by right
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "demo": (["double-pendulum", "--headless", "--output", "a.gif", "--seed", "1"], ["--steps=2"]),
    "view": (["planar-humanoid", "--output", "a.html", "--seed", "1"], ["--steps=2"]),
    "list": ([], []),
    "collect": (["double-pendulum"], ["--episodes=1", "--set", "max_episode_steps=3"]),
    "replay": (["double-pendulum/expert-v0"], []),
    "starts": (["double-pendulum/expert-v0", "a.npz"], []),
    "export": (["double-pendulum/expert-v0", "a.npz"], []),
    "evaluate": (["double-pendulum"], ["--episodes=1", "--set", "max_episode_steps=3"]),
    "bench": (["--seconds=0.001"], ["nothing"]),
    "compile": (["--jobs=0"], ["nothing"]),
    "doctor": ([], ["nothing"]),
    "train": (["ppo", "double-pendulum"], ["--steps=-1"]),
    "clone": (["nothing"], ["--episodes=1", "--gradient-steps=2"]),
    "export-policy": (["nothing"], []),
    "nothing": ([], []),
}
WORDS = [
    "-1", "0", "1", "1e300", "nan", "inf", "1e-320", "", "--", "-h", "--version", "--seed", "--set",
    "--terrain", "stairs", "--command", "0.5,0,0", "1e300,nan,0", "--options", "--agent", "random",
    "expert", "ppo", "spoilt.npz", "spoilt.json", "robot.xml", "a.gif", "/", "/nowhere/a.gif", ".",
    "--set=x=1", "timestep=1e300", "timestep=nan", "frame_skip=10", "max_episode_steps=2", "=",
    "a=", "objects=[]", "terrain=rough", "starts=spoilt.npz", "source=robot.xml", "humanoid",
    "quadruped",
    "mujoco-ant", "double-pendulum", "humanoid/expert-v0", "../x", "\0", "ü", "a" * 300,
    "9" * 400, "[" * 2000, "--json", "--free-pitch", "--plots", "speed", "--episode",
]  # fmt: skip
commands = st.tuples(
    st.sampled_from(sorted(COMMANDS)),
    st.lists(
        st.tuples(
            st.integers(0, 20),
            st.sampled_from(["insert", "replace", "drop"]),
            st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS), st.text(max_size=5)),
        ),
        max_size=3,
    ),
)


def run_command(recipe: Any) -> None:
    """The command line with changed words; it ends by its own error, in two lines at most."""
    name, many = recipe
    words, fixed = list(COMMANDS[name][0]), COMMANDS[name][1]
    for at, how, word in many:
        k = at % (len(words) + 1)
        if how == "insert" or k == len(words):
            words.insert(k, word)
        elif how == "replace":
            words[k] = word
        else:
            del words[k]
    said, shown, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["dynenvs", name, *words, *fixed]
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
            main()
    except SystemExit as end:
        if end.code in (0, None):
            return
        lines = said.getvalue().splitlines()
        if end.code != 2 or not lines or not lines[-1].startswith("dynenvs: "):
            raise AssertionError(f"code {end.code}: {said.getvalue()[-500:]}") from None
        raise ValueError(lines[-1]) from None
    finally:
        sys.argv = before


KINDS = {
    "models": Kind(models, build_model),
    "saved": Kind(saved, read_saved),
    "xml": Kind(xml, load_xml),
    "states": Kind(states, spoil_state),
    "starts": Kind(starts, spoil_starts),
    "options": Kind(options, make_environment),
    "commands": Kind(commands, run_command),
}
