"""The edge between Python and kernels: arguments are checked once, here."""

from __future__ import annotations

import numbers
import threading
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.memory.layout import Bytes, Floats, WorldView, open_world
from dynenvs.model.model import Model
from dynenvs.model.parts import MOST, MOST_COUNT


def finite_vector(value: ArrayLike, size: int, name: str) -> Floats:
    """A copy of `value` as `size` finite float64 numbers; a ValueError says what is wrong."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == (size,):
        quick: Floats = np.array(value)
        if np.isfinite(quick).all():
            return quick
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "fiubO":
            raise TypeError(given.dtype)
        array = np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        kind = type(value).__name__
        raise ValueError(f"{name} must be {size} real numbers, got a {kind}") from None
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}")
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array))
        raise ValueError(f"{name} must be finite; entries {bad.tolist()} are not: {array[bad]}")
    return array


def whole_number(value: Any, name: str, least: int) -> int:
    """`value` as a whole number from `least` on; a ValueError that names it says what is wrong."""
    if type(value) is int and least <= value <= MOST_COUNT:
        return value
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r:.60}")
    count = int(value)
    if count > MOST_COUNT:
        raise ValueError(f"{name} must be at most {MOST_COUNT}, got {value!r:.60}")
    return count


class _Kept(threading.local):
    """What a thread keeps for the models that functions are called with again and again."""

    def __init__(self) -> None:
        self.worlds: WeakKeyDictionary[Model, tuple[Bytes, WorldView]] = WeakKeyDictionary()


_kept = _Kept()


def prepare(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> WorldView:
    """A world in the state (q, v), with a fresh workspace.

    Args:
        model: the model.
        q: positions, shape (nq,).
        v: velocities, shape (nv,); zero if None.
        wrenches: external (moment; force) at each body's centre of mass, world axes,
            shape (nb, 6); none if None.
    """
    world = open_world(model.packed, model.at_rest.copy(), model.workspace())
    _write_state(world, model, q, v, wrenches)
    return world


def borrow(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> WorldView:
    """As `prepare`, in memory that this thread keeps with the model until its next call.

    The workspace holds what the last call left there: for kernels that write what they read.  To
    make one anew takes longer than most algorithms run.
    """
    kept = _kept.worlds.get(model)
    if kept is None:
        row = model.at_rest.copy()
        kept = _kept.worlds[model] = row, open_world(model.packed, row, model.workspace())
    row, world = kept
    row[:] = model.at_rest
    _write_state(world, model, q, v, wrenches)
    return world


def _write_state(
    world: WorldView,
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    wrenches: ArrayLike | None,
) -> None:
    """Write what is given into a world's state, checked."""
    world.q[:] = finite_vector(q, model.nq, "q")
    if v is not None:
        world.v[:] = finite_vector(v, model.nv, "v")
    if wrenches is not None:
        size = len(model.body_names)
        flat = np.asarray(wrenches, dtype=np.float64)
        if flat.shape != (size, 6) or not np.all(np.isfinite(flat)):
            raise ValueError(f"wrenches must be finite with shape ({size}, 6), got {flat.shape}")
        world.wrench[:] = flat


def check_parameters(model: Model, rows: NDArray[Any]) -> None:
    """Refuse parameters that were written into worlds' views and cannot be.

    rows: shape (n,), dtype `Model.state_dtype`

    Raises:
        ValueError: friction, restitution, a factor on a mass or a surface's velocity.
    """
    own = rows["coefficients"]
    for name, values, least, most in (
        ("friction", own["friction"], 0.0, MOST),
        ("restitution", own["restitution"], 0.0, 1.0),
        ("mass_scale", rows["mass_scale"], 1.0 / MOST, MOST),
    ):
        # Not the other way round: NaN must not pass
        if values.size and not (values.min() >= least and values.max() <= most):
            n, k = np.argwhere(~((values >= least) & (values <= most)))[0].tolist()
            where = f"{name}[{k}] of the world" if len(rows) == 1 else f"{name}[{n}, {k}]"
            raise ValueError(f"{where} is {values[n, k]}; it must be from {least} to {most}")
    if model.header.nsurfaces and not np.isfinite(rows["surface"]).all():
        raise ValueError("surface_velocity of the world must be finite")


def refuse_kinematic(model: Model) -> None:
    """Raise a ValueError if accelerations do not follow from forces alone."""
    if model.kinematic:
        raise ValueError(
            "the model has kinematic bodies, whose motion follows from no forces: forward dynamics "
            "of it is not available; step a World"
        )


def mend_lists(rows: NDArray[Any]) -> None:
    """Make rows list just the features that their memory marks as listed, and all that it must.

    Kernels trust these lists; a state from outside may have had its memory changed.  Rows that are
    in order stay as they are, bit for bit.

    rows: shape (n,), dtype `Model.state_dtype`
    """
    for row in rows:
        status, memory, touched = row["status"], row["memory"], row["touched"]
        used = (memory["impulse"] != 0.0).any(axis=1) | (memory["total"] != 0.0).any(axis=1)
        used |= memory["mode"] != 0
        marked = memory["listed"] != 0
        count = int(status["touched"])
        listed = np.sort(touched[: max(count, 0)])
        right = count == len(listed) and np.array_equal(listed, np.flatnonzero(marked))
        if right and not (used & ~marked).any():
            continue
        features = np.flatnonzero(used)
        memory["listed"] = used
        touched[: len(features)] = features
        status["touched"] = len(features)
