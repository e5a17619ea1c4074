"""Contacts of whole robots against MuJoCo's, at random poses: in the ground a little, and in
themselves.

Round shapes on planes and on each other have a closed form on both sides: MuJoCo's contacts are
found here to 1e-9 in distance, place and normal, and nothing here is deeper.  (Capsules have more
slots here: their ends, too.)  Of polyhedra MuJoCo chooses other points, so the pairs that touch and
their depth are held, as far as the corners go that a model leaves out (`missing`), where one is no
further in the other than a centimetre, a capsule than half its radius: deeper in, MuJoCo's capsules
end at their axes and its boxes prefer faces.

A capsule deeper in than that, but with its axis outside, is held against the distance of a segment
and a polytope instead, computed by least squares.  MuJoCo's search ends elsewhere at times: Go1's
"geom 10" is 8.456 mm deep in "geom 24" in one pose, to which the distance agrees, and 3.306 there.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import nnls
from test_import_mujoco import ROBOTS
from trees import Array

import dynenvs
from dynenvs.contact.detection.detect import candidates_of, measure_gaps, place
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work
from dynenvs.memory.records import CONTACT
from dynenvs.model.hulls import directions
from dynenvs.model.model import Model
from dynenvs.simulation.room import with_room

mujoco: Any = pytest.importorskip("mujoco")

POSES = 12
ROUND = {"sphere", "capsule", "half_space"}
EXACT = 1e-9
SEARCHED = 2e-5  # error of MuJoCo's search for the depth of polyhedra [m]
SHALLOW = 0.01  # [m]


class Touch(NamedTuple):
    """A contact: which geoms, in which order, and where."""

    gap: float
    position: Array  # half way between the surfaces
    normal: Array  # from the second geom to the first


Contacts = dict[frozenset[str], list[Touch]]


@cache
def twin(name: str) -> tuple[Model, Any, dict[str, str]]:
    """A robot here and there, without margins, and the kinds of its geoms here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mujoco.MjModel.from_xml_path(str(ROBOTS[name]))
        ours = dynenvs.load(ROBOTS[name])
    theirs.geom_margin[:] = theirs.geom_gap[:] = 0.0
    return ours, theirs, {geom.name: geom.type for geom in ours.geoms}


def name_of(theirs: Any, geom: int) -> str:
    return str(theirs.geom(geom).name) or f"geom {geom}"


def poses(name: str) -> list[Array]:
    """Joints turned at random, the lowest point of what touches up to 2 cm in the ground."""
    _, theirs, _ = twin(name)
    rng, data, found = np.random.default_rng(11), mujoco.MjData(theirs), []
    for _ in range(POSES):
        q = theirs.qpos0.copy()
        mujoco.mj_integratePos(theirs, q, rng.uniform(-2.5, 2.5, theirs.nv), 1.0)
        if theirs.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
            q[:2] = 0.0
            low, high = -2.0, 3.0
            depth = rng.uniform(0.001, 0.02)
            for _ in range(40):
                q[2] = (low + high) / 2
                data.qpos[:] = q
                mujoco.mj_forward(theirs, data)
                grounds = (theirs.geom_bodyid[data.contact.geom] == 0).any(axis=1)
                inside = (grounds & (data.contact.dist < -depth)).any()
                low, high = (q[2], high) if inside else (low, q[2])
        found.append(q)
    return found


def theirs_at(theirs: Any, q: Array) -> Contacts:
    data = mujoco.MjData(theirs)
    data.qpos[:] = q
    mujoco.mj_forward(theirs, data)
    out: Contacts = defaultdict(list)
    for contact in data.contact:
        a, b = (name_of(theirs, g) for g in contact.geom)
        towards = contact.frame[:3] * (1.0 if a > b else -1.0)
        out[frozenset((a, b))].append(Touch(contact.dist, contact.pos.copy(), towards))
    return out


def ours_at(ours: Model, q: Array) -> Contacts:
    m = open_model(ours.packed)
    w = open_work(m, ours.workspace())
    update_poses(m, q, w.pose)
    measure_gaps(w)
    wanted = int(w.answer["blocks"][0])
    if wanted > ours.header.nblocks:  # more pairs are near than a model has room for at first
        return ours_at(with_room(ours, int(ours.header.nc), wanted), q)
    out: Contacts = defaultdict(list)
    contact = np.zeros(1, CONTACT)[0]
    for one in candidates_of(m, w):
        gap = float(w.gaps[one.number])
        if gap < EXACT:
            place(ours.features, w.spots, w.pose, one.feature, one.place, contact)
            feature = ours.features[one.feature]
            a, b = ours.geoms[feature.geom_a].name, ours.geoms[feature.geom_b].name
            normal = np.array(contact.normal)
            surface = np.array(contact.center) - contact.radius * normal
            towards = normal * (-1.0 if a > b else 1.0)
            out[frozenset((a, b))].append(Touch(gap, surface - gap / 2 * normal, towards))
    return out


def is_round(pair: frozenset[str], kinds: dict[str, str]) -> bool:
    return {kinds[geom] for geom in pair} <= ROUND


def same(a: Touch, b: Touch) -> bool:
    """One contact; of capsules whose axes cross, every direction across both is normal to them."""
    near = abs(a.gap - b.gap) < EXACT
    turned = 1.0 if a.normal @ b.normal > 0.0 else -1.0
    crossing = np.abs(a.normal - turned * b.normal).max() < EXACT and turned < 0.0
    if crossing:
        return bool(near and np.abs(a.position - b.position).max() < 2 * abs(a.gap))
    at = np.abs(a.position - b.position).max() < EXACT
    return bool(near and at and np.abs(a.normal - b.normal).max() < EXACT)


