"""A robot of a file in both simulators: what it lacks is added alike; steps take turns."""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.importing.compiled import Source, names, parsed
from dynenvs.model.importing.load import model_of
from dynenvs.model.importing.losses import Losses
from dynenvs.simulation.world import SimulationError, World
from studies.bench.peers import peer

# Of this thread alone, where it is fine enough: others may have the core in between
CLOCK = time.perf_counter if os.name == "nt" else time.thread_time
HELD = 10  # steps with the same controls; as many in a turn, but 1 of slow robots
KP, KV = 40.0, 1.0  # of servos that a file lacks [N m/rad], [N m s/rad]
AROUND = 0.2  # of their pose, random targets of these servos [rad]
HULLS = ("MESH",)  # what touches as a hull here
COUNTERS = "solves", "degraded", "failed", "overflow"
MEANS = "their_contacts", "contacts", "near"  # of what is listed at the end of a turn


class Limits(NamedTuple):
    """How long a robot is raced.

    steps: under the keyframe's controls, and as many under random ones
    seconds: that both simulators together may take for one robot, half for each kind of controls;
        what is left of the steps then is left out [s]
    patience: after which it is given up, loading and compiling included [s]
    """

    steps: int = 800
    seconds: float = 20.0
    patience: float = 300.0


@dataclass
class Phase:
    """Steps under one kind of controls: mean times of a step [s], means of what was counted."""

    steps: int = 0
    theirs: float = 0.0
    ours: float = 0.0
    contacts: float = 0.0  # after a turn, in dynenvs
    their_contacts: float = 0.0
    near: float = 0.0  # pairs of solids that are near
    counts: Counter[str] = field(default_factory=Counter)  # of COUNTERS; "their resets"
    stages: Counter[str] = field(default_factory=Counter)  # how often each has answered


@dataclass
class Raced:
    """A robot that both simulators have stepped."""

    nv: int
    has: list[str]  # what of a file is known to cost most
    kept: Phase
    random: Phase

    @property
    def theirs(self) -> float:
        """Mean time of `mj_step` [s], both kinds of controls weighing the same."""
        return 0.5 * (self.kept.theirs + self.random.theirs)

    @property
    def ours(self) -> float:
        """Mean time of a step of `World` [s]."""
        return 0.5 * (self.kept.ours + self.random.ours)

    @property
    def times(self) -> float:
        """How many times as long a step takes here."""
        return self.ours / self.theirs


def race(file: Path, limits: Limits) -> Raced:
    """Step a robot in both simulators, in turns.

    Raises:
        MissingPeer: mujoco is not installed.
        ValueError: MuJoCo or the importer cannot read it, or nothing in it moves.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is deprecated
        model = completed(file).compile()
    if model.nv == 0:
        raise ValueError("nothing in it moves")
    # docs/robots.md lists what is left out of a file.  Not by way of XML: its six digits break the
    # triangle inequality of inertias
    world = World(model_of(Source(model, file.name, False, model), None, True, Losses()))
    pair = _Pair(model, world)
    random = drawn(model, max(1, limits.steps // HELD))
    return Raced(model.nv, _kinds(model), pair.run(kept(model), limits), pair.run(random, limits))


class _Pair:
    """One robot in both simulators, and what is counted in a phase."""

    def __init__(self, model: Any, world: Any) -> None:
        self.mujoco = peer("mujoco")
        self.model, self.data, self.world = model, self.mujoco.MjData(model), world
        self.shared = _shared(model, world)

    def run(self, controls: Floats, limits: Limits) -> Phase:
        """Steps from the beginning under controls that change with each turn, (some, nu)."""
        half, phase, turns = 0.5 * limits.seconds, Phase(), 0
        held = HELD if HELD * self._first(controls[0]) < half else 1
        self._begin()
        while phase.steps < limits.steps and phase.theirs + phase.ours <= half:
            self._turn(controls[phase.steps // HELD % len(controls)], phase, turns % 2 == 1, held)
            turns += 1
        self._count(phase)
        phase.counts["their resets"] = sum(int(self.data.warning[k].number) for k in self._broken())
        phase.theirs, phase.ours = phase.theirs / phase.steps, phase.ours / phase.steps
        for name in MEANS:
            setattr(phase, name, getattr(phase, name) / turns)
        return phase

    def _first(self, control: Floats) -> float:
        """Time of a first step [s], when all is compiled."""
        for _ in range(2):
            self._begin()
            phase = Phase()
            self._turn(control, phase, True, 1)
        return phase.theirs + phase.ours

    def _begin(self) -> None:
        """Both at the first keyframe, or at the file's pose."""
        if self.model.nkey:
            self.mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        else:
            self.mujoco.mj_resetData(self.model, self.data)
        self.start = np.array(self.data.qpos), np.array(self.data.qvel)
        self.world.reset(*self.start)

    def _turn(self, control: Floats, phase: Phase, ours_first: bool, steps: int) -> None:
        """Some steps of each; adds times and what is listed at their end to the phase's."""
        self.data.ctrl[self.shared] = control[self.shared]
        for here in (ours_first, not ours_first):
            if here:
                phase.ours += self._step_here(control, phase, steps)
            else:
                begun = CLOCK()
                self.mujoco.mj_step(self.model, self.data, steps)
                phase.theirs += CLOCK() - begun
        answer = self.world._handle.answer[0]
        phase.steps += steps
        phase.contacts += int(answer["contacts"])
        phase.near += int(answer["near"])
        phase.their_contacts += int(self.data.ncon)

    def _step_here(self, control: Floats, phase: Phase, steps: int) -> float:
        """Time of our turn [s]; where a step fails, the world begins anew."""
        given = control[self.shared] if self.shared else None
        begun = CLOCK()
        try:
            self.world.step(steps=steps, control=given)
        except SimulationError:
            spent = CLOCK() - begun
            self._count(phase)
            self.world.reset(*self.start)
            return spent
        return CLOCK() - begun

    def _count(self, phase: Phase) -> None:
        """Add what the world's solver has done since it began."""
        found = self.world.diagnostics
        for name in COUNTERS:
            phase.counts[name] += getattr(found, name)
        for name, stage in found.stages._asdict().items():
            phase.stages[name] += stage.solved

    def _broken(self) -> list[int]:
        """Numbers of the warnings after which MuJoCo begins anew."""
        kinds = self.mujoco.mjtWarning
        return [int(k) for k in (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC)]


