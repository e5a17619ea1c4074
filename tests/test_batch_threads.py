"""Threads beside forks, other processes, other Python threads, errors and the interpreter's end."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from batches import make_batch, random_actions, trace_batch
from gymnasium.vector import AsyncVectorEnv
from rollouts import IDS, bits, every_env

from dynenvs.envs.core.worlds import LEAST_SHARE
from dynenvs.jit import compiled
from dynenvs.simulation import threads
from dynenvs.simulation.progress import claim, leave
from dynenvs.simulation.threads import share

COUNT, STEPS = 3 * LEAST_SHARE, 25


def _run(name: str, seed: int, steps: int = STEPS) -> list[list[bytes]]:
    """A batch on two threads from a seed."""
    batch = make_batch(name, COUNT, num_threads=2)
    assert batch.worlds.threads == 2
    batch.reset(seed=seed)
    return trace_batch(batch, random_actions(batch, steps, seed))


def _in_child(name: str, seed: int, batch: Any, actions: Any, pipe: Any) -> None:
    pipe.send((bits(_run(name, seed)), bits(trace_batch(batch, actions))))
    pipe.close()


@every_env
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.thorough
def test_fork_after_threads(name: str) -> None:
    """A child forked from a process that has used threads steps on, on threads of its own."""
    batch = make_batch(name, COUNT, num_threads=2)
    batch.reset(seed=1)
    actions = random_actions(batch, STEPS)
    trace_batch(batch, actions)
    here, there = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_in_child, args=(name, 4, batch, actions, there))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on: forking with threads
        child.start()
    assert here.poll(1800), "the child hangs"
    found = here.recv()
    child.join(1800)
    assert child.exitcode == 0
    assert found == (bits(_run(name, 4)), bits(trace_batch(batch, actions)))


@every_env
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.thorough
def test_gymnasiums_processes(name: str, context: str) -> None:
    """AsyncVectorEnv after threads were used here, in forked and in fresh processes."""
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {context} here")
    batch = make_batch(name, COUNT, num_threads=2)
    observations, _ = batch.reset(seed=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # The module's name in the id: a fresh process has not imported dynenvs
        envs = AsyncVectorEnv([lambda: gym.make(f"dynenvs:{name}")] * 2, context=context)
    np.testing.assert_array_equal(envs.reset(seed=6)[0], observations[:2])
    for action in random_actions(batch, STEPS):
        expected, found = batch.step(action), envs.step(action[:2])
        for one, other in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(one, other[:2])
    envs.close()


@every_env
@pytest.mark.thorough
def test_two_python_threads(name: str) -> None:
    """Each with batches of its own, at the same time."""
    expected = {seed: _run(name, seed) for seed in range(2)}
    found: dict[int, list[list[list[bytes]]]] = {0: [], 1: []}

    def work(seed: int) -> None:
        for _ in range(3):
            found[seed].append(_run(name, seed))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in found]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(1800)
        assert not worker.is_alive()
    assert found == {seed: [trace] * 3 for seed, trace in expected.items()}


STEPPING = """
import threading, time
import gymnasium as gym
import dynenvs

def work():
    envs = gym.make_vec({name!r}, num_envs=64, num_threads=4)
    envs.reset(seed=0)
    ready.set()
    while True:
        envs.step(envs.action_space.sample())

for _ in range(2):
    ready = threading.Event()
    threading.Thread(target=work, daemon=True).start()
    ready.wait()
time.sleep(0.2)
print("end")
"""


@pytest.mark.parametrize("name", IDS[:2])
@pytest.mark.thorough
def test_the_interpreter_ends_while_threads_step(name: str) -> None:
    """No hang, no crash."""
    done = subprocess.run(
        [sys.executable, "-c", STEPPING.format(name=name)],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


AFTERWARDS = """
import gymnasium as gym
import builtins
import dynenvs

class Steps:
    def __init__(self):
        self.envs = gym.make_vec("dynenvs/DoublePendulum-v0", num_envs=64, num_threads=2)
        self.envs.reset(seed=0)

    def __del__(self):
        self.envs.step(self.envs.action_space.sample())
        print("stepped")

builtins.kept = Steps()  # until modules have gone
"""


def test_the_interpreter_ends_and_steps_then() -> None:
    """Helpers get the interpreter no more: the caller computes alone, and waits for nobody."""
    done = subprocess.run(
        [sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout == "stepped\n", done.stderr


def test_sleeping_threads_are_used_again() -> None:
    """As many helpers as were ever needed at once, and none that keeps what it worked on."""
    share(lambda number, progress: leave(progress, number), 3)
    before = threading.active_count()
    for _ in range(50):
        share(lambda number, progress: leave(progress, number), 3)
    assert threading.active_count() == before
    assert all(helper._job is None for helper in threads._idle)


def test_what_a_thread_raises_reaches_the_caller() -> None:
    """From a helper or from the caller's own part, after all have ended."""
    ended = []

    def work(number: int, progress: Any, bad: int) -> None:
        if number == bad:
            raise ArithmeticError(f"thread {bad}")
        time.sleep(0.05)
        ended.append(number)
        leave(progress, number)

    for bad in range(4):
        ended.clear()
        if bad < 3:
            with pytest.raises(ArithmeticError, match=f"thread {bad}"):
                share(lambda number, progress, bad=bad: work(number, progress, bad), 3)
        else:  # and it goes on afterwards
            share(lambda number, progress: work(number, progress, 3), 3)
        assert sorted(ended) == [number for number in range(3) if number != bad]


def test_claims_are_never_given_twice() -> None:
    """Every number once, by one thread or the other."""
    taken = np.zeros((4, 100_000), np.int64)
    share(lambda number, progress: _take(progress, taken[number], number), 4)
    assert np.all(taken.sum(axis=0) == 1)


@compiled.kernel
def _take(progress: Any, taken: Any, thread: int) -> None:
    i = claim(progress, thread, taken.shape[0])
    while i < taken.shape[0]:
        taken[i] += 1
        i = claim(progress, thread, taken.shape[0])
    leave(progress, thread)
