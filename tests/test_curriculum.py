"""`dynenvs train --curriculum`: options that become harder as the score rises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import PENDULUM, SMALL, run

pytest.importorskip("stable_baselines3")

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.learn.curriculum import EASIER, HARDER, LEVELS, Curriculum
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model
from dynenvs.agents.sb3 import make_sb3_vec_env

PLANAR = "dynenvs/PlanarQuadruped-v0"
STEADY = {"learning_rate": 1e-3, "reward_power": 1.0}  # nothing goes by the run's length
HARD: dict[str, Any] = {"action_noise": 0.05, "max_episode_steps": 60}


def make(easy: dict[str, Any], env_id: str = PLANAR, **hard: Any) -> Curriculum:
    return Curriculum(make_sb3_vec_env(env_id, 4, seed=1, **hard), env_id, easy, hard)


def play(worlds: Curriculum, steps: int, act: bool) -> list[float]:
    """Levels after each step, while the expert acts, or nobody does."""
    expert, state = reference_controller(PLANAR), None
    observations = worlds.reset()
    levels = []
    for _ in range(steps):
        action = np.zeros(worlds.action_space.shape, np.float32)
        if act:
            action, state = expert.predict(observations, state)
        else:
            action = np.repeat(action[None], 4, axis=0)
        observations, *_ = worlds.step(action)
        levels.append(worlds.level)
    return levels


def test_it_rises_where_an_expert_acts_and_the_worlds_follow() -> None:
    worlds = make({"action_noise": 0.0}, **HARD)
    task = worlds.envs.task
    assert task.action_noise == 0.0
    levels = play(worlds, 125, act=True)
    assert levels[118] == 0.0  # the second episode of each world counts
    assert levels[-1] == 1.0 / LEVELS
    assert task.action_noise == pytest.approx(0.05 / LEVELS)
    levels = play(worlds, 120 * LEVELS, act=True)
    assert levels[-1] == 1.0
    assert task.action_noise == HARD["action_noise"]


def test_it_falls_back_where_nobody_acts() -> None:
    worlds = make({"action_noise": 0.0}, **HARD)
    worlds.level = 0.5
    assert play(worlds, 500, act=False)[-1] < 0.5
    assert EASIER < HARDER


def test_each_world_counts_once_however_short_its_episodes() -> None:
    worlds = make({"action_noise": 0.0}, **HARD)
    seen = []
    worlds._follow = lambda score: seen.append(worlds.returns.copy())  # type: ignore[method-assign]
    infos = [{"episode": {"r": 10.0 * i}} for i in range(4)]
    rounds = [[0], [0, 1], [0, 1, 2], [2, 3], [3]]
    for ended in rounds:
        dones = np.isin(range(4), ended)
        worlds.venv.step_wait = lambda dones=dones: (None, None, dones, infos)  # type: ignore
        worlds.step_wait()
    assert len(seen) == 1
    assert seen[0].tolist() == [0.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ("easy", "words"),
    [
        ({"control": "position"}, "from a number"),
        ({"terminate_on_fall": False}, "from a number"),
        ({"forward_range": (0.0, 0.1, 0.2)}, "as many"),
        ({"frame_skip": 1}, "frame_skip"),
    ],
)
def test_what_cannot_become_harder_is_refused(easy: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(easy, "dynenvs/Quadruped-v0")


def test_ranges_and_delays_go_by_numbers() -> None:
    hard: dict[str, Any] = {"action_delay": 3, "max_episode_steps": 60}
    worlds = make({"action_delay": 0, "command_range": (0.4, 0.5)}, **hard)
    task: Any = worlds.envs.task
    assert task.action_delay == (0, 0)
    assert task.command_range == (0.4, 0.5)
    worlds.level = 1.0
    worlds._set()
    made: Any = make_sb3_vec_env(PLANAR, 1, **hard).unwrapped
    assert task.action_delay == (3, 3)
    assert task.command_range == made.envs.task.command_range


@pytest.mark.thorough
@pytest.mark.usefixtures("short_runs")
def test_a_run_resumes_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels rise by any score here, so that the broken run must go on with the same one."""
    for name in ("HARDER", "EASIER"):
        monkeypatch.setattr(f"dynenvs.agents.learn.curriculum.{name}", -1e9)
    options: dict[str, Any] = {"action_noise": 0.3, "max_episode_steps": 20}
    settings = load_settings("ppo", PENDULUM, {**SMALL, **STEADY, "n_timesteps": 4096})
    begin: dict[str, Any] = {"seed": 1, "curriculum": {"action_noise": 0.0}, **options}
    log = train("ppo", PENDULUM, settings, tmp_path / "whole", **begin)
    levels = [point["level"] for point in log["curve"]]
    assert levels == sorted(levels)
    assert levels[0] < levels[-1]
    assert log["options"] == options
    train("ppo", PENDULUM, {**settings, "n_timesteps": 2048}, tmp_path / "broken", **begin)
    broken = tmp_path / "broken"
    train("ppo", PENDULUM, {"n_timesteps": 4096}, broken, resume=True)
    same = [
        load_model(folder / "last.zip", PENDULUM).policy.state_dict()
        for folder in (broken, tmp_path / "whole")
    ]
    for name, value in same[0].items():
        assert value.numpy().tobytes() == same[1][name].numpy().tobytes(), name
    with pytest.raises(ValueError, match="--curriculum begins a run"):
        train("ppo", PENDULUM, {}, broken, resume=True, curriculum={"action_noise": 0.0})


@pytest.mark.thorough
@pytest.mark.usefixtures("short_runs")
def test_the_command_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small = [part for name, value in SMALL.items() for part in ("--set", f"{name}={value}")]
    chosen = ("--curriculum", "action_noise=0", "--option", "action_noise=0.1")
    out = ("--out", str(tmp_path / "run"))
    assert run(monkeypatch, "train", "ppo", "double-pendulum", *chosen, *small, *out) == 0
    assert '"level": 0.0' in (tmp_path / "run/log.json").read_text()
    assert run(monkeypatch, "train", "ppo", "double-pendulum", "--curriculum", "noise=0") != 0
    assert "has no option 'noise'" in capfd.readouterr().err
