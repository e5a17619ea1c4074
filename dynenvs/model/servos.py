"""Actuators as the records that a step reads, of models in which some of them follow the state.

Where all forces follow from controls alone, no step needs to know of actuators: `World` makes joint
forces of them beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynenvs.memory.layout import ModelView, Records
from dynenvs.model.annotations import Actuator


def count_servos(actuators: Sequence[Actuator]) -> tuple[int, int]:
    """Actuators and their gears, of a model in which a force follows the state; else zeros."""
    if not any(any(actuator.gain[1:] + actuator.bias[1:]) for actuator in actuators):
        return 0, 0
    return len(actuators), sum(len(gear) for one in actuators for _, gear in one.gears)


def fill_servos(w: ModelView, actuators: Sequence[Actuator], bodies: Mapping[str, int]) -> None:
    """SERVO of every actuator, and its GEARs, in a packed model whose coordinates are filled in.

    Args:
        w: the packed model.
        actuators: of the model, in order.
        bodies: the body of each joint.
    """
    if not w.header[0].nservos:
        return
    servos, gears, places, dofs = w.servos, w.gears, w.bodies, w.dofs
    at = 0
    for servo, actuator in zip(servos, actuators, strict=True):
        servo.gain[:], servo.bias[:] = actuator.gain, actuator.bias
        servo.control[:], servo.force[:] = actuator.control_range, actuator.force_range
        servo.first = at
        for joint, values in actuator.gears:
            body = places[bodies[joint]]
            for k, value in enumerate(values):
                gears[at].dof, gears[at].gear = body.v_at + k, value
                gears[at].q_at = body.q_at if len(values) == 1 else -1
                at += 1
        servo.gears = at - servo.first
        servo.implicit = _on_one_way(dofs, sorted(gears["dof"][servo.first : at].tolist()))


def _on_one_way(dofs: Records, driven: list[int]) -> bool:
    """Whether all these coordinates, in order, are on the way from the last one to the root."""
    way = {driven[-1]}
    while dofs[min(way)].parent >= 0:
        way.add(int(dofs[min(way)].parent))
    return way.issuperset(driven)
