"""Where a robot's contact features were, step by step, and the footsteps that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.evaluation.episode import Episode
from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.jit.compiled import entry
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Ints, Matrices, Matrix, WorkView, open_work
from dynenvs.model.model import Model

LIFTED = 1e-3  # a foot that rises less between two loads never left the ground [m]


class Feet(NamedTuple):
    """Where the contact features were at the end of each control step."""

    center: Floats  # [m], shape (steps, nf, 3)
    rotation: Floats  # of the feature's body, shape (steps, nf, 3, 3)
    gap: Floats  # [m], shape (steps, nf); infinite for slots


@entry
def _trace(
    w: WorkView,
    points: Matrix,
    bodies: Ints,
    q: Matrix,
    center: Matrices,
    rotation: Annotated[Floats, 4],
    gap: Matrix,
) -> None:
    """Place, rotation and gap of every candidate for a series of positions, shape (steps, nq).

    points: where the candidates are followed, in the axes of their bodies, shapes (nk, 3), (nk,).
    """
    for k in range(q.shape[0]):
        update_poses(w, q[k], w.pose)
        measure_gaps(w)
        for f in range(w.header[0].nk):
            pose = w.pose[bodies[f]]
            x, y, z = rotate(pose.R, points[f])
            center[k, f, 0], center[k, f, 1] = x + pose.p[0], y + pose.p[1]
            center[k, f, 2] = z + pose.p[2]
            for i in range(3):
                for j in range(3):
                    rotation[k, f, i, j] = pose.R[i, j]
            gap[k, f] = w.gaps[f]


def trace(model: Model, q: Floats) -> Feet:
    """Where the contact features are in a series of positions, shape (steps, nq)."""
    candidates = model.candidates
    shape = (len(q), len(candidates))
    feet = Feet(np.zeros((*shape, 3)), np.zeros((*shape, 3, 3)), np.zeros(shape))
    points = np.array(candidates["center"])
    # Slots have no point of their own
    for f in range(len(points) - int(model.header.ns), len(points)):
        points[f] = model.geoms[candidates["geom_a"][f]].position
    bodies = np.array(candidates["body_a"])
    _trace(open_work(model.packed, model.workspace()), points, bodies, q, *feet)
    return feet


def radius(model: Model, f: int) -> float:
    """Of the ball that a contact candidate is [m]."""
    feature = model.features[model.feature_of[f]]
    geom = model.geoms[feature.geom_a]
    return float(geom.size[0]) if geom.type == "sphere" else float(feature.radius)


def crept(feet: Feet, f: int, radius: float) -> Floats:
    """Way of feature `f` over the ground without its rolling [m], shape (steps, 3).

    A sphere that rolls on the ground moves by its rotation vector times radius times the normal.
    """
    center, rotation = feet.center[:, f], feet.rotation[:, f]
    turn = rotation[1:] @ rotation[:-1].transpose(0, 2, 1)
    skew = turn - turn.transpose(0, 2, 1)
    twice = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    sine = 0.5 * np.linalg.norm(twice, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0))
    vector = 0.5 * twice * (angle / np.maximum(sine, 1e-300))[:, None]
    rolled = np.cross(vector, [0.0, 0.0, radius])
    return np.concatenate([np.zeros((1, 3)), np.cumsum(np.diff(center, axis=0) - rolled, axis=0)])


def stances(loaded: NDArray[np.bool_], lowest: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """First and last loaded step of each stance of one foot.

    Loads between which the foot never rose above LIFTED belong to one stance: a foot that creeps
    in tiny hops is found out.

    Args:
        loaded: whether the foot carried load, at the end of each step, shape (steps,).
        lowest: height of its lowest point [m], shape (steps,).
    """
    steps = np.flatnonzero(loaded)
    if len(steps) == 0:
        return
    first = last = int(steps[0])
    for at in map(int, steps[1:]):
        if at > last + 1 and float(lowest[last + 1 : at].max()) > LIFTED:
            yield first, last
            first = at
        last = at
    yield first, last


class Footwork(NamedTuple):
    """What the feet of a walker did in an episode."""

    slip: float  # largest of a standing foot from touchdown to lift-off [m]; NaN without a stance
    clearance: float  # least, over the swings, of a swing's greatest height [m]; NaN without one
    swings: int  # from lift-off to touchdown
    penetration: float  # deepest of any contact feature, at the end of a control step [m]
    landings: list[int]  # control steps in which feet touched down
    standing: NDArray[np.int64]  # number of feet that carried load, shape (steps,)


def footwork(task: Any, episode: Episode) -> Footwork:
    """Follow the feet of a walker's recorded episode.

    Each point of a foot is followed on its own; a foot swings when none of them carries load.  Its
    height is its distance from the ground, whatever its shape.

    Args:
        task: the walker's.
        episode: what it did.
    """
    feet = trace_feet(task, episode)
    loaded = np.asarray(episode.impulses[:, :, 2] > 0.0)
    slips, heights, landings = [], [], []
    standing = np.zeros(episode.steps, np.int64)
    for leg in range(len(task.legs)):
        own = np.flatnonzero(task.foot_of_feature == leg)
        for f in map(int, own):
            path = crept(feet, f, radius(task.robot, f))
            for first, last in stances(loaded[:, f], feet.gap[:, f]):
                way = path[first : last + 1] - path[first]
                slips.append(float(np.hypot(way[:, 0], way[:, 1]).max()))
        lowest, stands = feet.gap[:, own].min(axis=1), np.any(loaded[:, own], axis=1)
        found = list(stances(stands, lowest))
        for (_, lift_off), (touchdown, _) in pairwise(found):
            heights.append(float(lowest[lift_off + 1 : touchdown].max()))
        landings += [first for first, _ in found]
        standing += stands
    return Footwork(
        max(slips, default=math.nan),
        min(heights, default=math.nan),
        len(heights),
        max(0.0, -float(feet.gap.min(initial=0.0))),
        landings,
        standing,
    )


def trace_feet(task: Any, episode: Episode) -> Feet:
    """Where a robot's contact features were in an episode; kinematics only."""
    robot = task.robot
    return trace(robot, np.ascontiguousarray(episode.q[:, : robot.nq]))
