"""Batches of worlds as stable-baselines3 wants them; imported only where they are asked for."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from dynenvs.agents.errors import install_hint
from dynenvs.envs.checks import known_arguments
from dynenvs.envs.core.shell import Shell
from dynenvs.envs.core.vector_shell import VectorShell
from dynenvs.registration import spec_of

try:
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"make_sb3_vec_env needs stable-baselines3 ({error}): {install_hint('sb3')}",
        name=error.name,
    ) from None

TAKEN = ("num_envs", "num_threads", "autoreset_mode")  # arguments that are no option of the worlds
# Arguments of stable-baselines3's `make_vec_env` that need single environments
SINGLE = ("wrapper_class", "wrapper_kwargs", "vec_env_cls", "vec_env_kwargs", "monitor_dir")


def make_sb3_vec_env(
    env_id: str,
    n_envs: int,
    *,
    seed: int | None = None,
    num_threads: int | None = None,
    **env_options: Any,
) -> VecEnv:
    """Many worlds on which stable-baselines3's algorithms train directly.

    Episodes' returns and lengths come with `info["episode"]` at their ends, as from
    stable-baselines3's own `make_vec_env`.  The worlds are one batch, without an environment each
    that a `wrapper_class` could wrap: for another reward, ending or observation give the id of
    `make_task`, or wrap what is returned in a `VecEnvWrapper`.  The first arguments have the names
    that `make_vec_env` gives them.

    Args:
        env_id: the environment's id, as "dynenvs/PlanarHumanoid-v0".
        n_envs: number of worlds.
        seed: of the first reset; world i is given seed + i.  Drawn if None.
        num_threads: as `gym.make_vec` takes it.
        env_options: the environment's; `max_episode_steps` as `gym.make` takes it.

    Raises:
        ValueError: an argument out of its range, or no vector environment of this package.
        TypeError: an option that does not exist, or an argument that wraps single environments.
    """
    _refuse_wrappers(env_options)
    known_arguments(env_options, _options(env_id), "make_sb3_vec_env")
    envs = gym.make_vec(
        env_id, num_envs=n_envs, num_threads=num_threads, autoreset_mode="SameStep", **env_options
    )
    assert isinstance(envs, VectorShell)
    venv = WorldsVecEnv(envs)
    if seed is not None:
        venv.seed(seed)
    return VecMonitor(venv)


def _refuse_wrappers(given: dict[str, Any]) -> None:
    """Say what there is instead of arguments for single environments.

    Raises:
        TypeError: one is given.
    """
    for name in SINGLE:
        if name in given:
            raise TypeError(
                f"make_sb3_vec_env takes no {name}, since its worlds are one batch: for another "
                "reward, ending or observation give the id of dynenvs.envs.make_task, or wrap the "
                "result in a VecEnvWrapper; stable_baselines3's make_vec_env(env_id, n_envs, "
                f"{name}=...) takes it, on single environments, which are slower"
            )


def _options(env_id: str) -> list[str]:
    """Names of an environment's options.

    Raises:
        ValueError: it has no vector environment as this package's are.
    """
    entry = spec_of(env_id, "env_id").vector_entry_point
    kind: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    if not (isinstance(kind, type) and issubclass(kind, VectorShell)):
        raise ValueError(f"{env_id!r} has no vector environment of dynenvs")
    return [name for name in inspect.signature(kind).parameters if name not in TAKEN]


def as_sb3(envs: VectorEnv[Any, Any, Any]) -> VecEnv:
    """A vector environment of Gymnasium's, your own for instance, to train on directly.

    Episodes' returns and lengths come with `info["episode"]` at their ends.

    Args:
        envs: begins an ended episode's successor in the same step, and says so in
            `metadata["autoreset_mode"]`.

    Raises:
        ValueError: it does not.
    """
    return VecMonitor(SameStepVecEnv(envs))


class SameStepVecEnv(VecEnv):
    """A vector environment of Gymnasium's in mode "SameStep" as a stable-baselines3 VecEnv.

    Its infos are those of the single worlds, with `TimeLimit.truncated` and, at the end of an
    episode, `terminal_observation`.  Attributes and methods are the vector environment's, the same
    for all worlds.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(f'stable-baselines3 needs autoreset_mode="SameStep", got {mode}')
        self.envs: Any = envs
        self._actions: Any = None
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self.metadata = {**envs.metadata}

    def reset(self) -> NDArray[Any]:
        """First observations, shape (n, observations); uses the seed up."""
        # World i has been given the first one's seed + i, as Gymnasium's own environments count
        observations, infos = self.envs.reset(seed=self._seeds[0])
        self.reset_infos = _split(infos, self.num_envs)
        self._reset_seeds()
        return np.asarray(observations)

    def step_async(self, actions: NDArray[np.float32]) -> None:
        """Take the actions for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Observations, rewards, dones and infos of the step."""
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        split = _split(infos, self.num_envs)
        for i in np.flatnonzero(dones).tolist():
            self.reset_infos[i] = split[i]
            split[i] = _entry(infos.get("final_info", {}), i)
            split[i]["terminal_observation"] = infos["final_obs"][i]
        for info, limit in zip(split, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = limit
        return observations, rewards.astype(np.float32), dones, split

    def close(self) -> None:
        """Close the batch."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the vector environment, once for each of the chosen worlds."""
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the vector environment."""
        if indices is not None:
            raise ValueError("the worlds of a vector environment have no attributes of their own")
        setattr(self.envs, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """What a method of the vector environment returns."""
        if indices is not None:
            raise ValueError("the worlds of a vector environment have no methods of their own")
        answer = getattr(self.envs, method_name)(*method_args, **method_kwargs)
        return [answer] * self.num_envs

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """No world is wrapped."""
        return [False for _ in self._get_indices(indices)]


class WorldsVecEnv(SameStepVecEnv):
    """A dynenvs vector environment as a stable-baselines3 VecEnv.

    Attributes and methods are those of the single environments that it shows (`VectorShell.envs`).
    """

    def reset(self) -> NDArray[np.float64]:
        """First observations, shape (n, observations); uses seeds and options up."""
        names = [tuple(sorted(given)) for given in self._options]
        for some in dict.fromkeys(names):  # worlds that are given the same options begin together
            mask = np.array([own == some for own in names])
            options = {name: self._values(name) for name in some}
            if not mask.all():
                options["reset_mask"] = mask
            observations, infos = self.envs.reset(seed=self._seeds, options=options)
            split = _split(infos, self.num_envs)
            for i in np.flatnonzero(mask).tolist():
                self.reset_infos[i] = split[i]
        self._reset_seeds()
        self._reset_options()
        return np.asarray(observations)

    def _values(self, name: str) -> NDArray[Any]:
        """An option of each world; of those that have none, another's: it is not looked at."""
        given = [options[name] for options in self._options if name in options]
        return np.array([options.get(name, given[0]) for options in self._options])

    # The single environments

    def _chosen(self, indices: VecEnvIndices) -> list[Shell]:
        return [self.envs.envs[i] for i in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the chosen worlds."""
        if attr_name == "render_mode":  # asked for by the constructor: no need for the windows
            indices = list(self._get_indices(indices))
            return [self.envs.render_mode] * len(indices)
        return [getattr(env, attr_name) for env in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the chosen worlds."""
        for env in self._chosen(indices):
            setattr(env, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        """What a method of the chosen worlds returns."""
        return [
            getattr(env, method_name)(*method_args, **method_kwargs)
            for env in self._chosen(indices)
        ]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of every world."""
        if self.render_mode != "rgb_array":
            warnings.warn('no pictures: make it with render_mode="rgb_array"', stacklevel=2)
            return [None] * self.num_envs
        pictures: Sequence[NDArray[np.uint8]] = self.envs.render()
        return pictures


def _split(infos: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Infos of a vector environment as one dictionary a world, as the single environment's."""
    names = [name for name in infos if not name.startswith(("_", "final_"))]
    if not names:
        return [{} for _ in range(count)]
    columns = [
        list(infos[name]) if infos[name].ndim > 1 else infos[name].tolist() for name in names
    ]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _entry(infos: dict[str, Any], i: int) -> dict[str, Any]:
    """World `i`'s part of infos."""
    names = [name for name in infos if not name.startswith("_")]
    parts = [(name, infos[name][i]) for name in names]
    return {name: part.item() if isinstance(part, np.generic) else part for name, part in parts}
