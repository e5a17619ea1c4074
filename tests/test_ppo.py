"""PPO of our own: its update, the pace by KL distance, mirrored samples, and holding a pose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import PENDULUM

pytest.importorskip("stable_baselines3")

import stable_baselines3
import torch

from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.learn.holding import KICK, HoldingPolicy, holding, pose_law
from dynenvs.agents.learn.ppo import FACTOR, PPO
from dynenvs.agents.learn.settings import constructor_options, load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model
from dynenvs.agents.sb3 import make_sb3_vec_env
from dynenvs.envs.core.mirror import mirror_of

pytestmark = pytest.mark.usefixtures("short_runs")

TROT, HUMANOID = "dynenvs/PlanarQuadruped-v0", "dynenvs/Humanoid-v0"
QUADRUPED = "dynenvs/Quadruped-v0"
NET = {"net_arch": [16]}


def learned(kind: Any, steps: int = 256, **options: Any) -> Any:
    """A model after rollouts of 128 steps, each learned from in whole."""
    venv = make_sb3_vec_env(TROT, 4, seed=0)
    given = {"n_steps": 32, "batch_size": 128, "n_epochs": 1, "policy_kwargs": NET, **options}
    return kind("MlpPolicy", venv, seed=2, device="cpu", **given).learn(steps)


def flat(model: Any) -> Any:
    return torch.cat([value.detach().flatten() for value in model.policy.parameters()])


@pytest.mark.parametrize("options", [{}, {"ent_coef": 0.1, "use_sde": True}])
def test_an_update_is_that_of_stable_baselines(options: dict[str, Any]) -> None:
    """The same weights, where the order of samples does not matter."""
    one, other = (learned(kind, 128, **options) for kind in (stable_baselines3.PPO, PPO))
    torch.testing.assert_close(flat(other), flat(one), rtol=0.0, atol=1e-6)
    begin = learned(PPO, 128, learning_rate=0.0, **options)
    assert (flat(one) - flat(begin)).abs().max() > 1e-4


def test_the_rate_follows_the_distance() -> None:
    """A greedy rate falls from update to update, a shy one rises; without `desired_kl` it stays."""
    rates = {}
    for first in (1e-2, 1e-6):
        rates[first] = learned(PPO, learning_rate=first, n_epochs=4, desired_kl=1e-3).rate
    assert rates[1e-2] == pytest.approx(1e-2 / FACTOR**2)
    assert rates[1e-6] == pytest.approx(1e-6 * FACTOR**2)
    assert learned(PPO, learning_rate=1e-2, n_epochs=4).rate == 1e-2
    chosen = constructor_options(load_settings("ppo", TROT, {"desired_kl": "lin_1e-3"}))
    falls = chosen["desired_kl"]  # half of it at the first update; at the second, zero: no rise
    shy = learned(PPO, learning_rate=1e-6, n_epochs=4, desired_kl=falls).rate
    assert shy == pytest.approx(1e-6 * FACTOR)


def test_samples_count_as_their_images() -> None:
    """The gradient sees images of half of the samples, with values and advantages as they were."""
    mirror = mirror_of(make_batch(TROT, 1, 1).task)
    model = learned(PPO, learning_rate=0.0, mirror=mirror)
    whole, seen = model._samples(), {}

    def step(batch: dict[str, Any], own: Any) -> dict[str, float]:
        seen.update(batch, own=own)
        return {"approx_kl": 0.0}

    model._step = step
    model.train()
    own, key = seen["own"], {value.item(): i for i, value in enumerate(whole["returns"])}
    assert 40 < own.sum() < 88  # of 128 coins
    rows = torch.tensor([key[value.item()] for value in seen["returns"]])
    for name, image in (("observations", mirror.observation), ("actions", mirror.action)):
        as_it_was = whole[name][rows].numpy()
        wanted = np.where(own[:, None], as_it_was, image.of(as_it_was))
        np.testing.assert_array_equal(seen[name], wanted.astype(np.float32))
    torch.testing.assert_close(seen["advantages"], whole["advantages"][rows], rtol=0.0, atol=0.0)


def test_a_walker_resumes_bitwise(tmp_path: Path) -> None:
    """Holding, mirrored and paced: stopped and resumed, a run ends in the same bits."""
    changes = {
        "n_envs": 4,
        "n_steps": 16,
        "batch_size": 32,
        "n_timesteps": 256,
        "desired_kl": 0.01,
        "hold_pose": 1.0,
        "symmetric": True,
    }
    chosen = load_settings("ppo", TROT, changes)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train("ppo", TROT, chosen, whole, seed=3, threads=1)

    def stop(steps: int, log: dict[str, Any]) -> None:
        if steps >= 128:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train("ppo", TROT, chosen, broken, seed=3, threads=1, report=stop)
    train("ppo", TROT, chosen, broken, resume=True, threads=1)
    one, other = (load_model(folder / "last.zip", TROT) for folder in (whole, broken))
    assert torch.equal(flat(one), flat(other))
    assert one.rate == other.rate != 1e-3  # type: ignore[attr-defined]
    plain = stable_baselines3.PPO.load(whole / "last.zip", device="cpu")
    assert isinstance(plain.policy, HoldingPolicy)
    seen = np.zeros(one.observation_space.shape or ())
    np.testing.assert_array_equal(
        one.predict(seen, deterministic=True)[0], plain.predict(seen, deterministic=True)[0]
    )


@pytest.mark.thorough
def test_a_new_policy_holds_the_pose() -> None:
    """The humanoid falls after 0.3 s without torques, and after 1.7 s under the law alone."""
    envs = make_batch(HUMANOID, 8, 1)
    law = holding(envs.task, 0.25, 0.25)
    venv = make_sb3_vec_env(HUMANOID, 8, seed=0)
    model = PPO(HoldingPolicy, venv, policy_kwargs={**NET, **law}, seed=0, device="cpu")
    lengths = []
    for acts in (
        lambda o: np.zeros((8, 21), np.float32),
        lambda o: model.predict(o, deterministic=True)[0],
    ):
        observation, _ = envs.reset(seed=0)
        alive, steps = np.ones(8, bool), np.zeros(8)
        while alive.any():
            observation, _, fell, _, _ = envs.step(acts(observation))
            alive &= ~fell
            steps += alive
        lengths.append(steps.mean())
    assert lengths[0] < 25
    assert lengths[1] > 100
    # In the pose, at rest, nothing acts but what the small network says
    at = envs.task.observation_slices
    posed = np.zeros(59)
    posed[at["joint angles"]] = envs.task.neutral()
    with torch.no_grad():
        seen = torch.as_tensor(posed, dtype=torch.float32)[None]
        assert (model.policy.get_distribution(seen).mode().abs() < 0.05).all()
        torch.testing.assert_close(
            model.policy.log_std.exp(), torch.as_tensor(law["noise"], dtype=torch.float32)
        )


@pytest.mark.parametrize(("share", "stands"), [(1.0, True), (0.25, False)])
def test_a_quadruped_stands_on_the_stiff_law_alone(share: float, stands: bool) -> None:
    envs = make_batch(QUADRUPED, 4, 1)
    law = pose_law(envs.task, share)
    observation, _ = envs.reset(seed=0)
    fell = np.zeros(4, bool)
    for _ in range(200):
        observation, _, terminated, _, _ = envs.step(observation @ law["gains"].T + law["offset"])
        fell |= terminated
    assert not fell.any() if stands else fell.all()


def test_noise_is_as_strong_as_the_inertia_allows() -> None:
    """In the air, one standard deviation changes a joint's speed by KICK, if it is not `most`."""
    envs = make_batch(HUMANOID, 2, 1, reset_noise=0.0)
    law = holding(envs.task, 0.25, 0.1)
    at = envs.task.observation_slices["joint velocities"]
    for joint, noise in enumerate(law["noise"]):
        envs.reset(seed=0)
        state = envs.get_state()
        state["world"]["q"][:, 2] += 1.0
        envs.set_state(state)
        actions = np.zeros((2, 21), np.float32)
        actions[:, joint] = noise, -noise
        seen = envs.step(actions)[0][:, at]
        change = 0.5 * (seen[0] - seen[1])[joint]
        assert noise == 0.1 or change == pytest.approx(KICK, rel=0.5)
        assert change < 1.01 * KICK  # the joint's damping takes some of it
    assert (law["noise"] < 0.1).any()


