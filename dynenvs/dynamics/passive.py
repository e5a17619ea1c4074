"""Forces that nobody commands, beside dampers: springs of joints and tendons, carried weights."""

from __future__ import annotations

from dynenvs.dynamics.lifts import add_lifts, lift_energy
from dynenvs.dynamics.springs import add_springs, spring_energy
from dynenvs.dynamics.tendons import add_tendons, tendon_energy
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, WorldView


@inlined
def add_passive(w: WorldView, v: Floats, M: Floats, bias: Floats, dt: float) -> None:
    """Add them to the bias, and what of them is implicit in a step dt to M.

    Needs poses and axes.  v: velocities of the tendons' dampers, shape (nv,)
    """
    h = w.header[0]
    if h.sprung:
        add_springs(w, M, bias, dt)
    if h.nlifted > 0:
        add_lifts(w, bias)
    if h.ntendons > 0:
        add_tendons(w, v, M, bias, dt)


@inlined
def passive_energy(w: WorldView) -> float:
    """Their potential energy [J].  Needs poses and axes."""
    h, energy = w.header[0], 0.0
    if h.sprung:
        energy += spring_energy(w, w.q)
    if h.nlifted > 0:
        energy += lift_energy(w)
    if h.ntendons > 0:
        energy += tendon_energy(w)
    return energy
