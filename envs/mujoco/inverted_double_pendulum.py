"""MujocoInvertedDoublePendulum-v5: Gymnasium's InvertedDoublePendulum-v5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.mujoco.look import Look, Seen, clipped, look_at_worlds, numbers, told
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Floats, MujocoTask, NormalVelocities
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints
from dynenvs.simd.elementary import cos, sin

LOWEST = 1.0  # height of the tip at which the episode ends [m]
WISHED = 2.0  # height of the tip for which nothing is taken off [m]
MOST = 10.0  # of observed rates and forces

OPTIONS = numbers("healthy_reward", places=("tip",))
INFO = told("reward_survive", "distance_penalty", "velocity_penalty")


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """The cart's place, the poles' angles by sine and cosine, rates, the force of its stops.

    Being up, less what the tip is off its place and how fast the poles turn.
    """
    o, r, n = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0], s.q.shape[0]
    s.observation[0] = s.q[0]
    for k in range(1, n):
        s.observation[k], s.observation[n - 1 + k] = sin(s.q[k]), cos(s.q[k])
    for k in range(s.v.shape[0]):
        s.observation[2 * n - 1 + k] = clipped(s.v[k], -MOST, MOST)
    stop = s.stops[0] / s.timestep if s.stops.shape[0] > 0 else 0.0
    s.observation[2 * n - 1 + s.v.shape[0]] = clipped(stop, -MOST, MOST)
    p, R = s.bodies.origins[s.i, s.places[0]], s.bodies.rotations[s.i, s.places[0]]
    x = p[0] + (R[0] * o.tip[0] + R[1] * o.tip[1] + R[2] * o.tip[2])
    y = p[2] + (R[6] * o.tip[0] + R[7] * o.tip[1] + R[8] * o.tip[2])
    down = bool(y <= LOWEST)
    off, v1, v2 = y - WISHED, s.v[1], s.v[2]
    r.reward_survive = 0.0 if down else o.healthy_reward
    r.distance_penalty = -(0.01 * (x * x) + off * off)
    r.velocity_penalty = -(1e-3 * (v1 * v1) + 5e-3 * (v2 * v2))
    s.reward[0] = r.reward_survive + r.distance_penalty + r.velocity_penalty
    return down


@dataclass(kw_only=True, eq=False)
class InvertedDoublePendulumTask(NormalVelocities, MujocoTask):
    """The options of Gymnasium's InvertedDoublePendulum-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        healthy_reward: for each step that does not end the episode.
        reset_noise_scale: bound of the noise on the first positions, deviation of that on rates.
    """

    run = staticmethod(run)
    least = (3, 3)
    option_record, info_record, sees_poses = OPTIONS, INFO, True
    xml_file: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5
    healthy_reward: float = 10.0
    reset_noise_scale: float = 0.1

    @property
    def size(self) -> int:
        """Of the cart's place, two numbers of each angle, rates, and a force."""
        return 2 * self.model.nq + self.model.nv

    @property
    def places(self) -> list[int]:
        """The upper pole."""
        return [self.model.body_id(self.model.sites["tip"].body)]

    @property
    def tip(self) -> Floats:
        """The upper pole's end, its own axes [m], shape (3,)."""
        return np.array(self.model.sites["tip"].position)


class InvertedDoublePendulumEnv(MujocoEnv):
    """Balance two poles, one on the other, on a cart; Gymnasium's InvertedDoublePendulum-v5.

    ## Action space

    `Box(-1, 1, (1,), float32)`: control of the motor; times the gear of 500 it is the force on the
    cart [N].

    ## Observation space

    `Box(-inf, inf, (9,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0 | position of the cart | m |
    | 1, 2 | sine of the lower pole's angle, and of the upper one's to the lower | |
    | 3, 4 | their cosine | |
    | 5 to 7 | rates of the cart and of both angles, within +-10 | m/s, rad/s |
    | 8 | force of the cart's stops, within +-10 | N |

    ## Rewards

    `reward_survive`: `healthy_reward` for each step that does not end the episode;
    `distance_penalty`: `-(0.01 x^2 + (y - 2)^2)` for the tip at (x, y) [m]; `velocity_penalty`:
    `-(0.001 w1^2 + 0.005 w2^2)` for the rates of both angles [rad/s].

    ## Starting state

    Upright at rest with uniform noise in +-`reset_noise_scale` on positions, and normal noise of
    that deviation on rates: the same state as Gymnasium's for the same seed.

    ## Episode end

    Terminated when the tip is no higher than 1 m.  Truncated after 1000 steps by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `healthy_reward`, `reset_noise_scale`.

    ## What is different

    The cart's stops are hard, where MuJoCo's push from 1 cm before them on: their force is what a
    rigid cart needs over the last physics step.  Velocities are stepped by the semi-implicit Euler
    rule.
    """

    task_type = InvertedDoublePendulumTask


class InvertedDoublePendulumVectorEnv(MujocoVectorEnv):
    """Many carts with two poles; see `InvertedDoublePendulumEnv`."""

    env_type = InvertedDoublePendulumEnv
