"""`dynenvs view`: pages of environments and datasets, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import run

import dynenvs
from dynenvs.viewer.encoding import decode, unpack


def document(file: Path) -> dict[str, Any]:
    packed = re.search(r'id="document">([^<]*)<', file.read_text(encoding="utf-8"))
    assert packed is not None
    found: dict[str, Any] = json.loads(unpack(packed.group(1)))
    return found


def lines(found: dict[str, Any], plot: str) -> Any:
    names = [one["name"] for one in found["plots"]]
    return decode(found["frames"]["readings"][names.index(plot)])


def test_it_writes_a_page_that_obeys_the_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = ("--command", "0.55", "--steps", "30", "--plots", "speed,torques")
    assert run(monkeypatch, "view", "planar-humanoid", *wanted) == 0
    assert "wrote dynenvs-planar-humanoid.html" in capsys.readouterr().out
    found = document(tmp_path / "dynenvs-planar-humanoid.html")
    assert found["chosen"] == ["speed", "torques"]
    assert len(decode(found["frames"]["time"])) == 31
    assert set(lines(found, "speed")[:, 1].tolist()) == {np.float32(0.55)}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("view", "humanoidd"), "unknown environment 'humanoidd'"),
        (("view", "double-pendulum", "--output", "film.gif"), "'film.gif' must end in .html"),
        (("view", "double-pendulum", "--command", "1"), "has no option 'command'"),
        (("view", "double-pendulum", "--plots", "speed", "--steps", "3"), "unknown plot 'speed'"),
        (("view", "double-pendulum", "--policy", "none.zip"), "there is no file 'none.zip'"),
        (("view", "humanoid/expert-v0", "--live"), "'humanoid/expert-v0' is a dataset"),
    ],
)
def test_errors_are_one_line(
    arguments: tuple[str, ...],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_an_episode_of_a_dataset_is_the_recorded_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its rewards, in every bit of single precision, and its length."""
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    limits = ("--episodes", "2", "--option", "max_episode_steps=25", "--name", "short-v0")
    collected = ("collect", "double-pendulum", *limits)
    assert run(monkeypatch, *collected) == 0
    wanted = ("double-pendulum/short-v0", "--episode", "1", "--output", "one.html")
    assert run(monkeypatch, "view", *wanted) == 0
    found = document(tmp_path / "one.html")
    assert found["title"] == "DoublePendulum, episode 1 of dynenvs/double-pendulum/short-v0"
    (data,) = minari.load_dataset("dynenvs/double-pendulum/short-v0").iterate_episodes([1])
    assert lines(found, "reward")[1:, 0].tolist() == data.rewards.astype(np.float32).tolist()
    with pytest.raises(ValueError, match="has episodes 0 to 1, got 2"):
        dynenvs.view("double-pendulum/short-v0", episode=2)
