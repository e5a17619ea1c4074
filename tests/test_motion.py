"""The step's fused passes give what the textbook algorithms give, planar ones included."""

from __future__ import annotations

import numpy as np
import pytest
from trees import Opened, Tree, close

from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.motion import motion_passes
from dynenvs.dynamics.planar import planar_passes
from dynenvs.dynamics.rnea import bias_force
from dynenvs.envs.robots import planar_humanoid, planar_quadruped
from dynenvs.jit.compiled import kernel
from dynenvs.memory.layout import open_state
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import fixed, prismatic, revolute
from dynenvs.simd.trigonometry import sine_cosine, sines_cosines

DT = 0.01


def equations(model: Model, q, v, wrenches, passes, scale=None):
    """(M^, bias) of fused passes, as full arrays."""
    w = Opened(model, q, v).world
    w.wrench[:] = wrenches
    if scale is not None:
        w.mass_scale[:] = scale
    M, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    passes(open_state(w, w), w.pose, w.body, w.S, w.v, DT, M, bias)
    return np.tril(M) + np.tril(M, -1).T, bias


def check(model: Model, rng: np.random.Generator, q, v, passes) -> None:
    wrenches = rng.normal(size=(len(model.body_names), 6))
    M, bias = equations(model, q, v, wrenches, passes)
    close(M, crba(model, q) + DT * np.diag(model.damping), 1e-13)
    close(bias, bias_force(model, q, v, wrenches=wrenches) + model.damping * v, 1e-12)


def test_fused_passes_are_rnea_and_crba(tree: Tree) -> None:
    """Any tree of any joints, with external wrenches."""
    q, v = tree.state()
    check(tree.model, tree.rng, q, v, motion_passes)


def planar_tree(seed: int) -> Model:
    """Turns about +-y in turned frames, slides in the plane, welded bodies, depth offsets."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(directions=2)
    names = ["world"]
    for i in range(int(rng.integers(2, 9))):
        angle = rng.uniform(-3, 3)
        c, s = np.cos(angle), np.sin(angle)
        place = {
            "position": rng.normal(size=3),
            "rotation": np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]),
        }
        slide = np.array([np.cos(angle), 0.0, np.sin(angle)])
        joint = [
            revolute(axis=(0.0, float(rng.choice([-1.0, 1.0])), 0.0), damping=0.1, **place),
            prismatic(axis=slide, armature=0.2, **place),
            fixed(**place),
        ][int(rng.integers(3)) if i else 0]
        spread = rng.normal(size=(3, 3))
        builder.body(
            f"b{i}",
            parent=str(rng.choice(names)),
            joint=joint,
            mass=float(rng.uniform(0.1, 2.0)),
            com=rng.normal(size=3),
            inertia=np.eye(3) + 0.02 * spread @ spread.T,
        )
        names.append(f"b{i}")
    return builder.build()


@pytest.mark.parametrize("seed", range(12))
def test_planar_passes_are_rnea_and_crba(seed: int) -> None:
    """Random planar trees: both fused passes agree with the textbook ones."""
    model = planar_tree(seed)
    assert model.header.planar
    rng = np.random.default_rng(100 + seed)
    q, v = rng.normal(size=model.nq), rng.normal(size=model.nv)
    check(model, rng, q, v, planar_passes)
    check(model, rng, q, v, motion_passes)


@pytest.mark.parametrize("robot", [planar_humanoid, planar_quadruped])
def test_walkers_are_planar(robot) -> None:
    """The walkers take the planar passes; scaled masses go through both alike."""
    model = robot.build()
    assert model.header.planar
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=model.nq), rng.normal(size=model.nv)
    scale = rng.uniform(0.5, 2.0, len(model.body_names))
    wrenches = rng.normal(size=(len(model.body_names), 6))
    for a, b in zip(
        equations(model, q, v, wrenches, planar_passes, scale),
        equations(model, q, v, wrenches, motion_passes, scale),
        strict=True,
    ):
        close(a, b, 1e-12)


@pytest.mark.parametrize("axis", [(0.0, 0.6, 0.8), (1.0, 0.0, 0.0)])
def test_an_axis_out_of_the_plane_is_not_planar(axis) -> None:
    """One such joint, and the model is spatial."""
    builder = ModelBuilder()
    builder.body("a", joint=revolute(axis=(0, 1, 0)), mass=1.0, inertia=(1, 1, 1))
    builder.body("b", parent="a", joint=revolute(axis=axis), mass=1.0, inertia=(1, 1, 1))
    assert not builder.build().header.planar


def test_sine_and_cosine() -> None:
    """Our own, against the C library: 3e-16 near zero and far away, NaN and infinity too."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-7, 7, 4000), rng.uniform(-1e4, 1e4, 1000), [0.0, -0.0]])
    x = np.concatenate([x, np.arange(-8, 9) * np.pi / 4, [1e9, -3e15]])
    ours = np.array([sine_cosine(float(a)) for a in x])
    assert np.abs(ours[:, 0] - np.sin(x)).max() < 3e-16
    assert np.abs(ours[:, 1] - np.cos(x)).max() < 3e-16
    assert np.isnan(sine_cosine(np.nan)).all()


def test_four_sines_and_cosines_are_those_of_each() -> None:
    """Bit for bit, in every quarter turn, with a rest that fills no register."""
    x = np.random.default_rng(1).uniform(-9, 9, 403)
    x = np.concatenate([x, np.arange(-8, 9) * np.pi / 4, [1e5, -0.0, 0.0, 1e-300]])
    four = kernel(lambda a, b, c, d: sines_cosines(a, b, c, d))
    for row in x.reshape(-1, 4):
        one_by_one = np.array([sine_cosine(float(a)) for a in row])
        assert np.array(four(*row)).tobytes() == one_by_one.T.tobytes()


def test_far_angles_are_turned_by_the_c_library() -> None:
    """One joint beyond the reach of our own reduction spoils no other's sine."""
    builder = ModelBuilder()
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b")):
        joint = revolute(axis=(0.0, 0.6, 0.8) if name == "b" else (0, 0, 1))
        builder.body(name, parent=parent, joint=joint, mass=1.0, inertia=(1, 1, 1))
    near = Opened(builder.build(), np.array([0.3, 0.0, -0.4]))
    far = Opened(builder.build(), np.array([0.3, 1e7 * 2 * np.pi, -0.4]))
    close(far.pose(3)[0], near.pose(3)[0], 1e-8)
