"""MujocoPusher-v5: Gymnasium's Pusher-v5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynenvs.envs.mujoco.look import Look, Seen, distance, look_at_worlds, numbers, squares, told
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Floats, MujocoTask, spread
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints

NEAREST = 0.17  # of the object to its goal at the beginning [m]
ARM = 7  # joints

OPTIONS = numbers("reward_near_weight", "reward_dist_weight", "reward_control_weight")
INFO = told("reward_dist", "reward_ctrl", "reward_near")


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """The arm's angles and rates; places of fingertips, object and goal.

    Two distances and control, all as costs.
    """
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    for k in range(ARM):
        s.observation[k], s.observation[ARM + k] = s.q[k], s.v[k]
    at = s.bodies.origins[s.i]
    tips, thing, goal = at[s.places[0]], at[s.places[1]], at[s.places[2]]
    for k in range(3):
        s.observation[2 * ARM + k], s.observation[2 * ARM + 3 + k] = tips[k], thing[k]
        s.observation[2 * ARM + 6 + k] = goal[k]
    r.reward_dist = -distance(thing, goal) * o.reward_dist_weight
    r.reward_ctrl = -squares(s.action) * o.reward_control_weight
    r.reward_near = -distance(thing, tips) * o.reward_near_weight
    s.reward[0] = r.reward_dist + r.reward_ctrl + r.reward_near
    return False


@dataclass(kw_only=True, eq=False)
class PusherTask(MujocoTask):
    """The options of Gymnasium's Pusher-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        reward_near_weight: of the distance from fingertips to object [1/m].
        reward_dist_weight: of the distance from object to goal [1/m].
        reward_control_weight: of the sum of squared actions.
    """

    run = staticmethod(run)
    least = (ARM, ARM)
    option_record, info_record, sees_poses = OPTIONS, INFO, True
    episode_steps: ClassVar[int] = 100
    xml_file: str = "pusher_v5.xml"
    frame_skip: int = 5
    reward_near_weight: float = 0.5
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 0.1

    def draw(self, rng: np.random.Generator, drawn: Floats) -> None:
        """The object's place is drawn until it is away from its goal."""
        place = drawn[:2]
        while True:
            place[:] = rng.uniform(-0.3, 0.0), rng.uniform(-0.2, 0.2)
            if np.hypot(*place) > NEAREST:
                break
        rng.random(out=drawn[self.model.nq :])

    def start(self, drawn: Floats) -> tuple[Floats, Floats]:
        """The file's pose, the object somewhere away from its goal."""
        q, v = np.tile(self.home, (len(drawn), 1)), spread(drawn[:, self.model.nq :], 0.005)
        q[:, -4:-2], q[:, -2:] = drawn[:, :2], 0.0
        v[:, -4:] = 0.0
        return q, v

    @property
    def size(self) -> int:
        """The arm's angles and rates, and three places."""
        return 2 * ARM + 9

    @property
    def places(self) -> list[int]:
        """Fingertips, object and goal."""
        return [self.model.body_id(name) for name in ("tips_arm", "object", "goal")]


class PusherEnv(MujocoEnv):
    """Push a cylinder to its goal with an arm of seven joints; Gymnasium's Pusher-v5.

    ## Action space

    `Box(-2, 2, (7,), float32)`: torques of shoulder (pan, lift), upper arm (roll), elbow (flex),
    forearm (roll) and wrist (flex, roll) [N m].

    ## Observation space

    `Box(-inf, inf, (23,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0 to 6 | angles of the arm's joints, in the order of the actions | rad |
    | 7 to 13 | their rates | rad/s |
    | 14 to 16 | place of the fingertips' body | m |
    | 17 to 19 | place of the object | m |
    | 20 to 22 | place of the goal | m |

    ## Rewards

    `reward_dist` (`-reward_dist_weight` times the distance from object to goal [m]), `reward_ctrl`
    (`-reward_control_weight` times the sum of squared actions) and `reward_near`
    (`-reward_near_weight` times the distance from fingertips to object [m]).

    ## Starting state

    The file's pose, joint rates uniform in +-0.005 rad/s; the object anywhere in a field of 0.3 by
    0.4 m, 0.17 m from its goal at least: the same state as Gymnasium's for the same seed.

    ## Episode end

    Truncated after 100 steps by `gym.make`; nothing terminates it.

    ## Arguments

    `xml_file`, `frame_skip`, `reward_near_weight`, `reward_dist_weight`, `reward_control_weight`.

    ## What is different

    Contact begins at touch, not 2 mm before; stops are hard; velocities are stepped by the
    semi-implicit Euler rule.
    """

    task_type = PusherTask


class PusherVectorEnv(MujocoVectorEnv):
    """Many arms that push; see `PusherEnv`."""

    env_type = PusherEnv
