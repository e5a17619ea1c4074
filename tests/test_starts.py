"""Episodes that begin in states of others: the same bits go on from there."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("minari")

from dynenvs.agents.data.collect import collect
from dynenvs.agents.data.dataset import episodes, open_dataset
from dynenvs.agents.data.starts import make_starts
from dynenvs.envs.core.starts import read_starts

ROBOTS = ["PlanarHumanoid", "Quadruped", "DoublePendulum"]
FEW = 40  # states


def env_id(robot: str) -> str:
    return f"dynenvs/{robot}-v0"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of each robot the file of starts, and its two episodes."""
    folder = tmp_path_factory.mktemp("starts")
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        for robot in ROBOTS:
            made = collect(env_id(robot), 2, seed=5, max_episode_steps=120)
            dataset, path = open_dataset(made.name), folder / f"{robot}.npz"
            assert make_starts(dataset, path, FEW) == FEW
            found[robot] = path, [data for _, data in episodes(dataset)]
    return found


def places(observations: Any, recorded: list[Any]) -> list[tuple[int, int]]:
    """Episode and step of the dataset where each observation was made."""
    at = {
        row.tobytes(): (number, step)
        for number, data in enumerate(recorded)
        for step, row in enumerate(data.observations)
    }
    return [at[row.tobytes()] for row in observations]


@pytest.mark.parametrize("robot", ROBOTS)
def test_an_episode_goes_on_from_where_another_was(robot: str, recorded: Any) -> None:
    """Every bit of what follows on the same actions is the dataset's."""
    path, data = recorded[robot]
    envs = gym.make_vec(env_id(robot), num_envs=30, starts=path)
    observations, _ = envs.reset(seed=1)
    begun = places(observations, data)
    assert len(set(begun)) > 15
    for ahead in range(20):
        left = [ahead + step < len(data[number].rewards) for number, step in begun]
        actions = np.zeros(envs.action_space.shape, np.float32)
        for i, (number, step) in enumerate(begun):
            if left[i]:
                actions[i] = data[number].actions[step + ahead]
        observations, rewards, *_ = envs.step(actions)
        for i, (number, step) in enumerate(begun):
            if left[i]:
                there = data[number]
                assert (observations[i] == there.observations[step + ahead + 1]).all()
                assert rewards[i] == there.rewards[step + ahead]


def test_the_share_begins_so_and_the_others_as_ever(recorded: Any) -> None:
    path, data = recorded["PlanarHumanoid"]
    known = {row.tobytes() for one in data for row in one.observations}
    usual = gym.make_vec(env_id("PlanarHumanoid"), num_envs=400).reset(seed=50)[0]
    for share in (0.0, 0.3):
        option = {"starts": path, "starts_share": share}
        envs = gym.make_vec(env_id("PlanarHumanoid"), num_envs=400, **option)
        observations = envs.reset(seed=50)[0]
        begun = np.array([row.tobytes() in known for row in observations])
        assert abs(begun.mean() - share) <= 4 * np.sqrt(share * (1 - share) / 400)
        assert (observations[~begun] == usual[~begun]).all()


def test_the_share_changes_under_way(recorded: Any) -> None:
    """Worlds whose share has changed begin as those that were made with it."""
    path, _ = recorded["PlanarHumanoid"]
    option = {"num_envs": 100, "starts": path}

    def begun(share: float, then: float) -> Any:
        envs = gym.make_vec(env_id("PlanarHumanoid"), starts_share=share, **option).unwrapped
        envs.change_options(starts_share=then)
        return envs.reset(seed=50)[0]

    for share, then in ((0.0, 0.7), (0.7, 0.2), (0.7, 0.0)):
        assert np.array_equal(begun(share, then), begun(then, then))
    assert not np.array_equal(begun(0.7, 0.0), begun(0.7, 0.7))
    bare = gym.make_vec(env_id("PlanarHumanoid"), num_envs=2).unwrapped
    with pytest.raises(ValueError, match="begin in other states"):
        bare.change_options(starts=path)


def test_single_and_batched_worlds_have_the_same_bits(recorded: Any) -> None:
    """On any number of threads, through the ends of episodes, in both modes of beginning anew."""
    option = {"starts": recorded["Quadruped"][0], "starts_share": 0.7, "max_episode_steps": 15}
    actions = np.random.default_rng(0).uniform(-1, 1, (40, 64, 12)).astype(np.float32)

    def run(threads: int, mode: str) -> Any:
        envs = gym.make_vec(
            env_id("Quadruped"), num_envs=64, num_threads=threads, autoreset_mode=mode, **option
        )
        return [envs.reset(seed=2)[0], *(envs.step(row)[0] for row in actions)]

    for mode in ("SameStep", "NextStep"):
        assert np.array_equal(run(1, mode), run(2, mode))
    batched = run(1, "NextStep")
    env = gym.make(env_id("Quadruped"), **option)
    observation, over, k = env.reset(seed=2)[0], False, 0
    for k, row in enumerate(actions):
        assert (observation == batched[k][0]).all()
        if over:
            observation, over = env.reset()[0], False
        else:
            observation, _, terminated, truncated, _ = env.step(row[0])
            over = terminated or truncated
    assert (observation == batched[k + 1][0]).all()


