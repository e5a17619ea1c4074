"""Where a robot of which only the model is known has its feet, and how it stands on them.

A foot is the end of a limb that reaches about as far down as any.  Without a keyframe, a robot
stands with each foot straight below where the stretched limb would hold it, at part of its reach.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dynenvs.envs.legged.anatomy import BEND, SAME, Anatomy, Limb, anatomy_of, level, weight_of
from dynenvs.envs.legged.reaching import Goal
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.parts import WORLD, Geom

DEEP = 0.75  # part of the deepest reach by which a limb is a leg
PARTS = (0.65, 0.7, 0.75)  # of a leg's reach at which it stands ...
TALL = (0.95,)  # ... and of a biped's
FOLDED = 0.5  # part of a leg's reach from which on it does not stand
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
            sole = robot.sole(limb)
            names = _lowest_shapes(robot, limb, q) if sole is None else sole.geoms
            feet[names[0]] = names
    if not feet:
        raise ValueError(
            "no feet found: no limb of hinges ends in a shape that can touch; name them (feet=...)"
        )
    return feet


def _lowest_shapes(robot: Anatomy, limb: Limb, q: Floats) -> tuple[str, ...]:
    """Names of what a limb without a sole stands on: of its balls, if there are any there."""
    poses = robot.poses(q)
    heights = [robot.lowest(geom, poses)[2] for geom in limb.end]
    near = [g for g, z in zip(limb.end, heights, strict=True) if z < min(heights) + SAME]
    balls = [geom for geom in near if geom.type == "sphere"]
    return tuple(geom.name for geom in balls or near)


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
    for balance in range(BALANCES):
        _crouch(robot, legs, q, ahead, near=balance > 0)
        ahead += robot.center(q)[0] - _middle(robot, legs, q)
    return q[FREE_Q:]


def _crouch(robot: Anatomy, legs: Sequence[Limb], q: Floats, ahead: float, near: bool) -> None:
    """Bend the legs until half of them hold the robot with ease, their feet moved ahead [m].

    near: whether they are bent already, and may stay so but for a little
    """
    load = weight_of(robot.model) / max(len(legs) // 2, 1)
    for limb in legs:
        joints = list(limb.joints)
        straight = robot.stretched(limb)
        for part in TALL if len(legs) < 3 else PARTS:
            start = q if near else None
            q[joints] = _bend(robot, limb, straight, (part, ahead), start)[joints]
            if _effort(robot, limb, q, load) < EASY:
                break


def _middle(robot: Anatomy, legs: Sequence[Limb], q: Floats) -> float:
    """Of the feet, forward [m]."""
    poses = robot.poses(q)
    return float(np.mean([robot.lowest_of(limb.end, poses)[0] for limb in legs]))


def _stands(robot: Anatomy, q: Floats, feet: Collection[str]) -> bool:
    """Whether a pose is a stance: on its feet, with legs that are not folded, balanced.

    Nothing that touches is lower than the highest of the feet, each of which is below its leg's
    root by part of its reach; the centre of mass is between the foremost and the hindmost.
    """
    legs = [limb for limb in robot.limbs() if any(geom.name in feet for geom in limb.end)]
    if not all(_is_straight(robot, limb, q) for limb in legs):
        return False
    poses = robot.poses(q)
    touching = [geom for geom in robot.model.geoms if geom.collide and geom.body != WORLD]
    feet_at = [robot.lowest(geom, poses)[2] for geom in touching if geom.name in feet]
    others = [robot.lowest(geom, poses)[2] for geom in touching if geom.name not in feet]
    ahead = [_ends(robot, geom, q) for geom in touching if geom.name in feet]
    middle = robot.center(q)[0]
    balanced = min(low for low, _ in ahead) <= middle <= max(high for _, high in ahead)
    return bool(balanced and max(feet_at) < min(others, default=0.0))


def _is_straight(robot: Anatomy, limb: Limb, q: Floats) -> bool:
    """Whether a leg reaches at least FOLDED of its reach down from its root."""
    root, depths = limb.bodies[0], []
    for place in (robot.stretched(limb), q):
        poses = robot.poses(place)
        depths.append(poses["p"][root, 2] - robot.lowest_of(limb.end, poses)[2])
    return bool(depths[1] >= FOLDED * depths[0])


def _ends(robot: Anatomy, geom: Geom, q: Floats) -> tuple[float, float]:
    """From where to where a foot's shape reaches along x [m], at least."""
    poses = robot.poses(q)
    place, radius = robot.lowest(geom, poses)[0], geom.bounding_radius
    return float(place - radius), float(place + radius)


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


def _bend(
    robot: Anatomy, limb: Limb, straight: Floats, where: tuple[float, float], start: Floats | None
) -> Floats:
    """Positions with the foot at part of its depth below the limb's root.

    Its sole is level, or if it has none, the knee is behind it.

    straight: positions that stretch it
    where: the part, and by which the foot is in front of its place when stretched [m]
    start: positions near which it is looked for; None: anywhere
    """
    part, ahead = where
    joints = list(limb.joints)
    tip = robot.tip(limb, straight)
    place = robot.place(limb, tip, straight)
    root = robot.poses(straight)["p"][limb.bodies[0], 2]
    reach = root - place[2]
    goal = np.array([place[0] + ahead, place[1], root - part * reach])
    wanted = Goal(np.eye(3, 9) / reach, goal / reach, BEND, straight[joints])
    if tip.sole is not None:
        found = robot.searches(limb, tip, level(wanted), start)
        return min(found, key=lambda one: float(one[1]))[0]

    def cost(found: tuple[Floats, float]) -> float:
        knee = robot.poses(found[0])["p"][limb.bodies[-1], 0]
        return found[1] + 1e-2 * float(knee - goal[0]) / reach

    return min(robot.searches(limb, tip, wanted, start), key=cost)[0]
