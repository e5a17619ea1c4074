"""Batches of other people's robots beside mjbatch, which steps MuJoCo's worlds on C++ threads.

mjbatch pins a MuJoCo of its own, so it runs in an environment of its own, which takes its turns as
a second process:

    python -m venv other && other/bin/pip install mjbatch
    DYNENVS_MJBATCH=other/bin/python python -m studies bench --cases mjbatch
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from studies.bench.peers import MissingPeer, peer
from studies.bench.race import Case, Race, Settings, System
from studies.bench.robot_files import robot_files
from studies.bench.robot_race import completed, drawn

WORLDS, HELD, CALLS = 64, 10, 20  # physics steps in a call; calls before all begin anew
INTERPRETER = "DYNENVS_MJBATCH"
ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"

# Reads how many calls, answers when they are done
CHILD = """
import sys
import mujoco, numpy as np
from mjbatch import Batch
worlds, held, calls = (int(word) for word in sys.argv[2:])
model = mujoco.MjModel.from_xml_path(sys.argv[1] + "/robot.xml")
controls = np.load(sys.argv[1] + "/controls.npy")
batch, at = Batch(model, num_sims=worlds, num_threads=1), 0
ctrl = batch.bind("ctrl")
for line in sys.stdin:
    for _ in range(int(line)):
        if at % calls == 0:
            batch.reset()
        ctrl[:] = controls[at % len(controls)]
        batch.step(nstep=held)
        at += 1
    print("done", flush=True)
"""


def cases(settings: Settings) -> list[Case]:
    """One race a robot: three of Gymnasium's, two of the `mjlab` wheel if it is there."""
    files = [ASSETS / f"{name}.xml" for name in ("humanoid", "ant", "half_cheetah")]
    with suppress(MissingPeer):  # `bench --cases robots` says how to get the wheel
        files += [file for file in robot_files("mjlab") if file.stem in ("g1", "go1")]
    return [_race(file) for file in (files[:1] if settings.quick else files)]


def _race(file: Path) -> Race:
    notes = [
        f"{WORLDS} worlds, one thread, {CALLS * HELD} steps from the file's pose under random "
        "controls. Euler's rule in both; MuJoCo's contact is soft. Ratio: to mjbatch."
    ]
    makers = [("mjbatch", partial(_theirs, file)), ("dynenvs", partial(_ours, file))]
    title = f"Batches of others' robots: {file.stem}"
    return Race("mjbatch", title, "world step", makers, notes)


def _random(model: Any) -> Any:
    """Controls of all worlds for each call, shape (CALLS, WORLDS, nu)."""
    return drawn(model, CALLS * WORLDS).reshape(CALLS, WORLDS, model.nu)


def _ours(file: Path) -> System:
    from dynenvs.model.importing import load
    from dynenvs.simulation.worlds import Worlds

    spec = completed(file)
    model = spec.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # docs/robots.md lists what is left out of a file
        worlds = Worlds(load(spec.to_xml()), WORLDS)
    controls, start, at = _random(model), np.array(model.qpos0), 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at % CALLS == 0:
                worlds.reset(start)
            worlds.step(control=controls[at % CALLS], steps=HELD)
            at += 1

    return System(run, WORLDS * HELD, worlds.timestep)


def interpreter(environment: Mapping[str, str]) -> str:
    """The Python that has mjbatch.

    Raises:
        MissingPeer: nobody said which.
    """
    if INTERPRETER not in environment:
        raise MissingPeer(f"set {INTERPRETER} to the Python of an environment that has mjbatch")
    return environment[INTERPRETER]


def _theirs(file: Path) -> System:
    peer("mujoco")
    python = interpreter(os.environ)
    folder = tempfile.TemporaryDirectory()
    spec = completed(file)
    model = spec.compile()
    (Path(folder.name) / "robot.xml").write_text(spec.to_xml(), encoding="utf-8")
    np.save(Path(folder.name) / "controls.npy", _random(model))
    words = [folder.name, str(WORLDS), str(HELD), str(CALLS)]
    child = subprocess.Popen(
        [python, "-c", CHILD, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(count: int) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        print(count, file=child.stdin, flush=True)
        if child.stdout.readline() != "done\n":
            raise MissingPeer(f"mjbatch ended with code {child.wait()}")

    def close() -> None:
        child.kill()
        child.communicate()
        folder.cleanup()

    return System(run, WORLDS * HELD, model.opt.timestep, close=close)
