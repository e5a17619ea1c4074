"""MujocoInvertedPendulum-v5: Gymnasium's InvertedPendulum-v5."""

from __future__ import annotations

from dataclasses import dataclass

from dynenvs.envs.mujoco.look import Look, Seen, copy_to, look_at_worlds, told
from dynenvs.envs.mujoco.single import MujocoEnv
from dynenvs.envs.mujoco.task import MujocoTask, UniformNoise
from dynenvs.envs.mujoco.vector import MujocoVectorEnv
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Ints

UPRIGHT = 0.2  # how far the pole may lean [rad]
INFO = told("reward_survive")


@entry
def run(packed: Bytes, rows: Bytes, buffers: Bytes, a: Look, progress: Ints, thread: int) -> None:
    """Look at the worlds that no other thread has taken (`look.py`)."""
    look_at_worlds(_look, packed, rows, a, progress, thread)


@inlined
def _look(s: Seen) -> bool:
    """Positions and velocities; one for each step that does not end the episode."""
    at = copy_to(s.observation, 0, s.q, 0)
    copy_to(s.observation, at, s.v, 0)
    leans = bool(abs(s.q[1]) > UPRIGHT)
    s.reward[0] = vector(s.info, 0, 1, INFO)[0].reward_survive = 0.0 if leans else 1.0
    return leans


@dataclass(kw_only=True, eq=False)
class InvertedPendulumTask(UniformNoise, MujocoTask):
    """The options of Gymnasium's InvertedPendulum-v5.

    Args:
        xml_file, frame_skip: see `MujocoTask`.
        reset_noise_scale: bound of the noise on the first state.
    """

    run = staticmethod(run)
    least = (2, 1)
    info_record = INFO
    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01


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
