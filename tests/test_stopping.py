"""Runs that are stopped, resumed and told anew; clones that are stopped; what is left behind."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from learning import PENDULUM, SMALL, run

pytest.importorskip("stable_baselines3")

from dynenvs.agents.learn import clone as learning
from dynenvs.agents.learn import cloning, draft, watch
from dynenvs.agents.learn import train as training
from dynenvs.agents.learn.clone import LEAST_STEPS, Settings, lacks_value, scaled
from dynenvs.agents.learn.cloning import Source, clone_to_file
from dynenvs.agents.learn.dagger import plan_for
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model, read_note

pytestmark = pytest.mark.usefixtures("short_runs")

QUICK = Settings(net_arch=(8,), worlds=5, round_steps=20, last_steps=10, value_steps=5)


def settings(**changes: Any) -> dict[str, Any]:
    return load_settings("ppo", PENDULUM, {**SMALL, **changes})


def weights(folder: Path) -> dict[str, bytes]:
    """Every parameter and buffer of a run's last policy."""
    state = load_model(folder / "last.zip", PENDULUM).policy.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


def curve(log: dict[str, Any]) -> list[tuple[float, ...]]:
    """The learning curve without its times."""
    return [(point["steps"], point["score"], point["mean_return"]) for point in log["curve"]]


def small(*without: str) -> list[str]:
    """The settings as people type them."""
    chosen = {name: value for name, value in SMALL.items() if name not in without}
    return [f"--set={name}={json.dumps(value)}" for name, value in chosen.items()]


def test_ctrl_c_ends_a_run_at_a_checkpoint_that_resumes_bitwise(tmp_path: Path) -> None:
    """In the midst of the work, far from an evaluation; the curve is that of an unbroken run."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    log = train("ppo", PENDULUM, settings(), whole, seed=3, threads=1)

    def press(steps: int, log: dict[str, Any]) -> None:
        if steps == 192:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train("ppo", PENDULUM, settings(), broken, seed=3, threads=1, report=press)
    assert signal.getsignal(signal.SIGINT) is before
    assert read_note(broken / "last.zip")["steps"] == 256
    left = json.loads((broken / "log.json").read_text())
    assert curve(left) == curve(log)[:2]
    again = train("ppo", PENDULUM, {}, broken, resume=True, threads=1)
    assert weights(broken) == weights(whole)
    assert curve(again) == curve(log)


def test_checkpoints_by_the_clock_are_no_evaluations(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Killed between two evaluations, a run goes on from the rollout before, to the bit."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    log = train("ppo", PENDULUM, settings(), whole, seed=3, threads=1)
    monkeypatch.setattr(watch, "CLOCK", 0.0)
    monkeypatch.setattr(watch, "WRITING", float("inf"))

    class Killed(Exception):
        pass

    def kill(steps: int, log: dict[str, Any]) -> None:
        if steps == 320:
            raise Killed

    with pytest.raises(Killed):
        train("ppo", PENDULUM, settings(), broken, seed=3, threads=1, report=kill)
    assert read_note(broken / "last.zip")["steps"] == 320
    again = train("ppo", PENDULUM, {}, broken, resume=True, threads=1)
    assert weights(broken) == weights(whole)
    assert curve(again) == curve(log)


def test_the_command_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C before the first step leaves a run; earlier it leaves nothing; --resume as told."""
    learn = watch.Watch._on_rollout_start

    def press(self: watch.Watch) -> None:
        if self.num_timesteps == 0:
            signal.raise_signal(signal.SIGINT)
        learn(self)

    command = ("train", "ppo", "double-pendulum", *small())
    with monkeypatch.context() as patched:
        patched.setattr(watch.Watch, "_on_rollout_start", press)
        assert run(monkeypatch, *command, "--out", "a run") == 130
    told = capsys.readouterr().err
    assert "holds 0 steps" in told
    assert "\ndynenvs train ppo double-pendulum --resume --out 'a run'\n" in told
    assert json.loads(Path("a run/log.json").read_text())["curve"] == []
    resumed = ("train", "ppo", "double-pendulum", "--resume", "--out", "a run")
    assert run(monkeypatch, *resumed) == 0
    assert run(monkeypatch, *resumed, "--steps", "640") == 0
    log = json.loads(Path("a run/log.json").read_text())
    assert [point["steps"] for point in log["curve"]] == [128, 256, 384, 512, 640]
    assert log["changes"] == [{"steps": 512, "n_timesteps": 640}]

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(training, "_new_model", interrupted)
        assert run(monkeypatch, *command, "--out", "x/y/z") == 130
    assert "nothing was written to 'x/y/z'" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["a run"]


@pytest.mark.parametrize("use_sde", [False, True])
def test_a_longer_run_is_the_same_whether_it_was_meant_so_or_extended(
    use_sde: bool, tmp_path: Path
) -> None:
    """Where no setting follows the share of the run that is done."""
    plain = {"learning_rate": 1e-3, "reward_power": 1.0, "use_sde": use_sde}
    whole, longer = tmp_path / "whole", tmp_path / "longer"
    train("ppo", PENDULUM, settings(**plain), whole, seed=3, threads=1)
    train("ppo", PENDULUM, settings(**plain, n_timesteps=256), longer, seed=3, threads=1)
    train("ppo", PENDULUM, {"n_timesteps": 512}, longer, resume=True, threads=1)
    assert weights(longer) == weights(whole)


