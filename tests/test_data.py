"""Datasets: whole, replayed bit for bit, resumed, read by others, and never half written."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, run
from rollouts import IDS

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from dynenvs.agents.data import collect as collecting  # noqa: E402
from dynenvs.agents.data import parts as parting  # noqa: E402
from dynenvs.agents.data.collect import collect  # noqa: E402
from dynenvs.agents.data.dataset import dataset_id, episodes, open_dataset  # noqa: E402
from dynenvs.agents.data.export import transitions  # noqa: E402
from dynenvs.agents.data.replay import replay  # noqa: E402


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty folder of datasets; few episodes for the reference scores."""
    folder = tmp_path / "datasets"
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(collecting, "REFERENCES", 2)
    monkeypatch.chdir(tmp_path)
    return folder


def content(name: str) -> list[tuple[Any, ...]]:
    """All of a dataset but Minari's own words."""
    return [
        (
            start.seed,
            {key: rows.tobytes() for key, rows in start.state.items()},
            data.observations.tobytes(),
            data.actions.tobytes(),
            data.rewards.tobytes(),
            data.terminations.tobytes(),
            data.truncations.tobytes(),
        )
        for start, data in episodes(open_dataset(name))
    ]


@pytest.mark.parametrize("name", IDS)
def test_replay_gives_every_bit(name: str) -> None:
    """Expert episodes, then random ones that end at different steps."""
    for agent in ("expert", "random"):
        made = collect(name, 3, agent=agent, max_episode_steps=60)
        dataset = open_dataset(made.name)
        assert (len(dataset), dataset.total_steps) == (3, made.steps)
        assert replay(dataset) == []
    assert "Pendulum" in name or made.steps < 180  # random walkers fall


def test_replay_finds_what_is_not_the_same() -> None:
    """One bit of one observation, of one reward, and of a state."""
    import h5py

    made = collect(HUMANOID, 3, max_episode_steps=20)
    with h5py.File(made.path / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/observations"][5, 2] = np.nextafter(
            file["episode_0/observations"][5, 2], 9.0
        )
        file["episode_1/rewards"][7] = np.nextafter(file["episode_1/rewards"][7], 9.0)
        state = file["episode_2"].attrs["state/world"]
        state[-1] ^= 1
        file["episode_2"].attrs["state/world"] = state
    found = [tuple(difference) for difference in replay(open_dataset(made.name))]
    assert found == [(0, 5, "observation"), (1, 8, "reward"), (2, 0, "state")]


def test_metadata_and_environment() -> None:
    """Minari reads it, makes the environment, and has both reference scores."""
    kwargs = dict(gym.spec(HUMANOID).kwargs)
    made = collect(HUMANOID, 3, seed=7, max_episode_steps=25, author="A", email="a@example.org")
    assert made.name == "dynenvs/planar-humanoid/expert-v0"
    dataset = minari.load_dataset(made.name)
    metadata = dataset.storage.metadata
    for key in ("algorithm_name", "code_permalink", "description", "requirements"):
        assert metadata[key], key
    assert (metadata["author"], metadata["author_email"]) == ({"A"}, {"a@example.org"})
    assert metadata["ref_max_score"] > 0.0
    assert metadata["ref_min_score"] > 0.0
    env = dataset.recover_environment()
    assert env.unwrapped.task.max_episode_steps == 25
    episode = next(iter(dataset))
    assert "total_steps=25" in repr(episode)
    observation, _ = env.reset(seed=7)
    np.testing.assert_array_equal(observation, episode.observations[0])
    start, _ = next(episodes(dataset))
    kept = env.unwrapped.get_state()
    env.reset(seed=99)
    env.unwrapped.set_state({k: start.state[k].view(kept[k].dtype) for k in kept})
    np.testing.assert_array_equal(env.unwrapped.worlds.observations[0], observation)
    assert gym.spec(HUMANOID).kwargs == kwargs  # Gymnasium's registry is as it was
    assert made.name in minari.list_local_datasets()


