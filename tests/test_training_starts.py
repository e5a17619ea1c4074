"""`dynenvs train --starts`: runs whose episodes begin in states of a dataset."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import PENDULUM, SMALL, run

pytest.importorskip("minari")
pytest.importorskip("stable_baselines3")

from dynenvs.agents.data.collect import collect
from dynenvs.agents.learn import train as training
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.starts import parse_starts
from dynenvs.agents.learn.sweep import Training, for_a_worker
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model

pytestmark = pytest.mark.usefixtures("short_runs")
NAME = "double-pendulum/expert-v0"


def weights(path: Path) -> dict[str, bytes]:
    state = load_model(path, PENDULUM).policy.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


@pytest.mark.thorough
def test_a_run_begins_in_a_datasets_states_and_resumes_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of what it sees first is up where the expert holds the pendulum; scores know nothing."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    collect(PENDULUM, 2)
    seen: list[Any] = []
    make = training.make_sb3_vec_env

    def watched(*args: Any, **options: Any) -> Any:
        venv = make(*args, **options)
        if "starts" in options:
            reset = venv.reset

            def noted() -> Any:
                seen.append(reset())
                return seen[-1]

            venv.reset = noted
        return venv

    monkeypatch.setattr(training, "make_sb3_vec_env", watched)
    chosen = load_settings("ppo", PENDULUM, {**SMALL, "n_envs": 64, "n_timesteps": 2048})
    begin: dict[str, Any] = {"seed": 1, "starts": (NAME, 0.5)}
    log = train("ppo", PENDULUM, chosen, tmp_path / "whole", **begin)
    assert log["starts"] == {"dataset": NAME, "share": 0.5}
    assert log["options"] == {}
    hanging = np.abs(seen[0] - np.median(seen[0], axis=0)).max(axis=1) < 0.5
    assert 0.2 < hanging.mean() < 0.8
    train("ppo", PENDULUM, chosen, tmp_path / "broken", minutes=0.0, **begin)
    shutil.rmtree(tmp_path / "data")
    train("ppo", PENDULUM, chosen, tmp_path / "broken", resume=True)
    assert weights(tmp_path / "broken/last.zip") == weights(tmp_path / "whole/last.zip")
    with pytest.raises(ValueError, match="--starts begins a run"):
        train("ppo", PENDULUM, chosen, tmp_path / "broken", resume=True, starts=(NAME, 0.5))
    with pytest.raises(FileNotFoundError, match="dynenvs collect"):
        train("ppo", PENDULUM, chosen, tmp_path / "none", starts=(NAME, 0.5))
    assert not (tmp_path / "none").exists()
    file = str(tmp_path / "whole/starts.npz")
    train("ppo", PENDULUM, chosen, tmp_path / "file", seed=1, starts=(file, 0.5))
    assert weights(tmp_path / "file/last.zip") == weights(tmp_path / "whole/last.zip")


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """By name, and nothing is left behind."""
    chosen = load_settings("ppo", PENDULUM, SMALL)
    broken, other = tmp_path / "broken.npz", tmp_path / "other.npz"
    broken.write_bytes(b"no zip")
    envs: Any = gym.make_vec("dynenvs/PlanarQuadruped-v0", num_envs=2)
    envs.reset(seed=0)
    envs.save_starts(other)
    for file, words in ((broken, "no file of starts"), (other, "of another environment")):
        with pytest.raises(ValueError, match=words):
            train("ppo", PENDULUM, chosen, tmp_path / "run", starts=(str(file), 0.5))
    with pytest.raises(FileNotFoundError, match="save_starts"):
        train("ppo", PENDULUM, chosen, tmp_path / "run", starts=("none.npz", 0.5))
    assert not (tmp_path / "run").exists()


@pytest.mark.thorough
def test_the_share_falls_as_the_score_rises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels rise by any score here; a run that goes on begins with the share that it had."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "data"))
    collect(PENDULUM, 2)
    for name in ("HARDER", "EASIER"):
        monkeypatch.setattr(f"dynenvs.agents.learn.curriculum.{name}", -1e9)
    tasks: list[Any] = []
    make = training.make_sb3_vec_env

    def noted(*args: Any, **options: Any) -> Any:
        venv = make(*args, **options)
        tasks.append(venv.unwrapped.envs.task)
        return venv

    monkeypatch.setattr(training, "make_sb3_vec_env", noted)
    short: dict[str, Any] = {"max_episode_steps": 60, "starts": (NAME, 0.1)}
    settings = load_settings("ppo", PENDULUM, {**SMALL, "n_timesteps": 2048})
    log = train("ppo", PENDULUM, settings, tmp_path, curriculum={"starts_share": 0.6}, **short)
    level = log["curve"][-1]["level"]
    assert 0.0 < level < 1.0
    assert tasks[0].starts_share == pytest.approx(0.6 - 0.5 * level)
    train("ppo", PENDULUM, {"n_timesteps": 4096}, tmp_path, resume=True)
    assert tasks[1].starts_share < tasks[0].starts_share


def test_a_worker_finds_files_from_wherever_it_runs() -> None:
    more = {"begin_from": Path("a.zip"), "starts": ("own.npz", 0.2), "curriculum": None}
    there = for_a_worker(Training("ppo", PENDULUM, {}, Path("run"), 1, False, more))
    here = Path.cwd()
    assert there.folder == here / "run"
    assert there.more["begin_from"] == here / "a.zip"
    assert there.more["starts"] == (str(here / "own.npz"), 0.2)
    assert there.more["threads"] == 1
    plain = there._replace(more={"begin_from": None, "starts": (NAME, 0.5)})
    assert for_a_worker(plain).more["starts"] == (NAME, 0.5)


def test_what_is_said_of_starts() -> None:
    assert parse_starts("humanoid/expert-v0:0.7") == ("humanoid/expert-v0", 0.7)
    assert parse_starts("humanoid") == ("humanoid", 0.5)
    assert parse_starts("humanoid:0") == ("humanoid", 0.0)
    assert parse_starts("own.npz:0.2") == ("own.npz", 0.2)
    assert parse_starts(r"C:\own.npz") == (r"C:\own.npz", 0.5)
    for wrong in ("humanoid:2", "humanoid:x", ":0.5", "humanoid:-1"):
        with pytest.raises(ValueError, match="and a share up to 1"):
            parse_starts(wrong)


def test_a_share_falls_to_something(tmp_path: Path) -> None:
    """A share of 0 is where a curriculum goes to, and a curriculum of shares needs one to go to."""
    chosen = load_settings("ppo", PENDULUM, SMALL)
    with pytest.raises(ValueError, match="lets no episode begin there"):
        train("ppo", PENDULUM, chosen, tmp_path / "run", starts=(NAME, 0.0))
    with pytest.raises(ValueError, match="needs --starts DATASET:SHARE"):
        train("ppo", PENDULUM, chosen, tmp_path / "run", curriculum={"starts_share": 0.7})
    assert not (tmp_path / "run").exists()


def test_the_option_starts_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores are those of the standard beginning: what learning alone takes is --starts."""
    wanted = ("train", "ppo", "double-pendulum", "--option", "starts=some.npz")
    assert run(monkeypatch, *wanted) == 2
    assert "train takes --starts DATASET[:SHARE]" in capsys.readouterr().err
