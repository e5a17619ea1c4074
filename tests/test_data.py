"""Datasets: whole, replayed bit for bit, read by others, refused where they are broken."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from learning import HUMANOID, PENDULUM, content, run
from rollouts import IDS

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

import dynenvs  # noqa: E402
from dynenvs.agents import console  # noqa: E402
from dynenvs.agents.data import dataset as storing  # noqa: E402
from dynenvs.agents.data import origin  # noqa: E402
from dynenvs.agents.data.collect import collect  # noqa: E402
from dynenvs.agents.data.dataset import dataset_id, episodes, open_dataset  # noqa: E402
from dynenvs.agents.data.export import transitions  # noqa: E402
from dynenvs.agents.data.replay import replay  # noqa: E402
from dynenvs.agents.data.starts import make_starts  # noqa: E402
from dynenvs.agents.data.teaching import STANDARD  # noqa: E402
from dynenvs.agents.errors import install_hint  # noqa: E402
from dynenvs.agents.evaluation.rollout import make_batch  # noqa: E402
from dynenvs.agents.experts.reference import reference_controller  # noqa: E402
from dynenvs.agents.names import environment_id  # noqa: E402
from dynenvs.viewer.episode import record_dataset  # noqa: E402

pytestmark = pytest.mark.usefixtures("root")


@pytest.mark.parametrize("name", IDS)
def test_replay_gives_every_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The expert, then random actions with infos, ended at different steps; bytes as foreseen."""
    foreseen: list[int] = []
    monkeypatch.setattr(storing, "check_space", lambda folder, size: foreseen.append(size))
    for agent in ("expert", "random"):
        made = collect(name, 3, agent=agent, infos=agent == "random", max_episode_steps=60)
        dataset = open_dataset(made.name)
        assert (len(dataset), dataset.total_steps) == (3, made.steps)
        assert replay(dataset) == []
        assert sum(file.stat().st_size for file in made.path.rglob("*.*")) < foreseen[-1]
        assert made.size == sum(file.stat().st_size for file in made.path.rglob("*.*"))
    assert "Pendulum" in name or made.steps < 180  # random walkers fall


def test_replay_among_loose_objects() -> None:
    """Descriptions go into the dataset, however long; so do states of scenes with many pairs."""
    from dynenvs.envs.objects import box, sphere

    place = ((0.4, 3.0), (-0.5, 0.5))
    bricks = box(half_size=(0.06, 0.03, 0.02), mass=(0.2, 0.5), count=10, position=place)
    options: dict[str, Any] = {
        "objects": [bricks, sphere(radius=(0.05, 0.1), position=place)],
        "observe_objects": True,
        "max_episode_steps": 30,
    }
    made = collect("dynenvs/Quadruped-v0", 2, infos=True, **options)
    assert len(made.path.name) < 100
    dataset = open_dataset(made.name)
    assert replay(dataset) == []
    assert dataset.env_spec is not None
    assert dataset.env_spec.kwargs["objects"][0]["count"] == 10


def test_replay_finds_what_is_not_the_same() -> None:
    """One bit of one observation, of one reward, of a state, and of an info."""
    import h5py

    made = collect(HUMANOID, 4, infos=True, max_episode_steps=20)
    with h5py.File(made.path / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/observations"][5, 2] = np.nextafter(
            file["episode_0/observations"][5, 2], 9.0
        )
        file["episode_1/rewards"][7] = np.nextafter(file["episode_1/rewards"][7], 9.0)
        state = file["episode_2"].attrs["state/world"]
        state[-1] ^= 1
        file["episode_2"].attrs["state/world"] = state
        file["episode_3/infos/contact_forces"][9, 0, 2] += 1e-12
    found = [tuple(difference) for difference in replay(open_dataset(made.name))]
    assert found == [(0, 5, "observation"), (1, 8, "reward"), (2, 0, "state"), (3, 9, "info")]


@pytest.mark.parametrize("part", ["world", "task"])
def test_an_episode_without_part_of_its_state_is_refused(part: str, tmp_path: Path) -> None:
    """By replay and by `starts`, in a line that says which part of which episode."""
    import h5py

    made = collect(HUMANOID, 2, max_episode_steps=10)
    with h5py.File(made.path / "data" / "main_data.hdf5", "a") as file:
        del file["episode_1"].attrs[f"state/{part}"]
    dataset = open_dataset(made.name)
    with pytest.raises(ValueError, match=f"episode 1 of .* has no state/{part}"):
        replay(dataset)
    with pytest.raises(ValueError, match=f"episode 1 of .* has no state/{part}"):
        make_starts(dataset, tmp_path / "starts.npz", 5)
    assert not (tmp_path / "starts.npz").exists()


