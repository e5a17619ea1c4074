"""Policies that do in the mirror what they do in front of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import PENDULUM, SMALL
from rollouts import IDS

import dynenvs  # noqa: F401 (registers the environments)
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.envs.core.mirror import Mirror, mirror_of

pytest.importorskip("stable_baselines3")

import torch

from dynenvs.agents import Equivariant, load_policy
from dynenvs.agents.learn.clone import Examples, Settings, clone, ignore
from dynenvs.agents.learn.equivariant import image_of, images
from dynenvs.agents.learn.export_tensors import export_tensors
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model, save_model

pytestmark = pytest.mark.usefixtures("short_runs")

HUMANOID, TROT = "dynenvs/Humanoid-v0", "dynenvs/PlanarQuadruped-v0"
WALKERS = [name for name in IDS if "Pendulum" not in name]


def mirror(env_id: str) -> Mirror:
    return mirror_of(make_batch(env_id, 1, 1).task)


def observations(env_id: str) -> Any:
    size = len(mirror(env_id).observation.places)
    return np.random.default_rng(0).normal(size=(40, size))


def check(act: Any, env_id: str) -> None:
    """The action in the mirror is the mirrored action, and not because all are the same."""
    images, seen = mirror(env_id), observations(env_id)
    actions, turned = act(seen), act(images.observation.of(seen))
    np.testing.assert_allclose(turned, images.action.of(actions), atol=1e-6)
    assert np.abs(turned - actions).max() > 0.01


def predict(model: Any) -> Any:
    return lambda seen: model.predict(seen, deterministic=True)[0]


@pytest.mark.parametrize("env_id", WALKERS)
def test_any_network_of_torch(env_id: str) -> None:
    """Wrapped it is equivariant, bare it is not; its weights stay the network's."""
    env = gym.make(env_id)
    sizes = env.observation_space.shape[0], env.action_space.shape[0]  # type: ignore[index]
    network = torch.nn.Sequential(
        torch.nn.Linear(sizes[0], 32), torch.nn.Tanh(), torch.nn.Linear(32, sizes[1])
    ).double()
    wrapped = Equivariant(network, env)

    def act(module: Any) -> Any:
        return lambda seen: module(torch.as_tensor(seen)).detach().numpy()

    check(act(wrapped), env_id)
    with pytest.raises(AssertionError):
        check(act(network), env_id)
    assert {id(p) for p in wrapped.parameters()} == {id(p) for p in network.parameters()}
    assert not wrapped.state_dict().keys() - {f"network.{key}" for key in network.state_dict()}


def test_a_robot_with_no_sides_is_refused() -> None:
    with pytest.raises(ValueError, match="no left and right"):
        Equivariant(torch.nn.Identity(), gym.make(PENDULUM))
    examples = Examples(np.zeros((9, 6)), np.zeros((9, 2), np.float32))
    with pytest.raises(ValueError, match="leave out symmetric and equivariant"):
        clone(PENDULUM, examples, settings=Settings(equivariant=True), report=ignore)


def cloned(seen: Any, actions: Any, equivariant: bool) -> Any:
    settings = Settings(equivariant=equivariant, last_steps=20, net_arch=(32,))
    return clone(TROT, Examples(seen, actions), settings=settings, report=ignore)


def test_a_clone_and_its_file(tmp_path: Path) -> None:
    """What learns is equivariant, spread and value too, and so is what its files load."""
    seen = observations(TROT)
    actions = np.tanh(seen[:, :12]).astype(np.float32)
    model = cloned(seen, actions, equivariant=True)
    check(predict(model), TROT)
    with pytest.raises(AssertionError):
        check(predict(cloned(seen, actions, equivariant=False)), TROT)

    images, rows = mirror(TROT), torch.as_tensor(seen, dtype=torch.float32)
    turned = torch.as_tensor(images.observation.of(seen), dtype=torch.float32)
    with torch.no_grad():
        model.policy.log_std.copy_(torch.linspace(-2.0, 0.0, 12))
        model.policy.value_net.apply(lambda layer: model.policy.init_weights(layer, 1.0))
        one, two = (model.policy.get_distribution(each).distribution for each in (rows, turned))
        spreads = [each.stddev.numpy() for each in (one, two)]
        np.testing.assert_allclose(np.abs(images.action.of(spreads[0])), spreads[1])
        values = [model.policy.predict_values(each).numpy() for each in (rows, turned)]
    np.testing.assert_allclose(*values, atol=1e-5)
    assert np.ptp(values[0]) > 0.01

    save_model(model, tmp_path / "p.zip", TROT, {"options": {}})
    export_tensors(str(tmp_path / "p.zip"), tmp_path / "p.safetensors")
    wanted = predict(model)(seen)
    for again in (load_model(tmp_path / "p.zip", TROT), load_policy(tmp_path / "p.safetensors")):
        assert predict(again)(seen).tobytes() == wanted.tobytes()
    pytest.importorskip("onnxscript")
    from dynenvs.agents.learn.export_policy import export_policy

    assert export_policy(str(tmp_path / "p.zip"), tmp_path / "p.onnx")[1] < 1e-5


@pytest.mark.thorough
@pytest.mark.parametrize("hold_pose", [0.0, 1.0])
def test_training(hold_pose: float, tmp_path: Path) -> None:
    """PPO keeps it, with and without a law that holds the pose; who goes on from it, too."""
    changes = {**SMALL, "equivariant": True, "hold_pose": hold_pose}
    train("ppo", TROT, load_settings("ppo", TROT, changes), tmp_path / "one")
    best = tmp_path / "one" / "best.zip"
    check(predict(load_model(best, TROT)), TROT)
    refined = load_settings("ppo", TROT, dict(SMALL), refine=True)
    train("ppo", TROT, refined, tmp_path / "two", begin_from=best)
    check(predict(load_model(tmp_path / "two" / "best.zip", TROT)), TROT)


def test_where_it_cannot_be(tmp_path: Path) -> None:
    settings = load_settings("sac", TROT, {"n_timesteps": 64, "equivariant": True})
    with pytest.raises(ValueError, match="equivariant is a setting of ppo"):
        train("sac", TROT, settings, tmp_path / "run")
    plain = cloned(observations(TROT), np.zeros((40, 12), np.float32), equivariant=False)
    save_model(plain, tmp_path / "p.zip", TROT, {"options": {}})
    asked = load_settings("ppo", TROT, {**SMALL, "equivariant": True}, refine=True)
    with pytest.raises(ValueError, match=r"p\.zip' is not equivariant"):
        train("ppo", TROT, asked, tmp_path / "run", begin_from=tmp_path / "p.zip")


def test_an_image_from_outside_is_looked_at() -> None:
    """A card's numbers: each place once, and twice in the mirror is as before."""
    own = images(mirror(HUMANOID))
    assert len(image_of(own["seen"], 59).places) == 59
    for wrong in ([1.0, 1.0], [3.0, 1.0], [0.0, 2.0], [2.0, -1.0], [1.5, 2.0], [1.0], [np.nan, 1]):
        with pytest.raises(ValueError, match="each place from 1 to 2 once"):
            image_of(np.array(wrong), 2)
