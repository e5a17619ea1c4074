"""dynenvs/ChainPendulum-v0: a chain of balls brings its tip to a spot and presses it there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from dynenvs.envs.checks import choice, whole
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.pendulum.chain_kernel import (
    INFO,
    ON_FLOOR,
    ON_WALL,
    OPTIONS,
    PARTS,
    PRESSED,
    TASK,
    TERMS,
    TIP_SPEED_BOUND,
    VELOCITY_BOUND,
    run,
)
from dynenvs.envs.robots import chain as robot
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model

FEWEST, MOST = 2, 15  # links
FLOOR_SHARE = {"both": 0.5, "floor": 1.0, "wall": 0.0}  # of the targets, by `surface`


@cache
def _model(links: int) -> Model:
    return robot.build(links)


@dataclass(kw_only=True, eq=False)
class ChainPendulumTask(Task):
    """Bring the tip to a target on the floor or on the wall and press it there.

    Args:
        links: of the chain.
        surface: where targets are: "both", "floor" or "wall".

    The other arguments are `Task`'s.
    """

    links: int = 5
    surface: str = "both"
    reset_noise: float = 0.05

    run = staticmethod(run)
    record, option_record, info_record = TASK, OPTIONS, INFO
    reward_terms, parts = TERMS, PARTS
    position_gains = (2.0, 0.05, math.pi)

    def __post_init__(self) -> None:
        self.links = whole(self.links, "links", FEWEST, MOST)
        choice(self.surface, "surface", FLOOR_SHARE)
        super().__post_init__()
        options = self.options
        options["links"] = self.links
        options["spacing"] = robot.LENGTH / self.links
        options["radius"] = robot.radius(self.links)
        options["weight"] = robot.MASS * robot.GRAVITY
        options["pivot"], options["wall"] = robot.PIVOT, robot.WALL
        options["floor_share"] = FLOOR_SHARE[self.surface]
        options["near"], options["far"] = ON_FLOOR
        options["low"], options["high"] = ON_WALL
        options["floor_feature"] = self._tip_feature("floor")
        options["wall_feature"] = self._tip_feature("wall")
        options["velocity_bound"] = VELOCITY_BOUND
        options["tip_speed_bound"] = TIP_SPEED_BOUND

    def _tip_feature(self, surface: str) -> int:
        """Number of the contact feature between the last ball and a surface."""
        tip, features = f"ball{self.links - 1}", self.model.candidates
        names = [geom.name for geom in self.model.geoms]
        pairs = [(names[f.geom_a], names[f.geom_b]) for f in features]
        return pairs.index((tip, surface))

    def build(self) -> Model:
        """The chain over its floor and before its wall."""
        return _model(self.links)

    def info_arrays(self) -> dict[str, tuple[int, ...]]:
        """Arrays in `info`: places and force as (x, z)."""
        places = {"tip": (2,), "target": (2,), "tip_force": (2,)}
        return {**places, **super().info_arrays()}


class ChainPendulumEnv(DynEnv):
    """A chain of balls brings its tip to a spot on the floor or the wall and presses it there.

    ## Description
    Links with a ball at the end of each hang on a pivot, 0.75 m above a floor and 0.8 m from a
    wall: Jain's pendulum of n balls, with a motor in every hinge (`envs/robots/chain.py`).  The
    chain is 1 m long and weighs 3 kg with any number of links; it cannot swing through below the
    pivot without bending.  Its balls touch the floor, the wall and, but for neighbours, each other,
    with friction (0.5).  Each episode has a target: a spot on the floor (0.35 to 0.6 m from below
    the pivot, on the wall's side, where a limp chain never comes to rest) or on the wall (0.4 to
    1.05 m above the floor).  The last ball, the tip, is to come to rest touching that spot, and to
    press on it with a tenth of the chain's weight (2.94 N) or more: no pose in the air does that.
    Targets are given as the place of the tip's centre when it touches.

    ## Action Space
    `Box(-1, 1, (5,), float32)`, one entry a link: torque over effort limit, held for the control
    period of 10 ms.  Each limit is 2.5 times the torque that holds the chain beyond it level.

    | Num | Hinge                       | Unit at 1 | Limit      |
    |-----|-----------------------------|-----------|------------|
    | 0   | of the first link, at pivot | torque    | 44.15 N m  |
    | 1   | of the second link          | torque    | 29.43 N m  |
    | 2   | of the third link           | torque    | 17.66 N m  |
    | 3   | of the fourth link          | torque    | 8.83 N m   |
    | 4   | of the fifth link           | torque    | 2.94 N m   |

    ## Observation Space
    `Box((17,), float64)`, or `(2 links + 7,)`; every entry stays within its bounds.  The first
    angle is zero hanging, the others are relative to the link before; positive angles turn towards
    the wall, +x.  Places are (x from below the pivot, z above the floor).

    | Num   | Observation                                   | Min  | Max  | Unit  | Noise |
    |-------|-----------------------------------------------|------|------|-------|-------|
    | 0     | angle of the first hinge                      | -3.1 | 3.1  | rad   | 0.006 |
    | 1-4   | angles of the others                          | -2.2 | 2.2  | rad   | 0.006 |
    | 5-9   | angular velocities of the hinges              | -60  | 60   | rad/s | 0.9   |
    | 10    | x of the tip's centre                         | -1   | 0.8  | m     | 0.01  |
    | 11    | z of the tip's centre                         | 0    | 1.75 | m     | 0.01  |
    | 12-13 | velocity of the tip's centre, x and z         | -20  | 20   | m/s   | 0.06  |
    | 14    | x of the target                               | 0.35 | 0.8  | m     | -     |
    | 15    | z of the target                               | 0    | 1.05 | m     | -     |
    | 16    | force on the target's surface over the weight | 0    | 10   | -     | -     |

    The force is the tip's on the floor or on the wall, whichever has the target, as a mean over the
    last control period.

    ## Rewards
    The sum of the terms in `info`, each bounded.  With d the tip's distance to the target, F the
    force on the target's surface and r = exp(-(d / 5 cm)^2), a tip that rests and presses on its
    spot earns close to 1 a step, one 15 cm away less than a tenth.

    - `reward_approach` = 0.1 exp(-(d / 0.6 m)^2)
    - `reward_reach` = 0.4 r
    - `reward_press` = 0.3 r min(F / (tenth of the weight), 1)
    - `reward_still` = 0.1 r exp(-(speed of the tip / 0.2 m/s)^2)
    - `reward_ease` = 0.1 r (1 - mean square of the action)

    The leading factors are weights: the option `reward_weights` has others.

    ## Starting State
    Stretched out level, away from the wall, with uniform noise of `reset_noise` on each link's own
    angle [rad] and rate [rad/s].  The target is drawn.

    ## Episode End
    Terminated by a hinge's velocity beyond its bound or a tip faster than its own.  Truncated after
    `max_episode_steps` control steps and where a step has no finite solution (the state then stays
    the last finite one).  `info["end"]` says which; it is missing where the time limit was reached.

    ## Arguments
    - `links` = 5: from 2 to 15.
    - `surface` = "both" | "floor" | "wall": where targets are.
    - `reset_noise` = 0.05.
    - `max_episode_steps`: 1,000 through `gym.make`, whose TimeLimit wrapper keeps it, and
      `gym.make_vec`; -1 for no limit, which is the class's own default.
    - `timestep` = 0.005: physics step [s], at most 0.02.
    - `frame_skip` = 2: physics steps in a control step.
    - `reward_weights` = None: other weights of some reward terms by their names, such as
      `{"press": 0.5}`, within [-1000, 1000]; the others keep theirs.
    - `integrator` = "euler" | "midpoint": of first or of second order (docs/contact.md).
    - `observation_noise` = 0: scale of normal noise on observations, with the standard deviations
      under "Noise" above; then `info["privileged"]` has the observation without it.
    - `action_noise` = 0: standard deviation of noise on torques, over their limits, drawn in each
      control step.
    - `action_delay` = 0: control steps by which actions act late, at most 8, or a range (low, high)
      from which each episode draws; until the first one arrives, the action 0 acts.
    - `motor_strength_range` = (1, 1): factor on each motor's torque, drawn at each reset.
    - `control` = "torque" | "position": actions are then targets of PD motors, hanging plus the
      action times `action_scale` = pi rad.  `stiffness` and `damping` are 2/rad and 0.05 s/rad
      times the torque limits unless given [N m/rad], [N m s/rad], one number or one a motor
      (docs/disturbances.md).
    - `starts` = None: a file of states, as `dynenvs starts` writes it, in which episodes begin;
      `starts_share` = 1: share of those that do.
    - `observation_dtype` = "float64", or "float32": to which observations are rounded.
    - `render_mode` = None | "human" | "rgb_array"; `width` = 960, `height` = 540.

    `info` tells, besides: `tip`, `target` (x, z) [m], `tip_distance` [m], `pressure` [N], the force
    on the tip by floor and wall `tip_force` (x, z) [N], `torques` [N m].

    ## Version History
    - v0: first release.
    """

    task: ChainPendulumTask
    task_type: ClassVar[type[Task]] = ChainPendulumTask

    def readings(self) -> dict[str, str]:
        """Time, distance to the target, force on its surface."""
        info = self.worlds.info_rows[0]
        enough = PRESSED * robot.MASS * robot.GRAVITY
        return {
            **super().readings(),
            "distance": f"{100 * info['tip_distance']:.1f} cm",
            "pressure": f"{info['pressure']:.1f} / {enough:.1f} N",
        }

    @property
    def targets(self) -> Floats:
        """Where the tip shall be [m], shape (1, 3)."""
        x, z = self.worlds.info_rows["target"][0]
        return np.array([[x, 0.0, z]])


class ChainPendulumVectorEnv(DynVectorEnv):
    """Many chain pendulums at once; see `ChainPendulumEnv`."""

    env_type: ClassVar[type[DynEnv]] = ChainPendulumEnv
