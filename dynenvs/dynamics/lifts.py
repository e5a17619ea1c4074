"""Bodies of whose weight something carries a share: counterweights, springs that balance an arm.

A share s of a body with mass m is a force -s m g at its centre of mass, whatever its pose.
"""

from __future__ import annotations

from dynenvs.dynamics.pulls import point_of
from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.triples import cross, dot, entries, plus, scaled
from dynenvs.memory.layout import Floats, WorldView


@kernel
def add_lifts(w: WorldView, bias: Floats) -> None:
    """bias += J^T (s m g) of every body that is lifted, shape (nv,).  Needs poses and axes."""
    g = entries(w.header[0].gravity, 0)
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if body.lift != 0.0:
            force = scaled(body.lift * body.mass * w.mass_scale[i], g)
            place = point_of(w, i, body.com)
            # J^T of the force, coordinate by coordinate on the way to the root
            moment = cross(plus(place, -1.0, entries(w.pose[body.root].p, 0)), force)
            j = body.last
            while j >= 0:
                x = w.S[j]
                bias[j] += dot(entries(x, 0), moment) + dot(entries(x, 3), force)
                j = w.dofs[j].parent


@kernel
def lift_energy(w: WorldView) -> float:
    """What of the bodies' potential energy is not theirs: sum of s m g.c [J].  Needs the poses."""
    g, energy = entries(w.header[0].gravity, 0), 0.0
    for i in range(1, w.header[0].nb):
        body = w.bodies[i]
        if body.lift != 0.0:
            scale = body.lift * body.mass * w.mass_scale[i]
            energy += scale * dot(g, point_of(w, i, body.com))
    return energy
