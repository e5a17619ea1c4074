"""Equality constraints of a compiled model: closed loops and coupled joints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.bodies import Bodies, unusual
from dynenvs.model.importing.compiled import (
    CONNECT,
    COUPLING,
    SITE,
    WELD,
    Source,
    disabled,
    is_loop,
    names,
    rotation,
)
from dynenvs.model.importing.losses import Losses


class _End(NamedTuple):
    """One of the two frames that a constraint holds together."""

    body: int
    position: Floats  # in the file's body frame [m], shape (3,)
    rotation: Floats  # shape (3, 3)


def add_loops(builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses) -> None:
    """Add constraints of type connect and weld, between bodies or sites, and joint."""
    m = source.m
    called = names(m, "equality", m.neq)
    # What is in force is added; everything else is named among the losses
    held = [e for e in range(m.neq) if is_loop(m, e)]
    for e in held:
        if int(m.eq_type[e]) == COUPLING:
            _couple(builder, m, called[e], bodies.joints, e)
        else:
            _close(builder, m, called[e], bodies, e)
    rest = [e for e in range(m.neq) if e not in held]
    idle = [e for e in rest if disabled(m, "equality") or not m.eq_active0[e]]
    lost = [called[e] for e in rest if e not in idle]
    losses.add("equality constraints of this kind", lost, "nothing holds there")
    off = [called[e] for e in idle]
    losses.add("inactive equality constraints", off, "they cannot be switched on")
    soft = unusual(m.eq_solref, m.eq_solimp)
    losses.add(
        "solref and solimp of equality constraints",
        [called[e] for e in held if soft[e]],
        "they hold exactly",
    )
    partly = [e for e in held if m.eq_type[e] == WELD and m.eq_data[e, 10] not in (0.0, 1.0)]
    losses.add("torquescale of welds", [called[e] for e in partly], "orientations hold exactly")


def _close(builder: ModelBuilder, mj_model: Any, name: str, bodies: Bodies, equality: int) -> None:
    """Hold two frames together; only their origins where orientations are free."""
    a, b = _ends(mj_model, equality)
    turned = int(mj_model.eq_type[equality]) == WELD and mj_model.eq_data[equality, 10] != 0.0
    builder.close(
        name,
        bodies.names[a.body],
        bodies.names[b.body],
        joint="fixed" if turned else "spherical",
        position_a=a.position - bodies.offsets[a.body],
        position_b=b.position - bodies.offsets[b.body],
        rotation_a=a.rotation,
        rotation_b=b.rotation,
    )


def _ends(mj_model: Any, equality: int) -> tuple[_End, _End]:
    """The frames that constraint `equality` holds together (mjModel.eq_data)."""
    a, b, data = (
        int(mj_model.eq_obj1id[equality]),
        int(mj_model.eq_obj2id[equality]),
        mj_model.eq_data[equality],
    )
    # Sites are frames already
    if int(mj_model.eq_objtype[equality]) == SITE:
        first, second = (
            _End(
                int(mj_model.site_bodyid[s]),
                np.array(mj_model.site_pos[s]),
                rotation(mj_model.site_quat[s]),
            )
            for s in (a, b)
        )
        return first, second
    # A connect has two points
    if int(mj_model.eq_type[equality]) == CONNECT:
        return _End(a, np.array(data[:3]), np.eye(3)), _End(b, np.array(data[3:6]), np.eye(3))
    # The anchor in B, then the same point and B's orientation in A
    turn = rotation(data[6:10])
    return _End(a, np.array(data[3:6]), turn), _End(b, np.array(data[:3]), np.eye(3))


def _couple(
    builder: ModelBuilder, mj_model: Any, name: str, joints: list[str], equality: int
) -> None:
    """Joint a's distance from its first position as a polynomial of that of joint b, or nothing."""
    a, b = ends = int(mj_model.eq_obj1id[equality]), int(mj_model.eq_obj2id[equality])
    data = mj_model.eq_data[equality]
    # The file's polynomial is about the first positions of both
    first = [float(mj_model.qpos0[mj_model.jnt_qposadr[j]]) for j in ends]
    if b < 0:
        builder.couple(name, joints[a], coefficients=[first[0] + float(data[0])])
        return
    from_here = Polynomial(data[:5])(Polynomial([-first[1], 1.0])).coef
    from_here[0] += first[0]
    coefficients = np.trim_zeros(from_here, "b").tolist() or [0.0]
    builder.couple(name, joints[a], joints[b], coefficients=coefficients)
