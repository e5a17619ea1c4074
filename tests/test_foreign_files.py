"""Policies' files can run code: nobody slips in another one, and who opens one is told."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gymnasium.envs.registration import EnvSpec

from dynenvs.agents import written
from dynenvs.agents.evaluation.actors import actor
from dynenvs.agents.files import shipped_file, warn_of_code
from dynenvs.agents.written import is_remembered, remember

PENDULUM = "dynenvs/DoublePendulum-v0"


@pytest.fixture(autouse=True)
def fresh() -> None:
    """As if nothing had been said in this process."""
    warn_of_code.cache_clear()


@pytest.fixture
def own_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where zips are noted: in a cache of the test's own."""
    root = tmp_path / "cache" / "dynenvs-kernels"
    monkeypatch.setattr(written, "cache_root", lambda: root)
    return root / written.NAME


def test_a_policy_on_a_node_is_the_one_that_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies in the shared temporary directory, under whatever name."""
    pytest.importorskip("ray")
    from dynenvs.agents import cluster

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cluster._folder.cache_clear()
    sent = cluster.File("best.zip", b"what the driver has sent")
    digest = hashlib.sha256(sent.content).hexdigest()
    guessed = tmp_path / f"dynenvs-{os.getuid()}-{digest[:16]}" / "best.zip"
    guessed.parent.mkdir()
    guessed.write_bytes(b"somebody else's")
    path = sent.unpacked()
    assert path.read_bytes() == sent.content
    assert sent.unpacked() == path
    path.write_bytes(b"something else")
    assert sent.unpacked().read_bytes() == sent.content
    assert not (tmp_path / path.relative_to(tmp_path).parts[0]).stat().st_mode & 0o077
    outside = cluster.File("../../best.zip", b"another")
    assert outside.unpacked().parent.parent == path.parent.parent
    cluster._folder.cache_clear()


def test_a_policy_that_travels_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    from dynenvs.agents.cluster import carried

    file = tmp_path / "best.zip"
    file.write_bytes(b"a policy")
    assert carried("expert") == "expert"
    assert capsys.readouterr().err == ""
    carried(str(file))
    assert "open only what you trust" in capsys.readouterr().err


def test_who_opens_a_policy_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once a file, before anything of it is loaded."""
    pytest.importorskip("stable_baselines3")
    from dynenvs.agents import policy_file

    told: list[str] = []
    space = SimpleNamespace(shape=(1,))
    spaces = SimpleNamespace(observation_space=space, action_space=space)

    def load(*_: Any, **__: Any) -> Any:
        told.append(capsys.readouterr().err)
        return spaces

    monkeypatch.setattr(policy_file, "read_note", lambda _: {"algorithm": "ppo"})
    monkeypatch.setattr(policy_file, "algorithm_class", lambda _: SimpleNamespace(load=load))
    file = tmp_path / "best.zip"
    file.write_bytes(b"a policy")
    env: Any = SimpleNamespace(task=spaces)
    for what in (str(file), str(file)):
        assert actor(what, env, PENDULUM) is spaces
    assert [text.count("open only what you trust") for text in told] == [1, 0]
    assert str(file) in told[0]
    assert told[0].count("\n") == 1


def test_nobody_is_warned_of_what_runs_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    """What ships is such a file, wherever it lies."""
    assert shipped_file(PENDULUM, "ppo").is_file()
    warn_of_code(shipped_file(PENDULUM, "ppo"))
    warn_of_code(Path("elsewhere") / shipped_file(PENDULUM, "ppo").name)
    assert capsys.readouterr().err == ""


