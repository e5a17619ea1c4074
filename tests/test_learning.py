"""Policies: cloned, trained, resumed to the bit, evaluated; files are whole, or refused."""

from __future__ import annotations

import json
import random
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, run

from dynenvs.agents import actors, demo
from dynenvs.agents.actors import shipped_file
from dynenvs.agents.evaluate import References, as_json, evaluate, references
from dynenvs.agents.reference import reference_controller
from dynenvs.agents.rollout import make_batch, run_all

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import PPO, SAC

from dynenvs.agents.learn import checkpoint, policy_file
from dynenvs.agents.learn.clone import Examples, Settings, clone, dagger, fit_value
from dynenvs.agents.learn.network import Moments, Standardize, set_moments
from dynenvs.agents.learn.policy_file import load_model, read_note, save_model, slim
from dynenvs.agents.learn.settings import (
    constructor_options,
    load_settings,
    parse_change,
)
from dynenvs.agents.learn.train import train

SMALL = {
    "n_envs": 4,
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 2,
    "n_timesteps": 512,
    "policy_kwargs": {"net_arch": [8]},
}


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Short evaluations, one thread, an empty folder, generators as they were."""
    import dynenvs.agents.learn.train as training

    monkeypatch.setattr(training, "EPISODES", 1)
    for function in (evaluate, references):
        short = partial(function, max_episode_steps=20)
        monkeypatch.setattr(training, function.__name__, short)
    monkeypatch.setattr(training, "EVALUATIONS", 4)
    monkeypatch.setattr(training, "FIRST_LOOK", 2)
    monkeypatch.setattr(training, "finish", lambda env_id, path: {"score": 0.0})
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    threads, state = torch.get_num_threads(), random.getstate()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    random.setstate(state)


def settings(algorithm: str = "ppo", **changes: Any) -> dict[str, Any]:
    return load_settings(algorithm, PENDULUM, {**SMALL, **changes})


def weights(path: Path) -> dict[str, bytes]:
    """Every parameter and buffer of a policy."""
    state = load_model(path, PENDULUM).policy.state_dict()
    return {name: value.numpy().tobytes() for name, value in state.items()}


# Training


def test_ppo_resumes_bitwise(tmp_path: Path) -> None:
    """Stopped after half of its steps and resumed, a run ends in the same bits."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    log = train("ppo", PENDULUM, settings(), whole, seed=3, threads=1)
    none = train("ppo", PENDULUM, settings(), broken, seed=3, minutes=0.0, threads=1)
    assert [point["steps"] for point in none["curve"]] == [0]
    train("ppo", PENDULUM, settings(), broken, resume=True, threads=1)
    assert weights(broken / "last.zip") == weights(whole / "last.zip")

    class Stop(Exception):
        pass

    def stop(steps: int, log: dict[str, Any]) -> None:
        if log["curve"] and log["curve"][-1]["steps"] == 256:
            raise Stop

    with pytest.raises(FileExistsError, match="--resume"):
        train("ppo", PENDULUM, settings(), broken)
    killed = tmp_path / "killed"
    with pytest.raises(Stop):
        train("ppo", PENDULUM, settings(), killed, seed=3, threads=1, report=stop)
    torch.randn(7), np.random.rand(7), random.random()  # noqa: NPY002 (other use of generators)
    again = train("ppo", PENDULUM, settings(), killed, resume=True, threads=1)
    assert weights(killed / "last.zip") == weights(whole / "last.zip")
    for key in ("steps", "score", "mean_return"):
        assert [p[key] for p in again["curve"]] == [p[key] for p in log["curve"]]
    other = tmp_path / "other"
    train("ppo", PENDULUM, settings(), other, seed=4, threads=1)
    assert weights(other / "last.zip") != weights(whole / "last.zip")


@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_off_policy_runs_keep_their_replay_buffer(algorithm: str, tmp_path: Path) -> None:
    changes = {
        "n_envs": 4,
        "n_timesteps": 400,
        "learning_starts": 40,
        "buffer_size": 1000,
        "batch_size": 16,
        "policy_kwargs": {"net_arch": [8]},
    }
    chosen = load_settings(algorithm, PENDULUM, changes)
    train(algorithm, PENDULUM, chosen, tmp_path, threads=1)
    log = json.loads((tmp_path / "log.json").read_text())
    assert [point["steps"] for point in log["curve"]] == [100, 200, 300, 400]
    with zipfile.ZipFile(tmp_path / "last.zip") as archive:
        assert checkpoint.BUFFER in archive.namelist()
    longer = json.loads(json.dumps(log))
    assert longer["settings"]["n_timesteps"] == 400
    again = train(algorithm, PENDULUM, chosen, tmp_path, resume=True, threads=1)
    assert again["curve"][-1]["steps"] == 400
    assert list((tmp_path / "tensorboard").glob("events.*"))


