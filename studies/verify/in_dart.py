"""Scenes in DART: hard contact by a boxed LCP, as it comes, without putting bodies to sleep."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from studies.bench.peers import MissingPeer, peer
from studies.verify.scene import NO_MOMENTS, Plane, Scene, Solid, State


class InDart:
    """A scene in DART; the floor is a large box."""

    def __init__(self, scene: Scene) -> None:
        self._dart = dart = peer("dartpy")
        if any(scene.belt):
            raise MissingPeer("it has no velocity of surfaces")
        if scene.torsional or scene.rolling:
            raise MissingPeer(NO_MOMENTS)
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
        for plane in scene.planes:
            self._wall(plane, scene)
        self._bodies: list[Any] = []
        for i, solid in enumerate(scene.solids):
            self._bodies.append(self._add(i, solid, scene))
        for pin in scene.pins:
            a, b = self._bodies[pin.a], self._bodies[pin.b]
            place = a.getCOM() + np.array(a.getTransform().rotation()) @ np.array(pin.at_a)
            joint = dart.constraint.BallJointConstraint(a, b, place)
            world.getConstraintSolver().addConstraint(joint)

    def _wall(self, plane: Plane, scene: Scene) -> None:
        """A large box behind the plane."""
        wall = self._dart.dynamics.Skeleton("wall")
        _, body = wall.createWeldJointAndBodyNodePair()
        normal = np.array(plane.normal)
        across = np.cross(np.eye(3)[np.abs(normal).argmin()], normal)
        across /= np.linalg.norm(across)
        frame = np.column_stack((across, np.cross(normal, across), normal))
        shape = self._dart.dynamics.BoxShape([20.0, 20.0, 2.0])
        node = self._touch(body, shape, np.array(plane.point) - normal, scene)
        node.setRelativeRotation(frame)
        self._world.addSkeleton(wall)

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
            turn = Rotation.from_quat(np.roll(solid.turned, -1))
            joint.setPositions(np.array([*turn.as_rotvec(), *solid.position]))
            joint.setVelocities(np.array([*turn.apply(solid.spin), *solid.velocity]))
        for offset in solid.offsets:
            center = np.add(com, offset)
            if solid.length or solid.wide:
                raise MissingPeer("its own collision detector knows no capsules and no cylinders")
            if solid.box:
                self._touch(body, dart.dynamics.BoxShape(2 * np.array(solid.box)), center, scene)
            elif solid.radius:
                self._touch(body, dart.dynamics.SphereShape(solid.radius), center, scene)
        return body

    @staticmethod
    def _touch(body: Any, shape: Any, place: Any, scene: Scene) -> Any:
        node = body.createShapeNode(shape)
        node.createCollisionAspect()
        aspect = node.createDynamicsAspect()
        aspect.setFrictionCoeff(scene.friction)
        aspect.setRestitutionCoeff(sqrt(scene.restitution))  # it multiplies those of a pair
        node.setRelativeTranslation(list(place))
        return node

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

    def troubles(self) -> int | None:
        """It keeps no count."""
        return None
