"""A robot of which only the model is known: its limbs, and its poses at given positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.legged.reaching import Goal, Reach, crossed, reach_for
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model
from dynenvs.memory.records import POSE, REVOLUTE
from dynenvs.model.hulls import outermost
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom

STARTS = 12  # of each search
FAR = 10.0  # below the base: where a stretched limb tries to reach [m]
SAME = 0.01  # of a foot's shapes, by which their lowest points may differ [m]
WIDE = 0.02  # what is narrower is no sole [m]
LEVEL = 3.0  # weight of a level sole beside its place
LEVEL_JOINTS = 5  # of a leg that puts its foot down flat, at least
CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
BEND = 1e-3  # weight of joints beside what their limb's end should do
WIDEST = np.pi  # range of joints without limits [rad]


class Limb(NamedTuple):
    """A chain of joints from the base to a body that carries nothing else."""

    bodies: tuple[int, ...]  # from the first that is its own on
    joints: tuple[int, ...]  # positions in q of those that no other chain shares: not of a waist
    end: tuple[Geom, ...]  # touching shapes beyond the last joint


class Sole(NamedTuple):
    """The flat underside of a limb's end."""

    geoms: tuple[str, ...]  # the shapes that it is made of
    middle: Floats  # of it, in the body's frame [m], shape (3,)
    # What points forward and upwards where it is level, in the body's axes, shape (3,)
    ahead: Floats
    up: Floats


class Tip(NamedTuple):
    """What of a limb is to be put somewhere."""

    body: int
    place: Floats | None  # of a point, in the body's frame [m], shape (3,); None: what is lowest
    drop: float  # of what touches, below that point [m]
    sole: Sole | None


