"""Many worlds of one model in one call: they are stepped, and what they are is read."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from dynenvs.contact.detection.detect import measure_own_gaps, place
from dynenvs.jit.compiled import entry, inlined, kernel, unit
from dynenvs.jit.views import copy_words, unowned, vector
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import cross, entries
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    Matrices,
    Matrix,
    WorkView,
    WorldView,
    open_model,
    open_state,
    open_world,
)
from dynenvs.simulation.controls import is_finite
from dynenvs.simulation.progress import APART, claim, leave
from dynenvs.simulation.timestep import DONE, STEP_FAILED, STEP_FULL, step_unit
from dynenvs.simulation.totals import clear_totals
from dynenvs.simulation.undo import keep_state, may_fill, restore_state

LEAST_SHARE = 16  # worlds that are worth waking up another thread
# Outcomes of worlds that are to be stepped, from the beginning of a call or from within it; all
# others are left alone
WAITING, GOING_ON = -1, -2


@inlined
def hold_torques(w: WorldView, timestep: float, steps: int) -> int:
    """Let one world pass some steps under the torques in its workspace.

    Returns DONE, STEP_FAILED, or STEP_FULL where its contacts need more room: the caller has kept
    the state (`undo`).
    """
    tau = w.tau
    for _ in range(steps):
        done = step_unit(w, tau, timestep)
        if done != DONE:
            return STEP_FULL if done == STEP_FULL else STEP_FAILED
    return DONE


@unit("servos", seconds=1)
def take_controls(w: WorkView, controls: Floats, world: int) -> int:
    """Those of `world` into the workspace."""
    driven = w.driven
    works = w.servo_work
    n = w.header[0].nservos
    driven[0] = controls[world * (1 + n)]
    for k in range(n):
        works[k].control = controls[world * (1 + n) + 1 + k]
    return DONE


@entry(seconds=2.0)
def step_worlds(
    packed: Bytes,
    rows: Bytes,
    buffers: Bytes,
    tau: Matrix,
    controls: Floats,
    outcomes: Annotated[Ints, 2],
    timestep: float,
    steps: int,
    progress: Ints,
    thread: int,
) -> int:
    """Step the worlds that wait or go on, and that no other thread has taken.

    Returns how many of them could not be stepped.

    rows: of all worlds, one after the other; tau: generalized forces, shape (count, nv)
    controls: of models with servos; of each world 1 where they act, else 0, then its controls
    buffers: a workspace for each thread; a world whose contacts find no room stays as it was
    outcomes: DONE, STEP_FAILED or STEP_FULL, then contacts and blocks wanted, shape (count, 3)
    """
    # Their owners outlive the call: no counting of references within it
    packed, rows, buffers = unowned(packed), unowned(rows), unowned(buffers)
    controls = unowned(controls)
    m = open_model(packed)
    h, n = m.header[0], outcomes.shape[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    # World by world, until no thread has any left
    filling, stuck = may_fill(m), 0
    i = claim(progress, thread, n)
    while i < n:
        outcome = outcomes[i]
        if outcome[0] < DONE:
            row = vector(rows, i * h.state_bytes, h.state_bytes, np.uint8)
            w = open_world(packed, row, buffer)
            # Where room may run out, the state is kept to go back to
            if filling:
                keep_state(w)
            if outcome[0] == WAITING:
                clear_totals(w)
            for j in range(h.nv):
                w.tau[j] = tau[i, j]
            if h.nservos > 0:
                take_controls(w, controls, i)
            outcome[0] = hold_torques(w, timestep, steps)
            outcome[1] = outcome[2] = 0
            if outcome[0] == STEP_FULL:
                restore_state(w)
                outcome[1], outcome[2] = w.answer[0].wanted, w.answer[0].blocks
            if outcome[0] != DONE:
                stuck += 1
        i = claim(progress, thread, n)
    leave(progress, thread)
    return stuck


@entry(seconds=0.5)
def begin_worlds(
    packed: Bytes, rows: Bytes, fresh: Bytes, tau: Matrix, q: Matrix, v: Matrix, chosen: Bytes
) -> bool:
    """Begin anew at `q` and `v` in those worlds; False, and nothing done, if not all finite.

    fresh: the state of a world that has not begun
    """
    size = open_model(packed).header[0].state_bytes
    # Nothing is written unless all of it can be
    if not (is_finite(q, chosen) and is_finite(v, chosen)):
        return False
    for i in range(chosen.shape[0]):
        if chosen[i] != 0:
            row = vector(rows, i * size, size, np.uint8)
            copy_words(fresh, row, 0, size // 8)
            w = open_state(packed, row)
            for k in range(q.shape[1]):
                w.q[k] = q[i, k]
            for k in range(v.shape[1]):
                w.v[k], tau[i, k] = v[i, k], 0.0
    return True


@entry
def read_impulses(packed: Bytes, rows: Bytes, sources: Ints, impulses: Matrices) -> None:
    """Contact impulses of the last call on each body, shape (count, nb, 3), world axes [N s].

    sources: the contact feature of each point and of each slot of pairs that have their own; those
        of the pool are in the world's own list of owners
    """
    h = open_model(packed).header[0]
    for k in range(impulses.shape[0]):
        w = open_state(packed, vector(rows, k * h.state_bytes, h.state_bytes, np.uint8))
        for i in range(h.nb):
            for r in range(3):
                impulses[k, i, r] = 0.0
        # Only what contacts have touched has anything to tell
        for t in range(w.status[0].touched):
            at = w.touched[t]
            if at < sources.shape[0]:
                f = sources[at]
            else:
                f = h.npoints + w.owners[(at - sources.shape[0]) // h.block_slots]
            if f < h.npoints and at >= sources.shape[0]:
                continue  # the block has been given back
            # On one body and, with the other sign, on the other
            total, feature = w.memory[at].total, w.features[f]
            for r in range(3):
                impulses[k, feature.body_a, r] += total[r]
                impulses[k, feature.body_b, r] -= total[r]


@entry
def read_wrenches(packed: Bytes, rows: Bytes, buffer: Bytes, wrenches: Matrices) -> None:
    """Angular and linear impulses of contacts in the last time step on each body.

    wrenches: zeros, shape (count, nb, 6), at centres of mass, world axes [N m s, N s]
    buffer: one workspace
    """
    h = open_model(packed).header[0]
    for k in range(wrenches.shape[0] if h.nc > 0 else 0):
        row = vector(rows, k * h.state_bytes, h.state_bytes, np.uint8)
        w = open_world(packed, row, buffer)
        update_poses(w, w.q, w.pose)
        add_wrenches(w, wrenches[k])


@kernel
def add_wrenches(w: WorldView, wrenches: Floats) -> None:
    """The same of one world, shape (nb, 6), whose poses are in the workspace."""
    points, pressed = w.header[0].npoints, False
    # Points are where they are; slots of pairs have to be found again, if one of them pressed
    for i in range(w.status[0].touched):
        p = w.memory[w.touched[i]].impulse
        loaded = p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0
        pressed = pressed or (w.touched[i] >= points and loaded)
    if pressed:  # pairs of solids are looked for anew
        measure_own_gaps(w)
    for f in range(points):
        _add_wrench(w, f, f, -1, wrenches)
    for n in range(w.answer[0].near if pressed else 0):
        near = w.near[n]
        for at in range(near.first, near.first + near.slots):
            _add_wrench(w, points + at, points + near.pair, at, wrenches)


@inlined
def _add_wrench(w: WorldView, candidate: int, feature: int, slot: int, wrenches: Floats) -> None:
    """Add what one candidate of `feature` carried in the last step."""
    impulse = w.memory[candidate].impulse
    if impulse[0] == 0.0 and impulse[1] == 0.0 and impulse[2] == 0.0:
        return
    # The point where it acted, and its arm about the centre of mass of either body
    contact, given = w.contacts[0], entries(impulse, 0)
    place(w.features, w.spots, w.pose, feature, slot, contact)
    for side in range(2):
        body = w.features[feature].body_a if side == 0 else w.features[feature].body_b
        sign = 1.0 if side == 0 else -1.0
        p, com = w.pose[body].p, rotate(w.pose[body].R, w.bodies[body].com)
        x = contact.point[0] - p[0] - com[0]
        y = contact.point[1] - p[1] - com[1]
        z = contact.point[2] - p[2] - com[2]
        moment = cross((x, y, z), given)
        for r in range(3):
            wrenches[body, r] += sign * moment[r]
            wrenches[body, 3 + r] += sign * given[r]
            if w.header[0].moments > 0:
                wrenches[body, r] += sign * w.moments[candidate, r]