def _shared(model: Any, world: Any) -> list[int]:
    """Numbers of the actuators that both have; the importer leaves some kinds out."""
    here = [actuator.name for actuator in world.model.actuators]
    return [names(model, "actuator", model.nu).index(name) for name in here]


def completed(file: Path) -> Any:
    """mujoco.MjSpec of a robot with all that its file lacks for a race."""
    mujoco = peer("mujoco")
    spec = parsed(file, None, file.suffix == ".urdf", False, Losses())
    spec.meshdir = str(file.parent / spec.meshdir)
    spec.texturedir = str(file.parent / spec.texturedir)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    free = any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in spec.joints)
    if free and not any(g.type == mujoco.mjtGeom.mjGEOM_PLANE for g in spec.worldbody.geoms):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 1))
    if not spec.actuators:
        _add_servos(mujoco, spec)
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST  # else KV makes it explode
    return spec


def _add_servos(mujoco: Any, spec: Any) -> None:
    """Hold every hinge and slide by a position servo."""
    for i, joint in enumerate(spec.joints):
        if joint.type in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            joint.name = joint.name or f"joint {i}"
            servo = spec.add_actuator(name=f"servo {i}", target=joint.name)
            servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
            servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            servo.gainprm[0], servo.biasprm[:3] = KP, (0.0, -KP, -KV)
            servo.ctrllimited, servo.ctrlrange = True, (joint.ref - AROUND, joint.ref + AROUND)


def kept(model: Any) -> Floats:
    """The first keyframe's controls; without one those of the pose for servos, zero for motors."""
    if model.nkey:
        return np.array(model.key_ctrl[:1])
    control = np.zeros(model.nu)
    for i in range(model.nu):
        if model.actuator_biasprm[i, 1] != 0.0 and model.actuator_trntype[i] == 0:
            control[i] = model.qpos0[model.jnt_qposadr[model.actuator_trnid[i, 0]]]
    return control[None]


def drawn(model: Any, count: int) -> Floats:
    """Random controls within their ranges, or within 1 of the kept ones, shape (count, nu)."""
    low, high = np.array(model.actuator_ctrlrange).T
    limited = np.array(model.actuator_ctrllimited, bool)
    low = np.where(limited, low, kept(model)[0] - 1.0)
    high = np.where(limited, high, kept(model)[0] + 1.0)
    return np.random.default_rng(0).uniform(low, high, (count, model.nu))


def _kinds(model: Any) -> list[str]:
    """What of a file is known to cost most."""
    mujoco = peer("mujoco")
    hulls = [getattr(mujoco.mjtGeom, f"mjGEOM_{kind}") for kind in HULLS]
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found = {
        "hulls": np.isin(model.geom_type[touching], hulls).any(),
        "loops": model.neq > 0,
        "dry friction": (model.dof_frictionloss > 0).any(),
    }
    return [name for name, there in found.items() if there]
