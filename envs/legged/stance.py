"""Where a robot of which only the model is known has its feet, and how it stands on them.

A foot is the end of a limb that reaches about as far down as any.  Without a keyframe, a robot
stands with each foot straight below where the stretched limb would hold it, at part of its reach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model
from dynenvs.memory.records import POSE
from dynenvs.model.geoms import WORLD
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom

STARTS = 12  # of each search
DEEP = 0.75  # part of the deepest reach by which a limb is a leg
SAME = 0.01  # of a foot's shapes, by which their lowest points may differ [m]
PARTS = (0.65, 0.7, 0.75)  # of a leg's reach at which it stands ...
TALL = (0.95,)  # ... and of a biped's
EASY = 0.35  # part of the motors' limits that may hold the robot on half of its legs
BALANCES = 3  # times that the feet are put below the centre of mass
NUDGE = 1e-6  # of joints, by which their torques are worked out [rad]
KEYFRAMES = ("home", "stand", "standing")
FREE_Q = 7
WIDEST = np.pi  # range of joints without limits [rad]


class Limb(NamedTuple):
    """A chain of joints from the base to a body that carries nothing else."""

    bodies: tuple[int, ...]  # from the first that is its own on
    joints: tuple[int, ...]  # positions in q of those that no other chain shares: not of a waist
    end: tuple[Geom, ...]  # touching shapes beyond the last joint


class Robot:
    """A model's tree and its poses at given joint angles, the base at the origin."""

    def __init__(self, model: Model) -> None:
        self.model = model
        parts = model.description.bodies
        self.names = [body.name for body in parts]
        self.parents = {body.name: body.parent for body in parts}
        self.moves = {body.name: body.joint.type in ("revolute", "prismatic") for body in parts}
        self._poses = np.zeros(int(model.header.nb), POSE)
        self._model = open_model(model.packed)
        self.rest = np.zeros(model.nq)
        self.rest[3] = 1.0

    def poses(self, q: Floats) -> Any:
        """Of all bodies, shape (nb,)."""
        update_poses(self._model, q, self._poses)
        return self._poses

    def center(self, q: Floats) -> Floats:
        """The centre of mass [m], shape (3,)."""
        poses, bodies = self.poses(q), self.model.bodies
        places = poses["p"] + np.einsum("bij,bj->bi", poses["R"], bodies["com"])
        return np.asarray(bodies["mass"] @ places / bodies["mass"].sum())

    def limbs(self) -> Iterator[Limb]:
        """Of all chains that end in touching shapes."""
        carried = {self.parents[name] for name in self.names if self._leads_to_joint(name)}
        ends = [name for name in self.names if self.moves[name] and name not in carried]
        shared = Counter(one for name in ends for one in self._chain(name))
        for name in ends:
            own = [one for one in self._chain(name) if shared[one] == 1]
            geoms = [g for g in self.model.geoms if g.collide and g.body in self._beyond(name)]
            if geoms:
                joints = tuple(self._position(one) for one in own if self.moves[one])
                bodies = tuple(self.model.body_id(one) for one in own)
                yield Limb(bodies, joints, tuple(geoms))

    def _leads_to_joint(self, name: str) -> bool:
        """Whether this body or one that it carries moves against its parent."""
        below = [one for one in self.names if self.parents[one] == name]
        return self.moves[name] or any(self._leads_to_joint(one) for one in below)

    def _beyond(self, name: str) -> set[str]:
        """A body and all that it carries."""
        below = [self._beyond(one) for one in self.names if self.parents[one] == name]
        return {name}.union(*below)

    def _chain(self, name: str) -> list[str]:
        """The bodies from the base's child to this one."""
        chain: list[str] = []
        while name != self.names[0]:
            chain.insert(0, name)
            name = self.parents[name]
        return chain

    def _position(self, body: str) -> int:
        """Of a hinge or slide in q."""
        return int(self.model.bodies["q_at"][self.model.body_id(body)])

    def limits(self, joints: Sequence[int]) -> tuple[Floats, Floats]:
        """Of some positions in q; those of joints without limits are WIDEST."""
        at = np.array(joints) - 1  # the base's quaternion has four numbers for three velocities
        lower, upper = self.model.lower[at], self.model.upper[at]
        return np.maximum(lower, -WIDEST), np.minimum(upper, WIDEST)

    def lowest(self, geom: Geom, poses: Any) -> Floats:
        """The lowest point of a shape [m], shape (3,)."""
        pose = poses[self.model.body_id(geom.body)]
        R = pose["R"] @ geom.rotation
        center = pose["R"] @ geom.position + pose["p"]
        if geom.type == "box":
            return center - R @ (np.sign(R[2]) * geom.size)
        if geom.type == "convex":
            corners = np.asarray(geom.corners) @ R.T
            return center + corners[int(np.argmin(corners[:, 2]))]
        along = R[:, 2] * (-np.sign(R[2, 2]) * geom.size[1] if geom.type == "capsule" else 0.0)
        return center + along - np.array([0.0, 0.0, geom.size[0]])

    def lowest_of(self, geoms: Sequence[Geom], poses: Any) -> Floats:
        """The lowest point of several shapes [m], shape (3,)."""
        return min((self.lowest(geom, poses) for geom in geoms), key=lambda point: point[2])