def test_a_policy_goes_on_from_another(tmp_path: Path) -> None:
    """`--from`: the first policy is the old one, its observations' scale stays."""
    old = tmp_path / "old.zip"
    model = PPO(
        "MlpPolicy",
        gym.make(PENDULUM),
        policy_kwargs={"features_extractor_class": Standardize, "net_arch": [8]},
    )
    set_moments(model.policy, np.arange(6.0), np.full(6, 2.0))
    save_model(model, old, PENDULUM, {"kind": "dagger"})
    log = train(
        "ppo", PENDULUM, settings(learning_rate=0.0), tmp_path / "run", begin_from=old, threads=1
    )
    assert log["from"] == "dagger"
    assert weights(tmp_path / "run" / "best.zip") == weights(old)
    with pytest.raises(ValueError, match="no policy of sac"):
        train("sac", PENDULUM, load_settings("sac", PENDULUM), tmp_path / "b", begin_from=old)


def test_a_full_disk_keeps_the_checkpoint_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A checkpoint that cannot be written leaves the one before, which resumes."""
    saved = 0
    write = zipfile.ZipFile.writestr

    def full(*arguments: Any, **options: Any) -> None:
        nonlocal saved
        saved += 1
        if saved > 12:
            raise OSError(28, "No space left on device")
        write(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "writestr", full)
        with pytest.raises(OSError, match=r"cannot write .*: No space left"):
            train("ppo", PENDULUM, settings(), tmp_path / "run", threads=1)
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".")]
    before = read_note(tmp_path / "run" / "last.zip")["log"]["curve"]
    assert before
    log = train("ppo", PENDULUM, settings(), tmp_path / "run", resume=True, threads=1)
    assert log["curve"][: len(before)] == before
    assert log["curve"][-1]["steps"] == 512


# Cloning


def test_cloning_and_dagger_come_near_the_expert() -> None:
    """Both errors fall to a fraction of the actions' spread; an SB3 policy comes out."""
    quick = Settings(
        net_arch=(64, 64), worlds=10, round_steps=50, gradient_steps=50, last_steps=300
    )
    envs = make_batch(PENDULUM, 10, 1)
    runs = run_all(envs, reference_controller(envs), range(10))
    observations = np.concatenate([one.observations[:-1] for one in runs])
    actions = np.concatenate([one.actions for one in runs])
    losses: list[float] = []
    model = clone(
        PENDULUM,
        Examples(observations, actions),
        settings=quick,
        report=lambda steps, loss: losses.append(loss),
    )
    # A policy without a network would give the median: its error is the actions' spread
    assert losses[-1] < 0.5 * np.abs(actions - np.median(actions, axis=0)).mean()
    found, _ = model.predict(observations, deterministic=True)
    assert np.abs(found - actions).mean() < 2.0 * losses[-1]
    steps: list[int] = []
    dagger(PENDULUM, 2, settings=quick, report=lambda seen, loss: steps.append(seen))
    assert steps == [500, 1000, 1500, 2000]  # as many transitions as two episodes have
    loss = fit_value(model, quick, runs)
    assert loss < 1.0


def test_a_cloned_zip_is_self_contained(tmp_path: Path) -> None:
    """`PPO.load` gives a policy that takes the environment's own observations."""
    model = PPO(
        "MlpPolicy", gym.make(PENDULUM), policy_kwargs={"features_extractor_class": Standardize}
    )
    rng = np.random.default_rng(0)
    set_moments(model.policy, rng.normal(size=6), rng.uniform(0.5, 2, 6))
    path = tmp_path / "p.zip"
    save_model(model, path, PENDULUM)
    observations = rng.normal(size=(5, 6))
    expected, _ = model.predict(observations, deterministic=True)
    np.testing.assert_array_equal(
        PPO.load(path, device="cpu").predict(observations, deterministic=True)[0], expected
    )
    small = tmp_path / "small.zip"
    slim(path, small)
    found, _ = PPO.load(small, device="cpu").predict(observations, deterministic=True)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert read_note(small) == read_note(path)
    assert small.stat().st_size < 0.5 * path.stat().st_size


def test_policies_that_ship_belong_to_their_environments() -> None:
    """Small, loaded by name, and good for what the page of results says."""
    from dynenvs.agents.actors import SHIPPED, shipped
    from dynenvs.registration import ENVIRONMENTS

    names = {env_id: shipped(env_id) for env_id in ENVIRONMENTS}
    assert sum(map(len, names.values())) == len(list(SHIPPED.glob("*.zip"))) >= 3
    for env_id, own in names.items():
        for name in own:
            assert shipped_file(env_id, name).stat().st_size < 300_000
            result = evaluate(env_id, name, 4)
            assert references(env_id, 4).score(result.mean_return) > 0.8, (env_id, name)


