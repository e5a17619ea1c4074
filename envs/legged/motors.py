"""Motors of a robot whose file has none, or none with a limit by which actions could be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dynenvs.envs.legged.anatomy import weight_of
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import WORLD, Body, Joint

LEVER = 0.5  # of the longest limb, at which a motor without a limit holds the whole robot
HINGES = ("revolute", "prismatic")


def with_motors(model: Model) -> tuple[Model, list[str]]:
    """The robot with a motor at each hinge and slide if it has none, each with a limit.

    A motor that has no limit gets the robot's weight, at a hinge at half of the length of its
    longest limb.

    Returns:
        The same model if nothing is missing, else another one; the bodies whose motors got a limit.
    """
    bodies = model.description.bodies
    moving = [body for body in bodies if body.joint.type in HINGES]
    bare = not any(body.joint.actuated for body in moving)
    wanted = {
        body.name
        for body in moving
        if (body.joint.actuated or bare) and not (body.joint.actuated and _is_limited(body))
    }
    if not wanted:
        return model, []
    limits = _limits(model)
    changed = tuple(
        replace(body, joint=_driven(body, limits)) if body.name in wanted else body
        for body in bodies
    )
    told = [body.name for body in moving if body.name in wanted and not _is_limited(body)]
    return ModelBuilder.of(replace(model.description, bodies=changed)).build(), told


def _is_limited(body: Body) -> bool:
    return math.isfinite(body.joint.effort)


def _driven(body: Body, limits: dict[str, float]) -> Joint:
    """The joint with a motor, which keeps its limit if it has one."""
    effort = body.joint.effort if _is_limited(body) else limits[body.joint.type]
    return replace(body.joint, actuated=True, effort=effort)


def _limits(model: Model) -> dict[str, float]:
    """Of motors at hinges [N m] and slides [N]."""
    weight = weight_of(model)
    return {"revolute": weight * LEVER * _longest(model), "prismatic": weight}


def _longest(model: Model) -> float:
    """Length of the longest chain of bodies behind the base [m], up to its last joint."""
    far: dict[str, float] = {WORLD: 0.0}
    for body in model.description.bodies:
        step = 0.0 if body.parent == WORLD else float(np.linalg.norm(body.joint.position))
        far[body.name] = far[body.parent] + step
    return max(far.values())