def test_nobody_is_warned_of_what_an_own_command_has_written(
    own_record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its bytes, wherever it lies; a file that differs in one of them is a stranger's."""
    file, moved, other = (tmp_path / f"{name}.zip" for name in ("best", "moved", "other"))
    file.write_bytes(b"a policy")
    remember(file)
    moved.write_bytes(b"a policy")
    other.write_bytes(b"a policx")
    for path in (file, moved):
        warn_of_code(path)
    assert capsys.readouterr().err == ""
    warn_of_code(other)
    assert "open only what you trust" in capsys.readouterr().err
    assert own_record.read_text().count("\n") == 1


def test_models_that_are_saved_are_known_and_a_note_of_ours_makes_nobody_known(
    own_record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`save_model` notes the zip; a stranger's zip with the same note in it is warned of."""
    pytest.importorskip("stable_baselines3")
    from dynenvs.agents.policy_file import save_model

    def save(file: Any) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("data", "{}")

    model: Any = SimpleNamespace(save=save, num_timesteps=1)
    own, strange = tmp_path / "own.zip", tmp_path / "strange.zip"
    save_model(model, own, PENDULUM)
    strange.write_bytes(own.read_bytes())
    with zipfile.ZipFile(strange, "a") as archive:
        archive.writestr("policy.pth", b"code")
    warn_of_code(own)
    assert capsys.readouterr().err == ""
    warn_of_code(strange)
    assert "open only what you trust" in capsys.readouterr().err
    assert own_record.is_file()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs Unix permissions")
@pytest.mark.parametrize("which", ["record", "folder"])
def test_a_record_that_others_can_write_is_not_believed(
    which: str, own_record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "best.zip"
    file.write_bytes(b"a policy")
    remember(file)
    (own_record if which == "record" else own_record.parent).chmod(0o777)
    warn_of_code(file)
    assert "open only what you trust" in capsys.readouterr().err


def test_the_record_forgets_its_older_half(own_record: Path, tmp_path: Path) -> None:
    """It does not grow for ever, and what was written last is still known."""
    files = [tmp_path / f"{k}.zip" for k in range(2)]
    for k, file in enumerate(files):
        file.write_bytes(bytes([k]))
    remember(files[0])
    lines = [f"{k:064x}\n" for k in range(written.MOST // 65 + 1)]
    with own_record.open("a") as record:
        record.writelines(lines)
    remember(files[1])
    assert own_record.stat().st_size < 0.6 * written.MOST
    assert [is_remembered(file) for file in files] == [False, True]
    assert lines[-1] in own_record.read_text()


@pytest.mark.parametrize("name", ["data", "dynenvs.json"])
def test_what_a_zip_says_of_itself_is_short(name: str, tmp_path: Path) -> None:
    """A hundred kilobytes of a stranger's were unpacked to a hundred megabytes, and more."""
    pytest.importorskip("stable_baselines3")
    from dynenvs.agents.policy_file import MOST_WORDS, read_note

    file = tmp_path / "best.zip"
    members = {"data": b"{}", "policy.pth": b"", "dynenvs.json": b"{}"}
    members[name] = b"{}" + b" " * MOST_WORDS
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    tracemalloc.start()
    with pytest.raises(ValueError, match="is no zip file of a policy, or a broken one"):
        read_note(file)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1e6


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An id that Gymnasium would import a module for, which lies beside the files."""
    (tmp_path / "beside_the_file.py").write_text("raise AssertionError('this has run')")
    monkeypatch.syspath_prepend(tmp_path)
    return "beside_the_file:Any-v0"


def test_no_module_that_a_card_names_is_imported(foreign: str, tmp_path: Path) -> None:
    """In the place of the environment's name: `gym.make` ran it."""
    pytest.importorskip("stable_baselines3")
    from safetensors.numpy import load_file, save_file

    from dynenvs.agents import load_policy
    from dynenvs.agents.learn.export_policy import export_policy
    from dynenvs.agents.learn.export_tensors import export_tensors
    from dynenvs.agents.policy_card import read_card

    ships = shipped_file(PENDULUM, "dagger")
    for env_id in (foreign, "Any-v0"):
        file = tmp_path / "best.safetensors"
        card = {**read_card(ships), "env_id": env_id}
        save_file(load_file(ships), file, {"dynenvs": json.dumps(card)})
        for read in (load_policy, export_policy, export_tensors):
            with pytest.raises(ValueError, match=f"{env_id}, which is not registered"):
                read(str(file))


def test_no_module_that_a_dataset_names_is_imported(foreign: str, tmp_path: Path) -> None:
    pytest.importorskip("minari")
    from dynenvs.agents.data.replay import replay
    from dynenvs.agents.data.starts import make_starts

    spec = EnvSpec(id=foreign, entry_point="beside_the_file:Any")
    dataset: Any = SimpleNamespace(id="a/b-v0", env_spec=spec)
    for read in (replay, lambda dataset: make_starts(dataset, tmp_path / "a.npz")):
        with pytest.raises(ValueError, match=r"'a/b-v0' is of the environment .*not registered"):
            read(dataset)


def test_an_id_with_its_module_is_the_same(tmp_path: Path) -> None:
    """What a user's own module has registered: its policies name both."""
    pytest.importorskip("stable_baselines3")
    from safetensors.numpy import load_file, save_file

    from dynenvs.agents import load_policy
    from dynenvs.agents.policy_card import read_card

    ships = shipped_file(PENDULUM, "dagger")
    card = {**read_card(ships), "env_id": f"dynenvs:{PENDULUM}"}
    save_file(load_file(ships), tmp_path / "best.safetensors", {"dynenvs": json.dumps(card)})
    assert load_policy(tmp_path / "best.safetensors").action_space.shape == (2,)