def test_a_policy_that_holds_no_pose_does_not_begin_to(tmp_path: Path) -> None:
    """From a file, `hold_pose` would be left out: it is refused, and 0 is not."""
    changes = {"n_envs": 4, "n_steps": 16, "batch_size": 32, "n_timesteps": 64}
    plain = load_settings("ppo", TROT, {**changes, "hold_pose": 0, "symmetric": False})
    train("ppo", TROT, plain, tmp_path / "one", threads=1)
    best = tmp_path / "one" / "best.zip"
    with pytest.raises(
        ValueError, match=r"best\.zip' was trained without hold_pose.*--set hold_pose=0"
    ):
        train("ppo", TROT, {**plain, "hold_pose": 1.0}, tmp_path / "two", begin_from=best)
    train("ppo", TROT, plain, tmp_path / "two", begin_from=best, threads=1)


def test_what_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="hold_pose is for walkers"):
        holding(make_batch(PENDULUM, 1, 1).task, 1.0, 0.1)
    with pytest.raises(ValueError, match="holds a pose by itself"):
        holding(make_batch(TROT, 1, 1, control="position").task, 1.0, 0.1)
    for share in (True, -0.5, 2.0):
        with pytest.raises(ValueError, match="hold_pose must be a number in"):
            holding(make_batch(TROT, 1, 1).task, share, 0.1)
    with pytest.raises(ValueError, match="ppo has no setting 'target_kl'"):
        load_settings("ppo", TROT, {"target_kl": 0.1})
    with pytest.raises(ValueError, match="sac has no setting 'desired_kl'"):
        load_settings("sac", TROT, {"desired_kl": 0.1})
