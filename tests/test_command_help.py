"""The command line answers at once, in whole sentences, and takes every environment by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer
from learning import run

from dynenvs import cli
from dynenvs.agents import listing
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.names import environment_id, short_name
from dynenvs.envs.mujoco import task
from dynenvs.registration import ENVIRONMENTS, LEGGED, MUJOCO

# What a command is made of before it begins its work
LIGHT = {
    "dynenvs",
    "dynenvs.__main__",
    "dynenvs.agents",
    "dynenvs.agents.console",
    "dynenvs.agents.data",
    "dynenvs.agents.data.commands",
    "dynenvs.agents.errors",
    "dynenvs.agents.evaluation",
    "dynenvs.agents.evaluation.options",
    "dynenvs.agents.interrupt",
    "dynenvs.agents.learn",
    "dynenvs.agents.learn.commands",
    "dynenvs.agents.listing",
    "dynenvs.agents.names",
    "dynenvs.agents.streams",
    "dynenvs.cli",
    "dynenvs.registration",
    "dynenvs.spelling",
    "dynenvs.version",
}
HEAVY = {
    "PIL",
    "llvmlite",
    "matplotlib",
    "minari",
    "mujoco",
    "numba",
    "pygame",
    "ray",
    "scipy",
    "stable_baselines3",
    "torch",
    "yaml",
}
OURS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, no screen, 80 columns."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--version", 0),
        ("list", 0),
        ("demo humanoidd", 2),
        ("--help", 0),
        ("demo --help", 0),
        ("dmeo", 2),
        ("train ppo humanoidd", 2),
        ("collect mujoco-ant", 2),
    ],
)
def test_nothing_is_imported_for_an_answer_that_does_not_need_it(words: str, code: int) -> None:
    """In a fresh interpreter; what is imported is what takes the time."""
    program = """
import sys
from dynenvs.__main__ import main
try:
    main()
