"""A time step on Pinocchio's contact solvers: ADMM and projected Gauss-Seidel (part of pin 4).

Pinocchio has solvers of contact, but no simulator.  This is the step of its authors' own example of
the ADMM solver: free velocity, Delassus operator, solver, velocity, position.  Contact points are
those that dynenvs finds, so that both get the same geometry.  The law is the same, too: the gap may
not close within the step, and friction has Coulomb's exact cone.  Positions are not corrected; a
fifth of a contact's depth is taken back in a step (Baumgarte's method, the authors').

What is timed is Pinocchio's own functions, without the detection and without making its objects in
Python: its cost as a library called from C++, and no more.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.memory.records import FREE, REVOLUTE, SEEN
from dynenvs.model.model import Model
from dynenvs.simulation.world import SimulationError, World
from studies.bench.peers import MissingPeer, peer
from studies.bench.touching import Detector, Touching

NEAR = 1e-3  # places this close are always part of the problem, as in dynenvs [m]
ROUNDS = 5  # of places that were left out and would close
SLACK = 1e-12  # by how much such a place may close before it counts [m]
TAKEN_BACK = 0.2  # of the depth, in a step
TOLERANCE = 1e-9  # of the solvers, absolute and relative [N s, m/s]; their default is 1e-6
ITERATIONS = 1000  # at most, their default
ANDERSON, PROXIMAL, DAMPING = 10, 1e-4, 1e-10  # as the authors' example of ADMM has them
LANCZOS = 10  # of a few hundred rows, most of the time goes into all that there are (its default)
LARGEST = 400  # velocities; 1,200 take more than 20 GB
STACK = 256 << 20  # of the thread in which they run [bytes]
NEVER = 1e-300  # a tolerance that nothing meets but what is exactly zero
G_DT = 9.81  # times the step: the least velocity that residuals are measured by [m/s^2]


class PinocchioStep:
    """Steps a `World` with one of Pinocchio's solvers; the world finds contacts, holds the state.

    Args:
        world: free bodies and hinges, and what they touch.
        solver: "ADMM" or "PGS".
        tolerance: of the solver, absolute and relative [N s, m/s].

    Raises:
        MissingPeer: no Pinocchio of version 4, or the world has what this step does not know.
    """

    def __init__(self, world: World, solver: str, tolerance: float = TOLERANCE) -> None:
        self._pin = pin = peer("pinocchio")
        if not hasattr(pin, "ADMMConstraintSolver"):
            raise MissingPeer("`pip install 'pin>=4.1'` first (an older one has no such solvers)")
        if world.model.nv > LARGEST:
            raise MissingPeer(
                f"its `Data` takes memory by the cube of velocities: {world.model.nv} are too many"
            )
        if world.model.header.restitution:
            raise MissingPeer("its solvers have no law of restitution")
        if world.model.header.moments:
            raise MissingPeer("its solvers have no torsional or rolling friction")
        if world.model.header.nsurfaces or world.model.dofs["kinematic"].any():
            raise MissingPeer("this step on its solvers knows no belts and no kinematic bodies")
        self._world, self._detector = world, Detector(world)
        self._model = free_and_hinged(world.model)
        self._data = self._model.createData()
        self._solver = getattr(pin, f"{solver}ConstraintSolver")()
        self._result = getattr(pin, f"{solver}SolverResult")()
        self._tolerance, self._sparse = tolerance, solver == "ADMM"
        # From the last impulses, ADMM with Anderson acceleration stalls on a wall in three steps
        # and wanders in a grasp; from nothing it takes some forty iterations every time.
        self._warm = solver == "PGS"
        self._settings = self._settings_of(solver, tolerance)
        self._impulses: dict[tuple[int, int], Floats] = {}  # of the last step, in contact frames
        bodies = world.model.bodies[1:]
        free = bodies[bodies["joint"] == FREE]
        self._turns = free["q_at"][:, None] + np.arange(3, 7)  # where in q the quaternions are
        self._thread = roomy_thread()
        self.seconds = 0.0  # of the processor, in Pinocchio's functions
        self.unfinished = 0  # solves that ended above the tolerance: ADMM's, by its own word
        self.residual = 0.0  # the worst, as `residual` has it

    def _settings_of(self, solver: str, tolerance: float) -> Any:
        found = getattr(self._pin, f"{solver}SolverSettings")()
        found.max_iterations = ITERATIONS
        for name in ("feasibility", "complementarity"):
            for kind in ("absolute", "relative"):
                setattr(found, f"{kind}_{name}_tol", tolerance)
        if solver == "PGS":  # its absolute test judges each contact just after that was solved
            found.absolute_feasibility_tol = found.absolute_complementarity_tol = NEVER
        if solver == "ADMM":
            found.anderson_capacity, found.mu_prox = ANDERSON, PROXIMAL
            found.lanczos_size = LANCZOS
        return found

    def step(self, count: int = 1) -> None:
        """Advance by so many steps.

        Raises:
            SimulationError: the state is not finite any more.
        """
        for _ in range(count):
            self._thread.submit(self._step).result()

    def _step(self) -> None:
        pin, dt = self._pin, self._world.timestep
        near = self._detector.near(SEEN)
        q, v = self._to_theirs()
        nothing = np.zeros(self._model.nv)
        with self._timed():
            data = self._data
            data.q_in, data.v_in, data.tau_in = q, v, nothing
            pin.crba(self._model, data, q, pin.Convention.WORLD)
            free = v + dt * pin.aba(self._model, data, q, v, nothing)
        after = self._with_contact(near, q, v, free)
        with self._timed():
            q = pin.integrate(self._model, q, dt * after)
        if not (np.isfinite(q).all() and np.isfinite(after).all()):
            raise SimulationError("the step gave numbers that are not finite")
        self._to_ours(q, after)

    def _with_contact(self, near: Touching, q: Floats, v: Floats, free: Floats) -> Floats:
        """The velocity at the end of the step, from the one that there is without contact."""
        dt = self._world.timestep
        chosen, after, impulses = near.gap < NEAR, free, None
        for _ in range(ROUNDS):
            missed = ~chosen
            missed[missed] = near.gap[missed] + dt * self._closing(near, missed, q, after) < -SLACK
            if impulses is not None and not missed.any():
                break
            chosen |= missed
            after, impulses = self._solve(near, np.flatnonzero(chosen), q, v, free)
        self._impulses = impulses or {}
        return after

    def _closing(self, near: Touching, which: Any, q: Floats, v: Floats) -> Floats:
        """How fast the gaps of some places grow [m/s]."""
        if not which.any():
            return np.zeros(0)
        pin = self._pin
        pin.forwardKinematics(self._model, self._data, q, v)
        speeds = []
        for body in (near.first[which], near.second[which]):
            twists = np.zeros((self._model.njoints, 6))
            for i in np.unique(body):  # in world axes, at the world's origin
                twists[i] = pin.getVelocity(self._model, self._data, int(i), pin.WORLD).vector
            linear, angular = twists[body, :3], twists[body, 3:]
            at = linear + cross(angular, near.point[which])
            speeds.append((at * near.normal[which]).sum(axis=1))
        return np.asarray(speeds[0] - speeds[1])

    def _solve(
        self, near: Touching, chosen: Any, q: Floats, v: Floats, free: Floats
    ) -> tuple[Floats, dict[tuple[int, int], Floats]]:
        """Velocity and impulses with contact at the chosen places."""
        if len(chosen) == 0:
            return free, {}
        pin, model, data, dt = self._pin, self._model, self._data, self._world.timestep
        models, datas = self._constraints(near, chosen)
        keys = [near.keys[k] for k in chosen]
        self._result.clearConstraintImpulseGuess()
        if self._warm:
            guess = [self._impulses.get(key, np.zeros(3)) for key in keys]
            self._result.setConstraintImpulseGuess(np.concatenate(guess))
        self._result.clearConstraintVelocityGuess()
        bias = np.zeros((len(chosen), 3))
        gap = near.gap[chosen]
        bias[:, 2] = np.where(gap < 0.0, TAKEN_BACK * gap, gap) / dt
        with self._timed():
            pin.crba(model, data, q, pin.Convention.WORLD)
            for one, other in zip(models, datas, strict=True):
                one.calc(model, data, other)
            cholesky = pin.ConstraintCholeskyDecomposition(model, data, models, datas)
            cholesky.compute(model, data, models, datas, DAMPING)
            delassus = cholesky.getDelassusOperatorCholeskyExpression()
            J = pin.getConstraintsJacobian(model, data, models, datas)
            g = J @ free + bias.ravel()
        impulses = self._answer(delassus, g, models, datas, near.friction[chosen])
        with self._timed():
            after = v + dt * pin.aba(model, data, q, v, J.T @ impulses.ravel() / dt)
        return after, dict(zip(keys, impulses, strict=True))

    def _answer(
        self, delassus: Any, g: Floats, models: Any, datas: Any, friction: Floats
    ) -> Floats:
        """The solver's impulses, shape (n, 3): asked again while it gains and its bar is missed."""
        least = G_DT * self._world.timestep
        G = delassus.matrix(True, False)
        left = ITERATIONS
        if not self._sparse:
            with self._timed():
                delassus = self._pin.DelassusOperatorDense(G)
        while True:
            self._settings.max_iterations = left
            call = delassus, g, models, datas, self._settings, self._result
            with self._timed():
                self._solver.solve(*call)
                impulses = self._result.retrieveConstraintImpulses().reshape(-1, 3)
            left -= self._result.iterations + 1
            error = residual(G, g, impulses, friction, least)
            if self._sparse or error <= self._tolerance or left <= 0:
                break
            self._result.setConstraintImpulseGuess(impulses.ravel())
        self.residual = max(self.residual, error)
        done = self._result.converged if self._sparse else error <= self._tolerance
        self.unfinished += not done
        return impulses

    def _constraints(self, near: Touching, chosen: Any) -> tuple[Any, Any]:
        """Pinocchio's constraints: frames with the normal along z, on body B and on body A."""
        pin, model, placements = self._pin, self._model, self._data.oMi
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        frames = frames_of(near.normal[chosen])
        for k, frame in zip(chosen, frames, strict=True):
            at = pin.SE3(frame, near.point[k])
            a, b = int(near.first[k]), int(near.second[k])
            places = [placements[i].actInv(at) for i in (b, a)]
            point = pin.PointContactConstraintModel(model, b, places[0], a, places[1])
            point.setFriction(float(near.friction[k]))
            constraint = pin.ConstraintModel(point)
            models.append(constraint)
            datas.append(constraint.createData())
        return models, datas

    def _timed(self) -> Stopwatch:
        return Stopwatch(self)

    def _to_theirs(self) -> tuple[Floats, Floats]:
        """The world's state; quaternions are (x, y, z, w) there."""
        q, v = self._world.q.copy(), self._world.v.copy()
        q[self._turns] = q[self._turns[:, [1, 2, 3, 0]]]
        return q, v

    def _to_ours(self, q: Floats, v: Floats) -> None:
        self._world.q[:], self._world.v[:] = q, v
        self._world.q[self._turns] = q[self._turns[:, [3, 0, 1, 2]]]