def find_feet(model: Model) -> dict[str, tuple[str, ...]]:
    """The feet: names of the shapes that a leg stands on, by the name of the first of them.

    Raises:
        ValueError: the robot has none.
    """
    robot = Robot(model)
    stretched = [(limb, _stretch(robot, limb)) for limb in robot.limbs()]
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
        raise ValueError("no feet found: no limb of hinges ends in a shape that can touch")
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
    robot = Robot(model)
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


def _crouch(robot: Robot, legs: Sequence[Limb], q: Floats, ahead: float) -> None:
    """Bend the legs until half of them hold the robot with ease, their feet moved ahead [m]."""
    load = 9.81 * float(robot.model.bodies["mass"].sum()) / max(len(legs) // 2, 1)
    for limb in legs:
        joints = list(limb.joints)
        straight = _stretch(robot, limb)
        for part in TALL if len(legs) < 3 else PARTS:
            q[joints] = _bend(robot, limb, straight, part, ahead)[joints]
            if _effort(robot, limb, q, load) < EASY:
                break


def _middle(robot: Robot, legs: Sequence[Limb], q: Floats) -> float:
    """Of the feet, forward [m]."""
    poses = robot.poses(q)
    return float(np.mean([robot.lowest_of(limb.end, poses)[0] for limb in legs]))


def _stands(robot: Robot, q: Floats, feet: Collection[str]) -> bool:
    """Whether nothing that touches is lower than the highest of the feet."""
    poses = robot.poses(q)
    touching = [geom for geom in robot.model.geoms if geom.collide and geom.body != WORLD]
    feet_at = [robot.lowest(geom, poses)[2] for geom in touching if geom.name in feet]
    others = [robot.lowest(geom, poses)[2] for geom in touching if geom.name not in feet]
    return max(feet_at) < min(others, default=0.0)


def leg_reach(model: Model, feet: Mapping[str, Sequence[str]]) -> float:
    """How far the legs reach down from where they are joined to the base [m]: their mean."""
    robot = Robot(model)
    owned = {name for names in feet.values() for name in names}
    reaches = []
    for limb in robot.limbs():
        if any(geom.name in owned for geom in limb.end):
            poses = robot.poses(_stretch(robot, limb))
            root = poses["p"][limb.bodies[0], 2]
            reaches.append(root - robot.lowest_of(limb.end, poses)[2])
    return float(np.mean(reaches))


def _effort(robot: Robot, limb: Limb, q: Floats, load: float) -> float:
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


def _stretch(robot: Robot, limb: Limb) -> Floats:
    """Positions that stretch a limb straight down, shape (nq,)."""
    joints, far = list(limb.joints), 10.0
    aside = robot.lowest_of(limb.end, robot.poses(robot.rest))[1]  # a leg neither leans in nor out

    def short(q: Floats) -> Floats:
        point = robot.lowest_of(limb.end, robot.poses(q))
        return np.array([point[2] + far, far * (point[1] - aside), *(1e-3 * q[joints])])

    return min(_searches(robot, limb, short), key=lambda found: float(found[1]))[0]


def _bend(robot: Robot, limb: Limb, straight: Floats, part: float, ahead: float) -> Floats:
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

    return min(_searches(robot, limb, error), key=cost)[0]


def _searches(robot: Robot, limb: Limb, residuals: Any) -> Iterator[tuple[Floats, float]]:
    """Least squares of a limb's joints from several starts: positions, and what is left."""
    joints = list(limb.joints)
    lower, upper = robot.limits(joints)
    rng = np.random.default_rng(0)
    for _ in range(STARTS):
        q = robot.rest.copy()

        def at(x: Floats, q: Floats = q) -> Floats:
            q[joints] = x
            return np.asarray(residuals(q))

        start = rng.uniform(0.75 * lower + 0.25 * upper, 0.25 * lower + 0.75 * upper)
        found = least_squares(at, start, bounds=(lower, upper))
        q[joints] = found.x
        yield q, float(found.cost)
