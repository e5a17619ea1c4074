"""Springs and limits of balls and of free joints: their law, in every algorithm and in a step."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from trees import close

import dynenvs
from dynenvs import ModelBuilder, ModelError, World, forward_dynamics, free, spherical
from dynenvs.dynamics.springs import stretch
from dynenvs.memory.layout import Floats, open_model
from dynenvs.model.model import Model
from dynenvs.reference.methods import METHODS

REST = (0.3, -0.2, 0.5)  # of a ball
INERTIA, STIFFNESS = 0.2, 5.0


def sprung() -> Model:
    """A ball on a ball on a free body, all of them on springs."""
    builder = ModelBuilder()
    at = (0.1, 0.2, 0.3, *REST)
    size = {"inertia": (0.02, 0.03, 0.04), "com": (0.1, 0.0, -0.1)}
    builder.body("base", joint=free("base", stiffness=7.0, reference=at), mass=2.0, **size)
    upper, lower = (
        spherical("upper", stiffness=3.0),
        spherical("lower", stiffness=2.0, reference=REST),
    )
    builder.body("arm", parent="base", joint=upper, mass=1.0, **size)
    builder.body("hand", parent="arm", joint=lower, mass=1.0, **size)
    return builder.build()


def state(model: Model, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    q, v = rng.normal(size=model.nq), rng.normal(size=model.nv)
    for body in model.bodies[1:]:
        part = q[body.q_at : body.q_at + body.nv + 1][-4:]
        part /= np.linalg.norm(part)
    return q, v


def top(**options: object) -> Model:
    """A body alone on a ball at its centre of mass."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    joint = spherical("ball", **options)
    return builder.body("top", joint=joint, mass=1.0, inertia=(INERTIA,) * 3).build()


def angle(q: Floats) -> float:
    return float(2.0 * np.arctan2(np.linalg.norm(q[1:4]), abs(q[0])))


def about(axis: Floats, turn: float) -> Floats:
    return np.array([math.cos(turn / 2), *(math.sin(turn / 2) * axis)])


def test_forces_are_the_gradient_of_the_energy() -> None:
    """Central differences of the potential energy along each velocity, gravity's part included."""
    model, e = sprung(), 1e-6
    for seed in range(5):
        q, _ = state(model, seed)
        rest = np.zeros(model.nv)
        long = np.array([stretch(open_model(model.packed), q, j) for j in range(model.nv)])
        pull = dynenvs.bias_force(model, q, rest) + model.stiffness * long
        for j in range(model.nv):
            ends = []
            for side in (-e, e):
                at = _moved(model, q, j, side)
                ends.append(dynenvs.totals(model, at).potential)
            assert (ends[1] - ends[0]) / (2 * e) == pytest.approx(pull[j], abs=1e-7)


def _moved(model: Model, q: Floats, j: int, by: float) -> Floats:
    """Q with its coordinate j of velocity moved on, in the body's frame."""
    body = model.bodies[model.dofs[j].body]
    k, at, out = j - int(body.v_at), int(body.q_at), q.copy()
    if body.nv == 6:
        if k < 3:
            out[at + k] += by
            return out
        k, at = k - 3, at + 3
    w, x, y, z = q[at : at + 4]
    c, s = math.cos(by / 2), math.sin(by / 2)
    a, b, d = s * np.eye(3)[k]
    out[at : at + 4] = (
        w * c - x * a - y * b - z * d,
        w * a + x * c + y * d - z * b,
        w * b - x * d + y * c + z * a,
        w * d + x * b - y * a + z * c,
    )
    return out


def test_every_method_of_forward_dynamics_knows_them() -> None:
    model = sprung()
    q, v = state(model, 7)
    tau = np.random.default_rng(8).normal(size=model.nv)
    expected = dynenvs.aba(model, q, v, tau)
    for method in METHODS:
        close(forward_dynamics(model, q, v, tau, method=method), expected, 1e-8)


def test_both_rules_converge_with_their_order() -> None:
    """About one axis a ball is a hinge: the closed form of a torsional oscillation."""
    time, swing = 1.0, 0.4
    rest = np.linalg.norm(REST)
    axis = np.array(REST) / rest
    exact = rest + swing * math.cos(math.sqrt(STIFFNESS / INERTIA) * time)
    model = top(stiffness=STIFFNESS, reference=REST)
    for integrator, ratio in (("euler", 2.0), ("midpoint", 4.0)):
        errors = []
        for steps in (400, 800):
            world = World(model, timestep=time / steps, integrator=integrator)
            world.reset(about(axis, rest + swing))
            world.step(steps=steps)
            errors.append(abs(angle(world.q) - exact))
        assert errors[0] / errors[1] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_stiff_springs_stay_stable(integrator: str) -> None:
    """A period of a thousandth of the step: it never turns further than it was let go."""
    world = World(top(stiffness=1e7), timestep=0.005, integrator=integrator)
    world.reset(about(np.array([0.6, 0.0, 0.8]), 0.3))
    for _ in range(200):
        world.step()
        assert angle(world.q) <= 0.3 * (1 + 1e-9)


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_ball_turns_no_further_than_its_limit(integrator: str) -> None:
    """And its stop pushes back along the axis of the turn, and only there."""
    builder = ModelBuilder()
    joint = spherical("ball", limits=(0.0, 0.5))
    builder.body("bob", joint=joint, mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.005))
    model, pushed = builder.build(), 0
    rng = np.random.default_rng(0)
    for _ in range(3):
        world = World(model, timestep=0.001, integrator=integrator)
        world.v[:] = 3.0 * rng.normal(size=3)
        for _ in range(300):
            world.step()
            assert angle(world.q) < 0.5 + 1e-6
            p = world.stop_impulses
            if p.any():
                pushed += 1
                axis = np.sign(world.q[0]) * world.q[1:4] / np.linalg.norm(world.q[1:4])
                assert p @ axis == pytest.approx(-np.linalg.norm(p), rel=1e-3)
                assert integrator == "midpoint" or angle(world.q) > 0.5 - 1e-6
    assert pushed > 100


