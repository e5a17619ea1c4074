"""MujocoReacher-v5: Gymnasium's Reacher-v5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynenvs.envs.mujoco.look import (
    Look,
    Seen,
    copy_to,
    distance,
    look_at_worlds,
    numbers,
    squares,
    told,
)
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Floats, MujocoTask, spread
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints
from dynenvs.simd.elementary import cos, sin

NEAREST = 0.2  # radius of the disc in which the target lies [m]

OPTIONS = numbers("reward_dist_weight", "reward_control_weight")
INFO = told("reward_dist", "reward_ctrl")


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """The arm's angles by cosine and sine, the target, the arm's rates, and what is between.

    Distance and control, both as costs.
    """
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    finger, target = s.bodies.origins[s.i, s.places[0]], s.bodies.origins[s.i, s.places[1]]
    for k in range(2):
        s.observation[k], s.observation[2 + k] = cos(s.q[k]), sin(s.q[k])
    at = copy_to(s.observation, 4, s.q, 2)
    s.observation[at], s.observation[at + 1] = s.v[0], s.v[1]
    s.observation[at + 2], s.observation[at + 3] = finger[0] - target[0], finger[1] - target[1]
    r.reward_dist = -distance(finger, target) * o.reward_dist_weight
    r.reward_ctrl = -squares(s.action) * o.reward_control_weight
    s.reward[0] = r.reward_dist + r.reward_ctrl
    return False


@dataclass(kw_only=True, eq=False)
class ReacherTask(MujocoTask):
    """The options of Gymnasium's Reacher-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        reward_dist_weight: of the distance from fingertip to target [1/m].
        reward_control_weight: of the sum of squared actions.
    """

    run = staticmethod(run)
    least = (2, 2)
    option_record, info_record, sees_poses = OPTIONS, INFO, True
    episode_steps: ClassVar[int] = 50
    xml_file: str = "reacher.xml"
    frame_skip: int = 2
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0

    def draw(self, rng: np.random.Generator, drawn: Floats) -> None:
        """The target is drawn until it lies in its disc."""
        nq = self.model.nq
        rng.random(out=drawn[:nq])
        goal = drawn[nq - 2 : nq]
        rng.random(out=goal)
        while not np.linalg.norm(spread(goal, NEAREST)) < NEAREST:
            rng.random(out=goal)
        rng.random(out=drawn[nq:])

    def start(self, drawn: Floats) -> tuple[Floats, Floats]:
        """The file's pose with a little noise, and the target anywhere in its disc."""
        nq = self.model.nq
        q, v = spread(drawn[:, :nq], 0.1) + self.home, spread(drawn[:, nq:], 0.005)
        q[:, -2:] = spread(drawn[:, nq - 2 : nq], NEAREST)
        v[:, -2:] = 0.0
        return q, v

    @property
    def size(self) -> int:
        """Two numbers of each angle, the target, the arm's rates, and what is between."""
        return self.model.nq + 6

    @property
    def places(self) -> list[int]:
        """Fingertip and target."""
        return [self.model.body_id(name) for name in ("fingertip", "target")]


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
