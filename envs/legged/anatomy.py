"""A robot of which only the model is known: its limbs, and its poses at given positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model
from dynenvs.memory.records import POSE
from dynenvs.model.hulls import outermost
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom

STARTS = 12  # of each search
WIDEST = np.pi  # range of joints without limits [rad]


class Limb(NamedTuple):
    """A chain of joints from the base to a body that carries nothing else."""

    bodies: tuple[int, ...]  # from the first that is its own on
    joints: tuple[int, ...]  # positions in q of those that no other chain shares: not of a waist
    end: tuple[Geom, ...]  # touching shapes beyond the last joint


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
        pose = poses[self.model.body_id(geom.body)]
        R = pose["R"] @ geom.rotation
        center = pose["R"] @ geom.position + pose["p"]
        if geom.type == "box":
            return center - R @ (np.sign(R[2]) * geom.size)
        if geom.type == "convex":
            corners = np.asarray(geom.corners) @ R.T
            return center + corners[int(np.argmin(corners[:, 2]))]
        if geom.type in ("cylinder", "ellipsoid", "cone"):
            return center + R @ outermost(geom, -R[2])
        along = R[:, 2] * (-np.sign(R[2, 2]) * geom.size[1] if geom.type == "capsule" else 0.0)
        return center + along - np.array([0.0, 0.0, geom.size[0]])

    def lowest_of(self, geoms: Sequence[Geom], poses: Any) -> Floats:
        """The lowest point of several shapes [m], shape (3,)."""
        return min((self.lowest(geom, poses) for geom in geoms), key=lambda point: point[2])

    def stretched(self, limb: Limb) -> Floats:
        """Positions that stretch a limb straight down, shape (nq,)."""
        key = limb._replace(end=())
        if key not in self._stretched:
            self._stretched[key] = self._stretch(limb)
        return self._stretched[key].copy()

    def _stretch(self, limb: Limb) -> Floats:
        joints, far = list(limb.joints), 10.0
        aside = self.lowest_of(limb.end, self.poses(self.rest))[1]  # a leg leans neither in nor out

        def short(q: Floats) -> Floats:
            point = self.lowest_of(limb.end, self.poses(q))
            return np.array([point[2] + far, far * (point[1] - aside), *(1e-3 * q[joints])])

        return min(self.searches(limb, short), key=lambda found: float(found[1]))[0]

    def searches(self, limb: Limb, residuals: Any) -> Iterator[tuple[Floats, float]]:
        """Least squares of a limb's joints from several starts: positions, and what is left."""
        joints = list(limb.joints)
        lower, upper = self.limits(joints)
        rng = np.random.default_rng(0)
        for _ in range(STARTS):
            q = self.rest.copy()

            def at(x: Floats, q: Floats = q) -> Floats:
                q[joints] = x
                return np.asarray(residuals(q))

            start = rng.uniform(0.75 * lower + 0.25 * upper, 0.25 * lower + 0.75 * upper)
            found = least_squares(at, start, bounds=(lower, upper))
            q[joints] = found.x
            yield q, float(found.cost)


@lru_cache(maxsize=16)
def anatomy_of(model: Model) -> Anatomy:
    """Of a model: once, for stretching its limbs takes seconds."""
    return Anatomy(model)


def poses_at(model: Model, q: Floats) -> Any:
    """Poses of all bodies at positions q, shape (nb,)."""
    poses = np.zeros(int(model.header.nb), POSE)
    update_poses(open_model(model.packed), q, poses)
    return poses
