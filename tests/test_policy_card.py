"""Policies in safetensors files: the zip's actions to the bit, no pickle, nothing damaged."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, SMALL, run

pytest.importorskip("stable_baselines3")
pytest.importorskip("safetensors")

import safetensors.torch
import torch
from safetensors import safe_open
from stable_baselines3 import PPO, SAC

from dynenvs.agents import load_policy
from dynenvs.agents.files import SHIPPED, shipped_file, warn_of_code
from dynenvs.agents.learn.clone import lacks_value
from dynenvs.agents.learn.export_tensors import export_tensors
from dynenvs.agents.learn.network import Standardize
from dynenvs.agents.learn.off_policy import ReachingPolicy
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_card import CARD, write_policy
from dynenvs.agents.policy_file import load_model, read_note, save_model

STORED = Path(__file__).with_name("shipped_actions.npz")
# Of the weights in the zips that shipped before, by `digest`
DIGESTS = {
    "ChainPendulum-v0_dagger": "a949e8b080a194bc",
    "ChainPendulum-v0_ppo": "e4b70b8f46b5582a",
    "DoublePendulum-v0_dagger": "ca35ce2ee1d9e8fa",
    "DoublePendulum-v0_ppo": "a2a960530a6b7c6b",
    "Humanoid-v0_dagger": "a822a5b221763d88",
    "Humanoid-v0_ppo": "37d4a74396d0bf6c",
    "PlanarHumanoid-v0_dagger": "c475f14e74ed3599",
    "PlanarHumanoid-v0_ppo": "9706bdfc085e6d74",
    "PlanarQuadruped-v0_dagger": "1b97638c64988508",
    "PlanarQuadruped-v0_ppo": "0dab01ba78aa2a54",
    "Quadruped-v0_dagger": "eb8bfbe35589df08",
    "Quadruped-v0_ppo": "5f4183fca2a98ac7",
}


def digest(policy: Any) -> str:
    """Of all weights and buffers, with their names."""
    found = hashlib.sha256()
    for name, value in sorted(policy.state_dict().items()):
        found.update(name.encode())
        found.update(value.numpy().tobytes())
    return found.hexdigest()[:16]


@pytest.fixture
def no_pickle(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever unpickles fails, from when the files of the test are there."""
    if "whole" in request.fixturenames:
        request.getfixturevalue("whole")

    import torch._dynamo

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something was unpickled")

    for module, name in ((pickle, "load"), (pickle, "loads"), (torch, "load")):
        monkeypatch.setattr(module, name, refuse)


@pytest.mark.usefixtures("no_pickle")
@pytest.mark.parametrize("stem", DIGESTS)
def test_what_ships_is_the_zip_of_before_without_pickle(stem: str) -> None:
    """All weights to the bit, and the actions that the zips gave for stored observations."""
    env_id, _, name = stem.partition("_")
    model: Any = load_policy(name, f"dynenvs/{env_id}")
    assert digest(model.policy) == DIGESTS[stem]
    with np.load(STORED) as stored:
        seen, wanted = stored[f"{stem}/observations"], stored[f"{stem}/actions"]
    found, _ = model.predict(seen, deterministic=True)
    np.testing.assert_allclose(found, wanted, atol=1e-5)  # another processor sums otherwise


def test_nothing_else_ships() -> None:
    assert {file.name for file in SHIPPED.iterdir()} == {f"{stem}.safetensors" for stem in DIGESTS}


def _generators() -> tuple[Any, ...]:
    """Where all random numbers stand."""
    return random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()  # noqa: NPY002


# What our own learners make: words, and the arguments of the class


def _ppo(**options: Any) -> PPO:
    return PPO("MlpPolicy", gym.make(PENDULUM), seed=0, device="cpu", **options)


def _sac(**options: Any) -> SAC:
    return SAC("MlpPolicy", gym.make(PENDULUM), seed=0, device="cpu", buffer_size=1, **options)


def _reaching() -> SAC:
    rng = np.random.default_rng(0)
    law = {"gains": rng.normal(size=(2, 6)), "offset": rng.normal(size=2), "reach": np.ones(2)}
    options: Any = {"net_arch": [8], **law}
    return SAC(ReachingPolicy, gym.make(PENDULUM), buffer_size=1, policy_kwargs=options, seed=0)


