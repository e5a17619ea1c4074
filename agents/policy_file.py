"""Policies in files: zips of stable-baselines3 with a note, and safetensors files with a card.

What learns writes zips, which `PPO.load` and its like read as they are.  Beside stable-baselines3's
own members a zip holds `dynenvs.json`: the environment's id, how the policy was made, the version.
What ships, and what is handed on, are safetensors files (`policy_card.py`), which run no code.
"""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import stable_baselines3
from stable_baselines3.common.base_class import BaseAlgorithm

import dynenvs
from dynenvs.agents.files import SUFFIX, shipped_file, warn_of_code
from dynenvs.agents.names import registered
from dynenvs.agents.policy_card import load_card, read_card
from dynenvs.agents.policy_network import algorithm_class
from dynenvs.agents.written import remember
from dynenvs.files import written_whole
from dynenvs.registration import spec_of

if TYPE_CHECKING:
    from dynenvs.envs.core.task import Task
    from dynenvs.envs.mujoco.task import MujocoTask

NOTE = "dynenvs.json"
MOST_WORDS = 50_000_000  # of what a zip says of itself [bytes]; usually some 20,000
# What a spoilt zip, or words in it that are not what they should be, may raise
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save_model(
    model: BaseAlgorithm,
    path: Path,
    env_id: str,
    note: dict[str, Any] | None = None,
    extra: dict[str, Path] | None = None,
) -> None:
    """Write a model whole or not at all; opening it again needs no warning (`written.py`).

    Args:
        model: what `model.save` writes.
        path: the zip.
        env_id: where it acts.
        note: how it was made, for people.
        extra: further members, from files.

    Raises:
        OSError: it cannot be written.
    """
    words = {
        "env_id": env_id,
        "algorithm": type(model).__name__.lower(),
        "steps": model.num_timesteps,
        "dynenvs": dynenvs.__version__,
        **(note or {}),
    }
    with written_whole(path) as draft:
        with draft.open("wb") as file:
            model.save(file)
        with zipfile.ZipFile(draft, "a") as archive:
            archive.writestr(NOTE, json.dumps(words))
            for name, source in (extra or {}).items():
                archive.write(source, name)
    remember(path)


def read_note(path: Path) -> dict[str, Any]:
    """What `save_model` noted, or the card; of a zip without a note the algorithm.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no policy is in it.
    """
    if path.suffix == SUFFIX:
        return read_card(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            whole = "data" in names and "policy.pth" in names
            note = {"algorithm": _algorithm(_words(archive, "data"))} if whole else {}
            if NOTE in names:
                note.update(_words(archive, NOTE))
    except BROKEN:
        raise ValueError(f"{str(path)!r} is no zip file of a policy, or a broken one") from None
    if not whole:
        raise ValueError(f"{str(path)!r} holds no policy of stable-baselines3")
    return note


def load_model(
    path: Path, env_id: str, *, task: Task | MujocoTask | None = None, **options: Any
) -> BaseAlgorithm:
    """The model of a file; a zip runs code that it names, which is said before it is opened.

    Args:
        path: a zip, or a .safetensors file.
        env_id: where it is to act.
        task: the environment's with its options; the default one, or that of `env`, if None.
        options: what `load` of the algorithm takes.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no policy, or one of another environment.
    """
    note = read_note(path)
    made_for = note.get("env_id", env_id)
    if str(made_for).rpartition(":")[2] != env_id.rpartition(":")[2]:
        raise ValueError(f"{str(path)!r} is a policy for {made_for}, not for {env_id}")
    options.setdefault("device", "cpu")
    read = load_card if path.suffix == SUFFIX else _load_zip
    model: Any = read(path, **options)
    place = task or options.get("env") or gym.make(env_id)
    wanted = (place.observation_space.shape, place.action_space.shape)
    found = (model.observation_space.shape, model.action_space.shape)
    if found != wanted:
        raise ValueError(
            f"{str(path)!r} is a policy for observations and actions of shapes {found}; "
            f"{env_id} has {wanted}"
        )
    loaded: BaseAlgorithm = model
    return loaded


def load_policy(what: str | Path, env_id: str | None = None) -> BaseAlgorithm:
    """A policy as an object of stable-baselines3, from a file that runs no code.

    `load_policy("ppo", "dynenvs/Humanoid-v0").predict(observation)` acts as the policy does that
    ships; so does `load_policy("best.safetensors")` by a file of `dynenvs export-policy`.

    Args:
        what: a .safetensors file; with `env_id`, or the name of a policy that ships for it.
        env_id: where it is to act, the newest version if the id names none; what its card says if
            None.

    Returns:
        PPO or SAC on the processor, to act.  PPO's value function is zero, critics of SAC are new.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no such environment; a zip; a file that is damaged, of another algorithm or
            environment, or whose tensors do not fit its card: the line says which, and what would
            be right.
        TypeError: `env_id` is no text.
    """
    if not isinstance(env_id, str | None):
        raise TypeError(
            f"env_id must be an environment's id as 'dynenvs/Humanoid-v0', got {env_id!r:.200}"
        )
    if env_id is not None:
        env_id = spec_of(env_id, "env_id").id
    ships = None if env_id is None else shipped_file(env_id, str(what))
    path = ships if ships is not None and ships.is_file() else Path(what)
    if path.suffix != SUFFIX:
        ships_for = (
            '; what ships needs an id besides, as load_policy("ppo", "dynenvs/Humanoid-v0")'
            if env_id is None
            else f", nor a policy that ships for {env_id}"
        )
        raise ValueError(
            f"{str(what)!r} is no {SUFFIX} file{ships_for}; opening zips runs code: `dynenvs "
            "export-policy --safetensors` makes such a file of one that you trust"
        )
    return load_model(path, env_id or registered(read_card(path)["env_id"], repr(str(path))))


def _load_zip(path: Path, **options: Any) -> BaseAlgorithm:
    """What stable-baselines3 loads, by code that the zip names.

    Raises:
        ValueError: it cannot.
    """
    name = read_note(path)["algorithm"]
    warn_of_code(path)
    try:
        return algorithm_class(name).load(path, **options)
    except Exception as error:  # whatever the pickled code of a broken or foreign zip may raise
        raise ValueError(
            f"stable-baselines3 {stable_baselines3.__version__} cannot load {str(path)!r}: "
            f"{str(error).partition('. ')[0] or type(error).__name__}"
        ) from error


def _words(archive: zipfile.ZipFile, name: str) -> Any:
    """The JSON of a member; a megabyte of a zip may be a thousand of them when unpacked.

    Raises:
        ValueError: it is none, or too long.
    """
    if archive.getinfo(name).file_size > MOST_WORDS:
        raise ValueError(f"{name!r} is too long")
    return json.loads(archive.read(name))


def _algorithm(data: dict[str, Any]) -> str:
    """Whose settings a zip's data hold."""
    return "sac" if "target_entropy" in data else "ppo"


def extract(path: Path, name: str, target: Path) -> bool:
    """Copy a member out of a zip; False if there is none of that name.

    Raises:
        ValueError: the zip is broken.
        OSError: the member cannot be written.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if name not in archive.namelist():
                return False
            with archive.open(name) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    except BROKEN:
        raise ValueError(f"{str(path)!r} is no zip file of a policy, or a broken one") from None
    except OSError as error:
        words = error.strerror or error
        raise OSError(f"cannot unpack {name!r} of {str(path)!r} to {target}: {words}") from error
    return True
