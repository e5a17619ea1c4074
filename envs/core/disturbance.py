"""Disturbances, compiled: what the loop does to a world around a task's own kernels.

Random numbers come from streams that branch off the world's generator when an episode begins,
numbered by control steps: the noise of a state is the same however often it is looked at, and
commands and pushes are the same whether or not anything disturbs.
"""

from __future__ import annotations

import math

from dynenvs.envs.core.disturbance_records import (
    ACTION,
    EPISODE,
    OBSERVATION,
    ROUND,
    DisturbanceView,
)
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, ModelView, StateView, WorldView
from dynenvs.simulation.rng import branch, normal, uniform
from dynenvs.simulation.timestep import DONE, STEP_FAILED, STEP_FULL, step_unit


@inlined
def draw_episode(d: DisturbanceView, w: StateView, generator: Floats) -> None:
    """What an episode's worlds differ in; it begins with no action on its way.

    generator: the task's, which is left as it is
    """
    o, drawn, stream = d.asked[0], d.drawn[0], d.drawn["disturbance_stream"]
    drawn.disturbance_key = branch(generator[0], EPISODE)
    stream[0] = branch(drawn.disturbance_key, EPISODE)
    span = 1.0 + o.high_delay - o.low_delay
    drawn.delay = o.low_delay + math.floor(uniform(stream, 0.0, span))
    payload = uniform(stream, o.low_payload, o.high_payload)
    for k in range(3):
        drawn.com_shift[k] = uniform(stream, -o.offset[k], o.offset[k])
    for j in range(d.strength.shape[0]):
        d.strength[j] = uniform(stream, o.low_strength, o.high_strength)
        d.torque_noise[j] = d.total[j] = 0.0
        for k in range(ROUND):
            d.late[k, j] = 0.0
    slippery = uniform(stream, o.low_friction, o.high_friction)
    for f in range(w.header[0].nf):
        w.coefficients[f].friction *= slippery
    if o.low_mass != 1.0 or o.high_mass != 1.0:  # loose objects keep what the task has drawn
        for b in range(1, w.header[0].nb):
            w.mass_scale[b] = uniform(stream, o.low_mass, o.high_mass)
    if o.trunk > 0:
        w.mass_scale[o.trunk] += payload / w.bodies[o.trunk].mass


@inlined
def change_model(d: DisturbanceView, shared: ModelView, own: ModelView) -> None:
    """Let the thread's own model be that of this world: strengths of motors, centre of mass."""
    trunk, shift = d.asked[0].trunk, d.drawn[0].com_shift
    for k in range(3):
        own.bodies[trunk].com[k] = shared.bodies[trunk].com[k] + shift[k]
    motor = 0
    for i in range(shared.header[0].nv):
        if shared.dofs[i].actuated:
            own.dofs[i].effort = d.strength[motor] * shared.dofs[i].effort
            motor += 1


@inlined
def disturb_action(d: DisturbanceView, action: Floats, step: int) -> None:
    """Replace an action by that which arrives now; noise of torques is added, or kept for motors.

    step: control steps that the episode has had
    """
    o, stream, now = d.asked[0], d.drawn["disturbance_stream"], step % ROUND
    then = (step - d.drawn[0].delay) % ROUND
    if o.action_noise > 0.0:
        stream[0] = branch(d.drawn[0].disturbance_key, 2 * step + ACTION)
    for j in range(action.shape[0]):
        d.late[now, j] = min(max(action[j], -1.0), 1.0)
        d.torque_noise[j] = 0.0
        if o.action_noise > 0.0:
            d.torque_noise[j] = o.action_noise * normal(stream)
        action[j] = d.late[then, j]
        if o.positions == 0:
            action[j] += d.torque_noise[j]


@inlined
def take_back(d: DisturbanceView, action: Floats, step: int) -> None:
    """The action as it was before `disturb_action`, for a control step that will be done again."""
    for j in range(action.shape[0]):
        action[j] = d.late[step % ROUND, j]


@inlined
def hold_targets(
    d: DisturbanceView, w: WorldView, action: Floats, timestep: float, steps: int
) -> int:
    """Let a world pass some physics steps while PD motors hold the targets of an action.

    Its model has this world's motors; the action becomes the mean torques over their limits.
    Returns as `hold_torques` does.
    """
    tau, done, passed = w.tau, DONE, 0
    for j in range(action.shape[0]):
        d.total[j] = 0.0
    while passed < steps and done == DONE:
        motor = 0
        for i in range(w.header[0].nv):
            dof = w.dofs[i]
            if dof.actuated:
                error = d.target[motor] + d.reach[motor] * action[motor] - w.q[dof.q_at]
                wanted = d.stiffness[motor] * error - d.damping[motor] * w.v[i]
                share = min(max(wanted + d.torque_noise[motor], -1.0), 1.0)
                tau[i] = share * dof.effort
                d.total[motor] += share
                motor += 1
        done = step_unit(w, tau, timestep)
        passed += 1
    for j in range(action.shape[0]):
        action[j] = d.total[j] / passed
    if done == DONE:
        return DONE
    return STEP_FULL if done == STEP_FULL else STEP_FAILED


@inlined
def disturb_observation(d: DisturbanceView, observation: Floats, clean: Floats, step: int) -> None:
    """Add noise to an observation, within its bounds; `clean` is to be the one without."""
    stream = d.drawn["disturbance_stream"]
    stream[0] = branch(d.drawn[0].disturbance_key, 2 * step + OBSERVATION)
    for k in range(observation.shape[0]):
        clean[k] = observation[k]
        if d.noise[k] > 0.0:
            noisy = clean[k] + d.noise[k] * normal(stream)
            observation[k] = min(max(noisy, d.low[k]), d.high[k])
