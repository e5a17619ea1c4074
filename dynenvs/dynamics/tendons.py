"""Springs and dampers along tendons, implicit in a step as those of joints are.

A tendon of length l and velocity l' = g v (`pulls.py`) gives g^T (-K (l - r) - D l'), its rest r
being the length nearest to l at which its spring does not pull.  With the end of the step, as in
`springs.py`,

    M^ has g^T (dt D + dt^2 K) g besides,    and the bias g^T (K (l + dt l' - r) + D l').

Where its coordinates are not all on one way to the root M^ has no entries for them, and the force
is that of the beginning.
"""

from __future__ import annotations

from typing import Any

from dynenvs.dynamics.pulls import constant_pulls, path_pulls, speed_of, stiffen
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.memory.layout import Floats, WorldView


@inlined
def _length(w: WorldView, tendon: Any) -> float:
    """A tendon's length, and its pulls; needs poses and axes."""
    length = constant_pulls(w, tendon)
    if tendon.segments > 0:
        length += path_pulls(w, tendon.first, tendon.gears, tendon.segment, tendon.segments)
    return length


@inlined
def _stretched(tendon: Any, length: float) -> float:
    """By how much a tendon's spring is longer than where it does not pull, or shorter (below 0)."""
    return float(length - min(max(length, tendon.rest[0]), tendon.rest[1]))


@kernel
def add_tendons(w: WorldView, v: Floats, M: Floats, bias: Floats, dt: float) -> None:
    """bias += g^T (K (l - r) + D g v) and M += g^T (dt D + dt^2 K) g, shapes (nv,) and (nv, nv).

    Needs poses and axes.
    """
    for i in range(w.header[0].ntendons):
        # Force along the tendon, then by its gears
        tendon = w.tendons[i]
        long = _stretched(tendon, _length(w, tendon))
        force = tendon.stiffness * long + tendon.damping * speed_of(w, tendon, v)
        for k in range(tendon.first, tendon.first + tendon.gears):
            bias[w.gears[k].dof] += w.pulls[k] * force
        # For the rules that look at the spring again at the end of the step
        w.tautness[i] = tendon.stiffness if long != 0.0 and tendon.implicit else 0.0
        if tendon.implicit:
            stiffen(w, tendon, dt * tendon.damping + dt * dt * w.tautness[i], M)


@kernel
def add_tautness(w: WorldView, v: Floats, bias: Floats, dt: float) -> None:
    """bias += g^T K dt g v: what tendons' springs pull more after a time dt at velocities v.

    Comes after `add_tendons`.
    """
    for i in range(w.header[0].ntendons):
        tendon = w.tendons[i]
        force = w.tautness[i] * dt * speed_of(w, tendon, v)
        for k in range(tendon.first, tendon.first + tendon.gears):
            bias[w.gears[k].dof] += w.pulls[k] * force


@kernel
def add_drag(w: WorldView, v: Floats, bias: Floats, scale: float) -> None:
    """bias += scale g^T D g v of tendons whose damping M^ has.  Comes after `add_tendons`."""
    for i in range(w.header[0].ntendons):
        tendon = w.tendons[i]
        if tendon.implicit:
            force = scale * tendon.damping * speed_of(w, tendon, v)
            for k in range(tendon.first, tendon.first + tendon.gears):
                bias[w.gears[k].dof] += w.pulls[k] * force


@kernel
def tendon_energy(w: WorldView) -> float:
    """Energy of all tendons' springs [J].  Needs poses and axes."""
    energy = 0.0
    for i in range(w.header[0].ntendons):
        tendon = w.tendons[i]
        long = _stretched(tendon, _length(w, tendon))
        energy += 0.5 * tendon.stiffness * long * long
    return energy
