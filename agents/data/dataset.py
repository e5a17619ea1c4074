"""Minari datasets on disk: written whole or not at all, read with clear errors.

Beside what Minari asks for, each episode's attributes hold the seed, why it ended, and the
simulator's whole state at its start (`state/world`, `state/task`, bytes; a large one compressed,
`state/world.zlib`).
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import minari
import numpy as np
from minari import EpisodeData, MinariDataset
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage
from minari.namespace import create_namespace, list_local_namespaces
from minari.storage import get_dataset_path
from numpy.typing import NDArray

from dynenvs.agents.data.card import FILE
from dynenvs.agents.evaluation.rollout import ANSWER, Run
from dynenvs.agents.files import check_space
from dynenvs.agents.names import environment_id, own_environment, short_name
from dynenvs.files import refuse_endless
from dynenvs.memory.origin import check_origin, this

LARGEST = 32_000  # bytes of a state that is stored as it is
PACKED = ".zlib"
ORIGIN = "dynenvs_origin"  # in Minari's metadata


class Start(NamedTuple):
    """How an episode of a dataset began."""

    seed: int
    state: dict[str, NDArray[np.uint8]]


def dataset_id(env_id: str, name: str) -> str:
    """Minari's id: "dynenvs/planar-humanoid/expert-v0".

    Raises:
        ValueError: `name` is not of the form "expert-v0".
    """
    if not re.fullmatch(r"[-_\w]+-v\d+", name):
        raise ValueError(
            f"name must be letters, digits, - and _, then -v and a number: got {name!r}"
        )
    return f"dynenvs/{short_name(env_id)}/{name}"


def refuse_existing(name: str) -> None:
    """No dataset is ever written over.

    Raises:
        FileExistsError: there is a dataset of that id.
    """
    if get_dataset_path(name).exists():
        raise FileExistsError(f"there is a dataset {name!r} already; choose another --name")


def write_dataset(
    name: str,
    runs: Iterable[Run],
    spec: gym.envs.registration.EnvSpec,
    metadata: dict[str, Any],
    size: int = 0,
    page: str = "",
) -> Path:
    """Write episodes as a Minari dataset.

    Args:
        name: its id.
        runs: the episodes.
        spec: of the environment, its options included.
        metadata: Minari's, without what this function knows.
        size: bytes that the episodes take at most; HDF5 crashes on a disk that fills up.
        page: what its README.md says.

    Returns:
        Where it is.

    Raises:
        FileExistsError: there is a dataset of that id.
        OSError: it cannot be written.
    """
    final: Path = get_dataset_path(name)
    refuse_existing(name)
    draft = final.with_name(f".{final.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)  # of a run that was killed
    try:
        (draft / "data").mkdir(parents=True)
        check_space(draft, size)
        _fill(draft / "data", runs, spec, {"dataset_id": name, **metadata})
        (draft / FILE).write_text(page, encoding="utf-8")
        _make_namespaces(name.rpartition("/")[0])
        draft.rename(final)
    except (OSError, RuntimeError) as error:  # h5py's are both
        words = getattr(error, "strerror", None) or error
        raise OSError(f"cannot write the dataset {name!r}: {words}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return final


def _fill(
    folder: Path,
    runs: Iterable[Run],
    spec: gym.envs.registration.EnvSpec,
    metadata: dict[str, Any],
) -> None:
    """A storage of Minari's with all episodes."""
    storage = MinariStorage.new(folder, env_spec=spec)
    made = {ORIGIN: this().text(), "minari_version": minari.__version__}
    storage.update_metadata({**metadata, **made})
    starts: list[dict[str, Any]] = []

    def buffers() -> Iterator[EpisodeBuffer]:
        for run in runs:
            starts.append({"end": run.end, **_stored(run.state)})
            yield _buffer(run)

    storage.update_episodes(buffers())
    storage.update_episode_metadata(starts)
    for file in folder.iterdir():
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())


