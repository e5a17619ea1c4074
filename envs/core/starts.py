"""Episodes that begin in states of other episodes: reference state initialisation.

A learner that begins where a demonstration has been sees early what lies far along the way (Peng,
Abbeel, Levine & van de Panne, DeepMimic, SIGGRAPH 2018).  A file of starts holds the physical
states of some worlds and what their task remembered of them.  An episode that begins in one has
its command, gait clock and contacts; friction, masses and disturbances are its own.
"""

from __future__ import annotations

import hashlib
import math
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.checks import got
from dynenvs.envs.core.table import BatchView
from dynenvs.files import refuse_endless, written_whole
from dynenvs.jit.compiled import inlined
from dynenvs.jit.handles import place_number
from dynenvs.jit.views import copy_words, vector
from dynenvs.memory.bounds import check_states
from dynenvs.memory.layout import Bytes, Floats, ModelView, StateView
from dynenvs.memory.origin import check_origin, this
from dynenvs.memory.records import STATUS, record_type
from dynenvs.model.model import Model
from dynenvs.model.validation import mend_lists
from dynenvs.simulation.rng import uniform

STARTS = record_type([("share", "f8"), ("count", "i8"), ("record_bytes", "i8")])
HEAD = STARTS.itemsize
STATUS_BYTES = STATUS.itemsize
# Which of the model's places are where these arrays of a state begin
COEFFICIENTS, OWNERS = place_number(StateView.coefficients), place_number(StateView.owners)
MASS_SCALE, SURFACE = place_number(StateView.mass_scale), place_number(StateView.surface)
# What numpy and zipfile may raise of a file that is of another kind, or damaged
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    TypeError,  # one array alone
    MemoryError,  # a shape of more bytes than there are
    RecursionError,
    RuntimeError,  # encrypted
    NotImplementedError,  # compressed in a way that is not known
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
OWN = 24  # bytes of a task's record that stay the episode's: generator, steps and end


def write_starts(path: Path, task: Any, world: Bytes, record: Bytes) -> None:
    """Write worlds' states as starts.

    Args:
        path: the file.
        task: what the worlds are.
        world, record: what `get_state` of a vector environment gives as "world" and "task", byte by
            byte, shape (n, bytes).

    Raises:
        OSError: the file cannot be written.
    """
    own = record[:, : task.own_record.itemsize]  # what disturbs follows
    with written_whole(path) as draft, draft.open("wb") as file:
        np.savez_compressed(file, made=this().text(), mark=mark(task), world=world, record=own)


def read_starts(path: Any, share: float, task: Any) -> Bytes:
    """The starts of a file as the loop reads them; empty for None.

    Args:
        path: the file.
        share: of the episodes that begin in one of them, in [0, 1].
        task: whose option it is.

    Raises:
        ValueError: no such file, none of this kind, or one of another robot, ground or version.
    """
    if path is None:
        return np.zeros(0, np.uint8)
    if not isinstance(path, str | Path):
        raise ValueError("starts must be the name of a file" + got(path))
    try:
        refuse_endless(Path(path))
        with np.load(path, allow_pickle=False) as file:
            made = str(file["made"]) if "made" in file else None
            found = str(file["mark"])
            world, record = (np.asarray(file[name]) for name in ("world", "record"))
    except FileNotFoundError:
        raise ValueError(
            f"starts: there is no file {str(path)!r}; `dynenvs starts DATASET FILE` makes one"
        ) from None
    except UNREADABLE as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        if "allow_pickle" in why:  # numpy says how to open it all the same
            why = "it holds pickled objects"
        raise ValueError(f"starts: {str(path)!r} is no file of starts: {why}") from None
    check_origin(made, f"starts: {str(path)!r}")
    if found != mark(task):
        raise ValueError(
            f"starts: {str(path)!r} is of another environment, robot, ground or version; "
            "`dynenvs starts DATASET FILE` makes one from a dataset with the same options"
        )
    world = _checked(path, task, world, record)
    head: NDArray[Any] = np.zeros(1, STARTS)
    head["share"], head["count"], head["record_bytes"] = share, len(world), record.shape[1]
    rows = np.concatenate([world, record], axis=1)
    return np.concatenate([head.view(np.uint8), rows.reshape(-1)])


