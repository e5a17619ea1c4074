"""The environments' entries in Gymnasium's registry, and what may be meant by a wrong id."""

from __future__ import annotations

import difflib
from typing import Any

from gymnasium import VectorizeMode
from gymnasium.envs.registration import EnvSpec, find_highest_version, register, registry
from gymnasium.error import Error

BATCH = VectorizeMode.VECTOR_ENTRY_POINT
EPISODE_STEPS = 1000  # control steps after which an episode is truncated by default

# id: (classes, for one world and "Env" replaced by "VectorEnv" for many;
#      what the expert earns: solved from there)
ENVIRONMENTS = {
    "dynenvs/DoublePendulum-v0": ("pendulum.double_pendulum:DoublePendulum", 850.0),
    "dynenvs/ChainPendulum-v0": ("pendulum.chain_pendulum:ChainPendulum", 750.0),
    "dynenvs/PlanarHumanoid-v0": ("planar.planar_humanoid:PlanarHumanoid", 800.0),
    "dynenvs/PlanarQuadruped-v0": ("planar.planar_quadruped:PlanarQuadruped", 900.0),
    "dynenvs/Quadruped-v0": ("legged.quadruped:Quadruped", 900.0),
    "dynenvs/Humanoid-v0": ("legged.humanoid:Humanoid", 600.0),
}

# Any robot from its file: `source` says which
LEGGED = {"dynenvs/Legged-v0": ("legged.any_legged:AnyLegged", EPISODE_STEPS)}

# Gymnasium's MuJoCo tasks on hard contact, without experts: classes, and control steps an episode
MUJOCO = {
    "dynenvs/MujocoAnt-v5": ("mujoco.ant:Ant", 1000),
    "dynenvs/MujocoHalfCheetah-v5": ("mujoco.half_cheetah:HalfCheetah", 1000),
    "dynenvs/MujocoHopper-v5": ("mujoco.hopper:Hopper", 1000),
    "dynenvs/MujocoHumanoid-v5": ("mujoco.humanoid:Humanoid", 1000),
    "dynenvs/MujocoHumanoidStandup-v5": ("mujoco.humanoid_standup:HumanoidStandup", 1000),
    "dynenvs/MujocoInvertedDoublePendulum-v5": (
        "mujoco.inverted_double_pendulum:InvertedDoublePendulum",
        1000,
    ),
    "dynenvs/MujocoInvertedPendulum-v5": ("mujoco.inverted_pendulum:InvertedPendulum", 1000),
    "dynenvs/MujocoPusher-v5": ("mujoco.pusher:Pusher", 100),
    "dynenvs/MujocoReacher-v5": ("mujoco.reacher:Reacher", 50),
    "dynenvs/MujocoWalker2d-v5": ("mujoco.walker2d:Walker2d", 1000),
}


class Arguments(dict[str, Any]):
    """Arguments of an entry; where `gym.make_vec` is to wrap what a batch has not, they say so.

    Gymnasium asks its entry's arguments for each of its own with the caller's as the default, and
    only later refuses wrappers of batches, without a word of what does it.
    """

    _batched = False

    def pop(self, name: str, *default: Any) -> Any:
        """As of a dict.

        Raises:
            gymnasium.error.Error: wrappers of single worlds, for a batch.
        """
        found = super().pop(name, *default)
        if name == "vectorization_mode":
            self._batched = found in (None, BATCH, BATCH.value)
        if name == "wrappers" and found and self._batched:
            raise Error(
                "wrappers: a batch has no single worlds to wrap; dynenvs.make_task gives it other "
                "rewards, endings or observations, gymnasium.wrappers.vector wraps the whole "
                'batch, and vectorization_mode="sync" makes single worlds, slowly'
            )
        return found


def register_environments() -> None:
    """Register every environment once, with the limit of its episodes.

    `gym.make` keeps that limit, or the one that it is given, with its own TimeLimit wrapper; the
    vector environments get it from `gym.make_vec` and count for themselves.
    """
    own = {name: (place, score, EPISODE_STEPS) for name, (place, score) in ENVIRONMENTS.items()}
    others = {name: (place, None, limit) for name, (place, limit) in {**MUJOCO, **LEGGED}.items()}
    for name, (place, threshold, limit) in {**own, **others}.items():
        if name not in registry:
            register(
                id=name,
                entry_point=f"dynenvs.envs.{place}Env",
                vector_entry_point=f"dynenvs.envs.{place}VectorEnv",
                reward_threshold=threshold,
                max_episode_steps=limit,
                kwargs=Arguments(),
            )


def spec_of(env_id: str, what: str) -> EnvSpec:
    """An environment's entry in Gymnasium's registry.

    Args:
        env_id: its id, with or without a module before it, as "dynenvs:dynenvs/Humanoid-v0"; the
            newest version if it names none, as `gym.make` takes it.
        what: the argument that the id was given as, for the error.

    Raises:
        ValueError: there is none of this id; says which may be meant.
    """
    bare = str(env_id).rpartition(":")[2]
    if bare not in registry:
        namespace, _, name = bare.partition("/")
        version = find_highest_version(namespace, name)
        if version is None:  # Gymnasium's own errors know the ids of others alone
            raise ValueError(unknown_id(env_id, what))
        bare = f"{bare}-v{version}"
    return registry[bare]


def unknown_id(env_id: Any, what: str) -> str:
    """The error for an id that is none of ours, with those of ours that are like it."""
    ids = [name for name in registry if name.startswith("dynenvs/")]
    ours = {name.partition("/")[2].lower(): name for name in ids}
    bare = str(env_id).rpartition("/")[2].lower()
    most = 1 if bare in ours else 2
    like = [ours[word] for word in difflib.get_close_matches(bare, list(ours), n=most)]
    hint = f"; did you mean {' or '.join(map(repr, like))}?" if like else ""
    return f"{what}: {env_id!r} is no environment of dynenvs{hint}"
