"""A state that comes from outside is looked at before a kernel indexes with it."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import make_batch
from numpy.typing import NDArray
from rollouts import every_env

from dynenvs import ModelBuilder, World, Worlds, free
from dynenvs.envs.core.starts import write_starts
from dynenvs.memory.bounds import WHOLE, fields_of

BAD = [  # a field of a state, and what it cannot be
    (("status", "polygon"), 10**9),
    (("status", "polygon"), -1),
    (("status", "cone"), 7),
    (("status", "touched"), 10**6),
    (("touched", None), 10**6),
    (("touched", None), -5),
    (("memory", "mode"), 10**3),
    (("coefficients", "excluded"), 9),
    (("memory", "impulse"), np.nan),
    (("q", None), np.inf),
]


def world() -> World:
    """Two boxes on a floor, after a step."""
    builder = ModelBuilder()
    builder.half_space("floor")
    for name in "ab":
        builder.body(name, joint=free(), density=1000.0)
        builder.box(f"{name}'s", name, half_size=(0.1, 0.1, 0.1))
    made = World(builder.build())
    made.q.reshape(-1, 7)[:, 2] = 0.1, 0.3
    made.step()
    return made


def spoilt(rows: Any, field: tuple[str, str | None], value: float) -> Any:
    """States with one number changed."""
    rows = rows.copy()
    if field[1] is None:
        rows[field[0]] = value
    else:
        rows[field[0]][field[1]] = value
    return rows


def test_every_number_of_a_state_has_bounds() -> None:
    """A new one cannot be forgotten."""
    kind = world().get_state().dtype
    whole = {field for field, path in fields_of(kind) if _kind(kind, path) == "i"}
    assert whole <= set(WHOLE)


@every_env
def test_every_number_that_a_task_remembers_has_bounds(name: str) -> None:
    """Likewise; those of the generators are bits, any of which are right."""
    kind = make_batch(name, 1, action_delay=(1, 2), observation_noise=0.1).worlds.task_states.dtype
    whole = {field for field, path in fields_of(kind) if _kind(kind, path) == "i"}
    assert whole <= set(WHOLE)


@pytest.mark.parametrize(
    ("field", "value"),
    [("polygon", 7), ("polygon", -1), ("cone", 3), ("end", 5), ("steps", -1), ("held", 2)],
)
def test_what_a_task_remembers_is_looked_at(field: str, value: int, tmp_path: Path) -> None:
    """The next episode looks up its pyramid by number: that of 7, of 3, lay beyond the array."""
    envs = make_batch("dynenvs/Quadruped-v0", 2)
    envs.reset(seed=0)
    state = envs.get_state()
    state["task"][field][1] = value
    with pytest.raises(ValueError, match=rf"{field} of world 1 is {value}; it must be from 0 to"):
        envs.set_state(state)
    file = tmp_path / "starts.npz"
    envs.save_starts(file)
    with np.load(file) as kept:
        parts = {name: kept[name].copy() for name in kept.files}
    parts["record"].reshape(-1).view(envs.task.own_record)[field][1] = value
    np.savez(file, **parts)
    with pytest.raises(ValueError, match=rf"{field} of world 1 is {value}; it must be from 0 to"):
        make_batch("dynenvs/Quadruped-v0", 2, starts=file)


def _kind(kind: Any, path: tuple[str, ...]) -> str:
    inner = kind[path[0]].base
    return str((inner if len(path) == 1 else inner[path[1]].base).kind)


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_spoilt_state_is_refused(field: tuple[str, str | None], value: float) -> None:
    """By a world and by many, which stay as they were and go on."""
    one = world()
    state = one.get_state()
    before = state.tobytes()
    with pytest.raises(ValueError, match=rf"state: {field[0]}.* must be"):
        one.set_state(spoilt(np.array([state]), field, value)[0])
    assert one.get_state().tobytes() == before
    one.step()
    many = Worlds(one.model, 3)
    states = many.get_state()
    with pytest.raises(ValueError, match=rf"state: {field[0]}.* must be"):
        many.set_state(spoilt(states, field, value))
    many.step()


def test_a_state_of_another_pyramid_is_refused() -> None:
    """Of a model with more directions of friction: the same dtype, a number that is not here."""
    many, few = (World(ModelBuilder(directions=n).half_space("floor").build()) for n in (64, 4))
    with pytest.raises(ValueError, match=r"status\.polygon"):
        few.set_state(many.get_state())


def test_a_spoilt_pickle_is_refused() -> None:
    kept = world().__getstate__()
    state = np.frombuffer(kept["state"], np.uint8).copy()
    rows = state.view(world().get_state().dtype)
    rows["touched"][:] = 10**7
    kept["state"] = rows.tobytes()
    with pytest.raises(ValueError, match="pickled state: touched"):
        object.__new__(World).__setstate__(kept)
    pickle.loads(pickle.dumps(world())).step()


def test_a_spoilt_environment_state_and_starts_are_refused(tmp_path: Path) -> None:
    """Indices of contacts, and a command that is no number."""
    envs: Any = gym.make_vec("dynenvs/PlanarHumanoid-v0", num_envs=2).unwrapped
    envs.reset(seed=0)
    state = envs.get_state()
    state["world"]["touched"][:] = 10**6
    with pytest.raises(ValueError, match=r"touched.0. of world 0 is 1000000"):
        envs.set_state(state)
    state = envs.get_state()
    state["task"]["command"][1] = np.nan
    with pytest.raises(ValueError, match=r"command.* of world 1 is nan; it must be finite"):
        envs.set_state(state)
    file = tmp_path / "starts.npz"
    envs.save_starts(file)
    with np.load(file) as kept:
        parts = {name: kept[name].copy() for name in kept.files}
    rows = parts["world"].view(envs.task.model.state_dtype).reshape(-1)
    rows["status"]["touched"], rows["touched"] = 4, 10**6
    np.savez(file, **parts)
    with pytest.raises(ValueError, match=r"starts.* touched.0. of world 0 is 1000000"):
        gym.make_vec("dynenvs/PlanarHumanoid-v0", num_envs=2, starts=file)


@pytest.mark.parametrize(
    ("robot", "part", "field", "value", "words"),
    [
        ("Quadruped", "task", "forward", 7.0, "'command' would be observed as 7.0"),
        ("Quadruped", "task", "phase", 1e308, "'gait phase' would be observed as nan"),
        ("PlanarHumanoid", "task", "command", -1.0, "'command' would be observed as -1.0"),
        ("ChainPendulum", "task", "target_x", 2.0, "'target' would be observed as 2.0"),
        ("DoublePendulum", "world", "q", -1e308, r"at most 1e\+12 in size"),
    ],
)
def test_what_would_be_observed_out_of_bounds_is_refused(
    robot: str, part: str, field: str, value: float, words: str, tmp_path: Path
) -> None:
    """By `set_state`, after which all is as it was, and of a file of starts."""
    name = f"dynenvs/{robot}-v0"
    envs: Any = gym.make_vec(name, num_envs=2).unwrapped
    envs.reset(seed=0)
    before, spoilt = envs.get_state(), envs.get_state()
    spoilt[part][field][1] = value
    with pytest.raises(ValueError, match=words):
        envs.set_state(spoilt)
    after = envs.get_state()
    assert all(after[kind].tobytes() == before[kind].tobytes() for kind in before)
    file = tmp_path / "starts.npz"
    write_starts(
        file, envs.task, *(spoilt[kind].view(np.uint8).reshape(2, -1) for kind in ("world", "task"))
    )
    with pytest.raises(ValueError, match=words):
        gym.make(name, starts=file)
    envs.save_starts(file)
    gym.make(name, starts=file).reset(seed=0)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY"])
@pytest.mark.parametrize("part", ["made", "mark", "world", "record"])
def test_a_part_of_starts_that_is_no_array_is_refused(
    part: str, content: bytes, tmp_path: Path
) -> None:
    """Of such a part NumPy gives the bytes."""
    envs: Any = gym.make_vec("dynenvs/DoublePendulum-v0", num_envs=2).unwrapped
    envs.reset(seed=0)
    file = tmp_path / "starts.npz"
    envs.save_starts(file)
    with zipfile.ZipFile(file) as kept:
        parts = {name: kept.read(name) for name in kept.namelist()}
    with zipfile.ZipFile(file, "w") as spoilt:
        for name, written in {**parts, f"{part}.npy": content}.items():
            spoilt.writestr(name, written)
    with pytest.raises(ValueError, match="starts: "):
        gym.make("dynenvs/DoublePendulum-v0", starts=file)


def test_nobody_is_told_how_to_unpickle_a_strangers_file(tmp_path: Path) -> None:
    """NumPy's own message does."""
    file = tmp_path / "starts.npz"
    file.write_bytes(pickle.dumps({}))
    with pytest.raises(ValueError, match=r"it holds pickled objects$"):
        gym.make("dynenvs/DoublePendulum-v0", starts=file)


