"""MujocoInvertedPendulum-v5: Gymnasium's InvertedPendulum-v5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Flags, Floats, MujocoTask
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.envs.mujoco.view import View

UPRIGHT = 0.2  # how far the pole may lean [rad]


@dataclass(kw_only=True, eq=False)
class InvertedPendulumTask(MujocoTask):
    """The options of Gymnasium's InvertedPendulum-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        reset_noise_scale: bound of the noise on the first state.
    """

    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01

    def check(self) -> None:
        """The noise is not negative."""
        self.positive("reset_noise_scale")

    def start(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Upright at rest, and uniform noise."""
        noise, model = self.reset_noise_scale, self.model
        q = self.home + rng.uniform(-noise, noise, size=model.nq)
        return q, rng.uniform(-noise, noise, size=model.nv)

    def observe(self, view: View) -> Floats:
        """Positions and velocities."""
        return np.hstack([view.q, view.v])

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """One for each step that does not end the episode."""
        return {"reward_survive": np.where(self.ended(view), 0.0, 1.0)}, {}

    def ended(self, view: View) -> Flags:
        """Whose pole leans."""
        leans: Flags = np.abs(view.q[:, 1]) > UPRIGHT
        return leans


class InvertedPendulumEnv(MujocoEnv):
    """Balance a pole on a cart; Gymnasium's InvertedPendulum-v5, number for number.

    ## Action space

    `Box(-3, 3, (1,), float32)`: control of the motor; times the gear of 100 it is the force on the
    cart [N].

    ## Observation space

    `Box(-inf, inf, (4,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0, 1 | position of the cart, angle of the pole | m, rad |
    | 2, 3 | their rates | m/s, rad/s |

    ## Rewards

    `reward_survive`: 1 for each step that does not end the episode.

    ## Starting state

    Upright at rest with uniform noise in +-`reset_noise_scale`: the same state as Gymnasium's for
    the same seed.

    ## Episode end

    Terminated when the pole leans by more than 0.2 rad.  Truncated after 1000 steps by `gym.make`.

    ## Arguments

    `xml_file`, `frame_skip`, `reset_noise_scale`.

    ## What is different

    The cart's stops are hard; velocities are stepped by the semi-implicit Euler rule.
    """

    task_type = InvertedPendulumTask


class InvertedPendulumVectorEnv(MujocoVectorEnv):
    """Many carts with poles; see `InvertedPendulumEnv`."""

    env_type = InvertedPendulumEnv
