"""What the commands say in any locale and in 80 columns, with `-h`, and without extras."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from learning import HUMANOID, run
from rich.console import Console

from dynenvs import cli
from dynenvs.agents.console import WIDE
from dynenvs.agents.evaluation.evaluate import (
    NAME_WIDTH,
    Evaluation,
    References,
    as_json,
    evaluate,
    table,
)
from dynenvs.agents.files import check_writable
from dynenvs.agents.learn import commands
from dynenvs.files import folders_above, written_whole

LEARNING = ("collect", "replay", "export", "clone", "train", "evaluate", "export-policy")
COMMANDS = ("demo", "view", "list", *LEARNING)


@pytest.mark.parametrize("command", [(), *((name,) for name in (*COMMANDS, "bench", "doctor"))])
def test_h_is_help(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *command, "--help") == 0
    long = capsys.readouterr().out
    assert run(monkeypatch, *command, "-h") == 0
    assert capsys.readouterr().out == long


@pytest.mark.thorough
def test_what_cannot_be_printed_is_printed_nearly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the locale knows ASCII alone: a file's name, a table's lines."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True))
    assert run(monkeypatch, "evaluate", "double-pendulum", "--agent", "Läufer ± →.zip") == 2
    assert b"there is no file 'Laufer +/- ->.zip'" in sys.stderr.buffer.getvalue()  # type: ignore[attr-defined]
    assert run(monkeypatch, "list") == 0
    assert b"| environment" in sys.stdout.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("agent", ["nobody.zip", "exprt"])
def test_who_is_not_there_is_missed_at_once(
    agent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before a hundred episodes of those who stand and of the expert are run."""
    monkeypatch.delattr("dynenvs.agents.evaluation.evaluate.evaluate")
    words = "evaluate", "quadruped", "--agent", "random", "--agent", agent
    assert run(monkeypatch, *words) == 2
    assert repr(agent) in capsys.readouterr().err


def test_messages_do_not_steer_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a stranger has named, a file or a dataset, is shown and not obeyed."""
    odd = "\x1b]0;owned\x07\x1b[2J\x9b1m.zip"
    for words in (("evaluate", odd), ("evaluate", "double-pendulum", "--agent", odd)):
        assert run(monkeypatch, *words) == 2
        told = capsys.readouterr().err
        assert told.splitlines()[-1].isprintable()  # above it, that another process compiles
    assert cli.shown("Läufer \x1b[2J") == r"Läufer \x1b[2J"


# Evaluations


def test_the_table_of_an_evaluation_fits_80_columns() -> None:
    """With every figure as long as it gets, and the path of a zip."""
    worst = Evaluation([-123.4], [1000], [False], [1.234], [0.1234], [12.345], [1.99])
    results = {"standing": worst, "runs/PlanarHumanoid-v0/ppo-1/best.zip": worst}
    found = {}
    for encoding in ("utf-8", "ascii"):
        file = io.TextIOWrapper(io.BytesIO(), encoding)
        Console(width=80, file=file).print(table(HUMANOID, results, References(10.0, 900.0)))
        file.flush()
        found[encoding] = file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
        assert max(map(len, found[encoding].splitlines())) <= 80
        assert "…" not in found[encoding]
        for figure in ("-0.150", "-123.4", "1000", "1.234", "0.1234", "12.345", "1.99"):
            assert figure in found[encoding]


def test_the_table_of_an_evaluation_fits_80_columns_in_a_file() -> None:
    """A long path breaks behind its slashes, however wide a file is; nothing of it is lost."""
    worst = Evaluation([1023.4], [1000], [False], [1.234], [0.1234], [12.345], [1.99])
    path = "/home/me/runs/[bold]/humanoid-with-a-long-name/best_policy.safetensors"
    console = Console(width=WIDE, file=io.StringIO())
    console.print(table(HUMANOID, {path: worst}, References(10.0, 900.0)))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 80
    assert path in "".join(line[1 : NAME_WIDTH + 1].strip() for line in lines)


@pytest.mark.thorough
def test_who_slides_is_found_out() -> None:
    """The shipped PPO outdoes the expert in return, and its feet slide by metres; JSON says so."""
    pytest.importorskip("stable_baselines3")
    quadruped = "dynenvs/Quadruped-v0"
    results = {name: evaluate(quadruped, name, 2) for name in ("expert", "ppo")}
    expert, ppo = results["expert"], results["ppo"]
    assert ppo.mean_return > expert.mean_return
    assert max(expert.slips) < 0.01  # of fifteen seconds
    assert min(ppo.slips) > 2.0
    assert max(expert.torque_changes) < min(ppo.torque_changes)
    told = json.loads(json.dumps(as_json(quadruped, results, References(0.0, 1.0))))["agents"]
    assert told["ppo"]["slip"] == pytest.approx(sum(ppo.slips) / 2)
    assert told["ppo"]["torque_change"] == pytest.approx(sum(ppo.torque_changes) / 2)


@pytest.mark.thorough
def test_who_lifts_its_feet_is_told_from_who_slides() -> None:
    """The planar humanoid's shipped PPO, which learned with `rhythm` and `slip`, walks."""
    pytest.importorskip("stable_baselines3")
    assert max(evaluate(HUMANOID, "ppo", 2).slips) < 0.2


