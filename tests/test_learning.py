"""Policies: trained, cloned, resumed to the bit."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import PENDULUM, SMALL

from dynenvs.agents.data.teaching import STANDARD
from dynenvs.agents.evaluation.rollout import make_batch, run_all
from dynenvs.agents.experts.reference import reference_controller

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO

from dynenvs.agents.learn import checkpoint
from dynenvs.agents.learn import clone as cloning
from dynenvs.agents.learn import dagger as daggering
from dynenvs.agents.learn import ppo as paced
from dynenvs.agents.learn.clone import (
    Examples,
    Settings,
    clone,
    fit_value,
)
from dynenvs.agents.learn.dagger import dagger
from dynenvs.agents.learn.network import Moments, Standardize, set_moments
from dynenvs.agents.learn.settings import (
    load_settings,
)
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model, read_note, save_model
from dynenvs.memory.layout import Floats

pytestmark = pytest.mark.usefixtures("short_runs")

TROT = "dynenvs/PlanarQuadruped-v0"


def settings(algorithm: str = "ppo", **changes: Any) -> dict[str, Any]:
    return load_settings(algorithm, PENDULUM, {**SMALL, **changes})


def weights(path: Path) -> dict[str, bytes]:
    """Every parameter and buffer of a policy."""
    state = load_model(path, PENDULUM).policy.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


# Training


@pytest.mark.parametrize("use_sde", [False, True])
@pytest.mark.thorough
def test_ppo_resumes_bitwise(use_sde: bool, tmp_path: Path) -> None:
    """Stopped after half of its steps and resumed, a run ends in the same bits.

    Whatever the number of the simulator's threads; those of the learner are a setting.
    """
    chosen = settings(use_sde=use_sde, learner_threads=2)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    log = train("ppo", PENDULUM, chosen, whole, seed=3, threads=2)
    none = train("ppo", PENDULUM, chosen, broken, seed=3, minutes=0.0, threads=1)
    assert [point["steps"] for point in none["curve"]] == [0]
    train("ppo", PENDULUM, chosen, broken, resume=True, threads=1)
    assert weights(broken / "last.zip") == weights(whole / "last.zip")

    class Stop(Exception):
        pass

    def stop(steps: int, log: dict[str, Any]) -> None:
        if log["curve"] and log["curve"][-1]["steps"] == 256:
            raise Stop

    with pytest.raises(FileExistsError, match="--resume"):
        train("ppo", PENDULUM, chosen, broken)
    killed = tmp_path / "killed"
    with pytest.raises(Stop):
        train("ppo", PENDULUM, chosen, killed, seed=3, threads=1, report=stop)
    torch.randn(7), np.random.rand(7), random.random()  # noqa: NPY002 (other use of generators)
    again = train("ppo", PENDULUM, chosen, killed, resume=True, threads=1)
    assert weights(killed / "last.zip") == weights(whole / "last.zip")
    for key in ("steps", "score", "mean_return"):
        assert [p[key] for p in again["curve"]] == [p[key] for p in log["curve"]]
    other = tmp_path / "other"
    train("ppo", PENDULUM, chosen, other, seed=4, threads=1)
    assert weights(other / "last.zip") != weights(whole / "last.zip")


@pytest.mark.thorough
def test_runs_of_sac_keep_their_replay_buffer(tmp_path: Path) -> None:
    changes = {
        "n_envs": 4,
        "n_timesteps": 400,
        "learning_starts": 40,
        "buffer_size": 1000,
        "batch_size": 16,
        "policy_kwargs": {"net_arch": [8]},
    }
    chosen = load_settings("sac", PENDULUM, changes)
    train("sac", PENDULUM, chosen, tmp_path, threads=1)
    log = json.loads((tmp_path / "log.json").read_text())
    assert [point["steps"] for point in log["curve"]] == [100, 200, 300, 400]
    with zipfile.ZipFile(tmp_path / "last.zip") as archive:
        assert checkpoint.BUFFER in archive.namelist()
    longer = json.loads(json.dumps(log))
    assert longer["settings"]["n_timesteps"] == 400
    again = train("sac", PENDULUM, chosen, tmp_path, resume=True, threads=1)
    assert again["curve"][-1]["steps"] == 400
    assert list((tmp_path / "tensorboard").glob("events.*"))


def test_networks_act_on_one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They learn on as many as the settings say, and what comes after has those it had before."""
    acting, learning = [], []
    update = paced.PPO.train

    def counted(model: paced.PPO) -> None:
        learning.append(torch.get_num_threads())
        update(model)

    def stop(steps: int, log: dict[str, Any]) -> None:
        acting.append(torch.get_num_threads())
        if len(acting) > 3:
            raise InterruptedError

    monkeypatch.setattr(paced.PPO, "train", counted)
    before = torch.get_num_threads()
    try:
        with pytest.raises(InterruptedError):
            train("ppo", PENDULUM, settings(learner_threads=3), tmp_path, report=stop)
        assert torch.get_num_threads() == before
    finally:
        torch.set_num_threads(before)
    assert set(acting) == {1}
    assert set(learning) == {3}


