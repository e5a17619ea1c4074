"""What compiled code was given stays: no other sizes, and one thread at a time is in it."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from scenes import ball

from dynenvs import World, Worlds
from dynenvs.simulation import worlds as worlds_module


def environment(count: int = 32) -> Any:
    envs: Any = gym.make_vec("dynenvs/DoublePendulum-v0", num_envs=count, num_threads=1)
    envs.reset(seed=0)
    return envs.unwrapped


@pytest.mark.parametrize("make", [lambda m: World(m), lambda m: Worlds(m, 32)])
def test_a_worlds_model_stays(make: Callable[[Any], Any]) -> None:
    """Its memory was made for this model: another one would be read and written beyond it."""
    world = make(ball().model)
    with pytest.raises(AttributeError, match="model"):
        world.model = ball().model


@pytest.mark.parametrize("name", ["at_rest", "actuated", "packed", "dofs", "bodies"])
def test_what_kernels_read_of_a_model_stays(name: str) -> None:
    """`at_rest` could be written: a new world began with those bytes, and never returned."""
    with pytest.raises(ValueError, match="read-only"):
        getattr(ball().model, name)[:] = 7


@pytest.mark.parametrize("name", ["count", "threads", "model"])
def test_a_batch_keeps_its_size(name: str) -> None:
    for worlds in (Worlds(ball().model, 32, threads=2), environment().worlds):
        value = getattr(worlds, name)
        with pytest.raises(AttributeError, match=name):
            setattr(worlds, name, value)


class Held:
    """Stands for a compiled kernel: it runs until it may end, then does what that would do."""

    def __init__(self) -> None:
        self.runs, self.may_end = threading.Event(), threading.Event()
        self.kernel: Any = lambda *_: 0

    def __call__(self, *arguments: Any) -> int:
        self.runs.set()
        assert self.may_end.wait(60)
        result: int = self.kernel(*arguments)
        return result


def of_world(monkeypatch: pytest.MonkeyPatch, held: Held) -> tuple[Any, list[Any]]:
    world = World(ball().model)
    state = world.get_state()
    world.step()  # compiled by now
    monkeypatch.setattr(world, "_bound", held)
    acts = [world.step, world.reset, world.certificate, lambda: world.set_state(state)]
    return world.step, [*acts, lambda: world.contacts, lambda: world.closure]


def of_worlds(monkeypatch: pytest.MonkeyPatch, held: Held) -> tuple[Any, list[Any]]:
    worlds = Worlds(ball().model, 32)
    state = worlds.get_state()
    worlds._prepared.add(held)
    monkeypatch.setattr(worlds_module, "step_worlds", held)
    acts = [worlds.step, worlds.reset, lambda: worlds.set_state(state)]
    acts += [lambda: worlds.frames, lambda: worlds.contact_wrenches]
    return worlds.step, [*acts, lambda: worlds.certificate(0)]


def of_environments(monkeypatch: pytest.MonkeyPatch, held: Held) -> tuple[Any, list[Any]]:
    envs = environment()
    state = envs.get_state()
    actions = np.zeros(envs.action_space.shape)
    held.kernel = envs.worlds._run  # observations that nobody writes hold anything at all
    monkeypatch.setattr(envs.worlds, "_run", held)
    acts = [lambda: envs.step(actions), lambda: envs.reset(seed=1), lambda: envs.set_state(state)]
    return acts[0], acts


@pytest.mark.parametrize("make", [of_world, of_worlds, of_environments])
def test_a_second_thread_is_told(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a step runs, whatever else would use its memory raises; afterwards it does not."""
    held = Held()
    step, acts = make(monkeypatch, held)
    thread = threading.Thread(target=step)
    thread.start()
    try:
        assert held.runs.wait(60)
        for act in acts:
            with pytest.raises(RuntimeError, match=r"another thread is using this \w*World"):
                act()
    finally:
        held.may_end.set()
        thread.join()
    for act in acts:
        act()


def test_an_error_ends_the_turn() -> None:
    """What raises in a step leaves the world to others; and copies are free."""
    world = World(ball().model)
    with pytest.raises(ValueError, match="steps"):
        world.step(steps=-1)
    errors: list[BaseException] = []

    def act() -> None:
        try:
            world.step()
            copy.deepcopy(world).step()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    assert not errors
