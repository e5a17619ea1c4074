"""dynenvs/DoublePendulum-v0: swing up a double pendulum with torques too weak to lift it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.compiled import inlined, kernel
from dynenvs.envs.base import FAILED_STEP, RUNNING, TIME_LIMIT, TOO_FAST, DynEnv, Observation
from dynenvs.envs.checks import choice
from dynenvs.envs.rewards import closeness, ease
from dynenvs.envs.robots import pendulum as robot
from dynenvs.layout import (
    Bytes,
    Floats,
    ModelView,
    Records,
    StateView,
    open_model,
    open_state,
    open_torques,
    record_type,
)
from dynenvs.model import Model
from dynenvs.rng import uniform
from dynenvs.timestep import DONE, clear_totals, step_apart

ACTUATED = {"both": robot.JOINTS, "shoulder": ("shoulder",), "elbow": ("elbow",)}
VELOCITY_BOUND = 40.0  # beyond the drives' no-load speed [rad/s]

# Reward weights; they sum to 1.  Stillness and ease count only as far as both links are up.
W_UPRIGHT, W_STILL, W_EASE = 0.7, 0.2, 0.1
STILL_SCALE = 2.0  # speed of the joints together that leaves exp(-1) [rad/s]

TASK = record_type(
    [
        ("generator", "u8"),
        ("steps", "i8"),
        ("reward_upright", "f8"),
        ("reward_still", "f8"),
        ("reward_ease", "f8"),
    ]
)

OPTIONS = record_type(
    [
        ("timestep", "f8"),
        ("frame_skip", "i8"),
        ("max_steps", "i8"),
        ("noise", "f8"),  # of angles [rad] and velocities [rad/s] at reset
        ("velocity_bound", "f8"),  # [rad/s]
    ]
)


@kernel
def start(packed: Bytes, row: Bytes, tasks: Records, options: Records) -> None:
    """Hanging at rest with noise on angles and velocities."""
    m = open_model(packed)
    s = open_state(m, row)
    t, noise = tasks[0], options[0].noise
    generator = tasks["generator"]
    for i in range(m.header[0].nv):
        s.q[i] = uniform(generator, -noise, noise)
        s.v[i] = uniform(generator, -noise, noise)
    t.steps = 0
    t.reward_upright = t.reward_still = t.reward_ease = 0.0


@kernel
def observe(packed: Bytes, row: Bytes, options: Records, observation: Floats) -> None:
    """(cosine and sine of each angle, velocities), within bounds."""
    m = open_model(packed)
    _observe(m, open_state(m, row), options[0], observation)


@inlined
def _observe(m: ModelView, s: StateView, o: Any, observation: Floats) -> None:
    nv = m.header[0].nv
    for i in range(nv):
        observation[2 * i] = math.cos(s.q[i])
        observation[2 * i + 1] = math.sin(s.q[i])
        observation[2 * nv + i] = min(max(s.v[i], -o.velocity_bound), o.velocity_bound)


@kernel
def advance(
    packed: Bytes,
    row: Bytes,
    buffer: Bytes,
    tasks: Records,
    options: Records,
    action: Floats,
    observation: Floats,
) -> int:
    """One control step; returns why the episode ended, RUNNING if it did not."""
    m = open_model(packed)
    s, tau = open_state(m, row), open_torques(m, buffer)
    t, o = tasks[0], options[0]
    motor = 0
    for i in range(m.header[0].nv):
        tau[i] = 0.0
        if m.dofs[i].actuated:
            action[motor] = min(max(action[motor], -1.0), 1.0)
            tau[i] = action[motor] * m.dofs[i].effort
            motor += 1
    clear_totals(m, s)
    solved = True
    for _ in range(o.frame_skip):
        if solved:
            solved = step_apart(packed, row, buffer, tau, o.timestep) == DONE
    t.steps += 1
    _reward(s, t, action)
    _observe(m, s, o, observation)
    if not solved:
        return FAILED_STEP
    for i in range(m.header[0].nv):
        if abs(s.v[i]) > o.velocity_bound:
            return TOO_FAST
    return TIME_LIMIT if t.steps >= o.max_steps else RUNNING


@inlined
def _reward(s: StateView, t: Any, action: Floats) -> None:
    # Of either link 0 hanging, 1 upright; the product leaves nothing to one that hangs.
    up = 0.25 * (1.0 - math.cos(s.q[0])) * (1.0 - math.cos(s.q[0] + s.q[1]))
    t.reward_upright = W_UPRIGHT * up
    t.reward_still = W_STILL * up * closeness(math.hypot(s.v[0], s.v[1]), STILL_SCALE)
    t.reward_ease = W_EASE * up * ease(action)


@cache
def _model(actuated: str) -> Model:
    return robot.build(ACTUATED[actuated])


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

    | Num | Observation                        | Min | Max | Unit  |
    |-----|------------------------------------|-----|-----|-------|
    | 0   | cosine of the shoulder angle       | -1  | 1   | -     |
    | 1   | sine of the shoulder angle         | -1  | 1   | -     |
    | 2   | cosine of the elbow angle          | -1  | 1   | -     |
    | 3   | sine of the elbow angle            | -1  | 1   | -     |
    | 4   | angular velocity of the shoulder   | -40 | 40  | rad/s |
    | 5   | angular velocity of the elbow      | -40 | 40  | rad/s |

    ## Rewards
    The sum of the terms in `info`, each bounded.  With u = (1 - cos a) (1 - cos b) / 4, where a
    and b are the absolute angles of upper and lower link, a pendulum that stands upright and still
    earns close to 1 a step, a hanging one nothing.

    - `reward_upright` = 0.7 u
    - `reward_still` = 0.2 u exp(-(norm of the two velocities / 2 rad/s)^2)
    - `reward_ease` = 0.1 u (1 - mean square of the action)

    ## Starting State
    Hanging at rest, with uniform noise of `reset_noise` on angles [rad] and velocities [rad/s].

    ## Episode End
    Terminated by a velocity beyond its bound.  Truncated after `max_episode_steps` control steps,
    and where a step has no finite solution (the state then stays the last finite one).
    `info["end"]` says which.

    ## Arguments
    - `actuated` = "both" | "shoulder" | "elbow": where the motors are.
    - `reset_noise` = 0.05, `max_episode_steps` = 1000.
    - `timestep` = 0.002: physics step [s], at most 0.02.
    - `frame_skip` = 10: physics steps in a control step.
    - `render_mode` = None | "human" | "rgb_array"; `width` = 960, `height` = 540.

    ## Version History
    - v0: first release.
    """

    def __init__(
        self,
        *,
        actuated: str = "both",
        render_mode: str | None = None,
        reset_noise: float = 0.05,
        max_episode_steps: int = 1000,
        timestep: float = 0.002,
        frame_skip: int = 10,
        width: int = 960,
        height: int = 540,
    ) -> None:
        self.actuated = choice(actuated, "actuated", ACTUATED)
        options = np.zeros(1, OPTIONS)
        options["velocity_bound"] = VELOCITY_BOUND
        high = np.array([1.0, 1.0, 1.0, 1.0, VELOCITY_BOUND, VELOCITY_BOUND])
        super().__init__(
            _model(self.actuated),
            np.zeros(1, TASK),
            options,
            gym.spaces.Box(-high, high, dtype=np.float64),
            frame_skip=frame_skip,
            timestep=timestep,
            reset_noise=reset_noise,
            max_episode_steps=max_episode_steps,
            render_mode=render_mode,
            width=width,
            height=height,
        )

    def _start(self, options: dict[str, Any]) -> None:
        start(self.model.packed, self._row, self._task, self._options)

    def _observe(self, observation: Observation) -> None:
        observe(self.model.packed, self._row, self._options, observation)

    def _advance(self, action: Floats, observation: Observation) -> tuple[float, int]:
        end = advance(
            self.model.packed,
            self._row,
            self._buffer,
            self._task,
            self._options,
            action,
            observation,
        )
        self._torque = action * self.model.effort_limit[self.model.actuated]
        t = self._task[0]
        return float(t["reward_upright"] + t["reward_still"] + t["reward_ease"]), end

    def _info(self) -> dict[str, Any]:
        t, q = self._task[0], self._rows["q"][0]
        return {
            "tip_height": float(_tip(q)[2]),
            "torques": self._torque.copy(),
            "reward_upright": float(t["reward_upright"]),
            "reward_still": float(t["reward_still"]),
            "reward_ease": float(t["reward_ease"]),
            **super()._info(),
        }

    def readings(self) -> dict[str, str]:
        """Time, height of the tip against its greatest, residual."""
        status = self._rows["status"][0]
        return {
            "time": f"{float(status['time']):.2f} s",
            "tip": f"{_tip(self._rows['q'][0])[2]:.2f} / {sum(robot.LENGTHS):.2f} m",
            "torque": ", ".join(f"{x:+.2f}" for x in self._torque) + " N m",
        }

    @property
    def focus(self) -> Floats:
        """The pivot [m]."""
        return np.zeros(3)


def _tip(q: Floats) -> Floats:
    """Place of the lower link's end [m], shape (3,)."""
    upper, lower = float(q[0]), float(q[0] + q[1])
    l1, l2 = robot.LENGTHS
    x = l1 * math.sin(upper) + l2 * math.sin(lower)
    z = -l1 * math.cos(upper) - l2 * math.cos(lower)
    return np.array([x, 0.0, z])
