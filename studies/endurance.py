"""A million steps of everything: memory flat, nothing failed, what is degraded or beyond told.

    python -m studies.endurance --steps 1000000                     # every environment
    python -m studies.endurance --steps 1000000 --robots a.xml b.xml  # other people's robots
    python -m studies.endurance --steps 100000 --scenes               # growth and resets

A line each: steps (of worlds), the memory of the process when a tenth was done and at the end, and
the sums of its worlds' counters.  Robots act at random, and are audited in each hundredth step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import dynenvs
from dynenvs import ModelBuilder, World, Worlds, WorldsError, free
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.model.description import Description
from dynenvs.registration import ENVIRONMENTS, MUJOCO

COUNTERS = "degraded", "failed", "overflow", "sunk", "coarse", "beyond"
MOTORS = 0.3  # of their effort limits, or so many newton metres where there is none
EPISODE = 500  # steps after which a robot begins anew


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--envs", nargs="*", default=[])
    parser.add_argument("--robots", nargs="*", default=[])
    parser.add_argument("--scenes", action="store_true")
    given = parser.parse_args()
    names = given.envs
    if not (names or given.robots or given.scenes):
        names = [*ENVIRONMENTS, *MUJOCO]
    for name in names:
        say(name, run_environment(name, given.worlds), given.steps)
    for path in given.robots:
        say(path, run_robot(path, given.worlds), given.steps)
    if given.scenes:
        say("heaps that grow", run_heaps(), given.steps)
        say("chains of loops", run_chains(), given.steps)


def say(name: str, run: Iterator[tuple[int, Counter[str]]], steps: int) -> None:
    """Run until so many steps are done, and print a line."""
    begun, early, done, found = time.perf_counter(), 0.0, 0, Counter[str]()
    try:
        for count, new in run:
            done, found = done + count, found + new
            if not early and done >= steps // 10:
                early = memory()
            if done >= steps:
                break
        took = 1e6 * (time.perf_counter() - begun) / max(done, 1)
        told = ", ".join(f"{key} {found[key]}" for key in (*COUNTERS, "refused"))
        line = f"{done} steps, {took:.1f} us each, {early:.0f} MB, then {memory():.0f} MB; {told}"
    except (ValueError, OSError, ImportError) as error:
        line = f"not run: {str(error).splitlines()[0][:150]}"
    print(f"{name}: {line}", flush=True)


def memory() -> float:
    """Of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def run_environment(name: str, count: int) -> Iterator[tuple[int, Counter[str]]]:
    """Control steps of a batch, under the expert, or random actions where there is none."""
    envs: Any = gym.make_vec(name, num_envs=count).unwrapped
    controller = reference_controller(envs) if name in ENVIRONMENTS else None
    observations, _ = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    shape, low, high = envs.action_space.shape, envs.action_space.low, envs.action_space.high
    own = envs.worlds if name in ENVIRONMENTS else envs._worlds.worlds
    before = _status(own)
    while True:
        if controller is None:
            actions = rng.uniform(low, high, shape).astype(np.float32)
        else:
            actions = controller.predict(observations)[0]
        observations, rewards, _, _, _ = envs.step(actions)
        assert np.isfinite(observations).all()
        assert np.isfinite(rewards).all()
        after = _status(own)
        # Of a world that has begun anew the counters begin anew
        new = {}
        for key, now in after.items():
            new[key] = int(np.where(now < before[key], now, now - before[key]).sum())
        before = after
        yield count, Counter(new)


def _status(worlds: Any) -> dict[str, Any]:
    rows = worlds.states if hasattr(worlds, "states") else worlds.get_state()
    return {key: np.array(rows["status"][key]) for key in COUNTERS}