finally:
    print("|", *sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr
    modules = done.stdout.rpartition("|")[2].split()
    assert "typer" in modules
    assert HEAVY & {name.partition(".")[0] for name in modules} == set()
    assert {name for name in modules if name.partition(".")[0] == "dynenvs"} <= LIGHT


# Help


def test_help_says_of_each_command_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first sentence of its docstring, whole, on one line of 80 columns."""
    assert run(monkeypatch, "--help") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    told = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 :])
    assert set(told) == set(OURS)
    for name, command in OURS.items():
        first = " ".join(command.help.split("\n\n")[0].split())
        assert told[name] == first
        assert first.endswith(".")
        assert not first.endswith("..")


@pytest.mark.parametrize("name", OURS)
def test_help_of_a_command_is_whole(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All words of it and of its arguments and options, within 80 columns."""
    assert run(monkeypatch, name, "--help") == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    letters = "".join(text.split())  # lines break at hyphens, too
    assert "".join(OURS[name].help.split()) in letters
    for parameter in OURS[name].params:
        assert "".join(parameter.help.split()) in letters


# The list


def _listed(env: Any) -> tuple[int, int, float]:
    spaces = env.observation_space, env.action_space
    return gym.spaces.flatdim(spaces[0]), gym.spaces.flatdim(spaces[1]), 1e3 * env.dt


def test_list_names_every_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By id and by the short name that commands take, within 80 columns."""
    assert run(monkeypatch, "list") == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    words = text.split()
    for env_id in (*ENVIRONMENTS, *MUJOCO):
        assert {env_id, short_name(env_id)} <= set(words)
        assert environment_id(short_name(env_id)) == env_id
    assert text.count("expert: ") == len(ENVIRONMENTS)
    assert "robot's file" in text


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_list_is_true(env_id: str) -> None:
    """Its table against the environment itself."""
    assert list(listing.OWN) == list(ENVIRONMENTS)
    one, env = listing.OWN[env_id], make(env_id)
    assert one[:3] == pytest.approx(_listed(env))
    assert one.summary == (type(env).__doc__ or "").partition("\n")[0]


@pytest.mark.parametrize("env_id", MUJOCO)
def test_the_list_is_true_of_gymnasium_s_tasks(env_id: str) -> None:
    pytest.importorskip("mujoco")
    assert list(listing.OF_GYMNASIUM) == list(MUJOCO)
    assert listing.OF_GYMNASIUM[env_id][:3] == pytest.approx(_listed(gym.make(env_id).unwrapped))


# Each command with each environment

REFUSE = {  # command and what it says of a task of Gymnasium's
    "collect": "has no expert, and keeps no states",
    "clone": "has no expert to clone",
    "train ppo": "has no expert by which a run is scored",
    "export-policy ppo --env": "does not say what each number is",
    "view --live": "cannot be shown live",
    "replay": "has none: collect does not take it",
    "starts": "has none: collect does not take it",
    "export": "has none: collect does not take it",
}
TAKE = {  # command and what follows the name
    "demo": ("--steps", "8"),
    "view": ("--steps", "3"),
    "evaluate": ("--agent", "random", "--episodes", "2", "--option", "max_episode_steps=3"),
}
EVERY = [*REFUSE, *TAKE]


def _arguments(command: str, name: str) -> list[str]:
    file = ["x.npz"] if command in ("export", "starts") else []
    return [*command.split(), name, *file]


@pytest.mark.parametrize("env_id", MUJOCO)
@pytest.mark.parametrize("command", REFUSE)
def test_what_a_command_does_not_take_it_says_in_one_line(
    command: str,
    env_id: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    if command in ("replay", "starts", "export"):
        pytest.importorskip("minari")
    name = short_name(env_id)
    assert run(monkeypatch, *_arguments(command, name)) == 2
    told = capsys.readouterr().err
    assert told.startswith("dynenvs: ")
    assert f"{name} {REFUSE[command]}" in told.replace("': it", "': " + name)
    assert told.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
@pytest.mark.parametrize("env_id", [*MUJOCO, *ENVIRONMENTS])
@pytest.mark.parametrize("command", TAKE)
def test_what_a_command_takes_works(
    command: str, env_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if env_id in MUJOCO:
        pytest.importorskip("mujoco")
    assert run(monkeypatch, command, short_name(env_id), *TAKE[command]) == 0
    words = {"demo": "wrote", "view": "wrote", "evaluate": "random"}
    assert words[command] in capsys.readouterr().out


@pytest.mark.parametrize("command", EVERY)
def test_a_robot_from_a_file_needs_the_file(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if command in ("replay", "starts", "export"):
        pytest.importorskip("minari")
    (env_id,) = LEGGED
    for name in (short_name(env_id), env_id.removeprefix("dynenvs/")):
        assert run(monkeypatch, *_arguments(command, name)) == 2
        told = capsys.readouterr().err
        assert "is a robot from a file: name the file instead, as go2.xml" in told
        assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("dmeo", "'demo'"),
        ("demo humanoidd", "'humanoid'"),
        ("evaluate mujoco-walker-2d", "'mujoco-walker2d'"),
        ("demo --steeps 3", "--steps"),
        ("demo quadruped --option terain=rough", "'terrain'"),
        ("demo double-pendulum --agent exprt", "'expert'"),
        ("bench --secnds 1", "--seconds"),
    ],
)
def test_a_misspelt_word_is_told_which_was_meant(
    words: str, meant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *words.split()) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert meant in told.rpartition("id you mean")[2] or meant in told.rpartition("options: ")[2]


def test_tasks_without_an_expert_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random actions act where nothing is said; who asks for the expert hears of it."""
    pytest.importorskip("mujoco")
    for command in ("demo", "view", "evaluate"):
        assert run(monkeypatch, command, "mujoco-reacher", "--agent", "expert") == 2
        told = capsys.readouterr().err
        assert "mujoco-reacher has no agent 'expert'; choose from: random, or a file" in told


def test_what_reads_their_robots_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One line with the extra, no traceback."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.setattr(task, "_known", task._known.__wrapped__)  # as nobody has read it before
    (tmp_path / "go2.xml").write_text("<mujoco/>")
    for name in ("mujoco-hopper", "go2.xml"):
        assert run(monkeypatch, "demo", name) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "[mjcf]" in told
