"""A user's script that kills, forks, threads and pickles: alike by the library and the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynenvs.jit import library

SCRIPT = '''
import copy, hashlib, multiprocessing, os, pickle, signal, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np
from dynenvs import World, Worlds
from dynenvs.envs.robots import planar_humanoid


def run(world, steps=200):
    """A hash of positions and velocities on the way."""
    found = hashlib.sha256()
    for _ in range(steps):
        world.step()
        found.update(world.q.tobytes() + world.v.tobytes())
    return found.hexdigest()


def fresh(height):
    world = World(planar_humanoid.build(), timestep=0.002)
    world.q[1] = height
    return world


def of_pickle(text):
    return run(pickle.loads(text))


def for_ever(text, told):
    world = pickle.loads(text)
    while True:
        world.step()
        told.set()


if __name__ == "__main__":
    heights = [1.0, 1.1, 1.2, 1.3]
    expected = [run(fresh(height)) for height in heights]
    print(*expected)

    with ThreadPoolExecutor(4) as threads:  # at once, in one process
        assert list(threads.map(run, [fresh(height) for height in heights])) == expected

    spawn = multiprocessing.get_context("spawn")
    texts = [pickle.dumps(fresh(height)) for height in heights]
    with ProcessPoolExecutor(2, spawn) as processes:  # which load the core themselves
        assert list(processes.map(of_pickle, texts)) == expected

    world = fresh(heights[0])
    world.step(steps=50)
    rest = run(copy.deepcopy(world))
    if hasattr(os, "fork"):  # in the middle of a run
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, run(world).encode())
            os._exit(0)
        os.wait()
        assert os.read(reader, 100).decode() == rest
    assert run(world) == rest

    told = spawn.Event()
    victim = spawn.Process(target=for_ever, args=(texts[0], told))
    victim.start()
    assert told.wait(600)
    victim.kill()  # in the middle of a step
    victim.join()
    assert victim.exitcode != 0
    assert run(fresh(heights[0])) == expected[0]

    worlds = Worlds(planar_humanoid.build(), 40, timestep=0.002, threads=2)
    worlds.q[:, 1] = np.linspace(1.0, 1.3, 40)
    again = pickle.loads(pickle.dumps(worlds))
    worlds.step(steps=200)
    again.step(steps=200)
    assert again.q.tobytes() == worlds.q.tobytes()
    print("done")
'''


def ran(core: str, folder: Path) -> list[str]:
    """What the script prints."""
    path = folder / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "DYNENVS_CORE": core},
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.thorough
@pytest.mark.parametrize("core", ["library", "jit"])
def test_it_ends_well(core: str, tmp_path: Path) -> None:
    if core == "library" and library.fault():
        pytest.skip(library.fault())
    assert ran(core, tmp_path)[-1] == "done"


@pytest.mark.thorough
def test_both_give_the_same_bits(tmp_path: Path) -> None:
    if library.fault():
        pytest.skip(library.fault())
    assert ran("library", tmp_path) == ran("jit", tmp_path)
