"""What another version, or another layout, has made is refused in a line."""

from __future__ import annotations

import pickle
import random
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs
from dynenvs import Model, ModelBuilder, World, Worlds, free
from dynenvs.memory import origin
from dynenvs.memory.origin import KEY, KINDS, Origin, check_origin, layout_digest, this
from dynenvs.memory.records import HEADER

PENDULUM = "dynenvs/DoublePendulum-v0"


def boxes() -> Model:
    """Three boxes over a floor."""
    builder = ModelBuilder()
    builder.half_space("floor", friction=0.8)
    for name in "abc":
        builder.body(name, joint=free(), density=600.0)
        builder.box(f"{name}'s", name, half_size=(0.1, 0.1, 0.05))
    return builder.build()


def things() -> dict[str, Callable[[], Any]]:
    """All that is pickled with bytes that kernels read."""
    return {
        "Model": boxes,
        "World": lambda: World(boxes()),
        "Worlds": lambda: Worlds(boxes(), 2),
        "environment": lambda: gym.make(PENDULUM).unwrapped.worlds,  # type: ignore[attr-defined]
    }


@pytest.fixture
def made(request: pytest.FixtureRequest) -> Any:
    return things()[request.param]()


every = pytest.mark.parametrize("made", things(), indirect=True)


def restored(made: Any, state: dict[str, Any]) -> Any:
    """What `pickle` does with what it has read."""
    other = object.__new__(type(made))
    other.__setstate__(state)
    return other


def refused(made: Any, state: dict[str, Any]) -> str:
    """The line that is said of a pickled state."""
    with pytest.raises(ValueError, match="pickled") as told:
        restored(made, state)
    assert len(str(told.value).splitlines()) == 1
    return str(told.value)


@every
def test_its_own_pickle_is_taken(made: Any) -> None:
    state = made.__getstate__()
    assert state[KEY] == (dynenvs.__version__, this().layout)
    again = pickle.loads(pickle.dumps(made)).__getstate__()
    assert again.keys() == state.keys()
    restored(made, state)
    assert KEY in state  # what was given is left alone


@every
def test_another_version_is_refused(made: Any) -> None:
    state = made.__getstate__()
    told = refused(made, {**state, KEY: ("0.1.0", this().layout)})
    assert f"made by dynenvs 0.1.0; this is dynenvs {dynenvs.__version__}" in told
    told = refused(made, {**state, KEY: ("0.1.0", "0" * 16)})
    assert f"by dynenvs 0.1.0 with another layout; this is dynenvs {dynenvs.__version__}" in told
    del state[KEY]
    assert "by a version of dynenvs that does not tell its layout" in refused(made, state)
    for nonsense in (None, 3, "x", "[" * 10**5, '{"version": 1}', (1, 2), ("0.1.0",), b"0"):
        refused(made, {**state, KEY: nonsense})


def one_less(kind: np.dtype[Any], k: int) -> np.dtype[Any]:
    """A header without its k-th field."""
    names = [name for i, name in enumerate(kind.names or ()) if i != k]
    return np.dtype([(name, kind[name]) for name in names], align=True)


def test_a_header_with_one_field_less_is_another_layout() -> None:
    digests = {layout_digest(KINDS, one_less(HEADER, k)) for k in range(len(HEADER.names or ()))}
    assert len(digests) == len(HEADER.names or ())
    assert this().layout not in digests


@every
def test_bytes_of_a_header_with_one_field_less_are_refused(made: Any) -> None:
    """Even where they say that they are of this layout: a model knows its bytes."""
    model = made if isinstance(made, Model) else getattr(made, "task", made)
    model = model if isinstance(model, Model) else model.model
    state, size = model.__getstate__(), HEADER.itemsize
    for name in HEADER.names or ():
        at, width = (HEADER.fields or {})[name][1], HEADER[name].itemsize
        old = bytearray(model.packed.tobytes())
        old[:size] = old[:at] + old[at + width : size] + bytes(width)
        if bytes(old) != model.packed.tobytes():
            packed = np.frombuffer(bytes(old), np.uint8)
            assert "damaged" in refused(model, {**state, "packed": packed})


