"""What Gymnasium's MuJoCo tasks have in common: a robot from XML, its spaces, how it is moved.

A task is one file beside this one: a dataclass whose fields are the options of Gymnasium's
environment, by the same names.  It says how an episode begins, and in a compiled kernel (`look.py`)
what is observed, what is earned and when it ends.  `batch.py` steps the worlds.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import flag, interval, number, typed, whole
from dynenvs.envs.core.frozen import Frozen
from dynenvs.envs.core.limit import NO_LIMIT, episode_limit
from dynenvs.envs.mujoco.look import numbers
from dynenvs.model.actuators import actuator_forces
from dynenvs.model.importing import NotCarriedOver, load
from dynenvs.model.model import Model
from dynenvs.registration import EPISODE_STEPS
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MOST_FRAMES = 1000


@dataclass(kw_only=True, eq=False)
class MujocoTask(Frozen, ABC):
    """A robot from an XML file, and what is asked of it.

    Args:
        xml_file: name of one of Gymnasium's files, or a path; a robot of your own must have the
            coordinates that the task uses.
        frame_skip: physics steps in a control step.
        max_episode_steps: control steps until an episode is truncated, counted by the environment
            itself.  -1 sets no limit; None is the limit that the task is registered with.
        observation_dtype: "float64", or "float32", to which observations are rounded.

    Attributes:
        model: the robot and its ground; its timestep is the file's.
        home: the file's pose, shape (nq,).
        links: numbers of the file's bodies, shape (n,).  Those with mass: a body with several
            joints is a chain here, of which the last has the mass.
        dt: control period [s].
        observation_space, action_space: of one world; actions are the motors' controls.

    Raises:
        ValueError: an option out of its range.
        ModelError: the file is missing or broken.
        ImportError: without the mujoco package, which reads it.
    """

    run: ClassVar[Any]  # the entry that looks at worlds after a control step (`look.py`)
    option_record: ClassVar[Any] = numbers()  # of options that it reads: attributes by these names
    info_record: ClassVar[Any]  # what `info` says
    told_at_first: ClassVar[int] = 0  # how many of its fields are known when an episode begins
    sees_poses: ClassVar[bool] = False  # whether it reads poses of bodies,
    sees_bodies: ClassVar[bool] = False  # and what else is told of them
    least: ClassVar[tuple[int, int]] = (0, 0)  # positions and velocities that it speaks of
    episode_steps: ClassVar[int] = EPISODE_STEPS  # of an episode, as registered
    xml_file: str = ""
    frame_skip: int = 5
    max_episode_steps: int | None = NO_LIMIT
    observation_dtype: str = "float64"

    def __post_init__(self) -> None:
        self.frame_skip = whole(self.frame_skip, "frame_skip", 1, MOST_FRAMES)
        self.max_episode_steps = episode_limit(self.max_episode_steps, self.episode_steps)
        self._check()
        self.model = _model(self.xml_file)
        self.home: Floats = self.model.keyframes["qpos0"].q
        self.links: NDArray[np.int64] = np.flatnonzero(self.model.bodies["mass"] > 0.0)
        _check_size(self.model, self.least)
        _ = self.places  # a body that is not there is refused at once
        self.dt = self.model.timestep * self.frame_skip
        ranges = np.array([motor.control_range for motor in self.model.actuators])
        low, high = ranges.astype(np.float32).T
        self.action_space = gym.spaces.Box(low, high, dtype=np.float32)
        space = gym.spaces.Box(-np.inf, np.inf, (self.size,), np.float64)
        self.observation_space = typed(space, self.observation_dtype)
        self.options = np.zeros(1, self.option_record)
        for name in self.option_record.names or ():
            self.options[name] = getattr(self, name)
        # A servo's force follows its joint from step to step, a torque motor's does not
        laws = [(*motor.gain[1:], *motor.bias) for motor in self.model.actuators]
        self._is_steady = not np.any(laws)

    # What a task says

    def draw(self, rng: np.random.Generator, drawn: Floats) -> None:
        """The random numbers with which an episode begins, into `drawn`, shape (nq + nv,).

        In the order in which Gymnasium draws them: the same seed begins in the same state.
        """
        rng.random(out=drawn)

    @property
    def draws_uniforms(self) -> bool:
        """Whether that is all, so that many worlds draw in one call (`streams.py`)."""
        return type(self).draw is MujocoTask.draw

    @abstractmethod
    def start(self, drawn: Floats) -> tuple[Floats, Floats]:
        """Positions and velocities at which n episodes begin, shapes (n, nq) and (n, nv).

        Args:
            drawn: their random numbers, shape (n, nq + nv).
        """

    @property
    def size(self) -> int:
        """How many numbers are observed: positions and velocities, unless a task says otherwise."""
        return self.model.nq + self.model.nv

    @property
    def places(self) -> list[int]:
        """Numbers of coordinates or bodies that the kernel asks for."""
        return []

    # What follows from it

    def advance(self, worlds: Worlds, actions: Floats, mask: Flags | None) -> None:
        """One control step of those worlds, of all if None.

        Raises:
            WorldsError: some have no solution.
        """
        if self._is_steady:
            worlds.step(control=actions, steps=self.frame_skip, mask=mask)
            return
        for _ in range(self.frame_skip):
            worlds.step(actuator_forces(self.model, actions, worlds.q, worlds.v), mask=mask)

    def _check(self) -> None:
        """Flags are flags, ranges have two ends, and other numbers are not negative."""
        for option in fields(self):
            name, usual, value = option.name, option.default, getattr(self, option.name)
            if isinstance(usual, bool):
                flag(value, name)
            elif isinstance(usual, float):
                setattr(self, name, number(value, name, 0.0, np.inf))
            elif isinstance(usual, tuple):
                setattr(self, name, interval(value, name, -np.inf, np.inf))


class UniformNoise:
    """A task that begins at the file's pose at rest, with uniform noise on both."""

    model: Model
    home: Floats
    reset_noise_scale: float

    def start(self, drawn: Floats) -> tuple[Floats, Floats]:
        """The pose, and noise on both."""
        noise = spread(drawn, self.reset_noise_scale)
        return self.home + noise[:, : self.model.nq], noise[:, self.model.nq :]


