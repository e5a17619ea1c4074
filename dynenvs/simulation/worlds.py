"""Worlds: many worlds of one model, stepped together by one compiled call, for NumPy users."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.jit.compiled import bind, prepare
from dynenvs.memory.bounds import check_size, check_states
from dynenvs.memory.layout import Bytes, Floats, Ints, open_world
from dynenvs.memory.origin import marked, unmarked
from dynenvs.model.model import LARGE, Model, available_bytes
from dynenvs.model.validation import check_parameters, finite_vector, mend_lists, whole_number
from dynenvs.simulation.audit import Audit, Given, Scratch
from dynenvs.simulation.batch import (
    GOING_ON,
    LEAST_SHARE,
    WAITING,
    begin_worlds,
    step_worlds,
)
from dynenvs.simulation.certificate import Certificate, certify
from dynenvs.simulation.controls import Inputs
from dynenvs.simulation.diagnostics import AUDITED, BOUNDS, COUNTERS
from dynenvs.simulation.guard import GuardedBatch, alone, in_use
from dynenvs.simulation.progress import APART, begin_round, new_progress
from dynenvs.simulation.readings import Readings, bytes_of, contact_sources
from dynenvs.simulation.room import most_contacts, move_rows, with_room
from dynenvs.simulation.start import start
from dynenvs.simulation.threads import Repeated, share
from dynenvs.simulation.timestep import ABSURD, DONE, STEP_FAILED, STEP_FULL
from dynenvs.simulation.world import SimulationError, World, refuse_count

Flags = NDArray[np.bool_]

PART = 0.2  # of a long call, between two moments in which Ctrl-C acts, about [s]
GUESS = 1e-3  # what a world's step takes, before one has been measured [s]


class WorldsError(SimulationError):
    """Some worlds' steps have no solution; these keep their last finite states.

    Attributes:
        worlds: their numbers.
    """

    def __init__(self, message: str, worlds: NDArray[np.int64]) -> None:
        super().__init__(message)
        self.worlds = worlds


class Worlds(Readings, GuardedBatch):
    """`count` worlds of one model, stepped together.

    A world's future depends on its own entries alone, bit for bit as `World` has it: not on the
    batch, its place in it, or threads.  They begin where `reset()` takes them back to: at the
    model's keyframe "qpos0" if there is one.

    Args:
        model: what they all are.
        count: how many.
        timestep: length of a step [s]; the model's if None.
        threads: how many threads share out the worlds of a call; 16 worlds are worth a thread.
        audit_every: of how many steps one is audited in each world, on one thread
            (`World.audit_every`); none if 0.
        options: `cone`, `directions`, `integrator` and `budget`, as of `World`.

    Raises:
        ValueError: no such number, step or option, or more worlds than there is memory for.

    Example::

        worlds = dynenvs.Worlds(model, 256, timestep=0.005, threads=2)
        worlds.q[:, 2] = np.linspace(0.5, 1.0, 256)
        for _ in range(200):
            worlds.step(-2.0 * worlds.v[:, model.actuated])
        print(worlds.body("foot").position, worlds.impulses[:, model.body_id("foot")])
    """

    def __init__(
        self,
        model: Model,
        count: int,
        *,
        timestep: float | None = None,
        threads: int = 1,
        audit_every: int = 0,
        **options: Any,
    ) -> None:
        self._guard()
        self._count = whole_number(count, "count", 1)
        self._threads = max(1, min(whole_number(threads, "threads", 1), count // LEAST_SHARE))
        first = World(model, timestep=timestep, **options)  # whose checks are these worlds'
        _check_memory(first.model, count)
        # A state of a world that has not begun: all of them begin as copies of it
        self._model, self.timestep = first.model, first.timestep
        # Byte by byte: a copy of records leaves what is between their fields as memory had it
        fresh = bytes_of(first._rows)
        self._fresh: Any = fresh.copy().view(first._rows.dtype)
        self._hold(np.tile(fresh, count).view(first._rows.dtype))
        self._tau = np.zeros((count, self.model.nv))
        self._inputs = Inputs(self.model, self._tau, (count,))
        self._outcomes = np.zeros((count, 3), np.int64)
        self._written = False  # whether parameters may have been written from outside
        self._prepared: set[Any] = set()  # kernels that are compiled
        self._pace = GUESS  # what a step of one world takes, all threads together [s]
        self._every = whole_number(audit_every, "audit_every", 0)
        self._audits: list[Audit] = []
        self._begin_audits(np.ones(count, np.bool_))

    def _begin_audits(self, chosen: Flags) -> None:
        """Begin anew in some worlds: what overlaps there from now on is left out."""
        if not self._every:
            return
        scratch = Scratch(self.model)
        fresh = [Audit(self._every, scratch) for _ in range(self.count)]
        pairs = zip(chosen, fresh, self._audits or fresh, strict=True)
        self._audits = [new if anew else old for anew, new, old in pairs]

    def _hold(self, rows: NDArray[Any]) -> None:
        """Take over states, and make what is worked out anew in every step."""
        self._rows = rows
        h = self.model.header
        self.model.workspace()  # says where there is no memory for one
        self._buffers = np.zeros(self.threads * (int(h.workspace_bytes) + APART), np.uint8)
        self._motors = self.model.actuated
        # Calls with what they are given: of the last step, and of a reset
        self._bound: tuple[tuple[float, int], Callable[[], Any]] | None = None
        self._again: tuple[Any, Callable[[], bool]] | None = None
        self._sources = contact_sources(self.model)

    def __getstate__(self) -> dict[str, Any]:
        made = {
            "_rows",
            "_buffers",
            "_sources",
            "_fresh",
            "_prepared",
            "_motors",
            "_bound",
            "_again",
        }
        made |= {"_turn", "_pace", "_inputs"}
        kept = {key: value for key, value in vars(self).items() if key not in made}
        states = {"states": bytes_of(self._rows).copy(), "start": bytes_of(self._fresh).copy()}
        return marked(kept | states)

    def __setstate__(self, kept: dict[str, Any]) -> None:
        # The size is checked before a byte of it is read as a state
        kept = unmarked(kept, "pickled Worlds")
        states, start = kept.pop("states"), kept.pop("start")
        vars(self).update(kept)
        check_size(states, self.model.states(self.count), "pickled Worlds")
        check_size(start, self.model.states(1), "pickled Worlds")
        self._guard()
        self._tau, self._outcomes = self._tau.copy(), self._outcomes.copy()
        self._inputs = Inputs(self.model, self._tau, (self.count,))
        self._fresh = start.copy().view(self.model.state_dtype)
        check_states(self.model.header, states.view(self.model.state_dtype), "pickled states")
        self._hold(states.copy().view(self.model.state_dtype))
        self._written, self._prepared, self._pace = True, set(), GUESS

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        first, last = self.time.min(), self.time.max()
        times = f"{first:g} s" if first == last else f"{first:g} to {last:g} s"
        return f"<{self.count} Worlds of {self._parts}, t = {times}, timestep {self.timestep:g} s>"

    def _give(self, array: NDArray[Any]) -> Any:
        return array

    # What they are: views, which can be written into.  In scenes of so many parts that pairs share
    # their slots, a step may move the states to make room for more: ask again after each.

    @property
    def q(self) -> Floats:
        """Positions, shape (count, nq), writable."""
        return self._view("q")

    @property
    def v(self) -> Floats:
        """Velocities, shape (count, nv), writable."""
        return self._view("v")

    @property
    def _workspace(self) -> Bytes:
        """That of the first thread."""
        return self._buffers[: int(self.model.header.workspace_bytes)]

    @property
    def time(self) -> Floats:
        """Time since the start of each world [s], shape (count,)."""
        times: Floats = self._rows["status"]["time"].copy()
        return times

    @property
    def tau(self) -> Floats:
        """Actuator forces of each world's last step, clipped to effort limits, (count, nu)."""
        applied: Floats = self._tau[:, self._motors]
        return applied

    @property
    def forces(self) -> Floats:
        """The same on all coordinates, shape (count, nv): a view, in which the next step writes."""
        return self._tau

    @property
    def diagnostics(self) -> dict[str, NDArray[Any]]:
        """Counters and worst values of each world (`Diagnostics`), shape (count,)."""
        status = self._rows["status"]
        return {name: status[name].copy() for name in (*BOUNDS, *COUNTERS, *AUDITED)}

    @alone
    def certificate(self, number: int) -> Certificate:
        """`World.certificate` of one world.

        Raises:
            ValueError: there is no such world.
        """
        if whole_number(number, "number", 0) >= self.count:
            raise ValueError(f"number must be below {self.count}, got {number}")
        return certify(
            self.model, open_world(self.model.packed, _records(self._rows)[number], self._workspace)
        )

    def step(
        self,
        tau: ArrayLike | None = None,
        steps: int = 1,
        *,
        control: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Advance by `steps` time steps under actuator forces `tau` [N m, N].

        Args:
            tau: shape (count, nu), clipped to effort limits; none if None.
            steps: how many.
            control: of `Model.actuators` instead, as of `World.step`, shape (count, actuators).
            mask: which worlds, shape (count,); all if None.  What is given of others is not read.

        Raises:
            ValueError: wrong shape, or not finite; `tau` and `control` together; or parameters were
                written that cannot be.  All worlds are as they were.
            WorldsError: steps of some worlds have no solution, or need more contacts than the
                model allows; all others have been stepped.
            RuntimeError: another thread is using these worlds.
            KeyboardInterrupt: Ctrl-C, which acts within a second.  Each world has made a whole
                number of the steps, as its `time` shows: all the same number, or, where one step of
                all takes longer than that, some of them one more.
        """
        if not self._turn.acquire(False):
            raise in_use(self)
        try:
            self._advance(tau, steps, control, mask)
        finally:
            self._turn.release()

    def _advance(
        self,
        tau: ArrayLike | None,
        steps: int,
        control: ArrayLike | None,
        mask: ArrayLike | None,
    ) -> None:
        steps = whole_number(steps, "steps", 0)
        refuse_count(tau)
        chosen = None if mask is None else self._flags(mask)
        if self._written:
            check_parameters(self.model, self._rows)
        self._inputs.take(tau, control, chosen, _given)
        # All that are chosen wait; the kernel leaves the others alone
        if chosen is None:
            self._outcomes.fill(WAITING)
        else:
            self._outcomes[:, 0] = np.where(chosen, WAITING, DONE)
        try:
            if self._every:
                self._step_audited(steps)
            else:
                self._step_all(steps)
        finally:
            # Where servos made the forces, `tau` says what acted
            if self._inputs.controls[0, 0] and steps:
                worlds = np.arange(self.count) if chosen is None else np.flatnonzero(chosen)
                which = np.ix_(worlds, self._motors)  # of other coordinates, see `World`
                self._tau[which] = self._rows["drive"][which]

    def _step_audited(self, steps: int) -> None:
        """Step the worlds that wait one step at a time, and audit those steps whose turn it is."""
        failed: WorldsError | None = None
        waiting = self._outcomes[:, 0] == WAITING
        for _ in range(steps):
            self._outcomes[:, 0] = np.where(waiting, WAITING, DONE)
            rows, going = _records(self._rows), np.flatnonzero(waiting)
            # Where each audited step begins, before any of them is made
            before = {i: self._audits[i].begin(self.model, rows[i]) for i in going}
            # Worlds that fail drop out; the others go on, and all failures are raised together
            try:
                self._step_all(1)
            except WorldsError as error:
                failed = failed or error
                failed.worlds = np.union1d(failed.worlds, error.worlds)
                waiting[error.worlds] = False
            rows = _records(self._rows)  # there may be more room in them
            for i in np.flatnonzero(waiting):
                start_ = before[i]
                if start_ is not None:
                    given = Given(self._tau[i], self._inputs.controls[i], self._timestep)
                    self._audits[i].take(self.model, rows[i], start_, given)
        if failed is not None:
            raise failed

    def _step_all(self, steps: int) -> None:
        """Step the worlds that wait, in parts if it takes long: compiled code sees no Ctrl-C."""
        # A short call runs at once; a long one in parts, between which Ctrl-C acts
        if steps * self._count * self._pace > 2.0 * PART:
            self._step_in_parts(steps)
        elif self._step_part(WAITING, steps):
            return
        if self._outcomes.any():
            self._tell_failed()

    def _step_in_parts(self, steps: int) -> None:
        """Step the worlds that wait, some steps and, if need be, some worlds at a time."""
        outcomes, kind = self._outcomes, WAITING
        going = np.flatnonzero(outcomes[:, 0] == WAITING)
        outcomes[going, 0] = DONE
        while steps and going.size:
            part = min(steps, max(1, int(PART / (going.size * self._pace))))
            left = going
            while left.size:
                # Twice as many as fit, so that worlds are split where steps alone do not help
                size = max(self.threads, int(2.0 * PART / (part * self._pace)))
                group, left = left[:size], left[size:]
                outcomes[group, 0] = kind
                begin = time.perf_counter()
                self._step_part(kind, part)
                self._pace = max((time.perf_counter() - begin) / (part * group.size), 1e-9)
            going = going[outcomes[going, 0] == DONE]
            steps, kind = steps - part, GOING_ON

    def _step_part(self, kind: int, steps: int) -> bool:
        """Step whose outcome is `kind`; make room where that is wanted, and ask again.

        Returns whether all went well at once.
        """
        outcomes = self._outcomes
        if self._run(steps):
            return True
        most = most_contacts(self.model)
        # Worlds that were full stayed as they were: more room, and the same step again
        while (full := outcomes[:, 0] == STEP_FULL).any():
            beyond = full & (outcomes[:, 1] > most)
            outcomes[beyond] = STEP_FAILED, 0, 0
            full &= ~beyond
            if not full.any():
                break
            self._make_room(*outcomes[full, 1:].max(axis=0).tolist())
            outcomes[full] = kind, 0, 0
            self._run(steps)
        return False

    def _tell_failed(self) -> None:
        """Raise what there is to say of worlds that could not be stepped.

        Raises:
            WorldsError: there are some.
        """
        outcomes, most = self._outcomes, most_contacts(self.model)
        which = np.flatnonzero(outcomes[:, 0] == STEP_FAILED)
        if which.size:
            loops = "closed loops that cannot be closed, " if self.model.header.nloops else ""
            raise WorldsError(
                f"the step has no solution in {len(which)} of {self.count} worlds (numbers "
                f"{which[:8].tolist()}...): {loops}no answer to a contact problem, a way of "
                f"more than {ABSURD:g} rad or m, or a need of more than max_contacts={most} "
                "contacts; try a shorter timestep, or reset them (`error.worlds` lists them)",
                which,
            )

    def _run(self, steps: int) -> bool:
        """Step the worlds that wait or go on; whether all could be stepped."""
        wanted = self._timestep, steps
        if self._bound is None or self._bound[0] != wanted:
            arrays = self._tau, self._inputs.controls.reshape(-1), self._outcomes
            self._bound = wanted, self.visit("the dynamics", step_worlds, *arrays, *wanted)
        stuck = self._bound[1]()
        return not np.count_nonzero(self._outcomes) if stuck is None else not stuck

    def visit(self, what: str, kernel: Any, *arguments: Any) -> Callable[[], Any]:
        """What runs a kernel on all threads, which share out the worlds; it can be repeated.

        On one thread it returns what the kernel does.  It is good as long as `memory` stays, and
        its caller must be alone (`guard.py`).

        Args:
            what: it is about, for the message while it is compiled.
            kernel: is given the packed model, the states, workspaces, the arguments, the threads'
                progress and the thread's number, as `batch.step_worlds` is.
            arguments: its own.
        """
        call = (self.model.packed, bytes_of(self._rows), self._buffers, *arguments)
        if kernel not in self._prepared:
            prepare(what, [kernel], self.model.kernel_groups)
            self._prepared.add(kernel)
        if self.threads == 1:
            progress = new_progress(1)
            begin_round(progress, 1)
            return partial(_on_one_thread, progress, bind(kernel, *call, progress, 0))
        return partial(share, Repeated(kernel, call), self.threads)

    @property
    def memory(self) -> Bytes:
        """Workspaces: other ones, and states elsewhere, once a step has made room for contacts."""
        return self._buffers

    def _make_room(self, contacts: int, blocks: int) -> None:
        model = with_room(self.model, contacts, blocks)
        # States are moved only if the layout of a state has changed
        rows, fresh = self._rows, self._fresh
        if rows.dtype != model.state_dtype:
            rows, fresh = move_rows(rows, model), move_rows(fresh, model)
        self._model, self._fresh = model, fresh
        self._hold(rows)

    @alone
    def reset(
        self,
        q: ArrayLike | str | None = None,
        v: ArrayLike | None = None,
        *,
        mask: ArrayLike | None = None,
    ) -> None:
        """Back to time zero at a keyframe of the model, or at `q` and `v`, as `World.reset`.

        Friction, restitution, masses and wrenches are the model's again, too.

        Args:
            q: shape (nq,) for all alike, or (count, nq), of which those of the chosen are read, or
                the name of a keyframe; if None, of "qpos0", or neutral in a model without.
            v: shape (nv,) or (count, nv), the same; if None, the keyframe's, or at rest where `q`
                is given.
            mask: which worlds, shape (count,); all if None.

        Raises:
            ValueError: no such keyframe, wrong shape, or not finite; the worlds stay as they are.
        """
        chosen = self._flags(mask)
        q, v = start(self.model, q, v)
        q = self._spread(q, self.model.nq, "q", chosen)
        v = self._spread(v, self.model.nv, "v", chosen)
        # Bound once: resets often come one after the other
        if self._again is None:
            arrays = np.empty_like(q), np.empty_like(v), np.empty_like(chosen)
            self._again = arrays, self.beginning(*arrays)
        for array, given in zip(self._again[0], (q, v, chosen), strict=True):
            array[...] = given
        self._again[1]()
        self._begin_audits(chosen)

    def beginning(self, q: Floats, v: Floats, chosen: Flags) -> Callable[[], bool]:
        """What takes the worlds of `chosen` back to time zero at these positions and velocities.

        It can be repeated, with other numbers in the arrays, as long as `memory` stays, by one
        thread.  It says whether all numbers are finite; if not, nothing has changed.

        Args:
            q: shape (count, nq).
            v: shape (count, nv).
            chosen: shape (count,).

        Raises:
            ValueError: an array of another shape or type.
        """
        wanted = (self.count, self.model.nq), (self.count, self.model.nv), (self.count,)
        for array, shape, kind in zip((q, v, chosen), wanted, "ffb", strict=True):
            if array.shape != shape or array.dtype.kind != kind or not array.flags.c_contiguous:
                raise ValueError(
                    f"q, v and chosen must have shapes {wanted[0]}, {wanted[1]} and {wanted[2]}, "
                    f"got {q.shape}, {v.shape} and {chosen.shape}"
                )
        memory = self.model.packed, bytes_of(self._rows), bytes_of(self._fresh), self._tau
        return bind(begin_worlds, *memory, q, v, chosen.view(np.uint8))

    def get_state(self) -> NDArray[Any]:
        """Everything that decides the future, bit for bit: records of `model.state_dtype`."""
        return bytes_of(self._rows).copy().view(self._rows.dtype)

    @alone
    def set_state(self, state: NDArray[Any], *, mask: ArrayLike | None = None) -> None:
        """Restore what `get_state` gave, in the chosen worlds, shape (count,); in all if None.

        Raises:
            ValueError: no states of so many worlds of this model, or with a number that no step
                can have left.
        """
        chosen = self._flags(mask)
        if getattr(state, "dtype", None) != self._rows.dtype or state.shape != self._rows.shape:
            raise ValueError(
                f"state must be the {self.count} records that get_state() of these worlds gave"
            )
        check_states(self.model.header, state[chosen], "state")
        _records(self._rows)[chosen] = _records(state)[chosen]
        mend_lists(self._rows)
        self._written = True

    def _flags(self, mask: ArrayLike | None) -> Flags:
        if mask is None:
            return np.ones(self.count, np.bool_)
        flags = np.asarray(mask)
        if flags.dtype != np.bool_ or flags.shape != (self.count,):
            raise ValueError(
                f"mask must be booleans of shape ({self.count},), got {flags.dtype} of shape "
                f"{flags.shape}"
            )
        return flags

    def _spread(self, value: ArrayLike, size: int, name: str, chosen: Flags) -> Floats:
        array = np.asarray(value)
        if array.ndim == 1:
            array = np.broadcast_to(finite_vector(value, size, name), (self.count, size))
        array = _numbers(array, (self.count, size), name)
        if not np.isfinite(array[chosen]).all():
            raise ValueError(f"{name} must be finite in the chosen worlds")
        return array


def _check_memory(model: Model, count: int) -> None:
    """Raise a ValueError if so many worlds need more memory than there is."""
    size = count * model.state_dtype.itemsize
    free = available_bytes() if size > LARGE else size
    if size > free:
        raise ValueError(
            f"{count} worlds of this model need {size / 1e9:.1f} GB, more than the "
            f"{free / 1e9:.1f} GB that are free"
        )


def _numbers(value: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be real numbers, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return array.astype(np.float64, order="C")


def _given(value: ArrayLike, shape: tuple[int, ...], name: str, chosen: Flags | None) -> Floats:
    """Finite numbers, zeros of worlds that are not chosen."""
    array = _numbers(value, shape, name)
    if chosen is not None:
        array[~chosen] = 0.0
    if not np.isfinite(array).all():
        bad = np.argwhere(~np.isfinite(array))[:8].tolist()
        raise ValueError(f"{name} must be finite; entries {bad} are not")
    return array


def _on_one_thread(progress: Ints, call: Callable[[], Any]) -> Any:
    """A call of a kernel on one thread, which leaves `progress` as it found it (`claim`)."""
    try:
        return call()
    except BaseException:
        begin_round(progress, 1)
        raise


def _records(rows: NDArray[Any]) -> NDArray[Any]:
    """The same, one row a world."""
    return bytes_of(rows).reshape(len(rows), -1)
