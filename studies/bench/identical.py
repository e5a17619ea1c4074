"""The identical model: one XML, one physics step, one control period, in three simulators.

`dynenvs/MujocoAnt-v5` and its kin beside the same environments of EnvPool and Gymnasium, under
random actions and a trained policy's, and a bare step beside `mj_step`.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.simulation.threads import available_threads
from studies.bench.driven import Driven
from studies.bench.peers import peer
from studies.bench.race import Case, Maker, Race, Settings, System

NAMES = ("Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Walker2d-v5")
DRAWN = 16  # batches of actions, used again and again
WORLDS = 256
HELD, CALLS = 50, 10  # physics steps in a call of the bare race; calls before it begins anew
PERIODS = {"Ant-v5": 0.05, "HalfCheetah-v5": 0.05, "Hopper-v5": 0.008, "Humanoid-v5": 0.015}
EULER, RK4 = "mj_step, Euler", "mj_step, RK4"


def cases(settings: Settings) -> list[Case]:
    """Three races a robot: environments under random actions and a policy's, and bare steps."""
    names = NAMES[1:2] if settings.quick else NAMES
    return [race for name in names for race in (_environments(name), _trained(name), _steps(name))]


def _environments(name: str) -> Race:
    """Control steps of many worlds; Gymnasium has no threads, and steps one world."""
    makers: list[tuple[str, Maker]] = []
    against = {}
    for threads in sorted({1, available_threads()}):
        word = f"{threads} thread{'s' if threads > 1 else ''}"
        makers.append((f"EnvPool, {word}", partial(_pool, name, threads)))
        makers.append((f"dynenvs, {word}", partial(_ours, name, WORLDS, threads)))
        against[f"dynenvs, {word}"] = f"EnvPool, {word}"
    makers.append(("Gymnasium, one world", partial(_gymnasium, name)))
    makers.append(("dynenvs, one world", partial(_single, name)))
    against["dynenvs, one world"] = "Gymnasium, one world"
    notes = [
        f"Random actions, {WORLDS} worlds but for the last two rows; resets are part of the time. "
        "Ratio: to EnvPool on as many threads; of one world, to Gymnasium. The XML's integrator is "
        "Euler's for HalfCheetah and RK4, with four evaluations a step, for the others; dynenvs "
        "steps all by the semi-implicit Euler rule."
    ]
    title = f"Identical model: {name}"
    return Race("identical", title, "environment step", makers, notes, against=against)


def _trained(name: str) -> Race:
    """The same under a policy, whose time is taken off."""
    makers: list[tuple[str, Maker]] = []
    against = {}
    for threads in sorted({1, available_threads()}):
        word = f"{threads} thread{'s' if threads > 1 else ''}"
        makers.append((f"EnvPool, {word}", partial(_pool, name, threads, trained=True)))
        makers.append((f"dynenvs, {word}", partial(_ours, name, WORLDS, threads, trained=True)))
        against[f"dynenvs, {word}"] = f"EnvPool, {word}"
    notes = [
        f"A trained linear policy, {WORLDS} worlds; resets are part of the time, the policy is "
        "not. It is the same one in both, trained in dynenvs, and answers what it sees there."
    ]
    title = f"Identical model, trained policy: {name}"
    return Race("identical", title, "environment step", makers, notes, against=against)


def _steps(name: str) -> Race:
    """Physics steps of one world, from the file's pose, under random torques held for 50 steps."""
    makers: list[tuple[str, Maker]] = [
        (EULER, partial(_mujoco, name, "mjINT_EULER")),
        (RK4, partial(_mujoco, name, "mjINT_RK4")),
        ("dynenvs", partial(_bare, name)),
    ]
    notes = ["One world, one thread. Ratio: to mj_step with Euler's rule at the same step."]
    return Race(
        "identical", f"Identical model, bare step: {name}", "step", makers, notes, unit="us"
    )


def _task(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gym.make(f"dynenvs/Mujoco{name}").unwrapped


def _drawn(space: Any, size: int) -> Any:
    """Random actions of as many worlds, shape (DRAWN, size, nu)."""
    rng = np.random.default_rng(0)
    shape = (DRAWN, size, *space.shape)
    return rng.uniform(space.low, space.high, shape).astype(np.float32)


def _run(envs: Any, actions: Any, ends: bool) -> Any:
    """A loop of steps; `ends`: whether to reset where an episode ends."""
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            outcome = envs.step(actions[at % DRAWN])
            at += 1
            if ends and (outcome[2] or outcome[3]):
                envs.reset()

    return run


def _ours(name: str, size: int, threads: int, trained: bool = False) -> System:
    envs: Any = gym.make_vec(f"dynenvs/Mujoco{name}", size, num_threads=threads)
    envs.reset(seed=0)
    space, period = envs.unwrapped.single_action_space, envs.unwrapped.task.dt
    return _batch(envs, space, period, name, threads, trained)


def _pool(name: str, threads: int, trained: bool = False) -> System:
    options = {"num_envs": WORLDS, "num_threads": threads, "seed": 0}
    envs = peer("envpool").make(name, env_type="gymnasium", **options)
    envs.reset()
    return _batch(envs, envs.action_space, PERIODS.get(name, 0.008), name, threads, trained)


def _batch(envs: Any, space: Any, period: float, name: str, threads: int, trained: bool) -> System:
    """Environments under random actions or the policy of the task `name`."""
    size = envs.num_envs if hasattr(envs, "num_envs") else WORLDS
    facts = {"worlds": size, "threads": threads}
    if trained:
        driven = Driven(envs, space, name)
        return System(driven.run, size, period, facts, envs.close, driven.spent)
    run = _run(envs, _drawn(space, size), False)
    return System(run, size, period, facts, envs.close)


def _gymnasium(name: str) -> System:
    peer("mujoco")
    env: Any = gym.make(name)
    env.reset(seed=0)
    run = _run(env, _drawn(env.action_space, 1)[:, 0], True)
    return System(run, 1, env.unwrapped.dt, {"worlds": 1, "threads": 1}, env.close)


def _single(name: str) -> System:
    env: Any = gym.make(f"dynenvs/Mujoco{name}")
    env.reset(seed=0)
    run = _run(env, _drawn(env.action_space, 1)[:, 0], True)
    return System(run, 1, env.unwrapped.dt, {"worlds": 1, "threads": 1}, env.close)


def _mujoco(name: str, integrator: str) -> System:
    """`mj_step`."""
    mujoco = peer("mujoco")
    task = _task(name).task
    path = Path(gym.__file__).parent / "envs" / "mujoco" / "assets" / task.xml_file
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
    data, actions = mujoco.MjData(model), _drawn(task.action_space, 1)[:, 0]
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at % CALLS == 0:
                mujoco.mj_resetData(model, data)
            data.ctrl[:] = actions[at % DRAWN]
            mujoco.mj_step(model, data, HELD)
            at += 1

    return System(run, HELD, model.opt.timestep)


def _bare(name: str) -> System:
    """The same with `Worlds.step`, forces computed before."""
    from dynenvs.model.actuators import actuator_forces
    from dynenvs.simulation.worlds import Worlds

    task = _task(name).task
    worlds, actions = Worlds(task.model, 1), _drawn(task.action_space, 1)
    forces = [actuator_forces(task.model, a, worlds.q, worlds.v) for a in actions]
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at % CALLS == 0:
                worlds.reset()
            worlds.step(forces[at % DRAWN], HELD)
            at += 1

    return System(run, HELD, worlds.timestep)