def mutations(draw: random.Random) -> Iterator[tuple[list[Any], np.dtype[Any]]]:
    """Declarations, each time with one thing changed somewhere."""
    types_ = [np.dtype(kind) for kind in ("f8", "i8", "f4", "u1")]
    while True:
        arrays = [[types.SimpleNamespace(**vars(entry)) for entry in k.arrays()] for k in KINDS]
        kinds = [
            types.SimpleNamespace(__name__=kind.__name__, arrays=lambda own=own: iter(own))
            for kind, own in zip(KINDS, arrays, strict=True)
        ]
        own = draw.choice([own for own in arrays if len(own) > 1])
        entry, header = draw.choice(own), HEADER
        match draw.randrange(8):
            case 0:
                entry.name += "_"
            case 1:
                entry.kind = draw.choice([kind for kind in types_ if kind != entry.kind])
            case 2:
                entry.shape = (*entry.shape, "2")
            case 3:
                entry.when = "nothing"
            case 4:
                own.remove(entry)
            case 5:
                i, j = draw.sample(range(len(own)), 2)
                own[i], own[j] = own[j], own[i]
            case 6:
                header = one_less(HEADER, draw.randrange(len(HEADER.names or ())))
            case 7:
                fields = [(name, HEADER[name]) for name in HEADER.names or ()]
                i, j = draw.sample(range(len(fields)), 2)
                fields[i], fields[j] = fields[j], fields[i]
                header = np.dtype(fields, align=True)
        yield [type(k.__name__, (), {"arrays": staticmethod(k.arrays)}) for k in kinds], header


def test_mutated_layouts_are_refused() -> None:
    """120 of them, each in a line by everything that is pickled."""
    made = [make() for make in things().values()]
    states = [one.__getstate__() for one in made]
    changed = mutations(random.Random(0))
    seen = set()
    for _ in range(120):
        kinds, header = next(changed)
        digest = layout_digest(kinds, header)
        seen.add(digest)
        for one, state in zip(made, states, strict=True):
            told = refused(one, {**state, KEY: (dynenvs.__version__, digest)})
            assert "with another layout" in told
    assert len(seen) > 100


def test_a_mutation_that_changes_nothing_is_this_layout() -> None:
    """So that the test above is about its changes."""
    assert layout_digest(KINDS, HEADER) == this().layout


@pytest.mark.parametrize("kind", ["World", "Worlds"])
def test_states_of_another_size_are_refused(kind: str) -> None:
    made = things()[kind]()
    state = made.__getstate__()
    name = "state" if kind == "World" else "states"
    for spoilt in (bytes(state[name])[:-8], b"", None, np.zeros(3)):
        assert "must have" in refused(made, {**state, name: spoilt})


def test_an_environment_with_a_spoilt_state_is_refused() -> None:
    """Indices of contacts, and what the task remembers."""
    env: Any = gym.make(PENDULUM).unwrapped
    env.reset(seed=0)
    state = pickle.loads(pickle.dumps(env.worlds.__getstate__()))
    state["_rows"].states["q"][:] = np.nan
    assert "q[0] of world 0 is nan" in refused(env.worlds, state)
    env.reset(seed=0)
    assert pickle.loads(pickle.dumps(env)).step(np.zeros(2))[1] == env.step(np.zeros(2))[1]


def test_starts_of_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    envs: Any = gym.make_vec(PENDULUM, num_envs=2).unwrapped
    envs.reset(seed=0)
    file = tmp_path / "starts.npz"
    envs.save_starts(file)
    gym.make_vec(PENDULUM, num_envs=2, starts=file)
    with np.load(file) as kept:
        parts = {name: kept[name].copy() for name in kept.files}
    for made, message in (
        (Origin("0.1.0", this().layout), r"made by dynenvs 0\.1\.0; this is"),
        (Origin("0.1.0", "0"), r"made by dynenvs 0\.1\.0 with another layout; this is"),
        (None, "does not tell its layout"),
    ):
        told = parts if made is None else {**parts, "made": made.text()}
        if made is None:
            told.pop("made")
        np.savez(file, **told)
        with pytest.raises(ValueError, match=rf"starts: .*starts\.npz.*{message}"):
            gym.make_vec(PENDULUM, num_envs=2, starts=file)
    monkeypatch.setattr(origin, "this", lambda: Origin("9.0", "f"))
    with pytest.raises(ValueError, match=r"this is dynenvs 9\.0"):
        check_origin(this(), "a file")


def test_a_dataset_of_another_layout_is_not_replayed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One of another version is, where its layout is this one's."""
    pytest.importorskip("minari")
    from dynenvs.agents.data import dataset
    from dynenvs.agents.data.collect import collect
    from dynenvs.agents.data.replay import replay

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with monkeypatch.context() as before:
        before.setattr(dataset, "this", lambda: Origin("0.1.0", this().layout))
        collect(PENDULUM, 1, agent="random", threads=1, name="near-v0", max_episode_steps=3)
        before.setattr(dataset, "this", lambda: Origin("0.1.0", "0"))
        collect(PENDULUM, 1, agent="random", threads=1, name="far-v0", max_episode_steps=3)
    assert replay(dataset.open_dataset("double-pendulum/near-v0")) == []
    with pytest.raises(ValueError, match=r"far-v0.* by dynenvs 0\.1\.0 with another layout"):
        replay(dataset.open_dataset("double-pendulum/far-v0"))
