"""MujocoHumanoidStandup-v5: Gymnasium's HumanoidStandup-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynenvs.envs.mujoco.floating import FloatingHumanoid, cost_range
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import Floats
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.envs.mujoco.view import View


@dataclass(kw_only=True, eq=False)
class HumanoidStandupTask(FloatingHumanoid):
    """The options of Gymnasium's HumanoidStandup-v5; those not named here: `FloatingHumanoid`.

    Args:
        uph_cost_weight: Gymnasium has this option and does not use it; nor does this task.
        impact_cost_weight: of the sum of squared contact forces, which is subtracted.
        impact_cost_range: within which that cost is kept.
    """

    bonus: ClassVar[float] = 1.0
    xml_file: str = "humanoidstandup.xml"
    uph_cost_weight: float = 1.0
    impact_cost_weight: float = 0.5e-6
    impact_cost_range: tuple[float, float] = (-np.inf, 10.0)

    def check(self) -> None:
        """Weights are not negative, ranges have two ends."""
        super().check()
        self.positive("uph_cost_weight", "impact_cost_weight")
        cost_range(self, "impact_cost_range")

    def score(
        self, before: Floats, view: View, actions: Floats
    ) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """Height over the length of a physics step, less the costs of control and impact."""
        impact = self.contact_cost(view, self.impact_cost_weight, self.impact_cost_range)
        terms = {
            "reward_linup": view.q[:, 2] / self.model.timestep,
            "reward_quadctrl": -self.control_cost(actions),
            "reward_impact": -impact,
        }
        return terms, self.begun(view)

    def begun(self, view: View) -> dict[str, Floats]:
        """Where it is, and how long its tendons are."""
        height = view.q[:, 2] - self.home[2]
        return {**super().begun(view), "z_distance_from_origin": height}


class HumanoidStandupEnv(MujocoEnv):
    """Stand up from lying; Gymnasium's HumanoidStandup-v5, number for number.

    ## Action space

    `Box(-0.4, 0.4, (17,), float32)`: controls of the motors in the order of the file: abdomen (y,
    z, x), right hip (x, z, y) and knee, left hip (x, z, y) and knee, right shoulder (1, 2) and
    elbow, left shoulder (1, 2) and elbow; times their gears they are torques [N m].

    ## Observation space

    `Box(-inf, inf, (348,), float64)`.

    | number | what | unit |
    | --- | --- | --- |
    | 0 | height of the torso | m |
    | 1-4 | its orientation, a quaternion (w, x, y, z) | |
    | 5-21 | angles of the 17 joints in the order of the file | rad |
    | 22-24 | velocity of the torso, world axes | m/s |
    | 25-27 | its angular velocity, its own axes | rad/s |
    | 28-44 | rates of the joints | rad/s |
    | 45-174 | `cinert`: inertia (6), mass times place (3), mass of 13 bodies | kg m^2, kg m, kg |
    | 175-252 | `cvel`: angular and linear velocity of 13 bodies | rad/s, m/s |
    | 253-269 | `qfrc_actuator`: torques of the joints | N m |
    | 270-347 | `cfrc_ext`: moment and force of contacts on 13 bodies | N m, N |

    All of the bodies is about the centre of mass of the whole robot, world axes.  Four options
    `include_..._in_observation` leave parts out; with
    `exclude_current_positions_from_observation=False` x and y [m] come first.

    ## Rewards

    `reward_linup` (height of the torso over the length of a physics step), `reward_quadctrl`
    (`-ctrl_cost_weight` times the sum of squared actions), `reward_impact` (`-impact_cost_weight`
    times the sum of squared `cfrc_ext`, within `impact_cost_range`), and 1.

    ## Starting state

    Lying at rest as the file has it, both with uniform noise in +-`reset_noise_scale`: the same
    state as Gymnasium's for the same seed.

    ## Episode end

    Truncated after 1000 steps by `gym.make`; nothing terminates it.

    ## Arguments

    `xml_file`, `frame_skip`, `uph_cost_weight` (without effect, as in Gymnasium),
    `ctrl_cost_weight`, `impact_cost_weight`, `impact_cost_range`, `reset_noise_scale` and five that
    say what is observed.

    ## What is different

    Contact and joint stops are hard, so that contact forces are those of rigid bodies; contact
    begins at touch (the file's margin of 1 mm is left out); velocities are stepped by the
    semi-implicit Euler rule; quantities of bodies are those of the state that is observed, where
    MuJoCo's are those of the physics step before.
    """

    task_type = HumanoidStandupTask


class HumanoidStandupVectorEnv(MujocoVectorEnv):
    """Many humanoids; see `HumanoidStandupEnv`."""

    env_type = HumanoidStandupEnv
