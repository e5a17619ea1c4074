"""A pendulum of n balls that swings down onto a floor and against a wall: against DART and MuJoCo.

Links of 1.5 m in all, hinged at 1 m above the floor, stretched out along +x at the start; the wall
stands at x = -0.6 m.  The motion is chaotic: systems agree in kind, not in trajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import revolute
from dynenvs.simulation.world import World
from studies.bench.peers import peer
from studies.bench.race import Case, Maker, Race, Settings, System

LINKS = (3, 15, 30)
LENGTH, MASS = 1.5, 1.0  # of the whole [m], [kg]
HEIGHT, WALL = 1.0, -0.6  # of the hinge, and x of the wall [m]
FRICTION, DAMPING = 0.5, 1e-3  # -, [N m s/rad]
TIMESTEP, TIME = 0.001, 5.0  # [s]


def cases(settings: Settings) -> list[Case]:
    """A race for each number of links."""
    seconds = 0.5 if settings.quick else TIME
    found: list[Case] = []
    for n in LINKS[:1] if settings.quick else LINKS:
        makers: list[tuple[str, Maker]] = [
            ("DART", partial(_dart, n, seconds, False)),
            ("DART, may fall asleep", partial(_dart, n, seconds, True)),
            ("MuJoCo, Euler", partial(_mujoco, n, seconds)),
            ("dynenvs, World.step", partial(_ours, n, seconds)),
        ]
        notes = [
            f"{seconds:g} s from the same start, again and again, at 1 ms. DART steps with its own "
            "collision detector, hard contact and its default solver; asleep (its default) it "
            "skips what rests, which the others always compute. MuJoCo's contact is soft. "
            "Hinges hold the motion in a plane: dynenvs' model says so, the others' contacts are "
            "spatial. Depth: the deepest that a ball was in floor or wall at the end of any "
            "hundredth step."
        ]
        title = f"Contact pendulum of {n} balls"
        found.append(Race("pendulum", title, "physics step", makers, notes, unit="us"))
    return found


def depth(q: Floats) -> float:
    """How deep the deepest ball is in floor or wall [m]; zero if none touches."""
    length, radius = _sizes(len(q))
    angle = np.cumsum(q)  # about +y: x turns towards -z
    x, z = length * np.cumsum(np.cos(angle)), HEIGHT - length * np.cumsum(np.sin(angle))
    return max(0.0, float((radius - z).max()), float((radius - (x - WALL)).max()))


def _sizes(n: int) -> tuple[float, float]:
    """Length of a link and radius of a ball [m]."""
    return LENGTH / n, 0.4 * LENGTH / n


def _system(
    seconds: float, begin: Callable[[], None], advance: Callable[[int], None], q: Any, about: str
) -> System:
    """`advance(k)` does k steps from the start that `begin()` restores; `q()` tells the angles."""
    steps = round(seconds / TIMESTEP)

    def run(count: int) -> None:
        for _ in range(count):
            begin()
            advance(steps)

    begin()
    deepest = 0.0
    for _ in range(steps // 100):
        advance(100)
        deepest = max(deepest, depth(np.array(q())))
    facts = {"contact": about, "depth": f"{1e3 * deepest:.3f} mm"}
    return System(run, steps, TIMESTEP, facts)


def build(n: int) -> Model:
    """The pendulum in dynenvs."""
    length, radius = _sizes(n)
    builder = ModelBuilder(directions=2)
    builder.half_space("floor", friction=FRICTION)
    builder.half_space("wall", position=(WALL, 0.0, 0.0), normal=(1.0, 0.0, 0.0), friction=FRICTION)
    parent, position = "world", (0.0, 0.0, HEIGHT)
    for i in range(n):
        joint = revolute(f"joint{i}", axis=(0.0, 1.0, 0.0), position=position, damping=DAMPING)
        moment = 0.4 * MASS / n * radius**2
        builder.body(
            f"link{i}",
            parent=parent,
            joint=joint,
            mass=MASS / n,
            com=(length, 0.0, 0.0),
            inertia=(moment, moment, moment),
        )
        place = (length, 0.0, 0.0)
        builder.sphere(f"ball{i}", f"link{i}", radius=radius, position=place, friction=FRICTION)
        parent, position = f"link{i}", place
    return builder.build()


def _ours(n: int, seconds: float) -> System:
    world = World(build(n), timestep=TIMESTEP)
    found = _system(
        seconds, world.reset, lambda k: world.step(steps=k), lambda: world.q, "hard, LCP"
    )
    told = world.diagnostics
    found.facts["failed"] = f"{told.failed} of {round(seconds / TIMESTEP)}"
    return found


def _mujoco(n: int, seconds: float) -> System:
    mujoco = peer("mujoco")
    length, radius = _sizes(n)
    moment = 0.4 * MASS / n * radius**2
    friction = f'condim="3" friction="{FRICTION} 0.005 0.0001"'
    body = ""
    for i in reversed(range(n)):
        place = f"0 0 {HEIGHT}" if i == 0 else f"{length!r} 0 0"
        body = (
            f'<body pos="{place}"><joint axis="0 1 0" damping="{DAMPING}"/>'
            f'<inertial pos="{length!r} 0 0" mass="{MASS / n!r}" '
            f'diaginertia="{moment!r} {moment!r} {moment!r}"/>'
            f'<geom type="sphere" size="{radius!r}" pos="{length!r} 0 0" mass="0" contype="1" '
            f'conaffinity="0" {friction}/>{body}</body>'
        )
    ground = f'type="plane" size="10 10 1" contype="0" conaffinity="1" {friction}'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{TIMESTEP}" integrator="Euler"/><worldbody>'
        f'<geom {ground}/><geom {ground} pos="{WALL} 0 0" zaxis="1 0 0"/>{body}'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    return _system(
        seconds,
        lambda: mujoco.mj_resetData(model, data),
        lambda k: mujoco.mj_step(model, data, k),
        lambda: data.qpos,
        "soft",
    )


def _dart(n: int, seconds: float, sleeps: bool) -> System:
    dart = peer("dartpy")
    world = dart.simulation.World()
    world.setGravity([0.0, 0.0, -9.81])
    world.setTimeStep(TIMESTEP)
    options = world.getDeactivationOptions()
    options.mEnabled = sleeps
    world.setDeactivationOptions(options)
    world.setCollisionDetector(dart.simulation.CollisionDetectorType.DART)
    for name, center in (("floor", [0.0, 0.0, -1.0]), ("wall", [WALL - 1.0, 0.0, 0.0])):
        world.addSkeleton(_dart_block(dart, name, center))
    robot = _dart_robot(dart, n)
    world.addSkeleton(robot)

    def begin() -> None:
        robot.resetPositions()
        robot.resetVelocities()
        world.reset()

    def advance(k: int) -> None:
        for _ in range(k):
            world.step()

    return _system(seconds, begin, advance, robot.getPositions, "hard, boxed LCP")


def _shape(dart: Any, body: Any, shape: Any, center: list[float]) -> None:
    """Give a body something to touch with."""
    node = body.createShapeNode(shape)
    node.createCollisionAspect()
    node.createDynamicsAspect().setFrictionCoeff(FRICTION)
    node.setRelativeTranslation(center)


def _dart_block(dart: Any, name: str, center: list[float]) -> Any:
    """A cube of 20 x 20 x 2 m, its thin side along the way from the origin."""
    skeleton = dart.dynamics.Skeleton(name)
    _, body = skeleton.createWeldJointAndBodyNodePair()
    size = [2.0 if abs(x) > 0.0 else 20.0 for x in center]
    _shape(dart, body, dart.dynamics.BoxShape(size), center)
    return skeleton


def _dart_robot(dart: Any, n: int) -> Any:
    length, radius = _sizes(n)
    skeleton = dart.dynamics.Skeleton("pendulum")
    body = None
    for i in range(n):
        pair = skeleton.createRevoluteJointAndBodyNodePair
        joint, body = pair(body) if body else pair()
        joint.setAxis([0.0, 1.0, 0.0])
        place = dart.math.Isometry3()
        place.set_translation([0.0, 0.0, HEIGHT] if i == 0 else [length, 0.0, 0.0])
        joint.setTransformFromParentBodyNode(place)
        joint.setDampingCoefficient(0, DAMPING)
        moment = 0.4 * MASS / n * radius**2
        center = [length, 0.0, 0.0]
        body.setInertia(dart.dynamics.Inertia(MASS / n, center, np.eye(3) * moment))
        _shape(dart, body, dart.dynamics.SphereShape(radius), center)
    return skeleton
