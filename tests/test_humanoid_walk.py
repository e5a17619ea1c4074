"""How the humanoid's walk looks: heels strike, toes leave last; flat soles where that is risky."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import Episode, run_episode
from dynenvs.agents.experts.humanoid.records import MEMO
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.legged.humanoid import GAIT, HumanoidEnv, HumanoidVectorEnv
from dynenvs.envs.robots.humanoid import SIDES
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model
from dynenvs.memory.records import POSE

WALKING = 200  # steps after which a walk is steady: soles begin to roll after a second or two
Array = np.ndarray[Any, Any]


def pitches(env: HumanoidEnv, episode: Episode, side: str) -> Array:
    """Pitch of a sole over the ground, toe down, shape (steps,) [degrees]."""
    model, found = env.model, []
    poses, foot = np.zeros(int(model.header.nb), POSE), model.body_names.index(f"{side}_foot")
    for q in episode.q:
        update_poses(open_model(model.packed), q, poses)
        found.append(-poses[foot]["R"][2, 0])
    return np.degrees(np.arcsin(found))


def loaded(env: HumanoidEnv | HumanoidVectorEnv, episode: Episode) -> Array:
    """Which feet carry load, shape (steps, 2)."""
    feet = [episode.impulses[:, env.task.foot_of_feature == leg, 2] for leg in (0, 1)]
    return np.stack([impulses.sum(axis=1) > 0.0 for impulses in feet], axis=1)


@pytest.mark.thorough
def test_heels_strike_toes_leave_last_and_legs_are_straighter() -> None:
    """At 0.8 m/s; with flat soles: 0, 0 degrees, hips at 0.807 m, knees bent by 53 degrees."""
    env = HumanoidEnv(max_episode_steps=500)
    episode = run_episode(env, reference_controller(env), seed=12, command=(0.8, 0.0, 0.0))
    stands = loaded(env, episode)
    assert episode.q[WALKING:, 2].mean() > 0.83
    for leg, side in enumerate(SIDES):
        sole, on = pitches(env, episode, side), stands[:, leg]
        steps = np.arange(WALKING, episode.steps)
        strikes = steps[on[steps] & ~on[steps - 1]]
        leaves = steps[~on[steps] & on[steps - 1]] - 1
        assert min(len(strikes), len(leaves)) >= 4
        assert sole[strikes].max() < -4.0  # heel first
        assert sole[leaves].mean() > 2.0  # toe last
        assert sole[steps].max() > 12.0  # and the heel rises in the air
        alone = steps[on[steps] & ~stands[steps, 1 - leg]]
        knee = episode.q[alone, env.model.position_index(f"{side}_knee")]
        assert np.degrees(knee).mean() < 43.0


def step_length(frequency: tuple[float, float]) -> float:
    """Mean length of a step at 0.8 m/s [m]; hips stay up, nobody falls."""
    env = HumanoidEnv(max_episode_steps=800, gait_frequency=frequency)
    episode = run_episode(env, reference_controller(env), seed=3, command=(0.8, 0.0, 0.0))
    assert not episode.fell
    assert episode.q[WALKING:, 2].mean() > 0.82
    left = loaded(env, episode)[WALKING:, 0]
    strikes = WALKING + np.flatnonzero(left[1:] & ~left[:-1])
    way = np.hypot(*(episode.q[strikes[-1], :2] - episode.q[strikes[0], :2]))
    return float(way) / (2 * (len(strikes) - 1))


@pytest.mark.thorough
def test_a_slower_clock_makes_longer_steps() -> None:
    """The expert follows `gait_frequency`: half a metre; the default makes 0.46 m."""
    assert step_length(GAIT) == pytest.approx(0.46, abs=0.01)
    assert step_length((1.0, 0.0)) == pytest.approx(0.406, abs=0.01)
    assert step_length((0.6, 0.3)) == pytest.approx(0.488, abs=0.01)


def rolls(steps: int, seed: int = 0, **options: Any) -> Array:
    """How far soles roll, from 0 to 1, shape (steps, 8): of eight walks."""
    envs = HumanoidVectorEnv(num_envs=8, num_threads=1, **options)
    expert = Acting(reference_controller(envs), 8)
    observations, _ = envs.reset(seed=seed)
    found = []
    for _ in range(steps):
        observations, _, terminated, truncated, _ = envs.step(expert.act(observations))
        expert.note(terminated | truncated)
        memory = np.ascontiguousarray(expert._state)
        found.append(memory.view(MEMO)["rolls"][:, 0])
    return np.array(found)


FAST: dict[str, Any] = {"forward_range": (0.7, 0.8)}
AHEAD: dict[str, Any] = {"sideways_range": (0.0, 0.0), "turning_range": (0.0, 0.0)}


@pytest.mark.thorough
def test_soles_roll_after_two_steady_seconds() -> None:
    """Not at once, when nothing is known of the ground yet."""
    found = rolls(300, **FAST, **AHEAD)
    assert found[: round(0.5 / 0.015)].max() == 0.0
    assert found[-1].min() == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"sideways_range": (0.15, 0.2)},
        {"turning_range": (0.4, 0.4)},
        {"observation_noise": 1.0},
        {"action_noise": 0.1},
        {"action_delay": 1},
        {"friction_range": (0.3, 0.3)},
        {"terrain": "rough"},
    ],
    ids=repr,
)
@pytest.mark.thorough
def test_soles_stay_flat_where_there_is_less_to_spare(options: dict[str, Any]) -> None:
    """Sideways, turning, disturbed, on slippery ground or where the ground is not level."""
    found = rolls(400, **{**FAST, **AHEAD, **options})
    assert found[WALKING:].max() < 0.1


@pytest.mark.thorough
def test_a_push_lays_soles_flat_for_a_while() -> None:
    """20 N s every three seconds: most walks stop rolling; without pushes none does."""
    found = rolls(400, push_impulse=20.0, push_interval=3.0, **FAST, **AHEAD)
    calm = rolls(400, **FAST, **AHEAD)
    assert calm[WALKING:].min() == 1.0
    assert (found[WALKING:].min(axis=0) < 0.5).sum() >= 6
