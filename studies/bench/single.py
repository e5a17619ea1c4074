"""Single environments beside Gymnasium's, by `gym.make` with its default wrappers, resets included.

Actions are drawn, or recorded, beforehand.  Gymnasium's walkers integrate with RK4, four
evaluations a physics step; rows with MuJoCo's Euler stand beside them.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.registration import ENVIRONMENTS
from studies.bench.peers import peer
from studies.bench.race import FEW, Case, Maker, Race, Settings, System

DRAWN = 2000  # actions, used again and again
SEED = 0
PEERS = ("Walker2d-v5", "Humanoid-v5", "Ant-v5", "InvertedDoublePendulum-v5")
EULER = {"Walker2d-v5": "walker2d_v5.xml", "Humanoid-v5": "humanoid.xml", "Ant-v5": "ant.xml"}


def cases(settings: Settings) -> list[Case]:
    """One race of all environments."""
    makers: list[tuple[str, Maker]] = []
    for name in PEERS[:1] if settings.quick else PEERS:
        makers.append((name, partial(_random, partial(make_peer, name))))
        if name in EULER:
            euler = partial(make_peer, name, EULER[name])
            makers.append((f"{name}, Euler", partial(_random, euler)))
    for name in FEW if settings.quick else ENVIRONMENTS:
        ours = partial(gym.make, name)
        makers.append((name, partial(_random, ours)))
        makers.append((name + ", expert's actions", partial(_replay, ours)))
        makers.append((name + ", expert acts", partial(_expert, ours)))
    notes = [
        "Random actions are uniform and drawn beforehand; resets are part of the time. "
        '"Expert\'s actions" replays the recorded actions of the shipped expert from the same seed '
        '(environment alone, walking); "expert acts" includes its prediction. Contact is on in all '
        "but InvertedDoublePendulum-v5 and dynenvs/DoublePendulum-v0, which touch nothing.",
        "Control periods and robots differ: simulated seconds a second belong to the comparison. "
        'Euler rows are Gymnasium\'s own environment and model with `integrator="Euler"`. '
        "dynenvs' planar walkers are as Walker2d-v5 is; Quadruped-v0, Humanoid-v5 and Ant-v5 are "
        "spatial.",
    ]
    title = "Single environment, contact on"
    return [Race("single", title, "environment step", makers, notes)]


def make_peer(name: str, euler: str | None = None) -> gym.Env[Any, Any]:
    """Gymnasium's environment; `euler` is its model's file, to be integrated with Euler."""
    peer("mujoco")
    if euler is None:
        return gym.make(name)
    assets = peer("gymnasium.envs.mujoco").__file__
    text = (Path(assets).parent / "assets" / euler).read_text()
    if 'integrator="RK4"' not in text:
        raise RuntimeError(f"{euler} no longer asks for RK4: look at this row again")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / euler
        copy.write_text(text.replace('integrator="RK4"', 'integrator="Euler"'))
        return gym.make(name, xml_file=str(copy))


def facts(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Control period, physics step and integrator, as the row says them."""
    inner: Any = env.unwrapped
    if hasattr(inner, "task"):
        step, integrator = inner.task.timestep, "semi-implicit Euler, LCP"
    else:
        step = inner.model.opt.timestep
        integrator = ("Euler", "RK4", "implicit", "implicitfast")[inner.model.opt.integrator]
    return {
        "control period": f"{1e3 * inner.dt:g} ms",
        "physics step": f"{1e3 * step:g} ms",
        "integrator": integrator,
    }


def _system(env: gym.Env[Any, Any], run: Any, actions: str) -> System:
    inner: Any = env.unwrapped
    return System(run, 1, inner.dt, {**facts(env), "actions": actions}, env.close)


def _random(make: Any) -> System:
    """Steps under random actions."""
    env = make()
    env.action_space.seed(SEED)
    actions = [env.action_space.sample() for _ in range(DRAWN)]
    env.reset(seed=SEED)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            _, _, terminated, truncated, _ = env.step(actions[at % DRAWN])
            at += 1
            if terminated or truncated:
                env.reset()

    return _system(env, run, "random")


def _replay(make: Any) -> System:
    """Steps under an expert's recorded actions, from the seed for which they were recorded."""
    env = make()
    acting = Acting(reference_controller(env))
    observation, _ = env.reset(seed=SEED)
    actions: list[Any] = []
    over = False
    while not over and len(actions) < DRAWN:
        actions.append(np.array(acting.act(observation)))
        observation, _, terminated, truncated, _ = env.step(actions[-1])
        over = terminated or truncated
    env.reset(seed=SEED)
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at == len(actions):
                env.reset(seed=SEED)
                at = 0
            env.step(actions[at])
            at += 1

    return _system(env, run, "expert's, recorded")


def _expert(make: Any) -> System:
    """Steps under an expert, its prediction included."""
    env = make()
    expert = reference_controller(env)
    observation, _ = env.reset(seed=SEED)
    acting = Acting(expert)

    def run(count: int) -> None:
        nonlocal observation, acting
        for _ in range(count):
            observation, _, terminated, truncated, _ = env.step(acting.act(observation))
            if terminated or truncated:
                observation, _ = env.reset()
                acting = Acting(expert)

    return _system(env, run, "expert's, predicted")
