"""MujocoHumanoidStandup-v5: Gymnasium's HumanoidStandup-v5 on hard contact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynenvs.envs.mujoco.floating import (
    OBSERVED,
    PLACED,
    FloatingHumanoid,
    contact_cost,
    observe,
    tell_place,
)
from dynenvs.envs.mujoco.look import Look, Seen, look_at_worlds, numbers, squares, told
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints

OPTIONS = numbers(
    *OBSERVED,
    "ctrl_cost_weight",
    "impact_cost_weight",
    "first_height",
    pairs=("impact_cost_range",),
)
INFO = told(*PLACED, "z_distance_from_origin", "reward_linup", "reward_quadctrl", "reward_impact")


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """Height over the length of a physics step, less the costs of control and impact, and 1."""
    o, r = vector(s.options, 0, 1, OPTIONS)[0], vector(s.info, 0, 1, INFO)[0]
    observe(s, o)
    tell_place(s, r)
    r.z_distance_from_origin = s.q[2] - o.first_height
    r.reward_linup = s.q[2] / s.timestep
    r.reward_quadctrl = -(o.ctrl_cost_weight * squares(s.action))
    r.reward_impact = -contact_cost(s, o.impact_cost_weight, o.impact_cost_range)
    s.reward[0] = 1.0 + r.reward_linup + r.reward_quadctrl + r.reward_impact
    return False


@dataclass(kw_only=True, eq=False)
class HumanoidStandupTask(FloatingHumanoid):
    """The options of Gymnasium's HumanoidStandup-v5; those not named here: `FloatingHumanoid`.

    Args:
        uph_cost_weight: Gymnasium has this option and does not use it; nor does this task.
        impact_cost_weight: of the sum of squared contact forces, which is subtracted.
        impact_cost_range: within which that cost is kept.
    """

    run = staticmethod(run)
    option_record, info_record, told_at_first = OPTIONS, INFO, 5
    xml_file: str = "humanoidstandup.xml"
    uph_cost_weight: float = 1.0
    impact_cost_weight: float = 0.5e-6
    impact_cost_range: tuple[float, float] = (-np.inf, 10.0)

    @property
    def first_height(self) -> float:
        """The torso's in the file's pose [m]."""
        return float(self.home[2])


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