def test_moments_are_those_of_all_batches() -> None:
    rng = np.random.default_rng(1)
    data = rng.normal(3.0, 5.0, (100, 4))
    moments = Moments(4)
    for part in np.split(data, [1, 7, 50]):
        moments.add(part)
    np.testing.assert_allclose(moments.mean, data.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.scale, data.std(axis=0), rtol=1e-12)


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
    options = constructor_options(chosen, 6)
    assert options["learning_rate"](0.5) == pytest.approx(1e-4)
    chosen = load_settings("ppo", HUMANOID, {"policy_kwargs.net_arch": [7]})
    assert constructor_options(chosen, 6)["policy_kwargs"]["net_arch"] == [7]
    for changes, message in (
        ({"gama": 0.9}, "no setting 'gama'; choose from: batch_size"),
        ({"noise_std": 0.1}, "no setting 'noise_std'"),
        ({"n_envs": 0}, "n_envs must be a whole number"),
        ({"learning_rate": "exp_1"}, "learning_rate must be"),
        ({"policy_kwargs.activation": "Tan"}, "policy_kwargs"),
    ):
        with pytest.raises(ValueError, match=message):
            constructor_options(load_settings("ppo", HUMANOID, changes), 6)
    with pytest.raises(ValueError, match="name=value"):
        parse_change("gamma")


@pytest.mark.parametrize("algorithm", ["ppo", "sac", "td3"])
def test_the_file_has_settings_for_every_environment(algorithm: str) -> None:
    from dynenvs.registration import ENVIRONMENTS

    for env_id in ENVIRONMENTS:
        options = constructor_options(load_settings(algorithm, env_id), 3)
        assert options["policy_kwargs"]["features_extractor_class"] is Standardize


# Evaluation


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


def test_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Train, then evaluate the zip, with a table, a file and a film; the page of results."""
    monkeypatch.setattr(demo, "FILM_LENGTH", 0.4)
    small = [f"--set={name}={json.dumps(value)}" for name, value in SMALL.items()]
    assert run(monkeypatch, "train", "ppo", "pendulum", *small, "--out", "run") == 0
    out = ("--json", "out.json", "--video", "film.gif")
    zip_ = "run/best.zip"
    assert run(monkeypatch, "evaluate", "pendulum", "--agent", zip_, "--episodes", "2", *out) == 0
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
    monkeypatch.setattr(demo, "FILM_LENGTH", 0.1)
    monkeypatch.setattr(demo, "WARM_UP", 1)
    monkeypatch.setattr(actors, "SHIPPED", tmp_path)
    model = PPO("MlpPolicy", gym.make(PENDULUM), policy_kwargs={"net_arch": [4]})
    whole = tmp_path / "whole.zip"
    save_model(model, whole, PENDULUM)
    slim(whole, tmp_path / "DoublePendulum-v0_ppo.zip")
    shown = ("demo", "pendulum", "--agent", "ppo", "--steps", "4", "--output", "film.gif")
    assert run(monkeypatch, *shown, "--option", "reset_noise=0.1") == 0
    assert Path("film.gif").stat().st_size > 1000
    short = ("--episodes", "2", "--option", "max_episode_steps=5", "--json", "out.json")
    assert run(monkeypatch, "evaluate", "pendulum", *short) == 0
    written = json.loads(Path("out.json").read_text())
    assert list(written["agents"]) == ["expert", "random", "standing", "ppo"]
    assert written["options"] == {"max_episode_steps": 5}
    assert written["agents"]["ppo"]["lengths"] == [5, 5]
    with monkeypatch.context() as patched:
        patched.setattr("dynenvs.agents.evaluate.reference_controller", _no_expert)
        assert run(monkeypatch, "evaluate", "pendulum", *short) == 0
    written = json.loads(Path("out.json").read_text())
    assert list(written["agents"]) == ["random", "standing", "ppo"]
    assert "score" not in written["agents"]["ppo"]
    assert run(monkeypatch, "evaluate", "pendulum", "--json", ".") == 2
    assert "cannot write '.': it is a folder" in capsys.readouterr().err


def _no_expert(*_: Any) -> None:
    raise ValueError("none")


def test_the_page_of_results_is_made_from_logs(tmp_path: Path) -> None:
    """Rows for references and runs, seeds together, a plot, notes; a broken log is named."""
    pytest.importorskip("matplotlib")
    from dynenvs.agents.learn.machine import machine
    from dynenvs.agents.learn.results import write_page

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
    (folder / "notes.md").write_text("What did not learn.")
    assert write_page(folder, page) == 3
    text = page.read_text()
    assert text.index(f"## {PENDULUM}\n") < text.index(f"## {PENDULUM}, max_torque=2\n")
    assert page.with_name("results_DoublePendulum-max_torque-2.png").is_file()
    assert "| DAgger, then PPO | 2 | 0.600 (0.500-0.700) | 450.0 ± 3.0 | 400.0 | 2 |" in text
    assert "| 5,000 | 2.0 | 25 % |" in text
    assert "| expert |  | 0.500 |" in text
    assert text.endswith("What did not learn.")
    assert page.with_name("results_DoublePendulum.png").stat().st_size > 5000
    (folder / "d.json").write_text("{")
    with pytest.raises(ValueError, match=r"d\.json' is no finished run's log"):
        write_page(folder, page)
    with pytest.raises(FileNotFoundError, match="no log"):
        write_page(tmp_path / "empty", page)