class NormalVelocities(UniformNoise):
    """A task that begins at the file's pose with uniform noise, and normal noise on velocities."""

    def draw(self, rng: np.random.Generator, drawn: Floats) -> None:
        """Uniform numbers for positions, normal ones for velocities."""
        rng.random(out=drawn[: self.model.nq])
        rng.standard_normal(out=drawn[self.model.nq :])

    def start(self, drawn: Floats) -> tuple[Floats, Floats]:
        """The pose and its noise; the noise of velocities."""
        noise, nq = self.reset_noise_scale, self.model.nq
        return self.home + spread(drawn[:, :nq], noise), noise * drawn[:, nq:]


def spread(drawn: Floats, bound: float) -> Floats:
    """Numbers in [0, 1) to +-`bound`, with the bits of NumPy's `uniform`."""
    return -bound + 2.0 * bound * drawn


def _check_size(model: Model, least: tuple[int, int]) -> None:
    """Raise a ValueError if a robot lacks coordinates: compiled code would read beyond them."""
    if model.nq < least[0] or model.nv < least[1]:
        raise ValueError(
            f"xml_file: the task needs {least[0]} positions and {least[1]} velocities; the "
            f"robot has {model.nq} and {model.nv}"
        )


def _model(xml_file: Any) -> Model:
    """The robot of a file: one of Gymnasium's if there is one of that name."""
    own = Path(gym.__file__).parent / "envs" / "mujoco" / "assets" / str(xml_file)
    return _known(own) if own.is_file() else load(xml_file)


@lru_cache(maxsize=32)
def _known(path: Path) -> Model:
    """The robot of one of Gymnasium's files; what it lacks, docs/mujoco-tasks.md says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCarriedOver)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*settotalmass.*")
        return load(path)