class Anatomy:
    """A model's tree, its limbs, and its poses at given positions."""

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
        self._stretched: dict[Limb, Floats] = {}

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
        shared = Counter(one for name in ends for one in self.chain(name))
        for name in ends:
            own = [one for one in self.chain(name) if shared[one] == 1]
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

    def chain(self, name: str) -> list[str]:
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
        held, drop = self._held(geom, poses)
        return held - np.array([0.0, 0.0, drop])

    def _held(self, geom: Geom, poses: Any) -> tuple[Floats, float]:
        """The point of a shape's body above its lowest point, and how far above [m]."""
        pose = poses[self.model.body_id(geom.body)]
        R = pose["R"] @ geom.rotation
        center = pose["R"] @ geom.position + pose["p"]
        if geom.type == "box":
            return center - R @ (np.sign(R[2]) * geom.size), 0.0
        if geom.type == "convex":
            corners = np.asarray(geom.corners) @ R.T
            return center + corners[int(np.argmin(corners[:, 2]))], 0.0
        if geom.type in ("cylinder", "ellipsoid", "cone"):
            return center + R @ outermost(geom, -R[2]), 0.0
        along = R[:, 2] * (-np.sign(R[2, 2]) * geom.size[1] if geom.type == "capsule" else 0.0)
        return center + along, float(geom.size[0])

    def lowest_of(self, geoms: Sequence[Geom], poses: Any) -> Floats:
        """The lowest point of several shapes [m], shape (3,)."""
        return min((self.lowest(geom, poses) for geom in geoms), key=lambda point: point[2])

    def sole(self, limb: Limb) -> Sole | None:
        """What of a limb's end is flat and level where all joints are at zero; None if nothing is.

        Of limbs with as many joints as it takes to put a foot down flat.
        """
        if len(limb.joints) < LEVEL_JOINTS:
            return None
        poses = self.poses(self.rest)
        bottoms = {geom.name: self._bottom(geom, poses) for geom in limb.end}
        lowest = min(points[:, 2].min() for points in bottoms.values())
        low = {name: at[at[:, 2] < lowest + SAME] for name, at in bottoms.items()}
        points = np.concatenate(list(low.values()))
        if float(np.ptp(points[:, :2], axis=0).min()) < WIDE:
            return None
        pose = poses[limb.bodies[-1]]
        middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
        geoms = tuple(name for name, at in low.items() if len(at))
        ahead, _, up = pose["R"].copy()
        return Sole(geoms, pose["R"].T @ (middle - pose["p"]), ahead, up)

    def _bottom(self, geom: Geom, poses: Any) -> Floats:
        """Points of a shape that may be on the ground, shape (n, 3) [m]."""
        pose = poses[self.model.body_id(geom.body)]
        R = pose["R"] @ geom.rotation
        center = pose["R"] @ geom.position + pose["p"]
        if geom.type == "box":
            return np.asarray(center + (CUBE * geom.size) @ R.T)
        if geom.type == "convex":
            return np.asarray(center + np.asarray(geom.corners) @ R.T)
        if geom.type == "capsule":
            half, drop = R[:, 2] * geom.size[1], np.array([0.0, 0.0, geom.size[0]])
            return np.array([center - half - drop, center + half - drop])
        return self.lowest(geom, poses)[None]

    def stretched(self, limb: Limb) -> Floats:
        """Positions that stretch a limb straight down, shape (nq,)."""
        key = limb._replace(end=())
        if key not in self._stretched:
            self._stretched[key] = self._stretch(limb)
        return self._stretched[key].copy()

    def _stretch(self, limb: Limb) -> Floats:
        tip = self.tip(limb, None)
        # A leg leans neither in nor out
        aside = self.place(limb, tip, self.rest)[1]
        A = np.zeros((2, 9))
        A[0, 2], A[1, 1] = 1.0, FAR
        goal = Goal(A, np.array([-FAR, FAR * aside]), BEND, np.zeros(len(limb.joints)))
        found = self.searches(limb, tip, level(goal, LEVEL * FAR) if tip.sole else goal)
        return min(found, key=lambda one: float(one[1]))[0]

    def tip(self, limb: Limb, q: Floats | None) -> Tip:
        """What of a limb's end is to be put down: its sole, or what is lowest at positions q.

        Of a limb without a sole, where q is None, what is lowest wherever it is.
        """
        sole = self.sole(limb)
        if sole is not None:
            return Tip(limb.bodies[-1], sole.middle, 0.0, sole)
        if q is None:
            return Tip(limb.bodies[-1], None, 0.0, None)
        poses = self.poses(q)
        held, drop = self._lowest_held(limb, poses)
        pose = poses[limb.bodies[-1]]
        return Tip(limb.bodies[-1], pose["R"].T @ (held - pose["p"]), drop, None)

    def place(self, limb: Limb, tip: Tip, q: Floats) -> Floats:
        """Where a limb's tip is at positions q [m], shape (3,)."""
        return self._reach(limb, tip, self.poses(q)).point[:3]

    def searches(
        self, limb: Limb, tip: Tip, goal: Goal, near: Floats | None = None
    ) -> Iterator[tuple[Floats, float]]:
        """Positions that bring a limb's tip to a goal, shape (nq,), and half the sum of squares.

        From several starts, or near given positions.
        """
        joints = list(limb.joints)
        lower, upper = self.limits(joints)
        rng = np.random.default_rng(0)
        for _ in range(STARTS if near is None else 1):
            q = self.rest.copy()

            def reach_at(x: Floats, q: Floats = q) -> Reach:
                q[joints] = x
                return self._reach(limb, tip, self.poses(q))

            start = rng.uniform(0.75 * lower + 0.25 * upper, 0.25 * lower + 0.75 * upper)
            start = start if near is None else near[joints]
            q[joints], cost = reach_for(goal, reach_at, start, lower, upper)
            yield q, cost

    def _lowest_held(self, limb: Limb, poses: Any) -> tuple[Floats, float]:
        """The point above a limb's lowest point that its body holds, and how far above [m]."""
        return min(
            (self._held(geom, poses) for geom in limb.end), key=lambda found: found[0][2] - found[1]
        )

    def _reach(self, limb: Limb, tip: Tip, poses: Any) -> Reach:
        """Of a limb's tip: where it is, and what of its sole points upwards and forward, (9,)."""
        moving = [body for body in limb.bodies if self.model.bodies["nv"][body]]
        turns = (self.model.bodies["joint"][moving] == REVOLUTE)[:, None]
        pose = poses[tip.body]
        held, drop = pose["p"], tip.drop
        ahead, up = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
        if tip.place is None:
            held, drop = self._lowest_held(limb, poses)
        else:
            held = pose["R"] @ tip.place + pose["p"]
        if tip.sole is not None:
            ahead, up = pose["R"] @ tip.sole.ahead, pose["R"] @ tip.sole.up
        axes = np.einsum("bij,bj->bi", poses["R"][moving], self.model.bodies["axis"][moving])
        arms = np.where(turns, crossed(axes, held - poses["p"][moving]), axes)
        hinges = np.where(turns, axes, 0.0)
        rates = np.concatenate([arms, crossed(hinges, up), crossed(hinges, ahead)], axis=1)
        return Reach(np.array([held[0], held[1], held[2] - drop, *up, *ahead]), rates, hinges)


def level(goal: Goal, weight: float = LEVEL) -> Goal:
    """The same goal with a level sole that points forward; weight: of that, beside the others."""
    A, b = np.zeros((4, 9)), np.array([0.0, 0.0, weight, 0.0])
    A[0, 3] = A[1, 4] = A[2, 6] = A[3, 7] = weight
    return goal._replace(A=np.concatenate([goal.A, A]), b=np.concatenate([goal.b, b]))


@lru_cache(maxsize=16)
def anatomy_of(model: Model) -> Anatomy:
    """Of a model: once, for stretching its limbs takes seconds."""
    return Anatomy(model)


def weight_of(model: Model) -> float:
    """Of the whole robot, where the model stands [N]."""
    return -float(model.header.gravity[2]) * float(model.bodies["mass"].sum())
