"""The trot for every quadruped: what its expert knows of a robot, worked out from the model.

The expert's own copy of the robot has its legs in the order front left, front right, rear left,
rear right, and nothing that touches but the feet.  Observations and actions are reordered to it.
Gait and gains are the Go1's, grown to the robot's size by Froude's law; stance, masses, lengths and
axes are the robot's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.agents.experts.common.controller import Action, Knowledge
from dynenvs.agents.experts.common.memory import set_common
from dynenvs.agents.experts.common.scan import see_ground
from dynenvs.agents.experts.quadruped.expert import TrottingController
from dynenvs.agents.experts.quadruped.parameters import GROWTH, quadruped_trot
from dynenvs.agents.experts.quadruped.records import JOINTS, LEGS
from dynenvs.envs.legged.anatomy import anatomy_of
from dynenvs.envs.legged.any_legged import AnyLeggedTask
from dynenvs.envs.legged.records import ROOT
from dynenvs.envs.render.snapshot import poses_at
from dynenvs.envs.robots.quadruped import STANDING_HEIGHT
from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.description import Description
from dynenvs.model.model import Model
from dynenvs.model.parts import WORLD

Ints = NDArray[np.int64]


class AnyTrottingController(TrottingController):
    """Trots as commanded on any robot with four legs of three hinges each and ball-shaped feet."""

    task_type = AnyLeggedTask

    def know(self, task: Any) -> Knowledge:
        """The robot in the expert's order; legs, gait and gains; the leg of each contact."""
        robot = task.level
        legs = _legs(task, robot)
        model = _reordered(robot, [bodies for _, _, bodies in legs], [geom for geom, _, _ in legs])
        angles = np.concatenate([_joints(robot, bodies) for _, _, bodies in legs])
        self.order = _order(task, angles - ROOT, np.array([leg for _, leg, _ in legs]))
        self.put = np.argsort(angles - ROOT)
        gait = quadruped_trot(task.terrain)
        grow(gait, task.scale)
        gait["height"] *= float(task.options["standing_height"][0]) / STANDING_HEIGHT
        gait["slow_frequency"], gait["frequency_slope"] = task.gait_frequency
        gait["stance"] = _stance(task, robot, [geom for geom, _, _ in legs])
        gait["mass"] = model.bodies["mass"].sum()
        set_common(gait, task)
        see_ground(gait, task)
        owner = {geom: leg for leg, (geom, _, _) in enumerate(legs)}
        features = [owner[model.geoms[f.geom_a].name] for f in model.candidates]
        return Knowledge(model, gait, np.array(features, np.int64))

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Action, Any]:
        """Actions in [-1, 1] for one observation, shape (obs,), or a batch, shape (n, obs)."""
        array = np.asarray(observation, np.float64)
        if array.ndim in (1, 2) and array.shape[-1] == self._size:
            array = array[..., self.order]
        actions, state = super().predict(array, state, episode_start, deterministic)
        return actions[..., self.put], state


def grow(gait: Any, scale: float) -> None:
    """Give gait and gains to a robot that is `scale` times as large."""
    for name, power in GROWTH.items():
        gait[name] *= scale**power
    gait["trim"][:, 2] *= scale**0.5  # a speed; the others are ratios


def _legs(task: AnyLeggedTask, robot: Model) -> list[tuple[str, int, list[str]]]:
    """Of each leg in the expert's order: its foot, its number in the task, its bodies.

    Raises:
        ValueError: it is not a quadruped that the trot knows, and why.
    """
    if len(task.feet) != LEGS:
        raise ValueError(f"the trot needs four feet, the robot has {len(task.feet)}")
    if robot.nu != LEGS * JOINTS:
        raise ValueError(f"the trot needs {LEGS * JOINTS} motors, the robot has {robot.nu}")
    if robot.closures.loops:
        raise ValueError("the trot cannot drive legs with closed loops")
    parts = {body.name: body for body in robot.description.bodies}
    places = _feet_at(task, robot, [names[0] for names in task.feet.values()])
    middle = places.mean(axis=0)
    found: dict[tuple[bool, bool], tuple[str, int, list[str]]] = {}
    for leg, names in enumerate(task.feet.values()):
        geom = next(g for g in robot.geoms if g.name == names[0])
        if len(names) != 1 or geom.type != "sphere":
            touching = ", ".join(f"{g.name!r} ({g.type})" for g in robot.geoms if g.name in names)
            raise ValueError(
                f"the trot needs one sphere for each foot, not {touching} of body {geom.body!r}. "
                "Such robots can be trained, or driven by a controller of your own"
            )
        bodies = anatomy_of(robot).chain(geom.body)
        moving = [name for name in bodies if parts[name].joint.type != "fixed"]
        if any(parts[name].joint.type != "revolute" for name in moving) or len(moving) != JOINTS:
            raise ValueError(
                f"the trot needs legs of three hinges; that of {names[0]!r} has others"
            )
        front, left = places[leg, :2] > middle[:2]
        found[bool(front), bool(left)] = (geom.name, leg, bodies)
    if len(found) != LEGS:
        raise ValueError("the trot needs a foot in front and behind, on the left and on the right")
    return [found[front, left] for front in (True, False) for left in (True, False)]


def _reordered(robot: Model, legs: Sequence[Sequence[str]], feet: Sequence[str]) -> Model:
    """The robot on level ground with its legs in this order; only its feet touch."""
    described = robot.description
    first = [described.bodies[0].name, *(name for leg in legs for name in leg)]
    parts = {body.name: body for body in described.bodies}
    rest = [name for name in parts if name not in first]
    geoms = [
        replace(geom, torsional_friction=0.0, rolling_friction=0.0)
        for geom in described.geoms
        if geom.body == WORLD or geom.name in feet
    ]
    bodies = tuple(parts[name] for name in [*first, *rest])
    return ModelBuilder.of(Description(described.options, bodies, tuple(geoms))).build()


def _joints(robot: Model, bodies: Sequence[str]) -> Ints:
    """Their coordinates among the robot's velocities."""
    at = [robot.bodies[robot.body_id(name)] for name in bodies]
    return np.array([int(body["v_at"]) for body in at if body["nv"] == 1], np.int64)


def _order(task: AnyLeggedTask, joints: Ints, legs: Ints) -> Ints:
    """Where each entry of the expert's observation is in the task's."""
    slices = task.observation_slices
    order = np.arange(len(task.observation_space.low))
    for name, own in (
        ("joint angles", joints),
        ("joint velocities", joints),
        ("foot contacts", legs),
    ):
        order[slices[name]] = slices[name].start + own
    return order


def _feet_at(task: AnyLeggedTask, robot: Model, feet: Sequence[str]) -> Floats:
    """Where the feet of the standing robot are from its base [m], shape (4, 3)."""
    poses = poses_at(robot, task.standing)
    geoms = {geom.name: geom for geom in robot.geoms}
    places = []
    for name in feet:
        pose = poses[robot.body_id(geoms[name].body)]
        places.append(pose["R"] @ geoms[name].position + pose["p"])
    return np.array(places)


def _stance(task: AnyLeggedTask, robot: Model, feet: Sequence[str]) -> Floats:
    """Where the feet are to stand from below the centre of mass [m], shape (4, 2).

    That is in their middle, wherever the standing pose has it.
    """
    places = _feet_at(task, robot, feet)[:, :2]
    return np.asarray(places - places.mean(axis=0))