def test_what_is_said_of_a_resumed_run_is_honoured_or_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name; what the run was begun with may be said again."""
    begun = ("train", "ppo", "double-pendulum", "--out", "run", "--seed", "3")
    assert run(monkeypatch, *begun, *small("n_timesteps"), "--steps", "128") == 0
    before = Path("run/last.zip").read_bytes()
    for said, message in (
        (("--seed", "4"), "was begun with --seed 3"),
        (("--option", "max_episode_steps=9"), "was begun with no options"),
        (("--config", "x.yml"), "--config is for a new run"),
        (("--set", "n_envs=8"), "n_envs cannot change from 4 to 8 within a run"),
        (("--set", "policy_kwargs.net_arch=[9]"), "policy_kwargs cannot change"),
        (("--steps", "64"), "the run has made 128 steps"),
        (("--steps", "256", "--set", "n_timesteps=256"), "are the same: give one"),
        (("--from", "run/best.zip"), "--from begins a run, and --resume continues"),
    ):
        assert run(monkeypatch, *begun[:5], "--resume", *said) == 2
        assert message in capsys.readouterr().err
    assert Path("run/last.zip").read_bytes() == before
    again = (
        *begun,
        *small("n_timesteps"),
        "--steps",
        "256",
        "--set",
        "learning_rate=0.5",
        "--resume",
    )
    assert run(monkeypatch, *again) == 0
    log = json.loads(Path("run/log.json").read_text())
    assert log["settings"]["learning_rate"] == 0.5
    assert load_model(Path("run/last.zip"), PENDULUM).lr_schedule(1.0) == 0.5


# Clones


def test_work_by_the_amount_of_data() -> None:
    """A hundred episodes have what they always had; few have little, but not nothing."""
    assert scaled(Settings(), 100_000) == Settings()
    assert scaled(Settings(), 10**6) == Settings()
    assert scaled(Settings(), 50_000).last_steps == 6000
    assert scaled(Settings(), 2000).last_steps == LEAST_STEPS
    assert plan_for(Settings(), 100_000) == (40, 50, (20, 27, 33, 40))
    assert plan_for(Settings(), 2000) == (2, 20, (1, 2))  # as many transitions as were asked for


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few episodes for the value function, none to evaluate."""
    monkeypatch.setattr(learning, "VALUE_EPISODES", 2)
    monkeypatch.setattr(learning, "TAIL", 0)
    monkeypatch.setattr(cloning, "finish", lambda *_, **__: {"score": 0.0})


@pytest.mark.usefixtures("brief")
def test_every_gradient_step_is_told_and_drafts_change_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The bar moves; a policy does not depend on when its drafts were written."""
    told: list[tuple[int, int]] = []
    found = []
    for name, clock in (("a.zip", 60.0), ("b.zip", 0.0)):
        monkeypatch.setattr(draft, "CLOCK", clock)
        path, seen = tmp_path / name, told if clock else []
        clone_to_file(
            PENDULUM,
            path,
            Source(episodes=1),
            gradient_steps=12,
            settings=QUICK,
            threads=1,
            report=lambda done, total, loss, seen=seen: seen.append((done, total)),
            max_episode_steps=400,
        )
        state = load_model(path, PENDULUM).policy.state_dict()
        found.append({name: value.numpy().tobytes() for name, value in state.items()})
    total = 2 * 6 + 12 + 5  # two lessons, the last one, the value function
    assert told == [(done, total) for done in range(1, total + 1)]
    assert found[0] == found[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.json",
        "a.zip",
        "b.json",
        "b.zip",
    ]


@pytest.mark.usefixtures("brief")
def test_ctrl_c_keeps_what_there_is_of_a_clone(tmp_path: Path) -> None:
    """In a draft that acts, its value function still to be learned; a finished policy stays."""
    path = tmp_path / "p.zip"
    path.write_bytes(b"an older policy")

    def press(done: int, total: int, loss: float) -> None:
        if done == 7:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"p\.unfinished\.zip holds .* after 7 of 29 "):
        clone_to_file(
            PENDULUM,
            path,
            Source(episodes=1),
            gradient_steps=12,
            settings=QUICK,
            threads=1,
            report=press,
            max_episode_steps=400,
        )
    assert path.read_bytes() == b"an older policy"
    left = tmp_path / "p.unfinished.zip"
    assert sorted(tmp_path.iterdir()) == [left, path]
    assert lacks_value(load_model(left, PENDULUM))


def test_the_command_clones_briefly_or_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, Any] = {}

    def interrupted(env_id: str, path: Path, source: Source, **options: Any) -> None:
        told.update(options)
        raise KeyboardInterrupt

    monkeypatch.setattr(cloning, "clone_to_file", interrupted)
    command = ("clone", "double-pendulum", "--gradient-steps", "50", "--out", "a/b.zip")
    assert run(monkeypatch, *command) == 130
    assert told["gradient_steps"] == 50
    assert "nothing was written" in capsys.readouterr().err
    assert list(Path().iterdir()) == []