def test_a_policy_goes_on_from_another(tmp_path: Path) -> None:
    """`--from`: the first policy is the old one, its observations' scale stays."""
    old = tmp_path / "old.zip"
    model = PPO(
        "MlpPolicy",
        gym.make(PENDULUM),
        policy_kwargs={"features_extractor_class": Standardize, "net_arch": [8]},
    )
    set_moments(model.policy, np.arange(6.0), np.full(6, 2.0))
    save_model(model, old, PENDULUM, {"kind": "dagger"})
    log = train(
        "ppo", PENDULUM, settings(learning_rate=0.0), tmp_path / "run", begin_from=old, threads=1
    )
    assert log["from"] == "dagger"
    assert weights(tmp_path / "run" / "best.zip") == weights(old)
    with pytest.raises(ValueError, match="no policy of sac"):
        train("sac", PENDULUM, load_settings("sac", PENDULUM), tmp_path / "b", begin_from=old)


def test_a_full_disk_keeps_the_checkpoint_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A checkpoint that cannot be written leaves the one before, which resumes."""
    saved = 0
    write = zipfile.ZipFile.writestr

    def full(*arguments: Any, **options: Any) -> None:
        nonlocal saved
        saved += 1
        if saved > 12:
            raise OSError(28, "No space left on device")
        write(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "writestr", full)
        with pytest.raises(OSError, match=r"cannot write .*: No space left"):
            train("ppo", PENDULUM, settings(), tmp_path / "run", threads=1)
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".")]
    before = read_note(tmp_path / "run" / "last.zip")["log"]["curve"]
    assert before
    log = train("ppo", PENDULUM, settings(), tmp_path / "run", resume=True, threads=1)
    assert log["curve"][: len(before)] == before
    assert log["curve"][-1]["steps"] == 512


# Cloning


@pytest.mark.thorough
def test_cloning_and_dagger_come_near_the_expert() -> None:
    """Both errors fall to a fraction of the actions' spread; an SB3 policy comes out."""
    quick = Settings(net_arch=(64, 64), worlds=10, round_steps=50, lessons=3, last_steps=300)
    envs = make_batch(PENDULUM, 10, 1)
    runs = run_all(envs, reference_controller(envs), range(10))
    observations = np.concatenate([one.observations[:-1] for one in runs])
    actions = np.concatenate([one.actions for one in runs])
    losses: list[float] = []
    model = clone(
        PENDULUM,
        Examples(observations, actions),
        settings=quick,
        report=lambda steps, loss: losses.append(loss),
    )
    # A policy without a network would give the median: its error is the actions' spread
    assert losses[-1] < 0.5 * np.abs(actions - np.median(actions, axis=0)).mean()
    found, _ = model.predict(observations, deterministic=True)
    assert np.abs(found - actions).mean() < 2.0 * losses[-1]
    steps: list[int] = []
    dagger(PENDULUM, 2, settings=quick, report=lambda seen, loss: steps.append(seen))
    # As many transitions as two episodes have; no lesson before half of them have been shown
    assert steps == [1000, 1500, 2000]
    loss = fit_value(model, quick, runs)
    assert loss < 1.0


def test_a_clone_spreads_its_actions_as_far_as_it_errs() -> None:
    """Half of the teacher's actions are within 0.67 standard deviations, while it swings up."""
    envs = make_batch(PENDULUM, 10, 1)
    runs = run_all(envs, reference_controller(envs), range(10))
    observations = np.concatenate([one.observations[:60] for one in runs])
    actions = np.concatenate([one.actions[:60] for one in runs])
    brief = Settings(net_arch=(16,), last_steps=50)
    examples = Examples(observations, actions)
    policy = clone(PENDULUM, examples, settings=brief, report=lambda seen, loss: None).policy
    with torch.no_grad():
        meant = policy.get_distribution(torch.as_tensor(observations).float()).mode().numpy()
        spread = policy.log_std.exp().numpy()
    share = np.mean(np.abs(meant - actions) < 0.67 * spread, axis=0)
    np.testing.assert_allclose(share, 0.5, atol=0.05)
    assert (spread > 0.01).all()


def dagger_answers(monkeypatch: pytest.MonkeyPatch, shown: float) -> tuple[Examples, Floats]:
    """What a short DAgger of the planar quadruped learns from, and the answers without memory."""
    lessons: list[Examples] = []

    def note(policy: Any, examples: Examples) -> Any:
        lessons.append(examples)
        return lambda chosen: next(policy.parameters()).sum()

    monkeypatch.setattr(cloning, "_distance", note)
    brief = Settings(
        net_arch=(4,), worlds=2, round_steps=20, last_steps=2, shown=shown, renewed=0.0
    )
    dagger(TROT, 1, settings=brief, report=lambda seen, loss: None)
    expert = reference_controller(make_batch(TROT, 1, 1))
    return lessons[-1], expert.predict(lessons[-1].observations)[0]