def states_of(rows: Bytes, model: Model, own: np.dtype[Any]) -> dict[str, NDArray[Any]]:
    """What `read_starts` gave, as states and records again.

    Args:
        rows: what it gave; not empty.
        model, own: the task's, with the `own_record` that it remembers.
    """
    head, size = rows[:HEAD].view(STARTS)[0], model.state_dtype.itemsize
    each = rows[HEAD:].reshape(int(head["count"]), -1)
    return {
        "world": each[:, :size].copy().reshape(-1).view(model.state_dtype),
        "task": each[:, size:].copy().reshape(-1).view(own),
    }


def mark(task: Any) -> str:
    """What two tasks must have in common for states of one to be states of the other."""
    model: Model = task.model
    digest = hashlib.sha256(model.packed.tobytes())
    digest.update(f"{type(task).__name__} {model.state_dtype} {task.own_record}".encode())
    return digest.hexdigest()


def _checked(path: str | Path, task: Any, world: Bytes, record: Bytes) -> Bytes:
    """The physical states of a file, such that kernels can read them.

    Raises:
        ValueError: of another size, or with a number that no step can have left.
    """
    kind = task.model.state_dtype
    sizes = {"world": (world, kind.itemsize), "record": (record, task.own_record.itemsize)}
    for name, (rows, size) in sizes.items():
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape != (len(world), size):
            raise ValueError(
                f"starts: {name} of {str(path)!r} must be bytes of shape (n, {size}), got "
                f"{rows.dtype} of shape {rows.shape}"
            )
    states = np.array(world).view(kind).reshape(-1)
    if not len(states):
        raise ValueError(f"starts: {str(path)!r} holds no state")
    check_states(task.model.header, states, f"starts: {str(path)!r}")
    records = np.array(record).view(task.own_record).reshape(-1)
    check_states(task.model.header, records, f"starts: {str(path)!r}")
    mend_lists(states)
    mended: Bytes = states.view(np.uint8).reshape(world.shape)
    return mended


@inlined
def has_starts(batch: BatchView) -> bool:
    """Whether episodes may begin in states of others."""
    return bool(batch.starts.shape[0] > 0)


@inlined
def begin_elsewhere(
    starts: Bytes, w: ModelView, row: Bytes, record: Bytes, generator: Floats
) -> None:
    """Let an episode that has begun go on from one of the starts, if the dice say so.

    starts: as `read_starts` gives them; row: the world's physical state; record: its task's
    """
    head, h = vector(starts, 0, 1, STARTS)[0], w.header[0]
    if uniform(generator, 0.0, 1.0) >= head.share:
        return
    number = math.floor(uniform(generator, 0.0, 1.0) * head.count)
    at = HEAD + number * (h.state_bytes + head.record_bytes)
    other = vector(starts, at, h.state_bytes, np.uint8)
    own, there = vector(row, 0, 1, STATUS)[0], vector(other, 0, 1, STATUS)[0]
    own.touched, own.part = there.touched, there.part
    own.contacts, own.limits_active = there.contacts, there.limits_active
    own.stage = there.stage  # at which solver stage contact begins decides the last bits
    # All but friction and masses
    _copy(other, row, STATUS_BYTES, h.places[COEFFICIENTS])
    _copy(other, row, h.places[OWNERS], h.places[MASS_SCALE])
    _copy(other, row, h.places[SURFACE], h.state_bytes)
    told = vector(starts, at + h.state_bytes, head.record_bytes, np.uint8)
    _copy(told, record, OWN, head.record_bytes)


@inlined
def _copy(source: Bytes, target: Bytes, first: int, end: int) -> None:
    """Copy the bytes from `first` up to `end`, both multiples of eight."""
    copy_words(source, target, first // 8, (end - first) // 8)