def test_metadata_and_environment() -> None:
    """Minari reads it, makes the environment, and has both reference scores."""
    kwargs = dict(gym.spec(HUMANOID).kwargs)
    made = collect(HUMANOID, 3, seed=7, max_episode_steps=25, author="A", email="a@example.org")
    assert made.name == "dynenvs/planar-humanoid/expert-max-episode-steps-25-v0"
    dataset = minari.load_dataset(made.name)
    metadata = dataset.storage.metadata
    for key in ("algorithm_name", "description", "requirements"):
        assert metadata[key], key
    assert (metadata["author"], metadata["author_email"]) == ({"A"}, {"a@example.org"})
    assert metadata["ref_max_score"] > 0.0
    assert metadata["ref_min_score"] > 0.0
    env = dataset.recover_environment()
    assert env.spec is not None
    assert env.spec.max_episode_steps == 25
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


def test_infos_are_those_of_the_single_environment() -> None:
    """Recorded if asked for: of the reset, then of each step, as Minari's own collector does."""
    made = collect(HUMANOID, 1, noise=0, seed=5, infos=True, max_episode_steps=15)
    dataset = minari.load_dataset(made.name)
    episode = next(iter(dataset))
    env = dataset.recover_environment()
    told = [env.reset(seed=5)[1], *(env.step(action)[4] for action in episode.actions)]
    told[-1].pop("end", None)  # why it ended: an attribute of the episode
    assert set(episode.infos) == set(told[0])
    for name, values in episode.infos.items():
        np.testing.assert_array_equal(values, [info[name] for info in told], err_msg=name)
    plain = collect(HUMANOID, 1, noise=0, seed=5, name="plain-v0", max_episode_steps=15)
    assert next(iter(minari.load_dataset(plain.name))).infos == {}
    assert plain.size < made.size
    columns = transitions(open_dataset(made.name))
    np.testing.assert_array_equal(
        columns["infos/contact_forces"], episode.infos["contact_forces"][1:]
    )


def test_the_permalink_is_true_or_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known where pip installed from a git repository what was imported; nowhere else."""

    class Installed:
        def __init__(self, folder: Path, came_from: dict[str, Any]) -> None:
            self.folder, self.came_from = folder, came_from

        def locate_file(self, name: str) -> Path:
            return self.folder / name

        def read_text(self, name: str) -> str:
            assert name == "direct_url.json"
            return json.dumps(self.came_from)

    def found(folder: Path, url: str, **told: Any) -> str | None:
        installed = Installed(folder, {"url": url, **told})
        monkeypatch.setattr(origin, "distribution", lambda name: installed)
        return origin.code_permalink()

    here, git = Path(dynenvs.__path__[0]).parent, {"vcs": "git", "commit_id": "abc123"}
    address = "https://example.org/dynenvs.git"
    assert found(here, address, vcs_info=git) == "git+https://example.org/dynenvs.git@abc123"
    made = collect(PENDULUM, 1, max_episode_steps=5)
    permalink = minari.load_dataset(made.name).storage.metadata["code_permalink"]
    assert permalink == "git+https://example.org/dynenvs.git@abc123"
    assert found(here / "elsewhere", address, vcs_info=git) is None  # not what was imported
    assert found(here, "file:///home/me/dynenvs", vcs_info=git) is None
    assert found(here, "file:///home/me/dynenvs", dir_info={"editable": True}) is None
    made = collect(PENDULUM, 1, name="local-v0", max_episode_steps=5)
    assert "code_permalink" not in minari.load_dataset(made.name).storage.metadata


def test_options_are_recorded_and_used() -> None:
    """The environment is the same again, the expert is that of the options, states fit."""
    made = collect("dynenvs/Quadruped-v0", 2, command=(0.5, 0.0, 0.0), max_episode_steps=10)
    assert made.name == "dynenvs/quadruped/expert-command-0-5-0-0-0-0-max-episode-steps-10-v0"
    dataset = open_dataset(made.name)
    assert replay(dataset) == []
    assert dataset.env_spec is not None
    assert dataset.env_spec.kwargs == {"command": [0.5, 0.0, 0.0]}
    assert dataset.env_spec.max_episode_steps == 10
    longer = gym.make(dataset.env_spec, max_episode_steps=12)
    longer.reset(seed=0)
    actions = np.zeros((12, *(longer.action_space.shape or ())), np.float32)
    assert [longer.step(action)[3] for action in actions] == [False] * 11 + [True]
    env: Any = dataset.recover_environment().unwrapped
    assert env.task.command == (0.5, 0.0, 0.0)
    assert "command=[0.5, 0.0, 0.0]" in dataset.storage.metadata["description"]


def test_where_there_is_no_expert_random_actions_are_collected() -> None:
    """Without the expert's score; the expert is refused before the work."""
    options: Any = {"control": "position", "max_episode_steps": 10}
    made = collect("dynenvs/Humanoid-v0", 2, agent="random", **options)
    metadata = minari.load_dataset(made.name).storage.metadata
    assert "ref_min_score" in metadata
    assert "ref_max_score" not in metadata
    with pytest.raises(ValueError, match="experts give torques"):
        collect("dynenvs/Humanoid-v0", 2, **options)


