"""Many worlds at once, by their number and by threads, beside EnvPool; a second thread's worth.

A loop that only computes says how much more threads are worth on this machine at the same time.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats
from dynenvs.registration import ENVIRONMENTS
from dynenvs.simulation.threads import available_threads
from studies.bench.peers import peer
from studies.bench.race import FEW, Case, Maker, Race, Row, Settings, System

SIZES = tuple(4**k for k in range(7))  # worlds: 1 to 4,096
DRAWN = 16  # batches of actions, used again and again
RECORDED = 200  # batches of an expert's actions, from the start of an episode
COMPUTED = 100_000  # rounds of the computing loop in a call
FREE_CORE = 1.5  # what a second thread gives the pure loop at least, where a second core is free
BUSY = "No second core was free during this race: it says nothing of threads."
PEER_WORLDS = 1024
# Environments with options of theirs: every contact that the model allows
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "dynenvs/Quadruped-v0, legs touch each other": (
        "dynenvs/Quadruped-v0",
        {"self_collision": True},
    )
}
# EnvPool's environments, and ours that race them
PEERS = {
    "Walker2d-v5": ("dynenvs/PlanarHumanoid-v0", "dynenvs/PlanarQuadruped-v0"),
    "Humanoid-v5": ("dynenvs/Humanoid-v0",),
    "Ant-v5": ("dynenvs/Quadruped-v0", *VARIANTS),
}

Batch = Callable[[str, int, int], System]


def cases(settings: Settings) -> list[Case]:
    """A race of sizes for each environment and actor, and one for each peer."""
    sizes = (1, 64) if settings.quick else SIZES
    counts = sorted({1, available_threads()})
    plans: list[tuple[str, str, Batch]] = []
    for name in ENVIRONMENTS:
        plans += [
            (name, "random actions", _random),
            (name, "expert's actions, recorded", _replay),
            (name, "expert acts", _expert),
        ]
    plans += [(name, "EnvPool, random actions", _pool) for name in PEERS]
    if settings.quick:
        plans = [plans[0], plans[1], plans[-2]]
    return [_sizes_race(*plan, sizes, counts) for plan in plans]


def peer_cases(settings: Settings) -> list[Case]:
    """A race beside each of EnvPool's environments."""
    counts = sorted({1, available_threads()})
    plans = list(PEERS.items())
    if settings.quick:
        plans = [(pool, tuple(name for name in names if name in FEW)) for pool, names in plans[:1]]
    size = 64 if settings.quick else PEER_WORLDS
    return [_peer_race(pool, names, size, counts) for pool, names in plans]


def _peer_race(pool: str, names: tuple[str, ...], size: int, counts: list[int]) -> Race:
    """Our robots beside EnvPool's on as many threads, in one race."""
    makers: list[tuple[str, Maker]] = []
    for count in counts:
        makers.append((_peer_label(pool, count), partial(_pool, pool, size, count)))
    for name in names:
        for make, word in (
            (_random, "random actions"),
            (_replay, "expert's actions, recorded"),
            (_expert, "expert acts"),
        ):
            for count in counts:
                label = f"{name}, {word}, {_threads(count)}"
                makers.append((label, partial(make, name, size, count)))
    against = {
        label: _peer_label(pool, count)
        for count in counts
        for label, _ in makers
        if label.endswith(_threads(count))
    }
    notes = [
        'Ratio: in environment steps, to EnvPool on as many threads. "Recorded" replays what the '
        "expert did from the same seeds, so that it is the environments' own speed while they "
        'walk; "expert acts" has the controller\'s time in it as well. Resets are part of the time.'
    ]
    title = f"Batch of {_worlds(size)} beside EnvPool's {pool}"
    return Race("peers", title, "world step", makers, notes, conclude=_simulated, against=against)


def _peer_label(pool: str, count: int) -> str:
    return f"{pool}, EnvPool, random actions, {_threads(count)}"


def _simulated(rows: list[Row]) -> list[str]:
    """The ratios in simulated seconds: control periods differ."""
    periods = {row.period for row in rows if "EnvPool" in row.name}
    if len(periods) != 1:
        return []  # EnvPool did not run
    (period,) = periods
    each = [
        f"{row.name} {row.ratio * row.period / period:.1f}"
        for row in rows
        if row.period and period and "EnvPool" not in row.name
    ]
    return ["The same ratios in simulated seconds: " + "; ".join(each) + "."]


def thread_cases(settings: Settings) -> list[Case]:
    """What a second thread is worth beside what it gives a pure compute loop."""
    sizes = (256,) if settings.quick else (256, 1024, 4096)
    names = FEW[:1] if settings.quick else ENVIRONMENTS
    many = min(2, available_threads())
    if many < 2:
        return []
    found: list[Case] = []
    for name in names:
        for actor, word in ((_random, "random actions"), (_expert, "expert acts")):
            makers: list[tuple[str, Maker]] = []
            for count in (1, many):
                makers.append((f"pure loop, {_threads(count)}", partial(_pure, count)))
            for size in sizes:
                for count in (1, many):
                    label = f"{size} worlds, {_threads(count)}"
                    makers.append((label, partial(actor, name, size, count)))
            title = f"A second thread: {name}, {word}"
            notes = [
                "The pure loop is arithmetic on registers, on plain Python threads; its operation "
                "is a round of the loop, that of a batch a world step. Ratio: to one thread."
            ]
            against = {label: label.replace(_threads(many), _threads(1)) for label, _ in makers}
            conclude = partial(_worth, sizes)
            found.append(
                Race(
                    "threads",
                    title,
                    "operation",
                    makers,
                    notes,
                    conclude=conclude,
                    against=against,
                )
            )
    return found


