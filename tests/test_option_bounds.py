"""Each task with its options at their bounds: all numbers stay finite, its expert's memory too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batches import make_batch
from rollouts import FREE, IDS, PLANAR, every_env, make

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.disturbance_options import FACTORS, MOST_OFFSET, MOST_PAYLOAD, MOST_SCALE
from dynenvs.envs.core.disturbance_records import MOST_DELAY
from dynenvs.envs.core.task import LEAST_TIMESTEP, MOST_NOISE, MOST_TIMESTEP
from dynenvs.envs.legged.legged import COMMAND_BOUNDS, LONGEST, MOST_PUSH, SPEEDS
from dynenvs.envs.pendulum.chain_pendulum import FEWEST, MOST
from dynenvs.envs.planar import walker

CHAIN = "dynenvs/ChainPendulum-v0"
WEAK, STRONG = 0.0, FACTORS[1]  # bounds of `motor_strength_range`
WORLDS, STEPS = 3, 80
Options = dict[str, Any]

EVERY: list[Options] = [
    {"reset_noise": 0.0},
    {"reset_noise": MOST_NOISE},
    {"timestep": LEAST_TIMESTEP, "frame_skip": 1},
    {"timestep": MOST_TIMESTEP, "frame_skip": 1},
    {"timestep": MOST_TIMESTEP, "frame_skip": 50},
    {"observation_noise": 1e-9},
    {"observation_noise": MOST_SCALE},
    {"action_noise": 1.0},
    {"action_delay": MOST_DELAY},
    {"motor_strength_range": (WEAK, WEAK)},
    {"motor_strength_range": (STRONG, STRONG)},
]
WALKING: list[Options] = [
    *({name: (bound, bound)} for name in ("friction_range", "mass_range") for bound in FACTORS),
    {"payload_range": (MOST_PAYLOAD, MOST_PAYLOAD)},
    {"com_offset": MOST_OFFSET},
    {"terminate_on_fall": False, "motor_strength_range": (WEAK, WEAK)},
]
SPEED: list[Options] = [
    {"command_range": walker.COMMAND_BOUNDS, "command": speed}
    for speed in (*walker.COMMAND_BOUNDS, 0.0, 1e-300)
]
PITCHING: list[Options] = [{"free_pitch": True, **options} for options in (*EVERY, *SPEED)]
ANY = {f"{name}_range": COMMAND_BOUNDS for name in SPEEDS}
COMMANDED: list[Options] = [
    {"command": (0.0, 0.0, 0.0)},
    *({**ANY, "command": tuple(b * np.eye(3)[i])} for i in range(3) for b in COMMAND_BOUNDS),
    *({**ANY, "command": (bound,) * 3} for bound in COMMAND_BOUNDS),
    {**ANY, "command": (1e-300, 0.0, 0.0)},
    dict.fromkeys(ANY, (0.0, 0.0)),
    {"push_impulse": MOST_PUSH, "push_interval": 1e-3},
    {"push_impulse": 1e-300, "push_interval": 1e-3},
    {"push_impulse": MOST_PUSH, "push_interval": LONGEST},
    *({"gait_frequency": (rest, slope)} for rest in (0.3, 10.0) for slope in (-10.0, 0.0, 10.0)),
]
UNEVEN: list[Options] = [
    {"terrain": terrain, **options}
    for terrain in ("slope", "rough", "stairs")
    for options in ({}, *EVERY, COMMANDED[0], {"push_impulse": MOST_PUSH, "push_interval": 1e-3})
]
LINKS: list[Options] = [
    {"links": links, "surface": surface, **options}
    for links in (FEWEST, MOST)
    for surface in ("floor", "wall")
    for options in ({}, *EVERY)
]


def cases() -> list[tuple[str, Options]]:
    """Every environment with each of its sets of options."""
    found = []
    for name in IDS:
        more = LINKS if name == CHAIN else []
        if name in PLANAR:
            more = [*WALKING, *SPEED, *PITCHING]
        if name in FREE:
            more = [*WALKING, *COMMANDED, *UNEVEN]
        found += [(name, options) for options in (*EVERY, *more)]
    return found


def said(case: Any) -> str:
    """A name for a test."""
    if isinstance(case, str):
        return case.removeprefix("dynenvs/").removesuffix("-v0")
    return ", ".join(f"{name}={value}" for name, value in case.items())


def live(name: str, options: Options) -> None:
    """Some steps of the expert's; NaN fails each comparison."""
    envs = make_batch(name, WORLDS, num_threads=1, **options)
    expert, state = reference_controller(envs), None
    low, high = envs.single_observation_space.low, envs.single_observation_space.high
    seen, infos = envs.reset(seed=1)
    for _ in range(STEPS):
        assert ((low <= seen) & (seen <= high)).all()
        actions, state = expert.predict(seen, state)
        assert (np.abs(actions) <= 1.0).all()
        assert state is None or np.isfinite(state).all()
        seen, rewards, _, _, infos = envs.step(actions)
        assert np.isfinite(rewards).all()
        assert infos["residual"].min() >= 0.0


@pytest.mark.parametrize(("name", "options"), cases(), ids=said)
@pytest.mark.thorough
def test_nothing_but_finite_numbers(name: str, options: Options) -> None:
    with np.errstate(all="raise", under="ignore"):
        live(name, options)


@every_env
def test_an_expert_answers_to_any_observation(name: str) -> None:
    """Zeros, which say nothing of an upward direction; bounds; whatever lies between."""
    envs = make_batch(name, WORLDS, num_threads=1)
    expert, rng = reference_controller(envs), np.random.default_rng(0)
    space = envs.single_observation_space
    low, high = np.tile(space.low, (WORLDS, 1)), np.tile(space.high, (WORLDS, 1))
    for begin, end in ((low, low), (high, high), (low, high), (0.0 * low, 0.0 * high)):
        state = None
        for _ in range(20):
            seen = np.clip(rng.uniform(begin, end), low, high)
            actions, state = expert.predict(seen, state)
            assert (np.abs(actions) <= 1.0).all()
            assert state is None or np.isfinite(state).all()


@every_env
def test_weights_of_rewards_at_their_bounds(name: str) -> None:
    terms = [term.name for term in make(name).task.reward_terms]
    for weight in (0.0, 1000.0, -1000.0):
        live(name, {"reward_weights": dict.fromkeys(terms, weight)})


def test_a_humanoid_whose_torques_come_late_asks_for_no_more_and_more() -> None:
    """It answers to what it has asked before: with strong motors that grew without end."""
    for options in ({"motor_strength_range": (STRONG, STRONG)}, {"observation_noise": MOST_SCALE}):
        live("dynenvs/Humanoid-v0", options)
