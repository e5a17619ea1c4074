"""The solve of a step's contact problem alone: problems recorded from walkers and a free robot.

Assembly (Jacobians, G, right-hand sides) and the motion that follows are left out; what is timed is
what lies between: modes recalled, Newton's method, the ladder where that fails, the certificate,
and what the next step is to remember.  Each problem is solved from the memory that its step had.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.contact.resolve import resolve_contacts
from dynenvs.contact.solve import solve_contacts
from dynenvs.jit.compiled import entry, kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Bytes, Floats, WorldView, open_work, open_world
from dynenvs.memory.records import PATH
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint, free, revolute
from dynenvs.simulation.free_motion import free_motion
from dynenvs.simulation.world import World
from studies.bench.mirrors import AXES
from studies.bench.race import Case, Result, Row, Settings, Tick

WALKERS = ("dynenvs/PlanarHumanoid-v0", "dynenvs/PlanarQuadruped-v0")
EFFORTS = {"stands": 0.0, "sways": 2.0, "thrashes": 30.0}  # random torques' deviation [N m]
HOLD = 4  # steps under the same random torques
STIFFNESS, DAMPING = 400.0, 10.0  # of its joints, that hold it upright [N m/rad, N m s/rad]
TIMESTEP = 0.005  # of the robot [s]
CORNERS = 8  # contacts of a problem of the robot's that counts
HIP = 0.88  # its pelvis where the soles stand on the ground [m]
FALLEN = 0.6  # height at which it is put back on its feet [m]
PROBLEMS = 200  # of each kind
PASSES = 15  # over all problems of a kind


class Problem(NamedTuple):
    """A contact problem of a step: the world's state before it, and a workspace that states it."""

    row: Bytes
    buffer: Bytes
    contacts: int
    rows: int
    by_newton: bool  # whether it was solved by Newton's method
    pressing: int  # contacts that carry an impulse


def cases(settings: Settings) -> list[Case]:
    """One case."""
    return [Solves()]


class Solves:
    """Time of each problem's solve; a row's figure is the median over its problems."""

    family, title = "solves", "Contact problems recorded from walkers and a free robot, warm"

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """Record and solve."""
        count = PROBLEMS // 10 if settings.quick else PROBLEMS
        kinds: dict[str, Callable[[], tuple[Model, float, list[Problem]]]] = {}
        for name in WALKERS[:1] if settings.quick else WALKERS:
            kinds[f"{name}, random actions"] = partial(_walker, name, False, count)
            kinds[f"{name}, expert acts"] = partial(_walker, name, True, count)
        for word, effort in EFFORTS.items():
            kinds[f"free robot on two box feet, {word}"] = partial(_robot, effort, count)
        rows = []
        for name, record in kinds.items():
            tick(f"{self.title}: {name}")
            rows.append(_row(name, *record()))
        robot = (
            f"free base, 21 hinges, pyramids of 8 directions, {CORNERS} contacts in each problem"
        )
        notes = [
            "Recall of modes, Newton's method, certificate, and the other solver stages where "
            "they are needed; without the assembly and the factors of the mass matrix. The spread "
            "is that of the problems. A solve's time is the median of "
            f"{PASSES} passes over all problems of its row, less that of a call that only restores "
            "the problem.",
            f"Robot: {robot}; a stiff posture, and random torques on all joints, new ones every "
            f"{HOLD} steps of {1e3 * TIMESTEP:g} ms: "
            + ", ".join(f"{word} {effort:g} N m" for word, effort in EFFORTS.items())
            + " (deviation).",
        ]
        return Result(self.family, self.title, "solve", rows, [], notes, unit="us")


@entry
def _pose(w: WorldView, tau: Floats, dt: float) -> int:
    """State and solve the contact problem of a step; the workspace then holds both."""
    update_poses(w, w.q, w.pose)
    free_motion(w, tau, dt)
    return int(resolve_contacts(w, dt, 0, 0.0))


