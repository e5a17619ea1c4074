"""More room for contacts: a model with the same numbers but larger buffers, and states moved to it.

Room is a matter of buffers alone: how large it is changes no bit of the motion.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from dynenvs.memory.records import HEADER
from dynenvs.model.model import Model
from dynenvs.model.plan import size_rows

GROWTH = 1.5  # at least by this factor, so that a growing heap makes room a few times only


def most_contacts(model: Model) -> int:
    """Contacts for which room may be made: the user's limit, or as many as there can be."""
    h = model.header
    every = int(h.nk + (pooled_pairs(model) - h.nblocks) * h.block_slots)
    return every if model.max_contacts is None else min(model.max_contacts, every)


def pooled_pairs(model: Model) -> int:
    """Pairs that share the pool of slots: as many blocks there can be at most."""
    return int(model.header.np - model.header.nown)


def with_room(model: Model, contacts: int, blocks: int) -> Model:
    """The model with room for so many contacts and blocks of slots at least (zero: as now)."""
    h = model.header
    nblocks, nc = int(h.nblocks), int(h.nc)
    # No more than there can be, and a good part more than is wanted
    if blocks > nblocks:
        nblocks = min(max(blocks, int(GROWTH * nblocks)), pooled_pairs(model))
    if contacts > nc:
        nc = min(max(contacts, int(GROWTH * nc)), most_contacts(model))
    return sized(model, nc, nblocks)


def sized(model: Model, contacts: int, blocks: int) -> Model:
    """The model with room for just so many contacts and blocks of slots."""
    packed = model.packed.copy()
    header = packed[: HEADER.itemsize].view(HEADER)[0]
    # Each block brings candidates, spots, and a place in the list of near pairs
    more = blocks - header.nblocks
    header.nk += more * header.block_slots
    header.ns += more * header.block_slots
    header.nnear += more
    header.nblocks = blocks
    size_rows(header, contacts)
    return model.repacked(packed)


def with_room_for(model: Model, state: NDArray[Any]) -> Model | None:
    """The model, with more room if need be, of which `state` is a record; None if it is of another.

    The record may be of the same model with more or less room.
    """
    names = getattr(getattr(state, "dtype", None), "names", None)
    if not names or names != model.state_dtype.names:
        return None
    # The length of its list of owners says how many blocks it was made with
    blocks = int(state.dtype["owners"].shape[0])
    if blocks > pooled_pairs(model) or sized(model, int(model.header.nc), blocks).state_dtype != (
        state.dtype
    ):
        return None
    return with_room(model, 0, blocks)


def move_rows(rows: NDArray[Any], model: Model) -> NDArray[Any]:
    """States of a model as states of the same one with more room, bit for bit."""
    moved = model.states(len(rows))
    for name in rows.dtype.names or ():
        old, new = rows[name], moved[name]
        if old.shape == new.shape:
            new[:] = old
        else:  # of blocks of slots: those that there were keep their numbers
            new[:, : old.shape[1]] = old
    return moved
