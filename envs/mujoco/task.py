"""What Gymnasium's MuJoCo tasks have in common: a robot from XML, its spaces, how it is moved.

A task is one file beside this one: a dataclass whose fields are the options of Gymnasium's
environment, by the same names.  It says in NumPy, for all worlds at once, how an episode begins,
what is observed, what is earned and when it ends.  `batch.py` steps the worlds.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import number, typed, whole
from dynenvs.envs.core.limit import NO_LIMIT, episode_limit
from dynenvs.envs.mujoco.view import View
from dynenvs.model.actuators import actuator_forces
from dynenvs.model.importing import NotCarriedOver, load
from dynenvs.model.model import Model
from dynenvs.registration import EPISODE_STEPS
from dynenvs.simulation.worlds import Worlds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MOST_FRAMES = 1000


@dataclass(kw_only=True, eq=False)
class MujocoTask(ABC):
    """A robot from an XML file, and what is asked of it.

    Args:
        xml_file: name of one of Gymnasium's files, or a path; a robot of your own must have the
            coordinates that the task speaks of.
        frame_skip: physics steps in a control step.
        max_episode_steps: control steps until an episode is truncated, counted by the environment
            itself.  -1 sets no limit; None is the limit that the task is registered with.
        observation_dtype: "float64", or "float32", to which observations are rounded.

    Attributes:
        model: the robot and its ground; its timestep is the file's.
        home: the file's pose, shape (nq,).
        dt: control period [s].
        observation_space, action_space: of one world; actions are the motors' controls.

    Raises:
        ValueError: an option out of its range.
        ModelError: the file is missing or broken.
        ImportError: without the mujoco package, which reads it.
    """

    bonus: ClassVar[float] = 0.0  # of every step, besides the terms
    episode_steps: ClassVar[int] = EPISODE_STEPS  # of an episode, as registered
    xml_file: str = ""
    frame_skip: int = 5
    max_episode_steps: int | None = NO_LIMIT
    observation_dtype: str = "float64"

    def __post_init__(self) -> None:
        self.frame_skip = whole(self.frame_skip, "frame_skip", 1, MOST_FRAMES)
        self.max_episode_steps = episode_limit(self.max_episode_steps, self.episode_steps)
        self.check()
        self.model = _model(self.xml_file)
        self.home: Floats = self.model.keyframes["qpos0"].q
        self.dt = self.model.timestep * self.frame_skip
        ranges = np.array([motor.control_range for motor in self.model.actuators])
        low, high = ranges.astype(np.float32).T
        self.action_space = gym.spaces.Box(low, high, dtype=np.float32)
        size = self.observe(View(Worlds(self.model, 1))).shape[1]
        space = gym.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.observation_space = typed(space, self.observation_dtype)
        # A servo's force follows its joint from step to step, a torque motor's does not
        laws = [(*motor.gain[1:], *motor.bias) for motor in self.model.actuators]
        self._is_steady = not np.any(laws)

    # What a task says

    def check(self) -> None:  # noqa: B027 (a task need not have options of its own)
        """Make sure of the options.

        Raises:
            ValueError: one is out of its range.
        """

    @abstractmethod
    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Positions and velocities at which an episode begins, shapes (nq,) and (nv,).

        Drawn as Gymnasium draws them: the same seed begins in the same state.
        """

    @abstractmethod
    def observe(self, view: View) -> Floats:
        """What each world shows, shape (count, size)."""

    @abstractmethod
    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Terms of the reward, which is their sum, and the rest of `info`; of shape (count,).

        Args:
            before: what `mark` gave at the beginning of the control step.
            view: of the worlds as they are now.
            actions: as they were given, shape (count, nu).
        """

    def mark(self, view: View) -> Floats:
        """What `score` needs to know of the beginning of a step; positions, shape (count, nq)."""
        return view.q.copy()

    def ended(self, view: View) -> Flags:
        """Whose episode is over, shape (count,)."""
        return np.zeros(len(view), np.bool_)

    def begun(self, view: View) -> dict[str, Floats]:
        """What `info` says at the beginning of an episode, of shape (count,)."""
        return {}

    # What follows from it

    def advance(self, worlds: Worlds, actions: Floats, mask: Flags) -> None:
        """One control step of those worlds.

        Raises:
            WorldsError: some have no solution.
        """
        calls, steps = (1, self.frame_skip) if self._is_steady else (self.frame_skip, 1)
        for _ in range(calls):
            forces = actuator_forces(self.model, actions, worlds.q, worlds.v)
            worlds.step(forces, steps, mask=mask)

    def positive(self, *names: str) -> None:
        """Make sure that these options are numbers that are not negative."""
        for name in names:
            setattr(self, name, number(getattr(self, name), name, 0.0, np.inf))


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
