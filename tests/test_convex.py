"""Convex solids: their hulls, how they meet the ground, and what they refuse."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, free
from dynenvs.model.hulls import fewer_corners, hull_corners
from dynenvs.model.model import Model

HALF = np.array([0.3, 0.2, 0.1])
CORNERS = HALF * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def falling(convex: bool) -> Model:
    """A box over a floor, as a box or as the hull of its corners and of points within."""
    builder = ModelBuilder(friction="minimum")
    builder.half_space("floor", friction=0.5)
    builder.body("block", joint=free(), mass=6.0, inertia=(0.1, 0.2, 0.26))
    if convex:
        rng = np.random.default_rng(0)
        points = np.concatenate([rng.uniform(-HALF, HALF, (50, 3)), CORNERS])
        builder.convex("skin", "block", points=points)
    else:
        builder.box("skin", "block", half_size=HALF)
    return builder.build()


def test_a_hull_meets_the_ground_as_the_box_that_it_is() -> None:
    """Thrown, it tumbles, slides and comes to rest in the same way."""
    ends = []
    for convex in (False, True):
        world = World(falling(convex), timestep=0.005)
        turn = Rotation.from_euler("xyz", [0.4, 0.3, 0.2]).as_quat(scalar_first=True)
        world.reset([0.0, 0.0, 0.6, *turn], [1.0, 0.5, 0.0, 1.0, -2.0, 0.5])
        for _ in range(60):
            world.step(np.zeros(0))
        ends.append(np.concatenate([world.q, world.v]))
        for _ in range(400):
            world.step(np.zeros(0))
        assert np.abs(world.v).max() < 1e-9
        lowest = (dynenvs.frames(world.model, world.q).rotations[1] @ CORNERS.T)[2].min()
        assert world.q[2] + lowest == pytest.approx(0.0, abs=1e-6)
    close(ends[1], ends[0], 1e-9)


def test_hulls_keep_their_corners_alone() -> None:
    rng = np.random.default_rng(1)
    inside = rng.uniform(-0.99, 0.99, (200, 3)) * HALF
    corners = hull_corners(np.concatenate([inside, CORNERS]), "block")
    assert (corners == CORNERS).all()
    for points in (CORNERS[:3], CORNERS[[0, 1, 2, 3]], np.zeros((5, 3)), np.full((5, 3), np.nan)):
        with pytest.raises(ModelError, match="block: points must be"):
            hull_corners(points, "block")


def test_fewer_corners_say_how_much_is_missing() -> None:
    """Of a ball of 2,000 corners; every point of it is within that of the smaller hull."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(2000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    kept, missing = fewer_corners(points, 64)
    assert len(kept) == 64
    looks = rng.normal(size=(500, 3))
    looks /= np.linalg.norm(looks, axis=1)[:, None]
    lost = (points @ looks.T).max(axis=0) - (kept @ looks.T).max(axis=0)
    assert 0.5 * missing < lost.max() < 1.1 * missing
    assert fewer_corners(CORNERS, 64) == (pytest.approx(CORNERS), 0.0)


def test_other_shapes_are_refused() -> None:
    """No contact test: the model says so when it is built, unless the pair is excluded."""
    for add in (
        lambda b: b.box("other", "world", half_size=(1, 1, 1)),
        lambda b: b.sphere("other", "world", radius=1.0),
        lambda b: b.block_field("other", heights=np.zeros((2, 2)), half_size=(1.0, 1.0)),
        lambda b: b.convex("other", "world", points=CORNERS),
    ):
        builder = ModelBuilder.of(falling(True).description)
        add(builder)
        with pytest.raises(ModelError, match=r"no contact test of .*exclude the pair"):
            builder.build()
        builder.exclude("skin", "other")
        assert builder.build().header.np == 0
    with pytest.raises(ModelError, match="a convex has no density"):
        builder.convex("heavy", "block", points=CORNERS, density=1.0)


def test_meshes_and_cylinders_of_files_stand_on_planes() -> None:
    """At the height at which MuJoCo's distance to the plane is zero."""
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><asset><mesh name="gem" vertex="0 0 0  .3 0 0  0 .4 0  0 0 .5  .2 .2 .2"/>
    </asset><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body name="a"><freejoint/><geom name="gem" type="mesh" mesh="gem"/></body>
    <body name="b"><freejoint/><geom name="can" type="cylinder" size=".1 .2"/></body>
    </worldbody></mujoco>"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = dynenvs.load(xml)
    theirs = mujoco.MjModel.from_xml_string(xml)
    data, line = mujoco.MjData(theirs), np.zeros(6)
    features = ours.features
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = np.concatenate([[0.0, 0.0, 2.0, *_quaternion(rng), 5.0, 0.0, 2.0, *_quaternion(rng)]])
        data.qpos[:] = q
        mujoco.mj_forward(theirs, data)
        found = dynenvs.frames(ours, q)
        for name, tolerance in (("gem", 1e-6), ("can", 5e-4)):  # their vertices are of float32
            g = ours.geom_id(name)
            body = features["body_a"][features["geom_a"] == g]
            centers = features["center"][features["geom_a"] == g]
            heights = (found.rotations[body[0]] @ centers.T)[2] + found.positions[body[0], 2]
            gap = mujoco.mj_geomDistance(
                theirs, data, theirs.geom(name).id, theirs.geom("floor").id, 10.0, line
            )
            assert heights.min() == pytest.approx(gap, abs=tolerance)


def _quaternion(rng: np.random.Generator) -> np.ndarray:
    four = rng.normal(size=4)
    return four / np.linalg.norm(four)