def _stored(state: dict[str, NDArray[np.uint8]]) -> dict[str, NDArray[np.uint8]]:
    """The simulator's state as attributes, which HDF5 lets have 64 KB at most.

    A larger one, of a scene with many loose objects, is compressed: `state/world.zlib`.
    """
    stored = {}
    for name, data in state.items():
        if data.nbytes <= LARGEST:
            stored[f"state/{name}"] = data
        else:
            packed = np.frombuffer(zlib.compress(data.tobytes(), 9), np.uint8)
            stored[f"state/{name}{PACKED}"] = packed
    return stored


def _restored(state: dict[str, Any]) -> dict[str, Any]:
    """The state that `_stored` has packed."""
    plain = {}
    for name, data in state.items():
        if name.endswith(PACKED):
            data = np.frombuffer(zlib.decompress(bytes(data)), np.uint8)
        plain[name.removesuffix(PACKED)] = data
    return plain


def _buffer(run: Run) -> EpisodeBuffer:
    """Minari's buffer, built directly from arrays: its own way, step by step, needs jax."""
    last = np.arange(run.steps) == run.steps - 1
    return EpisodeBuffer(
        seed=run.seed,
        observations=run.observations,
        actions=run.actions,
        rewards=run.rewards,
        terminations=last & run.terminated,
        truncations=last & (not run.terminated),
        infos=run.infos,  # none: empty, for None breaks what Minari prints of an episode
    )


def _make_namespaces(namespace: str) -> None:
    """Minari finds datasets in folders that say that they are namespaces."""
    if namespace not in list_local_namespaces():
        create_namespace(namespace)


def open_dataset(name: str) -> MinariDataset:
    """A local dataset by id, or by a short form as "humanoid" or "humanoid/expert-v0".

    Raises:
        FileNotFoundError: there is none; says how one is made.
        ValueError: it cannot be read; no such environment, or one of Gymnasium's MuJoCo tasks.
    """
    full = name
    if not name.startswith("dynenvs/"):
        env, _, rest = name.partition("/")
        try:
            environment_id(env)
        except ValueError as error:
            raise ValueError(
                f"dataset {name!r}: its name begins with an environment's, as humanoid/expert-v0; "
                f"{error}"
            ) from error
        env_id = own_environment(env, f"dataset {name!r}", "has none: collect does not take it")
        full = dataset_id(env_id, rest or "expert-v0")
    if not (get_dataset_path(full) / "data").is_dir():
        _, env, own = full.split("/", 2) if full.count("/") > 1 else ("", "humanoid", "expert-v0")
        named = "" if own == "expert-v0" else f" --name {own}"
        raise FileNotFoundError(
            f"there is no dataset {full!r} in {str(get_dataset_path())!r}: "
            f"`dynenvs collect {env}{named} --episodes 100` makes one"
        )
    with _naming_dataset(full):
        for file in (get_dataset_path(full) / "data").iterdir():
            refuse_endless(file)
        found = minari.load_dataset(full)
        _check_metadata(found)
        return found


def _check_metadata(dataset: MinariDataset) -> None:
    """Whether what Minari takes as it stands in a dataset's file is of the right kind.

    Raises:
        ValueError: says what is not, and what would be right.
    """
    spec = dataset.env_spec
    if spec is not None and not isinstance(spec.id, str):
        raise ValueError(f"id of env_spec must be a text, got {spec.id!r:.100}")
    if spec is not None and not isinstance(spec.kwargs, dict):
        raise ValueError(f"kwargs of env_spec must be options by name, got {spec.kwargs!r:.100}")
    for name in ("total_episodes", "total_steps"):
        count = dataset.storage.metadata.get(name)
        if type(count) is not int or not 0 <= count < 2**63:
            raise ValueError(f"{name} must be a whole number of zero or more, got {count!r:.100}")


