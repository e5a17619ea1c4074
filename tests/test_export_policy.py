"""Policies as ONNX files: the same actions, and a card that says what the numbers are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401

pytest.importorskip("stable_baselines3")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

import torch  # noqa: E402
from stable_baselines3 import PPO, SAC  # noqa: E402

from dynenvs.agents import make_sb3_vec_env  # noqa: E402
from dynenvs.agents.evaluation.rollout import make_batch  # noqa: E402
from dynenvs.agents.files import shipped_file  # noqa: E402
from dynenvs.agents.learn import export_policy as module  # noqa: E402
from dynenvs.agents.learn.export_policy import export_policy  # noqa: E402
from dynenvs.agents.learn.network import policy_options, set_moments  # noqa: E402
from dynenvs.agents.learn.off_policy import ReachingPolicy, reaching  # noqa: E402
from dynenvs.agents.policy_file import load_model, save_model  # noqa: E402

ENV = "dynenvs/DoublePendulum-v0"


def run_file(file: Path, observations: Any) -> Any:
    """Actions of an ONNX file."""
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    return session.run(None, {"observation": np.asarray(observations, np.float32)})[0]


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        (PPO, {}),
        pytest.param(PPO, {"use_sde": True}, marks=pytest.mark.thorough),
        (SAC, {"use_sde": True}),
        pytest.param(SAC, {}, marks=pytest.mark.thorough),
    ],
)
def test_the_same_actions(tmp_path: Path, algorithm: Any, options: Any) -> None:
    """Of one observation and of many, scaled inside, whatever the algorithm squashes."""
    env = make_sb3_vec_env(ENV, 2)
    net = policy_options((32, 32))
    model = algorithm("MlpPolicy", env, policy_kwargs=net, device="cpu", seed=1, **options)
    generator = np.random.default_rng(0)
    set_moments(model.policy, generator.normal(size=6), generator.uniform(0.5, 2.0, 6))
    if algorithm is PPO:  # whose last layer begins with small weights
        torch.nn.init.orthogonal_(model.policy.action_net.weight, 1.0)
    save_model(model, tmp_path / "p.zip", ENV)
    file, difference = export_policy(str(tmp_path / "p.zip"), tmp_path / "p.onnx")
    assert difference <= 1e-6
    observations = generator.normal(size=(100, 6))
    wanted = model.predict(observations, deterministic=True)[0]
    assert np.abs(wanted).max() > 0.01  # there is something to compare
    np.testing.assert_allclose(run_file(file, observations), wanted, atol=1e-6)
    np.testing.assert_allclose(run_file(file, observations[:1]), wanted[:1], atol=1e-6)


def test_the_law_of_a_policy_that_holds_is_inside(tmp_path: Path) -> None:
    """Torques, cut at the limits."""
    name = "dynenvs/PlanarQuadruped-v0"
    env = make_sb3_vec_env(name, 2)
    law = reaching(make_batch(name, 1, 1).task)
    net = {**policy_options((16,)), **law}
    model = SAC(ReachingPolicy, env, policy_kwargs=net, device="cpu", seed=1, buffer_size=2)
    save_model(model, tmp_path / "p.zip", name)
    file, difference = export_policy(str(tmp_path / "p.zip"), tmp_path / "p.onnx")
    assert difference <= 1e-5
    begun = np.repeat(env.reset(), 50, axis=0)  # type: ignore[arg-type]
    seen = begun + np.random.default_rng(0).normal(scale=0.3, size=begun.shape)
    wanted = model.predict(seen, deterministic=True)[0]
    assert np.abs(wanted).max() == 1.0
    assert np.median(np.abs(wanted)) < 0.9
    np.testing.assert_allclose(run_file(file, seen), wanted, atol=1e-5)


@pytest.mark.thorough
def test_a_shipped_policy_acts_as_well_in_its_file(tmp_path: Path) -> None:
    """An episode by the file alone has the return of the policy's own."""
    name = "dynenvs/Quadruped-v0"
    file, _ = export_policy("ppo", tmp_path / "q.onnx", name)
    policy = load_model(shipped_file(name, "ppo"), name)
    returns = []
    for acts in (lambda o: run_file(file, o[None])[0], lambda o: policy.predict(o)[0]):
        env = gym.make(name, command=(0.5, 0.0, 0.0), max_episode_steps=200)
        policy.set_random_seed(0)
        observation, _ = env.reset(seed=5)
        total = 0.0
        for _ in range(200):
            action = acts(observation)
            observation, reward, terminated, *_ = env.step(action)
            total += float(reward)
            assert not terminated
        returns.append(total)
    assert returns[0] > 150.0


def test_the_card(tmp_path: Path) -> None:
    """It is in the file and beside it, and says what the environment says."""
    name = "dynenvs/PlanarHumanoid-v0"
    file, _ = export_policy("ppo", tmp_path / "p.onnx", name)
    properties = {p.key: p.value for p in onnx.load(file).metadata_props}
    words = json.loads(properties["dynenvs"])
    env: Any = gym.make(name).unwrapped
    assert words["environment"] == name
    assert words["control_period"] == env.dt
    for block in words["input"]["blocks"]:
        place = env.observation_slices[block["name"]]
        assert (block["from"], block["size"]) == (place.start, place.stop - place.start)
        np.testing.assert_array_equal(block["low"], env.observation_space.low[place])
    model = env.task.model
    assert words["output"]["effort_limits"] == model.effort_limit[model.actuated].tolist()
    page = file.with_suffix(".md").read_text()
    assert name in page
    assert all(joint in page for joint in words["output"]["joints"])


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file 'nobody.zip'"):
        export_policy("nobody.zip")
    plain = tmp_path / "plain.zip"
    PPO("MlpPolicy", make_sb3_vec_env(ENV, 1), device="cpu").save(plain)
    with pytest.raises(ValueError, match="name it with --env"):
        export_policy(str(plain))
    with pytest.raises(ValueError, match="of shapes"):
        export_policy(str(plain), tmp_path / "p.onnx", "dynenvs/ChainPendulum-v0")
    other = PPO("MlpPolicy", make_sb3_vec_env(ENV, 1), device="cpu", seed=7)
    write = module._write
    monkeypatch.setattr(module, "_write", lambda _, *rest: write(module.Actor(other.policy), *rest))
    with pytest.raises(RuntimeError, match="it was not kept"):
        export_policy(str(plain), tmp_path / "p.onnx", ENV)
    assert not (tmp_path / "p.onnx").exists()
