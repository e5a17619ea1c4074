"""A world at one moment: where its bodies are, and what its contacts carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.contact.detection.detect import candidates_of, measure_own_gaps, place
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import Floats, open_model, open_work, open_world
from dynenvs.memory.records import CONTACT, FAR, REVOLUTE
from dynenvs.model.model import Model


class Moment(NamedTuple):
    """What a picture shows; k contacts carry something."""

    time: float  # [s]
    rotations: Floats  # body to world, shape (nb, 3, 3); body 0 is the world
    positions: Floats  # of the bodies' origins, world axes [m], shape (nb, 3)
    points: Floats  # of the contacts, world axes [m], shape (k, 3)
    normals: Floats  # towards the body that the force is on, shape (k, 3)
    forces: Floats  # world axes [N], shape (k, 3)
    friction: Floats  # coefficients, shape (k,)
    bodies: NDArray[np.int64]  # that the force is on, and the other one, shape (k, 2)
    center: Floats  # centre of mass of what `weighed` names, world axes [m], shape (3,)


class Watcher:
    """Takes moments of the rows of a model's states, in memory of its own.

    Args:
        model: what moves.
    """

    def __init__(self, model: Model) -> None:
        self.model, self._memory = model, model.workspace()
        self._m = open_model(model.packed)
        self._w = open_work(self._m, self._memory)
        self._weighed = weighed(model)

    def moment(self, row: NDArray[Any], impulses: Floats, period: float) -> Moment:
        """A moment; nothing of the simulation changes.

        Args:
            row: records of one world, shape (1,), of the model's `state_dtype`.
            impulses: at each contact candidate, world axes [N s], shape (nk, 3).
            period: over which they were gathered [s].
        """
        # Poses of this moment, in memory of our own
        update_poses(self._m, row["q"][0], self._w.pose)
        pose, scale = self._w.pose, row["mass_scale"][0]
        R, p = pose["R"].copy(), pose["p"].copy()
        found = self._contacts(row, impulses / period)
        # The centre of what is weighed, with the masses that this world has
        mass = np.where(self._weighed, self.model.bodies["mass"] * scale, 0.0)
        centers = np.einsum("bij,bj->bi", R, self.model.bodies["com"]) + p
        center = mass @ centers / mass.sum() if mass.sum() > 0.0 else np.zeros(3)
        return Moment(float(row["status"]["time"][0]), R, p, *found, center)

    def _contacts(
        self, row: NDArray[Any], forces: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.int64]]:
        """Points, normals, forces, coefficients and bodies of the contacts that carry."""
        model, w = self.model, self._w
        # Candidates that carry something, found anew: the state keeps their impulses alone
        measure_own_gaps(open_world(w, row.view(np.uint8), w))
        loaded = np.any(forces != 0.0, axis=1) & (w.gaps < FAR)
        found = [one for one in candidates_of(self._m, w) if loaded[one.number]]
        points, normals, loads = (np.zeros((len(found), 3)) for _ in range(3))
        friction, bodies = np.zeros(len(found)), np.zeros((len(found), 2), np.int64)
        contact = np.zeros(1, CONTACT)[0]
        coefficients = row["coefficients"]["friction"][0]
        for i, one in enumerate(found):
            place(model.features, w.spots, w.pose, one.feature, one.place, contact)
            feature = model.features[one.feature]
            # Forces are shown on the body that moves
            first = feature.body_a != 0  # the world's own side of a contact is of no interest
            sign = 1.0 if first else -1.0
            points[i] = contact.point
            normals[i], loads[i] = sign * contact.normal, sign * forces[one.number]
            friction[i] = coefficients[one.feature]
            a, b = int(feature.body_a), int(feature.body_b)
            bodies[i] = (a, b) if first else (b, a)
        return points, normals, loads, friction, bodies


def normal_force(moment: Moment) -> float:
    """Sum of the contacts' forces along their normals [N]."""
    return float((moment.forces * moment.normals).sum())


def weighed(model: Model) -> NDArray[np.bool_]:
    """Whose centre of mass is shown: the heaviest robot's; where there is none, that of all.

    A robot is a tree of several bodies.  Shape (nb,).
    """
    # Robots are trees of several bodies; the heaviest is the one that is looked at
    roots = model.bodies["root"]
    masses = np.bincount(roots, model.bodies["mass"])
    jointed = [root for root in set(roots[1:].tolist()) if np.count_nonzero(roots == root) > 1]
    if not jointed:
        return np.asarray(np.arange(len(roots)) > 0)
    return np.asarray(roots == max(jointed, key=lambda root: float(masses[root])))


def feet(model: Model) -> list[int]:
    """Bodies that may leave footprints: ends of the limbs of robots that no hinge holds."""
    parents, roots = model.bodies["parent"], model.bodies["root"]
    drawn = {model.body_id(geom.body) for geom in model.geoms}
    # Ends of limbs: no child, not a root, and no machine on a hinge
    found = []
    for body in sorted(drawn - {0}):
        above = [other for other in drawn if roots[other] == roots[body]]
        first = model.bodies[min(above)]
        hinged = first.joint == REVOLUTE and first.parent == 0
        if not hinged and not np.any(parents == body) and int(roots[body]) != body:
            found.append(body)
    return found
