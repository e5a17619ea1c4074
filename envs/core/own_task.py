"""`make_task`: a robot that ships, with a task of one's own, by one function of the state.

The function is given what all worlds are (`state.py`) and gives rewards, ends and more to observe.
The environments that come of it are the robot's own with a step around theirs: physics, options,
commands and pictures stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator, registry
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from dynenvs.envs.checks import known_arguments
from dynenvs.envs.core.blocks import Block, slices_of, symmetric
from dynenvs.envs.core.shell import Observation, Shell
from dynenvs.envs.core.state import State
from dynenvs.envs.core.vector_shell import Flags, Floats, VectorShell
from dynenvs.registration import Arguments, spec_of, unknown_id

END = "task"  # what `info["end"]` says of an episode that the function has ended


class Outcome(NamedTuple):
    """What a task of one's own makes of a state."""

    rewards: Mapping[str, ArrayLike]  # terms, of which the reward is the sum, shape (n,) each
    ended: ArrayLike | None = None  # which episodes have reached a terminal state, shape (n,)
    observation: Mapping[str, ArrayLike] | None = None  # what is seen besides, (n,) or (n, k) each


Function = Callable[[State], Outcome]


def make_task(
    function: Function, robot: str = "dynenvs/Humanoid-v0", name: str | None = None, **options: Any
) -> str:
    """Register an environment of this package with a task of your own.

    Args:
        function: is given the worlds after each control step, as a `State` with one row a world
            (of `gym.make`, one row), and gives an `Outcome`.
        robot: id of the environment whose robot, ground, options and commands it has.
        name: id of the new environment; by the function's name if None, so that `one_leg` is
            "dynenvs/OneLeg-v0".  One of that name that was made before is replaced.
        options: what all episodes of it have, as the robot's environment lists them.

    Returns:
        The id, for `gym.make`, `gym.make_vec` and `make_sb3_vec_env`.

    The rewards take the place of the robot's (`state.reward` is what those were); its own ends
    stay, unless an option such as `terminate_on_fall=False` takes them away.  In `info` are the
    terms, as `reward_...`, and `end`, which is "task" where the function has ended an episode.

    Raises:
        ValueError: no environment of this package, or the name is another one's.
        TypeError: an option that does not exist; `function` is none.

    Example::

        def stand_tall(state):
            height = state.body("pelvis").position[:, 2]
            return Outcome(rewards={"height": height}, ended=height < 0.6)

        envs = gym.make_vec(make_task(stand_tall), num_envs=256)
    """
    if not callable(function):
        raise TypeError(f"function must take a State and give an Outcome, got {function!r:.200}")
    spec = spec_of(robot, "robot")
    single, many = _shell(spec.entry_point, Shell), _shell(spec.vector_entry_point, VectorShell)
    if single is None or many is None:
        raise ValueError(unknown_id(robot, "robot"))
    known_arguments(options, single.__signature__.parameters, "make_task")
    title = _title(function)
    name = name or f"dynenvs/{title}-v0"
    if name in registry and not hasattr(registry[name].entry_point, "function"):
        raise ValueError(f"name: {name!r} is the name of another environment")
    words = f"{function.__doc__ or title}\n\nThe robot is that of {robot}."
    kept = {"function": staticmethod(function), "__doc__": words}
    own: Any = type(f"{title}Env", (OwnEnv, single), kept)
    batch = type(f"{title}VectorEnv", (OwnVectorEnv, many), {**kept, "env_type": own})
    registry.pop(name, None)
    gym.register(
        id=name,
        entry_point=own,
        vector_entry_point=batch,  # type: ignore[arg-type]
        max_episode_steps=spec.max_episode_steps,
        kwargs=Arguments({**spec.kwargs, **options}),
    )
    return name


def _shell(entry: Any, kind: type) -> Any:
    """The class of an entry point, if it is of this kind."""
    found = load_env_creator(entry) if isinstance(entry, str) else entry
    return found if isinstance(found, type) and issubclass(found, kind) else None


def _title(function: Function) -> str:
    """What a function's environment is called: `one_leg` is "OneLeg"."""
    words = re.findall("[A-Za-z0-9]+", getattr(function, "__name__", ""))
    title = "".join(word[0].upper() + word[1:] for word in words)
    return title or "Task"


class OwnEnv(Shell):
    """One world of a task of one's own; the robot's class stands after it among the bases."""

    function: Function

    def _set_up(self, *arguments: Any, **picture: Any) -> None:
        super()._set_up(*arguments, **picture)
        self._own = Own(self.function, State(self._arrays, single=False), self.task)
        self.observation_space = self._own.space

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where the parts of an observation are, by their names."""
        return dict(self._own.slices)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, as the robot's environment does."""
        observation, info = super().reset(seed=seed, options=options)
        return self._own.join(observation[None], self._own.judge())[0], _without_rewards(info)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """A control step of the robot; what it earns is the function's."""
        observation, _, terminated, truncated, info = super().step(action)
        judged = self._own.judge()
        check_finite(judged, np.ones(1, np.bool_))
        info = _without_rewards(info)
        for name, term in judged.terms.items():
            info[f"reward_{name}"] = float(term[0])
        ended = bool(judged.ended[0])
        if ended and not (terminated or truncated):
            info["end"] = END
        seen = self._own.join(observation[None], judged)[0]
        return seen, float(judged.reward[0]), terminated or ended, truncated, info


