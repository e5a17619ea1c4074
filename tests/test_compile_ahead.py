"""`dynenvs compile` fills the cache: later starts compile nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynenvs import cli
from dynenvs.agents import compile

START = """
import gymnasium as gym
from dynenvs.agents import reference_controller
env = gym.make("dynenvs/DoublePendulum-v0")
expert = reference_controller(env)
observation, _ = env.reset(seed=0)
env.step(expert.predict(observation)[0])
from dynenvs import World
World(env.unwrapped.model).step()
"""


def run(code: list[str], cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *code],
        env={**os.environ, "DYNENVS_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


@pytest.mark.slow
def test_what_is_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    """Nothing is said, and no file is added, by a start after it."""
    command = ["-m", "dynenvs.cli", "compile", "double-pendulum"]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"MB in {tmp_path}" in done.stdout.replace("\n", " ")
    kept = sorted(file.name for file in tmp_path.rglob("*.nbc"))
    after = run(["-c", START], tmp_path)
    assert (after.returncode, after.stderr) == (0, "")
    assert sorted(file.name for file in tmp_path.rglob("*.nbc")) == kept


def test_names_and_folders_are_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An unknown environment, and a folder that cannot be: one line each."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(compile, "is_writable", lambda: False)
    monkeypatch.setattr(compile, "cache_root", lambda: file / "cache")
    for arguments, words in (
        (["compile", "robot"], "unknown environment 'robot'"),
        (["compile", "humanoid"], "set DYNENVS_CACHE_DIR"),
    ):
        monkeypatch.setattr(sys, "argv", ["dynenvs", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert stopped.value.code == 2
        told = capsys.readouterr().err
        assert words in told
        assert told.count("\n") == 1