MODELS: dict[str, Callable[[], Any]] = {
    "plain PPO": _ppo,
    "scaled": lambda: _ppo(
        policy_kwargs={
            "features_extractor_class": Standardize,
            "net_arch": {"pi": [8, 4], "vf": [6]},
            "activation_fn": torch.nn.ELU,
            "log_std_init": -1.0,
            "ortho_init": False,
        }
    ),
    "gSDE": lambda: _ppo(use_sde=True, sde_sample_freq=4),
    "plain SAC": _sac,
    "SAC with gSDE": lambda: _sac(use_sde=True),
    "SAC scaled": lambda: _sac(
        policy_kwargs={"features_extractor_class": Standardize, "net_arch": [8], "n_critics": 3}
    ),
    "SAC with a PD law": _reaching,
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_zip_and_its_export_act_alike(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit, without pickle, and without touching anybody's random numbers."""
    model, zip_ = MODELS[kind](), tmp_path / "p.zip"
    model.num_timesteps = 77
    save_model(model, zip_, PENDULUM, {"options": {"reset_noise": 0.05}, "seed": 3})
    file = export_tensors(str(zip_), tmp_path / "p.safetensors")
    note = read_note(file)
    for name, value in {**read_note(zip_), "steps": 77}.items():
        assert note[name] == value
    seen = np.random.default_rng(1).normal(scale=3.0, size=(50, 6))
    wanted = load_model(zip_, PENDULUM).predict(seen, deterministic=True)[0]
    before = _generators()
    with monkeypatch.context() as patched:
        patched.setattr(torch, "load", None)
        patched.setattr(pickle, "loads", None)
        loaded: Any = load_policy(file)
    assert _generators() == before
    assert loaded.predict(seen, deterministic=True)[0].tobytes() == wanted.tobytes()
    assert isinstance(loaded, type(model))
    assert type(loaded.policy) is type(model.policy)
    assert loaded.observation_space == model.observation_space
    assert loaded.action_space == model.action_space
    assert loaded.num_timesteps == 77
    loaded.save(tmp_path / "again.zip")  # it is a model like any other
    again = type(model).load(tmp_path / "again.zip", device="cpu")
    assert again.predict(seen, deterministic=True)[0].tobytes() == wanted.tobytes()


def test_what_a_card_cannot_name_is_refused(tmp_path: Path) -> None:
    class Own(torch.nn.ReLU):
        pass

    note = {"env_id": PENDULUM, "algorithm": "ppo", "steps": 0, "options": {}}
    for options, message in (
        ({"activation_fn": Own}, "activation 'Own' is not known; choose from: ELU"),
        ({"features_extractor_kwargs": {"a": 1}}, "argument 'features_extractor_kwargs'"),
    ):
        model = _ppo()
        model.policy_kwargs = options
        with pytest.raises(ValueError, match=message):
            write_policy(model, tmp_path / "p.safetensors", note)
    assert not list(tmp_path.iterdir())


# Damaged files


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A small policy's file."""
    model = _ppo(policy_kwargs={"features_extractor_class": Standardize, "net_arch": [3]})
    save_model(model, tmp_path / "p.zip", PENDULUM, {"options": {}})
    return export_tensors(str(tmp_path / "p.zip"), tmp_path / "p.safetensors")


def _parts(file: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    with safe_open(file, "pt") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}, json.loads(  # noqa: SIM118
            opened.metadata()[CARD]
        )


def _rewritten(file: Path, tensors: Any, card: Any) -> Path:
    target = file.with_name("spoilt.safetensors")
    text = card if isinstance(card, str) else json.dumps(card)
    target.write_bytes(safetensors.torch.save(tensors, {CARD: text}))
    return target


WEIGHT = "action_net.weight"


@pytest.mark.usefixtures("no_pickle")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop(WEIGHT), rf"tensor '{WEIGHT}' is missing.* \(2, 3\)"),
        (lambda t: t.update(more=torch.zeros(1)), "tensor 'more' has no place"),
        (
            lambda t: t.update({WEIGHT: torch.zeros(2, 4)}),
            rf"'{WEIGHT}' has shape \(2, 4\), \(2, 3\) would be right",
        ),
        (lambda t: t.update({WEIGHT: t[WEIGHT].double()}), "float64, torch.float32 would be right"),
        (lambda t: t[WEIGHT].fill_(np.nan), f"'{WEIGHT}' has entries that are not finite"),
        (lambda t: t["log_std"].fill_(np.inf), "'log_std' has entries that are not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(whole: Path, change: Any, message: str) -> None:
    tensors, card = _parts(whole)
    change(tensors)
    with pytest.raises(ValueError, match=message) as told:
        load_policy(_rewritten(whole, tensors, card))
    assert "spoilt.safetensors" in str(told.value)
    assert "\n" not in str(told.value)


def _network(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda card: card["network"].update(changes)


def _space(which: str, **changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda card: card[which].update(changes)


@pytest.mark.usefixtures("no_pickle")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda card: card.update(format=2), "format 2 is unknown: this version reads 1"),
        (lambda card: card.update(algorithm="td3"), "algorithm 'td3' is not known.* ppo, sac"),
        (lambda card: card.update(algorithm="sac"), "policy 'ActorCriticPolicy' is not known"),
        (lambda card: card.pop("network"), "network must be of type dict, got None"),
        (lambda card: card.update(steps="1"), "steps must be of type int"),
        (lambda card: card.update(env_id=HUMANOID), "of shapes"),
        (lambda card: card.update(env_id="dynenvs/None-v0"), "None"),
        (_network(policy="os.system"), "policy 'os.system' is not known"),
        (_network(features_extractor="eval"), "features_extractor 'eval' is not known"),
        (_network(activation="Module"), "activation 'Module' is not known"),
        (_network(activation=["ELU"]), "activation .* is not known"),
        (_network(net_arch=[4]), "has shape"),
        (_network(net_arch=[10**9]), "net_arch must be"),
        (_network(net_arch=[True]), "net_arch must be"),
        (_network(net_arch={"vf": [3]}), "net_arch must be"),
        (_network(net_arch={"pi": [3], "qf": [3]}), 'net_arch must be.*"vf"'),
        (_network(net_arch=[[3]]), "net_arch must be"),
        (_network(log_std_init="big"), "log_std_init must be a float, got 'big'"),
        (_network(log_std_init=10**400), "log_std_init must be a float"),
        (_network(log_std_init=10**30), "no network can be made as its card says"),
        (_network(squash_output=True), "no network can be made as its card says"),
        (_network(optimizer_class="x"), "argument 'optimizer_class' is not known"),
        (_network(use_sde=True), "tensor"),
        (_network(use_sde=1), "use_sde"),
        (_space("observation_space", dtype="object"), "dtype 'object' is not known"),
        (_space("observation_space", low=[None] * 5), "equally long"),
        (_space("observation_space", low=["x"] * 6), "finite numbers and null"),
        (_space("observation_space", low=[float("nan")] * 6), "finite numbers and null"),
        (_space("action_space", low=[2.0, 2.0]), "no low above its high"),
        (_space("action_space", low=[-1.0] * 3, high=[1.0] * 3), "log_std|has shape"),
        (_space("action_space", high=[]), "must be a list of bounds"),
    ],
)
def test_words_that_are_no_card_are_refused(whole: Path, change: Any, message: str) -> None:
    tensors, card = _parts(whole)
    change(card)
    with pytest.raises((ValueError, gym.error.Error), match=message) as told:
        load_policy(_rewritten(whole, tensors, card))
    assert "\n" not in str(told.value)


@pytest.mark.usefixtures("no_pickle")
def test_no_card_at_all(whole: Path) -> None:
    tensors, _ = _parts(whole)
    for text in ("", "{", "[]", "null", "[" * 100_000, '"' + "x" * 100_000):
        with pytest.raises(ValueError, match=r"the card of '.*spoilt\.safetensors'"):
            load_policy(_rewritten(whole, tensors, text))
    bare = whole.with_name("bare.safetensors")
    bare.write_bytes(safetensors.torch.save(tensors))
    with pytest.raises(ValueError, match="no card of dynenvs"):
        load_policy(bare)


@pytest.mark.usefixtures("no_pickle")
def test_broken_bytes_are_refused(whole: Path) -> None:
    """Cut anywhere, or with any byte of the header changed: refused in a line, or still whole."""
    content = whole.read_bytes()
    spoilt = whole.with_name("spoilt.safetensors")
    draw = np.random.default_rng(0)
    header = int.from_bytes(content[:8], "little") + 8
    cut = [content[:n] for n in (0, 1, 7, 8, 9, header, len(content) - 1)]
    changed = []
    for place in draw.integers(0, header, 200).tolist():
        other = bytearray(content)
        other[place] ^= 1 << int(draw.integers(8))
        changed.append(bytes(other))
    lines = []
    for data in (*cut, *changed, b"PK\3\4" + content):
        spoilt.write_bytes(data)
        try:
            load_policy(spoilt)
        except (ValueError, gym.error.Error) as error:
            lines.append(len(str(error).splitlines()))
    assert set(lines) == {1}
    assert len(lines) >= 150  # a letter of a note, or a digit of a bound, may be another one


@pytest.mark.parametrize("env_id", ["dynenvs/DoublePendulum", f"dynenvs:{PENDULUM}"])
def test_ids_as_gym_make_takes_them(env_id: str) -> None:
    """The newest version where none is named, and with the module that registers it."""
    found, wanted = load_policy("ppo", env_id), load_policy("ppo", PENDULUM)
    assert digest(found.policy) == digest(wanted.policy)


def test_files_by_the_wrong_door(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"p\.zip' is no \.safetensors file.*zips runs code"):
        load_policy(tmp_path / "p.zip")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.safetensors"):
        load_policy(tmp_path / "nowhere.safetensors")
    with pytest.raises(ValueError, match=r"'best' is no \.safetensors file, nor a policy"):
        load_policy("best", PENDULUM)
    with pytest.raises(ValueError, match=r"'ppo' is no .safetensors file; what ships needs an id"):
        load_policy("ppo")
    with pytest.raises(TypeError, match=r"env_id must be an environment's id .*, got 5"):
        load_policy("ppo", 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"'dynenvs/Humanoit-v0' is no environment.*Humanoid-v0"):
        load_policy("ppo", "dynenvs/Humanoit-v0")
    with pytest.raises(ValueError, match="is a policy for dynenvs/DoublePendulum-v0"):
        load_policy(whole, HUMANOID)
    renamed = tmp_path / "zip.safetensors"
    renamed.write_bytes((tmp_path / "p.zip").read_bytes())
    with pytest.raises(ValueError, match="no safetensors file"):
        load_policy(renamed)


# On the way from command to command


@pytest.mark.thorough
@pytest.mark.usefixtures("short_runs")
def test_who_goes_on_from_an_export_learns_its_value_anew(whole: Path, tmp_path: Path) -> None:
    """It has none; the policy that training goes on with is the file's."""
    assert lacks_value(load_policy(whole))
    settings = load_settings("ppo", PENDULUM, {**SMALL, "learning_rate": 0.0, "least_spread": 0.0})
    train("ppo", PENDULUM, settings, tmp_path / "run", begin_from=whole)
    after: Any = load_model(tmp_path / "run" / "best.zip", PENDULUM)
    assert not lacks_value(after)
    for name, weights in _parts(whole)[0].items():
        assert torch.equal(after.policy.state_dict()[name], weights), name


def test_sac_does_not_train_on_from_what_acts_alone(tmp_path: Path) -> None:
    save_model(_sac(), tmp_path / "p.zip", PENDULUM, {"options": {}})
    file = export_tensors(str(tmp_path / "p.zip"), tmp_path / "p.safetensors")
    with pytest.raises(ValueError, match="no critics to train: continue from the zip"):
        load_model(file, PENDULUM, env=gym.make(PENDULUM))


@pytest.mark.thorough
@pytest.mark.usefixtures("short_runs")
def test_the_command_exports_and_evaluates(
    whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stranger's zip is told of before it is opened; an own one, and what it becomes, are not."""
    own = whole.with_suffix(".zip")
    zip_ = str(shutil.copyfile(own, own.with_name("strange.zip")))
    with zipfile.ZipFile(zip_, "a") as archive:
        archive.writestr("more", b"")
    warn_of_code.cache_clear()
    out = ("--out", "q.safetensors")
    assert run(monkeypatch, "export-policy", zip_, "--safetensors", *out) == 0
    told = capsys.readouterr()
    assert "q.safetensors: the policy's actions to the bit" in told.out
    assert told.err.count("open only what you trust") == 1
    assert run(monkeypatch, "export-policy", str(own), "--safetensors", *out) == 0
    assert "open only what you trust" not in capsys.readouterr().err
    short = ("--episodes", "2", "--option", "max_episode_steps=5", "--agent", "q.safetensors")
    assert run(monkeypatch, "evaluate", "double-pendulum", *short) == 0
    assert "open only what you trust" not in capsys.readouterr().err
    assert run(monkeypatch, "export-policy", zip_, "--safetensors", "--out", ".") == 2
    assert run(monkeypatch, "evaluate", "double-pendulum", "--agent", "none.safetensors") == 2
    assert "there is no file 'none.safetensors'" in capsys.readouterr().err


def test_a_shipped_policy_has_the_words_of_its_zip() -> None:
    note = read_note(shipped_file("dynenvs/Humanoid-v0", "ppo"))
    assert (note["env_id"], note["algorithm"]) == ("dynenvs/Humanoid-v0", "ppo")
    assert note["steps"] > 1e6
    assert {"seed", "score", "options", "dynenvs"} <= note.keys()
