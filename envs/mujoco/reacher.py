"""MujocoReacher-v5: Gymnasium's Reacher-v5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Floats, MujocoTask
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.envs.mujoco.view import View

NEAREST = 0.2  # radius of the disc in which the target lies [m]


@dataclass(kw_only=True, eq=False)
class ReacherTask(MujocoTask):
    """The options of Gymnasium's Reacher-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        reward_dist_weight: of the distance from fingertip to target [1/m].
        reward_control_weight: of the sum of squared actions.
    """

    episode_steps: ClassVar[int] = 50
    xml_file: str = "reacher.xml"
    frame_skip: int = 2
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0

    def check(self) -> None:
        """The weights are not negative."""
        self.positive("reward_dist_weight", "reward_control_weight")

    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The file's pose with a little noise, and the target anywhere in its disc."""
        q = rng.uniform(-0.1, 0.1, size=self.model.nq) + self.home
        while True:
            goal = rng.uniform(-NEAREST, NEAREST, size=2)
            if np.linalg.norm(goal) < NEAREST:
                break
        q[-2:] = goal
        v = rng.uniform(-0.005, 0.005, size=self.model.nv)
        v[-2:] = 0.0
        return q, v

    def observe(self, view: View) -> Floats:
        """The arm's angles by cosine and sine, the target, the arm's rates, and what is between."""
        q, v = view.q, view.v
        angles, between = q[:, :2], self._between(view)[:, :2]
        return np.hstack([np.cos(angles), np.sin(angles), q[:, 2:], v[:, :2], between])

    def _between(self, view: View) -> Floats:
        """From target to fingertip [m], shape (count, 3)."""
        places = view.frames.positions
        finger, target = (self.model.body_id(name) for name in ("fingertip", "target"))
        between: Floats = places[:, finger] - places[:, target]
        return between

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Distance and control, both as costs."""
        distance = np.linalg.norm(self._between(view), axis=1)
        terms = {
            "reward_dist": -distance * self.reward_dist_weight,
            "reward_ctrl": -np.square(actions).sum(axis=1) * self.reward_control_weight,
        }
        return terms, {}


class ReacherEnv(MujocoEnv):
    """Reach a target in the plane with an arm of two links; Gymnasium's Reacher-v5.

    ## Action space

    `Box(-1, 1, (2,), float32)`: controls of the motors of shoulder and elbow; times the gear of 200
    they are torques [N m].

    ## Observation space

    `Box(-inf, inf, (10,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0, 1 | cosine of the angles of shoulder and elbow | |
    | 2, 3 | their sine | |
    | 4, 5 | place of the target, x and y | m |
    | 6, 7 | rates of shoulder and elbow | rad/s |
    | 8, 9 | from the target to the fingertip, x and y | m |

    ## Rewards

    `reward_dist` (`-reward_dist_weight` times the distance [m]) and `reward_ctrl`
    (`-reward_control_weight` times the sum of squared actions).

    ## Starting state

    The file's pose with uniform noise in +-0.1 rad and +-0.005 rad/s, the target uniform in a disc
    of 0.2 m: the same state as Gymnasium's for the same seed.

    ## Episode end

    Truncated after 50 steps by `gym.make`; nothing terminates it.

    ## Arguments

    `xml_file`, `frame_skip`, `reward_dist_weight`, `reward_control_weight`.

    ## What is different

    The elbow's stops are hard; velocities are stepped by the semi-implicit Euler rule.
    """

    task_type = ReacherTask


class ReacherVectorEnv(MujocoVectorEnv):
    """Many arms; see `ReacherEnv`."""

    env_type = ReacherEnv
