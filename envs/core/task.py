"""What an environment is apart from its worlds: robot, options, spaces, kernel.

One Task serves one world or thousands.  Its dataclass fields are the options that users may give;
`worlds.py` holds the worlds' arrays, `base.py` and `vector.py` show them to Gymnasium.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import interval, number, typed, whole
from dynenvs.envs.core.blocks import slices_of, space_of
from dynenvs.envs.core.disturbance_options import (
    FACTORS,
    MOST_SCALE,
    disturbs,
    pack,
    read_delay,
    read_motors,
)
from dynenvs.envs.core.disturbance_records import drawn_fields
from dynenvs.envs.core.frozen import Frozen
from dynenvs.envs.core.limit import NO_LIMIT, episode_limit, steps_until
from dynenvs.envs.core.records import Part, RewardTerm, checked_weights, last_action_field
from dynenvs.envs.core.starts import read_starts
from dynenvs.memory.layout import Floats
from dynenvs.memory.records import record_type
from dynenvs.model.model import Model
from dynenvs.registration import EPISODE_STEPS

LEAST_TIMESTEP, MOST_TIMESTEP = 1e-6, 0.02  # coarser steps let fast feet sink in [s]
MOST_FRAMES = 1000  # physics steps in a control step
MOST_NOISE = 0.2  # at reset [rad] and [rad/s]


@dataclass(kw_only=True, eq=False)
class Task(Frozen, ABC):
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
        observation_noise: scale of the normal noise on observations, whose standard deviations
            the blocks declare (`Block.noise`); `info["privileged"]` is the observation without.
        action_noise: standard deviation of normal noise on torques, over their limits, drawn in
            each control step; torques stay within the limits.
        action_delay: control steps by which actions act late, at most 8, or a range (low, high)
            from which each episode draws.  Until the first one arrives, the action 0 acts.
        motor_strength_range: factor on each motor's torque and its limit, drawn in each episode.
        control: "torque", or "position": actions are targets of PD motors, which act on positions
            and velocities at the start of each physics step.
        stiffness, damping: of these motors [N m/rad], [N m s/rad], one number or one a motor;
            None is `position_gains` times the torque limits.
        starts: a file of states, as `dynenvs starts` writes it, in which episodes begin
            (`starts.py`), with the command of the state; None for the environment's own beginning.
        starts_share: share of the episodes that begin so; the others begin as they always do.
        action_scale: how far from `neutral` the action 1 asks a joint to be [rad], one number or
            one a motor; None is that of `position_gains`.
        observation_dtype: "float64", or "float32", to which observations are rounded where they are
            given out; all else, `info` too, stays as it is.

    Attributes:
        run: the compiled kernel that starts and steps worlds; see `loop.py`.
        record: dtype of what the kernel itself keeps of a world beside its physical state.
        option_record: dtype of the constants that `run` reads.
        info_record: dtype of the scalars in `info`.
        reward_terms: what the reward is the sum of.
        parts: what an observation consists of.
        reset_options: names of what `reset(options=...)` takes.
        position_gains: stiffness [1/rad] and damping [s/rad] of PD motors over torque limits, and
            how far from the pose the action 1 asks a joint to be [rad].
        model: the robot and its ground.
        options: one record of the constants; those that all tasks share are filled in here.
        motors: of `control="position"`, else None.
        disturbance: what disturbs the worlds, packed; empty if nothing does.
        tells_clean: whether `info` has the observation without noise.
        start_rows: states in which episodes may begin, packed; empty without.
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
    observation_noise: float = 0.0
    action_noise: float = 0.0
    action_delay: int | tuple[int, int] = 0
    motor_strength_range: tuple[float, float] = (1.0, 1.0)
    control: str = "torque"
    stiffness: float | Sequence[float] | None = None
    damping: float | Sequence[float] | None = None
    action_scale: float | Sequence[float] | None = None
    starts: str | Path | None = None
    starts_share: float = 1.0
    observation_dtype: str = "float64"

    run: ClassVar[Callable[..., None]]
    record: ClassVar[np.dtype[Any]]
    option_record: ClassVar[np.dtype[Any]]
    info_record: ClassVar[np.dtype[Any]]
    reward_terms: ClassVar[tuple[RewardTerm, ...]]
    parts: ClassVar[tuple[Part, ...]]
    reset_options: ClassVar[tuple[str, ...]] = ()
    position_gains: ClassVar[tuple[float, float, float]] = (2.0, 0.05, 0.5)

    def __post_init__(self) -> None:
        self.timestep = number(self.timestep, "timestep", LEAST_TIMESTEP, MOST_TIMESTEP, "s")
        self.frame_skip = whole(self.frame_skip, "frame_skip", 1, MOST_FRAMES)
        self.reset_noise = number(self.reset_noise, "reset_noise", 0.0, MOST_NOISE, "rad")
        self.max_episode_steps = episode_limit(self.max_episode_steps, EPISODE_STEPS)
        self.reward_weights = checked_weights(self.reward_terms, self.reward_weights)
        self.model = self.build().with_integrator(self.integrator)
        self.options: NDArray[Any] = np.zeros(1, self.option_record)
        self.options["timestep"], self.options["frame_skip"] = self.timestep, self.frame_skip
        self.options["noise"] = self.reset_noise
        self.options["max_steps"] = steps_until(self.max_episode_steps)
        self.options["terms"] = len(self.reward_terms)
        self.options["info_bytes"] = self.info_record.itemsize
        for name, weight in self.reward_weights.items():
            self.options[f"weight_{name}"] = weight
        self.observation_blocks = tuple(b for part in self.parts for b in part.blocks(self))
        self.observation_slices = slices_of(self.observation_blocks)
        self.observation_space = typed(space_of(self.observation_blocks), self.observation_dtype)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.model.nu,), np.float32)
        self.packed_disturbance = self._disturbance()
        self.tells_clean = self.observation_noise > 0.0
        disturbed = disturbs(self.packed_disturbance)
        self.disturbance = self.packed_disturbance if disturbed else np.zeros(0, np.uint8)
        self.starts_share = number(self.starts_share, "starts_share", 0.0, 1.0)
        self.start_rows = read_starts(self.starts, self.starts_share, self)

    def _disturbance(self) -> NDArray[np.uint8]:
        """The options that disturb, checked and packed."""
        self.observation_noise = number(
            self.observation_noise, "observation_noise", 0.0, MOST_SCALE
        )
        self.action_noise = number(self.action_noise, "action_noise", 0.0, 1.0)
        self.action_delay = read_delay(self.action_delay)
        name = "motor_strength_range"
        self.motor_strength_range = interval(self.motor_strength_range, name, 0.0, FACTORS[1])
        gains = {name: getattr(self, name) for name in ("stiffness", "damping", "action_scale")}
        self.motors = read_motors(self.model, gains, self.position_gains, self.control)
        asked = {
            "action_noise": self.action_noise,
            "low_delay": self.action_delay[0],
            "high_delay": self.action_delay[1],
            "low_strength": self.motor_strength_range[0],
            "high_strength": self.motor_strength_range[1],
            **self.drawn_bodies(),
        }
        limits = self.model.effort_limit[self.model.actuated]
        blocks, scale = self.observation_blocks, self.observation_noise
        return pack(asked, blocks, scale, self.motors, self.neutral(), limits)

    # What a task provides

    @abstractmethod
    def build(self) -> Model:
        """The robot and its ground."""

    def constants(self) -> tuple[NDArray[Any], ...]:
        """Arrays that the task's kernels need beside the model and the options."""
        return ()

    def neutral(self) -> Floats:
        """Joint positions that the action 0 asks of PD motors [rad], shape (nu,)."""
        return np.zeros(self.model.nu)

    def drawn_bodies(self) -> dict[str, Any]:
        """What each episode draws of the bodies, as fields of DISTURBANCE; checked.

        Raises:
            ValueError: an option out of its range.
        """
        return {}

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

    def refuse_with_starts(self, options: dict[str, Any]) -> None:
        """Make sure that no reset option is given where episodes begin in states of others.

        Raises:
            ValueError: one is.
        """
        if options and len(self.start_rows):
            raise ValueError(
                f"reset option {next(iter(options))!r} cannot be given with starts, whose states "
                "bring their own: make the environment without starts"
            )

    @property
    def robot(self) -> Model:
        """The robot on its ground, without loose objects: whose coordinates come first."""
        return self.model

    @property
    def kernel_groups(self) -> tuple[str, ...]:
        """Groups of units (`compiled.unit`) that a control step of this task needs."""
        return self.model.kernel_groups

    @property
    def dt(self) -> float:
        """Control period [s]."""
        return self.timestep * self.frame_skip

    @property
    def info_dtype(self) -> np.dtype[Any]:
        """Everything in `info` about a world, in the order in which `run` writes it."""
        scalars = self.info_record.descr
        arrays = [(name, "<f8", shape) for name, shape in self.info_arrays().items()]
        if self.tells_clean:
            arrays.append(("privileged", "<f8", self.observation_space.shape))
        return np.dtype([*scalars, *arrays])

    @property
    def state_record(self) -> np.dtype[Any]:
        """What a world keeps beside its physical state: `own_record`, then what disturbs it."""
        if not len(self.disturbance):
            return self.own_record
        return record_type([*self.own_record.descr, *drawn_fields(self.model.nu)])

    @property
    def own_record(self) -> np.dtype[Any]:
        """What it keeps, disturbed or not: `record`, then the torques of the last control step."""
        return record_type([*self.record.descr, last_action_field(self.model.nu)])
