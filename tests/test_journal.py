"""Unfinished collections: interrupted, killed, cut short, out of space, they lose nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, content

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from dynenvs.agents.data import collect as collecting  # noqa: E402
from dynenvs.agents.data import plan  # noqa: E402
from dynenvs.agents.data.collect import collect  # noqa: E402
from dynenvs.agents.data.dataset import open_dataset  # noqa: E402
from dynenvs.agents.data.journal import Journal  # noqa: E402
from dynenvs.agents.data.replay import replay  # noqa: E402

pytestmark = pytest.mark.usefixtures("root")


@pytest.mark.thorough
def test_interrupted_collections_lose_no_finished_episode(
    monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """Interrupted after every record, resumed, the dataset is that of an uninterrupted run."""
    whole = collect(HUMANOID, 8, agent="random", infos=True, name="whole-v0")
    add = Journal.add
    kept: list[int] = []

    def once(self: Journal, runs: Any) -> None:
        add(self, runs)
        kept.extend(one.number for one in runs)
        raise KeyboardInterrupt

    for _ in range(20):
        with monkeypatch.context() as patched:
            patched.setattr(Journal, "add", once)
            try:
                collect(HUMANOID, 8, agent="random", infos=True, name="broken-v0")
                break
            except KeyboardInterrupt:
                assert not (root / "dynenvs" / "planar-humanoid" / "broken-v0").exists()
    assert len(kept) == 8
    assert sorted(kept) == list(range(8))  # nothing was done twice
    assert content("dynenvs/planar-humanoid/broken-v0") == content(whole.name)
    assert not list(root.rglob(".*"))


def unfinished(root: Path, name: str = "random-v0", env: str = "double-pendulum") -> Path:
    """Where the episodes of an unfinished collection lie."""
    return root / "dynenvs" / env / f".{name}.unfinished"


def in_another_process(count: int, **options: Any) -> subprocess.Popen[str]:
    """A collection of the pendulum's random episodes, two at a time."""
    code = (
        "from dynenvs.agents.data import collect as c, plan\n"
        "plan.WORLDS, c.REFERENCES = 2, 2\n"
        f"c.collect({PENDULUM!r}, {count}, agent='random', name='random-v0', **{options!r})\n"
    )
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", code], **pipes)


def wait_for(path: Path, size: int, process: subprocess.Popen[str]) -> None:
    """Until a file has so many bytes."""
    deadline = time.time() + 1800
    while not (path.is_file() and path.stat().st_size >= size):
        assert process.poll() is None, process.communicate()
        assert time.time() < deadline
        time.sleep(0.01)


