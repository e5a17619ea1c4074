"""An audit of every n-th step: what of the world is wrong at its end, whatever its equations say.

The positions are measured by other means than the step's own (`certificate.py`), and so is the
energy: what a step has more of at its end than at its start, beyond the work of actuators and
springs.  Whatever overlaps when the audits begin is named, and left out.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.energy import measure_energy
from dynenvs.memory.layout import Bytes, Floats, WorldView, open_world
from dynenvs.memory.records import EULER
from dynenvs.model.model import Model
from dynenvs.simulation.certificate import certify, depths_of, names_of

BOUND = 1e-9  # of depths, of overruns and of openings [m, rad]
SHARE = 1e-6  # of the kinetic energy, beyond which a gain is counted
ROUNDING = 1e-12  # of the energy, below which there is none


class Start(NamedTuple):
    """Where an audited step began."""

    kinetic: float  # [J]
    potential: float  # [J]
    q: Floats
    v: Floats


def audit_interval(every: Any) -> int:
    """A checked `audit_every`.

    Raises:
        ValueError: it is no whole number from 0 on.
    """
    if not isinstance(every, numbers.Integral) or isinstance(every, bool) or every < 0:
        raise ValueError(f"audit_every must be a whole number from 0 on, got {every!r}")
    return int(every)


class Scratch:
    """A workspace for audits, which change nothing of a world's own; worlds may share it."""

    def __init__(self, model: Model) -> None:
        self._buffer = model.workspace()

    def world(self, model: Model, row: Bytes) -> WorldView:
        """A state with it; it grows with a model that has been given more room."""
        if len(self._buffer) < model.header.workspace_bytes:
            self._buffer = model.workspace()
        return open_world(model.packed, row, self._buffer)


class Audit:
    """The audits of one world.

    Attributes:
        every: of how many steps one is audited.
        left_out: the pairs of geoms that overlapped when the audits began.
    """

    def __init__(self, every: int, scratch: Scratch) -> None:
        self.every = every
        self.left_out: tuple[str, ...] = ()
        self._hidden: NDArray[np.bool_] | None = None
        self._scratch = scratch
        self._steps = 0

    def begin(self, model: Model, row: Bytes) -> Start | None:
        """Where the step that comes begins, if it is audited; before the first, what overlaps."""
        # Before the first step: what overlaps then is the model's doing, not a step's
        if self._hidden is None:
            self._hidden = depths_of(self._scratch.world(model, row)) > BOUND
            names = (names_of(model, int(k)) for k in np.flatnonzero(self._hidden))
            self.left_out = tuple(dict.fromkeys(names))
        self._steps += 1
        return self._start(model, row) if self._steps % self.every == 0 else None

    def _start(self, model: Model, row: Bytes) -> Start:
        state: Any = row.view(model.state_dtype)[0]
        energies = measure_energy(self._scratch.world(model, row))
        return Start(*energies, state["q"].copy(), state["v"].copy())

    def take(self, model: Model, row: Bytes, before: Start, tau: Floats, dt: float) -> None:
        """Audit the step that has led here; the worst goes to the world's status.

        Args:
            model: of the world.
            row: its state.
            before: what `begin` returned for this step.
            tau: what its actuators gave each coordinate, shape (nv,).
            dt: its length [s].
        """
        state: Any = row.view(model.state_dtype)[0]
        # Positions by other means than the step's, and the energy beyond what was worked in
        found = certify(model, self._scratch.world(model, row), self._hidden)
        after, status = self._start(model, row), state["status"]
        total = sum(abs(x) for x in (*before[:2], *after[:2]))
        gained = after.kinetic + after.potential - before.kinetic - before.potential
        gained -= _work(model, before, after, tau, dt)
        gained = gained if gained > ROUNDING * total else 0.0
        # What else does work is not worked out: belts, kinematic bodies, wrenches
        if model.header.nsurfaces or model.header.nkinematic or state["wrench"].any():
            gained = math.nan
        # One count a step, however many things are wrong with it
        much = gained > SHARE * max(before.kinetic, after.kinetic)
        status["audits"] += 1
        status["beyond"] += max(found.deepest, found.overrun, found.opened) > BOUND or much
        status["deepest"] = max(float(status["deepest"]), found.deepest)
        status["gained"] = np.maximum(float(status["gained"]), gained)


def _work(model: Model, before: Start, after: Start, tau: Floats, dt: float) -> float:
    """What forces of the coordinates do on the way from one state to the next [J].

    Of hinges and slides by how far they went, of others by their velocity.
    """
    # Euler's rule moves with the new velocity, the midpoint rule with the mean
    work = 0.0
    later = 1.0 if model.header.integrator == EULER else 0.5
    for j in np.flatnonzero(tau):
        at, body = int(model.dofs[j].q_at), model.bodies[int(model.dofs[j].body)]
        way = after.q[at] - before.q[at]
        if body.nv > 1:
            way = dt * (later * after.v[j] + (1.0 - later) * before.v[j])
        work += float(tau[j] * way)
    return work
