"""Terrain under the quadruped: what it sees, where it starts, that it keeps the contracts, and how
its expert gets along there."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from trees import Array

from dynenvs.agents import reference_controller
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.legged_measure import measure_trot
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.envs.legged.humanoid import HumanoidEnv, HumanoidTask, HumanoidVectorEnv
from dynenvs.envs.legged.quadruped import QuadrupedEnv, QuadrupedTask, QuadrupedVectorEnv
from dynenvs.envs.robots import terrain as ground
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work

UNEVEN = ("slope", "rough", "stairs")
FLAT_SIZE = 43
SPACING = 0.06  # of the height scan [m]


def heading(q: Array) -> float:
    """Direction of the trunk over ground [rad]."""
    w, x, y, z = q[3:7]
    return math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))


def height(kind: str, x: float, y: float) -> float:
    """Of the ground, written anew; of the rough one between its four nearest points."""
    if kind == "slope":
        return x * math.tan(math.radians(10))
    heights = ground.stair_heights(0) if kind == "stairs" else ground.rough_heights(0)
    n = len(heights)
    if kind == "stairs":
        return float(heights[math.floor(x / 0.3 + n / 2), math.floor(y / 0.3 + n / 2)])
    u, v = x / 0.2 + (n - 1) / 2, y / 0.2 + (n - 1) / 2
    i, j = math.floor(u), math.floor(v)
    s, t = u - i, v - j
    return float(
        (1 - s) * ((1 - t) * heights[i, j] + t * heights[i, j + 1])
        + s * ((1 - t) * heights[i + 1, j] + t * heights[i + 1, j + 1])
    )


@pytest.mark.parametrize("kind", UNEVEN)
def test_the_scan_shows_the_ground(kind: str) -> None:
    """17 by 11 points 6 cm apart in the heading's frame, below the trunk's centre."""
    env = QuadrupedEnv(terrain=kind)
    errors = []
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        q = env.worlds.states["q"][0]
        scan = observation[FLAT_SIZE:].reshape(17, 11)
        c, s = math.cos(heading(q)), math.sin(heading(q))
        for i, j in ((0, 0), (3, 9), (8, 5), (16, 2)):
            a, b = SPACING * (i - 8), SPACING * (j - 5)
            x, y = q[0] + c * a - s * b, q[1] + s * a + c * b
            errors.append(abs(scan[i, j] + q[2] - height(kind, x, y)))
        assert observation[0] == pytest.approx(-scan[8, 5], abs=1e-12)
    # Splines differ from straight lines by up to a quarter of the roughness between points
    assert max(errors) < (0.015 if kind == "rough" else 1e-12)


@pytest.mark.parametrize("kind", UNEVEN)
def test_episodes_begin_on_the_ground_at_drawn_places(kind: str) -> None:
    """The lowest foot touches and nothing is below ground; seeds give other places, and again."""
    env = QuadrupedEnv(terrain=kind)
    places = []
    for seed in (0, 1, 2, 0):
        env.reset(seed=seed)
        q = env.worlds.states["q"][0].copy()
        m = open_model(env.model.packed)
        w = open_work(m, env.model.workspace())
        update_poses(m, q, w.pose)
        measure_gaps(w)
        assert -1e-9 < w.gaps.min() < 1e-6
        places.append(np.append(q[:2], heading(q)))
    np.testing.assert_array_equal(places[0], places[3])
    assert len({tuple(p) for p in places}) == 3


@pytest.mark.parametrize("kind", UNEVEN)
def test_the_humanoids_box_feet_stand_on_it(kind: str) -> None:
    """The lowest corner touches, soles carry, and falling on it leaves no contact unsolved."""
    env = HumanoidEnv(terrain=kind, terminate_on_fall=False)
    carried = 0.0
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(60):
            *_, info = env.step(np.zeros(21, np.float32))
            carried += float(np.abs(info["contact_forces"]).sum())
        status = env.worlds.states["status"][0]
        assert (status["failed"], status["overflow"], status["degraded"]) == (0, 0, 0)
        assert status["residual"] < 1e-9
    assert carried > 0.0


@pytest.mark.parametrize("kind", UNEVEN)
def test_a_humanoid_begins_upright(kind: str) -> None:
    """Tilted as the ground it would stand beside its feet, and fall whatever it does."""
    env = HumanoidEnv(terrain=kind, reset_noise=0.0)
    tilts = [np.hypot(*env.reset(seed=seed)[0][1:3]) for seed in range(5)]
    np.testing.assert_allclose(tilts, 0.0, atol=1e-12)


def test_stairs_are_steps_of_eight_centimetres() -> None:
    """Neighbours differ by one rise at most; hills and pits both; the seed draws which."""
    heights = ground.stair_heights(0)
    steps = np.concatenate([np.diff(heights, axis=0).ravel(), np.diff(heights, axis=1).ravel()])
    np.testing.assert_allclose(np.unique(np.abs(steps).round(12)), [0.0, ground.RISE])
    assert heights.max() == pytest.approx(6 * ground.RISE) == -heights.min()
    assert (ground.stair_heights(1) != heights).any()
    rough = ground.rough_heights(0)
    assert 0.0 <= rough.min() < 0.001
    assert 0.039 < rough.max() <= 0.04


def test_flat_is_the_default_and_has_no_scan() -> None:
    """Nothing is drawn for it: the same episode as with the option left out."""
    env, told = QuadrupedEnv(), QuadrupedEnv(terrain="flat", terrain_seed=5)
    a, b = env.reset(seed=3)[0], told.reset(seed=3)[0]
    assert a.shape == (FLAT_SIZE,)
    np.testing.assert_array_equal(a, b)


def test_forward_range_on_stairs() -> None:
    """Slower by default; the user's choice prevails."""
    assert QuadrupedTask(terrain="stairs").forward_range == (0.0, 0.6)
    assert QuadrupedTask(terrain="rough").forward_range == (0.0, 1.5)
    assert QuadrupedTask(terrain="stairs", forward_range=(0.0, 1.0)).forward_range == (0.0, 1.0)
    assert HumanoidTask(terrain="stairs").forward_range == (0.0, 0.4)
    assert HumanoidTask(terrain="slope").forward_range == (0.0, 0.8)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"terrain": "hills"}, "unknown terrain 'hills'; choose from: flat, slope, rough, stairs"),
        ({"terrain": None}, "unknown terrain None"),
        ({"terrain_seed": -1}, "terrain_seed"),
        ({"terrain_seed": 0.5}, "terrain_seed"),
    ],
)
def test_bad_options(options: dict[str, object], match: str) -> None:
    """The error says what would be right."""
    with pytest.raises(ValueError, match=match):
        QuadrupedEnv(**options)


@pytest.mark.parametrize("kind", UNEVEN)
def test_gymnasiums_checker(kind: str) -> None:
    """No warning, let alone an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(QuadrupedEnv(terrain=kind, width=64, height=48), skip_render_check=True)


@pytest.mark.parametrize("kind", UNEVEN)
def test_bits_single_batch_and_restored(kind: str) -> None:
    """The batch gives the single environment's bits, within the bounds, and so does a restored
    state."""
    count, steps = 4, 60
    options = {"terrain": kind, "terminate_on_fall": False, "push_impulse": 5.0}
    batch = QuadrupedVectorEnv(num_envs=count, num_threads=1, **options)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, count, 12)).astype(np.float32)
    seen = [batch.reset(seed=7)[0]]
    for k in range(steps):
        if k == 30:
            state = batch.get_state()
        seen.append(batch.step(actions[k])[0])
    for k in range(steps):
        for i in range(count):
            assert batch.single_observation_space.contains(seen[k + 1][i])
    for i in (0, 3):
        env = QuadrupedEnv(**options)
        np.testing.assert_array_equal(env.reset(seed=7 + i)[0], seen[0][i])
        for k in range(steps):
            np.testing.assert_array_equal(env.step(actions[k, i])[0], seen[k + 1][i])
    batch.set_state(state)
    for k in range(30, steps):
        np.testing.assert_array_equal(batch.step(actions[k])[0], seen[k + 1])


@pytest.mark.parametrize("kind", UNEVEN)
def test_expert_in_a_batch_gives_its_single_bits(kind: str) -> None:
    """It sees the observation alone: on terrain, too, whatever it saw before."""
    batch = QuadrupedVectorEnv(num_envs=3, num_threads=1, terrain=kind)
    expert, other = reference_controller(batch), reference_controller(batch)
    observations = batch.reset(seed=1)[0]
    for _ in range(40):
        actions = expert.predict(observations)[0]
        observations = batch.step(actions)[0]
    together = expert.predict(observations)[0]
    for i in range(3):
        np.testing.assert_array_equal(other.predict(observations[i])[0], together[i])


@pytest.mark.parametrize(("kind", "command"), [("stairs", (0.5, 0, 0)), ("rough", (1.0, 0.1, 0.2))])
def test_expert_walks_over_it(kind: str, command: tuple[float, float, float]) -> None:
    """Eight episodes of fifteen seconds, up or down whole stairs: one may fall."""
    batch = QuadrupedVectorEnv(num_envs=8, num_threads=1, terrain=kind)
    found = list(
        run_episodes(batch, reference_controller(batch), seed=0, command=command, max_steps=1000)
    )
    assert sum(not episode.fell for episode in found) >= 7
    if kind == "stairs":
        assert np.median([np.ptp(episode.q[:, 2]) for episode in found]) > 0.3
    assert np.median([measure_trot(batch, episode).speed_error for episode in found]) < 0.1
    assert max(measure_trot(batch, episode).penetration for episode in found) < 1e-4


def test_pictures_show_the_terrain() -> None:
    """Stairs, slope and hills change the picture below the horizon."""
    pictures = {}
    for kind in ("flat", *UNEVEN):
        env = QuadrupedEnv(terrain=kind, render_mode="rgb_array", width=96, height=64)
        env.reset(seed=0)
        pictures[kind] = env.render()
        env.close()
    for kind in UNEVEN:
        assert np.abs(pictures[kind].astype(int) - pictures["flat"])[40:].mean() > 1.0


def test_pictures_say_how_the_slope_rises_ahead() -> None:
    """Ground at 10 degrees: all of it straight uphill, half its tangent at 60 degrees to that."""
    env = QuadrupedEnv(terrain="slope")
    env.reset(seed=0)
    for heading, words in ((0, "10° up"), (60, "5° up"), (180, "10° down"), (240, "5° down")):
        half = 0.5 * math.radians(heading)
        state = env.get_state()
        state["world"]["q"][0, 3:7] = (math.cos(half), 0.0, 0.0, math.sin(half))
        env.set_state(state)
        assert env.readings()["slope"] == words
    flat = QuadrupedEnv()
    flat.reset(seed=0)
    assert "slope" not in flat.readings()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "bar"), [("rough", 0.98), ("stairs", 0.9), ("slope", 0.9)])
def test_expert_on_terrain_over_many_seeds(kind: str, bar: float) -> None:
    """200 seeds of 1,000 steps, commands drawn: alive, never deep in the ground."""
    alive, deepest = 0, 0.0
    for first in range(0, 200, 50):
        batch = QuadrupedVectorEnv(num_envs=50, num_threads=1, terrain=kind)
        for episode in run_episodes(batch, reference_controller(batch), seed=first, max_steps=1000):
            alive += not episode.fell
            deepest = max(deepest, measure_trot(batch, episode).penetration)
    assert alive >= bar * 200
    assert deepest < 1e-4


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "command"),
    [("slope", (0.6, 0, 0)), ("rough", (0.6, 0.1, 0.2)), ("stairs", (0.25, 0, 0))],
)
def test_humanoids_expert_walks_over_it(kind: str, command: tuple[float, float, float]) -> None:
    """Sixteen episodes of fifteen seconds, up or down whole stairs: two may fall."""
    batch = HumanoidVectorEnv(num_envs=16, num_threads=1, terrain=kind)
    found = list(
        run_episodes(batch, reference_controller(batch), seed=0, command=command, max_steps=1000)
    )
    assert sum(not episode.fell for episode in found) >= 14
    if kind != "rough":
        assert np.median([np.ptp(episode.q[:, 2]) for episode in found]) > 0.15
    assert np.median([measure_trot(batch, episode).speed_error for episode in found]) < 0.1


@pytest.mark.thorough
def test_a_scan_of_level_ground_changes_no_step() -> None:
    """With the scan of a flat floor the humanoid's expert walks nearly as without a scan."""
    told, blind = HumanoidVectorEnv(num_envs=1, terrain="stairs"), HumanoidVectorEnv(num_envs=1)
    expert, plain = reference_controller(told), reference_controller(blind)
    observation, _ = blind.reset(seed=1, options={"command": (0.2, 0.0, 0.1)})
    seeing, state, own = np.zeros((1, told.single_observation_space.shape[0])), None, None
    apart = []
    for _ in range(200):
        seeing[0, : observation.shape[1]] = observation[0]
        seeing[0, observation.shape[1] :] = -observation[0, 0]
        seen, state = expert.predict(seeing, state)
        action, own = plain.predict(observation, own)
        apart.append(np.abs(seen - action).mean())
        observation, *_ = blind.step(action)
    assert np.mean(apart) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNEVEN)
def test_humanoids_expert_on_terrain_over_many_seeds(kind: str) -> None:
    """200 seeds of 1,000 steps, commands drawn, on stairs to 0.4 m/s: 90 % alive."""
    alive = 0
    for first in range(0, 200, 50):
        batch = HumanoidVectorEnv(num_envs=50, num_threads=1, terrain=kind)
        found = run_episodes(batch, reference_controller(batch), seed=first, max_steps=1000)
        alive += sum(not episode.fell for episode in found)
    assert alive >= 180
