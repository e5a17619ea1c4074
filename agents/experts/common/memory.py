"""What each thread of an expert computes in: one block of bytes, and how a kernel opens it.

A block holds, one after the other: the model, the robot's state, the workspace, and room for the
arrays that an expert declares for itself, in a class of handles (`dynenvs/jit/handles.py`) with the
buffers ROOM.  Where these stand in it, the header of the block's own copy of the model says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.common.fields import dtype_of
from dynenvs.jit.compiled import inlined
from dynenvs.jit.handles import Handle, array, lay_out, number_arrays, opener
from dynenvs.jit.views import vector
from dynenvs.memory.layout import NUMBERED, Bytes, Floats, WorldView, open_model, open_world
from dynenvs.memory.records import HEADER, PLACES
from dynenvs.model.model import Model

LINE = 64  # bytes: no two threads write to the same line of a cache
ROOM = ("model", "room")  # buffers of an expert's own handles

H = TypeVar("H", bound=Handle)
T = TypeVar("T")


class Common:
    """What every expert's record of constants has."""

    period: float  # of control [s]
    lookahead: float  # where the physics steps take inertia and bias, on average [s]
    lag: float  # by which velocities are older than positions: half a physics step [s]
    gravity: float  # downwards [m/s^2]


def set_common(constants: NDArray[Any], task: Any) -> None:
    """Fill in what is common to all experts, for a task."""
    constants["period"] = task.dt
    constants["lookahead"] = 0.5 * (task.dt - task.timestep)
    constants["lag"] = 0.5 * task.timestep
    constants["gravity"] = -float(task.model.header.gravity[2])


def records(kind: type[T], count: int = 1) -> Sequence[T]:
    """Declare an array of an expert's own: records of a class, whose docstring says what of."""
    what = (kind.__doc__ or "").split("\n")[0].rstrip(".")
    declared: Sequence[T] = array("room", dtype_of(kind), str(count), what=what)
    return declared


def numbers(size: str, what: str) -> Floats:
    """Declare an array of an expert's own: as many numbers as `size` of the model's counts says."""
    declared: Floats = array("room", np.float64, size, what=what)
    return declared


def expert_opener(view: type[H]) -> Callable[..., H]:
    """A function `open_own(w, room)` that makes an expert's handle of `open_memory`'s parts."""
    number_arrays([view], PLACES, NUMBERED)
    return opener(view)


def new_memory(model: Model, view: type[Handle] | None, threads: int) -> NDArray[np.uint8]:
    """A block for each thread, the robot at rest, shape (threads, bytes).

    Args:
        model: of the robot.
        view: declares the expert's own arrays, if it has any.
        threads: how many.
    """
    packed = model.packed.copy()
    header = packed[: HEADER.itemsize].view(HEADER)[0]
    room = lay_out(header, [view], "room") if view else 0
    parts = [
        packed,
        model.states(1).view(np.uint8),
        np.zeros(header.workspace_bytes + room, np.uint8),
    ]
    block = np.concatenate([part.reshape(-1) for part in parts])
    blocks = np.zeros((threads, -(-len(block) // LINE) * LINE), np.uint8)
    blocks[:, : len(block)] = block
    return blocks


class Memory(NamedTuple):
    """A thread's block."""

    w: WorldView  # the model, the robot's state and the workspace
    room: Bytes  # for the expert's own arrays


@inlined
def open_memory(block: Bytes) -> Memory:
    """The parts of a thread's block."""
    sizes = open_model(block).header[0]
    at = sizes.model_bytes
    row = vector(block, at, sizes.state_bytes, np.uint8)
    at += sizes.state_bytes
    w = open_world(block, row, vector(block, at, sizes.workspace_bytes, np.uint8))
    at += sizes.workspace_bytes
    return Memory(w, vector(block, at, block.shape[0] - at, np.uint8))
