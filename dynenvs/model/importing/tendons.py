"""Tendons of a compiled model: sums of joint coordinates, and straight paths between sites."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynenvs.model.annotations import Segment
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.bodies import Bodies
from dynenvs.model.importing.compiled import Source, any_of, disabled, names
from dynenvs.model.importing.losses import Losses

WRAP_JOINT, WRAP_PULLEY, WRAP_SITE = 1, 2, 3  # as in mjtWrap


def joint_sum(mj_model: Any, tendon: int) -> dict[int, float]:
    """Of a fixed tendon, by joint, what its coordinate counts; empty of a spatial one."""
    out: dict[int, float] = {}
    for w in _parts(mj_model, tendon):
        if int(mj_model.wrap_type[w]) == WRAP_JOINT:
            j = int(mj_model.wrap_objid[w])
            out[j] = out.get(j, 0.0) + float(mj_model.wrap_prm[w])
    return out


def joint_limits(mj_model: Any) -> dict[int, tuple[float, float]]:
    """Of joints that are all of a tendon's length, where its limits stop them."""
    found: dict[int, tuple[float, float]] = {}
    for t in (
        np.flatnonzero(mj_model.tendon_limited).tolist() if not disabled(mj_model, "limit") else ()
    ):
        parts = joint_sum(mj_model, t)
        if not _is_one_joint(parts):
            continue
        ((j, share),) = parts.items()
        low, high = sorted(float(end) / share for end in mj_model.tendon_range[t])
        before = found.get(j, (-np.inf, np.inf))
        found[j] = max(low, before[0]), min(high, before[1])
    return found


def _is_one_joint(parts: dict[int, float]) -> bool:
    return len(parts) == 1 and 0.0 not in parts.values()


def straight_path(mj_model: Any, tendon: int, sites: list[str]) -> list[Segment]:
    """Of a spatial tendon from site to site, its segments; empty of any other.

    sites: their names
    """
    found: list[Segment] = []
    share, before = 1.0, -1
    for w in _parts(mj_model, tendon):
        kind = int(mj_model.wrap_type[w])
        if kind == WRAP_PULLEY:
            share, before = 1.0 / float(mj_model.wrap_prm[w]), -1
        elif kind == WRAP_SITE:
            s = int(mj_model.wrap_objid[w])
            if before >= 0:
                found.append(Segment(sites[before], sites[s], share))
            before = s
        else:
            return []
    return found


def _parts(mj_model: Any, tendon: int) -> range:
    """Numbers of what a tendon is made of."""
    first = int(mj_model.tendon_adr[tendon])
    return range(first, first + int(mj_model.tendon_num[tendon]))


def add_tendons(builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses) -> None:
    """Add the springs and dampers of tendons; those that only measure change nothing."""
    m = source.m
    called, sites = names(m, "tendon", m.ntendon), names(m, "site", m.nsite)
    stiffness = np.zeros(m.ntendon) if disabled(m, "spring") else np.array(m.tendon_stiffness)
    damping = np.zeros(m.ntendon) if disabled(m, "damper") else np.array(m.tendon_damping)
    lost = []
    for t in np.flatnonzero((stiffness != 0.0) | (damping != 0.0)).tolist():
        gears, path = joint_sum(m, t), straight_path(m, t, sites)
        if not gears and not path:
            lost.append(called[t])
            continue
        low, high = m.tendon_lengthspring[t].tolist()
        builder.tendon(
            called[t],
            {bodies.joints[j]: gear for j, gear in gears.items()},
            path=path,
            stiffness=float(stiffness[t]),
            damping=float(damping[t]),
            rest=(low, high),
        )
    losses.add("springs and dampers of tendons that bend around geoms", lost, "nothing pulls there")
    _note_losses(m, called, losses)


def _note_losses(mj_model: Any, called: list[str], losses: Losses) -> None:
    alone = [_is_one_joint(joint_sum(mj_model, t)) for t in range(mj_model.ntendon)]
    limited = (np.asarray(mj_model.tendon_limited) != 0) & ~np.array(alone, dtype=bool)
    for what, flags, change in (
        ("limits of tendons", limited & (not disabled(mj_model, "limit")), "nothing ends there"),
        (
            "frictionloss of tendons",
            (mj_model.tendon_frictionloss != 0) & (not disabled(mj_model, "frictionloss")),
            "they run without dry friction",
        ),
        ("armature of tendons", mj_model.tendon_armature != 0, "their rotors have no inertia"),
        (
            "nonlinear stiffness of tendons",
            any_of(mj_model.tendon_stiffnesspoly),
            "the linear part acts",
        ),
        (
            "nonlinear damping of tendons",
            any_of(mj_model.tendon_dampingpoly),
            "the linear part acts",
        ),
        ("yielding springs of tendons", mj_model.tendon_springyield != 0, "they do not yield"),
    ):
        losses.add(what, [called[t] for t in np.flatnonzero(flags)], change)
