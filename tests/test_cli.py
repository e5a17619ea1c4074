"""The command `dynenvs`: what it shows, writes, and says when something is wrong."""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer
from pictures import delays
from PIL import Image

from dynenvs import cli
from dynenvs.agents import interrupt, listing
from dynenvs.agents.evaluation import demo
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.names import environment_id
from dynenvs.registration import ENVIRONMENTS


@pytest.fixture(autouse=True)
def _no_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder and no screen; tables wide enough not to wrap."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["dynenvs", *arguments])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_environment_has_the_expert_that_the_list_names(env_id: str) -> None:
    assert listing.OWN[env_id].expert
    assert hasattr(reference_controller(env_id), "predict")


@pytest.mark.parametrize("name", ["humanoid", "planar-humanoid", "quadruped", "double-pendulum"])
@pytest.mark.thorough
def test_demo_films_without_a_display(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "demo", name, "--steps", "24") == 0
    path = tmp_path / f"dynenvs-{name}.gif"
    with Image.open(path) as picture:
        assert picture.size == (demo.FILM_SIZE["width"], demo.FILM_SIZE["height"])
    shown = sum(delays(path))
    assert shown == pytest.approx(24 * make(environment_id(name)).dt, abs=0.005)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # no drafts left
    text = capsys.readouterr().out
    for reading in ("worst LCP residual", "degraded, failed solves", "steps per second"):
        assert reading in text
    if name != "double-pendulum":
        assert ("mean speed" in text) == (name == "planar-humanoid")  # too short to have settled
        for reading in ("distance", "falls", "penetration", "stance slip"):
            assert reading in text


def test_demo_obeys_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ("--command", "0.75", "--seed", "4", "--steps", "8", "--output", "x/walk.gif")
    (tmp_path / "x").mkdir()
    assert run(monkeypatch, "demo", "PlanarHumanoid", *arguments) == 0
    assert (tmp_path / "x" / "walk.gif").is_file()
    assert "command 0.750 m/s" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "fair"), [((), True), (("--command", "drawn"), False)])
def test_demo_walks_at_a_fair_pace_unless_told_to_draw_one(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    fair: bool,
) -> None:
    assert run(monkeypatch, "demo", "quadruped", "--steps", "4", "--headless", *arguments) == 0
    assert ("0.50, 0.00, 0.00" in capsys.readouterr().out) == fair


