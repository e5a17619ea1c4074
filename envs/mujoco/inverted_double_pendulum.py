"""MujocoInvertedDoublePendulum-v5: Gymnasium's InvertedDoublePendulum-v5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.envs.mujoco.view import View

LOWEST = 1.0  # height of the tip at which the episode ends [m]
WISHED = 2.0  # height of the tip for which nothing is taken off [m]
MOST = 10.0  # of observed rates and forces


@dataclass(kw_only=True, eq=False)
class InvertedDoublePendulumTask(MujocoTask):
    """The options of Gymnasium's InvertedDoublePendulum-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        healthy_reward: for each step that does not end the episode.
        reset_noise_scale: bound of the noise on the first positions, deviation of that on rates.
    """

    xml_file: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5
    healthy_reward: float = 10.0
    reset_noise_scale: float = 0.1

    def check(self) -> None:
        """Reward and noise are not negative."""
        self.positive("healthy_reward", "reset_noise_scale")

    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Upright at rest, and noise."""
        noise, model = self.reset_noise_scale, self.model
        q = self.home + rng.uniform(-noise, noise, size=model.nq)
        return q, rng.standard_normal(model.nv) * noise

    def observe(self, view: View) -> Floats:
        """The cart's place, the poles' angles by sine and cosine, rates, the force of its stops."""
        q, rates = view.q, np.clip(view.v, -MOST, MOST)
        stop = np.clip(view.stops[:, :1], -MOST, MOST)
        return np.hstack([q[:, :1], np.sin(q[:, 1:]), np.cos(q[:, 1:]), rates, stop])

    def _tip(self, view: View) -> tuple[Floats, Floats]:
        """Place and height of the upper pole's end [m], shape (count,)."""
        site = self.model.sites["tip"]
        body, frames = self.model.body_id(site.body), view.frames
        place = frames.positions[:, body] + frames.rotations[:, body] @ site.position
        return place[:, 0], place[:, 2]

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Being up, less what the tip is off its place and how fast the poles turn."""
        x, y = self._tip(view)
        v1, v2 = view.v[:, 1], view.v[:, 2]
        terms = {
            "reward_survive": np.where(self.ended(view), 0.0, self.healthy_reward),
            "distance_penalty": -(0.01 * x**2 + (y - WISHED) ** 2),
            "velocity_penalty": -(1e-3 * v1**2 + 5e-3 * v2**2),
        }
        return terms, {}

    def ended(self, view: View) -> Flags:
        """Whose tip is down."""
        down: Flags = self._tip(view)[1] <= LOWEST
        return down


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
