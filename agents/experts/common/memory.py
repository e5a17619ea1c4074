"""What each thread of an expert computes in: one block of bytes, and how a kernel opens it.

A block holds, one after the other: the model, the robot's state, the workspace, the desired
velocities, and the records that an expert keeps for itself.  The model is a copy because the
quadruped's expert puts the ground where its feet stand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Bytes, Floats, WorldView, open_model, open_world
from dynenvs.model.model import Model

LINE = 64  # bytes: no two threads write to the same line of a cache


class Common:
    """What every expert's record of constants has."""

    period: float  # of control [s]
    lookahead: float  # where the physics steps take inertia and bias, on average [s]
    lag: float  # by which velocities are older than positions: half a physics step [s]
    gravity: float  # downwards [m/s^2]


class Memory(NamedTuple):
    """Named views of a thread's block."""

    w: WorldView  # the model, the robot's state and the workspace
    v_des: Floats  # desired velocities [rad/s, m/s], shape (nv,)
    room: Bytes  # for the expert's own records


def set_common(constants: NDArray[Any], task: Any) -> None:
    """Fill in what is common to all experts, for a task."""
    constants["period"] = task.dt
    constants["lookahead"] = 0.5 * (task.dt - task.timestep)
    constants["lag"] = 0.5 * task.timestep
    constants["gravity"] = -float(task.model.header.gravity[2])


def new_memory(model: Model, room: int, threads: int) -> NDArray[np.uint8]:
    """A block for each thread, the robot at rest, shape (threads, bytes).

    Args:
        model: of the robot.
        room: bytes for the expert's own records.
        threads: how many.
    """
    sizes = model.header
    model_end = int(sizes.model_bytes)
    state_end = model_end + int(sizes.state_bytes)
    size = state_end + int(sizes.workspace_bytes) + 8 * int(sizes.nv) + room
    blocks = np.zeros((threads, -(-size // LINE) * LINE), np.uint8)
    blocks[:, :model_end] = model.packed
    blocks[:, model_end:state_end] = model.states(1).view(np.uint8)
    return blocks


@inlined
def open_memory(block: Bytes) -> Memory:
    """Views of a thread's block."""
    sizes = open_model(block).header[0]
    at = sizes.model_bytes
    row = vector(block, at, sizes.state_bytes, np.uint8)
    at += sizes.state_bytes
    w = open_world(block, row, vector(block, at, sizes.workspace_bytes, np.uint8))
    at += sizes.workspace_bytes
    v_des = vector(block, at, sizes.nv, np.float64)
    at += 8 * sizes.nv
    room = vector(block, at, block.shape[0] - at, np.uint8)
    return Memory(w, v_des, room)
