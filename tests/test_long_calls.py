"""Long calls of many worlds: Ctrl-C ends them with whole states, and their parts change no bit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynenvs import Model, ModelBuilder, Worlds, WorldsError, free
from dynenvs.simulation import threads as threads_module
from dynenvs.simulation import worlds as worlds_module
from dynenvs.simulation.threads import share

COUNT = 40


def boxes(**options: Any) -> Model:
    """Three boxes over a floor."""
    builder = ModelBuilder(**options)
    builder.half_space("floor", friction=0.8)
    for name in "abc":
        builder.body(name, joint=free(), density=600.0)
        builder.box(f"{name}'s", name, half_size=(0.1, 0.1, 0.05), friction=0.8)
    return builder.build()


def falling(model: Model, threads: int = 1, **options: Any) -> Worlds:
    """Boxes above each other that fall, each world's from other heights."""
    worlds = Worlds(model, COUNT, threads=threads, **options)
    heights = np.array([0.06, 0.17, 0.28]) + np.linspace(0.0, 0.05, COUNT)[:, None]
    worlds.q.reshape(COUNT, 3, 7)[:, :, 2] = heights
    return worlds


def told(worlds: Worlds) -> tuple[bytes, ...]:
    """All that a step leaves: the states, and what it says of its contacts."""
    return (
        worlds.get_state().tobytes(),
        worlds.impulses.tobytes(),
        worlds.contact_wrenches.tobytes(),
        worlds.tau.tobytes(),
    )


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], list[tuple[int, int]]]:
    """Make calls be split into parts of so many seconds; gives worlds and steps of each."""

    def split(seconds: float) -> list[tuple[int, int]]:
        made: list[tuple[int, int]] = []
        step_part = Worlds._step_part

        def noted(self: Worlds, kind: int, steps: int) -> None:
            made.append((int((self._outcomes[:, 0] == kind).sum()), steps))
            step_part(self, kind, steps)

        monkeypatch.setattr(worlds_module, "PART", seconds)
        monkeypatch.setattr(Worlds, "_step_part", noted)
        return made

    return split


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("options", [{}, {"integrator": "midpoint"}, {"max_contacts": 60}])
def test_parts_change_no_bit(parts: Any, threads: int, options: dict[str, Any]) -> None:
    """Of states, impulses and wrenches: in one part, in parts of steps, world by world."""
    model = boxes(**options)
    whole = falling(model, threads)
    parts(1e9)
    whole.step(steps=60)
    wanted = told(whole)
    for seconds in (1e-12, 2e-3):
        other = falling(model, threads)
        made = parts(seconds)
        other.step(steps=60)
        assert sum(worlds * steps for worlds, steps in made) == 60 * COUNT
        assert len(made) > 4
        assert told(other) == wanted


def test_parts_of_chosen_worlds_leave_others_alone(parts: Any) -> None:
    mask = np.arange(COUNT) % 3 == 0
    found = []
    for seconds in (1e9, 1e-12):
        worlds = falling(boxes())
        parts(seconds)
        worlds.step(steps=30, mask=mask)
        found.append(told(worlds))
        np.testing.assert_array_equal(worlds.time > 0.0, mask)
    assert found[0] == found[1]


def test_worlds_that_fail_in_one_part_stay_and_others_go_on(parts: Any) -> None:
    """Two worlds need more contacts than there may be when they have fallen."""
    found = []
    for seconds in (1e9, 1e-12):
        worlds = falling(boxes(max_contacts=4))
        worlds.q.reshape(COUNT, 3, 7)[2:, :, 2] += 50.0
        parts(seconds)
        with pytest.raises(WorldsError) as error:
            worlds.step(steps=40)
        assert error.value.worlds.tolist() == [0, 1]
        found.append(worlds.get_state()[2:].tobytes())
        assert np.allclose(worlds.time[2:], 0.2)
    assert found[0] == found[1]


def interrupted(worlds: Worlds, after: float) -> None:
    """Step for ever, and press Ctrl-C."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        worlds.step(steps=10**9)
    timer.join()


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_call_that_would_take_days(threads: int) -> None:
    """All worlds have made the same steps: as many as their time tells, whole, to the bit."""
    model = boxes()
    worlds = falling(model, threads)
    worlds.step()
    interrupted(worlds, 1.0)
    steps = np.rint(worlds.time / worlds.timestep).astype(int)
    assert steps.min() == steps.max() > 1
    other = falling(model, threads)
    other.step()
    other.step(steps=int(steps[0]) - 1)
    assert other.get_state().tobytes() == worlds.get_state().tobytes()
    for one in (worlds, other):
        one.step(steps=3)
    assert told(other) == told(worlds)


def test_where_one_step_of_all_takes_long_worlds_are_whole_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C comes between two of the groups into which they are split."""
    model = boxes()
    worlds = falling(model)
    monkeypatch.setattr(worlds_module, "PART", 1e-12)
    step_part, calls = Worlds._step_part, []

    def pressed(self: Worlds, kind: int, steps: int) -> None:
        step_part(self, kind, steps)
        calls.append(steps)
        if len(calls) == COUNT + 7:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Worlds, "_step_part", pressed)
        with pytest.raises(KeyboardInterrupt):
            worlds.step(steps=5)
    steps = np.rint(worlds.time / worlds.timestep).astype(int).tolist()
    assert steps == [2] * 7 + [1] * (COUNT - 7)
    for count, who in ((2, slice(0, 7)), (1, slice(7, None))):
        other = falling(model)
        other.step(steps=count)
        assert other.get_state()[who].tobytes() == worlds.get_state()[who].tobytes()


def test_ctrl_c_while_others_are_waited_for_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Wherever it comes, in the look at them or in the nap: they write into the same memory."""
    ended = threading.Event()
    looks: list[int] = []
    look = threads_module._all_left

    def pressed(*arguments: Any) -> bool:
        looks.append(1)
        if len(looks) == 1:
            raise KeyboardInterrupt
        ended.set()
        return bool(look(*arguments))

    done: list[int] = []

    def work(thread: int, progress: Any) -> None:
        if thread:
            ended.wait(60)
            done.append(thread)
        threads_module.leave(progress, thread)

    monkeypatch.setattr(threads_module, "_all_left", pressed)
    with pytest.raises(KeyboardInterrupt):
        share(work, 2)
    assert done == [1]
