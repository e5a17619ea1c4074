"""Policies: their files whole or refused, their settings, what evaluating them tells."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, SMALL, run

from dynenvs.agents import files
from dynenvs.agents.evaluation import demo
from dynenvs.agents.evaluation.evaluate import References, as_json, evaluate, references
from dynenvs.agents.files import SHIPPED, SUFFIX, shipped, shipped_file

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO, SAC

from dynenvs.agents import policy_file
from dynenvs.agents.learn.cloning import told_settings
from dynenvs.agents.learn.export_tensors import export_tensors
from dynenvs.agents.learn.network import Standardize
from dynenvs.agents.learn.settings import (
    constructor_options,
    load_settings,
    parse_change,
)
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import load_model, save_model

pytestmark = pytest.mark.usefixtures("short_runs")


# Files


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    text, other, plain = tmp_path / "a.zip", tmp_path / "b.zip", tmp_path / "c.zip"
    text.write_text("no zip")
    with pytest.raises(ValueError, match="no zip file"):
        load_model(text, PENDULUM)
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(ValueError, match="holds no policy"):
        load_model(text, PENDULUM)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.zip"):
        load_model(tmp_path / "nowhere.zip", PENDULUM)
    model = SAC("MlpPolicy", gym.make(PENDULUM), buffer_size=1, policy_kwargs={"net_arch": [4]})
    save_model(model, other, PENDULUM)
    assert isinstance(load_model(other, PENDULUM), SAC)
    with pytest.raises(ValueError, match="is a policy for dynenvs/DoublePendulum-v0"):
        load_model(other, HUMANOID)
    model.save(plain)  # as stable-baselines3 does by itself
    assert isinstance(load_model(plain, PENDULUM), SAC)
    with pytest.raises(ValueError, match=r"shapes .*\(6,\).*PlanarHumanoid-v0 has"):
        load_model(plain, HUMANOID)
    with pytest.raises(ValueError, match="not a run"):
        train("sac", PENDULUM, load_settings("sac", PENDULUM), _folder(other), resume=True)
    content = other.read_bytes()
    other.write_bytes(content[: len(content) // 2])  # as a copy that was cut short
    with pytest.raises(ValueError, match=r"broken|holds no policy"):
        load_model(other, PENDULUM)
    for member in ("data", "policy.pth", policy_file.NOTE):
        for spoilt in (b"", b"[1]", b"{"):
            with zipfile.ZipFile(plain) as source, zipfile.ZipFile(other, "w") as target:
                for name in {*source.namelist(), policy_file.NOTE} - {member}:
                    target.writestr(name, "{}" if name == policy_file.NOTE else source.read(name))
                target.writestr(member, spoilt)
            with pytest.raises(ValueError, match=r"b\.zip.*(broken|:)"):
                load_model(other, PENDULUM)


def _folder(file: Path) -> Path:
    """A run's folder whose last.zip is `file`."""
    folder = file.with_suffix("")
    folder.mkdir()
    (folder / "last.zip").write_bytes(file.read_bytes())
    return folder


def test_a_policy_is_written_whole_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = PPO("MlpPolicy", gym.make(PENDULUM), policy_kwargs={"net_arch": [4]})
    path = tmp_path / "p.zip"
    path.write_bytes(b"before")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(policy_file.zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match=r"cannot write .*p\.zip"):
        save_model(model, path, PENDULUM)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


# Settings


def test_settings() -> None:
    """Changes, schedules, unknown names."""
    chosen = load_settings("ppo", HUMANOID, dict(map(parse_change, ["gamma=0.9", "n_envs=2e2"])))
    assert (chosen["gamma"], chosen["n_envs"]) == (0.9, 200)
    chosen = load_settings("ppo", HUMANOID, {"learning_rate": "lin_2e-4"})
    options = constructor_options(chosen)
    assert options["learning_rate"](0.5) == pytest.approx(1e-4)
    chosen = load_settings("ppo", HUMANOID, {"policy_kwargs.net_arch": [7]})
    assert constructor_options(chosen)["policy_kwargs"]["net_arch"] == [7]
    for changes, message in (
        ({"gama": 0.9}, "no setting 'gama'; choose from: batch_size"),
        ({"n_envs": 0}, "n_envs must be a whole number"),
        ({"learning_rate": "exp_1"}, "learning_rate must be"),
        ({"policy_kwargs.activation": "Tan"}, "policy_kwargs"),
    ):
        with pytest.raises(ValueError, match=message):
            constructor_options(load_settings("ppo", HUMANOID, changes))
    with pytest.raises(ValueError, match="name=value"):
        parse_change("gamma")