def _arrays(owner: Any) -> dict[str, NDArray[Any]]:
    """Those that users see."""
    seen = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {name: array for name, array in seen.items() if isinstance(array, np.ndarray)}


@every_env
def test_nobody_writes_into_what_kernels_index_with(name: str) -> None:
    """Counts and indices of worlds and of tasks; by hand they once ended the interpreter."""
    env = gym.make(name).unwrapped
    env.reset(seed=0)
    worlds = env.worlds
    assert _arrays(worlds).keys() >= {"states", "task_states", "started", "ends", "rewards"}
    for field in worlds.states.dtype.names:
        with pytest.raises(ValueError, match="read-only"):
            worlds.states[field][:] = 0
    with pytest.raises(AttributeError, match="states cannot be replaced"):
        worlds.states = worlds.states.copy()
    for owner in (worlds, env.task, pickle.loads(pickle.dumps(env)).unwrapped.task):
        assert not any(array.flags.writeable for array in _arrays(owner).values())
    with pytest.raises(AttributeError, match="cannot be replaced"):
        env.task.options = env.task.options.copy()
    # What may be changed has a way of its own, and tells of what cannot be
    with pytest.raises(ValueError, match="remember"):
        worlds.remember({"steps": -5})
    with pytest.raises(ValueError, match="remember"):
        worlds.begin([0], {"steps": -5}, env.np_random)
    with pytest.raises(ValueError, match="finite"):
        worlds.push(np.full((1, env.model.nv), np.nan))
    env.change_options(reset_noise=0.0)
    assert float(env.task.options["noise"][0]) == 0.0
    assert not env.task.options.flags.writeable


def test_nor_into_those_of_mujocos_tasks() -> None:
    """The numbers of bodies that are looked at."""
    task = gym.make("dynenvs/MujocoAnt-v5").unwrapped.task
    assert {"links", "options"} <= _arrays(task).keys()
    assert not any(array.flags.writeable for array in _arrays(task).values())


def test_batches_begin_where_arrays_have_a_place_for_each_world() -> None:
    """Others were read beyond their ends."""
    made = world()
    worlds = Worlds(made.model, 4)
    q, v, chosen = worlds.q.copy(), worlds.v.copy(), np.ones(4, np.bool_)
    assert worlds.beginning(q, v, chosen)()
    wrong = [(q[:1], v, chosen), (q, v[:, :1].copy(), chosen), (q, v, np.ones(9, np.bool_))]
    for arrays in [*wrong, (q, v, np.ones(4)), (np.asfortranarray(q), v, chosen)]:
        with pytest.raises(ValueError, match="must have shapes"):
            worlds.beginning(*arrays)