def test_pendulums_have_no_slip() -> None:
    result = evaluate("dynenvs/DoublePendulum-v0", "random", 1, max_episode_steps=5)
    assert result.slips[0] != result.slips[0]
    assert "slip" not in as_json("x", {"random": result}, References(0.0))["agents"]["random"]


def test_evaluate_leaves_out_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Shipped policies, with a line; one that is asked for by name is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.delitem(sys.modules, "dynenvs.agents.policy_file", raising=False)
    monkeypatch.setattr(commands.importlib.util, "find_spec", lambda name: None)
    short = ("--episodes", "1", "--option", "max_episode_steps=3")
    assert run(monkeypatch, "evaluate", "double-pendulum", *short) == 0
    told = capsys.readouterr().out
    assert "left out dagger, ppo: `pip install" in told
    for name in ("expert", "random", "standing"):
        assert name in told
    assert run(monkeypatch, "evaluate", "double-pendulum", "--agent", "ppo", *short) == 2
    assert "[train]" in capsys.readouterr().err


# Files


def test_looking_whether_a_file_can_be_written_makes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    check_writable(tmp_path / "a" / "b" / "c.json")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / "file" / "b" / "c.json")
    refused = ("--agent", "nobody", "--json", "x/y.json")
    assert run(monkeypatch, "evaluate", "double-pendulum", *refused, "--episodes", "1") == 2
    assert "unknown agent 'nobody'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_folders_of_a_file_that_was_not_written_go_again(tmp_path: Path) -> None:
    """Those that were made for it; what others have put there meanwhile stays."""
    (tmp_path / "a").mkdir()
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "a" / "b" / "c" / "d"):
        raise KeyboardInterrupt
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]

    def others() -> None:
        with folders_above(tmp_path / "e" / "f" / "g"):
            (tmp_path / "e" / "other").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        others()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "e", "other"]


@pytest.mark.thorough
def test_ctrl_c_while_it_loads() -> None:
    """One line, no traceback."""
    code = """
import builtins, sys
sys.argv = ["dynenvs", "list"]
load = builtins.__import__
def stopped(name, *rest):
    if name == "typer":
        raise KeyboardInterrupt
    return load(name, *rest)
builtins.__import__ = stopped
from dynenvs.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=1800, check=False
    )
    assert (done.returncode, done.stderr) == (130, "dynenvs: stopped\n")


@pytest.mark.thorough
def test_python_m_dynenvs_is_the_command_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dynenvs", "--version"],
        capture_output=True,
        text=True,
        timeout=1800,
        check=True,
    )
    assert done.stdout.startswith("dynenvs 0.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [("list",), ("--help",), ("--version",), ("evaluate", "--help")])
def test_a_full_or_closed_output_is_told_in_a_line(words: tuple[str, ...]) -> None:
    """No traceback, and no success that was none; who has stopped reading hears nothing."""
    program = [sys.executable, "-m", "dynenvs", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("dynenvs: [Errno 28]")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(program, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    with Path("/dev/full").open("w") as full:  # where not even that can be told
        done = subprocess.run([*program, "--nonsense"], stderr=full, check=False)
    assert done.returncode == 2
