"""The whole physics step against MuJoCo's `mj_step`, on an equivalent chain and walker."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dynenvs.envs.robots import planar_humanoid
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import Floats, WorldView, open_world
from dynenvs.model.model import Model
from dynenvs.simulation.timestep import step
from dynenvs.simulation.world import World
from studies.bench.mirrors import chain, to_mujoco
from studies.bench.peers import peer
from studies.bench.race import Case, Maker, Race, Settings, System

INTEGRATORS = ("Euler", "implicitfast", "RK4")
TIMESTEP = {"chain": 0.001, "walker": 0.005}  # [s]
LINKS = 10
SWING = 500  # physics steps until the chain starts again
CONTROL = 2  # physics steps of the walker under the same torques
EPISODES = {"stumbles": 40, "stumbles, falls and lies": 200}  # control steps from standing
EFFORT = 0.5  # of the torques' bound
HIP = 0.89  # its height where the soles stand on the ground, about [m]


def cases(settings: Settings) -> list[Case]:
    """The chain swings freely; the walker stumbles and falls under random torques."""
    swinging, falling = chain(LINKS), planar_humanoid.build()
    first: list[tuple[str, Maker]] = [
        (f"MuJoCo, {name}", partial(_mujoco_chain, swinging, name)) for name in INTEGRATORS
    ]
    first.append(("dynenvs, World.step", partial(_chain, swinging)))
    first.append(("dynenvs, compiled loop", partial(_compiled_chain, swinging)))
    return [
        Race(
            "steps",
            f"Whole step, chain of {LINKS} links, no contact, 1 ms",
            "physics step",
            first,
            ["`mj_step` loops in C, `World.step` in Python, the compiled loop as a user's kernel."],
            unit="us",
        ),
        *(_walker_race(falling, word, length) for word, length in EPISODES.items()),
    ]


def _walker_race(model: Model, word: str, length: int) -> Race:
    tau = _torques(model, length)
    makers: list[tuple[str, Maker]] = [
        (f"MuJoCo, {name}", partial(_mujoco_walker, model, tau, name)) for name in INTEGRATORS
    ]
    makers.append(("dynenvs, World.step", partial(_walker, model, tau)))
    makers.append(("dynenvs, compiled step", partial(_compiled_walker, model, tau)))
    notes = [
        f"dynenvs' planar humanoid in both; random torques, new ones every {CONTROL} steps, back "
        f"to standing every {CONTROL * length}. MuJoCo's contacts are soft and spatial (pyramidal "
        "cone, Newton's solver, its defaults), dynenvs' are hard and, as the model, planar. "
        "Contacts: the mean number at the end of a control step."
    ]
    title = f"Whole step, planar walker {word}, 5 ms"
    return Race("steps", title, "physics step", makers, notes, unit="us")


@kernel
def _roll(w: WorldView, tau: Floats, dt: float, count: int) -> int:
    failed = 0
    for _ in range(count):
        failed += step(w, tau, dt)
    return failed


def _bent(model: Model) -> Floats:
    """Where the chain starts: half a radian at each joint."""
    return np.full(model.nq, 0.5)


def _chunks(count: int, size: int) -> list[int]:
    """`count` in parts of at most `size`."""
    return [size] * (count // size) + ([count % size] if count % size else [])


def _mujoco_chain(model: Model, integrator: str) -> System:
    mujoco = peer("mujoco")
    theirs = to_mujoco(model, TIMESTEP["chain"], integrator)
    data = mujoco.MjData(theirs)

    def run(count: int) -> None:
        for part in _chunks(count, SWING):
            mujoco.mj_resetData(theirs, data)
            data.qpos[:] = _bent(model)
            mujoco.mj_step(theirs, data, part)

    return System(run, 1, TIMESTEP["chain"], {"integrator": integrator})


def _chain(model: Model) -> System:
    world = World(model, timestep=TIMESTEP["chain"])

    def run(count: int) -> None:
        for part in _chunks(count, SWING):
            world.reset(_bent(model))
            world.step(steps=part)

    return System(run, 1, TIMESTEP["chain"], {"integrator": "semi-implicit Euler"})


def _compiled_chain(model: Model) -> System:
    rows = model.states(1)
    w = open_world(model.packed, rows.view(np.uint8), model.workspace())
    tau, fresh = np.zeros(model.nv), model.states(1)
    fresh["q"] = _bent(model)

    def run(count: int) -> None:
        for part in _chunks(count, SWING):
            rows[:] = fresh
            if _roll(w, tau, TIMESTEP["chain"], part):
                raise RuntimeError("a step of the chain failed")

    return System(run, 1, TIMESTEP["chain"], {"integrator": "semi-implicit Euler"})


def _standing(model: Model) -> Floats:
    q = np.zeros(model.nq)
    q[1] = HIP
    q[2:] = 2 * planar_humanoid.STANDING
    return q


def _torques(model: Model, length: int) -> Floats:
    """Random torques of all coordinates [N m], shape (length, nv)."""
    tau = np.zeros((length, model.nv))
    limits = EFFORT * model.effort_limit[model.actuated]
    tau[:, model.actuated] = np.random.default_rng(0).uniform(-limits, limits, (length, model.nu))
    return tau


def _walks(begin: Any, advance: Any, length: int, facts: dict[str, Any]) -> System:
    """`advance(i)` does control step i of an episode of this length that `begin()` starts."""
    at = 0

    def run(count: int) -> None:
        nonlocal at
        for _ in range(count):
            if at == 0:
                begin()
            advance(at)
            at = (at + 1) % length

    begin()
    return System(run, CONTROL, TIMESTEP["walker"], facts)


def _mujoco_walker(model: Model, tau: Floats, integrator: str) -> System:
    mujoco = peer("mujoco")
    theirs = to_mujoco(model, TIMESTEP["walker"], integrator)
    data, q = mujoco.MjData(theirs), _standing(model)

    def begin() -> None:
        mujoco.mj_resetData(theirs, data)
        data.qpos[:] = q

    def advance(i: int) -> None:
        data.qfrc_applied[:] = tau[i]
        mujoco.mj_step(theirs, data, CONTROL)

    begin()
    contacts = []
    for i in range(len(tau)):
        advance(i)
        contacts.append(data.ncon)
    return _walks(begin, advance, len(tau), _walker_facts(integrator, contacts))


def _walker(model: Model, tau: Floats) -> System:
    world = World(model, timestep=TIMESTEP["walker"])
    own, q = np.ascontiguousarray(tau[:, model.actuated]), _standing(model)

    def begin() -> None:
        world.reset(q)

    def advance(i: int) -> None:
        world.step(own[i], CONTROL)

    begin()
    contacts = []
    for i in range(len(tau)):
        advance(i)
        contacts.append(len(world.contacts))
    return _walks(begin, advance, len(tau), _walker_facts("semi-implicit Euler, LCP", contacts))


def _compiled_walker(model: Model, tau: Floats) -> System:
    rows, fresh = model.states(1), model.states(1)
    dt = TIMESTEP["walker"]
    fresh["q"] = _standing(model)
    w = open_world(model.packed, rows.view(np.uint8), model.workspace())

    def begin() -> None:
        rows[:] = fresh

    def advance(i: int) -> None:
        if _roll(w, tau[i], dt, CONTROL):
            raise RuntimeError("a step of the walker failed")

    return _walks(
        begin, advance, len(tau), {"integrator": "semi-implicit Euler, LCP", "contacts": ""}
    )


def _walker_facts(integrator: str, contacts: list[int]) -> dict[str, Any]:
    return {"integrator": integrator, "contacts": f"{np.mean(contacts):.1f}"}