def run_robot(path: str, count: int) -> Iterator[tuple[int, Counter[str]]]:
    """A robot from a file on a floor, its motors at random."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder.of(
        with_motors(dynenvs.load(path, floating=path.endswith(".urdf")).description)
    )
    if not any(geom.type == "half_space" for geom in builder.description().geoms):
        builder.half_space("the floor beneath", position=(0.0, 0.0, -1.0))
    worlds = Worlds(builder.build(), count, audit_every=100)
    first = within_stops(worlds)
    worlds.reset(first)
    limit = worlds.model.effort_limit[worlds.model.actuated]
    strength = MOTORS * np.where(np.isfinite(limit), limit, 1.0)
    while True:
        refused = 0
        for _ in range(EPISODE // 10):
            tau = rng.uniform(-1.0, 1.0, (count, worlds.model.nu)) * strength
            try:
                worlds.step(tau, steps=10)
            except WorldsError as error:
                refused += len(error.worlds)
                mask = np.zeros(count, np.bool_)
                mask[error.worlds] = True
                worlds.reset(first, mask=mask)
        found = Counter({key: int(worlds.diagnostics[key].sum()) for key in COUNTERS})
        worlds.reset(first)
        yield count * EPISODE, found + Counter(refused=refused)


def with_motors(robot: Description) -> Description:
    """The robot; where its file has no motors, with one at each hinge and slide.

    Without any all worlds would do the same: fall over, and lie.
    """
    if ModelBuilder.of(robot).build().nu:
        return robot
    bodies = [
        replace(body, joint=replace(body.joint, actuated=True))
        if body.joint.type in ("revolute", "prismatic")
        else body
        for body in robot.bodies
    ]
    return replace(robot, bodies=tuple(bodies))


def within_stops(worlds: Worlds) -> Any:
    """Where worlds begin, each joint within its stops.

    Many files' own pose is beyond them (a quadruped's knee at 0 rad, its stops from -2.8 to -0.9):
    the steps that bring it back there count as degraded, and tell nothing of what follows.
    """
    model, q = worlds.model, worlds.q[0].copy()
    for at, low, high in zip(model.dofs["q_at"], model.lower, model.upper, strict=True):
        if np.isfinite(low) or np.isfinite(high):
            q[at] = np.clip(q[at], low, high)
    return q


def run_heaps() -> Iterator[tuple[int, Counter[str]]]:
    """Heaps of more and more boxes, each with more room than it began with, built anew."""
    for number in range(sys.maxsize):
        builder = ModelBuilder().half_space("floor")
        for i in range(5 + number % 20):
            joint = free(position=(0.05 * (i % 3), 0.0, 0.1 + 0.21 * i))
            builder.body(f"b{i}", joint=joint, density=500.0)
            builder.box(f"b{i}", f"b{i}", half_size=(0.1, 0.1, 0.1))
        world = World(builder.build(), audit_every=10)
        for _ in range(2):
            world.reset()
            world.step(steps=100)
            found = world.diagnostics
            yield 100, Counter({key: int(getattr(found, key)) for key in COUNTERS})


def run_chains() -> Iterator[tuple[int, Counter[str]]]:
    """Chains of loose links, each pinned to the next by a loop, that swing down onto a floor."""
    for number in range(sys.maxsize):
        count, length = 2 + number % 8, 0.2
        builder = ModelBuilder().half_space("floor", position=(0, 0, -0.37 * length * count))
        for i in range(count):
            joint = free(position=(length * (i + 0.5), 0, 0))
            builder.body(f"b{i}", joint=joint, density=1000.0)
            ends = (-0.4 * length, 0, 0), (0.4 * length, 0, 0)
            builder.capsule(f"b{i}", f"b{i}", start=ends[0], end=ends[1], radius=0.02)
            before, at = (f"b{i - 1}", (0.5 * length, 0, 0)) if i else ("world", (0, 0, 0))
            back = (-0.5 * length, 0, 0)
            if i:  # they bend where their round ends would touch
                builder.exclude(before, f"b{i}")
            builder.close(f"pin {i}", before, f"b{i}", position_a=at, position_b=back)
        world = World(builder.build(), audit_every=100)
        for _ in range(2):
            world.reset()
            world.step(steps=200)
            found = world.diagnostics
            yield 200, Counter({key: int(getattr(found, key)) for key in COUNTERS})


if __name__ == "__main__":
    main()