def episodes(dataset: MinariDataset) -> Iterator[tuple[Start, EpisodeData]]:
    """Each episode with how it began.

    Raises:
        ValueError: an episode without a state: not a dataset that `dynenvs collect` made; one that
            was made with another layout.
    """
    storage = dataset.storage
    if ORIGIN in storage.metadata:  # a dataset that Minari has put together tells none
        told = storage.metadata[ORIGIN]
        check_origin(told, f"the dataset {dataset.id!r}", any_version=True)
    for data in recorded(dataset):
        with _naming_dataset(dataset.id):
            (metadata,) = storage.get_episode_metadata([data.id])
        if "seed" not in metadata or "state" not in metadata:
            raise ValueError(
                f"episode {data.id} of {dataset.id!r} has no seed and state of the simulator; "
                "`dynenvs collect` writes them"
            )
        with _naming_dataset(dataset.id):
            state = _restored(metadata["state"])
        for part in ("world", "task"):
            if part not in state:
                raise ValueError(
                    f"episode {data.id} of {dataset.id!r} has no state/{part}, without which it "
                    "cannot be simulated again; `dynenvs collect` writes it"
                )
        yield Start(metadata["seed"], state), data


def recorded(dataset: MinariDataset, count: int | None = None) -> Iterator[EpisodeData]:
    """The first `count` episodes, all of them if None.

    Raises:
        ValueError: the dataset is broken.
    """
    for index in dataset.episode_indices[:count]:
        with _naming_dataset(dataset.id):
            (data,) = dataset.iterate_episodes([int(index)])
            sizes = [len(data.rewards), len(data.actions), len(data.observations) - 1]
            sizes += [len(values) - 1 for values in plain_infos(data).values()]
            if min(sizes) < 1 or len({*sizes, len(data.terminations), len(data.truncations)}) > 1:
                raise ValueError(f"episode {index} has arrays of lengths that do not fit")
            _check_arrays(dataset, data)
        yield data


def _check_arrays(dataset: MinariDataset, data: EpisodeData) -> None:
    """Whether an episode's arrays are finite numbers of the shapes that the dataset tells.

    Raises:
        ValueError: says which is not, and what would be right.
    """
    shapes = {
        "observations": dataset.observation_space.shape,
        "actions": dataset.action_space.shape,
        "rewards": (),
        "terminations": (),
        "truncations": (),
        f"infos/{ANSWER}": dataset.action_space.shape,
    }
    for name, shape in shapes.items():
        values: Any = getattr(data, name, plain_infos(data).get(ANSWER))
        if values is None or shape is None:  # a space of parts has no shape
            continue
        found = np.asarray(values)
        if found.dtype.kind not in "biuf" or found.shape[1:] != shape:
            what = f"{found.dtype} of shape {found.shape}"
            right = f"numbers of shape {('n', *shape)}".replace("'", "")
            raise ValueError(f"episode {data.id} has {name} that are {what}, not {right}")
        if not np.isfinite(found).all():
            raise ValueError(f"episode {data.id} has {name} that are not finite")


def plain_infos(data: EpisodeData) -> dict[str, NDArray[Any]]:
    """An episode's recorded infos: by name, shape (T + 1, ...), the reset's first.

    Groups within groups, which only others' datasets have, are left out.
    """
    infos: dict[str, Any] = data.infos or {}
    return {name: values for name, values in infos.items() if isinstance(values, np.ndarray)}


@contextmanager
def _naming_dataset(name: str) -> Iterator[None]:
    """Turn what reading a broken dataset may raise into an error that names it."""
    try:
        yield
    except (
        OSError,
        KeyError,
        ValueError,
        TypeError,
        RuntimeError,
        MemoryError,
        AssertionError,  # of Minari, with no words
        AttributeError,
        IndexError,
        zlib.error,
    ) as error:
        words = str(error) or type(error).__name__
        raise ValueError(f"the dataset {name!r} cannot be read: {words}") from error
