"""Long random runs: no NaN, no failure, hardly a degraded solve, no sinking into the ground.

The default run takes 3,000 steps of each case; `-m slow` takes 100,000, of robots with a free base
also a million in batches, and prints the counts.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from batches import make_batch
from rollouts import FREE, IDS, PLANAR, WALKERS, Depth, Policy, bang_bang, gentle, make, uniform

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.contact.held import LARGE
from dynenvs.envs.core.codes import END_WORDS
from dynenvs.envs.objects import box, capsule, sphere
from dynenvs.memory.records import MIDPOINT
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom
from dynenvs.simulation.timestep import HALVINGS

STEPS, MANY = 3_000, 100_000


class Tally(NamedTuple):
    """What happened in a long run."""

    steps: int
    ends: Counter[str]
    degraded: int
    failed: int
    solves: int
    overflow: int
    residual: float
    depth: float  # [m]
    fastest: float  # joint at the end of a step [rad/s]
    explained: float  # depth that the motion of the shortest step explains [m]
    microseconds: float  # a step


def explained(model: Model, timestep: float, fastest: float) -> float:
    """Depth [m] that a step of the shortest length cannot foresee.

    What turns at omega about a point at the distance L leaves its tangent by L (omega dt)^2 / 2.
    A step in which something sinks in is cut in half, HALVINGS times at most; LARGE is what counts
    as sinking in.  L: a limb's reach from its joint, twice where limbs meet each other.
    The midpoint rule sees to the middles of steps: their ends are half a step on, of any length.
    """
    reach = max(_reach(geom) for geom in model.geoms if geom.body != "world")
    arm = 2.0 * reach if np.any(model.features["body_b"] > 0) else reach
    turned = fastest * timestep / 2**HALVINGS
    depth = LARGE + 0.5 * arm * turned**2
    if model.header.integrator == MIDPOINT:
        depth += 0.125 * arm * (fastest * timestep) ** 2
    return float(depth)


def _reach(geom: Geom) -> float:
    """Greatest distance of a geom's surface from its body's joint [m]."""
    x, y, z = geom.size[:3] if geom.type == "box" else (0.0, 0.0, 0.0)
    corners = np.array(list(itertools.product((-x, x), (-y, y), (-z, z))))
    if geom.type == "capsule":
        corners = np.array([[0.0, 0.0, -geom.size[1]], [0.0, 0.0, geom.size[1]]])
    radius = 0.0 if geom.type == "box" else float(geom.size[0])
    ends = geom.position + corners @ geom.rotation.T
    return float(np.linalg.norm(ends, axis=1).max()) + radius


def endure(name: str, policy: Policy, steps: int, *, seed: int = 2026, **options: Any) -> Tally:
    """Step on and on, checking every observation; counts are summed over episodes."""
    env = type(make(name))(**options)
    depth = Depth(env)
    low, high = env.observation_space.low, env.observation_space.high
    env.reset(seed=seed)
    ends: Counter[str] = Counter()
    total = np.zeros(4, int)
    residual, deepest, fastest, spent = 0.0, -np.inf, 0.0, 0.0
    for i in range(steps):
        action = policy(env, i)
        started = time.perf_counter()
        observation, reward, terminated, truncated, info = env.step(action)
        spent += time.perf_counter() - started
        # NaN fails this comparison too
        assert np.all((observation >= low) & (observation <= high)), observation
        assert 0.0 <= reward <= 1.0 + 1e-12
        deepest = max(deepest, depth())
        fastest = max(fastest, float(np.abs(env.worlds.states["v"][0]).max()))
        if terminated or truncated or i == steps - 1:
            status = env.worlds.states["status"][0]
            counted = ("degraded", "failed", "solves", "overflow")
            total += [int(status[k]) for k in counted]
            residual = max(residual, info["residual"])
            ends[info.get("end", "")] += 1
            env.reset()
    degraded, failed, solves, overflow = map(int, total)
    microseconds = 1e6 * spent / steps
    return Tally(
        steps,
        ends,
        degraded,
        failed,
        solves,
        overflow,
        residual,
        deepest,
        fastest,
        explained(env.model, env.task.timestep, fastest),
        microseconds,
    )


CASES = [
    *[(name, {}) for name in IDS],
    *[(name, {"terminate_on_fall": False}) for name in WALKERS],
    *[(name, {"terminate_on_fall": False, "free_pitch": True}) for name in PLANAR],
]
VARIANTS = [
    {"frame_skip": 1, "timestep": 0.002},
    {"frame_skip": 4, "timestep": 0.005},
    {"frame_skip": 1, "timestep": 0.02},
    {"frame_skip": 2, "timestep": 0.01},
    {"frame_skip": 20, "timestep": 0.0005},
]


def _check(tally: Tally, name: str, what: str) -> None:
    print(f"\n{name} {what}: {tally}")
    assert tally.failed == 0
    assert tally.overflow == 0
    assert "no solution of the contact problem" not in tally.ends
    assert tally.degraded <= tally.steps // 100_000
    assert tally.depth <= tally.explained


def test_a_small_correction_that_turns_a_leg_far_is_looked_at() -> None:
    """Projection once moved a foot 4 mm into the ground here, for contacts elsewhere (0.01 rad)."""
    tally = endure("dynenvs/Humanoid-v0", gentle(7), 5_500, seed=7, terminate_on_fall=False)
    _check(tally, "dynenvs/Humanoid-v0", "gentle, seed 7")


def _cases(policies: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(name, options, policy, id=f"{name.split('/')[1]}-{word}-{options or 'plain'}")
        for name, options in CASES
        for word, policy in policies.items()
    ]


POLICIES = {"uniform": uniform, "gentle": gentle, "bang-bang": bang_bang}


@pytest.mark.parametrize(("name", "options", "policy"), _cases(POLICIES))
def test_endures_random_actions(name: str, options: dict[str, Any], policy: Any) -> None:
    """Standing, falling, lying and thrashing."""
    _check(endure(name, policy(0), STEPS, **options), name, f"{policy.__name__} {options}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "policy"), _cases(POLICIES))
def test_endures_100_000_steps(name: str, options: dict[str, Any], policy: Any) -> None:
    """The same for very long."""
    _check(endure(name, policy(1), MANY, **options), name, f"{policy.__name__} {options}")


@pytest.mark.parametrize("variant", VARIANTS, ids=repr)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_endures_other_time_steps(
    name: str, options: dict[str, Any], variant: dict[str, Any]
) -> None:
    """Shorter and longer control periods and physics steps."""
    both = {**options, **variant}
    _check(endure(name, uniform(4), STEPS // 6, **both), name, f"uniform {both}")


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS, ids=repr)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_endures_other_time_steps_for_long(
    name: str, options: dict[str, Any], variant: dict[str, Any]
) -> None:
    """20,000 steps of each."""
    both = {**options, **variant}
    _check(endure(name, bang_bang(3), MANY // 5, **both), name, f"bang-bang {both}")


# Batches


WORLDS = 64


def endure_batch(name: str, steps: int, seed: int, expert: bool = False, **options: Any) -> Tally:
    """As `endure`, in a batch; all actions are uniform, or the expert's."""
    envs = make_batch(name, WORLDS, **options)
    controller = reference_controller(envs) if expert else None
    depths = [Depth(env) for env in envs.envs]
    low, high = envs.observation_space.low, envs.observation_space.high
    rng = np.random.default_rng(seed)
    observations, _ = envs.reset(seed=seed)
    ends: Counter[str] = Counter()
    total = np.zeros(4, int)
    residual, deepest, fastest, spent = 0.0, -np.inf, 0.0, 0.0
    done = 0
    over = np.zeros(WORLDS, np.bool_)
    while done < steps:
        if controller is None:
            actions = rng.uniform(-1, 1, (WORLDS, envs.task.model.nu)).astype(np.float32)
        else:
            actions = controller.predict(observations)[0]
        started = time.perf_counter()
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        spent += time.perf_counter() - started
        done += int(np.count_nonzero(~over))  # the others begin an episode
        assert np.all((observations >= low) & (observations <= high))
        assert np.all((rewards >= 0.0) & (rewards <= 1.0 + 1e-12))
        rows = envs.worlds.states
        deepest = max(deepest, *(depth() for depth in depths))
        fastest = max(fastest, float(np.abs(rows["v"]).max()))
        over = terminated | truncated
        counted = over if done < steps else np.ones(WORLDS, np.bool_)
        status = rows["status"][counted]
        total += [int(status[k].sum()) for k in ("degraded", "failed", "solves", "overflow")]
        residual = max(residual, float(status["residual"].max(initial=0.0)))
        ends.update(END_WORDS[envs.worlds.ends[i]] for i in np.flatnonzero(over))
    envs.close()
    degraded, failed, solves, overflow = map(int, total)
    microseconds = 1e6 * spent / done
    return Tally(
        done,
        ends,
        degraded,
        failed,
        solves,
        overflow,
        residual,
        deepest,
        fastest,
        explained(envs.task.model, envs.task.timestep, fastest),
        microseconds,
    )