@kernel
def _again(
    model: Bytes,
    fresh: Bytes,
    stated: Bytes,
    row: Bytes,
    buffer: Bytes,
    count: int,
    rows: int,
    dt: float,
    solves: bool,
) -> int:
    """Restore a problem from `fresh` and `stated` into `row` and `buffer`; solve it if asked."""
    for i in range(row.shape[0]):
        row[i] = fresh[i]
    w, given = open_world(model, row, buffer), open_work(model, stated)
    for i in range(count):
        w.contacts[i] = given.contacts[i]
    for r in range(rows):
        w.bias_row[r] = given.bias_row[r]
        for c in range(rows):
            w.G[r, c] = given.G[r, c]
        for j in range(w.header[0].nv):
            w.J[r, j] = given.J[r, j]
    if not solves:
        return 0
    law = w.status[0].cone
    return int(solve_contacts(w, count, rows, law, dt))


def stated(model: Model, row: Bytes, tau: Floats, dt: float) -> Problem | None:
    """The problem of the step from a world's state, or None if nothing is in reach."""
    before, after, buffer = row.copy(), row.copy(), model.workspace()
    _pose(open_world(model.packed, after, buffer), tau, dt)
    answer = open_work(model.packed, buffer).answer[0]
    status = [r.view(model.state_dtype)["status"][0] for r in (before, after)]
    if answer["rows"] == 0 or status[1]["solves"] != status[0]["solves"] + 1:
        return None  # looked at again: the workspace holds a later problem
    by_newton = status[1]["called"][PATH:].sum() == status[0]["called"][PATH:].sum()
    count, rows = int(answer["contacts"]), int(answer["rows"])
    return Problem(before, buffer, count, rows, bool(by_newton), int(status[1]["contacts"]))


def _walker(name: str, expert: bool, count: int) -> tuple[Model, float, list[Problem]]:
    """Problems of an environment's first physics steps of control steps."""
    env: Any = gym.make(name)
    inner = env.unwrapped
    model, dt = inner.task.model, inner.task.timestep
    controller = reference_controller(env) if expert else None
    env.action_space.seed(0)
    found: list[Problem] = []
    observation, _ = env.reset(seed=0)
    acting = Acting(controller) if controller else None
    while len(found) < count:
        action = acting.act(observation) if acting else env.action_space.sample()
        tau = np.zeros(model.nv)
        tau[model.actuated] = action * model.effort_limit[model.actuated]
        problem = stated(model, inner.worlds.states.view(np.uint8), tau, dt)
        found += [problem] if problem else []
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
            acting = Acting(controller) if controller else None
    env.close()
    return model, dt, found


def _robot(effort: float, count: int) -> tuple[Model, float, list[Problem]]:
    """Problems of eight contacts of the robot under random torques."""
    model = robot()
    found: list[Problem] = []
    for row, tau in _thrash(model, effort):
        problem = stated(model, row, tau, TIMESTEP)
        if problem and problem.contacts == CORNERS:
            found.append(problem)
        if len(found) == count:
            break
    return model, TIMESTEP, found


def _thrash(model: Model, effort: float) -> Iterator[tuple[Bytes, Floats]]:
    """States of the robot and the torques of its next steps, without end."""
    rng = np.random.default_rng(0)
    world = World(model, timestep=TIMESTEP)
    upright = np.zeros(model.nq)
    upright[2:4] = HIP, 1.0
    world.reset(upright)
    noise = np.zeros(model.nu)
    step = 0
    while True:
        if step % HOLD == 0:
            noise = effort * rng.normal(size=model.nu)
        tau = np.zeros(model.nv)
        tau[model.actuated] = noise - STIFFNESS * world.q[7:]
        yield world.get_state().reshape(1).view(np.uint8), tau
        world.step(tau[model.actuated])
        step += 1
        if world.q[2] < FALLEN:
            world.reset(upright)