def _sizes_race(
    name: str, word: str, make: Batch, sizes: tuple[int, ...], counts: list[int]
) -> Race:
    makers: list[tuple[str, Maker]] = [
        (f"{_worlds(size)}, {_threads(count)}", partial(make, name, size, count))
        for size in sizes
        for count in counts
    ]
    notes = ["Resets are part of the time. Ratio: to one thread on as many worlds."]
    title = f"Batch: {name}, {word}"
    against = {
        f"{_worlds(size)}, {_threads(count)}": f"{_worlds(size)}, {_threads(counts[0])}"
        for size in sizes
        for count in counts
    }
    return Race(
        "batch", title, "world step", makers, notes, x=("worlds", "threads"), against=against
    )


def _worlds(size: int) -> str:
    return f"{size} world{'s' if size > 1 else ''}"


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _worth(sizes: tuple[int, ...], rows: list[Row]) -> list[str]:
    """The gain of a second thread over that of the pure loop, turn by turn."""
    samples = {row.name: row.samples for row in rows}

    def gain(what: str) -> list[float]:
        one, two = samples[f"{what}, 1 thread"], samples[f"{what}, 2 threads"]
        return [b / a for a, b in zip(one, two, strict=True)]

    pure = gain("pure loop")
    sentences = [f"A second thread gives the pure loop x {statistics.median(pure):.2f}."]
    for size in sizes:
        mine = gain(f"{size} worlds")
        worth = statistics.median(a / b for a, b in zip(mine, pure, strict=True))
        sentences.append(
            f"{size} worlds: x {statistics.median(mine):.2f}, {worth:.2f} of the pure loop's."
        )
    if statistics.median(pure) < FREE_CORE:
        sentences.append(BUSY)
    return [" ".join(sentences)]


def _make(name: str, size: int, threads: int) -> Any:
    """Worlds of an environment or of a variant."""
    env_id, options = VARIANTS.get(name, (name, {}))
    return gym.make_vec(env_id, num_envs=size, num_threads=threads, **options)


def _facts(size: int, threads: int) -> dict[str, Any]:
    return {"worlds": size, "threads": threads}


def _random(name: str, size: int, threads: int) -> System:
    """Steps of all worlds under random actions."""
    envs = _make(name, size, threads)
    rng = np.random.default_rng(0)
    shape = (DRAWN, *(envs.action_space.shape or ()))
    actions = rng.uniform(-1, 1, shape).astype(np.float32)
    envs.reset(seed=0)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            envs.step(actions[at % DRAWN])
            at += 1

    return System(run, size, envs.unwrapped.task.dt, _facts(size, threads), envs.close)


@cache
def _recorded(name: str, size: int) -> Floats:
    """What the expert does in all worlds after `reset(seed=0)`, shape (RECORDED, size, nu)."""
    envs = _make(name, size, 1)
    acting = Acting(reference_controller(envs), size)
    observations, _ = envs.reset(seed=0)
    actions = []
    for _ in range(RECORDED):
        actions.append(np.array(acting.act(observations)))
        observations, _, fell, over, _ = envs.step(actions[-1])
        acting.note(fell | over)
    envs.close()
    return np.array(actions)


def _replay(name: str, size: int, threads: int) -> System:
    """Steps of all worlds under an expert's recorded actions: the same bits, without its time."""
    envs = _make(name, size, threads)
    actions = _recorded(name, size)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at % RECORDED == 0:
                envs.reset(seed=0)
            envs.step(actions[at % RECORDED])
            at += 1

    return System(run, size, envs.unwrapped.task.dt, _facts(size, threads), envs.close)


def _expert(name: str, size: int, threads: int) -> System:
    """Steps of all worlds under the expert; its prediction for the batch is part of the time."""
    envs = _make(name, size, threads)
    acting = Acting(reference_controller(envs), size)
    observations, _ = envs.reset(seed=0)

    def run(count: int) -> None:
        nonlocal observations
        for _ in range(count):
            observations, _, fell, over, _ = envs.step(acting.act(observations))
            acting.note(fell | over)

    return System(run, size, envs.unwrapped.task.dt, _facts(size, threads), envs.close)


def _pool(name: str, size: int, threads: int) -> System:
    """EnvPool's synchronous steps under random actions."""
    envs = peer("envpool").make(
        name, env_type="gymnasium", num_envs=size, num_threads=threads, seed=0
    )
    space = envs.action_space
    rng = np.random.default_rng(0)
    actions = rng.uniform(space.low, space.high, (DRAWN, size, *space.shape))
    envs.reset()
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            envs.step(actions[at % DRAWN])
            at += 1

    period = {"Walker2d-v5": 0.008, "Humanoid-v5": 0.015, "Ant-v5": 0.05}[name]
    return System(run, size, period, _facts(size, threads), envs.close)


@kernel
def _compute(count: int, out: Floats, at: int) -> None:
    """Arithmetic on registers: nothing that threads could wait for."""
    x = 0.5
    for _ in range(count):
        x = 1.0000001 * x + 1e-9 / (1.0 + x * x)
    out[at] = x


def _pure(threads: int) -> System:
    """The computing loop on so many threads at once."""
    out = np.zeros(8 * threads)
    _compute(1, out, 0)

    def run(count: int) -> None:
        others = [
            threading.Thread(target=_compute, args=(count * COMPUTED, out, 8 * number))
            for number in range(1, threads)
        ]
        for other in others:
            other.start()
        _compute(count * COMPUTED, out, 0)
        for other in others:
            other.join()

    return System(run, COMPUTED * threads, None, {"worlds": "-", "threads": threads})