def test_noise_is_recorded_and_depends_on_the_episode_alone() -> None:
    made = collect(HUMANOID, 3, noise=0.05, max_episode_steps=20)
    assert made.name.endswith("/expert-noise-0-05-max-episode-steps-20-v0")
    alone = collect(HUMANOID, 1, noise=0.05, seed=2, max_episode_steps=20, name="alone-v0")
    assert content(made.name)[2][1:] == content(alone.name)[0][1:]
    assert replay(open_dataset(made.name)) == []
    plain = collect(HUMANOID, 1, noise=0, max_episode_steps=20)
    assert plain.name.endswith("/expert-clean-max-episode-steps-20-v0")
    assert content(plain.name)[0][3] != content(made.name)[0][3]
    assert content(plain.name)[0][7] == {}  # what acted is the expert's own answer


def test_the_standard_dataset_shows_what_to_imitate(tmp_path: Path) -> None:
    """The answers are the expert's, memory and all; what acted is off by the noise it tells."""
    made = collect(HUMANOID, 10, max_episode_steps=60, infos=True, name="expert-v0")
    dataset = open_dataset("planar-humanoid")
    assert replay(dataset) == []
    noise = STANDARD[HUMANOID]
    assert dataset.storage.metadata["noise"] == noise
    expert = reference_controller(make_batch(HUMANOID, 1, 1))
    apart = []
    for start, episode in episodes(dataset):
        answers, state = episode.infos["expert_action"], None
        assert answers.shape == (61, 6)
        for observation, answer in zip(episode.observations, answers, strict=True):
            found, state = expert.predict(observation, state)
            np.testing.assert_array_equal(found, answer)
        if start.seed % 10 == 9:
            np.testing.assert_array_equal(episode.actions, answers[:-1])
        else:
            apart.append((episode.actions - answers[:-1])[np.abs(episode.actions) < 1.0])
    assert len(apart) == 9
    assert np.concatenate(apart).std() == pytest.approx(noise, rel=0.05)
    columns = transitions(dataset)
    answers = np.concatenate([episode.infos["expert_action"][:-1] for episode in dataset])
    np.testing.assert_array_equal(columns["expert_actions"], answers)
    pytest.importorskip("stable_baselines3")
    from dynenvs.agents.learn.cloning import read_examples

    examples = read_examples(HUMANOID, made.name, 10, relabel=False, max_episode_steps=60)
    np.testing.assert_array_equal(examples.actions, answers)
    np.testing.assert_array_equal(examples.observations, columns["observations"])


