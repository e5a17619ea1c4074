"""What actuators and tendons pull: how their lengths change with the coordinates, at this pose.

The length l of an actuator or a tendon is a sum of coordinates, each with a gear, or the sum of
straight segments between points of bodies.  Its velocity is l' = g v, and a force f along it gives
the coordinates g^T f.  The gears g of coordinates are constants; of a segment from a to b with the
direction u they are J_b^T u - J_a^T u.  An actuator that pushes a point of a body by a wrench per
unit of its force has g = J^T wrench, and no length.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import Three, cross, dot, entries, plus, scaled
from dynenvs.memory.layout import Floats, WorldView


@inlined
def constant_pulls(w: WorldView, part: Any) -> float:
    """The gears of a part's coordinates into `w.pulls`; returns what they add to its length.

    part: SERVO or TENDON
    """
    length = 0.0
    for k in range(part.first, part.first + part.gears):
        gear = w.gears[k]
        w.pulls[k] = gear.gear
        if gear.q_at >= 0:
            length += gear.gear * w.q[gear.q_at]
    return length


@kernel
def path_pulls(w: WorldView, first: int, gears: int, segment: int, segments: int) -> float:
    """Add a path's gears at this pose to `w.pulls`; returns its length.  Needs poses and axes."""
    length = 0.0
    for s in range(segment, segment + segments):
        part = w.segments[s]
        a, b = point_of(w, part.body_a, part.place_a), point_of(w, part.body_b, part.place_b)
        # The direction of the segment; its two ends pull in opposite ways
        way = plus(b, -1.0, a)
        far = math.sqrt(dot(way, way))
        length += part.share * far
        if far > 0.0:
            along = scaled(part.share / far, way)
            _pull(w, first, gears, part.body_b, b, (0.0, 0.0, 0.0), along)
            _pull(w, first, gears, part.body_a, a, (0.0, 0.0, 0.0), scaled(-1.0, along))
    return length


@kernel
def push_pulls(w: WorldView, servo: Any) -> None:
    """Add the gears of an actuator that pushes a point of a body to `w.pulls`."""
    R = w.pose[servo.body].R
    force, moment = rotate(R, servo.push), rotate(R, servo.twist)
    place = point_of(w, servo.body, servo.place)
    _pull(w, servo.first, servo.gears, servo.body, place, moment, force)


@inlined
def point_of(w: WorldView, body: int, place: Floats) -> Three:
    """A point of a body in the world [m]."""
    return plus(rotate(w.pose[body].R, place), 1.0, entries(w.pose[body].p, 0))


@inlined
def _pull(
    w: WorldView, first: int, gears: int, body: int, place: Three, moment: Three, force: Three
) -> None:
    """Add J^T (moment; force) at a point of a body to the pulls of one actuator or tendon."""
    # Moment about the tree's origin: the axes are there, too
    arm = plus(place, -1.0, entries(w.pose[w.bodies[body].root].p, 0))
    moment = plus(moment, 1.0, cross(arm, force))
    j = w.bodies[body].last
    while j >= 0:
        x = w.S[j]
        for k in range(first, first + gears):
            if w.gears[k].dof == j:
                w.pulls[k] += dot(entries(x, 0), moment) + dot(entries(x, 3), force)
        j = w.dofs[j].parent


@inlined
def speed_of(w: WorldView, part: Any, v: Floats) -> float:
    """l' = g v of a SERVO or TENDON whose pulls are known."""
    speed = 0.0
    for k in range(part.first, part.first + part.gears):
        speed += w.pulls[k] * v[w.gears[k].dof]
    return speed


@inlined
def stiffen(w: WorldView, part: Any, weight: float, M: Floats) -> None:
    """Add g^T weight g to the lower triangle of M, once for each two coordinates."""
    # Each pair of coordinates once, into the lower triangle
    gears, pulls = w.gears, w.pulls
    for k in range(part.first, part.first + part.gears):
        for l in range(part.first, part.first + part.gears):
            if gears[k].dof >= gears[l].dof:
                M[gears[k].dof, gears[l].dof] += weight * pulls[k] * pulls[l]