class OwnVectorEnv(VectorShell):
    """Many worlds of a task of one's own; the robot's class stands after it among the bases."""

    function: Function

    def _make_worlds(self) -> Any:
        self._at_once = self.autoreset_mode == AutoresetMode.SAME_STEP
        if self._at_once:  # the function sees the last state before the next episode begins
            self.autoreset_mode = AutoresetMode.DISABLED
        worlds = super()._make_worlds()  # type: ignore[safe-super]
        self._own = Own(self.function, self.world, self.task)
        self.single_observation_space = self._own.space
        self.observation_space = batch_space(self._own.space, self.num_envs)
        return worlds

    @property
    def observation_slices(self) -> dict[str, slice]:
        """Where the parts of one world's observation are, by their names."""
        return dict(self._own.slices)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin episodes, as the robot's environment does."""
        observations, info = super().reset(seed=seed, options=options)  # type: ignore[arg-type]
        return self._own.join(observations, self._own.judge()), _without_rewards(info)

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[Observation, Floats, Flags, Flags, dict[str, Any]]:
        """A control step of all robots; what they earn is the function's."""
        begun = self._over() != 0  # in mode "NextStep" these begin, and earn nothing
        observations, _, terminated, truncated, info = super().step(actions)
        judged = self._own.judge()
        check_finite(judged, ~begun)
        ended, info = judged.ended & ~begun, _without_rewards(info)
        for name, term in judged.terms.items():
            info[f"reward_{name}"], info[f"_reward_{name}"] = np.where(begun, 0.0, term), ~begun
        _add_ends(info, ended & ~(terminated | truncated))
        self._over()[ended] = 1  # the next episode begins when the mode has it begin
        terminated = terminated | ended
        over, seen = terminated | truncated, self._own.join(observations, judged)
        if self._at_once and over.any():
            seen, info = self._begin_at_once_after(seen, info, over)
        rewards = np.where(begun, 0.0, judged.reward)
        return seen, rewards, terminated, truncated, info

    def _begin_at_once_after(
        self, observations: Observation, info: dict[str, Any], over: Flags
    ) -> tuple[Observation, dict[str, Any]]:
        """In mode "SameStep": the next episodes' first observations, the last ones in `info`."""
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(over).tolist():
            last[i] = observations[i].copy()
        first, begun = self.reset(options={"reset_mask": over})
        finals = {"final_obs": last, "_final_obs": over, "final_info": _of(info, over)}
        return first, {**_merged(info, begun, over), **finals, "_final_info": over.copy()}


class Judged(NamedTuple):
    """An outcome, checked."""

    terms: dict[str, Floats]
    reward: Floats  # their sum, shape (n,)
    ended: Flags
    seen: dict[str, Floats]  # besides the robot's observation, shape (n, k) each


class Own:
    """A user's function, and the worlds that it is given.

    Attributes:
        space: of one world's observation, what is seen besides at its end.
        slices: where its parts are.
    """

    def __init__(self, function: Function, state: State, task: Any) -> None:
        self._function, self._state, self._count = function, state, len(state.q)
        self._asking, self._widths = False, {}
        with np.errstate(all="ignore"):  # no episode has begun: sizes alone are of interest
            seen = self._ask().seen
        self._widths = _widths(seen)
        robot: tuple[Block, ...] = getattr(task, "observation_blocks", ())
        unbounded = [
            symmetric(name, np.inf, "-", "of the task", array.shape[1])
            for name, array in seen.items()
        ]
        self.slices = slices_of((*robot, *unbounded))
        space = task.observation_space
        low = np.concatenate([space.low, *(block.low for block in unbounded)])
        high = np.concatenate([space.high, *(block.high for block in unbounded)])
        self.space = gym.spaces.Box(low, high, dtype=space.dtype)

    def judge(self) -> Judged:
        """What the function makes of the worlds now.

        Raises:
            ValueError: it is no outcome, or of other shapes.
            RuntimeError: the function has stepped or reset the worlds that it was asked about.
        """
        if self._asking:
            raise RuntimeError("a task's function must not step or reset its own environment")
        self._asking = True
        try:
            judged = self._ask()
        finally:
            self._asking = False
        if _widths(judged.seen) != self._widths:
            raise ValueError(
                f"what a task's function has observed keeps its names and sizes, here "
                f"{self._widths}, got {_widths(judged.seen)}"
            )
        return judged

    def _ask(self) -> Judged:
        try:
            outcome, n = self._function(self._state), self._count
        except IndexError as error:
            error.add_note(
                f"arrays that a task's function sees have one row per world, here {self._count}: "
                "a body's height is position[:, 2]"
            )
            raise
        if not isinstance(outcome, Outcome):
            raise ValueError(f"the task's function must give an Outcome, got {outcome!r:.60}")
        rewards = _named(outcome.rewards, "rewards")
        more = {} if outcome.observation is None else _named(outcome.observation, "observation")
        terms = {name: _row(x, n, f"rewards[{name!r}]") for name, x in rewards.items()}
        ended = _row(np.zeros(n, np.bool_) if outcome.ended is None else outcome.ended, n, "ended")
        if ended.dtype != np.bool_:  # a height would end every episode
            raise ValueError(f"ended must be true or false of each world, got {ended.dtype}")
        seen = {name: _rows(x, n, f"observation[{name!r}]") for name, x in more.items()}
        with np.errstate(over="ignore"):  # `check_finite` tells
            reward = sum(terms.values(), np.zeros(n))
        return Judged(terms, reward, ended, seen)

    def join(self, observations: Observation, judged: Judged) -> Observation:
        """Observations of the robots with what is seen besides.

        Raises:
            ValueError: that is not finite.
        """
        for name, seen in judged.seen.items():
            spoilt = np.asarray(~np.isfinite(seen).all(axis=1))
            _refuse_spoilt(f"observation[{name!r}]", spoilt, seen)
        joined = np.concatenate([observations, *judged.seen.values()], axis=1)
        return joined.astype(observations.dtype, copy=False)


