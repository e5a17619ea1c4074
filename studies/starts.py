"""From nothing to a first step: seconds of the wall and of the processors, beside other libraries.

    pip wheel . --no-deps -w dist                            # five minutes on two cores
    python -m studies.starts dist/*.whl                   # a table, in ten minutes
    python -m studies.starts dist/*.whl --only pip,envpool

What is to be installed is downloaded before, and not counted.  Then each way begins with an empty
folder as home, cache and place: "install" is a new environment and pip (or uv) into it, "first"
and "second" are a process that makes a humanoid, resets it and steps it once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OURS = """
import gymnasium as gym, dynenvs
env = gym.make("dynenvs/Humanoid-v0"); env.reset(seed=0); env.step(env.action_space.sample())
"""
GYMNASIUM = """
import gymnasium as gym
env = gym.make("Humanoid-v5"); env.reset(seed=0); env.step(env.action_space.sample())
"""
ENVPOOL = """
import envpool, numpy as np
env = envpool.make_gymnasium("Humanoid-v5", num_envs=1)
env.reset(); env.step(np.zeros((1, *env.action_space.shape)))
"""
MJBATCH = """
import mujoco
from mjbatch import Batch
from pathlib import Path
import importlib.util
folder = Path(importlib.util.find_spec("gymnasium").origin).parent
model = mujoco.MjModel.from_xml_path(str(folder / "envs/mujoco/assets/humanoid.xml"))
batch = Batch(model, num_sims=1, num_threads=1); batch.reset(); batch.step(nstep=5)
"""
BUILD = ("setuptools>=77", "wheel", "pip")


class Way(NamedTuple):
    """How a library comes to its first step."""

    packages: tuple[str, ...]
    code: str
    install: Callable[[Place], None]


class Place(NamedTuple):
    """An empty folder, and where the packages lie."""

    folder: Path
    wheels: Path
    wheel: Path
    packages: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        """The interpreter of the environment there."""
        return str(self.folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")

    def run(self, *command: str) -> None:
        """Run a command in an empty home.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        home = {"HOME": self.folder, "XDG_CACHE_HOME": self.folder / "cache"}
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheels, "UV_OFFLINE": "1"}
        uv = {"UV_FIND_LINKS": self.wheels, "UV_NO_INDEX": "1", "UV_CACHE_DIR": self.folder / "uv"}
        given = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        given |= {name: str(value) for name, value in (home | offline | uv).items()}
        subprocess.run(command, cwd=self.folder, env=given, check=True, capture_output=True)


def by_pip(place: Place) -> None:
    place.run(sys.executable, "-m", "venv", "venv")
    place.run(place.python, "-m", "pip", "install", *place.packages)


def by_uv(place: Place) -> None:
    """What `uvx` and `uv run` do before they start: an environment, and packages linked into it."""
    place.run("uv", "venv", "--python", sys.executable, "venv")
    place.run("uv", "pip", "install", "--python", place.python, *place.packages)


def by_clone(place: Place) -> None:
    place.run("git", "clone", "--quiet", str(ROOT), "clone")
    place.run(sys.executable, "-m", "venv", "venv")
    place.run(place.python, "-m", "pip", "install", "-e", "clone[jit]")


WAYS = {
    "pip": ("dynenvs, the wheel by pip", Way(("dynenvs",), OURS, by_pip)),
    "uv": ("dynenvs, the wheel by uv", Way(("dynenvs",), OURS, by_uv)),
    "clone": ("dynenvs, a clone, compiled there", Way(("dynenvs[jit]",), OURS, by_clone)),
    "gymnasium": ("Gymnasium, MuJoCo", Way(("gymnasium[mujoco]",), GYMNASIUM, by_pip)),
    "envpool": ("EnvPool", Way(("envpool",), ENVPOOL, by_pip)),
    "mjbatch": ("mjbatch, MuJoCo", Way(("mjbatch", "gymnasium"), MJBATCH, by_pip)),
}


def measured(act: Callable[[], None]) -> tuple[float, float]:
    """Seconds of the wall, and of the processors for all processes that it starts."""
    before, begin = os.times(), time.monotonic()
    act()
    after, end = os.times(), time.monotonic()
    spent = after.children_user - before.children_user
    return end - begin, spent + after.children_system - before.children_system


def measure(way: Way, wheels: Path, wheel: Path) -> list[tuple[float, float]]:
    """Of installing, of a first process and of a second one."""
    with tempfile.TemporaryDirectory() as folder:
        packages = tuple(str(wheel) if name == "dynenvs" else name for name in way.packages)
        place = Place(Path(folder), wheels, wheel, packages)
        found = [measured(lambda: way.install(place))]
        for _ in range(2):
            found.append(measured(lambda: place.run(place.python, "-c", way.code)))
    return found


def download(way: Way, wheels: Path, wheel: Path) -> None:
    """What it installs, all of it; pip's cache is asked first."""
    asked = [name.replace("dynenvs", str(wheel), 1) for name in way.packages]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheels)]
    subprocess.run([*pip, *asked, *BUILD], check=True)


def main() -> None:
    """The table, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="of dynenvs")
    parser.add_argument("--only", help="some of: " + ",".join(WAYS))
    given = parser.parse_args()
    chosen = given.only.split(",") if given.only else list(WAYS)
    print("| from nothing to a first step [s] | install | first | second | processors' seconds |")
    print("|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as wheels:
        for name in chosen:
            title, way = WAYS[name]
            if name == "uv" and shutil.which("uv") is None:
                print(f"| {title} | no uv here | | | |", flush=True)
                continue
            try:
                download(way, Path(wheels), given.wheel.absolute())
                found = measure(way, Path(wheels), given.wheel.absolute())
            except subprocess.CalledProcessError as error:
                last = (error.stderr or b"").decode().strip().splitlines()[-1:]
                print(f"| {title} | failed: {' '.join(last)} | | | |", flush=True)
                continue
            wall = " | ".join(f"{seconds:.1f}" for seconds, _ in found)
            spent = ", ".join(f"{seconds:.1f}" for _, seconds in found)
            print(f"| {title} | {wall} | {spent} |", flush=True)


if __name__ == "__main__":
    main()