def roomy_thread() -> ThreadPoolExecutor:
    """A thread with a large stack: the solvers put matrices of all rows there.

    A wall of 50 bricks takes 17 MB; beyond the usual 8 MB the process would be killed.
    """
    before = threading.stack_size(STACK)
    thread = ThreadPoolExecutor(1)
    thread.submit(int).result()  # it begins with its first task
    threading.stack_size(before)
    return thread


class Stopwatch:
    """Adds the processor time of a block to a step's `seconds`."""

    def __init__(self, step: PinocchioStep) -> None:
        self._step = step

    def __enter__(self) -> None:
        self._begin = time.process_time()

    def __exit__(self, *_: object) -> None:
        self._step.seconds += time.process_time() - self._begin


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products, shape (n, 3): of a few vectors, NumPy's own takes far longer."""
    return np.asarray(a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]])


def frames_of(normals: Floats) -> Floats:
    """Rotations whose third column is the normal, always the same of a normal, shape (n, 3, 3)."""
    least = np.eye(3)[np.abs(normals).argmin(axis=1)]
    first = cross(least, normals)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack((first, cross(normals, first), normals), axis=2)


def residual(G: Floats, g: Floats, impulses: Floats, friction: Floats, least: float) -> float:
    """How far impulses are from the laws of contact: the natural map of De Saxce's form.

    max_i r_i |p_i - P_K(p_i - (w_i + mu |w_t| n) / r_i)| / scale,   w = G p + g,   r_i = tr(G_ii)/3

    Args:
        G: Delassus matrix, shape (3n, 3n); the third row of each contact is its normal's.
        g: velocities without impulses, with gaps over the step, shape (3n,) [m/s].
        impulses: shape (n, 3) [N s].
        friction: coefficients, shape (n,).
        least: of the scale, which is the largest |g| otherwise [m/s].
    """
    w = (G @ impulses.ravel() + g).reshape(-1, 3)
    ease = np.diagonal(G).reshape(-1, 3).mean(axis=1)
    slip = friction * np.linalg.norm(w[:, :2], axis=1)
    aim = impulses - (w + slip[:, None] * (0.0, 0.0, 1.0)) / ease[:, None]
    off = np.linalg.norm(impulses - on_cones(aim, friction), axis=1)
    return float((ease * off).max() / max(least, np.abs(g).max()))


