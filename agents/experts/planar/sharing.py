"""How standing feet share what the ground is to give."""

from __future__ import annotations

from collections.abc import Sequence

from dynenvs.agents.experts.planar.records import Leg, Load, Sharing
from dynenvs.jit.compiled import inlined

SOFT = 0.02  # how far the load may be from where it is needed, where that is not to be had [m]
MOST = 2.0  # weights, that the ground is asked for at most


@inlined
def level_force(g: Sharing, inertia: float, load: Load, legs: Sequence[Leg]) -> None:
    """Forces whose moment holds the trunk level, too: the least ones, weighed by the shares.

    A W A^T y = F and f = W A^T y, where A adds up forces and their moments about the root.  Where
    feet stand on one side only the moment is left aside, by as much as SOFT says; then they carry
    less, too.  inertia: against the trunk's pitch [kg m^2].
    """
    xx = xm = zm = mm = 0.0
    for leg in range(g.legs):
        one = legs[leg]
        if one.stands:
            dx, dz = one.place[0], one.place[1]
            xx += one.share
            xm += one.share * dz
            zm -= one.share * dx
            mm += one.share * (dz * dz + dx * dx)
    mm += SOFT * SOFT * xx
    x, moment = load.force[0], load.force[2]
    z = min(max(load.force[1], 0.0), MOST * g.weight)
    turn = 0.0
    if xx > 0.0:
        turn = (moment - (xm * x + zm * z) / xx) / (mm - (xm * xm + zm * zm) / xx)
        x, z = (x - xm * turn) / xx, (z - zm * turn) / xx
    given = 0.0
    for leg in range(g.legs):
        one = legs[leg]
        one.force[0] = one.force[1] = 0.0
        if one.stands:
            one.force[0] = one.share * (x + one.place[1] * turn)
            one.force[1] = max(one.share * (z - one.place[0] * turn), 0.0)
            given += one.force[1]
    whole = min(max(load.force[1], 0.0), MOST * g.weight)
    if given > 0.0:
        whole = _spare_turn(g, inertia, load, legs, given, whole)
    for leg in range(g.legs):
        one = legs[leg]
        if given > 0.0:
            one.force[1] *= whole / given
        most = g.friction * one.force[1]
        one.force[0] = min(max(one.force[0], -most), most)


@inlined
def _spare_turn(
    g: Sharing, inertia: float, load: Load, legs: Sequence[Leg], given: float, whole: float
) -> float:
    """The load that feet are to carry, less of it where it would turn the trunk.

    The least error of the accelerations upward and, at the distance `g.turned`, of the pitch.
    """
    lever = along = 0.0
    for leg in range(g.legs):
        one = legs[leg]
        lever += one.place[0] * one.force[1] / given
        along += one.place[1] * one.force[0]
    rest = load.force[2] - along + lever * whole  # of the moment, that they leave
    up, turn = g.weight / g.gravity, inertia / g.turned
    change = -rest * lever * up * up / (turn * turn + lever * lever * up * up)
    return min(max(whole + change, 0.0), MOST * g.weight)


@inlined
def share_force(g: Sharing, load: Load, legs: Sequence[Leg]) -> None:
    """A force for each standing foot, in proportion to its share and within its friction cone."""
    whole = min(max(load.force[1], 0.0), MOST * g.weight)
    x, z = load.force[0], whole
    for leg in range(g.legs):
        one = legs[leg]
        one.force[0] = one.force[1] = 0.0
        if one.stands and load.carried > 0.0:
            part = one.share / load.carried
            one.force[0], one.force[1] = part * x, part * z
            most = g.friction * one.force[1]
            one.force[0] = min(max(one.force[0], -most), most)
