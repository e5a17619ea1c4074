"""No leak: memory in use over ten million steps, of a single environment and of a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np

from studies.bench.peers import MissingPeer
from studies.bench.race import Case, Result, Row, Settings, Tick, timed

NAME = "dynenvs/PlanarHumanoid-v0"
STEPS = 10_000_000
WORLDS = 1024
MARKS = 10  # readings of the memory, the first one after a tenth of the steps


def resident() -> int:
    """Memory of this process that is in use [bytes]; its peak where the system tells no more.

    Raises:
        MissingPeer: the system tells neither.
    """
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * _page()
    try:
        import resource
    except ImportError as error:
        raise MissingPeer("this system does not tell a process' memory") from error
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _page() -> int:
    import resource

    return resource.getpagesize()


def cases(settings: Settings) -> list[Case]:
    """One case; it is no race, each row is one long run."""
    return [Endurance()]


class Endurance:
    """Ten million steps of each, with readings of the memory on the way."""

    family, title = "memory", f"Memory over ten million steps, {NAME}"

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Step on and on under random actions, resets included."""
        steps = STEPS // 1000 if settings.quick else STEPS
        rows, skipped = [], []
        for name, make, size in (("single", _single, 1), (f"{WORLDS} worlds", _batch, WORLDS)):
            try:
                say = partial(tick, f"{self.title}: {name}")
                rows.append(_endure(name, make(), size, steps, say))
            except MissingPeer as error:
                skipped.append(f"{name}: {error}")
        note = "Random actions, resets included. Growth: from a tenth of the steps to their end."
        return Result("memory", self.title, "world step", rows, skipped, [note])


def _endure(
    name: str, run: Callable[[int], None], size: int, steps: int, say: Callable[[], None]
) -> Row:
    part = -(-steps // (MARKS * size))
    marks, rates, cores = [], [], []
    for _ in range(MARKS):
        say()
        seconds, used = timed(run, part)
        rates.append(part * size / seconds)
        cores.append(used / seconds)
        marks.append(resident())
    facts = {
        "steps": f"{MARKS * part * size:,}",
        "in use": f"{marks[0] / 1e6:.1f} MB",
        "growth": f"{(marks[-1] - marks[0]) / 1e3:+,.0f} kB",
        "marks": marks,
    }
    return Row(name, rates, [1.0] * MARKS, None, facts, cores)


def _single() -> Callable[[int], None]:
    env = gym.make(NAME)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(1000)]
    env.reset(seed=0)

    def run(count: int) -> None:
        for i in range(count):
            _, _, terminated, truncated, _ = env.step(actions[i % 1000])
            if terminated or truncated:
                env.reset()

    return run


def _batch() -> Callable[[int], None]:
    envs = gym.make_vec(NAME, num_envs=WORLDS)
    shape = (16, *(envs.action_space.shape or ()))
    actions = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    envs.reset(seed=0)

    def run(count: int) -> None:
        for i in range(count):
            envs.step(actions[i % 16])

    return run