def test_the_card_says_what_is_in_the_dataset() -> None:
    """Shapes, kinds and scores are those of the arrays; the code in it runs."""
    made = collect(PENDULUM, 10, max_episode_steps=30, infos=True)
    page = (made.path / "README.md").read_text(encoding="utf-8")
    dataset = open_dataset(made.name)
    episode = next(iter(dataset))
    arrays = {"infos/expert_action": episode.infos["expert_action"]}
    names = ("observations", "actions", "rewards", "terminations", "truncations")
    arrays |= {name: getattr(episode, name) for name in names}
    rows = re.findall(r"^\| `(\S+)` \| \((.+)\) \| (\w+) \|", page, re.MULTILINE)
    found = {name: (tuple(eval(shape, {"T": 30})), kind) for name, shape, kind in rows}
    assert found == {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}
    returns = [episode.rewards.sum() for episode in dataset]
    assert f"| 9 | {np.mean(returns[:9]):.1f} ± {np.std(returns[:9]):.1f} |" in page
    assert f"| 1 | {returns[9]:.1f} ± 0.0 |" in page
    assert f"the expert {dataset.storage.metadata['ref_max_score']:.1f}." in page
    assert "seeds 0 to 9" in page
    assert f"standard deviation {STANDARD[PENDULUM]:g}" in page
    assert "license: mit" in page
    code = re.search(r"```python\n(.+?)```", page, re.DOTALL)
    assert code
    space: dict[str, Any] = {}
    exec(code[1], space)
    assert space["inputs"].shape[0] == space["targets"].shape[0] == 30
    clean = collect(PENDULUM, 1, noise=0.0, max_episode_steps=5)
    assert "Noise" not in (clean.path / "README.md").read_text(encoding="utf-8")


def test_transitions_are_those_that_offline_learners_take(tmp_path: Path) -> None:
    """The arrays of d3rlpy's MDPDataset: finite, one row a step, an end for each episode."""
    collect(HUMANOID, 4, agent="random")
    dataset = open_dataset("planar-humanoid/random-v0")
    columns = transitions(dataset)
    steps = dataset.total_steps
    assert columns["observations"].shape == columns["next_observations"].shape == (steps, 20)
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
    """Collect, replay, export; the size is told."""
    collecting = ("collect", "humanoid", "--episodes", "2", "--agent", "random", "--infos")
    assert run(monkeypatch, *collecting) == 0
    assert re.search(
        r"2 episodes, \d+ steps, mean return .*, \d\.\d MB in", capsys.readouterr().out
    )
    assert run(monkeypatch, "replay", "humanoid/random-v0") == 0
    assert "every bit the same" in capsys.readouterr().out
    file = tmp_path / "out.npz"
    assert run(monkeypatch, "export", "humanoid/random-v0", str(file)) == 0
    with np.load(file) as arrays:
        assert len(arrays["rewards"]) == len(arrays["observations"]) == len(arrays["infos/command"])


def test_the_page_tells_the_standard_noise() -> None:
    page = (Path(__file__).parents[1] / "docs" / "lab" / "learning.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| ([a-z ]+) \|.*\| \*\*([\d.]+)\*\* \|$", page, re.MULTILINE))
    ids = {environment_id(name.replace(" ", "-")): float(noise) for name, noise in told.items()}
    assert ids == STANDARD
    assert set(STANDARD) == set(IDS)


def test_an_export_that_fails_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """No folder that was made for it, no empty file; what was there before stays."""
    collect(PENDULUM, 1, max_episode_steps=5, name="five-v0")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    (tmp_path / "kept").mkdir()
    file = tmp_path / "kept" / "new" / "deep" / "out.npz"
    assert run(monkeypatch, "export", "double-pendulum/five-v0", str(file)) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list((tmp_path / "kept").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("collect", "cat"), "unknown environment 'cat'"),
        (("collect", "humanoid", "--agent", "cat"), "unknown agent 'cat'; choose from: expert"),
        (("collect", "humanoid", "--agent", "cat.zip"), "there is no file 'cat.zip'"),
        (("collect", "humanoid", "--name", "a b"), "name must be letters"),
        (("collect", "humanoid", "--episodes", "0"), "--episodes"),
        (("collect", "humanoid", "--option", "cat=1"), "has no option 'cat'; choose from: reset"),
        (("collect", "humanoid", "--option", "terrain"), "an option is name=value"),
        (("collect", "humanoid", "--option", "terrain=moon"), "unknown terrain 'moon'"),
        (("collect", "humanoid", "--option", "command=a,b"), "command"),
        (("replay", "humanoid"), "there is no dataset 'dynenvs/humanoid/expert-v0'"),
        (("replay", "dynenvs/cat/expert-v0"), "dynenvs collect cat"),
        (("replay", "cat"), "dataset 'cat': its name begins with an environment's, as humanoid/"),
        (("export", "humanoid/walk-v1", "a.npz"), "there is no dataset"),
        (("replay", "humanoid/walk-v1"), "dynenvs collect humanoid --name walk-v1 --episodes 100"),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(console, "_said", [math.inf])  # what is being done has tests of its own
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
    assert f"`{install_hint('data')}` brings it" in capsys.readouterr().err


