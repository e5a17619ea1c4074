"""Where a robot of which only the model is known has its feet, and how it stands on them.

A foot is the end of a limb that reaches about as far down as any.  Without a keyframe, a robot
stands with each foot straight below where the stretched limb would hold it, at part of its reach.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dynenvs.envs.legged.anatomy import Anatomy, Limb, anatomy_of
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.parts import WORLD

DEEP = 0.75  # part of the deepest reach by which a limb is a leg
SAME = 0.01  # of a foot's shapes, by which their lowest points may differ [m]
PARTS = (0.65, 0.7, 0.75)  # of a leg's reach at which it stands ...
TALL = (0.95,)  # ... and of a biped's
EASY = 0.35  # part of the motors' limits that may hold the robot on half of its legs
BALANCES = 3  # times that the feet are put below the centre of mass
NUDGE = 1e-6  # of joints, by which their torques are worked out [rad]
KEYFRAMES = ("home", "stand", "standing")
FREE_Q = 7


def find_feet(model: Model) -> dict[str, tuple[str, ...]]:
    """The feet: names of the shapes that a leg stands on, by the name of the first of them.

    Raises:
        ValueError: the robot has none.
    """
    robot = anatomy_of(model)
    stretched = [(limb, robot.stretched(limb)) for limb in robot.limbs()]
    depths = [-robot.lowest_of(limb.end, robot.poses(q))[2] for limb, q in stretched]
    feet = {}
    for (limb, q), depth in zip(stretched, depths, strict=True):
        if depth > DEEP * max(depths) and depth > 0.0:
            poses = robot.poses(q)
            heights = [robot.lowest(geom, poses)[2] for geom in limb.end]
            near = [g for g, z in zip(limb.end, heights, strict=True) if z + depth < SAME]
            balls = [geom for geom in near if geom.type == "sphere"]
            names = tuple(geom.name for geom in balls or near)
            feet[names[0]] = names
    if not feet:
        raise ValueError(
            "no feet found: no limb of hinges ends in a shape that can touch; name them (feet=...)"
        )
    return feet


def standing_pose(model: Model, feet: Mapping[str, Sequence[str]], keyframe: str | None) -> Floats:
    """Joint angles that stand upright [rad], shape (nq - 7,).

    Those of a keyframe: the one that is asked for, or one that is called home or stand; otherwise
    they are worked out.

    Raises:
        ValueError: there is no such keyframe.
    """
    if keyframe is not None and keyframe not in model.keyframes:
        known = ", ".join(model.keyframes)
        raise ValueError(f"pose must be one of the keyframes {known}, got {keyframe!r}")
    robot = anatomy_of(model)
    q = robot.rest.copy()
    owned = {name for names in feet.values() for name in names}
    for name in KEYFRAMES if keyframe is None else (keyframe,):
        if name in model.keyframes:
            q[FREE_Q:] = model.keyframes[name].q[FREE_Q:]
            if keyframe is not None or _stands(robot, q, owned):
                return q[FREE_Q:]
            q[FREE_Q:] = 0.0
    lower, upper = robot.limits(range(FREE_Q, model.nq))
    q[FREE_Q:] = np.clip(q[FREE_Q:], lower, upper)
    legs = [limb for limb in robot.limbs() if any(geom.name in owned for geom in limb.end)]
    ahead = 0.0
    for _ in range(BALANCES):
        _crouch(robot, legs, q, ahead)
        ahead += robot.center(q)[0] - _middle(robot, legs, q)
    return q[FREE_Q:]


def _crouch(robot: Anatomy, legs: Sequence[Limb], q: Floats, ahead: float) -> None:
    """Bend the legs until half of them hold the robot with ease, their feet moved ahead [m]."""
    load = 9.81 * float(robot.model.bodies["mass"].sum()) / max(len(legs) // 2, 1)
    for limb in legs:
        joints = list(limb.joints)
        straight = robot.stretched(limb)
        for part in TALL if len(legs) < 3 else PARTS:
            q[joints] = _bend(robot, limb, straight, part, ahead)[joints]
            if _effort(robot, limb, q, load) < EASY:
                break


def _middle(robot: Anatomy, legs: Sequence[Limb], q: Floats) -> float:
    """Of the feet, forward [m]."""
    poses = robot.poses(q)
    return float(np.mean([robot.lowest_of(limb.end, poses)[0] for limb in legs]))


def _stands(robot: Anatomy, q: Floats, feet: Collection[str]) -> bool:
    """Whether nothing that touches is lower than the highest of the feet."""
    poses = robot.poses(q)
    touching = [geom for geom in robot.model.geoms if geom.collide and geom.body != WORLD]
    feet_at = [robot.lowest(geom, poses)[2] for geom in touching if geom.name in feet]
    others = [robot.lowest(geom, poses)[2] for geom in touching if geom.name not in feet]
    return max(feet_at) < min(others, default=0.0)


def leg_reach(model: Model, feet: Mapping[str, Sequence[str]]) -> float:
    """How far the legs reach down from where they are joined to the base [m]: their mean."""
    robot = anatomy_of(model)
    owned = {name for names in feet.values() for name in names}
    reaches = []
    for limb in robot.limbs():
        if any(geom.name in owned for geom in limb.end):
            poses = robot.poses(robot.stretched(limb))
            root = poses["p"][limb.bodies[0], 2]
            reaches.append(root - robot.lowest_of(limb.end, poses)[2])
    return float(np.mean(reaches))


def _effort(robot: Anatomy, limb: Limb, q: Floats, load: float) -> float:
    """The largest torque of a limb's joints that hold a load [N], over their limits."""
    largest = 0.0
    for joint in limb.joints:
        heights = []
        for turn in (-NUDGE, NUDGE):
            turned = q.copy()
            turned[joint] += turn
            heights.append(robot.lowest_of(limb.end, robot.poses(turned))[2])
        lever = abs(heights[1] - heights[0]) / (2.0 * NUDGE)
        largest = max(largest, load * lever / robot.model.effort_limit[joint - 1])
    return float(largest)


def _bend(robot: Anatomy, limb: Limb, straight: Floats, part: float, ahead: float) -> Floats:
    """Positions with the foot at part of its depth below the limb's root, the knee behind it.

    straight: positions that stretch it; ahead: by which the foot is in front of its place then [m].
    """
    joints = list(limb.joints)
    poses = robot.poses(straight)
    goal = robot.lowest_of(limb.end, poses).copy()
    root = poses["p"][limb.bodies[0], 2]
    reach = root - goal[2]
    goal[0], goal[2] = goal[0] + ahead, root - part * reach

    def error(q: Floats) -> Floats:
        point = robot.lowest_of(limb.end, robot.poses(q))
        return np.array([*(point - goal) / reach, *(1e-3 * (q - straight)[joints])])

    def cost(found: tuple[Floats, float]) -> float:
        knee = robot.poses(found[0])["p"][limb.bodies[-1], 0]
        return found[1] + 1e-2 * float(knee - goal[0]) / reach

    return min(robot.searches(limb, error), key=cost)[0]
