"""Environments by the names that people type, and what they may have meant by a wrong one."""

from __future__ import annotations

import re
from pathlib import Path

from gymnasium.envs.registration import registry

from dynenvs.registration import ENVIRONMENTS, LEGGED, MUJOCO
from dynenvs.spelling import did_you_mean

ROBOT_FILES = (".xml", ".urdf", ".json")
POLICY_FILES = (".zip", ".safetensors")
(LEGGED_ID,) = LEGGED
NAMED = (*ENVIRONMENTS, *MUJOCO)  # what a name alone makes; LEGGED needs a robot's file


def short_name(env_id: str) -> str:
    """What people type for an id: "dynenvs/PlanarHumanoid-v0" is "planar-humanoid"."""
    bare = env_id.removeprefix("dynenvs/").rsplit("-v", 1)[0]
    return "-".join(re.findall("[A-Z][a-z0-9]*|[a-z0-9]+", bare)).lower()


def environment_id(name: str) -> str:
    """The id of an environment given by its id, without or with version, or its short name.

    A robot's file makes one (`make_legged`).

    Raises:
        ValueError: no such environment; says which is meant, or which there are.  Or no robot that
            walks.
    """
    if Path(name).suffix.lower() in ROBOT_FILES:
        from dynenvs.envs.legged.make_legged import make_legged

        return make_legged(name)
    if is_from_file(name):
        return name
    known = {word.lower(): env_id for env_id in (*NAMED, LEGGED_ID) for word in _words(env_id)}
    env_id = known.get(name.lower())
    if env_id == LEGGED_ID:
        raise ValueError(f"{LEGGED_ID} is a robot from a file: name the file instead, as go2.xml")
    if Path(name).suffix in POLICY_FILES:
        raise ValueError(
            f"{name!r} is a policy's file, and an environment is expected here: name that first, "
            f"as in humanoid --agent {name}"
        )
    if env_id is None:
        choices = [short_name(one) for one in NAMED]
        raise ValueError(
            f"unknown environment {name!r}; choose from: {', '.join(choices)}, or a robot's .xml "
            f"or .urdf{did_you_mean(name, choices)}"
        )
    return env_id


def registered(env_id: str, source: str) -> str:
    """The id by which a file names an environment, if it is registered already.

    Gymnasium imports what stands before a colon in an id: a file's word is not followed there.

    Args:
        env_id: the file's.
        source: which file, for the message.

    Raises:
        ValueError: no such environment.
    """
    name = env_id.rpartition(":")[2]
    if name not in registry:
        raise ValueError(
            f"{source} is of the environment {env_id:.100}, which is not registered: import what "
            "registers it first, if you trust that"
        )
    return name


def own_environment(name: str, command: str, why_not: str) -> str:
    """The id of an environment, for a command that does not take Gymnasium's MuJoCo tasks.

    Args:
        name: as of `environment_id`.
        command: which command.
        why_not: what they lack, after "mujoco-ant" and the like.

    Raises:
        ValueError: as `environment_id`; it is one of those tasks, and why that does not do.
    """
    env_id = environment_id(name)
    if env_id in MUJOCO:
        raise ValueError(f"{command}: {short_name(env_id)} {why_not}")
    return env_id


def is_dataset(name: str) -> bool:
    """Whether a name is a dataset's: "humanoid/expert-v0", also with "dynenvs/" before it."""
    return "/" in name.removeprefix("dynenvs/") and "." not in name


def is_from_file(env_id: str) -> bool:
    """Whether `make_legged` has made this environment."""
    spec, place = registry.get(env_id), LEGGED[LEGGED_ID][0]
    if spec is None or spec.entry_point != f"dynenvs.envs.{place}Env":
        return False
    return "source" in spec.kwargs


def speeds_of(text: str) -> float | tuple[float, ...]:
    """A command as people type it: one speed, or several with commas between.

    Raises:
        ValueError: not numbers.
    """
    try:
        speeds = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"command must be numbers with commas between, got {text!r}") from None
    return speeds[0] if len(speeds) == 1 else speeds


def default_agent(env_id: str) -> str:
    """What acts where nothing is said: the expert, random actions where there is none."""
    return "random" if env_id in MUJOCO else "expert"


def _words(env_id: str) -> tuple[str, ...]:
    """All names of an environment, the short one first."""
    bare = env_id.removeprefix("dynenvs/")
    newest = (word.rsplit("-v", 1)[0] for word in (bare, env_id))  # there is one version of each
    return short_name(env_id), bare, env_id, *newest