def on_cones(p: Floats, friction: Floats) -> Floats:
    """The nearest points of Coulomb's cones, shape (n, 3)."""
    across, normal = np.linalg.norm(p[:, :2], axis=1), p[:, 2]
    up = np.maximum(0.0, (normal + friction * across) / (1 + friction**2))
    shrink = friction * up / np.maximum(across, 1e-300)
    found = np.column_stack((p[:, :2] * shrink[:, None], up))
    inside = across <= friction * normal
    found[inside] = p[inside]
    return found


def free_and_hinged(model: Model) -> Any:
    """A model of free and hinged bodies in Pinocchio, its joints numbered as the bodies are.

    Raises:
        MissingPeer: a body has another joint, or loops are closed.
    """
    pin = peer("pinocchio")
    if model.header.nloops:
        raise MissingPeer("this step on its solvers knows no loops")
    theirs = pin.Model()
    theirs.gravity.linear = np.array(model.header.gravity)
    for i, body in enumerate(model.bodies[1:], 1):
        if body.joint == FREE:
            joint = pin.JointModelComposite(pin.JointModelTranslation())
            joint.addJoint(pin.JointModelSpherical())
        elif body.joint == REVOLUTE:
            joint = pin.JointModelRevoluteUnaligned(np.array(body.axis))
        else:
            raise MissingPeer("this step on its solvers knows free bodies and hinges only")
        place = pin.SE3(np.array(body.rotation), np.array(body.position))
        at = theirs.addJoint(int(body.parent), joint, place, model.body_names[i])
        assert at == i
        inertia = pin.Inertia(float(body.mass), np.array(body.com), np.array(body.inertia))
        theirs.appendBodyToJoint(at, inertia, pin.SE3.Identity())
    return theirs