@pytest.mark.parametrize("limit", [0.05, 0.1])
def test_narrow_limits_hold_a_slender_body_that_spins(limit: float) -> None:
    """In a step it turns about its long axis by more than the limit: its row, of one axis, let it
    go 0.16 and 0.11 rad too far.  Now steps are cut while they leave out more than 1e-3 rad."""
    builder = ModelBuilder()
    joint = spherical("ball", limits=(0.0, limit))
    builder.body("bob", joint=joint, mass=1.0, com=(0, 0, -0.15), inertia=(0.02, 0.02, 0.002))
    model, rng = builder.build(), np.random.default_rng(0)
    for _ in range(15):
        world = World(model, timestep=0.005)
        world.reset(model.neutral(), 8.0 * rng.normal(size=3))
        for _ in range(100):
            world.step(rng.normal(size=3))
            assert angle(world.q) < limit + 2e-3


def test_a_stop_holds_what_presses_on_it() -> None:
    """A constant torque beyond the limit: the stop gives its opposite, the body rests."""
    model = top(limits=(0.0, 0.7), damping=0.1)
    torque = np.array([0.3, -0.4, 1.2])
    world = World(model, timestep=0.005)
    world.step(torque, steps=2000)
    assert angle(world.q) == pytest.approx(0.7, abs=1e-9)
    close(world.stop_impulses / 0.005, -torque, 1e-6)
    assert np.abs(world.v).max() < 1e-9


def test_islands_and_one_problem_agree() -> None:
    """Two balls in one model (solved sparsely) as each alone (densely)."""
    spins = np.array([[3.0, -1.0, 0.5], [-0.5, 2.0, 4.0]])
    alone = []
    for spin in spins:
        world = World(top(limits=(0.0, 0.5)), timestep=0.002)
        world.v[:] = spin
        world.step(steps=300)
        alone.append(np.concatenate([world.q, world.v, world.stop_impulses]))
    builder = ModelBuilder(gravity=(0, 0, 0))
    for name in "ab":
        joint = spherical(name, limits=(0.0, 0.5))
        builder.body(name, joint=joint, mass=1.0, inertia=(INERTIA,) * 3)
    model = builder.build()
    world = World(model, timestep=0.002)
    world.v[:] = spins.ravel()
    world.step(steps=300)
    q, v, p = world.q.reshape(2, 4), world.v.reshape(2, 3), world.stop_impulses.reshape(2, 3)
    close(np.hstack([q, v, p]), np.array(alone), 1e-8)


def test_they_are_saved_and_read_back(tmp_path: Path) -> None:
    model = sprung()
    dynenvs.save(model, tmp_path / "balls.json")
    again = dynenvs.load(tmp_path / "balls.json")
    assert np.array_equal(again.packed, model.packed)


def test_what_cannot_be_is_refused() -> None:
    for joint, message in (
        (spherical(limits=(-1.0, 1.0)), "limits of a ball are 0.0 and"),
        (spherical(limits=(0.0, 4.0)), "less than pi"),
        (free(limits=(0.0, 1.0)), "a free joint has no limits"),
        (spherical(stiffness=1.0, reference=(1.0, 2.0)), "reference must be 0.0 or 3 numbers"),
        (spherical(stiffness=1.0, reference=1.0), "reference must be 0.0 or 3 numbers"),
        (free(stiffness=1.0, reference=(math.nan,) * 6), "reference must be finite"),
        (dynenvs.fixed(stiffness=1.0), "a fixed joint has no stiffness"),
    ):
        with pytest.raises(ModelError, match=message):
            ModelBuilder().body("part", joint=joint, mass=1.0)


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body pos="0 0 1" euler="0.3 0.2 0.1"><joint name="base" type="free" stiffness="7"/>
<geom type="capsule" fromto="0 0 0 0.05 0 -.3" size=".02"/>
<body pos="0 0 -.3"><joint name="ball" type="ball" stiffness="3" damping="0.1" pos="0 0.01 0"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/>
<body pos="0 0 -.3"><joint name="tip" type="ball" range="0 0.5" limited="true"/>
<geom type="capsule" fromto="0 0 0 0 0.01 -.3" size=".02"/></body></body></body>
</worldbody></mujoco>"""


@pytest.mark.filterwarnings("error::dynenvs.model.importing.NotCarriedOver")
def test_passive_forces_are_mujocos() -> None:
    """M a + h of a body that no motor drives, over random states; and the limit is carried over."""
    mujoco = pytest.importorskip("mujoco")
    theirs = mujoco.MjModel.from_xml_string(MJCF)
    data, ours = mujoco.MjData(theirs), dynenvs.load(MJCF)
    for seed in range(50):
        q, v = state(ours, seed)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(theirs, data)
        passive = dynenvs.crba(ours, q) @ dynenvs.aba(ours, q, v, np.zeros(ours.nv))
        passive += dynenvs.bias_force(ours, q, v)
        assert np.abs(passive - data.qfrc_passive).max() < 1e-10
    assert ours.joints["tip"].limits == (0.0, 0.5)