@pytest.mark.thorough
def test_dagger_asks_who_acts_with_memory_and_who_watches_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A round shown, of 40 examples, has the answers of an expert that remembers."""
    examples, forgetful = dagger_answers(monkeypatch, 0.04)
    np.testing.assert_array_equal(examples.actions[40:], forgetful[40:])
    assert np.abs(examples.actions[:40] - forgetful[:40]).max() > 1e-4
    longer, forgetful = dagger_answers(monkeypatch, 1.0)
    np.testing.assert_array_equal(longer.actions[:40], examples.actions[:40])
    assert np.abs(longer.actions[40:-40] - forgetful[40:-40]).max() > 1e-4
    np.testing.assert_array_equal(longer.actions[-40:], forgetful[-40:])


@pytest.mark.thorough
def test_some_worlds_of_dagger_begin_anew_with_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise of the reset, none but a world that begins is at rest."""
    begun = {}
    for renewed in (0.0, 1.0, 0.5):
        lessons: list[Examples] = []
        monkeypatch.setattr(
            daggering, "scale_observations", lambda policy, seen, kept=lessons: kept.append(seen)
        )
        brief = Settings(
            net_arch=(4,), worlds=5, round_steps=20, last_steps=2, shown=0.99, renewed=renewed
        )
        quiet: Any = {"settings": brief, "report": lambda seen, loss: None, "reset_noise": 0.0}
        dagger(PENDULUM, 1, **quiet)
        (seen,) = lessons
        still = (seen[:, 4:] == 0.0).all(axis=1)  # joint velocities
        begun[renewed] = still.reshape(-1, 20, 5)
    assert begun[0.0].sum() == 5
    assert begun[1.0][:, 0].all()
    assert not begun[1.0][:, 1:].any()
    assert 0 < begun[0.5][1:, 0].mean() < 1


def test_noise_shakes_the_expert_in_dagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first states are the same, and then go apart; the same seed shakes alike."""
    seen: list[np.ndarray] = []
    monkeypatch.setattr(
        daggering, "scale_observations", lambda policy, states: seen.append(states.copy())
    )
    brief = Settings(net_arch=(4,), worlds=5, round_steps=20, last_steps=2, renewed=0.0)
    for noise in (0.0, 0.05, 0.05):
        monkeypatch.setitem(STANDARD, PENDULUM, noise)
        dagger(PENDULUM, 1, settings=brief, report=lambda seen, loss: None)
    calm, shaken, again = seen
    np.testing.assert_array_equal(shaken[:5], calm[:5])
    assert (np.abs(shaken[5:] - calm[5:]).max(axis=1) > 0.0).all()
    np.testing.assert_array_equal(again, shaken)


@pytest.mark.thorough
def test_who_goes_on_from_a_precise_policy_widens_it(tmp_path: Path) -> None:
    """Each joint's spread is the least one or its own; the value is that of the wider policy."""
    zip_, run_ = tmp_path / "precise.zip", tmp_path / "run"
    model = PPO("MlpPolicy", gym.make(PENDULUM), policy_kwargs={"net_arch": [8]})
    with torch.no_grad():
        model.policy.log_std.copy_(torch.tensor([-6.0, -1.0]))
    save_model(model, zip_, PENDULUM)
    wide = settings(learning_rate=0.0, least_spread=0.05)
    train("ppo", PENDULUM, wide, run_, begin_from=zip_)
    found = load_model(run_ / "last.zip", PENDULUM).policy
    expected = np.log([0.05, np.exp(-1.0)])
    np.testing.assert_allclose(found.log_std.detach().numpy(), expected, rtol=1e-6)
    for name, weights in model.policy.state_dict().items():
        same = torch.equal(weights, found.state_dict()[name])
        assert same == ("value" not in name and name != "log_std"), name


def test_a_cloned_zip_is_self_contained(tmp_path: Path) -> None:
    """`PPO.load` gives a policy that takes the environment's own observations."""
    model = PPO(
        "MlpPolicy", gym.make(PENDULUM), policy_kwargs={"features_extractor_class": Standardize}
    )
    rng = np.random.default_rng(0)
    set_moments(model.policy, rng.normal(size=6), rng.uniform(0.5, 2, 6))
    path = tmp_path / "p.zip"
    save_model(model, path, PENDULUM)
    observations = rng.normal(size=(5, 6))
    expected, _ = model.predict(observations, deterministic=True)
    np.testing.assert_array_equal(
        PPO.load(path, device="cpu").predict(observations, deterministic=True)[0], expected
    )


def test_moments_are_those_of_all_batches() -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(3.0, 5.0, (100, 4))
    moments = Moments(4)
    for part in np.split(data, [1, 7, 50]):
        moments.add(part)
    np.testing.assert_allclose(moments.mean, data.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.scale, data.std(axis=0), rtol=1e-12)
