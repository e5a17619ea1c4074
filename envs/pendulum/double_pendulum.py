"""dynenvs/DoublePendulum-v0: swing up a double pendulum with torques too weak to lift it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import gymnasium as gym
import numpy as np

from dynenvs.envs.checks import choice
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.pendulum.double_kernel import OPTIONS, READING, TASK, run
from dynenvs.envs.robots import pendulum as robot
from dynenvs.model.model import Model

ACTUATED = {"both": robot.JOINTS, "shoulder": ("shoulder",), "elbow": ("elbow",)}
VELOCITY_BOUND = 40.0  # beyond the drives' no-load speed [rad/s]


@cache
def _model(actuated: str) -> Model:
    return robot.build(ACTUATED[actuated])


@dataclass(kw_only=True, eq=False)
class DoublePendulumTask(Task):
    """Swing up and stay there.

    Args:
        actuated: where the motors are: "both", "shoulder" or "elbow".

    The other arguments are `Task`'s.
    """

    actuated: str = "both"
    reset_noise: float = 0.05
    timestep: float = 0.002
    frame_skip: int = 10

    run = staticmethod(run)
    record, option_record, reading_record = TASK, OPTIONS, READING

    def __post_init__(self) -> None:
        choice(self.actuated, "actuated", ACTUATED)
        super().__post_init__()
        self.options["motors"] = self.model.nu
        self.options["upper_length"], self.options["lower_length"] = robot.LENGTHS
        self.options["velocity_bound"] = VELOCITY_BOUND

    def build(self) -> Model:
        """The rig with its motors."""
        return _model(self.actuated)

    def bounds(self) -> gym.spaces.Box:
        """Cosine and sine of the angles, velocities."""
        high = np.array([1.0, 1.0, 1.0, 1.0, VELOCITY_BOUND, VELOCITY_BOUND])
        return gym.spaces.Box(-high, high, dtype=np.float64)


class DoublePendulumEnv(DynEnv):
    """A double pendulum swings itself up and stays there, with torques too weak to lift it.

    ## Description
    Two links hang on a fixed pivot; motors sit at the shoulder and at the elbow, or at one of
    them only (`actuated`: then it is the pendubot or the acrobot).  Masses, lengths, inertias and
    rotors are those of a real rig (`envs/robots/pendulum.py`); the torque limits are less than a
    third (shoulder) and about half (elbow) of what holding the links horizontal takes, so energy
    must be pumped in by swinging.

    ## Action Space
    `Box(-1, 1, (2,), float32)`, or `(1,)` with one motor: torque over effort limit, held for the
    control period of 20 ms.

    | Num | Joint                                          | Unit at 1 | Limit   |
    |-----|------------------------------------------------|-----------|---------|
    | 0   | shoulder (`actuated="both"` or `"shoulder"`)   | torque    | 1.2 N m |
    | 1   | elbow (`"both"`; number 0 with `"elbow"`)      | torque    | 0.8 N m |

    ## Observation Space
    `Box((6,), float64)`; every entry stays within its bounds.  Both angles are zero hanging and
    positive towards +x; the elbow's is relative to the upper link.

    | Num | Observation                        | Min | Max | Unit  |
    |-----|------------------------------------|-----|-----|-------|
    | 0   | cosine of the shoulder angle       | -1  | 1   | -     |
    | 1   | sine of the shoulder angle         | -1  | 1   | -     |
    | 2   | cosine of the elbow angle          | -1  | 1   | -     |
    | 3   | sine of the elbow angle            | -1  | 1   | -     |
    | 4   | angular velocity of the shoulder   | -40 | 40  | rad/s |
    | 5   | angular velocity of the elbow      | -40 | 40  | rad/s |

    ## Rewards
    The sum of the terms in `info`, each bounded.  With u = (1 - cos a) (1 - cos b) / 4, where a
    and b are the absolute angles of upper and lower link, a pendulum that stands upright and still
    earns close to 1 a step, a hanging one nothing.

    - `reward_upright` = 0.7 u
    - `reward_still` = 0.2 u exp(-(norm of the two velocities / 2 rad/s)^2)
    - `reward_ease` = 0.1 u (1 - mean square of the action)

    ## Starting State
    Hanging at rest, with uniform noise of `reset_noise` on angles [rad] and velocities [rad/s].

    ## Episode End
    Terminated by a velocity beyond its bound.  Truncated after `max_episode_steps` control steps
    and where a step has no finite solution (the state then stays the last finite one).
    `info["end"]` says which; of a time limit it says nothing, whoever counts the steps.

    ## Arguments
    - `actuated` = "both" | "shoulder" | "elbow": where the motors are.
    - `reset_noise` = 0.05.
    - `max_episode_steps`: 1,000 through `gym.make`, whose TimeLimit wrapper keeps it, and
      `gym.make_vec`; -1 for no limit, as the class itself has none unless told.
    - `timestep` = 0.002: physics step [s], at most 0.02.
    - `frame_skip` = 10: physics steps in a control step.
    - `integrator` = "euler" | "midpoint": of first or of second order (docs/contact.md).
    - `render_mode` = None | "human" | "rgb_array"; `width` = 960, `height` = 540.

    ## Version History
    - v0: first release.
    """

    task: DoublePendulumTask
    task_type: ClassVar[type[Task]] = DoublePendulumTask

    def readings(self) -> dict[str, str]:
        """Time, height of the tip against its greatest, torques."""
        reading = self.worlds.readings[0]
        torques = ", ".join(f"{torque:+.2f}" for torque in reading["torques"])
        return {
            **super().readings(),
            "tip": f"{reading['tip_height']:.2f} / {sum(robot.LENGTHS):.2f} m",
            "torque": f"{torques} N m",
        }


class DoublePendulumVectorEnv(DynVectorEnv):
    """Many double pendulums at once; see `DoublePendulumEnv`."""

    env_type: ClassVar[type[DynEnv]] = DoublePendulumEnv
