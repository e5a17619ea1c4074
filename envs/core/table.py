"""The arrays of a batch of worlds, as one table of places in memory that kernels open.

A kernel with an argument for each array would have two dozen; Python would check and convert each
of them at every call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import borrow
from dynenvs.memory.layout import Bytes, Floats, Ints


class BatchView(NamedTuple):
    """What there is of each of n worlds, one after the other; of threads, and of all."""

    states: Bytes  # physical states
    task_states: Bytes  # the task's records
    actions: Bytes  # (nu,) each
    observations: Bytes
    rewards: Floats
    ends: Ints  # why the episode ended, or RUNNING
    info_rows: Bytes  # what `info` says
    last_observations: Bytes  # of an episode's last step, where STEP_AND_BEGIN began another one
    last_info_rows: Bytes
    observations_out: Bytes  # the caller's own
    info_out: Bytes
    mask: Bytes  # whether it takes part
    full: Ints  # one number: not 0 once the contacts of some world find no room
    buffers: Bytes  # some workspaces for each thread
    initial: Bytes  # the physical state of a world that has not begun, one for all
    disturbance: Bytes  # what disturbs them (`disturbance_records.py`), empty if nothing does
    starts: Bytes  # states in which episodes may begin (`starts.py`), empty without


PLACES = {name: k for k, name in enumerate(BatchView._fields)}


def new_table(**arrays: NDArray[Any]) -> Ints:
    """A table, shape (places, 2), of arrays that must outlive it; `point` adds and changes some."""
    table = np.zeros((len(PLACES), 2), np.int64)
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
        table[PLACES[name]] = array.__array_interface__["data"][0], array.nbytes


@inlined
def open_batch(table: Ints) -> BatchView:
    """The views of a table's arrays."""
    return BatchView(
        _bytes(table, 0),
        _bytes(table, 1),
        _bytes(table, 2),
        _bytes(table, 3),
        borrow(table[4, 0], table[4, 1] // 8, np.float64),
        borrow(table[5, 0], table[5, 1] // 8, np.int64),
        _bytes(table, 6),
        _bytes(table, 7),
        _bytes(table, 8),
        _bytes(table, 9),
        _bytes(table, 10),
        _bytes(table, 11),
        borrow(table[12, 0], table[12, 1] // 8, np.int64),
        _bytes(table, 13),
        _bytes(table, 14),
        _bytes(table, 15),
        _bytes(table, 16),
    )


@inlined
def _bytes(table: Ints, place: int) -> Bytes:
    return borrow(table[place, 0], table[place, 1], np.uint8)