def test_friction_and_masses_are_the_episodes_own(recorded: Any) -> None:
    ranges: dict[str, Any] = {"friction_range": (0.3, 0.9), "mass_range": (0.8, 1.2)}
    envs = gym.make_vec(env_id("Quadruped"), num_envs=20, starts=recorded["Quadruped"][0], **ranges)
    envs.reset(seed=1)
    state = envs.unwrapped.get_state()["world"]
    friction, scale = state["coefficients"]["friction"][:, 0], state["mass_scale"][:, 1:]
    usual = envs.unwrapped.task.model.features["friction"][0]
    assert ((0.3 * usual <= friction) & (friction <= 0.9 * usual)).all()
    assert len(set(friction)) == 20
    assert ((scale >= 0.8) & (scale <= 1.2)).all()
    assert (scale.std(axis=0) > 0.02).all()


def test_states_of_ones_own_making(tmp_path: Path) -> None:
    """What `set_state` was given, and saved, is where episodes begin."""
    kind, file = env_id("PlanarQuadruped"), tmp_path / "own.npz"
    envs: Any = gym.make_vec(kind, num_envs=3)
    with pytest.raises(gym.error.ResetNeeded, match="before save_starts"):
        envs.save_starts(file)
    envs.reset(seed=0)
    states = envs.get_state()
    states["world"]["q"][:, 1] += 0.2
    states["world"]["v"][:, 0] = 0.1, 0.2, 0.3
    states["task"]["phase"] = 0.25
    envs.set_state(states)
    envs.save_starts(file)
    others: Any = gym.make_vec(kind, num_envs=30, starts=file)
    others.reset(seed=1)
    begun = others.get_state()
    assert {float(v) for v in begun["world"]["v"][:, 0]} == {0.1, 0.2, 0.3}
    assert {q.tobytes() for q in begun["world"]["q"]} == {q.tobytes() for q in states["world"]["q"]}
    assert (begun["task"]["phase"] == 0.25).all()


def test_what_does_not_fit_is_refused(recorded: Any, tmp_path: Path) -> None:
    path, _ = recorded["Quadruped"]
    make = gym.make
    with pytest.raises(ValueError, match=r"no file .*none\.npz.*dynenvs starts"):
        make(env_id("Quadruped"), starts=tmp_path / "none.npz")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="is no file of starts"):
        make(env_id("Quadruped"), starts=broken)
    np.savez(tmp_path / "other.npz", q=np.zeros(3))
    with pytest.raises(ValueError, match="is no file of starts"):
        make(env_id("Quadruped"), starts=tmp_path / "other.npz")
    with np.load(path) as file:
        whole = dict(file)
    for name in ("world", "record"):
        np.savez(tmp_path / "short.npz", **{**whole, name: whole[name][:, :-8]})
        with pytest.raises(ValueError, match=f"{name} of .*must be bytes of shape"):
            make(env_id("Quadruped"), starts=tmp_path / "short.npz")
    np.savez(
        tmp_path / "none.npz",
        **{**whole, "world": whole["world"][:0], "record": whole["record"][:0]},
    )
    with pytest.raises(ValueError, match="holds no state"):
        make(env_id("Quadruped"), starts=tmp_path / "none.npz")
    (tmp_path / "none.npz").unlink()
    for robot, options in (("Humanoid", {}), ("Quadruped", {"terrain": "rough"})):
        with pytest.raises(ValueError, match="another environment, robot, ground"):
            make(env_id(robot), starts=path, **options)
    with pytest.raises(ValueError, match="starts_share"):
        make(env_id("Quadruped"), starts=path, starts_share=1.5)
    with pytest.raises(ValueError, match="name of a file"):
        make(env_id("Quadruped"), starts=3)
    env = make(env_id("Quadruped"), starts=path)
    with pytest.raises(ValueError, match="'command' cannot be given with starts"):
        env.reset(options={"command": (0.5, 0.0, 0.0)})


def _header(words: str) -> bytes:
    """An array's file that ends after its header."""
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words.encode()


def _zipped(path: Path, content: bytes) -> bytearray:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("made.npy", content)
    return bytearray(path.read_bytes())


def _damaged(path: Path) -> None:
    np.savez_compressed(path, made=np.zeros(100, np.uint8))
    data = bytearray(path.read_bytes())
    data[60:75] = b"\xff" * 15
    path.write_bytes(data)


def _marked(path: Path, place: int, value: int) -> None:
    """A zip file that says the same of its member twice, before it and in its list."""
    data = _zipped(path, b"abc")
    listed = data.find(b"PK\x01\x02")
    data[place] = data[listed + place + 2] = value
    path.write_bytes(data)


UNREADABLE: dict[str, Any] = {
    "one array": lambda path: path.write_bytes(
        _header("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n")
    ),
    "damaged": _damaged,
    "open brackets": lambda path: _zipped(path, _header("(" * 5000 + "\n")),
    "a few open brackets": lambda path: _zipped(path, _header('{"a":((((((((((\n')),
    "beyond all memory": lambda path: _zipped(
        path, _header("{'descr': '|u1', 'fortran_order': False, 'shape': (9999999999999999,), }\n")
    ),
    "no such array": lambda path: _zipped(
        path, _header("{'descr': [('a',)], 'fortran_order': False, 'shape': (1,), }\n")
    ),
    "encrypted": lambda path: _marked(path, 6, 1),
    "an unknown compression": lambda path: _marked(path, 8, 99),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_no_file_of_starts_is_refused_in_a_line(case: str, tmp_path: Path) -> None:
    path = tmp_path / "spoilt.npz"
    UNREADABLE[case](path)
    with pytest.raises(ValueError, match=r"^starts: .*spoilt.npz' is no file of starts: .") as told:
        read_starts(path, 1.0, None)
    assert "\n" not in str(told.value)