def test_demo_opens_a_window_where_there_is_a_display(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SDL's dummy driver takes the window; nothing is written."""
    monkeypatch.setattr(cli, "has_display", lambda: True)
    assert run(monkeypatch, "demo", "--steps", "12") == 0
    assert list(tmp_path.iterdir()) == []


def test_warnings_of_this_package_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the line of code that warns; warnings of others stay as they are."""
    app = typer.Typer()

    @app.command()
    def warn() -> None:
        for file in (cli.__file__, "/elsewhere/torch.py"):
            print(warnings.formatwarning("go2.xml: lost", UserWarning, file, 7, "load(file)"))

    usual = warnings.formatwarning
    monkeypatch.setattr(sys, "argv", ["dynenvs"])
    with pytest.raises(SystemExit):
        cli.run_app(app, "dynenvs")
    ours, _, *others = capsys.readouterr().out.splitlines()
    assert ours == "dynenvs: go2.xml: lost"
    assert others[:2] == ["/elsewhere/torch.py:7: UserWarning: go2.xml: lost", "  load(file)"]
    assert warnings.formatwarning is usual


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo", "cat"), "unknown environment 'cat'; choose from: double-pendulum, chain-"),
        (("demo", "pendulum"), "unknown environment 'pendulum'; choose from: double-pendulum"),
        (("demo", "--option", "max_episode_steps=-1"), "an episode without a limit"),
        (("demo", "--option", "max_episode_steps=0"), "max_episode_steps must be a whole number"),
        (("demo", "--option", "max_episode_steps=many"), "max_episode_steps must be a whole"),
        (("demo", "--command", "7,0,0"), "command must be forward in [0.0, 0.8]"),
        (
            ("demo", "planar-humanoid", "--command", "7"),
            "must be a number in [0.3, 1.2] m/s, got 7",
        ),
        (("demo", "double-pendulum", "--command", "1"), "has no option 'command'"),
        (("demo", "--steps", "0"), "--steps"),
        (("demo", "--output", "film.mp4"), "must end in .gif"),
        (("demo", "--output", "nowhere/film.gif"), "there is no folder"),
        (("demo", "--colour"), "No such option"),
        (("bench", "--seconds", "0"), "--seconds"),
        (("bench", "--seconds", "inf"), "--seconds must be a finite time [s], got inf"),
        (("bench", "--seconds", "nan"), "--seconds"),
        (("demo", "--option", f"command={'-' * 20000}1"), "is nested too deeply to be read"),
        (("demo", "quadruped", "--command", "9,0,0"), "command must be forward in [0.0, 1.5]"),
        (("demo", "quadruped", "--command", "1,0"), "(forward, sideways, turning) must have"),
        (("demo", "best.zip"), "is a policy's file, and an environment is expected here"),
        (("demo", "quadruped", "--command", "a,b"), "must be numbers with commas between"),
        (("dance",), "No such command"),
        (("export", "humanoid"), "Missing argument 'file'. Usage: dynenvs export [OPTIONS]"),
        (("demo", "humanoid", "quadruped"), "(quadruped) Usage: dynenvs demo [OPTIONS] [env]"),
        (
            ("evaluate", "humanoid", "runs/a.zip"),
            "a policy's file follows --agent: --agent runs/a.zip",
        ),
    ],
)
def test_errors_are_one_line_and_exit_with_2(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    assert run(monkeypatch, *arguments) == 2
    text = capsys.readouterr().err
    assert text.startswith("dynenvs: ")
    assert text.count("\n") == 1
    assert message in text
    assert list(tmp_path.iterdir()) == []


def test_interrupt_leaves_cleanly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_episode", interrupted)
    assert run(monkeypatch, "demo") == 130
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_collection_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many episodes are kept, and the command."""
    pytest.importorskip("minari")
    from dynenvs.agents.data import collect as collecting

    def stopped(*_: object, report: Callable[[int, int], None], **__: object) -> None:
        report(7, 700)
        raise KeyboardInterrupt

    monkeypatch.setattr(collecting, "collect", stopped)
    assert run(monkeypatch, "collect", "humanoid", "--episodes", "9") == 130
    assert "7 of 9 episodes are kept; `dynenvs collect humanoid --episodes 9` goes on" in (
        capsys.readouterr().err
    )


def test_an_interrupt_that_is_swallowed_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finalizers swallow what is raised in them."""
    before = signal.getsignal(signal.SIGINT)
    done: list[int] = []

    def work() -> None:
        with suppress(KeyboardInterrupt):  # as a finalizer does
            signal.raise_signal(signal.SIGINT)
        done.append(1)
        for _ in range(60_000):  # the interrupt ends it
            time.sleep(0.01)
        done.append(2)

    monkeypatch.setattr(interrupt, "LATER", 0.2)
    with pytest.raises(KeyboardInterrupt), interrupt.stopped_by_ctrl_c():
        work()
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is before


def test_help_and_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 0
    assert "demo" in capsys.readouterr().out
    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("dynenvs 0.")


def test_what_demo_tells_a_robot_is_within_its_range_on_every_terrain() -> None:
    for env_id in cli.PACES:
        for terrain in ("flat", "slope", "rough", "stairs"):
            env = gym.make(env_id, terrain=terrain)
            env.reset(seed=0, options={"command": cli._command_of(env_id, None, terrain)})


@pytest.mark.thorough
def test_bench_measures_every_environment(capsys: pytest.CaptureFixture[str]) -> None:
    """Alone: more than nothing in each figure, a row in the table."""
    from dynenvs.agents import bench
    from dynenvs.agents.console import open_console
    from dynenvs.registration import ENVIRONMENTS

    found = bench.bench(0.001, open_console())
    printed = capsys.readouterr().out
    assert len(found) == len(ENVIRONMENTS)
    for speed in found:
        assert speed.name in printed
        assert min(speed.single, speed.batch, speed.period) > 0.0


@pytest.mark.parametrize(
    ("env_id", "given", "expected"),
    [
        ("dynenvs/Quadruped-v0", "0.8", (0.8, 0.0, 0.0)),
        ("dynenvs/Humanoid-v0", "0.5,0.1,-0.2", (0.5, 0.1, -0.2)),
        ("dynenvs/PlanarHumanoid-v0", "0.8", 0.8),
        ("dynenvs/Quadruped-v0", "drawn", None),
    ],
)
def test_one_speed_is_forward(env_id: str, given: str, expected: Any) -> None:
    """A robot that takes three speeds walks straight ahead where one is given."""
    assert cli._command_of(env_id, given, None) == expected


def test_a_training_that_learned_nothing_says_where_to_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A score of 0 means nothing to one who does not know what it is measured by."""
    from dynenvs.agents.console import open_console
    from dynenvs.agents.learn.commands import _say_how_it_ended

    for score, says in ((0.0, True), (0.9, False)):
        log = {"simulating": 0.1, "minutes": 1.0, "final": {"score": score}}
        _say_how_it_ended(open_console(), Path("run"), log)
        assert ("standing still" in capsys.readouterr().out) is says
