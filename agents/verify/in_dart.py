"""Scenes in DART: hard contact by a boxed LCP, as it comes, without putting bodies to sleep."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from dynenvs.agents.bench.peers import peer
from dynenvs.agents.verify.scene import Scene, Solid, State


class InDart:
    """A scene in DART; the floor is a large box."""

    def __init__(self, scene: Scene) -> None:
        self._dart = dart = peer("dartpy")
        self._world = world = dart.simulation.World()
        world.setGravity(list(scene.gravity))
        world.setTimeStep(scene.timestep)
        options = world.getDeactivationOptions()
        options.mEnabled = False
        world.setDeactivationOptions(options)
        world.setCollisionDetector(dart.simulation.CollisionDetectorType.DART)
        if scene.floor:
            floor = dart.dynamics.Skeleton("floor")
            _, body = floor.createWeldJointAndBodyNodePair()
            shape = dart.dynamics.BoxShape([20.0, 20.0, 2.0])
            self._touch(body, shape, (0.0, 0.0, -1.0), scene)
            world.addSkeleton(floor)
        self._bodies: list[Any] = []
        for i, solid in enumerate(scene.solids):
            self._bodies.append(self._add(i, solid, scene))
        for pin in scene.pins:
            a, b = self._bodies[pin.a], self._bodies[pin.b]
            place = a.getCOM() + np.array(a.getTransform().rotation()) @ np.array(pin.at_a)
            joint = dart.constraint.BallJointConstraint(a, b, place)
            world.getConstraintSolver().addConstraint(joint)

    def _add(self, i: int, solid: Solid, scene: Scene) -> Any:
        dart, hinge = self._dart, solid.hinge
        com = np.array(hinge.center if hinge else (0.0, 0.0, 0.0))
        if hinge and hinge.parent is not None:
            above = self._bodies[hinge.parent]
            skeleton = above.getSkeleton()
            joint, body = skeleton.createRevoluteJointAndBodyNodePair(above)
        else:
            skeleton = dart.dynamics.Skeleton(f"solid{i}")
            make = "createRevolute" if hinge else "createFree"
            joint, body = getattr(skeleton, f"{make}JointAndBodyNodePair")()
            self._world.addSkeleton(skeleton)
        body.setInertia(dart.dynamics.Inertia(solid.mass, com, np.diag(solid.inertia)))
        if hinge:
            joint.setAxis(list(hinge.axis))
            place = dart.math.Isometry3()
            place.set_translation(list(hinge.anchor))
            joint.setTransformFromParentBodyNode(place)
            joint.setPositions(np.array([hinge.angle]))
            joint.setVelocities(np.array([hinge.rate]))
        else:
            joint.setPositions(np.array([0.0, 0.0, 0.0, *solid.position]))
            joint.setVelocities(np.array([*solid.spin, *solid.velocity]))
        for offset in solid.offsets:
            center = np.add(com, offset)
            if solid.box:
                self._touch(body, dart.dynamics.BoxShape(2 * np.array(solid.box)), center, scene)
            elif solid.radius:
                self._touch(body, dart.dynamics.SphereShape(solid.radius), center, scene)
        return body

    @staticmethod
    def _touch(body: Any, shape: Any, place: Any, scene: Scene) -> None:
        node = body.createShapeNode(shape)
        node.createCollisionAspect()
        aspect = node.createDynamicsAspect()
        aspect.setFrictionCoeff(scene.friction)
        aspect.setRestitutionCoeff(sqrt(scene.restitution))  # it multiplies those of a pair
        node.setRelativeTranslation(list(place))

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps."""
        for _ in range(count):
            self._world.step()

    def read(self) -> State:
        """The state now."""
        return State(
            np.array([body.getCOM() for body in self._bodies]),
            np.array([np.array(body.getTransform().rotation()) for body in self._bodies]),
            np.array([body.getCOMLinearVelocity() for body in self._bodies]),
            np.array([body.getAngularVelocity() for body in self._bodies]),
        )