def test_settings_of_cloning() -> None:
    """As the command line says them; none that there are not, nor of another kind."""
    chosen = told_settings(PENDULUM, ["net_arch=[64, 64]", "learning_rate=1e-4", "batch_size=1e3"])
    assert chosen.net_arch == (64, 64)
    assert (chosen.learning_rate, chosen.batch_size) == (1e-4, 1000)
    assert chosen.gamma == load_settings("ppo", PENDULUM)["gamma"]
    for text, message in (
        ("net=3", "no setting 'net'; choose from: activation, batch_size"),
        ("net_arch=64", r"net_arch must be like \(256, 256\), got 64"),
        ("batch_size=0.5", "batch_size must be like 512, got 0.5"),
    ):
        with pytest.raises(ValueError, match=message):
            told_settings(PENDULUM, [text])


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_the_file_has_settings_for_every_environment(algorithm: str) -> None:
    from dynenvs.registration import ENVIRONMENTS

    for env_id in ENVIRONMENTS:
        for refine in (False, True):
            options = constructor_options(load_settings(algorithm, env_id, refine=refine))
            assert options["policy_kwargs"]["features_extractor_class"] is Standardize


# Evaluation


@pytest.mark.thorough
def test_policies_that_ship_belong_to_their_environments() -> None:
    """Small, loaded by name, and good for what the page of results says."""
    from dynenvs.registration import ENVIRONMENTS

    names = {env_id: shipped(env_id) for env_id in ENVIRONMENTS}
    assert sum(map(len, names.values())) == len(list(SHIPPED.glob(f"*{SUFFIX}"))) >= 3
    for env_id, own in names.items():
        for name in own:
            assert shipped_file(env_id, name).stat().st_size < 600_000
            # The median: some of them fall now and then, as the page of results says
            usual = float(np.median(evaluate(env_id, name, 5).returns))
            assert references(env_id, 5).score(usual) > 0.7, (env_id, name)


def test_scores() -> None:
    """0 for standing, 1 for the expert, by definition; the same seeds give the same figures."""
    between = references(PENDULUM, 2, max_episode_steps=300)
    assert between.score(between.standing) == 0.0
    assert between.score(between.expert) == 1.0
    assert References(10.0, 110.0).score(60.0) == 0.5
    one, other = (
        evaluate(HUMANOID, "expert", 3, threads, max_episode_steps=50) for threads in (1, 2)
    )
    assert one == other
    assert evaluate(HUMANOID, None, 3).lengths == evaluate(HUMANOID, "random", 3).lengths
    text = json.dumps(as_json(HUMANOID, {"expert": one}, References(0.0, 1.0)))
    assert json.loads(text)["agents"]["expert"]["returns"] == one.returns


@pytest.mark.parametrize("name", ["PlanarHumanoid", "PlanarQuadruped", "Quadruped"])
def test_standing_stands(name: str) -> None:
    """To the time limit, for next to nothing."""
    result = evaluate(f"dynenvs/{name}-v0", "standing", 2)
    assert result.lengths == [1000] * 2
    assert result.mean_return < 30.0


