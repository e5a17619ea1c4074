"""Folders for the Hugging Face Hub: a policy that acts as before, and a card that the Hub reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import PENDULUM, run

import dynenvs  # noqa: F401 (registers the environments)

pytest.importorskip("stable_baselines3")

import yaml
from stable_baselines3 import PPO

from dynenvs.agents import load_policy
from dynenvs.agents.learn.hub import FILE, PAGE, export_to_hub, page
from dynenvs.agents.policy_file import save_model

pytestmark = pytest.mark.usefixtures("short_runs")


@pytest.fixture
def policy(tmp_path: Path) -> tuple[Any, Path]:
    """A small policy for short episodes, and its zip."""
    options = {"max_episode_steps": 20}
    model = PPO("MlpPolicy", gym.make(PENDULUM, **options), policy_kwargs={"net_arch": [3]}, seed=0)  # type: ignore[arg-type]
    save_model(model, tmp_path / "p.zip", PENDULUM, {"options": options})
    return model, tmp_path / "p.zip"


def matter(text: str) -> Any:
    """The card's front matter."""
    _, words, _ = text.split("---\n", 2)
    return yaml.safe_load(words)


def test_the_folder(
    policy: tuple[Any, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the command: policy and card, which tells task, options, score and columns."""
    model, file = policy
    assert run(monkeypatch, "export-policy", str(file), "--hub", str(tmp_path / "swing")) == 0
    assert f"hf upload your-name/policy {tmp_path / 'swing'}" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "swing").iterdir()} == {FILE, PAGE}
    seen = np.random.default_rng(0).normal(size=(9, 6))
    again = load_policy(tmp_path / "swing" / FILE)
    assert again.predict(seen)[0].shape == (9, 2)
    wanted = model.predict(seen, deterministic=True)[0]
    assert again.predict(seen, deterministic=True)[0].tobytes() == wanted.tobytes()

    text = (tmp_path / "swing" / PAGE).read_text(encoding="utf-8")
    told = matter(text)
    assert (told["library_name"], told["pipeline_tag"]) == ("dynenvs", "reinforcement-learning")
    assert PENDULUM in told["tags"]
    (index,) = told["model-index"]
    assert index["name"] == "swing"
    value = index["results"][0]["metrics"][0]["value"]
    assert f"Mean return {value:.1f}; score " in text
    assert f'gym.make("{PENDULUM}", max_episode_steps=20)' in text
    assert "| 0 | " in text


def test_the_hub_reads_the_card(policy: tuple[Any, Path], tmp_path: Path) -> None:
    """By huggingface_hub's own class, without the network."""
    hub = pytest.importorskip("huggingface_hub")
    export_to_hub(str(policy[1]), tmp_path / "swing")
    card = hub.ModelCard.load(tmp_path / "swing" / PAGE)
    (result,) = card.data.eval_results
    assert card.data.model_name == "swing"
    assert (result.dataset_type, result.metric_type) == (PENDULUM, "mean_reward")
    assert card.data.pipeline_tag == "reinforcement-learning"


def test_names_are_text() -> None:
    """A folder's name that is YAML, HTML or two lines stays a name."""
    name = "a: [b]\n---\n<script>alert(1)</script>"
    words = {"env_id": PENDULUM, "options": {}, "algorithm": "ppo", "steps": 5, "dynenvs": "0"}
    task = gym.make(PENDULUM).unwrapped.task  # type: ignore[attr-defined]
    text = page(name, words, task, {"mean_return": 1.0, "score": 0.5, "falls": 0})
    assert matter(text)["model-index"][0]["name"] == name
    body = text.split("---\n", 2)[2]
    assert "<script>" not in body
    assert "# a: [b] --- &lt;script&gt;" in body


def test_what_has_no_card(tmp_path: Path, policy: tuple[Any, Path]) -> None:
    """Gymnasium's own tasks do not say what each number is: nothing is written."""
    model, _ = policy
    save_model(model, tmp_path / "ant.zip", "dynenvs/MujocoAnt-v5", {"options": {}})
    with pytest.raises(ValueError, match="mujoco-ant does not say what each number is"):
        export_to_hub(str(tmp_path / "ant.zip"), tmp_path / "ant")
    assert not (tmp_path / "ant").exists()