def _row(name: str, model: Model, dt: float, problems: list[Problem]) -> Row:
    """Times of all problems, in turns, each pass all of them: no two alike follow each other."""
    row, buffer = problems[0].row.copy(), problems[0].buffer.copy()
    times: list[list[int]] = [[] for _ in problems]
    used, begin = time.process_time(), time.perf_counter()
    for attempt in range(PASSES + 1):
        for of, problem in zip(times, problems, strict=True):
            spent = []
            # The first call fetches the problem: in a step, what has been assembled is near, too
            for solves in (False, False, True):
                start = time.perf_counter_ns()
                _again(
                    model.packed, problem.row, problem.buffer, row, buffer,
                    problem.contacts, problem.rows, dt, solves,
                )  # fmt: skip
                spent.append(time.perf_counter_ns() - start)
            if attempt > 0:
                of.append(spent[2] - spent[1])
    cores = (time.process_time() - used) / (time.perf_counter() - begin)
    each = [max(1e-9, 1e-9 * statistics.median(of)) for of in times]
    facts = {
        "problems": len(problems),
        "rows": f"{np.mean([p.rows for p in problems]):.0f}",
        "pressing": f"{np.mean([p.pressing for p in problems]):.1f}",
        "by Newton": f"{100 * np.mean([p.by_newton for p in problems]):.0f} %",
        "mean us": f"{1e6 * np.mean(each):.3g}",
    }
    return Row(name, [1 / t for t in each], [1.0] * len(each), None, facts, [cores])


def robot() -> Model:
    """Free pelvis, torso of three hinges, legs of six and arms of three; box feet on a floor."""
    builder = ModelBuilder()
    builder.half_space("floor")
    _rod(builder, "pelvis", "world", free("root"), 10.0, -0.2)
    torso = "pelvis"
    for name, axis, z, mass in (
        ("yaw", "z", 0.2, 1.0),
        ("roll", "x", 0.0, 1.0),
        ("pitch", "y", 0.0, 20.0),
    ):
        length = -0.4 if mass > 1.0 else -0.05
        torso = _rod(builder, name, torso, _hinge(name, axis, (0.0, 0.0, z)), mass, length)
    leg = (
        ("z", 0.0, 1.0, 0.05), ("x", 0.0, 1.0, 0.05), ("y", 0.0, 6.0, 0.4),
        ("y", -0.4, 3.0, 0.4), ("y", -0.4, 0.5, 0.05), ("x", 0.0, 1.0, 0.12),
    )  # fmt: skip
    arm = (("y", 0.35, 2.0, 0.1), ("x", 0.0, 2.0, 0.25), ("y", -0.25, 1.5, 0.25))
    for side in (-1.0, 1.0):
        for limb, mount, hinges, y in (("leg", "pelvis", leg, 0.1), ("arm", torso, arm, 0.2)):
            parent = mount
            for i, (axis, z, mass, length) in enumerate(hinges):
                name = f"{limb}{side:+.0f}_{i}"
                at = (0.0, y * side if i == 0 else 0.0, z)
                parent = _rod(builder, name, parent, _hinge(name, axis, at), mass, length)
            if limb == "leg":
                place = (0.04, 0.0, -0.06)
                builder.box(
                    f"sole{side:+.0f}", parent, half_size=(0.12, 0.05, 0.02), position=place
                )
    return builder.build()


def _hinge(name: str, axis: str, at: tuple[float, float, float]) -> Joint:
    return revolute(f"{name}_joint", axis=AXES[axis], position=at, armature=0.01, damping=DAMPING)


def _rod(
    builder: ModelBuilder, name: str, parent: str, joint: Joint, mass: float, length: float
) -> str:
    """A rod of 0.1 m across that hangs from its joint (stands on it, if its length is negative)."""
    across, along = mass * (0.0075 + length**2) / 12, mass * 0.00125
    com, inertia = (0.0, 0.0, -length / 2), (across, across, along)
    builder.body(name, parent=parent, joint=joint, mass=mass, com=com, inertia=inertia)
    return name