def watch(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the episodes that are simulated from now on, as they come."""
    simulated: list[int] = []
    add = Journal.add

    def watched(self: Journal, runs: Any) -> None:
        simulated.extend(one.number for one in runs)
        add(self, runs)

    monkeypatch.setattr(Journal, "add", watched)
    return simulated


@pytest.mark.thorough
def test_a_killed_collection_is_resumed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL in the middle: what was finished is there, no draft is taken for a dataset."""
    process = in_another_process(4000, max_episode_steps=200)
    file = unfinished(root)
    wait_for(file, 200_000, process)
    with pytest.raises(OSError, match="another process is at"):
        collect(PENDULUM, 4000, agent="random", max_episode_steps=200, name="random-v0")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = file.read_bytes()
    assert minari.list_local_datasets() == {}
    simulated = watch(monkeypatch)
    count = 2 * (before.count(b'"number"') // 2) + 2
    made = collect(PENDULUM, count, agent="random", max_episode_steps=200, name="random-v0")
    assert made.steps == 200 * count
    assert simulated[-2:] == [count - 2, count - 1]
    assert len(simulated) <= 4  # those that were not there, and at most two that were cut short
    assert replay(open_dataset(made.name)) == []
    assert not list(root.rglob(".*"))


@pytest.mark.thorough
def test_what_was_cut_short_or_spoilt_is_simulated_once_more(
    monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """A record without its end, one with a wrong bit; all others stay."""
    settings: Any = {"agent": "random", "name": "random-v0", "max_episode_steps": 20}
    whole = content(collect(PENDULUM, 6, **{**settings, "name": "whole-v0"}).name)
    with monkeypatch.context() as patched:
        patched.setattr(collecting, "write_dataset", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            collect(PENDULUM, 6, **settings)
    spoilt = bytearray(unfinished(root).read_bytes())
    size = len(spoilt) // 6
    spoilt[2 * size] ^= 1
    unfinished(root).write_bytes(spoilt[: -size // 2])
    simulated = watch(monkeypatch)
    assert content(collect(PENDULUM, 6, **settings).name) == whole
    assert len(simulated) == 2
    assert simulated[-1] == 5


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As if the disk were full then: the system refuses to let a file grow further."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing(root: Path) -> None:
    """While episodes are kept, and while the dataset is written; what was finished stays."""
    settings: Any = {"agent": "random", "name": "random-v0", "max_episode_steps": 1000}
    whole = collect(PENDULUM, 4, **{**settings, "name": "whole-v0"})
    size = (whole.path / "data" / "main_data.hdf5").stat().st_size
    with files_of_at_most(size // 2), pytest.raises(OSError, match=r"cannot write .*unfinished"):
        collect(PENDULUM, 4, **settings)
    file = unfinished(root)
    assert file.read_bytes().count(b'"number"') == 2
    with files_of_at_most(size), pytest.raises(OSError, match=r"dataset .*MB are needed"):
        collect(PENDULUM, 4, **settings)  # HDF5 itself would end the process with a crash
    assert file.read_bytes().count(b'"number"') == 4  # the episodes are not lost
    assert not list(root.rglob("*.draft"))
    made = collect(PENDULUM, 4, **settings)
    assert content(made.name) == content(whole.name)


class Broken:
    """A policy that gives no numbers, or that somebody interrupts."""

    def __init__(self, error: type[BaseException] | None) -> None:
        self.error = error

    def predict(self, observation: Any, **_: Any) -> Any:
        """Actions that are refused, or the error."""
        if self.error:
            raise self.error
        return np.full((len(observation), 2), np.nan), None


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_what_fails_before_its_first_episode_leaves_nothing(
    error: type[BaseException] | None, monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """No folder, no file, whatever ended it."""
    monkeypatch.setattr(plan, "actor", lambda *_: Broken(error))
    with pytest.raises(error or ValueError, match=None if error else "finite actions"):
        collect(PENDULUM, 2)
    assert list(root.rglob("*")) == []


def test_what_cannot_begin_leaves_nothing(root: Path) -> None:
    """A disk that is full at once; a name that no file can have."""
    with files_of_at_most(0), pytest.raises(OSError, match=r"cannot write .*unfinished"):
        collect(PENDULUM, 2)
    with pytest.raises(OSError, match="name too long"):
        collect(PENDULUM, 2, name="a" * 300 + "-v0")
    assert list(root.rglob("*")) == []


def test_what_was_killed_before_its_first_episode_is_begun_anew(root: Path) -> None:
    """Its settings bind nobody."""
    unfinished(root).parent.mkdir(parents=True)
    journal = Journal(unfinished(root, "short-v0"), {"seed": 3})
    journal._file.close()  # as when the process is killed
    assert unfinished(root, "short-v0").stat().st_size > 0
    made = collect(PENDULUM, 2, name="short-v0", max_episode_steps=5)
    assert replay(open_dataset(made.name)) == []


def test_two_collections_of_one_name_do_not_mix(root: Path) -> None:
    """The second one is refused as long as the first is at it; then the dataset is there."""
    made = collect(PENDULUM, 2, max_episode_steps=10)
    with (
        Journal(unfinished(root, "other-v0"), {}),
        pytest.raises(OSError, match="another process is at"),
    ):
        collect(PENDULUM, 2, name="other-v0", max_episode_steps=10)
    with pytest.raises(FileExistsError, match="there is a dataset"):
        collect(PENDULUM, 2, max_episode_steps=10)
    assert replay(open_dataset(made.name)) == []


def test_an_unfinished_collection_with_other_settings_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short: Any = {"name": "short-v0", "max_episode_steps": 10}
    with monkeypatch.context() as patched:
        patched.setattr(collecting, "write_dataset", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            collect(PENDULUM, 2, **short)
    with pytest.raises(ValueError, match="unfinished collection of the same name has seed = 0"):
        collect(PENDULUM, 2, seed=1, **short)
    with pytest.raises(ValueError, match="has infos = False"):
        collect(PENDULUM, 2, infos=True, **short)
    with pytest.raises(ValueError, match="options = "):
        collect(PENDULUM, 2, name="short-v0")
    collect(PENDULUM, 2, **short)
    with pytest.raises(FileExistsError, match="there is a dataset"):
        collect(PENDULUM, 2, **short)


def _interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt
