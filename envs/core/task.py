"""What an environment is apart from its worlds: robot, options, spaces, kernel.

One Task serves one world or thousands.  Its dataclass fields are the options that users may give;
`worlds.py` holds the worlds' arrays, `base.py` and `vector.py` show them to Gymnasium.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import number, whole
from dynenvs.envs.core.blocks import Block, slices_of, space_of
from dynenvs.envs.core.records import RewardTerm, checked_weights
from dynenvs.model.model import Model
from dynenvs.registration import EPISODE_STEPS

LEAST_TIMESTEP, MOST_TIMESTEP = 1e-6, 0.02  # coarser steps let fast feet sink in [s]
MOST_FRAMES = 1000  # physics steps in a control step
MOST_NOISE = 0.2  # at reset [rad] and [rad/s]
MOST_STEPS = 10**9  # control steps in an episode
NO_LIMIT = -1  # as `gym.make` spells it
NEVER = 2**63 - 1  # the number of control steps that no episode reaches


@dataclass(kw_only=True, eq=False)
class Task(ABC):
    """Options that all tasks share, checked, and what follows from them.

    Args:
        reset_noise: bound of the uniform noise on joint angles [rad] and velocities [rad/s].
        max_episode_steps: control steps until an episode is truncated, counted by the environment
            itself.  -1 sets no limit, so that Gymnasium's TimeLimit wrapper can set any; None is
            the limit that the environments are registered with.
        timestep: length of a physics step [s].
        frame_skip: physics steps in a control step.
        integrator: "euler", or "midpoint", which is of second order (`ModelBuilder`).
        reward_weights: weights of some of `reward_terms` by their names, within [-1000, 1000];
            the others keep their own.  Afterwards those of all terms.

    Attributes:
        run: the compiled kernel that starts and steps worlds; see `loop.py`.
        record: dtype of what a world keeps beside its physical state.
        option_record: dtype of the constants that `run` reads.
        info_record: dtype of the scalars in `info`.
        reward_terms: what the reward is the sum of.
        reset_options: names of what `reset(options=...)` takes.
        model: the robot and its ground.
        options: one record of the constants; those that all tasks share are filled in here.
        observation_blocks: the parts of an observation, in their order.
        observation_slices: where they are, by their names.
        observation_space: of one world; its bounds are never exceeded.
        action_space: torques over effort limits, shape (nu,).

    Raises:
        ValueError: an option out of its range.
    """

    reset_noise: float = 0.01
    max_episode_steps: int | None = NO_LIMIT
    timestep: float = 0.005
    frame_skip: int = 2
    integrator: str = "euler"
    reward_weights: Mapping[str, float] | None = None

    run: ClassVar[Callable[..., None]]
    record: ClassVar[np.dtype[Any]]
    option_record: ClassVar[np.dtype[Any]]
    info_record: ClassVar[np.dtype[Any]]
    reward_terms: ClassVar[tuple[RewardTerm, ...]]
    reset_options: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self.timestep = number(self.timestep, "timestep", LEAST_TIMESTEP, MOST_TIMESTEP, "s")
        self.frame_skip = whole(self.frame_skip, "frame_skip", 1, MOST_FRAMES)
        self.reset_noise = number(self.reset_noise, "reset_noise", 0.0, MOST_NOISE, "rad")
        self.max_episode_steps = self._limit()
        self.reward_weights = checked_weights(self.reward_terms, self.reward_weights)
        self.model = self.build().with_integrator(self.integrator)
        self.options: NDArray[Any] = np.zeros(1, self.option_record)
        self.options["timestep"], self.options["frame_skip"] = self.timestep, self.frame_skip
        self.options["noise"] = self.reset_noise
        unlimited = self.max_episode_steps == NO_LIMIT
        self.options["max_steps"] = NEVER if unlimited else self.max_episode_steps
        for name, weight in self.reward_weights.items():
            self.options[f"weight_{name}"] = weight
        self.observation_blocks = tuple(self.blocks())
        self.observation_slices = slices_of(self.observation_blocks)
        self.observation_space = space_of(self.observation_blocks)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.model.nu,), np.float32)

    def _limit(self) -> int:
        """The option `max_episode_steps`, checked."""
        steps = EPISODE_STEPS if self.max_episode_steps is None else self.max_episode_steps
        if isinstance(steps, numbers.Real) and steps == NO_LIMIT:
            return NO_LIMIT
        try:
            return whole(steps, "max_episode_steps", 1, MOST_STEPS)
        except ValueError as error:
            raise ValueError(f"{error}; {NO_LIMIT} sets no limit") from None

    # What a task provides

    @abstractmethod
    def build(self) -> Model:
        """The robot and its ground."""

    @abstractmethod
    def blocks(self) -> Sequence[Block]:
        """The parts of an observation, in the order in which the kernel writes them."""

    def constants(self) -> tuple[NDArray[Any], ...]:
        """Arrays that the task's kernels need beside the model and the options."""
        return ()

    def info_arrays(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the arrays that follow the scalars in `info`."""
        return {"torques": (self.model.nu,)}

    def reset_fields(self, options: dict[str, Any], count: int | None) -> dict[str, Any]:
        """Fields of the worlds' records that `reset(options=...)` sets, checked.

        Args:
            options: as the user gave them, each of them one of `reset_options`.
            count: how many worlds there are, where each may be given a value of its own: an
                array of shape (count,); None if one value is all that is allowed.

        Raises:
            ValueError: a value out of its range.
        """
        return {}

    # What follows

    @property
    def robot(self) -> Model:
        """The robot on its ground, without loose objects: whose coordinates come first."""
        return self.model

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self.timestep * self.frame_skip

    @property
    def info_dtype(self) -> np.dtype[Any]:
        """Everything in `info` about a world, in the order in which `run` writes it."""
        scalars = self.info_record.descr
        arrays = [(name, "<f8", shape) for name, shape in self.info_arrays().items()]
        return np.dtype([*scalars, *arrays])
