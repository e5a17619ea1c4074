"""Many worlds of one model in one call: they are stepped, and what they are is read."""

from __future__ import annotations

import numpy as np

from dynenvs.contact.detection.detect import measure_own_gaps, place
from dynenvs.jit.compiled import apart, inlined, kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import cross, entries
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    ModelView,
    StateView,
    WorkspaceView,
    open_answer,
    open_model,
    open_moments,
    open_state,
    open_torques,
    open_workspace,
)
from dynenvs.memory.servo_view import open_driven, open_servos
from dynenvs.memory.views import unowned, vector
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FAILED, STEP_FULL, step_apart
from dynenvs.simulation.totals import clear_totals
from dynenvs.simulation.undo import keep_state, may_fill, restore_state

LEAST_SHARE = 16  # worlds that are worth waking up another thread
WAITING = -1  # outcome of a world that is to be stepped; others are left alone


@inlined
def hold_torques(packed: Bytes, row: Bytes, buffer: Bytes, timestep: float, steps: int) -> int:
    """Let one world pass some steps under the torques in its workspace.

    Returns DONE, STEP_FAILED, or STEP_FULL where its contacts need more room: who asks has kept
    the state (`undo`).
    """
    tau = open_torques(open_model(packed), buffer)
    for _ in range(steps):
        done = step_apart(packed, row, buffer, tau, timestep)
        if done != DONE:
            return STEP_FULL if done == STEP_FULL else STEP_FAILED
    return DONE


@apart("int64(uint8[::1], uint8[::1], float64[::1], int64)", "servos", seconds=1)
def take_controls(packed: Bytes, buffer: Bytes, controls: Floats, i: int) -> int:
    """Those of world i into the workspace."""
    m = open_model(packed)
    driven, _, _ = open_driven(m, buffer)
    _, _, works = open_servos(m, packed, buffer)
    n = m.header[0].nservos
    driven[0] = controls[i * (1 + n)]
    for k in range(n):
        works[k].control = controls[i * (1 + n) + 1 + k]
    return DONE


@kernel(seconds=2.0)
def step_worlds(
    packed: Bytes,
    rows: Bytes,
    buffers: Bytes,
    tau: Floats,
    controls: Floats,
    outcomes: Ints,
    timestep: float,
    steps: int,
    progress: Ints,
    thread: int,
) -> None:
    """Step the worlds whose outcome is WAITING and that no other thread has taken.

    rows: of all worlds, one after the other; tau: generalized forces, shape (count, nv)
    controls: of models with servos; of each world 1 where they act, else 0, then its controls
    buffers: a workspace for each thread; a world whose contacts find no room stays as it was
    outcomes: DONE, STEP_FAILED or STEP_FULL, then contacts and blocks wanted, shape (count, 3)
    """
    packed, rows, buffers = unowned(packed), unowned(rows), unowned(buffers)
    controls = unowned(controls)
    m = open_model(packed)
    h, n = m.header[0], outcomes.shape[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    torques, filling = open_torques(m, buffer), may_fill(m)
    i = claim(progress, thread, n)
    while i < n:
        outcome = outcomes[i]
        if outcome[0] == WAITING:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            s = open_state(m, row)
            if filling:
                keep_state(m, s, buffer)
            clear_totals(s)
            for j in range(h.nv):
                torques[j] = tau[i, j]
            if h.nservos > 0:
                take_controls(packed, buffer, controls, i)
            outcome[0] = hold_torques(packed, row, buffer, timestep, steps)
            if outcome[0] == STEP_FULL:
                restore_state(m, s, buffer)
                answer = open_answer(m, buffer)[0]
                outcome[1], outcome[2] = answer.wanted, answer.blocks
        i = claim(progress, thread, n)
    leave(progress, thread)


@kernel
def read_impulses(packed: Bytes, rows: Bytes, sources: Ints, impulses: Floats) -> None:
    """Contact impulses of the last call on each body, shape (count, nb, 3), world axes [N s].

    sources: the contact feature of each point and of each slot of pairs that have their own; those
        of the pool are told by the world's own list of owners
    """
    m = open_model(packed)
    h = m.header[0]
    for k in range(impulses.shape[0]):
        s = open_state(m, vector(rows, k * h.state_bytes, h.state_bytes, np.uint8))
        for i in range(h.nb):
            for r in range(3):
                impulses[k, i, r] = 0.0
        for t in range(s.status[0].touched):
            at = s.touched[t]
            if at < sources.shape[0]:
                f = sources[at]
            else:
                f = h.npoints + s.owners[(at - sources.shape[0]) // h.block_slots]
            if f < h.npoints and at >= sources.shape[0]:
                continue  # the block has been given back
            total, feature = s.memory[at].total, m.features[f]
            for r in range(3):
                impulses[k, feature.body_a, r] += total[r]
                impulses[k, feature.body_b, r] -= total[r]


@kernel
def read_wrenches(packed: Bytes, rows: Bytes, buffer: Bytes, wrenches: Floats) -> None:
    """Angular and linear impulses of contacts in the last time step on each body.

    wrenches: zeros, shape (count, nb, 6), at centres of mass, world axes [N m s, N s]
    buffer: one workspace
    """
    m = open_model(packed)
    h = m.header[0]
    for k in range(wrenches.shape[0] if h.nc > 0 else 0):
        row = vector(rows, k * h.state_bytes, h.state_bytes, np.uint8)
        s, w = open_state(m, row), open_workspace(m, buffer)
        update_poses(m, s.q, w.pose)
        add_wrenches(packed, row, buffer, wrenches[k])


@kernel
def add_wrenches(packed: Bytes, row: Bytes, buffer: Bytes, wrenches: Floats) -> None:
    """The same of one world, shape (nb, 6), whose poses are in the workspace."""
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    points, pressed = m.header[0].npoints, False
    for i in range(s.status[0].touched):
        p = s.memory[s.touched[i]].impulse
        loaded = p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0
        pressed = pressed or (s.touched[i] >= points and loaded)
    if pressed:  # pairs of solids are looked for anew
        measure_own_gaps(packed, row, buffer)
    for f in range(points):
        _add_wrench(m, s, w, f, f, -1, wrenches)
    for n in range(w.answer[0].near if pressed else 0):
        near = w.near[n]
        for at in range(near.first, near.first + near.slots):
            _add_wrench(m, s, w, points + at, points + near.pair, at, wrenches)


@inlined
def _add_wrench(
    m: ModelView,
    s: StateView,
    w: WorkspaceView,
    candidate: int,
    f: int,
    slot: int,
    wrenches: Floats,
) -> None:
    """Add what one candidate of feature f carried in the last step."""
    impulse = s.memory[candidate].impulse
    if impulse[0] == 0.0 and impulse[1] == 0.0 and impulse[2] == 0.0:
        return
    contact, given = w.contacts[0], entries(impulse, 0)
    place(m.features, w.spots, w.pose, f, slot, contact)
    for side in range(2):
        body = m.features[f].body_a if side == 0 else m.features[f].body_b
        sign = 1.0 if side == 0 else -1.0
        p, com = w.pose[body].p, rotate(w.pose[body].R, m.bodies[body].com)
        x = contact.point[0] - p[0] - com[0]
        y = contact.point[1] - p[1] - com[1]
        z = contact.point[2] - p[2] - com[2]
        moment = cross((x, y, z), given)
        for r in range(3):
            wrenches[body, r] += sign * moment[r]
            wrenches[body, 3 + r] += sign * given[r]
            if m.header[0].moments > 0:
                wrenches[body, r] += sign * open_moments(m, s)[candidate, r]
