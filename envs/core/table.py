"""The arrays of a batch of worlds, as one table of places in memory that kernels open.

A kernel with an argument for each array would have two dozen; Python would check and convert each
of them at every call.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.handles import Handle, arrays_of, number_arrays, opener, pointed
from dynenvs.memory.layout import Bytes, Floats, Ints

_bytes, _ints = partial(pointed, np.uint8), partial(pointed, np.int64)


# fmt: off
class BatchView(Handle, buffers=("table",)):
    """What there is of each of n worlds, one after the other; of threads, and of all."""

    states: Bytes = _bytes("physical states")
    task_states: Bytes = _bytes("the task's records")
    actions: Bytes = _bytes("torques over effort limits, (nu,) each")
    observations: Bytes = _bytes("what they show")
    rewards: Floats = pointed(np.float64, "of the last control step")
    ends: Ints = _ints("why the episode ended, or RUNNING")
    info_rows: Bytes = _bytes("what `info` says")
    last_observations: Bytes = _bytes(
        "of an episode's last step, where STEP_AND_BEGIN began another one")
    last_info_rows: Bytes = _bytes("the same of `info`")
    observations_out: Bytes = _bytes("the caller's own observations")
    info_out: Bytes = _bytes("the caller's own `info`")
    mask: Bytes = _bytes("whether a world takes part")
    full: Ints = _ints("one number: not 0 once the contacts of some world find no room")
    workspaces: Bytes = _bytes("some workspaces for each thread")
    initial: Bytes = _bytes("the physical state of a world that has not begun, one for all")
    disturbance: Bytes = _bytes(
        "what disturbs them (`disturbance_records.py`), empty if nothing does")
    starts: Bytes = _bytes("states in which episodes may begin (`starts.py`), empty without")


# fmt: on
open_batch = opener(BatchView)
_ARRAYS = {entry.name: entry for entry in arrays_of([BatchView], "table")}
number_arrays([BatchView], len(_ARRAYS))


def new_table(**arrays: NDArray[Any]) -> Ints:
    """A table, shape (places, 2), of arrays that must outlive it; `point` adds and changes some."""
    table = np.zeros((len(_ARRAYS), 2), np.int64)
    point(table, **arrays)
    return table


def point(table: Ints, **arrays: NDArray[Any]) -> None:
    """Let the table point to these arrays, by the names of BatchView's fields.

    Raises:
        ValueError: an array is not contiguous.
    """
    for name, array in arrays.items():
        if not array.flags.c_contiguous:
            raise ValueError(f"{name} must be contiguous")
        table[_ARRAYS[name].number] = array.__array_interface__["data"][0], array.nbytes
