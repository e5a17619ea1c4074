"""Policies as zip files of stable-baselines3, with a note that says where they belong.

`PPO.load` and its like read them as they are.  Beside stable-baselines3's own members a zip holds
`dynenvs.json`: the environment's id, how the policy was made, the version.
"""

from __future__ import annotations

import importlib
import io
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

import dynenvs
from dynenvs.agents.files import warn_of_code
from dynenvs.files import written_whole

if TYPE_CHECKING:
    from dynenvs.envs.core.task import Task
    from dynenvs.envs.mujoco.task import MujocoTask

# Classes, and the packages that they come from
ALGORITHMS = {
    "ppo": ("dynenvs.agents.learn.ppo", "PPO"),  # which loads stable-baselines3's zips, too
    "sac": ("stable_baselines3", "SAC"),
}
NOTE = "dynenvs.json"
# Of stable-baselines3's own data: where the worlds of its training stood
LAST = ("_last_obs", "_last_original_obs", "_last_episode_starts", "ep_info_buffer")
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


def algorithm_class(name: str) -> type[BaseAlgorithm]:
    """stable-baselines3's class, or one of our own.

    Raises:
        ValueError: neither of the two.
    """
    if name not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {name!r}; choose from: {', '.join(ALGORITHMS)}")
    package, kind = ALGORITHMS[name]
    found: type[BaseAlgorithm] = getattr(importlib.import_module(package), kind)
    return found


def save_model(
    model: BaseAlgorithm,
    path: Path,
    env_id: str,
    note: dict[str, Any] | None = None,
    extra: dict[str, Path] | None = None,
) -> None:
    """Write a model whole or not at all.

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


def read_note(path: Path) -> dict[str, Any]:
    """What `save_model` noted; of a zip that stable-baselines3 wrote by itself the algorithm.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no policy is in it.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            whole = "data" in names and "policy.pth" in names
            note = {"algorithm": _algorithm(json.loads(archive.read("data")))} if whole else {}
            if NOTE in names:
                note.update(json.loads(archive.read(NOTE)))
    except BROKEN:
        raise ValueError(f"{str(path)!r} is no zip file of a policy, or a broken one") from None
    if not whole:
        raise ValueError(f"{str(path)!r} holds no policy of stable-baselines3")
    return note


def load_model(
    path: Path, env_id: str, *, task: Task | MujocoTask | None = None, **options: Any
) -> BaseAlgorithm:
    """The model of a zip; loading runs code that the zip names, which is said of a foreign one.

    Args:
        path: the zip.
        env_id: where it is to act.
        task: the environment's with its options; the default one, or that of `env`, if None.
        options: what `load` of the algorithm takes.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no policy, or one of another environment.
    """
    note = read_note(path)
    made_for = note.get("env_id", env_id)
    if made_for != env_id:
        raise ValueError(f"{str(path)!r} is a policy for {made_for}, not for {env_id}")
    options.setdefault("device", "cpu")
    warn_of_code(path)
    try:
        model: Any = algorithm_class(note["algorithm"]).load(path, **options)
    except Exception as error:  # whatever the pickled code of a broken or foreign zip may raise
        raise ValueError(
            f"stable-baselines3 {stable_baselines3.__version__} cannot load {str(path)!r}: "
            f"{str(error).partition('. ')[0] or type(error).__name__}"
        ) from error
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
    return True


def slim(path: Path, target: Path) -> None:
    """Copy what is needed to act, compressed: for policies that ship with the package.

    Optimizers and worlds are forgotten, critics and value functions are zeroed, and the weights
    keep 16 of their 24 significant bits: four of five bytes are saved.  `train` learns a value
    function anew.

    Raises:
        OSError: it cannot be written.
    """
    wanted = ("data", "pytorch_variables.pth", "_stable_baselines3_version", NOTE)
    with (
        written_whole(target) as draft,
        zipfile.ZipFile(path) as archive,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as small,
    ):
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("optimizer.pth"):
                small.writestr(name, _changed(content, lambda state: {**state, "state": {}}))
            elif name == "policy.pth":
                small.writestr(name, _changed(content, _rounded))
            elif name == "data":
                words = {**json.loads(content), **dict.fromkeys(LAST)}
                small.writestr(name, json.dumps(words))
            elif name in wanted or name.endswith(".pth"):
                small.writestr(name, content)


def _changed(content: bytes, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bytes:
    """What torch saved, changed."""
    state = torch.load(io.BytesIO(content), weights_only=True)
    file = io.BytesIO()
    torch.save(change(state), file)
    return file.getvalue()


def _rounded(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Weights of a policy with 16 significant bits, critics zero."""
    result = {}
    for name, value in state.items():
        if "value_net" in name or "critic" in name:
            result[name] = torch.zeros_like(value)
        elif "running_" in name or not value.is_floating_point():
            result[name] = value
        else:
            bits = value.contiguous().view(torch.int32)
            result[name] = ((bits + 0x80) & ~0xFF).view(torch.float32)
    return result