def test_interrupted_collections_lose_no_finished_episode(
    monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """Interrupted at every part, resumed, the dataset is that of an uninterrupted run."""
    whole = collect(HUMANOID, 8, agent="random", name="whole-v0")
    add = parting.Parts.add
    kept: list[int] = []

    def once(self: parting.Parts, runs: Any) -> None:
        add(self, runs)
        kept.extend(one.number for one in runs)
        raise KeyboardInterrupt

    for _ in range(20):
        with monkeypatch.context() as patched:
            patched.setattr(parting.Parts, "add", once)
            try:
                collect(HUMANOID, 8, agent="random", name="broken-v0")
                break
            except KeyboardInterrupt:
                assert not (root / "dynenvs" / "planar-humanoid" / "broken-v0").exists()
    assert len(kept) == 8
    assert sorted(kept) == list(range(8))  # nothing was done twice
    assert content("dynenvs/planar-humanoid/broken-v0") == content(whole.name)
    assert not list(root.rglob(".*"))


def test_a_killed_collection_is_resumed(root: Path) -> None:
    """SIGKILL in the middle: what was finished is there, no draft is taken for a dataset."""
    code = (
        "from dynenvs.agents.data import collect as c\n"
        "c.WORLDS, c.REFERENCES = 2, 2\n"
        f"c.collect({PENDULUM!r}, 4000, agent='random', max_episode_steps=200)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    folder = root / "dynenvs" / "double-pendulum" / ".random-v0.parts"
    deadline = time.time() + 60
    while len(list(folder.glob("part-*.npz"))) < 3 and time.time() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = sorted(folder.glob("part-*.npz"))
    assert len(finished) >= 3
    before = [path.stat().st_mtime_ns for path in finished]
    assert minari.list_local_datasets() == {}
    count = 2 * len(finished) + 2
    made = collect(PENDULUM, count, agent="random", max_episode_steps=200)
    assert made.steps == 200 * count
    assert before  # the parts went into the dataset, none was collected again
    assert replay(open_dataset(made.name)) == []


def test_a_full_disk_loses_nothing(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """While a part is written, and while the dataset is."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space left"):
            collect(PENDULUM, 2, max_episode_steps=10)
    assert not list(root.rglob("part-*"))
    assert not list(root.rglob("*.npz*"))
    with monkeypatch.context() as patched:
        patched.setattr("minari.dataset._storages.hdf5_storage._add_episode_to_group", full)
        with pytest.raises(OSError, match="No space left"):
            collect(PENDULUM, 2, max_episode_steps=10)
    assert len(list(root.rglob("part-*"))) == 1  # the episodes are not lost
    assert not list(root.rglob("*.draft"))
    assert collect(PENDULUM, 2, max_episode_steps=10).steps == 20


def test_an_unfinished_collection_with_other_settings_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(collecting, "write_dataset", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            collect(PENDULUM, 2, max_episode_steps=10)
    with pytest.raises(ValueError, match="unfinished collection of the same name has seed = 0"):
        collect(PENDULUM, 2, seed=1, max_episode_steps=10)
    with pytest.raises(ValueError, match="options = "):
        collect(PENDULUM, 2)
    collect(PENDULUM, 2, max_episode_steps=10)
    with pytest.raises(FileExistsError, match="there is a dataset"):
        collect(PENDULUM, 2, max_episode_steps=10)


def _interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_noise_is_recorded_and_depends_on_the_episode_alone() -> None:
    made = collect(HUMANOID, 3, noise=0.05, max_episode_steps=20)
    assert made.name.endswith("/expert-noisy-v0")
    alone = collect(HUMANOID, 1, noise=0.05, seed=2, max_episode_steps=20, name="alone-v0")
    assert content(made.name)[2][1:] == content(alone.name)[0][1:]
    assert replay(open_dataset(made.name)) == []
    plain = collect(HUMANOID, 1, max_episode_steps=20)
    assert content(plain.name)[0][3] != content(made.name)[0][3]


def test_transitions_are_those_that_offline_learners_take(tmp_path: Path) -> None:
    """The arrays of d3rlpy's MDPDataset: finite, one row a step, an end for each episode."""
    collect(HUMANOID, 4, agent="random")
    dataset = open_dataset("planar-humanoid/random-v0")
    columns = transitions(dataset)
    steps = dataset.total_steps
    assert columns["observations"].shape == columns["next_observations"].shape == (steps, 18)
    assert columns["actions"].shape == (steps, 6)
    for name in ("rewards", "terminals", "timeouts", "episodes"):
        assert columns[name].shape == (steps,)
    ends = columns["terminals"] | columns["timeouts"]
    np.testing.assert_array_equal(
        np.flatnonzero(ends), np.flatnonzero(np.diff(columns["episodes"], append=4))
    )
    inside = ~ends[:-1]
    np.testing.assert_array_equal(
        columns["next_observations"][:-1][inside], columns["observations"][1:][inside]
    )
    assert np.isfinite(columns["observations"]).all()


def test_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Collect, replay, export."""
    assert run(monkeypatch, "collect", "humanoid", "--episodes", "2", "--agent", "random") == 0
    assert run(monkeypatch, "replay", "humanoid/random-v0") == 0
    assert "every bit the same" in capsys.readouterr().out
    file = tmp_path / "out.npz"
    assert run(monkeypatch, "export", "humanoid/random-v0", str(file)) == 0
    with np.load(file) as arrays:
        assert len(arrays["rewards"]) == len(arrays["observations"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("collect", "cat"), "unknown environment 'cat'"),
        (("collect", "humanoid", "--agent", "cat"), "unknown agent 'cat'; choose from: expert"),
        (("collect", "humanoid", "--agent", "cat.zip"), "there is no file 'cat.zip'"),
        (("collect", "humanoid", "--name", "a b"), "name must be letters"),
        (("collect", "humanoid", "--episodes", "0"), "--episodes"),
        (("replay", "humanoid"), "there is no dataset 'dynenvs/humanoid/expert-v0'"),
        (("replay", "dynenvs/cat/expert-v0"), "dynenvs collect cat"),
        (("export", "humanoid/walk-v1", "a.npz"), "there is no dataset"),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, *arguments) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert message in text


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "dynenvs.agents.data.dataset")
    monkeypatch.setitem(sys.modules, "minari", None)
    assert run(monkeypatch, "replay", "humanoid") == 2
    assert 'pip install "dynenvs[data]"' in capsys.readouterr().err


def test_a_broken_dataset_is_told(root: Path) -> None:
    made = collect(PENDULUM, 1, max_episode_steps=5)
    file = made.path / "data" / "metadata.json"
    metadata = json.loads(file.read_text())
    file.write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        open_dataset(made.name)
    file.write_text(json.dumps(metadata))
    shutil.copy(file, made.path / "data" / "main_data.hdf5")
    with pytest.raises((ValueError, OSError)):
        replay(open_dataset(made.name))


def test_ids() -> None:
    assert dataset_id("dynenvs/DoublePendulum-v0", "a-v3") == "dynenvs/double-pendulum/a-v3"
    assert dataset_id("dynenvs/Humanoid-v0", "a-v0") == "dynenvs/humanoid/a-v0"
    with pytest.raises(ValueError, match="name must be"):
        dataset_id(PENDULUM, "expert")
