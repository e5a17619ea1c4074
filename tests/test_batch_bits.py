"""The same bits: alone or in a batch, wherever in it, on however many threads, restored or not."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from batches import make_batch, random_actions, trace_batch, worlds_bits
from rollouts import bits, every_env, make

from dynenvs.agents import reference_controller
from dynenvs.envs.core.worlds import LEAST_SHARE

COUNT, STEPS = 6 * LEAST_SHARE, 45  # enough worlds for six threads


@every_env
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.thorough
def test_threads_size_and_place_change_no_bit(name: str, mode: str) -> None:
    """Any number of threads, the worlds in reverse order, and a few of them alone."""
    batch = make_batch(name, COUNT, num_threads=1, autoreset_mode=mode)
    actions = random_actions(batch, STEPS)
    expected = [worlds_bits(batch.reset(seed=100), COUNT), *trace_batch(batch, actions)]
    for threads in (2, 3, 5, 64):
        other = make_batch(name, COUNT, num_threads=threads, autoreset_mode=mode)
        assert other.worlds.threads == min(threads, 6)
        found = [worlds_bits(other.reset(seed=100), COUNT), *trace_batch(other, actions)]
        assert found == expected, threads
    order = np.arange(COUNT)[::-1]
    other = make_batch(name, COUNT, num_threads=2, autoreset_mode=mode)
    seeds = [int(100 + i) for i in order]
    found = [worlds_bits(other.reset(seed=seeds), COUNT), *trace_batch(other, actions[:, order])]
    assert [step[::-1] for step in found] == expected
    some = [3, 17, 39]
    other = make_batch(name, len(some), autoreset_mode=mode)
    found = [worlds_bits(other.reset(seed=[100 + i for i in some]), len(some))]
    found += trace_batch(other, actions[:, some])
    assert found == [[step[i] for i in some] for step in expected]


@every_env
def test_single_environment_is_a_batch_of_one(name: str) -> None:
    """Observation, reward, flags and info of every world are those of `gym.make`'s environment."""
    count = 2 * LEAST_SHARE
    batch = make_batch(name, count, num_threads=2, autoreset_mode="SameStep")
    observations, infos = batch.reset(seed=50)
    actions = random_actions(batch, STEPS)
    singles = [make(name) for _ in range(count)]
    for i, single in enumerate(singles):
        assert bits(single.reset(seed=50 + i)[0]) == bits(observations[i])
    for action in actions:
        observations, rewards, terminated, truncated, infos = batch.step(action)
        for i, single in enumerate(singles):
            observation, reward, *over, info = single.step(action[i])
            ended = any(over)
            told = infos["final_info"] if ended else infos
            for key, value in info.items():
                assert told[f"_{key}"][i]
                np.testing.assert_array_equal(told[key][i], value)
            seen = infos["final_obs"][i] if ended else observations[i]
            assert observation.tobytes() == seen.tobytes()
            assert [rewards[i], terminated[i], truncated[i]] == [reward, *over]
            if ended:
                assert single.reset()[0].tobytes() == observations[i].tobytes()


@every_env
@pytest.mark.parametrize("rubbish", ["ones", "words"])
@pytest.mark.thorough
def test_workspaces_hold_no_memory(name: str, rubbish: str) -> None:
    """Scratch memory full of rubbish before every step changes nothing.

    Every bit set is NaN or -1; small words pass for counts and indices.
    """
    clean, dirty = (make_batch(name, COUNT, num_threads=2) for _ in range(2))
    for envs in (clean, dirty):
        envs.reset(seed=0)
    words = np.random.default_rng(0).integers(1, 9, dirty.worlds._buffers.shape[1] // 8)
    for action in random_actions(clean, STEPS):
        dirty.worlds._buffers[:] = 255 if rubbish == "ones" else words.view(np.uint8)
        assert worlds_bits(dirty.step(action), COUNT) == worlds_bits(clean.step(action), COUNT)


@every_env
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.thorough
def test_restored_in_mid_episode(name: str, mode: str) -> None:
    """The whole batch, in one with other threads; single worlds; and single environments."""
    batch = make_batch(name, COUNT, num_threads=2, autoreset_mode=mode)
    actions = random_actions(batch, STEPS)
    batch.reset(seed=8)
    before = 31
    while not (batch.worlds.ends != 0).any():  # some have just ended
        batch.step(actions[before])
    state = pickle.loads(pickle.dumps(batch.get_state()))
    kept = bits(state)
    future = trace_batch(batch, actions)
    other = make_batch(name, COUNT, num_threads=1, autoreset_mode=mode)
    other.set_state(state)
    assert trace_batch(other, actions) == future
    batch.set_state(state)
    assert trace_batch(batch, actions) == future
    assert bits(state) == kept
    # World 7 becomes world 2 of a smaller batch
    small = make_batch(name, 3, autoreset_mode=mode)
    small.reset(seed=0)
    batch.set_state(state)
    small.envs[2].set_state(batch.envs[7].get_state())
    found = trace_batch(small, actions[:, [0, 1, 7]])
    assert [step[2] for step in found] == [step[7] for step in future]


@every_env
def test_states_go_between_single_and_batched_worlds(name: str) -> None:
    """There and back."""
    batch, single = make_batch(name, 4, autoreset_mode="Disabled"), make(name)
    batch.reset(seed=1)
    single.reset(seed=77)
    actions = random_actions(batch, 13)  # too few for a fall
    for action in actions[:6]:
        single.step(action[0])
    batch.envs[3].set_state(single.get_state())
    assert bits(batch.envs[3].get_state()) == bits(single.get_state())
    for action in actions[6:12]:
        result = single.step(action[3])
        observations, rewards, *_ = batch.step(action)
        assert observations[3].tobytes() == result[0].tobytes()
        assert rewards[3] == result[1]
    again = make(name)
    again.set_state(batch.envs[3].get_state())
    assert bits(again.step(actions[12][0])) == bits(single.step(actions[12][0]))


@every_env
@pytest.mark.parametrize("copier", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
@pytest.mark.thorough
def test_copies_continue_identically(name: str, copier: Any) -> None:
    """deepcopy and pickle in mid-episode; the copy shares nothing with its origin."""
    batch = make_batch(name, COUNT, num_threads=2)
    actions = random_actions(batch, STEPS)
    batch.reset(seed=3)
    trace_batch(batch, actions[:20])
    assert len(batch.envs) == COUNT
    twin = copier(batch)
    future = trace_batch(batch, actions)
    assert trace_batch(twin, actions) == future
    assert twin.envs[1].worlds.states.base is not batch.envs[1].worlds.states.base
    np.testing.assert_array_equal(twin.envs[1].worlds.observations[0], twin.worlds.observations[1])


@every_env
@pytest.mark.thorough
def test_experts_predict_the_same_bits_in_a_batch(name: str) -> None:
    """One by one, all at once, backwards, on any number of threads."""
    batch = make_batch(name, COUNT, num_threads=1)
    expert = reference_controller(batch)
    single = reference_controller(name)
    observations, _ = batch.reset(seed=2)
    for _ in range(40):
        actions, _ = expert.predict(observations)
        assert actions.shape == (COUNT, batch.task.model.nu)
        assert actions.dtype == np.float32
        alone = np.array([single.predict(observation)[0] for observation in observations])
        np.testing.assert_array_equal(actions, alone)
        np.testing.assert_array_equal(expert.predict(observations[::-1])[0], actions[::-1])
        observations, *_ = batch.step(actions)
    for threads in (2, 3, 64):
        other = reference_controller(make_batch(name, COUNT, num_threads=threads))
        np.testing.assert_array_equal(
            other.predict(observations)[0], expert.predict(observations)[0]
        )
    assert expert.predict(observations[:0])[0].shape == (0, batch.task.model.nu)


@pytest.mark.thorough
@every_env
def test_experts_walk_and_swing_in_a_batch(name: str) -> None:
    """The batch earns what single episodes earn."""
    count, steps = 8, 300
    batch = make_batch(name, count, autoreset_mode="Disabled")
    expert = reference_controller(batch)
    observations, _ = batch.reset(seed=0)
    earned = np.zeros(count)
    for _ in range(steps):
        observations, rewards, *_ = batch.step(expert.predict(observations)[0])
        earned += rewards
    env, single = make(name), reference_controller(name)
    observation, _ = env.reset(seed=5)
    alone = 0.0
    for _ in range(steps):
        observation, reward, *_ = env.step(single.predict(observation)[0])
        alone += reward
    assert earned[5] == alone