MODES = [{}, {"terminate_on_fall": False}]


@pytest.mark.parametrize("options", MODES, ids=repr)
@pytest.mark.parametrize("name", FREE)
def test_batches_endure(name: str, options: dict[str, Any]) -> None:
    """As many steps as one world takes elsewhere."""
    _check(endure_batch(name, STEPS, 4, **options), name, f"{WORLDS} worlds {options}")


@pytest.mark.slow
@pytest.mark.parametrize("options", MODES, ids=repr)
@pytest.mark.parametrize("name", FREE)
def test_endures_a_million_steps(name: str, options: dict[str, Any]) -> None:
    """With falls that end episodes, and lying and thrashing on for a thousand steps each."""
    _check(endure_batch(name, 1_000_000, 5, **options), name, f"{WORLDS} worlds {options}")


AROUND = ((-1.5, 1.5), (-1.5, 1.5))  # the robot's start [m]
EIGHT = [
    box(half_size=((0.05, 0.15), (0.05, 0.15), (0.02, 0.1)), count=4, position=AROUND),
    sphere(radius=(0.05, 0.1), count=2, position=AROUND),
    capsule(radius=(0.03, 0.06), half_length=(0.05, 0.1), count=2, position=AROUND),
]


@pytest.mark.parametrize("expert", [False, True])
@pytest.mark.parametrize("name", FREE)
@pytest.mark.thorough
def test_batches_endure_among_objects(name: str, expert: bool) -> None:
    """As many steps; the robot lies and thrashes among them, or walks through."""
    _check(among_objects(name, STEPS, expert), name, f"among objects, expert {expert}")


@pytest.mark.slow
@pytest.mark.parametrize("expert", [False, True])
@pytest.mark.parametrize("name", FREE)
def test_endures_a_million_physics_steps_among_objects(name: str, expert: bool) -> None:
    """The same for long; a control step has two."""
    _check(among_objects(name, 500_000, expert), name, f"among objects, expert {expert}")


def among_objects(name: str, steps: int, expert: bool) -> Tally:
    """Eight loose objects, sizes and places drawn."""
    options: dict[str, Any] = {} if expert else {"terminate_on_fall": False}
    return endure_batch(name, steps, 6, expert, objects=EIGHT, **options)
