"""Scenes in MuJoCo: elliptic friction cones, Newton's solver; soft, or as hard as it goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.bench.peers import MissingPeer, peer
from studies.verify.scene import Scene, Solid, State

SOFTER = 'impratio="10"'
HARDER = 'impratio="100" noslip_iterations="50" noslip_tolerance="1e-12"'


class InMujoco:
    """A scene in MuJoCo.  Its contacts are soft: they hold by penetrating and slip a little.

    Args:
        scene: what to simulate.
        hard: with what its documentation offers against that: stiff contacts (a time constant of
            five steps, an impedance near 1), friction a hundred times as stiff, and the solver
            against slip after the main one.
    """

    def __init__(self, scene: Scene, hard: bool = False) -> None:
        self._mujoco = peer("mujoco")
        if scene.restitution > 0.0:
            raise MissingPeer("it has no coefficient of restitution")
        belt = f'surfacevel="{_words(scene.belt)}"' if any(scene.belt) else ""
        ground = f'<geom type="plane" size="100 100 1" {belt}/>' if scene.floor else ""
        ground += "".join(
            f'<geom type="plane" size="100 100 1" pos="{_words(plane.point)}" '
            f'zaxis="{_words(plane.normal)}"/>'
            for plane in scene.planes
        )
        roots = [
            self._body(scene, i)
            for i, solid in enumerate(scene.solids)
            if not solid.hinge or solid.hinge.parent is None
        ]
        pins = "".join(
            f'<connect site1="pin{k}a" site2="pin{k}b"/>' for k in range(len(scene.pins))
        )
        # At two steps, the least that is allowed, sliding bodies hop
        stiff = f'solref="{5 * scene.timestep!r} 1" solimp="0.99 0.9999 0.0001"' if hard else ""
        condim, friction = 3, f"{scene.friction!r} 0.005 0.0001"
        if scene.torsional or scene.rolling:
            condim, friction = 6, f"{scene.friction!r} {scene.torsional!r} {scene.rolling!r}"
        text = (
            f'<mujoco><option timestep="{scene.timestep!r}" gravity="{_words(scene.gravity)}" '
            f'cone="elliptic" tolerance="1e-12" {HARDER if hard else SOFTER}/>'
            f'<default><geom condim="{condim}" friction="{friction}" {stiff}/>'
            "</default>"
            f"<worldbody>{ground}{''.join(roots)}</worldbody>"
            f"<equality>{pins}</equality></mujoco>"
        )
        self._model = self._mujoco.MjModel.from_xml_string(text)
        self._data = self._mujoco.MjData(self._model)
        self._ids = [self._model.body(f"solid{i}").id for i in range(len(scene.solids))]
        for i, solid in zip(self._ids, scene.solids, strict=True):
            joint = self._model.body_jntadr[i]
            q = self._data.qpos[self._model.jnt_qposadr[joint] :]
            v = self._data.qvel[self._model.jnt_dofadr[joint] :]
            if solid.hinge:
                q[0], v[0] = solid.hinge.angle, solid.hinge.rate
            else:
                q[:7], v[:6] = (*solid.position, *solid.turned), (*solid.velocity, *solid.spin)

    def _body(self, scene: Scene, i: int) -> str:
        solid = scene.solids[i]
        inner = "".join(
            self._body(scene, k)
            for k, other in enumerate(scene.solids)
            if other.hinge and other.hinge.parent == i
        )
        joint, place, com = "<freejoint/>", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if solid.hinge:
            joint = f'<joint type="hinge" axis="{_words(solid.hinge.axis)}"/>'
            place, com = solid.hinge.anchor, solid.hinge.center
        return (
            f'<body name="solid{i}" pos="{_words(place)}">{joint}'
            f'<inertial pos="{_words(com)}" mass="{solid.mass!r}" '
            f'diaginertia="{_words(solid.inertia)}"/>{_shapes(solid, com)}'
            f"{_sites(scene, i, com)}{inner}</body>"
        )

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""
        self._mujoco.mj_step(self._model, self._data, count)

    def read(self) -> State:
        """The state now."""
        model, data = self._model, self._data
        self._mujoco.mj_forward(model, data)
        twist = np.zeros((len(self._ids), 6))
        for row, i in zip(twist, self._ids, strict=True):
            kind = self._mujoco.mjtObj.mjOBJ_BODY  # at the centre of mass
            self._mujoco.mj_objectVelocity(model, data, kind, i, row, 0)
        R = data.xmat[self._ids].reshape(-1, 3, 3).copy()
        return State(data.xipos[self._ids].copy(), R, twist[:, 3:], twist[:, :3])

    def troubles(self) -> int | None:
        """It keeps no count."""
        return None


def _sites(scene: Scene, i: int, com: Any) -> str:
    """Where a solid is pinned; a `connect` of bodies would be closed where all angles are zero."""
    places = [(f"pin{k}a", pin.at_a) for k, pin in enumerate(scene.pins) if pin.a == i]
    places += [(f"pin{k}b", pin.at_b) for k, pin in enumerate(scene.pins) if pin.b == i]
    return "".join(f'<site name="{name}" pos="{_words(np.add(com, at))}"/>' for name, at in places)


def _shapes(solid: Solid, com: Any) -> str:
    """The geoms of a solid; its mass is told apart from them."""
    kind = ""
    if solid.box:
        kind = f'type="box" size="{_words(solid.box)}"'
    elif solid.wide:
        kind = f'type="cylinder" size="{_words((solid.radius, solid.wide))}"'
    elif solid.length:
        kind = f'type="capsule" size="{_words((solid.radius, solid.length))}"'
    elif solid.radius:
        kind = f'type="sphere" size="{solid.radius!r}"'
    places = [_words(np.add(com, offset)) for offset in solid.offsets if kind]
    return "".join(f'<geom {kind} pos="{place}" mass="0"/>' for place in places)


def _words(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))
