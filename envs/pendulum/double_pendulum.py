"""dynenvs/DoublePendulum-v0: swing up a double pendulum with torques too weak to lift it.

The whole task stands here, and is the shortest one: what an observation consists of, the terms of
the reward, how an episode begins and ends (compiled, as `loop.py` wants it), options, and words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from dynenvs.envs.checks import choice
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.blocks import ANGLE_NOISE, RATE_NOISE, Block, symmetric
from dynenvs.envs.core.codes import TOO_FAST
from dynenvs.envs.core.declared import end_of, nothing, observation_of, reward_of, whole
from dynenvs.envs.core.loop import Call, TaskWorld, carry_out
from dynenvs.envs.core.motors import set_torques, write_torques
from dynenvs.envs.core.records import (
    Ending,
    Kernels,
    Part,
    RewardTerm,
    info_record,
    option_record,
    task_record,
)
from dynenvs.envs.core.rewards import closeness, effortless
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.vector import DynVectorEnv
from dynenvs.envs.robots import pendulum as robot
from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Floats, Ints, Records
from dynenvs.memory.records import record_type
from dynenvs.model.model import Model
from dynenvs.simd.elementary import cos, hypot, sin
from dynenvs.simulation.rng import uniform

ACTUATED = {"both": robot.JOINTS, "shoulder": ("shoulder",), "elbow": ("elbow",)}
VELOCITY_BOUND = 40.0  # beyond the drives' no-load speed [rad/s]
STILL_SCALE = 2.0  # speed of the joints together that leaves exp(-1) of the reward [rad/s]

# The compiled part: the terms of the reward, the parts of the observation, the start, the end


class Measured(NamedTuple):
    """What the terms are made of."""

    gate: float  # 0 where either link hangs, 1 where both are upright


@inlined
def _measure(w: TaskWorld) -> Measured:
    """Of either link 0 hanging, 1 upright; the product leaves nothing to one that hangs."""
    q = w.world.q
    return Measured(0.25 * (1.0 - cos(q[0])) * (1.0 - cos(q[0] + q[1])))


@inlined
def _still(w: TaskWorld, measured: Measured) -> float:
    """1 at rest."""
    return closeness(hypot(w.world.v[0], w.world.v[1]), STILL_SCALE)


TERMS = (
    RewardTerm("upright", 0.7, "both links upright", whole),
    RewardTerm("still", 0.2, "upright, and at rest", _still),
    RewardTerm("ease", 0.1, "upright, and without effort", effortless),
)


def _directions(task: Any) -> list[Block]:
    what = "cosine and sine of the angle"
    names = ("shoulder direction", "elbow direction")
    return [symmetric(name, 1, "-", what, 2, noise=ANGLE_NOISE) for name in names]


@inlined
def _write_directions(w: TaskWorld, out: Floats, at: int) -> int:
    nv = w.world.header[0].nv
    for i in range(nv):
        out[at + 2 * i] = cos(w.world.q[i])
        out[at + 2 * i + 1] = sin(w.world.q[i])
    return int(at + 2 * nv)


def _rates(task: Any) -> list[Block]:
    bound, what = VELOCITY_BOUND, "of shoulder and elbow"
    return [symmetric("joint velocities", bound, "rad/s", what, 2, noise=RATE_NOISE)]


@inlined
def _write_rates(w: TaskWorld, out: Floats, at: int) -> int:
    bound, nv = w.options[0].velocity_bound, w.world.header[0].nv
    for i in range(nv):
        out[at + i] = min(max(w.world.v[i], -bound), bound)
    return int(at + nv)


PARTS = (Part(_directions, _write_directions), Part(_rates, _write_rates))


@inlined
def _is_too_fast(w: TaskWorld) -> bool:
    """Whether a velocity is beyond its bound."""
    is_beyond = False
    for i in range(w.world.header[0].nv):
        if abs(w.world.v[i]) > w.options[0].velocity_bound:
            is_beyond = True
    return is_beyond


ENDINGS = (Ending(TOO_FAST, _is_too_fast),)


@inlined
def _begin(w: TaskWorld) -> None:
    """Hanging at rest with noise on angles and velocities."""
    generator = w.task["generator"]
    for i in range(w.world.header[0].nv):
        w.world.q[i] = uniform(generator, -w.options[0].noise, w.options[0].noise)
        w.world.v[i] = uniform(generator, -w.options[0].noise, w.options[0].noise)


OWN_INFO = record_type([("tip_height", "f8")])


@inlined
def _describe(w: TaskWorld, info: Bytes) -> None:
    """The height of the tip [m]; torques [N m] behind all scalars."""
    q, o = w.world.q, w.options[0]
    own = vector(info, 0, 1, OWN_INFO)[0]
    own.tip_height = -o.upper_length * cos(q[0]) - o.lower_length * cos(q[0] + q[1])
    write_torques(w.world, w.action, vector(info, o.info_bytes, w.action.shape[0], np.float64))


TASK = task_record(TERMS, [])
OPTIONS = option_record(
    TERMS,
    [
        ("upper_length", "f8"),  # [m]
        ("lower_length", "f8"),
        ("velocity_bound", "f8"),  # [rad/s]
    ],
)
INFO = info_record(TERMS, OWN_INFO.descr)
KERNELS = Kernels(
    _begin,
    set_torques,
    nothing,
    reward_of(_measure, TERMS),
    end_of(ENDINGS),
    nothing,
    observation_of(PARTS),
    _describe,
)


@entry(seconds=9)
def run(
    packed: Bytes,
    options: Annotated[Records, OPTIONS],
    constants: tuple[()],
    table: Annotated[Ints, 2],
    progress: Ints,
    thread: int,
    order: int,
) -> None:
    """Carry out `order` in the worlds that no other thread has taken (`loop.py`)."""
    call = Call(packed, options, constants, table, progress, thread, order)
    carry_out(KERNELS, TASK, call)


# Options and words


@cache
def _model(actuated: str) -> Model:
    return robot.build(ACTUATED[actuated])


@dataclass(kw_only=True, eq=False)
class DoublePendulumTask(Task):
    """Swing up and stay there.

    Args:
        actuated: where the motors are: "both", "shoulder" or "elbow".

    The other arguments are `Task`'s.
    """

    actuated: str = "both"
    reset_noise: float = 0.05
    timestep: float = 0.002
    frame_skip: int = 10

    run = staticmethod(run)
    record, option_record, info_record = TASK, OPTIONS, INFO
    reward_terms, parts = TERMS, PARTS
    position_gains = (2.0, 0.05, math.pi)

    def __post_init__(self) -> None:
        choice(self.actuated, "actuated", ACTUATED)
        super().__post_init__()
        self.options["upper_length"], self.options["lower_length"] = robot.LENGTHS
        self.options["velocity_bound"] = VELOCITY_BOUND

    def build(self) -> Model:
        """The rig with its motors."""
        return _model(self.actuated)


class DoublePendulumEnv(DynEnv):
    """A double pendulum swings itself up and stays there, with torques too weak to lift it.

    ## Description
    Two links hang on a fixed pivot; motors sit at the shoulder and at the elbow, or at one of
    them only (`actuated`: then it is the pendubot or the acrobot).  Masses, lengths, inertias and
    rotors are those of a real rig (`envs/robots/pendulum.py`); the torque limits are less than a
    third (shoulder) and about half (elbow) of what holding the links horizontal takes, so energy
    must be pumped in by swinging.

    ## Action Space
    `Box(-1, 1, (2,), float32)`, or `(1,)` with one motor: torque over effort limit, held for the
    control period of 20 ms.

    | Num | Joint                                          | Unit at 1 | Limit   |
    |-----|------------------------------------------------|-----------|---------|
    | 0   | shoulder (`actuated="both"` or `"shoulder"`)   | torque    | 1.2 N m |
    | 1   | elbow (`"both"`; number 0 with `"elbow"`)      | torque    | 0.8 N m |

    ## Observation Space
    `Box((6,), float64)`; every entry stays within its bounds.  Both angles are zero hanging and
    positive towards +x; the elbow's is relative to the upper link.

    | Num | Observation                      | Min | Max | Unit  | Noise |
    |-----|----------------------------------|-----|-----|-------|-------|
    | 0   | cosine of the shoulder angle     | -1  | 1   | -     | 0.006 |
    | 1   | sine of the shoulder angle       | -1  | 1   | -     | 0.006 |
    | 2   | cosine of the elbow angle        | -1  | 1   | -     | 0.006 |
    | 3   | sine of the elbow angle          | -1  | 1   | -     | 0.006 |
    | 4   | angular velocity of the shoulder | -40 | 40  | rad/s | 0.9   |
    | 5   | angular velocity of the elbow    | -40 | 40  | rad/s | 0.9   |

    ## Rewards
    The sum of the terms in `info`, each bounded.  With u = (1 - cos a) (1 - cos b) / 4, where a
    and b are the absolute angles of upper and lower link, a pendulum that stands upright and still
    earns close to 1 a step, a hanging one nothing.

    - `reward_upright` = 0.7 u
    - `reward_still` = 0.2 u exp(-(norm of the two velocities / 2 rad/s)^2)
    - `reward_ease` = 0.1 u (1 - mean square of the action)

    The leading factors are weights: the option `reward_weights` has others.

    ## Starting State
    Hanging at rest, with uniform noise of `reset_noise` on angles [rad] and velocities [rad/s].

    ## Episode End
    Terminated by a velocity beyond its bound.  Truncated after `max_episode_steps` control steps
    and where a step has no finite solution (the state then stays the last finite one).
    `info["end"]` says which; it is missing where the time limit was reached.

    ## Arguments
    - `actuated` = "both" | "shoulder" | "elbow": where the motors are.
    - `reset_noise` = 0.05.
    - `max_episode_steps`: 1,000 through `gym.make`, whose TimeLimit wrapper keeps it, and
      `gym.make_vec`; -1 for no limit, which is the class's own default.
    - `timestep` = 0.002: physics step [s], at most 0.02.
    - `frame_skip` = 10: physics steps in a control step.
    - `reward_weights` = None: other weights of some reward terms by their names, such as
      `{"ease": 0.3}`, within [-1000, 1000]; the others keep theirs.
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

    ## Version History
    - v0: first release.
    """

    task: DoublePendulumTask
    task_type: ClassVar[type[Task]] = DoublePendulumTask

    def readings(self) -> dict[str, str]:
        """Time, height of the tip against its greatest, torques."""
        info = self.worlds.info_rows[0]
        torques = ", ".join(f"{torque:+.2f}" for torque in info["torques"])
        return {
            **super().readings(),
            "tip": f"{info['tip_height']:.2f} / {sum(robot.LENGTHS):.2f} m",
            "torque": f"{torques} N m",
        }


class DoublePendulumVectorEnv(DynVectorEnv):
    """Many double pendulums at once; see `DoublePendulumEnv`."""

    env_type: ClassVar[type[DynEnv]] = DoublePendulumEnv