def depth(contacts: list[Touch]) -> float:
    return -min((one.gap for one in contacts), default=0.0)


@cache
def missing(name: str, geom: str) -> float:
    """How far a geom reaches out of what the model has of it [m]."""
    ours, theirs, _ = twin(name)
    shape = ours.geoms[ours.geom_id(geom)]
    g = next(g for g in range(theirs.ngeom) if name_of(theirs, g) == geom)
    if shape.corners is None:
        return 0.0
    looks = directions(2000)
    mesh, size = int(theirs.geom_dataid[g]), theirs.geom_size[g]
    if theirs.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH:
        at = theirs.mesh_vertadr[mesh]
        points = theirs.mesh_vert[at : at + theirs.mesh_vertnum[mesh]]
        reach = (points @ looks.T).max(axis=0)
    elif theirs.geom_type[g] == mujoco.mjtGeom.mjGEOM_CYLINDER:
        reach = size[0] * np.linalg.norm(looks[:, :2], axis=1) + size[1] * np.abs(looks[:, 2])
    else:
        reach = np.linalg.norm(size * looks, axis=1)
    return float((reach - (shape.corners @ looks.T).max(axis=0)).max())


@pytest.mark.parametrize("name", list(ROBOTS))
def test_round_shapes_touch_as_in_mujoco(name: str) -> None:
    """Each contact there is one here, and none here is deeper."""
    ours, theirs, kinds = twin(name)
    for q in poses(name):
        here, there = ours_at(ours, q), theirs_at(theirs, q)
        for pair in here.keys() | there.keys():
            if is_round(pair, kinds):
                assert depth(here.get(pair, [])) < depth(there.get(pair, [])) + EXACT
                for one in there.get(pair, []):
                    found = here.get(pair, [])
                    assert abs(one.gap) < EXACT or any(same(one, other) for other in found), pair


@pytest.mark.parametrize("name", list(ROBOTS))
def test_polyhedra_touch_as_deep_as_in_mujoco(name: str) -> None:
    """The same pairs of geoms, and the deepest point of each as deep."""
    ours, theirs, kinds = twin(name)
    for q in poses(name):
        here, there = ours_at(ours, q), theirs_at(theirs, q)
        for pair in here.keys() | there.keys():
            if is_round(pair, kinds):
                continue
            room = sum(missing(name, geom) for geom in pair) + SEARCHED
            one, other = depth(here.get(pair, [])), depth(there.get(pair, []))
            rounds = [ours.geoms[ours.geom_id(g)].size[0] for g in pair if kinds[g] == "capsule"]
            shallow = min([SHALLOW, *(radius / 2 for radius in rounds)])
            if rounds and max(one, other) >= shallow:
                continue  # its axis may pierce the other one
            assert other < room or one > 0.0, (pair, other)
            assert one < SEARCHED or other > 0.0, (pair, one)
            if max(one, other) < shallow:
                assert -room < one - other < SEARCHED, (pair, one, other)


def apart(hull: Array, segment: Array) -> float:
    """Distance of two convex hulls of points, 0 where they meet.

    Of 0 from the hull of their differences D: least squares |D' x| with x >= 0, sum x = 1, and then
    exactly of the plane, line or point in which the points lie that it is made of.
    """
    D = (hull[:, None] - segment[None]).reshape(-1, 3)
    heavy = 1e3
    x, _ = nnls(np.vstack([D.T, np.full(len(D), heavy)]), np.array([0.0, 0.0, 0.0, heavy]))
    on = D[x > 1e-9]
    if np.linalg.norm(D.T @ x) < 1e-5 or len(on) > 3:
        return 0.0
    ways = (on[1:] - on[0]).T
    shift = np.linalg.lstsq(ways, -on[0], rcond=None)[0] if len(on) > 1 else np.zeros(0)
    return float(np.linalg.norm(on[0] + ways @ shift))


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in ("go1/go1", "go2/go2") if name in ROBOTS])
def test_capsules_with_their_axes_outside_are_as_deep_as_these_are_near(name: str) -> None:
    ours, _, kinds = twin(name)
    found = 0
    for q in poses(name):
        buffer = ours.workspace()
        w = open_work(ours.packed, buffer)
        update_poses(open_model(ours.packed), q, w.pose)
        for pair, touches in ours_at(ours, q).items():
            geoms = {kinds[g]: ours.geoms[ours.geom_id(g)] for g in pair}
            if set(geoms) not in ({"capsule", "box"}, {"capsule", "convex"}):
                continue
            places = []
            for kind, geom in geoms.items():
                own = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
                own = own * (geom.size if kind == "box" else [0.0, 0.0, geom.size[1]])
                own = geom.corners if geom.corners is not None else own
                pose = w.pose[ours.body_id(geom.body)]
                places.append((own @ geom.rotation.T + geom.position) @ pose["R"].T + pose["p"])
            distance = apart(places[0], np.unique(places[1], axis=0))
            if distance > 0.0:
                found += 1
                assert depth(touches) == pytest.approx(
                    geoms["capsule"].size[0] - distance, abs=1e-8
                )
    assert found > 5
