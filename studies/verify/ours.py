"""Scenes in dynenvs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.dynamics.jacobians import frames
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import free, revolute
from dynenvs.simulation.world import World
from studies.verify.scene import Scene, Solid, State


class Ours:
    """A scene in a `World`.

    Args:
        scene: what to simulate.
        options: of the `ModelBuilder`.
    """

    def __init__(self, scene: Scene, **options: Any) -> None:
        builder = ModelBuilder(gravity=scene.gravity, **options)
        if scene.floor:
            belt = scene.belt if any(scene.belt) else None
            builder.half_space("floor", surface_velocity=belt, **_frictions(scene))
        for k, plane in enumerate(scene.planes):
            builder.half_space(
                f"plane{k}", position=plane.point, normal=plane.normal, **_frictions(scene)
            )
        self._names = [f"solid{i}" for i in range(len(scene.solids))]
        for name, solid in zip(self._names, scene.solids, strict=True):
            self._add(builder, name, solid, scene)
        centers = [
            np.array(solid.hinge.center if solid.hinge else (0.0, 0.0, 0.0))
            for solid in scene.solids
        ]
        for k, pin in enumerate(scene.pins):
            builder.close(
                f"pin{k}",
                self._names[pin.a],
                self._names[pin.b],
                position_a=centers[pin.a] + pin.at_a,
                position_b=centers[pin.b] + pin.at_b,
            )
        self.world = World(builder.build(), timestep=scene.timestep)
        self._ids = [self.world.model.body_id(name) for name in self._names]
        self._centers = centers
        for i, solid in zip(self._ids, scene.solids, strict=True):
            body = self.world.model.bodies[i]
            q, v = self.world.q[body.q_at :], self.world.v[body.v_at :]
            if solid.hinge:
                q[0], v[0] = solid.hinge.angle, solid.hinge.rate
            else:
                q[:7], v[:6] = (*solid.position, *solid.turned), (*solid.velocity, *solid.spin)

    def _add(self, builder: ModelBuilder, name: str, solid: Solid, scene: Scene) -> None:
        hinge = solid.hinge
        com = (0.0, 0.0, 0.0)
        joint, parent = free(), "world"
        if hinge:
            com = hinge.center
            joint = revolute(axis=hinge.axis, position=hinge.anchor)
            parent = "world" if hinge.parent is None else self._names[hinge.parent]
        builder.body(name, parent=parent, joint=joint, mass=solid.mass, com=com,
                     inertia=solid.inertia)  # fmt: skip
        for k, offset in enumerate(solid.offsets):
            skin = f"{name}_skin{k}"
            options = {"restitution": scene.restitution, **_frictions(scene)}
            place = np.add(com, offset)
            if solid.box:
                builder.box(skin, name, half_size=solid.box, position=place, **options)
            elif solid.wide and solid.radius:
                builder.cylinder(skin, name, radius=solid.radius, half_length=solid.wide,
                                 position=place, **options)  # fmt: skip
            elif solid.length and solid.radius:
                ends = [np.add(place, (0.0, 0.0, z)) for z in (-solid.length, solid.length)]
                builder.capsule(
                    skin, name, start=ends[0], end=ends[1], radius=solid.radius, **options
                )
            elif solid.radius:
                builder.sphere(skin, name, radius=solid.radius, position=place, **options)

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""
        self.world.step(steps=count)

    def read(self) -> State:
        """The state now."""
        found = frames(self.world.model, self.world.q, self.world.v)
        R, spin = found.rotations[self._ids], found.angular[self._ids]
        arms = np.einsum("nij,nj->ni", R, np.array(self._centers))
        return State(
            found.positions[self._ids] + arms,
            R,
            found.linear[self._ids] + np.cross(spin, arms),
            spin,
        )

    def troubles(self) -> int | None:
        """Solves above the certificate's 1e-9, and steps that were halved."""
        return self.world.diagnostics.degraded + self.world.diagnostics.failed


def _frictions(scene: Scene) -> dict[str, Any]:
    """Coefficients of every geom."""
    return {
        "friction": scene.friction,
        "torsional_friction": scene.torsional,
        "rolling_friction": scene.rolling,
    }
