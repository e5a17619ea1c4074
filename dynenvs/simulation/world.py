"""World: one stepped world, for a user without Gymnasium."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.contact.assembly.closing import closure, widest
from dynenvs.contact.detection.detect import candidates_of, measure_own_gaps, place
from dynenvs.jit.compiled import bind, prepare
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.bounds import check_size, check_states
from dynenvs.memory.layout import Bytes, Floats, open_model, open_work, open_world
from dynenvs.memory.origin import marked, unmarked
from dynenvs.memory.records import BUDGET, CONTACT, FAR
from dynenvs.model.contact_options import cone_code, cone_name, direction_counts, polygon_number
from dynenvs.model.model import Model
from dynenvs.model.parts import MOST_COUNT
from dynenvs.model.validation import check_parameters, finite_vector, mend_lists, whole_number
from dynenvs.simulation.audit import Audit, Given, Scratch
from dynenvs.simulation.certificate import Certificate, certify
from dynenvs.simulation.controls import Inputs, put_controls
from dynenvs.simulation.diagnostics import Diagnostics, read_diagnostics
from dynenvs.simulation.guard import alone, in_use
from dynenvs.simulation.readings import Readings, contact_sources, step_anew
from dynenvs.simulation.room import most_contacts, move_rows, with_room, with_room_for
from dynenvs.simulation.start import start
from dynenvs.simulation.timestep import ABSURD, DONE, STEP_FULL

TOUCHING = 1e-6  # features this close are listed as contacts even if they carry nothing [m]


class SimulationError(RuntimeError):
    """A step has no certified or degraded solution; the world keeps its last finite state."""


class Contact(NamedTuple):
    """A place where one body touches another.

    `feature` and `slot` together are its stable id.
    """

    feature: int  # index into `model.features`
    slot: int  # which of the ways in which two solids can touch; 0 of a point feature
    bodies: tuple[str, str]
    geoms: tuple[str, str]
    position: Floats  # world [m], shape (3,)
    normal: Floats  # unit, from the second to the first body, shape (3,)
    gap: float  # [m], negative inside
    impulse: Floats  # of the second on the first body in the last step, world axes [N s], (3,)
    # The same of torsional and rolling friction about the position [N m s], (3,)
    moment: Floats


class World(Readings):
    """A world that holds one model and steps it with hard contact.

    It begins where `reset()` takes it back to: at the model's keyframe "qpos0" if there is one.

    Args:
        model: what to simulate.
        timestep: length of a step [s]; the model's if None.
        cone: of friction, "pyramid" or "exact", in this world; the model's if None.
        directions: of each friction pyramid in this world: even, from 4 to the model's number,
            which it is if None.
        integrator: "euler" or "midpoint" (`ModelBuilder` explains both); the model's if None.
        audit_every: of how many steps one is audited (`World.audit_every`); none if 0.

    Raises:
        ValueError: no such step, cone, number of directions or integrator.

    Example::

        world = World(model, timestep=0.005)
        world.q[2] = 1.0
        for _ in range(200):
            world.step()
        print(world.time, world.body("box").position, world.contacts, world.diagnostics)
    """

    def __init__(
        self,
        model: Model,
        *,
        timestep: float | None = None,
        cone: str | None = None,
        directions: int | None = None,
        integrator: str | None = None,
        budget: int = BUDGET,
        audit_every: int = 0,
    ) -> None:
        if not isinstance(model, Model):
            raise ValueError(f"model must be a Model, as ModelBuilder.build() makes, got {model!r}")
        self._guard()
        self._model = model if integrator is None else model.with_integrator(integrator)
        self._every = 0
        self._audit: Audit | None = None
        self.timestep = self.model.timestep if timestep is None else timestep
        self._hold(self.model.states(1))
        self.q, self.v = start(self.model, None, None)
        if cone is not None:
            self.cone = cone
        if directions is not None:
            self.directions = directions
        self.budget = budget
        self.audit_every = audit_every

    def _hold(self, rows: NDArray[Any]) -> None:
        """Take over a state, and make what is worked out anew in every step."""
        self._rows = rows
        self._row = rows.view(np.uint8)
        self._buffer = self.model.workspace()
        self._handle = open_world(self.model.packed, self._row, self._buffer)
        self._tau = np.zeros(self.model.nv)
        self._inputs = Inputs(self.model, self._tau[None], ())
        self._servos = bool(self.model.header.nservos)  # looked at in each step
        self._sources = contact_sources(self.model)
        self._written = False  # whether parameters may have been written from outside
        self._prepared = False  # whether all that a step calls has been compiled
        self._bound: Callable[[], Any] | None = None  # the step's kernel with its arguments

    # Copies: by `copy.copy`, `copy.deepcopy` and `pickle` alike, worlds of their own with the same
    # future, bit for bit.  The frozen model may be shared, the state never is.

    def __getstate__(self) -> dict[str, Any]:
        made = {
            "_rows",
            "_row",
            "_buffer",
            "_handle",
            "_tau",
            "_inputs",
            "_servos",
            "_sources",
            "_written",
            "_prepared",
            "_bound",
            "_turn",
        }
        kept = {key: value for key, value in vars(self).items() if key not in made}
        return marked(kept | {"state": self._row.tobytes(), "tau": self._tau.copy()})

    def __setstate__(self, kept: dict[str, Any]) -> None:
        kept = unmarked(kept, "pickled World")
        state, tau = kept.pop("state"), kept.pop("tau")
        vars(self).update(kept)  # of a subclass, too
        self._guard()
        rows = self.model.states(1)
        check_size(state, rows, "pickled World")
        rows.view(np.uint8)[:] = np.frombuffer(state, np.uint8)
        check_states(self.model.header, rows, "pickled state")
        self._hold(rows)
        self._tau[:] = tau
        self._written = True

    def __repr__(self) -> str:
        return f"<World of {self._parts}, t = {self.time:g} s, timestep {self.timestep:g} s>"

    @property
    def _workspace(self) -> Bytes:
        return self._buffer

    def _give(self, array: NDArray[Any]) -> Any:
        return array[0]

    @property
    def q(self) -> Floats:
        """Positions, shape (nq,): a view that can be written into.

        In scenes of so many parts that pairs share their slots, a step may move the state to make
        room for more: read the property again after each step.
        """
        view: Floats = self._rows["q"][0]
        return view

    @q.setter
    def q(self, value: ArrayLike) -> None:
        self._rows["q"][0] = finite_vector(value, self.model.nq, "q")

    @property
    def v(self) -> Floats:
        """Velocities, shape (nv,): a view that can be written into.

        Those of kinematic bodies stay as they are set; all others follow from forces.
        """
        view: Floats = self._rows["v"][0]
        return view

    @v.setter
    def v(self, value: ArrayLike) -> None:
        self._rows["v"][0] = finite_vector(value, self.model.nv, "v")

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return float(self._rows["status"]["time"][0])

    @property
    def surface_velocity(self) -> Floats:
        """With which each geom's surface runs along it, shape (geoms, 3) [m/s]: belts of conveyors.

        In the order of `Model.geoms` (`Model.geom_id`), in the axes of the geom's body; writable.

        Raises:
            ValueError: the model was built without any.
        """
        if "surface" not in (self._rows.dtype.names or ()):
            raise ValueError(
                "no geom of the model has a surface velocity: give one to ModelBuilder's geom, "
                "surface_velocity=(0, 0, 0) if it stands still at first"
            )
        self._written = True
        view: Floats = self._rows["surface"][0]
        return view

    @property
    def cone(self) -> str:
        """This world's friction cone, "pyramid" or "exact"; may be set at any time.

        In the plane both are one, and its name is "pyramid".
        """
        return cone_name(int(self._rows["status"]["cone"][0]))

    @cone.setter
    def cone(self, name: str) -> None:
        self._rows["status"]["cone"] = cone_code(name, int(self.model.header.directions))

    @property
    def directions(self) -> int:
        """How many directions this world's friction pyramids have; may be set at any time."""
        counts = direction_counts(int(self.model.header.directions))
        return counts[int(self._rows["status"]["polygon"][0])]

    @directions.setter
    def directions(self, count: int) -> None:
        number = polygon_number(count, int(self.model.header.directions))
        self._rows["status"]["polygon"] = number

    @property
    def budget(self) -> int:
        """Factorisations that each method may spend on an island; may be set at any time."""
        return int(self._rows["status"]["budget"][0])

    @budget.setter
    def budget(self, count: int) -> None:
        if not isinstance(count, numbers.Integral) or isinstance(count, bool) or count < 1:
            raise ValueError(
                f"budget counts factorisations: a whole number from 1 on, got {count!r:.60}"
            )
        if count > MOST_COUNT:
            raise ValueError(f"budget must be at most {MOST_COUNT}, got {count!r:.60}")
        self._rows["status"]["budget"] = count

    @property
    def audit_every(self) -> int:
        """Of how many steps one is audited; 0: none.  May be set at any time.

        An audit measures what a step's own equations do not see: how deep anything is in anything
        else, by distances of solids, and how much energy the step gained.  `diagnostics` has the
        worst (`deepest`, `gained`) and the number of steps beyond their bounds: those that shorter
        steps would mend (`coarse`), and those that are wrong at any length (`beyond`).  What
        overlaps when it is set, or after a `reset`, is left out: `overlapping` names it.
        """
        return self._every

    @audit_every.setter
    def audit_every(self, every: int) -> None:
        self._every = whole_number(every, "audit_every", 0)
        self._audit = Audit(self._every, Scratch(self.model)) if every else None

    @property
    def overlapping(self) -> tuple[str, ...]:
        """The pairs of geoms that overlapped when audits began, and are left out of them."""
        return () if self._audit is None else self._audit.left_out

    @alone
    def reset(self, q: ArrayLike | str | None = None, v: ArrayLike | None = None) -> None:
        """Back to time zero at a keyframe of the model, or at `q` and `v`.

        Nothing is kept but the cone and its directions, and the budget.  A keyframe's control is
        not held: give it to `step`, `world.step(control=model.keyframes["home"].control)`.

        Args:
            q: positions, shape (nq,), or the name of a keyframe; if None, of "qpos0", which models
                from files have, or neutral in a model without (`Model.neutral`).
            v: velocities, shape (nv,); if None, the keyframe's, or at rest where `q` is given.

        Raises:
            ValueError: no such keyframe, wrong shape, or not finite; the world stays as it is.
        """
        q, v = start(self.model, q, v)
        q, v = finite_vector(q, self.model.nq, "q"), finite_vector(v, self.model.nv, "v")
        status = self._rows["status"]
        kept = [int(status[name][0]) for name in ("cone", "polygon", "budget")]
        self._rows[:] = self.model.states(1)
        status["cone"], status["polygon"], status["budget"] = kept
        self.q[:], self.v[:] = q, v
        self.audit_every = self._every  # begins anew

    @property
    def tau(self) -> Floats:
        """A copy of the actuator forces of the last step, clipped to effort limits, shape (nu,).

        Of servos, those of its end (of the midpoint rule: its mean).
        """
        applied: Floats = self._tau[self.model.actuated]
        return applied

    def step(
        self, tau: ArrayLike | None = None, steps: int = 1, *, control: ArrayLike | None = None
    ) -> None:
        """Advance by `steps` time steps under actuator forces `tau` [N m, N], shape (nu,).

        A motor gives no more than its joint's `effort` limit: forces beyond are clipped to it, as
        the environments do and MuJoCo does with a `forcerange`; `World.tau` is what was applied.
        Limits of velocity are not enforced (see `Joint`).

        With `control` instead, a number for each of `Model.actuators`, these make the forces, anew
        in each time step, servos implicitly (`dynenvs.dynamics.servos`).  With neither, none act.

        Raises:
            ValueError: wrong shape, or not finite; `tau` and `control` together, or controls of no
                actuators; `steps` is no whole number from 0 on; or `friction`, `restitution` or
                `mass_scale` of this world hold something that cannot be.
            SimulationError: a contact problem has no solution, a loop cannot be closed, a
                coordinate would go more than 100,000 rad or m in a time step, or there are more
                contacts than the limit `ModelBuilder(max_contacts=...)` allows.  The last state
                that was solved stays.
            RuntimeError: another thread is using this world.
        """
        if not self._turn.acquire(False):
            raise in_use(self)
        try:
            self._advance(tau, steps, control)
        finally:
            self._turn.release()

    def _advance(self, tau: ArrayLike | None, steps: int, control: ArrayLike | None) -> None:
        steps = whole_number(steps, "steps", 0)
        model = self._model
        refuse_count(tau)
        if self._written:
            check_parameters(model, self._rows)
        # All is checked before the world moves
        self._inputs.take(tau, control, None, _given)
        if not self._prepared:
            prepare("the dynamics", [step_anew], model.kernel_groups)
            self._prepared = True
        # A step that needs room for more contacts leaves the world as it was, and is repeated
        call = self._call()
        audit = self._audit
        for _ in range(steps):
            before = None if audit is None else audit.begin(self.model, self._row)
            done = call()
            while done == STEP_FULL:
                self._make_room()
                call = self._call()
                done = call()
            if done != DONE:
                raise SimulationError(self._failure())
            if audit is not None and before is not None:
                given = Given(self._tau, self._inputs.controls[0], self._timestep)
                audit.take(self.model, self._row, before, given)
        if self._servos and self._inputs.controls[0, 0] and steps:
            # Of joints that are not actuated, some are pushed: the next call does not begin with it
            self._tau[model.actuated] = self._rows["drive"][0, model.actuated]

    def _failure(self) -> str:
        """Why the last step has no solution, and what would be right."""
        # The likeliest cause first: a loop that cannot close, then speeds beyond all sense
        number, opening = widest(open_work(self._handle, self._handle))
        q, v = (np.array2string(x, max_line_width=10**6, threshold=50) for x in (self.q, self.v))
        state = f"(timestep {self.timestep} s, q = {q}, v = {v})"
        if number >= 0:
            loop = self.model.closures.loops[number].name
            return (
                f"loop {loop!r} cannot be closed in the step at t = {self.time:.6g} s: it stays "
                f"open by {opening:.3g} m or rad {state}; begin where its frames meet (`closure` "
                "is zero there), or try a shorter timestep"
            )
        for name in _quaternions_of_no_size(self.model, self.q):
            return (
                f"the quaternion of joint {name!r} is zero {state}: no turn is (1, 0, 0, 0), as "
                "model.neutral() has it"
            )
        at = f"in the step at t = {self.time:.6g} s"
        fastest = np.abs([self.v, self._handle.v_free]).max(axis=0, initial=0.0)
        if (fastest * self.timestep > ABSURD).any():
            number = int(fastest.argmax())
            return (
                f"coordinate {number} would go {fastest[number] * self.timestep:.3g} m or rad {at} "
                f"{state}, more than {ABSURD:g}: are velocities, forces and masses in SI units?"
            )
        return f"no solution of the step at t = {self.time:.6g} s {state}; try a shorter timestep"

    def _call(self) -> Callable[[], Any]:
        """The step's kernel with its arguments."""
        if self._servos:
            put_controls(self._handle, self._inputs.controls[0])
        if self._bound is None:
            self._bound = bind(step_anew, self._handle, self._tau, self._timestep)
        return self._bound

    def _make_room(self) -> None:
        """Room for what the step has found, which has left the state as it was.

        Views of this world's state that were taken before are of no use any more.
        """
        answer = self._handle.answer[0]
        wanted, blocks = int(answer["wanted"]), int(answer["blocks"])
        most = most_contacts(self.model)
        if wanted > most:
            raise SimulationError(
                f"the step at t = {self.time:.6g} s needs room for up to {wanted} contacts, and "
                f"max_contacts={most} is the limit of the model: build it with a larger one "
                f"(ModelBuilder(max_contacts={wanted}) or more) or with none"
            )
        self._move_to(with_room(self.model, wanted, blocks))

    def _move_to(self, model: Model) -> None:
        """Go on with the same model with more room."""
        rows, tau, inputs = self._rows, self._tau, self._inputs
        written, prepared = self._written, self._prepared
        same = rows.dtype == model.state_dtype
        self._model = model
        self._hold(rows if same else move_rows(rows, model))
        self._tau, self._inputs, self._bound = tau, inputs, None
        self._written, self._prepared = written, prepared

    @property
    @alone
    def contacts(self) -> list[Contact]:
        """Features that touch (gap below 1 um) or carried an impulse in the last step."""
        m = open_model(self.model.packed)
        w = self._handle
        update_poses(m, self.q, w.pose)
        # Gaps of now, impulses of the last step
        record = np.zeros(1, CONTACT)[0]
        names, geoms = self.model.body_names, self.model.geoms
        found = []
        measure_own_gaps(w)
        impulses = self._rows["memory"]["impulse"][0]
        turned = self.model.header.moments
        moments = self._rows["moments"][0] if turned else np.zeros_like(impulses)
        loaded = impulses.any(axis=1)
        for k, i, at, slot in candidates_of(m, w):
            gap = w.gaps[k]
            # What has been left since it was pushed is listed once more
            if gap < TOUCHING or (loaded[k] and gap < FAR):
                feature, impulse = self.model.features[i], impulses[k]
                place(self.model.features, w.spots, w.pose, i, at, record)
                found.append(
                    Contact(
                        i,
                        slot,
                        (names[feature.body_a], names[feature.body_b]),
                        (geoms[feature.geom_a].name, geoms[feature.geom_b].name),
                        record.point.copy(),
                        record.normal.copy(),
                        float(gap),
                        impulse.copy(),
                        moments[k].copy(),
                    )
                )
        return found

    @property
    @alone
    def closure(self) -> Floats:
        """By how much the loops' rows are open now [m, rad], shape (ne,): zero, but for rounding.

        `diagnostics.opened` is the largest at the end of any step.

        Of each loop: distances between its frames along B's axes x, y, z, then cosines between
        axes that are orthogonal when closed, z_A and x_B, z_A and y_B, x_A and y_B (those that its
        joint holds).
        """
        return closure(open_work(self._handle, self._handle), self.q)

    @property
    def diagnostics(self) -> Diagnostics:
        """Solver's counters since the world was made or reset."""
        return read_diagnostics(self._rows["status"][0])

    @alone
    def certificate(self) -> Certificate:
        """What of the positions is wrong now: overlaps, joints beyond their stops, open loops.

        Measured by other means than the steps' own (`dynenvs.simulation.certificate`), whenever it
        is requested; it changes nothing.
        """
        return certify(self.model, self._handle)

    def get_state(self) -> NDArray[Any]:
        """Everything that decides the future, bit for bit: one record of `model.state_dtype`."""
        record: NDArray[Any] = self._row.copy().view(self._rows.dtype)[0]
        return record

    @alone
    def set_state(self, state: NDArray[Any]) -> None:
        """Restore what `get_state` gave.

        Raises:
            ValueError: no state of this model, or one with a number that no step can have left.
        """
        model = self.model
        if getattr(state, "dtype", None) != self._rows.dtype:
            found = with_room_for(model, state)
            if found is None:
                raise ValueError("state must be a record that get_state() of this model returned")
            model, state = found, move_rows(np.array([state], state.dtype), found)[0]
        check_states(model.header, np.array([state], model.state_dtype), "state")
        if model is not self.model:
            self._move_to(model)
        self._rows[0] = state
        self._written = True
        mend_lists(self._rows)


def _given(value: ArrayLike, shape: tuple[int, ...], name: str, chosen: Any) -> Floats:
    """Finite numbers of that shape."""
    return finite_vector(value, shape[0], name)


def _quaternions_of_no_size(model: Model, q: Floats) -> list[str]:
    """Joints whose quaternion is zero: no pose follows from it."""
    before = {"spherical": 0, "free": 3}  # coordinates of the joint before its quaternion
    at = {
        name: model.position_index(name) + before[joint.type]
        for name, joint in model.joints.items()
        if joint.type in before
    }
    return [name for name, i in at.items() if not q[i : i + 4].any()]


def refuse_count(tau: Any) -> None:
    """Make sure that forces are no number of steps.

    Raises:
        ValueError: they are one.
    """
    if type(tau) is int or isinstance(tau, np.integer):
        words = f"tau must be forces of the motors, got {tau}"
        raise ValueError(f"{words}; {tau} steps are steps={tau}")
