"""Contact-free motion against MuJoCo, an independent code with the same semi-implicit Euler.

Both integrate v+ = v + dt (M + dt D)^-1 (tau - h - D v), q+ = q (+) dt v+, so single steps agree
to roundoff (MuJoCo diagonalises inertias: 1e-10 and not better is asked for).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from trees import Array, Link, close, random_inertia, random_q

from dynenvs.dynamics.crba import crba
from dynenvs.dynamics.rnea import bias_force
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import Joint
from dynenvs.simulation.world import World

mujoco: Any = pytest.importorskip("mujoco")

THEIR_JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball", "free": "free"}


class Twin(NamedTuple):
    """One mechanism in both codes."""

    ours: Model
    theirs: Any

    def data(self, q: Array, v: Array) -> Any:
        """MuJoCo's data at a state, forward quantities computed."""
        data = mujoco.MjData(self.theirs)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(self.theirs, data)
        return data


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def _xml(links: list[Link], parent: str) -> str:
    text = ""
    for link in links:
        if link.parent != parent:
            continue
        x, y, z, w = Rotation.from_matrix(link.rotation).as_quat()
        I = link.inertia
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        joint = ""
        if link.kind != "fixed":
            axis = f'axis="{_numbers(link.axis)}"' if link.kind in ("revolute", "prismatic") else ""
            joint = (
                f'<joint type="{THEIR_JOINTS[link.kind]}" {axis} damping="{link.damping!r}" '
                f'armature="{link.armature!r}"/>'
            )
        text += (
            f'<body name="{link.name}" pos="{_numbers(link.position)}" '
            f'quat="{_numbers([w, x, y, z])}">{joint}'
            f'<inertial pos="{_numbers(link.com)}" mass="{link.mass!r}" '
            f'fullinertia="{_numbers(full)}"/>{_xml(links, link.name)}</body>'
        )
    return text


def make_twin(links: list[Link], timestep: float) -> Twin:
    """The links in both codes; `links` must be in depth-first order, as MuJoCo numbers them."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    for link in links:
        joint = Joint(
            link.kind,
            axis=link.axis,
            position=link.position,
            rotation=link.rotation,
            armature=link.armature,
            damping=link.damping,
        )
        builder.body(
            link.name,
            parent=link.parent,
            joint=joint,
            mass=link.mass,
            com=link.com,
            inertia=link.inertia,
        )
    xml = (
        f'<mujoco><compiler angle="radian" balanceinertia="false" boundmass="0"/>'
        f'<option timestep="{timestep!r}" gravity="0 0 -9.81" integrator="Euler"/>'
        f"<worldbody>{_xml(links, 'world')}</worldbody></mujoco>"
    )
    return Twin(builder.build(), mujoco.MjModel.from_xml_string(xml))


def _link(rng: np.random.Generator, name: str, parent: str, kind: str, **changes: Any) -> Link:
    axis = rng.normal(size=3)
    mass = float(rng.uniform(0.5, 2.0))
    root = kind == "free"  # MuJoCo's free joints are at the top and in world axes
    link = Link(
        name=name,
        parent=parent,
        kind=kind,
        axis=axis / np.linalg.norm(axis),
        position=np.zeros(3) if root else rng.normal(size=3) * 0.5,
        rotation=np.eye(3) if root else Rotation.random(random_state=rng).as_matrix(),
        dh={},
        mass=mass,
        com=rng.normal(size=3) * 0.2,
        inertia=random_inertia(rng, mass),
        armature=0.0,
        damping=0.0,
    )
    return link._replace(**changes)


def double_pendulum() -> list[Link]:
    """Two rods of 1 m in the x-z plane."""
    rng = np.random.default_rng(0)
    rod: dict[str, Any] = {
        "axis": np.array([0.0, 1.0, 0.0]),
        "rotation": np.eye(3),
        "com": np.array([0.0, 0.0, -0.5]),
        "inertia": np.diag([1 / 12, 1 / 12, 1e-3]),
        "mass": 1.0,
    }
    return [
        _link(rng, "upper", "world", "revolute", position=np.zeros(3), **rod),
        _link(rng, "lower", "upper", "revolute", position=np.array([0.0, 0.0, -1.0]), **rod),
    ]


def branching(seed: int, **changes: Any) -> list[Link]:
    """A floating base with branches of every joint, and a second, pinned tree."""
    rng = np.random.default_rng(seed)
    plan = [
        ("base", "world", "free"),
        ("arm", "base", "revolute"),
        ("hand", "arm", "spherical"),
        ("tool", "hand", "fixed"),
        ("rail", "base", "prismatic"),
        ("wheel", "rail", "revolute"),
        ("post", "world", "spherical"),
        ("swing", "post", "revolute"),
    ]
    links = [_link(rng, *row) for row in plan]
    return [link._replace(**changes) if link.kind != "fixed" else link for link in links]


MECHANISMS = {
    "double pendulum": double_pendulum(),
    **{f"branching {seed}": branching(seed) for seed in range(8)},
    "damped": branching(8, damping=0.3),
    "with rotors": branching(9, armature=0.1, damping=0.2),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mass_matrix_and_bias_agree(name: str) -> None:
    """M and qfrc_bias (Coriolis, centrifugal and gravity) at random states."""
    twin = make_twin(MECHANISMS[name], 1e-3)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = random_q(twin.ours, rng), rng.normal(size=twin.ours.nv)
        data = twin.data(q, v)
        M = np.zeros((twin.ours.nv, twin.ours.nv))
        mujoco.mj_fullM(twin.theirs, data, M)
        close(crba(twin.ours, q), M)
        close(bias_force(twin.ours, q, v), data.qfrc_bias)


@pytest.mark.parametrize("name", MECHANISMS)
def test_trajectories_agree_step_by_step(name: str) -> None:
    """200 steps under constant forces from the same state: same scheme, so same states at 1e-9."""
    dt = 1e-3
    twin = make_twin(MECHANISMS[name], dt)
    rng = np.random.default_rng(2)
    q, v = random_q(twin.ours, rng), rng.normal(size=twin.ours.nv)
    tau = rng.normal(size=twin.ours.nv)
    data = twin.data(q, v)
    data.qfrc_applied[:] = tau
    world = World(twin.ours, timestep=dt)
    world.reset(q, v)
    actuated = tau[twin.ours.actuated]
    free = np.setdiff1d(np.arange(twin.ours.nv), twin.ours.actuated)
    data.qfrc_applied[free] = 0.0  # free joints are not actuated here
    for i in range(200):
        mujoco.mj_step(twin.theirs, data)
        world.step(actuated)
        close(world.v, data.qvel, 1e-10 if i == 0 else 1e-9)
        close(world.q, data.qpos, 1e-10 if i == 0 else 1e-9)