def check_finite(judged: Judged, earned: Flags) -> None:
    """Refuse rewards that would spoil a learner in silence.

    Args:
        judged: an outcome.
        earned: which worlds have made a step, shape (n,).

    Raises:
        ValueError: a term of the reward of one of these, or their sum, is no finite number.
    """
    for name, term in judged.terms.items():
        _refuse_spoilt(f"rewards[{name!r}]", earned & ~np.isfinite(term), term)
    _refuse_spoilt("the sum of rewards", earned & ~np.isfinite(judged.reward), judged.reward)


def _refuse_spoilt(name: str, spoilt: Flags, values: Floats) -> None:
    """Name the first world of which a number is not finite."""
    if spoilt.any():
        at = int(spoilt.argmax())
        raise ValueError(f"{name} of world {at} is {values[at]}; it must be finite")


def _widths(seen: Mapping[str, Floats]) -> dict[str, int]:
    """How many numbers of each world are seen besides, by their names."""
    return {name: array.shape[1] for name, array in seen.items()}


def _named(value: Mapping[str, ArrayLike], name: str) -> Mapping[str, ArrayLike]:
    """Arrays by names."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be arrays by names, as {{'height': ...}}, got {value!r:.60}")
    return value


def _row(value: ArrayLike, count: int, name: str) -> NDArray[Any]:
    """One number a world, shape (count,)."""
    array = _real(value, name)
    if array.shape != (count,):
        raise ValueError(f"{name} must have one entry a world, shape ({count},), got {array.shape}")
    return array


def _rows(value: ArrayLike, count: int, name: str) -> Floats:
    """One number or some numbers a world, as an array of shape (count, k)."""
    array = _real(value, name).astype(np.float64)
    if array.ndim not in (1, 2) or len(array) != count:
        shapes = f"({count},) or ({count}, k)"
        raise ValueError(f"{name} must have one row a world, shape {shapes}, got {array.shape}")
    return array.reshape(count, -1)


def _real(value: ArrayLike, name: str) -> NDArray[Any]:
    """An array of real numbers, or of true and false."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers, got {array.dtype}")
    return array


def _without_rewards(info: dict[str, Any]) -> dict[str, Any]:
    """`info` without the terms of the robot's own reward."""
    return {k: v for k, v in info.items() if not k.startswith(("reward_", "_reward_"))}


def _add_ends(info: dict[str, Any], ended: Flags) -> None:
    """Say in `info` which episodes the function has ended."""
    if ended.any():
        words = info.get("end", np.full(len(ended), None, dtype=object))
        info["end"] = np.where(ended, END, words).astype(object)
        info["_end"] = info.get("_end", np.zeros_like(ended)) | ended


def _of(info: dict[str, Any], over: Flags) -> dict[str, Any]:
    """The entries of `info` of these worlds; the others' are zero, or None."""
    found: dict[str, Any] = {}
    for name, value in info.items():
        if name.startswith("_"):
            found[name] = value & over
        else:
            found[name] = value.copy()
            found[name][~over] = None if value.dtype == object else 0
    return found


def _merged(last: dict[str, Any], first: dict[str, Any], over: Flags) -> dict[str, Any]:
    """`info` of worlds that go on, and the first of the episodes that have begun in the others."""
    found: dict[str, Any] = {}
    for name in last:
        if name in ("end", "_end"):
            continue
        found[name] = last[name].copy()
        found[name][over] = first[name][over] if name in first else 0
    return found
