"""Work on a Ray cluster of several nodes: the same bits, whatever dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning import run

pytest.importorskip("minari")
pytest.importorskip("ray")

import ray
from minari.storage import get_dataset_path
from ray.cluster_utils import Cluster

from dynenvs.agents import cluster as module
from dynenvs.agents.cluster import File, arrived, carried, cluster, spread
from dynenvs.agents.data import collect_on_ray
from dynenvs.agents.data.collect import collect
from dynenvs.agents.evaluation.evaluate import evaluate

ENV = "dynenvs/DoublePendulum-v0"
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers know no tests
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """A head that does no work, and two nodes with a processor each."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        made.add_node(num_cpus=1)
    yield made
    made.shutdown()


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


def content(name: str) -> bytes:
    """A dataset's arrays, as they are on disk."""
    return (
        get_dataset_path(f"dynenvs/double-pendulum/{name}") / "data/main_data.hdf5"
    ).read_bytes()


def test_a_node_dies_while_it_collects(
    nodes: Cluster, datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its episodes are done again by the others: the file is that of one process, byte for byte."""
    monkeypatch.setattr(collect_on_ray, "EPISODES", 3)
    collect(ENV, 24, name="here-v0", noise=0.1, max_episode_steps=400)
    doomed = nodes.add_node(num_cpus=1)
    seen: list[int] = []

    def report(done: int, steps: int) -> None:
        seen.append(done)
        if len(seen) == 1:
            nodes.remove_node(doomed, allow_graceful=False)

    options = {"noise": 0.1, "max_episode_steps": 400}
    made = collect(ENV, 24, name="ray-v0", cluster=nodes.address, report=report, **options)
    assert made.episodes == seen[-1] == 24
    assert len(seen) == 8
    assert content("ray-v0") == content("here-v0")


def test_it_goes_on_where_it_was_stopped(
    nodes: Cluster, datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the driver had when it was stopped is not done again."""
    monkeypatch.setattr(collect_on_ray, "EPISODES", 4)
    collect(ENV, 16, name="whole-v0", max_episode_steps=50)

    def stop(done: int, steps: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(ENV, 16, name="parts-v0", cluster=nodes.address, report=stop, max_episode_steps=50)
    seen: list[int] = []
    collect(
        ENV,
        16,
        name="parts-v0",
        cluster=nodes.address,
        report=lambda done, steps: seen.append(done),
        max_episode_steps=50,
    )
    assert seen == [8, 12, 16]
    assert content("parts-v0") == content("whole-v0")


def die_once(path: str) -> int:
    """Die as a worker that is killed, the first time that this is called."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def fail(number: int) -> int:
    if number == 3:
        raise ValueError(f"{number} is too many")
    return number


def test_a_worker_that_is_killed_is_replaced(nodes: Cluster, tmp_path: Path) -> None:
    with cluster(nodes.address):
        (found,) = spread(die_once, [str(tmp_path / "died")])
    assert found[1] != os.getpid()


def test_errors_are_the_work_s_own(nodes: Cluster) -> None:
    with cluster(nodes.address), pytest.raises(ValueError, match=r"^3 is too many$"):
        list(spread(fail, range(6)))
    with (
        pytest.raises(ConnectionError, match="no Ray cluster at"),
        cluster("127.0.0.1:1"),
    ):
        pass


def test_few_are_under_way(nodes: Cluster) -> None:
    """Pieces are asked for only as results come: neither tasks nor results pile up."""
    asked = 0

    def pieces() -> Iterator[int]:
        nonlocal asked
        for i in range(100):
            asked += 1
            yield i % 3

    with cluster(nodes.address):
        most = 0
        for done, _ in enumerate(spread(fail, pieces()), 1):
            most = max(most, asked - done)
    assert asked == 100
    assert most <= module.AHEAD * 3


def test_another_version_is_refused(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynenvs.__version__", "0.0.1")
    with cluster(nodes.address), pytest.raises(RuntimeError, match="a node has dynenvs"):
        list(spread(fail, [1]))


def test_a_policy_s_file_travels(tmp_path: Path) -> None:
    """To a machine that has it not; a name stays a name."""
    path = tmp_path / "policy.zip"
    path.write_bytes(b"weights")
    sent = carried(str(path))
    assert isinstance(sent, File)
    path.unlink()
    there = Path(arrived(sent))
    assert there.name == "policy.zip"
    assert there.read_bytes() == b"weights"
    assert arrived(carried("expert")) == "expert"


def test_evaluation_is_the_same(nodes: Cluster) -> None:
    here = evaluate(ENV, "expert", 30, max_episode_steps=100)
    there = evaluate(ENV, "expert", 30, cluster=nodes.address, max_episode_steps=100)
    for mine, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_seeds_are_trained_side_by_side(
    nodes: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each in its folder; begun again they go on, or are seen to be finished."""
    pytest.importorskip("stable_baselines3")
    settings = ["--set", "n_timesteps=512", "--set", "n_envs=4", "--set", "n_steps=64"]
    settings += ["--set", "batch_size=64", "--out", str(tmp_path / "sweep")]
    words: list[Any] = ["train", "ppo", "double-pendulum", "--seeds", "1..2", *settings]
    assert run(monkeypatch, *words, "--ray", str(nodes.address)) == 0
    said = capsys.readouterr().out
    for seed in (1, 2):
        assert (tmp_path / "sweep" / f"ppo-{seed}" / "best.zip").is_file()
        assert f"ppo-{seed}/best.zip: score" in said
    assert run(monkeypatch, *words, "--ray", str(nodes.address)) == 2
    assert "holds a run" in capsys.readouterr().err


def test_ray_is_left_as_it_was(nodes: Cluster) -> None:
    with cluster(nodes.address):
        assert ray.is_initialized()
    assert not ray.is_initialized()
