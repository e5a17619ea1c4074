"""What the Python around compiled code costs: single environments, `World.step`, vector ones.

Environments stand beside Gymnasium's by `gym.make` with both's wrappers, under random actions,
resets included.  Times are the thread's own: what others take of the processor is not in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from unittest import mock

import gymnasium as gym
import numpy as np

from dynenvs.jit.compiled import Call
from dynenvs.registration import ENVIRONMENTS, MUJOCO
from dynenvs.simulation.world import World
from studies.bench.peers import peer
from studies.bench.race import FEW, Case, Maker, Race, Settings, System

DRAWN = 1000  # actions, used again and again
WORLDS, LOOKS = 256, 100  # of a vector environment; steps in which its compiled part is measured
OURS = "dynenvs/Humanoid-v0"
SEED = 0
FALL = 50  # steps of a humanoid before it begins anew
MOST_FORCE = 15.0  # [N m]


def cases(settings: Settings) -> list[Case]:
    """A race a robot, one of steps, and one of vector environments."""
    if settings.quick:
        return [_beside("HalfCheetah-v5", "dynenvs/MujocoHalfCheetah-v5"), _vectors(FEW[:1])]
    pairs = [(name.removeprefix("dynenvs/Mujoco"), name) for name in MUJOCO]
    races = [_beside(*pair) for pair in (*pairs, ("Humanoid-v5", OURS))]
    return [*races, _world(), _vectors((*MUJOCO, *ENVIRONMENTS))]


def _beside(theirs: str, ours: str) -> Race:
    makers: list[tuple[str, Maker]] = [
        (theirs, partial(_single, theirs)),
        (ours, partial(_single, ours)),
    ]
    title = f"One environment by gym.make: {ours}"
    return Race("shell", title, "environment step", makers, unit="us")


def _world() -> Race:
    """`World.step` of humanoids beside the compiled call within."""
    makers: list[tuple[str, Maker]] = []
    against: dict[str, str] = {}
    for name in (OURS, "dynenvs/MujocoHumanoid-v5"):
        compiled, whole = f"{name}, compiled part", f"{name}, World.step"
        makers.append((compiled, partial(_step, name, True)))
        makers.append((whole, partial(_step, name, False)))
        against |= {whole: compiled, compiled: compiled}
    notes = [
        f"Falls of {FALL} steps from the environment's first pose under random torques. Ratio: of "
        "the speeds, to the compiled part's."
    ]
    return Race("shell", "World.step", "step", makers, notes, unit="us", against=against)


def _vectors(names: Sequence[str]) -> Race:
    makers: list[tuple[str, Maker]] = [(name, partial(_vector, name)) for name in names]
    notes = [
        f'{WORLDS} worlds, one thread, random actions. "Compiled" is the share of compiled calls '
        "in a step's time; what the MuJoCo tasks draw at the beginning of episodes, from NumPy's "
        "generators as Gymnasium does, is in the rest."
    ]
    against = {name: name for name in names}
    title = f"Vector environments of {WORLDS} worlds"
    return Race("shell", title, "environment step", makers, notes, unit="us", against=against)


def _waited() -> tuple[float, float]:
    """Wall-clock time in which this thread did not run."""
    return time.perf_counter() - time.thread_time(), 0.0


def _actions(space: Any) -> list[Any]:
    rng = np.random.default_rng(SEED)
    return list(rng.uniform(space.low, space.high, (DRAWN, *space.shape)).astype(np.float32))


def _loop(env: Any, ends: bool) -> Callable[[int], None]:
    """Steps under random actions; `ends`: whether to reset where an episode ends."""
    actions = _actions(env.action_space)
    env.reset(seed=SEED)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            outcome = env.step(actions[at % DRAWN])
            at += 1
            if ends and (outcome[2] or outcome[3]):
                env.reset()

    return run


def _single(name: str) -> System:
    if not name.startswith("dynenvs/"):
        peer("mujoco")
    env: Any = gym.make(name)
    return System(_loop(env, True), 1, env.unwrapped.dt, {}, env.close, _waited)


def _step(name: str, compiled: bool) -> System:
    """Steps of a world under torques that stay, or the compiled calls within these alone."""
    env: Any = gym.make(name).unwrapped
    env.reset(seed=SEED)
    places = env.worlds.states["q"] if hasattr(env, "worlds") else env.batch.worlds.q
    q, world = places[0].copy(), World(env.task.model)
    limit = np.minimum(world.model.effort_limit[world.model.actuated], MOST_FORCE)
    forces = limit * np.random.default_rng(SEED).uniform(-1, 1, world.model.nu)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at % FALL == 0:
                world.reset(q)
                world.step(forces, 0)
            call = world._call() if compiled else partial(world.step, forces)
            at += 1
            call()

    return System(run, 1, world.timestep, {}, env.close, _waited)


def _vector(name: str) -> System:
    """Steps of a vector environment, and how much of them is compiled."""
    envs: Any = gym.make_vec(name, WORLDS, num_threads=1)
    run = _loop(envs, False)
    run(LOOKS)
    call, spent = Call.__call__, 0.0

    def timed(self: Call) -> Any:
        nonlocal spent
        begin = time.thread_time()
        result = call(self)
        spent += time.thread_time() - begin
        return result

    with mock.patch.object(Call, "__call__", timed):
        begin = time.thread_time()
        run(LOOKS)
        share = spent / (time.thread_time() - begin)
    return System(
        run, WORLDS, facts={"compiled": f"{100 * share:.0f} %"}, close=envs.close, aside=_waited
    )
