"""Actuators and tendons as the records that a step reads.

Where all forces of actuators follow from controls alone, no step needs to know of these: `World`
makes joint forces of them beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import ModelView, Records
from dynenvs.model.annotations import Actuator, Segment, Site, Tendon
from dynenvs.model.description import Description
from dynenvs.model.parts import WORLD, Body

Part = Actuator | Tendon


class Cords(NamedTuple):
    """What acts along lengths that depend on several coordinates, in the step's own order."""

    servos: tuple[Actuator, ...]  # all actuators if a step needs to know of them, else none
    tendons: tuple[Tendon, ...]
    sites: Mapping[str, Site]
    bodies: Mapping[str, Body]

    @property
    def parts(self) -> tuple[Part, ...]:
        """Servos, then tendons."""
        return *self.servos, *self.tendons

    def ends(self, part: Part) -> list[str]:
        """Bodies that it pulls or pushes at sites."""
        names = [name for segment in part.path for name in (segment.site_a, segment.site_b)]
        if isinstance(part, Actuator) and part.push is not None:
            names.append(part.push.site)
        return list(dict.fromkeys(self.sites[name].body for name in names))

    def way(self, body: str) -> list[str]:
        """Bodies from one to the root, itself first."""
        found = []
        while body != WORLD:
            found.append(body)
            body = self.bodies[body].parent
        return found

    def moved(self, part: Part) -> list[str]:
        """Bodies whose joints move with its ends."""
        return list(dict.fromkeys(body for end in self.ends(part) for body in self.way(end)))

    @property
    def pushed(self) -> set[str]:
        """Bodies at the root that something from outside pushes: a push, or a cord to elsewhere."""
        return {self.way(end)[-1] for part in self.parts for end in self.ends(part) if end != WORLD}


def cords_of(described: Description, bodies: Sequence[Body]) -> Cords:
    """Of a model's description; bodies: all of them, parents first."""
    actuators = described.actuators
    needed = any(one.follows or one.bends for one in actuators)
    sites = {site.name: site for site in described.sites}
    named = {body.name: body for body in bodies}
    return Cords(actuators if needed else (), described.tendons, sites, named)


def count_cords(header: Any, cords: Cords, velocities: Mapping[str, int]) -> None:
    """Numbers of servos, tendons, and of their gears and segments into a header.

    velocities: how many coordinates each body's joint has
    """
    header.nservos, header.ntendons = len(cords.servos), len(cords.tendons)
    header.nsegments = sum(len(part.path) for part in cords.parts)
    header.ngears = sum(
        sum(len(gear) for _, gear in part.gears)
        + sum(velocities[body] for body in cords.moved(part))
        for part in cords.parts
    )


def driven_bodies(cords: Cords) -> set[str]:
    """Bodies whose joints servos push by forces that follow the state."""
    # By their own names, or those of their bodies
    joints = {body.joint.name or name: name for name, body in cords.bodies.items()}
    found: set[str] = set()
    if any(servo.follows for servo in cords.servos):
        found |= {joints[name] for servo in cords.servos for name, _ in servo.gears}
    for servo in cords.servos:
        found |= set(cords.moved(servo)) if servo.follows else set()
    return found


def fill_cords(w: ModelView, cords: Cords, index: Mapping[str, int]) -> None:
    """SERVOs, TENDONs, their GEARs and SEGMENTs, in a model whose coordinates are filled in.

    index: number of each body
    """
    joints = {body.joint.name or name: index[name] for name, body in cords.bodies.items()}
    gear_at = segment_at = 0
    # Gears and segments of all parts stand one after the other
    for record, part in zip([*w.servos, *w.tendons], cords.parts, strict=True):
        record.first, record.segment = gear_at, segment_at
        gear_at = _fill_gears(w, part, cords, index, joints, gear_at)
        for segment in part.path:
            _fill_segment(w.segments[segment_at], segment, cords.sites, index)
            segment_at += 1
        record.gears, record.segments = gear_at - record.first, segment_at - record.segment
        driven = w.gears["dof"][record.first : gear_at].tolist()
        record.implicit = _on_one_way(w.dofs, sorted(driven))
    # The laws, as they were given
    for servo, actuator in zip(w.servos, cords.servos, strict=True):
        servo.gain[:], servo.bias[:] = actuator.gain, actuator.bias
        servo.control[:], servo.force[:] = actuator.control_range, actuator.force_range
        if actuator.push is not None:
            site = cords.sites[actuator.push.site]
            servo.body, servo.place[:] = index[site.body], site.position
            servo.push[:] = site.rotation @ np.array(actuator.push.force)
            servo.twist[:] = site.rotation @ np.array(actuator.push.moment)
    # A tendon has a spring and a damper
    for record, tendon in zip(w.tendons, cords.tendons, strict=True):
        record.stiffness, record.damping = tendon.stiffness, tendon.damping
        record.rest[:] = tendon.rest


def _fill_gears(
    w: ModelView,
    part: Part,
    cords: Cords,
    index: Mapping[str, int],
    joints: Mapping[str, int],
    at: int,
) -> int:
    """GEARs of an actuator or a tendon, from number `at` on; returns the number after the last."""
    for joint, values in part.gears:
        body = w.bodies[joints[joint]]
        for k, value in enumerate(values):
            w.gears[at].dof, w.gears[at].gear = body.v_at + k, value
            w.gears[at].q_at = body.q_at if len(values) == 1 else -1
            at += 1
    for name in cords.moved(part):  # whose gears are worked out in each step
        body = w.bodies[index[name]]
        for k in range(body.nv):
            w.gears[at].dof, w.gears[at].gear, w.gears[at].q_at = body.v_at + k, 0.0, -1
            at += 1
    return at


def _fill_segment(
    record: Any, segment: Segment, sites: Mapping[str, Site], index: Mapping[str, int]
) -> None:
    a, b = sites[segment.site_a], sites[segment.site_b]
    record.body_a, record.place_a[:] = index[a.body], a.position
    record.body_b, record.place_b[:] = index[b.body], b.position
    record.share = segment.share


def _on_one_way(dofs: Records, driven: list[int]) -> bool:
    """Whether all these coordinates, in order, are on the way from the last one to the root."""
    if not driven:
        return False
    # From the last coordinate up: a parent has a lower number
    way = {driven[-1]}
    while dofs[min(way)].parent >= 0:
        way.add(int(dofs[min(way)].parent))
    return way.issuperset(driven)