@pytest.mark.thorough
def test_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Train, then evaluate the zip, with a table, a file and a film; the page of results."""
    small = [f"--set={name}={json.dumps(value)}" for name, value in SMALL.items()]
    assert run(monkeypatch, "train", "ppo", "double-pendulum", *small, "--out", "run") == 0
    out = ("--json", "out.json", "--video", "film.gif", "--option", "max_episode_steps=20")
    zip_ = "run/best.zip"
    assert (
        run(monkeypatch, "evaluate", "double-pendulum", "--agent", zip_, "--episodes", "2", *out)
        == 0
    )
    assert zip_ in capsys.readouterr().out
    written = json.loads(Path("out.json").read_text())
    assert set(written["agents"]) == {zip_}
    assert Path("film.gif").stat().st_size > 1000
    assert run(monkeypatch, "evaluate", "humanoid", "--agent", zip_, "--episodes", "2") == 2
    assert "is a policy for dynenvs/DoublePendulum-v0" in capsys.readouterr().err


def test_a_shipped_policy_is_shown_and_evaluated_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file in the package's folder is all that it takes; scores are blank without an expert."""
    monkeypatch.setattr(demo, "WARM_UP", 1)
    monkeypatch.setattr(files, "SHIPPED", tmp_path)
    model = PPO("MlpPolicy", gym.make(PENDULUM), policy_kwargs={"net_arch": [4]})
    whole = tmp_path / "whole.zip"
    save_model(model, whole, PENDULUM)
    export_tensors(str(whole), tmp_path / f"DoublePendulum-v0_ppo{SUFFIX}")
    shown = ("demo", "double-pendulum", "--agent", "ppo", "--steps", "4", "--output", "film.gif")
    assert run(monkeypatch, *shown, "--option", "reset_noise=0.1") == 0
    assert Path("film.gif").stat().st_size > 1000
    short = ("--episodes", "2", "--option", "max_episode_steps=5", "--json", "out.json")
    assert run(monkeypatch, "evaluate", "double-pendulum", *short) == 0
    written = json.loads(Path("out.json").read_text())
    assert list(written["agents"]) == ["expert", "random", "standing", "ppo"]
    assert written["options"] == {"max_episode_steps": 5}
    assert written["agents"]["ppo"]["lengths"] == [5, 5]
    with monkeypatch.context() as patched:
        patched.setattr("dynenvs.agents.evaluation.evaluate.reference_controller", _no_expert)
        assert run(monkeypatch, "evaluate", "double-pendulum", *short) == 0
    written = json.loads(Path("out.json").read_text())
    assert list(written["agents"]) == ["random", "standing", "ppo"]
    assert "score" not in written["agents"]["ppo"]
    assert run(monkeypatch, "evaluate", "double-pendulum", "--json", ".") == 2
    assert "cannot write '.': it is a folder" in capsys.readouterr().err


def _no_expert(*_: Any) -> None:
    raise ValueError("none")


def test_the_page_of_results_is_made_from_logs(tmp_path: Path) -> None:
    """Rows for references and runs, seeds together, a plot, notes; a broken log is named."""
    pytest.importorskip("matplotlib")
    from dynenvs.agents.learn.machine import machine
    from studies.results import write_page

    folder, page = tmp_path / "results", tmp_path / "docs" / "results.md"
    folder.mkdir()
    means = {
        "score": 0.5,
        "mean_return": 450.0,
        "return_deviation": 3.0,
        "worst_return": 400.0,
        "falls": 2,
        "effort": 0.1,
    }
    log = {"kind": "ppo", "env": PENDULUM, "seed": 0, "from": "dagger", "machine": machine()}
    log |= {"minutes": 2.0, "simulating": 0.5, "final": means}
    log["curve"] = [{"steps": 1000 * k, "minutes": 0.4 * k, "score": 0.1 * k} for k in range(1, 6)]
    (folder / "a.json").write_text(json.dumps(log))
    (folder / "b.json").write_text(json.dumps({**log, "seed": 1, "final": {**means, "score": 0.7}}))
    (folder / "c.json").write_text(json.dumps({"env": PENDULUM, "agents": {"expert": means}}))
    elsewhere = {**log, "kind": "sac", "from": None, "options": {"max_torque": 2}}
    (folder / "e.json").write_text(json.dumps(elsewhere))
    begun = {**log, "from": None, "starts": {"dataset": "double-pendulum/expert-v0", "share": 0.7}}
    (folder / "f.json").write_text(json.dumps(begun))
    own = {**begun, "starts": {"dataset": "sketch.npz", "share": 0.7}}
    (folder / "g.json").write_text(json.dumps(own))
    (folder / "notes.md").write_text("What did not learn.")
    assert write_page(folder, page) == 5
    text = page.read_text()
    assert text.index(f"## {PENDULUM}\n") < text.index(f"## {PENDULUM}, max_torque=2\n")
    assert page.with_name("results_DoublePendulum-max_torque-2.png").is_file()
    assert "| DAgger, then PPO | 2 | 0.600 (0.500 to 0.700) | 450.0 ± 3.0 | 400.0 | 2 |" in text
    assert "| PPO with starts | 1 | 0.500 |" in text
    assert "| PPO with own starts | 1 | 0.500 |" in text
    assert f"| 5,000 | 2.0 | 25 % | {log['machine']['date'][:10]} |" in text
    assert "| expert |  | 0.500 |" in text
    assert text.endswith("What did not learn.")
    assert page.with_name("results_DoublePendulum.png").stat().st_size > 5000
    (folder / "d.json").write_text("{")
    with pytest.raises(ValueError, match=r"d\.json' is no finished run's log"):
        write_page(folder, page)
    with pytest.raises(FileNotFoundError, match="no log"):
        write_page(tmp_path / "empty", page)
