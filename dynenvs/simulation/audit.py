"""An audit of every n-th step: what of the world is wrong at its end, whatever its equations say.

The positions are measured by other means than the step's own (`certificate.py`), and so is the
energy: what a step has more of at its end than at its start, beyond the work of actuators and
springs.  Whatever overlaps when the audits begin is named, and left out.

A step of first order is not exact, and what it gets wrong for that reason is no fault of it: what
velocities create or destroy of a tree's energy goes with the square of the step, the depth that a
correction leaves with its cube (docs/theory.md, Semi-implicit Euler).  So a step that ends
beyond the bounds is made again from its start, in ever more parts, in a copy of the world.  What
shorter parts do not have is told as `coarse`, all else as `beyond`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.project import DONE as EXACT
from dynenvs.dynamics.energy import measure_energy
from dynenvs.jit.compiled import prepare
from dynenvs.memory.layout import Bytes, Floats, WorldView, open_world
from dynenvs.memory.records import EULER
from dynenvs.model.model import Model
from dynenvs.simulation.certificate import Certificate, certify, depths_of, names_of
from dynenvs.simulation.controls import put_controls
from dynenvs.simulation.readings import step_anew
from dynenvs.simulation.room import move_rows
from dynenvs.simulation.timestep import DONE

BOUND = 1e-9  # of depths, of overruns and of openings [m, rad]
CORRECTED = 1e-5  # depth that the last correction of a step may leave a share of [m]
PARTS = 2, 8, 32, 128, 512  # into which a step beyond the bounds is cut, until that explains it
RUNS = 3  # of these that predict what the whole step gains
SLACK = 2.0  # times the gain that parts predict: errors of higher order
SHARE = 1e-6  # of the kinetic energy, beyond which a gain is counted
ROUNDING = 1e-12  # of the energy, below which there is none


class Given(NamedTuple):
    """What a step was given."""

    tau: Floats  # forces of all coordinates, shape (nv,)
    controls: Floats  # of models with servos, as `Inputs.controls` has them, shape (1 + nservos,)
    dt: float  # [s]


class Moment(NamedTuple):
    """Where a step begins or ends."""

    kinetic: float  # [J]
    potential: float  # [J]
    spin: float  # of the body that turns fastest [rad/s]
    state: NDArray[Any]  # a copy, shape (1,)

    @property
    def size(self) -> float:
        """Of the energies [J]."""
        return abs(self.kinetic) + abs(self.potential)


class Step(NamedTuple):
    """What a step has led to."""

    certificate: Certificate
    gained: float  # energy beyond what was worked in [J]
    end: Moment

    @property
    def strays(self) -> bool:
        """Whether a position is beyond its bound."""
        found = self.certificate
        return bool(max(found.deepest, found.overrun, found.opened) > BOUND)


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

    def begin(self, model: Model, row: Bytes) -> Moment | None:
        """Where the step that comes begins, if it is audited; before the first, what overlaps."""
        # Before the first step: what overlaps then is the model's doing, not a step's
        if self._hidden is None:
            self._hidden = depths_of(self._scratch.world(model, row)) > BOUND
            names = (names_of(model, int(k)) for k in np.flatnonzero(self._hidden))
            self.left_out = tuple(dict.fromkeys(names))
        self._steps += 1
        return self._moment(model, row) if self._steps % self.every == 0 else None

    def take(self, model: Model, row: Bytes, before: Moment, given: Given) -> None:
        """Audit the step that has led here; the worst goes to the world's status.

        Args:
            model: of the world.
            row: its state.
            before: what `begin` returned for this step.
            given: to this step.
        """
        status: Any = row.view(model.state_dtype)[0]["status"]
        found = self._measure(model, row, before, given)
        gained = found.gained
        # What a correction of positions leaves, the next one lifts: no more is known of a height
        unknown = ROUNDING * (before.size + found.end.size) + EXACT * _weight(model, before)
        if gained <= unknown:
            gained = 0.0
        # One count a step, however many things are wrong with it
        status["audits"] += 1
        if found.strays or gained > _share(before, found.end):
            coarse = self._is_coarse(model, before, given, found)
            status["coarse" if coarse else "beyond"] += 1
        status["deepest"] = max(float(status["deepest"]), found.certificate.deepest)
        status["gained"] = np.maximum(float(status["gained"]), gained)

    def _moment(self, model: Model, row: Bytes) -> Moment:
        w = self._scratch.world(model, row)
        energies = measure_energy(w)
        spins = np.linalg.norm(w.body["v"][1:, :3], axis=1)
        return Moment(*energies, float(spins.max(initial=0.0)), row.view(model.state_dtype).copy())

    def _measure(self, model: Model, row: Bytes, before: Moment, given: Given) -> Step:
        """A step from `before` to the state in `row`."""
        # Positions by other means than the step's, and the energy beyond what was worked in
        found = certify(model, self._scratch.world(model, row), self._hidden)
        end = self._moment(model, row)
        gained = end.kinetic + end.potential - before.kinetic - before.potential
        gained -= _work(model, before, end, given)
        # What else does work is not worked out: belts, kinematic bodies, wrenches
        if model.header.nsurfaces or model.header.nkinematic or end.state["wrench"].any():
            gained = math.nan
        return Step(found, gained, end)

    def _is_coarse(self, model: Model, before: Moment, given: Given, whole: Step) -> bool:
        """Whether the step is beyond the bounds only because it is no shorter.

        A joint's stops and loops are put right at the end of a step of any length.
        """
        found = whole.certificate
        if max(found.overrun, found.opened) > BOUND or found.deepest > CORRECTED:
            return False
        prepare("the audits' shorter steps", [step_anew], model.kernel_groups)
        deepest = max(self._depth(model, _row_for(model, before.state)), BOUND)
        share, gains = _share(before, whole.end), dict[int, float]()
        for parts in PARTS:
            end = self._in_parts(model, before, given, parts, deepest)
            if end is None:
                return False
            # Was there energy to explain (NaN: it is not known), and do these parts explain it?
            gains[parts], sound = end.gained, not whole.gained > share
            if len(gains) >= RUNS and not sound:
                runs = list(gains.items())
                limit, predicted = _predict(runs[-RUNS:], 0.0), _predict(runs[:RUNS], 1.0)
                # Parts may lose in a blow what the whole step loses in the next one
                most = max(limit + SLACK * max(predicted - limit, 0.0), 0.0)
                most += _created(before, whole.end, given.dt, self._jump(model, before, whole.end))
                sound = limit <= share and whole.gained <= most + share
            if sound and not end.strays:
                return True
        return False

    def _depth(self, model: Model, row: Bytes) -> float:
        """How deep anything is in anything else that was apart when audits began [m]."""
        return certify(model, self._scratch.world(model, row), self._hidden).deepest

    def _jump(self, model: Model, start: Moment, end: Moment) -> float:
        """Kinetic energy of the change of velocities in a step [J]."""
        row = _row_for(model, end.state)
        v: Floats = row.view(model.state_dtype)[0]["v"]
        v -= start.state[0]["v"]
        return measure_energy(self._scratch.world(model, row))[0]

    def _in_parts(
        self, model: Model, before: Moment, given: Given, parts: int, deepest: float
    ) -> Step | None:
        """The step in so many parts; None if one cannot be made.

        A part that ends below `deepest` [m] stands for the depth of all.
        """
        row = _row_for(model, before.state)
        shorter, at, gained, worst = given._replace(dt=given.dt / parts), before, 0.0, None
        for _ in range(parts):
            w = self._scratch.world(model, row)
            if model.header.nservos:
                put_controls(w, given.controls)
            if step_anew(w, given.tau, shorter.dt) != DONE:
                return None
            part = self._measure(model, row, at, shorter)
            if part.certificate.deepest > deepest:
                worst = part.certificate
            gained, at = gained + part.gained, part.end
        return Step(worst or part.certificate, gained, at)


def _row_for(model: Model, state: NDArray[Any]) -> Bytes:
    """A copy of a state, for a model that may have got more room since."""
    moved = state.copy() if state.dtype == model.state_dtype else move_rows(state, model)
    row: Bytes = moved.view(np.uint8)
    return row


def _predict(runs: list[tuple[int, float]], length: float) -> float:
    """What a step gains in parts of this share of its length; at 0 the limit (Richardson's) [J].

    A rule of first order gains a + b / n + c / n^2 + ... in n parts: Lagrange's polynomial of 1/n.
    c is large where a motor gives a light link some radians a second within the step.

    runs: numbers of parts, and what they gained [J]
    """
    total = 0.0
    for n, gained in runs:
        others = (m for m, _ in runs if m != n)
        total += gained * math.prod((length - 1.0 / m) / (1.0 / n - 1.0 / m) for m in others)
    return total


def _created(start: Moment, end: Moment, dt: float, jump: float) -> float:
    """Energy that velocity products of a step's start may create [J] (docs/theory.md).

    They go with the turn of bodies in each other, which is up to twice that of the fastest.  Where
    something is struck, its velocities of the start are not those it goes on with.

    jump: kinetic energy of the change of velocities [J]
    """
    turn, most = 2.0 * dt * max(start.spin, end.spin), max(start.kinetic, end.kinetic)
    return turn * turn * most + 2.0 * turn * math.sqrt(most * jump)


def _weight(model: Model, moment: Moment) -> float:
    """Of all that moves [N]."""
    masses = model.bodies["mass"] * moment.state[0]["mass_scale"]
    return float(masses.sum() * np.linalg.norm(model.header.gravity))


def _share(start: Moment, end: Moment) -> float:
    """Energy beyond which a gain is counted [J]."""
    return SHARE * max(start.kinetic, end.kinetic)


def _work(model: Model, before: Moment, after: Moment, given: Given) -> float:
    """What forces of the coordinates do on the way from one state to the next [J].

    Of hinges and slides by how far they went, of others by their velocity.
    """
    start, end = before.state[0], after.state[0]
    # Where servos act, what they gave; a model that has some may be given forces, too
    driven = model.header.nservos and given.controls[0]
    tau = end["drive"] if driven else given.tau
    # Euler's rule moves with the new velocity, the midpoint rule with the mean
    work = 0.0
    later = 1.0 if model.header.integrator == EULER else 0.5
    for j in np.flatnonzero(tau):
        at, body = int(model.dofs[j].q_at), model.bodies[int(model.dofs[j].body)]
        way = end["q"][at] - start["q"][at]
        if body.nv > 1:
            way = given.dt * (later * end["v"][j] + (1.0 - later) * start["v"][j])
        work += float(tau[j] * way)
    return work
