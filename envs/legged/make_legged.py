"""`make_legged`: a robot's file becomes a registered environment by one call."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import registry

from dynenvs.envs.checks import known_arguments
from dynenvs.envs.legged.any_legged import AnyLeggedEnv, AnyLeggedTask
from dynenvs.model.model import Model
from dynenvs.registration import EPISODE_STEPS, LEGGED, Arguments

PLACE = "dynenvs.envs." + LEGGED["dynenvs/Legged-v0"][0]


def make_legged(
    source: str | os.PathLike[str] | Model, name: str | None = None, **options: Any
) -> str:
    """Register a robot with a free base as an environment that walks as commanded.

    Args:
        source: the robot: an MJCF, URDF or saved file, XML text, or a model.
        name: id of the environment; by the file's name if None, so that "go2.xml" is
            "dynenvs/Go2-v0".  One of that name that was made before is replaced.
        options: what all episodes of it have, as `AnyLeggedEnv` lists them.

    Returns:
        The id, for `gym.make` and `gym.make_vec`.

    Raises:
        ModelError: the file is missing or broken.
        ValueError: the robot, or an option, is not what the task needs; or there is no name.
        TypeError: an option that does not exist.

    Example::

        env = gym.make(make_legged("go2.xml"), terrain="stairs")
        envs = gym.make_vec("dynenvs/Go2-v0", num_envs=256)
    """
    known = AnyLeggedEnv.__signature__.parameters  # type: ignore[attr-defined]
    known_arguments(options, known, "make_legged")
    if isinstance(source, str | os.PathLike):
        source = os.fspath(source)
        if not source.lstrip().startswith("<"):
            name = name or _name(Path(source).stem)
            if Path(source).exists():  # what is missing is told as it was named
                source = str(Path(source).absolute())  # as environments load it: once for all
    AnyLeggedTask(source=source, **options)  # tells what is wrong now, not when it is made
    if name is None:
        raise ValueError("name: a robot that comes without a file needs one, such as 'MyRobot-v0'")
    if _taken(name):
        raise ValueError(f"name: {name!r} is the name of another environment")
    registry.pop(name, None)
    gym.register(
        id=name,
        entry_point=f"{PLACE}Env",
        vector_entry_point=f"{PLACE}VectorEnv",
        max_episode_steps=EPISODE_STEPS,
        kwargs=Arguments(source=source, **options),
    )
    return name


def _taken(name: str) -> bool:
    """Whether this id is an environment's that was not made here."""
    spec = registry.get(name)
    return spec is not None and spec.entry_point != f"{PLACE}Env"


def _name(stem: str) -> str:
    """An id by a file's name: "mini_cheetah" is "dynenvs/MiniCheetah-v0"."""
    words = "".join(part[0].upper() + part[1:] for part in re.findall("[A-Za-z0-9]+", stem))
    name = f"dynenvs/{words or 'Robot'}-v0"
    return f"dynenvs/{words}Robot-v0" if _taken(name) else name