def test_a_broken_dataset_is_told(root: Path) -> None:
    made = collect(PENDULUM, 1, max_episode_steps=5)
    file = made.path / "data" / "metadata.json"
    metadata = json.loads(file.read_text())
    file.write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        open_dataset(made.name)
    file.write_text(json.dumps(metadata))
    main = made.path / "data" / "main_data.hdf5"
    whole = main.read_bytes()
    # No HDF5 at all, one that was cut short, one with a hole
    for broken in (b"", file.read_bytes(), whole[:-1000], whole[:800] + bytes(3000) + whole[3800:]):
        main.write_bytes(broken)
        for use in (replay, transitions):
            with pytest.raises(ValueError, match=f"'{made.name}' cannot be read"):
                use(open_dataset(made.name))
    main.write_bytes(whole)
    spec = json.loads(metadata["env_spec"])
    file.write_text(json.dumps({**metadata, "env_spec": json.dumps({**spec, "kwargs": {"a": 1}})}))
    with pytest.raises(ValueError, match="has no option 'a'"):
        replay(open_dataset(made.name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *[({"kwargs": value}, "kwargs of env_spec must be") for value in ([1], None, 0, True)],
        ({"id": None}, "id of env_spec|EnvSpec"),
        ({"total_steps": {}}, "total_steps must be a whole number"),
        ({"total_steps": -1}, "total_steps must be a whole number"),
        ({"total_steps": 10**30}, "total_steps must be a whole number"),
    ],
)
def test_metadata_of_the_wrong_kind_are_told(
    root: Path, change: dict[str, Any], message: str
) -> None:
    """By whoever opens the dataset, in a line that names it."""
    made = collect(PENDULUM, 1, max_episode_steps=5)
    file = made.path / "data" / "metadata.json"
    metadata = json.loads(file.read_text())
    if "total_steps" in change:
        metadata |= change
    else:
        metadata["env_spec"] = json.dumps({**json.loads(metadata["env_spec"]), **change})
    file.write_text(json.dumps(metadata))
    uses: list[Callable[[], Any]] = [
        lambda: replay(open_dataset(made.name)),
        lambda: make_starts(open_dataset(made.name), root / "starts.npz"),
        lambda: record_dataset(made.name, 0),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=f"'{made.name}' cannot be read: .*{message}") as told:
            use()
        assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("observations", lambda x: x * np.nan, "observations that are not finite"),
        ("observations", lambda x: x.astype("c16"), "complex128 of shape .* not numbers of shape"),
        ("observations", lambda x: np.full(x.shape, b"abc"), "not numbers of shape"),
        ("observations", lambda x: x[:, :-1], r"not numbers of shape \(n, 6\)"),
        ("observations", lambda x: x[:, 0], r"not numbers of shape \(n, 6\)"),
        ("observations", None, ""),
        ("actions", lambda x: x * np.inf, "actions that are not finite"),
        ("actions", lambda x: np.hstack([x, x]), r"not numbers of shape \(n, 2\)"),
        ("rewards", lambda x: x * np.nan, "rewards that are not finite"),
        ("terminations", lambda x: np.full(x.shape, b"x"), "terminations that are"),
        ("infos/expert_action", lambda x: x[:, :1], "infos/expert_action that are"),
        ("infos/expert_action", lambda x: x * np.nan, "infos/expert_action that are not finite"),
    ],
)
def test_contents_of_a_dataset_are_looked_at(
    root: Path, name: str, change: Any, message: str
) -> None:
    """Whoever reads it: a line that names dataset, episode and array."""
    import h5py

    made = collect(PENDULUM, 2, max_episode_steps=5, noise=0.1)
    with h5py.File(made.path / "data" / "main_data.hdf5", "a") as file:
        episode = file["episode_1"]
        values = episode[name][:]
        del episode[name]
        if change is None:
            episode.create_group(name)  # where an array is expected
        else:
            episode[name] = change(values)
    for use in (replay, transitions):
        with pytest.raises(ValueError, match=f"'{made.name}' cannot be read: .*{message}") as told:
            use(open_dataset(made.name))
        assert "\n" not in str(told.value)


def test_ids() -> None:
    assert dataset_id("dynenvs/DoublePendulum-v0", "a-v3") == "dynenvs/double-pendulum/a-v3"
    assert dataset_id("dynenvs/Humanoid-v0", "a-v0") == "dynenvs/humanoid/a-v0"
    with pytest.raises(ValueError, match="name must be"):
        dataset_id(PENDULUM, "expert")
