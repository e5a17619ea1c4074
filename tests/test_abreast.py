"""Four worlds abreast: the bits of each world alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trees import Array, random_q, random_tree

from dynenvs.envs.robots import humanoid, quadruped
from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_state, open_workspace
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import free, revolute
from dynenvs.simd.lanes import get, join, like, nil, put, sine_cosine_lanes, split
from dynenvs.simd.trigonometry import sine_cosine
from dynenvs.simd.vectors import WIDTH
from dynenvs.simulation.batch_lanes import free_abreast
from dynenvs.simulation.timestep import free_motion

DT = 0.01


@kernel
def abreast(packed, rows, buffers, stride, count):  # type: ignore[no-untyped-def]
    """Which worlds are done."""
    return free_abreast(packed, rows, buffers, stride, count, DT)


@kernel
def alone(packed, row, buffer):  # type: ignore[no-untyped-def]
    """Whether it is done."""
    m = open_model(packed)
    s, w = open_state(m, row), open_workspace(m, buffer)
    update_poses(m, s.q, w.pose)
    return free_motion(m, s, w, w.tau, DT)


class Worlds:
    """Random worlds of a model and a workspace for each."""

    def __init__(self, model: Model, count: int, rng: np.random.Generator) -> None:
        self.model, self.count = model, count
        self.rows = model.states(count)
        self.buffers = np.full((count, int(model.header.workspace_bytes)), 255, np.uint8)
        self.rows["v"] = rng.normal(size=self.rows["v"].shape)
        self.rows["mass_scale"] = rng.uniform(0.5, 2.0, self.rows["mass_scale"].shape)
        self.rows["wrench"][:, ::2] = rng.normal(size=self.rows["wrench"][:, ::2].shape)
        for i in range(count):
            self.rows["q"][i] = random_q(model, rng)
            self.open(i).tau[:] = rng.normal(size=model.nv)

    def open(self, i: int) -> Any:
        """The workspace of world i."""
        return open_workspace(open_model(self.model.packed), self.buffers[i])

    def go(self) -> int:
        """All of them abreast."""
        rows = self.rows.view(np.uint8).reshape(-1)
        stride = self.buffers.shape[1]
        return int(abreast(self.model.packed, rows, self.buffers.reshape(-1), stride, self.count))

    def check(self, i: int) -> None:
        """World i, alone, gives the bits that stand in its workspace."""
        model, found = self.model, self.open(i)
        row = self.rows[i : i + 1].view(np.uint8).reshape(-1)
        buffer = np.zeros(self.buffers.shape[1], np.uint8)
        w = open_workspace(open_model(model.packed), buffer)
        w.tau[:] = found.tau
        assert alone(model.packed, row, buffer)
        for field, other in ((w.pose, found.pose), (w.body, found.body)):
            for name in {"R", "p", "v"} & set(field.dtype.names):
                assert field[name].tobytes() == other[name].tobytes(), name
        assert w.S.tobytes() == found.S.tobytes()
        assert w.v_free.tobytes() == found.v_free.tobytes()
        assert np.isfinite(w.v_free).all()
        for j in range(model.nv):
            k = j
            while k >= 0:
                assert w.L[j, k].tobytes() == found.L[j, k].tobytes()
                k = int(model.dofs[k].parent)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees(seed: int) -> None:
    """Joints of all kinds, pushed bodies of any mass; one to four worlds."""
    tree = random_tree(seed, floating=True)
    assert tree.model.header.abreast
    for count in range(1, WIDTH + 1):
        worlds = Worlds(tree.model, count, tree.rng)
        assert worlds.go() == (1 << count) - 1
        for i in range(count):
            worlds.check(i)


@pytest.mark.parametrize("robot", [humanoid, quadruped])
def test_robots(robot: Any) -> None:
    """Axes of the parent's frame, and angles beyond the reach of the fast sine."""
    worlds = Worlds(robot.build(), WIDTH, np.random.default_rng(0))
    worlds.rows["wrench"] = 0.0
    worlds.rows["q"][2, 7:] *= 1e7
    assert worlds.go() == 15
    for i in range(WIDTH):
        worlds.check(i)


def test_a_world_that_fails_fails_alone() -> None:
    """No mass, or no number, in one lane: the others' bits are right."""
    tree = random_tree(3, floating=True)
    worlds = Worlds(tree.model, WIDTH, tree.rng)
    worlds.rows["mass_scale"][1] = 0.0
    worlds.rows["v"][3] = np.nan
    done = worlds.go()
    assert done & 7 == 5
    worlds.check(0)
    worlds.check(2)


def test_who_goes_abreast() -> None:
    """Trees that float; nothing that bounces."""

    def model(joint: Any, restitution: float = 0.0) -> Model:
        builder = ModelBuilder()
        builder.body("a", joint=joint, mass=1.0, inertia=(1.0, 1.0, 1.0))
        builder.half_space("floor")
        builder.sphere("ball", "a", radius=0.1, restitution=restitution)
        return builder.build()

    assert model(free()).header.abreast
    assert not model(free(), restitution=0.5).header.abreast
    assert not model(revolute(axis=(0, 1, 0))).header.abreast


@kernel
def arithmetic(a: Array, out: Array) -> bool:
    """Every operation on entries, of one world or of four."""
    x, y = get(a, 0), get(a, 1)
    z = 2.0 * x + y / 3.0 - x * y
    z += like(a, 1.0)
    z -= 0.5 / (y - 3.0)
    put(out, 0, z)
    put(out, 1, like(a, 0.0))
    return nil(get(out, 1)) and not nil(z) and not nil(x)


@kernel
def lanes(a: Array, out: Array) -> None:
    """Every function of lanes alone."""
    p, q, r, s = split(get(a, 0))
    x = join(s, r, q, p)
    sine, cosine = sine_cosine_lanes(x)
    put(out, 0, x)
    put(out, 1, sine)
    put(out, 2, cosine)


def test_lanes() -> None:
    """Numbers of four worlds, each as it would be alone."""
    rng = np.random.default_rng(0)
    a, out = rng.normal(size=(2, WIDTH)), np.zeros((2, WIDTH))
    a[0, 1:] = 0.0  # nil is what is zero in every lane
    assert arithmetic(a, out)
    alone = np.zeros(2)
    for k in range(WIDTH):
        arithmetic(np.ascontiguousarray(a[:, k]), alone)
        np.testing.assert_array_equal(out[:, k], alone)
    x, y = a
    np.testing.assert_array_equal(out[0], 2.0 * x + y / 3.0 - x * y + 1.0 - 0.5 / (y - 3.0))
    angles = rng.normal(size=(1, WIDTH)) * 10.0
    out = np.zeros((3, WIDTH))
    lanes(angles, out)
    np.testing.assert_array_equal(out[0], angles[0, ::-1])
    np.testing.assert_array_equal(out[1:].T, [sine_cosine(angle) for angle in out[0]])


def test_lanes_in_the_interpreter() -> None:
    """The same functions in plain Python."""
    a = np.arange(8.0).reshape(2, WIDTH)
    x = get(a, 1)
    x *= 2.0
    assert a[1, 0] == 4.0  # what was got is not the array's
    put(a, 0, join(*split(x)))
    np.testing.assert_array_equal(a[0], [8, 10, 12, 14])
    assert nil(like(a, 0.0))
    assert not nil(a[0])
    assert like(a[0], 1.0) == 1.0
    flat = np.zeros(2)
    put(flat, 1, get(a[0], 3))
    np.testing.assert_array_equal(flat, [0, 14])
